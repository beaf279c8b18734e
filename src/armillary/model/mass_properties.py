"""Mass properties of whole descriptions, and vectors carried from body to body along the tree."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, as_expr, number
from armillary.algebra.triples import Triple, add, is_zero, joined, matrix_vector, plus, scaled, transposed
from armillary.algebra.units import MASS
from armillary.algebra.vectors import Frame, Vector
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description
from armillary.model.flexible.deformation import first_moment
from armillary.model.recording.verbs import quantity


@quantity()
def total_mass(system: Description) -> Expr:
    """Σ m."""
    return as_expr(sum((whole_mass(b) for b in system.bodies.values()), ZERO))


@quantity()
def mass_centre(system: Description) -> Vector:
    """Position of the system's mass centre."""
    moment = sum((mass_moment(b, None) for b in system.bodies.values()), Vector({}))
    if is_zero(total_mass(system)):
        raise ModelError("a system without mass has no mass centre")
    return moment / total_mass(system)


def composites(system: Description) -> dict[str, tuple[Expr, Triple]]:
    """(mass, first moment about the origin in own axes) of each body with all that hangs on it, by name;
    of the whole system by "ground". Summed up from the leaves as intermediate values."""
    found: dict[str, tuple[Expr, Triple]] = {}
    nothing: tuple[Expr, Triple] = (ZERO, (ZERO, ZERO, ZERO))
    for body in [*reversed(system.bodies.values()), system.ground]:
        mass, moment = found.get(body.name, nothing)
        mass = as_expr(plus(mass, whole_mass(body)))
        own = add(scaled(body.com_coordinates, body.mass), first_moment(body))
        moment = named_triple(add(moment, own), f"h_{body.name}")
        found[body.name] = mass, moment
        if body.parent is not None:
            for frame in reversed(joint_frames(body)):
                moment = named_triple(matrix_vector(frame.rotation, moment), f"h_{frame.name}")
            shift = scaled(body.displacement.components(body.parent.frame), mass)
            above_mass, above = found.get(body.parent.name, nothing)
            found[body.parent.name] = as_expr(plus(above_mass, mass)), add(above, moment, shift)
    return found


def first_with_mass(system: Description, verb: str) -> Body:
    """The first body with mass; an error that names the verb where there is none."""
    for body in system.bodies.values():
        if not is_zero(whole_mass(body)):
            return body
    raise ModelError(f"{verb}: a system without mass has no mass centre")


def whole_mass(body: Body) -> Expr:
    """A body's mass with that of its flexible part."""
    return as_expr(body.mass if body.flex is None else plus(body.mass, number(body.flex.part.mass, MASS)))


def mass_moment(body: Body, start: Point | None) -> Vector:
    """∫ r dm of a body, r from a point or the ground's origin."""
    rigid = motion.position(body.com, start) * body.mass
    if body.flex is None:
        return rigid
    flexible = motion.position(body, start) * number(body.flex.part.mass, MASS)
    return rigid + flexible + body.frame.vector(first_moment(body))


def joint_frames(body: Body) -> list[Frame]:
    """Frames of a body's joint, from the first turn to the body's own."""
    assert body.parent is not None
    frames: list[Frame] = []
    walker: Frame | None = body.frame
    while walker is not None and walker is not body.parent.frame:
        frames.append(walker)
        walker = walker.parent
    return frames[::-1]


def carried(body: Body, vector: Triple, name: str) -> Triple:
    """A vector in a body's own axes from its components in the parent's, turn by turn."""
    for frame in joint_frames(body):
        vector = named_triple(matrix_vector(transposed(frame.rotation), vector), f"{name}_{frame.name}")
    return vector


def named_triple(values: Sequence[object], name: str) -> Triple:
    """Three values under names in the equations."""
    return joined(fn.named(as_expr(v), f"{name}_{a}") for v, a in zip(values, "xyz", strict=True))
