"""Constraints and given motion: equations, initial values, prescribed motion and locks.

Constraints of a description: equations between coordinates or speeds.

A constraint is kept as it will be used: its position form where there is one, its speed form, which is linear
in the speeds, and its acceleration form.

Motion that is given: initial values, prescribed coordinates and speeds, locked joints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from armillary.algebra.arguments import text
from armillary.algebra.calculus import derivative
from armillary.algebra.expression import UNIT, Expr, as_expr, symbol
from armillary.algebra.functions import CONDITIONS
from armillary.algebra.units import FORCE, SPEED, is_quantity
from armillary.algebra.walk import operands_first, symbols
from armillary.errors import ModelError, nearest
from armillary.model.bodies import motion
from armillary.model.bodies.body import BodyLike, PointLike
from armillary.model.description import Description
from armillary.model.reading.expressions import read_expression, refuse_equation
from armillary.model.reading.kinds import (
    EXPRESSION,
    ExpressionLike,
    GivenValues,
    TableOf,
    VariableLike,
    VectorLike,
    Words,
)
from armillary.model.reading.references import find_body, find_point, find_speed, unit_direction
from armillary.model.recording.records import Constraint, Load, Prescription
from armillary.model.recording.verbs import EntryForm, ListForm, PairForm, verb
from armillary.model.units import state_factor


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
    """An expression that stays zero: of coordinates (and time), or linear in the speeds.

    The derivation chooses the speed that each constraint eliminates, unless ``eliminate`` names it. Where
    the force that keeps the constraint is known to act at a point along a direction, ``at`` and ``along``
    give them: reactions at joints need it. It acts on the point's body, or on the body ``on`` at that place:
    on a wheel, at the point of its carrier that is above the road.
    """
    label = constraint_name(system, name, "constraint")
    where = f"constraint '{label}'"
    refuse_equation(expression, where, "give what stays zero")
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


def constraint_name(system: Description, name: str | None, kind: str) -> str:
    """The name that a user gives a constraint, or a new one after its kind."""
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
    """A constraint of the description, with the symbol of the force that keeps it."""
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
    """Names of lookup tables of straight pieces in an expression."""
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
    """Coordinates and speeds at the start of runs, where a run does not say otherwise.

    Loops are closed from there, and the choice of dependent speeds suits that place.
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
    """A coordinate or a speed as a given function of time, parameters and inputs: its equation disappears."""
    node = read_expression(system, variable, "prescribe")
    coordinate = node if node in system.coordinates else None
    speed = find_speed(system, node, "prescribe")
    noun = "coordinate" if coordinate is not None else "speed"
    given = read_expression(system, value, f"prescribed {noun} '{node}'", node.dimension)
    moving = [
        s for s in symbols(given) if s.data.role not in ("parameter", "time") and not _is_input(system, s)
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
            raise ModelError(f"'{started}' has a start already, but what is prescribed has none; drop one")
    if speed in system.prescriptions or speed in system.locked:
        raise ModelError(f"speed '{speed}' is prescribed or locked already")
    rate = as_expr(motion.time_derivative(given)) if coordinate is not None else given
    motion.time_derivative(rate)  # rates of inputs that the derivation needs are inputs from now on
    system.prescriptions[speed] = Prescription(
        speed, rate, coordinate, given if coordinate is not None else None
    )


def _is_input(system: Description, symbol: Expr) -> bool:
    found = system.memories.get(symbol.data.name)
    return found is not None and found.symbol is symbol and found.input


@verb(ListForm("lock"))
def lock(system: Description, *variables: VariableLike) -> None:
    """Coordinates that stay where a run starts them, or speeds that stay zero, until an event unlocks
    them.
    """
    for variable in variables:
        speed = find_speed(system, variable, "lock")
        if speed in system.prescriptions or speed in system.locked:
            raise ModelError(f"lock: '{speed}' is prescribed or locked already")
        system.locked.append(speed)
