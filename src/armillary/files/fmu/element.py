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
from armillary.model.records import Event, Memory, Output
from armillary.model.signals.memory import make_clock
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
    every: float,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    outputs: Iterable[str] | None = None,
    extrapolate: bool = False,
) -> dict[str, Expr]:
    """Outputs of an FMU, by name, which is stepped along with this system ``every`` so many seconds.

    ``inputs`` drive its input variables: expressions, converted to the FMU's units. ``parameters`` are
    numbers in the FMU's units. All its outputs are taken, or those named; texts, also those of its
    inputs, call them ``name_output``. They are held between communication points, or with
    ``extrapolate`` go on along the line through the last two, which is more accurate where they are
    smooth. The FMU's library is machine code from outside, which is loaded here: import only FMUs that
    you trust.
    """
    check_new_name(system, name, "FMU")
    where = f"FMU '{name}'"
    found = source if isinstance(source, Fmu) else read_fmu(source)
    period = finite_number(every, f"the communication step of {where}")
    if period <= 0:
        raise ModelError(f"{where}: every={every!r} is not a positive number of seconds")
    driven = [found.variable(str(key), "input", where) for key in inputs or {}]
    shown = [found.variable(key, "output", where) for key in (found.outputs if outputs is None else outputs)]
    if not shown:
        raise ModelError(f"{where}: '{found.name}' has no real outputs, so it can do nothing here")
    values = _settings(found, parameters, where)
    clock, advanced = make_clock(system, name, period, f"next communication with {where}")
    passed = system.time - clock + number(period, TIME)
    channels = [_channel(system, name, v, passed if extrapolate else None) for v in shown]
    signals = [
        _outward(system.expression(value, f"{where}, input '{v.name}'", v.unit.dimension), v, system.units)
        for v, value in zip(driven, (inputs or {}).values(), strict=True)
    ]
    for v, signal in zip(driven, signals, strict=True):
        _check_signal(signal, f"{where}, input '{v.name}'")

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


def _settings(found: Fmu, parameters: Mapping[str, float] | None, where: str) -> dict[FmuVariable, float]:
    result: dict[FmuVariable, float] = {}
    for key, given in (parameters or {}).items():
        value = plain_float(given)
        if value is None:
            raise ModelError(f"{where}: parameter '{key}' needs a number, not {given!r}")
        result[found.variable(str(key), "parameter", where)] = value
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
