"""Unit systems: what one unit of mass, length and time inside a model is worth in SI.

Values are converted at the border only: defaults and parameter values come in stated units, outputs leave in
theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from armillary.algebra.dimension import ONE, Dimension
from armillary.algebra.expression import Expr
from armillary.algebra.units import Unit, parse_unit, si_text
from armillary.errors import ModelError, nearest


@dataclass(frozen=True)
class UnitSystem:
    """SI values of the base units (mass, length, time) that a model computes in."""

    name: str
    mass: float
    length: float
    time: float

    def scale(self, dimension: Dimension) -> float:
        """SI value of this system's unit of the dimension."""
        if self.name == "SI":
            return 1.0
        bases = (self.mass, self.length, self.time, 1.0, 1.0)
        return prod(b ** float(e) for b, e in zip(bases, dimension.exponents, strict=True))

    def factor(self, unit: Unit) -> float:
        """What a value in ``unit`` is multiplied with to enter the model."""
        return unit.scale / self.scale(unit.dimension)

    def unit_text(self, dimension: Dimension | None) -> str:
        """The system's own unit of a dimension, for labels."""
        if dimension is None or dimension is ONE:
            return ""
        text = si_text(dimension)
        if self.name == "SI":
            return text
        mass, length, time = (float(e) for e in dimension.exponents[:3])
        return _force_units(mass, length + -mass, time + 2 * mass)


def _force_units(force: float, length: float, time: float) -> str:
    """A dimension in force, length and time, as engineers with inches and pounds write it."""
    parts = [(unit, n) for unit, n in (("in", length), ("lb", force), ("s", time)) if n]
    above = "*".join(f"{u}^{n:g}" if n != 1 else u for u, n in parts if n > 0)
    below = "".join(f"/{u}^{-n:g}" if n != -1 else f"/{u}" for u, n in parts if n < 0)
    return (above or ("1" if below else "")) + below


_POUND_FORCE = parse_unit("lb")
_INCH = parse_unit("in").scale

SYSTEMS = {
    "SI": UnitSystem("SI", 1.0, 1.0, 1.0),
    "in-lb-s": UnitSystem("in-lb-s", _POUND_FORCE.scale / _INCH, _INCH, 1.0),
}


def unit_system(name: str) -> UnitSystem:
    """A unit system by name."""
    if name not in SYSTEMS:
        raise ModelError(
            f"unknown unit system '{name}'{nearest(str(name), SYSTEMS)}; known: {', '.join(SYSTEMS)}"
        )
    return SYSTEMS[name]


def default_value(node: Expr) -> float | None:
    """The default of a parameter in the units of its system; None where it has none."""
    parameter = node.data
    if parameter.default is None:
        return None
    return parameter.default * (
        parameter.owner.units.factor(parse_unit(parameter.units)) if parameter.units else 1.0
    )
