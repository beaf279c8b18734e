"""Places at which expressions jump: looked for by numbers, on both sides of each switch.

A choice such as select(x > 0, k x, 0) has a kink where its condition changes, and that does a derivative no
harm. select(t > T, F, 0) jumps, and then the derivative of a motion by T is not what the derivatives of its
rates say. Numbers decide which is which: along one of its variables a switch is followed to where it
changes, and the expressions are computed just before, just after and a little farther off. What differs
across the switch as much as it does beyond it jumps.

This is a search from typical values, not a proof: a jump that hides behind other conditions, or lies farther
off than the search goes, is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from armillary.algebra.derivatives.calculus import NumericValue, Values, evaluator
from armillary.algebra.derivatives.tangents import tangents
from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.functions import sin
from armillary.algebra.user_functions.tables import Piecewise
from armillary.algebra.walk import operands_first, symbols

Evaluator = Callable[[Values], Sequence[NumericValue]]
_COMPARED = ("lt", "le", "gt", "ge")
_PLACES = 8  # where each switch is looked at
_REACH = np.geomspace(1e-6, 1e6, 241)  # how far from a typical value, in terms of it or of one
_REACH = np.concatenate([-_REACH[::-1], [0.0], _REACH])
_NEAR = 1e-15  # of a variable: just before and just after a switch, past its rounding
_BESIDE = 1e-8  # of a variable, or of one: where a kink has moved on, and a jump has not
_SHARE = 1e-3  # of what differs beside a switch that a jump differs across it
_JUMP = 1e-9  # of the size of what jumps
_BREAKS = 8  # of a table
_COLUMNS = 256  # computed at once


class JumpSearch:
    """Calls that switch at instants which move as ``moving`` symbols do, and where an expression jumps.

    ``lasting`` symbols change all the time, others at instants of their own, with which no switch moves.
    """

    def __init__(
        self, expressions: Sequence[Expr], moving: Mapping[Expr, Expr], lasting: Container[Expr]
    ) -> None:
        self._expressions = expressions
        found = list(switches(expressions))
        rates = tangents([gap for _, gap, _ in found], moving)
        self._switches: list[tuple[Expr, Evaluator, list[Expr]]] = []
        for (node, gap, side), rate in zip(found, rates, strict=True):
            ways = [s for s in symbols(gap) if s in lasting]
            if rate is not ZERO and ways:
                self._switches.append((node, evaluator([side]), ways))

    @property
    def idle(self) -> bool:
        """Whether there is no such switch."""
        return not self._switches

    @cached_property
    def _values(self) -> Evaluator:
        return evaluator(self._expressions)

    def __call__(self, typical: Mapping[Expr, float]) -> list[Expr]:
        """Those that jump near ``typical`` values, which every symbol has."""
        chance = np.random.default_rng(1990)
        nodes: list[Expr] = []
        places: list[dict[Expr, np.ndarray]] = []
        with np.errstate(all="ignore"):
            for node, side, ways in self._switches:
                found = [_across(side, ways, typical, chance) for _ in range(_PLACES)]
                places += [at for at in found if at is not None]
                nodes += [node] * (len(places) - len(nodes))
            if not places:
                return []
            values = _computed(self._values, len(self._expressions), places)
        size = np.maximum(np.nanmax(np.abs(values), axis=(1, 2), initial=0.0), 1e-6)
        before, across, after = np.moveaxis(np.abs(np.diff(values, axis=2)), 2, 0)
        far = (across > _JUMP * size[:, None]) & (across > _SHARE * np.maximum(before, after))
        jumped = far.any(axis=0)
        return list(dict.fromkeys(node for node, does in zip(nodes, jumped, strict=True) if does))


def switches(expressions: Sequence[Expr]) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Calls that may jump, each with what is zero where they do, and what is positive on one side only."""
    for node in operands_first(expressions):
        if node.kind != "call":
            continue
        if node.data in _COMPARED:
            yield node, node.args[0] - node.args[1], node
        elif node.data in ("sign", "atan2"):
            yield node, node.args[0], node.args[0]
        elif node.data in ("floor", "ceil", "mod"):
            turns = node.args[0] / node.args[1] if node.data == "mod" else node.args[0]
            yield node, turns, sin(math.pi * turns)  # which changes its sign at every whole number
        elif isinstance(node.data, Piecewise) and node.data.arity == 1:
            for x in _steps(node.data):
                yield node, node.args[0] - x, node.args[0] - x


def _steps(table: Piecewise) -> list[float]:
    """Where a table jumps; of many such places some."""
    x = table.breaks[0]
    left, right = (table.value(np.nextafter(x, side)) for side in (-np.inf, np.inf))
    found = x[np.abs(right - left) > _JUMP * np.max(np.abs(table.coefficients), initial=0.0)]
    return [float(b) for b in found[:: max(1, len(found) // _BREAKS)]]


def _across(
    side: Evaluator, ways: Sequence[Expr], typical: Mapping[Expr, float], chance: np.random.Generator
) -> dict[Expr, np.ndarray] | None:
    """Values near typical ones, four of each: before, just before, just after and after a switch."""
    at = {
        s: x if s.data.role == "parameter" else x + float(chance.normal(scale=0.3))
        for s, x in typical.items()
    }
    for s in ways:
        points = at[s] + max(abs(at[s]), 1.0) * _REACH
        while True:
            above = np.broadcast_to(side({**at, s: points})[0] > 0, points.shape)
            crossed = np.flatnonzero(above[:-1] != above[1:])
            if not crossed.size:
                break
            i = crossed[np.argmin(np.abs(points[crossed] - at[s]))]
            low, high = points[i : i + 2]
            if high - low <= 0.5 * _NEAR * max(abs(low), 1e-3):
                near, beside = _NEAR * max(abs(low), 1e-3), _BESIDE * max(abs(low), 1.0)
                four = low + np.array([-beside, -near, near, beside])
                return {**{name: np.full(4, x) for name, x in at.items()}, s: four}
            points = np.linspace(low, high, 65)
    return None


def _computed(values: Evaluator, count: int, places: Sequence[Mapping[Expr, np.ndarray]]) -> np.ndarray:
    """Values by expression, place and side."""
    found = []
    step = _COLUMNS // 4
    for i in range(0, len(places), step):
        some = places[i : i + step]
        shape = (4 * len(some),)
        at = {s: np.concatenate([place[s] for place in some]) for s in some[0]}
        rows = [np.broadcast_to(np.asarray(x, dtype=float), shape) for x in values(at)]
        found.append(np.array(rows).reshape(count, len(some), 4))
    return np.concatenate(found, axis=1)
