"""Stops, brakes, contacts of points and solids, compliant or rigid, and friction that sticks.

Each of them enforces an inequality by a force, and consists of loads, memories and events.

There are two conditions: bodies do not penetrate each other, and friction holds a body at rest until its
limit is exceeded. Without a stiffness both conditions hold exactly, by forces that the derivation finds
(``rigid.py``). With a stiffness they hold approximately: a compliant law (``laws.py``) replaces the first, an
elastic anchor (below) the second.

A solid touches a plane by contacts of points and balls:

    Sphere      one ball, whose point of contact moves over it as it rolls
    Capsule     a ball at each end, on its axis
    Box         its eight corners

In any attitude the first point of the solid that meets the plane belongs to one of these, so no part of the
solid is ever below the plane. Corners with the same gap and velocity, such as the near and the far corners of
a box in planar motion, are one contact.

Compliant dry friction is the force of a spring and a damper between the sliding point and an anchor. The
anchor's position is a memory; the anchor is at rest while the point sticks, and is dragged along while it
slides:

    pull      p = k (x − a)                      x: position of the point, a: of its anchor
    trial     p_L + c v                          ( )_L: shortened to the limit L if it is longer
    friction  F = −( p_L + c v )_L

The contact sticks while |p_L + c v| < L = μ_s N; the anchor does not move, so there is no creep. The contact
slides while |p_L + c v| ≥ L = μ N; friction of size L then opposes the motion, and the anchor follows at the
distance L/k. Friction never adds energy: it returns at most p²/2k, the energy that the spring has stored.

Sources: Cundall & Strack (1979), A discrete numerical model for granular assemblies, section on the shear
force, for the spring, the damper and the slider; Simo & Hughes (1998), section 1.4, for the anchor, which
moves as the plastic strain does by radial return.

The anchor is moved once per step, and at events. Inside a step all memories are constant, so the integrator
evaluates a smooth function and may reject steps. While the point slides, an anchor that is farther behind has
no effect, since friction is L for every pull of L or more; so once per step is enough. But the change between
sticking and sliding must not wait for the end of a step: after a reversal with the anchor far behind,
friction would drive the point back to the anchor. This change is the event |p_L + c v| = L, which moves the
anchor, too. In one dimension it ends a slide exactly at v = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import Signed
from armillary.algebra.triples import Scalar, is_zero
from armillary.algebra.units import FORCE, LENGTH, ONE, SPEED, TIME
from armillary.algebra.vectors import Vector, dot
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Point, PointLike
from armillary.model.bodies.figures import SOLIDS, Figure
from armillary.model.description import Description
from armillary.model.loads.forces import (
    axes_in_plane,
    dimension_of,
    effort_of,
    force,
    load_on,
    read_plane,
    travel,
    travel_end,
)
from armillary.model.loads.laws import FRICTION, SmoothFriction, StickSlip, contact_force, friction_per_speed
from armillary.model.loads.rigid import (
    LAWS,
    Rebound,
    check_static,
    friction_limit,
    lock,
    rigid_contact,
    rigid_stop,
)
from armillary.model.reading.expressions import check_new_name, finite_number
from armillary.model.reading.kinds import (
    EXPRESSION,
    VECTOR,
    Either,
    ExpressionLike,
    ListOf,
    Number,
    OneOf,
    VariableLike,
    VectorLike,
    choice,
)
from armillary.model.reading.references import bounded_constant, find_point, known_value, unit_triple
from armillary.model.signals import event, memory, update
from armillary.model.verbs import EntryForm, verb

KINDS = ("sphere", "capsule", "box")
TOUCHING = tuple(form for form in SOLIDS if form.key in KINDS)  # forms of these figures in text models


def figure_contacts(
    system: Description,
    name: str,
    centre: Point,
    base: Point,
    normal: Vector,
    figure: object,
    place: Callable[[str, Point, Expr | None], Expr],
) -> Expr:
    """Add the contacts of a figure, ``name_1`` and so on, or ``name`` if there is only one.

    ``place`` adds one contact and returns its normal force, from its name, its point and the radius of a
    ball. Return the sum of the normal forces, which has the name ``name`` in texts.
    """
    where = f"contact '{name}'"
    touching = _drop_alike_parts(_touching_points(system, centre, figure, where), base, normal)
    pushes = []
    for k, (point, radius) in enumerate(touching, start=1):
        label = f"{name}_{k}" if len(touching) > 1 else name
        check_new_name(system, label, "contact")
        pushes.append(place(label, point, radius))
    whole = as_expr(sum(pushes[1:], pushes[0]))
    if len(pushes) > 1:
        system.definitions[name] = whole
    return whole


def _touching_points(
    system: Description, centre: Point, figure: object, where: str
) -> Iterator[tuple[Point, Expr | None]]:
    """Yield the points of a figure that can touch a plane, each with the radius of its ball, or `None`."""
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
            yield _offset_point(centre, f"end{k}", [x * sign for x in axis]), radius
        return
    for k, signs in enumerate(product((-1, 1), repeat=3), start=1):
        half = [size * sign / 2 for size, sign in zip(sizes, signs, strict=True)]
        yield _offset_point(centre, f"corner{k}", half), None


def _offset_point(centre: Point, label: str, by: Sequence[Expr]) -> Point:
    """Return a point of the same body, displaced ``by`` a vector in the body's axes."""
    x, y, z = (as_expr(a) + b for a, b in zip(centre.coordinates, by, strict=True))
    return Point(f"{centre.name}_{label}", centre.body, (x, y, z))


