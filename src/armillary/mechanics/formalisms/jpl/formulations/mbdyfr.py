"""MBDYFR: appendages on bodies that spin near a constant rate Ω, in complex modes.

A complex mode Ψ + iΓ of frequency σ has two states, δ and η, which are the unknowns of first-order equations:

    q = 2 (Ψ δ − Γ η)        q̇ = −2 (Γ σ δ + Ψ σ η)        q̈ = −2 (Γ σ δ̇ + Ψ σ η̇)

With G = 2 Σ m Γ, P = 2 Σ m Ψ, R = −2 Σ (m r × Γ + I Γ_θ) σ, I = −2 Σ (m r × Ψ + I Ψ_θ) σ, the inertia Φ_kk
varying with the deformation, and a_r = M_r (2 w_r × ċ_r + w_r × (w_r × c_r)),

    E_k = T_k + Σ_r D_kr × (F_r + a_r) + c_k × (M_k/M F − F_k)
        + M Σ_{r≠k} D_kr × (w_r × (w_r × D_rk)) + M_k c_k × Σ_r w_r × (w_r × D_rk)
        − w_k × Φ_kk w_k − J̇_k w_k − w_k × (R δ + I η) − Σ_r X_kr S_r

    Y^R_hm = e(h,k) R − [Σ_r e(h,r) D_rk] G σ        (Y^I with I and P)        A_mm = 2
    Q^R = σ (−2 η − 2 ξ δ + Gᵀ V − 2 Γᵀ X) − Σ_h Y^R_hmᵀ s_h
    Q^I = σ ( 2 δ − 2 ξ η + Pᵀ V − 2 Ψᵀ X) − Σ_h Y^I_hmᵀ s_h
    V = F/M + Σ_r w_r × (w_r × D_rk) + (1/M) Σ_{r≠k} a_r − Ω × (Ω × D_kk)
    X = f_s − m_s (w × (w × r_s) − Ω × (Ω × r_s)),  t_s − w × I_s w + Ω × I_s Ω

Damping takes −ξσ on δ and η, so that λ = −ξσ ± iσ: with it q̇ is not quite the rate of q (for Ω = 0 it is
dq/dt + ξσq). Terms (w_k − Ω) q and ẇ_k q are dropped in the modal rows.

The report's eqs. 28, 29 and 42 have M_k for M, its listing a minus before σ in the imaginary rows (the modes
would diverge) and D_k0 for D_kk; its programs test the path to the appendage's number in place of its body,
which spoiled the report's Fig. 9. Source: Fleischer and Likins (1975), eqs. 26 to 63.
"""

from __future__ import annotations

from armillary.algebra import functions as fn
from armillary.algebra.vectors.matrices import matrix_sum, matrix_vector, named_matrix
from armillary.algebra.vectors.scalars import Scalar, inner, minus, plus, times, total
from armillary.algebra.vectors.triples import (
    ZEROS,
    Triple,
    add,
    combined,
    cross_triples,
    double_cross,
    named,
    negative,
    scaled,
)
from armillary.mechanics.formalisms.jpl.attitude import Attitude, attitude
from armillary.mechanics.formalisms.jpl.barycentres import barycentres
from armillary.mechanics.formalisms.jpl.blocks import Blocks, ReferenceLoads, load_moment, reference_loads
from armillary.mechanics.formalisms.jpl.equations import Assembled
from armillary.mechanics.formalisms.jpl.formulations import modal
from armillary.mechanics.formalisms.jpl.formulations.deformation import (
    AppendageDeformation,
    appendage_deformation,
    coupling,
    inertia_work,
    shape_integrals,
    squares_of,
)
from armillary.mechanics.formalisms.jpl.vehicle import NodeLoad, SpinningAppendage, Vehicle


def assembled(vehicle: Vehicle) -> Assembled:
    """The equations of MBDYFR."""
    fixed, turned = barycentres(vehicle), attitude(vehicle)
    parts = vehicle.appendages
    columns = [coupling(k, part) for k, part in parts]
    deformed = [
        appendage_deformation(part, c, vehicle.substructures[k].name)
        for (k, part), c in zip(parts, columns, strict=True)
    ]
    by_body = [
        [d for (k, _), d in zip(parts, deformed, strict=True) if k == body]
        for body in range(len(vehicle.substructures))
    ]
    shifts = [
        scaled(add(*(d.shift for d in found)), 1 / part.mass) if found else ZEROS
        for part, found in zip(vehicle.substructures, by_body, strict=True)
    ]
    augmented = [
        named_matrix(matrix_sum(undeformed, *(d.inertia for d in found)), f"J_{part.name}")
        if found
        else undeformed
        for undeformed, found, part in zip(fixed.augmented, by_body, vehicle.substructures, strict=True)
    ]
    blocks = Blocks(vehicle, fixed, turned, shifts, augmented)
    loads = reference_loads(blocks, _deflections(vehicle))
    swings = [(k, _swing(turned, d, k)) for (k, _), d in zip(parts, deformed, strict=True)]
    rows = blocks.hinge_rows([_moment(blocks, loads, by_body[k], swings, k) for k in range(blocks.count)])
    forces = []
    for m, (k, part) in enumerate(parts):
        others = [a for i, (_, a) in enumerate(swings) if i != m]
        V = add(_pull(blocks, loads, others, k), negative(double_cross(part.spin, fixed.D[k][k])))
        forces.append(_modal_force(part, columns[m], V, _spin(blocks, k)))
    return modal.assembled(blocks, rows, columns, forces)


