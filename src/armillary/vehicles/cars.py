"""Cars ready to run: a single-track car and one with 14 degrees of freedom.

Both have the input ``steer`` (angle of the front wheels, rad), the parameter ``V`` (speed), and outputs
named as in ISO 8855: yaw velocity, lateral acceleration, sideslip angle. Axes: x forward, y to the left,
z up.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import armillary as arm
from armillary.vehicles.driver import Driver
from armillary.vehicles.road import Road
from armillary.vehicles.tyres.tyre import Scalar, Tyre
from armillary.vehicles.wheel import RoadWheel, add_rolling_wheel, add_wheel

# A compiled model; its class has no public name.
Compiled: TypeAlias = Any

GRAVITY = 9.80665
# Stiffness (N·m/rad) and damping (N·m·s/rad) of the steering at a front wheel: 30 Hz, damping ratio ½.
COLUMN, COLUMN_DAMPING = 40e3, 100.0
OVERTURNED = "overturned"  # name of the event that ends a run
UPRIGHT = 0.2  # cosine of the body's lean below which it is overturned
CORNERS = {"front_left": ("a", 1), "front_right": ("a", -1), "rear_left": ("b", 1), "rear_right": ("b", -1)}

# A car of the middle class: value in SI units, unit, meaning.
SINGLE_TRACK: dict[str, tuple[float, str, str]] = {
    "m": (1500.0, "kg", "mass"),
    "Izz": (2600.0, "kg*m2", "yaw inertia"),
    "a": (1.2, "m", "front axle ahead of the mass centre"),
    "b": (1.5, "m", "rear axle behind the mass centre"),
}
FOURTEEN: dict[str, tuple[float, str, str]] = {
    "m": (1350.0, "kg", "sprung mass"),
    "Ixx": (550.0, "kg*m2", "roll inertia of the sprung mass"),
    "Iyy": (2100.0, "kg*m2", "pitch inertia of the sprung mass"),
    "Izz": (2300.0, "kg*m2", "yaw inertia of the sprung mass"),
    "a": (1.2, "m", "front axle ahead of the sprung mass centre"),
    "b": (1.5, "m", "rear axle behind it"),
    "h": (0.55, "m", "height of the sprung mass centre"),
    "track": (1.5, "m", "track of both axles"),
    "mu": (40.0, "kg", "unsprung mass of a corner without its wheel"),
    "mw": (20.0, "kg", "mass of a wheel"),
    "Iw": (1.2, "kg*m2", "spin inertia of a wheel"),
    "kf": (25e3, "N/m", "rate of a front spring at the wheel"),
    "kr": (28e3, "N/m", "rate of a rear spring at the wheel"),
    "cf": (2200.0, "N*s/m", "damping of a front wheel"),
    "cr": (2400.0, "N*s/m", "damping of a rear wheel"),
    "bar_f": (12e3, "N/m", "front anti-roll bar, force by difference of travel"),
    "bar_r": (4e3, "N/m", "rear anti-roll bar"),
    "hold": (2000.0, "N*s/m", "drive force by error of speed"),
}


@dataclass(frozen=True)
class Car:
    """A described car: its system, with the data that manoeuvres need."""

    system: arm.System
    wheels: Mapping[str, RoadWheel]
    spin_per_speed: Mapping[str, float]  # Ω/V of free rolling, by wheel, 1/m
    wheelbase: float = 2.7  # m
    steering_ratio: float = 1.0  # input "steer" over the angle of the front wheels
    powers: Mapping[str, Scalar] = field(default_factory=dict)  # power of each kind of load but gravity, W
    step: float = 1e-3  # s, step of the integration in manoeuvres

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Car:
        """Return the car of a text model: the name of a vehicle of this package, or a path.

        The model must have the input "steer" and the parameters V, a and b, as models saved by
        `Car.system.save` have; a car with four wheels also has the body "body" and parameters
        WHEEL_spin_per_speed.
        """
        system = arm.load(find_vehicle(path))
        values = {name: p.data.default for name, p in system.parameters.items()}
        missing = [name for name in ("V", "a", "b") if name not in values]
        missing += [] if "steer" in system.memories else ["the input steer"]
        if missing:
            raise arm.ModelError(
                f"{path}: this model is no car for manoeuvres: it lacks {', '.join(missing)}; see Car.load"
            )
        ending = "_spin_per_speed"
        spins = {name.removesuffix(ending): value for name, value in values.items() if name.endswith(ending)}
        ratio = values.get("steering_ratio", 1.0)
        return cls(system, {}, spins, values["a"] + values["b"], ratio)

    @cached_property
    def model(self) -> Compiled:
        """The compiled model, made at the first use."""
        return self.system.derive().compile()

    def hands_off(self, speed: float) -> dict[str, float]:
        """Return parameters for runs at a speed with the driver switched off: the input alone steers."""
        return {"V": speed, **({"driver_gain": 0.0} if "driver_gain" in self.system.parameters else {})}

    def _wheel(self, name: str) -> str:
        """Return the name of a wheel's body: NAME or, in text models with included wheels, NAME_wheel."""
        return name if name in self.system.bodies else f"{name}_wheel"

    def start(self, speed: float) -> dict[str, float]:
        """Return the initial values of straight running at a speed, which is 0 for a car that stands.

        A car with four wheels starts by default at the speed that its parameter V had when the car was made.
        """
        spins = {f"{self._wheel(name)}.u1": ratio * speed for name, ratio in self.spin_per_speed.items()}
        return {"body.u1": speed, **spins} if spins else {}


