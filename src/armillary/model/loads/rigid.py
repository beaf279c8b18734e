"""Contacts without compliance, and brakes and clutches that lock.

Their forces are symbols in loads. The derivation replaces these symbols by forces that it finds from the
statuses of all contacts together (``program/targets/contact_targets.py``). This file makes the records that
the derivation needs: gaps, relative velocities with their rates, and memories of statuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from armillary.algebra import functions as fn
from armillary.algebra.arguments import one_of
from armillary.algebra.calculus import derivative
from armillary.algebra.expression import ZERO, Expr, as_expr, symbol
from armillary.algebra.triples import Scalar, is_zero
from armillary.algebra.units import FORCE, LENGTH, ONE, SPEED, TIME, Dimension
from armillary.algebra.vectors import Vector, cross, dot
from armillary.algebra.walk import symbols, transform
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.description import (
    AMBIGUOUS,
    FAILED,
    JAMMED,
    UNDECIDED,
    WITHOUT_REBOUND,
    Description,
    Load,
    Memory,
    RigidContact,
)
from armillary.model.loads.forces import add_load, axes_in_plane, effort_of, force, load_on, travel
from armillary.model.reading.expressions import check_new_name, finite_number, read_expression
from armillary.model.reading.kinds import ExpressionLike, Number, VariableLike, choice
from armillary.model.reading.references import bounded_constant, check_sign, known_value
from armillary.model.signals import memory
from armillary.model.verbs import EntryForm, verb
from armillary.untyped import Given

LAWS = ("newton", "poisson", "energetic")
NEVER = -1e30  # time of an impact that has not happened


class Rebound(NamedTuple):
    """Restitution as the user gives it."""

    restitution: Given = None
    law: str = "newton"
    settle: float | None = None


class Slip(NamedTuple):
    """The slip of a contact: its velocities, the symbols of the friction along them, and the coefficients of
    friction while sliding and at rest. ``place`` has expressions of coordinates whose rates are these
    velocities; it is empty if there are none.
    """

    sliding: tuple[Expr, ...]
    drag: tuple[Expr, ...]
    friction: Expr
    held: Expr
    place: tuple[Expr, ...] = ()


@verb(EntryForm("loads", key="unilateral", argument="gap"))
def unilateral(
    system: Description,
    name: str,
    gap: ExpressionLike,
    *,
    slip: ExpressionLike | None = None,
    friction: ExpressionLike | None = None,
    static: ExpressionLike | None = None,
    restitution: ExpressionLike | None = None,
    law: Annotated[str, choice(*LAWS)] = "newton",
    settle: Number | None = None,
) -> Expr:
    """Prevent the ``gap``, an expression of coordinates and time, from becoming negative. A gap is, for
    instance, the distance of two balls less the sum of their radii. Return the force that opens the gap.
    Friction acts along ``slip``, a velocity that is linear in the speeds. For the other arguments see
    ``contact``.
    """
    where = f"unilateral '{name}'"
    check_new_name(system, name, "unilateral")
    distance = read_expression(system, gap, where)
    if any(s.data.role in ("speed", "acceleration") for s in symbols(distance)):
        raise ModelError(
            f"{where}: its gap '{distance}' depends on a speed; give an expression of coordinates"
        )
    closing = as_expr(motion.time_derivative(distance))
    _check_gap_changes(distance, closing, where)
    push = _generalised_load(system, name, closing, where)
    rebound = Rebound(restitution, law, settle)
    if slip is None:
        if friction is not None or static is not None:
            raise ModelError(f"{where}: friction= and static= need slip=, the velocity along which they act")
        _add(system, name, distance, closing, push, rebound, where)
        return push
    if friction is None:
        raise ModelError(f"{where}: slip= needs friction=, the coefficient while it slides")
    sliding = read_expression(system, slip, f"slip of {where}")
    drag = _generalised_load(system, f"{name}_friction", sliding, where)
    mu, held = _coefficients(system, friction, static, where)
    place = _displacements(system, [sliding])
    _add(system, name, distance, closing, push, rebound, where, Slip((sliding,), (drag,), mu, held, place))
    return push


def _generalised_load(system: Description, name: str, speed: Expr, where: str) -> Expr:
    """Return the symbol of a force along a velocity that is linear in the speeds; add a load on each of these
    speeds, by which the force acts.
    """
    moving = [s for s in symbols(speed) if s.data.role == "speed"]
    factors = {u: derivative(speed, u) for u in moving}
    if not moving or any(s.data.role == "speed" for f in factors.values() for s in symbols(f)):
        raise ModelError(f"{where}: '{speed}' must be linear in the speeds")
    kind = speed.dimension
    force = _force(system, name, FORCE if kind is None else FORCE * SPEED / kind)
    for u, factor in factors.items():
        body = next(b for b in system.bodies.values() if u in b.speeds)
        load_on(system, f"{name}_on_{u.data.name.replace('.', '_')}", force * factor, u, body, where)
    return force


@verb(EntryForm("loads", key="clutch", argument=("first", "second")))
def clutch(
    system: Description,
    name: str,
    first: VariableLike,
    second: VariableLike,
    *,
    capacity: ExpressionLike,
    static: ExpressionLike | None = None,
    ratio: ExpressionLike = 1,
) -> Expr:
    """Add dry friction between two coordinates; while it holds, their speeds have u₁ = ratio·u₂.

    ``capacity`` is the friction force or moment while sliding, and may vary; ``static`` is the greatest force
    or moment at rest. Returns the load on the first coordinate; the load on the second is −ratio times as
    large. The memory is ``name_status`` (0 released, 1 holds, ±2 slides), the event ``name_grip``.
    """
    where = f"clutch '{name}'"
    check_new_name(system, name, "clutch")
    one, two = (travel(system, q, where) for q in (first, second))
    if one[1] is two[1]:
        raise ModelError(f"{where}: both coordinates are '{one[0]}'; give two, or use a brake")
    factor = read_expression(system, ratio, f"ratio of {where}")
    if not factor.constant:
        raise ModelError(f"{where}: ratio '{factor}' must be constant")
    return lock(
        system,
        name,
        [(one[1], one[2], 1), (two[1], two[2], -factor)],
        capacity,
        static,
        effort_of(one[0]),
        where,
    )


def lock(
    system: Description,
    name: str,
    on: Sequence[tuple[Expr, Body, object]],
    capacity: object,
    static: object,
    effort: Dimension,
    where: str,
) -> Expr:
    """Add dry friction that keeps Σ factor·u at zero while it holds, for speeds ``on`` = (u, body, factor);
    return the load on the first speed.
    """
    drag = _force(system, name, effort)
    friction = friction_limit(system, capacity, f"capacity of {where}", effort)
    held = (
        friction if static is None else friction_limit(system, static, f"static capacity of {where}", effort)
    )
    check_static(friction, held, where)
    for k, (u, body, factor) in enumerate(on):
        load_on(system, name if not k else f"{name}_reaction", drag * factor, u, body, where)
    sliding = as_expr(sum((u * factor for u, _, factor in on[1:]), on[0][0]))
    system.contacts[name] = RigidContact(
        name,
        _status(system, name, "0 released, 1 sticks, 2 and -2 slides"),
        sliding=(sliding,),
        sliding_rate=(motion.time_derivative(sliding),),
        place=_displacements(system, [sliding]),
        drag=(drag,),
        friction=friction,
        held=held,
    )
    return drag


def rigid_stop(
    system: Description,
    name: str,
    q: Expr,
    u: Expr,
    body: Body,
    ends: tuple[Expr | None, Expr | None],
    rebound: Rebound,
) -> Expr:
    """Add rigid ends of a coordinate's travel; return the force on the coordinate."""
    where = f"stop '{name}'"
    sides = [(end, sign) for end, sign in zip(ends, (1, -1), strict=True) if end is not None]
    total: Scalar = 0
    for end, sign in sides:
        label = name if len(sides) == 1 else f"{name}_{'lower' if sign > 0 else 'upper'}"
        push = _force(system, label, effort_of(q))
        load_on(system, label, push * sign, u, body, where)
        gap = (q - end) * sign
        _add(system, label, gap, as_expr((u - motion.time_derivative(end)) * sign), push, rebound, where)
        total = total + push * sign
    return as_expr(total)


