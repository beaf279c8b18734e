"""Conditions at which expressions jump: found by numbers, on both sides of each.

A choice such as select(x > 0, k x, 0) has a kink where its condition changes, and that does a derivative no
harm. select(t > T, F, 0) jumps, and then the derivative of a motion by T is not what the derivatives of its
rates say. Which is which is told by numbers: at places where the condition changes, the expressions are
computed with it held true and held false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from armillary.algebra.calculus import evaluator
from armillary.algebra.expression import ZERO, Expr, symbol
from armillary.algebra.tangents import tangents
from armillary.algebra.walk import operands_first, symbols, transform

_SIDES = {"lt": (0.0, 1.0), "le": (0.0, 1.0), "gt": (0.0, 1.0), "ge": (0.0, 1.0), "sign": (-1.0, 1.0)}
_PLACES = 3  # where each condition is looked at
_JUMP = 1e-6  # of the size of what jumps
_REACH = np.concatenate([-np.geomspace(100, 0.01, 13), [0.0], np.geomspace(0.01, 100, 13)])


def jumps(
    expressions: Sequence[Expr], moving: Mapping[Expr, Expr], typical: Mapping[Expr, float]
) -> list[Expr]:
    """Conditions that change as ``moving`` symbols do, and at which one of the expressions jumps.

    ``typical`` has a value for every symbol, near which places are looked for.
    """
    conditions = [n for n in operands_first(expressions) if n.kind == "call" and n.data in _SIDES]
    gaps = [n.args[0] if n.data == "sign" else n.args[0] - n.args[1] for n in conditions]
    watched = [k for k, rate in enumerate(tangents(gaps, moving)) if rate is not ZERO]
    if not watched:
        return []
    held = {n: symbol(f"condition {k}") for k, n in enumerate(conditions)}
    values = evaluator(transform(expressions, held.get))
    natural = evaluator(conditions)
    chance = np.random.default_rng(1990)

    def jump(k: int, at: Mapping[Any, float]) -> bool:
        known = {**at, **dict(zip(held.values(), natural(at), strict=True))}
        one, other = (np.array(values({**known, held[conditions[k]]: c})) for c in _SIDES[conditions[k].data])
        difference, size = np.abs(one - other), np.maximum(np.abs(one), np.abs(other))
        return bool(np.any(difference > _JUMP * np.maximum(size, 1e-9)))

    found = []
    with np.errstate(all="ignore"):
        for k in watched:
            places = (_zero(gaps[k], moving, typical, chance) for _ in range(_PLACES))
            if any(jump(k, at) for at in places if at is not None):
                found.append(conditions[k])
    return found


def _zero(
    gap: Expr, moving: Mapping[Expr, Expr], typical: Mapping[Expr, float], chance: np.random.Generator
) -> dict[Expr, float] | None:
    """Values near typical ones at which a gap is zero, found along one of the moving symbols in it."""
    at = {
        s: x if s.data.role == "parameter" else x + float(chance.normal(scale=0.3))
        for s, x in typical.items()
    }
    size: Callable[..., Any] = evaluator([gap])
    for s in (s for s in symbols(gap) if s in moving):
        points = at[s] + max(abs(at[s]), 1.0) * _REACH
        sizes = np.array([float(size({**at, s: float(x)})[0]) for x in points])
        crossed = np.flatnonzero(np.sign(sizes[:-1]) * np.sign(sizes[1:]) < 0)
        if crossed.size:
            i = crossed[np.argmin(np.abs(points[crossed] - at[s]))]
            low, high, sign = float(points[i]), float(points[i + 1]), np.sign(sizes[i])
            for _ in range(60):
                middle = 0.5 * (low + high)
                same = np.sign(float(size({**at, s: middle})[0])) == sign
                low, high = (middle, high) if same else (low, middle)
            return {**at, s: low}
    return None
