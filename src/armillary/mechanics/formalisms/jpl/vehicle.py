"""A vehicle as JPL's subroutines see it: substructures in a tree, hinges, appendages, rotors, loads.

Every scalar may be a number or an expression. Substructure 0 is the reference body, free in space; each other
one hangs on an earlier one by one to three hinges through a common point. A substructure is a rigid body with
its appendages and the transverse inertia of its rotors; o is its mass centre while undeformed. Its vectors
are in its own axes.

Source: Fleischer and Likins (1975), JPL TR 32-1598, sections II.A and III.B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from armillary.algebra.vectors.matrices import IDENTITY, Matrix
from armillary.algebra.vectors.scalars import Scalar, total
from armillary.algebra.vectors.triples import ZEROS, Triple

Modes = Sequence[Triple]  # one triple per mode: the columns of a 3 × N matrix
Square = Sequence[Sequence[Scalar]]
# Appendage, or SpinningAppendage in MBDYFR: the appendages of a vehicle are of one class.
VehicleAppendage: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Hinge:
    """A turn by ``angle`` about a unit axis, in the axes before (and after) it.

    ``torque`` acts on the outboard side along the axis; ``acceleration`` is None where it is unknown.
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
    """A balanced axisymmetric rotor about an axis of its body, by its axial inertia.

    ``torque`` is all that acts on it along its axis; it is of no account where the relative ``acceleration``
    is given.
    """

    axis: Triple
    inertia: Scalar
    rate: Scalar
    torque: Scalar = 0
    acceleration: Scalar | None = None


@dataclass(frozen=True, eq=False)
class NodeLoad:
    """A force and a torque at a node r of an appendage, whose modes move it by ``shape``, turn it by
    ``rotation``. In MBDYFR these are 2 (Ψ, −Γ): columns for δ, then for η.
    """

    place: Triple
    shape: Modes
    rotation: Modes
    force: Triple = ZEROS
    torque: Triple = ZEROS


@dataclass(frozen=True, eq=False)
class Appendage:
    """An appendage in real modes with coordinates η and rates η̇, from the substructure's o.

    P = Σ m φ and ``moment`` Δ = Σ (m r × φ + I θ), column by column. ``mass`` is the modal matrix of
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
    """A nodal body: mass, inertia, place from o while deformed by the nominal spin, and the complex modes
    Ψ + iΓ of its displacement and rotation.
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

    ``outward`` leads from the inboard o to the hinge point, in inboard axes; ``inward`` from the own o to the
    same point. ``turned`` is a constant rotation after the hinges. ``torque`` is about o, ``force`` through
    it; loads on nodes are not in them. ``mass`` and ``inertia`` (about o) are those of everything,
    undeformed, less the rotors' axial inertia.
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
        """M, of everything."""
        return total([s.mass for s in self.substructures])

    @property
    def hinges(self) -> list[tuple[int, Hinge]]:
        """(substructure beyond it, hinge), in order."""
        return [(k, h) for k, s in enumerate(self.substructures) for h in s.hinges]

    @property
    def appendages(self) -> list[tuple[int, VehicleAppendage]]:
        """(carrying substructure, appendage), in order."""
        return [(k, a) for k, s in enumerate(self.substructures) for a in s.appendages]

    def beyond(self, k: int, r: int) -> bool:
        """Whether r is k or hangs on it, however far: the path elements e(h, r) of k's hinges."""
        while r > k:
            r = self.substructures[r].inboard
        return r == k
