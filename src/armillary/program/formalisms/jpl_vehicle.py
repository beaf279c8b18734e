"""JPL's trees of rigid bodies with flexible appendages: the vehicle, its attitudes and barycentres.

jpl_substructures.py and jpl_appendages.py make the ``Vehicle`` of this file from a System. The barycentres
and the attitude of the vehicle give the blocks of one symmetric matrix (jpl_blocks.py). Each formulation
(jpl_formulations.py) adds modal columns and its right side, and finds accelerations, momentum and torques;
jpl.py converts these to the rates of the system's own speeds. Complex modes are computed in
model/flexible/modal_data.py.

Source: Fleischer and Likins (1975), JPL TR 32-1598; each correction of its errors is stated at the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    IDENTITY,
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    inner,
    joined,
    matrix_product,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    named_matrix,
    negative,
    plus,
    scaled,
    scaled_matrix,
    skew,
    skew_product,
    times,
    total,
    transposed,
)
from armillary.model.joints.base import principal_rotation

# A vehicle as in JPL's subroutines: substructures in a tree, hinges, appendages, rotors, loads.
#
# Every scalar may be a number or an expression. Substructure 0 is the reference body, free in space; every
# other substructure is connected to an earlier one by one to three hinges through a common point. A
# substructure is a rigid body with its appendages and the transverse inertia of its rotors; o is its mass
# centre in the undeformed state. Vectors of a substructure are in its own axes.
#
# Source: Fleischer and Likins (1975), JPL TR 32-1598, sections II.A and III.B.

Modes = Sequence[Triple]  # one triple per mode: the columns of a 3 × N matrix
Square = Sequence[Sequence[Scalar]]
# Appendage, or SpinningAppendage in MBDYFR: the appendages of a vehicle are of one class.
VehicleAppendage: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Hinge:
    """A turn by ``angle`` about a unit axis, which has the same components before and after the turn.

    ``torque`` acts on the outboard side along the axis; ``acceleration`` is `None` if it is unknown.
    ``armature`` is the reflected inertia of the drive, which JPL's programs do not have.
    """

    axis: Triple
    angle: Scalar
    rate: Scalar
    torque: Scalar = 0
    acceleration: Scalar | None = None
    name: str = "hinge"
    armature: Scalar = 0


@dataclass(frozen=True, eq=False)
class Rotor:
    """A balanced axisymmetric rotor about an axis of its body, with its axial ``inertia``.

    ``torque`` is the total torque along the axis; it is ignored if the relative ``acceleration`` is given.
    """

    axis: Triple
    inertia: Scalar
    rate: Scalar
    torque: Scalar = 0
    acceleration: Scalar | None = None


@dataclass(frozen=True, eq=False)
class NodeLoad:
    """A force and a torque at a node of an appendage, at ``place`` r from o.

    The modes displace the node by ``shape`` and rotate it by ``rotation``. In MBDYFR both are 2 (Ψ, −Γ), with
    columns for δ, then for η.
    """

    place: Triple
    shape: Modes
    rotation: Modes
    force: Triple = ZEROS
    torque: Triple = ZEROS


@dataclass(frozen=True, eq=False)
class Appendage:
    """An appendage in real modes with coordinates η and rates η̇, about the substructure's o.

    P = Σ m φ and ``moment`` Δ = Σ (m r × φ + I θ), a column per mode. ``mass`` is the modal matrix of
    Mn (1 − S Sᵀ Mn / M) with the mass M of the whole vehicle: a unit matrix for JPL's own modes.
    """

    P: Modes
    moment: Modes
    mass: Square
    stiffness: Square
    damping: Square
    coordinates: Sequence[Scalar]
    rates: Sequence[Scalar]
    loads: tuple[NodeLoad, ...] = ()


@dataclass(frozen=True, eq=False)
class Particle:
    """A nodal body: mass, inertia, position from o under the nominal spin, and complex modes Ψ + iΓ.

    ``psi`` and ``gamma`` are displacements, ``psi_turn`` and ``gamma_turn`` rotations.
    """

    mass: Scalar
    inertia: Matrix
    place: Triple
    psi: Modes
    gamma: Modes
    psi_turn: Modes
    gamma_turn: Modes


@dataclass(frozen=True, eq=False)
class SpinningAppendage:
    """An appendage in complex modes about a nominal spin of its body, with the states δ and η."""

    particles: tuple[Particle, ...]
    spin: Triple
    frequencies: Sequence[Scalar]
    damping: Sequence[Scalar]
    delta: Sequence[Scalar]
    eta: Sequence[Scalar]
    loads: tuple[NodeLoad, ...] = ()


@dataclass(frozen=True, eq=False)
class Substructure:
    """A rigid body with its appendages and rotors.

    ``outward`` is the vector from the inboard body's o to the hinge point, in inboard axes; ``inward`` from
    this body's o to the hinge point. ``turned`` is a constant rotation after the hinges. ``torque`` is about
    o, and ``force`` acts at o; both exclude loads on nodes. ``mass`` and ``inertia`` (about o) include
    undeformed appendages, and rotors without their axial inertia.
    """

    name: str
    mass: Scalar
    inertia: Matrix
    inboard: int = -1
    hinges: tuple[Hinge, ...] = ()
    outward: Triple = ZEROS
    inward: Triple = ZEROS
    turned: Matrix = IDENTITY
    appendages: tuple[VehicleAppendage, ...] = ()
    rotors: tuple[Rotor, ...] = ()
    torque: Triple = ZEROS
    force: Triple = ZEROS


@dataclass(frozen=True, eq=False)
class Vehicle:
    """Substructures, inboard ones first, and the reference body's angular velocity in its own axes."""

    substructures: tuple[Substructure, ...]
    spin: Triple

    @property
    def mass(self) -> Scalar:
        """M, the mass of the whole vehicle."""
        return total([s.mass for s in self.substructures])

    @property
    def hinges(self) -> list[tuple[int, Hinge]]:
        """(index of the substructure beyond the hinge, hinge), in order."""
        return [(k, h) for k, s in enumerate(self.substructures) for h in s.hinges]

    @property
    def appendages(self) -> list[tuple[int, VehicleAppendage]]:
        """(index of the carrying substructure, appendage), in order."""
        return [(k, a) for k, s in enumerate(self.substructures) for a in s.appendages]

    def beyond(self, k: int, r: int) -> bool:
        """Return whether r is k or is carried by k: the path elements e(h, r) for the hinges h of k."""
        while r > k:
            r = self.substructures[r].inboard
        return r == k


