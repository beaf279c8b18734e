"""FMUs as parts of a system: connections, model exchange and co-simulation.

An FMU of model exchange adds states with rates, outputs and events. An FMU of co-simulation steps with the
system: at each communication point tₖ it takes the step that ends at tₖ, with the mean of its inputs at both
ends of the step; then its outputs yₖ for the inputs at tₖ are read. Until the next point the outputs are
held, or follow a line:

    y(t) = yₖ                             the coupled motion is accurate to first order in h = tₖ − tₖ₋₁
    y(t) = yₖ + (yₖ − yₖ₋₁)·(t − tₖ)/h    to second order, if nothing jumps
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf

from armillary.algebra.expression import ZERO, Expr, as_expr, number, symbol
from armillary.algebra.node import plain_float
from armillary.algebra.units import TIME
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.files.fmu import fmu as read_fmu
from armillary.files.fmu.description import WHOLE_RANGES, Fmu, FmuVariable
from armillary.files.fmu.functions import NEVER, make_exchange_functions
from armillary.model.description import Description, EventRecord, Memory, OutputRecord, StateRecord
from armillary.model.reading.expressions import check_new_name, read_expression
from armillary.model.signals import make_clock, new_variable
from armillary.model.units import UnitSystem, seconds
from armillary.untyped import Given

_INPUTS = ("time", "parameter", "coordinate", "speed", "state", "memory")


def input_place(where: str, variable: FmuVariable) -> str:
    return f"{where}, input '{variable.name}'"


def outward(system: Description, value: object, variable: FmuVariable, where: str) -> Expr:
    """Return the expression that drives an input, in the FMU's units.

    Raise an error if the expression has no value yet when the FMU takes a step.
    """
    signal = to_fmu(read_expression(system, value, where, variable.unit.dimension), variable, system.units)
    check_signal(signal, where)
    return signal


def add_memory(system: Description, memory: Memory) -> None:
    system.memories[memory.symbol.name] = memory
    system.rates[memory.symbol] = ZERO


def to_fmu(value: Expr, variable: FmuVariable, units: UnitSystem) -> Expr:
    """Return a value of the model in the units of the FMU."""
    unit = variable.unit
    if unit.dimension is None:
        return value
    return (value * (units.scale(unit.dimension) / unit.factor)) - number(
        unit.offset / unit.factor, value.dimension
    )


def from_fmu(value: Expr, variable: FmuVariable, units: UnitSystem) -> Expr:
    """Return a value of the FMU in the units of the model."""
    unit = variable.unit
    if unit.dimension is None:
        return as_expr(value)
    scale = units.scale(unit.dimension)
    return as_expr(value) * (unit.factor / scale) + number(unit.offset / scale)


def check_signal(signal: Expr, where: str) -> None:
    for s in symbols(signal):
        if s.data.role not in _INPUTS:
            raise ModelError(
                f"{where} depends on '{s}', which is known only after the loads have been computed; use a "
                "memory that takes its value at each step"
            )


def plain_name(text: str) -> str:
    """Return a text as a name that expressions can hold."""
    return re.sub(r"_+", "_", re.sub(r"\W", "_", text)).strip("_")


def add_continuous_fmu(
    system: Description,
    name: str,
    found: Fmu,
    values: Mapping[FmuVariable, float | str],
    driven: Mapping[FmuVariable, object],
    shown: list[FmuVariable],
) -> dict[str, Expr]:
    """Add an FMU of model exchange: states with rates, outputs, events; return its outputs."""
    where = f"FMU '{name}'"
    signals = [outward(system, value, v, input_place(where, v)) for v, value in driven.items()]
    element = make_exchange_functions(found, name, values, list(driven), shown)
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


@dataclass(frozen=True, eq=False)
class _Channel:
    """An output in the system: memories of its value and slope, and the expression that the system uses."""

    variable: FmuVariable
    held: Expr
    slope: Expr | None
    value: Expr


def add_fmu(
    system: Description,
    name: str,
    source: Fmu | str | os.PathLike[str],
    every: float | str | None,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    outputs: Iterable[str] | None,
    extrapolate: bool,
) -> dict[str, Expr]:
    """Make an FMU part of a system; see the verb ``fmu``."""
    check_new_name(system, name, "FMU")
    where = f"FMU '{name}'"
    found = source if isinstance(source, Fmu) else read_fmu(source)
    driven = _assign_variables(found, inputs, "input", where)
    shown = [found.variable(key, "output", where) for key in (found.outputs if outputs is None else outputs)]
    if not shown:
        raise ModelError(f"{where}: '{found.name}' has no numeric outputs, so it cannot act on the system")
    values = read_parameters(found, parameters, where)
    if every is None:
        if extrapolate:
            raise ModelError(f"{where}: extrapolate is for co-simulation; give every=… too")

        return add_continuous_fmu(system, name, found, values, driven, shown)
    part = prepare_fmu(system, name, found, check_period(every, where), values, shown, extrapolate)
    return connect_fmu(
        system, part, {v: outward(system, value, v, input_place(where, v)) for v, value in driven.items()}
    )


def check_period(every: object, where: str) -> float:
    """Return a communication step in seconds."""
    period = seconds(every, f"the communication step of {where}", ModelError)
    if not 0 < period < inf:
        raise ModelError(f"{where}: every={every!r} is not a positive number of seconds")
    return period


@dataclass(frozen=True, eq=False)
class FmuPart:
    """An FMU of co-simulation with its outputs, before anything drives its inputs."""

    name: str
    found: Fmu
    period: float
    values: Mapping[FmuVariable, float | str]
    channels: list[_Channel]
    clock: Expr  # the time of the next communication point
    advanced: dict[Expr, Expr]  # the change of the clock at a communication point

    @property
    def outputs(self) -> dict[str, Expr]:
        """The outputs that the system uses, by the FMU's names."""
        return {channel.variable.name: channel.value for channel in self.channels}