def single_track_car(
    front: Tyre, rear: Tyre, *, speed: float = 25.0, parameters: Mapping[str, float] | None = None
) -> Car:
    """Return a car with one wheel per axle at a constant speed: it moves sideways and yaws.

    Each tyre argument describes the left wheel of an axle; it and its mirror image are at the axle's middle.
    With linear tyres this is the textbook's model, whose yaw velocity on a circle is V δ/(L + K V²),
    K = m/L (b/Cf − a/Cr), with stiffnesses of whole axles.
    """
    s = arm.System("single-track car")
    p = declare_parameters(s, SINGLE_TRACK, parameters, speed)
    body = s.body(
        "body", joint=arm.Planar("z", velocity="body"), mass="m", inertia=(0, 0, "Izz"), check_inertia=False
    )
    s.prescribe(body.u1, "V")
    knuckle = s.body("knuckle", body, arm.Revolute("z"), at=("a", 0, 0), mass=0, inertia=0)
    s.prescribe(knuckle.q1, "steer")
    weight = p["m"] * p["g"] / (p["a"] + p["b"])
    halves = (
        ("front", knuckle, front, weight * p["b"] / 2, (0, 0)),
        ("rear", body, rear, weight * p["a"] / 2, ("-b", 0)),
    )
    for name, parent, tyre, load, place in halves:
        made = tyre.with_parameters(s, name)
        for side in ("left", "right"):
            fitted = made if side == "left" else made.mirror()
            add_rolling_wheel(
                s, f"{name}_{side}", parent, fitted, load=load, speed=p["V"],
                at=(*place, made.free_radius), outputs=False,
            )  # fmt: skip
    add_iso_outputs(s, body)
    numbers = read_values(SINGLE_TRACK, parameters)
    return Car(s, {}, {}, numbers["a"] + numbers["b"])


