"""The functions by which a run leaves one configuration of its system and enters another.

What all configurations have in common is the *motion* of the system,

    [coordinates, all speeds in the order of the system, the user's own states]

with locked, given and dependent speeds, but without prescribed coordinates. The program of a configuration
has, beside its other sections,

    leave      the motion from the state, and after it the speeds that events set and that may not be states
               then: speeds that events release and, in systems with constraints, all speeds; with
               constraints also a 1 for each speed, as below
    enter      the state from a motion that satisfies its constraints: the speeds that are its states
    impulse    all speeds after its locks have closed, from a motion of any speeds
    adjust     the least changes of speeds with which a motion satisfies its constraints; speeds with 0 in
               place of 1 at the end of the motion stay. Only in configurations whose dependent speeds
               events set.
    ratings    how good each choice of dependent speeds with the same locks is at a place, in the order of
               its group in the table: 1 at best, 0 if it is singular

The last four take a motion where other sections take a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armillary.algebra.expression import UNIT, Expr, as_expr, symbol
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.walk import symbols, transform
from armillary.mechanics.constraints.constrained_equations import least_changes, speeds_after_impulse
from armillary.mechanics.constraints.reduction import full_tree
from armillary.mechanics.tree.regroup import simplify_tree
from armillary.model.description import Description
from armillary.model.recording.records import EventRecord
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.program import Program
from armillary.program.sections import with_change_sections
from armillary.program.targets.targets import StepSection, reader

LEAVE, ENTER, IMPULSE, ADJUST, RATINGS = "leave", "enter", "impulse", "adjust", "ratings"


def with_changes(
    equations: DerivedEquations, *, impulse: bool = True, ratings: Sequence[Expr] = ()
) -> DerivedEquations:
    """Return the equations with the sections of changes in their program.

    Constants that these sections need follow the constants of the other sections. Equations whose joints do
    not move the bodies are returned unchanged: no run changes their configuration.
    """
    if equations.program.changes or not equations.joints_move_bodies:
        return equations
    with derivation():
        before = [_before(equations.system, u) for u in equations.system.speeds]
        targets = equations.targets
        wanted = [_leave(equations), _enter(equations, before)]
        if impulse and equations.configuration.locked:
            wanted.append(_impulse(equations, before))
        free = [_free(equations.system, u) for u in equations.system.speeds if adjustable(equations.system)]
        if sets_dependent_speeds(equations):
            wanted.append(_adjust(equations, before, free))
        if ratings:
            wanted.append(_ratings(ratings))
        tail = [
            symbol(f"{u.data.name} after {e.name}", owner=equations.system.identity)
            for e, u, _ in speed_settings(equations.system)
        ]
        motion = (*targets.coordinates, *before, *targets.states, *tail, *free)
        program = with_change_sections(equations.program, equations.system, motion, wanted)
    return replace(equations, program=program)


def with_ratings(equations: DerivedEquations, ratings: Sequence[Expr]) -> Program:
    """The program with the ratings of choices of dependent speeds as its only section of changes."""
    with derivation():
        targets, system = equations.targets, equations.system
        motion = (*targets.coordinates, *(_before(system, u) for u in system.speeds), *targets.states)
        return with_change_sections(equations.program, system, motion, [_ratings(ratings)])


def _ratings(ratings: Sequence[Expr]) -> StepSection:
    return StepSection(RATINGS, tuple(f"choice {i}" for i in range(len(ratings))), tuple(ratings))


def _before(system: Description, u: Expr) -> Expr:
    """The symbol of a speed in a motion."""
    return symbol(f"{u.data.name} of the motion", owner=system.identity)


def _free(system: Description, u: Expr) -> Expr:
    """The symbol of 1 for a speed that may change, 0 for one that stays."""
    return symbol(f"{u.data.name} may change", owner=system.identity)


def _leave(equations: DerivedEquations) -> StepSection:
    targets, system, plain = equations.targets, equations.system, equations.reduction.plain
    speeds = [as_expr(plain(u)) for u in system.speeds]
    found = speed_settings(system)
    labels = (*equations.motion_names, *(f"{u.data.name} after {e.name}" for e, u, _ in found))
    with truncate_new_nodes(None):
        settings = [as_expr(plain.exact(value)) for _, _, value in found]
    if adjustable(system):
        labels += tuple(f"{u.data.name} may change" for u in system.speeds)
        settings += [UNIT] * len(system.speeds)
    return StepSection(LEAVE, labels, (*targets.coordinates, *speeds, *targets.states, *settings))


def adjustable(system: Description) -> bool:
    """Whether events without locks set speeds that constraints may decide."""
    return bool(system.constraints) and any(
        not (event.lock or event.unlock) for event, _, _ in speed_settings(system)
    )


def sets_dependent_speeds(equations: DerivedEquations) -> bool:
    """Whether events without locks set dependent speeds, to what a motion determines."""
    dependents = set(equations.dependents)
    return any(
        u.data.name in dependents
        for event, u, _ in speed_settings(equations.system)
        if not (event.lock or event.unlock)
    )


def speed_settings(system: Description) -> list[tuple[EventRecord, Expr, Expr]]:
    """Return (event, speed, value) for speeds that events set and that may not be states before the event.

    These are the speeds that an event releases; with constraints, all speeds. Values that depend on
    accelerations or reactions are left out.
    """
    released = {u for event in system.events.values() for u in event.unlock}
    known = {*system.coordinates, *system.speeds, *system.parameters.values(), system.time}
    known |= {m.symbol for m in system.memories.values()} | {s.symbol for s in system.states.values()}
    return [
        (event, target, as_expr(value))
        for event in system.events.values()
        for target, value in event.changes.items()
        if target in released or (system.constraints and target.data.role == "speed")
        if set(symbols(as_expr(value))) <= known
    ]


def _enter(equations: DerivedEquations, before: Sequence[Expr]) -> StepSection:
    targets, system = equations.targets, equations.system
    known = dict(zip((u.data.name for u in system.speeds), before, strict=True))
    second = [known[name] for name in equations.speeds]
    if equations.conversion is not None:
        second = transform(equations.conversion, dict(zip(targets.inputs, second, strict=True)).get)
    labels = tuple(s.data.name for s in targets.integrated)
    return StepSection(ENTER, labels, (*targets.coordinates, *second, *targets.states))


def _impulse(equations: DerivedEquations, before: Sequence[Expr]) -> StepSection:
    system, judged = equations.system, equations.judged
    names = [u.data.name for u in system.speeds]
    locked = frozenset(names.index(name) for name in equations.configuration.locked)
    plain = reader(judged.declared, judged.keep).exact if judged else None
    found = speeds_after_impulse(
        simplify_tree(full_tree(system, plain)), equations.reduction.elimination, before, locked, names
    )
    after = [as_expr(found.get(i, u)) for i, u in enumerate(before)]
    return StepSection(IMPULSE, tuple(names), tuple(after))


def _adjust(equations: DerivedEquations, before: Sequence[Expr], free: Sequence[Expr]) -> StepSection:
    system, targets = equations.system, equations.targets
    sizes = targets.sizes[len(targets.corrected) :]
    found = least_changes(equations.reduction.elimination.kept, before, free, sizes)
    names = tuple(u.data.name for u in system.speeds)
    return StepSection(ADJUST, names, tuple(as_expr(found.get(i, 0)) for i in range(len(before))))
