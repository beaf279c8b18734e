"""The removal of the drift of closed contacts after each step, in the same way as for closed loops.

Let Φ be the gaps and γ the velocities of the rows that hold. Then N D λ with A λ = −Φ is added to q, and D λ
with A λ = −γ to u, where q̇ = N u, and A and D are those of contact_targets.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.algebra import functions as fn
from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, plus, times, total
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.contact.decision import ContactRows, Loads, row_changes
from armillary.mechanics.contact.state import (
    DRIFT,
    LOST,
    SUNK,
    ContactState,
)
from armillary.model.description import (
    Description,
)

FARTHER = 100.0  # longest shift that protects other contacts, relative to the shift that only removes drift


def remove_drift(
    system: Description,
    reduction: Reduction,
    rows: ContactRows,
    states: Sequence[ContactState],
    velocities: Sequence[Expr],
    change: Callable[[int, Loads], Scalar],
    speeds: Sequence[int],
    independent: Sequence[tuple[Expr, int]],
) -> dict[Expr, Expr]:
    """Return the coordinates and independent speeds after the removal of the drift of closed contacts."""
    plain = reduction.plain
    gaps: list[Scalar] = [0] * len(velocities)
    on_gap: list[Scalar] = [0] * len(velocities)
    on_speed: list[Scalar] = [0] * len(velocities)
    far: Scalar = 0  # whether a gap has drifted by more than rounding errors
    fast: Scalar = 0  # whether a velocity has drifted by more than rounding errors
    for state in states:
        if state.normal is not None:
            far = fn.or_(far, fn.and_(state.closed, fn.absolute(state.gap) > times(DRIFT, state.length)))
            moves = fn.absolute(velocities[state.normal]) > state.drift
            fast = fn.or_(fast, fn.and_(state.closed, moves))
        for row in state.slip:
            fast = fn.or_(fast, fn.and_(state.sticks, fn.absolute(velocities[row]) > state.drift))
    far, fast = fn.rarely(far, "contact_far"), fn.rarely(fast, "contact_fast")
    for state in states:
        if state.normal is not None:
            gaps[state.normal] = state.gap
            near = fn.absolute(state.gap) <= times(LOST, state.length)
            on_gap[state.normal] = fn.select(fn.and_(state.closed, near), 1, 0)
            on_speed[state.normal] = on_gap[state.normal]
        for row in state.slip:
            on_speed[row] = fn.select(state.sticks, 1, 0)
    corrected: dict[Expr, Expr] = {}
    if any(state.normal is not None for state in states):
        shift = rows.hold(gaps, on_gap, far)
        shift = _keep_others_above(rows, states, gaps, on_gap, shift, far)
        shifts = {plain(system.speeds[i]): as_expr(change(k, shift)) for k, i in enumerate(speeds)}
        coordinates = reduction.coordinates(system)
        ways = directional_derivatives([plain(system.rates[q]) for q in coordinates], shifts)
        corrected |= {
            plain(q): as_expr(plus(plain(q), way))
            for q, way in zip(coordinates, ways, strict=True)
            if way is not ZERO
        }
    left = rows.hold(velocities, on_speed, fast)
    corrected |= {u: as_expr(plus(u, change(k, left))) for u, k in independent}
    return {s: x for s, x in corrected.items() if s is not x}


def _keep_others_above(
    rows: ContactRows,
    states: Sequence[ContactState],
    gaps: Sequence[Scalar],
    held: Sequence[Scalar],
    shift: Loads,
    far: fn.Operand,
) -> Loads:
    """Return a shift of closed contacts onto their surfaces that moves no open contact below its surface.

    A contact may close at a height of up to TOUCH above its surface; levers may magnify this height a
    thousandfold at other contacts. An open contact that is already below its surface is about to close, and
    stays where it is. If nearly dependent rows would make the shift more than FARTHER times as long, the
    shift is zero. Contacts without drift (`far` is false) are not shifted.
    """
    ways = row_changes(rows, shift.changes)
    with_others, wanted = list(held), list(gaps)
    some: Scalar = 0
    for state in states:
        if state.normal is not None:
            way = ways[state.normal]
            spare = plus(state.gap, times(SUNK, state.length))
            low = plus(spare, way) < as_expr(fn.minimum(spare, 0))
            sinks = fn.named(fn.and_(far, fn.and_(state.open, low)), f"{state.name}_sinks")
            with_others[state.normal] = fn.select(sinks, 1, held[state.normal])
            wanted[state.normal] = fn.select(fn.and_(sinks, spare < 0), 0, gaps[state.normal])
            some = fn.or_(some, sinks)
    some = fn.rarely(some, "contact_sinks")
    other = rows.hold(wanted, with_others, some)
    # −λ·g = g·A⁻¹ g, with the gaps g, is the square of the length of a shift, weighted by the masses.
    squares = [
        total([times(-1, times(x, g)) for x, g in zip(loads.forces, removed, strict=True)])
        for loads, removed in ((other, wanted), (shift, gaps))
    ]
    near = squares[0] <= times(FARTHER * FARTHER, squares[1])
    share = fn.named(fn.select(some, 0, 1), "contact_shift")
    taken = fn.named(fn.and_(some, near), "contact_beside")
    return Loads(
        [fn.select(taken, x, times(share, y)) for x, y in zip(other.forces, shift.forces, strict=True)],
        [fn.select(taken, x, times(share, y)) for x, y in zip(other.changes, shift.changes, strict=True)],
    )
