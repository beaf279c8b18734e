"""Steady circles and linear models: understeer gradient, gains, characteristic and critical speed.

    K = (V/G − L)/V²        G = yaw velocity over steer angle, steady        ISO 4138, ISO 8855

For the single-track car with linear tyres K = m/L (b/Cf − a/Cr). The critical speed of an oversteering car is
√(L/−K), and the characteristic speed of an understeering car √(L/K).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Car
from armillary.vehicles.manoeuvres.open_loop import START, drive
from armillary.vehicles.manoeuvres.result import require_speed

YAW, SIDE = "yaw velocity", "lateral acceleration"
SLOWEST, FASTEST = 1.0, 120.0  # m/s, ends of the search for a critical speed
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
    radius  m, positive to the left, one circle each; the steer angles are computed

    Each circle is the state in which a run with this steering would settle. ``points`` can be given as
    ``initial=`` of runs and ``at=`` of linear models.
    """
    if (steer is None) == (radius is None):
        raise arm.ModelError("steady_circle: give either steer= or radius=")
    require_speed(speed)
    given = np.atleast_1d(np.asarray(steer if radius is None else radius))
    if given.ndim > 1 or not given.size or given.dtype.kind not in "if" or not np.isfinite(given).all():
        raise arm.ModelError(
            "steady_circle: steer= and radius= are lists of finite numbers, one for each circle; "
            "give one or more"
        )
    if radius is not None and not given.all():
        raise arm.ModelError(
            "steady_circle: a radius of 0 m is no circle; give others, negative to the right"
        )
    points: list[arm.OperatingPoint] = []
    starts: object = car.start(speed) or None
    rows = []
    for value in map(float, given):
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

    All but the angle are outputs of the operating point. A run would give the same numbers, but the first
    circle would take 1.5 times as long: a run needs its compiled loop and, for suspensions in closed loops,
    often another configuration.
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
    critical_speed: float  # m/s, beyond which straight running is unstable; nan if none is below 120 m/s
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

    critical  find the speed at which a real eigenvalue of the linear model passes zero: above ``speed``, and
              below it if the car is unstable there
    """
    require_speed(speed)
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
    """Return A, B, C, D without states on which nothing depends: position, heading, wheel angles."""
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
    """Return the speed at which det A changes its sign; nan if there is none up to FASTEST.

    The search goes up from the given speed, and down if the linear car is unstable at that speed.
    """

    def sign(v: float) -> float:
        return float(np.linalg.slogdet(_without_cyclic(_linear(car, v))[0])[0])

    here = sign(speed)
    ways = [(1.3, max(FASTEST, speed))]
    if np.max(np.linalg.eigvals(_without_cyclic(_linear(car, speed))[0]).real) > 0:
        ways.insert(0, (1 / 1.3, min(SLOWEST, speed)))
    for factor, end in ways:
        near = far = speed
        while sign(far) == here and far != end:
            near, far = far, min(factor * far, end) if factor > 1 else max(factor * far, end)
        if sign(far) == here:
            continue
        while abs(far - near) > 1e-9 * far:
            middle = (near + far) / 2
            if sign(middle) == here:
                near = middle
            else:
                far = middle
        return (near + far) / 2
    return np.nan


# Handling diagram and g-g diagram: the limits of a car in two plots.


GRAVITY = 9.80665


@dataclass(frozen=True)
class HandlingDiagram:
    """Lateral acceleration over the steer angle minus the Ackermann angle, δ − L/R, at one speed."""

    speed: float  # m/s
    lateral_acceleration: np.ndarray  # m/s²
    steer: np.ndarray  # rad
    excess: np.ndarray  # δ − L/R, rad

    @property
    def understeer_gradient(self) -> np.ndarray:
        """Slope d(δ − L/R)/d ay between the circles, rad per m/s²."""
        return np.diff(self.excess) / np.diff(self.lateral_acceleration)

    def table(self) -> str:
        """Return the rows as lines of text."""
        lines = ["  lat. acc.     steer   steer - L/R", "       m/s2       deg           deg"]
        lines += [
            f"{a:11.4f}{np.degrees(d):10.4f}{np.degrees(e):14.4f}"
            for a, d, e in zip(self.lateral_acceleration, self.steer, self.excess, strict=True)
        ]
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw the diagram as Pacejka does: lateral acceleration in g over δ − L/R."""
        line = (np.degrees(self.excess), self.lateral_acceleration / GRAVITY, f"{3.6 * self.speed:.0f} km/h")
        return _draw(
            path, [line],
            "steer angle - L/R, deg", "lateral acceleration, g",
        )  # fmt: skip