def _drop_alike_parts(
    parts: Iterator[tuple[Point, Expr | None]], base: Point, normal: Vector
) -> list[tuple[Point, Expr | None]]:
    """Drop each part whose gap and velocity equal those of an earlier part."""
    found: dict[object, tuple[Point, Expr | None]] = {}
    for point, radius in parts:
        velocity = motion.velocity(point, base.body)
        gap = as_expr(dot(motion.position(point, base), normal))
        found.setdefault((gap, *map(as_expr, velocity.components(base.body.frame))), (point, radius))
    return list(found.values())


OPEN, STICKS, SLIDES = 0, 1, 2  # values of the status; it is open at the start and without a normal force


@dataclass(frozen=True, eq=False)
class Limits:
    """The greatest friction while sliding and while sticking; zero or less without a normal force."""

    sliding: Expr
    sticking: Expr


def sticking_friction(
    system: Description,
    name: str,
    place: Sequence[Expr],
    velocity: Sequence[Expr],
    limits: Limits,
    stiffness: Expr,
    damping: Expr,
) -> list[Expr]:
    """Return the friction on a point, in one or two directions; add its memories and its event.

    ``place`` and ``velocity`` are the point's position and velocity in these directions. The memories are
    ``name_status`` and ``name_anchor``, with a number if there are two directions; the event is
    ``name_grip``.
    """
    units = system.units.unit_text(place[0].dimension)
    numbers = range(1, len(place) + 1) if len(place) > 1 else [""]
    status = memory(system, f"{name}_status", OPEN, units="-", about=f"{name}: 0 open, 1 sticks, 2 slides")
    anchors = [
        memory(system, f"{name}_anchor{i}", units=units or "-", about=f"{name}: where the elastic anchor is")
        for i in numbers
    ]
    pull = [
        fn.named(fn.select(status > OPEN, stiffness * (x - a), 0), f"{name}_pull")
        for x, a in zip(place, anchors, strict=True)
    ]
    limit = fn.named(fn.select(status > STICKS, limits.sliding, limits.sticking), f"{name}_limit")
    trial = [
        fn.named(p + damping * v, f"{name}_trial")
        for p, v in zip(_limit_length(pull, limit), velocity, strict=True)
    ]
    excess = fn.named(_vector_length(trial) - limit, f"{name}_excess")

    slides = excess >= 0
    # The pull may exceed neither the limit of the present status nor that of the next status: else friction
    # would jump to μ_s N at the end of a slide.
    bound = fn.minimum(limit, fn.select(slides, limits.sliding, limits.sticking))
    moved = fn.or_(_vector_length(pull) > bound, status <= OPEN)
    renewed: dict[Expr | str, Expr] = {
        a: fn.select(moved, x - p / stiffness, a)  # if always computed, the anchor would creep by rounding
        for a, x, p in zip(anchors, place, _limit_length(pull, bound), strict=True)
    }
    renewed[status] = fn.select(limits.sticking > 0, fn.select(slides, SLIDES, STICKS), OPEN)
    for variable, value in renewed.items():
        update(system, variable, value)
    event(system, f"{name}_grip", excess, set=renewed, about=f"{name} begins to stick or to slide")
    return [-p for p in _limit_length(trial, limit)]


