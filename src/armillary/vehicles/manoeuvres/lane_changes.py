"""Lane changes of ISO 3888: lanes between cones, a path for the driver, and the cones that a car touches."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import armillary as arm
from armillary.vehicles.cars import Car
from armillary.vehicles.manoeuvres.result import Manoeuvre, peak, require_speed

AHEAD = 20.0  # metres of straight running before the first cones
OFFSET = 3.5  # m, lateral offset of the middle lane of ISO 3888-1
OVERHANG = 0.8  # m, length of the body ahead of the front axle and behind the rear one


class Lane(NamedTuple):
    """A stretch between two rows of cones."""

    start: float
    end: float
    right: float  # y of the edges, m
    left: float

    @property
    def middle(self) -> float:
        """Lateral position of the lane's centre line."""
        return (self.right + self.left) / 2


@dataclass(frozen=True)
class Track:
    """The lanes for a car of a given width, m; the first begins at x = 20 m, with y = 0 in its middle."""

    standard: str
    width: float
    lanes: tuple[Lane, ...]

    @property
    def path(self) -> arm.Table:
        """The centre lines of the lanes as y(x) for a `PathDriver`, joined by curves of two parabolas.

        These curves have the least peak of lateral acceleration.
        """
        first, middle, last = self.lanes
        x = np.arange(0.0, last.end + 60.0, 1.0)
        y = middle.middle * _transition((x - first.end) / (middle.start - first.end))
        y += (last.middle - middle.middle) * _transition((x - middle.end) / (last.start - middle.end))
        return arm.Table(x, y, kind="smooth", name="lane_path", x_units="m", y_units="m")

    @property
    def cones(self) -> np.ndarray:
        """Positions (x, y) of the cones, one per row: five on each side of each lane."""
        places = [
            (x, y)
            for lane in self.lanes
            for x in np.linspace(lane.start, lane.end, 5)
            for y in (lane.right, lane.left)
        ]
        return np.array(places)


def double_lane_change_track(width: float = 1.8, *, offset_from: str = "edge") -> Track:
    """Return the track of ISO 3888-1: lanes of 15, 25 and 30 m with gaps of 30 and 25 m, 125 m in all.

    offset_from  start of the offset of 3.5 m, which ends at the right edge of the middle lane: "edge", the
                 right edge of the first lane, so that the centre lines are 3.5 m and half the difference of
                 the widths apart; or "middle" of the first lane, as in Project Chrono, which is 1.1 m more
                 for a car of 1.8 m

    Lane widths are 1.1, 1.2 and 1.3 times the car's width plus 0.25 m. Lengths, widths and the offset are the
    standard's numbers. The start of the offset is in a drawing of the standard that we have not seen, so
    "edge" is an assumption.
    """
    _check_width(width)
    b1, b3, b5 = (factor * width + 0.25 for factor in (1.1, 1.2, 1.3))
    low = -b1 / 2
    if offset_from not in ("edge", "middle"):
        raise arm.ModelError(f"offset_from={offset_from!r} is not known; use 'edge' or 'middle'")
    aside = OFFSET + (low if offset_from == "edge" else 0.0)
    lanes = (
        Lane(AHEAD, AHEAD + 15, low, low + b1),
        Lane(AHEAD + 45, AHEAD + 70, aside, aside + b3),
        Lane(AHEAD + 95, AHEAD + 125, low, low + b5),
    )
    return Track("ISO 3888-1", width, lanes)


def obstacle_avoidance_track(width: float = 1.8) -> Track:
    """Return the track of ISO 3888-2: lanes of 12, 11 and 12 m with gaps of 13.5 and 12.5 m, 61 m in all.

    For a car of width w the lane widths are 1.1 w + 0.25 m, w + 1 m, and 1.3 w + 0.25 m but at least 3 m. The
    right edge of the middle lane is 1 m to the left of the left edges of the outer lanes.
    """
    _check_width(width)
    b1, b3, b5 = 1.1 * width + 0.25, width + 1.0, max(1.3 * width + 0.25, 3.0)
    high = b1 / 2
    lanes = (
        Lane(AHEAD, AHEAD + 12, high - b1, high),
        Lane(AHEAD + 25.5, AHEAD + 36.5, high + 1, high + 1 + b3),
        Lane(AHEAD + 49, AHEAD + 61, high - b5, high),
    )
    return Track("ISO 3888-2", width, lanes)


