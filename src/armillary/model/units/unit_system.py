"""Unit systems: what one unit of mass, length and time inside a model is worth in SI.

Values are converted at the border only: defaults, parameter values and initial values come in stated units,
outputs leave in theirs. Inside, angles are always in radians; a system whose name ends in ``-deg`` shows and
takes the angles of joints in degrees, as AUTOSIM's programs do (Sayers 1990, section 9.1, Table 9.1.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from armillary.algebra.arguments import one_of
from armillary.algebra.expression import Expr
from armillary.algebra.units import ONE, RATE, Dimension, Unit, parse_unit, si_text
from armillary.errors import ModelError


@dataclass(frozen=True)
class UnitSystem:
    """SI values of the base units (mass, length, time) that a model computes in, and their names.

    ``force`` is the name of the unit of force where it has one. A system in which forces come first, and
    masses have no name, has an empty ``masses``.
    """

    name: str
    mass: float
    length: float
    time: float
    masses: str = "kg"
    lengths: str = "m"
    force: str = "N"
    angle: str = "rad"

    def scale(self, dimension: Dimension) -> float:
        """SI value of this system's unit of the dimension."""
        if self._is_si:
            return 1.0
        bases = (self.mass, self.length, self.time, 1.0, 1.0)
        found: float = prod(b ** float(e) for b, e in zip(bases, dimension.exponents, strict=True))
        return found

    def factor(self, unit: Unit) -> float:
        """The factor from ``unit`` to the model's units."""
        return unit.scale / self.scale(unit.dimension)

    def unit_text(self, dimension: Dimension | None) -> str:
        """The system's own unit of a dimension, for labels."""
        if dimension is None or dimension is ONE:
            return ""
        if self._is_si:
            return si_text(dimension)
        mass, length, time, current, temperature = (float(e) for e in dimension.exponents)
        electric = [("A", current), ("K", temperature)]
        by_force = not self.masses or (self.force and abs(mass) == 1 and mass * time < 0)
        if not by_force:
            return _quotient([(self.masses, mass), (self.lengths, length), ("s", time), *electric])
        # One unit of mass is one of force over one of acceleration.
        forces = [(self.lengths, length - mass), (self.force, mass)]
        ordered = forces if not self.masses else forces[::-1]  # in*lb, but mN*mm
        return _quotient([*ordered, ("s", time + 2 * mass), *electric])

    def joint_text(self, dimension: Dimension) -> str:
        """The unit of a joint's coordinate or speed; one without a dimension is an angle."""
        if dimension is ONE:
            return self.angle
        return f"{self.angle}/s" if dimension is RATE else self.unit_text(dimension)

    @property
    def _is_si(self) -> bool:
        return self.mass == self.length == self.time == 1.0


def _quotient(powers: list[tuple[str, float]]) -> str:
    """A product of powers of units as engineers write it: in*lb*s^2, lb/in."""
    parts = [(unit, n) for unit, n in powers if n]
    above = "*".join(f"{u}^{n:g}" if n != 1 else u for u, n in parts if n > 0)
    below = "".join(f"/{u}^{-n:g}" if n != -1 else f"/{u}" for u, n in parts if n < 0)
    return (above or ("1" if below else "")) + below


_POUND = parse_unit("lb").scale
_INCH = parse_unit("in").scale
_FOOT = parse_unit("ft").scale

_IN_RADIANS = (
    UnitSystem("SI", 1.0, 1.0, 1.0),
    UnitSystem("in-lb-s", _POUND / _INCH, _INCH, 1.0, "", "in", "lb"),
    UnitSystem("ft-lb-s", _POUND / _FOOT, _FOOT, 1.0, "", "ft", "lb"),
    UnitSystem("mm-kg-s", 1.0, 1e-3, 1.0, "kg", "mm", "mN"),
    UnitSystem("mm-t-s", 1e3, 1e-3, 1.0, "t", "mm", "N"),
    UnitSystem("cm-g-s", 1e-3, 1e-2, 1.0, "g", "cm", ""),
)
_IN_DEGREES = tuple(replace(system, name=f"{system.name}-deg", angle="deg") for system in _IN_RADIANS)
SYSTEMS = {system.name: system for system in (*_IN_RADIANS, *_IN_DEGREES)}


def unit_system(name: str) -> UnitSystem:
    """A unit system by name."""
    one_of(name, SYSTEMS, "unknown unit system ", ModelError)
    return SYSTEMS[name]


def default_value(node: Expr) -> float | None:
    """The default of a parameter in the units of its system; None where it has none."""
    parameter = node.data
    if parameter.default is None:
        return None
    found: float | None = parameter.default * (
        parameter.owner.units.factor(parse_unit(parameter.units)) if parameter.units else 1.0
    )
    return found


def state_factor(node: Expr) -> float:
    """The factor from the stated units of a coordinate or speed to those of its model: π/180 for an
    angle in degrees, else 1.
    """
    units = node.data.units
    return node.data.owner.units.factor(parse_unit(units)) if units else 1.0