def _vector_length(vector: Sequence[Expr]) -> Expr:
    found: Expr = fn.absolute(vector[0]) if len(vector) == 1 else fn.sqrt(sum(x * x for x in vector))
    return found


def _limit_length(vector: Sequence[Expr], limit: Expr) -> list[Expr]:
    """Return the vector, shortened to the limit if it is longer."""
    if len(vector) == 1:
        return [fn.maximum(fn.minimum(vector[0], limit), -limit)]
    length = _vector_length(vector)
    factor = fn.select(length > limit, limit / length, 1)
    return [x * factor for x in vector]


@verb(EntryForm("loads", key="stop", argument="coordinate"))
def stop(
    system: Description,
    name: str,
    coordinate: VariableLike,
    *,
    lower: ExpressionLike | None = None,
    upper: ExpressionLike | None = None,
    stiffness: ExpressionLike | None = None,
    damping: ExpressionLike = 0,
    restitution: ExpressionLike | None = None,
    exponent: Number = 1,
    law: Annotated[str, choice(*LAWS)] = "newton",
    settle: Number | None = None,
) -> Expr:
    """Add a bump stop at one end of a coordinate's travel, or at both, with the law ``contact_force``.
    Without a stiffness the stop is rigid, and the coordinate rebounds with ``restitution`` times its speed
    (see ``contact``).

    A force, or for an angle a moment, acts between the body and its parent; it does work on this coordinate
    alone. Ends may move with time. ``stiffness`` is in N/mⁿ or N·m/radⁿ with the ``exponent`` n, ``damping``
    in s/m or s/rad. Returns the force, positive towards greater values of the coordinate.
    """
    where = f"stop '{name}'"
    check_new_name(system, name, "stop")
    q, u, body = travel(system, coordinate, where)
    ends = _ends(system, lower, upper, q, where)
    if stiffness is None:
        _check_rigid(damping, exponent, where)
        return rigid_stop(system, name, q, u, body, ends, Rebound(restitution, law, settle))
    _check_compliant(restitution, law, settle, where)
    low, high = ends
    n = _exponent(exponent, where)
    k = bounded_constant(
        system, stiffness, f"stiffness of {where}", effort_of(q) / dimension_of(q) ** n, positive=True
    )
    a = bounded_constant(system, damping, f"damping of {where}", TIME / dimension_of(q))
    value: Scalar = 0
    if low is not None:
        value = value + contact_force(low - q, motion.time_derivative(low) - u, k, a, n)
    if high is not None:
        value = value - contact_force(q - high, u - motion.time_derivative(high), k, a, n)
    return load_on(system, name, as_expr(value), u, body, where)


@verb(EntryForm("loads", key="brake", argument="coordinate"))
def brake(
    system: Description,
    name: str,
    coordinate: VariableLike,
    *,
    capacity: ExpressionLike,
    stiffness: ExpressionLike | None = None,
    damping: ExpressionLike | None = None,
    static: ExpressionLike | None = None,
) -> Expr:
    """Add a brake, or dry friction in a joint, that holds at rest without creep.

    ``capacity`` is the friction force while sliding, or for an angle the friction moment; it may vary.
    ``static`` is the greatest force or moment at rest, equal to ``capacity`` if left out. At rest the joint
    is locked, or, with ``stiffness`` and ``damping``, held by an elastic anchor. Returns the force on the
    coordinate. The memories are ``name_status`` (0 released, 1 sticks, ±2 slides) and, with an elastic
    anchor, ``name_anchor``; the event is ``name_grip``.
    """
    where = f"brake '{name}'"
    check_new_name(system, name, "brake")
    q, u, body = travel(system, coordinate, where)
    effort = effort_of(q)
    if stiffness is None and damping is None:
        return lock(system, name, [(u, body, 1)], capacity, static, effort, where)
    if stiffness is None or damping is None:
        raise ModelError(f"{where}: give both stiffness= and damping= of its elastic anchor, or none of them")
    k = bounded_constant(system, stiffness, f"stiffness of {where}", effort / dimension_of(q), positive=True)
    c = bounded_constant(system, damping, f"damping of {where}", effort / dimension_of(u), positive=True)
    sliding = friction_limit(system, capacity, f"capacity of {where}", effort)
    limits = Limits(sliding, sliding)
    if static is not None:
        limits = Limits(sliding, friction_limit(system, static, f"static capacity of {where}", effort))
        check_static(limits.sliding, limits.sticking, where)
    (value,) = sticking_friction(system, name, [q], [u], limits, k, c)
    return load_on(system, name, value, u, body, where)


