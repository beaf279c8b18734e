"""Between a system and an FMU: units, names, and what may drive an input."""

from __future__ import annotations

import re

from armillary.algebra.expression import ZERO, Expr, as_expr, number
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.files.fmu.description import FmuVariable
from armillary.model.description import Description
from armillary.model.reading.expressions import read_expression
from armillary.model.recording.records import Memory
from armillary.model.units import UnitSystem

_INPUTS = ("time", "parameter", "coordinate", "speed", "state", "memory")


def input_place(where: str, variable: FmuVariable) -> str:
    return f"{where}, input '{variable.name}'"


def outward(system: Description, value: object, variable: FmuVariable, where: str) -> Expr:
    """The source of an input, in the FMU's units; an error where it has no value when the FMU is stepped."""
    signal = to_fmu(read_expression(system, value, where, variable.unit.dimension), variable, system.units)
    check_signal(signal, where)
    return signal


def add_memory(system: Description, memory: Memory) -> None:
    system.memories[memory.symbol.name] = memory
    system.rates[memory.symbol] = ZERO


def to_fmu(value: Expr, variable: FmuVariable, units: UnitSystem) -> Expr:
    """A value of the model in the units of the FMU."""
    unit = variable.unit
    if unit.dimension is None:
        return value
    return (value * (units.scale(unit.dimension) / unit.factor)) - number(
        unit.offset / unit.factor, value.dimension
    )


def from_fmu(value: Expr, variable: FmuVariable, units: UnitSystem) -> Expr:
    """A value of the FMU in the units of the model."""
    unit = variable.unit
    if unit.dimension is None:
        return as_expr(value)
    scale = units.scale(unit.dimension)
    return as_expr(value) * (unit.factor / scale) + number(unit.offset / scale)


def check_signal(signal: Expr, where: str) -> None:
    for s in symbols(signal):
        if s.data.role not in _INPUTS:
            raise ModelError(
                f"{where} depends on '{s}', which is known only once the loads are; use a memory that takes "
                "its value at each step"
            )


def plain_name(text: str) -> str:
    """Text as a name that expressions can hold."""
    return re.sub(r"_+", "_", re.sub(r"\W", "_", text)).strip("_")
