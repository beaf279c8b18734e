"""Loads: gravity, forces, moments, struts, efforts along joints, and the armature of drives.

With the vector p from one point to another and a direction e, the law of a force along e may use a distance
x, its nominal value x₀ and a velocity v (``line_variables``):

    x = p · e,   x₀ = x with all coordinates zero,   v = ṗ · e

x is the distance of the second point from the plane through the first point perpendicular to e.

Source: Sayers (1990), Appendix A, add-line-force, with his dummy variables x, x0 and v.

Contacts, stops and brakes use ``travel``, ``read_plane`` and other readers of this file.

An armature a is the inertia of a drive's rotor as seen at the joint that it drives through a gear. A rotor of
inertia J turns n times as fast as the joint if n is the ratio of the gear, so a = n² J. The rotor's energy is

    ½ a u²

where u is the joint's own speed. In the equations of motion the armature adds a u̇ to the equation of that
speed, a term on the diagonal of the mass matrix. This neglects gyroscopic moments of the rotor and the effect
of the parent's motion on it. The mass of the rotor belongs to the body that carries the drive.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from itertools import count
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.arguments import item_count
from armillary.algebra.expression import Expr, as_expr, number
from armillary.algebra.functions import Signed
from armillary.algebra.triples import Triple, cross_triples, is_zero
from armillary.algebra.units import ACCELERATION, ENERGY, FORCE, LENGTH, MOMENT, ONE, SPEED, Dimension
from armillary.algebra.vectors import Vector, cross, dot
from armillary.algebra.walk import substitute, symbols
from armillary.errors import ModelError, nearest, outside
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, BodyLike, Point, PointLike
from armillary.model.description import Description, Gravity, Load
from armillary.model.joints import Drift
from armillary.model.joints.base import UNIT_AXES, perpendicular_triple
from armillary.model.reading.expressions import argument_range, check_new_name, parse_text, read_expression
from armillary.model.reading.kinds import (
    POINT,
    ExpressionLike,
    GivenScalar,
    ListOf,
    VariableLike,
    VectorLike,
    Written,
)
from armillary.model.reading.references import (
    constant_reader,
    find_body,
    find_point,
    find_speed,
    unit_direction,
)
from armillary.model.verbs import EntryForm, PairForm, TableForm, verb
from armillary.untyped import Given

_WORD = re.compile(r"(?<![\w.`])(x0?|v)(?![\w.`])")


def line_variables(
    system: Description, name: str, text: str, ends: tuple[Point, Point], direction: Vector
) -> dict[str, Expr]:
    """Return those of the variables x, x0 and v that a text uses, unless the system has such a name."""
    tables = (system.parameters, system.bodies, system.memories, system.states, system.loads)
    taken = {known for table in (*tables, system.definitions) for known in table}
    used = set(_WORD.findall(text)) - taken
    if not used:
        return {}
    distance = as_expr(vec.dot(motion.position(ends[1], ends[0]), direction))
    found = {"x": fn.named(distance, f"{name}_length")}
    if "x0" in used:
        found["x0"] = substitute(distance, _nominal(system))
    if "v" in used:
        found["v"] = fn.named(vec.dot(motion.velocity(ends[1], ends[0]), direction), f"{name}_rate")
    return {word: found[word] for word in used}


def _nominal(system: Description) -> dict[Expr, Expr]:
    """Return values of all coordinates: zero, and for Euler parameters those of no rotation."""
    values = {q: number(0, q.dimension) for q in system.coordinates}
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            values[body.coordinates[start]] = number(1, body.coordinates[start].dimension)
    return values


_UNIT = 0.01  # tolerance for the squared length of a unit vector, since users write 0.577 for 1/√3
LAW = Written("an expression", x=LENGTH, v=SPEED)


@verb(TableForm("gravity", "a field of gravity"))
def gravity(system: Description, magnitude: ExpressionLike, direction: VectorLike) -> None:
    """Add a uniform gravity field: acceleration ``magnitude`` along ``direction``, fixed in the ground.

    The length of the direction has no effect. Several fields add up.
    """
    value = read_expression(system, magnitude, "gravity", ACCELERATION)
    axis = load_direction(system, direction, "gravity")
    if any(frame is not system.ground.frame for frame, _ in axis.terms):
        raise ModelError(f"gravity: its direction {axis} must be fixed in the ground, e.g. -system.ground.y")
    system.gravities.append(Gravity(value, axis))


@verb(EntryForm("loads", key="force", argument="magnitude"))
def force(
    system: Description,
    name: str,
    magnitude: ExpressionLike,
    direction: VectorLike,
    *,
    at: PointLike,
    reaction: PointLike | None = None,
) -> Expr:
    """Add a force of this magnitude along a direction at a point. The opposite force acts at the reaction
    point, or, if ``reaction`` is a body, on this body along the same line of action; without a reaction it
    acts on the ground. If ``at`` is a body, the force acts at its origin. The length of the direction has no
    effect; ``force_vector`` adds a force that is given as a vector.

    If ``magnitude`` is a text, it may use ``x``, ``x0`` and ``v``: "-k*(x - x0) - c*v". ``x`` is the distance
    of ``at`` along the direction from the reaction point (or from the origin of the reaction body or, without
    a reaction, of the ground), ``x0`` is ``x`` with all coordinates zero, and ``v`` is the relative velocity
    along the direction. If the model has one of these names, the text means the model's.
    """
    check_new_name(system, name, "force")
    point = find_point(system, at, f"force '{name}'")
    axis = load_direction(system, direction, f"force '{name}'")
    other_point: Point | None = None
    reaction_body: Body | None = None
    found = (
        parse_text(system, reaction, f"reaction of force '{name}'", {})
        if isinstance(reaction, str)
        else reaction
    )
    if isinstance(found, Body):
        reaction_body = find_reaction(system, found, point.body, f"force '{name}'")
    elif found is not None:
        other_point = find_point(system, found, f"reaction of force '{name}'")
        reaction_body = other_point.body
    local = {}
    if isinstance(magnitude, str):
        far = other_point or (reaction_body or system.ground).origin
        local = line_variables(system, name, magnitude, (far, point), axis)
    value = read_expression(system, magnitude, f"force '{name}'", FORCE, local)
    return add_load(
        system,
        Load(
            name,
            "force",
            value,
            axis * load_value(value, name),
            point.body,
            point,
            reaction_body,
            other_point,
            axis=axis,
        ),
    )


@verb(EntryForm("loads", key="moment", argument="magnitude", needs=("on",)))
def moment(
    system: Description,
    name: str,
    magnitude: ExpressionLike,
    direction: VectorLike,
    *,
    on: BodyLike | None = None,
    reaction: BodyLike | None = None,
) -> Expr:
    """Add a moment of this magnitude about a direction on a body; the opposite moment acts on the reaction
    body, if there is one. The length of the direction has no effect; ``moment_vector`` adds a moment that is
    given as a vector.
    """
    check_new_name(system, name, "moment")
    if on is None:
        raise ModelError(f"moment '{name}' acts on no body; give one with on=body")
    body = find_body(system, on, f"moment '{name}'")
    value = read_expression(system, magnitude, f"moment '{name}'", MOMENT)
    axis = load_direction(system, direction, f"moment '{name}'")
    other = None if reaction is None else find_reaction(system, reaction, body, f"moment '{name}'")
    vector = axis * load_value(value, name)
    return add_load(system, Load(name, "moment", value, vector, body, None, other, axis=axis))


@verb(EntryForm("loads", key="strut", argument="law"))
def strut(
    system: Description,
    name: str,
    law: Annotated[GivenScalar | Callable[[Expr, Expr], GivenScalar], LAW],
    *,
    between: Annotated[Sequence[object], ListOf(POINT, 2)],
) -> Expr:
    """Add a force along the line between two points, by a law in their distance ``x`` and its rate ``v``,
    e.g. "-k*(x - 0.3) - c*v"; positive pushes the points apart. A function of (x, v) may be given in place
    of text."""
    check_new_name(system, name, "strut")
    if item_count(between) != 2:
        raise ModelError(
            f"strut '{name}': between={between!r} is not a pair of points, e.g. (A.origin, B.com)"
        )
    p, q = (find_point(system, end, f"strut '{name}'") for end in between)
    if p.body is q.body:
        raise ModelError(f"strut '{name}': both ends are on body '{p.body.name}', so it has no effect")
    line = motion.position(q, p)
    if not line.terms:
        raise ModelError(f"strut '{name}': its two points always coincide, so it has no direction")
    length = fn.named(vec.length(line), f"{name}_length")
    along = line / length
    rate = fn.named(vec.dot(motion.velocity(q, p), along), Signed(f"{name}_rate"))
    if callable(law) and not isinstance(law, Expr):
        least, most = argument_range(law)
        if not least <= 2 <= most:
            raise ModelError(
                f"strut '{name}': its law must be a function of two arguments, length x and its rate v"
            )
        value = read_expression(system, law(length, rate), f"strut '{name}'", FORCE)
    else:
        value = read_expression(system, law, f"strut '{name}'", FORCE, {"x": length, "v": rate})
    vector = along * load_value(value, name)
    load = Load(name, "force", value, vector, q.body, q, p.body, p, collinear=True, axis=along)
    return add_load(system, load)


def load_direction(system: Description, direction: object, where: str) -> vec.Vector:
    """Return the unit vector of a load's direction; warn if the given vector has another length.

    Its length has no effect, but ``3*ground.x + 4*ground.y`` may have been meant as the load itself.
    """
    given = parse_text(system, direction, where, {}) if isinstance(direction, str) else direction
    axis = unit_direction(system, given, where)
    squared = as_expr(vec.dot(given, given))
    if squared.kind == "number" and abs(squared.data - 1.0) > _UNIT:
        length = math.sqrt(squared.data)
        other = "force_vector or moment_vector" if where != "gravity" else "the magnitude"
        warnings.warn(
            f"{where}: its direction {given} has the length {length:.6g}, which does not count: the "
            f"magnitude alone is the size; give arm.direction(…), or the whole in {other}",
            stacklevel=outside(),
        )
    return axis


def find_reaction(system: Description, body: object, first: Body, where: str) -> Body:
    """Return the body that bears the reaction to a load on the body ``first``."""
    other = find_body(system, body, f"reaction of {where}")
    if other is first:
        raise ModelError(f"{where}: its reaction is on the same body '{first.name}', so it has no effect")
    return other


def load_value(value: Expr, name: str) -> Expr:
    """Return the magnitude of a load as an intermediate value with the load's name."""
    return fn.named(value, Signed(name))