def lane_change(car: Car, track: Track, *, speed: float, release: bool | None = None) -> Manoeuvre:
    """Drive a car through a track, and count the cones that it touches.

    car      with a `PathDriver` of the track's path: ``full_car(…, driver=PathDriver(track.path))``
    release  whether the car rolls without a drive force, as ISO 3888-2 requires; by default for this standard

    Verdict: no point of the body's outline leaves a lane, and the car reaches the end of the track. The exit
    speed is measured at the end of the last lane, or at the end of the run if the car does not arrive.
    """
    if "driver_preview" not in car.system.parameters:
        raise arm.ModelError(
            "lane_change: this car has no driver; build it with driver=PathDriver(track.path)"
        )
    require_speed(speed)
    coasting = track.standard == "ISO 3888-2" if release is None else release
    last = track.lanes[-1].end + 10.0
    run: arm.Run = car.model.simulate(
        1.4 * last / speed,
        step=car.step,
        sample=5e-3,
        initial=car.start(speed),
        parameters={"V": speed, **({"hold": 0.0} if coasting else {})},
    )
    values = {name: p.data.default for name, p in car.system.parameters.items()}
    rows = _corners(run, values["a"] + OVERHANG, values["b"] + OVERHANG, track.width)
    margin = np.inf
    for lane in track.lanes:
        inside = (rows[..., 0] >= lane.start) & (rows[..., 0] <= lane.end)
        if not inside.any():
            margin = -np.inf
            continue
        y = rows[..., 1][inside]
        margin = min(margin, float(np.min(lane.left - y)), float(np.min(y - lane.right)))
    hit = _count_hit_cones(run, track.cones, values["a"] + OVERHANG, values["b"] + OVERHANG, track.width)
    beyond = np.asarray(run["body.q1"]) > track.lanes[-1].end
    arrived = bool(beyond.any())
    leaving = int(np.argmax(beyond)) if arrived else -1
    figures = {
        "entry speed": (3.6 * float(np.interp(AHEAD, run["body.q1"], run["speed"])), "km/h"),
        "exit speed": (3.6 * float(run["speed"][leaving]), "km/h"),
        "least distance to the edges": (margin, "m"),
        "cones touched": (float(hit), ""),
        "peak lateral acceleration": (peak(run["lateral acceleration"]), "m/s2"),
        "peak yaw velocity": (peak(run["yaw velocity"]), "deg/s"),
        "peak sideslip angle": (peak(run["sideslip angle"]), "deg"),
    }
    passed = arrived and margin >= 0
    words = "" if arrived else "the car did not reach the end of the track"
    return Manoeuvre(
        "lane change", track.standard, run, figures, passed, words, lambda path: draw_track(track, rows, path)
    )


def draw_track(track: Track, rows: np.ndarray, path: str | os.PathLike[str]) -> Path:
    """Draw cones, lanes and the path of the body from above, as SVG or PNG by the ending of the path.

    rows  positions of points around the body, in pairs left and right: [sample, point, x or y]
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.6), layout="constrained")
    axes = figure.subplots()
    for lane in track.lanes:
        axes.fill_between([lane.start, lane.end], lane.right, lane.left, color="#e8eef4", linewidth=0)
    for point in range(rows.shape[1]):
        axes.plot(rows[:, point, 0], rows[:, point, 1], color="#9db8cc", linewidth=0.6)
    middle = rows.mean(axis=1)
    axes.plot(middle[:, 0], middle[:, 1], color="#0072b2", linewidth=1.6, label="middle of the car")
    x, y = track.cones.T
    axes.plot(x, y, "^", color="#d55e00", markersize=4, label="cones")
    axes.set(xlim=(0, track.lanes[-1].end + 15), xlabel="x (m)", ylabel="y (m)")
    axes.set_title(f"{track.standard}, from above; y is stretched", fontsize=9, loc="left")
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)
    return Path(path)


def fastest(test: Callable[[float], Manoeuvre], low: float, high: float, *, within: float = 0.1) -> float:
    """Return the highest speed between two at which a manoeuvre is passed, by bisection, m/s.

    within  largest error of this speed, m/s
    """
    if not (0 < low < high and within > 0):
        raise arm.ModelError(
            f"fastest: 0 < low < high and within > 0 are needed, not low={low:g}, high={high:g}, "
            f"within={within:g}"
        )
    if not test(low).passed:
        raise arm.ModelError(f"fastest: the manoeuvre fails at {low:g} m/s already; give a lower speed")
    while high - low > within:
        middle = (low + high) / 2
        low, high = (middle, high) if test(middle).passed else (low, middle)
    return low


def _transition(s: np.ndarray) -> np.ndarray:
    """Return a step from 0 to 1 over 0 < s < 1 by two parabolas."""
    s = np.clip(s, 0.0, 1.0)
    return np.where(s < 0.5, 2 * s * s, 1 - 2 * (1 - s) ** 2)


def _check_width(width: float) -> None:
    if not 0.5 < width < 4:
        raise arm.ModelError(f"width={width:g} m is not the width of a car; give metres")


def _corners(run: arm.Run, front: float, rear: float, width: float) -> np.ndarray:
    """Return positions of eight points on the body's outline, [sample, point, x or y]."""
    local = [(x, side * width / 2) for x in (front, front / 3, -rear / 3, -rear) for side in (1, -1)]
    sine, cosine = np.sin(run["body.q4"]), np.cos(run["body.q4"])
    points = [
        np.stack([run["body.q1"] + x * cosine - y * sine, run["body.q2"] + x * sine + y * cosine], axis=-1)
        for x, y in local
    ]
    return np.stack(points, axis=1)


def _count_hit_cones(run: arm.Run, cones: np.ndarray, front: float, rear: float, width: float) -> int:
    """Return the number of cones that the outline of the body passes over."""
    sine, cosine = np.sin(run["body.q4"]), np.cos(run["body.q4"])
    count = 0
    for x, y in cones:
        dx, dy = x - np.asarray(run["body.q1"]), y - np.asarray(run["body.q2"])
        ahead, aside = dx * cosine + dy * sine, dy * cosine - dx * sine
        count += bool(np.any((ahead < front) & (ahead > -rear) & (np.abs(aside) < width / 2)))
    return count
