"""The choice of a dependent speed for each constraint, and the detection of redundant constraints.

A speed with a constant factor comes first, then one whose factor has a constant part, then the outermost
(Sayers 1990, section 8.3); but before all these, one that few other constraints hold, for it has to be
replaced in each of them. The choice also looks at numbers: the factors at a few places of the motion, with
loops closed. A speed whose factor is small where runs start is not given up, and a row of which nothing is
left anywhere is redundant, though no algebra may show it (a Bricard mechanism).

The choice is made with the default parameters, for a program has one. What watches over it in a run compares
with sizes too, and these are constants of the parameters: a ball of ten times the default radius is watched
by its own size.

Dependent speeds at one place, by numbers: a choice in which no dependent speed outruns the others.

Rows and columns of J are taken by complete pivoting; speeds that are dependent now are preferred if they are
nearly as good. Then dependent and independent speeds are exchanged while some factor |A_dr| exceeds two; each
exchange makes the determinant of J_d larger by that factor. At the end no set can be badly conditioned.

Source: coordinate partitioning, Wehage & Haug (1982), with the exchange of maximum-volume submatrices.
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
    constant_part,
    shares,
    square_sum,
)

STRONG = 0.5  # of the largest element, above which a present choice stays
OUTRUN = 2.0  # a factor of which a dependent speed is exchanged
NOISE = 1e-10  # a largest factor of this size is rounding: the row is empty
NO_FACTOR = 1e-8  # of the largest factor: nothing is left
FAIR = 0.05  # of the best conditioning with modes, with which joints are still preferred

Pairs = list[tuple[int, int]]  # (row, speed), in the order of elimination


def sizes_by_kind(largest: np.ndarray, kinds: Sequence[object]) -> np.ndarray:
    """Return the largest factor of each kind of speed, which takes the place of units; ``largest`` is by
    speed.
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
    """Return a speed for each row that is independent of the others; ``sizes`` take the place of the speeds'
    units.

    Modal speeds are given up only where joints cannot do it, or not well.
    """
    if modal:
        pairs = partition(jacobian, sizes, {*kept_free, *modal}, now)
        whole = partition(jacobian, sizes, kept_free, now)
        if len(pairs) == len(whole) and _share(jacobian, sizes, pairs) > FAIR * _share(
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
        exchange = _worst(J, pairs, allowed)
        if exchange is None:
            break
        gone, comes = exchange
        pairs = [(i, comes if j == gone else j) for i, j in pairs]
    return _pivots(J, [j for _, j in pairs], dict(pairs))


def _share(jacobian: np.ndarray, sizes: np.ndarray, pairs: Pairs) -> float:
    """Return the conditioning of a choice: the smallest singular value of its part of J."""
    part = (jacobian / sizes)[np.ix_([i for i, _ in pairs], [j for _, j in pairs])]
    return float(np.linalg.svd(part, compute_uv=False)[-1]) if pairs else 0.0


def _pivots(J: np.ndarray, columns: Sequence[int], now: dict[int, int]) -> Pairs:
    """Complete pivoting over the given columns."""
    left = J.copy()
    rows, free = list(range(len(J))), list(columns)
    pairs: Pairs = []
    while rows and free:
        part = np.abs(left[np.ix_(rows, free)])
        largest = float(np.max(part))
        if largest <= NO_FACTOR:
            break
        a, b = np.unravel_index(int(np.argmax(part)), part.shape)
        i, j = rows[int(a)], free[int(b)]
        kept = [(r, now[r]) for r in rows if now.get(r) in free]
        best = max(kept, key=lambda pair: abs(left[pair]), default=None)
        if best is not None and abs(left[best]) >= STRONG * largest:
            i, j = best
        rows.remove(i)
        free.remove(j)
        pairs.append((i, j))
        factors = left[rows, j] / left[i, j]
        left[rows] -= np.outer(factors, left[i])
    return pairs


def _worst(J: np.ndarray, pairs: Pairs, allowed: Sequence[int]) -> tuple[int, int] | None:
    """Return the dependent speed that outruns an independent one the most, and that one."""
    rows, dependent = [i for i, _ in pairs], [j for _, j in pairs]
    rest = [j for j in allowed if j not in dependent]
    if not rest or not pairs:
        return None
    A = np.abs(np.linalg.solve(J[np.ix_(rows, dependent)], J[np.ix_(rows, rest)]))
    d, r = np.unravel_index(int(np.argmax(A)), A.shape)
    return (dependent[int(d)], rest[int(r)]) if A[d, r] > OUTRUN else None


_WEAK = 0.2  # of the largest factor in a row, below which a speed is not given up by itself
_FAIR = 0.05  # share of a joint in a row from which on modes are left free
_OUTRUN = 5.0  # times an independent speed, beyond which a dependent one is better exchanged
_NOTHING = 1e-8  # of the largest factor of its kind anywhere: rounding, nothing is left
_BLOWN_UP = 100.0  # times a row, squared, above which what is left of it owes its size to a poor pivot

Otherwise = TypeVar("Otherwise", float, None)


class Evaluate(Protocol):
    """Evaluation of expressions at a few places of the motion."""

    @property
    def wide(self) -> Evaluate:
        """The same at places farther away if the first is singular."""

    def __call__(self, expressions: Sequence[Scalar]) -> list[np.ndarray]:
        """Values of expressions at the places, with the default parameters."""

    def sized(self, expressions: Sequence[Scalar], place: int | None = None) -> list[Scalar]:
        """Return expressions at a place, by default each at its maximum, as constants of the parameters."""


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
    """Return the elimination of all rows; speeds of one kind have one unit.

    ``row_sizes`` replace the rows' units (loop_closing.py). A speed in ``kept_free`` becomes dependent only
    if no other is left, a ``modal`` one only if no joint has a fair share in the row: a mode moves a node a
    little, and would have to move fast to close a loop.

    ``wanted`` maps constraints to speeds chosen before, in the order of elimination. Otherwise rows that keep
    a position come first: if such a row and a row of speeds are equivalent, the position must be kept.
    ``given`` maps prescribed speeds to words for the prescription.
    """
    # Rows of one size need none: all factors are then compared with each other.
    rows = dict(zip(found, row_sizes if len(set(row_sizes)) > 1 else [1.0] * len(found), strict=True))
    weights = {row: float(evaluate([size])[0][0]) for row, size in rows.items()}
    sizes = _sizes(weights, evaluate, kinds)
    run_sizes = _run_sizes(rows, evaluate, kinds)
    in_order = sorted(found, key=lambda row: row.gap is None)
    if wanted:
        place = {name: i for i, name in enumerate(wanted)}
        in_order.sort(key=lambda row: place.get(row.constraint.name, len(place)))
    avoided = _Avoided(frozenset(kept_free), frozenset(modal))
    result = _eliminate_rows(
        in_order, weights, evaluate, names, sizes, run_sizes, avoided, wanted or {}, given or {}, locked
    )
    asked = any(row.constraint.eliminate is not None for row in found)
    if not wanted and not asked and _outruns(result, sizes, evaluate):
        better = _by_numbers(in_order, weights, result, sizes, avoided, evaluate)
        in_order = [row for row, _ in better] + [r for r in in_order if r not in {row for row, _ in better}]
        chosen = {row.constraint.name: speed for row, speed in better}
        result = _eliminate_rows(
            in_order, weights, evaluate, names, sizes, run_sizes, avoided, chosen, given or {}, locked
        )
    result.shares, result.sizes = list(result.qualities), run_sizes
    result.qualities += _growth(result, run_sizes, evaluate)
    return result


def conditioning(elimination: Elimination) -> Expr | None:
    """Return the quality of a choice of dependent speeds at a place: 1 at best, 0 if singular, `None` if
    constant.

    The measure is the same for all choices:

        min( (p/s_p)² / Σ (a_j/s_j)²,  1/max(1, (A_dr s_d/s_r)²) )

    The quality that runs watch compares A with its value where runs start instead.
    """
    growth = [
        fn.named(times(times(a, a), (elimination.sizes[d] / elimination.sizes[r]) ** 2), f"outrun_{d}_{r}")
        for d, r, a in _varying(elimination)
    ]
    parts = [*elimination.shares, *([1 / reduce(fn.maximum, [as_expr(1), *growth])] if growth else [])]
    return as_expr(reduce(fn.minimum, parts)) if parts else None


@dataclass(frozen=True)
class _Avoided:
    """Speeds that are not given up where others can be."""

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
        if _largest(scaled) <= _NOTHING:
            _check_nothing_left(row, known, result, evaluate, given)
            result.redundant.append(row)
            continue
        speed = _speed_to_give_up(row, coefficients, scaled, shared, names, avoided, wanted, given, locked)
        share, whole = shares(coefficients, speed, run_sizes)
        if share is not None:
            result.qualities.append(share)
            result.pivots.append(as_expr(coefficients[speed] / run_sizes[speed]))
        if whole is not None:
            result.strengths.append(whole / _usual(whole, row, run_sizes, evaluate))
        result.eliminate(row, speed, coefficients, known, uses)
    return result


def _usual(whole: Scalar, row: ConstraintRow, sizes: Mapping[int, Scalar], evaluate: Evaluate) -> Scalar:
    """Return the squared size of a row's remainder, the largest over the places of the wide sample.

    A choice of dependent speeds that is good elsewhere may have a pivot near zero at one place, and the
    remainders of the next rows are enormous there. Then the row before elimination is the measure.
    """
    before = square_sum(row.coefficients, sizes)
    left, own = (float(np.max(np.abs(v))) for v in evaluate.wide([whole, before]))
    return evaluate.wide.sized([before if left > _BLOWN_UP * own > 0.0 else whole])[0]


def _varying(result: Elimination) -> list[tuple[int, int, Expr]]:
    """(d, r, A_dr) of the factors that vary.

    Speeds with constant pivots are left out: a wheel may well spin many times as fast as its car turns.
    """
    return [
        (step.speed, r, a)
        for step in result.steps
        if isinstance(step.inverse, Expr) and not step.inverse.constant
        for r, a in result.factors[step.speed].items()
        if isinstance(a, Expr) and not a.constant
    ]


def _outruns(result: Elimination, sizes: Mapping[int, float], evaluate: Evaluate) -> bool:
    """Return whether a dependent speed is many times an independent one where runs start."""
    varying = _varying(result)
    values = evaluate([a for *_, a in varying])
    return any(
        abs(v[0]) * sizes[d] / sizes[r] > _OUTRUN for (d, r, _), v in zip(varying, values, strict=True)
    )


def _growth(result: Elimination, sizes: Mapping[int, Scalar], evaluate: Evaluate) -> list[Expr]:
    """1/max(1, (A_dr/A⁰)²), which falls where a dependent speed outruns an independent one more than at the
    start of runs.
    """
    squares = []
    varying = _varying(result)
    at_start = evaluate.sized([a for *_, a in varying], 0)
    for (d, r, a), first in zip(varying, at_start, strict=True):
        scale = sizes[d] / sizes[r]
        scale = scale / fn.maximum(1, magnitude(first) * scale)
        squares.append(fn.named(times(times(a, a), scale * scale), f"growth_{d + 1}_{r + 1}"))
    return [as_expr(1 / reduce(fn.maximum, [as_expr(1), *squares]))] if squares else []


def _by_numbers(
    in_order: Sequence[ConstraintRow],
    weights: Mapping[ConstraintRow, float],
    result: Elimination,
    sizes: Mapping[int, float],
    avoided: _Avoided,
    evaluate: Evaluate,
) -> list[tuple[ConstraintRow, int]]:
    """Rows and their speeds in a choice that is good where runs start."""
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
    """Return the largest factor of each kind of speed in any row, which takes the place of units."""
    largest = np.zeros(len(kinds))
    for row, weight in weights.items():
        for j, value in zip(row.coefficients, evaluate(list(row.coefficients.values())), strict=True):
            largest[j] = max(largest[j], float(np.max(np.abs(value))) / weight)
    return dict(enumerate(sizes_by_kind(largest, kinds).tolist()))


def _run_sizes(
    rows: Mapping[ConstraintRow, Scalar], evaluate: Evaluate, kinds: Sequence[object]
) -> dict[int, Scalar]:
    """Return the same as constants of the parameters."""
    factors = [(size, j, a) for row, size in rows.items() for j, a in row.coefficients.items()]
    by_kind: dict[object, list[Scalar]] = {kind: [] for kind in kinds}
    for (size, j, _), value in zip(factors, evaluate.sized([a for *_, a in factors]), strict=True):
        by_kind[kinds[j]].append(magnitude(value) / size)
    sizes = {kind: largest_of(values, 1.0) for kind, values in by_kind.items()}
    return {j: sizes[kind] for j, kind in enumerate(kinds)}


def largest_of(values: Sequence[Scalar], otherwise: Otherwise) -> Scalar | Otherwise:
    """Return the largest of numbers and constants, or ``otherwise`` if all are rounding errors."""
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


def _largest(scaled: Mapping[int, np.ndarray]) -> float:
    """At the middle one of the places: at one of them all may be singular, or vanish by chance."""
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
    fair = [j for j in allowed if j not in avoided.modal and float(scaled[j][0]) > _FAIR]
    allowed = fair or allowed
    constant = [j for j in allowed if _simplicity(coefficients[j]) == 0 and scaled[j][0] > _NOTHING]
    at_start = {j: float(scaled[j][0]) for j in allowed}
    if max(at_start.values()) <= _NOTHING:  # a run starts in a singular place: the others decide
        at_start = {j: float(np.max(scaled[j])) for j in allowed}
    largest = max(at_start.values())
    strong = [j for j in allowed if at_start[j] >= _WEAK * largest or j in constant]
    return min(strong, key=lambda j: (shared[j], _simplicity(coefficients[j]), -j))


def _simplicity(a: Scalar) -> int:
    if not isinstance(a, Expr) or a.constant:
        return 0
    return 1 if constant_part(a) else 2


def _check_nothing_left(
    row: ConstraintRow, known: Scalar, result: Elimination, evaluate: Evaluate, given: Mapping[Expr, str]
) -> None:
    """A row without variables must hold by itself."""
    value = float(np.max(np.abs(evaluate([known])[0])))
    if value <= 1e-9:
        return
    others = [r.constraint for r in result.kept if set(r.coefficients) & set(row.coefficients)]
    clash = "".join(f"\n  '{c.name}': {c.about}" for c in others)
    mine = [s for c in (row.constraint, *others) for s in symbols(c.speed) if s in given]
    clash += "".join(f"\n  prescribed {given[u]}" for u in dict.fromkeys(mine))
    raise ModelError(
        f"constraint '{row.constraint.name}' ({row.constraint.about}) contradicts what is already given"
        + (f":{clash}\n" if clash else "; ")
        + f"together they leave {value:.6g} = 0, whatever the speeds; remove one of them, or make a "
        "prescribed motion agree"
    )


def _quote_names(names: Sequence[str], indices: Iterable[int]) -> str:
    return ", ".join(f"'{names[j]}'" for j in indices) or "nothing"
