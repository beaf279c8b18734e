"""Engines, motors, clutch, gearbox, differentials and brakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.arguments import require_numbers
from armillary.vehicles.tyres.tyre import Scalar
from armillary.vehicles.wheel import RoadWheel

# rad/s within which friction of brakes and differentials changes its sign: a brake of 1500 N·m on 1.2 kg·m²
# then has an eigenvalue of 830 1/s. With 0.5 rad/s it would have 2500 1/s, which together with the tyre's
# damper exceeds the stability limit of RK4 with steps of 1 ms (2785 1/s).
SLOW_SPIN = 1.5
LOCKED = 400.0  # N·m·s/rad between the wheels of a locked differential, if no coupling is given
# 1/s, coupling of a locked differential over the spin inertia of a wheel: the difference of the spins dies
# out in 1.5 ms for wheels of any size. Runs with 400 N·m·s/rad, 0.25 kg·m² and steps of 1 ms diverged.
LOCK_RATE = 333.0
NOMINAL_CLUTCH = 400.0  # N·m, at which a clutch whose capacity is an expression has its given stiffness


# ---------------------------------------------------------------- engines


def electric_motor(torque: float, power: float) -> Callable[[Scalar, Scalar], Scalar]:
    """Return a function for a motor's torque (N·m) over speed and pedal: constant up to the power limit.

    T = pedal · min(torque, power/|ω|)
    """
    if not (0 < torque < math.inf and 0 < power < math.inf):
        raise arm.ModelError(
            f"electric_motor: torque={torque:g} and power={power:g} must be positive and finite"
        )

    def law(speed: Scalar, pedal: Scalar) -> Scalar:
        corner = power / torque
        return pedal * power / arm.max(arm.abs(speed), corner)

    return law


def combustion_engine(
    speed: Sequence[float], full: Sequence[float], drag: Sequence[float]
) -> Callable[[Scalar, Scalar], Scalar]:
    """Return a function for an engine's torque (N·m) over speed and pedal, between drag and full load.

    speed  rad/s, rising
    full   torque with the pedal at one, N·m
    drag   torque with the pedal at zero, N·m, negative

    Beyond the ends of the table torques stay constant; but below its first speed the drag is proportional to
    the speed, so that it brings an engine to rest and does not drive it backwards.
    """
    above = arm.Table(speed, full, kind="smooth", name="full_load", x_units="rad/s", y_units="N*m")
    below = arm.Table(speed, drag, kind="smooth", name="engine_drag", x_units="rad/s", y_units="N*m")

    lowest = max(float(speed[0]), SLOW_SPIN)

    def law(omega: Scalar, pedal: Scalar) -> Scalar:
        friction = below(omega) * arm.max(arm.min(omega / lowest, 1.0), -1.0)
        return friction + pedal * (above(omega) - friction)

    return law


# ---------------------------------------------------------------- differentials


@dataclass(frozen=True)
class Differential:
    """The rule by which a differential divides torque between two wheels: open, limited or locked.

    kind      "open": equal torques; "limited": friction of ``preload`` N·m and ``ramp`` times the input
              torque moves torque to the slower wheel; "locked": a stiff viscous coupling
    """

    kind: str = "open"
    preload: float = 50.0
    ramp: float = 0.3

    def __post_init__(self) -> None:
        if self.kind not in ("open", "limited", "locked"):
            raise arm.ModelError(
                f"differential {self.kind!r} is not known; use 'open', 'limited' or 'locked'"
            )
        if not (0 <= self.preload < math.inf and 0 <= self.ramp < math.inf):
            raise arm.ModelError(
                f"differential: preload={self.preload:g} and ramp={self.ramp:g} are friction: give finite "
                "numbers from 0 on"
            )

    def shift(self, torque: Scalar, difference: Scalar, coupling: Scalar = LOCKED) -> Scalar:
        """Return the torque moved from the left wheel to the right one.

        ``difference`` is the spin of the left wheel minus the spin of the right wheel, rad/s. ``coupling`` is
        the damping between the wheels of a locked differential, N·m·s/rad.
        """
        if self.kind == "open":
            return 0.0
        if self.kind == "locked":
            return coupling * difference
        return (self.preload + self.ramp * arm.abs(torque)) / 2 * arm.tanh(difference / SLOW_SPIN)


class Drive(NamedTuple):
    """A driven axle: torques on its wheels, their power and the loss in the differential."""

    left: Scalar  # N·m
    right: Scalar
    power: Scalar  # on the bodies, W
    differential_loss: Scalar  # W


def add_differential(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    left: RoadWheel,
    right: RoadWheel,
    torque: Scalar,
    *,
    kind: Differential | None = None,
    final: Scalar = 1.0,
) -> Drive:
    """Add the torques of an axle's shafts: ``final`` times ``torque`` in all.

    The reaction acts on ``chassis``, the body that carries the differential: the car's body or a solid axle.
    """
    rule = kind or Differential()
    whole = final * torque
    spins = [_relative_spin(wheel, chassis) for wheel in (left, right)]
    coupling: Scalar = 0.0
    if rule.kind == "locked":
        rate = system.parameter(
            f"{name}_lock_rate", LOCK_RATE, units="1/s", about="coupling over the spin inertia of a wheel"
        )
        coupling = rate * (left.body.inertia[1][1] + right.body.inertia[1][1]) / 2
    shift = rule.shift(whole, spins[0] - spins[1], coupling)
    torques = (whole / 2 - shift, whole / 2 + shift)
    for wheel, value in zip((left, right), torques, strict=True):
        system.moment(f"{name}_{wheel.name}", value, wheel.carrier.y, on=wheel.body, reaction=chassis)
    power = torques[0] * spins[0] + torques[1] * spins[1]
    return Drive(torques[0], torques[1], power, shift * (spins[0] - spins[1]))


def _relative_spin(wheel: RoadWheel, chassis: arm.Body) -> Scalar:
    """Return the spin of a wheel relative to the body of the differential."""
    relative = arm.angular_velocity(wheel.carrier) - arm.angular_velocity(chassis)
    return wheel.body.u1 + arm.dot(relative, wheel.carrier.y)


# ---------------------------------------------------------------- engine with clutch and gearbox


@dataclass(frozen=True)
class GearShift:
    """The gear changes of a driver or of an automatic gearbox.

    up, down  engine speeds, rad/s, at which the next higher and the next lower gear are taken; the engine
              speed is computed from the wheels and the present gear, without slip of the clutch
    pause     time in which the clutch closes after a shift, s; the engine's pedal rises in this time, too
    first     gear at the start
    """

    up: float = 500.0
    down: float = 180.0
    pause: float = 0.4
    first: int = 1

    def check(self, name: str, ratios: Sequence[float]) -> None:
        """Raise an error for shifts that would be reversed at once, and for a missing first gear."""
        if not (0 < self.down < self.up and self.pause > 0 and 1 <= self.first <= len(ratios)):
            raise arm.ModelError(
                f"powertrain '{name}': a gear shift needs 0 < down < up, a pause, and an existing first gear"
            )
        for i, (here, after) in enumerate(pairwise(ratios), start=1):
            if abs(after) >= abs(here):
                raise arm.ModelError(
                    f"powertrain '{name}': ratio {after:g} of gear {i + 1} must be below that of gear {i}"
                )
            if self.up * after / here <= self.down:
                raise arm.ModelError(
                    f"powertrain '{name}': from gear {i} to {i + 1} the engine falls from {self.up:g} to "
                    f"{self.up * after / here:.3g} rad/s, where it shifts down again; lower down="
                )

    def add(
        self, system: arm.System, name: str, driven: Callable[[Scalar], Scalar], count: int
    ) -> tuple[Scalar, Scalar]:
        """Add the gear as a memory, and the events that change it; return the gear and the clutch, 0 to 1.

        ``driven`` returns the speed of the engine in a gear; the clutch is closed at one.
        """
        gear = system.memory(f"{name}_gear", float(self.first), about="that is engaged")
        since = system.memory(f"{name}_shifted", -self.pause, units="s", about="time of the last shift")
        pause = system.parameter(f"{name}_pause", self.pause, units="s", about="until the clutch is closed")
        now = system.expression("t")
        for label, limit, direction, after in (
            ("up", self.up, 1, arm.min(gear + 1, count)),
            ("down", self.down, -1, arm.max(gear - 1, 1)),
        ):
            speed = system.parameter(
                f"{name}_{label}", limit, units="rad/s", about=f"where it shifts {label}"
            )
            # In the highest and in the lowest gear an event must not open the clutch.
            moved = arm.select(arm.abs(after - gear) > 0.5, now, since)
            system.event(
                f"{name}_{label}shift", driven(gear) - speed, direction=direction,
                set={gear: after, since: moved},
            )  # fmt: skip
        return gear, arm.min((now - since) / pause, 1.0)


@dataclass(frozen=True)
class SpeedDriver:
    """A driver who holds a speed with the pedals.

    gain   pedal per m/s of missing speed
    brake  pedal of the brake per m/s of excess speed
    """

    gain: float = 0.3
    brake: float = 0.1

    def pedals(self, system: arm.System, name: str, error: Scalar) -> tuple[Scalar, Scalar]:
        """Return accelerator and brake pedal, 0 to 1, for a missing speed in m/s."""
        gain = system.parameter(
            f"{name}_pedal_gain", self.gain, units="s/m", about="of the driver's right foot"
        )
        brake = system.parameter(f"{name}_brake_gain", self.brake, units="s/m", about="of the driver's brake")
        return arm.min(arm.max(gain * error, 0.0), 1.0), arm.min(arm.max(-brake * error, 0.0), 1.0)


class Powertrain(NamedTuple):
    """An engine that drives an axle through a clutch and a gearbox."""

    speed: Scalar  # of the engine, rad/s
    torque: Scalar  # of the engine, N·m
    clutch_torque: Scalar
    clutch_loss: Scalar  # W, including the power that its spring stores
    drive: Drive
    power: Scalar  # on the bodies, W


def _check_numbers(
    name: str,
    ratios: Sequence[float],
    final: float,
    inertia: float,
    clutch: Scalar,
    torsion: Sequence[float],
) -> None:
    """Raise an error for numbers that no powertrain can have, such as a ratio of zero."""
    gears, shaft = _finite_numbers(ratios), _finite_numbers(torsion)
    if not gears or 0 in gears or not _finite_numbers([final]) or final == 0:
        raise arm.ModelError(
            f"powertrain '{name}': ratios={ratios!r} and final={final!r} must be a list of numbers and a "
            "number, finite and not zero: gear ratios of zero transmit nothing; give others"
        )
    if not _finite_numbers([inertia]) or inertia <= 0:
        raise arm.ModelError(f"powertrain '{name}': inertia={inertia!r} of the engine must be positive")
    if not isinstance(clutch, arm.Expr) and (not _finite_numbers([clutch]) or clutch <= 0):
        raise arm.ModelError(
            f"powertrain '{name}': clutch={clutch!r} must be a positive capacity in N·m; for a clutch "
            "that opens give an expression, such as an input"
        )
    if len(shaft) != 2 or shaft[0] <= 0 or shaft[1] < 0:
        raise arm.ModelError(
            f"powertrain '{name}': torsion={torsion!r} must be a positive stiffness in N·m/rad and a "
            "damping in N·m·s/rad, not negative"
        )


def _finite_numbers(given: Sequence[float]) -> list[float]:
    """Return a sequence of finite numbers as floats; return an empty list if it has anything else."""
    try:
        numbers = [float(value) for value in given]
    except (TypeError, ValueError):
        return []
    return numbers if all(math.isfinite(value) for value in numbers) else []


def add_powertrain(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    left: RoadWheel,
    right: RoadWheel,
    *,
    engine: Callable[[Scalar, Scalar], Scalar],
    pedal: Scalar,
    gear: Scalar | GearShift,
    ratios: Sequence[float],
    final: float,
    inertia: float = 0.15,
    clutch: Scalar = 400.0,
    differential: Differential | None = None,
    start: float = 0.0,
    torsion: tuple[float, float] = (600.0, 4.0),
) -> Powertrain:
    """Add an engine whose speed is a state, a clutch, a gearbox and a differential.

        J ω̇ = T(ω, pedal) − Tc        Tc = clutch · min(max(s + c ṡ/k, −1), 1)        axle torque i Tc
        ṡ = k/clutch (v − |v| s),  v = ω − iΩ

    s is the torque of the clutch's spring over the capacity, and Ω the mean spin of the wheels. The clutch is
    a spring with a damper that slips when its torque reaches the capacity, which it never exceeds (the model
    of Dahl, with the damper of LuGre). A friction torque that depends on the slip speed alone would be a
    damper, which is i² times as strong at the wheels and gives an eigenvalue of 30,000 1/s in first gear.

    engine   torque over speed and pedal: `combustion_engine`, `electric_motor`, or a function such as Table2
    gear     expression or input whose value 1, 2, … chooses a ratio, or a `GearShift`
    ratios   of the gears; i is a ratio times ``final``
    clutch   capacity of the clutch, N·m: a number, or an expression that a driver changes, 0 for
             an open clutch; spring and damper are then proportional to it, and as given at 400 N·m
    start    speed of the engine at the start, rad/s
    torsion  k and c of clutch and driveline, measured at the engine, N·m/rad and N·m·s/rad
    """
    _check_numbers(name, ratios, final, inertia, clutch, torsion)
    numbers = [
        system.parameter(f"{name}_ratio_{i}", ratio * final, about=f"whole ratio of gear {i}")
        for i, ratio in enumerate(ratios, start=1)
    ]

    def ratio_of(gear: Scalar) -> Scalar:
        found: Scalar = numbers[-1]
        for i in range(len(numbers) - 1, 0, -1):
            found = arm.select(gear < i + 0.5, numbers[i - 1], found)
        return found

    wheels = (_relative_spin(left, chassis) + _relative_spin(right, chassis)) / 2
    rotor = system.parameter(f"{name}_inertia", inertia, units="kg*m2", about="of engine and flywheel")
    driven_by_user = isinstance(clutch, arm.Expr)
    nominal = system.parameter(
        f"{name}_clutch", NOMINAL_CLUTCH if driven_by_user else clutch, units="N*m",
        about="capacity of the clutch at which its spring and damper are those of torsion",
    )  # fmt: skip
    capacity = clutch if driven_by_user else nominal
    if isinstance(gear, GearShift):
        gear.check(name, ratios)
        gear, closed = gear.add(system, name, lambda chosen: ratio_of(chosen) * wheels, len(ratios))
        capacity, pedal = capacity * closed, pedal * closed
    ratio = ratio_of(gear)
    omega = system.state(f"{name}_speed", initial=start, units="rad/s", about="of the engine")
    driven = ratio * wheels
    slip = omega - driven
    spring = system.parameter(f"{name}_torsion", torsion[0], units="N*m/rad", about="of clutch and driveline")
    damper = system.parameter(f"{name}_torsion_damping", torsion[1], units="N*m*s/rad", about="of the same")
    wound = system.state(f"{name}_clutch_load", about="torque of the clutch's spring over its capacity")
    winding = slip - arm.abs(slip) * wound
    system.rate(f"{name}_clutch_load", spring / nominal * winding)
    transmitted = capacity * arm.max(arm.min(wound + damper / nominal * winding, 1.0), -1.0)
    torque = engine(omega, pedal)
    system.rate(f"{name}_speed", (torque - transmitted) / rotor)
    drive = add_differential(system, name, chassis, left, right, transmitted, kind=differential, final=ratio)
    return Powertrain(omega, torque, transmitted, transmitted * slip, drive, drive.power)


# ---------------------------------------------------------------- brakes


class Brake(NamedTuple):
    """A brake of one wheel."""

    torque: Scalar  # on the wheel, N·m
    power: Scalar  # negative, W
    temperature: Scalar | None


def add_brake(
    system: arm.System,
    wheel: RoadWheel,
    torque: Scalar,
    *,
    heat_capacity: float | None = None,
    cooling: float = 10.0,
    ambient: float = 293.15,
    fade: Callable[[Scalar], Scalar] | None = None,
) -> Brake:
    """Add a brake between a wheel and its upright, whose torque opposes the spin.

        T = −torque · fade(θ) · tanh(Ω/1.5 rad/s)        C θ̇ = −T Ω − h (θ − ambient)

    heat_capacity  C of the disc, J/K: its temperature θ becomes the state WHEEL_brake_temperature, K
    cooling        h, W/K
    fade           factor of the torque over the temperature in K, such as an `arm.Table`
    """
    name = f"{wheel.name}_brake"
    if heat_capacity is not None:
        require_numbers(
            f"brake of '{wheel.name}'", positive={"heat_capacity": heat_capacity, "ambient": ambient},
            not_negative={"cooling": cooling},
        )  # fmt: skip
    if fade is not None and not callable(fade):
        raise arm.ModelError(
            f"brake of '{wheel.name}': fade={fade!r} must be a function of the temperature, such as a Table"
        )
    spin = wheel.body.u1
    heat = None
    grip: Scalar = 1.0
    if heat_capacity is not None:
        heat = system.state(f"{name}_temperature", initial=ambient, units="K", about="of the brake disc")
        grip = fade(heat) if fade is not None else 1.0
    elif fade is not None:
        raise arm.ModelError(f"brake of '{wheel.name}': fade= needs the temperature; give heat_capacity=")
    applied = -torque * grip * arm.tanh(spin / SLOW_SPIN)
    system.moment(name, applied, wheel.carrier.y, on=wheel.body, reaction=wheel.carrier)
    power = applied * spin
    if heat is not None:
        capacity = system.parameter(f"{name}_capacity", heat_capacity, units="J/K")
        release = system.parameter(f"{name}_cooling", cooling, units="W/K")
        outside = system.parameter(f"{name}_ambient", ambient, units="K")
        system.rate(f"{name}_temperature", (-power - release * (heat - outside)) / capacity)
    return Brake(applied, power, heat)
