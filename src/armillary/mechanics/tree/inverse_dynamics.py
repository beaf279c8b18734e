"""Inverse dynamics of a tree: the efforts along all speeds for accelerations that are known.

    τ_d = φ_d·w_i + A_d u̇_d − Q_d        w_i = Σ (inertia − applied wrench) over link i and all beyond it

φ_d is the direction of freedom d of link i, A_d its armature and Q_d the generalised force of loads that are
carried along their own paths. Motion is passed from the ground to the leaves, wrenches from the leaves to the
ground: the recursive Newton–Euler algorithm, in link axes and about joint points.

Sources: Luh, Walker and Paul (1980); in link axes with regrouped inertia, as here, Khalil and Kleinfinger
(1987).
"""

from __future__ import annotations

from armillary.algebra.vectors.scalars import Scalar, minus, plus
from armillary.mechanics.tree.inertia.inertia_force import modal_remainders, net_wrenches
from armillary.mechanics.tree.loads import (
    AppliedLoads,
    Wrench,
    accumulated_wrenches,
    component_along,
    components_along_modes,
)
from armillary.mechanics.tree.tree import Tree


def efforts(tree: Tree, applied: AppliedLoads, prefix: str = "") -> dict[int, Scalar]:
    """τ by speed index, of a tree whose freedoms all have known rates, in directions of their links."""
    return joint_efforts(tree, applied, accumulated_wrenches(tree, net_wrenches(tree, applied), prefix))


def joint_efforts(tree: Tree, applied: AppliedLoads, passed: list[Wrench]) -> dict[int, Scalar]:
    """τ by speed index, from the wrenches that pass through the joints of all links."""
    tau = {
        d.index: plus(component_along(d, *passed[i]), d.armature_effort)
        for i, link in enumerate(tree.links)
        for d in link.freedoms
    }
    tau |= modal_remainders(tree)
    for i in range(len(tree.links)):
        for mode, value in components_along_modes(tree, i, passed[i]).items():
            tau[mode] = plus(tau[mode], value)
    return {k: minus(value, applied.forces.get(k, 0)) for k, value in tau.items()}
