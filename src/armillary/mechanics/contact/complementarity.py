"""Complementarity problems of a few contacts, solved by enumeration of their statuses.

    z = A λ + b

λ are forces and z relative accelerations, or impulses and velocities. A contact has a row of its normal, with

    0 ≤ λ_N ⟂ z_N ≥ 0

and one of its slip, where it has friction, with the limit L = μ λ_N + c:

    sticks      z_T = 0, |λ_T| ≤ L
    slides      λ_T = −σ L, σ z_T ≥ 0          σ = ±1

A brake has a row of slip alone, with L = c. A combination of statuses makes the problem linear; it is an
outcome where its inequalities hold. Combinations share what they have in common: statuses are put in contact
by contact, each by a principal pivot.

A is a matrix J M⁻¹ Jᵀ, so its diagonal turns forces into accelerations: all inequalities are measured in
those. An outcome is as bad as its worst inequality; the best one is taken, the first of equals in the order
sticks, slides, open.

Sources: Glocker & Pfeiffer (1996), Multibody dynamics with unilateral contacts, chapters 6 to 8; Cottle, Pang
& Stone (1992), The linear complementarity problem, section 2.3, for principal pivots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, is_zero, minus, plus, times, total

BAD = 1e30  # of a status that cannot be
_SINGULAR = 1e-13  # a pivot of this share of its diagonal element is none
# Share of the diagonal that is added to it where there are several rows: contacts may be redundant, as both
# corners of a block that stick. What it spoils is mended by solutions with what remains.
SOFT = 1e-7
_REFINED = 2
_OVERDETERMINED = (
    1e-2  # what SOFT may spoil, as a share of the scale: more where held rows contradict each other
)


@dataclass(frozen=True)
class ContactStatus:
    """Whether the normal is closed, and what the slip does: 0 sticks, ±1 slides, None has no force."""

    closed: bool
    slip: int | None = None


OPEN, CLOSED = ContactStatus(False), ContactStatus(True)
STICKS, FORWARD, BACKWARD = ContactStatus(True, 0), ContactStatus(True, 1), ContactStatus(True, -1)


@dataclass(frozen=True, eq=False)
class ContactUnknown:
    """A contact or brake in one problem: its rows, its limit of friction and its statuses."""

    normal: int | None
    slip: int | None
    statuses: tuple[ContactStatus, ...]
    friction: Scalar = 0  # μ while sliding
    capacity: Scalar = 0  # c while sliding


def divide(a: Scalar, b: Scalar) -> Scalar:
    """a/b, zero where a is known to be."""
    return 0 if is_zero(a) else a / b


StatusTriple = tuple[Scalar, Scalar, Scalar]  # closed, sticks, direction of the slide: 0, 1 and −1
Rows = list[dict[int, Scalar]]
# How bad the values of the normal and the slip are in a status: numbers that must not be positive.
Judge = Callable[[ContactStatus, Any, Any], list[Scalar]]  # of the forces, None where there is no row


@dataclass(frozen=True, eq=False)
class ContactChoice:
    """The best combination of statuses: its number, how bad it is, and how many are good beyond doubt."""

    number: Scalar
    badness: Scalar
    outcomes: Scalar


def combinations(unknowns: Sequence[ContactUnknown]) -> int:
    """The number of combinations of statuses."""
    count = 1
    for unknown in unknowns:
        count *= len(unknown.statuses)
    return count


def choose(
    A: Sequence[Sequence[Scalar]],
    b: Sequence[Scalar],
    unknowns: Sequence[ContactUnknown],
    judges: Sequence[Judge],
    scale: Scalar,
    *,
    tie: float = 0.0,
    margin: float = 0.0,
) -> ContactChoice:
    """The best combination. ``tie`` and ``margin`` are shares of ``scale``, the size of what enters:
    combinations no worse than the first are equal, and one whose inequalities all hold by the second is an
    outcome beyond doubt. Rows that are held and contradict each other have forces without bounds, which are
    refused.
    """
    number: Scalar = 0
    best: Scalar = BAD
    outcomes: Scalar = 0
    equal, sure = (fn.named(times(share, scale), "contact_share") for share in (tie, -margin))
    most = times(_OVERDETERMINED / SOFT, scale)
    for k, (statuses, values, pivots) in enumerate(_solutions(A, b, unknowns)):
        worst: Scalar = -BAD
        for unknown, status, judge in zip(unknowns, statuses, judges, strict=True):
            given: list[Scalar | None] = [
                None if row is None else values[row] for row in (unknown.normal, unknown.slip)
            ]
            for bad in judge(status, *given):
                worst = fn.maximum(worst, bad)
            for row, held in ((unknown.normal, status.closed), (unknown.slip, status.slip == 0)):
                if row is not None and held and len(b) > 1:
                    worst = fn.maximum(worst, minus(fn.absolute(times(values[row], A[row][row])), most))
        for pivot, size in pivots:
            worst = fn.select(fn.absolute(pivot) > _SINGULAR * size, worst, BAD)
        worst = fn.named(worst, "contact_worst")
        bad = fn.maximum(worst, equal)
        better = bad < best
        number, best = fn.select(better, k, number), fn.named(fn.select(better, bad, best), "contact_best")
        outcomes = plus(outcomes, fn.select(worst < sure, 1, 0))
    return ContactChoice(fn.named(number, "contact_choice"), best, outcomes)


def chosen_statuses(number: Scalar, unknowns: Sequence[ContactUnknown]) -> list[StatusTriple]:
    """(closed, sticks, direction of the slide) of each unknown in a combination, as 0, 1 and −1."""
    found: list[StatusTriple] = []
    stride = combinations(unknowns)
    for unknown in unknowns:
        stride //= len(unknown.statuses)
        digit = fn.named(fn.mod(fn.floor(divide(number, stride)), len(unknown.statuses)), "contact_digit")
        closed: Scalar = 0
        sticks: Scalar = 0
        direction: Scalar = 0
        for k, status in enumerate(unknown.statuses):
            here = fn.select(fn.equal(digit, k), 1, 0)
            closed = plus(closed, here) if status.closed else closed
            sticks = plus(sticks, here) if status.slip == 0 else sticks
            direction = plus(direction, times(here, status.slip)) if status.slip else direction
        found.append((closed, sticks, direction))
    return found


def _solutions(
    A: Sequence[Sequence[Scalar]], b: Sequence[Scalar], unknowns: Sequence[ContactUnknown]
) -> Iterator[tuple[tuple[ContactStatus, ...], list[Scalar], list[tuple[Scalar, Scalar]]]]:
    """(statuses, values, pivots) of all combinations: of each row λ where it is held at z = 0, else z."""
    sizes = [A[i][i] for i in range(len(b))]
    more = 1.0 + SOFT if len(b) > 1 else 1.0
    rows: Rows = [
        {j: times(more, x) if i == j else x for j, x in enumerate(row) if not is_zero(x)}
        for i, row in enumerate(A)
    ]
    states: dict[tuple[ContactStatus, ...], tuple[Rows, list[Scalar], list[tuple[Scalar, Scalar]]]] = {
        (): (rows, list(b), [])
    }
    for unknown in unknowns:
        states = {
            (*before, status): _with_status(*state, unknown, status, sizes)
            for before, state in states.items()
            for status in unknown.statuses
        }
    for statuses in product(*(unknown.statuses for unknown in unknowns)):
        _, values, pivots = states[statuses]
        yield statuses, values, pivots


def _with_status(
    rows: Rows,
    rest: list[Scalar],
    pivots: list[tuple[Scalar, Scalar]],
    unknown: ContactUnknown,
    status: ContactStatus,
    sizes: list[Scalar],
) -> tuple[Rows, list[Scalar], list[tuple[Scalar, Scalar]]]:
    """The problem with one contact in a status: without its columns."""
    n, s = unknown.normal, unknown.slip
    if s is not None:
        if status.slip == 0:
            pivots = [*pivots, (rows[s].get(s, 0), sizes[s])]
            rows, rest = _held(rows, rest, s)
        else:
            rows, rest = _sliding(rows, rest, s, n if status.closed else None, status.slip or 0, unknown)
    if n is not None:
        if status.closed:
            pivots = [*pivots, (rows[n].get(n, 0), sizes[n])]
            rows, rest = _held(rows, rest, n)
        else:
            rows = [{j: x for j, x in row.items() if j != n} for row in rows]
    return rows, rest, pivots


def _held(rows: Rows, rest: list[Scalar], i: int) -> tuple[Rows, list[Scalar]]:
    """λ_i from z_i = 0, put into all rows; row i gives λ_i from now on."""
    pivot = rows[i].get(i, 0)
    back = {j: fn.named(times(-1, divide(x, pivot)), "contact_row") for j, x in rows[i].items() if j != i}
    own = fn.named(times(-1, divide(rest[i], pivot)), "contact_rest")
    made_rows, made_rest = [], []
    for k, (row, constant) in enumerate(zip(rows, rest, strict=True)):
        if k == i:
            made_rows.append(back)
            made_rest.append(own)
            continue
        factor = row.get(i, 0)
        new = {j: x for j, x in row.items() if j != i}
        if not is_zero(factor):
            for j, x in back.items():
                new[j] = fn.named(plus(new.get(j, 0), times(factor, x)), "contact_row")
            constant = fn.named(plus(constant, times(factor, own)), "contact_rest")
        made_rows.append(new)
        made_rest.append(constant)
    return made_rows, made_rest


def _sliding(
    rows: Rows, rest: list[Scalar], s: int, n: int | None, direction: int, unknown: ContactUnknown
) -> tuple[Rows, list[Scalar]]:
    """λ_s = −σ (μ λ_n + c) put into all rows."""
    made_rows, made_rest = [], []
    for row, constant in zip(rows, rest, strict=True):
        factor = times(-direction, row.get(s, 0))
        new = {j: x for j, x in row.items() if j != s}
        if not is_zero(factor):
            constant = fn.named(plus(constant, times(factor, unknown.capacity)), "contact_rest")
            if n is not None:
                new[n] = fn.named(plus(new.get(n, 0), times(factor, unknown.friction)), "contact_row")
        made_rows.append(new)
        made_rest.append(constant)
    return made_rows, made_rest


def solve_held(
    A: Sequence[Sequence[Scalar]],
    b: Sequence[Scalar],
    unknowns: Sequence[ContactUnknown],
    statuses: Sequence[StatusTriple],
) -> list[Scalar]:
    """λ in statuses that are known only when it runs, each (closed, sticks, direction) as 0, 1 and −1.

        closed z_N + (1 − closed) λ_N = 0
        sticks z_T + (1 − sticks) (λ_T + σ (μ λ_N + c)) = 0

    Slips are eliminated first: their pivots are 1 or those of a positive definite matrix. Where contacts are
    redundant, so that forces are not determined, these are nearly the smallest: A + SOFT·diag A takes the
    place of A, and solutions for what remains are added.
    """
    size = len(b)
    more = SOFT if size > 1 else 0.0
    matrix: Rows = [{} for _ in range(size)]
    right: list[Scalar] = [0] * size
    order: list[int] = []
    for unknown, (closed, sticks, direction) in zip(unknowns, statuses, strict=True):
        n, s = unknown.normal, unknown.slip
        if s is not None:
            free = minus(1, sticks)
            for j in range(size):
                matrix[s][j] = times(sticks, A[s][j])
            matrix[s][s] = plus(matrix[s][s], free)
            slides = fn.named(times(free, direction), "contact_slides")
            right[s] = plus(times(sticks, b[s]), times(slides, unknown.capacity))
            if n is not None:
                matrix[s][n] = plus(matrix[s][n], times(slides, unknown.friction))
            order.append(s)
        if n is not None:
            for j in range(size):
                matrix[n][j] = times(closed, A[n][j])
            matrix[n][n] = plus(matrix[n][n], minus(1, closed))
            right[n] = times(closed, b[n])
    order += [u.normal for u in unknowns if u.normal is not None]
    soft = [dict(row) for row in matrix]
    for unknown, (closed, sticks, _) in zip(unknowns, statuses, strict=True):
        for i, held in ((unknown.normal, closed), (unknown.slip, sticks)):
            if i is not None:
                soft[i][i] = plus(soft[i][i], times(more, times(held, A[i][i])))
    solve = _elimination(soft, order)
    found = solve(right)
    for _ in range(_REFINED if more else 0):
        rest = [
            plus(right[i], total([times(x, found[j]) for j, x in matrix[i].items()])) for i in range(size)
        ]
        found = [fn.named(plus(x, y), "contact_force") for x, y in zip(found, solve(rest), strict=True)]
    return found


def _elimination(matrix: Rows, order: Sequence[int]) -> Callable[[list[Scalar]], list[Scalar]]:
    """The solution of matrix · λ + right = 0 as a function of the right side, with pivots in this order."""
    matrix = [{j: fn.named(x, "contact_held") for j, x in row.items() if not is_zero(x)} for row in matrix]
    factors: dict[tuple[int, int], Scalar] = {}
    for place, i in enumerate(order):
        for k in order[place + 1 :]:
            if is_zero(matrix[k].get(i, 0)):
                continue
            factor = factors[k, i] = fn.named(divide(matrix[k][i], matrix[i][i]), "contact_factor")
            for j in order[place + 1 :]:
                if not is_zero(matrix[i].get(j, 0)):
                    less = times(factor, matrix[i][j])
                    matrix[k][j] = fn.named(minus(matrix[k].get(j, 0), less), "contact_held")

    def solve(right: list[Scalar]) -> list[Scalar]:
        rest = [fn.named(x, "contact_free") for x in right]
        for (k, i), factor in factors.items():
            rest[k] = fn.named(minus(rest[k], times(factor, rest[i])), "contact_free")
        found: dict[int, Scalar] = {}
        for place in reversed(range(len(order))):
            i = order[place]
            value = plus(rest[i], total([times(matrix[i].get(j, 0), found[j]) for j in order[place + 1 :]]))
            found[i] = fn.named(times(-1, divide(value, matrix[i][i])), "contact_force")
        return [found[i] for i in range(len(right))]

    return solve
