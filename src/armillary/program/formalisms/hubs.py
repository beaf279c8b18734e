"""Hubs and branches of a tree, and the contributions of branches to the equations of their hub.

An articulated inertia is a general symmetric 6×6 matrix about a link's origin, in the link's axes. Let (α, a)
be the angular and linear acceleration of the link without the remainders (the parts of accelerations that do
not depend on rates of speeds). Then the wrench on the link is

    n = J α + H a + p_n        f = Hᵀ α + M a + p_f

At the parent, after a rotation to its axes and a shift by the offset r,

    M' = M     H' = H + r̃ M     J' = J − H r̃ + r̃ H'ᵀ.

Source: Featherstone (1983).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    AXES,
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    joined,
    matrix_sum,
    matrix_vector,
    named,
    named_matrix,
    named_symmetric,
    plus,
    scaled,
    skew,
    transposed,
)
from armillary.mechanics.tree.kinematics import Wrench, wrench_at_parent
from armillary.mechanics.tree.mass_matrix import Eliminated
from armillary.mechanics.tree.tree import LINEAR, Freedom, Link, Tree, moment_inertia, point_mass_inertia


@dataclass(frozen=True, eq=False)
class Articulated:
    """Articulated inertia at a link's origin, and the wrench p at zero acceleration.

    ``rigid`` is (m, h) for a rigid body; its H = h̃ and M = m 1 take fewer operations to move to the parent.
    """

    J: Matrix
    H: Matrix
    M: Matrix
    n: Triple
    f: Triple
    rigid: tuple[Scalar, Triple] | None = None

    def with_names(self, name: str) -> Articulated:
        """Return the inertia with its elements as intermediate values."""
        if self.rigid is not None:
            mass, first = self.rigid
            J = named_symmetric(self.J, f"J_{name}")
            n, f = named(self.n, f"n_{name}"), named(self.f, f"f_{name}")
            return rigid_body(mass, named(first, f"h_{name}"), J, n, f)
        return Articulated(
            named_symmetric(self.J, f"J_{name}"),
            named_matrix(self.H, f"H_{name}"),
            named_symmetric(self.M, f"M_{name}"),
            named(self.n, f"n_{name}"),
            named(self.f, f"f_{name}"),
        )

    def answer(self, alpha: Triple, a: Triple) -> Wrench:
        """Return (n, f) for an acceleration (α, a)."""
        n = add(matrix_vector(self.J, alpha), matrix_vector(self.H, a))
        return n, add(matrix_vector(transposed(self.H), alpha), matrix_vector(self.M, a))

    def column(self, d: Freedom) -> Wrench:
        """Return (n, f) for a unit acceleration along a degree of freedom."""
        k = d.direction % 3
        if d.direction >= LINEAR:
            return scaled([row[k] for row in self.H], d.sign), scaled(self.M[k], d.sign)
        return scaled(self.J[k], d.sign), scaled(self.H[k], d.sign)


def rigid_body(mass: Scalar, first: Triple, inertia: Matrix, n: Triple, f: Triple) -> Articulated:
    """Return the inertia of a rigid body about a point, with first moment h and inertia J there."""
    M: Matrix = ((mass, 0, 0), (0, mass, 0), (0, 0, mass))
    return Articulated(inertia, skew(first), M, n, f, (mass, first))


def inertia_at_parent(tree: Tree, index: int, body: Articulated) -> Articulated:
    """Return a link's articulated inertia at its parent's origin, in the parent's axes."""
    link = tree.links[index]
    if body.rigid is not None:
        return _carried_rigid(tree, index, body)
    M = link.rotation.symmetric_to_parent(body.M, f"Mp_{link.name}")
    H = link.rotation.general_to_parent(body.H, f"Hp_{link.name}")
    J = link.rotation.symmetric_to_parent(body.J, f"Jp_{link.name}")
    n, f = wrench_at_parent(tree, index, body.n, body.f)
    r = link.offset
    shifted = named_matrix(matrix_sum(H, _tilde_times(r, M)), f"Hs_{link.name}")
    moved = matrix_sum(matrix_sum(J, _minus_times_tilde(H, r)), _tilde_times(r, transposed(shifted)))
    return Articulated(upper(moved), shifted, M, n, f)


