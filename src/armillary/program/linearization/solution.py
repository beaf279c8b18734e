"""Columns of linearised rates that one factorised matrix gives, not written out as expressions.

    L D Lᵀ x = g          ẋ_r = Σ T_rk x_k + a_r

L has a unit diagonal, T is the identity but for a few rows, and every column has a right side g and addends a
of its own. All columns take the same steps, so that compiled code takes them for several columns at once, in
vector registers (``llvm/column_solution.py``). Written out as expressions they are ``expressions()``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.vectors.scalars import is_zero, minus, plus, times
from armillary.program.cost import Operations

_WIDER = 1.7  # times the unknowns that a column reaches, in which it is solved together with others


@dataclass(frozen=True, eq=False)
class Factors:
    """The steps of an elimination: unknown k, 1/D_k, and L_jk of the unknowns j that are left; and T."""

    steps: tuple[tuple[int, Expr, Mapping[int, Expr]], ...]
    turned: Mapping[int, Mapping[int, Expr]]  # rows of T that are not those of the identity

    def reached(self, right: Iterable[int]) -> tuple[list[int], list[int]]:
        """Unknowns at which the forward and the whole solution for such a right side are not zero."""
        found = set(right)
        for k, _, row in self.steps:
            if k in found:
                found |= set(row)
        forward = [k for k, _, _ in self.steps if k in found]
        for k, _, row in reversed(self.steps):
            if not found.isdisjoint(row):
                found.add(k)
        return forward, [k for k, _, _ in self.steps if k in found]

    def solve(self, right: Mapping[int, Any]) -> dict[int, Any]:
        """x as expressions."""
        g = {k: right.get(k, 0) for k, _, _ in self.steps}
        for k, _, row in self.steps:
            for j, factor in row.items() if not is_zero(g[k]) else ():
                g[j] = fn.named(minus(g[j], times(factor, g[k])), f"g_{j + 1}")
        x: dict[int, Any] = {}
        for k, inverse, row in reversed(self.steps):
            value = times(g[k], inverse)
            for j in sorted(row):
                value = minus(value, times(row[j], x[j]))
            x[k] = fn.named(value, f"x_{k + 1}")
        return x

    def turn(self, x: Mapping[int, Any], added: Mapping[int, Any]) -> dict[int, Any]:
        """T x + a."""
        found = dict(x)
        for r, row in self.turned.items():
            found[r] = 0
            for k, factor in row.items():
                found[r] = plus(found[r], times(factor, x[k]))
        return {r: plus(value, added.get(r, 0)) for r, value in found.items()}


@dataclass(frozen=True, eq=False)
class SolvedColumn:
    """A column of A or B: right sides and addends by unknown, those that are not zero."""

    matrix: str
    index: int
    right: Mapping[int, Expr]
    added: Mapping[int, Expr]


@dataclass(frozen=True, eq=False)
class ColumnSolution:
    """Columns with the same factors; ``rows`` are the places of the unknowns among the rows of A and B."""

    factors: Factors
    rows: Mapping[int, int]
    columns: tuple[SolvedColumn, ...]

    @cached_property
    def reached(self) -> tuple[frozenset[int], ...]:
        """By column, the unknowns whose rates it changes."""
        return tuple(self._reached(column) for column in self.columns)

    def _reached(self, column: SolvedColumn) -> frozenset[int]:
        found = set(self.factors.reached(column.right)[1])
        for r, row in self.factors.turned.items():
            if not found.isdisjoint(row):
                found.add(r)
        return frozenset(found | set(column.added))

    def places(self, matrix: str) -> list[tuple[int, int]]:
        """Elements of a matrix that the columns give."""
        return [
            (self.rows[k], column.index)
            for column, reached in zip(self.columns, self.reached, strict=True)
            if column.matrix == matrix
            for k in sorted(reached)
        ]

    def expressions(self, matrix: str) -> dict[tuple[int, int], Expr]:
        """The same elements written out."""
        found: dict[tuple[int, int], Expr] = {}
        for column in self.columns:
            if column.matrix == matrix:
                values = self.factors.turn(self.factors.solve(column.right), column.added)
                found |= {(self.rows[k], column.index): as_expr(x) for k, x in values.items()}
        return {place: x for place, x in found.items() if x is not ZERO}

    @cached_property
    def coefficients(self) -> list[Expr]:
        """1/D and L of all steps, and T, row by row."""
        found = [x for _, inverse, row in self.factors.steps for x in (inverse, *row.values())]
        return found + [x for row in self.factors.turned.values() for x in row.values()]

    @cached_property
    def operations(self) -> Operations:
        """Additions and multiplications of all columns, without those of coefficients and right sides."""
        sums = products = 0
        for column in self.columns:
            forward, reached = self.factors.reached(column.right)
            known = set(column.right)
            for k, _, row in self.factors.steps:
                if k in known:
                    sums += len(known.intersection(row))
                    products += len(row)
                    known |= set(row)
            products += len(forward)
            known = set(forward)
            for k, _, row in reversed(self.factors.steps):
                terms = len(set(row).intersection(reached))
                products += terms
                sums += terms if k in known else max(terms - 1, 0)
            for row in self.factors.turned.values():
                terms = len(set(row).intersection(reached))
                products, sums = products + terms, sums + max(terms - 1, 0)
            sums += len(column.added)
        return Operations(additions=sums, multiplications=products)


def groups(solution: ColumnSolution) -> list[list[SolvedColumn]]:
    """Columns to be solved together: their right sides reach the same unknowns, or not many fewer."""
    found: dict[frozenset[int], list[SolvedColumn]] = {}
    support = {c: frozenset(solution.factors.reached(c.right)[0]) for c in solution.columns}
    for column in sorted(solution.columns, key=lambda c: -len(support[c])):
        own = support[column]
        wider = [reach for reach in found if own <= reach and len(reach) <= _WIDER * len(own)]
        found.setdefault(min(wider, key=len) if wider else own, []).append(column)
    return list(found.values())
