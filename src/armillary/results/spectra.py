"""Power spectral densities of outputs, and the frequency weightings of ISO 2631-1 for vibration of people.

The densities S are one-sided, over frequencies f in Hz, so that the mean square is ∫ S df.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import index_of_name, one_of, real, reals
from armillary.errors import ArmillaryError
from armillary.results.record import label_units

if TYPE_CHECKING:
    from armillary.results.run import Run

# Largest difference between the longest and the shortest step, as a share of the mean step times the number
# of rows.
_EVEN = 1e-6

# ISO 2631-1:1997, tables A.1 and A.2: corner frequencies in Hz and quality factors of the band limits
# (f1, f2), of the transition from acceleration to velocity (f3, f4, Q4) and of the upward step (f5 to Q6).
_WEIGHTINGS: Mapping[str, tuple[float, ...]] = {
    "Wk": (0.4, 100.0, 12.5, 12.5, 0.63, 2.37, 0.91, 3.35, 0.91),
    "Wd": (0.4, 100.0, 2.0, 2.0, 0.63, np.inf, 1.0, np.inf, 1.0),
    "Wf": (0.08, 0.63, np.inf, 0.25, 0.86, 0.0625, 0.80, 0.1, 0.80),
    "Wc": (0.4, 100.0, 8.0, 8.0, 0.63, np.inf, 1.0, np.inf, 1.0),
    "We": (0.4, 100.0, 1.0, 1.0, 0.63, np.inf, 1.0, np.inf, 1.0),
    "Wj": (0.4, 100.0, np.inf, np.inf, 1.0, 3.75, 0.91, 5.32, 0.91),
}


def iso2631_weighting(frequency: object, kind: str = "Wk") -> np.ndarray:
    """Return the factors |H(f)| of ISO 2631-1:1997 at frequencies in Hz.

        |H| = |H_h| |H_l| |H_t| |H_s|       band limits, acceleration-velocity transition, upward step

    "Wk" is for vertical and "Wd" for horizontal vibration of people who sit or stand, "Wf" for motion
    sickness, "Wc" for the backrest, "We" for rotation, "Wj" for the head of people who lie. Source: annex A.
    """
    one_of(kind, tuple(_WEIGHTINGS), "there is no weighting ")
    f1, f2, f3, f4, q4, f5, q5, f6, q6 = _WEIGHTINGS[kind]
    f = np.abs(reals(frequency, "frequency"))
    if not np.all(np.isfinite(f)):
        raise ArmillaryError("the frequencies of a weighting must be finite numbers in Hz")
    square = f**4 / (f**4 + f1**4) * f2**4 / (f**4 + f2**4)
    if np.isfinite(f4):
        rise = 1.0 + (f / f3) ** 2 if np.isfinite(f3) else 1.0
        square = square * rise * _resonance(f, f4, q4)
    if np.isfinite(f5):
        square = square * _resonance(f, f6, q6) / _resonance(f, f5, q5) * (f5 / f6) ** 4
    found: np.ndarray = np.sqrt(square)
    return found


def _resonance(f: np.ndarray, corner: float, q: float) -> np.ndarray:
    """|1/(1 + s/(Q ω₀) + s²/ω₀²)|² at s = 2πif."""
    r = (f / corner) ** 2
    return 1.0 / ((1.0 - r) ** 2 + r / q**2)


@dataclass(frozen=True, eq=False, repr=False)
class PowerSpectrum:
    """One-sided power spectral densities: ``spectrum["acc"]`` at ``spectrum.frequency`` in Hz.

    The units are the output's squared, per Hz.
    """

    system: str
    frequency: np.ndarray
    values: np.ndarray  # frequencies × names
    names: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)  # of the outputs

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[:, index_of_name(name, self.names, f"the spectra of '{self.system}' have no")]

    def rms(self, name: str, low: float = 0.0, high: float = np.inf, weighting: str | None = None) -> float:
        """Return the root mean square between two frequencies in Hz, √∫ S df; with ``weighting`` the weighted
        value of ISO 2631-1, √∫ |H|² S df.
        """
        f, density = self.frequency, self[name]
        if weighting is not None:
            density = density * iso2631_weighting(f, weighting) ** 2
        inside = (f >= low) & (f <= high)
        return float(np.sqrt(np.trapezoid(density[inside], f[inside])))

    def __repr__(self) -> str:
        units = {n: label_units(self.units.get(n, "")) for n in self.names}
        shown = ", ".join(f"{n} ({u}²/Hz)" if u else n for n, u in units.items())
        span = f"{self.frequency[0]:.4g} to {self.frequency[-1]:.4g} Hz" if len(self.frequency) else "empty"
        return f"PowerSpectrum('{self.system}': {shown}; {len(self.frequency)} frequencies, {span})"


def run_spectrum(run: Run, names: tuple[str, ...], segment: float | None) -> PowerSpectrum:
    """Return the densities of a run's outputs by Welch's method; see ``Run.psd``."""
    from scipy.signal import welch

    chosen = names or run.outputs or run.names
    time = run.time
    steps = np.diff(time)
    if len(time) < 8 or not np.all(steps > 0) or np.ptp(steps) > _EVEN * np.mean(steps) * len(time):
        raise ArmillaryError(
            f"a spectrum of '{run.system}' needs at least 8 rows at equal steps of time; run with sample=…"
        )
    step = float((time[-1] - time[0]) / (len(time) - 1))
    count = len(time) if segment is None else real(segment, "segment=") / step
    if not (np.isfinite(count) and 8 <= round(count) <= len(time)):
        raise ArmillaryError(
            f"segments of {segment} s do not fit a run of {time[-1] - time[0]:g} s, rows every {step:g} s; "
            "a segment has at least 8 rows and at most all"
        )
    values = np.column_stack([run[name] for name in chosen])
    f, density = welch(values, fs=1.0 / step, nperseg=round(count), axis=0)
    return PowerSpectrum(run.system, f, density, tuple(chosen), {n: run.units[n] for n in chosen})
