"""Kane's equations with the sums over bodies nested along the tree.

    Σ_s M_rs u̇_s = f_r      M_rs = Σ_b ( m v_r·v_s + ω_r·I·ω_s )      f_r = active − inertia forces

(Sayers 1990, eqs. 6.2.1 to 6.3.9.) A partial velocity is the same for all bodies beyond its joint, so the
sums over those bodies are taken once, leaves first: composite mass, first moment and inertia, about each
joint's point. A column of M is what a unit speed gives the composite body beyond it, (J k, k × h), carried
towards the ground; at each joint on the way its component is an element. For a turn the column is read off
after the composite has been turned into the parent's axes, where its turned elements are at hand: k is the
same in both.
"""

from __future__ import annotations

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, minus
from armillary.mechanics.tree.inertia.inertia_force import modal_forces, net_wrenches
from armillary.mechanics.tree.inertia.mass_matrix import mass_matrix, unknown_freedoms
from armillary.mechanics.tree.loads import (
    AppliedLoads,
    accumulated_wrenches,
    component_along,
    components_along_modes,
)
from armillary.mechanics.tree.tree import Tree
from armillary.mechanics.tree.uncouple import ImplicitEquations


def implicit_equations(tree: Tree, applied: AppliedLoads) -> ImplicitEquations:
    """Mass matrix and force array of a tree under loads."""
    matrix = mass_matrix(tree)
    force = force_array(tree, applied)
    names = {d.index: d.name for link in tree.links for d in link.degrees if not d.prescribed}
    return ImplicitEquations(matrix, force, names)


def force_array(tree: Tree, applied: AppliedLoads) -> dict[int, Scalar]:
    """f_r: applied generalised forces less the inertia forces of the acceleration remainders."""
    passed = accumulated_wrenches(tree, net_wrenches(tree, applied))
    force = modal_forces(tree, applied)
    for i, link in enumerate(tree.links):
        for d in unknown_freedoms(link):
            value = minus(applied.forces.get(d.index, 0), component_along(d, *passed[i]))
            force[d.index] = minus(value, d.armature_effort)
        for mode, value in components_along_modes(tree, i, passed[i]).items():
            force[mode] = minus(force[mode], value)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    return {k: fn.named(force[k], f"f_{k + 1}") for k in unknown}
