"""Constraints and given motion: equations, closed loops, initial values, prescribed motion and locks.

A constraint is an equation between coordinates or speeds (``constrain``), two points that remain together
(``close_loop``) or a complete joint (``close_joint``). Its record has the position form, if there is one, the
speed form, which is linear in the speeds, and the acceleration form. For points that coincide in all
directions, terms that vanish with their distance are left out (Sayers 1990, section 8.3, "no-movement").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from armillary.algebra.arguments import one_of, text
from armillary.algebra.calculus import derivative
from armillary.algebra.expression import UNIT, Expr, as_expr, symbol
from armillary.algebra.functions import CONDITIONS
from armillary.algebra.triples import Triple, cross_triples, is_zero
from armillary.algebra.units import FORCE, LENGTH, SPEED, is_quantity
from armillary.algebra.vectors import Vector, cross, dot
from armillary.algebra.walk import operands_first, symbols
from armillary.errors import ModelError, nearest
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, BodyLike, Point, PointLike
from armillary.model.description import Constraint, Description, Load, Prescription
from armillary.model.joints.base import UNIT_AXES, perpendicular_triple
from armillary.model.reading.expressions import read_expression, refuse_equation
from armillary.model.reading.kinds import (
    AXIS,
    EXPRESSION,
    NAME,
    VECTOR,
    AxisLike,
    Either,
    ExpressionLike,
    GivenValues,
    ListOf,
    TableOf,
    VariableLike,
    VectorLike,
    Words,
    choice,
)
from armillary.model.reading.references import (
    constant_reader,
    find_body,
    find_point,
    find_speed,
    several,
    unit_direction,
    unit_triple,
)
from armillary.model.units import state_factor
from armillary.model.verbs import EntryForm, ListForm, PairForm, verb
from armillary.untyped import Given


@verb(EntryForm("constraints", key="zero", argument="expression"))
def constrain(
    system: Description,
    expression: ExpressionLike,
    *,
    name: str | None = None,
    eliminate: VariableLike | None = None,
    at: PointLike | None = None,
    along: VectorLike | None = None,
    on: BodyLike | None = None,
    about: Words = "",
) -> Constraint:
    """Add a constraint: an expression that remains zero, of coordinates and time or linear in the speeds.

    The derivation chooses the speed that each constraint eliminates, unless ``eliminate`` names it. Reactions
    at joints need the line of action of the constraint's force: give a point on it, ``at``, and its
    direction, ``along``. The force acts on the body of this point, or on the body ``on`` if that
    is given, for instance on a wheel at a point of the wheel's carrier.
    """
    label = constraint_name(system, name, "constraint")
    where = f"constraint '{label}'"
    refuse_equation(expression, where, "give the expression that remains zero")
    value = read_expression(system, expression, where)
    _check_variables(value, where)
    moving = any(s.data.role == "speed" for s in symbols(value))
    position = None if moving else value
    speed = value if moving else as_expr(motion.time_derivative(value))
    _check_linear(speed, where)
    load = None
    if at is not None or along is not None or on is not None:
        if at is None or along is None:
            raise ModelError(f"{where}: its force needs both a point, at=, and a direction, along=")
        point = find_point(system, at, where)
        body = point.body if on is None else find_body(system, on, where)
        load = Load(label, "force", UNIT, unit_direction(system, along, where), body, point)
    return add_constraint(
        system,
        label,
        position,
        speed,
        motion.time_derivative(speed),
        eliminate,
        load,
        about or f"{value} = 0",
    )


def _check_variables(value: Expr, where: str) -> None:
    if value.kind == "call" and value.data in CONDITIONS:
        raise ModelError(
            f"{where}: '{value}' is a condition; give an expression that remains zero, e.g. 'A.q1 - 0.5'"
        )
    roles = {s.data.role for s in symbols(value)}
    for table in _straight_tables(value):
        raise ModelError(
            f"{where}: table '{table}' is piecewise linear, so speeds would jump with its slope; "
            "give the table kind='smooth'"
        )
    if "variable" in roles:
        raise ModelError(
            f"{where}: '{value}' holds a reaction, which is computed only after the accelerations"
        )
    if "state" in roles:
        raise ModelError(
            f"{where}: '{value}' holds a state with a rate of its own; a constraint relates coordinates, "
            "speeds and time: let a load, such as a stiff spring, follow the state"
        )
    if "acceleration" in roles:
        raise ModelError(f"{where}: '{value}' holds an acceleration; give its position or speed form")
    if not roles & {"coordinate", "speed"}:
        raise ModelError(f"{where}: '{value}' holds no coordinate and no speed, so it cannot be kept at zero")


def constraint_name(system: Description, name: str | None, kind: str) -> str:
    """Return the user's name of a constraint, checked, or a new name: the kind with a number."""
    if name is None:
        count = 1
        while any(known.split(" ")[0] == f"{kind}{count}" for known in system.constraints):
            count += 1
        return f"{kind}{count}"
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"{kind}: its name {name!r} is not a text")
    if name in system.constraints or any(known.startswith(f"{name} ") for known in system.constraints):
        raise ModelError(f"constraint '{name}' exists already; choose another name")
    return text(name, f"{kind}: its name", ModelError)


