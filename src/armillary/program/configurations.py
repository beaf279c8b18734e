"""The configurations that a run can reach, as a table, and the program sections that change between them.

All configurations share the *motion* of the system,

    [coordinates, all speeds in the order of the system, the user's own states]

which includes locked, given and dependent speeds, but not prescribed coordinates. The program of a
configuration has these additional sections:

    leave      computes the motion from the state. The values that events set for some speeds follow it: for
               speeds that an event releases and, in systems with constraints, for all speeds. Then
               there can be a 1 for each speed, for ``adjust``.
    enter      computes the state from a motion that satisfies the constraints
    impulse    computes all speeds after the locks have closed, from a motion with any speeds
    adjust     computes the least changes of speeds with which a motion satisfies the constraints; a 0 instead
               of a 1 at the end of the motion keeps that speed. Only configurations whose dependent speeds
               are set by events have this section.
    ratings    computes the quality of each choice of dependent speeds with the same locks, in the order of
               the group in the table: 1 at best, 0 if singular

The last four sections take a motion as input where other sections take a state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import count, index
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.walk import operands_first, substitute, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.constraints.constrained_equations import least_changes, speeds_after_impulse
from armillary.mechanics.constraints.loop_motion import Choices, DependentChoice, dependent_choices
from armillary.mechanics.constraints.reduction import Configuration, full_tree, initial_configuration
from armillary.mechanics.tree.regroup import simplify_tree
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Description, EventRecord
from armillary.program.derive import derive
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.program import Program
from armillary.program.sections import with_change_sections
from armillary.program.targets.targets import POOR_PIVOT, StepSection, reader
from armillary.text_tables import aligned, counted, html_table, html_text

LEAVE, ENTER, IMPULSE, ADJUST, RATINGS = "leave", "enter", "impulse", "adjust", "ratings"


def with_changes(
    equations: DerivedEquations, *, impulse: bool = True, ratings: Sequence[Expr] = ()
) -> DerivedEquations:
    """Return the equations with the sections above in their program.

    The constants of these sections follow those of the other sections. Equations in redundant coordinates are
    returned unchanged: runs never change their configuration.
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
    """Return the program with ``ratings`` as its only section of changes."""
    with derivation():
        targets, system = equations.targets, equations.system
        motion = (*targets.coordinates, *(_before(system, u) for u in system.speeds), *targets.states)
        return with_change_sections(equations.program, system, motion, [_ratings(ratings)])


def _ratings(ratings: Sequence[Expr]) -> StepSection:
    return StepSection(RATINGS, tuple(f"choice {i}" for i in range(len(ratings))), tuple(ratings))


def _before(system: Description, u: Expr) -> Expr:
    """Return the symbol of a speed in a motion."""
    return symbol(f"{u.data.name} of the motion", owner=system.identity)


def _free(system: Description, u: Expr) -> Expr:
    """Return the symbol whose value is 1 for a speed that may change, 0 for a speed that stays."""
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
    """Return whether events without locks set speeds that constraints may make dependent."""
    return bool(system.constraints) and any(
        not (event.lock or event.unlock) for event, _, _ in speed_settings(system)
    )


def sets_dependent_speeds(equations: DerivedEquations) -> bool:
    """Return whether events without locks set dependent speeds, to values that depend on the motion alone."""
    dependents = set(equations.dependents)
    return any(
        u.data.name in dependents
        for event, u, _ in speed_settings(equations.system)
        if not (event.lock or event.unlock)
    )


