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

from collections.abc import Collection, Mapping
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.triples import Scalar, is_zero, minus, times
from armillary.mechanics.tree.kinematics import modal_forces, net_wrenches
from armillary.mechanics.tree.loads import (
    AppliedLoads,
    accumulated_wrenches,
    component_along,
    components_along_modes,
    wrench_at_parent,
    wrench_sum,
)
from armillary.mechanics.tree.mass_matrix import separated_masses, unknown_freedoms
from armillary.mechanics.tree.tree import Tree
from armillary.mechanics.tree.uncouple import ImplicitEquations, pivot_inverse


def implicit_equations(
    tree: Tree, applied: AppliedLoads, separable: Collection[int] = ()
) -> ImplicitEquations:
    """Mass matrix and force array of a tree under loads.

    Turns among the ``separable`` speeds that can be eliminated at once are separate.
    """
    matrix, turns = separated_masses(tree, separable)
    force = force_array(tree, applied, {turn.freedom.index for turn in turns})
    names = {d.index: d.name for link in tree.links for d in link.degrees if not d.prescribed}
    separate = []
    for turn in turns:
        k = turn.freedom.index
        value = times(force.pop(k), pivot_inverse(turn.inertia, names.pop(k), k))
        separate.append((k, value, turn.row))
    return ImplicitEquations(matrix, force, names, tuple(separate))


def separable_speeds(tree: Tree, factors: Mapping[int, Mapping[int, Scalar]]) -> set[int]:
    """Return speeds of joints without an armature that no dependent speed needs.

    ``factors`` is A of the dependent speeds, by index.
    """
    held = {*factors, *(r for row in factors.values() for r, a in row.items() if not is_zero(a))}
    free = [d for link in tree.links for d in unknown_freedoms(link)]
    return {d.index for d in free if d.index not in held and is_zero(d.armature)}


def force_array(tree: Tree, applied: AppliedLoads, separate: Collection[int] = ()) -> dict[int, Scalar]:
    """f_r: applied generalised forces less the inertia forces of the acceleration remainders.

    Speeds that are ``separate`` pass on their own applied force, which is their joint's effort.
    """
    own = net_wrenches(tree, applied)
    efforts = {k: applied.forces.get(k, 0) for k in separate}
    passed = accumulated_wrenches(tree, own, known=efforts)
    force = modal_forces(tree, applied)
    for i, link in enumerate(tree.links):
        for d in unknown_freedoms(link):
            wrench = passed[i]
            if d.index in separate:
                beyond = [j for j, child in enumerate(tree.links) if child.parent == i]
                wrench = reduce(wrench_sum, (wrench_at_parent(tree, j, *passed[j]) for j in beyond), own[i])
            value = minus(applied.forces.get(d.index, 0), component_along(d, *wrench))
            force[d.index] = minus(value, d.armature_effort)
        for mode, value in components_along_modes(tree, i, passed[i]).items():
            force[mode] = minus(force[mode], value)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    return {k: fn.named(force[k], f"f_{k + 1}") for k in unknown}
