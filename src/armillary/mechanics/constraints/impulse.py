"""Speeds after a sudden constraint: the impulse that brings it about works on all speeds at once.

    M (u⁺ − u⁻) = Jᵀ Λ        J u⁺ + b = 0

For locked joints the rows of J are unit vectors. Loads are finite and have no part in it.

In the configuration that the impulse leads to, u = P u' + k with the independent speeds u' (k: known parts of
dependent and given speeds, zero for locked ones). The impulse of its constraints has no component along P, so

    Pᵀ M (u⁺ − u⁻) = 0,      PᵀM P (u'⁺ − u'⁻) = Pᵀ M (u⁻ − P u'⁻ − k)

where M is that of all speeds. What stands in brackets is zero for independent speeds; for a tree it is the
speeds of the joints that are locked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armillary.algebra.vectors.scalars import Scalar, is_zero, minus, plus, times
from armillary.mechanics.constraints.reduced_equations import reduced_equations
from armillary.mechanics.constraints.rows import Elimination
from armillary.mechanics.tree.inertia.mass_matrix import mass_matrix
from armillary.mechanics.tree.tree import Tree
from armillary.mechanics.tree.uncouple import ImplicitEquations, uncouple


def speeds_after_impulse(
    tree: Tree,
    elimination: Elimination,
    before: Sequence[Scalar],
    locked: frozenset[int],
    names: Sequence[str],
) -> dict[int, Scalar]:
    """u⁺ of all speeds that are not prescribed, by index; the tree is that of the system without constraints
    and locks, the elimination that of the configuration with these locks.
    """
    matrix = mass_matrix(tree)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    free = [i for i in unknown if i not in locked]
    off: dict[int, Scalar] = {i: before[i] for i in locked if i in unknown}
    for d, value in elimination.speeds(dict(enumerate(before))).items():
        off[d] = minus(before[d], value)
    force = {i: _product(matrix, i, off) for i in free}
    within = {(i, j): v for (i, j), v in matrix.items() if i not in locked and j not in locked}
    equations = ImplicitEquations(within, force, {i: names[i] for i in free})
    gained = uncouple(reduced_equations(equations, elimination.factors), "fewest neighbours")
    after: dict[int, Scalar] = {r: plus(before[r], value) for r, value in gained.items()}
    return after | elimination.speeds(after) | dict.fromkeys(locked & set(unknown), 0)


def _product(matrix: Mapping[tuple[int, int], Scalar], i: int, vector: Mapping[int, Scalar]) -> Scalar:
    value: Scalar = 0
    for j, x in vector.items():
        element = matrix.get((min(i, j), max(i, j)), 0)
        if not is_zero(element) and not is_zero(x):
            value = plus(value, times(element, x))
    return value