def add_constraint(
    system: Description,
    name: str,
    position: Expr | None,
    speed: Expr,
    acceleration: Expr,
    eliminate: object,
    load: Load | None,
    about: str,
) -> Constraint:
    """Add a constraint to the description, with a symbol for the force that keeps it; return it."""
    given_up = (
        None if eliminate is None else find_speed(system, eliminate, f"constraint '{name}', eliminate=")
    )
    if given_up is not None and given_up not in symbols(speed):
        raise ModelError(f"constraint '{name}' does not hold '{given_up}', so it cannot eliminate it")
    dimension = None if speed.dimension is None else FORCE * SPEED / speed.dimension
    force = symbol(
        f"force of {name}",
        "variable",
        dimension=dimension,
        owner=system.identity,
        about=f"force that keeps {name}",
    )
    record = Constraint(name, position, speed, acceleration, given_up, about, force, load)
    system.constraints[name] = record
    return record


def _straight_tables(value: Expr) -> list[str]:
    """Return the names of piecewise linear lookup tables in an expression."""
    tables = [n.data for n in operands_first([value]) if n.kind == "call" and not isinstance(n.data, str)]
    return [t.name for t in tables if getattr(t, "kind", "") == "linear"]


def _check_linear(speed: Expr, where: str) -> None:
    for u in [s for s in symbols(speed) if s.data.role == "speed"]:
        again = [s for s in symbols(derivative(speed, u)) if s.data.role == "speed"]
        if again:
            raise ModelError(
                f"{where}: '{speed}' is not linear in the speeds: the factor of '{u}' holds '{again[0]}'"
            )


@verb(PairForm("start"))
def start(system: Description, values: Annotated[GivenValues, TableOf(EXPRESSION)]) -> None:
    """Set initial values of coordinates and speeds, which a run may replace.

    Loops are closed starting from these coordinates, and dependent speeds are changed to satisfy the
    constraints.
    """
    if not isinstance(values, Mapping):
        raise ModelError(f"start: {values!r} is not a table of values by name, e.g. {{'A.q1': 0.3}}")
    for variable, value in values.items():
        node = read_expression(system, variable, "start")
        if any(node in (given.speed, given.coordinate) for given in system.prescriptions.values()):
            raise ModelError(f"start: '{node}' is prescribed, so it has no initial value")
        if node not in system.initial:
            hint = nearest(str(node), [str(s) for s in system.initial])
            raise ModelError(f"start: '{node}' is not a coordinate, speed or state of this system{hint}")
        given = read_expression(system, value, f"start of '{node}'", node.dimension)
        if given.kind != "number":
            raise ModelError(f"start: the value of '{node}' must be a number, not '{given}'")
        system.initial[node] = float(given.data) * (1.0 if is_quantity(value) else state_factor(node))
        if node not in system.started:
            system.started.append(node)


