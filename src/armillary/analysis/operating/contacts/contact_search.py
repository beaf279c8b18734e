"""Statuses of contacts that agree with an operating point, found along with it.

Open contacts that overlap at the solution are closed, the deepest first, and the point is looked for again;
brakes that do not hold there are released, since a rest without their friction is one with it. Statuses that
``memory=`` gives are not changed, and no contact is opened: a solution with a contact that would pull, or
slide, is refused, because what lies beyond it may be far from what was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from armillary.analysis.operating.contacts.contact_conditions import STICKS
from armillary.analysis.operating.contacts.contact_statuses import (
    Fault,
    contact_faults,
    start_statuses,
    undecided,
)
from armillary.analysis.operating.newton import Root
from armillary.analysis.operating.outcome import held_instance
from armillary.analysis.operating.problem import Problem, problem
from armillary.analysis.operating.request import Request
from armillary.runtime.models.programs.instance import Instance


def problem_at_start(request: Request, instance: Instance, x: np.ndarray) -> Problem:
    """Return the problem of a request, with the statuses that contacts have at its start."""
    if not request.model.equations.system.contacts:
        return problem(request, x)
    state = x[: len(x) - len(request.inputs)]
    # With a brake that holds, any input of some range would do: the one that holds without friction is found.
    memory = start_statuses(instance, request.t, state, request.memory, brakes_hold=not request.inputs)
    return problem(replace(request, memory=memory), x)


def solve_with_statuses(
    made: Problem, x: np.ndarray, given: np.ndarray, solve: Callable[[Problem], Root]
) -> tuple[Problem, Root, list[Fault]]:
    """Return the problem and its root with statuses that agree, or the contacts that contradict them;
    ``given`` is the memory before statuses were chosen.
    """
    seen: list[np.ndarray] = []
    while True:
        root = solve(made)
        if not root.met or not made.conditions.contacts:
            return made, root, []
        faults = faults_at(made, root.x)
        memory = made.request.memory
        seen.append(memory)
        other = _changed(made, faults, given)
        if other is None or any(np.array_equal(other, before) for before in seen):
            return made, root, faults
        made = problem(replace(made.request, memory=other), x)


def faults_at(made: Problem, x: np.ndarray) -> list[Fault]:
    """Return the contacts whose statuses the point x = [state, inputs] contradicts."""
    instance, memory = held_instance(made, x)
    state = x[: len(made.conditions.states)]
    return contact_faults(instance, made.request.t, state, memory, at_rest=made.request.at_rest)


def _changed(made: Problem, faults: list[Fault], given: np.ndarray) -> np.ndarray | None:
    """Return the memory with the status of the worst fault changed that may be; None if there is none."""
    instance, _ = held_instance(made, np.zeros(len(made.conditions.names)))
    free = undecided(instance, given)
    places = {c.name: c.status for c in made.conditions.contacts}
    brakes = {c.name for c in made.conditions.contacts if c.gap is None}
    for fault in faults:
        may_change = fault.status == STICKS or fault.name in brakes
        if may_change and fault.status is not None and places[fault.name] in free:
            memory = made.request.memory.copy()
            memory[places[fault.name]] = fault.status
            return memory
    return None


def refusal(made: Problem, faults: list[Fault]) -> str:
    """Return the sentence for a point whose contacts do not bear it."""
    system, worst = made.conditions.equations.system, faults[0]
    kind, opens = ("brake", "release") if system.contacts[worst.name].gap is None else ("contact", "open")
    remedies = {
        None: "give it more friction, other loads, or another start with starts=",
        0.0: f"{opens} it with memory={{'{worst.name}_status': 0}}, or start elsewhere with starts=",
        1.0: f"close it with memory={{'{worst.name}_status': 1}}, or start where it touches, with starts=",
    }
    more = f" ({len(faults) - 1} more are contradicted, too)" if len(faults) > 1 else ""
    return (
        f"'{system.name}' does not stay at the operating point that was found: {kind} '{worst.name}' "
        f"{worst.reason}{more}; {remedies[worst.status]}"
    )
