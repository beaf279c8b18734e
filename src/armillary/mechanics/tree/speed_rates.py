"""From solved accelerations to the rates of the user's speeds.

Formalisms solve for accelerations along each link's own directions; only a drifting body's linear speeds
differ from those:

    speeds in body axes     u̇ = x + Rᵀg − ω × u
    speeds in parent axes   u̇ = Rᵥᵀ (R x + g), with R from the link to its carrier, whose axes Rᵥ turns from
                            those of the parent body
"""

from __future__ import annotations

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar
from armillary.algebra.vectors.triples import Triple, add, joined
from armillary.mechanics.tree.kinematics import drift_correction, relative_spin
from armillary.mechanics.tree.tree import LINEAR, Link, Tree


def speed_rates(tree: Tree, x: dict[int, Scalar]) -> dict[int, Scalar]:
    """u̇ by speed index, prescribed ones included."""
    rates: dict[int, Scalar] = {}
    for link in tree.links:
        for d in link.degrees:
            rates[d.index] = x[d.index] if d.rate is None or d.dependent else d.rate
        if link.step == "drift":
            _drift_rates(tree, link, x, rates)
    return rates


def _drift_rates(tree: Tree, link: Link, x: dict[int, Scalar], rates: dict[int, Scalar]) -> None:
    linear = [d for d in link.freedoms if d.direction >= LINEAR]
    raw: list[Scalar] = [0, 0, 0]
    for d in linear:
        if not d.prescribed:
            raw[d.direction % 3] = x[d.index]
    if link.velocity == "body":
        gained: Triple = add(tuple(raw), drift_correction(link, relative_spin(link), tree))
    else:
        fall = tree.gravity if link.parent < 0 else (0, 0, 0)
        turned = link.rotation.to_parent(joined(fn.named(v, "x") for v in raw))
        gained = link.velocity_axes.to_child(add(turned, fall))
    for d in linear:
        if not d.prescribed:
            rates[d.index] = gained[d.direction % 3]
