"""Generalised forces of single causes: of loads, of the links' weight, of the elasticity of flexible links.

    Q_r = Σ ( n·ω_r + f·v_r )

with the partial velocities ω_r and v_r of the speed r. Formalisms take all causes in one pass; these are for
readers of the equations, in which each stands by itself.
"""

from __future__ import annotations

from armillary.algebra.vectors.scalars import Scalar, minus, plus, sum_of_products
from armillary.algebra.vectors.triples import ZEROS, Triple, cross_triples, named, scaled
from armillary.mechanics.tree.inertia.mass_matrix import unknown_freedoms
from armillary.mechanics.tree.loads import (
    AppliedLoads,
    Wrench,
    accumulated_wrenches,
    component_along,
    components_along_modes,
)
from armillary.mechanics.tree.tree import Tree, deformed


def generalised_forces(tree: Tree, applied: AppliedLoads) -> dict[int, Scalar]:
    """Q by index, of all speeds that are not prescribed."""
    own: list[Wrench] = [applied.wrenches.get(i, (ZEROS, ZEROS)) for i in range(len(tree.links))]
    passed = accumulated_wrenches(tree, own)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    found = {k: applied.forces.get(k, 0) for k in unknown}
    for i, link in enumerate(tree.links):
        for d in unknown_freedoms(link):
            found[d.index] = plus(found[d.index], component_along(d, *passed[i]))
        for mode, value in components_along_modes(tree, i, passed[i]).items():
            if mode in found:
                found[mode] = plus(found[mode], value)
    return found


def weight(tree: Tree) -> AppliedLoads:
    """The tree's uniform gravity g as loads: f = m g and n = h × g on each link, and P_p·g on its modes."""
    wrenches: dict[int, Wrench] = {}
    forces: dict[int, Scalar] = {}
    fall: list[Triple] = []
    for i, link in enumerate(tree.links):
        above = tree.gravity if link.parent < 0 else fall[link.parent]
        g = named(link.rotation.to_child(above), f"fall_{link.name}")
        fall.append(g)
        shape = deformed(link)
        wrenches[i] = cross_triples(shape.first, g), scaled(g, shape.mass)
        if link.modes is not None:
            for d, P in zip(link.modes.freedoms, link.modes.P, strict=True):
                forces[d.index] = sum_of_products(zip(P, g, strict=True))
    return AppliedLoads(wrenches, forces)


def elasticity(tree: Tree) -> AppliedLoads:
    """Stiffness and damping of flexible links, −(K η + C ξ), as forces along their modes."""
    modes = [link.modes for link in tree.links if link.modes is not None]
    pairs = [pair for m in modes for pair in zip(m.freedoms, m.restoring, strict=True)]
    return AppliedLoads({}, {d.index: minus(0, value) for d, value in pairs})
