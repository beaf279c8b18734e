"""Barycentric vectors of a tree: constants, each in the axes of its body.

    L_kk = 0        L_kj leads from o_k to the hinge point towards j
    D_kk = −(1/M) Σ M_j L_kj        D_kj = D_kk + L_kj
    K_k = Σ_j M_j (D_kj·D_kj 1 − D_kj D_kjᵀ)

so that Σ_r D_rk leads from the system's mass centre to o_k, and K_k + J_k is the inertia of the augmented
body: body k with the masses of the others at its hinges.

Source: Fleischer and Likins (1975), section II.A; after Hooker and Margulies (1965).
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra.vectors.matrices import Matrix, matrix_sum, scaled_matrix, skew_product
from armillary.algebra.vectors.triples import ZEROS, Triple, add, scaled
from armillary.mechanics.formalisms.jpl.vehicle import Vehicle


@dataclass(frozen=True, eq=False)
class Barycentres:
    """D[k][j] and the undeformed inertia of each augmented body, in the axes of body k."""

    D: list[list[Triple]]
    augmented: list[Matrix]


def barycentres(vehicle: Vehicle) -> Barycentres:
    """The constants of a vehicle."""
    parts, M = vehicle.substructures, vehicle.mass
    D, augmented = [], []
    for k, part in enumerate(parts):
        L = [_towards(vehicle, k, j) for j in range(len(parts))]
        moment = add(*(scaled(v, other.mass) for v, other in zip(L, parts, strict=True)))
        own = scaled(moment, -1 / M)
        row = [add(own, v) for v in L]
        D.append(row)
        points = [scaled_matrix(skew_product(d, d), -other.mass) for d, other in zip(row, parts, strict=True)]
        augmented.append(matrix_sum(part.inertia, *points))
    return Barycentres(D, augmented)


def _towards(vehicle: Vehicle, k: int, j: int) -> Triple:
    """L_kj."""
    if j == k:
        return ZEROS
    if not vehicle.beyond(k, j):
        return vehicle.substructures[k].inward
    while vehicle.substructures[j].inboard != k:
        j = vehicle.substructures[j].inboard
    return vehicle.substructures[j].outward