def speed_settings(system: Description) -> list[tuple[EventRecord, Expr, Expr]]:
    """Return (event, speed, value) for speeds that events set and that are possibly no states before.

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


# Sets of locked speeds that a run can reach: a search from the start over the locks of events.
#
# Events that watch the same expression occur at the same instant, so they are grouped. An event cannot occur
# while all variables of its expression are locked, and an event that watches a function of time with a
# constant rate, such as "t - 2", occurs once. Every other order of events is possible.

LockSet = frozenset[str]  # names of the locked speeds

_MOST = 2000  # most states of the search
_SMOOTH = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "tanh", "exp", "log", "abs", "pow", "min", "max",
)  # fmt: skip


@dataclass(frozen=True)
class LockingEvent:
    """Events that lock or unlock at the same instant: they watch one expression in one direction."""

    events: tuple[EventRecord, ...]

    @cached_property
    def lock(self) -> LockSet:
        return _names(u for event in self.events for u in event.lock)

    @cached_property
    def unlock(self) -> LockSet:
        return _names(u for event in self.events for u in event.unlock)

    @cached_property
    def sets(self) -> LockSet:
        """Names of the variables that these events set."""
        return _names(target for event in self.events for target in event.changes)

    @property
    def names(self) -> str:
        return " and ".join(f"'{event.name}'" for event in self.events)

    def text(self) -> str:
        """Return the change of locks in words."""
        parts = [("locks", self.lock), ("unlocks", self.unlock)]
        many = len(self.events) > 1
        verbs = [(verb.removesuffix("s") if many else verb, us) for verb, us in parts]
        done = " and ".join(f"{verb} {', '.join(sorted(us))}" for verb, us in verbs if us)
        return f"event{'s' if many else ''} {self.names} {done}"

    def after(self, locked: LockSet) -> LockSet:
        """Return the locked speeds after these events."""
        return (locked | self.lock) - self.unlock

    def held_speeds(self, locked: LockSet) -> LockSet:
        """Return the speeds that are locked during the impulse.

        They include speeds that are released at this instant, unless the event sets them.
        """
        return self.after(locked) | (locked - self.sets)


@dataclass(frozen=True)
class Transition:
    """The events of one instant, with the sets of locks before, during and after them."""

    before: LockSet
    happening: LockingEvent
    held: LockSet
    after: LockSet

    @property
    def impulse(self) -> bool:
        """Whether a free speed becomes locked."""
        return not self.after <= self.before


@dataclass(frozen=True)
class LockSets:
    """The sets of locks that a run can reach, in the order of the search, each with its reason."""

    reasons: Mapping[LockSet, str]
    transitions: tuple[Transition, ...]

    @cached_property
    def of_impulses(self) -> frozenset[LockSet]:
        """Sets of locks in which impulses act."""
        return frozenset(t.held for t in self.transitions if t.impulse)


def happenings(system: Description) -> list[LockingEvent]:
    """Return groups of events that occur at one instant and lock or unlock, in the description's order."""
    found: dict[tuple[Expr, int], list[EventRecord]] = {}
    for event in system.events.values():
        for direction in (event.direction,) if event.direction else (1, -1):
            found.setdefault((event.expression, direction), []).append(event)
    kept = [tuple(events) for events in found.values() if any(e.lock or e.unlock for e in events)]
    return [LockingEvent(events) for events in dict.fromkeys(kept) if not any(e.stop for e in events)]


def lock_sets(system: Description) -> LockSets:
    """Return all sets of locked speeds that events can lead to, nearest to the start first."""
    first = initial_configuration(system).locked
    reasons = {first: "as derived"}
    possible = [(h, _Crossing(system, h)) for h in happenings(system)]
    start: tuple[LockSet, frozenset[int]] = (first, frozenset())  # locked speeds, events that cannot recur
    seen, queue = {start}, [start]
    transitions: dict[tuple[LockSet, LockingEvent], Transition] = {}
    for locked, past in queue:  # the loop appends to the queue
        for k, (happening, crossing) in enumerate(possible):
            if k in past or not crossing.possible(locked) or happening.lock & happening.unlock:
                continue
            found = Transition(locked, happening, happening.held_speeds(locked), happening.after(locked))
            transitions.setdefault((locked, happening), found)
            reasons.setdefault(found.after, happening.text())
            then = (found.after, past | {k} if crossing.once else past)
            if then not in seen and len(seen) < _MOST:
                seen.add(then)
                queue.append(then)
    for found in transitions.values():
        if found.impulse:
            reasons.setdefault(found.held, f"held through the impulse of {found.happening.names}")
    return LockSets(reasons, tuple(transitions.values()))


class _Crossing:
    """The check whether an event's expression can pass zero, from the variables of its rate.

    The answer is yes if the expression may jump, or if it depends on memory, on variables that events set, on
    accelerations or reactions, whose rates are not known here.
    """

    def __init__(self, system: Description, happening: LockingEvent) -> None:
        g = as_expr(happening.events[0].expression)
        set_by_events = {target for event in system.events.values() for target in event.changes}
        own = {state.symbol for state in system.states.values()}
        known = {system.time, *system.coordinates, *system.speeds, *own, *system.parameters.values()}
        jumps = any(node.kind == "call" and node.data not in _SMOOTH for node in operands_first([g]))
        smooth = not jumps and set(symbols(g)) <= known - set_by_events
        self._rate = as_expr(time_derivative(g)) if smooth else None
        self._still = {u.data.name: {u: ZERO, system.accelerations[u]: ZERO} for u in system.speeds}
        self.once = self._rate is not None and self._rate.constant

    def possible(self, locked: LockSet) -> bool:
        """Return whether the expression can pass zero with these speeds locked."""
        if self._rate is None:
            return True
        still = {s: zero for name in locked for s, zero in self._still[name].items()}
        return substitute(self._rate, still) is not ZERO


