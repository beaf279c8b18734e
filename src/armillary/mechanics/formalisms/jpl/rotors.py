"""Rotors inside bodies: free, driven or of given speed.

A rotor of axial inertia G about a, with relative rate ψ̇ and a torque τ along its axis, obeys τ = G (ψ̈ +
a·ẇ_k). Where τ is known, the torque on body k without the rotor's axial inertia is

    −a τ − w_k × a G (a·w_k + ψ̇)

and where ψ̈ is known, the torque on body k with it is −a G ψ̈ − w_k × a G ψ̇. (The report has the first with
the inertia of the second, which is 7 per cent wrong in a test against explicit rotor bodies.) Both are
torques to the equations, so all formulations keep them whole.

Source: Fleischer and Likins (1975), sections III.A and III.B.
"""

from __future__ import annotations

from dataclasses import replace

from armillary.algebra.vectors.matrices import Matrix, matrix_sum
from armillary.algebra.vectors.scalars import Scalar, inner, minus, plus, times
from armillary.algebra.vectors.triples import Triple, add, cross_triples, joined, named, negative, scaled
from armillary.mechanics.formalisms.jpl.attitude import Attitude
from armillary.mechanics.formalisms.jpl.vehicle import Rotor, Vehicle


def with_rotors(vehicle: Vehicle, turned: Attitude) -> Vehicle:
    """The vehicle with its rotors' effects in the inertias and torques of its bodies."""
    parts = []
    for k, part in enumerate(vehicle.substructures):
        own = named(turned.back(k, turned.w[k]), f"w_own_{part.name}")
        inertias = [along(r.axis, r.inertia) for r in part.rotors if r.acceleration is not None]
        torques = [_reaction(rotor, own) for rotor in part.rotors]
        parts.append(
            replace(part, inertia=matrix_sum(part.inertia, *inertias), torque=add(part.torque, *torques))
        )
    return replace(vehicle, substructures=tuple(parts))


def along(axis: Triple, inertia: Scalar) -> Matrix:
    """G a aᵀ."""
    return joined(scaled(axis, times(a, inertia)) for a in axis)


def _reaction(rotor: Rotor, w: Triple) -> Triple:
    if rotor.acceleration is None:
        spin, torque = plus(inner(rotor.axis, w), rotor.rate), rotor.torque
    else:
        spin, torque = rotor.rate, times(rotor.inertia, rotor.acceleration)
    momentum = scaled(rotor.axis, times(rotor.inertia, spin))
    return negative(add(scaled(rotor.axis, torque), cross_triples(w, momentum)))


def rotor_acceleration(rotor: Rotor, dw: Triple) -> Scalar:
    """ψ̈ = τ/G − a·ẇ_k, with ẇ_k in the body's axes."""
    if rotor.acceleration is not None:
        return rotor.acceleration
    return minus(times(rotor.torque, 1 / rotor.inertia), inner(rotor.axis, dw))


def rotor_momentum(vehicle: Vehicle, turned: Attitude) -> Triple:
    """The angular momentum that rotors add to that of ``with_rotors``' vehicle, in the reference axes."""
    found: Triple = (0, 0, 0)
    for k, part in enumerate(vehicle.substructures):
        w = turned.back(k, turned.w[k])
        for rotor in part.rotors:
            spin = plus(inner(rotor.axis, w), rotor.rate) if rotor.acceleration is None else rotor.rate
            found = add(found, turned.into(k, scaled(rotor.axis, times(rotor.inertia, spin))))
    return found
