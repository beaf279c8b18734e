"""The formulations MBDYFR, MBDYFN and MBDYFL: right sides, modal columns, and the solution of equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    Triple,
    add,
    combined,
    cross_triples,
    double_cross,
    inner,
    joined,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    named_matrix,
    negative,
    plus,
    scaled,
    times,
    total,
)
from armillary.program.formalisms import jpl_blocks
from armillary.program.formalisms.jpl_blocks import (
    AppendageDeformation,
    Assembled,
    Blocks,
    ReferenceLoads,
    appendage_deformation,
    coupling,
    inertia_work,
    load_moment,
    reference_loads,
    shape_integrals,
    squares_of,
)
from armillary.program.formalisms.jpl_vehicle import (
    Appendage,
    Attitude,
    NodeLoad,
    SpinningAppendage,
    Vehicle,
    attitude,
    barycentres,
    rotor_acceleration,
    rotor_momentum,
    with_rotors,
)

# MBDYFN: a nonlinear tree; appendages are on bodies that nominally do not rotate.
#
# In k∈F and r∉F, F is the set of bodies that carry appendages; elsewhere it is the total force. P and Δ are
# defined in jpl_vehicle.py, and λ are the loads on nodes. With c_k = −(1/M_k) Σ P η, and X_kr as in
# jpl_blocks.py with the undeformed inertia,
#
#     E_k = T_k + Σ_r D_kr × F_r + c_k × (M_k/M F − F_k)
#         + M Σ_{r≠k, r∉F} D_kr × (w_r × (w_r × D_rk)) − [k∉F] w_k × Φ_kk w_k
#         + [k∈F] M_k c_k × Σ_{r∉F} w_r × (w_r × D_rk) − Σ_r X_kr S_r
#
# and for appendage m on body k, Y_hm = e(h,k) Δ_m + [Σ_r e(h,r) D_rk] P_m,
#
#     A_0m = Y_0m      A_hm = g_h·Y_hm      A_mm = modal mass      A_ml = −P_mᵀ P_l / M
#     Q_m = −C η̇ − K η + φᵀλ − P_mᵀ (F/M + Σ_{r∉F} w_r × (w_r × D_rk)) − Σ_h Y_hmᵀ s_h
#
# The report differs, and an independent nonlinear model confirms the equations here. The report has M_k
# instead of the total mass M before D × (w × (w × D)), keeps the gyroscopic term for k in F, includes r = k
# in the sum, and its listings have inconsistent signs of [D] P. In the coupling of hinges and modes its
# programs use the number of the appendage instead of the number of the body. Source: Fleischer and Likins
# (1975), eqs. 64 to 70.


def assemble_mbdyfn(vehicle: Vehicle) -> Assembled:
    """Return the equations of MBDYFN."""
    turned = attitude(vehicle)
    blocks = Blocks(vehicle, barycentres(vehicle), turned, shifts(vehicle))
    loads = reference_loads(blocks, deflections(vehicle))
    rows = blocks.hinge_rows([_mbdyfn_moment(blocks, loads, k) for k in range(blocks.count)])
    forces = []
    for k, part in vehicle.appendages:
        pull = add(scaled(loads.total, 1 / vehicle.mass), _swinging(blocks, k))
        forces.append(modal_force(part, turned.back(k, pull)))
    return jpl_blocks.assemble_equations(blocks, rows, modal_columns(vehicle), forces)


def modal_columns(vehicle: Vehicle) -> list[jpl_blocks.ModalColumns]:
    """Return the modal columns of the appendages."""
    return [jpl_blocks.ModalColumns(k, a.P, a.moment, a.mass, a.rates) for k, a in vehicle.appendages]


def shifts(vehicle: Vehicle) -> list[Triple]:
    """c_k = −(1/M_k) Σ P η, in the axes of each body."""
    return [
        scaled(add(*(combined(a.P, a.coordinates) for a in part.appendages)), -1 / part.mass)
        if part.appendages
        else ZEROS
        for part in vehicle.substructures
    ]


def deflections(vehicle: Vehicle) -> list[list[tuple[NodeLoad, Triple]]]:
    """Return (load, displacement u = φ η) of the loaded nodes of each substructure."""
    return [
        [(load, combined(load.shape, a.coordinates)) for a in part.appendages for load in a.loads]
        for part in vehicle.substructures
    ]


def modal_force(part: Appendage, pull: Triple) -> list[Scalar]:
    """−C η̇ − K η + φᵀλ − Pᵀ ``pull``, with ``pull`` an acceleration in the body's axes."""
    found = []
    for n in range(len(part.P)):
        resisting = plus(inner(part.damping[n], part.rates), inner(part.stiffness[n], part.coordinates))
        pushed = [inner(load.shape[n], load.force) for load in part.loads]
        pushed += [inner(load.rotation[n], load.torque) for load in part.loads]
        found.append(minus(minus(total(pushed), resisting), inner(part.P[n], pull)))
    return found


