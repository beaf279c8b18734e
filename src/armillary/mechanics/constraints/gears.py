"""Gears: constraints with constant factors, and the groups of links that they tie together.

A mimic joint, a gear or a differential is a row Σ J_j u_j + b(t) = 0 with constant J. Its dependent speed is
a constant combination of others wherever the mechanism is, so that it can be given up inside the recursion:
the links that a gear ties together are eliminated as one group, with one unknown for each independent speed
(see gear_groups.py). A group holds all links on the paths between the geared joints, and hangs on one link,
its hub. Groups that share a link are one.

Source: Jain (2012), Multibody graph transformations and analysis, part II: constraint embedding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from armillary.algebra.vectors.scalars import Scalar, is_constant
from armillary.mechanics.constraints.rows import ConstraintRow, Elimination, EliminationStep
from armillary.mechanics.tree.tree import Tree

# Unknowns of a group with one gear beyond which multipliers cost less: its mass matrix is full. Two arms of n
# joints on a free body whose tips mimic each other (2n − 1 unknowns) take, in products of the same tree
# without the gear, 0.99, 1.06, 1.19, 1.26 as a group and 1.36, 1.30, 1.28, 1.27 by a multiplier for n = 2, 4,
# 6, 7. Each multiplier costs as much again, a group grows with the square of its unknowns.
LARGEST = 13


@dataclass(frozen=True, eq=False)
class Cluster:
    """Links that are eliminated together, in the order of the tree, on their hub (−1: the ground)."""

    links: tuple[int, ...]
    hub: int
    unknowns: tuple[int, ...]
    gears: int  # how many speeds are given up


@dataclass(frozen=True, eq=False)
class Gears:
    """Dependent speeds with constant factors, by index, and their groups of links."""

    factors: Mapping[int, Mapping[int, Scalar]] = field(default_factory=dict)
    clusters: tuple[Cluster, ...] = ()


@dataclass(frozen=True, eq=False)
class GearedTree:
    """A tree whose geared speeds are dependent, and the constraints that are left to multipliers."""

    tree: Tree
    gears: Gears
    rows: tuple[ConstraintRow, ...]
    remainders: tuple[Scalar, ...]


def embed_gears(tree: Tree, elimination: Elimination, remainders: Sequence[Scalar]) -> GearedTree:
    """A tree of free speeds under its constraints, with those of constant factors taken out as gears."""
    chosen = {row.constraint.name: step.speed for row, step in _steps(elimination)}
    candidates = [row for row in elimination.kept if all(is_constant(a) for a in row.coefficients.values())]
    found, clusters = _embedded(tree, candidates, chosen)
    while bad := {
        d for c in clusters if not _worthwhile(tree, c) for i in c.links for d in _indices(tree, i)
    }:
        candidates = [row for row in candidates if bad.isdisjoint(row.coefficients)]
        found, clusters = _embedded(tree, candidates, chosen)
    taken = {row.constraint.name for row in found.kept}
    gamma = {row.constraint.name: g for row, g in zip(elimination.kept, remainders, strict=True)}
    rates = found.solve([gamma[row.constraint.name] for row in found.kept], "c")

    others = tuple(row for row in elimination.kept if row.constraint.name not in taken)
    return GearedTree(
        tree.with_dependent_rates(rates) if taken else tree,
        Gears(found.factors, clusters),
        others,
        tuple(gamma[row.constraint.name] for row in others),
    )


def _steps(elimination: Elimination) -> list[tuple[ConstraintRow, EliminationStep]]:
    return [(elimination.kept[step.row], step) for step in elimination.steps]


def _embedded(
    tree: Tree, rows: Sequence[ConstraintRow], chosen: Mapping[str, int]
) -> tuple[Elimination, tuple[Cluster, ...]]:
    """The rows solved for the speeds that all constraints together chose, where these are left in them."""
    result = Elimination()
    for row in rows:
        coefficients, known, uses = result.reduced(row)
        if chosen[row.constraint.name] in coefficients:
            result.eliminate(row, chosen[row.constraint.name], coefficients, known, uses)
    return result, _clusters(tree, result.factors)


def _clusters(tree: Tree, factors: Mapping[int, Mapping[int, Scalar]]) -> tuple[Cluster, ...]:
    owner = {d: i for i in range(len(tree.links)) for d in _indices(tree, i)}
    groups: list[set[int]] = []
    for d, shares in factors.items():
        groups = _joined(groups, {owner[j] for j in (d, *shares)})
    while True:
        closed: list[set[int]] = []
        for group in groups:
            closed = _joined(closed, _paths(tree, group))
        if closed == groups:
            break
        groups = closed
    made = []
    for group in groups:
        links = tuple(sorted(group))
        indices = [d.index for i in links for d in tree.links[i].freedoms if not d.prescribed]
        unknowns = tuple(d for d in indices if d not in factors)
        made.append(Cluster(links, tree.links[links[0]].parent, unknowns, len(indices) - len(unknowns)))
    return tuple(made)


def _joined(groups: Sequence[set[int]], new: set[int]) -> list[set[int]]:
    """The groups with one more, which takes in those that share a link with it."""
    apart = [g for g in groups if g.isdisjoint(new)]
    return [*apart, new.union(*(g for g in groups if not g.isdisjoint(new)))]


def _paths(tree: Tree, links: set[int]) -> set[int]:
    """All links between some, up to the first that carries all of them, itself only where it is one."""
    lines = [tree.path_to_ground(i) for i in links]
    common = set(lines[0]).intersection(*lines[1:])
    top = max(common, default=-1)
    found = {i for line in lines for i in line if i > top}
    return found | ({top} if top in links else set())


def _indices(tree: Tree, i: int) -> list[int]:
    return [d.index for d in tree.links[i].degrees]


def _worthwhile(tree: Tree, cluster: Cluster) -> bool:
    """Whether a group of rigid links is small enough; modes are eliminated on their own."""
    rigid = all(tree.links[i].modes is None and tree.links[i].carrier < 0 for i in cluster.links)
    return rigid and 0 < len(cluster.unknowns) <= LARGEST * math.sqrt(cluster.gears)
