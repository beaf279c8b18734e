"""The equations of a flexible link's modes, with all that hangs on its nodes.

A node moves by the twists φ_p = (θ_p, ψ_p) of its carrier's modes. What hangs there, an inertia that answers
an acceleration with a wrench and the wrench w that it takes at rest, joins the modes' equations by

    M_pq += φ_q·I φ_p        W_p += I φ_p, carried to the flexible link        f_p −= φ_p·w

where W_p is the wrench on the link per unit of ξ̇_p, H_p and P_p to begin with. A body held at one of its own
nodes moves by φ_p too, in the axes of what holds it; W_p and M are then those of that motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, minus, plus
from armillary.algebra.vectors.triples import Triple, named
from armillary.mechanics.tree.loads import Wrench, twist_dot, wrench_at_parent, wrench_sum
from armillary.mechanics.tree.tree import Freedom, Tree

Inertia = Callable[[Triple, Triple], Wrench]


class ModalEquations:
    """Modal equations Σ M_pq ξ̇_q + W_p·(α, a) = f_p of one flexible link, as far as they are collected."""

    def __init__(
        self,
        freedoms: tuple[Freedom, ...],
        M: Sequence[Sequence[Scalar]],
        H: Sequence[Triple],
        P: Sequence[Triple],
        force: list[Scalar],
    ) -> None:
        self.freedoms = freedoms
        self.active = [p for p, d in enumerate(freedoms) if not d.prescribed]
        self.masses = {(p, q): M[p][q] for p in self.active for q in self.active if p <= q}
        self.wrenches: dict[int, Wrench] = {p: (H[p], P[p]) for p in self.active}
        self.force = {p: force[p] for p in self.active}

    def name(self) -> None:
        """Everything collected as intermediate values."""
        for p in self.active:
            label = f"{self.freedoms[p].index + 1}"
            n, f = self.wrenches[p]
            self.wrenches[p] = (named(n, f"W_{label}_n"), named(f, f"W_{label}_f"))
            self.force[p] = fn.named(self.force[p], f"f_{label}")
        for p, q in self.masses:
            label = f"{self.freedoms[p].index + 1}_{self.freedoms[q].index + 1}"
            self.masses[p, q] = fn.named(self.masses[p, q], f"M_{label}")


def modal_equations(tree: Tree, forces: Mapping[int, Scalar] | None = None) -> dict[int, ModalEquations]:
    """A block for every flexible link, ``forces`` by speed index where the right sides are wanted."""
    found = {}
    for i, link in enumerate(tree.links):
        modes = link.modes
        if modes is not None:
            force = [0 if forces is None else forces[d.index] for d in modes.freedoms]
            found[i] = ModalEquations(modes.freedoms, modes.M, modes.H, modes.P, force)
    return found


def couple_to_modes(
    tree: Tree, index: int, found: dict[int, ModalEquations], inertia: Inertia, wrench: Wrench
) -> None:
    """A flexed link's inertia and wrench in the equations of the modes that move it."""
    link = tree.links[index]
    if link.carrier < 0:
        return
    block = found[link.carrier]
    held = link.carrier == index
    felt = {p: inertia(*link.columns[p]) for p in block.active}
    for p in block.active:
        block.force[p] = minus(block.force[p], twist_dot(link.columns[p], wrench))
    for p, q in block.masses:
        value = plus(block.masses[p, q], twist_dot(link.columns[q], felt[p]))
        if held:
            value = plus(value, twist_dot(link.columns[q], block.wrenches[p]))
            value = plus(value, twist_dot(link.columns[p], block.wrenches[q]))
        block.masses[p, q] = value
    for p in block.active:
        n, f = felt[p] if held else wrench_at_parent(tree, index, *felt[p])
        block.wrenches[p] = wrench_sum(block.wrenches[p], (n, f))
