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

from dataclasses import dataclass
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Triple,
    add,
    cross_triples,
    inner,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    named_symmetric,
    plus,
    scaled,
    unit,
)
from armillary.mechanics.tree.inertia_force import modal_forces, net_wrenches
from armillary.mechanics.tree.loads import (
    AppliedLoads,
    Wrench,
    along,
    along_modes,
    gathered,
    to_parent,
    twist_dot,
)
from armillary.mechanics.tree.modal_block import Block, blocks, feel
from armillary.mechanics.tree.tree import (
    LINEAR,
    Freedom,
    Link,
    Tree,
    deformed,
    moment_inertia,
    point_mass_inertia,
)


@dataclass(frozen=True, eq=False)
class ImplicitEquations:
    """M x = f: a sparse symmetric matrix by (row, column), row ≤ column, and the right side.

    Unknowns go by speed index.
    """

    matrix: dict[tuple[int, int], Any]
    force: dict[int, Any]
    names: dict[int, str]


def implicit_equations(tree: Tree, applied: AppliedLoads) -> ImplicitEquations:
    """Mass matrix and force array of a tree under loads."""
    matrix = mass_matrix(tree)
    force = _force_array(tree, applied)
    names = {d.index: d.name for link in tree.links for d in link.degrees if not d.prescribed}
    return ImplicitEquations(matrix, force, names)


def free(link: Link) -> list[Freedom]:
    """Degrees of freedom of the link's joint whose speeds are not prescribed."""
    return [d for d in link.freedoms if not d.prescribed]


def _force_array(tree: Tree, applied: AppliedLoads) -> dict[int, Any]:
    """f_r: applied generalised forces less the inertia forces of the acceleration remainders."""
    passed = gathered(tree, net_wrenches(tree, applied))
    force = modal_forces(tree, applied)
    for i, link in enumerate(tree.links):
        for d in free(link):
            value = minus(applied.forces.get(d.index, 0), along(d, *passed[i]))
            force[d.index] = minus(value, d.armature_effort)
        for mode, value in along_modes(tree, i, passed[i]).items():
            force[mode] = minus(force[mode], value)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    return {k: fn.named(force[k], f"f_{k + 1}") for k in unknown}


@dataclass(frozen=True, eq=False)
class Composite:
    """Mass, first moment and inertia of everything from a joint outwards."""

    mass: Any
    first: Triple
    inertia: Matrix

    @classmethod
    def of(cls, link: Link) -> Composite:
        """That of a link alone, in its present shape."""
        link = deformed(link)
        return cls(link.mass, link.first, link.inertia)

    def momentum(self, w: Triple, v: Triple) -> Wrench:
        """(angular momentum about the joint's point, momentum) for a twist."""
        n = add(matrix_vector(self.inertia, w), cross_triples(self.first, v))
        return n, add(scaled(v, self.mass), cross_triples(w, self.first))

    def named(self, name: str) -> Composite:
        """The same as intermediate values."""
        return Composite(
            self.mass, named(self.first, f"h_{name}"), named_symmetric(self.inertia, f"J_{name}")
        )

    def turned(self, link: Link) -> Composite:
        """The same in the axes of the link's parent."""
        return Composite(
            self.mass,
            named(link.rotation.to_parent(self.first), f"hp_{link.name}"),
            link.rotation.symmetric_to_parent(self.inertia, f"Jp_{link.name}"),
        )


def mass_matrix(tree: Tree) -> dict[tuple[int, int], Any]:
    """M by (row, column), row ≤ column, of all speeds that are not prescribed."""
    composites = [Composite.of(link) for link in tree.links]
    matrix: dict[tuple[int, int], Any] = {}
    modal = blocks(tree)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        own = composites[i].named(link.name)
        _own_block(link, own, matrix)
        feel(tree, i, modal, own.momentum, (ZEROS, ZEROS))
        if i in modal:
            _modal_block(tree, i, modal[i], matrix)
        if link.parent < 0:
            continue
        turned = own.turned(link)
        composites[link.parent] = joined(composites[link.parent], turned, link.offset)
        for d in free(link):
            carry_column(tree, link.parent, parent_column(link, own, turned, d), d, matrix)
    return matrix


