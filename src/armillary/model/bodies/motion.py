"""Positions, velocities and accelerations of points and bodies, as vectors in any mixture of frames.

Velocities are made from the generalised speeds, not by differentiating positions, so they are as short as an
analyst would write them (Sayers 1990, section 5.3, "Multibody operations"). Accelerations are the time
derivatives of velocities. Other functions give mass properties of whole descriptions, and carry vectors from
body to body along the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from armillary.algebra import functions as fn
from armillary.algebra.calculus import derivative, directional_derivatives
from armillary.algebra.expression import ZERO, Expr, as_expr, number
from armillary.algebra.functions import Operand, named
from armillary.algebra.triples import Triple, add, is_zero, joined, matrix_vector, plus, scaled, transposed
from armillary.algebra.units import MASS
from armillary.algebra.vectors import Frame, Vector, ancestors, cross
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description
from armillary.model.flexible.deformation import first_moment
from armillary.model.verbs import Identity, quantity


def _as_point(thing: object, verb: str) -> Point:
    if isinstance(thing, Point):
        return thing
    if isinstance(thing, Body):
        return thing.origin
    raise ModelError(
        f"{verb} needs a point or a body (its origin is taken), not {type(thing).__name__} {thing!r}"
    )


def _as_body(thing: object, verb: str) -> Body:
    if isinstance(thing, Body):
        return thing
    raise ModelError(f"{verb} needs a body, not {type(thing).__name__} {thing!r}")


def lineage(body: Body) -> Iterator[Body]:
    """Return the body, its parent, and so on to the ground."""
    walker: Body | None = body
    while walker is not None:
        yield walker
        walker = walker.parent


def position(point: object, relative_to: object = None) -> Vector:
    """Return the vector to the point from the ground's origin, or from another point."""
    end = _as_point(point, "position")
    start = None if relative_to is None else _as_point(relative_to, "position")
    vector = end.body.frame.vector(end.coordinates)
    if start is not None:
        vector = vector - start.body.frame.vector(start.coordinates)
    shared = set() if start is None else set(map(id, lineage(start.body))) & set(map(id, lineage(end.body)))
    for body in lineage(end.body):
        if id(body) in shared:
            break
        vector = vector + body.displacement
    if start is not None:
        for body in lineage(start.body):
            if id(body) in shared:
                break
            vector = vector - body.displacement
    return vector


def frame_velocity(frame: Frame) -> Vector:
    """Return the absolute angular velocity of a frame: the sum of the relative ones up the tree."""
    return sum((f.rate for f in ancestors(frame)), Vector({}))


def angular_velocity(body: object, relative_to: object = None) -> Vector:
    """Return the angular velocity of a body in the ground, or in another body."""
    w = frame_velocity(_as_body(body, "angular_velocity").frame)
    return w if relative_to is None else w - frame_velocity(_as_body(relative_to, "angular_velocity").frame)


def velocity(point: object, relative_to: object = None) -> Vector:
    """Return the velocity of a point in the ground, relative to another point, or as seen from a body."""
    end = _as_point(point, "velocity")
    absolute = velocity_seen_from(end)
    if relative_to is None:
        return absolute
    if isinstance(relative_to, Body):
        carried = _origin_velocity(relative_to)
        carried = carried + cross(angular_velocity(relative_to), position(end, relative_to.origin))
        return absolute - carried
    return absolute - velocity(relative_to)


def velocity_seen_from(point: Point, base: Body | None = None) -> Vector:
    """Return the velocity of a point as seen from a body before it in the tree, or from the ground.

    This velocity does not depend on the speeds of that body.
    """
    w = angular_velocity(point.body, base)
    return _origin_velocity(point.body, base) + cross(w, point.body.frame.vector(point.coordinates))


def _origin_velocity(body: Body, base: Body | None = None) -> Vector:
    v = Vector({})
    for walker in lineage(body):
        if walker is base:
            break
        if walker.parent is not None:
            v = v + walker.drift + cross(angular_velocity(walker.parent, base), walker.displacement)
    return v


def velocity_along_chain(point: object, base: Body | None = None) -> Vector:
    """Return the velocity of a point in its body's axes, passed on from body to body as intermediate values,
    as seen from the ground or from a body before it.

    The expressions of ``velocity`` grow with the square of a chain's length, these in proportion to it.
    """
    return motion_along_chain(point, base=base)[0]


def motion_along_chain(
    point: object, axes: Frame | None = None, base: Body | None = None
) -> tuple[Vector, Vector]:
    """Return the velocity of a point and the angular velocity of its body, passed on from body to body as in
    ``velocity_along_chain``. Each body's values are in its own axes, or all are in ``axes`` if these are
    given.
    """
    end = _as_point(point, "velocity")
    w, v = Vector({}), Vector({})
    before = list(lineage(base)) if base is not None else []
    for body in reversed(list(lineage(end.body))):
        if body.parent is None or body in before:
            continue
        frame = axes or body.frame
        v = v + body.drift + cross(w, _express_in(body.displacement, axes))
        for step in ancestors(body.frame):
            if step is body.parent.frame:
                break
            w = w + step.rate
        w = frame.vector([named(x, f"w_{body.name}") for x in w.components(frame)])
        v = frame.vector([named(x, f"v_{body.name}") for x in v.components(frame)])
    return v + cross(w, _express_in(end.body.frame.vector(end.coordinates), axes)), w


