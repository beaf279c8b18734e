"""Back substitution: each branch of the tree is eliminated as a block, then hubs are solved from the root.

A branch is a chain of links, and its hub is the parent of its first link. Let x be the unknowns of the
branch, and (a, α) the acceleration of the hub in hub axes, without the remainders (the parts of accelerations
that do not depend on rates of speeds). F and G are the columns of the mass matrix that couple x with a and α:

    M_bb x + F a + G α = f_b

So with E = M_bb⁻¹ a branch contributes to the equations of its hub

    A_c = −Fᵀ E F     B_c = −Fᵀ E G     C_c = B_cᵀ     D_c = −Gᵀ E G
    v_trans_c = −f − Fᵀ E f_b           v_rot_c = −n − Gᵀ E f_b

where (n, f) is the wrench on the hub from the branch's remainders. With m, h and J of the hub and
its branches as one rigid body, the hub's equations have

    A = m 1 + Σ A_c     B = −h̃ + Σ B_c     C = h̃ + Σ C_c     D = J + Σ D_c

For a free body on the ground, α = (D − C A⁻¹ B)⁻¹ (v_rot − C A⁻¹ v_trans), then a follows, then x of every
branch. A hub within a branch passes its contributions on as a general 6×6 inertia, so branches may be nested.
The modes of a flexible link are a separate branch. M_bb of a chain is full, so the cost grows with the cube
of a branch's length; the recursion is better for long chains.

Source: Allard (2018), whose branches are chains of equal panels. Three things differ. In his equations a row
is the difference of the rows of two adjacent panels, so that M_bb is not symmetric; E F and E G are the same.
His v_trans and v_rot lack the terms in ω of the vehicle as a rigid body and contain gravity; here
accelerations are relative to free fall. He solves for α before a; here the six rows of a hub are eliminated
in the cheapest order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from armillary.algebra import functions as fn
from armillary.algebra.expression import as_expr
from armillary.algebra.functions import Signed
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    joined,
    minus,
    named,
    plus,
    times,
)
from armillary.algebra.truncation import Truncation
from armillary.errors import ModelError
from armillary.mechanics.tree.kinematics import (
    AppliedLoads,
    Wrench,
    applied_loads,
    component_along,
    modal_forces,
    net_wrenches,
    wrench_at_parent,
    wrench_sum,
)
from armillary.mechanics.tree.mass_matrix import (
    Composite,
    Eliminated,
    ImplicitEquations,
    ModalEquations,
    carry_column,
    composite_with_child,
    couple_to_modes,
    eliminate,
    modal_equations,
    momentum_column,
    parent_column,
    set_element,
    unknown_freedoms,
)
from armillary.mechanics.tree.tree import Freedom, Link, Tree
from armillary.program.formalisms import hubs as articulated
from armillary.program.formalisms.hubs import (
    HUB,
    NOTHING,
    Articulated,
    Contribution,
    TreeBranch,
    acceleration_from_parent,
    branches,
    contribution,
    hub_rows,
    inertia_at_parent,
)
from armillary.program.formalisms.recursive import flexed_acceleration

if TYPE_CHECKING:
    from armillary.program.equations import DerivedEquations


# On Spacecraft 2 this order is 4 % cheaper than the elimination of a before α; on chains of panels both are
# equal.
_ORDER = "fewest neighbours"


@dataclass(frozen=True, eq=False)
class EliminatedBranch:
    """A branch with its unknowns eliminated; a branch on the ground has no contribution."""

    branch: TreeBranch
    eliminated: Eliminated
    contribution: Contribution | None


def accelerations(tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Scalar]:
    """Return the unknowns x by speed index. If ``at_rest``, only the applied loads cause them, and speeds and
    gravity are zero.
    """
    return _outward(tree, eliminate_branches(tree, applied, at_rest=at_rest))


def eliminate_branches(tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> list[EliminatedBranch]:
    """Eliminate all branches; return them from the ground outwards, modes after the branch of their link."""
    inward = _Inward(tree, applied, at_rest)
    for branch in reversed(branches(tree)):
        inward.eliminate(branch)
    return inward.found[::-1]


class _Inward:
    """The pass from the leaves to the ground: rigid composites, and contributions of eliminated branches."""

    def __init__(self, tree: Tree, applied: AppliedLoads, at_rest: bool) -> None:
        self.tree = tree
        self.forces = applied.forces
        wrenches = [(ZEROS, ZEROS)] * len(tree.links) if at_rest else net_wrenches(tree, applied)
        self.rigid = [Composite.of(link) for link in tree.links]
        self.beyond = [Articulated(NOTHING.J, NOTHING.H, NOTHING.M, n, f) for n, f in wrenches]
        self.modal = modal_equations(tree, modal_forces(tree, applied, at_rest=at_rest))
        self.found: list[EliminatedBranch] = []

    def eliminate(self, branch: TreeBranch) -> None:
        """Eliminate one branch, and add its contribution to the inertia at its hub."""
        matrix: dict[tuple[int, int], Scalar] = {}
        force: dict[int, Scalar] = {}
        names: dict[int, str] = {}
        at_hub = NOTHING
        for i in reversed(branch.links):
            link = self.tree.links[i]
            own = self.rigid[i].with_names(link.name)
            beyond = self._without_modes(i, own, self.beyond[i].with_names(link.name))
            for d in unknown_freedoms(link):
                value = minus(self.forces.get(d.index, 0), component_along(d, beyond.n, beyond.f))
                force[d.index] = fn.named(value, f"f_{d.index + 1}")
                names[d.index] = d.name
            _own_elements(link, own, beyond, matrix)
            if link.parent < 0:
                continue
            turned = own.in_parent_axes(link)
            self.rigid[link.parent] = composite_with_child(self.rigid[link.parent], turned, link.offset)
            arrived = inertia_at_parent(self.tree, i, beyond)
            if link.parent == branch.hub:
                at_hub = arrived
            else:
                self.beyond[link.parent] = articulated.inertia_sum(self.beyond[link.parent], arrived)
            for d in unknown_freedoms(link):
                wrench = parent_column(link, own, turned, d)
                wrench = _with(wrench, wrench_at_parent(self.tree, i, *beyond.column(d)), d)
                self._carry(branch, link.parent, d, wrench, matrix)
        self._close(branch, ImplicitEquations(matrix, force, names), at_hub)

    def _without_modes(self, i: int, own: Composite, beyond: Articulated) -> Articulated:
        """Eliminate a link's modes; return the inertia that branches add to the link's rigid composite."""

        def answer(alpha: Triple, a: Triple) -> Wrench:
            return wrench_sum(own.momentum(alpha, a), beyond.answer(alpha, a))

        couple_to_modes(self.tree, i, self.modal, answer, (beyond.n, beyond.f))
        if i not in self.modal:
            return beyond
        name = f"{self.tree.links[i].name}_modes"
        self.beyond[i] = beyond
        self._close(TreeBranch(name, i, ()), _modal_equations(self.modal[i]), NOTHING)
        return self.beyond[i]

    def _close(self, branch: TreeBranch, equations: ImplicitEquations, at_hub: Articulated) -> None:
        if branch.hub < 0:
            self.found.append(EliminatedBranch(branch, eliminate(equations, _ORDER), None))
            return
        matrix, force = hub_rows(at_hub)
        whole = ImplicitEquations(equations.matrix | matrix, equations.force | force, equations.names)
        eliminated = eliminate(whole, _ORDER, keep=HUB)
        made = contribution(branch.name, self.tree.links[branch.hub].name, eliminated)
        self.beyond[branch.hub] = articulated.inertia_sum(self.beyond[branch.hub], made.felt)
        self.found.append(EliminatedBranch(branch, eliminated, made))

    def _carry(
        self,
        branch: TreeBranch,
        index: int,
        d: Freedom,
        wrench: Wrench,
        matrix: dict[tuple[int, int], Scalar],
    ) -> None:
        """Set the elements of a column along its path to the hub, and the six couplings at the hub."""
        arrived = carry_column(self.tree, index, wrench, d, matrix, branch.hub)
        if arrived is not None:
            n, f = arrived
            matrix |= {(key, d.index): value for key, value in zip(HUB, (*f, *n), strict=True)}


def _modal_equations(block: ModalEquations) -> ImplicitEquations:
    """Return a flexible link's modal equations with its six accelerations among the unknowns."""
    block.name()
    index = {p: block.freedoms[p].index for p in block.active}
    matrix = {(index[p], index[q]): value for (p, q), value in block.masses.items()}
    for p, (n, f) in block.wrenches.items():
        matrix |= {(key, index[p]): value for key, value in zip(HUB, (*f, *n), strict=True)}
    force = {index[p]: value for p, value in block.force.items()}
    return ImplicitEquations(matrix, force, {index[p]: block.freedoms[p].name for p in block.active})


