"""Lines and surfaces as shapes of bodies.

Lines: one through places of a body, and springs, dampers, rods and cables between points that move.

In text models:

    shape = { polyline = [[0, 0, 0], [1, 0, 0], [1, 1, 0]], closed = true }
    shape = { spring = 0.03, coils = 6 }, between = ["upright.foot", "chassis.tower"]

Surfaces around a mechanism: a plane, a grid, a profile of heights, and the Earth with an orbit.

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
from armillary.model.bodies.solids import Figure, radius_of
from armillary.model.reading.expressions import argument_range, read_expression
from armillary.model.reading.kinds import (
    COUNT,
    EXPRESSION,
    FLAG,
    NUMBER,
    NUMBERS,
    TRIPLE,
    AxisLike,
    Count,
    Either,
    ExpressionLike,
    Flag,
    GivenScalar,
    ListOf,
    ObjectForm,
    TripleLike,
    Written,
)
from armillary.model.reading.references import constant_reader, triple
from armillary.model.space.orbit import ORBIT, Orbit
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.model.description import Description


_Radius = Annotated[GivenScalar | None, Either((FLAG, EXPRESSION))]  # true: one that suits the system


@records_arguments
class Polyline(Figure):
    """A line through places of a body, in its axes; ``radius`` is that of a tube around it."""

    kind: ClassVar[str] = "polyline"

    def __init__(
        self,
        points: Annotated[Sequence[TripleLike], ListOf(TRIPLE)],
        radius: ExpressionLike | None = None,
        closed: Flag = False,
    ) -> None:
        self.points, self.radius, self.closed = points, radius, closed

    def details(self, system: Description, where: str) -> DataTable:
        if item_count(self.points) < 2:
            raise ModelError(
                f"{where}: {self.points!r} are not two points or more, e.g. [(0, 0, 0), (1, 0, 0)]"
            )
        if not isinstance(self.closed, bool):
            raise ModelError(f"{where}: closed={self.closed!r} is neither True nor False")
        places = tuple(triple(system, p, f"a point of {where}") for p in self.points)
        return {"points": places, "closed": self.closed, **radius_of(self.radius, system, where)}

    def __repr__(self) -> str:
        return f"Polyline({self.points!r})"


class ConnectingLine(Figure):
    """A figure from point to point, of this radius or of one that suits the system."""

    between = True

    def __init__(self, radius: _Radius = None) -> None:
        self.radius = radius

    def details(self, system: Description, where: str) -> DataTable:
        return radius_of(self.radius, system, where)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.radius is None else repr(self.radius)})"


@records_arguments
class Spring(ConnectingLine):
    """A coil spring, which stretches between its ends."""

    kind: ClassVar[str] = "spring"

    def __init__(self, radius: _Radius = None, coils: Count = 9) -> None:
        super().__init__(radius)
        self.coils = coils

    def details(self, system: Description, where: str) -> DataTable:
        coils = min(max(count(self.coils, f"the number of coils of {where}", ModelError), 1), 200)
        return {**super().details(system, where), "coils": coils}


@records_arguments
class Damper(ConnectingLine):
    """A cylinder on the first point with a piston rod from the second."""

    kind: ClassVar[str] = "damper"


@records_arguments
class Rod(ConnectingLine):
    """A straight rod."""

    kind: ClassVar[str] = "rod"


@records_arguments
class Cable(ConnectingLine):
    """A cable; one whose ``length`` is more than the distance of its ends hangs down between them."""

    kind: ClassVar[str] = "cable"

    def __init__(self, radius: _Radius = None, length: ExpressionLike | None = None) -> None:
        super().__init__(radius)
        self.length = length

    def details(self, system: Description, where: str) -> DataTable:
        found = super().details(system, where)
        if self.length is not None:
            found["length"] = constant_reader(system, where, LENGTH)(self.length)
        return found


LINES = (
    ObjectForm("polyline", Polyline, "points"),
    *(ObjectForm(made.kind, made, "radius") for made in (Spring, Damper, Rod, Cable)),
)


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
