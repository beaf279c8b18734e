"""Events: what happens when an expression passes zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from armillary.algebra.arguments import flag, text
from armillary.algebra.expression import Expr
from armillary.algebra.functions import CONDITIONS
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.model.reading.argument_types import (
    Count,
    ExpressionLike,
    Flag,
    GivenValues,
    VariableLike,
    Words,
)
from armillary.model.reading.expressions import read_expression, refuse_equation
from armillary.model.reading.kinds import EXPRESSION, NAME, ListOf, TableOf
from armillary.model.reading.references import find_speeds
from armillary.model.recording.records import EventRecord
from armillary.model.recording.verbs import EntryForm, verb


@verb(EntryForm("events", key="when", argument="expression"))
def event(
    system: Description,
    name: str,
    expression: ExpressionLike,
    *,
    direction: Count = 0,
    set: Annotated[GivenValues | None, TableOf(EXPRESSION)] = None,
    lock: Annotated[VariableLike | Sequence[VariableLike], ListOf(NAME)] = (),
    unlock: Annotated[VariableLike | Sequence[VariableLike], ListOf(NAME)] = (),
    stop: Flag = False,
    about: Words = "",
) -> None:
    """An event where ``expression`` passes zero (upwards +1, downwards −1, either 0): memories,
    coordinates, speeds and states named in ``set`` take new values, computed from the old ones; ``stop``
    ends the run.

    Joints named in ``lock`` (coordinates or speeds) stand still from then on: the impulse that stops them
    changes all other speeds too. ``unlock`` sets them free, with the speeds that they have.
    """
    if text(name, "the name of an event", ModelError) in system.events:
        raise ModelError(f"event '{name}' exists already; choose another name")
    if not isinstance(direction, int | float) or direction not in (-1, 0, 1):
        raise ModelError(f"event '{name}': direction={direction!r} is not −1, 0 or 1")
    where = f"event '{name}'"
    text(about, f"the description of {where}", ModelError)
    stop = flag(stop, f"{where}: stop=", ModelError)
    changes: dict[Expr, Expr] = {}
    if set is not None and not isinstance(set, Mapping):
        raise ModelError(f"{where}: set={set!r} must hold new values by name, {{'name': value, …}}")
    for target, value in (set or {}).items():
        node = read_expression(system, target, where)
        if node.kind != "symbol" or node.data.role not in ("memory", "coordinate", "speed", "state"):
            raise ModelError(f"{where}: '{node}' cannot be set; memories, coordinates, speeds and states can")
        if node.data.role == "memory" and system.memories[node.name].input:
            raise ModelError(f"{where}: '{node}' is an input, which is set from outside; set a memory")
        changes[node] = read_expression(system, value, f"{where}, new value of '{node}'", node.dimension)
    refuse_equation(expression, where, "give what passes zero")
    watched = read_expression(system, expression, where)
    if watched.kind == "call" and watched.data in CONDITIONS:
        raise ModelError(
            f"{where}: '{watched}' is a condition, which jumps between 0 and 1; give an expression that "
            "passes zero, e.g. 'bob.q1 - 0.5' with direction=1"
        )
    locked, freed = find_speeds(system, lock, where), find_speeds(system, unlock, where)
    if both := [u for u in locked if u in freed]:
        raise ModelError(f"{where}: '{both[0]}' cannot be locked and unlocked at once")
    if moved := [u for u in locked if u in changes]:
        raise ModelError(f"{where}: '{moved[0]}' is locked, so it stands still; it cannot be set too")
    system.events[name] = EventRecord(
        name, watched, direction, changes, stop, about, lock=locked, unlock=freed
    )
