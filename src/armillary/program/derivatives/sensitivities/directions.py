"""Parameters by which a motion is differentiated, and outputs, by name: checked, with sizes and units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.arguments import checked_names
from armillary.algebra.expression import UNIT, Expr
from armillary.algebra.functions import absolute, maximum
from armillary.algebra.units.units import parse_unit
from armillary.errors import ParameterError, nearest
from armillary.model.units import default_value, state_factor
from armillary.program.equations import DerivedEquations
from armillary.untyped import Given

_LEAST = 1e-3  # of a parameter's default, or of 1: its size where it is smaller in a run


@dataclass(frozen=True, eq=False)
class Direction:
    """The variable by which a motion is differentiated: a parameter, or the initial value of a coordinate,
    speed, state or memory.

    ``factor`` leads from its stated units to the model's. ``size`` is in the model's: of a parameter its own
    magnitude in each run, at least a thousandth of its default, since near zero there is no
    other measure of its size.
    """

    name: str
    symbol: Expr
    units: str
    factor: float
    size: Expr

    @property
    def role(self) -> str:
        """ "parameter", "coordinate", "speed", "state" or "memory"."""
        return str(self.symbol.data.role)


def directions(equations: DerivedEquations, to: Sequence[Given]) -> tuple[Direction, ...]:
    """Parameters and initial values by name; unknown ones, and ones named twice, are errors."""
    names = [str(name) for name in to]
    if not names:
        raise ParameterError("sensitivities: to= is empty; give names of parameters or initial values")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ParameterError(f"'{twice[0]}' occurs twice in to=; name it once")
    return tuple(_direction(equations, name) for name in names)


def _direction(equations: DerivedEquations, name: str) -> Direction:
    system, plain = equations.system, equations.reduction.plain
    if name in system.parameters:
        node = system.parameters[name]
        units = equations.parameter_units[name]
        factor = system.units.factor(parse_unit(node.data.units)) if node.data.units else 1.0
        symbol = plain(node)
        least = _LEAST * abs(default_value(node) or 1.0)
        return Direction(name, symbol, units, factor, maximum(absolute(symbol), least))
    if name in system.memories:
        memory = system.memories[name]
        return Direction(name, plain(memory.symbol), memory.symbol.data.units or "", memory.factor, UNIT)
    states = {s.data.name: s for s in system.moving()}
    free = {*equations.coordinates, *equations.states}
    free |= {u.data.name for u in system.speeds if u not in equations.reduction.given}
    if name in states and name not in free:
        raise ParameterError(f"'{name}' is prescribed or locked, so it has no initial value to vary")
    if name not in states:
        known = [*system.parameters, *states, *system.memories]
        raise ParameterError(
            f"there is no parameter, coordinate, speed, state or memory '{name}'{nearest(name, known)}"
        )
    s = states[name]
    return Direction(name, s, s.data.units or "", state_factor(s), UNIT)


def outputs_of(equations: DerivedEquations, of: Sequence[str] | None) -> tuple[str, ...]:
    """Names of outputs, checked; None: coordinates, speeds, states and the model's own."""
    known = [c.name for c in equations.targets.columns]
    if of is None:
        system = equations.system
        shown = {s.data.name for s in system.moving()} | set(system.outputs)
        return tuple(name for name in known if name in shown)
    return tuple(checked_names(of, known, "there is no output"))


_ONE_UNIT = re.compile(r"[^\W\d_]+\^?\d*")


def quotient(units: str, by: str) -> str:
    """Units of something over those of something else."""
    above, below = (text if text.strip() not in ("", "1", "-") else "" for text in (units, by))
    if not below:
        return above
    return f"{above or '1'}/{below if _ONE_UNIT.fullmatch(below) else f'({below})'}"
