"""Bodies of a description on their parents, with coordinates and speeds of their joints; shapes of bodies.

A shape, for pictures, is a figure at a place of a body, with a colour. It has no mass. Figures
(``figures.py``) are solids, meshes, lines and surfaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from armillary.algebra.arguments import flag, item_count, real
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.triples import Matrix
from armillary.algebra.units import LENGTH, ONE, TIME, Dimension
from armillary.errors import ModelError
from armillary.model.bodies.body import Body, BodyLike, Point, PointLike, add_points, build_frames
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
from armillary.model.joints import JOINT, Assembly, Fixed, JointType, Maker
from armillary.model.quantities import judge_joint
from armillary.model.reading.expressions import check_new_name, make_parameter, read_inertia, read_mass
from armillary.model.reading.kinds import (
    BODY,
    EXPRESSION,
    MATRIX,
    NUMBER,
    POINT,
    TRIPLE,
    WORDS,
    Either,
    ExpressionLike,
    Flag,
    GivenMatrix,
    GivenScalar,
    GivenTriple,
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

__all__ = [
    "FIGURES", "Box", "Cable", "Capsule", "Cone", "Cylinder", "Damper", "Earth", "Ellipsoid", "Figure",
    "Grid", "HeightProfile", "Mesh", "Plane", "Polyhedron", "Polyline", "Rod", "Sphere", "Spring", "Wheel",
]  # fmt: skip

INERTIA = Either((EXPRESSION, TRIPLE, ListOf(EXPRESSION, 6), MATRIX))


@verb(EntryForm("bodies", is_body=True))
def body(
    system: Description,
    name: str,
    parent: Annotated[Body | str | None, BODY] = None,
    joint: Annotated[JointType | None, JOINT] = None,
    *,
    at: TripleLike = (0, 0, 0),
    orient: OrientationLike | None = None,
    com: TripleLike = (0, 0, 0),
    mass: ExpressionLike | None = None,
    inertia: Annotated[GivenScalar | GivenTriple | GivenMatrix | None, INERTIA] = None,
    check_inertia: Flag = True,
) -> Body:
    """Add a body on a parent (by default the ground).

    ``at`` is the joint's place in the parent's axes. ``orient`` is the rotation of the body's axes at zero
    coordinates: a 3×3 matrix R with v_parent = R v_child, or a sequence of axes with angles such as ("zx",
    0.1, 0.2). ``com`` is the mass centre in body axes. ``inertia``, about the mass centre in body axes, is 0,
    three moments, six elements (11, 22, 33, 12, 13, 23) or 3×3. If mass or inertia is left out, it becomes a
    parameter named after the body.
    """
    check_new_name(system, name, "body")
    base = find_body(system, parent, f"parent of body '{name}'") if parent is not None else system.ground
    kind = joint if joint is not None else Fixed()
    if not isinstance(kind, JointType):
        raise ModelError(f"body '{name}': joint={joint!r} is not a joint; give one such as Revolute('z')")
    position = triple(system, at, f"'at' of body '{name}'", "m")
    centre = triple(system, com, f"mass centre of body '{name}'", "m")
    orientation = orientation_matrix(
        orient, f"body '{name}'", constant_reader(system, f"orient of body '{name}'", ONE)
    )
    where = f"body '{name}'"
    new_parameter = partial(make_parameter, system)
    made_mass = read_mass(
        mass, name, lambda v, d: constant_reader(system, f"mass of {where}", d)(v), new_parameter
    )
    made_inertia = read_inertia(
        inertia,
        name,
        lambda v, d: constant_reader(system, f"inertia of {where}", d)(v),
        new_parameter,
        check=flag(check_inertia, f"{where}: check_inertia=", ModelError),
    )
    assembly, q, u = _assemble(system, name, base.name, kind, orientation)
    frame, displacement, drift = build_frames(name, base.frame, position, assembly.steps, orientation)
    made_at = system.extent() + 1
    body = Body(
        system, name, base, kind, assembly, frame, position, orientation, made_mass, made_inertia, centre,
        displacement, drift, q, u, made_at=made_at,
    )  # fmt: skip
    add_points(body)
    system.bodies[name] = body
    return body


def _assemble(
    system: Description, body: str, parent: str, kind: JointType, orient: Matrix | None
) -> tuple[Assembly, tuple[Expr, ...], tuple[Expr, ...]]:
    made: dict[str, list[Expr]] = {"q": [], "u": []}

    def make(letter: str, dimension: Dimension, about: str, initial: float) -> Expr:
        role = "coordinate" if letter == "q" else "speed"
        label = f"{body}.{letter}{len(made[letter]) + 1}"
        units = "" if about.startswith("Euler parameter") else system.units.joint_text(dimension)
        node = symbol(label, role, dimension=dimension, owner=system.identity, units=units, about=about)
        made[letter].append(node)
        system.initial[node] = initial
        return node

    reader = constant_reader(system, f"joint of body '{body}'", None)
    assembly = kind.assemble(Maker(body, parent, make, reader, orient))
    q, u = tuple(made["q"]), tuple(made["u"])
    if kind.small:
        judge_joint(system, body, assembly, (*q, *u))
    system.coordinates += q
    system.speeds += u
    system.rates.update(zip(q, assembly.rates, strict=True))
    for node in u:
        make_acceleration(system, node)
    return assembly, q, u


def make_acceleration(system: Description, speed: Expr) -> None:
    """Add a symbol for the rate of a speed."""
    name = speed.data.name
    dimension = speed.dimension / TIME if speed.dimension is not None else None
    dot = symbol(
        f"{name}'", "acceleration", dimension=dimension, owner=system.identity, about=f"rate of {name}"
    )
    system.rates[speed] = dot
    system.accelerations[speed] = dot


FIGURES = (*SOLIDS, *MESHES, *LINES, *SURFACES)  # forms of all figures in text models


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
    """Add a figure that pictures show between points, or on a body in place of the default drawing.

    ``at`` is its centre and ``orient`` the direction of its axes, both in the body's axes, as for a body.
    ``between`` lists the two or more points along which a ``Spring``, ``Damper``, ``Rod`` or ``Cable`` runs.
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
    """Return the points between which a figure is drawn; () for a figure on a body."""
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
