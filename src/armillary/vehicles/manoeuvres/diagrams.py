"""Handling diagram and g-g diagram: what a car can do, in two pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Car
from armillary.vehicles.manoeuvres.handling import steady_circle
from armillary.vehicles.manoeuvres.open_loop import START, drive

GRAVITY = 9.80665


@dataclass(frozen=True)
class HandlingDiagram:
    """Lateral acceleration over the steer angle less Ackermann's, δ − L/R, at one speed."""

    speed: float  # m/s
    lateral_acceleration: np.ndarray  # m/s²
    steer: np.ndarray  # rad
    excess: np.ndarray  # δ − L/R, rad

    @property
    def understeer_gradient(self) -> np.ndarray:
        """Slope d(δ − L/R)/d ay between the circles, rad per m/s²."""
        found: np.ndarray = np.diff(self.excess) / np.diff(self.lateral_acceleration)
        return found

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

    The angles end where the car cannot follow any more: those without a steady circle are left out.
    """
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
    """Accelerations that a car reaches at a speed, m/s²; the hull encloses them, both sides mirrored."""

    speed: float
    longitudinal: np.ndarray
    lateral: np.ndarray

    @property
    def hull(self) -> np.ndarray:
        """Corners of the convex hull, rows of (longitudinal, lateral)."""
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
    """Return the g-g diagram of a car: each brake pedal or drive torque with a ramp of steering.

    steer    angle of the front wheels at the end of the ramp, rad
    pedals   of the brake, 0 to 1; torques of the driven axle, N·m
    ramp     s in which the steering rises; short enough that the speed stays near, and long enough that the
             car follows: its yaw lags by a tenth of a second

    Points count from 0.3 s after the pedal moved until the car turns by 60 deg against its path.
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
