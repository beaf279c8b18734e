"""Which speed each constraint gives up, and which constraints say nothing new.

A speed with a constant factor comes first, then one whose factor has a constant part, then the outermost
(Sayers 1990, section 8.3); but before all these, one that few other constraints hold, for it has to be
replaced in each of them. The choice also looks at numbers: the factors at a few places of the motion, with
loops closed. A speed whose factor is small where runs start is not given up, and a row of which nothing is
left anywhere is redundant, though no algebra may show it (a Bricard mechanism).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from armillary.algebra.expression import Expr
from armillary.errors import ModelError
from armillary.mechanics.constraints import Elimination, Row, constant_part, shares

_WEAK = 0.2  # of the largest factor in a row, below which a speed is not given up by itself
_STRONG = 0.5  # of the largest factor, above which a choice stays as it is
_NOTHING = 1e-8  # of the row's first size: nothing is left of it

Evaluate = Callable[[Sequence[Any]], list[np.ndarray]]  # expressions → their values at places of the motion


def choose(
    found: Sequence[Row],
    evaluate: Evaluate,
    names: Sequence[str],
    kinds: Sequence[Any],
    *,
    kept_free: Collection[int] = (),
    wanted: Mapping[str, int] | None = None,
) -> Elimination:
    """The elimination of all rows, where speeds of one kind have one unit.

    ``wanted`` gives the speed for constraints whose choice is made already.
    """
    result = Elimination()
    sizes = _sizes(found, evaluate, kinds)
    shared = Counter(j for row in found for j in row.coefficients)
    for row in found:
        coefficients, known, uses = result.reduced(row)
        before, scaled = _scaled(row.coefficients, sizes, evaluate), _scaled(coefficients, sizes, evaluate)
        largest, first = _largest(scaled), _largest(before)
        if largest <= _NOTHING * max(first, _NOTHING):
            _check_nothing_left(row, known, result, evaluate)
            result.redundant.append(row)
            continue
        speed = _speed_to_give_up(row, coefficients, scaled, shared, names, kept_free, wanted or {})
        share, whole = shares(coefficients, speed, sizes)
        if share is not None:
            result.qualities.append(share)
        if whole is not None:
            result.strengths.append(whole / float(np.max(evaluate([whole])[0])))
        result.eliminate(row, speed, coefficients, known, uses)
    return result


def reassigned(
    jacobian: np.ndarray, sizes: np.ndarray, kept_free: Collection[int], now: Mapping[int, int]
) -> dict[int, int]:
    """A speed for each row at one place, by numbers: the one that it has now where that is strong, else the
    strongest. Rows of which nothing is left have none.
    """
    rows = jacobian / sizes
    chosen: dict[int, int] = {}
    for i in range(len(rows)):
        row = rows[i].copy()
        for k, j in chosen.items():  # rows of earlier choices are reduced, with 1 at their own speed
            row -= row[j] * rows[k]
        row[list(kept_free)] = 0.0
        strength = np.abs(row)
        best = int(np.argmax(strength))
        if strength[best] <= _NOTHING:
            continue
        stays = now.get(i)
        speed = stays if stays is not None and strength[stays] >= _STRONG * strength[best] else best
        full = rows[i].copy()
        for k, j in chosen.items():
            full -= full[j] * rows[k]
        rows[i] = full / full[speed]
        for k in chosen:
            rows[k] = rows[k] - rows[k][speed] * rows[i]
        chosen[i] = speed
    return chosen


def _sizes(found: Sequence[Row], evaluate: Evaluate, kinds: Sequence[Any]) -> dict[int, float]:
    """The largest factor of each kind of speed in any row, which takes the place of units."""
    largest: dict[Any, float] = {}
    for row in found:
        for j, value in zip(row.coefficients, evaluate(list(row.coefficients.values())), strict=True):
            largest[kinds[j]] = max(largest.get(kinds[j], 0.0), float(np.max(np.abs(value))))
    return {j: largest.get(kind, 0.0) or 1.0 for j, kind in enumerate(kinds)}


def _scaled(
    coefficients: Mapping[int, Any], sizes: dict[int, float], evaluate: Evaluate
) -> dict[int, np.ndarray]:
    values = evaluate(list(coefficients.values()))
    return {j: np.abs(v) / sizes[j] for j, v in zip(coefficients, values, strict=True)}


def _largest(scaled: Mapping[int, np.ndarray]) -> float:
    return max([float(np.max(v)) for v in scaled.values()], default=0.0)


def _speed_to_give_up(
    row: Row,
    coefficients: Mapping[int, Any],
    scaled: Mapping[int, np.ndarray],
    shared: Mapping[int, int],
    names: Sequence[str],
    kept_free: Collection[int],
    wanted: Mapping[str, int],
) -> int:
    name = row.constraint.name
    if name in wanted and wanted[name] in coefficients:
        return wanted[name]
    if row.constraint.eliminate is not None:
        asked = names.index(row.constraint.eliminate.data.name)
        if asked in coefficients and float(np.max(scaled[asked])) > _NOTHING:
            return asked
        raise ModelError(
            f"constraint '{name}' cannot eliminate '{names[asked]}': "
            + (
                "its factor is zero wherever the loops are closed"
                if asked in coefficients
                else "an earlier constraint has eliminated it, or its factor has cancelled"
            )
            + f"; it could eliminate {_listed(names, coefficients)}"
        )
    allowed = [j for j in coefficients if j not in kept_free]
    if not allowed:
        raise ModelError(
            f"constraint '{name}' ({row.constraint.about}) can only eliminate speeds that events set: "
            f"{_listed(names, coefficients)}; say which with eliminate="
        )
    constant = [j for j in allowed if _simplicity(coefficients[j]) == 0 and scaled[j][0] > _NOTHING]
    at_start = {j: float(scaled[j][0]) for j in allowed}
    if max(at_start.values()) <= _NOTHING:  # a run starts in a singular place: the others tell more
        at_start = {j: float(np.max(scaled[j])) for j in allowed}
    largest = max(at_start.values())
    strong = [j for j in allowed if at_start[j] >= _WEAK * largest or j in constant]
    return min(strong, key=lambda j: (shared[j], _simplicity(coefficients[j]), -j))


def _simplicity(a: Any) -> int:
    if not isinstance(a, Expr) or a.constant:
        return 0
    return 1 if constant_part(a) else 2


def _check_nothing_left(row: Row, known: Any, result: Elimination, evaluate: Evaluate) -> None:
    """A row without variables must hold by itself."""
    value = float(np.max(np.abs(evaluate([known])[0])))
    if value <= 1e-9:
        return
    others = [r.constraint for r in result.kept if set(r.coefficients) & set(row.coefficients)]
    clash = "".join(f"\n  '{c.name}': {c.about}" for c in others)
    raise ModelError(
        f"constraint '{row.constraint.name}' ({row.constraint.about}) contradicts what is already given"
        + (f":{clash}\n" if clash else " by prescribed motion; ")
        + f"together they leave {value:.6g} = 0, whatever the speeds; remove one of them, or make a prescribed "
        "motion agree"
    )


def _listed(names: Sequence[str], indices: Any) -> str:
    return ", ".join(f"'{names[j]}'" for j in indices) or "nothing"
