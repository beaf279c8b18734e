"""Impacts: velocities after several contacts have closed at once.

    M (u⁺ − u⁻) = Jᵀ P        γ⁺ = γ⁻ + A P        A = J M⁻¹ Jᵀ

Newton's law, with the coefficient of restitution e of each contact that is struck and 0 for those that are
closed:

    0 ≤ P_N ⟂ γ_N⁺ + e γ_N⁻ ≥ 0

Poisson's law: compression ends with velocities γᶜ, and gives back at least the share e of its impulses,

    0 ≤ P_Nᶜ ⟂ γ_Nᶜ ≥ 0        P_N = P_Nᶜ + e P_Nᶜ + x,    0 ≤ x ⟂ γ_N⁺ ≥ 0

Friction is Coulomb's law between impulses, |P_T| ≤ μ P_N, with γ_T = 0 where it sticks; Poisson's law has one
for each phase. Brakes have bounded forces and take no part.

Bounces that come faster and faster end after a finite time. A contact whose flights since the last impact
would all be over within ``settle``, were each e times as long as the one before, does not bounce any more:
then all contacts that touch come to rest, whatever their impulses.

Sources: Glocker & Pfeiffer (1996), chapter 8; Moreau (1988), Unilateral contact and dry friction in finite
freedom dynamics, for several contacts by Newton's law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, minus, plus, times, total
from armillary.mechanics.contact.complementarity import (
    BAD,
    CLOSED,
    OPEN,
    STICKS,
    ContactChoice,
    ContactStatus,
    ContactUnknown,
    Judge,
    StatusTriple,
    choose,
    chosen_statuses,
    solve_held,
)
from armillary.mechanics.contact.state import ContactState

TIE = 1e-10  # of the velocities before an impact: outcomes this close are equal
_BOTH_PHASES = tuple(ContactStatus(closed, slip) for closed in (True, False) for slip in (0, 1, -1))


@dataclass(frozen=True, eq=False)
class Impact:
    """The result of an impact: impulses by row, and whether each contact closes, sticks or slides."""

    happens: Scalar
    impulses: dict[int, Scalar]
    statuses: list[StatusTriple]
    failed: Scalar
    outcomes: Scalar
    still: Scalar  # velocities as small as this are none


@dataclass(frozen=True, eq=False)
class _Struck:
    """A contact in an impact."""

    contact: ContactState
    hit: Scalar  # whether it is struck now
    touches: Scalar  # whether it is closed or struck
    restitution: Scalar


def struck(contact: ContactState) -> fn.Operand:
    """Whether a contact that was open meets its surface."""
    near = contact.gap <= contact.touch
    fast = fn.select(contact.undecided, contact.closing < -contact.touch, contact.closing < 0)
    return fn.and_(fn.not_(contact.closed), fn.and_(near, fast))


def impact(A: Sequence[Sequence[Scalar]], contacts: Sequence[ContactState], time: Scalar, law: str) -> Impact:
    """The impact of the contacts that are struck now; ``contacts`` has no brakes."""
    hits = [fn.named(struck(c), "contact_hit") for c in contacts]
    happens = fn.named(reduce(fn.or_, hits), "contact_impact")
    soon = [fn.and_(hit, _settles(c, time)) for c, hit in zip(contacts, hits, strict=True)]
    calm = fn.named(reduce(fn.or_, soon), "contact_calm")
    parties = [
        _Struck(c, hit, fn.or_(hit, _rests(c)), fn.select(fn.and_(hit, fn.not_(calm)), c.restitution, 0))
        for c, hit in zip(contacts, hits, strict=True)
    ]
    rows = [row for c in contacts for row in (c.normal, c.slip) if row is not None]
    place = {row: k for k, row in enumerate(rows)}
    part = [[A[i][j] for j in rows] for i in rows]
    before: list[Scalar] = [0] * len(rows)
    for p in parties:
        c = p.contact
        before[place[c.normal_row]] = fn.select(p.hit, c.closing, 0)
        if c.slip is not None:
            moving = fn.or_(p.hit, c.slides)
            before[place[c.slip]] = fn.select(moving, c.sliding, 0)
    normals = [place[c.normal_row] for c in contacts]
    scale = fn.named(total([fn.absolute(x) for x in before]), "contact_speed")
    margins = {"tie": TIE, "margin": 10 * TIE}
    still = times(TIE, scale)
    worst = fn.named(times(1e-6, scale), "contact_admissible")
    if law == "newton":
        right = list(before)
        for p in parties:
            n = place[p.contact.normal_row]
            right[n] = fn.named(times(plus(1, p.restitution), before[n]), "contact_closing")
        unknowns = [_unknown(p.contact, place) for p in parties]
        judges = [_judge(p, part, place, before, normals, calm) for p in parties]
        first = choose(part, right, unknowns, judges, scale, **margins)
        chosen = chosen_statuses(first.number, unknowns)
        found = solve_held(part, right, unknowns, chosen)
        statuses = [
            (times(closed, fn.select(fn.equal(p.restitution, 0), 1, 0)), sticks, direction)
            for p, (closed, sticks, direction) in zip(parties, chosen, strict=True)
        ]
        return _made(happens, calm, rows, found, statuses, [first], worst, still)
    unknowns = [_unknown(p.contact, place) for p in parties]
    judges = [_judge(p, part, place, before, normals, calm) for p in parties]
    first = choose(part, before, unknowns, judges, scale, **margins)
    pressed = solve_held(part, before, unknowns, chosen_statuses(first.number, unknowns))
    given = list(pressed)
    second = []
    for p in parties:
        n = place[p.contact.normal_row]
        back = fn.named(times(p.restitution, pressed[n]), "contact_back")
        given[n] = plus(pressed[n], back)
        second.append(_unknown(p.contact, place, back))
    right = [
        fn.named(
            plus(before[i], total([times(part[i][j], given[j]) for j in range(len(rows))])), "contact_closing"
        )
        for i in range(len(rows))
    ]
    judges = [_judge(p, part, place, before, normals, calm, u) for p, u in zip(parties, second, strict=True)]
    last = choose(part, right, second, judges, scale, **margins)
    statuses = chosen_statuses(last.number, second)
    more = solve_held(part, right, second, statuses)
    found = [plus(a, b) for a, b in zip(given, more, strict=True)]
    return _made(happens, calm, rows, found, statuses, [first, last], worst, still)


def _made(
    happens: Scalar,
    calm: Scalar,
    rows: Sequence[int],
    found: Sequence[Scalar],
    statuses: list[StatusTriple],
    choices: Sequence[ContactChoice],
    worst: Scalar,
    still: Scalar,
) -> Impact:
    impulses: dict[int, Scalar] = {
        row: fn.named(fn.select(happens, x, 0), "contact_impulse") for row, x in zip(rows, found, strict=True)
    }
    wrong = reduce(fn.or_, [choice.badness > worst for choice in choices])
    failed = fn.and_(fn.and_(happens, fn.not_(calm)), wrong)
    outcomes = reduce(fn.maximum, [choice.outcomes for choice in choices])
    several = fn.select(fn.and_(happens, fn.not_(calm)), outcomes, 0)
    return Impact(happens, impulses, statuses, failed, several, still)


def _rests(contact: ContactState) -> fn.Operand:
    """Whether a contact is closed before the impact; at the start of a run, whether it touches."""
    still = fn.and_(contact.gap <= contact.touch, contact.closing <= contact.touch)
    return fn.or_(contact.pressed, fn.and_(contact.undecided, still))


def _settles(contact: ContactState, time: Scalar) -> Scalar:
    """Whether the flights that follow, each e (at least ½) times as long as the one before, are over soon."""
    flight = minus(time, contact.last)
    share = fn.maximum(contact.restitution, 0.5)
    return times(flight, share) <= times(contact.settle, minus(1, contact.restitution))


def _unknown(contact: ContactState, place: dict[int, int], offset: Scalar | None = None) -> ContactUnknown:
    """A contact in an impact; ``offset`` is what the restitution of Poisson's law gives anyway."""
    n = place[contact.normal_row]
    if contact.slip is None:
        return ContactUnknown(n, None, (CLOSED, OPEN))
    s, mu = place[contact.slip], contact.friction
    if offset is None:
        statuses = (STICKS, ContactStatus(True, 1), ContactStatus(True, -1), OPEN)
        return ContactUnknown(n, s, statuses, friction=mu)
    bound = fn.named(times(mu, offset), "contact_offset")
    return ContactUnknown(n, s, _BOTH_PHASES, friction=mu, capacity=bound)