def add_load(system: Description, load: Load) -> Expr:
    """Add a load to the description; return its magnitude."""
    system.loads[load.name] = load
    return load.magnitude


def travel(system: Description, coordinate: object, where: str) -> tuple[Expr, Expr, Body]:
    """Return a coordinate of a joint, the speed that is its rate, and its body."""
    q = read_expression(system, coordinate, where)
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


def travel_end(system: Description, value: object, where: str, coordinate: Expr) -> Expr:
    """Return an end of a coordinate's travel, which may move with time."""
    node = read_expression(system, value, where, coordinate.dimension)
    moving = [s for s in symbols(node) if s.data.role not in ("parameter", "time", "memory")]
    if moving:
        raise ModelError(
            f"{where}: '{node}' depends on '{moving[0]}'; it may depend on time, memory and parameters only"
        )
    return node


def load_on(system: Description, name: str, value: Expr, u: Expr, body: Body, where: str) -> Expr:
    """Add a load between a body and its parent that does work on one of the joint's speeds alone; return its
    magnitude.

    Let a be the partial velocity of this speed, and b and c those of the joint's other speeds. The load is
    ``value`` times the vector (b × c) / (a · b × c). This vector is a itself if a is perpendicular to b and
    c.
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
        raise ModelError(f"{where}: '{u}' is the speed of a mode; give the coordinate of a joint")
    vector = _dual(axes[u], [axis for s, axis in axes.items() if s is not u])
    kind, at = ("moment", None) if u in turns else ("force", body.origin)
    effort = read_expression(system, value, where, MOMENT if u in turns else FORCE)
    return add_load(system, Load(name, kind, effort, vector * fn.named(effort, name), body, at, body.parent))


def _dual(axis: Vector, others: list[Vector]) -> Vector:
    """Return the vector that is perpendicular to the others and whose dot product with the axis is one."""
    if all(is_zero(dot(axis, other)) for other in others):
        return axis
    across_both = cross(others[0], others[1] if len(others) > 1 else cross(axis, others[0]))
    found: Vector = across_both / dot(axis, across_both)
    return found


def read_plane(system: Description, plane: Given, where: str) -> tuple[Point, Vector]:
    """Return a point of the plane, and the unit normal in the axes of the point's body."""
    if item_count(plane) != 2:
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