def _own_elements(
    link: Link, own: Composite, beyond: Articulated, matrix: dict[tuple[int, int], Scalar]
) -> None:
    freedoms = unknown_freedoms(link)
    for position, d in enumerate(freedoms):
        n, f = _with(momentum_column(own, d), beyond.column(d), d)
        for other in freedoms[: position + 1]:
            value = component_along(other, n, f)
            set_element(matrix, other, d, plus(value, d.armature) if other is d else value)


def _with(wrench: Wrench, more: Wrench, d: Freedom) -> Wrench:
    label = f"col_{d.index + 1}"
    n, f = wrench_sum(wrench, more)
    return named(n, f"{label}_n"), named(f, f"{label}_f")


def _outward(tree: Tree, found: list[EliminatedBranch]) -> dict[int, Scalar]:
    """Return x of all branches, computed from the ground outwards from the accelerations of hubs."""
    x: dict[int, Scalar] = {}
    hubs = {block.branch.hub for block in found}
    reached: dict[int, tuple[Triple, Triple]] = {}
    for block in found:
        hub, links = block.branch.hub, block.branch.links
        alpha, a = reached[hub] if hub >= 0 else (ZEROS, ZEROS)
        x |= block.eliminated.solution(dict(zip(HUB, (*a, *alpha), strict=True)))
        if not links and tree.links[hub].carrier == hub:  # a body held at its own node: its modes move it
            reached[hub] = flexed_acceleration(tree, hub, alpha, a, x)
        if links and links[-1] in hubs:
            for i in links:
                reached[i] = _link_acceleration(tree, i, reached, x)
    return x


