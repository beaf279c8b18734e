"""The choice of a dependent speed for each constraint, and the detection of redundant constraints.

A row is a constraint as a linear equation in the speeds, and the factor of a speed is its coefficient in the
row. The rule prefers the speed that occurs in the fewest other constraints, since the speed has to be
replaced in each of them. Among equals it prefers a speed with a constant factor, then one whose factor has a
constant part, then the one of the outermost joint (Sayers 1990, section 8.3). The choice also uses numbers:
the values of the factors at a few places of the motion, which are values of time and coordinates with closed
loops. A speed whose factor is small at the start of runs is not made dependent. If all coefficients of a row
vanish at these places after earlier dependent speeds have been substituted, the row is redundant, even if
algebra does not show it (as in a Bricard mechanism).

The equations have one choice for all values of the parameters, so the choice is made with the defaults. In
runs the quality of the choice is computed with factors that are divided by sizes. These sizes are functions
of the parameters, so a ball of ten times the default radius is judged by its own radius.

``partition`` chooses dependent speeds from the numerical factors at one place, so that none is much faster
than the independent speeds. It selects rows and columns of J by complete pivoting and prefers speeds that are
already dependent if they are nearly as good. The dependent speeds are then u_d = Σ A_dr u_r with independent
speeds u_r. While some factor |A_dr| exceeds two, the speeds d and r are exchanged; each exchange multiplies
the determinant of J_d, the columns of the dependent speeds, by this factor.

Source: coordinate partitioning after Wehage & Haug (1982). The exchanges are those by which submatrices of
maximum volume are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, TypeVar

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Scalar, magnitude, times
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.mechanics.constraints.rows import (
    ConstraintRow,
    Elimination,
    has_constant_part,
    shares,
    square_sum,
)

STRONG = 0.5  # share of the largest remaining element, above which the present pair of a row is kept
OUTRUN = 2.0  # factor |A_dr| above which a dependent speed is exchanged
NOISE = 1e-10  # factors up to this are rounding errors
NO_FACTOR = 1e-8  # largest element that counts as zero, if rows have the length one
# A choice among the speeds of joints alone is taken if its conditioning is more than this share of the
# conditioning of a choice among all speeds.
FAIR = 0.05

Pairs = list[tuple[int, int]]  # (row, speed), in the order of elimination


def sizes_by_kind(largest: np.ndarray, kinds: Sequence[object]) -> np.ndarray:
    """Return the size of each speed: the largest factor among all speeds of its kind, or 1 if that is zero.

    Factors divided by these sizes are comparable. ``largest`` has the largest factor of each speed.
    """
    sizes = np.ones(len(largest))
    for kind in set(kinds):
        same = [k is kind for k in kinds]
        size = float(np.max(largest[same]))
        sizes[same] = size if size > NOISE else 1.0
    return sizes


def partition(
    jacobian: np.ndarray,
    sizes: np.ndarray,
    kept_free: Collection[int],
    now: Sequence[tuple[int, int]],
    modal: Collection[int] = (),
) -> Pairs:
    """Return pairs (row, dependent speed), one for each independent row.

    ``sizes`` (by speed) make speeds comparable, ``now`` are the present pairs. Speeds in ``kept_free`` are
    never made dependent. Speeds of modes, in ``modal``, become dependent only if speeds of joints do not
    suffice or give a badly conditioned choice.
    """
    if modal:
        pairs = partition(jacobian, sizes, {*kept_free, *modal}, now)
        whole = partition(jacobian, sizes, kept_free, now)
        if len(pairs) == len(whole) and _conditioning(jacobian, sizes, pairs) > FAIR * _conditioning(
            jacobian, sizes, whole
        ):
            return pairs
        return whole
    J = jacobian / sizes
    norms = np.linalg.norm(J, axis=1, keepdims=True)
    J = J / np.where(norms > 0.0, norms, 1.0)
    allowed = [j for j in range(J.shape[1]) if j not in kept_free]
    pairs = _pivots(J, allowed, dict(now))
    for _ in range(10 * len(pairs)):
        exchange = _exchange_pair(J, pairs, allowed)
        if exchange is None:
            break
        gone, comes = exchange
        pairs = [(i, comes if j == gone else j) for i, j in pairs]
    return _pivots(J, [j for _, j in pairs], dict(pairs))


def _conditioning(jacobian: np.ndarray, sizes: np.ndarray, pairs: Pairs) -> float:
    """Return the smallest singular value of the rows and columns of J in ``pairs``, with scaled columns."""
    part = (jacobian / sizes)[np.ix_([i for i, _ in pairs], [j for _, j in pairs])]
    return float(np.linalg.svd(part, compute_uv=False)[-1]) if pairs else 0.0


def _pivots(J: np.ndarray, columns: Sequence[int], now: dict[int, int]) -> Pairs:
    """Return pairs by complete pivoting over the given columns, with a preference for the pairs ``now``."""
    remaining = J.copy()
    rows, free = list(range(len(J))), list(columns)
    pairs: Pairs = []
    while rows and free:
        part = np.abs(remaining[np.ix_(rows, free)])
        largest = float(np.max(part))
        if largest <= NO_FACTOR:
            break
        a, b = np.unravel_index(int(np.argmax(part)), part.shape)
        i, j = rows[int(a)], free[int(b)]
        kept = [(r, now[r]) for r in rows if now.get(r) in free]
        best = max(kept, key=lambda pair: abs(remaining[pair]), default=None)
        if best is not None and abs(remaining[best]) >= STRONG * largest:
            i, j = best
        rows.remove(i)
        free.remove(j)
        pairs.append((i, j))
        factors = remaining[rows, j] / remaining[i, j]
        remaining[rows] -= np.outer(factors, remaining[i])
    return pairs


def _exchange_pair(J: np.ndarray, pairs: Pairs, allowed: Sequence[int]) -> tuple[int, int] | None:
    """Return the speeds (d, r) with the largest |A_dr| if it exceeds OUTRUN, else `None`."""
    rows, dependent = [i for i, _ in pairs], [j for _, j in pairs]
    rest = [j for j in allowed if j not in dependent]
    if not rest or not pairs:
        return None
    A = np.abs(np.linalg.solve(J[np.ix_(rows, dependent)], J[np.ix_(rows, rest)]))
    d, r = np.unravel_index(int(np.argmax(A)), A.shape)
    return (dependent[int(d)], rest[int(r)]) if A[d, r] > OUTRUN else None


_WEAK = 0.2  # share of the largest factor in a row, below which a speed is not made dependent
# scaled factor of a joint's speed in a row, above which modes stay independent in this row
_LEAST_MODE_FACTOR = 0.05
# factor |A_dr| at the start of runs, above which ``partition`` makes the choice instead
_OUTRUN_AT_START = 5.0
_NOTHING = 1e-8  # share of the largest factor of a kind, below which a factor is a rounding error
# If the squared size of a row after substitution is more than this times its squared size before, an earlier
# pivot was nearly zero.
_BLOWN_UP = 100.0

Otherwise = TypeVar("Otherwise", float, None)


class Evaluate(Protocol):
    """Evaluation of expressions at a few places of the motion."""

    @property
    def wide(self) -> Evaluate:
        """The evaluation at places farther away if the first place is singular, else this evaluation."""

    def __call__(self, expressions: Sequence[Scalar]) -> list[np.ndarray]:
        """Return the values of expressions at the places, with the default parameters."""

    def sized(self, expressions: Sequence[Scalar], place: int | None = None) -> list[Scalar]:
        """Return the expressions at one place, as functions of the parameters alone.

        By default each expression is taken at the place where its magnitude is largest.
        """


def choose_dependent_speeds(
    found: Sequence[ConstraintRow],
    evaluate: Evaluate,
    names: Sequence[str],
    kinds: Sequence[object],
    row_sizes: Sequence[Scalar],
    *,
    kept_free: Collection[int] = (),
    modal: Collection[int] = (),
    wanted: Mapping[str, int] | None = None,
    given: Mapping[Expr, str] | None = None,
    locked: Collection[str] = (),
) -> Elimination:
    """Choose a dependent speed for each row, and return the elimination of these speeds.

    ``kinds`` are the dimensions of the speeds: speeds of one kind have one size. ``row_sizes`` make rows of
    different units comparable (loop_closing.py). A speed in ``kept_free`` becomes dependent only if the row
    has no other speed. A ``modal`` speed becomes dependent only if all speeds of joints have small factors in
    the row: a mode moves a node only a little, so it would have to move fast to close a loop.

    ``wanted`` maps constraints to speeds that have already been chosen, in the order of elimination. Without
    it, constraints with a position form come before the others, so that of two equivalent rows the one with a
    position form is kept. ``given`` maps prescribed speeds to words for error texts; ``locked`` names the
    locked speeds.
    """
    # Rows of equal size are not scaled: their factors are compared directly.
    rows = dict(zip(found, row_sizes if len(set(row_sizes)) > 1 else [1.0] * len(found), strict=True))
    weights = {row: float(evaluate([size])[0][0]) for row, size in rows.items()}
    sizes = _sizes(weights, evaluate, kinds)
    run_sizes = _run_sizes(rows, evaluate, kinds)
    in_order = sorted(found, key=lambda row: row.gap is None)
    if wanted:
        index_of = {name: i for i, name in enumerate(wanted)}
        in_order.sort(key=lambda row: index_of.get(row.constraint.name, len(index_of)))
    avoided = _Avoided(frozenset(kept_free), frozenset(modal))
    result = _eliminate_rows(
        in_order, weights, evaluate, names, sizes, run_sizes, avoided, wanted or {}, given or {}, locked
    )
    asked = any(row.constraint.eliminate is not None for row in found)
    if not wanted and not asked and _is_outrun(result, sizes, evaluate):
        better = _choose_by_numbers(in_order, weights, result, sizes, avoided, evaluate)
        in_order = [row for row, _ in better] + [r for r in in_order if r not in {row for row, _ in better}]
        chosen = {row.constraint.name: speed for row, speed in better}
        result = _eliminate_rows(
            in_order, weights, evaluate, names, sizes, run_sizes, avoided, chosen, given or {}, locked
        )
    result.shares, result.sizes = list(result.qualities), run_sizes
    result.qualities += _growth_quality(result, run_sizes, evaluate)
    return result


def conditioning(elimination: Elimination) -> Expr | None:
    """Return the conditioning of a choice of dependent speeds: 1 at best, 0 if singular, `None` if constant.

        min( (p/s_p)² / Σ (a_j/s_j)²,  1/max(1, (A_dr s_d/s_r)²) )

    where a_j are the coefficients of a row, p is its pivot (the coefficient of its dependent speed), and s
    are sizes of speeds. The minimum is taken over all rows and all A_dr. The result serves to compare
    choices. The quality that runs watch differs: it compares A with the value of A at the start of runs.
    """
    growth = [
        fn.named(times(times(a, a), (elimination.sizes[d] / elimination.sizes[r]) ** 2), f"outrun_{d}_{r}")
        for d, r, a in _varying_factors(elimination)
    ]
    parts = [*elimination.shares, *([1 / reduce(fn.maximum, [as_expr(1), *growth])] if growth else [])]
    return as_expr(reduce(fn.minimum, parts)) if parts else None


@dataclass(frozen=True)
class _Avoided:
    """Speeds that become dependent only if no other speed can."""

    kept_free: frozenset[int]
    modal: frozenset[int]


def _eliminate_rows(
    in_order: Sequence[ConstraintRow],
    weights: Mapping[ConstraintRow, float],
    evaluate: Evaluate,
    names: Sequence[str],
    sizes: Mapping[int, float],
    run_sizes: Mapping[int, Scalar],
    avoided: _Avoided,
    wanted: Mapping[str, int],
    given: Mapping[Expr, str],
    locked: Collection[str],
) -> Elimination:
    result = Elimination()
    shared = Counter(j for row in in_order for j in row.coefficients)
    for row in in_order:
        coefficients, known, uses = result.reduce_row(row)
        scaled = _scale_coefficients(coefficients, weights[row], sizes, evaluate)
        if _median_factor(scaled) <= _NOTHING:
            _check_nothing_left(row, known, result, evaluate, given)
            result.redundant.append(row)
            continue
        speed = _speed_to_give_up(row, coefficients, scaled, shared, names, avoided, wanted, given, locked)
        share, whole = shares(coefficients, speed, run_sizes)
        if share is not None:
            result.qualities.append(share)
            result.pivots.append(as_expr(coefficients[speed] / run_sizes[speed]))
        if whole is not None:
            result.strengths.append(whole / _remainder_size(whole, row, run_sizes, evaluate))
        result.eliminate(row, speed, coefficients, known, uses)
    return result


def _remainder_size(
    whole: Scalar, row: ConstraintRow, sizes: Mapping[int, Scalar], evaluate: Evaluate
) -> Scalar:
    """Return the usual value of ``whole``, the squared size of a row after substitution of dependent speeds:
    the largest over the places of ``evaluate.wide``.

    A choice of dependent speeds that is good elsewhere may have a pivot near zero at one of the places, and
    then the coefficients of the following rows are enormous there. In this case the function returns the
    squared size of the row before substitution.
    """
    before = square_sum(row.coefficients, sizes)
    left, own = (float(np.max(np.abs(v))) for v in evaluate.wide([whole, before]))
    return evaluate.wide.sized([before if left > _BLOWN_UP * own > 0.0 else whole])[0]


def _varying_factors(result: Elimination) -> list[tuple[int, int, Expr]]:
    """Return (d, r, A_dr) for the factors A_dr that vary.

    Dependent speeds with a constant pivot are left out. Their factors may well be large: a wheel normally
    spins many times as fast as its car turns.
    """
    return [
        (step.speed, r, a)
        for step in result.steps
        if isinstance(step.inverse, Expr) and not step.inverse.constant
        for r, a in result.factors[step.speed].items()
        if isinstance(a, Expr) and not a.constant
    ]


def _is_outrun(result: Elimination, sizes: Mapping[int, float], evaluate: Evaluate) -> bool:
    """Return whether some scaled |A_dr| exceeds _OUTRUN_AT_START at the start of runs."""
    varying = _varying_factors(result)
    values = evaluate([a for *_, a in varying])
    return any(
        abs(v[0]) * sizes[d] / sizes[r] > _OUTRUN_AT_START
        for (d, r, _), v in zip(varying, values, strict=True)
    )


def _growth_quality(result: Elimination, sizes: Mapping[int, Scalar], evaluate: Evaluate) -> list[Expr]:
    """Return [1/max(1, (A_dr/A⁰)²)], with A⁰ the larger of 1 and |A_dr| at the start of runs; [] if no A_dr
    varies. The maximum is over all d and r, and each A_dr is scaled by the sizes of its speeds.
    """
    squares = []
    varying = _varying_factors(result)
    at_start = evaluate.sized([a for *_, a in varying], 0)
    for (d, r, a), first in zip(varying, at_start, strict=True):
        scale = sizes[d] / sizes[r]
        scale = scale / fn.maximum(1, magnitude(first) * scale)
        squares.append(fn.named(times(times(a, a), scale * scale), f"growth_{d + 1}_{r + 1}"))
    return [as_expr(1 / reduce(fn.maximum, [as_expr(1), *squares]))] if squares else []


def _choose_by_numbers(
    in_order: Sequence[ConstraintRow],
    weights: Mapping[ConstraintRow, float],
    result: Elimination,
    sizes: Mapping[int, float],
    avoided: _Avoided,
    evaluate: Evaluate,
) -> list[tuple[ConstraintRow, int]]:
    """Return rows with their dependent speeds, chosen by ``partition`` from factors at the start of runs."""
    J = np.zeros((len(in_order), len(sizes)))
    for i, row in enumerate(in_order):
        values = evaluate(list(row.coefficients.values()))
        J[i, list(row.coefficients)] = [v[0] / weights[row] for v in values]
    now = [(in_order.index(result.kept[step.row]), step.speed) for step in result.steps]
    scale = np.array([sizes[j] for j in range(len(sizes))])
    pairs = partition(J, scale, avoided.kept_free, now, avoided.modal)
    return (
        [(in_order[i], j) for i, j in pairs] if len(pairs) == len(now) else [(in_order[i], j) for i, j in now]
    )


def _sizes(
    weights: Mapping[ConstraintRow, float], evaluate: Evaluate, kinds: Sequence[object]
) -> dict[int, float]:
    """Return the size of each speed by index: the largest factor in any row among speeds of its kind."""
    largest = np.zeros(len(kinds))
    for row, weight in weights.items():
        for j, value in zip(row.coefficients, evaluate(list(row.coefficients.values())), strict=True):
            largest[j] = max(largest[j], float(np.max(np.abs(value))) / weight)
    return dict(enumerate(sizes_by_kind(largest, kinds).tolist()))


def _run_sizes(
    rows: Mapping[ConstraintRow, Scalar], evaluate: Evaluate, kinds: Sequence[object]
) -> dict[int, Scalar]:
    """Return the sizes of ``_sizes`` as functions of the parameters."""
    factors = [(size, j, a) for row, size in rows.items() for j, a in row.coefficients.items()]
    by_kind: dict[object, list[Scalar]] = {kind: [] for kind in kinds}
    for (size, j, _), value in zip(factors, evaluate.sized([a for *_, a in factors]), strict=True):
        by_kind[kinds[j]].append(magnitude(value) / size)
    sizes = {kind: largest_of(values, 1.0) for kind, values in by_kind.items()}
    return {j: sizes[kind] for j, kind in enumerate(kinds)}


def largest_of(values: Sequence[Scalar], otherwise: Otherwise) -> Scalar | Otherwise:
    """Return the largest of numbers and constants, or ``otherwise`` if all are numbers below NOISE."""
    known = max((v for v in values if not isinstance(v, Expr)), default=0.0)
    varying = list(dict.fromkeys(v for v in values if isinstance(v, Expr)))
    if not varying:
        return known if known > NOISE else otherwise
    return reduce(fn.maximum, varying, as_expr(max(known, NOISE)))


def _scale_coefficients(
    coefficients: Mapping[int, Scalar], weight: float, sizes: Mapping[int, float], evaluate: Evaluate
) -> dict[int, np.ndarray]:
    values = evaluate(list(coefficients.values()))
    return {j: np.abs(v) / (weight * sizes[j]) for j, v in zip(coefficients, values, strict=True)}


def _median_factor(scaled: Mapping[int, np.ndarray]) -> float:
    """Return the median over places of the largest factor: at a single place all factors may be zero."""
    return float(np.median(np.max(list(scaled.values()), axis=0))) if scaled else 0.0


def _speed_to_give_up(
    row: ConstraintRow,
    coefficients: Mapping[int, Scalar],
    scaled: Mapping[int, np.ndarray],
    shared: Mapping[int, int],
    names: Sequence[str],
    avoided: _Avoided,
    wanted: Mapping[str, int],
    given: Mapping[Expr, str],
    locked: Collection[str],
) -> int:
    name = row.constraint.name
    if name in wanted and wanted[name] in coefficients:
        return wanted[name]
    if row.constraint.eliminate is not None and row.constraint.eliminate.data.name not in locked:
        asked = names.index(row.constraint.eliminate.data.name)
        if row.constraint.eliminate in given:
            raise ModelError(f"constraint '{name}' cannot eliminate '{names[asked]}': it is prescribed")
        if asked in coefficients and float(np.max(scaled[asked])) > _NOTHING:
            return asked
        raise ModelError(
            f"constraint '{name}' cannot eliminate '{names[asked]}': "
            + (
                "its factor is zero wherever the loops are closed"
                if asked in coefficients
                else "an earlier constraint has eliminated it, or its factor has cancelled"
            )
            + f"; it could eliminate {_quote_names(names, coefficients)}"
        )
    allowed = [j for j in coefficients if j not in avoided.kept_free] or list(coefficients)
    fair = [j for j in allowed if j not in avoided.modal and float(scaled[j][0]) > _LEAST_MODE_FACTOR]
    allowed = fair or allowed
    constant = [j for j in allowed if _simplicity(coefficients[j]) == 0 and scaled[j][0] > _NOTHING]
    at_start = {j: float(scaled[j][0]) for j in allowed}
    if max(at_start.values()) <= _NOTHING:  # the start is singular: use the other places
        at_start = {j: float(np.max(scaled[j])) for j in allowed}
    largest = max(at_start.values())
    strong = [j for j in allowed if at_start[j] >= _WEAK * largest or j in constant]
    return min(strong, key=lambda j: (shared[j], _simplicity(coefficients[j]), -j))


def _simplicity(a: Scalar) -> int:
    if not isinstance(a, Expr) or a.constant:
        return 0
    return 1 if has_constant_part(a) else 2


def _check_nothing_left(
    row: ConstraintRow, known: Scalar, result: Elimination, evaluate: Evaluate, given: Mapping[Expr, str]
) -> None:
    """Raise an error if a row without remaining speeds is not satisfied by the given motion."""
    value = float(np.max(np.abs(evaluate([known])[0])))
    if value <= 1e-9:
        return
    others = [r.constraint for r in result.kept if set(r.coefficients) & set(row.coefficients)]
    clash = "".join(f"\n  '{c.name}': {c.about}" for c in others)
    mine = [s for c in (row.constraint, *others) for s in symbols(c.speed) if s in given]
    clash += "".join(f"\n  prescribed {given[u]}" for u in dict.fromkeys(mine))
    raise ModelError(
        f"constraint '{row.constraint.name}' ({row.constraint.about}) contradicts other constraints or "
        + f"given motions{clash}"
        + ("\n" if clash else "; ")
        + f"together they leave {value:.6g} = 0 for all speeds; remove one of them, or make a "
        "prescribed motion agree"
    )


def _quote_names(names: Sequence[str], indices: Iterable[int]) -> str:
    return ", ".join(f"'{names[j]}'" for j in indices) or "nothing"