def prepare_fmu(
    system: Description,
    name: str,
    found: Fmu,
    period: float,
    values: Mapping[FmuVariable, float | str],
    shown: list[FmuVariable],
    extrapolate: bool,
) -> FmuPart:
    """Add the clock and the outputs of an FMU that is stepped with a system."""
    clock, advanced = make_clock(system, name, period, f"next communication with FMU '{name}'")
    passed = system.time - clock + number(period, TIME)
    channels = [_channel(system, name, v, passed if extrapolate else None) for v in shown]
    return FmuPart(name, found, period, values, channels, clock, advanced)


def connect_fmu(
    system: Description, part: FmuPart, driven: Mapping[FmuVariable, Expr], coupled: bool = False
) -> dict[str, Expr]:
    """Load an FMU and drive its inputs, by other FMUs if ``coupled``; return its outputs."""
    from armillary.files.fmu.functions import make_step_functions

    name, signals = part.name, list(driven.values())
    shown = [c.variable for c in part.channels]
    element = make_step_functions(part.found, name, part.period, part.values, list(driven), shown, coupled)
    started = element.start(system.time, *signals)
    handle = symbol(f"{name} instance", "memory", owner=system.identity)
    about = f"instance of FMU '{name}'"
    add_memory(system, Memory(handle, -1.0, None, about, start=started, hidden=True))
    changes: dict[Expr, Expr] = dict(part.advanced)
    for channel, step in zip(part.channels, element.steps, strict=True):
        v, held = channel.variable, channel.held
        first = from_fmu(step(started, system.time, *signals), v, system.units)
        add_memory(system, replace(system.memories[held.name], start=first))
        changes[held] = from_fmu(step(handle, system.time, *signals), v, system.units)
        if channel.slope is not None:
            changes[channel.slope] = (changes[held] - held) / part.period
    clock = part.clock.name
    system.events[clock] = EventRecord(clock, system.time - part.clock, 1, changes, False, "", hidden=True)
    return part.outputs


def _assign_variables(
    found: Fmu, given: Mapping[str, object] | None, causality: str, where: str
) -> dict[FmuVariable, Given]:
    """Return variables with their given values; spread lists over the elements of arrays."""
    result: dict[FmuVariable, Given] = {}
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
    """Add the memory of an output's value and, if the output follows a line, the memory of its slope.

    ``passed`` is the time since the last communication point, or `None` for an output that is held.
    """
    label = plain_name(f"{name}_{variable.name}")
    check_new_name(system, label, "memory")
    dimension, about = variable.unit.dimension, variable.about
    units = system.units.unit_text(dimension) if dimension is not None else ""
    called = label if passed is None else f"{label} held"
    held = symbol(called, "memory", dimension=dimension, owner=system.identity, units=units, about=about)
    # Inputs at the start may depend on outputs: these then have the start values of the FMU's description.
    scale = system.units.scale(dimension) if dimension is not None else 1.0
    first = ((variable.start or 0.0) * variable.unit.factor + variable.unit.offset) / scale
    add_memory(system, Memory(held, first, None, about, hidden=passed is not None))
    if passed is None:
        return _Channel(variable, held, None, held)
    slope = symbol(f"{label} slope", "memory", owner=system.identity)
    add_memory(system, Memory(slope, 0.0, None, f"slope of {label}", hidden=True))
    line = held + slope * (passed / number(1, TIME)) * number(1, dimension)
    system.definitions[label] = line
    system.outputs[label] = OutputRecord(label, line, units, about)
    return _Channel(variable, held, slope, line)


def read_parameters(
    found: Fmu, parameters: Mapping[str, object] | None, where: str
) -> dict[FmuVariable, float | str]:
    """Return parameters with the values that they are set to."""
    result: dict[FmuVariable, float | str] = {}
    for v, given in _assign_variables(found, parameters, "parameter", where).items():
        if v.type == "String":
            if not isinstance(given, str):
                raise ModelError(f"{where}: parameter '{v.name}' needs a text, not {given!r}")
            result[v] = given
            continue
        value = float(given) if isinstance(given, bool) and v.type == "Boolean" else plain_float(given)
        if value is None:
            raise ModelError(f"{where}: parameter '{v.name}' needs a number, not {given!r}")
        if v.type.startswith("Float"):
            result[v] = value
            continue
        if not value.is_integer():
            raise ModelError(
                f"{where}: parameter '{v.name}' is of type {v.type}, and {given!r} is not a whole number"
            )
        result[v] = whole = int(given)  # with all digits, of which a float may lose some
        low, high = WHOLE_RANGES[v.type]
        if not low <= whole <= high:
            raise ModelError(
                f"{where}: parameter '{v.name}' is of type {v.type}, from {low} to {high}, not {given!r}"
            )
    return result