def rigid_contact(
    system: Description,
    name: str,
    foot: Point,
    base: Point,
    normal: Vector,
    rebound: Rebound,
    friction: object,
    static: object,
    radius: object,
) -> Expr:
    """Add a contact of a point, or of a ball or disc about it, with a plane; return the normal force."""
    where = f"contact '{name}'"
    apart, moving = motion.position(foot, base), motion.velocity(foot, base.body)
    gap = as_expr(dot(apart, normal))
    closing = as_expr(dot(moving, normal))
    arm, size, rolling = None, ZERO, None
    if radius is not None:
        size = bounded_constant(system, radius, f"radius of {where}", LENGTH, positive=True)
        gap, arm = gap - size, normal * -size
        rolling = cross(motion.angular_velocity(foot.body, base.body), arm)
        moving = moving + rolling
    _check_gap_changes(gap, closing, where)
    push = _force(system, name, FORCE)
    force(system, name, push, normal, at=foot, reaction=base.body)
    if friction is None:
        if static is not None:
            raise ModelError(f"{where}: static= needs friction=, the coefficient while it slides")
        _add(system, name, gap, closing, push, rebound, where, radius=size if radius is not None else None)
        return push
    mu, held = _coefficients(system, friction, static, where)
    axes = [t for t in axes_in_plane(normal, base.body) if not is_zero(dot(moving, t))]
    if not axes:
        raise ModelError(f"{where}: its point cannot slide along the plane; leave friction= out")
    reaction = None if base.body is system.ground else base.body
    sliding, drags = [], []
    for i, axis in enumerate(axes, start=1):
        label = f"{name}_friction{i if len(axes) > 1 else ''}"
        sliding.append(as_expr(dot(moving, axis)))
        drags.append(_force(system, label, FORCE))
        force(system, label, drags[-1], axis, at=foot, reaction=base.body)
        if arm is not None:  # the moment of the friction about the centre
            spin, vector = f"{name}_rolling{i if len(axes) > 1 else ''}", cross(arm, axis) * drags[-1]
            load = Load(spin, "moment", drags[-1] * size, vector, foot.body, None, reaction)
            add_load(system, load)
    turned = _displacements(system, [ZERO if rolling is None else as_expr(dot(rolling, t)) for t in axes])
    place = tuple(as_expr(dot(apart, t)) + x for t, x in zip(axes, turned, strict=False))
    slip = Slip(tuple(sliding), tuple(drags), mu, held, place)
    _add(system, name, gap, closing, push, rebound, where, slip, size if radius is not None else None)
    return push