def _mbdyfn_moment(blocks: Blocks, loads: ReferenceLoads, k: int) -> Triple:
    """E_k of MBDYFN."""
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


# MBDYFL: the vehicle of MBDYFN with all motions small.
#
# The matrix is that of MBDYFN for zero angles and deflections, so it is constant and factorised once. The
# right side has no products of rates; its attitudes are products of 1 + γ_h [g_h], so a few second-order
# terms remain.
#
#     E_k = T_k + Σ_r D_kr × F_r + c_k × (M_k/M F − F_k)        Q_m = −C η̇ − K η + φᵀλ − P_mᵀ F/M
#
# Source: Fleischer and Likins (1975), sections IV.A and IV.B, Appendix E.


def assemble_mbdyfl(vehicle: Vehicle) -> Assembled:
    """Return the equations of MBDYFL."""
    fixed = barycentres(vehicle)
    at_rest = Blocks(vehicle, fixed, attitude(vehicle, "none"), [ZEROS] * len(vehicle.substructures))
    turned = attitude(vehicle, "first")
    moved = Blocks(vehicle, fixed, turned, shifts(vehicle))
    loads = reference_loads(moved, deflections(vehicle))
    rows = moved.hinge_rows([load_moment(moved, loads, k) for k in range(moved.count)])
    pull = scaled(loads.total, 1 / vehicle.mass)
    forces = [modal_force(part, turned.back(k, pull)) for k, part in vehicle.appendages]
    return jpl_blocks.assemble_equations(at_rest, rows, modal_columns(vehicle), forces)


# MBDYFR: appendages on bodies that spin near a constant rate Ω, in complex modes.
#
# A complex mode Ψ + iΓ of frequency σ and damping ratio ξ has two states, δ and η, which are the unknowns of
# first-order equations:
#
#     q = 2 (Ψ δ − Γ η)        q̇ = −2 (Γ σ δ + Ψ σ η)        q̈ = −2 (Γ σ δ̇ + Ψ σ η̇)
#
# Φ_kk varies with the deformation. X without indices has the forces and moments on the nodal bodies s, and I
# under a sum is a nodal body's inertia. With G = 2 Σ m Γ, P = 2 Σ m Ψ, R = −2 Σ (m r × Γ + I Γ_θ) σ,
# I = −2 Σ (m r × Ψ + I Ψ_θ) σ and a_r = M_r (2 w_r × ċ_r + w_r × (w_r × c_r)),
#
#     E_k = T_k + Σ_r D_kr × (F_r + a_r) + c_k × (M_k/M F − F_k)
#         + M Σ_{r≠k} D_kr × (w_r × (w_r × D_rk)) + M_k c_k × Σ_r w_r × (w_r × D_rk)
#         − w_k × Φ_kk w_k − J̇_k w_k − w_k × (R δ + I η) − Σ_r X_kr S_r
#
#     Y^R_hm = e(h,k) R − [Σ_r e(h,r) D_rk] G σ        (Y^I with I and P)        A_mm = 2
#     Q^R = σ (−2 η − 2 ξ δ + Gᵀ V − 2 Γᵀ X) − Σ_h Y^R_hmᵀ s_h
#     Q^I = σ ( 2 δ − 2 ξ η + Pᵀ V − 2 Ψᵀ X) − Σ_h Y^I_hmᵀ s_h
#     V = F/M + Σ_r w_r × (w_r × D_rk) + (1/M) Σ_{r≠k} a_r − Ω × (Ω × D_kk)
#     X = f_s − m_s (w × (w × r_s) − Ω × (Ω × r_s)),  t_s − w × I_s w + Ω × I_s Ω
#
# Damping adds −ξσ δ and −ξσ η to the rates, so that λ = −ξσ ± iσ. With damping q̇ is not exactly the rate of
# q (for Ω = 0 it is dq/dt + ξσq). Terms (w_k − Ω) q and ẇ_k q are dropped in the modal rows.
#
# The report's eqs. 28, 29 and 42 have M_k instead of M; its listing has a minus before σ in the imaginary
# rows (with which the modes diverge) and D_k0 instead of D_kk; its programs use the number of the appendage
# instead of the number of the body, which makes the report's Fig. 9 wrong. Source: Fleischer and Likins
# (1975), eqs. 26 to 63.


