"""Hubs and branches: the tree as chains of links between the links that carry several.

A hub is the ground, a link that turns freely (a drift or a tumble), a flexible link and its nodes, and every
link that carries several others. A branch is the chain of links from one hub to the next, which is its last
link, or to a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.mechanics.tree.tree import Link, Tree


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
