"""Roads: height over the ground plane and friction of the surface, and random roads of ISO 8608."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar


class Surface(NamedTuple):
    """The road below a point: height, the slopes ∂z/∂x and ∂z/∂y, and the scale of friction."""

    height: Scalar
    slope_x: Scalar
    slope_y: Scalar
    friction: Scalar


@dataclass(frozen=True)
class Road:
    """A road z(x, y) in the axes of the ground, z up.

    height    a number or a function of (x, y), in metres; its arguments and result are expressions: a slope
              is ``lambda x, y: 0.05*x``, a bank ``lambda x, y: 0.03*y``, a profile ``lambda x, y: table(x)``
              with an `arm.Table`, a surface an ``arm.Table2``
    friction  scale of the tyre's friction, a number or a function of (x, y): 0.3 on ice
    """

    height: float | Callable[[Scalar, Scalar], Scalar] = 0.0
    friction: float | Callable[[Scalar, Scalar], Scalar] = 1.0

    def below_wheel(self, system: arm.System, name: str, x: Scalar, y: Scalar) -> Surface:
        """Return the surface below a wheel; roads that need memories or inputs name them by the wheel."""
        return self.below(x, y)

    def below(self, x: Scalar, y: Scalar) -> Surface:
        """Return the surface at a place, with slopes by differentiation of the height."""
        friction = self.friction(x, y) if callable(self.friction) else self.friction
        if not callable(self.height):
            return Surface(self.height, 0.0, 0.0, friction)
        scratch = arm.System("road")
        along, across = scratch.parameter("x", 0.0, units="m"), scratch.parameter("y", 0.0, units="m")
        height = self.height(along, across)
        if not isinstance(height, arm.Expr):
            return Surface(height, 0.0, 0.0, friction)
        place = {along: x, across: y}
        slope_x, slope_y = (arm.substitute(arm.derivative(height, by), place) for by in (along, across))
        return Surface(arm.substitute(height, place), slope_x, slope_y, friction)


@dataclass(frozen=True)
class SplitRoad(Road):
    """A flat road with two friction scales, to the right and the left of a line along x; see `split_road`."""

    right: float = 1.0
    left: float = 1.0
    edge: float = 0.0
    width: float = 0.2

    def below_wheel(self, system: arm.System, name: str, x: Scalar, y: Scalar) -> Surface:
        """Return the surface below a wheel; the frictions become parameters of the model."""
        known = system.parameters
        right, left = (
            known[label] if label in known else system.parameter(label, value, about=about)
            for label, value, about in (
                ("mu_right", self.right, "scale of friction to the right of the edge"),
                ("mu_left", self.left, "scale of friction to its left"),
            )
        )
        return Surface(0.0, 0.0, 0.0, self._blend(y, right, left))

    def below(self, x: Scalar, y: Scalar) -> Surface:
        """Return the surface at a place."""
        return Surface(0.0, 0.0, 0.0, self._blend(y, self.right, self.left))

    def _blend(self, y: Scalar, right: Scalar, left: Scalar) -> Scalar:
        return right + (left - right) * smooth_step((y - self.edge) / self.width)


def split_road(right: float, left: float = 1.0, *, edge: float = 0.0, width: float = 0.2) -> SplitRoad:
    """Return a flat road with two friction scales, right and left of y = edge, blended over a width in m.

    A model on it has the parameters ``mu_right`` and ``mu_left``, which runs may change.
    """
    if not (right > 0 and left > 0 and width > 0):
        raise arm.ModelError("split_road: both frictions and the width must be positive")
    return SplitRoad(0.0, 1.0, right, left, edge, width)


class Patch(NamedTuple):
    """A rectangle with its own friction: limits of x and of y in m, and the scale of friction."""

    x: tuple[float, float]
    y: tuple[float, float]
    friction: float


def friction_patches(
    patches: Sequence[Patch], *, elsewhere: float = 1.0, width: float = 0.1
) -> Callable[[Scalar, Scalar], Scalar]:
    """Return the friction of a road with patches of ice or water, for ``Road(height, friction)``.

    Where patches overlap, the last one counts. At a patch's edges, friction is blended over a width in m.
    """
    for patch in patches:
        if not (patch.x[0] < patch.x[1] and patch.y[0] < patch.y[1] and patch.friction > 0 and width > 0):
            raise arm.ModelError(
                f"friction_patches: the patch x={patch.x}, y={patch.y}, friction={patch.friction:g} must "
                "have rising limits and a friction above zero"
            )

    def friction(x: Scalar, y: Scalar) -> Scalar:
        value: Scalar = elsewhere
        for patch in patches:
            share: Scalar = 1.0
            for place, (low, high) in ((x, patch.x), (y, patch.y)):
                share = share * smooth_step((place - low) / width) * smooth_step((high - place) / width)
            value = value + (patch.friction - value) * share
        return value

    return friction


def smooth_step(s: Scalar) -> Scalar:
    """Return a step from 0 to 1 over −½ < s < ½ with continuous slope, a cubic polynomial."""
    share = arm.min(arm.max(s + 0.5, 0.0), 1.0)
    return share * share * (3 - 2 * share)


# Random roads of ISO 8608 by class and seed, with two tracks that agree only in long waves.


REFERENCE = 0.1  # n0, cycles/m
# Geometric means of the displacement's spectral density at n0, m³: 16e-6 for A, times four for each class.
MEANS = {letter: 16e-6 * 4**i for i, letter in enumerate("ABCDEFGH")}


def iso8608_road(
    road_class: str = "A",
    *,
    length: float = 100.0,
    seed: int = 0,
    track: float = 1.5,
    spacing: float = 0.05,
    lowest: float = 0.011,
    highest: float = 2.83,
    friction: float = 1.0,
) -> Road:
    """Return a random road of a class "A" (very good) to "H" along x, with a left and a right track.

        G(n) = G(n0) (n/n0)⁻²        σ² = G(n0) n0² (1/lowest − 1/highest)

    length           m; beyond both ends the height stays constant
    track            distance of the tracks y = ±track/2; between them the road is straight across
    spacing          distance of the points in m, at most a quarter of the shortest wave
    lowest, highest  spatial frequencies in cycles/m

    Waves are equally spaced in the logarithm of their frequency, each with the variance of its band, so that
    the variance of a long road is exact. The two tracks have the coherence of an isotropic surface, x K1(x)
    with x = 2π n track. The same seed always gives the same road.

    Sources: ISO 8608:2016; Kamash and Robson, Journal of Sound and Vibration 57 (1978) 89-100.
    """
    if spacing * highest > 0.25:
        raise arm.ModelError(
            f"iso8608_road: spacing={spacing:g} m is more than a quarter of the shortest wave of "
            f"{1 / highest:.3g} m; give at most {0.25 / highest:.3g}"
        )
    x = _places(length, spacing)
    left, right = road_profiles(road_class, x, seed=seed, track=track, lowest=lowest, highest=highest)
    across = np.array([-track / 2, track / 2])
    heights = np.stack([right, left], axis=1)
    table = arm.Table2(x, across, heights, kind="smooth", name="road", x_units="m", y_units="m", z_units="m")
    return Road(table, friction)


def road_profiles(
    road_class: str,
    x: np.ndarray,
    *,
    seed: int = 0,
    track: float = 1.5,
    lowest: float = 0.011,
    highest: float = 2.83,
    waves: int = 400,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the heights of the left and the right track at places x; see `iso8608_road`."""
    from scipy.special import k1

    if road_class not in MEANS:
        raise arm.ModelError(f"road class {road_class!r} is not known; use one letter of {', '.join(MEANS)}")
    if not 0 < lowest < highest < math.inf:
        raise arm.ModelError(
            f"spatial frequencies must rise and be finite: 0 < lowest ({lowest:g}) < highest ({highest:g})"
        )
    if not 0 < track < math.inf:
        raise arm.ModelError(f"the distance of the tracks, track={track!r}, must be above zero, in metres")
    if waves != int(waves) or waves < 1:
        raise arm.ModelError(f"a road needs a whole number of waves from 1, not {waves!r}")
    edges = np.geomspace(lowest, highest, waves + 1)
    n = np.sqrt(edges[:-1] * edges[1:])
    variance = MEANS[road_class] * REFERENCE**2 * (1 / edges[:-1] - 1 / edges[1:])
    argument = 2 * math.pi * n * track
    coherence = argument * k1(argument)
    random = np.random.default_rng(seed)
    common, own = random.uniform(0, 2 * math.pi, (2, waves))
    size = np.sqrt(2 * variance)
    shared, rest = size * coherence, size * np.sqrt(1 - coherence**2)
    left, right = [], []
    for part in np.array_split(np.asarray(x, dtype=float), max(len(x) * waves // 2_000_000, 1)):
        phase = 2 * math.pi * np.multiply.outer(part, n)
        first = np.cos(phase + common)
        left.append(first @ size)
        right.append(first @ shared + np.cos(phase + own) @ rest)
    return np.concatenate(left), np.concatenate(right)


def _places(length: float, spacing: float) -> np.ndarray:
    if not (length > 0 and spacing > 0) or length / spacing > 1e6:
        raise arm.ModelError(f"a road of {length:g} m with points each {spacing:g} m cannot be made")
    return np.linspace(0.0, length, round(length / spacing) + 1)