def _express_in(vector: Vector, axes: Frame | None) -> Vector:
    return vector if axes is None else axes.vector(vector.components(axes))


def time_derivative(quantity: object, base: Body | None = None) -> Operand:
    """Return the total time derivative of a scalar, or of a vector as seen from the ground or from a body.

    d(c e)/dt = ċ e + c ω × e        Sayers 1990, eq. 5.3.2
    """
    if isinstance(quantity, Vector):
        carried = Vector({}) if base is None else frame_velocity(base.frame)
        rates = _rates_of_symbols(c for c in quantity.terms.values() if isinstance(c, Expr))
        result = Vector({})
        for frame, triple in quantity.by_frame().items():
            own = frame.vector(triple)
            dots = directional_derivatives([as_expr(c) for c in triple], rates)
            result = result + frame.vector(dots) + cross(frame_velocity(frame) - carried, own)
        return result
    expression = as_expr(quantity)
    return directional_derivatives([expression], _rates_of_symbols([expression]))[0]


def _rates_of_symbols(expressions: Iterable[Expr]) -> dict[Expr, Expr]:
    rates: dict[Expr, Expr] = {}
    for s in symbols(*expressions):
        owner = s.data.owner
        rate = owner.rate(s) if isinstance(owner, Identity) else None
        if rate is not None:
            rates[s] = rate
        elif s.data.role == "state":
            raise ModelError(
                f"state '{s}' has no rate yet, so expressions with it have no time derivative; "
                f"give s.rate('{s}', …) first"
            )
    return rates


def acceleration(point: object) -> Vector:
    """Return the acceleration of a point in the ground."""
    found: Vector = time_derivative(velocity(_as_point(point, "acceleration")))
    return found


def angular_acceleration(body: object) -> Vector:
    """Return the angular acceleration of a body in the ground."""
    found: Vector = time_derivative(angular_velocity(_as_body(body, "angular_acceleration")))
    return found


def partial(quantity: object, by: Expr) -> Operand:
    """Return the partial derivative of a scalar, or of a vector with fixed unit vectors, by a symbol."""
    if isinstance(quantity, Vector):
        return quantity.map(lambda c: derivative(as_expr(c), by))
    return derivative(as_expr(quantity), by)


@quantity()
def total_mass(system: Description) -> Expr:
    """Σ m."""
    return as_expr(sum((whole_mass(b) for b in system.bodies.values()), ZERO))


@quantity()
def mass_centre(system: Description) -> Vector:
    """Return the position of the system's mass centre."""
    moment = sum((mass_moment(b, None) for b in system.bodies.values()), Vector({}))
    if is_zero(total_mass(system)):
        raise ModelError("a system without mass has no mass centre")
    return moment / total_mass(system)


def composites(system: Description) -> dict[str, tuple[Expr, Triple]]:
    """Return (mass, first moment about the body's origin, in its axes) of each body with its descendants, by
    name; "ground" has the whole system. Sums run from the leaves, as intermediate values.
    """
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
    """Return the first body with mass; raise an error that names the verb if no body has mass."""
    for body in system.bodies.values():
        if not is_zero(whole_mass(body)):
            return body
    raise ModelError(f"{verb}: a system without mass has no mass centre")


def whole_mass(body: Body) -> Expr:
    """Return the mass of a body and its flexible part."""
    return as_expr(body.mass if body.flex is None else plus(body.mass, number(body.flex.part.mass, MASS)))


def mass_moment(body: Body, start: Point | None) -> Vector:
    """∫ r dm of a body, r from a point or the ground's origin."""
    rigid = position(body.com, start) * body.mass
    if body.flex is None:
        return rigid
    flexible = position(body, start) * number(body.flex.part.mass, MASS)
    return rigid + flexible + body.frame.vector(first_moment(body))


def joint_frames(body: Body) -> list[Frame]:
    """Return the frames of a body's joint, from the first turn to the body's own."""
    assert body.parent is not None
    frames: list[Frame] = []
    walker: Frame | None = body.frame
    while walker is not None and walker is not body.parent.frame:
        frames.append(walker)
        walker = walker.parent
    return frames[::-1]


def carry_to_child(body: Body, vector: Triple, name: str) -> Triple:
    """Return a vector in a body's own axes from its components in the parent's, turn by turn."""
    for frame in joint_frames(body):
        vector = named_triple(matrix_vector(transposed(frame.rotation), vector), f"{name}_{frame.name}")
    return vector


def named_triple(values: Sequence[object], name: str) -> Triple:
    """Return three values as intermediate values with names."""
    return joined(fn.named(as_expr(v), f"{name}_{a}") for v, a in zip(values, "xyz", strict=True))
