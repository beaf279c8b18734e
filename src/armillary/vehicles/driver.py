"""Drivers who follow a path by looking ahead: after MacAdam, and after Sharp (below).

The driver predicts that without steering the car keeps its velocity V, and that a steer angle δ gives its
path the curvature δ/(L + K V²), with wheelbase L and understeer gradient K. With g = V²/(L + K V²), the
deviations from the path y(x) at times ηᵢ ahead are then

    εᵢ = y(x + Vx ηᵢ) − y − Vy ηᵢ − ½ g ηᵢ² δ

and Σ εᵢ² is least for δ = 2/g Σ ηᵢ² eᵢ / Σ ηᵢ⁴, where eᵢ is εᵢ without steering. The driver's hands follow
this angle with a lag.

Source: MacAdam, Application of an optimal preview control for simulation of closed-loop automobile driving,
IEEE Trans. SMC-11 (1981) 393-399, with the steady response of the car in place of its transition matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar

SLOWEST = 2.0  # m/s, least speed in the driver's law


class Driver(Protocol):
    """The interface of a driver, which cars call: `PathDriver` or `SharpDriver`."""

    def add(self, system: arm.System, body: arm.Body, wheelbase: Scalar) -> Scalar:
        """Add the driver and return the angle of the front wheels, positive to the left, rad."""


@dataclass(frozen=True)
class PathDriver:
    """A driver who follows a path y(x).

    path       y over x, m: an `arm.Table`
    preview    time that the driver looks ahead, s
    points     number of times ηᵢ within the preview
    lag        time constant of arms and hands, s
    understeer gradient K of the car in the driver's prediction, rad·s²/m
    limit      largest angle of the front wheels, rad
    """

    path: arm.Table
    preview: float = 0.8
    points: int = 5
    lag: float = 0.1
    understeer: float = 0.002
    limit: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.preview < math.inf and 0 < self.lag < math.inf and 0 < self.limit < math.inf):
            raise arm.ModelError("a path driver needs positive, finite preview, lag and limit")
        if self.points != int(self.points) or self.points < 1:
            raise arm.ModelError(f"a path driver needs a whole number of points from 1, not {self.points!r}")

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


# A driver by optimal preview: gains on the car's motion and on the path ahead, after Sharp.
#
# A linear single-track car at one speed is sampled each T seconds; the lateral positions of the path ahead
# form a shift register, whose next entry is white noise. The steering that minimises
#
#     Σ  weight_y (y − path)² + weight_ψ (ψ − slope)² + δ²
#
# over all time is a state feedback. It has four gains on the car, from a Riccati equation for the car alone,
# and one gain on each point of the path, from a recursion with the closed loop of this equation. The path is
# measured in axes that move with the car, so that the gains hold at any place and heading.
#
#     δ = −K (0, vy, 0, ψ̇) + Σ kᵢ eᵢ     eᵢ: lateral offset of the point i V T ahead, in axes of the car
#
# For a long preview, the gain K on y is the sum of kᵢ, and K on ψ the sum of i V T kᵢ, since shifting or
# turning path and car together must not change δ. In axes of the car, y and ψ are zero. The steer angle is
# limited to ±``limit``.
#
# Source: Sharp and Valtetsiotis, Optimal preview car steering control, ICTAM selected papers, Vehicle System
# Dynamics 35 supplement (2001) 101-117; Sharp, Casanelles and Symonds, A mathematical model for driver
# steering control, Vehicle System Dynamics 33 (2000) 289-326.


class LinearCar(NamedTuple):
    """The single-track car in the driver's prediction: stiffnesses of whole axles, N/rad."""

    mass: float = 1590.0
    yaw_inertia: float = 2500.0
    front: float = 1.2  # distance of the axles from the mass centre, m
    rear: float = 1.5
    front_stiffness: float = 1.3e5
    rear_stiffness: float = 1.5e5

    def matrices(self, speed: float) -> tuple[np.ndarray, np.ndarray]:
        """Return A and B for states y, vy, ψ, ψ̇ and input δ; y and ψ are relative to a straight line."""
        m, i, a, b, cf, cr = self
        matrix = np.zeros((4, 4))
        matrix[0, 1], matrix[0, 2], matrix[2, 3] = 1.0, speed, 1.0
        matrix[1, 1] = -(cf + cr) / (m * speed)
        matrix[1, 3] = (b * cr - a * cf) / (m * speed) - speed
        matrix[3, 1] = (b * cr - a * cf) / (i * speed)
        matrix[3, 3] = -(a * a * cf + b * b * cr) / (i * speed)
        return matrix, np.array([[0.0], [cf / m], [0.0], [a * cf / i]])


MIDDLE_CLASS = LinearCar()