@verb(PairForm("prescribe"))
def prescribe(system: Description, variable: VariableLike, value: ExpressionLike) -> None:
    """Prescribe a coordinate or speed as a function of time, parameters and inputs; it loses its equation."""
    node = read_expression(system, variable, "prescribe")
    coordinate = node if node in system.coordinates else None
    speed = find_speed(system, node, "prescribe")
    noun = "coordinate" if coordinate is not None else "speed"
    prescribed = read_expression(system, value, f"prescribed {noun} '{node}'", node.dimension)
    moving = [
        s
        for s in symbols(prescribed)
        if s.data.role not in ("parameter", "time") and not _is_input(system, s)
    ]
    if moving:
        raise ModelError(
            f"prescribed {noun} '{node}' may depend on time, parameters and inputs only, not on "
            f"'{moving[0]}'; "
            "for a motion that follows the state give the joint an actuator: "
            f"moment() or force() with a law such as '-k*({node} - target)'"
        )
    for started in (speed, coordinate):
        if started in system.started:
            raise ModelError(f"'{started}' has a start, so it cannot be prescribed; leave one of the two out")
    if speed in system.prescriptions or speed in system.locked:
        raise ModelError(f"speed '{speed}' is prescribed or locked already")
    rate = as_expr(motion.time_derivative(prescribed)) if coordinate is not None else prescribed
    motion.time_derivative(rate)  # declares the rates of inputs as inputs; the derivation needs them
    system.prescriptions[speed] = Prescription(
        speed, rate, coordinate, prescribed if coordinate is not None else None
    )


def _is_input(system: Description, symbol: Expr) -> bool:
    found = system.memories.get(symbol.data.name)
    return found is not None and found.symbol is symbol and found.input


@verb(ListForm("lock"))
def lock(system: Description, *variables: VariableLike) -> None:
    """Lock coordinates at their initial values, or speeds at zero, until an event unlocks them."""
    for variable in variables:
        speed = find_speed(system, variable, "lock")
        if speed in system.prescriptions or speed in system.locked:
            raise ModelError(f"lock: '{speed}' is prescribed or locked already")
        system.locked.append(speed)


_ROUNDING = 1e-12
# Velocities of bodies at a larger depth of the tree are computed along the chain. On a ring of 64 bodies this
# saves two thirds of the operations; on a Bricard mechanism (6 bodies) it would cost 6 % more.
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
    """Keep two points together along each direction; along all three if none is given.

    A direction is a vector fixed in a body, such as ``B.x``. ``eliminate`` names the coordinates or speeds
    that become dependent, one per direction.
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
        raise ModelError(f"{where}: {len(axes)} directions given; give one to three")
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
    if not any(_is_moving(c.speed) for c in made):
        raise ModelError(
            f"{where}: {_point_text(first)} and {_point_text(second)} stay together along "
            f"{', '.join(_axis_text(a) for a in axes)} in every position already; there is nothing to close"
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
    """Close a loop with a joint between a point of one body and a point of another.

    ``kind``: "spherical", "revolute", "universal", "prismatic", "cylindrical", "fixed" or "distance".
    ``axis`` is a letter or three numbers if the axis has the same components in both bodies, or a pair with
    the axis in each body; for a universal joint the pair are the two axes of its cross. ``length`` is the
    length of a rod between the points ("distance"), whose force is positive if it pushes them apart.
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
    constraints: list[Constraint] = []
    across_b = _perpendicular_axis(b)
    ahead, aside = (
        second.body.frame.vector(across_b),
        second.body.frame.vector(cross_triples(b, across_b)),
    )
    own = first.body.frame.vector(a)
    if kind in ("prismatic", "cylindrical"):
        for direction in (ahead, aside):
            constraints.append(
                _hold(system, f"{label} along {_axis_text(direction)}", first, second, direction, False, None)
            )
    else:
        constraints += close_loop(system, first, second, name=label)
    if kind == "universal":
        constraints.append(
            _keep_across(system, f"{label} cross", own, second.body.frame.vector(b), first.body, second.body)
        )
        return tuple(constraints)
    for n, direction in enumerate((ahead, aside), start=1):
        constraints.append(_keep_across(system, f"{label} axis {n}", own, direction, first.body, second.body))
    if kind in ("prismatic", "fixed"):
        side = first.body.frame.vector(_perpendicular_axis(a))
        constraints.append(_keep_across(system, f"{label} twist", side, aside, first.body, second.body))
    return tuple(constraints)


def _loop_ends(system: Description, p: object, q: object, where: str) -> tuple[Point, Point]:
    first, second = find_point(system, p, where), find_point(system, q, where)
    if _rigid_root(first.body) is _rigid_root(second.body):
        same = first.body.name
        other = "" if first.body is second.body else f", to which '{second.body.name}' is fixed"
        raise ModelError(f"{where}: both points are on body '{same}'{other}, so there is no loop")
    return first, second


def _outer(p: Point, q: Point) -> Body:
    """Return the body further from the ground; in its axes the coefficients of the speeds are simple."""
    return max(p.body, q.body, key=lambda b: sum(1 for _ in motion.lineage(b)))


