"""Contacts without compliance in the equations: one set of equations for all of their statuses.

Loads hold the forces λ of contacts as symbols, so the derived accelerations are u̇(λ) = u̇₀ + D λ, with D =
∂u̇/∂λ = M⁻¹ Jᵀ in every formalism and under constraints too. The relative accelerations of the contacts are

    z = A λ + b        A = J D        b = J u̇₀ + J̇ u

λ follows from them and the statuses, which are memories of the run (``mechanics/contact``). So nothing is
derived for each combination of statuses; what an event makes of speeds and statuses are expressions as those
of any other event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.derivatives.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.vectors.scalars import Scalar, plus, times, total
from armillary.algebra.walk import Undimensioned, transform
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.contact.change import change, held_statuses, speeds_of_rows
from armillary.mechanics.contact.complementarity import combinations, solve_held
from armillary.mechanics.contact.state import RETURN, ContactState
from armillary.model.description import Description
from armillary.model.recording.records import AMBIGUOUS, FAILED, EventRecord, RigidContact

MOST = 1024  # combinations of statuses


@dataclass(frozen=True, eq=False)
class ContactTargets:
    """Rates of all speeds, forces by their symbols, events with their functions, and what events change."""

    rates: dict[int, Scalar]
    forces: dict[Expr, Expr]
    events: tuple[EventRecord, ...]
    guards: tuple[Expr, ...]
    changes: dict[Expr, Expr]
    statuses: tuple[Expr, ...]


def contact_targets(
    system: Description, rates: Mapping[int, Scalar], reduction: Reduction
) -> ContactTargets | None:
    """The contacts of a system whose speeds have these rates; None where it has none."""
    if not system.contacts:
        return None
    plain = reduction.plain
    contacts = list(system.contacts.values())
    symbols: list[Expr] = []
    relative: list[tuple[Expr, Scalar]] = []  # accelerations, and what makes drift go away
    states: list[ContactState] = []
    for c in contacts:
        normal = slip = None
        if c.push is not None:
            normal = _row(symbols, relative, plain, c.push, c.closing_rate, c.closing, c.gap)
        if c.drag is not None:
            slip = _row(symbols, relative, plain, c.drag, c.sliding_rate, c.sliding, None)
        states.append(_state(c, plain, normal, slip))
    _check_count(system, states)

    speeds = list(rates)
    given = [as_expr(rates[i]) for i in speeds]
    free = transform(given, dict.fromkeys(symbols, ZERO).get)
    columns = [
        [fn.named(x, "contact_column") for x in directional_derivatives(given, {s: UNIT})] for s in symbols
    ]
    unknown = [plain(system.accelerations[system.speeds[i]]) for i in speeds]
    loose = dict(zip(unknown, free, strict=True))
    b = [fn.named(x, "contact_acceleration") for x in transform([a for a, _ in relative], loose.get)]
    lines = [_factors(a, unknown) for a, _ in relative]
    A = [
        [
            fn.named(as_expr(total([times(f, column[r]) for r, f in line])), "contact_delassus")
            for column in columns
        ]
        for line in lines
    ]
    unknowns = [state.unknown() for state in states]
    holding = [state.holding() for state in states]
    settled = [
        fn.named(as_expr(plus(x, drift)), "contact_free") for x, (_, drift) in zip(b, relative, strict=True)
    ]
    found = [as_expr(x) for x in solve_held(A, settled, unknowns, holding)]
    with_forces = {
        i: plus(free[k], total([times(column[k], x) for column, x in zip(columns, found, strict=True)]))
        for k, i in enumerate(speeds)
    }

    place = {i: k for k, i in enumerate(speeds)}
    independent = [(plain(u), place[system.speeds.index(u)]) for u in reduction.independent(system)]

    def moved(impulses: Mapping[int, Scalar]) -> tuple[list[Expr], list[Expr]]:
        new = {u: as_expr(_kicked(u, k, columns, impulses)) for u, k in independent}
        kept = {u: x for u, x in new.items() if x is not u}
        slips = [as_expr(state.sliding) for state in states]
        after = transform([*b, *slips], kept.get) if kept else [*b, *slips]
        return after[: len(b)], after[len(b) :]

    laws = {c.law for c in contacts if c.push is not None}
    made = change(A, states, found, plain(system.time), next(iter(laws), "newton"), moved)
    spoiled = fn.sqrt(times(-1, as_expr(made.failed)))  # not a number where no outcome is admissible
    hit = {u: as_expr(_kicked(u, k, columns, made.impulses)) for u, k in independent}
    rest = solve_held(
        A,
        transform(map(as_expr, speeds_of_rows(states)), hit.get),
        unknowns,
        held_statuses(states, made.statuses),
    )
    changes: dict[Expr, Expr] = {}
    for u, k in independent:
        settled_speed = plus(hit[u], total([times(columns[row][k], P) for row, P in enumerate(rest)]))
        changes[u] = as_expr(plus(settled_speed, spoiled))
    for state, status, last in zip(states, made.statuses, made.last, strict=True):
        changes[state.status] = as_expr(fn.select(made.failed, state.status, status))
        if not state.is_brake:
            changes[state.last] = as_expr(last)
    failed, ambiguous = (plain(system.memories[name].symbol) for name in (FAILED, AMBIGUOUS))
    changes[failed] = as_expr(fn.maximum(failed, made.failed))
    changes[ambiguous] = as_expr(plus(ambiguous, fn.select(made.ambiguous, 1, 0)))
    events, guards = _events(states, found)
    statuses = tuple(state.status for state in states)
    return ContactTargets(
        with_forces, dict(zip(symbols, found, strict=True)), events, guards, changes, statuses
    )


def decision_event(system: Description) -> str:
    """An event of contacts: all of them decide about all contacts."""
    first = next(iter(system.contacts.values()))
    return f"{first.name}_grip" if first.gap is None else f"{first.name}_touch"


def _row(
    symbols: list[Expr],
    relative: list[tuple[Expr, Scalar]],
    plain: Undimensioned,
    force: Expr,
    rate: Expr | None,
    speed: Expr | None,
    gap: Expr | None,
) -> int:
    """A further row, and its number."""
    assert rate is not None and speed is not None  # a force that does work on a velocity
    symbols.append(plain(force))
    drift = times(2 * RETURN if gap is not None else RETURN, plain(speed))
    relative.append((plain(rate), drift if gap is None else plus(drift, times(RETURN**2, plain(gap)))))
    return len(symbols) - 1


def _state(c: RigidContact, plain: Undimensioned, normal: int | None, slip: int | None) -> ContactState:
    """A contact without dimensions."""
    read = {
        "gap": c.gap, "closing": c.closing, "sliding": c.sliding, "friction": c.friction, "held": c.held,
        "restitution": c.restitution, "last": c.last,
    }  # fmt: skip
    return ContactState(
        c.name, normal, slip, plain(c.status), touch=c.touch, settle=c.settle,
        hysteresis=c.held is not c.friction,
        **{name: fn.named(plain(x), f"{c.name}_{name}") for name, x in read.items() if x is not None},
    )  # fmt: skip


def _factors(acceleration: Expr, unknown: list[Expr]) -> list[tuple[int, Expr]]:
    """A line of J: the factors of the rates of speeds in a relative acceleration, by place."""
    found = [directional_derivatives([acceleration], {a: UNIT})[0] for a in unknown]
    return [(r, f) for r, f in enumerate(found) if f is not ZERO]


def _kicked(u: Expr, place: int, columns: list[list[Expr]], impulses: Mapping[int, Scalar]) -> Scalar:
    """A speed after impulses."""
    return plus(u, total([times(columns[row][place], P) for row, P in impulses.items()]))


def _check_count(system: Description, states: list[ContactState]) -> None:
    count = combinations([state.unknown() for state in states])
    if count > MOST:
        names = ", ".join(f"'{state.name}'" for state in states)
        raise ModelError(
            f"the {len(states)} contacts and brakes of '{system.name}' ({names}) have {count} combinations "
            f"of open, sticking and sliding; at most {MOST} are enumerated. Give some of them a stiffness="
            ", leave out friction where it does not matter, or split the system"
        )


def _events(
    states: list[ContactState], forces: list[Expr]
) -> tuple[tuple[EventRecord, ...], tuple[Expr, ...]]:
    """The events that end the statuses: ``name_touch`` and ``name_grip``."""
    events, guards = [], []
    for state in states:
        push = 0 if state.normal is None else forces[state.normal]
        if state.normal is not None:
            about = f"{state.name} closes or opens"
            guards.append(as_expr(state.normal_guard(push)))
            events.append(EventRecord(f"{state.name}_touch", guards[-1], -1, {}, False, about))
        if state.slip is not None:
            about = f"{state.name} begins to stick or to slide"
            guards.append(as_expr(state.slip_guard(push, forces[state.slip])))
            events.append(EventRecord(f"{state.name}_grip", guards[-1], -1, {}, False, about))
    return tuple(events), tuple(guards)