# Attitudes and angular velocities of the substructures, all in the axes of the reference body.
#
#     w_k = w_0 + Σ g_h γ̇_h          s_h = w_(h) × g_h γ̇_h           ẇ_k = ẇ_0 + Σ (g_h γ̈_h + s_h)
#
# with sums over the hinges between the reference body and k, and w_(h) the angular velocity beyond hinge h.
#
# Source: Fleischer and Likins (1975), eq. 61.


@dataclass(frozen=True, eq=False)
class Attitude:
    """R[k] converts components from body k to body 0; g and s are by hinge, w and S = Σ s by body."""

    R: list[Matrix]
    g: list[Triple]
    w: list[Triple]
    s: list[Triple]
    S: list[Triple]

    def into(self, k: int, v: Triple) -> Triple:
        """Convert a vector from the axes of body k to the reference axes."""
        return matrix_vector(self.R[k], v)

    def back(self, k: int, v: Triple) -> Triple:
        """Convert a vector from the reference axes to the axes of body k."""
        return matrix_vector(transposed(self.R[k]), v)


def attitude(vehicle: Vehicle, turning: str = "finite") -> Attitude:
    """Return the attitude and rates of a vehicle.

    ``turning`` is "finite"; or "first" (each turn is 1 + γ [g], whose products contain some second-order
    terms; no products of rates); or "none" (all angles zero, no products of rates).
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
            turned = named_matrix(matrix_product(turned, _hinge_rotation(hinge, turning)), f"R_{label}")
            axes.append(g)
            s.append(own)
        if part.turned != IDENTITY:
            turned = named_matrix(matrix_product(turned, part.turned), f"R_{part.name}_t")
        R.append(turned)
        w.append(spin)
        S.append(named(gained, f"S_{part.name}"))
    return Attitude(R, axes, w, s, S)


def _hinge_rotation(hinge: Hinge, turning: str) -> Matrix:
    """1 + sin γ [g] + (1 − cos γ) [g][g], which converts from the axes after the hinge to those before it."""
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


# Barycentric vectors of a tree: constants, each in the axes of its body.
#
#     L_kk = 0        L_kj: from o_k to the hinge point on the path to j
#     D_kk = −(1/M) Σ M_j L_kj        D_kj = D_kk + L_kj
#     K_k = Σ_j M_j (D_kj·D_kj 1 − D_kj D_kjᵀ)
#
# so that Σ_r D_rk is the vector from the system's mass centre to o_k, and K_k + J_k is the inertia of the
# augmented body: body k with the masses of the other bodies at its hinges.
#
# Source: Fleischer and Likins (1975), section II.A; after Hooker and Margulies (1965).


@dataclass(frozen=True, eq=False)
class Barycentres:
    """D[k][j] and the undeformed inertia of each augmented body, in the axes of body k."""

    D: list[list[Triple]]
    augmented: list[Matrix]


def barycentres(vehicle: Vehicle) -> Barycentres:
    """Return the barycentric vectors and augmented inertias of a vehicle."""
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


# Rotors in bodies: free, driven or with given speed.
#
# A rotor of axial inertia G about a, with relative rate ψ̇ and a torque τ along its axis, obeys τ = G (ψ̈ +
# a·ẇ_k). If τ is known, the body's inertia is taken without the rotor's axial inertia, and the torque on the
# body is
#
#     −a τ − w_k × a G (a·w_k + ψ̇)
#
# If ψ̈ is known, the body's inertia includes the rotor's axial inertia, and the torque is −a G ψ̈ − w_k × a G
# ψ̇. (The report combines the first torque with the second inertia, which is 7 per cent wrong in a test
# against explicit rotor bodies.) Rotors enter the equations only as torques and inertias of bodies, so no
# formulation drops any of their terms.
#
# Source: Fleischer and Likins (1975), sections III.A and III.B.


def with_rotors(vehicle: Vehicle, turned: Attitude) -> Vehicle:
    """Return the vehicle with the effects of rotors included in the inertias and torques of its bodies."""
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
    """Return the angular momentum of rotors that ``with_rotors`` leaves out, in the reference axes."""
    found: Triple = (0, 0, 0)
    for k, part in enumerate(vehicle.substructures):
        w = turned.back(k, turned.w[k])
        for rotor in part.rotors:
            spin = plus(inner(rotor.axis, w), rotor.rate) if rotor.acceleration is None else rotor.rate
            found = add(found, turned.into(k, scaled(rotor.axis, times(rotor.inertia, spin))))
    return found
