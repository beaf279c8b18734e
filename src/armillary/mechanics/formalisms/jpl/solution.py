"""Accelerations, angular momentum and torques of a vehicle by one of the three formulations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from armillary.algebra.vectors.scalars import Scalar
from armillary.algebra.vectors.triples import (
    ZEROS,
    Triple,
    add,
    combined,
    cross_triples,
    double_cross,
    joined,
    named,
    negative,
    scaled,
)
from armillary.mechanics.formalisms.jpl.attitude import Attitude, attitude
from armillary.mechanics.formalisms.jpl.barycentres import barycentres
from armillary.mechanics.formalisms.jpl.equations import Assembled
from armillary.mechanics.formalisms.jpl.formulations import mbdyfl, mbdyfn, mbdyfr
from armillary.mechanics.formalisms.jpl.formulations.deformation import appendage_deformation, coupling
from armillary.mechanics.formalisms.jpl.rotors import rotor_acceleration, rotor_momentum, with_rotors
from armillary.mechanics.formalisms.jpl.vehicle import Vehicle


@dataclass(frozen=True)
class Formulation:
    """One of JPL's programs."""

    assembled: Callable[[Vehicle], Assembled]
    complex_modes: bool = False  # whether its modal states are δ and η of complex modes
    rate_products: bool = True  # whether it has them, and finite turns


FORMULATIONS = {
    "mbdyfr": Formulation(mbdyfr.assembled, complex_modes=True),
    "mbdyfn": Formulation(mbdyfn.assembled),
    "mbdyfl": Formulation(mbdyfl.assembled, rate_products=False),
}


@dataclass(frozen=True, eq=False)
class VehicleSolution:
    """The results of a formulation at a state.

    ``modes`` has for each appendage η̈, or δ̇ then η̇ in MBDYFR. ``momentum`` is about the system's mass
    centre, in the reference axes, rotors included. ``origin`` is the acceleration of the reference body's o,
    in its axes.
    """

    spin: Triple
    hinges: list[Scalar]
    modes: list[list[Scalar]]
    rotors: list[Scalar]
    momentum: Triple
    hinge_torques: list[Scalar]
    origin: Triple


def solve(vehicle: Vehicle, name: str) -> VehicleSolution:
    """The solution of a vehicle's equations by the formulation of this name."""
    formulation = FORMULATIONS[name]
    turned = attitude(vehicle, "finite" if formulation.rate_products else "first")
    loaded = with_rotors(vehicle, turned)
    equations = formulation.assembled(loaded)
    x = equations.solved()
    hinges = vehicle.hinges
    end = 3 + len(hinges)
    spin, accelerations = (x[0], x[1], x[2]), x[3:end]
    modes, place = [], end
    for _, part in vehicle.appendages:
        count = 2 * len(part.eta) if formulation.complex_modes else len(part.rates)
        modes.append(x[place : place + count])
        place += count
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
    """ẇ_k of all bodies, in the reference axes."""
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
    """Acceleration of o_0: the system's mass centre moves by F/M, and from it Σ_r D_r0 + Σ_r (M_r/M) c_r
    leads to o_0.

    JPL's programs leave translation to their caller; this is its kinematics, with every term.
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
    """M_k c_k and its first and second rates in the body, in its axes."""
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
