"""Random signals with a stated spectrum: roads, turbulence, noise.

A signal over the time T is a sum of waves with random phases (Shinozuka and Jan 1972),

    y(t) = Σ aₖ cos(2π fₖ t + φₖ)        fₖ = k/T        aₖ² = 2 S(fₖ)/T

for the one-sided power spectral density S(f): the mean square of y in a band of frequencies is ∫ S df. It is
periodic with T and, of many waves, normally distributed. The same seed gives the same phases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armillary.algebra.arguments import count, one_of, real
from armillary.errors import ParameterError
from armillary.model.units import seconds as a_time
from armillary.runtime.inputs.signal import Signal
from armillary.untyped import Given

# Gd(n₀) of ISO 8608:2016, table C.1, geometric means in m³ at n₀ = 0.1 cycles/m, for Gd(n) = Gd(n₀) (n/n₀)⁻².
ROAD_CLASSES = {name: 16e-6 * 4.0**k for k, name in enumerate("ABCDEFGH")}
_REFERENCE = 0.1  # n₀, cycles/m
_WAVES = (0.011, 2.83)  # cycles/m: the band of ISO 8608, wavelengths of 91 m to 0.35 m
_POINTS = 8  # per shortest wave
_MOST = 2e7  # instants of all runs


def random_road(
    grade: str,
    speed: float,
    duration: float | str,
    *,
    seed: int = 0,
    runs: int | None = None,
    waves: tuple[float, float] = _WAVES,
) -> Signal:
    """Return the height of a road of an ISO 8608 class ("A", the smoothest, to "H") under a wheel at a speed
    in m/s, in metres over the time; zero at the start.

        Gd(n) = Gd(n₀) (n/n₀)⁻²        n₀ = 0.1 cycles/m

    ``waves`` are the least and the greatest wave number n in cycles/m. For a rear axle, use
    ``road.delayed(wheelbase / speed)``.
    """
    one_of(grade, tuple(ROAD_CLASSES), "the class of a road: ", ParameterError)
    v = _positive(speed, "the speed on a road")

    def density(f: np.ndarray) -> np.ndarray:
        return ROAD_CLASSES[grade] * (f / v / _REFERENCE) ** -2 / v

    low, high = _band(waves, "waves=")
    name = f"ISO 8608 class {grade} at {v:g} m/s"
    made = random_signal(density, (low * v, high * v), duration, seed=seed, runs=runs, units="m", name=name)
    return Signal(
        made.time, made.values - made.values[..., :1], interpolation="cubic", units="m", name=made.name
    )


def random_turbulence(
    component: str,
    intensity: float,
    scale: float,
    speed: float,
    duration: float | str,
    *,
    seed: int = 0,
    runs: int | None = None,
    reach: float = 100.0,
) -> Signal:
    """Return a velocity of Dryden turbulence in m/s over the time, for a body that flies through it at
    ``speed``.

    ``component`` is "longitudinal", "lateral" or "vertical", ``intensity`` σ the rms in m/s and ``scale`` the
    length L in m, of MIL-HDBK-1797: with the wave number Ω = 2π f/V,

        longitudinal        Φ = σ² (2L/π) / (1 + (LΩ)²)
        lateral, vertical   Φ = σ² (L/π) (1 + 3(LΩ)²) / (1 + (LΩ)²)²

    Waves from LΩ = 1/``reach`` to ``reach`` are taken: 98.7 % of σ² for 100, and the duration must hold the
    longest.
    """
    one_of(component, ("longitudinal", "lateral", "vertical"), "a component of turbulence: ", ParameterError)
    sigma = _positive(intensity, "the intensity of turbulence")
    L = _positive(scale, "the scale of turbulence")
    v = _positive(speed, "the speed through turbulence")
    wide = _positive(reach, "reach")

    def density(f: np.ndarray) -> np.ndarray:
        x = (L * 2 * np.pi * f / v) ** 2
        shape = 2 / (1 + x) if component == "longitudinal" else (1 + 3 * x) / (1 + x) ** 2
        return sigma**2 * L / np.pi * shape * 2 * np.pi / v

    corner = v / (2 * np.pi * L)
    name = f"Dryden {component} turbulence, {sigma:g} m/s, at {v:g} m/s"
    return random_signal(
        density, (corner / wide, corner * wide), duration, seed=seed, runs=runs, units="m/s", name=name
    )


def random_signal(
    density: float | Callable[[np.ndarray], float | np.ndarray],
    band: tuple[float, float],
    duration: float | str,
    *,
    seed: int = 0,
    runs: int | None = None,
    units: str | None = None,
    name: str = "random signal",
) -> Signal:
    """Return a signal with a one-sided power spectral density between two frequencies in Hz: a number
    (band-limited white noise) or a function of frequencies, in the square of ``units`` per Hz.

    With ``runs`` it has a row for each, of phases of their own. The time holds eight instants per shortest
    wave, joined by a cubic spline.
    """
    T = _positive(a_time(duration, "the duration of a signal", ParameterError), "the duration of a signal")
    low, high = _band(band, "band=")
    every = 1.0 / (_POINTS * high)
    n = 2 * int(np.ceil(T / every / 2))
    rows = 1 if runs is None else count(runs, "runs=", ParameterError)
    if n * rows > _MOST:
        raise ParameterError(f"{rows} runs of {n} instants are more than {_MOST:.0e}; take fewer")
    f = np.arange(n // 2 + 1) / T
    inside = (f >= low) & (f <= high)
    if not np.any(inside):
        raise ParameterError(
            f"a signal of {T:g} s holds no wave between {low:g} and {high:g} Hz; make it longer"
        )
    S = np.zeros_like(f)
    given = density(f[inside]) if callable(density) else real(density, "the density", ParameterError)
    S[inside] = given
    if not np.all(np.isfinite(S)) or np.any(S < 0):
        raise ParameterError("a power spectral density must be finite and not negative")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"seed={seed!r} is not a whole number from 0 on")
    phases = np.random.default_rng(seed).uniform(0.0, 2 * np.pi, (rows, len(f)))
    y = np.fft.irfft(n / 2 * np.sqrt(2 * S / T) * np.exp(1j * phases), n)
    y = np.concatenate([y, y[:, :1]], axis=1)
    values = y[0] if runs is None else y
    return Signal(
        np.linspace(0.0, T, n + 1), values, interpolation="cubic", units=units, name=f"{name}, seed {seed}"
    )


def _positive(value: object, what: str) -> float:
    found = real(value, what, ParameterError)
    if not 0.0 < found < np.inf:
        raise ParameterError(f"{what} must be positive, not {found}")
    return found


def _band(value: Given, what: str) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{what}{value!r} is not a pair of numbers") from None
    if not 0.0 < low < high < np.inf:
        raise ParameterError(f"{what}{value!r} must be two positive numbers, the lower one first")
    return low, high
