"""Responses of linear models: over frequency, and over time to steps and impulses."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import flag, pair, place, reals, table
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.columns import counted
from armillary.errors import ArmillaryError
from armillary.model.units import in_seconds
from armillary.results import Run
from armillary.results.spectra import PowerSpectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_POINTS = 400  # of a frequency response that names no frequencies
_SAMPLES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse:
    """G(iω) = C (iω − A)⁻¹ B + D, of outputs by inputs.

        r["travel", "road"]       complex values at r.omega
        r.magnitude, r.phase      in units of the output per unit of the input, and in degrees, unwrapped
        r.frequency               r.omega in Hz
        r.bode(), r.nyquist()

    ``values`` has the axes [points,] frequencies, outputs, inputs.
    """

    system: str
    omega: np.ndarray  # rad/s
    values: np.ndarray
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    units: dict[str, str]
    model: LinearMatrices | None = None  # from which values between the frequencies come

    def __getitem__(self, key: tuple[str, str]) -> np.ndarray:
        output, name = pair(key, "frequency responses")
        return self.values[..., port(output, self.outputs, "output"), port(name, self.inputs, "input")]

    @property
    def frequency(self) -> np.ndarray:
        """ω/2π in Hz."""
        found: np.ndarray = self.omega / (2 * np.pi)
        return found

    @property
    def magnitude(self) -> np.ndarray:
        """|G|."""
        found: np.ndarray = np.abs(self.values)
        return found

    @property
    def decibels(self) -> np.ndarray:
        """20 log₁₀ |G|."""
        with np.errstate(divide="ignore"):
            found: np.ndarray = 20 * np.log10(self.magnitude)
            return found

    @cached_property
    def phase(self) -> np.ndarray:
        """The angle of G in degrees, without jumps over frequency.

        Where |G| is proportional to ωⁿ below all poles, it starts nearest to n·90°: a position at 0°, its
        acceleration at 180°, and at −180° where the static gain is negative. It is followed from there, also
        between the frequencies, so that it does not depend on their choice.
        """
        from armillary.analysis.linear.phase import continuous_phase

        points = self.values.reshape(-1, *self.values.shape[-3:])
        lowest = 1.0 if self.model is None else float(default_frequencies(self.model)[0])
        found = [
            continuous_phase(self._between(k), self.omega, values, lowest) for k, values in enumerate(points)
        ]
        return np.degrees(np.reshape(found, self.values.shape))

    def _between(self, point: int) -> Callable[[np.ndarray], np.ndarray]:
        """G at frequencies that are not in ``omega``, at one operating point."""
        lin = self.model
        if lin is None:
            raise ArmillaryError("this frequency response has no linear model, from which its phase follows")
        matrices = [m[point] if lin.many else m for m in (lin.A, lin.B, lin.C, lin.D)]
        return lambda w: _values(matrices, w, lin.step)

    def bode(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        hz: bool = False,
        decibels: bool = False,
        show: bool = False,
    ) -> Figure:
        """Magnitude and phase over frequency, in rad/s or in ``hz``; magnitudes also in ``decibels``."""
        from armillary.analysis.linear.plots import bode_plot

        return bode_plot(self, path, show, hz=flag(hz, "hz="), decibels=flag(decibels, "decibels="))

    plot = bode

    def nyquist(self, path: str | os.PathLike[str] | None = None, *, show: bool = False) -> Figure:
        """The curve of G in the complex plane."""
        from armillary.analysis.linear.plots import nyquist_plot

        return nyquist_plot(self, path, show)

    def __repr__(self) -> str:
        span = f"{self.omega[0]:.4g} to {self.omega[-1]:.4g} rad/s" if len(self.omega) else "empty"
        sizes = f"{counted(len(self.outputs), 'output')} by {counted(len(self.inputs), 'input')}"
        return f"FrequencyResponse({self.system!r}: {sizes}, {len(self.omega)} frequencies, {span})"


def port(name: str, known: Sequence[str], what: str) -> int:
    """The place of a state, input or output of a linear model."""
    return place(name, known, f"the linear model has no {what}")


def frequency_response(lin: LinearMatrices, omega: object = None) -> FrequencyResponse:
    """At frequencies in rad/s; None: from a tenth of the slowest pole to ten times the fastest."""
    needs_ports(lin)
    if isinstance(omega, str | os.PathLike):
        raise ArmillaryError(
            f"omega holds frequencies in rad/s, not '{omega}'; a file is given by name, as in bode(path=…)"
        )
    w = default_frequencies(lin) if omega is None else np.atleast_1d(reals(omega, "omega"))
    if w.ndim != 1:
        raise ArmillaryError(f"omega must be a row of frequencies in rad/s, not an array of shape {w.shape}")
    try:
        values = _values([lin.A, lin.B, lin.C, lin.D], w, lin.step)
    except np.linalg.LinAlgError:
        poles = np.linalg.eigvals(lin.A).reshape(-1, 1)
        apart = np.abs(poles - 1j * w)
        bad = w[np.argmin(np.min(apart, axis=0))]
        raise ArmillaryError(
            f"{bad:.6g} rad/s is an undamped pole of '{lin.system}', where the response is infinite; "
            "leave that frequency out, or add damping"
        ) from None
    values.setflags(write=False)
    return FrequencyResponse(lin.system, w, values, lin.outputs, lin.inputs, lin.units, lin)


def _values(matrices: Sequence[np.ndarray], w: np.ndarray, step: float | None) -> np.ndarray:
    """C (s − A)⁻¹ B + D at s = iω, or e^{iωT}."""
    s = 1j * w if step is None else np.exp(1j * w * step)
    A, B, C, D = (m[..., None, :, :] for m in matrices)
    with np.errstate(all="ignore"):
        x = np.linalg.solve(s[:, None, None] * np.eye(A.shape[-1]) - A, B.astype(complex))
        found: np.ndarray = C @ x + D
    return found


def output_spectrum(
    lin: LinearMatrices, densities: Mapping[str, object], frequency: object = None
) -> PowerSpectrum:
    """S_y = Σ |G_yv|² S_v over frequencies in Hz; see ``LinearModel.psd``."""
    needs_ports(lin)
    lin.single("psd")
    given = table(densities, "densities")
    f = default_frequencies(lin) / (2 * np.pi) if frequency is None else reals(frequency, "frequency")
    if not np.all(np.isfinite(f)):
        raise ArmillaryError("the frequencies of psd must be finite numbers in Hz")
    gains = np.abs(frequency_response(lin, 2 * np.pi * np.atleast_1d(f)).values) ** 2
    found = np.zeros(gains.shape[:2])
    for name, density in given.items():
        j = port(name, lin.inputs, "input")
        values = reals(density(f) if callable(density) else density, f"the density of '{name}'")
        if values.ndim and values.shape != np.shape(f):
            raise ArmillaryError(
                f"the density of '{name}' has {values.size} values for {np.size(f)} frequencies; give one "
                "for each, a number, or a function of the frequency in Hz"
            )
        if not np.all(values >= 0):
            raise ArmillaryError(f"the density of '{name}' is negative, or not a number, somewhere")
        found += gains[:, :, j] * np.reshape(values, (-1, 1))
    units = {o: lin.units[o] for o in lin.outputs}
    return PowerSpectrum(lin.system, np.atleast_1d(f), found, lin.outputs, units)


def default_frequencies(lin: LinearMatrices) -> np.ndarray:
    """Frequencies that cover the poles."""
    poles = lin.poles()
    rates = poles if lin.step is None else np.log(poles + 0j) / lin.step
    sizes = np.abs(rates).ravel()
    sizes = sizes[np.isfinite(sizes)]
    sizes = sizes[sizes > 1e-6 * np.max(sizes, initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    top = 10 * high if lin.step is None else min(10 * high, np.pi / lin.step)
    return np.geomspace(0.1 * low, top, _POINTS)


def needs_ports(lin: LinearMatrices) -> None:
    """An error for a model without inputs or without outputs."""
    for names, what in ((lin.inputs, "inputs"), (lin.outputs, "outputs")):
        if not names:
            raise ArmillaryError(
                f"the linear model of '{lin.system}' has no {what}; name them: linearize({what}=[…]), or "
                f"--{what} on the command line"
            )


def time_response(lin: LinearMatrices, times: object, name: str | None, kind: str) -> Run:
    """Outputs after a unit step or impulse of an input at t = 0, from rest at the operating point; a run."""
    from scipy.linalg import expm

    needs_ports(lin)
    lin.single(f"a {kind} response")
    if name is None:
        if len(lin.inputs) > 1:
            raise ArmillaryError(f"name the input of a {kind} response: input='{lin.inputs[0]}', …")
        name = lin.inputs[0]
    j = port(name, lin.inputs, "input")
    t = _times(lin, times)
    n = len(lin.A)
    h = float(t[1] - t[0]) if lin.step is None else lin.step
    b = lin.B[:, j]
    if lin.step is None:
        whole = np.zeros((n + 1, n + 1))
        whole[:n, :n], whole[:n, n] = lin.A * h, b * h
        E = expm(whole)
        step, held = E[:n, :n], E[:n, n]
    else:
        step, held = lin.A, b
    if kind == "step":  # (x, 1) from one time to the next
        carried = np.zeros((n + 1, n + 1))
        carried[:n, :n], carried[:n, n], carried[n, n] = step, held, 1.0
        values = _sequence(carried, np.append(np.zeros(n), 1.0), len(t))[:, :n] @ lin.C.T + lin.D[:, j]
    elif lin.step is None:
        values = _sequence(step, b, len(t)) @ lin.C.T
    else:
        values = np.vstack([lin.D[:, j], _sequence(step, b, len(t) - 1) @ lin.C.T])
    units = {o: lin.units[o] for o in lin.outputs}
    about = {o: f"change of {o} after a unit {kind} of {name}" for o in lin.outputs}
    info = {"response": kind, "input": name, "units of input": lin.units[name]}
    return Run(
        lin.system, t, values, lin.outputs, units=units, descriptions=about, info=info, outputs=lin.outputs
    )


def _sequence(step: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
    """first, step·first, step²·first, …; a row each, by doubling."""
    found, power = first[None, :], step
    while len(found) < count:
        found = np.vstack([found, found @ power.T])
        power = power @ power
    return found[:count]


def _times(lin: LinearMatrices, times: object) -> np.ndarray:
    times = in_seconds("the times of a response", times)
    if lin.step is not None:
        given = reals(_settled(lin) if times is None else times, "the times of a response")
        end = float(np.max(given, initial=0.0))
        if not 0.0 < end < np.inf:
            raise ArmillaryError(f"a response ends after a positive time, not {end:g} s")
        return np.arange(round(end / lin.step) + 1) * lin.step
    if times is None:
        times = _settled(lin)
    given = reals(times, "the times of a response")
    if given.ndim == 0:
        if not given > 0:
            raise ArmillaryError(f"a response ends after a positive time, not {float(given):g} s")
        return np.linspace(0.0, float(given), _SAMPLES + 1)
    steps = np.diff(given)
    if (
        given.ndim != 1
        or len(given) < 2
        or given[0] != 0
        or not np.allclose(steps, steps[0], rtol=1e-9)
        or steps[0] <= 0
    ):
        raise ArmillaryError("the times of a response start at 0 and have equal steps, or are its end alone")
    return given


def _settled(lin: LinearMatrices) -> float:
    """Seconds until the slowest mode that decays has decayed to one part in a thousand."""
    poles = lin.poles() if lin.step is None else np.log(lin.poles() + 0j) / lin.step
    rates = -poles.real[poles.real < -1e-9 * np.max(np.abs(poles), initial=0.0)]
    slow = 7.0 / rates.min() if rates.size else 10.0
    return float(min(slow, 1e4))
