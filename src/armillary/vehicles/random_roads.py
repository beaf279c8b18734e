"""Random roads of ISO 8608 by class and seed, with two tracks that agree in long waves alone."""

from __future__ import annotations

import math

import numpy as np

import armillary as arm
from armillary.vehicles.road import Road

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

    length           metres; beyond both ends the road is level with them
    track            distance of the tracks y = ±track/2; between them the road is straight across
    spacing          of the points in metres, at most a quarter of the shortest wave
    lowest, highest  spatial frequencies in cycles/m

    Waves are equally spaced in the logarithm of their frequency, each with the variance of its band, so that
    the variance of a long road is exact. The two tracks have the coherence of an isotropic surface,
    x K1(x), x = 2π n track. A seed gives the same road everywhere.

    Sources: ISO 8608:2016; Kamash and Robson, Journal of Sound and Vibration 57 (1978) 89-100.
    """
    if spacing > 0.25 / highest:
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
    if not 0 < lowest < highest:
        raise arm.ModelError(
            f"spatial frequencies must rise: 0 < lowest ({lowest:g}) < highest ({highest:g})"
        )
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
