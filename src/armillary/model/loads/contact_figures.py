"""Contact of a solid with a plane, as contacts of the points and balls that can touch it.

    Sphere      one ball, whose point of contact moves over it as it rolls
    Capsule     a ball at each end, on its axis
    Box         its eight corners

A convex solid touches a plane with these first, whatever its attitude, so nothing of it is ever below the
plane. Corners that move alike, as the near and the far ones of a box in planar motion, are one contact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.units import LENGTH
from armillary.algebra.vectors import Vector, dot
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Point
from armillary.model.bodies.shapes.figure import Figure
from armillary.model.bodies.shapes.solids import SOLIDS
from armillary.model.description import Description
from armillary.model.reading.names import check_new_name
from armillary.model.reading.references import bounded_constant, unit_triple

KINDS = ("sphere", "capsule", "box")
TOUCHING = tuple(form for form in SOLIDS if form.key in KINDS)  # their forms in text models


def figure_contacts(
    system: Description,
    name: str,
    centre: Point,
    base: Point,
    normal: Vector,
    figure: object,
    place: Callable[[str, Point, Expr | None], Expr],
) -> Expr:
    """Place contacts for a figure, ``name_1`` and so on, or ``name`` if it is one; return the sum of their
    normal forces, which ``name`` stands for in texts.
    """
    where = f"contact '{name}'"
    touching = _distinct(_parts(system, centre, figure, where), base, normal)
    pushes = []
    for k, (point, radius) in enumerate(touching, start=1):
        label = f"{name}_{k}" if len(touching) > 1 else name
        check_new_name(system, label, "contact")
        pushes.append(place(label, point, radius))
    whole = as_expr(sum(pushes[1:], pushes[0]))
    if len(pushes) > 1:
        system.definitions[name] = whole
    return whole


def _parts(
    system: Description, centre: Point, figure: object, where: str
) -> Iterator[tuple[Point, Expr | None]]:
    """Points of a figure that can touch a plane, with the radius of the ball about each."""
    if not isinstance(figure, Figure) or figure.kind not in KINDS:
        raise ModelError(
            f"{where}: shape={figure!r} is not a Sphere, Capsule or Box; other solids touch with rims or "
            "faces: give contacts to the points that can touch"
        )
    sizes = [
        bounded_constant(system, size, f"{label} of the {figure.kind} of {where}", LENGTH, positive=True)
        for label, size in zip(figure.names, figure.sizes, strict=True)
    ]
    if figure.kind == "sphere":
        yield centre, sizes[0]
        return
    if figure.kind == "capsule":
        radius, length = sizes
        axis = [as_expr(x) * (length / 2) for x in unit_triple(system, figure.axis, f"axis of {where}")]
        for k, sign in enumerate((-1, 1), start=1):
            yield _moved(centre, f"end{k}", [x * sign for x in axis]), radius
        return
    for k, signs in enumerate(product((-1, 1), repeat=3), start=1):
        half = [size * sign / 2 for size, sign in zip(sizes, signs, strict=True)]
        yield _moved(centre, f"corner{k}", half), None


def _moved(centre: Point, label: str, by: Sequence[Expr]) -> Point:
    """A point beside another, in the axes of its body."""
    x, y, z = (as_expr(a) + b for a, b in zip(centre.coordinates, by, strict=True))
    return Point(f"{centre.name}_{label}", centre.body, (x, y, z))


def _distinct(
    parts: Iterator[tuple[Point, Expr | None]], base: Point, normal: Vector
) -> list[tuple[Point, Expr | None]]:
    """The parts without those that move as an earlier one does along the normal and in the plane."""
    found: dict[object, tuple[Point, Expr | None]] = {}
    for point, radius in parts:
        velocity = motion.velocity(point, base.body)
        gap = as_expr(dot(motion.position(point, base), normal))
        found.setdefault((gap, *map(as_expr, velocity.components(base.body.frame))), (point, radius))
    return list(found.values())