def parent_column(link: Link, own: Composite, turned: Composite, d: Freedom) -> Wrench:
    """A column in the axes of the link's parent, about its origin."""
    axis = scaled(unit(d.direction % 3), d.sign)
    if link.step in ("turn", "slide"):  # the axis is constant in the parent
        n, f = _momenta(turned, link.rotation.to_parent(axis), d.direction >= LINEAR)
    else:
        n, f = _momenta(own, axis, d.direction >= LINEAR)
        n, f = link.rotation.to_parent(n), named(link.rotation.to_parent(f), "col_f")
    n = named(add(n, cross_triples(link.offset, f)), f"col_{d.index + 1}_n")
    return n, named(f, f"col_{d.index + 1}_f")


def column(body: Composite, d: Freedom) -> Wrench:
    """A column of M in the link's axes: what a unit of the speed gives the composite body."""
    return _momenta(body, scaled(unit(d.direction % 3), d.sign), d.direction >= LINEAR)


def _momenta(body: Composite, axis: Triple, linear: bool) -> Wrench:
    """(angular momentum about the joint's point, momentum) of a composite body for a unit speed."""
    if linear:
        return cross_triples(body.first, axis), scaled(axis, body.mass)
    n = tuple(inner(row, axis) for row in body.inertia)
    return n, cross_triples(axis, body.first)


def _own_block(link: Link, body: Composite, matrix: dict[tuple[int, int], Any]) -> None:
    freedoms = free(link)
    for position, d in enumerate(freedoms):
        n, f = column(body, d)
        for other in freedoms[: position + 1]:
            value = along(other, n, f)
            set_element(matrix, other, d, plus(value, d.armature) if other is d else value)


def _modal_block(tree: Tree, index: int, block: Block, matrix: dict[tuple[int, int], Any]) -> None:
    """Rows of a flexible link's modes: among themselves, with its joint, and towards the ground."""
    link = tree.links[index]
    block.name()
    for (p, q), value in block.masses.items():
        set_element(matrix, block.freedoms[p], block.freedoms[q], value)
    for p, (n, f) in block.wrenches.items():
        d = block.freedoms[p]
        for other in free(link):
            set_element(matrix, other, d, along(other, n, f))
        if link.parent >= 0:
            carry_column(tree, link.parent, to_parent(tree, index, n, f), d, matrix)


def carry_column(
    tree: Tree, index: int, wrench: Wrench, d: Freedom, matrix: dict[tuple[int, int], Any], hub: int = -1
) -> Wrench | None:
    """Elements of a column on its way from a link to the ground, or to a hub: what arrives there."""
    while index != hub:
        link = tree.links[index]
        for other in free(link):
            set_element(matrix, other, d, along(other, *wrench))
        if link.carrier >= 0:
            for mode, column in zip(modal_freedoms(tree, index), link.columns, strict=True):
                if not mode.prescribed:
                    set_element(matrix, mode, d, twist_dot(column, wrench))
        if link.parent < 0:
            return None
        wrench = to_parent(tree, index, *wrench)
        index = link.parent
    return wrench


def modal_freedoms(tree: Tree, index: int) -> tuple[Freedom, ...]:
    """The modes that move a flexed link."""
    modes = tree.links[tree.links[index].carrier].modes
    return () if modes is None else modes.freedoms


def set_element(matrix: dict[tuple[int, int], Any], a: Freedom, b: Freedom, value: Any) -> None:
    """An element of M: the sum, where modes meet a joint twice, through a node and through the held body."""
    i, j = sorted((a.index, b.index))
    matrix[i, j] = fn.named(plus(matrix.get((i, j), 0), value), f"M_{i + 1}_{j + 1}")


def joined(parent: Composite, child: Composite, r: Triple) -> Composite:
    """A parent's composite with a child's, which is in the parent's axes about a point at r."""
    first = add(parent.first, child.first, scaled(r, child.mass))
    shift = matrix_sum(moment_inertia(child.first, r), point_mass_inertia(child.mass, r))
    return Composite(
        plus(parent.mass, child.mass), first, matrix_sum(matrix_sum(parent.inertia, child.inertia), shift)
    )


__all__ = ["ImplicitEquations", "free", "implicit_equations", "mass_matrix"]