# ---------------------------------------------------------------- records


def _add(
    system: Description,
    name: str,
    gap: Expr,
    closing: Expr,
    push: Expr,
    rebound: Rebound,
    where: str,
    slip: Slip | None = None,
    radius: Expr | None = None,
) -> None:
    """Record a one-sided contact, with its memories."""
    one_of(rebound.law, LAWS, f"{where}: law=", ModelError)
    other = next((c for c in system.contacts.values() if c.gap is not None and c.law != rebound.law), None)
    if other is not None:
        raise ModelError(
            f"{where} has law='{rebound.law}', but contact '{other.name}' has law='{other.law}'; "
            "contacts that may be struck together need the same law"
        )
    settle = None if rebound.settle is None else finite_number(rebound.settle, f"settle= of {where}")
    if settle is not None and settle <= 0:
        raise ModelError(f"{where}: settle={settle:g} is not a positive number of seconds")
    e = _restitution(system, rebound.restitution, where)
    hidden = {
        "last": (NEVER, TIME, "s", "time of its last impact"),
        "opened": (NEVER, TIME, "s", "time at which it opened last"),
        "longest": (0.0, TIME, "s", "longest flight of its present bounces"),
        "size": (0.0, gap.dimension, None, "size of the terms of its gap"),
    }
    if slip is not None:
        hidden["pressed"] = (0.0, push.dimension, None, "normal force with which it continued to slide")
    if slip is not None and len(slip.sliding) > 1:
        hidden |= {f"direction{i}": (0.0, ONE, None, "direction of its slide") for i in (1, 2)}
    made = {}
    for label, (initial, dimension, units, about) in hidden.items():
        node = symbol(f"{name}_{label}", "memory", dimension=dimension, owner=system.identity, units=units)
        system.memories[node.name] = Memory(node, initial, None, f"{name}: {about}", hidden=True)
        system.rates[node] = ZERO
        made[label] = node
    text = "0 open, 1 closed" if slip is None else "0 open, 1 sticks, 2 and -2 slides"
    system.contacts[name] = RigidContact(
        name,
        _status(system, name, text),
        last=made["last"],
        opened=made["opened"],
        longest=made["longest"],
        size=made["size"],
        pressed=made.get("pressed"),
        direction=tuple(made[label] for label in made if label.startswith("direction")),
        gap=gap,
        closing=closing,
        closing_rate=motion.time_derivative(closing),
        push=push,
        restitution=e,
        radius=radius,
        law=rebound.law,
        settle=settle,
        **_slip_record(slip),
    )