def _deflections(vehicle: Vehicle) -> list[list[tuple[NodeLoad, Triple]]]:
    return [
        [(load, combined(load.shape, (*a.delta, *a.eta))) for a in part.appendages for load in a.loads]
        for part in vehicle.substructures
    ]


def _swing(turned: Attitude, d: AppendageDeformation, k: int) -> Triple:
    """a = M_k (2 w_k × ċ_k + w_k × (w_k × c_k)) of one appendage."""
    w = turned.w[k]
    moving = scaled(cross_triples(w, turned.into(k, d.shift_rate)), 2)
    return named(add(moving, double_cross(w, turned.into(k, d.shift))), f"a_{k}")


def _moment(
    blocks: Blocks,
    loads: ReferenceLoads,
    deformed: list[AppendageDeformation],
    swings: list[tuple[int, Triple]],
    k: int,
) -> Triple:
    """E_k."""
    turned, w, M = blocks.attitude, blocks.attitude.w[k], blocks.vehicle.mass
    terms = [cross_triples(blocks.D[k][r], a) for r, a in swings]
    for r in range(blocks.count):
        if r != k:
            terms.append(scaled(cross_triples(blocks.D[k][r], blocks.spinning(k, r)), M))
    pull = add(*(blocks.spinning(k, r) for r in range(blocks.count)))
    terms.append(scaled(cross_triples(blocks.c[k], pull), blocks.masses[k]))
    spin = add(matrix_vector(blocks.phi[k], w), *(turned.into(k, d.spin) for d in deformed))
    terms.append(negative(cross_triples(w, spin)))
    own = _spin(blocks, k)
    changing = matrix_sum(*(d.inertia_rate for d in deformed))
    terms.append(negative(turned.into(k, matrix_vector(changing, own))))
    terms.append(negative(blocks.gyration(k, turned.S)))
    return named(add(load_moment(blocks, loads, k), *terms), f"E_{k}")


def _spin(blocks: Blocks, k: int) -> Triple:
    """w_k in the body's own axes."""
    return named(blocks.attitude.back(k, blocks.attitude.w[k]), f"w_own_{k}")


def _pull(blocks: Blocks, loads: ReferenceLoads, others: list[Triple], k: int) -> Triple:
    """V except for its nominal part: F/M + Σ_r w_r × (w_r × D_rk) + (1/M) Σ a of the others, in body axes."""
    M = blocks.vehicle.mass
    swung = [blocks.spinning(k, r) for r in range(blocks.count)]
    pull = add(scaled(loads.total, 1 / M), *swung, scaled(add(*others), 1 / M))
    return named(blocks.attitude.back(k, pull), f"V_{k}")


def _modal_force(
    part: SpinningAppendage, columns: modal.ModalColumns, V: Triple, own: Triple
) -> list[Scalar]:
    """Q^R, then Q^I, without the terms of hinge rates."""
    N = len(part.frequencies)
    squares = [fn.named(x, "ww") for x in squares_of(own)]
    slopes = [slope for side in shape_integrals(part) for slope in side.slopes]
    found = []
    for column in range(2 * N):
        n, real = column % N, column < N
        state, other = (part.delta[n], part.eta[n]) if real else (part.eta[n], part.delta[n])
        free = plus(times(-2 if real else 2, other), times(times(-2, part.damping[n]), state))
        pushed = times(-2, inertia_work(slopes[column], squares, part.spin))
        driven = total([free, pushed, _nodal_work(part, n, real)])
        found.append(minus(times(part.frequencies[n], driven), inner(columns.momenta[column], V)))
    return found


def _nodal_work(part: SpinningAppendage, n: int, real: bool) -> Scalar:
    """−2 Γᵀλ or −2 Ψᵀλ of the loads on nodes, whose shapes are 2 Ψ for δ and −2 Γ for η."""
    column, sign = (n + len(part.frequencies), 1) if real else (n, -1)
    work = [inner(load.shape[column], load.force) for load in part.loads]
    work += [inner(load.rotation[column], load.torque) for load in part.loads]
    return times(sign, total(work))
