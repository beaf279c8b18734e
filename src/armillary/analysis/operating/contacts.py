"""Statuses of contacts at the start of a search for an operating point, and the check of them at a solution.

A contact that touches or overlaps at the start is closed. It sticks if its slip has no velocity, as at rest,
and slides otherwise. Statuses given in ``memory=`` are not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.calculus import ValueTable, evaluate
from armillary.algebra.expression import as_expr
from armillary.analysis.operating.conditions import CLOSED, STICKS
from armillary.analysis.operating.curve import NEAR, BranchCurve, CurvePlace
from armillary.analysis.operating.newton import Root
from armillary.analysis.operating.point import held_instance
from armillary.analysis.operating.problem import Problem, Request, problem
from armillary.mechanics.contact.state import TOUCH, term_sizes
from armillary.model.description import FAILED, UNDECIDED, RigidContact
from armillary.program.targets.contact_targets import decision_event
from armillary.results.record import label_units
from armillary.runtime.models.instance import Instance

_SLOW = 1e-9  # largest velocity of slip that counts as zero, relative to the sizes of its terms
_MUCH = 1e-6  # a pull below this share of the missing friction counts as a rounding error
_STILL = 1e-9  # largest (½ u̇ᵀ M u̇)^½ at rest, as a share of its value without contacts


@dataclass(frozen=True)
class Fault:
    """A contact whose status a solution contradicts, with the reason and a status that would agree."""

    name: str
    reason: str
    status: float | None  # None: no other status helps
    # Size of the contradiction, to choose the worst of several: a depth as a share of the terms of its gap, a
    # missing force as a share of the largest contact force in its unit, a velocity as a share of its terms.
    depth: float


def undecided_statuses(instance: Instance, memory: np.ndarray) -> list[int]:
    """Return the indices in the memory of statuses that were not given."""
    system = instance.equations.system
    names = list(system.memories)
    places = [names.index(c.status.data.name) for c in system.contacts.values()]
    return [i for i in places if memory[i] == UNDECIDED]


def with_open_contacts(instance: Instance, memory: np.ndarray, *, only_undecided: bool = False) -> np.ndarray:
    """Return the memory with contacts open, and brakes released."""
    names, found = list(instance.equations.system.memories), memory.copy()
    for c in instance.equations.system.contacts.values():
        i = names.index(c.status.data.name)
        if not only_undecided or found[i] == UNDECIDED:
            found[i] = 0.0
    return found


def start_statuses(
    instance: Instance, t: float, state: np.ndarray, memory: np.ndarray, *, brakes_hold: bool
) -> np.ndarray:
    """Return the memory with statuses for the start of a search, for contacts whose status is not given.

    A brake at rest holds if ``brakes_hold``, else it is released.
    """
    system, stored = instance.equations.system, memory.copy()
    names = list(system.memories)
    values = instance.values(instance.place(t, state, with_open_contacts(instance, memory)))
    for c in system.contacts.values():
        i = names.index(c.status.data.name)
        given = stored[i] != UNDECIDED
        slips = [float(evaluate(v, values)) for v in c.sliding]
        length = float(np.hypot.reduce(slips)) if slips else 0.0
        if not given:
            stored[i] = 1.0
            if c.gap is not None:
                size = float(evaluate(as_expr(term_sizes(c.gap)), values))
                stored[i] = 1.0 if float(evaluate(c.gap, values)) <= TOUCH * size else 0.0
            if stored[i]:
                sizes = sum(float(evaluate(as_expr(term_sizes(v)), values)) for v in c.sliding)
                if length > _SLOW * sizes:
                    stored[i] = 2.0 if len(slips) > 1 else np.copysign(2.0, slips[0])
                elif c.gap is None and not brakes_hold:
                    stored[i] = 0.0
        if abs(stored[i]) == 2 and c.direction and length > 0:
            for direction, v in zip(c.direction, slips, strict=True):
                stored[names.index(direction.data.name)] = v / length
    return stored


def contact_faults(
    instance: Instance, t: float, state: np.ndarray, memory: np.ndarray, *, at_rest: bool
) -> list[Fault]:
    """Return the contacts whose statuses a solution contradicts, the worst first.

    The forces of redundant contacts are not unique; the equations give the smallest. If these are not
    admissible at rest, others may be: admissible forces exist if nothing moves when a run begins at this
    state and chooses the statuses itself.
    """
    faults = _faults(instance, t, state, memory)
    loaded = [f for f in faults if f.status != STICKS]
    if loaded and at_rest and _rests(instance, t, state, memory):
        faults = [f for f in faults if f not in loaded]
    return sorted(faults, key=lambda fault: -fault.depth)


def _faults(instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> list[Fault]:
    """Return the contacts whose statuses contradict the forces and motions of a solution."""
    system, model = instance.equations.system, instance.model
    names = list(system.memories)
    guards = instance.events(t, state, memory)
    values = instance.values(instance.place(t, state, memory))
    forces = ContactForces(instance, t, state, memory)
    found = []
    for c in system.contacts.values():
        status = memory[names.index(c.status.data.name)]
        own: list[Fault] = []
        if c.gap is not None:
            guard = float(guards[model.watched_index[f"{c.name}_touch"]])
            gap = float(evaluate(c.gap, values))
            size = float(evaluate(as_expr(term_sizes(c.gap)), values))
            if status in CLOSED and guard < 0:
                reason = f"would have to pull with {forces.text(-forces.normal(c))}, which it cannot"
                own.append(Fault(c.name, reason, 0.0, -guard / forces.largest(c)))
            elif status == 0 and gap < -TOUCH * size:
                unit = "" if c.gap.dimension is None else system.units.unit_text(c.gap.dimension)
                reason = f"is open and would overlap by {-gap:.6g} {unit}".rstrip()
                own.append(Fault(c.name, reason, 1.0, -gap / size))
        if c.sliding and status in CLOSED:
            guard = float(guards[model.watched_index[f"{c.name}_grip"]])
            if status == STICKS:
                reason, size = forces.needed_friction(c, values), forces.largest(c)
            else:
                reason = "would not slide in the direction of its status"
                size = sum(float(evaluate(as_expr(term_sizes(v)), values)) for v in c.sliding)
            depth = -guard / max(size, np.finfo(float).tiny)
            if guard < 0 and not (own and own[0].depth > _MUCH * depth):
                own = [Fault(c.name, reason, 0.0 if c.gap is None else None, depth)]
        found += own
    return found


class ContactForces:
    """Forces of contacts, in the units of outputs."""

    def __init__(self, instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> None:
        names = instance.model.output_names
        self._shown = dict(zip(names, instance.outputs(t, state, memory).tolist(), strict=True))
        self._units = {c.name: label_units(c.units) for c in instance.equations.targets.columns}
        labels = [
            f"{c.name}{part}"
            for c in instance.equations.system.contacts.values()
            for part in ("", "_friction", "_friction1", "_friction2")
        ]
        self._of_contacts = {x: self._units[x] for x in labels if x in self._units}
        self._unit = ""

    def normal(self, c: RigidContact) -> float:
        """Return the normal force of a contact, or the holding force of a brake."""
        self._unit = self._units.get(c.name, "")
        return float(self._shown.get(c.name, np.nan))

    def largest(self, c: RigidContact) -> float:
        """Return the largest magnitude of the contact forces that have the same unit as this contact's."""
        unit = self._units.get(c.name, "")
        near = [abs(force) for label, force in self._shown.items() if self._of_contacts.get(label) == unit]
        return max(near, default=0.0) or 1.0

    def text(self, force: float) -> str:
        return f"{force:.6g} {self._unit}".rstrip()

    def needed_friction(self, c: RigidContact, values: ValueTable) -> str:
        """Return why a contact or brake does not stick: the friction that it needs, and its limit."""
        push = self.normal(c)
        bound = float("nan") if c.held is None else float(evaluate(c.held, values))
        if c.gap is None:
            return f"would have to hold with {self.text(abs(push))} and holds at most {self.text(bound)}"
        labels = [f"{c.name}_friction{i}" for i in ("", 1, 2)]
        need = float(np.hypot.reduce([self._shown[label] for label in labels if label in self._shown]))
        return (
            f"would need a friction of {self.text(need)} to stick and has at most {self.text(bound * push)} "
            f"(coefficient {bound:.6g}, normal force {self.text(push)})"
        )


