"""Momenta as states: one per degree of freedom, conjugate to its speed.

With ω, v the velocity of a link and its origin, and (n, f) the angular momentum about that origin and the
momentum of everything from its joint outwards, all in the link's axes,

    p_d = s_d·(n, f)                          s_d: the link's direction of freedom d, constant in its axes
    p_d' = s_d·( N − ω × n − v × f,  F − ω × f ) + τ_d

N, F are the external loads on what is beyond the joint, about the same origin, and τ_d is what acts along the
freedom itself. Constraint forces have no part along s_d. The momenta are linear in the speeds, p = A u + b,
with A the mass matrix, symmetric, and b of the prescribed speeds: u is solved for, and A is never
differentiated.

Source: Stoneking (2010), momentum state dynamics, with the composite turning with its own frame and the axes'
rates kept, which the slides leave out. That p is conjugate to u, and so A symmetric, is what makes all joint
reactions drop out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.vectors import Triple, cross_triples, matrix_vector
from armillary.mechanics.kane import Implicit, free, mass_matrix
from armillary.mechanics.loads import Applied, Wrench, along, to_parent
from armillary.mechanics.tree import LINEAR, Link, Tree
from armillary.mechanics.triples import ZEROS, add, minus, named, plus, scaled, times
from armillary.mechanics.uncouple import uncouple


@dataclass(frozen=True, eq=False)
class Velocity:
    """Angular velocity of a link and velocity of its origin, in its axes."""

    w: Triple
    v: Triple


@dataclass(frozen=True, eq=False)
class Weight:
    """Mass and first moment of everything from a joint outwards, and free fall, in the link's axes."""

    mass: Any
    first: Triple
    fall: Triple


def moving(tree: Tree, speeds: Mapping[int, Any]) -> Tree:
    """The tree with other values for some of its speeds, by index."""
    links = [
        replace(link, freedoms=tuple(replace(d, speed=speeds.get(d.index, d.speed)) for d in link.freedoms))
        for link in tree.links
    ]
    return replace(tree, links=tuple(links))


def velocities(tree: Tree) -> list[Velocity]:
    """The motion of every link, parents first."""
    found: list[Velocity] = []
    still = Velocity(ZEROS, ZEROS)
    for link in tree.links:
        parent = found[link.parent] if link.parent >= 0 else still
        place = named(add(parent.v, cross_triples(parent.w, link.offset)), f"vj_{link.name}")
        w = add(link.rotation.to_child(parent.w), _own_speeds(link, 0))
        v = add(link.rotation.to_child(place), _own_speeds(link, LINEAR))
        found.append(Velocity(named(w, f"w_{link.name}"), named(v, f"v_{link.name}")))
    return found


def _own_speeds(link: Link, first: int) -> Triple:
    out: list[Any] = [0, 0, 0]
    for d in link.freedoms:
        if first <= d.direction < first + 3:
            out[d.direction - first] = times(d.speed, d.sign)
    return tuple(out)


def composite_momenta(tree: Tree, motions: Sequence[Velocity]) -> list[Wrench]:
    """(n, f) of everything from each joint outwards, about the link's origin and in its axes.

    A link's own part is n = Jω + h × v and f = m v + ω × h.
    """
    own: list[Wrench] = []
    for link, motion in zip(tree.links, motions, strict=True):
        n = add(matrix_vector(link.inertia, motion.w), cross_triples(link.first, motion.v))
        f = add(scaled(motion.v, link.mass), cross_triples(motion.w, link.first))
        own.append((n, f))
    return _gathered(tree, own, "l")


def _gathered(tree: Tree, own: list[Wrench], name: str) -> list[Wrench]:
    """Each link's wrench together with those of all links beyond, leaves first."""
    found = list(own)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        n, f = named(found[i][0], f"{name}n_{link.name}"), named(found[i][1], f"{name}f_{link.name}")
        found[i] = (n, f)
        if link.parent >= 0:
            up, before = to_parent(tree, i, n, f), found[link.parent]
            found[link.parent] = (add(before[0], up[0]), add(before[1], up[1]))
    return found


def weights(tree: Tree) -> list[Weight]:
    """Composite mass and first moment of every link; the names are those of the mass matrix."""
    masses = [link.mass for link in tree.links]
    firsts = [link.first for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        firsts[i] = named(firsts[i], f"h_{link.name}")
        if link.parent >= 0:
            turned = named(link.rotation.to_parent(firsts[i]), f"hp_{link.name}")
            firsts[link.parent] = add(firsts[link.parent], turned, scaled(link.offset, masses[i]))
            masses[link.parent] = plus(masses[link.parent], masses[i])
    falls: list[Triple] = []
    for link in tree.links:
        fall = falls[link.parent] if link.parent >= 0 else tree.gravity
        falls.append(named(link.rotation.to_child(fall), f"g_{link.name}"))
    return [Weight(*each) for each in zip(masses, firsts, falls, strict=True)]


def external_loads(tree: Tree, applied: Applied) -> list[Wrench]:
    """(N, F) of the applied loads, gravity not among them, on everything from each joint outwards."""
    return _gathered(tree, [applied.wrenches.get(i, (ZEROS, ZEROS)) for i in range(len(tree.links))], "e")


def conjugate(tree: Tree, momenta: Sequence[Wrench]) -> dict[int, Any]:
    """p by speed index, prescribed speeds included."""
    return {d.index: along(d, *momenta[i]) for i, link in enumerate(tree.links) for d in link.freedoms}


def conjugate_rates(
    tree: Tree,
    motions: Sequence[Velocity],
    momenta: Sequence[Wrench],
    masses: Sequence[Weight],
    external: Sequence[Wrench],
    applied: Applied,
) -> dict[int, Any]:
    """p' by speed index of all speeds that are not prescribed."""
    rates: dict[int, Any] = {}
    for i, link in enumerate(tree.links):
        if not free(link):
            continue
        (n, f), (N, F), motion, weight = momenta[i], external[i], motions[i], masses[i]
        turned = add(cross_triples(motion.w, n), cross_triples(motion.v, f))
        couple = add(N, cross_triples(weight.first, weight.fall), scaled(turned, -1))
        force = add(F, scaled(weight.fall, weight.mass), scaled(cross_triples(motion.w, f), -1))
        for d in free(link):
            value = plus(along(d, couple, force), applied.forces.get(d.index, 0))
            rates[d.index] = fn.named(value, f"pdot_{d.index + 1}")
    return rates


def solved_speeds(tree: Tree, momenta: Mapping[int, Any]) -> dict[int, Any]:
    """u by speed index from conjugate momenta: A u = p − b."""
    unknown = [d for link in tree.links for d in free(link)]
    known = moving(tree, dict.fromkeys([d.index for d in unknown], 0))
    b = conjugate(known, composite_momenta(known, velocities(known)))
    force = {
        d.index: fn.named(minus(momenta[d.index], b[d.index]), f"p_{d.index + 1}")
        for d in sorted(unknown, key=lambda d: d.index)
    }
    equations = Implicit(mass_matrix(tree), force, {d.index: d.name for d in unknown})
    return uncouple(equations, "fewest neighbours")
