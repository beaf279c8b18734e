"""A full car: four suspensions in closed loops with springs, dampers, stops and bars, a rack, brakes, air.

The body's origin is on the road, between the middles of the axles; x forward, y to the left, z up. Inputs:
``steer``, angle of the steering wheel in rad; ``brake``, 0 to 1; ``drive``, torque in N·m on the driven axle,
added to the torque that holds the speed V or to the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.cars import (
    CORNERS,
    GRAVITY,
    Car,
    add_attitude_outputs,
    add_iso_outputs,
    declare_parameters,
    declare_rolling,
    draw_body,
    end_when_overturned,
    read_values,
    start_at_speed,
    static_deflection,
)
from armillary.vehicles.driver import Driver
from armillary.vehicles.parts.bushings import Bushing, Law, LeafSpring
from armillary.vehicles.parts.chassis import add_air, add_energy_balance, add_rack
from armillary.vehicles.parts.driveline import (
    Differential,
    GearShift,
    SpeedDriver,
    add_brake,
    add_differential,
    add_powertrain,
)
from armillary.vehicles.parts.springs import Stop, add_anti_roll_bar, add_spring_damper
from armillary.vehicles.road import Road
from armillary.vehicles.suspensions.axles import (
    Masses,
    SolidAxle,
    TwistBeam,
    double_wishbone,
    five_link,
    macpherson,
    solid_axle,
    twist_beam,
)
from armillary.vehicles.suspensions.corner import Compliance, Corner, HardPoints, motion_ratios
from armillary.vehicles.suspensions.rig import Builder
from armillary.vehicles.tyres.tyre import Scalar, Tyre
from armillary.vehicles.wheel import RoadWheel, add_wheel

# Hard points of the left side: x from the axle, y from the middle, z from the wheel's centre, in metres.
DOUBLE_WISHBONE_FRONT: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.76, 0.0),
    "lower_front": (0.14, 0.36, -0.11), "lower_rear": (-0.20, 0.36, -0.10), "lower_ball": (0.0, 0.72, -0.13),
    "upper_front": (0.11, 0.44, 0.15), "upper_rear": (-0.15, 0.44, 0.13), "upper_ball": (-0.02, 0.68, 0.17),
    "rack": (-0.14, 0.37, -0.06), "rod_end": (-0.13, 0.70, -0.07),
    "spring_top": (-0.01, 0.50, 0.44), "spring_foot": (0.0, 0.60, -0.10),
}  # fmt: skip
MACPHERSON_FRONT: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.76, 0.0),
    "lower_front": (0.10, 0.38, -0.11), "lower_rear": (-0.22, 0.38, -0.10), "lower_ball": (0.01, 0.73, -0.12),
    "strut_top": (-0.03, 0.58, 0.56), "strut_foot": (0.0, 0.66, 0.10),
    "rack": (-0.14, 0.37, -0.05), "rod_end": (-0.13, 0.70, -0.06),
}  # fmt: skip
FIVE_LINK_REAR: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.76, 0.0),
    "inner_1": (0.45, 0.55, -0.03), "outer_1": (0.06, 0.69, -0.06),  # trailing, lower
    "inner_2": (-0.02, 0.30, -0.10), "outer_2": (0.0, 0.71, -0.13),  # transverse, lower
    "inner_3": (0.20, 0.45, 0.11), "outer_3": (0.03, 0.68, 0.13),  # upper, ahead
    "inner_4": (-0.04, 0.42, 0.12), "outer_4": (-0.02, 0.68, 0.15),  # upper
    "inner_5": (-0.20, 0.32, -0.05), "outer_5": (-0.17, 0.69, -0.06),  # toe link
    "spring_top": (-0.02, 0.58, 0.36), "spring_foot": (-0.02, 0.62, -0.08),
}  # fmt: skip

FULL: dict[str, tuple[float, str, str]] = {
    "m": (1350.0, "kg", "mass of the body"),
    "Ixx": (480.0, "kg*m2", "roll inertia of the body"),
    "Iyy": (2000.0, "kg*m2", "pitch inertia of the body"),
    "Izz": (2200.0, "kg*m2", "yaw inertia of the body"),
    "a": (1.25, "m", "front axle ahead of the body's mass centre"),
    "b": (1.45, "m", "rear axle behind it"),
    "h": (0.56, "m", "height of the body's mass centre"),
    "mw": (20.0, "kg", "mass of a wheel"),
    "Iw": (1.2, "kg*m2", "spin inertia of a wheel"),
    "hold": (2000.0, "N*s/m", "drive force by error of speed"),
    "brake_front": (1500.0, "N*m", "torque of a front brake with the pedal at one"),
    "brake_rear": (800.0, "N*m", "torque of a rear brake with the pedal at one"),
    "drag": (0.66, "m2", "coefficient of drag times area"),
    "lift": (0.2, "m2", "coefficient of lift times area"),
}

# Steps of runs, s. With bushings of 1e7 N/m, a wishbone of 4 kg oscillates at 500 Hz, so the step is shorter.
RIGID_STEP, ELASTIC_STEP = 1e-3, 2e-4
RACK_MASS = 3.0  # kg
BUMP, REBOUND = Stop(0.05, 200e3), Stop(0.06, 200e3)  # m, N/m, between the two seats of a spring


@dataclass(frozen=True)
class AxleDesign:
    """The suspension of an axle: its kind, hard points, springs, dampers, stops and bar."""

    build: Builder  # such as `double_wishbone`
    places: Mapping[str, Sequence[float]]  # hard points, left side, m
    spring: Law = 45e3  # N/m, or a table of the force over the compression
    damper: Law = 3500.0  # N·s/m, or a table of the force over the speed of compression
    bar: float = 12e3  # N/m at the wheels; 0 for none
    bump: Stop | None = BUMP
    rebound: Stop | None = REBOUND
    masses: Masses = field(default_factory=Masses)
    compliance: Compliance | None = None  # bushings in place of joints

    def unsprung(self) -> float:
        """Return the mass of a corner without its wheel, kg: upright and, if there is one, lower arm."""
        return float(self.masses.upright) + (float(self.masses.arm) if "lower_ball" in self.places else 0.0)


@dataclass(frozen=True)
class SolidDesign:
    """A solid axle on four links, or on leaf springs: hard points of the left side, springs, dampers, stops.

    With ``leaf``, leaf springs at the points spring_foot hold the axle; there are no links or coil springs.
    """

    places: Mapping[str, Sequence[float]]
    spring: Law = 40e3
    damper: Law = 3000.0
    bump: Stop | None = BUMP
    rebound: Stop | None = REBOUND
    mass: float = 90.0
    inertia: tuple[float, float, float] = (18.0, 1.5, 18.0)
    leaf: LeafSpring | None = None

    def unsprung(self) -> float:
        """Return half of the axle's mass, kg."""
        return self.mass / 2


