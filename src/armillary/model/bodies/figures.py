"""Figures of shapes, with their forms in text models.

Figures have a kind and sizes, and some have further constants. There are solids, whose sizes are numbers or
expressions of parameters:

    shape = { box = [0.4, 0.2, 0.1] }    shape = { wheel = ["R", 0.1], axis = "y" }

Surfaces of triangles are given by their corners or by a file, which is read when a picture is made:

    shape = { mesh = "parts/part.stl", scale = 0.001 }
    shape = { polyhedron = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] }

Lines connect places of a body; springs, dampers, rods and cables connect points of different bodies:

    shape = { polyline = [[0, 0, 0], [1, 0, 0], [1, 1, 0]], closed = true }
    shape = { spring = 0.03, coils = 6 }, between = ["upright.foot", "chassis.tower"]

Surroundings of a mechanism are a plane, a grid, a profile of heights, and the Earth with an orbit:

    shape = { plane = [20, 20] }    shape = { heights = "0.1*sin(x)", x = [0, 10], y = [-1, 1] }
    shape = { grid = [20, 20, 1] }  shape = { earth = 6378137, orbit = { mu = 3.986e14, a = 7e6 } }
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from armillary.algebra.arguments import count, file_path, item_count, real, records_arguments
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.units import LENGTH
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.model.reading.expressions import argument_range, read_expression
from armillary.model.reading.kinds import (
    COUNT,
    EXPRESSION,
    FLAG,
    NUMBER,
    NUMBERS,
    PATH,
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
    choice,
)
from armillary.model.reading.references import constant_reader, triple
from armillary.model.space.orbit import ORBIT, Orbit
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.model.description import Description


class Figure:
    """A figure: its kind, and the names and values of its sizes."""

    kind: ClassVar[str] = ""
    names: ClassVar[tuple[str, ...]] = ()
    between: ClassVar[bool] = False  # whether it is drawn from point to point instead of on a body

    sizes: tuple[Given, ...] = ()
    axis: Given = None  # the axis of symmetry of round figures, in the axes of the shape

    def __init__(self, *sizes: object, axis: object = None) -> None:
        self.sizes = sizes
        self.axis = axis

    def details(self, system: Description, where: str) -> DataTable:
        """Return further data of the figure, besides its sizes."""
        return {}

    def __repr__(self) -> str:
        about = "" if self.axis is None else f", axis={self.axis!r}"
        return f"{type(self).__name__}({', '.join(map(repr, self.sizes))}{about})"


def radius_of(given: object, system: Description, where: str) -> DataTable:
    """Return {"radius": radius}, read from ``given``; {} if no radius is given."""
    if given is None:
        return {}
    radius = constant_reader(system, where, LENGTH)(given)
    if radius.kind == "number" and not radius.data > 0:
        raise ModelError(f"{where}: its radius is {radius.data:g}; give a positive length")
    return {"radius": radius}


@records_arguments
class Box(Figure):
    """A box with edges of lengths ``x``, ``y`` and ``z`` along its axes."""

    kind, names = "box", ("x", "y", "z")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, z: ExpressionLike) -> None:
        super().__init__(x, y, z)


@records_arguments
class Ellipsoid(Figure):
    """An ellipsoid with half axes ``x``, ``y`` and ``z``."""

    kind, names = "ellipsoid", ("x", "y", "z")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, z: ExpressionLike) -> None:
        super().__init__(x, y, z)


@records_arguments
class Sphere(Figure):
    """A ball of this ``radius``."""

    kind, names = "sphere", ("radius",)

    def __init__(self, radius: ExpressionLike) -> None:
        super().__init__(radius)


@records_arguments
class Cylinder(Figure):
    """A cylinder along ``axis``."""

    kind, names = "cylinder", ("radius", "length")

    def __init__(self, radius: ExpressionLike, length: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(radius, length, axis=axis)


@records_arguments
class Capsule(Figure):
    """A cylinder along ``axis`` with half a ball on each end; ``length`` excludes the ends."""

    kind, names = "capsule", ("radius", "length")

    def __init__(self, radius: ExpressionLike, length: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(radius, length, axis=axis)


@records_arguments
class Cone(Figure):
    """A cone with its tip along ``axis``, centred at half its length."""

    kind, names = "cone", ("radius", "length")

    def __init__(self, radius: ExpressionLike, length: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(radius, length, axis=axis)


@records_arguments
class Wheel(Figure):
    """A wheel with tyre, spokes and hub, which turns about ``axis``."""

    kind, names = "wheel", ("radius", "width")

    def __init__(self, radius: ExpressionLike, width: ExpressionLike, axis: AxisLike = "y") -> None:
        super().__init__(radius, width, axis=axis)


SOLIDS = tuple(
    ObjectForm(made.kind, made, spread=True)
    for made in (Box, Ellipsoid, Sphere, Cylinder, Capsule, Cone, Wheel)
)


_UPWARDS = ("x", "y", "z")
_Threes = Annotated[Given, ListOf(ListOf(NUMBER, 3))]


@dataclass(frozen=True, repr=False, eq=False)
class Mesh(Figure):
    """Triangles of a file: .stl, .obj, .glb or .dae, in the file's own axes.

    ``scale`` multiplies lengths: one number, such as 0.001 for a file in millimetres, or one for each axis. A
    .dae file states its units, and its lengths become metres. ``up="z"`` turns the mesh so that the upward
    axis of a .glb or .dae file becomes z; without ``up`` the axes of the file are used. ``texture`` is an
    image in place of the colours of the file, for meshes with texture coordinates.
    """

    kind: ClassVar[str] = "mesh"

    path: Annotated[str | os.PathLike[str], PATH]
    scale: Annotated[Given, Either((NUMBER, ListOf(NUMBER, 3)))] = 1.0
    up: Annotated[str, choice(*_UPWARDS)] = ""
    texture: Annotated[str | os.PathLike[str], PATH] = ""

    def __post_init__(self) -> None:
        place = file_path(self.path, "a Mesh", ModelError)
        if not place.name:
            raise ModelError(f"Mesh: '{self.path}' is not the name of a file; give one such as 'part.stl'")
        if self.up not in ("", *_UPWARDS):
            raise ModelError(f"Mesh: up={self.up!r} is not one of {', '.join(_UPWARDS)}")
        given = self.scale if isinstance(self.scale, list | tuple) else (self.scale,) * 3
        if len(given) != 3:
            raise ModelError(f"Mesh: scale={self.scale!r} is neither a number nor three")
        factors = tuple(real(x, "scale of a Mesh", ModelError) for x in given)
        if not all(x and math.isfinite(x) for x in factors):
            raise ModelError(
                f"Mesh: scale={self.scale!r} leaves nothing to show; give finite numbers that are not zero"
            )
        object.__setattr__(self, "scale", factors[0] if len(set(factors)) == 1 else factors)
        # Make the path absolute now, so that it names the same file after a change of the working folder.
        object.__setattr__(self, "path", str(place.absolute()))
        image = file_path(self.texture, "the texture of a Mesh", ModelError)
        object.__setattr__(self, "texture", str(image.absolute()) if image.name else "")

    def details(self, system: Description, where: str) -> DataTable:
        factors = self.scale if isinstance(self.scale, tuple) else (self.scale,) * 3
        return {"file": self.path, "scale": factors, "up": self.up, "texture": self.texture}

    def __repr__(self) -> str:
        return f"Mesh({Path(self.path).name!r})"


@records_arguments
class Polyhedron(Figure):
    """Triangles between given corners, in the body's axes and the system's unit of length.

    Each of the ``faces`` has the numbers, from 0, of three corners, anticlockwise as seen from outside.
    Without ``faces`` the figure is the convex hull of the corners.
    """

    kind: ClassVar[str] = "polyhedron"

    def __init__(self, corners: _Threes, faces: _Threes = None) -> None:
        self.corners, self.faces = corners, faces

    def details(self, system: Description, where: str) -> DataTable:
        corners = _threes(self.corners, f"corners of {where}", "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]")
        if len(corners) < (4 if self.faces is None else 3):
            raise ModelError(f"{where}: {len(corners)} corners make no polyhedron")
        faces = (
            () if self.faces is None else _threes(self.faces, f"faces of {where}", "[(0, 2, 1), (0, 1, 3)]")
        )
        for n in (n for face in faces for n in face):
            if n != int(n) or not 0 <= n < len(corners):
                raise ModelError(
                    f"{where}: {n:g} is not the number of a corner; they go from 0 to {len(corners) - 1}"
                )
        return {"corners": corners, "faces": tuple(tuple(map(int, face)) for face in faces)}

    def __repr__(self) -> str:
        return f"Polyhedron({len(self.corners)} corners)" if item_count(self.corners) >= 0 else "Polyhedron"


def _threes(given: object, what: str, example: str) -> tuple[tuple[float, ...], ...]:
    rows = given.tolist() if hasattr(given, "tolist") else given  # an array, of NumPy or another library
    if not isinstance(rows, list | tuple) or not all(
        isinstance(r, list | tuple) and len(r) == 3 for r in rows
    ):
        raise ModelError(f"{what}: {str(given)[:60]!r} is not a list of three numbers each, e.g. {example}")
    found = tuple(tuple(real(x, what, ModelError) for x in row) for row in rows)
    if not all(math.isfinite(x) for row in found for x in row):
        raise ModelError(f"{what}: a number is not finite")
    return found


MESHES = (ObjectForm("mesh", Mesh, "path"), ObjectForm("polyhedron", Polyhedron, "corners"))


_Radius = Annotated[GivenScalar | None, Either((FLAG, EXPRESSION))]  # true: a radius that suits the system


@records_arguments
class Polyline(Figure):
    """A line through places of a body, in its axes; ``radius`` is the radius of a tube around it."""

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
    """A figure from point to point; without ``radius`` the picture chooses one that suits the system."""

    between = True

    def __init__(self, radius: _Radius = None) -> None:
        self.radius = radius

    def details(self, system: Description, where: str) -> DataTable:
        return radius_of(self.radius, system, where)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.radius is None else repr(self.radius)})"


@records_arguments
class Spring(ConnectingLine):
    """A coil spring that stretches between its ends."""

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
    """A cable; if its ``length`` exceeds the distance of its ends, it hangs down between them."""

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
_FINEST = 2000  # most places of a profile along an axis
_HEIGHTS = Either((Written("an expression of x and y", x=LENGTH, y=LENGTH), NUMBERS))
_Range = Annotated[Given, ListOf(NUMBER, 2)]


@records_arguments
class Plane(Figure):
    """A rectangle perpendicular to ``axis``, with edges along the other two axes."""

    kind, names = "plane", ("x", "y")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(x, y, axis=axis)


@records_arguments
class Grid(Figure):
    """Lines with a ``spacing`` on a rectangle perpendicular to ``axis``."""

    kind, names = "grid", ("x", "y", "spacing")

    def __init__(
        self, x: ExpressionLike, y: ExpressionLike, spacing: ExpressionLike, axis: AxisLike = "z"
    ) -> None:
        super().__init__(x, y, spacing, axis=axis)


@records_arguments
class HeightProfile(Figure):
    """A surface of heights ``z`` above a rectangle with the ranges ``x`` and ``y``.

    ``z`` is an expression of x and y, a function of x and y such as a ``Table2``, or an array of numbers with
    a row for each place along x. Expressions and functions are evaluated at ``points`` places along each
    axis.
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
        ends = {
            name: _read_range(value, f"{name} of {where}") for name, value in (("x", self.x), ("y", self.y))
        }
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
    """The Earth, or another planet of this ``radius``, with lines of latitude; and an ``orbit`` about it."""

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


def _read_range(value: Given, what: str) -> tuple[float, float]:
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