def fourteen_freedom_car(
    front: Tyre,
    rear: Tyre,
    *,
    speed: float = 25.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    drive: str = "rear",
    driver: Driver | None = None,
) -> Car:
    """Return a car whose body has six degrees of freedom; each of four wheels moves vertically and spins.

    front, rear  tyres of the left side; the right side has their mirror images
    parameters   replace values of FOURTEEN
    drive        axle whose wheels hold the speed V: "front" or "rear"
    driver       steers in addition to the input "steer"; the front wheels then turn on stiff springs

    With all coordinates zero the car stands on the road at height zero: springs and tyres carry the weight.
    Wheels move along z of the body, so the roll axis lies in the plane of the road.
    """
    if drive not in ("front", "rear"):
        raise arm.ModelError(f"drive={drive!r} is not known; use 'front' or 'rear'")
    s = arm.System("14-freedom car")
    p = declare_parameters(s, FOURTEEN, parameters, speed)
    numbers = read_values(FOURTEEN, parameters)
    s.gravity("g", -s.ground.z)
    body = s.body(
        "body", joint=arm.Free(rotation="zyx", velocity="body"), com=(0, 0, "h"), mass="m",
        inertia=("Ixx", "Iyy", "Izz"),
    )  # fmt: skip
    draw_body(body, "track - 0.22")
    base = numbers["a"] + numbers["b"]
    hands = None
    if driver is not None:
        hands = driver.add(s, body, p["a"] + p["b"])
        s.parameter("column", COLUMN, units="N*m", about="stiffness of the steering at a wheel")
        s.parameter("column_damping", COLUMN_DAMPING, units="N*m*s", about="its damping")
        p = s.parameters
    wheels, spins, travel = {}, {}, {}
    for corner, (arm_name, side) in CORNERS.items():
        axle = corner.partition("_")[0]
        tyre = front if axle == "front" else rear
        tyre = tyre if side > 0 else tyre.mirror()
        other = numbers["b" if axle == "front" else "a"]
        sprung = numbers["m"] * GRAVITY * other / base / 2
        load = sprung + (numbers["mu"] + numbers["mw"]) * GRAVITY
        height = float(tyre.free_radius) - static_deflection(tyre, load)
        sign = "" if axle == "front" else "-"
        upright = s.body(
            f"{corner}_upright", body, arm.Prismatic("z"),
            at=(f"{sign}{arm_name}", f"{side}*track/2", height), mass="mu", inertia=0,
        )  # fmt: skip
        travel[corner] = upright.q1
        short = axle[0]
        preload = s.parameter(f"{corner}_preload", sprung, units="N", about="of the spring at rest")
        s.force(
            f"{corner}_spring", -preload - p[f"k{short}"] * upright.q1 - p[f"c{short}"] * upright.u1,
            body.z, at=upright.origin, reaction=body,
        )  # fmt: skip
        carrier = upright
        if axle == "front":
            carrier = s.body(f"{corner}_knuckle", upright, arm.Revolute("z"), mass=0, inertia=0)
            if hands is None:
                s.prescribe(carrier.q1, "steer")
            else:
                s.effort_on(
                    carrier.q1,
                    p["column"] * (s.expression("steer") + hands - carrier.q1)
                    - p["column_damping"] * carrier.u1,
                )
        wheels[corner] = add_wheel(
            s, corner, carrier, tyre, mass="mw", inertia=("Iw/2", "Iw", "Iw/2"), road=road
        )
        spins[corner] = declare_rolling(s, corner, tyre, load)
    for axle in ("front", "rear"):
        left, right = f"{axle}_left", f"{axle}_right"
        rate = p[f"bar_{axle[0]}"]
        for here, there in ((left, right), (right, left)):
            s.force(
                f"{here}_bar", -rate * (travel[here] - travel[there]), body.z,
                at=s.bodies[f"{here}_upright"].origin, reaction=body,
            )  # fmt: skip
    for corner in (f"{drive}_left", f"{drive}_right"):
        wheel = wheels[corner]
        torque = p["hold"] * (p["V"] - body.u1) * wheel.tyre.free_radius / 2
        s.moment(f"{corner}_drive", torque, wheel.carrier.y, on=wheel.body, reaction=wheel.carrier)
    add_iso_outputs(s, body, None if hands is None else s.expression("steer") + hands)
    add_attitude_outputs(s, body)
    end_when_overturned(s, body)
    return start_at_speed(Car(s, wheels, spins, base), speed)


def start_at_speed(car: Car, speed: float) -> Car:
    """Let runs of a car begin by default with straight running at a speed; return the car.

    In a start from rest the speed controller would spin up the driven wheels at once.
    """
    car.system.start(car.start(speed))
    return car