def _names(symbols_: Iterable[Expr]) -> LockSet:
    return frozenset(s.data.name for s in symbols_)


def in_words(locked: Sequence[str] | LockSet) -> str:
    """Return the locked speeds by their names."""
    return ", ".join(sorted(locked)) or "none"


# The table of configurations that a run of a system can reach.
#
# Sets of locked speeds come from the events (above), choices of dependent speeds from positions of the
# loops (mechanics/constraints/loop_motion.py). Equations of a configuration are derived at their first use.
# The configurations with the same locked speeds are a group. A run uses the first configuration of its group
# if this is good at the present position, else the configuration with the largest rating there.

LIMIT = 16  # default limit of the number of configurations in a table
_GOOD = 2.0 * POOR_PIVOT  # conditioning above which a choice is good at a place
_KEPT = "configurations"  # attribute in which equations keep their table
_STARTS = 6  # limit of the positions, reached with other locks, from which walks of the loops start


@dataclass(frozen=True)
class ListedConfiguration:
    """A configuration, its number in the table, and the reason for its entry."""

    number: int
    configuration: Configuration
    dependents: tuple[str, ...]  # names of the dependent speeds, in the order of elimination
    why: str
    impulse: bool  # whether impulses of closing locks act in this configuration
    rating: Expr | None = field(default=None, repr=False)  # conditioning of its dependent speeds; None: 1

    @property
    def locked(self) -> tuple[str, ...]:
        """Names of the locked speeds."""
        return tuple(sorted(self.configuration.locked))


@dataclass(frozen=True, eq=False, repr=False)
class ConfigurationTable:
    """The configurations of a system, most probable first; number 0 is the one that was derived."""

    derived: DerivedEquations
    listed: tuple[ListedConfiguration, ...]
    reached: LockSets
    left_out: tuple[str, ...]  # reasons of the configurations beyond the limit
    _equations: dict[int, DerivedEquations] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.listed)

    def __iter__(self) -> Iterator[ListedConfiguration]:
        return iter(self.listed)

    def __getitem__(self, number: int) -> ListedConfiguration:
        return self.listed[index(number, len(self), "configuration", ModelError)]

    @property
    def system(self) -> Description:
        return self.derived.system

    # ------------------------------------------------------------ what a run needs

    def equations(self, number: int) -> DerivedEquations:
        """Return the equations of a configuration with the sections of changes; derive them at first use."""
        number = index(number, len(self), "configuration", ModelError)
        if number not in self._equations:
            entry, first = self.listed[number], self.derived
            found = first
            if entry.configuration != first.configuration:
                found = derive(
                    first.system, first.formalism, configuration=entry.configuration, **first.options
                )
            ratings = self.ratings(entry.configuration.locked)
            self._equations[number] = with_changes(found, impulse=entry.impulse, ratings=ratings)
        return self._equations[number]

    def ratings(self, locked: LockSet) -> tuple[Expr, ...]:
        """Return expressions for the quality of each choice of a group, in the order of the group.

        They depend on time, coordinates and memory; 1 is best, and 0 means a singular choice. The result is
        empty if the group has fewer than two choices.
        """
        group = [self.listed[number].rating for number in self.groups.get(locked, ())]
        return tuple(UNIT if r is None else r for r in group) if len(group) > 1 else ()

    @cached_property
    def numbers(self) -> dict[Configuration, int]:
        """The number of each configuration."""
        return {entry.configuration: entry.number for entry in self.listed}

    @cached_property
    def groups(self) -> dict[LockSet, tuple[int, ...]]:
        """The numbers of the configurations with each set of locked speeds."""
        found: dict[LockSet, tuple[int, ...]] = {}
        for entry in self.listed:
            locked = entry.configuration.locked
            found[locked] = (*found.get(locked, ()), entry.number)
        return found

    def following(self, number: int) -> dict[str, int]:
        """Return, by names of events, the number of the first configuration of the group that follows.

        Events of one instant share an entry.
        """
        locked = self.listed[number].configuration.locked
        return {
            t.happening.names: self.groups[t.after][0]
            for t in self.reached.transitions
            if t.before == locked and t.after in self.groups and t.after != locked
        }

    def require_all(self, what: str) -> None:
        """Raise an error if the limit left out configurations; ``what`` names the use that needs all."""
        if self.left_out:
            raise ModelError(
                f"{what} needs all configurations of '{self.system.name}', and "
                f"{len(self) + len(self.left_out)} or more exist, of which {len(self)} are listed; others "
                f"are: {'; '.join(self.left_out[:3])}. Raise the limit: eom.find_configurations(limit=…), "
                "or reduce the number of joints that are locked independently of each other"
            )

    # ------------------------------------------------------------ in print

    def _rows(self) -> list[list[str]]:
        rows = []
        for entry in self.listed:
            then = ", ".join(f"{names} → {n}" for names, n in self.following(entry.number).items())
            operations = self.equations(entry.number).operations
            counts = [str(operations.additions), str(operations.multiplications)]
            held = in_words(entry.configuration.locked)
            rows.append(
                [str(entry.number), held, ", ".join(entry.dependents) or "none", *counts, entry.why, then]
            )
        return rows

    def __str__(self) -> str:
        rows = [["", *_HEADER[1:]], *self._rows()]
        lines = [f"{self._head}:", *(f"  {line}" for line in aligned(rows, _SIDES))]
        return "\n".join([*lines, *([f"  {self._more}"] if self.left_out else [])])

    @property
    def _head(self) -> str:
        return f"{counted(len(self), 'configuration')} of '{self.system.name}'"

    @property
    def _more(self) -> str:
        return f"left out: {len(self.left_out)} or more, such as {self.left_out[0]}"

    def __repr__(self) -> str:
        more = f", {len(self.left_out)} or more left out" if self.left_out else ""
        return f"ConfigurationTable({self.system.name!r}: {len(self)} in {len(self.groups)} lock sets{more})"

    def _repr_html_(self) -> str:
        table = html_table(_HEADER, self._rows(), _SIDES, caption=self._head)
        return table + (f"<p>{html_text(self._more)}</p>" if self.left_out else "")


