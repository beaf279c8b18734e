"""Momenta as states: one per degree of freedom, conjugate to its speed.

With ω, v the velocity of a link and its origin, and (n, f) the angular momentum about that origin and the
momentum of everything from its joint outwards, all in the link's axes,

    p_d = s_d·(n, f) + a_d u_d                s_d: the link's direction of freedom d, constant in its axes;
                                              a_d: the armature of its joint
    p_d' = s_d·( N − ω × n − v × f,  F − ω × f ) + τ_d

N, F are the external loads on what is beyond the joint, about the same origin, and τ_d is what acts along the
freedom itself. Constraint forces have no part along s_d. Modes have momenta too: see momentum_modes.py.

The momenta are linear in the speeds, p = A u + b, with A the mass matrix, symmetric, and b of the prescribed
speeds: u is solved for, and A is never differentiated. A can be written out and factorised; or, as it is the
matrix of the equations of motion too, u is found joint by joint, like accelerations at rest under the forces
p − b.

Source: Stoneking (2010), momentum state dynamics, with the composite turning with its own frame and the axes'
rates kept, which the slides leave out. That p is conjugate to u, and so A symmetric, is what makes all joint
reactions drop out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, minus, plus, times
from armillary.algebra.vectors.triples import ZEROS, Triple, add, cross_triples, joined, named, scaled
from armillary.mechanics.formalisms import recursive
from armillary.mechanics.formalisms.momentum.modes import (
    Columns,
    Velocity,
    added_momentum,
    flexed_velocity,
    modal_momenta,
    modal_rates,
)
from armillary.mechanics.tree.loads import (
    AppliedLoads,
    Wrench,
    accumulated_wrenches,
    component_along,
    wrench_sum,
)
from armillary.mechanics.tree.mass_matrix import Composite, mass_matrix
from armillary.mechanics.tree.tree import ANGULAR, LINEAR, Link, Tree, deformed
from armillary.mechanics.tree.uncouple import ImplicitEquations, uncouple

WAYS = ("matrix", "recursion")  # of solving for the speeds


@dataclass(frozen=True, eq=False)
class Weight:
    """Mass and first moment of everything from a joint outwards, and free fall, in the link's axes."""

    mass: Scalar
    first: Triple
    fall: Triple


def with_speeds(tree: Tree, speeds: Mapping[int, Scalar]) -> Tree:
    """The tree with other values for some of its speeds, by index."""
    return tree.with_degrees(lambda d: replace(d, speed=speeds.get(d.index, d.speed)))


def velocities(tree: Tree) -> list[Velocity]:
    """The motion of every link, parents first."""
    found: list[Velocity] = []
    at_rest = Velocity(ZEROS, ZEROS)
    for link in tree.links:
        parent = found[link.parent] if link.parent >= 0 else at_rest
        place = named(add(parent.v, cross_triples(parent.w, link.offset)), f"vj_{link.name}")
        bent = flexed_velocity(tree, link)
        w = add(link.rotation.to_child(parent.w), _own_speeds(link, ANGULAR), bent.w)
        v = add(link.rotation.to_child(place), _own_speeds(link, LINEAR), bent.v)
        found.append(Velocity(named(w, f"w_{link.name}"), named(v, f"v_{link.name}")))
    return found


def _own_speeds(link: Link, first: int) -> Triple:
    out: list[Scalar] = [0, 0, 0]
    for d in link.freedoms:
        if first <= d.direction < first + 3:
            out[d.direction - first] = times(d.speed, d.sign)
    return joined(out)


def composite_momenta(tree: Tree, motions: Sequence[Velocity]) -> list[Wrench]:
    """(n, f) of everything from each joint outwards, about the link's origin and in its axes.

    A link's own part is n = Jω + h × v and f = m v + ω × h, and what its modes add.
    """
    own: list[Wrench] = []
    for link, motion in zip(tree.links, motions, strict=True):
        rigid, bent = Composite.of(link).momentum(motion.w, motion.v), added_momentum(link)
        own.append(wrench_sum(rigid, bent))
    return accumulated_wrenches(tree, own, "l")


