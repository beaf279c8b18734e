"""Statuses of all contacts after an event, and what the event makes of velocities.

An event of a contact is the end of its status: it opens, is struck, begins to slide or comes to rest. The
impact, if there is one, changes the velocities; then the problem of accelerations is solved again for all
contacts that touch. A status that has just ended is not chosen again: where it ends, it and its successor
agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, plus, times, total
from armillary.mechanics.contact.complementarity import (
    BAD,
    ContactStatus,
    Judge,
    StatusTriple,
    choose,
    chosen_statuses,
    divide,
)
from armillary.mechanics.contact.impact import Impact, impact, struck
from armillary.mechanics.contact.state import NONE, ContactState

_TIE = 1e-9  # of the accelerations without contact forces: outcomes that hold by this are beyond doubt
_ADMISSIBLE = 1e-4  # of the same: how bad an outcome may be; redundant contacts agree to about 1e-6
# A status that has just ended is a last resort: among redundant contacts it may have to go on.
_LAST_RESORT = 1e-5
FORCES, IMPULSES = 1, 2  # values of ``failed``: no admissible forces, no admissible impulses


@dataclass(frozen=True, eq=False)
class After:
    """A contact after the impact, where there was one."""

    touches: Scalar
    rests: Scalar
    direction: Scalar
    opens: Scalar  # its normal has just let go
    slips: Scalar  # its sticking has just ended
    turns: Scalar  # its slide has just ended


@dataclass(frozen=True, eq=False)
class Change:
    """Statuses by contact and times of impacts, impulses by row, and what is to be said about them."""

    statuses: list[Scalar]
    last: list[Scalar]
    impulses: dict[int, Scalar]
    failed: Scalar
    ambiguous: Scalar


# Relative accelerations by row, and velocities of slip by contact, once impulses have changed the speeds.
Moved = Callable[[dict[int, Scalar]], tuple[Sequence[Scalar], Sequence[Scalar]]]


def change(
    A: Sequence[Sequence[Scalar]],
    contacts: Sequence[ContactState],
    forces: Sequence[Scalar],
    time: Scalar,
    law: str,
    moved: Moved,
) -> Change:
    """The statuses after an event, from the forces before it."""
    one_sided = [c for c in contacts if not c.is_brake]
    blow = impact(A, one_sided, time, law) if one_sided else Impact(0, {}, [], 0, 0, 0)
    b, sliding = moved(blow.impulses)
    statuses = iter(blow.statuses)
    after = []
    for c, slip in zip(contacts, sliding, strict=True):
        kept = _kept(c, A, b, forces)
        if c.is_brake:
            assert c.slip is not None
            jump = total([times(A[c.slip][j], P) for j, P in blow.impulses.items()])
            after.append(_brake_after(kept, blow.happens, jump, slip))
        else:
            after.append(_contact_after(kept, blow, slip, *next(statuses)))
    unknowns = [c.unknown() for c in contacts]
    scale = fn.named(total([fn.absolute(x) for x in b]), "contact_scale")
    judges = [_judge(c, a, A, scale) for c, a in zip(contacts, after, strict=True)]
    found = choose(A, b, unknowns, judges, scale, margin=_TIE)
    codes = [
        _code(c, *status) for c, status in zip(contacts, chosen_statuses(found.number, unknowns), strict=True)
    ]
    wrong = found.badness > plus(times(_ADMISSIBLE, scale), NONE)
    failed = fn.select(blow.failed, IMPULSES, fn.select(wrong, FORCES, 0))
    ambiguous = fn.or_(found.outcomes > 1, blow.outcomes > 1)
    last = [c.last if c.is_brake else fn.select(struck(c), time, c.last) for c in contacts]
    return Change(codes, last, blow.impulses, fn.named(failed, "contact_failed"), ambiguous)


def _kept(
    c: ContactState, A: Sequence[Sequence[Scalar]], b: Sequence[Scalar], forces: Sequence[Scalar]
) -> After:
    """A contact whose velocities have not changed."""
    n, s = c.normal, c.slip
    opens: Scalar = 0
    touches: Scalar = 1
    push: Scalar = 0
    if n is not None:
        push = forces[n]
        opens = c.opens(push, divide(b[n], A[n][n]))
        near = fn.and_(c.gap <= c.touch, c.closing <= c.touch)
        touches = fn.or_(c.closed, fn.and_(c.undecided, near))
    if s is None:
        return After(touches, 1, 0, opens, 0, 0)
    turns = c.turns(plus(b[s], total([times(x, force) for x, force in zip(A[s], forces, strict=True)])))
    fresh = fn.or_(c.undecided, c.open) if c.is_brake else c.undecided
    rests = fn.or_(fn.or_(c.sticks, turns), fn.and_(fresh, fn.absolute(c.sliding) <= c.touch))
    direction = fn.select(fresh, fn.sign(c.sliding), times(0.5, c.status))
    return After(touches, rests, direction, opens, c.slips(push, forces[s]), turns)


def _contact_after(
    kept: After, blow: Impact, slip: Scalar, closed: Scalar, sticks: Scalar, direction: Scalar
) -> After:
    """A contact after an impact, by its statuses there, or as it was.

    One of several that stop each other may reach its limit of friction and stand still all the same.
    """
    happens = blow.happens
    quiet = fn.not_(happens)
    sticks = fn.or_(sticks, fn.absolute(slip) <= blow.still)
    return After(
        fn.named(fn.select(happens, closed, kept.touches), "contact_touches"),
        fn.named(fn.select(happens, sticks, kept.rests), "contact_rests"),
        fn.named(fn.select(happens, direction, kept.direction), "contact_direction"),
        fn.and_(quiet, kept.opens),
        fn.and_(quiet, kept.slips),
        fn.and_(quiet, kept.turns),
    )


def _brake_after(kept: After, happens: Scalar, jump: Scalar, slip: Scalar) -> After:
    """A brake after an impact: it slides where its speed has jumped."""
    moved = fn.and_(happens, fn.not_equal(jump, 0))
    still = fn.not_(moved)
    return After(
        1,
        fn.named(fn.select(moved, fn.equal(slip, 0), kept.rests), "contact_rests"),
        fn.named(fn.select(moved, fn.sign(slip), kept.direction), "contact_direction"),
        0,
        fn.and_(still, kept.slips),
        fn.and_(still, kept.turns),
    )


def _judge(c: ContactState, a: After, A: Sequence[Sequence[Scalar]], scale: Scalar) -> Judge:
    """A measure of inadmissible forces and accelerations of a contact, after an event."""
    ended = fn.named(times(_LAST_RESORT, scale), "contact_ended")

    def judged(status: ContactStatus, push: Scalar, slip: Scalar) -> list[Scalar]:
        found = []
        if not c.is_brake:
            n = c.normal
            assert n is not None
            if not status.closed:
                return [fn.select(a.touches, fn.select(a.opens, -BAD, times(-1, push)), -BAD)]
            found += [
                fn.select(fn.and_(a.touches, fn.not_(a.opens)), -BAD, BAD),
                times(-1, times(push, A[n][n])),
            ]
        if c.slip is None or status.slip is None:
            return found
        size = A[c.slip][c.slip]
        if status.slip == 0:
            may = fn.and_(a.rests, c.held > NONE) if c.is_brake else a.rests
            excess = times(fn.absolute(slip) - c.limit(push, held=True), size)
            excess = fn.select(a.slips, fn.maximum(excess, ended), excess)
            return [*found, fn.select(may, excess, BAD)]
        onwards = fn.equal(a.direction, status.slip)
        begins = times(-status.slip, slip)
        begins = fn.select(fn.and_(a.turns, onwards), fn.maximum(begins, ended), begins)
        if c.hysteresis:  # where sticking is possible too it goes first, which is no doubt
            begins = fn.maximum(begins, 0)
        return [*found, fn.select(a.rests, begins, fn.select(onwards, -BAD, BAD))]

    return judged


def _code(c: ContactState, closed: Scalar, sticks: Scalar, direction: Scalar) -> fn.Operand:
    """The status in numbers; see ``state.py``."""
    if c.is_brake:
        sliding = fn.select(c.friction > NONE, times(2, direction), 0)
        return fn.select(sticks, 1, sliding)
    if c.slip is None:
        return closed
    return fn.select(closed, fn.select(sticks, 1, times(2, direction)), 0)


def speeds_of_rows(contacts: Sequence[ContactState]) -> list[Scalar]:
    """Velocities by row: of gaps and slips."""
    found: dict[int, Scalar] = {}
    for c in contacts:
        found |= {c.normal: c.closing} if c.normal is not None else {}
        found |= {c.slip: c.sliding} if c.slip is not None else {}
    return [found[row] for row in range(len(found))]


def held_statuses(contacts: Sequence[ContactState], codes: Sequence[Scalar]) -> list[StatusTriple]:
    """(closed, sticks, 0) of statuses in numbers: where velocities are held at zero.

    Several contacts that come to rest at once do so within the tolerance of the method; what is left of their
    velocities is taken away.
    """
    found: list[StatusTriple] = []
    for c, code in zip(contacts, codes, strict=True):
        closed = 0 if c.is_brake else fn.select(fn.equal(code, 0), 0, 1)
        found.append((closed, 0 if c.slip is None else fn.select(fn.equal(code, 1), 1, 0), 0))
    return found