_HEADER = ["number", "locked", "dependent", "+", "×", "why", "then"]
_SIDES = "><<>><<"


def configurations_of(equations: DerivedEquations) -> ConfigurationTable:
    """Return the table of configurations of these equations; make it at its first use."""
    found = vars(equations).get(_KEPT)
    return find_configurations(equations) if found is None else found


def find_configurations(equations: DerivedEquations, limit: int = LIMIT) -> ConfigurationTable:
    """Return a table of at most ``limit`` configurations that a run can reach; the derived one is the first.

    The equations keep this table.
    """
    limit = count(limit, "limit=", ModelError)
    reached = lock_sets(equations.system)
    choices = _choices(equations, reached, limit)
    firsts = [(locked, found.found[0], reached.reasons[locked]) for locked, found in choices.items()]
    others = [
        (locked, choice, f"dependent speeds for {choice.share:.0%} of the positions of the loops")
        for locked, found in choices.items()
        for choice in found.found[1:]
    ]
    others.sort(key=lambda entry: -entry[1].share)
    wanted = [*firsts, *others]
    listed = [
        ListedConfiguration(
            n, choice.configuration, choice.dependents, why, locked in reached.of_impulses, choice.rating
        )
        for n, (locked, choice, why) in enumerate(wanted[:limit])
    ]
    unseen = [why for locked, why in reached.reasons.items() if locked not in choices]
    left = (*(why for _, _, why in wanted[limit:]), *unseen)
    table = ConfigurationTable(equations, tuple(listed), reached, left)
    vars(equations)[_KEPT] = table
    return table


def _choices(equations: DerivedEquations, reached: LockSets, limit: int) -> Mapping[LockSet, Choices]:
    """Return the choices of dependent speeds for each set of locked speeds, as far as the limit allows."""
    system, judged = equations.system, equations.judged
    sets = list(reached.reasons)[:limit]
    none = np.empty((0, 0))
    if not equations.reduction.rows:
        return {s: Choices((DependentChoice(Configuration(s), (), 1.0, None),), none) for s in sets}
    found: dict[LockSet, Choices] = {}
    plain = reader(judged.declared, judged.keep).exact if judged else reader({}, 0)
    before = {t.after: t.before for t in reversed(reached.transitions)}
    for locked in sets:
        places = found[before[locked]].places if found and before.get(locked) in found else None
        if places is not None:
            places = places[np.linspace(0, len(places) - 1, min(_STARTS, len(places))).astype(int)]
        with derivation():
            found[locked] = dependent_choices(system, plain, locked, _GOOD, limit, places)
    return found
