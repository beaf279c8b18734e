"""FMUs of model exchange as parts of a system: states with rates, outputs, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from armillary.algebra.expression import Expr, number, symbol
from armillary.algebra.units import TIME
from armillary.files.fmu.connections import add_memory, from_fmu, input_place, outward, plain_name, to_fmu
from armillary.files.fmu.description import Fmu, FmuVariable
from armillary.files.fmu.exchange import NEVER, exchanged
from armillary.model.description import Description
from armillary.model.reading.names import check_new_name
from armillary.model.recording.records import EventRecord, Memory, OutputRecord, StateRecord
from armillary.model.signals.states import new_variable


def integrated(
    system: Description,
    name: str,
    found: Fmu,
    values: Mapping[FmuVariable, float | str],
    driven: Mapping[FmuVariable, object],
    shown: list[FmuVariable],
) -> dict[str, Expr]:
    """An FMU for model exchange: states with rates, outputs, events."""
    where = f"FMU '{name}'"
    signals = [outward(system, value, v, input_place(where, v)) for v, value in driven.items()]
    element = exchanged(found, name, values, list(driven), shown)
    assert found.exchange is not None
    states = found.exchange.states
    handle = symbol(f"{name} instance", "memory", owner=system.identity)
    started = element.start(system.time, *signals)
    add_memory(system, Memory(handle, -1.0, None, f"instance of {where}", start=started, hidden=True))
    nodes: list[Expr] = []
    for v, first in zip(states, element.initial, strict=True):
        label, unit = plain_name(f"{name}_{v.name}"), v.unit
        text = system.units.unit_text(unit.dimension) if unit.dimension is not None else None
        scale = system.units.scale(unit.dimension) if unit.dimension is not None else 1.0
        start = (first * unit.factor + unit.offset) / scale if unit.dimension is not None else first
        node, inside, _ = new_variable(system, "state", label, start, text, v.about)
        system.states[label] = StateRecord(node, None, v.about)
        system.initial[node] = inside
        nodes.append(node)
    given = [to_fmu(x, v, system.units) for v, x in zip(states, nodes, strict=True)]
    arguments = (handle, system.time, *given, *signals)
    for v, node, rate in zip(states, nodes, element.rates, strict=True):
        slope = replace(v, unit=replace(v.unit, offset=0.0))
        system.states[node.name] = StateRecord(node, from_fmu(rate(*arguments), slope, system.units), v.about)
    result: dict[str, Expr] = {}
    for v, function in zip(shown, element.outputs, strict=True):
        label = plain_name(f"{name}_{v.name}")
        own = next((n for n in nodes if n.name == label), None)
        value = own if own is not None else from_fmu(function(*arguments), v, system.units)
        if own is None:
            check_new_name(system, label, "output")
            units = system.units.unit_text(v.unit.dimension) if v.unit.dimension is not None else ""
            value = value * number(1, v.unit.dimension) if value.dimension is None else value
            system.definitions[label] = value
            system.outputs[label] = OutputRecord(label, value, units, v.about)
        result[v.name] = value
    changes = {
        node: from_fmu(after(*arguments), v, system.units)
        for v, node, after in zip(states, nodes, element.after, strict=True)
    }
    following = symbol(f"{name} next event", "memory", dimension=TIME, owner=system.identity)
    if element.indicators or element.scheduled:
        changes[following] = element.next(*arguments)
        first = element.first(started, *arguments[1:])
        add_memory(
            system,
            Memory(following, NEVER, None, f"next event of {where}", start=first, hidden=True),
        )
        due = system.time - following
        system.events[following.name] = EventRecord(
            following.name, due, 1, dict(changes), False, "", hidden=True
        )
    for k, indicator in enumerate(element.indicators, 1):
        label = f"{name} event {k}"
        system.events[label] = EventRecord(
            label, indicator(*arguments), 0, dict(changes), False, f"event of {where}"
        )
    if found.exchange.completes:
        steps = symbol(f"{name} steps", "memory", owner=system.identity)
        update = element.completed(*arguments)
        add_memory(system, Memory(steps, 0.0, update, f"steps announced to {where}", hidden=True))
    return result
