"""Other vehicles made with `full_car`: a pickup, a compact car, and a Formula-Student car."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armillary.vehicles.cars import Car
from armillary.vehicles.driver import Driver
from armillary.vehicles.full_car import (
    DOUBLE_WISHBONE_FRONT,
    MACPHERSON_FRONT,
    AxleDesign,
    SolidDesign,
    TwistBeamDesign,
    full_car,
)
from armillary.vehicles.parts.bushings import LeafSpring
from armillary.vehicles.parts.driveline import Differential
from armillary.vehicles.parts.springs import Stop
from armillary.vehicles.road import Road
from armillary.vehicles.suspensions.independent import Masses, double_wishbone, macpherson
from armillary.vehicles.tyres.tyre import Tyre

# Hard points of the left side: x from the axle, y from the middle, z from the wheel's centre, in metres.
SOLID_REAR: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.80, 0.0),
    "lower_inner": (0.60, 0.45, 0.00), "lower_outer": (0.02, 0.52, -0.08),
    "upper_inner": (0.45, 0.42, 0.16), "upper_outer": (0.02, 0.10, 0.18),
    "spring_top": (-0.02, 0.50, 0.42), "spring_foot": (-0.02, 0.52, 0.06),
}  # fmt: skip
LEAF = LeafSpring(length=1.3, width=0.065, thickness=0.0082, leaves=4)  # 36 kN/m
TWIST_BEAM_REAR: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.73, 0.0),
    "pivot": (0.42, 0.56, 0.02), "beam": (0.26, 0.0, 0.01),
    "spring_top": (0.04, 0.50, 0.34), "spring_foot": (0.04, 0.50, -0.02),
}  # fmt: skip
COMPACT = {
    "m": 1000.0, "Ixx": 330.0, "Iyy": 1300.0, "Izz": 1450.0, "a": 1.02, "b": 1.50, "h": 0.55, "mw": 16.0,
    "Iw": 0.8, "drag": 0.65, "lift": 0.1, "brake_front": 1200.0, "brake_rear": 500.0,
}  # fmt: skip
PICKUP = {
    "m": 1900.0, "Ixx": 800.0, "Iyy": 4200.0, "Izz": 4500.0, "a": 1.45, "b": 1.85, "h": 0.75, "mw": 28.0,
    "Iw": 1.8, "drag": 1.2, "lift": 0.0, "brake_front": 2200.0, "brake_rear": 1100.0,
}  # fmt: skip

STUDENT_FRONT: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.60, 0.0),
    "lower_front": (0.14, 0.22, -0.08), "lower_rear": (-0.16, 0.22, -0.08), "lower_ball": (0.0, 0.56, -0.10),
    "upper_front": (0.12, 0.26, 0.06), "upper_rear": (-0.16, 0.26, 0.06), "upper_ball": (-0.01, 0.54, 0.10),
    "rack": (0.07, 0.22, -0.05), "rod_end": (0.07, 0.56, -0.06),
    "spring_top": (0.0, 0.28, 0.30), "spring_foot": (0.0, 0.48, -0.08),
}  # fmt: skip
STUDENT_REAR = {
    **STUDENT_FRONT,
    "wheel": (0.0, 0.58, 0.0), "rack": (-0.16, 0.24, -0.07), "rod_end": (-0.08, 0.55, -0.09),
}  # fmt: skip
STUDENT = {
    "m": 215.0, "Ixx": 18.0, "Iyy": 85.0, "Izz": 95.0, "a": 0.80, "b": 0.75, "h": 0.28, "mw": 8.0, "Iw": 0.25,
    "drag": 1.1, "lift": -2.2, "hold": 1500.0, "brake_front": 400.0, "brake_rear": 220.0,
}  # fmt: skip
LIGHT = Masses(upright=3.0, upright_inertia=(0.02, 0.015, 0.02), arm=0.8, arm_inertia=(0.006, 0.003, 0.008))


def pickup(
    front_tyre: Tyre,
    rear_tyre: Tyre,
    *,
    speed: float = 25.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    driver: Driver | None = None,
    energy: bool = False,
    leaf: LeafSpring | None = None,
) -> Car:
    """Return a pickup: double wishbones in front, a driven solid axle on four links behind.

    Arguments are as for `full_car`; parameters replace values of PICKUP. With ``leaf``, such as LEAF, packs
    of leaf springs hold the axle in place of links and coil springs.
    """
    front = AxleDesign(double_wishbone, DOUBLE_WISHBONE_FRONT, spring=75e3, damper=5000.0, bar=18e3)
    return full_car(
        front_tyre, rear_tyre, front=front, rear=SolidDesign(SOLID_REAR, leaf=leaf), speed=speed,
        parameters={**PICKUP, **(parameters or {})}, road=road, driver=driver, energy=energy,
        steering_ratio=18.0,
    )  # fmt: skip


def compact_car(
    front_tyre: Tyre,
    rear_tyre: Tyre,
    *,
    speed: float = 25.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    driver: Driver | None = None,
    energy: bool = False,
) -> Car:
    """Return a compact car: driven MacPherson struts in front, a twist beam behind.

    Arguments are as for `full_car`; parameters replace values of COMPACT.
    """
    front = AxleDesign(macpherson, MACPHERSON_FRONT, spring=22e3, damper=1900.0, bar=10e3)
    return full_car(
        front_tyre, rear_tyre, front=front, rear=TwistBeamDesign(TWIST_BEAM_REAR, spring=24e3), speed=speed,
        parameters={**COMPACT, **(parameters or {})}, road=road, driver=driver, energy=energy, drive="front",
    )  # fmt: skip


def formula_student_car(
    front_tyre: Tyre,
    rear_tyre: Tyre,
    *,
    speed: float = 15.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    driver: Driver | None = None,
    energy: bool = False,
) -> Car:
    """Return a Formula-Student car: double wishbones, a limited differential, downforce.

    Arguments are as for `full_car`; parameters replace values of STUDENT. Tyres must have a radius of about
    0.23 m and a nominal load below 1 kN.
    """
    stop = Stop(0.03, 1e5)
    front = AxleDesign(
        double_wishbone, STUDENT_FRONT, spring=45e3, damper=2200.0, bar=8e3, masses=LIGHT, bump=stop,
        rebound=stop,
    )  # fmt: skip
    rear = replace(front, places=STUDENT_REAR, bar=6e3)
    return full_car(
        front_tyre, rear_tyre, front=front, rear=rear, speed=speed,
        parameters={**STUDENT, **(parameters or {})}, road=road, driver=driver, energy=energy,
        steering_ratio=4.0, differential=Differential("limited", preload=20.0),
    )  # fmt: skip