def _carried_rigid(tree: Tree, index: int, body: Articulated) -> Articulated:
    link = tree.links[index]
    assert body.rigid is not None
    mass, first = body.rigid
    h = named(link.rotation.to_parent(first), f"hp_{link.name}")
    J = link.rotation.symmetric_to_parent(body.J, f"Jp_{link.name}")
    r = link.offset
    shift = matrix_sum(moment_inertia(h, r), point_mass_inertia(mass, r))
    n, f = wrench_at_parent(tree, index, body.n, body.f)
    return rigid_body(mass, add(h, scaled(r, mass)), matrix_sum(J, shift), n, f)


def inertia_sum(a: Articulated, b: Articulated) -> Articulated:
    """Return the sum of two inertias about the same point."""
    if a.rigid is not None and b.rigid is not None:
        mass, first = plus(a.rigid[0], b.rigid[0]), add(a.rigid[1], b.rigid[1])
        return rigid_body(mass, first, matrix_sum(a.J, b.J), add(a.n, b.n), add(a.f, b.f))
    return Articulated(
        matrix_sum(a.J, b.J), matrix_sum(a.H, b.H), matrix_sum(a.M, b.M), add(a.n, b.n), add(a.f, b.f)
    )


def acceleration_from_parent(
    link: Link, reached: Sequence[Wrench] | Mapping[int, Wrench]
) -> tuple[Triple, Triple]:
    """Return (α, a) of a link that moves with its parent, without the motion of its joint."""
    if link.parent < 0:
        return ZEROS, ZEROS
    alpha, a = reached[link.parent]
    place = named(add(a, cross_triples(alpha, link.offset)), f"ap_{link.name}")
    turned, moved = link.rotation.to_child(alpha), link.rotation.to_child(place)
    return named(turned, f"al_{link.name}"), named(moved, f"al_{link.name}")


def _tilde_times(r: Triple, a: Matrix) -> Matrix:
    """r̃ a: the cross product of r with each column."""
    columns = [cross_triples(r, column) for column in transposed(a)]
    return transposed(joined(columns))


def _minus_times_tilde(a: Matrix, r: Triple) -> Matrix:
    """−a r̃: r × each row, since a r̃ = −(r̃ aᵀ)ᵀ."""
    return joined(cross_triples(r, row) for row in a)