@dataclass(frozen=True)
class TwistBeamDesign:
    """A twist beam: hard points of the left side, springs, dampers and stops; see `twist_beam`."""

    places: Mapping[str, Sequence[float]]
    spring: Law = 30e3
    damper: Law = 2200.0
    bump: Stop | None = BUMP
    rebound: Stop | None = REBOUND
    mass: float = 18.0  # of one half
    inertia: tuple[float, float, float] = (0.6, 0.5, 0.9)
    torsion: float = 6000.0  # N·m/rad

    def unsprung(self) -> float:
        """Return the mass of one half of the beam, kg."""
        return self.mass


@dataclass(frozen=True)
class EngineDesign:
    """An engine with clutch and gearbox, and the driver who shifts and holds the speed V with both pedals."""

    law: Callable[[Scalar, Scalar], Scalar]  # torque over speed and pedal: `combustion_engine`, …
    ratios: Sequence[float] = (3.6, 2.1, 1.4, 1.05, 0.85)
    final: float = 3.7
    shift: GearShift = field(default_factory=GearShift)
    driver: SpeedDriver = field(default_factory=SpeedDriver)
    inertia: float = 0.15  # kg·m²
    clutch: float = 450.0  # N·m

    def first_gear(self, spin: float) -> int:
        """Return the lowest gear in which the driver does not shift up at a spin of the wheels in rad/s."""
        fit = [i for i, ratio in enumerate(self.ratios, start=1) if spin * ratio * self.final < self.shift.up]
        return fit[0] if fit else len(self.ratios)