@verb(EntryForm("loads", key="contact", argument="point"))
def contact(
    system: Description,
    name: str,
    point: PointLike,
    *,
    plane: Annotated[Sequence[PointLike | VectorLike], ListOf(VECTOR, 2)],
    stiffness: ExpressionLike | None = None,
    damping: ExpressionLike = 0,
    exponent: Number = 1,
    friction: Annotated[object, Either((FRICTION, EXPRESSION))] = None,
    static: ExpressionLike | None = None,
    restitution: ExpressionLike | None = None,
    radius: ExpressionLike | None = None,
    shape: Annotated[Figure | None, OneOf(TOUCHING)] = None,
    law: Annotated[str, choice(*LAWS)] = "newton",
    settle: Number | None = None,
) -> Expr:
    """Add a contact of a point with a plane. It is rigid, or with a ``stiffness`` has the law
    ``contact_force``.

    A rigid contact opens, closes, sticks and slides exactly. The meaning of ``restitution`` e (0 if left out)
    depends on ``law``: "newton" is a ratio of velocities, "poisson" of impulses, and "energetic" of work.
    ``friction`` and ``static`` are the coefficients while sliding and at rest. With a ``radius`` the point is
    the centre of a ball or disc, which may roll. A ``shape`` is a ``Sphere``, ``Capsule`` or ``Box`` about
    the point in the axes of its body. All its corners or balls that can touch are then contacts, ``name_1``,
    ``name_2`` and so on, and ``name`` is the sum of their normal forces. Bounces end once all later bounces
    would be over within ``settle`` seconds, or within 1e-6 of the longest flight. The memory is
    ``name_status`` (0 open, 1 closed or sticking, ±2 sliding); the events are ``name_touch`` and
    ``name_grip``. With a stiffness, ``friction`` is a law, ``SmoothFriction`` or ``StickSlip``.

    ``plane`` is a point and a normal that is fixed in that point's body (or the ground) and points to the
    free side. The forces act at the point, and reversed on the plane's body. Returns the normal force;
    friction is the load ``name_friction``, or ``name_friction1`` and ``name_friction2`` along two directions
    in the plane.
    """
    where = f"contact '{name}'"
    check_new_name(system, name, "contact")
    foot = find_point(system, point, where)
    base, normal = read_plane(system, plane, where)
    if foot.body is base.body:
        raise ModelError(
            f"{where}: its point and its plane are both on body '{foot.body.name}'; "
            "give a plane of the ground or of another body"
        )
    if stiffness is None:
        _check_rigid(damping, exponent, where)
        rebound = Rebound(restitution, law, settle)

        def add_contact(label: str, at: Point, size: object) -> Expr:
            return rigid_contact(system, label, at, base, normal, rebound, friction, static, size)

        if shape is None:
            return add_contact(name, foot, radius)
        if radius is not None:
            raise ModelError(f"{where}: radius= makes a ball about its point; with a shape= leave it out")
        return figure_contacts(system, name, foot, base, normal, shape, add_contact)
    _check_compliant(restitution, law, settle, where)
    if radius is not None or static is not None or shape is not None:
        raise ModelError(f"{where}: radius=, shape= and static= are for contacts without stiffness=")
    n = _exponent(exponent, where)
    k = bounded_constant(system, stiffness, f"stiffness of {where}", FORCE / LENGTH**n, positive=True)
    a = bounded_constant(system, damping, f"damping of {where}", ONE / SPEED)
    apart, moving = motion.position(foot, base), motion.velocity(foot, base.body)
    depth = fn.named(as_expr(-dot(apart, normal)), Signed(f"{name}_depth"))
    rate = fn.named(as_expr(-dot(moving, normal)), Signed(f"{name}_rate"))
    push = force(system, name, contact_force(depth, rate, k, a, n), normal, at=foot, reaction=base.body)
    if friction is not None:
        axes = [t for t in axes_in_plane(normal, base.body) if not is_zero(dot(moving, t))]
        if not axes:
            raise ModelError(f"{where}: its point cannot slide along the plane; leave friction= out")
        place = [fn.named(as_expr(dot(apart, t)), f"{name}_place") for t in axes]
        slip = [fn.named(as_expr(dot(moving, t)), f"{name}_slip") for t in axes]
        forces = _friction(system, name, friction, place, slip, fn.named(push, name))
        for i, (axis, value) in enumerate(zip(axes, forces, strict=True), start=1):
            label = f"{name}_friction{i if len(axes) > 1 else ''}"
            force(system, label, value, axis, at=foot, reaction=base.body)
    return push


