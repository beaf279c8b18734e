"""Sets of locked speeds that a run can reach: a search from the start over what events lock and unlock.

Events that watch the same expression happen at the same instant, so they are taken together. An event cannot
happen while all that its expression depends on is locked, and one that watches a function of time alone that
only rises, such as "t - 2", happens once. Any other order of events is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.walk import operands_first, substitute, symbols
from armillary.mechanics.constraints.reduction import initial_configuration
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Description
from armillary.model.recording.records import EventRecord

LockSet = frozenset[str]  # names of the locked speeds

_MOST = 2000  # places of the search
_SMOOTH = (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "tanh",
    "exp",
    "log",
    "abs",
    "pow",
    "min",
    "max",
)


@dataclass(frozen=True)
class LockingEvent:
    """Events of one instant that lock or unlock: those that watch one expression in one direction."""

    events: tuple[EventRecord, ...]

    @cached_property
    def lock(self) -> LockSet:
        return _names(u for event in self.events for u in event.lock)

    @cached_property
    def unlock(self) -> LockSet:
        return _names(u for event in self.events for u in event.unlock)

    @cached_property
    def sets(self) -> LockSet:
        """Names of what these events set."""
        return _names(target for event in self.events for target in event.changes)

    @property
    def names(self) -> str:
        return " and ".join(f"'{event.name}'" for event in self.events)

    def text(self) -> str:
        """The change, in words."""
        parts = [("locks", self.lock), ("unlocks", self.unlock)]
        many = len(self.events) > 1
        verbs = [(verb.removesuffix("s") if many else verb, us) for verb, us in parts]
        done = " and ".join(f"{verb} {', '.join(sorted(us))}" for verb, us in verbs if us)
        return f"event{'s' if many else ''} {self.names} {done}"

    def after(self, locked: LockSet) -> LockSet:
        """The locks afterwards."""
        return (locked | self.lock) - self.unlock

    def held(self, locked: LockSet) -> LockSet:
        """The speeds held while the impulse of the locks acts: those released at this instant, too, unless
        its speed is set.
        """
        return self.after(locked) | (locked - self.sets)


@dataclass(frozen=True)
class Transition:
    """One happening in one set of locks, and the sets during and after it."""

    before: LockSet
    happening: LockingEvent
    held: LockSet
    after: LockSet

    @property
    def impulse(self) -> bool:
        """Whether something is locked that was free."""
        return not self.after <= self.before


@dataclass(frozen=True)
class LockSets:
    """The sets that a run can reach, in the order in which they are found, with a reason each."""

    reasons: Mapping[LockSet, str]
    transitions: tuple[Transition, ...]

    @cached_property
    def of_impulses(self) -> frozenset[LockSet]:
        """Sets in which impulses act."""
        return frozenset(t.held for t in self.transitions if t.impulse)


def happenings(system: Description) -> list[LockingEvent]:
    """The events that may happen at one instant and lock or unlock, in the order of the description."""
    found: dict[tuple[Expr, int], list[EventRecord]] = {}
    for event in system.events.values():
        for direction in (event.direction,) if event.direction else (1, -1):
            found.setdefault((event.expression, direction), []).append(event)
    kept = [tuple(events) for events in found.values() if any(e.lock or e.unlock for e in events)]
    return [LockingEvent(events) for events in dict.fromkeys(kept) if not any(e.stop for e in events)]


def lock_sets(system: Description) -> LockSets:
    """All sets of locked speeds that events can lead to, nearest to the start first."""
    first = initial_configuration(system).locked
    reasons = {first: "as derived"}
    possible = [(h, _Crossing(system, h)) for h in happenings(system)]
    start: tuple[LockSet, frozenset[int]] = (first, frozenset())  # what is locked, and what has happened
    seen, queue = {start}, [start]
    transitions: dict[tuple[LockSet, LockingEvent], Transition] = {}
    for locked, past in queue:  # grows meanwhile
        for k, (happening, crossing) in enumerate(possible):
            if k in past or not crossing.possible(locked) or happening.lock & happening.unlock:
                continue
            found = Transition(locked, happening, happening.held(locked), happening.after(locked))
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
    """Whether an expression can pass zero, by what its rate depends on; unless it may jump, or depends on
    what has no rate here: memory, what events set, accelerations and reactions.
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
        """Whether it can with these speeds locked."""
        if self._rate is None:
            return True
        still = {s: zero for name in locked for s, zero in self._still[name].items()}
        return substitute(self._rate, still) is not ZERO


def _names(symbols_: Iterable[Expr]) -> LockSet:
    return frozenset(s.data.name for s in symbols_)


def in_words(locked: Sequence[str] | LockSet) -> str:
    """The locked speeds by their names."""
    return ", ".join(sorted(locked)) or "none"
