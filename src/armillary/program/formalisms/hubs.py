"""Hubs and branches of a tree, and the contributions of branches to the equations of their hub."""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.triples import AXES, ZEROS, Matrix, Scalar, Triple, joined, scaled, transposed
from armillary.mechanics.tree.articulated_inertia import Articulated, upper
from armillary.mechanics.tree.tree import Link, Tree
from armillary.mechanics.tree.uncouple import Eliminated

# Hubs and branches: the tree as chains of links between the links that carry several.
#
# A hub is the ground, a link that turns freely (a drift or a tumble), a flexible link and its nodes, and
# every link that carries several others. A branch is the chain of links from one hub to the next, which is
# its last link, or to a leaf.


@dataclass(frozen=True)
class TreeBranch:
    """Links in a row on a hub, which comes before the first; the last may be a hub itself.

    The modes of a flexible link are a branch without links.
    """

    name: str  # of the first link
    hub: int  # −1: the ground
    links: tuple[int, ...]


def branches(tree: Tree) -> list[TreeBranch]:
    """All branches of links, each after the one that leads to its hub."""
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
    return {i for i, link in enumerate(tree.links) if children[i] > 1 or _hub_by_itself(link)}


def _hub_by_itself(link: Link) -> bool:
    return link.step in ("drift", "tumble") or link.modes is not None or link.carrier >= 0


# Contributions of branches to the equations of their hub, named as in Basilisk.
#
#     A a + B α = v_trans        C a + D α = v_rot
#
# about the hub's origin and in its axes, a and α its linear and angular acceleration beyond the remainders.
# Source: Allard (2018), eqs. 61 to 75.

# Numbers of a hub's six accelerations among the unknowns of a branch, a before α.
LINEAR_ROWS, ANGULAR_ROWS = (-6, -5, -4), (-3, -2, -1)
HUB = (*LINEAR_ROWS, *ANGULAR_ROWS)
NOTHING = Articulated((ZEROS, ZEROS, ZEROS), (ZEROS, ZEROS, ZEROS), (ZEROS, ZEROS, ZEROS), ZEROS, ZEROS)


@dataclass(frozen=True, eq=False)
class Contribution:
    """Terms that a branch adds to the equations of its hub beyond its inertia as a rigid part of it."""

    branch: str
    hub: str
    A: Matrix
    B: Matrix
    D: Matrix
    v_trans: Triple
    v_rot: Triple

    @property
    def C(self) -> Matrix:
        """Moments for linear accelerations: the transpose of B."""
        return transposed(self.B)

    @property
    def felt(self) -> Articulated:
        """The same as an articulated inertia, with the wrench at zero acceleration."""
        return Articulated(self.D, self.C, self.A, scaled(self.v_rot, -1), scaled(self.v_trans, -1))


def hub_rows(body: Articulated) -> tuple[dict[tuple[int, int], Scalar], dict[int, Scalar]]:
    """Elements and right sides of the hub's equations for an articulated inertia at the hub."""
    matrix = {}
    for i in range(3):
        for j in range(3):
            matrix[LINEAR_ROWS[i], LINEAR_ROWS[j]] = body.M[i][j]
            matrix[LINEAR_ROWS[i], ANGULAR_ROWS[j]] = body.H[j][i]
            matrix[ANGULAR_ROWS[i], ANGULAR_ROWS[j]] = body.J[i][j]
    return matrix, dict(zip(HUB, (*scaled(body.f, -1), *scaled(body.n, -1)), strict=True))


def left_at_hub(eliminated: Eliminated) -> Articulated:
    """The hub's rows after an elimination, as an articulated inertia and its wrench."""

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
    """The hub's rows after the elimination of a branch, shown by name in the generated program."""

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
