"""Signals: values at instants of time, and the interpolation between them.

    hold      yᵢ from tᵢ to tᵢ₊₁
    linear    straight lines
    smooth    cubics with continuous slope that never overshoot (PCHIP, Fritsch and Carlson 1980)
    cubic     the cubic spline with continuous curvature ("not a knot", de Boor 1978)

Before the first instant a signal has its first value, after the last instant its last value.

Random signals (roads, turbulence, noise) have a given spectrum. Over the time T they are sums of waves with
random phases (Shinozuka and Jan 1972),

    y(t) = Σ aₖ cos(2π fₖ t + φₖ)        fₖ = k/T        aₖ² = 2 S(fₖ)/T

for the one-sided power spectral density S(f): the mean square of y in a band of frequencies is ∫ S df. The
signal is periodic with T; with many waves its values are normally distributed. The same seed gives the same
phases.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import count, one_of, positive_number, real, reals, text, whole_number
from armillary.algebra.arguments import function as a_function
from armillary.algebra.units import parse_unit
from armillary.errors import ParameterError, shown
from armillary.model.signals import INTERPOLATIONS
from armillary.model.units import seconds as a_time
from armillary.untyped import Given

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_POINTS = 1e7  # most instants of a sampled function
# number of continuous derivatives at inner instants; −1 if the value itself jumps
_CONTINUOUS = {"hold": -1, "linear": 0, "smooth": 1, "cubic": 2}
_ROUNDING = 1e-12  # largest gap between two pieces that counts as rounding, relative to the largest value


@dataclass(frozen=True, eq=False)
class SignalPieces:
    """A piecewise polynomial in the form of `llvm/called_functions.py`.

    ``coefficients`` (…, pieces, m) multiply powers of the time since the break at which a piece begins,
    lowest power first; there is one piece more than breaks. ``inner`` and ``ends`` are the numbers of
    continuous derivatives at inner breaks, and at the first and last break; −1 if the value may jump. With
    ``after_last`` the last break is the next floating-point number after the last instant.
    """

    breaks: np.ndarray
    coefficients: np.ndarray
    inner: int = -1
    ends: int = -1
    after_last: bool = False

    def derivative(self) -> SignalPieces:
        """Return the derivative by time."""
        powers = np.arange(1.0, self.coefficients.shape[-1])
        if not len(powers):
            return replace(self, coefficients=np.zeros_like(self.coefficients), inner=0, ends=0)
        rates = self.coefficients[..., 1:] * powers
        return replace(self, coefficients=rates, inner=self.inner - 1, ends=self.ends - 1)

    def scaled(self, factor: float) -> SignalPieces:
        return replace(self, coefficients=factor * self.coefficients)

    def __call__(self, t: object) -> np.ndarray:
        """Return the values at times ``t``; the last axis of the result is that of the times."""
        t = np.asarray(t, dtype=float)
        piece = np.searchsorted(self.breaks, t, side="right")
        s = t - self.breaks[np.maximum(piece - 1, 0)]
        value = np.zeros(())
        for k in reversed(range(self.coefficients.shape[-1])):
            value = value * s + self.coefficients[..., piece, k]
        return np.asarray(value)

    def jumps(self) -> np.ndarray:
        """Return the breaks at which the value jumps in some run."""
        places = np.arange(len(self.breaks))
        end = (places == 0) | (places == places[-1])
        places = places[np.where(end, self.ends, self.inner) < 0]
        if not len(places):
            return self.breaks[:0]
        c = self.coefficients
        h = np.diff(self.breaks, prepend=self.breaks[0])[places]
        terms = c[..., places, :] * h[:, None] ** np.arange(c.shape[-1])
        values = c[..., 0]
        apart = np.sum(terms, axis=-1) - values[..., places + 1]
        found = np.abs(apart) > _ROUNDING * np.max(np.abs(values))
        return self.breaks[places[np.any(found.reshape(-1, len(places)), axis=0)]]


class Signal:
    """Values over time: of one run, with shape (instants,), or of many, (runs, instants).

    ``units`` are the units of the values; ``interpolation`` is "hold", "linear", "smooth" or "cubic". If they
    are left out, the signal gets the units and the interpolation of the input that it drives.
    """

    def __init__(
        self,
        t: object,
        y: object,
        *,
        interpolation: str | None = None,
        units: str | None = None,
        name: str = "",
    ) -> None:
        self.name = text(name, "the name of a signal", ParameterError)
        called = f"signal '{name}'" if name else "a signal"
        self.time, self.values = _points(called, t, y)
        if interpolation is not None:
            one_of(interpolation, INTERPOLATIONS, f"{called}: interpolation=", ParameterError)
        if units is not None:
            parse_unit(text(units, f"the units of {called}", ParameterError))
        self.interpolation, self.units = interpolation, units

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        time: str | int = 1,
        value: str | int = 2,
        *,
        interpolation: str | None = None,
        units: str | None = None,
    ) -> Signal:
        """Return a signal from two columns of a file, each by its heading or its number from 1.

        If ``units`` are left out, the units in the heading are used, as in "road [mm]". The heading of the
        time may have units too, as in "t [ms]".
        """
        from armillary.algebra.tables import read_columns

        found = read_columns(path)
        at, of = found.place(time), found.place(value)
        return cls(
            found.values[:, at] * time_scale(found.units[at], f"the time in '{found.path}'"),
            found.values[:, of],
            interpolation=interpolation,
            units=units or found.units[of] or None,
            name=found.headings[of] or found.path.stem,
        )

    @classmethod
    def sampled(
        cls,
        function: Callable[[Given], Given],
        t_end: float | str,
        *,
        every: float | str,
        t0: float | str = 0.0,
        interpolation: str = "cubic",
        units: str | None = None,
    ) -> Signal:
        """Return samples of a function of time (of NumPy arrays, or of numbers) at intervals of ``every``."""
        a_function(function, "the function of time", ParameterError)
        t0, t_end, every = (
            a_time(v, w, ParameterError) for v, w in ((t0, "t0"), (t_end, "t_end"), (every, "every"))
        )
        count = (t_end - t0) / every if every > 0 else np.inf
        if not 0 < count <= _MOST_POINTS:
            raise ParameterError(
                f"a function cannot be sampled every {every} s from {t0} to {t_end}: that would be "
                f"{count:g} intervals"
            )
        t = np.linspace(t0, t_end, round(np.ceil(count - 1e-9)) + 1)
        return cls(t, _evaluate_function(function, t), interpolation=interpolation, units=units)

    @property
    def runs(self) -> int | None:
        """The number of runs with their own values; `None` if all runs have the same values."""
        return len(self.values) if self.values.ndim == 2 else None

    def delayed(self, seconds: float | str) -> Signal:
        """Return the signal delayed by a time, such as the road under a rear wheel."""
        how, units = self.interpolation, self.units
        time = self.time + a_time(seconds, "the delay of a signal", ParameterError)
        return Signal(time, self.values, interpolation=how, units=units, name=self.name)

    def of_run(self, i: int) -> Signal:
        """Return the signal of one run."""
        if self.runs is None:
            return self
        how, units = self.interpolation, self.units
        return Signal(self.time, self.values[i], interpolation=how, units=units, name=self.name)

    def pieces(self, interpolation: str | None = None) -> SignalPieces:
        """Return the piecewise polynomial, in the signal's own units.

        ``interpolation`` is used if the signal has none of its own.
        """
        how = self.interpolation or interpolation or "linear"
        t, y = self.time, self.values
        if len(t) == 1 or how == "hold":
            inner = y[..., :-1, None]
        elif how == "linear":
            inner = np.stack([y[..., :-1], np.diff(y) / np.diff(t)], axis=-1)
        else:
            from scipy.interpolate import CubicSpline, PchipInterpolator

            made = (PchipInterpolator if how == "smooth" else CubicSpline)(t, y, axis=-1)
            inner = np.moveaxis(made.c[::-1], [0, 1], [-1, -2])
        ends = np.zeros((*y.shape[:-1], len(t) + 1, inner.shape[-1]))
        ends[..., 1:-1, :] = inner
        ends[..., 0, 0], ends[..., -1, 0] = y[..., 0], y[..., -1]
        # The last instant belongs to the piece before it, so that the signal's rate is zero only after it.
        held = how == "hold"
        breaks = t if held else np.append(t[:-1], np.nextafter(t[-1], np.inf))
        return SignalPieces(breaks, ends, _CONTINUOUS[how], -1 if held else 0, after_last=not held)

    def __call__(self, t: object) -> np.ndarray:
        """Return values at times, in the signal's own units; by default linear between instants."""
        return self.pieces()(t)

    def plot(self, path: str | os.PathLike[str] | None = None, *, show: bool = False) -> Figure:
        """Draw the values over time, also into a file."""
        from armillary.results.plots.run_plot import literal, open_figure

        with open_figure((8.0, 3.0), path, show=show) as figure:
            ax = figure.subplots()
            how = "steps-post" if self.interpolation == "hold" else "default"
            ax.plot(self.time, self.values.T, drawstyle=how)
            ax.set_xlabel("time (s)")
            ax.set_ylabel(literal(f"{self.name or 'signal'}{f' ({self.units})' if self.units else ''}"))
        return figure

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        runs = f"{self.runs} runs × " if self.runs else ""
        how = f", {self.interpolation}" if self.interpolation else ""
        units = f" {self.units}" if self.units else ""
        called = f"{self.name!r}, " if self.name else ""
        low, high = float(np.min(self.values)), float(np.max(self.values))
        span = f"t = {self.time[0]:g} … {self.time[-1]:g} s, {low:.4g} … {high:.4g}{units}"
        return f"Signal({called}{runs}{len(self)} instants, {span}{how})"


