"""Stops, contacts and brakes: inequalities by force, made of loads, memory and events.

A compliant law (``laws.py``) takes the place of the condition "not through the wall", and an elastic anchor
(``sticking.py``) that of "at rest until the friction is overcome". Bodies with many points of contact, and
contact without compliance, are not the business of this file.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.intermediate import Signed
from armillary.algebra.units.dimension import FORCE, LENGTH, MOMENT, ONE, SPEED, TIME, Dimension
from armillary.algebra.vectors.scalars import is_zero
from armillary.algebra.vectors.triples import Triple, cross_triples
from armillary.algebra.vectors.vectors import Vector, cross, dot
from armillary.algebra.walk import symbols
from armillary.errors import ModelError, nearest
from armillary.model import motion
from armillary.model.body import Body, Point
from armillary.model.description import Description
from armillary.model.joints.base import UNIT_AXES, across
from armillary.model.kinds import EXPRESSION, NAME, NUMBER, POINT, VECTOR, ListOf, expressions
from armillary.model.loads.forces import add_load, force
from armillary.model.loads.laws import FRICTION, SmoothFriction, StickSlip, contact_force, friction_per_speed
from armillary.model.loads.sticking import Limits, sticking_friction
from armillary.model.reading.inertia_input import finite_number
from armillary.model.reading.names import check_new_name
from armillary.model.reading.references import (
    bounded_constant,
    check_sign,
    find_point,
    known_value,
    unit_direction,
)
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.records import Load


@verb(
    EntryForm(
        "loads",
        {"stop": NAME, **expressions("lower", "upper", "stiffness", "damping"), "exponent": NUMBER},
        key="stop",
        argument="coordinate",
    )
)
def stop(
    system: Description,
    name: str,
    coordinate: Any,
    *,
    lower: Any = None,
    upper: Any = None,
    stiffness: Any,
    damping: Any = 0,
    exponent: float = 1,
) -> Expr:
    """A bump stop at one end of a coordinate's travel, or at both, by ``contact_force``.

    Forces, or for an angle moments, act between the body and its parent, and on this coordinate alone.
    Ends may move with time. ``stiffness`` in N/mⁿ or N·m/radⁿ, ``damping`` in s/m or s/rad. Returns the
    force, positive towards greater values of the coordinate.
    """
    where = f"stop '{name}'"
    check_new_name(system, name, "stop")
    q, u, body = _travel(system, coordinate, where)
    n = _exponent(exponent, where)
    k = bounded_constant(
        system, stiffness, f"stiffness of {where}", _effort(q) / _dimension(q) ** n, positive=True
    )
    a = bounded_constant(system, damping, f"damping of {where}", TIME / _dimension(q))
    low, high = (
        None if end is None else _end(system, end, f"{side} end of {where}", q)
        for side, end in (("lower", lower), ("upper", upper))
    )
    if low is None and high is None:
        raise ModelError(f"{where} stops nothing: give lower=, upper= or both")
    if low is not None and high is not None:
        known = (known_value(low), known_value(high))
        if known[0] is not None and known[1] is not None and known[0] >= known[1]:
            raise ModelError(f"{where}: its lower end {low} is not below its upper end {high}")
    value: Any = 0
    if low is not None:
        value = value + contact_force(low - q, motion.time_derivative(low) - u, k, a, n)
    if high is not None:
        value = value - contact_force(q - high, u - motion.time_derivative(high), k, a, n)
    return _load_on(system, name, value, u, body, where)


@verb(
    EntryForm(
        "loads",
        {"brake": NAME, **expressions("capacity", "stiffness", "damping", "static")},
        key="brake",
        argument="coordinate",
    )
)
def brake(
    system: Description,
    name: str,
    coordinate: Any,
    *,
    capacity: Any,
    stiffness: Any,
    damping: Any,
    static: Any = None,
) -> Expr:
    """A brake, or dry friction in a joint, that holds at rest without creep.

    ``capacity`` is the greatest force, or for an angle moment, while sliding, and may vary; ``static``
    the one it bears at rest, the same where it is left out. ``stiffness`` and ``damping`` are those of
    the locked brake. Returns the force on the coordinate. Its memories are ``name_mode`` (0 open, 1
    sticks, 2 slides) and ``name_anchor``, its event is ``name_grip``.
    """
    where = f"brake '{name}'"
    check_new_name(system, name, "brake")
    q, u, body = _travel(system, coordinate, where)
    effort = _effort(q)
    k = bounded_constant(system, stiffness, f"stiffness of {where}", effort / _dimension(q), positive=True)
    c = bounded_constant(system, damping, f"damping of {where}", effort / _dimension(u), positive=True)
    sliding = _size(system, capacity, f"capacity of {where}", effort)
    limits = Limits(sliding, sliding)
    if static is not None:
        limits = Limits(sliding, _size(system, static, f"static capacity of {where}", effort))
        _check_static(limits.sliding, limits.sticking, where)
    (value,) = sticking_friction(system, name, [q], [u], limits, k, c)
    return _load_on(system, name, value, u, body, where)


@verb(
    EntryForm(
        "loads",
        {
            "contact": POINT,
            "plane": ListOf(VECTOR, 2),
            "stiffness": EXPRESSION,
            "damping": EXPRESSION,
            "exponent": NUMBER,
            "friction": FRICTION,
        },
        key="contact",
        argument="point",
    )
)
def contact(
    system: Description,
    name: str,
    point: Any,
    *,
    plane: Any,
    stiffness: Any,
    damping: Any = 0,
    exponent: float = 1,
    friction: SmoothFriction | StickSlip | None = None,
) -> Expr:
    """Contact of a point with a plane, by ``contact_force``, with friction if a law of it is given.

    ``plane`` is a point and a normal fixed in that point's body (or the ground), pointing to the free
    side. The forces act where the point is, and reversed on the plane's body. Returns the normal force;
    friction is in the loads ``name_friction``, or ``name_friction1`` and ``name_friction2`` along two
    directions in the plane.
    """
    where = f"contact '{name}'"
    check_new_name(system, name, "contact")
    foot = find_point(system, point, where)
    base, normal = _plane(system, plane, where)
    if foot.body is base.body:
        raise ModelError(f"{where}: its point and its plane are both on body '{foot.body.name}'")
    n = _exponent(exponent, where)
    k = bounded_constant(system, stiffness, f"stiffness of {where}", FORCE / LENGTH**n, positive=True)
    a = bounded_constant(system, damping, f"damping of {where}", ONE / SPEED)
    apart, moving = motion.position(foot, base), motion.velocity(foot, base.body)
    depth = fn.named(as_expr(-dot(apart, normal)), Signed(f"{name}_depth"))
    rate = fn.named(as_expr(-dot(moving, normal)), Signed(f"{name}_rate"))
    push = force(system, name, contact_force(depth, rate, k, a, n), normal, at=foot, reaction=base.body)
    if friction is not None:
        axes = [t for t in _in_plane(normal, base.body) if not is_zero(dot(moving, t))]
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
    system: Description, name: str, law: Any, place: list[Expr], slip: list[Expr], push: Expr
) -> list[Expr]:
    """Components of the friction of a contact that presses with ``push``."""
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
        _check_static(given["coefficient"], given["static"], where)
    if isinstance(law, SmoothFriction):
        square = sum(v * v for v in slip)
        factor = fn.named(as_expr(friction_per_speed(square, push, **given)), f"{name}_drag")
        return [-v * factor for v in slip]
    sliding = fn.named(given["coefficient"] * push, f"{name}_sliding")
    sticking = given["static"] * push if "static" in given else sliding
    limits = Limits(sliding, sticking)
    return sticking_friction(system, name, place, slip, limits, given["stiffness"], given["damping"])


# ---------------------------------------------------------------- what users write


def _travel(system: Description, coordinate: Any, where: str) -> tuple[Expr, Expr, Body]:
    """(coordinate, the speed that is its rate, its body)."""
    q = system.expression(coordinate, where)
    body = next((b for b in system.bodies.values() if q in b.coordinates), None)
    if body is None:
        hint = nearest(str(q), [str(c) for c in system.coordinates])
        raise ModelError(f"{where}: '{q}' is not a coordinate of this system{hint}")
    u = system.rates[q]
    if u not in body.speeds:
        raise ModelError(
            f"{where}: the rate of '{q}' ({body.joint.describe()}) is not one of its speeds; use a contact "
            "of a point with a plane, or a load of your own with arm.contact_force or arm.friction_force"
        )
    return q, u, body


def _end(system: Description, value: Any, where: str, coordinate: Expr) -> Expr:
    node = system.expression(value, where, coordinate.dimension)
    moving = [s for s in symbols(node) if s.data.role not in ("parameter", "time", "memory")]
    if moving:
        raise ModelError(
            f"{where}: '{node}' depends on '{moving[0]}'; it may depend on time, memory and parameters only"
        )
    return node


def _load_on(system: Description, name: str, value: Expr, u: Expr, body: Body, where: str) -> Expr:
    """A load between a body and its parent that does work on one of the joint's speeds and on no other.

    Among partial velocities a, b, c of the joint's speeds, along which the load must do no work but on the
    first, it is along (b × c) / (a · b × c): along a itself where they are at right angles.
    """
    assert body.parent is not None
    turning = motion.angular_velocity(body, body.parent)
    turns = {s: axis for s in body.speeds if (axis := motion.partial(turning, s)).terms}
    slides = {s: axis for s in body.speeds if (axis := motion.partial(body.drift, s)).terms}
    if turns.keys() & slides.keys():
        raise ModelError(
            f"{where}: the joint of body '{body.name}' slides after it turns; put the slide on another body"
        )
    axes = turns if u in turns else slides
    if u not in axes:
        raise ModelError(f"{where}: '{u}' is the speed of a mode; it acts on the coordinate of a joint")
    vector = _dual(axes[u], [axis for s, axis in axes.items() if s is not u])
    kind, at = ("moment", None) if u in turns else ("force", body.origin)
    effort = system.expression(value, where, MOMENT if u in turns else FORCE)
    return add_load(system, Load(name, kind, effort, vector * fn.named(effort, name), body, at, body.parent))


def _dual(axis: Vector, others: list[Vector]) -> Vector:
    """The vector whose products with the others vanish, and whose product with the axis is one."""
    if all(is_zero(dot(axis, other)) for other in others):
        return axis
    across_both = cross(others[0], others[1] if len(others) > 1 else cross(axis, others[0]))
    return across_both / dot(axis, across_both)


def _plane(system: Description, plane: Any, where: str) -> tuple[Point, Vector]:
    """(a point of the plane, its unit normal in the axes of the point's body)."""
    if isinstance(plane, str) or not hasattr(plane, "__len__") or len(plane) != 2:
        raise ModelError(f"{where}: plane={plane!r} is not a point and a normal, e.g. (ground, ground.z)")
    base = find_point(system, plane[0], f"plane of {where}")
    normal = unit_direction(system, plane[1], f"plane of {where}")
    own = normal.components(base.body.frame)
    if any(isinstance(x, Expr) and not x.constant for x in own):
        raise ModelError(
            f"plane of {where}: its normal {plane[1]} is not fixed in '{base.body.name}', whose point "
            f"'{base.name}' is in the plane; give a normal such as {base.body.name}.z"
        )
    return base, base.body.frame.vector(own)


def _in_plane(normal: Vector, body: Body) -> tuple[Vector, Vector]:
    """Two unit vectors that complete the normal to a right-handed triad; the body's own axes if possible."""
    own: Triple = normal.components(body.frame)
    start = next(i for i in range(3) if not is_zero(own[i]))
    flat = [i % 3 for i in (start + 1, start + 2) if is_zero(own[i % 3])]
    first: Triple = UNIT_AXES["xyz"[flat[0]]] if flat else across(own)
    return body.frame.vector(first), body.frame.vector(cross_triples(own, first))


def _dimension(node: Expr) -> Dimension:
    """That of a coordinate or speed; amplitudes of modes are numbers."""
    return ONE if node.dimension is None else node.dimension


def _effort(coordinate: Expr) -> Dimension:
    return FORCE if coordinate.dimension is LENGTH else MOMENT


def _exponent(value: Any, where: str) -> float:
    found = finite_number(value, f"exponent of {where}")
    if found < 1:
        raise ModelError(f"{where}: exponent={value!r} is less than 1, so its stiffness at touch is infinite")
    return found


def _size(system: Description, value: Any, where: str, dimension: Dimension) -> Expr:
    """A value that may vary and counts as zero where it is negative."""
    node = system.expression(value, where, dimension)
    check_sign(node, where)
    return node if known_value(node) is not None else fn.maximum(node, 0)


def _check_static(sliding: Expr, sticking: Expr, where: str) -> None:
    low, high = known_value(sliding), known_value(sticking)
    if low is not None and high is not None and high < low:
        raise ModelError(f"{where}: static friction {high:g} is less than {low:g}, that of sliding")
