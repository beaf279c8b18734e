"""Leaf springs: the rates of a semi-elliptic pack, as a bushing of six axes between axle and chassis.

    vertical   k = 8 E n b t³/(3 L³)        graduated leaves, load in the middle, ends on pins
    wind-up    k L²/4                       about y: the halves bend against each other
    lateral    E t b³/(2 (L/2)³)            the main leaf on edge

The axle is clamped in the middle of the pack. Longitudinally the pack is a rod: its rate is that of the eye's
bushing. Friction between the leaves is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import armillary as arm
from armillary.vehicles.parts.bushings import Bushing, add_bushing


@dataclass(frozen=True)
class LeafSpring:
    """A pack of leaves, in metres.

    length        L between the eyes
    width         b
    thickness     t of one leaf
    leaves        n
    modulus       E, Pa
    longitudinal  rate of the eye's bushing, N/m
    damping       of the bushing in all directions, N·s/m
    """

    length: float
    width: float
    thickness: float
    leaves: int
    modulus: float = 206e9
    longitudinal: float = 4e6
    damping: float = 1500.0

    def __post_init__(self) -> None:
        numbers = (self.length, self.width, self.thickness, self.leaves, self.modulus, self.longitudinal)
        if not all(value > 0 for value in numbers):
            raise arm.ModelError("a leaf spring needs length, width, thickness, leaves and rates above zero")

    @property
    def vertical(self) -> float:
        """Vertical rate in the middle, N/m."""
        return 8 * self.modulus * self.leaves * self.width * self.thickness**3 / (3 * self.length**3)

    @property
    def lateral(self) -> float:
        """Lateral rate, N/m."""
        return self.modulus * self.thickness * self.width**3 / (2 * (self.length / 2) ** 3)

    @property
    def wind_up(self) -> float:
        """Rate of the axle's rotation about y, N·m/rad, by one pack."""
        return self.vertical * self.length**2 / 4

    def add(
        self, system: arm.System, name: str, axle: arm.Point, chassis: arm.Point, preload: float
    ) -> Bushing:
        """Add the pack between its seat on the axle and the place amid its eyes; ``preload`` at rest in N."""
        rate = system.parameter(
            f"{name}_vertical", self.vertical, units="N/m", about="rate of the leaf spring"
        )
        load = system.parameter(
            f"{name}_preload", preload, units="N", about="force of the leaf spring at rest"
        )
        stiffness = (self.longitudinal, self.lateral, lambda z: rate * z + load)
        damping = (self.damping,) * 3
        return add_bushing(
            system, name, axle, chassis, stiffness=stiffness, damping=damping,
            torsion=(0.05 * self.wind_up, self.wind_up, 0.05 * self.wind_up),
            torsion_damping=(20.0, 20.0, 20.0),
        )  # fmt: skip