def time_scale(units: str, where: str) -> float:
    """Return the number of seconds in a unit of time; 1 without a unit."""
    if not units:
        return 1.0
    unit = parse_unit(units)
    if unit.dimension is not parse_unit("s").dimension:
        raise ParameterError(f"{where} is in [{units}], which is not a unit of time")
    return float(unit.scale)


def _evaluate_function(function: Callable[[Given], Given], t: np.ndarray) -> np.ndarray:
    """Return a function's values at all times; call it with the array or, if that fails, with each number."""
    try:
        found = np.asarray(function(t), dtype=float)
        if found.shape == t.shape:
            return found
    except Exception:  # a function of numbers: `if t > 1:`, math.sin(t)
        pass
    return reals([function(float(x)) for x in t], "the values of a function of time", ParameterError)


def _points(called: str, t: object, y: object) -> tuple[np.ndarray, np.ndarray]:
    """Return checked times and values as read-only arrays; ``called`` names the signal in errors."""
    time = np.array(reals(t, f"the times of {called}", ParameterError), ndmin=1)
    values = np.array(reals(y, f"the values of {called}", ParameterError), ndmin=1)
    if time.ndim != 1 or not len(time):
        raise ParameterError(f"{called} needs its times in one row, not shape {time.shape}")
    if values.ndim > 2 or values.shape[-1] != len(time):
        raise ParameterError(
            f"{called} has {len(time)} instants but values of shape {values.shape}; give one value per "
            "instant, or a row of them per run"
        )
    for what, array in (("time", time), ("value", values)):
        if not np.all(np.isfinite(array)):
            place = np.argwhere(~np.isfinite(array))[0]
            raise ParameterError(f"{called}: {what} number {int(place[-1])} is not finite")
    falls = np.flatnonzero(np.diff(time) <= 0)
    if len(falls):
        i = int(falls[0])
        raise ParameterError(
            f"{called}: times must increase, but {shown(float(time[i]))} is followed by {float(time[i + 1])}"
        )
    time.setflags(write=False)
    values.setflags(write=False)
    return time, values


