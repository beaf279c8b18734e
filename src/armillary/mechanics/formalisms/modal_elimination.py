"""Modes eliminated onto their link, as joints are by the recursion.

A mode's row Σ M_pq ξ̇_q + W_p·(α, a) = f_p gives ξ̇_p; put into the link's equations it leaves

    J − W_n W_nᵀ/M_pp  …        n + W_n f_p/M_pp  …

Modes of a free flexible body are not coupled to one another, so each costs a few operations; what hangs on a
node couples them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.vectors.matrices import Matrix, named_matrix
from armillary.algebra.vectors.scalars import Scalar, combination, is_zero, minus, times
from armillary.algebra.vectors.triples import Triple, add, combined, named, scaled
from armillary.mechanics.tree.articulated_inertia import Articulated, upper
from armillary.mechanics.tree.loads import Wrench, twist_dot
from armillary.mechanics.tree.mass_matrix import ModalEquations
from armillary.mechanics.tree.tree import Freedom, Tree
from armillary.mechanics.tree.uncouple import pivot_inverse


@dataclass(frozen=True, eq=False)
class ModalAcceleration:
    """A mode's acceleration: value − gain·(α, a) of its link − Σ gain_q ξ̇_q of modes that are found first."""

    freedom: Freedom
    value: Scalar
    gain: Wrench
    others: dict[int, Scalar]

    def rate(self, alpha: Triple, a: Triple, x: Mapping[int, Scalar]) -> Scalar:
        """ξ̇, from the link's acceleration and the modes found so far, by speed index."""
        value = minus(self.value, twist_dot(self.gain, (alpha, a)))
        value = minus(value, combination(list(self.others.values()), [x[k] for k in self.others]))
        return fn.named(value, f"x_{self.freedom.index + 1}")


def eliminate_modes(body: Articulated, block: ModalEquations) -> tuple[Articulated, list[ModalAcceleration]]:
    """Articulated inertia of a flexible link after the elimination of its modes, last mode first."""
    block.name()
    left = list(block.active)
    found: list[ModalAcceleration] = []
    taken: list[tuple[Wrench, Wrench, Scalar]] = []
    while left:
        p = left.pop()
        d = block.freedoms[p]
        label = f"{d.index + 1}"
        inverse = pivot_inverse(block.masses[p, p], d.name, d.index)
        n, f = block.wrenches[p]
        gain = (named(scaled(n, inverse), f"g_{label}_n"), named(scaled(f, inverse), f"g_{label}_f"))
        drive = block.force[p]
        coupled = [q for q in left if not is_zero(block.masses[q, p])]
        factors: dict[int, Scalar] = {}
        for position, q in enumerate(coupled):
            mass, index = block.masses[q, p], block.freedoms[q].index
            factor = factors[index] = fn.named(times(mass, inverse), f"l_{index + 1}_{label}")
            for r in coupled[position:]:
                block.masses[q, r] = minus(block.masses[q, r], times(factor, block.masses[r, p]))
            n_q, f_q = block.wrenches[q]
            block.wrenches[q] = (add(n_q, scaled(gain[0], -mass)), add(f_q, scaled(gain[1], -mass)))
            block.force[q] = minus(block.force[q], times(factor, drive))
        if coupled:
            block.name()
        found.append(ModalAcceleration(d, fn.named(times(drive, inverse), f"b_{label}"), gain, factors))
        taken.append(((n, f), gain, drive))
    return _less(body, taken, block), found


def _less(
    body: Articulated, taken: list[tuple[Wrench, Wrench, Scalar]], block: ModalEquations
) -> Articulated:
    """J − Σ W_n g_nᵀ and so on, each element as one sum."""
    name = f"bent_{block.freedoms[0].index + 1}" if block.freedoms else "bent"

    def matrix(a: Matrix, u: int, v: int, label: str) -> Matrix:
        rows = [
            [
                minus(a[i][j], combination([w[u][i] for w, _, _ in taken], [g[v][j] for _, g, _ in taken]))
                for j in range(3)
            ]
            for i in range(3)
        ]
        return named_matrix(rows, f"{label}_{name}")

    drives = [drive for _, _, drive in taken]
    n = add(body.n, combined([g[0] for _, g, _ in taken], drives))
    f = add(body.f, combined([g[1] for _, g, _ in taken], drives))
    J, M = matrix(body.J, 0, 0, "J"), matrix(body.M, 1, 1, "M")
    return Articulated(
        upper(J), matrix(body.H, 0, 1, "H"), upper(M), named(n, f"n_{name}"), named(f, f"f_{name}")
    )


def flexed_acceleration(
    tree: Tree, index: int, alpha: Triple, a: Triple, x: Mapping[int, Scalar]
) -> tuple[Triple, Triple]:
    """A flexed link's acceleration including that of the modes that move it, by speed index."""
    link = tree.links[index]
    modes = tree.links[link.carrier].modes
    assert modes is not None
    rates = [x.get(d.index, 0) for d in modes.freedoms]
    turning = combined([c[0] for c in link.columns], rates)
    moving = combined([c[1] for c in link.columns], rates)
    return named(add(alpha, turning), f"al_{link.name}"), named(add(a, moving), f"al_{link.name}")