def _check_gap_changes(gap: Expr, closing: Expr, where: str) -> None:
    """Raise an error if the rate of a gap has no speeds, as between points of one body."""
    if not any(s.data.role == "speed" for s in symbols(closing)):
        raise ModelError(
            f"{where}: its gap '{gap}' does not change with any speed, so that no force can act on it; leave "
            "it out, or choose points or planes of which one moves towards the other"
        )


def _slip_record(slip: Slip | None) -> dict[str, Given]:
    """Return the fields of a contact's record that belong to friction."""
    if slip is None:
        return {}
    rates = tuple(motion.time_derivative(v) for v in slip.sliding)
    return {
        "sliding": slip.sliding, "sliding_rate": rates, "place": slip.place, "drag": slip.drag,
        "friction": slip.friction, "held": slip.held,
    }  # fmt: skip


def _displacements(system: Description, velocities: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return expressions of coordinates whose rates are these velocities.

    Return () unless the factors of the speeds are constant and each speed is the rate of a coordinate.
    """
    coordinates = {rate: q for q, rate in system.rates.items()}
    found = []
    for velocity in velocities:
        factors = {u: derivative(velocity, u) for u in symbols(velocity) if u.data.role == "speed"}
        rest = transform([velocity], dict.fromkeys(factors, ZERO).get)[0]
        if rest is not ZERO or any(u not in coordinates or not f.constant for u, f in factors.items()):
            return ()
        found.append(as_expr(sum((f * coordinates[u] for u, f in factors.items()), ZERO)))
    return tuple(found)


def _status(system: Description, name: str, text: str) -> Expr:
    """Add and return the memory of a contact's status; for the first contact, add the memories that all
    contacts share.
    """
    if FAILED not in system.memories:
        failed = "no admissible forces 1, no admissible impulses 2"
        for label, about in ((FAILED, failed), (AMBIGUOUS, ""), (JAMMED, ""), (WITHOUT_REBOUND, "")):
            node = symbol(label, "memory", dimension=ONE, owner=system.identity)
            system.memories[label] = Memory(node, 0.0, None, about, hidden=True)
            system.rates[node] = ZERO
    return memory(system, f"{name}_status", UNDECIDED, units="-", about=f"{name}: {text}")


def _force(system: Description, name: str, dimension: Dimension) -> Expr:
    """Return the symbol of the force or moment of a contact."""
    about = f"force of contact {name}"
    return symbol(f"{name} contact", "variable", dimension=dimension, owner=system.identity, about=about)


def _restitution(system: Description, value: object, where: str) -> Expr:
    e = bounded_constant(system, 0 if value is None else value, f"restitution of {where}", ONE)
    known = known_value(e)
    if known is not None and known > 1:
        raise ModelError(f"{where}: restitution {known:g} is more than 1: it would gain energy")
    return e


def _coefficients(system: Description, friction: object, static: object, where: str) -> tuple[Expr, Expr]:
    """Return the coefficients of friction while sliding and at rest."""
    mu = _coefficient(system, friction, f"friction of {where}")
    held = mu if static is None else _coefficient(system, static, f"static friction of {where}")
    check_static(mu, held, where)
    return mu, held


def _coefficient(system: Description, value: object, where: str) -> Expr:
    if not isinstance(value, int | float | str | Expr):
        raise ModelError(
            f"{where}: {value!r} is not a coefficient; laws such as StickSlip are for a contact with a "
            "stiffness="
        )
    return friction_limit(system, value, where, ONE)


def friction_limit(system: Description, value: object, where: str, dimension: Dimension) -> Expr:
    """Return a friction limit, which may vary; negative values count as zero."""
    node = read_expression(system, value, where, dimension)
    check_sign(node, where)
    return node if known_value(node) is not None else fn.maximum(node, 0)


def check_static(sliding: Expr, held: Expr, where: str) -> None:
    low, high = known_value(sliding), known_value(held)
    if low is not None and high is not None and high < low:
        raise ModelError(
            f"{where}: static friction {high:g} is less than {low:g}, the friction while sliding"
        )