# Gd(n₀) of ISO 8608:2016, table C.1, geometric means in m³ at n₀ = 0.1 cycles/m, for Gd(n) = Gd(n₀) (n/n₀)⁻².
ROAD_CLASSES = {name: 16e-6 * 4.0**k for k, name in enumerate("ABCDEFGH")}
_REFERENCE = 0.1  # n₀, cycles/m
_WAVES = (0.011, 2.83)  # cycles/m: the band of ISO 8608, wavelengths of 91 m to 0.35 m
_POINTS = 8  # instants per shortest wave
_MOST = 2e7  # most instants of all runs together


def random_road(
    grade: str,
    speed: float,
    duration: float | str,
    *,
    seed: int = 0,
    runs: int | None = None,
    waves: tuple[float, float] = _WAVES,
) -> Signal:
    """Return the height of a road of an ISO 8608 class under a wheel, in metres over time, zero at the start.

    ``grade`` is a letter from "A", the smoothest class, to "H"; ``speed`` is in m/s. The height has the power
    spectral density

        Gd(n) = Gd(n₀) (n/n₀)⁻²        n₀ = 0.1 cycles/m

    ``waves`` are the least and the greatest wave number n in cycles/m. For a rear axle, use
    ``road.delayed(wheelbase / speed)``.
    """
    one_of(grade, tuple(ROAD_CLASSES), "the class of a road: ", ParameterError)
    v = positive_number(speed, "the speed on a road", ParameterError)

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
    """Return a velocity of Dryden turbulence in m/s over time, for a body that flies at ``speed``.

    ``component`` is "longitudinal", "lateral" or "vertical", ``intensity`` is the rms value σ in m/s, and
    ``scale`` is the length L in m. With the wave number Ω = 2π f/V, MIL-HDBK-1797 gives the spectral density

        longitudinal        Φ = σ² (2L/π) / (1 + (LΩ)²)
        lateral, vertical   Φ = σ² (L/π) (1 + 3(LΩ)²) / (1 + (LΩ)²)²

    Only waves between LΩ = 1/``reach`` and LΩ = ``reach`` are used; with ``reach`` = 100 they have 98.7 % of
    σ². The duration must be at least a period of the longest wave.
    """
    one_of(component, ("longitudinal", "lateral", "vertical"), "a component of turbulence: ", ParameterError)
    sigma = positive_number(intensity, "the intensity of turbulence", ParameterError)
    L = positive_number(scale, "the scale of turbulence", ParameterError)
    v = positive_number(speed, "the speed through turbulence", ParameterError)
    wide = positive_number(reach, "reach", ParameterError)

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
    """Return a signal with a one-sided power spectral density between two frequencies in Hz.

    ``density`` is a number (band-limited white noise) or a function of frequencies, in the square of
    ``units`` per Hz. With ``runs`` the signal has a row per run, each with its own phases. There are eight
    instants per shortest wave, joined by a cubic spline.
    """
    T = positive_number(
        a_time(duration, "the duration of a signal", ParameterError),
        "the duration of a signal",
        ParameterError,
    )
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
    phases = np.random.default_rng(whole_number(seed, "seed=", ParameterError)).uniform(
        0.0, 2 * np.pi, (rows, len(f))
    )
    y = np.fft.irfft(n / 2 * np.sqrt(2 * S / T) * np.exp(1j * phases), n)
    y = np.concatenate([y, y[:, :1]], axis=1)
    values = y[0] if runs is None else y
    return Signal(
        np.linspace(0.0, T, n + 1), values, interpolation="cubic", units=units, name=f"{name}, seed {seed}"
    )


def _band(value: Given, what: str) -> tuple[float, float]:
    """Return two positive numbers, the lower one first; ``what`` is the beginning of error messages."""
    try:
        low, high = (float(x) for x in value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{what}{value!r} is not a pair of numbers") from None
    if not 0.0 < low < high < np.inf:
        raise ParameterError(f"{what}{value!r} must be two positive numbers, the lower one first")
    return low, high
