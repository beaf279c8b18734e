"""Closed loops: points of two bodies that stay together, and whole joints closed at once.

For points that coincide in all directions the terms that vanish with their distance are left out (Sayers
1990, section 8.3, "no-movement").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from armillary.algebra.arguments import one_of
from armillary.algebra.expression import UNIT, Expr, as_expr
from armillary.algebra.triples import Triple, cross_triples, is_zero
from armillary.algebra.units import LENGTH
from armillary.algebra.vectors import Vector, cross, dot
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point, PointLike
from armillary.model.constraints import add_constraint, constraint_name
from armillary.model.description import Description
from armillary.model.joints.base import UNIT_AXES, across
from armillary.model.reading.kinds import (
    AXIS,
    NAME,
    VECTOR,
    AxisLike,
    Either,
    ExpressionLike,
    ListOf,
    VariableLike,
    VectorLike,
    choice,
)
from armillary.model.reading.references import (
    constant_reader,
    find_point,
    several,
    unit_direction,
    unit_triple,
)
from armillary.model.recording.records import Constraint, Load
from armillary.model.recording.verbs import EntryForm, verb
from armillary.untyped import Given

_ROUNDING = 1e-12
# Bodies to the ground beyond which a velocity is passed on along the chain. On a ring of 64 that saves two
# thirds of the operations; on a Bricard mechanism (6) it costs 6 % more.
_LONG = 10
JOINTS = ("revolute", "spherical", "universal", "prismatic", "cylindrical", "distance", "fixed")
AXES = Either((AXIS, ListOf(AXIS, 2)))  # "z" or three values, or two of these


@verb(EntryForm("constraints", key="close", argument=("p", "q")))
def close_loop(
    system: Description,
    p: PointLike,
    q: PointLike,
    directions: Annotated[VectorLike | Sequence[VectorLike] | None, Either((VECTOR, ListOf(VECTOR)))] = None,
    *,
    name: str | None = None,
    eliminate: Annotated[VariableLike | Sequence[VariableLike], Either((NAME, ListOf(NAME)))] = (),
) -> tuple[Constraint, ...]:
    """Two points that stay together along each direction: all three where none is given.

    A direction is a vector fixed in a body, such as ``B.x``. ``eliminate`` names the coordinates or
    speeds to give up, one per direction.
    """
    label = constraint_name(system, name, "loop")
    where = f"loop '{label}'"
    first, second = _loop_ends(system, p, q, where)
    if directions is None:
        axes = list(_outer(first, second).frame.axes)
    else:
        given = directions if isinstance(directions, list | tuple) else [directions]
        axes = [unit_direction(system, d, where) for d in given]
    if not 1 <= len(axes) <= 3:
        raise ModelError(f"{where}: {len(axes)} directions given; a point has one to three to be held in")
    _check_independent(axes, where)
    given_up = several(eliminate)
    if len(given_up) not in (0, len(axes)):
        raise ModelError(f"{where}: {len(given_up)} speeds to eliminate for {len(axes)} directions")
    together = _coincide(system, first, second, axes)
    kept = given_up or [None] * len(axes)
    made = [
        _hold(system, f"{label} along {_axis_text(axis)}", first, second, axis, together, speed)
        for axis, speed in zip(axes, kept, strict=True)
    ]
    if not any(_moving(c.speed) for c in made):
        raise ModelError(
            f"{where}: {_point_text(first)} and {_point_text(second)} stay together along "
            f"{', '.join(_axis_text(a) for a in axes)} already, whatever moves; there is nothing to close"
        )
    return tuple(made)


@verb(EntryForm("constraints", key="joint", argument="kind", listed={"between": ("p", "q")}))
def close_joint(
    system: Description,
    kind: Annotated[str, choice(*JOINTS)],
    p: PointLike,
    q: PointLike,
    *,
    axis: Annotated[AxisLike | Sequence[AxisLike] | None, AXES] = None,
    length: ExpressionLike | None = None,
    name: str | None = None,
) -> tuple[Constraint, ...]:
    """A whole joint closed at once between a point of one body and a point of another.

    ``kind``: "spherical", "revolute", "universal", "prismatic", "cylindrical", "fixed" or "distance".
    ``axis`` is a letter or three numbers where both bodies have the same components, or a pair, one in
    the axes of each body; a universal joint takes the two axes of its cross. ``length`` is that of a rod
    between the points ("distance"), whose force is positive where it pushes them apart.
    """
    one_of(kind, JOINTS, "close_joint: there is no joint ", ModelError)
    label = constraint_name(system, name, kind)
    where = f"{kind} joint '{label}'"
    first, second = _loop_ends(system, p, q, where)
    if axis is not None and kind in ("spherical", "fixed", "distance"):
        raise ModelError(f"{where}: a joint of this kind has no axis; leave axis= out")
    if kind == "distance":
        return (_rod(system, label, first, second, length, where),)
    if length is not None:
        raise ModelError(f"{where}: only a 'distance' has a length")
    if kind == "spherical":
        return close_loop(system, first, second, name=label)
    if kind == "fixed":
        a, b = UNIT_AXES["x"], UNIT_AXES["x"]
    else:
        a, b = _axis_pair(system, axis, kind, where)
    made: list[Constraint] = []
    across_b = _across(b)
    ahead, aside = (
        second.body.frame.vector(across_b),
        second.body.frame.vector(cross_triples(b, across_b)),
    )
    own = first.body.frame.vector(a)
    if kind in ("prismatic", "cylindrical"):
        for direction in (ahead, aside):
            made.append(
                _hold(system, f"{label} along {_axis_text(direction)}", first, second, direction, False, None)
            )
    else:
        made += close_loop(system, first, second, name=label)
    if kind == "universal":
        made.append(
            _keep_across(system, f"{label} cross", own, second.body.frame.vector(b), first.body, second.body)
        )
        return tuple(made)
    for n, direction in enumerate((ahead, aside), start=1):
        made.append(_keep_across(system, f"{label} axis {n}", own, direction, first.body, second.body))
    if kind in ("prismatic", "fixed"):
        side = first.body.frame.vector(_across(a))
        made.append(_keep_across(system, f"{label} twist", side, aside, first.body, second.body))
    return tuple(made)


def _loop_ends(system: Description, p: object, q: object, where: str) -> tuple[Point, Point]:
    first, second = find_point(system, p, where), find_point(system, q, where)
    if _rigid_root(first.body) is _rigid_root(second.body):
        same = first.body.name
        other = "" if first.body is second.body else f", to which '{second.body.name}' is fixed"
        raise ModelError(f"{where}: both points are on body '{same}'{other}, so there is no loop")
    return first, second


def _outer(p: Point, q: Point) -> Body:
    """The body further from the ground: along its axes its own joints have simple factors."""
    return max(p.body, q.body, key=lambda b: sum(1 for _ in motion.lineage(b)))


def _coincide(system: Description, p: Point, q: Point, axes: Sequence[Vector]) -> bool:
    """Whether nothing is left of the distance: three directions, or two in a plane that it never
    leaves.
    """
    if len(axes) == 3:
        return True
    line = motion.position(p, q)
    for normal in system.ground.frame.axes:
        if is_zero(dot(line, normal)) and len(axes) == 2 and all(is_zero(dot(a, normal)) for a in axes):
            return True
    return False


def _hold(
    system: Description, name: str, p: Point, q: Point, axis: Vector, together: bool, eliminate: object
) -> Constraint:
    """r·d = 0 for the line r from q to p: ṙ·d + r·ḋ = 0, and once more."""
    line, rate = motion.position(p, q), _velocity(p) - _velocity(q)
    position = as_expr(dot(line, axis))
    if position.kind == "number" and abs(position.data) <= _ROUNDING:
        position = as_expr(0)  # they meet; what is left are the last digits of the numbers given
    if position.kind == "number" and position.data != 0:
        raise ModelError(
            f"loop '{name}': {_point_text(p)} and {_point_text(q)} are {position.data:g} apart along "
            f"{_axis_text(axis)}, whatever moves; place them where they can meet"
        )
    if together:
        speed = as_expr(dot(rate, axis))
        acceleration = as_expr(dot(motion.time_derivative(rate), axis))
    else:
        turning = motion.time_derivative(axis)
        speed = as_expr(dot(rate, axis)) + as_expr(dot(line, turning))
        acceleration = motion.time_derivative(speed)
    about = f"{_point_text(p)} stays on {_point_text(q)} along {_axis_text(axis)}"
    load = _unit_force(name, axis, p, q)
    return add_constraint(system, name, position, speed, acceleration, eliminate, load, about)


def _axis_pair(system: Description, axis: object, kind: str, where: str) -> tuple[Given, Given]:
    if axis is None:
        raise ModelError(f"{where} needs axis=, such as 'z', or a pair with the axis in each body")
    pair = axis if isinstance(axis, tuple | list) and len(axis) == 2 else (axis, axis)
    if kind == "universal" and not (isinstance(axis, tuple | list) and len(axis) == 2):
        raise ModelError(f"{where} has two axes, one in each body: axis=('x', 'y')")
    return unit_triple(system, pair[0], where), unit_triple(system, pair[1], where)


def _keep_across(
    system: Description, name: str, a: Vector, b: Vector, first: Body, second: Body
) -> Constraint:
    """a·b = 0 for axes fixed in two bodies; its rate is (ω_first − ω_second)·(a × b)."""
    couple = cross(a, b)
    rate = motion.angular_velocity(first) - motion.angular_velocity(second)
    speed = as_expr(dot(rate, couple))
    about = f"{_axis_text(a)} stays across {_axis_text(b)}"
    load = Load(name, "moment", UNIT, couple, first, None, second)
    return add_constraint(
        system, name, as_expr(dot(a, b)), speed, motion.time_derivative(speed), None, load, about
    )


def _rod(system: Description, label: str, p: Point, q: Point, length: object, where: str) -> Constraint:
    """(r·r − L²)/2L = 0: the gap in units of length, and no root to take."""
    if length is None:
        raise ModelError(f"{where} needs length=, the distance to be kept")
    L = constant_reader(system, f"length of {where}", LENGTH)(length)
    if L.kind == "number" and L.data <= 0:
        raise ModelError(
            f"{where}: its length {L} is not positive; close it as 'spherical' for points that meet"
        )
    line = motion.position(p, q)
    along = line / L
    rate = motion.velocity(p) - motion.velocity(q)
    speed = as_expr(dot(rate, along))
    position = (as_expr(dot(line, line)) / L - L) / 2
    about = f"distance of {_point_text(p)} from {_point_text(q)} stays {L}"
    load = _unit_force(label, along, p, q)
    return add_constraint(system, label, position, speed, motion.time_derivative(speed), None, load, about)


def _velocity(p: Point) -> Vector:
    """The velocity of a point, in the form that is short for its place in the tree."""
    deep = sum(1 for _ in motion.lineage(p.body)) > _LONG
    return motion.velocity_along_chain(p) if deep else motion.velocity(p)


def _moving(speed: Expr) -> bool:
    return any(s.data.role == "speed" for s in symbols(speed))


def _rigid_root(body: Body) -> Body:
    """The body to which others are fixed, the nearest to the ground."""
    while body.parent is not None and not body.assembly.steps:
        body = body.parent
    return body


def _check_independent(axes: Sequence[Vector], where: str) -> None:
    """An error for directions that are not independent, whatever moves."""
    pairs = [(a, b) for i, a in enumerate(axes) for b in axes[:i]]
    flat = len(axes) == 3 and is_zero(dot(cross(axes[0], axes[1]), axes[2]))
    if flat or any(not cross(a, b).terms for a, b in pairs):
        raise ModelError(
            f"{where}: its directions {', '.join(_axis_text(a) for a in axes)} are not independent; give "
            "directions that span the space in which the points are to be held, such as the axes of one body"
        )


def _unit_force(name: str, axis: Vector, p: Point, q: Point | None) -> Load:
    return Load(name, "force", UNIT, axis, p.body, p, None if q is None else q.body, q, collinear=False)


def _across(axis: Given) -> Triple:
    """A unit triple across a unit axis: a coordinate axis where the axis is one."""
    for i in range(3):
        if axis[i] in (1, -1) and isinstance(axis[i], int | float):
            return UNIT_AXES["yzx"[i]]
    return across(axis)


def _axis_text(axis: Vector) -> str:
    """A direction in words: the name of an axis where it is one, else its components, rounded."""
    parts = []
    for (frame, i), c in axis.terms.items():
        value = (
            float(c) if isinstance(c, int | float) or (isinstance(c, Expr) and c.kind == "number") else None
        )
        name = f"{frame.name}.{'xyz'[i]}"
        if value is None:
            parts.append(f"{c}*{name}")
        elif abs(value) > _ROUNDING:
            size = "" if abs(abs(value) - 1) <= _ROUNDING else f"{abs(value):.4g}*"
            parts.append(f"{'-' if value < 0 else ''}{size}{name}")
    return " + ".join(parts).replace("+ -", "- ")


def _point_text(p: Point) -> str:
    return f"{p.body.name}.{p.name}"
