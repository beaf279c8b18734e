"""Equations of motion of the independent speeds alone.

With u̇_d = Σ A_dr u̇_r + c_d, and the c_d among the acceleration remainders already,

    (M_rs + Σ_d A_dr M_ds + …) u̇_s = f_r + Σ_d A_dr f_d,     in matrices AᵀM A u̇ = Aᵀ f

which is Kane's equations with the partial velocities of a nonholonomic system (Kane & Levinson 1985, sections
2.13 and 2.14).
"""

from __future__ import annotations

from collections.abc import Mapping

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, is_zero, plus, times
from armillary.mechanics.tree.tree import Tree
from armillary.mechanics.tree.uncouple import ImplicitEquations


def reduced_equations(
    equations: ImplicitEquations, factors: Mapping[int, Mapping[int, Scalar]]
) -> ImplicitEquations:
    """The equations without dependent speeds, whose factors A are given by index."""
    if not factors:
        return equations
    independent = [k for k in sorted(equations.force) if k not in factors]
    columns = _products(equations, factors, independent)
    matrix: dict[tuple[int, int], Scalar] = {}
    for position, r in enumerate(independent):
        mine = [(d, a[r]) for d, a in factors.items() if not is_zero(a.get(r, 0))]
        for s in independent[position:]:
            value = columns[r].get(s, 0)
            for d, a in mine:
                value = plus(value, times(a, columns[d].get(s, 0)))
            if not is_zero(value):
                matrix[r, s] = fn.named(value, f"R_{r + 1}_{s + 1}")
    separate = tuple((k, b, _reduced_row(c, factors)) for k, b, c in equations.separate)
    return ImplicitEquations(matrix, reduced_forces(equations.force, factors), equations.names, separate)


def reduced_forces(
    force: Mapping[int, Scalar], factors: Mapping[int, Mapping[int, Scalar]]
) -> dict[int, Scalar]:
    """Aᵀ f: generalised forces of the independent speeds."""
    if not factors:
        return dict(force)
    found: dict[int, Scalar] = {}
    for r in (k for k in sorted(force) if k not in factors):
        value = force[r]
        for d, a in factors.items():
            value = plus(value, times(a.get(r, 0), force[d]))
        found[r] = fn.named(value, f"g_{r + 1}")
    return found


def _reduced_row(row: Mapping[int, Scalar], factors: Mapping[int, Mapping[int, Scalar]]) -> dict[int, Scalar]:
    """c A: a row by independent speeds."""
    found = {r: c for r, c in row.items() if r not in factors}
    for d in row.keys() & factors.keys():
        for r, a in factors[d].items():
            found[r] = plus(found.get(r, 0), times(row[d], a))
    return found


def dependent_rates(
    tree: Tree, x: Mapping[int, Scalar], factors: Mapping[int, Mapping[int, Scalar]]
) -> dict[int, Scalar]:
    """x of all speeds: those of the dependent ones from the independent ones and their known parts."""
    result = dict(x)
    for link in tree.links:
        for d in link.degrees:
            if d.dependent:
                assert d.rate is not None
                value = d.rate
                for r, a in factors[d.index].items():
                    value = plus(value, times(a, x[r]))
                result[d.index] = fn.named(value, f"x_{d.index + 1}")
    return result


def _products(
    equations: ImplicitEquations, factors: Mapping[int, Mapping[int, Scalar]], independent: list[int]
) -> dict[int, dict[int, Scalar]]:
    """M A by row and independent column."""
    rows: dict[int, dict[int, Scalar]] = {k: {} for k in equations.force}
    for (i, j), value in equations.matrix.items():
        if not is_zero(value):
            rows[i][j] = rows[j][i] = value
    result: dict[int, dict[int, Scalar]] = {}
    for k, row in rows.items():
        products: dict[int, Scalar] = {s: row[s] for s in independent if s in row}
        for d, a in factors.items():
            if d in row:
                for s, factor in a.items():
                    products[s] = plus(products.get(s, 0), times(row[d], factor))
        result[k] = {s: fn.named(v, f"MA_{k + 1}_{s + 1}") for s, v in products.items()}
    return result
