"""Constraints of a description: equations between coordinates or speeds, closed loops, given and locked
motion.

A constraint is kept as it will be used: its position form where there is one, its speed form, which is linear
in the speeds, and its acceleration form. For points that coincide in all directions the terms that vanish
with their distance are left out (Sayers 1990, section 8.3, "no-movement").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.calculus import derivative
from armillary.algebra.expression import UNIT, Expr, as_expr, symbol
from armillary.algebra.functions import CONDITIONS
from armillary.algebra.triples import cross_triples, is_zero
from armillary.algebra.units.dimension import FORCE, LENGTH, SPEED
from armillary.algebra.units.units import is_quantity
from armillary.algebra.vectors import Vector, cross, dot
from armillary.algebra.walk import operands_first, symbols
from armillary.errors import ModelError, nearest
from armillary.model import motion
from armillary.model.body import Body, Point
from armillary.model.joints.base import UNIT_AXES, across, check_axis
from armillary.model.journal import recorded
from armillary.model.reading import Reading
from armillary.model.records import Constraint, Load, Prescription
from armillary.model.unit_system import state_factor

_ROUNDING = 1e-12
# Bodies to the ground beyond which a velocity is passed on along the chain. On a ring of 64 that saves two
# thirds of the operations; on a Bricard mechanism (6) it costs 6 % more.
_LONG = 10
JOINTS = ("revolute", "spherical", "universal", "prismatic", "cylindrical", "distance", "fixed")


_EQUALS = re.compile(r"(?<![<>=!])=(?!=)")


def refuse_equation(expression: Any, where: str, remedy: str) -> None:
    """An error for a text with an equals sign where an expression is asked for whose zero matters."""
    if isinstance(expression, str) and _EQUALS.search(expression):
        left, right = _EQUALS.split(expression, maxsplit=1)
        raise ModelError(
            f"{where}: '{expression}' is an equation; {remedy}: '{left.strip()} - ({right.strip()})'"
        )


class Constraints(Reading):
    """The part of a System that takes freedom away."""

    bodies: dict[str, Body]
    constraints: dict[str, Constraint]
    prescriptions: dict[Expr, Prescription]
    locked: list[Expr]
    started: list[Expr]
    coordinates: list[Expr]
    speeds: list[Expr]
    rates: dict[Expr, Expr]
    initial: dict[Expr, float]
    ground: Body
    time: Expr

    # ------------------------------------------------------------ equations

    @recorded
    def constrain(
        self,
        expression: Any,
        *,
        name: str | None = None,
        eliminate: Any = None,
        at: Any = None,
        along: Any = None,
        on: Any = None,
        about: str = "",
    ) -> Constraint:
        """An expression that stays zero: of coordinates (and time), or linear in the speeds.

        The derivation chooses the speed that each constraint eliminates, unless ``eliminate`` names it. Where
        the force that keeps the constraint is known to act at a point along a direction, ``at`` and ``along``
        say so: reactions at joints need it. It acts on the point's body, or on the body ``on`` at that place:
        on a wheel, at the point of its carrier that is above the road.
        """
        label = self._constraint_name(name, "constraint")
        where = f"constraint '{label}'"
        refuse_equation(expression, where, "give what stays zero")
        value = self.expression(expression, where)
        self._check_variables(value, where)
        moving = any(s.data.role == "speed" for s in symbols(value))
        position = None if moving else value
        speed = value if moving else as_expr(motion.time_derivative(value))
        _check_linear(speed, where)
        load = None
        if at is not None or along is not None or on is not None:
            if at is None or along is None:
                raise ModelError(f"{where}: its force needs both a point, at=, and a direction, along=")
            point = self._find_point(at, where)
            body = point.body if on is None else self._find_body(on, where)
            load = Load(label, "force", UNIT, self._direction(along, where), body, point)
        return self._add_constraint(
            label, position, speed, motion.time_derivative(speed), eliminate, load, about or f"{value} = 0"
        )

    def _check_variables(self, value: Expr, where: str) -> None:
        if value.kind == "call" and value.data in CONDITIONS:
            raise ModelError(
                f"{where}: '{value}' is a condition; give an expression that stays zero, e.g. 'A.q1 - 0.5'"
            )
        roles = {s.data.role for s in symbols(value)}
        for table in _straight_tables(value):
            raise ModelError(
                f"{where}: table '{table}' is made of straight pieces, whose slopes jump, and with them "
                "speeds; "
                "give the table kind='smooth'"
            )
        if "variable" in roles:
            raise ModelError(
                f"{where}: '{value}' holds a reaction, which is known only once the accelerations are"
            )
        if "state" in roles:
            raise ModelError(
                f"{where}: '{value}' holds a state with a rate of its own; a constraint relates coordinates, "
                "speeds and time: let a load, such as a stiff spring, follow the state"
            )
        if "acceleration" in roles:
            raise ModelError(f"{where}: '{value}' holds an acceleration; give its position or speed form")
        if not roles & {"coordinate", "speed"}:
            raise ModelError(
                f"{where}: '{value}' holds no coordinate and no speed, so nothing can keep it at zero"
            )

    def _constraint_name(self, name: str | None, kind: str) -> str:
        if name is None:
            count = 1
            while any(known.split(" ")[0] == f"{kind}{count}" for known in self.constraints):
                count += 1
            return f"{kind}{count}"
        if not isinstance(name, str) or not name.strip():
            raise ModelError(f"{kind}: its name {name!r} is not a text")
        if name in self.constraints or any(known.startswith(f"{name} ") for known in self.constraints):
            raise ModelError(f"constraint '{name}' exists already; choose another name")
        return name

    def _add_constraint(
        self,
        name: str,
        position: Expr | None,
        speed: Expr,
        acceleration: Expr,
        eliminate: Any,
        load: Load | None,
        about: str,
    ) -> Constraint:
        given_up = (
            None if eliminate is None else self._speed_of(eliminate, f"constraint '{name}', eliminate=")
        )
        if given_up is not None and given_up not in symbols(speed):
            raise ModelError(f"constraint '{name}' does not hold '{given_up}', so it cannot eliminate it")
        dimension = None if speed.dimension is None else FORCE * SPEED / speed.dimension
        force = symbol(
            f"force of {name}",
            "variable",
            dimension=dimension,
            owner=self.identity,
            about=f"force that keeps {name}",
        )
        record = Constraint(name, position, speed, acceleration, given_up, about, force, load)
        self.constraints[name] = record
        return record

    def _speed_of(self, thing: Any, where: str) -> Expr:
        """A speed, or the one speed that is the rate of a coordinate."""
        node = self.expression(thing, where)
        if node in self.speeds:
            return node
        if node in self.coordinates:
            rate = self.rates[node]
            if rate in self.speeds:
                return rate
            raise ModelError(f"{where}: the rate of '{node}' is not a speed by itself; name a speed")
        known = [str(s) for s in (*self.speeds, *self.coordinates)]
        raise ModelError(
            f"{where}: '{node}' is not a speed or coordinate of this system{nearest(str(node), known)}"
        )

    def _speeds_of(self, things: Any, where: str) -> tuple[Expr, ...]:
        return tuple(self._speed_of(thing, where) for thing in _several(things))

    # ------------------------------------------------------------ closed loops

    @recorded
    def close_loop(
        self,
        p: Any,
        q: Any,
        directions: Any = None,
        *,
        name: str | None = None,
        eliminate: Any = (),
    ) -> tuple[Constraint, ...]:
        """Two points that stay together along each direction: all three where none is given.

        A direction is a vector fixed in a body, such as ``B.x``. ``eliminate`` names the coordinates or
        speeds to give up, one per direction.
        """
        label = self._constraint_name(name, "loop")
        where = f"loop '{label}'"
        first, second = self._loop_ends(p, q, where)
        if directions is None:
            axes = list(self._outer(first, second).frame.axes)
        else:
            given = directions if isinstance(directions, list | tuple) else [directions]
            axes = [self._direction(d, where) for d in given]
        if not 1 <= len(axes) <= 3:
            raise ModelError(f"{where}: {len(axes)} directions given; a point has one to three to be held in")
        _check_independent(axes, where)
        given_up = _several(eliminate)
        if len(given_up) not in (0, len(axes)):
            raise ModelError(f"{where}: {len(given_up)} speeds to eliminate for {len(axes)} directions")
        together = self._coincide(first, second, axes)
        kept = given_up or [None] * len(axes)
        made = [
            self._hold(f"{label} along {_axis_text(axis)}", first, second, axis, together, speed)
            for axis, speed in zip(axes, kept, strict=True)
        ]
        if not any(_moving(c.speed) for c in made):
            raise ModelError(
                f"{where}: {_point_text(first)} and {_point_text(second)} stay together along "
                f"{', '.join(_axis_text(a) for a in axes)} already, whatever moves; there is nothing to close"
            )
        return tuple(made)

    def _loop_ends(self, p: Any, q: Any, where: str) -> tuple[Point, Point]:
        first, second = self._find_point(p, where), self._find_point(q, where)
        if _rigid_root(first.body) is _rigid_root(second.body):
            same = first.body.name
            other = "" if first.body is second.body else f", to which '{second.body.name}' is fixed"
            raise ModelError(f"{where}: both points are on body '{same}'{other}, so there is no loop")
        return first, second

    @staticmethod
    def _outer(p: Point, q: Point) -> Body:
        """The body further from the ground: along its axes its own joints have simple factors."""
        return max(p.body, q.body, key=lambda b: sum(1 for _ in motion.lineage(b)))

    def _coincide(self, p: Point, q: Point, axes: Sequence[Vector]) -> bool:
        """Whether nothing is left of the distance: three directions, or two in a plane that it never
        leaves.
        """
        if len(axes) == 3:
            return True
        line = motion.position(p, q)
        for normal in self.ground.frame.axes:
            if is_zero(dot(line, normal)) and len(axes) == 2 and all(is_zero(dot(a, normal)) for a in axes):
                return True
        return False

    def _hold(
        self, name: str, p: Point, q: Point, axis: Vector, together: bool, eliminate: Any
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
        return self._add_constraint(name, position, speed, acceleration, eliminate, load, about)

    @recorded
    def close_joint(
        self, kind: str, p: Any, q: Any, *, axis: Any = None, length: Any = None, name: str | None = None
    ) -> tuple[Constraint, ...]:
        """A whole joint closed at once between a point of one body and a point of another.

        ``kind``: "spherical", "revolute", "universal", "prismatic", "cylindrical", "fixed" or "distance".
        ``axis`` is a letter or three numbers where both bodies have the same components, or a pair, one in
        the axes of each body; a universal joint takes the two axes of its cross. ``length`` is that of a rod
        between the points ("distance"), whose force is positive where it pushes them apart.
        """
        if not isinstance(kind, str) or kind not in JOINTS:
            hint = nearest(kind, JOINTS) if isinstance(kind, str) else ""
            raise ModelError(f"close_joint: there is no joint {kind!r}{hint}; there are {', '.join(JOINTS)}")
        label = self._constraint_name(name, kind)
        where = f"{kind} joint '{label}'"
        first, second = self._loop_ends(p, q, where)
        if axis is not None and kind in ("spherical", "fixed", "distance"):
            raise ModelError(f"{where}: a joint of this kind has no axis; leave axis= out")
        if kind == "distance":
            return (self._rod(label, first, second, length, where),)
        if length is not None:
            raise ModelError(f"{where}: only a 'distance' has a length")
        if kind == "spherical":
            return self.close_loop(first, second, name=label)
        if kind == "fixed":
            a, b = UNIT_AXES["x"], UNIT_AXES["x"]
        else:
            a, b = self._axis_pair(axis, kind, where)
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
                    self._hold(
                        f"{label} along {_axis_text(direction)}", first, second, direction, False, None
                    )
                )
        else:
            made += self.close_loop(first, second, name=label)
        if kind == "universal":
            made.append(
                self._across(f"{label} cross", own, second.body.frame.vector(b), first.body, second.body)
            )
            return tuple(made)
        for n, direction in enumerate((ahead, aside), start=1):
            made.append(self._across(f"{label} axis {n}", own, direction, first.body, second.body))
        if kind in ("prismatic", "fixed"):
            side = first.body.frame.vector(_across(a))
            made.append(self._across(f"{label} twist", side, aside, first.body, second.body))
        return tuple(made)

    def _axis_pair(self, axis: Any, kind: str, where: str) -> tuple[Any, Any]:
        if axis is None:
            raise ModelError(f"{where} needs axis=, such as 'z', or a pair with the axis in each body")
        pair = axis if isinstance(axis, tuple | list) and len(axis) == 2 else (axis, axis)
        if kind == "universal" and not (isinstance(axis, tuple | list) and len(axis) == 2):
            raise ModelError(f"{where} has two axes, one in each body: axis=('x', 'y')")
        return self._unit_triple(pair[0], where), self._unit_triple(pair[1], where)

    def _unit_triple(self, axis: Any, where: str) -> Any:
        if isinstance(axis, Vector):
            raise ModelError(f"{where}: give the axis as 'x', 'y', 'z' or three numbers in the body's axes")
        checked = check_axis(axis, where)
        if isinstance(checked, str):
            return UNIT_AXES[checked]
        values = [self._constant_reader(where, None)(v) for v in checked]
        length = fn.sqrt(sum((v * v for v in values), as_expr(0)))
        return tuple(v / length for v in values)

    def _across(self, name: str, a: Vector, b: Vector, first: Body, second: Body) -> Constraint:
        """a·b = 0 for axes fixed in two bodies; its rate is (ω_first − ω_second)·(a × b)."""
        couple = cross(a, b)
        rate = motion.angular_velocity(first) - motion.angular_velocity(second)
        speed = as_expr(dot(rate, couple))
        about = f"{_axis_text(a)} stays across {_axis_text(b)}"
        load = Load(name, "moment", UNIT, couple, first, None, second)
        return self._add_constraint(
            name, as_expr(dot(a, b)), speed, motion.time_derivative(speed), None, load, about
        )

    def _rod(self, label: str, p: Point, q: Point, length: Any, where: str) -> Constraint:
        """(r·r − L²)/2L = 0: the gap in units of length, and no root to take."""
        if length is None:
            raise ModelError(f"{where} needs length=, the distance to be kept")
        L = self._constant_reader(f"length of {where}", LENGTH)(length)
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
        return self._add_constraint(label, position, speed, motion.time_derivative(speed), None, load, about)

    # ------------------------------------------------------------ where motion starts

    @recorded
    def start(self, values: Mapping[Any, Any]) -> None:
        """Coordinates and speeds at the start of runs, where a run does not say otherwise.

        Loops are closed from there, and the choice of dependent speeds suits that place.
        """
        if not isinstance(values, Mapping):
            raise ModelError(f"start: {values!r} is not a table of values by name, e.g. {{'A.q1': 0.3}}")
        for variable, value in values.items():
            node = self.expression(variable, "start")
            if any(node in (given.speed, given.coordinate) for given in self.prescriptions.values()):
                raise ModelError(f"start: '{node}' is prescribed, so it has no initial value")
            if node not in self.initial:
                hint = nearest(str(node), [str(s) for s in self.initial])
                raise ModelError(f"start: '{node}' is not a coordinate, speed or state of this system{hint}")
            given = self.expression(value, f"start of '{node}'", node.dimension)
            if given.kind != "number":
                raise ModelError(f"start: the value of '{node}' must be a number, not '{given}'")
            self.initial[node] = float(given.data) * (1.0 if is_quantity(value) else state_factor(node))
            if node not in self.started:
                self.started.append(node)

    # ------------------------------------------------------------ given motion

    @recorded
    def prescribe(self, variable: Any, value: Any) -> None:
        """A coordinate or a speed as a given function of time and parameters: its equation disappears."""
        node = self.expression(variable, "prescribe")
        coordinate = node if node in self.coordinates else None
        speed = self._speed_of(node, "prescribe")
        noun = "coordinate" if coordinate is not None else "speed"
        given = self.expression(value, f"prescribed {noun} '{node}'", node.dimension)
        moving = [s for s in symbols(given) if s.data.role not in ("parameter", "time")]
        if moving:
            raise ModelError(
                f"prescribed {noun} '{node}' may depend on time and parameters only, not on '{moving[0]}'; "
                "for a motion that follows the state give the joint an actuator: "
                f"moment() or force() with a law such as '-k*({node} - target)'"
            )
        for started in (speed, coordinate):
            if started in self.started:
                raise ModelError(
                    f"'{started}' has a start already, but what is prescribed has none; drop one"
                )
        if speed in self.prescriptions or speed in self.locked:
            raise ModelError(f"speed '{speed}' is prescribed or locked already")
        rate = as_expr(motion.time_derivative(given)) if coordinate is not None else given
        self.prescriptions[speed] = Prescription(
            speed, rate, coordinate, given if coordinate is not None else None
        )

    @recorded
    def lock(self, *variables: Any) -> None:
        """Coordinates that stay where a run starts them, or speeds that stay zero, until an event unlocks
        them.
        """
        for variable in variables:
            speed = self._speed_of(variable, "lock")
            if speed in self.prescriptions or speed in self.locked:
                raise ModelError(f"lock: '{speed}' is prescribed or locked already")
            self.locked.append(speed)


def _straight_tables(value: Expr) -> list[str]:
    """Names of lookup tables of straight pieces in an expression."""
    tables = [n.data for n in operands_first([value]) if n.kind == "call" and not isinstance(n.data, str)]
    return [t.name for t in tables if getattr(t, "kind", "") == "linear"]


def _velocity(p: Point) -> Vector:
    """The velocity of a point, in the form that is short for its place in the tree."""
    deep = sum(1 for _ in motion.lineage(p.body)) > _LONG
    return motion.velocity_along_chain(p) if deep else motion.velocity(p)


def _several(things: Any) -> list[Any]:
    """One thing or several as a list."""
    if things is None:
        return []
    return list(things) if isinstance(things, list | tuple) else [things]


def _moving(speed: Expr) -> bool:
    return any(s.data.role == "speed" for s in symbols(speed))


def _rigid_root(body: Body) -> Body:
    """The body to which others are fixed, the nearest to the ground."""
    while body.parent is not None and not body.assembly.steps:
        body = body.parent
    return body


def _check_independent(axes: Sequence[Vector], where: str) -> None:
    """An error for directions that say the same whatever moves."""
    pairs = [(a, b) for i, a in enumerate(axes) for b in axes[:i]]
    flat = len(axes) == 3 and is_zero(dot(cross(axes[0], axes[1]), axes[2]))
    if flat or any(not cross(a, b).terms for a, b in pairs):
        raise ModelError(
            f"{where}: its directions {', '.join(_axis_text(a) for a in axes)} are not independent; give "
            "directions that span the space in which the points are to be held, such as the axes of one body"
        )


def _check_linear(speed: Expr, where: str) -> None:
    for u in [s for s in symbols(speed) if s.data.role == "speed"]:
        again = [s for s in symbols(derivative(speed, u)) if s.data.role == "speed"]
        if again:
            raise ModelError(
                f"{where}: '{speed}' is not linear in the speeds: the factor of '{u}' holds '{again[0]}'"
            )


def _unit_force(name: str, axis: Vector, p: Point, q: Point | None) -> Load:
    return Load(name, "force", UNIT, axis, p.body, p, None if q is None else q.body, q, collinear=False)


def _across(axis: Any) -> Any:
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
