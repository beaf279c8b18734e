"""Conjugate momenta of modes, their rates, and the momentum of modal speeds.

With the modal integrals of model/flexible/part.py in their present shape, and columns φ_p = (Jl θ_p, ψ_p), in
its axes, by which mode p moves a link k that hangs at one of its nodes (or itself, where it is held at one),

    π_p = P_p·v + H_p·ω + (Mξ)_p + Σ_k φ_p·(n, f)_k
    π_p' = ½ ω·(∂J/∂η_p) ω + v·(ω × P_p) + ω·(∂H/∂η_p) ξ + v·(∂P/∂η_p) ξ + P_p·g − (Kη + Cξ)_p + applied
           + Σ_k [ φ̇_p·(n, f)_k + φ_p·(N − ω × n − v × f, F − ω × f)_k ]

(n, f)_k is the composite momentum from link k outwards. Without its part in π_p, which the slides leave out,
the rate would hold the reactions at all joints of the body.

Source: Stoneking (2010), momentum state dynamics, with second-order terms, the turning of the modes and the
conjugate momenta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.derivatives.calculus import directional_derivatives
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.vectors.matrices import matrix_vector
from armillary.algebra.vectors.scalars import Scalar, combination, inner, minus, plus, times
from armillary.algebra.vectors.triples import ZEROS, Triple, add, combined, cross_triples, joined, named
from armillary.mechanics.tree.loads import AppliedLoads, Wrench, components_along_modes, twist_dot
from armillary.mechanics.tree.tree import Link, Tree

Columns = tuple[tuple[Triple, Triple], ...]


@dataclass(frozen=True, eq=False)
class Velocity:
    """Angular velocity of a link and velocity of its origin, in its axes."""

    w: Triple
    v: Triple


def flexed_velocity(tree: Tree, link: Link) -> Velocity:
    """Motion of a link by the modes that move it, relative to its parent: none where there are none."""
    modes = tree.links[link.carrier].modes if link.columns else None
    if modes is None:
        return Velocity(ZEROS, ZEROS)
    w = combined([c[0] for c in link.columns], modes.speeds)
    v = combined([c[1] for c in link.columns], modes.speeds)
    return Velocity(named(w, f"wr_{link.name}"), named(v, f"vr_{link.name}"))


def added_momentum(link: Link) -> Wrench:
    """(Hξ, Pξ): the part of a link's momentum from its modal speeds."""
    modes = link.modes
    if modes is None:
        return ZEROS, ZEROS
    spin, drift = combined(modes.H, modes.speeds), combined(modes.P, modes.speeds)
    return named(spin, f"Hxi_{link.name}"), named(drift, f"Pxi_{link.name}")


def modal_momenta(tree: Tree, motions: Sequence[Velocity], momenta: Sequence[Wrench]) -> dict[int, Scalar]:
    """π by speed index."""
    found: dict[int, Scalar] = {}
    for link, motion in zip(tree.links, motions, strict=True):
        modes = link.modes
        for p, d in enumerate(modes.freedoms if modes is not None else ()):
            assert modes is not None
            own = twist_dot((modes.H[p], modes.P[p]), (motion.w, motion.v))
            found[d.index] = plus(own, combination(modes.M[p], modes.speeds))
    for i, wrench in enumerate(momenta):
        _join(found, components_along_modes(tree, i, wrench))
    return found


def modal_rates(
    tree: Tree,
    motions: Sequence[Velocity],
    momenta: Sequence[Wrench],
    balances: Sequence[Wrench],
    falls: Sequence[Triple],
    applied: AppliedLoads,
    column_rates: Mapping[int, Columns],
) -> dict[int, Scalar]:
    """π' by speed index; ``balances`` are loads less ω × n + v × f and ω × f, link by link."""
    found: dict[int, Scalar] = {}
    for link, motion, fall in zip(tree.links, motions, falls, strict=True):
        modes = link.modes
        for p, d in enumerate(modes.freedoms if modes is not None else ()):
            assert modes is not None
            w, v = motion.w, motion.v
            turned = times(0.5, inner(w, matrix_vector(modes.slopes[p], w)))
            moved = inner(v, add(cross_triples(w, modes.P[p]), modes.shift_slopes[p]))
            value = plus(plus(turned, moved), inner(w, modes.turn_slopes[p]))
            value = plus(value, plus(inner(modes.P[p], fall), applied.forces.get(d.index, 0)))
            found[d.index] = minus(value, modes.restoring[p])
    for i, link in enumerate(tree.links):
        _join(found, components_along_modes(tree, i, balances[i]))
        if i in column_rates:
            modes = tree.links[link.carrier].modes
            assert modes is not None
            turning = [twist_dot(column, momenta[i]) for column in column_rates[i]]
            _join(found, {d.index: x for d, x in zip(modes.freedoms, turning, strict=True)})
    return {index: fn.named(value, f"pdot_{index + 1}") for index, value in found.items()}


def column_rates(tree: Tree, rates: Mapping[Expr, Expr]) -> dict[int, Columns]:
    """φ̇ of every link that modes move, from the rates of coordinates; both of the tree's scalars."""
    found: dict[int, Columns] = {}
    for i, link in enumerate(tree.links):
        if link.columns:
            flat = [as_expr(x) for column in link.columns for triple in column for x in triple]
            turned = [0 if x.kind == "number" else x for x in directional_derivatives(flat, rates)]
            found[i] = tuple(
                (joined(turned[k : k + 3]), joined(turned[k + 3 : k + 6])) for k in range(0, len(turned), 6)
            )
    return found


def _join(found: dict[int, Scalar], more: Mapping[int, Scalar]) -> None:
    for index, value in more.items():
        found[index] = plus(found[index], value)