def handling_diagram(car: Car, *, speed: float, steer: Sequence[float]) -> HandlingDiagram:
    """Return the handling diagram of a car at a speed from steady circles, for rising steer angles in rad.

    The diagram ends before the first angle for which no steady circle is found.
    """
    require_speed(speed)
    rows = []
    for angle in steer:
        try:
            circle = steady_circle(car, speed=speed, steer=[angle])
        except arm.ArmillaryError:
            break
        rate = float(circle.yaw_velocity[0])
        rows.append((float(circle.lateral_acceleration[0]), angle, angle - car.wheelbase * rate / speed))
    if len(rows) < 2:
        raise arm.ModelError(
            f"handling_diagram: {len(rows)} steady circles at {speed:g} m/s; give smaller steer angles"
        )
    side, angles, excess = np.array(rows).T
    return HandlingDiagram(speed, side, angles, excess)


@dataclass(frozen=True)
class GGDiagram:
    """Accelerations that a car reaches at a speed, m/s²; the hull encloses these and their mirror images."""

    speed: float
    longitudinal: np.ndarray
    lateral: np.ndarray

    @property
    def hull(self) -> np.ndarray:
        """Corners of the convex hull as rows of (longitudinal, lateral)."""
        from scipy.spatial import ConvexHull

        points = np.concatenate(
            [np.stack([self.longitudinal, sign * self.lateral], axis=1) for sign in (1, -1)]
        )
        found: np.ndarray = points[ConvexHull(points).vertices]
        return found

    def table(self) -> str:
        """Return the largest accelerations as lines of text."""
        rows = [
            ("largest lateral acceleration", float(np.max(np.abs(self.lateral)))),
            ("largest deceleration", float(-np.min(self.longitudinal))),
            ("largest acceleration", float(np.max(self.longitudinal))),
            ("largest combined acceleration", float(np.max(np.hypot(self.longitudinal, self.lateral)))),
        ]
        return "\n".join(f"{name:<36}{value:10.4f}  m/s2{value / GRAVITY:10.4f}  g" for name, value in rows)

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw the points and their hull."""
        corners = np.concatenate([self.hull, self.hull[:1]]) / GRAVITY
        points = [(sign * self.lateral / GRAVITY, self.longitudinal / GRAVITY, "") for sign in (1, -1)]
        return _draw(path, [(corners[:, 1], corners[:, 0], f"{3.6 * self.speed:.0f} km/h")],
                     "lateral acceleration, g", "longitudinal acceleration, g", dots=points)  # fmt: skip


def gg_diagram(
    car: Car,
    *,
    speed: float,
    steer: float = 0.15,
    pedals: Sequence[float] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    torques: Sequence[float] = (),
    ramp: float = 1.5,
) -> GGDiagram:
    """Return the g-g diagram of a car from runs: a ramp of steering at each brake pedal or drive torque.

    steer    angle of the front wheels at the end of the ramp, rad
    pedals   positions of the brake pedal, 0 to 1
    torques  drive torques of the driven axle, N·m
    ramp     time in which the steering rises, s: short enough that the speed hardly changes, and long
             compared with the lag of the car's yaw, a tenth of a second

    The diagram has the samples from 0.3 s after the pedal moved until the sideslip angle exceeds 60 deg,
    without those below 3 m/s.
    """
    if "brake" not in car.system.memories:
        raise arm.ModelError("gg_diagram: this car has no brakes; use full_car")
    along: list[np.ndarray] = []
    across: list[np.ndarray] = []
    cases = [("brake", value) for value in pedals] + [("drive", value) for value in torques]
    for name, value in cases:
        begin = START + 0.3
        run = drive(
            car, begin + ramp, speed, ([0, START, begin, begin + ramp], [0, 0, 0, steer]),
            inputs={name: ([0, START, START + 0.1], [0.0, 0.0, float(value)])},
            parameters={"hold": 0.0},
        )  # fmt: skip
        spun = np.maximum.accumulate(np.abs(np.asarray(run["sideslip angle"]))) > 60
        chosen = (np.asarray(run.time) >= begin) & (np.asarray(run["speed"]) > 3.0) & ~spun
        along.append(np.asarray(run["longitudinal acceleration"])[chosen])
        across.append(np.asarray(run["lateral acceleration"])[chosen])
    return GGDiagram(speed, np.concatenate(along), np.concatenate(across))


def _draw(
    path: str | os.PathLike[str],
    lines: Sequence[tuple[np.ndarray, np.ndarray, str]],
    x_label: str,
    y_label: str,
    dots: Sequence[tuple[np.ndarray, np.ndarray, str]] = (),
) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    for x, y, _ in dots:
        axes.plot(x, y, ".", markersize=1, color="0.7")
    for x, y, label in lines:
        axes.plot(x, y, label=label)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(True, alpha=0.3)
    axes.legend()
    figure.savefig(path)
    return Path(path)
