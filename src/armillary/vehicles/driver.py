"""A driver who follows a path by looking ahead.

The driver expects the car to keep its velocity unless it is steered, and a steer angle δ to bend its path by
δ/(L + K V²). Over instants ηᵢ ahead the deviations from the path y(x) are then, with g = V²/(L + K V²),

    εᵢ = y(x + Vx ηᵢ) − y − Vy ηᵢ − ½ g ηᵢ² δ

and the angle that makes Σ εᵢ² least is δ = 2/g Σ ηᵢ² eᵢ / Σ ηᵢ⁴, where eᵢ is εᵢ without steering. Hands
follow with a lag.

Source: MacAdam, Application of an optimal preview control for simulation of closed-loop automobile driving,
IEEE Trans. SMC-11 (1981) 393-399, with the steady response of the car in place of its transition matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar

SLOWEST = 2.0  # m/s, below which the driver steers as at this speed


class Driver(Protocol):
    """A driver as cars take it: `PathDriver` or `SharpDriver`."""

    def add(self, system: arm.System, body: arm.Body, wheelbase: Scalar) -> Scalar:
        """Add the driver and return the angle of the front wheels, positive to the left, rad."""


@dataclass(frozen=True)
class PathDriver:
    """A driver of a path y(x).

    path       y over x, m: an `arm.Table`
    preview    s that the driver looks ahead
    points     instants in that time
    lag        of arms and hands, s
    understeer K of the car that the driver expects, rad·s²/m
    limit      largest angle of the front wheels, rad
    """

    path: arm.Table
    preview: float = 0.8
    points: int = 5
    lag: float = 0.1
    understeer: float = 0.002
    limit: float = 0.5

    def __post_init__(self) -> None:
        if self.points < 1 or self.preview <= 0 or self.lag <= 0:
            raise arm.ModelError("a path driver needs a preview and a lag above zero, and one point at least")

    def add(self, system: arm.System, body: arm.Body, wheelbase: Scalar) -> Scalar:
        """Add the driver's state and return the angle of the front wheels, positive to the left, rad."""
        ground = system.ground
        preview = system.parameter("driver_preview", self.preview, units="s", about="time of looking ahead")
        lag = system.parameter("driver_lag", self.lag, units="s", about="of the driver's arms")
        expected = system.parameter("driver_understeer", self.understeer, units="s2/m")
        gain = system.parameter("driver_gain", 1.0, about="0 for a driver who does not steer")
        slow = system.parameter("driver_slowest", SLOWEST, units="m/s")
        place, velocity = arm.position(body.origin), arm.velocity(body.origin)
        x, y = arm.dot(place, ground.x), arm.dot(place, ground.y)
        vx, vy = arm.dot(velocity, ground.x), arm.dot(velocity, ground.y)
        square = arm.max(vx * vx + vy * vy, slow * slow)
        wanted: Scalar = 0
        weight = 0.0
        for i in range(1, self.points + 1):
            part = i / self.points
            time = part * preview
            wanted = wanted + part**2 * (self.path(x + vx * time) - y - vy * time)
            weight += part**4
        per_error = 2 * gain * (wheelbase + expected * square) / (square * preview * preview * weight)
        angle = arm.min(arm.max(per_error * wanted, -self.limit), self.limit)
        hands = system.state("driver_angle", units="rad", about="of the front wheels, as the driver steers")
        system.rate("driver_angle", (angle - hands) / lag)
        return hands