@dataclass(frozen=True)
class SharpDriver:
    """A driver who follows a path y(x) by optimal preview, with gains for one speed.

    path          y over x, m: an `arm.Table`
    speed         for which the gains are computed, m/s
    car           model of the car in the driver's prediction
    preview       time that the driver looks ahead, s; more than 1.5 s gains little
    interval      time T between two points of the path, s
    weight_y      weight of the lateral deviation, rad² per m²
    weight_angle  weight of the deviation of the heading, rad² per rad²
    lag           time constant of arms and hands, s
    limit         largest angle of the front wheels, rad
    """

    path: arm.Table
    speed: float
    car: LinearCar = MIDDLE_CLASS
    preview: float = 1.5
    interval: float = 0.1
    weight_y: float = 0.01
    weight_angle: float = 0.1
    lag: float = 0.05
    limit: float = 0.5

    def __post_init__(self) -> None:
        numbers = (self.speed, self.preview, self.interval, self.weight_y, self.lag, self.limit)
        positive = all(0 < value < math.inf for value in numbers) and 0 <= self.weight_angle < math.inf
        if not positive or self.preview < 2 * self.interval:
            raise arm.ModelError(
                "a driver by optimal preview needs speed, preview, interval, weight_y, lag and limit above "
                "zero, weight_angle zero or above, and a preview of at least two intervals"
            )
        intervals = self.preview / self.interval
        if abs(intervals - round(intervals)) > 1e-9 * intervals:
            raise arm.ModelError(
                f"a driver by optimal preview: preview={self.preview:g} s is no multiple of "
                f"interval={self.interval:g} s; there is a gain for each interval, so give a multiple"
            )

    @cached_property
    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Gains K on y, vy, ψ, ψ̇, and gains k on the points of the path 0, T, 2 T, … ahead."""
        from scipy.linalg import expm, solve_discrete_are

        a, b = self.car.matrices(self.speed)
        step = expm(self.interval * np.block([[a, b], [np.zeros((1, 5))]]))
        phi, gamma = step[:4, :4], step[:4, 4:]
        # Errors at the car: y − p0, and ψ − (p1 − p0)/(V T).
        ahead = self.speed * self.interval
        errors = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]])
        weights = np.diag([self.weight_y, self.weight_angle])
        cost = errors.T @ weights @ errors
        solution = solve_discrete_are(phi, gamma, cost, np.array([[1.0]]))
        inverse = 1 / float(1 + (gamma.T @ solution @ gamma)[0, 0])
        own = inverse * (gamma.T @ solution @ phi)[0]
        closed = phi - gamma @ own[None]
        count = round(self.preview / self.interval) + 1
        path = np.array([[-1.0] + [0.0] * (count - 1), [1 / ahead, -1 / ahead] + [0.0] * (count - 2)])
        cross = errors.T @ weights @ path  # terms of the cost with a state of the car and a path point
        # The part M of the value function for products of car and path: M = Φcᵀ M S + cross, where Φc is the
        # closed loop and S the shift of the path points.
        mixed = np.zeros((4, count))
        mixed[:, 0] = cross[:, 0]
        for i in range(1, count):
            mixed[:, i] = closed.T @ mixed[:, i - 1] + cross[:, i]
        shifted = np.zeros(count)
        shifted[1:] = inverse * (gamma.T @ mixed)[0, :-1]
        return own, -shifted

    def add(self, system: arm.System, body: arm.Body, wheelbase: Scalar) -> Scalar:
        """Add the driver's state and return the angle of the front wheels, positive to the left, rad."""
        own, points = self.gains
        ground = system.ground
        gain = system.parameter("driver_gain", 1.0, about="0 for a driver who does not steer")
        preview = system.parameter("driver_preview", self.preview, units="s", about="time of looking ahead")
        lag = system.parameter("driver_lag", self.lag, units="s", about="of the driver's arms")
        rates = [
            system.parameter("driver_sideways", own[1], units="s/m", about="gain on lateral velocity"),
            system.parameter("driver_yaw", own[3], units="s", about="gain on yaw velocity"),
        ]
        place, velocity = arm.position(body.origin), arm.velocity(body.com)
        turned = arm.cross(ground.z, body.x)
        left = turned / arm.magnitude(turned)
        forward = arm.cross(left, ground.z)
        cosine, sine = arm.dot(forward, ground.x), arm.dot(forward, ground.y)
        x, y = arm.dot(place, ground.x), arm.dot(place, ground.y)
        travel = arm.dot(velocity, forward) * preview
        wanted: Scalar = -rates[0] * arm.dot(velocity, left)
        wanted = wanted - rates[1] * arm.dot(arm.angular_velocity(body), ground.z)
        for i, k in enumerate(points):
            if not k:
                continue
            along = i / (len(points) - 1) * travel
            px = x + along * cosine
            offset = (self.path(px) - y) * cosine - along * cosine * sine
            look = system.parameter(
                f"driver_look_{i}", k, units="rad/m", about=f"gain on the path {i} steps ahead"
            )
            wanted = wanted + look * offset
        angle = arm.min(arm.max(gain * wanted, -self.limit), self.limit)
        hands = system.state("driver_angle", units="rad", about="of the front wheels, as the driver steers")
        system.rate("driver_angle", (angle - hands) / lag)
        return hands