def _rests(instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> bool:
    """Return whether nothing moves in a run that starts at this state and decides the statuses itself."""
    system = instance.equations.system
    names = list(system.memories)
    stored = memory.copy()
    for c in system.contacts.values():
        i = names.index(c.status.data.name)
        stored[i] = UNDECIDED if stored[i] in CLOSED else stored[i]
    k = instance.model.watched_index[decision_event(system)]
    after, decided = instance.fire_event(k, t, state, stored)
    if decided[names.index(FAILED)]:
        return False
    first = len(instance.model.coordinate_names)
    speeds = slice(first, first + len(instance.model.speed_names))

    def energy(u: np.ndarray) -> float:
        """Return ½ uᵀ M u without prescribed motion, a measure of speeds (or accelerations) of all kinds."""
        moved = [state.copy() for _ in range(3)]
        for each, factor in zip(moved, (1, 0, -1), strict=True):
            each[speeds] = factor * u
        places = (instance.place(t, each, memory) for each in moved)
        onwards, still, back = (instance.model.row_energy(instance.values(p))[0] for p in places)
        return float(0.5 * (onwards + back) - still)

    free = instance.derivatives(t, state, with_open_contacts(instance, memory))[speeds]
    left = instance.derivatives(t, after, decided)[speeds]
    # At rest, the choice of statuses may stop motions but does not start any.
    return energy(left) <= _STILL**2 * energy(free) and energy(after[speeds]) <= energy(state[speeds])


# Statuses of contacts that agree with an operating point, found along with it.
#
# Open contacts that overlap at the solution are closed, the deepest first, and the point is searched again.
# Brakes that do not hold at the solution are released, since a system that rests without their friction also
# rests with it. Statuses given in ``memory=`` are not changed, and no contact is opened: a solution with a
# contact that would pull or slide is refused, because a solution with other statuses may be far from the
# requested one.


def problem_at_start(request: Request, instance: Instance, x: np.ndarray) -> Problem:
    """Return the problem of a request, with the statuses that contacts have at its start."""
    if not request.model.equations.system.contacts:
        return problem(request, x)
    state = x[: len(x) - len(request.inputs)]
    # While a brake holds, every input in a range is a solution. The input that needs no friction is wanted.
    memory = start_statuses(instance, request.t, state, request.memory, brakes_hold=not request.inputs)
    return problem(replace(request, memory=memory), x)


def solve_with_statuses(
    made: Problem, x: np.ndarray, given: np.ndarray, solve: Callable[[Problem], Root]
) -> tuple[Problem, Root, list[Fault]]:
    """Return the problem with statuses that agree with its root, the root, and no faults.

    If no statuses agree, return the last problem and root that were tried, and the faults. ``given`` is the
    memory before statuses were chosen.
    """
    seen: list[np.ndarray] = []
    while True:
        root = solve(made)
        if not root.met or not made.conditions.contacts:
            return made, root, []
        faults = faults_at(made, root.x)
        memory = made.request.memory
        seen.append(memory)
        other = _change_worst_status(made, faults, given)
        if other is None or any(np.array_equal(other, before) for before in seen):
            return made, root, faults
        made = problem(replace(made.request, memory=other), x)


def faults_at(made: Problem, x: np.ndarray) -> list[Fault]:
    """Return the contacts whose statuses the point x = [state, inputs] contradicts."""
    instance, memory = held_instance(made, x)
    state = x[: len(made.conditions.states)]
    return contact_faults(instance, made.request.t, state, memory, at_rest=made.request.at_rest)


def _change_worst_status(made: Problem, faults: list[Fault], given: np.ndarray) -> np.ndarray | None:
    """Return the memory after a change of the worst status that may change; `None` if no status may."""
    instance, _ = held_instance(made, np.zeros(len(made.conditions.names)))
    free = undecided_statuses(instance, given)
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
    """Return the message of the error for a point that contradicts the statuses of contacts."""
    system, worst = made.conditions.equations.system, faults[0]
    kind, opens = ("brake", "release") if system.contacts[worst.name].gap is None else ("contact", "open")
    remedies = {
        None: "give it more friction, other loads, or another start with starts=",
        0.0: f"{opens} it with memory={{'{worst.name}_status': 0}}, or start elsewhere with starts=",
        1.0: f"close it with memory={{'{worst.name}_status': 1}}, or start where it touches, with starts=",
    }
    more = f" ({len(faults) - 1} more statuses are contradicted)" if len(faults) > 1 else ""
    return (
        f"'{system.name}' does not stay at the operating point that was found: {kind} '{worst.name}' "
        f"{worst.reason}{more}; {remedies[worst.status]}"
    )


# The part of a branch on which contacts keep their statuses. It ends where a contact would open, slide or
# touch.

Faults = Callable[[np.ndarray], list[Fault]]


def within_contacts(
    curve: BranchCurve, places: list[CurvePlace], start: np.ndarray, faults: Faults
) -> list[CurvePlace]:
    """Return the points around the start up to the limits of contacts, which are located and marked."""
    distances = [float(np.max(np.abs(p.z - start) / curve.sizes)) for p in places]
    first = int(np.argmin(distances))
    return [
        *reversed(_up_to_limit(curve, places[first::-1], faults)),
        *_up_to_limit(curve, places[first:], faults)[1:],
    ]


def _up_to_limit(curve: BranchCurve, places: list[CurvePlace], faults: Faults) -> list[CurvePlace]:
    """Return the points before the first that contradicts a contact, and the limit itself."""
    for k, place in enumerate(places[1:], start=1):
        if faults(place.z):
            return [*places[:k], _limit(curve, places[k - 1], place, faults)]
    return places


def _limit(curve: BranchCurve, inside: CurvePlace, outside: CurvePlace, faults: Faults) -> CurvePlace:
    """Return the last point between two that contradicts no contact, by bisection."""
    name = faults(outside.z)[0].name
    low, high, best = 0.0, 1.0, inside
    while high - low > NEAR:
        middle = 0.5 * (low + high)
        found = curve.correct_point(inside.z + middle * (outside.z - inside.z), inside.tangent)
        place = None if found is None else curve.place(found[0], inside.tangent)
        if place is None:
            break
        wrong = faults(place.z)
        if wrong:
            high, name = middle, wrong[0].name
        else:
            low, best = middle, place
    return replace(best, mark=f"limit of contact '{name}'")