def axes_in_plane(normal: Vector, body: Body) -> tuple[Vector, Vector]:
    """Return two unit vectors (a, b) with which (normal, a, b) is right-handed; a is an axis of the body if
    possible.
    """
    own: Triple = normal.components(body.frame)
    start = next(i for i in range(3) if not is_zero(own[i]))
    flat = [i % 3 for i in (start + 1, start + 2) if is_zero(own[i % 3])]
    first: Triple = UNIT_AXES["xyz"[flat[0]]] if flat else perpendicular_triple(own)
    return body.frame.vector(first), body.frame.vector(cross_triples(own, first))


def dimension_of(node: Expr) -> Dimension:
    """Return the dimension of a coordinate or speed; those of modes count as plain numbers."""
    return ONE if node.dimension is None else node.dimension


def effort_of(coordinate: Expr) -> Dimension:
    """Return the dimension of the load on a coordinate."""
    return FORCE if coordinate.dimension is LENGTH else MOMENT


def effort_on(
    system: Description, coordinate: VariableLike, effort: ExpressionLike, *, name: str | None = None
) -> Expr:
    """Add an effort along a coordinate of a joint, between its body and the parent: a moment for an angle, a
    force for a length, positive towards greater values. The effort does work on this coordinate alone.

    ``s.effort_on("arm.q1", "-k*arm.q1 - c*arm.u1", name="servo")``; without a name it is ``effort_arm_q1``.
    Returns the effort.
    """
    where = "effort_on"
    q, _, _ = travel(system, coordinate, where)
    label = f"effort_{str(q).replace('.', '_')}"
    numbered = (label if i == 1 else f"{label}_{i}" for i in count(1))
    chosen = name if name is not None else next(n for n in numbered if n not in system.loads)
    return joint_effort(system, chosen, q, effort)


