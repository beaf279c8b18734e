"""Operations of one step of an embedded program."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil, log2
from typing import Protocol

from armillary.export.c.text import counts
from armillary.program.cost import Operations
from armillary.program.program import Program
from armillary.runtime.integrators.records import Method
from armillary.runtime.solver.methods import tableau


class Counted(Protocol):
    """What counts are made of: a model in some language."""

    program: Program
    precision: str

    @property
    def has(self) -> Collection[str]: ...


def step_table(model: Counted, method: Method, attempts: int) -> str:
    """Rows of a table in Markdown: a step at least and at most, and what an event adds."""
    rows = [("a step", step_operations(model, method, 1))]
    if model.program.corrected:
        rows.append(("a step, at most", step_operations(model, method, attempts)))
    if model.program.events.results:
        rows.append(("locating the events of a step, at most", event_operations(model, attempts)))
    return "\n".join(f"| {what} | {counts(found)} |" for what, found in rows)


def step_operations(model: Counted, method: Method, attempts: int) -> Operations:
    """A step without events, whose loops are closed by so many corrections."""
    t, n, program = tableau(method), len(model.program.state), model.program
    evaluations = t.stages
    if program.events.results:  # the derivative at the end is kept for the next step, unless inputs are new
        evaluations = t.stages + ("inputs" in model.has)
    rows = [*t.a[1:], t.b]
    terms = [sum(1 for weight in row if weight) for row in rows]
    scaled = [sum(1 for weight in row if weight and abs(weight) != 1) for row in rows]
    stages = Operations(n * sum(terms), n * (sum(scaled) + len(rows)))
    finite = Operations(n, n)
    total = _times(program.derivatives.operations, evaluations) + stages + finite
    total += normalising(model, attempts)
    if program.events.results:
        total += program.events.operations
    return total + program.update.operations


def normalising(model: Counted, attempts: int) -> Operations:
    """Euler parameters brought to unit length, and loops closed by so many corrections."""
    program = model.program
    units = program.normalise.operations if program.quaternions else Operations()
    if not program.corrected:
        return units
    count = len(program.corrected)
    once = program.correct.operations + Operations(additions=count, divisions=count) + units
    return _times(once, attempts)


def event_operations(model: Counted, attempts: int) -> Operations:
    """The evaluations of event functions inside a step: each event by bisection in at least every third turn
    down to the last digits of the time, after a search by doublings in the step that follows an event.
    """
    bits = 24 if model.precision == "single" else 53
    events, n = len(model.program.events.results), len(model.program.state)
    turns = 3 * ceil(log2(2.0 ** (bits - 1))) + 2
    inside = Operations(4 * n, 3 * n) + normalising(model, attempts) + model.program.events.operations
    return _times(inside, events * turns + 2 * bits)


def _times(operations: Operations, count: int) -> Operations:
    o = operations
    return Operations(*(count * part for part in (o.additions, o.multiplications, o.divisions, o.functions)))