def _link_acceleration(
    tree: Tree, i: int, reached: Mapping[int, tuple[Triple, Triple]], x: Mapping[int, Scalar]
) -> tuple[Triple, Triple]:
    """Return (α, a) of a link, including the accelerations along its own degrees of freedom."""
    link = tree.links[i]
    alpha, a = acceleration_from_parent(link, reached)
    if link.carrier not in (-1, i):
        alpha, a = flexed_acceleration(tree, i, alpha, a, x)
    values = [*alpha, *a]
    for d in unknown_freedoms(link):
        moved = plus(values[d.direction], times(x[d.index], d.sign))
        values[d.direction] = fn.named(moved, Signed(f"acc_{d.index + 1}"))
    return joined(values[:3]), joined(values[3:])


# Contributions of branches to their hubs, for users who inspect equations by back substitution.


def contributions(equations: DerivedEquations) -> dict[str, Contribution]:
    """Return A, B, C, D, v_trans and v_rot of every branch by its name, as expressions.

    The derivation of the branches is repeated. Equal expressions are the same nodes, so these are the
    values that the generated program shows as A_<branch>_xx and so on.
    """
    if equations.formalism != "back_substitution":
        raise ModelError(
            f"equations by '{equations.formalism}' have no contributions of branches to hubs; "
            'use derive(formalism="back_substitution")'
        )
    reduction = equations.reduction
    rule = reduction.plain.truncation
    with truncate_new_nodes(None if rule is None else Truncation(rule.keep)):
        loads = applied_loads(equations.system, reduction.tree, reduction.plain)
        found = eliminate_branches(reduction.free_tree or reduction.tree, loads)
    made = [_expressions(b.contribution) for b in found if b.contribution is not None]
    return {c.branch: c for c in made}


def _expressions(c: Contribution) -> Contribution:
    def triple(values: Triple) -> Triple:
        x, y, z = map(as_expr, values)
        return x, y, z

    def matrix(rows: Matrix) -> Matrix:
        x, y, z = map(triple, rows)
        return x, y, z

    return replace(
        c, A=matrix(c.A), B=matrix(c.B), D=matrix(c.D), v_trans=triple(c.v_trans), v_rot=triple(c.v_rot)
    )
