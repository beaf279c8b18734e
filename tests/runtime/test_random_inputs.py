"""Random signals: their spectra by Welch's estimate against what is stated, and their mean squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ParameterError
from tests.later import later

scipy_signal, scipy_stats = later("scipy.signal"), later("scipy.stats")


def octaves(signal: arm.Signal, density: Any, low: float, high: float) -> list[float]:
    """Welch's estimate over what is stated, the mean over each octave of a band."""
    y = signal.values[:-1]
    rate = (len(signal) - 1) / (signal.time[-1] - signal.time[0])
    f, S = scipy_signal.welch(y, rate, nperseg=len(y) // 16, detrend="constant")
    ratios = []
    while 2 * low <= high:
        inside = (f >= low) & (f < 2 * low)
        ratios.append(float(np.mean(S[inside] / density(f[inside]))))
        low *= 2
    return ratios


@pytest.mark.parametrize(("grade", "size"), [("A", 16e-6), ("C", 256e-6), ("H", 262144e-6)])
def test_a_road_has_the_spectrum_of_its_class(grade: str, size: float) -> None:
    """Gd(n₀) are the geometric means of ISO 8608, table C.1; G(f) = Gd(n)/v."""
    v = 20.0
    road = arm.random_road(grade, v, 400.0, seed=3)
    ratios = octaves(road, lambda f: size * (f / v / 0.1) ** -2 / v, 1.0, 50.0)
    # 16 segments with half overlap scatter by a quarter per line, octaves of 25 lines by a twentieth.
    np.testing.assert_allclose(ratios, 1.0, atol=0.15)
    assert road.values[0] == 0.0 and road.units == "m" and "seed 3" in road.name
    n = np.arange(1, 400 * 60) / 400.0 / v
    n = n[(n >= 0.011) & (n <= 2.83)]
    wanted = np.sum(size * (n / 0.1) ** -2) / 400.0 / v
    assert np.var(road.values[:-1]) == pytest.approx(wanted, rel=1e-9)  # Parseval, line by line


@pytest.mark.parametrize("component", ["longitudinal", "lateral", "vertical"])
def test_turbulence_has_drydens_spectrum_and_intensity(component: str) -> None:
    sigma, L, V, T = 1.5, 50.0, 30.0, 4000.0
    gust = arm.random_turbulence(component, sigma, L, V, T, seed=1, reach=30.0)

    def density(f: np.ndarray) -> np.ndarray:
        w = 2 * np.pi * f / V
        if component == "longitudinal":
            return sigma**2 * 2 * L / np.pi / (1 + (L * w) ** 2) * 2 * np.pi / V
        return sigma**2 * L / np.pi * (1 + 3 * (L * w) ** 2) / (1 + (L * w) ** 2) ** 2 * 2 * np.pi / V

    np.testing.assert_allclose(octaves(gust, density, 0.02, 2.0), 1.0, atol=0.2)
    # ∫ from LΩ = 1/30 to 30: (2/π)(atan 30 − atan 1/30) of σ², for all three (the other term cancels).
    share = 2 / np.pi * (np.arctan(30.0) - np.arctan(1 / 30.0))
    assert np.var(gust.values[:-1]) == pytest.approx(share * sigma**2, rel=0.01)


def test_noise_is_white_in_its_band_and_seeds_decide() -> None:
    noise = arm.random_signal(0.04, (5.0, 80.0), 60.0, seed=2, units="N")
    assert np.var(noise.values[:-1]) == pytest.approx(0.04 * 75.0, rel=1e-3)
    np.testing.assert_allclose(octaves(noise, lambda f: 0.04 + 0 * f, 6.0, 48.0), 1.0, atol=0.15)
    again = arm.random_signal(0.04, (5.0, 80.0), 60.0, seed=2)
    assert np.array_equal(again.values, noise.values)
    rows = arm.random_signal(0.04, (5.0, 80.0), 60.0, seed=2, runs=3).values
    assert rows.shape == (3, len(noise)) and abs(np.corrcoef(rows[:, :-1])[0, 1]) < 0.05
    assert abs(scipy_stats.kurtosis(noise.values)) < 0.2  # of a normal distribution: 0


def test_a_rear_wheel_is_late() -> None:
    road = arm.random_road("B", 10.0, 20.0)
    assert road.delayed(0.25)(5.25) == pytest.approx(float(road(5.0)), abs=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: arm.random_road("I", 20.0, 10.0), "the class of a road: 'I'"),
        (lambda: arm.random_road("A", -1.0, 10.0), "must be a positive number, not -1"),
        (lambda: arm.random_signal(1.0, (3.0, 2.0), 1.0), "the lower one first"),
        (lambda: arm.random_signal(1.0, (1e-3, 2e-3), 1.0), "holds no wave"),
        (lambda: arm.random_signal(-1.0, (1.0, 2.0), 10.0), "not negative"),
        (lambda: arm.random_signal(1.0, (1.0, 2e6), 100.0), "take fewer"),
        (lambda: arm.random_turbulence("up", 1.0, 1.0, 1.0, 1.0), "a component of turbulence: 'up'"),
        (
            lambda: arm.random_signal(1.0, (1.0, 2.0), 10.0, seed=-1),
            "seed= must be a whole number of 0 or more, not -1",
        ),
    ],
)
def test_wrong_spectra_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError) as told:
        make()
    assert words in str(told.value)
