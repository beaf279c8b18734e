"""Motion that is given: initial values, prescribed coordinates and speeds, locked joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.units import is_quantity
from armillary.algebra.walk import symbols
from armillary.errors import ModelError, nearest
from armillary.model.bodies import motion
from armillary.model.description import Description
from armillary.model.reading.argument_types import ExpressionLike, GivenValues, VariableLike
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import EXPRESSION, TableOf
from armillary.model.reading.references import find_speed
from armillary.model.recording.records import Prescription
from armillary.model.recording.verbs import ListForm, PairForm, verb
from armillary.model.units.unit_system import state_factor


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