def upper(a: Matrix) -> Matrix:
    """Return a symmetric matrix from its upper half, so that equal elements are the same expressions."""
    return joined(joined(a[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))


# Hubs and branches: the tree as chains of links between hubs.
#
# Hubs are the ground, links that rotate freely (a drift or a tumble), flexible links and their nodes, and
# links that carry several other links. A branch is the chain of links beyond one hub, up to and including the
# next hub or a leaf.


@dataclass(frozen=True)
class TreeBranch:
    """A chain of links on a hub, the parent of the first link; the last link may be a hub itself.

    The modes of a flexible link are a branch without links.
    """

    name: str  # of the first link
    hub: int  # −1: the ground
    links: tuple[int, ...]


def branches(tree: Tree) -> list[TreeBranch]:
    """Return all branches with links, each after the branch that leads to its hub."""
    hubs = _hubs(tree)
    chains: dict[int, list[int]] = {}
    beginning: dict[int, int] = {}
    for i, link in enumerate(tree.links):
        begins = link.parent < 0 or link.parent in hubs
        beginning[i] = i if begins else beginning[link.parent]
        chains.setdefault(beginning[i], []).append(i)
    return [TreeBranch(tree.links[i].name, tree.links[i].parent, tuple(chain)) for i, chain in chains.items()]


def _hubs(tree: Tree) -> set[int]:
    children = [0] * len(tree.links)
    for link in tree.links:
        if link.parent >= 0:
            children[link.parent] += 1
    return {i for i, link in enumerate(tree.links) if children[i] > 1 or _is_hub_kind(link)}


def _is_hub_kind(link: Link) -> bool:
    return link.step in ("drift", "tumble") or link.modes is not None or link.carrier >= 0


# Contributions of branches to the equations of their hub, named as in Basilisk.
#
#     A a + B α = v_trans        C a + D α = v_rot
#
# about the hub's origin and in its axes; a and α are the hub's linear and angular acceleration without the
# remainders.
# Source: Allard (2018), eqs. 61 to 75.

# Indices of a hub's six accelerations among the unknowns of a branch, a before α.
LINEAR_ROWS, ANGULAR_ROWS = (-6, -5, -4), (-3, -2, -1)
HUB = (*LINEAR_ROWS, *ANGULAR_ROWS)
NOTHING = Articulated((ZEROS, ZEROS, ZEROS), (ZEROS, ZEROS, ZEROS), (ZEROS, ZEROS, ZEROS), ZEROS, ZEROS)


@dataclass(frozen=True, eq=False)
class Contribution:
    """Terms that a branch adds to the equations of the hub and its branches as one rigid body."""

    branch: str
    hub: str
    A: Matrix
    B: Matrix
    D: Matrix
    v_trans: Triple
    v_rot: Triple

    @property
    def C(self) -> Matrix:
        """Moments per linear acceleration: the transpose of B."""
        return transposed(self.B)

    @property
    def felt(self) -> Articulated:
        """The contribution as an articulated inertia, with the wrench at zero acceleration."""
        return Articulated(self.D, self.C, self.A, scaled(self.v_rot, -1), scaled(self.v_trans, -1))


def hub_rows(body: Articulated) -> tuple[dict[tuple[int, int], Scalar], dict[int, Scalar]]:
    """Return (elements, right sides) of the hub's equations for an articulated inertia at the hub."""
    matrix = {}
    for i in range(3):
        for j in range(3):
            matrix[LINEAR_ROWS[i], LINEAR_ROWS[j]] = body.M[i][j]
            matrix[LINEAR_ROWS[i], ANGULAR_ROWS[j]] = body.H[j][i]
            matrix[ANGULAR_ROWS[i], ANGULAR_ROWS[j]] = body.J[i][j]
    return matrix, dict(zip(HUB, (*scaled(body.f, -1), *scaled(body.n, -1)), strict=True))


def left_at_hub(eliminated: Eliminated) -> Articulated:
    """Return the hub's rows after an elimination, as an articulated inertia."""

    def block(rows: tuple[int, ...], columns: tuple[int, ...]) -> Matrix:
        return joined(joined(eliminated.rows[i].get(j, 0) for j in columns) for i in rows)

    def wrench(rows: tuple[int, ...]) -> Triple:
        return scaled(tuple(eliminated.force[i] for i in rows), -1)

    return Articulated(
        upper(block(ANGULAR_ROWS, ANGULAR_ROWS)),
        block(ANGULAR_ROWS, LINEAR_ROWS),
        upper(block(LINEAR_ROWS, LINEAR_ROWS)),
        wrench(ANGULAR_ROWS),
        wrench(LINEAR_ROWS),
    )


def contribution(branch: str, hub: str, eliminated: Eliminated) -> Contribution:
    """Return the hub's rows after the elimination of a branch, with names in the generated program."""

    def block(letter: str, rows: tuple[int, ...], columns: tuple[int, ...]) -> Matrix:
        return joined(
            joined(
                fn.display_value(
                    eliminated.rows[i].get(j, 0), f"{letter}_{branch}_{AXES[i % 3]}{AXES[j % 3]}"
                )
                for j in columns
            )
            for i in rows
        )

    def right(word: str, rows: tuple[int, ...]) -> Triple:
        return joined(fn.display_value(eliminated.force[i], f"{word}_{branch}_{AXES[i % 3]}") for i in rows)

    return Contribution(
        branch,
        hub,
        upper(block("A", LINEAR_ROWS, LINEAR_ROWS)),
        block("B", LINEAR_ROWS, ANGULAR_ROWS),
        upper(block("D", ANGULAR_ROWS, ANGULAR_ROWS)),
        right("v_trans", LINEAR_ROWS),
        right("v_rot", ANGULAR_ROWS),
    )
