"""The Jacobian of a model's rates by any of its symbols, in the form with the fewest operations.

    trees without constraints    M δu̇ = −δτ with u̇ held, M factorised once for all columns
    other models                 elimination of the nodes between rates and symbols (``algebra/jacobians.py``)

The first takes 0.6 of the operations of columns one by one for arms and legged robots. Where loads are the
larger part of the rates, as with the tyres of a car, the second is quicker: 0.75 of the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra.expression import UNIT, Expr, as_expr
from armillary.algebra.jacobians import Element, jacobian, nest_products
from armillary.algebra.walk import operands_first
from armillary.analysis.linear.rates import TreeRates, tree_rates
from armillary.mechanics.tree.mass_matrix import speed_rates
from armillary.program.equations import DerivedEquations
from armillary.program.rate_columns import ColumnSolution, SolvedColumn

Elements = dict[Element, Expr]
_LOADED = 0.25  # share of the nodes of loads among those of rates up to which a tree's structure is used


def values_and_jacobian(
    equations: DerivedEquations, results: Sequence[Expr], by: Sequence[Expr]
) -> tuple[list[Expr], Elements]:
    """Expressions equal to the results, and their derivatives: elements (result, symbol) that are not
    identically zero. If the first results are the rates of the states, the structure of a tree is used.
    """
    count = len(equations.targets.rates)
    tree = _tree(equations) if tuple(results[:count]) == equations.targets.rates else None
    if tree is None:
        values = nest_products(results, by)
        return values, jacobian(values, by)
    first = len(equations.targets.coordinates)
    end = first + len(tree.order)
    speeds = speed_rates(tree.tree, dict(tree.unknowns))
    others = nest_products([*results[:first], *results[end:]], by)
    values = [*others[:first], *(as_expr(speeds[i]) for i in tree.order), *others[first:]]
    elements = _speed_elements(tree, first, by)
    for (i, j), x in jacobian(others, by).items():
        elements[i if i < first else i + len(tree.order), j] = x
    return values, dict(sorted(elements.items(), key=lambda item: item[0]))


def _tree(equations: DerivedEquations) -> TreeRates | None:
    """Return the rates of a tree in the description's own states, if loads are a small part of them."""
    if not equations.described_states or equations.system.contacts:
        return None
    found = tree_rates(equations)
    if found is None:
        return None
    forces, wrenches = found.applied.forces.values(), found.applied.wrenches.values()
    loads = [as_expr(x) for x in (*forces, *(x for n, f in wrenches for x in (*n, *f)))]
    small = len(operands_first(loads)) <= _LOADED * len(operands_first(equations.targets.rates))
    return found if small else None


def _speed_elements(tree: TreeRates, first: int, by: Sequence[Expr]) -> Elements:
    """Derivatives of the rates of the speeds, whose rows begin with ``first``."""
    rows = {k: first + i for i, k in enumerate(tree.order)}
    elements: Elements = {}
    solved = []
    for j, s in enumerate(by):
        right, added = tree.parts({s: UNIT})
        if right:
            solved.append(SolvedColumn("A", j, right, added))
        else:
            elements |= {(rows[k], j): x for k, x in added.items()}
    return elements | ColumnSolution(tree.factors, rows, tuple(solved)).expressions("A")