def assemble_mbdyfr(vehicle: Vehicle) -> Assembled:
    """Return the equations of MBDYFR."""
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
    rows = blocks.hinge_rows(
        [_mbdyfr_moment(blocks, loads, by_body[k], swings, k) for k in range(blocks.count)]
    )
    forces = []
    for m, (k, part) in enumerate(parts):
        others = [a for i, (_, a) in enumerate(swings) if i != m]
        V = add(_pull(blocks, loads, others, k), negative(double_cross(part.spin, fixed.D[k][k])))
        forces.append(_modal_force(part, columns[m], V, _spin(blocks, k)))
    return jpl_blocks.assemble_equations(blocks, rows, columns, forces)


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


def _mbdyfr_moment(
    blocks: Blocks,
    loads: ReferenceLoads,
    deformed: list[AppendageDeformation],
    swings: list[tuple[int, Triple]],
    k: int,
) -> Triple:
    """E_k of MBDYFR."""
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
    """V without its nominal part: F/M + Σ_r w_r × (w_r × D_rk) + (1/M) Σ a of ``others``, in body axes."""
    M = blocks.vehicle.mass
    swung = [blocks.spinning(k, r) for r in range(blocks.count)]
    pull = add(scaled(loads.total, 1 / M), *swung, scaled(add(*others), 1 / M))
    return named(blocks.attitude.back(k, pull), f"V_{k}")


def _modal_force(
    part: SpinningAppendage, columns: jpl_blocks.ModalColumns, V: Triple, own: Triple
) -> list[Scalar]:
    """Return Q^R, then Q^I, without the terms of hinge rates."""
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


# Accelerations, angular momentum and torques of a vehicle by one of the three formulations.


@dataclass(frozen=True)
class Formulation:
    """One of JPL's programs."""

    assembled: Callable[[Vehicle], Assembled]
    complex_modes: bool = False  # whether its modal states are δ and η of complex modes
    rate_products: bool = True  # whether it has products of rates, and finite rotations


FORMULATIONS = {
    "mbdyfr": Formulation(assemble_mbdyfr, complex_modes=True),
    "mbdyfn": Formulation(assemble_mbdyfn),
    "mbdyfl": Formulation(assemble_mbdyfl, rate_products=False),
}


@dataclass(frozen=True, eq=False)
class VehicleSolution:
    """The results of a formulation at a state.

    ``modes`` has for each appendage η̈, or in MBDYFR δ̇ then η̇. ``momentum`` is the angular momentum about
    the system's mass centre, with rotors, in the reference axes. ``origin`` is the acceleration of the
    reference body's o, in its axes.
    """

    spin: Triple
    hinges: list[Scalar]
    modes: list[list[Scalar]]
    rotors: list[Scalar]
    momentum: Triple
    hinge_torques: list[Scalar]
    origin: Triple


