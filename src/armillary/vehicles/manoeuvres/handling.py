"""Steady circles and linear models: understeer gradient, gains, characteristic and critical speed.

    K = (V/G − L)/V²        G = yaw velocity over steer angle, steady        ISO 4138, ISO 8855

For the single-track car with linear tyres K = m/L (b/Cf − a/Cr), and the critical speed of an oversteering
car is √(L/−K), the characteristic speed of an understeering one √(L/K).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Car

YAW, SIDE = "yaw velocity", "lateral acceleration"
FASTEST = 120.0  # m/s, up to which a critical speed is looked for
DEGREE = np.pi / 180


@dataclass(frozen=True)
class SteadyCircle:
    """Steady circles by trim: one row per speed or steer angle."""

    speed: np.ndarray  # m/s
    steer: np.ndarray  # rad, of the front wheels
    yaw_velocity: np.ndarray  # rad/s
    lateral_acceleration: np.ndarray  # m/s²
    sideslip: np.ndarray  # rad
    points: tuple[arm.OperatingPoint, ...]

    def table(self) -> str:
        """Return the rows as lines of text."""
        lines = [
            "  speed   steer  lat. acc.  yaw vel.  sideslip   radius",
            "   km/h     deg       m/s2     deg/s       deg        m",
        ]
        for v, d, a, r, b in zip(
            self.speed, self.steer, self.lateral_acceleration, self.yaw_velocity, self.sideslip, strict=True
        ):
            lines.append(
                f"{3.6 * v:7.1f}{d / DEGREE:8.3f}{a:11.4f}{r / DEGREE:10.3f}{b / DEGREE:10.3f}{v / r:9.2f}"
            )
        return "\n".join(lines)


def steady_circle(
    car: Car, *, speed: float, steer: Sequence[float] | None = None, radius: Sequence[float] | None = None
) -> SteadyCircle:
    """Return steady circles at a speed for steer angles or radii, by trim, ISO 4138.

    steer   angles of the front wheels, rad, one circle each
    radius  m, positive to the left: the angles are found

    Each is the end of the manoeuvre that would lead to it, without its time; ``points`` are accepted as
    ``initial=`` of runs and ``at=`` of linear models.
    """
    if (steer is None) == (radius is None):
        raise arm.ModelError("steady_circle: give either steer= or radius=")
    points: list[arm.OperatingPoint] = []
    starts: object = car.start(speed) or None
    rows = []
    for value in steer if steer is not None else radius or ():
        how: dict[str, object] = {"parameters": car.hands_off(speed), "starts": starts}
        if steer is not None:
            how["memory"] = {"steer": value * car.steering_ratio}
        else:
            how["inputs"] = ["steer"]
            how["outputs"] = {YAW: speed / value / DEGREE}
        point = car.model.trim(**how)
        points.append(point)
        angle = value * car.steering_ratio if steer is not None else float(point.inputs["steer"])
        rows.append(_measure(car, point, speed, angle))
    speeds, angles, yaw, side, slip = np.array(rows).T
    return SteadyCircle(speeds, angles, yaw, side, slip, tuple(points))


def _measure(car: Car, point: arm.OperatingPoint, speed: float, angle: float) -> list[float]:
    """Return the row of a circle: speed, angle of the front wheels, yaw velocity, acceleration, sideslip.

    They are the outputs of the point itself: a run from it would compile the loop of runs, and of a car with
    suspensions in closed loops often another configuration, half of the time of the first circle.
    """
    found = point.outputs
    return [
        float(found.get("speed", speed)),
        float(angle) / car.steering_ratio,
        float(found[YAW]) * DEGREE,
        float(found[SIDE]),
        float(found["sideslip angle"]) * DEGREE,
    ]


@dataclass(frozen=True)
class Handling:
    """Figures of the linear car at a speed, straight ahead."""

    speed: float  # m/s
    yaw_gain: float  # 1/s
    acceleration_gain: float  # m/s² per rad
    understeer_gradient: float  # rad per m/s²
    characteristic_speed: float  # m/s, nan for an oversteering car
    critical_speed: float  # m/s, where straight running becomes unstable; nan if it does not
    frequencies: np.ndarray  # of the oscillating modes, Hz
    dampings: np.ndarray

    def table(self) -> str:
        """Return the figures as lines of text."""
        rows = [
            ("speed", 3.6 * self.speed, "km/h"),
            ("yaw velocity gain", self.yaw_gain, "1/s"),
            ("lateral acceleration gain", self.acceleration_gain * DEGREE, "m/s2/deg"),
            ("understeer gradient", self.understeer_gradient / DEGREE, "deg/(m/s2)"),
            ("characteristic speed", 3.6 * self.characteristic_speed, "km/h"),
            ("critical speed", 3.6 * self.critical_speed, "km/h"),
        ]
        return "\n".join(f"{name:<36}{value:10.4f}  {unit}" for name, value, unit in rows)


def handling_figures(car: Car, speed: float, *, critical: bool = True) -> Handling:
    """Return the figures of the linear model of straight running.

    critical  look for the speed at which a real eigenvalue passes zero, by bisection on linear models
    """
    linear = _linear(car, speed)
    a, b, c, d = _without_cyclic(linear)
    steady = (d - c @ np.linalg.solve(a, b))[:, 0] * car.steering_ratio
    gain, side = steady[0] * DEGREE, steady[1]
    gradient = (speed / gain - car.wheelbase) / speed**2
    values = np.linalg.eigvals(a)
    turning = values[values.imag > 1e-6]
    order = np.argsort(np.abs(turning))
    turning = turning[order]
    return Handling(
        speed, gain, side, gradient,
        float(np.sqrt(car.wheelbase / gradient)) if gradient > 0 else np.nan,
        _critical_speed(car, speed) if critical else np.nan,
        np.abs(turning) / (2 * np.pi), -turning.real / np.abs(turning),
    )  # fmt: skip


def _linear(car: Car, speed: float) -> arm.LinearModel:
    found: arm.LinearModel = car.model.linearize(
        at=car.start(speed) or None, inputs=["steer"], outputs=[YAW, SIDE], parameters=car.hands_off(speed)
    )
    return found


def _without_cyclic(linear: arm.LinearModel) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C, D without states that nothing depends on: place, heading, angles of wheels."""
    a, c = np.asarray(linear.A), np.asarray(linear.C)
    keep = np.ones(len(a), dtype=bool)
    while True:
        size = max(float(np.max(np.abs(a))), 1.0)
        used = np.any(np.abs(a[np.ix_(keep, keep)]) > 1e-12 * size, axis=0)
        used |= np.any(np.abs(c[:, keep]) > 1e-12, axis=0)
        if used.all():
            break
        keep[np.nonzero(keep)[0][~used]] = False
    return a[np.ix_(keep, keep)], np.asarray(linear.B)[keep], c[:, keep], np.asarray(linear.D)


def _critical_speed(car: Car, speed: float) -> float:
    """Return the speed at which the determinant of A changes its sign, above or below the given one."""

    def sign(v: float) -> float:
        return float(np.linalg.slogdet(_without_cyclic(_linear(car, v))[0])[0])

    here = sign(speed)
    low, high = speed, speed
    while sign(high) == here:
        high *= 1.3
        if high > FASTEST:
            break
    if high > FASTEST:
        return np.nan
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if sign(middle) == here:
            low = middle
        else:
            high = middle
    return (low + high) / 2