def _judge(
    party: _Struck,
    part: Sequence[Sequence[Scalar]],
    place: dict[int, int],
    before: Sequence[Scalar],
    normals: Sequence[int],
    calm: Scalar,
    unknown: ContactUnknown | None = None,
) -> Judge:
    """A measure of inadmissible impulses and velocities of a contact; without touch any status is free."""
    c = party.contact
    n = place[c.normal_row]
    s = None if c.slip is None else place[c.slip]
    moving = 0 if s is None else before[s]
    speed = total([fn.absolute(before[k]) for k in normals])
    capacity = 0 if unknown is None else unknown.capacity
    fast: Scalar = -BAD
    slow: dict[int, Scalar] = {}
    if s is not None:
        # Among the last of many bounces friction stops what is slow, whatever the impulse of one of them.
        stopped = times(10.0, times(c.friction, times(part[s][s] / part[n][n], speed)))
        fast = minus(fn.absolute(moving), stopped)
        slow = {sign: minus(stopped, times(sign, moving)) for sign in (1, -1)}

    def judged(status: ContactStatus, push: Scalar, slip: Scalar) -> list[Scalar]:
        if status.closed:
            found = [fn.select(party.touches, -BAD, BAD)]
            found.append(fn.select(calm, -BAD, times(-1, times(push, part[n][n]))))
            limit = plus(times(c.friction, push), capacity)
        else:
            apart = fn.select(calm, BAD, times(-1, push))
            found = [fn.select(party.touches, apart, -BAD)]
            limit = capacity
        if s is None or status.slip is None:
            return found
        if status.slip == 0:
            bad = fn.select(calm, fast, times(minus(fn.absolute(slip), limit), part[s][s]))
        else:
            bad = fn.select(calm, slow[status.slip], times(-status.slip, slip))
        return [*found, fn.select(party.touches, bad, -BAD if status.slip == 1 else BAD)]

    return judged
