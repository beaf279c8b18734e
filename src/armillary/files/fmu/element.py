"""FMUs as parts of a system: stepped along with it, their outputs held between communication points.

At each communication point tₖ the FMU takes the step up to it, with the mean of its inputs at both ends; then
its outputs yₖ are read for the inputs at tₖ. Until the next they are held, or go on along a line:

    y(t) = yₖ                                      a coupled motion is right to first order in h = tₖ − tₖ₋₁
    y(t) = yₖ + (yₖ − yₖ₋₁)·(t − tₖ)/h             to second order, where nothing jumps
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from armillary.algebra.arithmetic import plain_float
from armillary.algebra.expression import ZERO, Expr, as_expr, number, symbol
from armillary.algebra.units.dimension import TIME
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.files.fmu import fmu as read_fmu
from armillary.files.fmu.description import Fmu, FmuVariable
from armillary.model.description import Description
from armillary.model.kinds import EXPRESSION, FLAG, NUMBER, PATH, WORDS, ListOf, TableOf
from armillary.model.reading.inertia_input import finite_number
from armillary.model.reading.names import check_new_name
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.records import Event, Memory, Output, State
from armillary.model.signals.memory import make_clock
from armillary.model.signals.states import new_variable
from armillary.model.unit_system import UnitSystem


@dataclass(frozen=True, eq=False)
class _Channel:
    """An output in the system: memories of its value and slope, and what the system uses."""

    variable: FmuVariable
    held: Expr
    slope: Expr | None
    value: Expr


_INPUTS = ("time", "parameter", "coordinate", "speed", "state", "memory")


@verb(
    EntryForm(
        "fmus",
        {
            "file": PATH,
            "every": NUMBER,
            "inputs": TableOf(EXPRESSION, keys=False),
            "parameters": TableOf(NUMBER, keys=False),
            "outputs": ListOf(WORDS),
            "extrapolate": FLAG,
        },
        key="file",
        argument="source",
    )
)
def fmu(
    system: Description,
    name: str,
    source: Fmu | str | os.PathLike[str],
    *,
    every: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    outputs: Iterable[str] | None = None,
    extrapolate: bool = False,
) -> dict[str, Expr]:
    """Outputs of an FMU, by name, which is stepped along with this system ``every`` so many seconds; without
    ``every`` it is integrated with the system (model exchange), and its states are states of the system.

    ``inputs`` drive its input variables: expressions, converted to the FMU's units. ``parameters`` are
    numbers in the FMU's units, or texts. Elements of arrays are called ``x[2]``; an array as a whole takes a
    list. All its outputs are taken, or those named; texts call them ``name_output``, in co-simulation also
    those of its inputs. Outputs of co-simulation are held between communication points, or with
    ``extrapolate`` go on along the line through the last two, which is more accurate where they are
    smooth. The FMU's library is machine code from outside, which is loaded here: import only FMUs that
    you trust.
    """
    check_new_name(system, name, "FMU")
    where = f"FMU '{name}'"
    found = source if isinstance(source, Fmu) else read_fmu(source)
    driven_by = _spread(found, inputs, "input", where)
    driven = list(driven_by)
    shown = [found.variable(key, "output", where) for key in (found.outputs if outputs is None else outputs)]
    if not shown:
        raise ModelError(f"{where}: '{found.name}' has no numeric outputs, so it can do nothing here")
    values = _settings(found, parameters, where)
    if every is None:
        if extrapolate:
            raise ModelError(f"{where}: extrapolate is for co-simulation; give every=… too")
        return _exchange(system, name, found, values, driven_by, shown)
    period = finite_number(every, f"the communication step of {where}")
    if period <= 0:
        raise ModelError(f"{where}: every={every!r} is not a positive number of seconds")
    clock, advanced = make_clock(system, name, period, f"next communication with {where}")
    passed = system.time - clock + number(period, TIME)
    channels = [_channel(system, name, v, passed if extrapolate else None) for v in shown]
    signals = _signals(system, driven_by, where)
    from armillary.files.fmu.stepping import stepped

    element = stepped(found, name, period, values, driven, shown)
    started = element.start(system.time, *signals)
    handle = symbol(f"{name} instance", "memory", owner=system.identity)
    _add_memory(system, Memory(handle, -1.0, None, f"instance of {where}", start=started, hidden=True))
    changes: dict[Expr, Expr] = dict(advanced)
    for channel, step in zip(channels, element.steps, strict=True):
        v, held = channel.variable, channel.held
        first = _inward(step(started, system.time, *signals), v, system.units)
        _add_memory(system, replace(system.memories[held.name], start=first))
        changes[held] = _inward(step(handle, system.time, *signals), v, system.units)
        if channel.slope is not None:
            changes[channel.slope] = (changes[held] - held) / period
    system.events[clock.name] = Event(clock.name, system.time - clock, 1, changes, False, "", hidden=True)
    return {channel.variable.name: channel.value for channel in channels}


def _exchange(
    system: Description,
    name: str,
    found: Fmu,
    values: Mapping[FmuVariable, float | str],
    driven: Mapping[FmuVariable, Any],
    shown: list[FmuVariable],
) -> dict[str, Expr]:
    """An FMU for model exchange: states with rates, outputs, events."""
    from armillary.files.fmu.exchange import NEVER, exchanged

    where = f"FMU '{name}'"
    signals = _signals(system, driven, where)
    element = exchanged(found, name, values, list(driven), shown)
    assert found.exchange is not None
    states = found.exchange.states
    handle = symbol(f"{name} instance", "memory", owner=system.identity)
    started = element.start(system.time, *signals)
    _add_memory(system, Memory(handle, -1.0, None, f"instance of {where}", start=started, hidden=True))
    nodes: list[Expr] = []
    for v, first in zip(states, element.initial, strict=True):
        label, unit = _plain(f"{name}_{v.name}"), v.unit
        text = system.units.unit_text(unit.dimension) if unit.dimension is not None else None
        scale = system.units.scale(unit.dimension) if unit.dimension is not None else 1.0
        start = (first * unit.factor + unit.offset) / scale if unit.dimension is not None else first
        node, inside, _ = new_variable(system, "state", label, start, text, v.about)
        system.states[label] = State(node, None, v.about)
        system.initial[node] = inside
        nodes.append(node)
    outward = [_outward(x, v, system.units) for v, x in zip(states, nodes, strict=True)]
    arguments = (handle, system.time, *outward, *signals)
    for v, node, rate in zip(states, nodes, element.rates, strict=True):
        slope = replace(v, unit=replace(v.unit, offset=0.0))
        system.states[node.name] = State(node, _inward(rate(*arguments), slope, system.units), v.about)
    result: dict[str, Expr] = {}
    for v, function in zip(shown, element.outputs, strict=True):
        label = _plain(f"{name}_{v.name}")
        own = next((n for n in nodes if n.name == label), None)
        value = own if own is not None else _inward(function(*arguments), v, system.units)
        if own is None:
            check_new_name(system, label, "output")
            units = system.units.unit_text(v.unit.dimension) if v.unit.dimension is not None else ""
            value = value * number(1, v.unit.dimension) if value.dimension is None else value
            system.definitions[label] = value
            system.outputs[label] = Output(label, value, units, v.about)
        result[v.name] = value
    changes = {
        node: _inward(after(*arguments), v, system.units)
        for v, node, after in zip(states, nodes, element.after, strict=True)
    }
    following = symbol(f"{name} next event", "memory", dimension=TIME, owner=system.identity)
    if element.indicators or element.scheduled:
        changes[following] = element.next(*arguments)
        first = element.first(started, *arguments[1:])
        _add_memory(
            system,
            Memory(following, NEVER, None, f"next event of {where}", start=first, hidden=True),
        )
        due = system.time - following
        system.events[following.name] = Event(following.name, due, 1, dict(changes), False, "", hidden=True)
    for k, indicator in enumerate(element.indicators, 1):
        label = f"{name} event {k}"
        system.events[label] = Event(
            label, indicator(*arguments), 0, dict(changes), False, f"event of {where}"
        )
    if found.exchange.completes:
        told = symbol(f"{name} steps", "memory", owner=system.identity)
        update = element.completed(*arguments)
        _add_memory(system, Memory(told, 0.0, update, f"steps announced to {where}", hidden=True))
    return result


def _signals(system: Description, driven: Mapping[FmuVariable, Any], where: str) -> list[Expr]:
    """What drives the inputs of an FMU, in its units."""
    found = []
    for v, value in driven.items():
        place = f"{where}, input '{v.name}'"
        signal = _outward(system.expression(value, place, v.unit.dimension), v, system.units)
        _check_signal(signal, place)
        found.append(signal)
    return found


def _spread(
    found: Fmu, given: Mapping[str, Any] | None, causality: str, where: str
) -> dict[FmuVariable, Any]:
    """Variables and what they are given; lists are spread over the elements of arrays."""
    result: dict[FmuVariable, Any] = {}
    for key, value in (given or {}).items():
        parts = found.elements(str(key), causality)
        if not parts or str(key) in found.variables:
            result[found.variable(str(key), causality, where)] = value
            continue
        values = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        if len(values) != len(parts):
            raise ModelError(
                f"{where}: {causality} '{key}' has {len(parts)} elements, and {len(values)} are given"
            )
        result |= dict(zip(parts, values, strict=True))
    return result


def _channel(system: Description, name: str, variable: FmuVariable, passed: Expr | None) -> _Channel:
    """The memories of an output, under the name that texts call it by: of its value, and of its slope
    where it goes on along a line; ``passed`` is the time since the last communication point.
    """
    label = _plain(f"{name}_{variable.name}")
    check_new_name(system, label, "memory")
    dimension, about = variable.unit.dimension, variable.about
    units = system.units.unit_text(dimension) if dimension is not None else ""
    called = label if passed is None else f"{label} held"
    held = symbol(called, "memory", dimension=dimension, owner=system.identity, units=units, about=about)
    # Inputs at the start may depend on outputs: these are then what the description says.
    scale = system.units.scale(dimension) if dimension is not None else 1.0
    first = ((variable.start or 0.0) * variable.unit.factor + variable.unit.offset) / scale
    _add_memory(system, Memory(held, first, None, about, hidden=passed is not None))
    if passed is None:
        return _Channel(variable, held, None, held)
    slope = symbol(f"{label} slope", "memory", owner=system.identity)
    _add_memory(system, Memory(slope, 0.0, None, f"slope of {label}", hidden=True))
    line = held + slope * (passed / number(1, TIME)) * number(1, dimension)
    system.definitions[label] = line
    system.outputs[label] = Output(label, line, units, about)
    return _Channel(variable, held, slope, line)


def _add_memory(system: Description, memory: Memory) -> None:
    system.memories[memory.symbol.name] = memory
    system.rates[memory.symbol] = ZERO


def _settings(found: Fmu, parameters: Mapping[str, Any] | None, where: str) -> dict[FmuVariable, float | str]:
    result: dict[FmuVariable, float | str] = {}
    for v, given in _spread(found, parameters, "parameter", where).items():
        if v.type == "String":
            if not isinstance(given, str):
                raise ModelError(f"{where}: parameter '{v.name}' needs a text, not {given!r}")
            result[v] = given
            continue
        value = float(given) if isinstance(given, bool) and v.type == "Boolean" else plain_float(given)
        if value is None:
            raise ModelError(f"{where}: parameter '{v.name}' needs a number, not {given!r}")
        if not v.type.startswith("Float") and value != round(value):
            raise ModelError(
                f"{where}: parameter '{v.name}' is of type {v.type}, and {given!r} is no whole number"
            )
        result[v] = value
    return result


def _outward(value: Expr, variable: FmuVariable, units: UnitSystem) -> Expr:
    """A value of the model in the units of the FMU."""
    unit = variable.unit
    if unit.dimension is None:
        return value
    return (value * (units.scale(unit.dimension) / unit.factor)) - number(
        unit.offset / unit.factor, value.dimension
    )


def _inward(value: Expr, variable: FmuVariable, units: UnitSystem) -> Expr:
    """A value of the FMU in the units of the model."""
    unit = variable.unit
    if unit.dimension is None:
        return as_expr(value)
    scale = units.scale(unit.dimension)
    return as_expr(value) * (unit.factor / scale) + number(unit.offset / scale)


def _check_signal(signal: Expr, where: str) -> None:
    for s in symbols(signal):
        if s.data.role not in _INPUTS:
            raise ModelError(
                f"{where} depends on '{s}', which is known only once the loads are; use a memory that takes "
                "its value at each step"
            )


def _plain(text: str) -> str:
    """Text as a name that expressions can hold."""
    return re.sub(r"_+", "_", re.sub(r"\W", "_", text)).strip("_")
