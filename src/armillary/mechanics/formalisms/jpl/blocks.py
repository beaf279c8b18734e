"""The blocks of the system matrix that all three formulations share.

    X_kr = Φ_kr + M_k [c_k][D_rk] + M_r [D_kr][c_r]      Φ_kk = K_k + J_k      Φ_kr = M [D_kr][D_rk]

    A_00 = Σ_k Σ_r X_kr      A_0h = Σ_k Σ_r e(h,r) X_kr g_h      A_hj = g_h·Σ_k Σ_r e(h,k) e(j,r) X_kr g_j

in the reference body's axes; c_k leads from the true mass centre of substructure k to o_k, and e(h,k) is 1
where hinge h lies between the reference body and k. The report's Def. 39 has stray rotations in Φ_kr.

Source: Fleischer and Likins (1975), eqs. 42, 64 and 69.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from armillary.algebra.vectors.matrices import (
    IDENTITY,
    ZERO_MATRIX,
    Matrix,
    matrix_sum,
    matrix_vector,
    named_matrix,
    scaled_matrix,
    skew_product,
    transposed,
)
from armillary.algebra.vectors.scalars import Scalar, inner, plus
from armillary.algebra.vectors.triples import (
    Triple,
    add,
    cross_triples,
    double_cross,
    named,
    negative,
    scaled,
)
from armillary.mechanics.formalisms.jpl.attitude import Attitude
from armillary.mechanics.formalisms.jpl.barycentres import Barycentres
from armillary.mechanics.formalisms.jpl.vehicle import NodeLoad, Vehicle
from armillary.mechanics.tree.rotation import MatrixRotation


class Blocks:
    """A vehicle at one state: D, Φ and X in the reference axes, and sums of them along the tree.

    ``shifts`` are the vectors c_k, and ``augmented`` the inertias Φ_kk, in the axes of their own bodies.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        fixed: Barycentres,
        attitude: Attitude,
        shifts: Sequence[Triple],
        augmented: Sequence[Matrix] | None = None,
    ) -> None:
        self.vehicle, self.attitude, self.shifts = vehicle, attitude, shifts
        self.masses = [part.mass for part in vehicle.substructures]
        self.count = len(self.masses)
        names = [part.name for part in vehicle.substructures]
        self.c = [named(attitude.into(k, c), f"c_{names[k]}") for k, c in enumerate(shifts)]
        self.D = [
            [named(attitude.into(k, d), f"D_{names[k]}_{j}") for j, d in enumerate(row)]
            for k, row in enumerate(fixed.D)
        ]
        self.phi = [
            a
            if attitude.R[k] == IDENTITY
            else MatrixRotation(attitude.R[k]).symmetric_to_parent(a, f"Phi_{names[k]}")
            for k, a in enumerate(augmented or fixed.augmented)
        ]

    @cached_property
    def X(self) -> list[list[Matrix]]:
        """X_kr = X_rkᵀ."""
        found: list[list[Matrix]] = [[ZERO_MATRIX] * self.count for _ in range(self.count)]
        M, names = self.vehicle.mass, [part.name for part in self.vehicle.substructures]
        for k in range(self.count):
            for r in range(k, self.count):
                base = self.phi[k] if k == r else scaled_matrix(skew_product(self.D[k][r], self.D[r][k]), M)
                here = scaled_matrix(skew_product(self.c[k], self.D[r][k]), self.masses[k])
                there = scaled_matrix(skew_product(self.D[k][r], self.c[r]), self.masses[r])
                found[k][r] = named_matrix(matrix_sum(base, here, there), f"X_{names[k]}_{names[r]}")
                found[r][k] = transposed(found[k][r])
        return found

    @cached_property
    def sums(self) -> list[list[Matrix]]:
        """Σ X_kr over all k beyond the connection of a and all r beyond that of b; 0 stands for
        everything.
        """
        reach = [[r for r in range(self.count) if self.vehicle.beyond(k, r)] for k in range(self.count)]
        found: list[list[Matrix]] = [[ZERO_MATRIX] * self.count for _ in range(self.count)]
        for a in range(self.count):
            for b in range(a, self.count):
                terms = matrix_sum(*(self.X[k][r] for k in reach[a] for r in reach[b]))
                found[a][b] = named_matrix(terms, f"A_{a}_{b}")
                found[b][a] = transposed(found[a][b])
        return found

    def matrix(self) -> dict[tuple[int, int], Scalar]:
        """The rows and columns of the reference body (0 to 2) and the hinges (3 on), row ≤ column."""
        found = {(i, j): self.sums[0][0][i][j] for i in range(3) for j in range(i, 3)}
        hinges = self.vehicle.hinges
        for j, (b, hinge) in enumerate(hinges):
            column = matrix_vector(self.sums[0][b], self.attitude.g[j])
            found |= {(i, 3 + j): column[i] for i in range(3)}
            for h, (a, _) in enumerate(hinges[: j + 1]):
                column = matrix_vector(self.sums[a][b], self.attitude.g[j])
                found[3 + h, 3 + j] = inner(self.attitude.g[h], column)
            found[3 + j, 3 + j] = plus(found[3 + j, 3 + j], hinge.armature)
        return found

    def reach(self, k: int, connection: int) -> Triple:
        """Σ_r e(h,r) D_rk for the hinges of a connection; 0 stands for all r."""
        return add(*(self.D[r][k] for r in range(self.count) if self.vehicle.beyond(connection, r)))

    def gyration(self, k: int, gained: Sequence[Triple]) -> Triple:
        """Σ_r X_kr S_r."""
        return add(*(matrix_vector(self.X[k][r], s) for r, s in enumerate(gained)))

    def hinge_rows(self, E: Sequence[Triple]) -> dict[int, Scalar]:
        """Right sides B_0 = Σ E_k and B_h = g_h·Σ e(h,k) E_k + τ_h."""
        whole = add(*E)
        found: dict[int, Scalar] = dict(enumerate(whole))
        for h, (k, hinge) in enumerate(self.vehicle.hinges):
            beyond = add(*(E[r] for r in range(self.count) if self.vehicle.beyond(k, r)))
            found[3 + h] = plus(inner(self.attitude.g[h], beyond), hinge.torque)
        return found

    def spinning(self, k: int, r: int) -> Triple:
        """w_r × (w_r × D_rk)."""
        return double_cross(self.attitude.w[r], self.D[r][k])