def solve(vehicle: Vehicle, name: str) -> VehicleSolution:
    """Return the solution of a vehicle's equations by the formulation of this name."""
    formulation = FORMULATIONS[name]
    turned = attitude(vehicle, "finite" if formulation.rate_products else "first")
    loaded = with_rotors(vehicle, turned)
    equations = formulation.assembled(loaded)
    x = equations.solve()
    hinges = vehicle.hinges
    end = 3 + len(hinges)
    spin, accelerations = (x[0], x[1], x[2]), x[3:end]
    modes, start = [], end
    for _, part in vehicle.appendages:
        count = 2 * len(part.eta) if formulation.complex_modes else len(part.rates)
        modes.append(x[start : start + count])
        start += count
    dw = spin_rates(vehicle, turned, spin, accelerations)
    rotors = [
        rotor_acceleration(rotor, turned.back(k, dw[k]))
        for k, part in enumerate(vehicle.substructures)
        for rotor in part.rotors
    ]
    momentum = add(equations.momentum, rotor_momentum(vehicle, turned))
    torques = equations.hinge_torques(x, [hinge.torque for _, hinge in hinges])
    origin = _origin(loaded, turned, dw, modes, formulation)
    return VehicleSolution(spin, accelerations, modes, rotors, momentum, torques, origin)


def spin_rates(vehicle: Vehicle, turned: Attitude, spin: Triple, hinges: list[Scalar]) -> list[Triple]:
    """Return ẇ_k of all bodies, in the reference axes."""
    found: list[Triple] = []
    for k, part in enumerate(vehicle.substructures):
        if part.inboard < 0:
            found.append(spin)
            continue
        own = [
            add(scaled(turned.g[h], hinges[h]), turned.s[h])
            for h, (body, _) in enumerate(vehicle.hinges)
            if body == k
        ]
        found.append(named(add(found[part.inboard], *own), f"dw_{part.name}"))
    return found


def _origin(
    vehicle: Vehicle,
    turned: Attitude,
    dw: list[Triple],
    modes: list[list[Scalar]],
    formulation: Formulation,
) -> Triple:
    """Return the acceleration of o_0.

    The system's mass centre has the acceleration F/M, and Σ_r D_r0 + Σ_r (M_r/M) c_r is the vector from it to
    o_0. JPL's programs leave translation to their caller; here the kinematics has all terms.
    """
    M = vehicle.mass
    terms: list[Triple] = []
    for k, (part, row) in enumerate(zip(vehicle.substructures, barycentres(vehicle).D, strict=True)):
        loads = [load.force for a in part.appendages for load in a.loads]
        terms.append(scaled(turned.into(k, add(part.force, *loads)), 1 / M))
        shift, moving, gained = _shift(vehicle, k, modes, formulation)
        arm = turned.into(k, add(row[0], scaled(shift, 1 / M)))
        terms += [cross_triples(dw[k], arm), turned.into(k, scaled(gained, 1 / M))]
        if formulation.rate_products:
            w = turned.w[k]
            terms.append(double_cross(w, arm))
            terms.append(scaled(cross_triples(w, turned.into(k, scaled(moving, 1 / M))), 2))
    return add(*terms)


def _shift(
    vehicle: Vehicle, k: int, modes: list[list[Scalar]], formulation: Formulation
) -> tuple[Triple, Triple, Triple]:
    """Return M_k c_k and its first and second derivatives relative to the body, in the body's axes."""
    found: list[tuple[Triple, Triple, Triple]] = []
    for (body, part), gained in zip(vehicle.appendages, modes, strict=True):
        if body != k:
            continue
        if formulation.complex_modes:
            columns = coupling(k, part)
            moved = appendage_deformation(part, columns, vehicle.substructures[k].name)
            found.append((moved.shift, moved.shift_rate, negative(combined(columns.momenta, gained))))
        else:
            values = (part.coordinates, part.rates, gained)
            found.append(joined(negative(combined(part.P, v)) for v in values))
    return joined(add(*(f[i] for f in found)) if found else ZEROS for i in range(3))