class _Seat(NamedTuple):
    """Where a wheel and its spring are attached, and the spring's force at rest, N."""

    carrier: arm.Body
    at: tuple[Scalar, Scalar, Scalar]  # the hub in the carrier's frame, m
    top: arm.Point  # seats of the spring
    foot: arm.Point
    preload: float


FRONT = AxleDesign(double_wishbone, DOUBLE_WISHBONE_FRONT)
FRONT_STRUT = AxleDesign(macpherson, MACPHERSON_FRONT, spring=27e3, damper=2300.0)
REAR = AxleDesign(five_link, FIVE_LINK_REAR, spring=32e3, damper=2600.0, bar=5e3)


def full_car(
    front_tyre: Tyre,
    rear_tyre: Tyre,
    *,
    front: AxleDesign = FRONT,
    rear: AxleDesign | SolidDesign | TwistBeamDesign = REAR,
    speed: float = 25.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    drive: str = "rear",
    differential: Differential | None = None,
    engine: EngineDesign | None = None,
    steering_ratio: float = 16.0,
    driver: Driver | None = None,
    vary: Sequence[str] = (),
    energy: bool = False,
) -> Car:
    """Return a car whose four suspensions are linkages of rigid or elastic parts.

    front_tyre, rear_tyre  tyres of the left side; the right side has their mirror images
    front, rear            designs of the axles; the rear one has no rack and may be a `SolidDesign` or a
                           `TwistBeamDesign`
    parameters             replace values of FULL
    drive                  axle whose wheels hold the speed V: "front" or "rear"
    engine                 replaces the torque that holds V: its driver uses pedals and gears, and starts in
                           the gear for ``speed``
    driver                 steers in addition to the input
    vary                   front hard points whose coordinates become parameters, front_POINT_x and so on
    energy                 add the work of all loads by kind as states, see `add_energy_balance`

    Springs are preloaded such that the car is nearly in equilibrium with its hard points at their given
    heights; `Model.equilibrium` finds the exact equilibrium.
    """
    if drive not in ("front", "rear"):
        raise arm.ModelError(f"drive={drive!r} is not known; use 'front' or 'rear'")
    if steering_ratio == 0:
        raise arm.ModelError("steering_ratio=0 steers nothing; give the ratio of wheel to road wheel")
    s = arm.System("full car")
    p = declare_parameters(s, FULL, parameters, speed)
    numbers = read_values(FULL, parameters)
    pedal: Scalar = s.input("brake", about="pedal of the brake, 0 to 1")
    extra = s.input("drive", units="N*m", about="torque of the driven axle")
    s.gravity("g", -s.ground.z)
    body = s.body(
        "body", joint=arm.Free(rotation="zyx", velocity="body"), com=(0, 0, "h"), mass="m",
        inertia=("Ixx", "Iyy", "Izz"),
    )  # fmt: skip
    draw_body(body, "1.28")
    gas: Scalar = 0.0
    if engine is not None:
        gas, slow = engine.driver.pedals(s, "driver", p["V"] - body.u1)
        pedal = arm.min(pedal + slow, 1.0)
    base = numbers["a"] + numbers["b"]
    powers: dict[str, Scalar] = {kind: 0 for kind in ("tyres", "springs", "dampers", "bars", "brakes")}
    rod = front.places["rod_end"] if "rod_end" in front.places else front.places["outer_5"]
    reach = rod[0] - front.places["wheel"][0]  # of the steering arm, negative behind the axle
    ratio = s.parameter("steering_ratio", steering_ratio, about="of steering wheel to front wheels")
    angle = s.expression("steer")
    if driver is not None:
        angle = angle + ratio * driver.add(s, body, p["a"] + p["b"])
    sprung_front = (numbers["m"] * numbers["b"] / base + RACK_MASS) * GRAVITY / 2
    on_front = sprung_front + (front.unsprung() + numbers["mw"]) * GRAVITY
    place = (numbers["a"], 0.0, float(front_tyre.free_radius) - static_deflection(front_tyre, on_front))
    rack = add_rack(s, "rack", body, angle=angle, at=place, mass=RACK_MASS, pinion=reach / steering_ratio)
    wheels: dict[str, RoadWheel] = {}
    corners: dict[str, Corner] = {}
    spins = {}
    solid: dict[str, SolidAxle] = {}
    beams: dict[str, TwistBeam] = {}
    for name, (_, side) in CORNERS.items():
        axle = name.partition("_")[0]
        design, tyre = (front, front_tyre) if axle == "front" else (rear, rear_tyre)
        tyre = tyre if side > 0 else tyre.mirror()
        ahead = numbers["a"] if axle == "front" else -numbers["b"]
        sprung = sprung_front if axle == "front" else numbers["m"] * GRAVITY * numbers["a"] / base / 2
        load = sprung + (design.unsprung() + numbers["mw"]) * GRAVITY
        height = float(tyre.free_radius) - static_deflection(tyre, load)
        places = {label: (x + ahead, y, z + height) for label, (x, y, z) in design.places.items()}
        if isinstance(design, SolidDesign):
            if axle not in solid:
                solid[axle] = solid_axle(
                    s, f"{axle}_axle", body, places, mass=design.mass, inertia=design.inertia,
                    links=design.leaf is None,
                )  # fmt: skip
            if design.leaf is None:
                seat = _seat_of_axle(s, solid[axle], side, sprung)
            else:
                seat, pack = _add_leaf(s, name, solid[axle], design.leaf, places, side, sprung)
                powers["springs"] += pack.power
        elif isinstance(design, TwistBeamDesign):
            if axle not in beams:
                beams[axle] = twist_beam(
                    s, f"{axle}_axle", body, places, mass=design.mass, inertia=design.inertia,
                    torsion=design.torsion,
                )  # fmt: skip
                powers["bars"] += beams[axle].power
            corners[name] = beams[axle].left if side > 0 else beams[axle].right
            seat = _seat_of_beam(s, beams[axle], corners[name], sprung)
        else:
            points = HardPoints(s, axle, places, side=side, vary=vary if axle == "front" else ())
            elastic: dict[str, Compliance] = {"compliance": design.compliance} if design.compliance else {}
            corners[name] = design.build(
                s, name, body, points, masses=design.masses, rack=rack.body if axle == "front" else None,
                **elastic,
            )  # fmt: skip
            seat = _seat_of_corner(s, corners[name], design, places, sprung)
        wheels[name] = add_wheel(
            s, name, seat.carrier, tyre, at=seat.at, mass="mw", inertia=("Iw/2", "Iw", "Iw/2"), road=road
        )
        spins[name] = declare_rolling(s, name, tyre, load)
        strut = add_spring_damper(
            s, f"{name}_spring", seat.top, seat.foot, preload=seat.preload, damper=design.damper,
            spring=0.0 if isinstance(design, SolidDesign) and design.leaf else design.spring,
            bump=design.bump, rebound=design.rebound,
        )  # fmt: skip
        brake = add_brake(s, wheels[name], p[f"brake_{axle}"] * pedal)
        powers["tyres"] += wheels[name].power()
        powers["springs"] += strut.spring_power
        powers["dampers"] += strut.damper_power
        powers["brakes"] += brake.power
    for axle, design in (("front", front), ("rear", rear)):
        if isinstance(design, AxleDesign) and design.bar:
            bar = add_anti_roll_bar(
                s, f"{axle}_bar", corners[f"{axle}_left"], corners[f"{axle}_right"], design.bar
            )
            powers["bars"] += bar.power
    left, right = wheels[f"{drive}_left"], wheels[f"{drive}_right"]
    housing = solid[drive].body if drive in solid else body
    held = p["hold"] * (p["V"] - body.u1) * left.tyre.free_radius if engine is None else 0
    shafts = add_differential(s, "drive_shaft", housing, left, right, held + extra, kind=differential)
    if engine is not None:
        spin = spins[left.name] * speed
        first = engine.first_gear(spin)
        train = add_powertrain(
            s, "engine", housing, left, right, engine=engine.law, pedal=gas, ratios=engine.ratios,
            gear=replace(engine.shift, first=first), final=engine.final, inertia=engine.inertia,
            clutch=engine.clutch, start=spin * engine.ratios[first - 1] * engine.final,
        )  # fmt: skip
        powers["engine"] = train.power
        s.output("gear", "engine_gear", about="that is engaged")
    air = add_air(s, "air", body, body.com, drag=numbers["drag"], lift=numbers["lift"])
    powers |= {"drive": shafts.power, "air": air.power, "steering": rack.power}
    if energy:
        add_energy_balance(s, powers)
    add_iso_outputs(s, body, angle)
    add_attitude_outputs(s, body)
    end_when_overturned(s, body)
    for name, corner in corners.items():
        s.output(f"{name} travel", corner.travel, units="mm", about="of the wheel's centre in the body")
    elastic_axle = any(isinstance(d, AxleDesign) and d.compliance for d in (front, rear))
    step = ELASTIC_STEP if elastic_axle else RIGID_STEP
    return start_at_speed(Car(s, wheels, spins, base, steering_ratio, powers, step=step), speed)