def _friction(
    system: Description, name: str, law: object, place: list[Expr], slip: list[Expr], push: Expr
) -> list[Expr]:
    """Return the components of the friction of a contact that presses with ``push``."""
    where = f"friction of contact '{name}'"
    if not isinstance(law, SmoothFriction | StickSlip):
        raise ModelError(
            f"{where}: {law!r} is not a law of friction; give SmoothFriction(coefficient, transition) or "
            "StickSlip(coefficient, stiffness, damping)"
        )
    wanted = {"stiffness": FORCE / LENGTH, "damping": FORCE / SPEED, "transition": SPEED, "stribeck": SPEED}
    given = {
        f.name: bounded_constant(
            system, value, f"{f.name} in {where}", wanted.get(f.name, ONE), positive=f.name in wanted
        )
        for f in fields(law)
        if (value := getattr(law, f.name)) is not None
    }
    if "static" in given:
        check_static(given["coefficient"], given["static"], where)
    if isinstance(law, SmoothFriction):
        square = sum(v * v for v in slip)
        factor = fn.named(as_expr(friction_per_speed(square, push, **given)), f"{name}_drag")
        return [-v * factor for v in slip]
    sliding = fn.named(given["coefficient"] * push, f"{name}_sliding")
    sticking = given["static"] * push if "static" in given else sliding
    limits = Limits(sliding, sticking)
    return sticking_friction(system, name, place, slip, limits, given["stiffness"], given["damping"])


def _ends(
    system: Description, lower: object, upper: object, q: Expr, where: str
) -> tuple[Expr | None, Expr | None]:
    """Return the lower and the upper end of a coordinate's travel; `None` for an end that is not given."""
    low, high = (
        None if end is None else travel_end(system, end, f"{side} end of {where}", q)
        for side, end in (("lower", lower), ("upper", upper))
    )
    if low is None and high is None:
        raise ModelError(f"{where} stops nothing: give lower=, upper= or both")
    if low is not None and high is not None:
        known = (known_value(low), known_value(high))
        if known[0] is not None and known[1] is not None and known[0] >= known[1]:
            raise ModelError(f"{where}: its lower end {low} is not below its upper end {high}")
    return low, high


def _check_rigid(damping: object, exponent: float, where: str) -> None:
    if damping != 0 or exponent != 1:
        raise ModelError(
            f"{where}: damping= and exponent= belong to a stiffness=; without one it is rigid, and rebounds "
            "by its restitution="
        )


def _check_compliant(restitution: object, law: str, settle: object, where: str) -> None:
    given = {"restitution": restitution is not None, "law": law != "newton", "settle": settle is not None}
    for name in (name for name, is_given in given.items() if is_given):
        raise ModelError(
            f"{where}: {name}= needs rigid surfaces; with a stiffness= the rebound follows from damping="
        )


def _exponent(value: object, where: str) -> float:
    found = finite_number(value, f"exponent of {where}")
    if found < 1:
        raise ModelError(f"{where}: exponent={value!r} is less than 1, so its stiffness at touch is infinite")
    return found