@verb(EntryForm("loads", key="effort"))
def joint_effort(system: Description, name: str, coordinate: VariableLike, effort: ExpressionLike) -> Expr:
    """Add the effort of ``effort_on`` under a given name; return the effort."""
    where = f"effort '{name}'"
    check_new_name(system, name, "effort")
    q, u, body = travel(system, coordinate, where)
    value = read_expression(system, effort, where, effort_of(q))
    return load_on(system, name, value, u, body, where)


@verb(EntryForm("loads", key="force_vector", argument="vector"))
def force_vector(
    system: Description, name: str, vector: VectorLike, *, at: PointLike, reaction: PointLike | None = None
) -> Expr:
    """Add a force given as a vector, such as ``3*ground.x + 4*ground.y`` in N, at a point; return its
    magnitude. The opposite force acts at the reaction point; without a reaction it acts on the ground.
    """
    where = f"force '{name}'"
    check_new_name(system, name, "force")
    point = find_point(system, at, where)
    value = _read_vector(system, vector, where, FORCE)
    other = None if reaction is None else find_point(system, reaction, f"reaction of {where}")
    size = _vector_size(value, name)
    body = None if other is None else other.body
    return add_load(system, Load(name, "force", size, value, point.body, point, body, other))


@verb(EntryForm("loads", key="moment_vector", argument="vector"))
def moment_vector(
    system: Description, name: str, vector: VectorLike, *, on: BodyLike, reaction: BodyLike | None = None
) -> Expr:
    """Add a moment given as a vector, such as ``2*ground.z - 0.1*A.x`` in N·m, on a body; return its
    magnitude. The opposite moment acts on the reaction body, if there is one.
    """
    where = f"moment '{name}'"
    check_new_name(system, name, "moment")
    body = find_body(system, on, where)
    value = _read_vector(system, vector, where, MOMENT)
    other = None if reaction is None else find_reaction(system, reaction, body, where)
    return add_load(system, Load(name, "moment", _vector_size(value, name), value, body, None, other))


def _read_vector(system: Description, value: object, where: str, dimension: Dimension) -> Vector:
    found = parse_text(system, value, where, {}) if isinstance(value, str) else value
    if not isinstance(found, Vector) or not found.terms:
        raise ModelError(f"{where}: {value!r} is not a vector; give one such as 3*ground.x + 4*ground.y")
    return found.map(lambda c: read_expression(system, c, where, dimension))


def _vector_size(vector: Vector, name: str) -> Expr:
    return fn.named(as_expr(vec.length(vector)), Signed(name))


@verb(PairForm("armature"))
def armature(system: Description, coordinate: VariableLike, value: ExpressionLike) -> None:
    """Add the inertia of a drive's rotor as seen at the joint: a term ``value`` on the diagonal of the mass
    matrix.

    ``coordinate`` is a coordinate of the joint or one of its speeds u; the energy is ½ value u². ``value`` is
    a number, a text or an expression of parameters, in kg m² for a rotational speed and in kg for a
    translational speed.
    """
    speed = find_speed(system, coordinate, "armature")
    where = f"armature of '{speed}'"
    if speed in system.armatures:
        raise ModelError(f"{where}: it is {system.armatures[speed]} already; give the sum of both once")
    if any(speed in flex.speeds for flex in system.flexibles.values()):
        raise ModelError(f"{where}: it is the speed of a mode; an armature belongs to a joint's speed")
    _check_velocity_axes(system, speed, where)
    dimension = None if speed.dimension is None else ENERGY / (speed.dimension * speed.dimension)
    inertia = constant_reader(system, where, dimension)(value)
    if inertia.kind == "number" and inertia.data < 0:
        raise ModelError(f"{where}: {inertia.data:g} is negative; an inertia is zero or positive")
    system.armatures[speed] = inertia


def _check_velocity_axes(system: Description, speed: Expr, where: str) -> None:
    """Raise an error for a velocity in body axes, whose rate is not the acceleration along the axis."""
    for body in system.bodies.values():
        for step in body.assembly.steps:
            if isinstance(step, Drift) and step.velocity == "body" and speed in step.linear.values():
                raise ModelError(
                    f"{where}: it is a velocity of body '{body.name}' in axes that turn with it, along "
                    "which no drive acts; use Free(velocity='parent'), or add to the body's mass"
                )