def _seat_of_corner(
    s: arm.System, corner: Corner, design: AxleDesign, places: Mapping[str, Sequence[float]], sprung: float
) -> _Seat:
    """Return the seat; its preload balances the wheel's load and the arms' weight, by virtual work.

    Motion ratios are computed with rigid joints, also if the design has bushings.
    """
    rigid = corner
    if design.compliance is not None:
        s = arm.System("rigid corner")
        chassis = s.body("chassis", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
        points = HardPoints(s, "axle", places, side=corner.side)
        rigid = design.build(s, "corner", chassis, points, masses=design.masses)
    length = arm.magnitude(arm.position(rigid.seats["spring_foot"], rigid.seats["spring_top"]))
    heights = [arm.dot(arm.position(b.com, rigid.chassis.origin), rigid.chassis.z) for b in rigid.bodies[1:]]
    lever, *rises = rigid.ratios(s, [length, *heights])
    carried = sprung + sum(float(design.masses.arm) * GRAVITY * (1 - rise) for rise in rises)
    top, foot = corner.seats["spring_top"], corner.seats["spring_foot"]
    return _Seat(corner.upright, (0, 0, 0), top, foot, -carried / lever)


def _seat_of_axle(s: arm.System, axle: SolidAxle, side: int, sprung: float) -> _Seat:
    """Return the seat of one side; its preload balances the sprung load in heave (virtual work)."""
    label = "left" if side > 0 else "right"
    top, foot = axle.seats[f"{label}_spring_top"], axle.seats[f"{label}_spring_foot"]
    heave = {axle.body.q3: 1.0, axle.body.q5: 0.0}
    length = arm.magnitude(arm.position(foot, top))
    lever = motion_ratios(s, axle.name, axle.body.coordinates, axle.closures, heave, [length])[0]
    return _Seat(axle.body, axle.wheel_place(side), top, foot, -sprung / lever)


def _seat_of_beam(s: arm.System, beam: TwistBeam, corner: Corner, sprung: float) -> _Seat:
    """Return the seat of one wheel; its preload balances the sprung load in heave (virtual work)."""
    coordinates = [*beam.left.coordinates, *beam.right.coordinates]
    heave = {beam.left.travel: 1.0, beam.right.travel: 1.0}
    top, foot = corner.seats["spring_top"], corner.seats["spring_foot"]
    length = arm.magnitude(arm.position(foot, top))
    lever = motion_ratios(s, corner.name, coordinates, beam.closures, heave, [length])[0]
    return _Seat(corner.upright, (0, 0, 0), top, foot, -sprung / lever)


def _add_leaf(
    s: arm.System,
    name: str,
    axle: SolidAxle,
    leaf: LeafSpring,
    places: Mapping[str, Sequence[float]],
    side: int,
    sprung: float,
) -> tuple[_Seat, Bushing]:
    """Add the leaf spring of one side, which carries the load; return the damper's seat and the spring."""
    label = "left" if side > 0 else "right"
    x, y, z = places["spring_foot"]
    eyes = axle.chassis.point(f"{name}_eyes", (x, side * y, z))
    foot = axle.seats[f"{label}_spring_foot"]
    pack = leaf.add(s, f"{name}_leaf", foot, eyes, sprung)
    return _Seat(axle.body, axle.wheel_place(side), axle.seats[f"{label}_spring_top"], foot, 0.0), pack
