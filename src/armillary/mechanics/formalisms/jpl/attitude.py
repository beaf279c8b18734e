"""Attitudes and angular velocities of the substructures, all in the axes of the reference body.

    w_k = w_0 + Σ g_h γ̇_h          s_h = w_(h) × g_h γ̇_h           ẇ_k = ẇ_0 + Σ (g_h γ̈_h + s_h)

with sums over the hinges between the reference body and k, and w_(h) the angular velocity beyond hinge h.

Source: Fleischer and Likins (1975), eq. 61.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.vectors.matrices import (
    IDENTITY,
    Matrix,
    matrix_product,
    matrix_sum,
    matrix_vector,
    named_matrix,
    scaled_matrix,
    skew,
    skew_product,
    transposed,
)
from armillary.algebra.vectors.scalars import minus, times
from armillary.algebra.vectors.triples import ZEROS, Triple, add, cross_triples, named, scaled
from armillary.mechanics.formalisms.jpl.vehicle import Hinge, Vehicle
from armillary.model.joints.base import principal_rotation


@dataclass(frozen=True, eq=False)
class Attitude:
    """R[k] takes components in body k to those in body 0; axes g and s by hinge, w and S = Σ s by body."""

    R: list[Matrix]
    g: list[Triple]
    w: list[Triple]
    s: list[Triple]
    S: list[Triple]

    def into(self, k: int, v: Triple) -> Triple:
        """A vector of body k in the reference axes."""
        return matrix_vector(self.R[k], v)

    def back(self, k: int, v: Triple) -> Triple:
        """A vector of the reference axes in body k."""
        return matrix_vector(transposed(self.R[k]), v)


def attitude(vehicle: Vehicle, turning: str = "finite") -> Attitude:
    """Attitude and rates of a vehicle.

    ``turning`` is "finite", "first" (each turn as 1 + γ [g], whose products keep some second-order terms; no
    rate products) or "none" (all angles zero, no rate products).
    """
    R: list[Matrix] = []
    w: list[Triple] = []
    S: list[Triple] = []
    axes: list[Triple] = []
    s: list[Triple] = []
    for part in vehicle.substructures:
        if part.inboard < 0:
            R.append(IDENTITY)
            w.append(vehicle.spin)
            S.append(ZEROS)
            continue
        turned, spin, gained = R[part.inboard], w[part.inboard], S[part.inboard]
        for number, hinge in enumerate(part.hinges, start=1):
            label = part.name if len(part.hinges) == 1 else f"{part.name}_{number}"
            g = named(matrix_vector(turned, hinge.axis), f"g_{label}")
            rate = scaled(g, hinge.rate)
            spin = named(add(spin, rate), f"w_{label}")
            own = named(cross_triples(spin, rate), f"s_{label}") if turning == "finite" else ZEROS
            gained = add(gained, own)
            turned = named_matrix(matrix_product(turned, _turn(hinge, turning)), f"R_{label}")
            axes.append(g)
            s.append(own)
        if part.turned != IDENTITY:
            turned = named_matrix(matrix_product(turned, part.turned), f"R_{part.name}_t")
        R.append(turned)
        w.append(spin)
        S.append(named(gained, f"S_{part.name}"))
    return Attitude(R, axes, w, s, S)


def _turn(hinge: Hinge, turning: str) -> Matrix:
    """v_before = turn v_after: 1 + sin γ [g] + (1 − cos γ) [g][g]."""
    if turning == "none":
        return IDENTITY
    g = hinge.axis
    if turning == "first":
        return matrix_sum(IDENTITY, scaled_matrix(skew(g), hinge.angle))
    c, s = fn.cos(hinge.angle), fn.sin(hinge.angle)
    for i in range(3):
        if isinstance(g[i], int | float) and abs(g[i]) == 1:
            return principal_rotation(i, c, times(s, g[i]))
    return matrix_sum(IDENTITY, scaled_matrix(skew(g), s), scaled_matrix(skew_product(g, g), minus(1, c)))
