"""Bodies of a description: how one is made on its parent, with its joint's coordinates and speeds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from armillary.algebra.arguments import flag
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.triples import Matrix
from armillary.algebra.units import ONE, TIME, Dimension
from armillary.errors import ModelError
from armillary.model.bodies.body import Body, add_points, build_frames
from armillary.model.joints import Assembly, Fixed, JointType, Maker
from armillary.model.joints.text_forms import JOINT
from armillary.model.judgement import judge_joint
from armillary.model.reading.expressions import check_new_name, make_parameter, read_inertia, read_mass
from armillary.model.reading.kinds import (
    BODY,
    EXPRESSION,
    MATRIX,
    TRIPLE,
    Either,
    ExpressionLike,
    Flag,
    GivenMatrix,
    GivenScalar,
    GivenTriple,
    ListOf,
    OrientationLike,
    TripleLike,
)
from armillary.model.reading.references import constant_reader, find_body, orientation_matrix, triple
from armillary.model.verbs import EntryForm, verb

if TYPE_CHECKING:
    from armillary.model.description import Description

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
    """Add a body on a parent (the ground where none is given).

    ``at``: the joint's place in the parent's axes. ``orient``: how the child's axes are turned at zero
    coordinates: a 3×3 matrix with v_parent = R v_child, or a sequence with angles such as ("zx", 0.1,
    0.2). ``com``: mass centre in body axes. ``inertia`` about it: 0, three moments, six elements (11, 22,
    33, 12, 13, 23) or 3×3. Mass or inertia left out become parameters named after the body.
    """
    check_new_name(system, name, "body")
    base = find_body(system, parent, f"parent of body '{name}'") if parent is not None else system.ground
    kind = joint if joint is not None else Fixed()
    if not isinstance(kind, JointType):
        raise ModelError(f"body '{name}': joint={joint!r} is not a joint; give one such as Revolute('z')")
    place = triple(system, at, f"'at' of body '{name}'", "m")
    centre = triple(system, com, f"mass centre of body '{name}'", "m")
    turned = orientation_matrix(
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
    assembly, q, u = _assemble(system, name, base.name, kind, turned)
    frame, displacement, drift = build_frames(name, base.frame, place, assembly.steps, turned)
    made_at = system.extent() + 1
    body = Body(
        system, name, base, kind, assembly, frame, place, turned, made_mass, made_inertia, centre,
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
    """The symbol of the rate of a speed."""
    name = speed.data.name
    dimension = speed.dimension / TIME if speed.dimension is not None else None
    dot = symbol(
        f"{name}'", "acceleration", dimension=dimension, owner=system.identity, about=f"rate of {name}"
    )
    system.rates[speed] = dot
    system.accelerations[speed] = dot
