"""Shapes of bodies for pictures: a figure at a place of a body, with a colour. A shape has no mass.

Figures (``figures.py``) are solids, meshes, lines and surfaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from armillary.algebra.arguments import item_count, real
from armillary.algebra.units import LENGTH, ONE
from armillary.errors import ModelError
from armillary.model.bodies.body import BodyLike, Point, PointLike
from armillary.model.bodies.figures import (
    LINES,
    MESHES,
    SOLIDS,
    SURFACES,
    Box,
    Cable,
    Capsule,
    Cone,
    Cylinder,
    Damper,
    Earth,
    Ellipsoid,
    Figure,
    Grid,
    HeightProfile,
    Mesh,
    Plane,
    Polyhedron,
    Polyline,
    Rod,
    Sphere,
    Spring,
    Wheel,
)
from armillary.model.description import Shape
from armillary.model.reading.kinds import (
    BODY,
    EXPRESSION,
    MATRIX,
    NUMBER,
    POINT,
    TRIPLE,
    WORDS,
    Either,
    ListOf,
    Number,
    OneOf,
    OrientationLike,
    TripleLike,
    Turned,
    Words,
)
from armillary.model.reading.references import (
    constant_reader,
    find_body,
    find_point,
    orientation_matrix,
    triple,
    unit_triple,
)
from armillary.model.verbs import EntryForm, verb
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.model.description import Description


FIGURES = (*SOLIDS, *MESHES, *LINES, *SURFACES)  # their forms in text models

__all__ = [
    "FIGURES",
    "Box",
    "Cable",
    "Capsule",
    "Cone",
    "Cylinder",
    "Damper",
    "Earth",
    "Ellipsoid",
    "Figure",
    "Grid",
    "HeightProfile",
    "Mesh",
    "Plane",
    "Polyhedron",
    "Polyline",
    "Rod",
    "Sphere",
    "Spring",
    "Wheel",
]


_COLOUR = r"#[0-9a-fA-F]{6}\Z"
_KINDS = {
    "body": BODY, "shape": OneOf(FIGURES), "between": ListOf(POINT), "at": TRIPLE,
    "orient": Either((MATRIX, Turned(EXPRESSION))), "colour": WORDS, "opacity": NUMBER,
}  # fmt: skip


@verb(EntryForm("shapes"))
def shape(
    system: Description,
    name: str,
    shape: Annotated[Figure, OneOf(FIGURES)],
    *,
    body: BodyLike | None = None,
    between: Annotated[Sequence[PointLike] | None, ListOf(POINT)] = None,
    at: TripleLike = (0, 0, 0),
    orient: OrientationLike | None = None,
    colour: Words = "",
    opacity: Number = 1.0,
) -> Shape:
    """Add a figure that pictures show on a body, instead of their own drawing of it, or between points.

    ``at`` is its centre and ``orient`` the direction of its axes, both in the body's axes, as for a body.
    ``between`` are the two or more points that a ``Spring``, ``Damper``, ``Rod`` or ``Cable`` is drawn along.
    ``colour`` is written "#0072b2"; without one the figure has the body's colour. ``opacity`` is between 0
    and 1.
    """
    where = f"shape '{name}'"
    if not isinstance(name, str) or not name.isidentifier():
        raise ModelError(f"{where}: that is not a name: letters, digits and underscores")
    if name in system.shapes:
        raise ModelError(f"there is a shape '{name}' already; choose another name")
    if not isinstance(shape, Figure):
        raise ModelError(f"{where}: {shape!r} is not a shape; give one such as Box(0.4, 0.2, 0.1)")
    ends = _ends(system, shape, body, between, where)
    owner = ends[0].body if ends else find_body(system, body, where)
    read = constant_reader(system, where, LENGTH)
    sizes = tuple(read(size) for size in shape.sizes)
    for label, size in zip(shape.names, sizes, strict=True):
        if size.kind == "number" and not size.data > 0:
            raise ModelError(f"{where}: its {label} is {size.data:g}; give a positive length")
    if not isinstance(colour, str) or (colour and not re.match(_COLOUR, colour)):
        raise ModelError(f"{where}: colour={colour!r} is not written as '#0072b2'")
    if not 0 <= real(opacity, f"opacity of {where}", ModelError) <= 1:
        raise ModelError(f"{where}: its opacity is {opacity:g}; give one between 0 and 1")
    made = Shape(
        name,
        owner,
        shape.kind,
        sizes,
        None if shape.axis is None else unit_triple(system, shape.axis, where),
        triple(system, at, f"'at' of {where}", "m"),
        orientation_matrix(orient, where, constant_reader(system, f"orient of {where}", ONE)),
        colour,
        float(opacity),
        ends,
        shape.details(system, where),
    )
    system.shapes[name] = made
    return made


def _ends(system: Description, shape: Figure, body: object, between: Given, where: str) -> tuple[Point, ...]:
    """Return the points of a figure between points; none of one on a body."""
    called = type(shape).__name__
    if not shape.between:
        if between is not None or body is None:
            raise ModelError(f"{where}: a {called} is shown on a body; give body=")
        return ()
    if body is not None or between is None:
        raise ModelError(f"{where}: a {called} is drawn between points; give between=(p, q) and no body")
    if item_count(between) < 2:
        raise ModelError(f"{where}: between={between!r} are not two points or more, e.g. (A.origin, B.com)")
    return tuple(find_point(system, end, where) for end in between)