def read_values(
    table: Mapping[str, tuple[float, str, str]], given: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the values of a table of parameters, with the given ones replaced."""
    unknown = set(given or {}) - set(table)
    if unknown:
        raise arm.ModelError(f"there is no parameter {sorted(unknown)[0]!r}; known are {', '.join(table)}")
    return {name: float((given or {}).get(name, value)) for name, (value, _, _) in table.items()}


def declare_parameters(
    s: arm.System,
    table: Mapping[str, tuple[float, str, str]],
    given: Mapping[str, float] | None,
    speed: float,
) -> Mapping[str, arm.Expr]:
    """Declare the parameters of a table, the speed V, gravity g and the input of the steering."""
    for name, value in read_values(table, given).items():
        s.parameter(name, value, units=table[name][1], about=table[name][2])
    s.parameter("V", speed, units="m/s", about="speed")
    s.parameter("g", GRAVITY, units="m/s2", about="gravity")
    s.input("steer", units="rad", about="steer angle of the front wheels")
    return s.parameters


def declare_rolling(s: arm.System, corner: str, tyre: Tyre, load: float) -> float:
    """Declare Ω/V of a freely rolling wheel under a load as a parameter, and return it (1/m)."""
    ratio = 1 / float(tyre.effective_radius(load))
    s.parameter(f"{corner}_spin_per_speed", ratio, units="1/m", about="of free rolling, where runs begin")
    return ratio


def static_deflection(tyre: Tyre, load: float) -> float:
    """Return the deflection at which a tyre carries a load, by bisection to rounding."""
    low, high = 0.0, float(tyre.free_radius)
    for _ in range(80):
        middle = (low + high) / 2
        if float(tyre.vertical_force(middle)) < load:
            low = middle
        else:
            high = middle
    return high


def add_iso_outputs(s: arm.System, body: arm.Body, steer: Scalar | None = None) -> None:
    """Add the motion of the car as outputs by the names of ISO 8855.

    steer  angle of the front wheels if it is not the input "steer" alone
    """
    velocity, up = arm.velocity(body.com), s.ground.z
    turned = arm.cross(up, body.x)
    left = turned / arm.magnitude(turned)
    ahead = arm.cross(left, up)
    s.output("yaw velocity", arm.dot(arm.angular_velocity(body), up), units="deg/s", about="yaw velocity")
    s.output("lateral acceleration", arm.dot(arm.acceleration(body.com), left), units="m/s2")
    s.output("longitudinal acceleration", arm.dot(arm.acceleration(body.com), ahead), units="m/s2")
    slip = arm.atan2(arm.dot(velocity, left), arm.dot(velocity, ahead))
    s.output("sideslip angle", slip, units="deg", about="sideslip angle of the mass centre")
    s.output("speed", arm.dot(velocity, ahead), units="m/s", about="longitudinal velocity")
    angle = s.expression("steer") if steer is None else steer
    s.output("steer angle", angle, units="deg", about="input of the steering and the driver's angle")


def end_when_overturned(s: arm.System, body: arm.Body) -> None:
    """Add the event "overturned", which ends a run if the body leans by 78 deg.

    The contact of wheel and road is not defined for a wheel that lies on its side, and the linkages of
    suspensions reach dead centres when the car is upside down.
    """
    s.event(
        OVERTURNED, arm.dot(body.z, s.ground.z) - UPRIGHT, direction=-1, stop=True,
        about="the body leans by 78 deg: wheels do not roll any more",
    )  # fmt: skip


def draw_body(body: arm.Body, width: str) -> None:
    """Give a car's body a shape: a lower part narrow enough that the wheels are visible, and a cabin."""
    body.shape(arm.Box("a + b + 1.5", width, 0.42), at=("(a - b)/2", 0, 0.5), colour="#3b6ea5")
    cabin = ("(a - b)/2 - 0.2", 0, 0.91)
    body.shape(arm.Box("0.75*(a + b)", f"0.86*({width})", 0.4), at=cabin, colour="#8fb3d5")


def add_attitude_outputs(s: arm.System, body: arm.Body) -> None:
    """Add roll and pitch angle and the vertical acceleration of a body with all six degrees of freedom."""
    s.output("roll angle", body.q6, units="deg", about="vehicle roll angle")
    s.output("pitch angle", body.q5, units="deg", about="vehicle pitch angle")
    s.output("vertical acceleration", arm.dot(arm.acceleration(body.com), s.ground.z), units="m/s2")


# Vehicles ready to run, as text models of this package: files in the folder ``models``, with their parts.

FOLDER = Path(__file__).parent / "models"
VEHICLES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def vehicle_file(name: str) -> Path:
    """Return the file of a vehicle by its name, one of VEHICLES."""
    if name not in VEHICLES:
        raise arm.ModelError(f"there is no vehicle {name!r}; there are {', '.join(VEHICLES)}")
    return FOLDER / f"{name}.toml"


def find_vehicle(source: str | os.PathLike[str]) -> Path:
    """Return an existing path unchanged, else the file of the vehicle with that name, if there is one."""
    path = Path(source)
    if path.exists() or path.suffix or os.fspath(source) not in VEHICLES:
        return path
    return vehicle_file(os.fspath(source))


def copy_vehicle(name: str, folder: str | os.PathLike[str] = ".") -> Path:
    """Copy the text model of a vehicle and its parts to a folder, to be edited; return the copied file."""
    source, target = vehicle_file(name), Path(folder)
    (target / "parts").mkdir(parents=True, exist_ok=True)
    made = target / source.name
    taken = [path for path in (made, *(target / "parts" / p.name for p in _part_files())) if path.exists()]
    if taken:
        raise arm.ModelError(f"copy_vehicle: {taken[0]} exists already; name another folder")
    shutil.copyfile(source, made)
    for part in _part_files():
        shutil.copyfile(part, target / "parts" / part.name)
    return made


def _part_files() -> list[Path]:
    return sorted((FOLDER / "parts").glob("*.toml"))
