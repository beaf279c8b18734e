"""Positions, velocities and accelerations of points and bodies, as vectors in any mixture of frames.

Velocities come from the generalised speeds, not by differentiating positions, so that they are as short as an
analyst would write them (Sayers 1990, section 5.3, "Multibody operations"); accelerations are their time
derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from armillary.algebra.calculus import derivative, directional_derivatives
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import Operand, named
from armillary.algebra.vectors import Frame, Vector, ancestors, cross
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.model.bodies.body import Body, Point
from armillary.model.recording.verbs import Identity


def _place(thing: object, verb: str) -> Point:
    if isinstance(thing, Point):
        return thing
    if isinstance(thing, Body):
        return thing.origin
    raise ModelError(
        f"{verb} needs a point or a body (its origin is taken), not {type(thing).__name__} {thing!r}"
    )


def _body(thing: object, verb: str) -> Body:
    if isinstance(thing, Body):
        return thing
    raise ModelError(f"{verb} needs a body, not {type(thing).__name__} {thing!r}")


def lineage(body: Body) -> Iterator[Body]:
    """The body, its parent, and so on to the ground."""
    walker: Body | None = body
    while walker is not None:
        yield walker
        walker = walker.parent


def position(point: object, relative_to: object = None) -> Vector:
    """Vector to the point from the ground's origin, or from another point."""
    end = _place(point, "position")
    start = None if relative_to is None else _place(relative_to, "position")
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
    """Absolute angular velocity of a frame: Σ of relative ones up the tree."""
    return sum((f.rate for f in ancestors(frame)), Vector({}))


def angular_velocity(body: object, relative_to: object = None) -> Vector:
    """Angular velocity of a body in the ground, or in another body."""
    w = frame_velocity(_body(body, "angular_velocity").frame)
    return w if relative_to is None else w - frame_velocity(_body(relative_to, "angular_velocity").frame)


def velocity(point: object, relative_to: object = None) -> Vector:
    """Velocity of a point in the ground; from another point the difference, from a body as seen there."""
    end = _place(point, "velocity")
    absolute = _origin_velocity(end.body) + cross(
        angular_velocity(end.body), end.body.frame.vector(end.coordinates)
    )
    if relative_to is None:
        return absolute
    if isinstance(relative_to, Body):
        carried = _origin_velocity(relative_to)
        carried = carried + cross(angular_velocity(relative_to), position(end, relative_to.origin))
        return absolute - carried
    return absolute - velocity(relative_to)


def _origin_velocity(body: Body) -> Vector:
    v = Vector({})
    for walker in lineage(body):
        if walker.parent is not None:
            v = v + walker.drift + cross(angular_velocity(walker.parent), walker.displacement)
    return v


def velocity_along_chain(point: object) -> Vector:
    """Velocity of a point in its body's axes, passed on from body to body as intermediate values.

    What ``velocity`` writes out in full grows with the square of a chain's length; this grows in proportion.
    """
    return motion_along_chain(point)[0]


def motion_along_chain(point: object, axes: Frame | None = None) -> tuple[Vector, Vector]:
    """Velocity of a point and angular velocity of its body, likewise; in the axes of each body on the way, or
    all along the same ``axes``.
    """
    end = _place(point, "velocity")
    w, v = Vector({}), Vector({})
    for body in reversed(list(lineage(end.body))):
        if body.parent is None:
            continue
        frame = axes or body.frame
        v = v + body.drift + cross(w, _along(body.displacement, axes))
        for step in ancestors(body.frame):
            if step is body.parent.frame:
                break
            w = w + step.rate
        w = frame.vector([named(x, f"w_{body.name}") for x in w.components(frame)])
        v = frame.vector([named(x, f"v_{body.name}") for x in v.components(frame)])
    return v + cross(w, _along(end.body.frame.vector(end.coordinates), axes)), w


def _along(vector: Vector, axes: Frame | None) -> Vector:
    return vector if axes is None else axes.vector(vector.components(axes))


def time_derivative(quantity: object) -> Operand:
    """Total time derivative of a scalar, or of a vector as seen from the ground.

    d(c e)/dt = ċ e + c ω × e        Sayers 1990, eq. 5.3.2
    """
    if isinstance(quantity, Vector):
        rates = _rates(c for c in quantity.terms.values() if isinstance(c, Expr))
        result = Vector({})
        for frame, triple in quantity.by_frame().items():
            own = frame.vector(triple)
            dots = directional_derivatives([as_expr(c) for c in triple], rates)
            result = result + frame.vector(dots) + cross(frame_velocity(frame), own)
        return result
    expression = as_expr(quantity)
    return directional_derivatives([expression], _rates([expression]))[0]


def _rates(expressions: Iterable[Expr]) -> dict[Expr, Expr]:
    rates: dict[Expr, Expr] = {}
    for s in symbols(*expressions):
        owner = s.data.owner
        rate = owner.rate(s) if isinstance(owner, Identity) else None
        if rate is not None:
            rates[s] = rate
        elif s.data.role == "state":
            raise ModelError(
                f"state '{s}' has no rate yet, so time derivatives of what holds it are not known; "
                f"give s.rate('{s}', …) before"
            )
    return rates


def acceleration(point: object) -> Vector:
    """Acceleration of a point in the ground."""
    found: Vector = time_derivative(velocity(_place(point, "acceleration")))
    return found


def angular_acceleration(body: object) -> Vector:
    """Angular acceleration of a body in the ground."""
    found: Vector = time_derivative(angular_velocity(_body(body, "angular_acceleration")))
    return found


def partial(quantity: object, by: Expr) -> Operand:
    """Partial derivative by a symbol, of a scalar or of a vector with its unit vectors held fixed."""
    if isinstance(quantity, Vector):
        return quantity.map(lambda c: derivative(as_expr(c), by))
    return derivative(as_expr(quantity), by)