@dataclass(frozen=True, eq=False)
class ReferenceLoads:
    """Forces F_k, their sum F, and moments about the true mass centres, in the reference axes."""

    forces: list[Triple]
    total: Triple
    moments: list[Triple]


def reference_loads(
    blocks: Blocks, deflections: Sequence[Sequence[tuple[NodeLoad, Triple]]]
) -> ReferenceLoads:
    """Loads of a vehicle; ``deflections`` gives for each substructure its loaded nodes and where they moved.

        T_k = torque + Σ t_s + Σ (r_s + u_s) × f_s + c_k × F_k

    The report's text takes the torque about the true mass centre; its programs shift it from o, as here.
    Moments are taken in the body's axes: the first-order attitudes of MBDYFL do not keep cross products.
    """
    forces, moments = [], []
    for k, part in enumerate(blocks.vehicle.substructures):
        force = add(part.force, *(load.force for load, _ in deflections[k]))
        torque = add(
            part.torque,
            *(load.torque for load, _ in deflections[k]),
            *(cross_triples(add(load.place, moved), load.force) for load, moved in deflections[k]),
        )
        forces.append(named(blocks.attitude.into(k, force), f"F_{part.name}"))
        torque = add(torque, cross_triples(blocks.shifts[k], force))
        moments.append(named(blocks.attitude.into(k, torque), f"T_{part.name}"))
    return ReferenceLoads(forces, named(add(*forces), "F"), moments)


def load_moment(blocks: Blocks, loads: ReferenceLoads, k: int) -> Triple:
    """T_k + Σ_r D_kr × F_r + c_k × (M_k/M F − F_k): the part of the loads in E_k."""
    shares = [cross_triples(blocks.D[k][r], f) for r, f in enumerate(loads.forces)]
    share = scaled(loads.total, blocks.masses[k] / blocks.vehicle.mass)
    shifted = cross_triples(blocks.c[k], add(share, negative(loads.forces[k])))
    return add(loads.moments[k], *shares, shifted)
