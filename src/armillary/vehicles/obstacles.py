"""Cleats, potholes and humps, smoothed by a tyre of finite size: the tandem-cam model.

At an edge a tyre does not follow the height below its hub. In the model two elliptic cams roll over the
obstacle, one ahead of the other, and the wheel stands on the plane through the cams' lowest points:

    |ξ/a|ᶜ + |ζ/b|ᶜ = 1       the cam, a = length·r, b = height·r, c = order, r: free radius of the tyre
    z(x) = max over ξ of [ profile(x + ξ) − b (1 − (1 − |ξ/a|ᶜ)^(1/c)) ]     height of the cam's lowest point
    height = (z_front + z_rear)/2        slope = (z_front − z_rear)/s,   s = shift · contact length

The front cam is at x + s/2, the rear cam at x − s/2. For a profile of steps the maximum is exact: each
stretch of constant height lifts the cam by this height minus the rise of the cam's lower edge at the distance
ξ of the stretch. The distance s between the cams is computed for one load and stays constant.

Source: Schmeitz, A semi-empirical three-dimensional model of the pneumatic tyre rolling over arbitrarily
uneven road surfaces, TU Delft 2004; Pacejka (2012), section 10.1.6. Defaults come from MF-Swift files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import armillary as arm
from armillary.vehicles.road import Road, Surface, smooth_step
from armillary.vehicles.tyres.tyre import Scalar, Tyre

SPACING = 0.004  # m between points of the tables near an obstacle
RAMP_STEPS = 40  # steps that approximate a ramp
SIDE_WIDTH = 0.2  # m, width about y = 0 over which an obstacle of one side fades out
# Half the contact length over the free radius is Q_RA1 √d + Q_RA2 d, where d is the deflection over the free
# radius. The coefficients have their names from MF 6.1 files.
CONTACT_ROOT, CONTACT_LINEAR = 0.5, 1.0


@dataclass(frozen=True)
class Obstacle:
    """A cleat (height above zero), a pothole (below) or a hump with ramps, across the road.

    at      where it begins, m along x
    length  m, ramps not counted
    height  m
    ramp    length of the rise before it and of the fall behind it, m
    side    half of the road: "both", "left" (y > 0) or "right"
    """

    at: float
    length: float
    height: float
    ramp: float = 0.0
    side: str = "both"

    def __post_init__(self) -> None:
        if not self.length > 0 or self.ramp < 0:
            raise arm.ModelError(
                f"an obstacle at x = {self.at:g} m needs a length above zero and no negative ramp"
            )
        if self.side not in ("both", "left", "right"):
            raise arm.ModelError(f"side={self.side!r} is not known; use 'both', 'left' or 'right'")

    @property
    def begin(self) -> float:
        """Start of the first ramp, x in m."""
        return self.at - self.ramp

    @property
    def end(self) -> float:
        """End of the second ramp, x in m."""
        return self.at + self.length + self.ramp


@dataclass(frozen=True)
class TandemCams:
    """Two cams that replace a tyre: the tyre's free radius and contact length, m, and the cams' shape.

    ``shift``, ``length``, ``height`` and ``order`` are the numbers of the equations of this file.
    """

    radius: float
    contact_length: float
    shift: float = 0.8
    length: float = 1.0
    height: float = 1.0
    order: float = 1.8

    def __post_init__(self) -> None:
        shape = (self.radius, self.contact_length, self.shift, self.length, self.height, self.order)
        if not all(value > 0 for value in shape):
            raise arm.ModelError("tandem cams: all numbers must be positive")

    @classmethod
    def of_tyre(cls, tyre: Tyre, load: float) -> TandemCams:
        """Return the cams of a tyre under a load, N."""
        from armillary.vehicles.cars import static_deflection

        radius = float(tyre.free_radius)
        share = static_deflection(tyre, load) / radius
        return cls(radius, 2 * radius * (CONTACT_ROOT * np.sqrt(share) + CONTACT_LINEAR * share))

    @property
    def spacing(self) -> float:
        """Distance between the cams, m."""
        return self.shift * self.contact_length

    def drop(self, distance: np.ndarray) -> np.ndarray:
        """Return the height of the cam's lower edge over its lowest point, m; infinite beyond its ends."""
        part = np.abs(distance) / (self.length * self.radius)
        inside = np.maximum(1 - part**self.order, 0.0) ** (1 / self.order)
        return np.where(part <= 1, self.height * self.radius * (1 - inside), np.inf)

    def follow(self, x: np.ndarray, pieces: Sequence[tuple[float, float, float]]) -> np.ndarray:
        """Return the height of a cam's lowest point when it rests on stretches (begin, end, height)."""
        found = np.full(len(x), -np.inf)
        for begin, end, height in pieces:
            distance = np.maximum(np.maximum(begin - x, x - end), 0.0)
            found = np.maximum(found, height - self.drop(distance))
        return found

    def envelop(
        self, x: np.ndarray, pieces: Sequence[tuple[float, float, float]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the height and the slope of the plane through both cams."""
        front = self.follow(x + self.spacing / 2, pieces)
        rear = self.follow(x - self.spacing / 2, pieces)
        return (front + rear) / 2, (front - rear) / self.spacing


@dataclass(frozen=True)
class ObstacleRoad(Road):
    """A flat road with obstacles that tyres envelop; see `obstacle_road`."""

    obstacles: tuple[Obstacle, ...] = ()
    cams: TandemCams | None = None

    @cached_property
    def _tables(self) -> list[tuple[str, arm.Table, arm.Table]]:
        if self.cams is None:
            raise arm.ModelError("a road with obstacles needs the cams of a tyre; use obstacle_road")
        reach = self.cams.length * self.cams.radius + self.cams.spacing
        tables = []
        for side in ("both", "left", "right"):
            chosen = sorted((o for o in self.obstacles if o.side == side), key=lambda o: o.begin)
            if not chosen:
                continue
            pieces = _flat_stretches(chosen)
            places = [
                np.linspace(o.begin - reach, o.end + reach, 3 + int((o.end - o.begin + 2 * reach) / SPACING))
                for o in chosen
            ]
            edges = [edge for begin, end, _ in pieces for edge in (begin, end) if np.isfinite(edge)]
            kinks = np.array(edges)[:, None] + np.array([-1, 1]) * self.cams.spacing / 2
            x = np.unique(np.round(np.concatenate([*places, kinks.ravel()]), 9))
            height, slope = self.cams.envelop(x, pieces)
            label = "" if side == "both" else f"_{side}"
            tables.append((
                side,
                arm.Table(x, height, name=f"obstacle_height{label}", x_units="m", y_units="m"),
                arm.Table(x, slope, name=f"obstacle_slope{label}", x_units="m", y_units="1"),
            ))  # fmt: skip
        return tables

    def below(self, x: Scalar, y: Scalar) -> Surface:
        """Return the plane on which a wheel above (x, y) stands."""
        friction = self.friction(x, y) if callable(self.friction) else self.friction
        height: Scalar = 0.0
        slope: Scalar = 0.0
        left = smooth_step(y / SIDE_WIDTH)
        for side, heights, slopes in self._tables:
            share = {"both": 1.0, "left": left, "right": 1 - left}[side]
            height, slope = height + share * heights(x), slope + share * slopes(x)
        return Surface(height, slope, 0.0, friction)


def obstacle_road(
    obstacles: Sequence[Obstacle],
    tyre: Tyre,
    load: float,
    *,
    cams: TandemCams | None = None,
    friction: float | Callable[[Scalar, Scalar], Scalar] = 1.0,
) -> ObstacleRoad:
    """Return a flat road with cleats and potholes, smoothed by a tyre under a load in N.

    cams  cams in place of those from the tyre and the defaults of MF-Swift files
    """
    made = tuple(obstacles)
    if not made:
        raise arm.ModelError("obstacle_road: give at least one Obstacle")
    for first in made:
        for second in made:
            sides = {first.side, second.side}
            if first is not second and len(sides - {"both"}) < 2 and first.begin <= second.begin < first.end:
                raise arm.ModelError(
                    f"obstacle_road: the obstacles at x = {first.at:g} and {second.at:g} m overlap"
                )
    return ObstacleRoad(0.0, friction, made, cams or TandemCams.of_tyre(tyre, load))


def _flat_stretches(obstacles: Sequence[Obstacle]) -> list[tuple[float, float, float]]:
    """Return (begin, end, height) of stretches of constant height over the road; ramps are small steps."""
    pieces = []
    last = -np.inf
    for o in obstacles:
        pieces.append((last, o.begin, 0.0))
        steps = np.linspace(0, 1, RAMP_STEPS + 1)
        if o.ramp:
            edges = o.begin + o.ramp * steps
            pieces += _ramp_steps(edges, o.height * steps)
        pieces.append((o.at, o.at + o.length, o.height))
        if o.ramp:
            edges = o.at + o.length + o.ramp * steps
            pieces += _ramp_steps(edges, o.height * (1 - steps))
        last = o.end
    return [*pieces, (last, np.inf, 0.0)]


def _ramp_steps(edges: np.ndarray, heights: np.ndarray) -> list[tuple[float, float, float]]:
    middle = (heights[:-1] + heights[1:]) / 2
    return [(float(a), float(b), float(h)) for a, b, h in zip(edges[:-1], edges[1:], middle, strict=True)]