def weights(tree: Tree, falls_of: Mapping[int, Triple] | None = None) -> list[Weight]:
    """Composite mass and first moment of every link; the names are those of the mass matrix. Free fall is
    that of the tree, or given for a link on the ground and all beyond it.
    """
    given = falls_of or {}
    masses = [link.mass for link in tree.links]
    firsts = [deformed(link).first for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        firsts[i] = named(firsts[i], f"h_{link.name}")
        if link.parent >= 0:
            turned = named(link.rotation.to_parent(firsts[i]), f"hp_{link.name}")
            firsts[link.parent] = add(firsts[link.parent], turned, scaled(link.offset, masses[i]))
            masses[link.parent] = plus(masses[link.parent], masses[i])
    falls: list[Triple] = []
    for i, link in enumerate(tree.links):
        fall = falls[link.parent] if link.parent >= 0 else given.get(i, tree.gravity)
        falls.append(named(link.rotation.to_child(fall), f"g_{link.name}"))
    return [Weight(*each) for each in zip(masses, firsts, falls, strict=True)]


def external_loads(tree: Tree, applied: AppliedLoads) -> list[Wrench]:
    """(N, F) of the applied loads, gravity not among them, on everything from each joint outwards."""
    return accumulated_wrenches(
        tree, [applied.wrenches.get(i, (ZEROS, ZEROS)) for i in range(len(tree.links))], "e"
    )


def conjugate_momenta(
    tree: Tree, motions: Sequence[Velocity], momenta: Sequence[Wrench]
) -> dict[int, Scalar]:
    """p by speed index, prescribed speeds included."""
    found = {
        d.index: plus(component_along(d, *momenta[i]), times(d.armature, d.speed))
        for i, link in enumerate(tree.links)
        for d in link.freedoms
    }
    return found | modal_momenta(tree, motions, momenta)


def conjugate_rates(
    tree: Tree,
    motions: Sequence[Velocity],
    momenta: Sequence[Wrench],
    masses: Sequence[Weight],
    external: Sequence[Wrench],
    applied: AppliedLoads,
    column_rates: Mapping[int, Columns],
) -> dict[int, Scalar]:
    """p' by speed index, as if no speed were prescribed."""
    balances = [_balance(*each) for each in zip(motions, momenta, masses, external, strict=True)]
    falls = [weight.fall for weight in masses]
    rates = modal_rates(tree, motions, momenta, balances, falls, applied, column_rates)
    for link, balance in zip(tree.links, balances, strict=True):
        for d in link.freedoms:
            value = plus(component_along(d, *balance), applied.forces.get(d.index, 0))
            rates[d.index] = fn.named(value, f"pdot_{d.index + 1}")
    return rates


def _balance(motion: Velocity, momentum: Wrench, weight: Weight, external: Wrench) -> Wrench:
    """External loads, weight included, less the terms of turning and moving axes."""
    n, f = momentum
    turned = add(cross_triples(motion.w, n), cross_triples(motion.v, f))
    couple = add(external[0], cross_triples(weight.first, weight.fall), scaled(turned, -1))
    force = add(external[1], scaled(weight.fall, weight.mass), scaled(cross_triples(motion.w, f), -1))
    return couple, force


def solved_speeds(tree: Tree, momenta: Mapping[int, Scalar], way: str) -> dict[int, Scalar]:
    """u by speed index from conjugate momenta, A u = p − b, with A written out or joint by joint."""
    unknown = sorted(
        (d for link in tree.links for d in link.degrees if not d.prescribed), key=lambda d: d.index
    )
    known = with_speeds(tree, dict.fromkeys([d.index for d in unknown], 0))
    motions = velocities(known)
    b = conjugate_momenta(known, motions, composite_momenta(known, motions))
    right = {d.index: fn.named(minus(momenta[d.index], b[d.index]), f"p_{d.index + 1}") for d in unknown}
    if way == "recursion":
        return recursive.accelerations(tree, AppliedLoads({}, right), at_rest=True)
    names = {d.index: d.name for d in unknown}
    return uncouple(ImplicitEquations(mass_matrix(tree), right, names), "fewest neighbours")
