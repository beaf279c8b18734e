"""MBDYFN: a nonlinear tree whose appendages sit on bodies that nominally do not rotate.

With F the bodies that carry appendages, c_k = −(1/M_k) Σ P η, and X as in blocks.py with the undeformed
inertia,

    E_k = T_k + Σ_r D_kr × F_r + c_k × (M_k/M F − F_k)
        + M Σ_{r≠k, r∉F} D_kr × (w_r × (w_r × D_rk)) − [k∉F] w_k × Φ_kk w_k
        + [k∈F] M_k c_k × Σ_{r∉F} w_r × (w_r × D_rk) − Σ_r X_kr S_r

and for appendage m on body k, Y_hm = e(h,k) Δ_m + [Σ_r e(h,r) D_rk] P_m,

    A_0m = Y_0m      A_hm = g_h·Y_hm      A_mm = modal mass      A_ml = −P_mᵀ P_l / M
    Q_m = −C η̇ − K η + φᵀλ − P_mᵀ (F/M + Σ_{r∉F} w_r × (w_r × D_rk)) − Σ_h Y_hmᵀ s_h

The report has M_k where the whole mass M stands before D × (w × (w × D)), keeps the gyroscopic term for k in
F, lets its sum run over r = k, and its listings mix the signs of [D] P; an independent nonlinear model
settles all of these. In its hinge-mode coupling the programs test the path to the appendage's number in place
of its body. Source: Fleischer and Likins (1975), eqs. 64 to 70.
"""

from __future__ import annotations

from armillary.algebra.vectors.matrices import matrix_vector
from armillary.algebra.vectors.scalars import Scalar, inner, minus, plus, total
from armillary.algebra.vectors.triples import (
    ZEROS,
    Triple,
    add,
    combined,
    cross_triples,
    named,
    negative,
    scaled,
)
from armillary.mechanics.formalisms.jpl.attitude import attitude
from armillary.mechanics.formalisms.jpl.barycentres import barycentres
from armillary.mechanics.formalisms.jpl.blocks import Blocks, ReferenceLoads, load_moment, reference_loads
from armillary.mechanics.formalisms.jpl.equations import Assembled
from armillary.mechanics.formalisms.jpl.formulations import modal
from armillary.mechanics.formalisms.jpl.vehicle import Appendage, NodeLoad, Vehicle


def assembled(vehicle: Vehicle) -> Assembled:
    """The equations of MBDYFN."""
    turned = attitude(vehicle)
    blocks = Blocks(vehicle, barycentres(vehicle), turned, shifts(vehicle))
    loads = reference_loads(blocks, deflections(vehicle))
    rows = blocks.hinge_rows([_moment(blocks, loads, k) for k in range(blocks.count)])
    forces = []
    for k, part in vehicle.appendages:
        pull = add(scaled(loads.total, 1 / vehicle.mass), _swinging(blocks, k))
        forces.append(modal_force(part, turned.back(k, pull)))
    return modal.assembled(blocks, rows, coupled(vehicle), forces)


def coupled(vehicle: Vehicle) -> list[modal.ModalColumns]:
    """The modal columns of the appendages."""
    return [modal.ModalColumns(k, a.P, a.moment, a.mass, a.rates) for k, a in vehicle.appendages]


def shifts(vehicle: Vehicle) -> list[Triple]:
    """c_k = −(1/M_k) Σ P η, in the axes of each body."""
    return [
        scaled(add(*(combined(a.P, a.coordinates) for a in part.appendages)), -1 / part.mass)
        if part.appendages
        else ZEROS
        for part in vehicle.substructures
    ]


def deflections(vehicle: Vehicle) -> list[list[tuple[NodeLoad, Triple]]]:
    """Loaded nodes of each substructure with their displacements u = φ η."""
    return [
        [(load, combined(load.shape, a.coordinates)) for a in part.appendages for load in a.loads]
        for part in vehicle.substructures
    ]


def modal_force(part: Appendage, pull: Triple) -> list[Scalar]:
    """−C η̇ − K η + φᵀλ − Pᵀ pull, with the pull in the body's axes."""
    found = []
    for n in range(len(part.P)):
        resisting = plus(inner(part.damping[n], part.rates), inner(part.stiffness[n], part.coordinates))
        pushed = [inner(load.shape[n], load.force) for load in part.loads]
        pushed += [inner(load.rotation[n], load.torque) for load in part.loads]
        found.append(minus(minus(total(pushed), resisting), inner(part.P[n], pull)))
    return found


def _moment(blocks: Blocks, loads: ReferenceLoads, k: int) -> Triple:
    """E_k."""
    part = blocks.vehicle.substructures[k]
    swings = []
    if part.appendages:
        pull = _swinging(blocks, k)
        swings.append(scaled(cross_triples(blocks.c[k], pull), part.mass))
    else:
        w = blocks.attitude.w[k]
        swings.append(negative(cross_triples(w, matrix_vector(blocks.phi[k], w))))
    for r, other in enumerate(blocks.vehicle.substructures):
        if r != k and not other.appendages:
            swings.append(scaled(cross_triples(blocks.D[k][r], blocks.spinning(k, r)), blocks.vehicle.mass))
    E = add(load_moment(blocks, loads, k), *swings, negative(blocks.gyration(k, blocks.attitude.S)))
    return named(E, f"E_{part.name}")


def _swinging(blocks: Blocks, k: int) -> Triple:
    """Σ_{r∉F} w_r × (w_r × D_rk)."""
    return add(
        *(
            blocks.spinning(k, r)
            for r, other in enumerate(blocks.vehicle.substructures)
            if not other.appendages
        )
    )
