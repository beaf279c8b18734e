"""Surfaces around a mechanism: a plane, a grid, a profile of heights, and the Earth with an orbit.

In text models:

    shape = { plane = [20, 20] }       shape = { heights = "0.1*sin(x)", x = [0, 10], y = [-1, 1] }
    shape = { grid = [20, 20, 1] }     shape = { earth = 6378137, orbit = { mu = 3.986e14, a = 7e6 } }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from armillary.algebra.arguments import count, item_count, real, records_arguments
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.units import LENGTH
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.model.bodies.shapes.figure import Figure, radius_of
from armillary.model.reading.argument_types import AxisLike, ExpressionLike
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import (
    COUNT,
    EXPRESSION,
    FLAG,
    NUMBER,
    NUMBERS,
    Either,
    ListOf,
    ObjectForm,
    Written,
)
from armillary.model.reading.text_functions import argument_range
from armillary.model.space.orbit import ORBIT, Orbit
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.model.description import Description

X, Y = (symbol(name, dimension=LENGTH) for name in "xy")  # places of a profile, along the shape's axes
_EQUATOR = 6378137.0  # m: radius of the Earth
_FINEST = 2000  # places of a profile along an axis
_HEIGHTS = Either((Written("an expression of x and y", x=LENGTH, y=LENGTH), NUMBERS))
_Range = Annotated[Given, ListOf(NUMBER, 2)]


@records_arguments
class Plane(Figure):
    """A rectangle across ``axis``, with edges along the other two axes."""

    kind, names = "plane", ("x", "y")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(x, y, axis=axis)


@records_arguments
class Grid(Figure):
    """Lines at this spacing over a rectangle across ``axis``."""

    kind, names = "grid", ("x", "y", "spacing")

    def __init__(
        self, x: ExpressionLike, y: ExpressionLike, spacing: ExpressionLike, axis: AxisLike = "z"
    ) -> None:
        super().__init__(x, y, spacing, axis=axis)


@records_arguments
class HeightProfile(Figure):
    """Heights ``z`` above a rectangle: an expression of ``x`` and ``y``, a function of them such as a
    ``Table2``, or numbers (a row for each place along x), at ``points`` places along each axis.
    """

    kind: ClassVar[str] = "heights"

    def __init__(
        self,
        z: Annotated[object, _HEIGHTS],
        x: _Range,
        y: _Range,
        points: Annotated[Sequence[int], ListOf(COUNT, 2)] = (101, 41),
    ) -> None:
        self.z, self.x, self.y, self.points = z, x, y, points

    def details(self, system: Description, where: str) -> DataTable:
        ends = {name: _range(value, f"{name} of {where}") for name, value in (("x", self.x), ("y", self.y))}
        if isinstance(self.z, list | tuple | np.ndarray):
            return {**ends, "numbers": _heights(self.z, where)}
        if item_count(self.points) != 2:
            raise ModelError(f"{where}: points={self.points!r} are not two whole numbers, e.g. (101, 41)")
        counts = tuple(count(n, f"points of {where}", ModelError) for n in self.points)
        if not all(2 <= n <= _FINEST for n in counts):
            raise ModelError(f"{where}: points={self.points!r}; give 2 to {_FINEST} along each axis")
        given = self.z
        if callable(given) and not isinstance(given, Expr):
            least, most = argument_range(given)
            if not least <= 2 <= most:
                raise ModelError(f"{where}: its heights are not a function of two arguments, x and y")
            given = given(X, Y)
        node = read_expression(system, given, where, LENGTH, {"x": X, "y": Y})
        if moving := [s for s in symbols(node) if s not in (X, Y) and not s.constant]:
            raise ModelError(f"{where}: '{moving[0]}' varies with the motion or time; a profile stands still")
        return {**ends, "height": node, "counts": counts}

    def __repr__(self) -> str:
        return f"HeightProfile({self.z!r}, x={self.x!r}, y={self.y!r})"


@records_arguments
class Earth(Figure):
    """The Earth, or another planet of this radius, with its lines of latitude, and an ``Orbit`` about it."""

    kind: ClassVar[str] = "earth"

    def __init__(
        self,
        radius: Annotated[object, Either((FLAG, EXPRESSION))] = None,
        orbit: Annotated[object, ORBIT] = None,
    ) -> None:
        self.radius = radius
        self.orbit = ORBIT.python(orbit) if isinstance(orbit, Mapping) and ORBIT.fits(orbit) else orbit

    def details(self, system: Description, where: str) -> DataTable:
        given = _EQUATOR / system.units.scale(LENGTH) if self.radius is None else self.radius
        found = radius_of(given, system, where)
        if self.orbit is None:
            return found
        if not isinstance(self.orbit, Orbit):
            raise ModelError(f"{where}: orbit={self.orbit!r} is not an Orbit")
        if self.orbit.e >= 1:
            raise ModelError(f"{where}: an orbit with e={self.orbit.e:g} is not closed, so it is not drawn")
        o = self.orbit
        return {**found, "orbit": (o.p, o.e, o.i, o.raan, o.argp)}

    def __repr__(self) -> str:
        return f"Earth({'' if self.radius is None else repr(self.radius)})"


def _range(value: Given, what: str) -> tuple[float, float]:
    if item_count(value) != 2:
        raise ModelError(f"{what}: {value!r} is not a range such as (0, 10)")
    low, high = (real(x, what, ModelError) for x in value)
    if not low < high:
        raise ModelError(f"{what}: it ends at {high:g}, before it begins at {low:g}")
    return low, high


def _heights(z: object, where: str) -> tuple[tuple[float, ...], ...]:
    try:
        heights = np.array(z, dtype=float)
    except (TypeError, ValueError):
        heights = np.empty(0)
    if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
        raise ModelError(f"{where}: its heights are not rows of finite numbers, at least 2 × 2")
    if max(heights.shape) > _FINEST:
        raise ModelError(f"{where}: it has {heights.shape} heights; give at most {_FINEST} along each axis")
    return tuple(map(tuple, heights.tolist()))


SURFACES = (
    ObjectForm("plane", Plane, spread=True),
    ObjectForm("grid", Grid, spread=True),
    ObjectForm("heights", HeightProfile, "z"),
    ObjectForm("earth", Earth, "radius"),
)