def _coincide(system: Description, p: Point, q: Point, axes: Sequence[Vector]) -> bool:
    """Return whether the held directions make the points coincide.

    They do if there are three, or two that span a plane which always contains the line between the points.
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
    """Add r·d = 0 for the line r from q to p, with its rate ṙ·d + r·ḋ = 0 and its second derivative."""
    base = _common_base(p, q)
    line, rate = motion.position(p, q), _velocity(p, base) - _velocity(q, base)
    position = as_expr(dot(line, axis))
    if position.kind == "number" and abs(position.data) <= _ROUNDING:
        position = as_expr(0)  # the points meet; the small number is the rounding error of the given data
    if position.kind == "number" and position.data != 0:
        raise ModelError(
            f"loop '{name}': {_point_text(p)} and {_point_text(q)} are {position.data:g} apart along "
            f"{_axis_text(axis)} in every position; place them where they can meet"
        )
    if together:
        speed = as_expr(dot(rate, axis))
        acceleration = as_expr(dot(motion.time_derivative(rate, base), axis))
    else:
        turning = motion.time_derivative(axis, base)
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
    """Add (r·r − L²)/2L = 0 for the line r between the points: a gap in units of length, without √."""
    if length is None:
        raise ModelError(f"{where} needs length=, the distance to be kept")
    L = constant_reader(system, f"length of {where}", LENGTH)(length)
    if L.kind == "number" and L.data <= 0:
        raise ModelError(
            f"{where}: its length {L} is not positive; close it as 'spherical' for points that meet"
        )
    line = motion.position(p, q)
    along = line / L
    base = _common_base(p, q)
    rate = motion.velocity_seen_from(p, base) - motion.velocity_seen_from(q, base)
    speed = as_expr(dot(rate, along))
    position = (as_expr(dot(line, line)) / L - L) / 2
    about = f"distance of {_point_text(p)} from {_point_text(q)} stays {L}"
    load = _unit_force(label, along, p, q)
    return add_constraint(system, label, position, speed, motion.time_derivative(speed), None, load, about)


def _common_base(p: Point, q: Point) -> Body | None:
    """Return the last common body on the paths from the ground to both points; None for the ground.

    Relative to this body, the rates of a loop do not contain the speeds of the bodies that carry the loop.
    For a car with four suspensions this reduces the operations to 0.6 of their number.
    """
    before = list(motion.lineage(q.body))
    base = next((body for body in motion.lineage(p.body) if body in before), None)
    return None if base is None or base.parent is None else base


def _velocity(p: Point, base: Body | None) -> Vector:
    """Return the velocity of a point, in the form that is shorter for its depth in the tree."""
    deep = sum(1 for _ in motion.lineage(p.body)) > _LONG
    return motion.velocity_along_chain(p, base) if deep else motion.velocity_seen_from(p, base)


def _is_moving(speed: Expr) -> bool:
    return any(s.data.role == "speed" for s in symbols(speed))


def _rigid_root(body: Body) -> Body:
    """Return the first body, from the ground, of the rigid group that a body belongs to."""
    while body.parent is not None and not body.assembly.steps:
        body = body.parent
    return body


def _check_independent(axes: Sequence[Vector], where: str) -> None:
    """Raise an error if the directions are dependent in every position."""
    pairs = [(a, b) for i, a in enumerate(axes) for b in axes[:i]]
    flat = len(axes) == 3 and is_zero(dot(cross(axes[0], axes[1]), axes[2]))
    if flat or any(not cross(a, b).terms for a, b in pairs):
        raise ModelError(
            f"{where}: its directions {', '.join(_axis_text(a) for a in axes)} are not independent; give "
            "directions that span the space in which the points are held, such as the axes of one body"
        )


def _unit_force(name: str, axis: Vector, p: Point, q: Point | None) -> Load:
    return Load(name, "force", UNIT, axis, p.body, p, None if q is None else q.body, q, collinear=False)


def _perpendicular_axis(axis: Given) -> Triple:
    """Return a unit triple perpendicular to a unit axis: a coordinate axis if the given axis is one."""
    for i in range(3):
        if axis[i] in (1, -1) and isinstance(axis[i], int | float):
            return UNIT_AXES["yzx"[i]]
    return perpendicular_triple(axis)


def _axis_text(axis: Vector) -> str:
    """Return a direction as text: the name of an axis, else its components, rounded."""
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
