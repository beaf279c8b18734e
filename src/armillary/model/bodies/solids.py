"""Figures of shapes: their data, solids and meshes.

The data of a shape: a kind with sizes about its own centre, and further constants.

Solids that a body can show: each has sizes, numbers or expressions of parameters, about its own centre.

In text models a solid is a table with one key, its sizes in order:

    shape = { box = [0.4, 0.2, 0.1] }          shape = { wheel = ["R", 0.1], axis = "y" }

Surfaces of triangles: from a file, which is read when a picture is made, or from given corners.

In text models:

    shape = { mesh = "parts/part.stl", scale = 0.001 }
    shape = { polyhedron = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] }
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from armillary.algebra.arguments import file_path, item_count, real, records_arguments
from armillary.algebra.units import LENGTH
from armillary.errors import ModelError
from armillary.model.reading.kinds import (
    NUMBER,
    PATH,
    AxisLike,
    Either,
    ExpressionLike,
    ListOf,
    ObjectForm,
    choice,
)
from armillary.model.reading.references import constant_reader
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.model.description import Description


class Figure:
    """A figure: its kind, the names of its sizes, and what they are."""

    kind: ClassVar[str] = ""
    names: ClassVar[tuple[str, ...]] = ()
    between: ClassVar[bool] = False  # drawn from point to point instead of on a body

    sizes: tuple[Given, ...] = ()
    axis: Given = None  # of figures that are round about one, in the axes of the shape

    def __init__(self, *sizes: object, axis: object = None) -> None:
        self.sizes = sizes
        self.axis = axis

    def details(self, system: Description, where: str) -> DataTable:
        """Further data besides sizes, as constants of a system."""
        return {}

    def __repr__(self) -> str:
        about = "" if self.axis is None else f", axis={self.axis!r}"
        return f"{type(self).__name__}({', '.join(map(repr, self.sizes))}{about})"


def radius_of(given: object, system: Description, where: str) -> DataTable:
    """The detail "radius", where one is given."""
    if given is None:
        return {}
    radius = constant_reader(system, where, LENGTH)(given)
    if radius.kind == "number" and not radius.data > 0:
        raise ModelError(f"{where}: its radius is {radius.data:g}; give a positive length")
    return {"radius": radius}


@records_arguments
class Box(Figure):
    """A box with these edges."""

    kind, names = "box", ("x", "y", "z")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, z: ExpressionLike) -> None:
        super().__init__(x, y, z)


@records_arguments
class Ellipsoid(Figure):
    """An ellipsoid with these half axes."""

    kind, names = "ellipsoid", ("x", "y", "z")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, z: ExpressionLike) -> None:
        super().__init__(x, y, z)


@records_arguments
class Sphere(Figure):
    """A ball."""

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
    """A cylinder along ``axis`` with half a ball on each end; ``length`` is that of the cylinder alone."""

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

    ``scale`` multiplies lengths, by one number or one along each axis: 0.001 for a file in millimetres. Of a
    .dae file, which states its units, lengths are in metres. ``up="z"`` turns what a .glb or .dae file has
    upwards to that axis; without it, axes are as they are in the file. ``texture`` is an image in place of
    the colours of the file, for meshes with places in one.
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
        # The whole path now, so that another working folder later does not change what is meant.
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

    ``faces`` are the numbers of three corners each, counted from 0, against the clock as seen from outside.
    Without them it is the convex hull of the corners.
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
