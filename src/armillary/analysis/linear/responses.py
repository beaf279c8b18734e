"""Responses of linear models: over frequency, and over time to steps and impulses."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import flag, index_of_name, pair, reals, table
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.linear.structure import transmission_zeros
from armillary.errors import ArmillaryError
from armillary.model.units import in_seconds
from armillary.results import Run
from armillary.results.plots.run_plot import COLOURS, literal, open_figure
from armillary.results.record import label_units
from armillary.results.spectra import PowerSpectrum
from armillary.text_tables import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_POINTS = 400  # frequencies of a response by default
_SAMPLES = 1000  # steps of a response over time by default
_PHASE_STEPS = (0.01, 0.1, 1.0, 5.0, 15.0, 45.0, 90.0, 180.0, 360.0)  # degrees between lines
Path = str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse:
    """The frequency response G(iω) = C (iω − A)⁻¹ B + D, from inputs to outputs.

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
    model: LinearMatrices | None = None  # for values between the frequencies

    def __getitem__(self, key: tuple[str, str]) -> np.ndarray:
        output, name = pair(key, "frequency responses")
        return self.values[..., port(output, self.outputs, "output"), port(name, self.inputs, "input")]

    @property
    def frequency(self) -> np.ndarray:
        """ω/2π in Hz."""
        return self.omega / (2 * np.pi)

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

        |G| is proportional to ωⁿ below all poles, and the phase starts nearest to n·90°: at 0° for a
        position, at 180° for its acceleration, at −180° for a negative static gain. The angle is also
        followed between the frequencies, so that it does not depend on their choice.
        """
        points = self.values.reshape(-1, *self.values.shape[-3:])
        lowest = 1.0 if self.model is None else float(default_frequencies(self.model)[0])
        found = [
            continuous_phase(self._between(k), self.omega, values, lowest) for k, values in enumerate(points)
        ]
        return np.degrees(np.reshape(found, self.values.shape))

    def _between(self, point: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function G at other frequencies than ``omega``, for one operating point."""
        lin = self.model
        if lin is None:
            raise ArmillaryError("this frequency response has no linear model, which its phase needs")
        matrices = [m[point] if lin.many else m for m in (lin.A, lin.B, lin.C, lin.D)]
        return lambda w: _transfer_values(matrices, w, lin.step)

    def bode(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        hz: bool = False,
        decibels: bool = False,
        show: bool = False,
    ) -> Figure:
        """Draw magnitude and phase over frequency, in rad/s or, with ``hz``, in Hz.

        With ``decibels``, magnitudes are in dB. There is a column for each input and a colour for each
        output.
        """
        hz, decibels = flag(hz, "hz="), flag(decibels, "decibels=")
        _check_one_point(self)
        frequency = self.frequency if hz else self.omega
        size = self.decibels if decibels else self.magnitude
        with open_figure((1.0 + 5.5 * len(self.inputs), 6.0), path, show=show) as figure:
            from matplotlib.ticker import MultipleLocator

            axes = figure.subplots(2, len(self.inputs), sharex=True, squeeze=False)
            for j, name in enumerate(self.inputs):
                top, bottom = axes[:, j]
                for i, output in enumerate(self.outputs):
                    colour = COLOURS[i % len(COLOURS)]
                    label = literal(_quotient_label(self, output, name))
                    draw = top.semilogx if decibels else top.loglog
                    draw(frequency, size[:, i, j], color=colour, label=label)
                    bottom.semilogx(frequency, self.phase[:, i, j], color=colour)
                top.set_title(literal(name))
                top.legend(loc="best")
                low, high = bottom.get_ylim()
                steps = (s for s in _PHASE_STEPS if high - low <= 8 * s)
                bottom.yaxis.set_major_locator(MultipleLocator(next(steps, 1800.0)))
                bottom.set_xlabel("frequency (Hz)" if hz else "frequency (rad/s)")
            axes[0, 0].set_ylabel("magnitude (dB)" if decibels else "magnitude")
            axes[1, 0].set_ylabel("phase (deg)")
            figure.align_ylabels(axes[:, 0])
        return figure

    plot = bode

    def nyquist(self, path: str | os.PathLike[str] | None = None, *, show: bool = False) -> Figure:
        """Draw G(iω) in the complex plane: thinner for negative frequencies, with a mark at −1."""
        _check_one_point(self)
        with open_figure((6.5, 6.0), path, show=show) as figure:
            ax = figure.subplots()
            pairs = [(i, j) for i in range(len(self.outputs)) for j in range(len(self.inputs))]
            for k, (i, j) in enumerate(pairs):
                g, colour = self.values[:, i, j], COLOURS[k % len(COLOURS)]
                label = literal(_quotient_label(self, self.outputs[i], self.inputs[j]))
                ax.plot(g.real, g.imag, color=colour, label=label)
                ax.plot(g.real, -g.imag, color=colour, linewidth=0.6)
            ax.plot([-1], [0], "+", color="#1c2126")
            ax.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
            ax.set_title(literal(self.system))
            ax.legend(loc="best")
        return figure

    def __repr__(self) -> str:
        span = f"{self.omega[0]:.4g} to {self.omega[-1]:.4g} rad/s" if len(self.omega) else "empty"
        sizes = f"{counted(len(self.outputs), 'output')} by {counted(len(self.inputs), 'input')}"
        return f"FrequencyResponse({self.system!r}: {sizes}, {len(self.omega)} frequencies, {span})"


def port(name: str, known: Sequence[str], what: str) -> int:
    """Return the index of a state, input or output of a linear model."""
    return index_of_name(name, known, f"the linear model has no {what}")


def frequency_response(lin: LinearMatrices, omega: object = None) -> FrequencyResponse:
    """Return G(iω) at frequencies in rad/s, which cover the poles by default, at all operating points."""
    needs_ports(lin)
    if isinstance(omega, str | os.PathLike):
        raise ArmillaryError(
            f"omega= must hold frequencies in rad/s, not '{omega}'; give a file as bode(path=…)"
        )
    w = default_frequencies(lin) if omega is None else np.atleast_1d(reals(omega, "omega"))
    if w.ndim != 1:
        raise ArmillaryError(f"omega must be a row of frequencies in rad/s, not an array of shape {w.shape}")
    try:
        values = _transfer_values([lin.A, lin.B, lin.C, lin.D], w, lin.step)
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


def _transfer_values(matrices: Sequence[np.ndarray], w: np.ndarray, step: float | None) -> np.ndarray:
    """Return C (s − A)⁻¹ B + D at s = iω or, in discrete time, e^{iωT}."""
    s = 1j * w if step is None else np.exp(1j * w * step)
    A, B, C, D = (m[..., None, :, :] for m in matrices)
    with np.errstate(all="ignore"):
        x = np.linalg.solve(s[:, None, None] * np.eye(A.shape[-1]) - A, B.astype(complex))
        found: np.ndarray = C @ x + D
    return found


def psd(lin: LinearMatrices, densities: Mapping[str, object], frequency: object = None) -> PowerSpectrum:
    """Return the power spectral densities of the outputs for uncorrelated inputs: S_y = Σ |G|² S.

    ``densities`` has the one-sided S of each input, in the input's units squared per Hz: a number (white
    noise), an array, or a function of the frequency in Hz. ``frequency``, in Hz, covers the poles by
    default.
    """
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
            raise ArmillaryError(f"the density of '{name}' is negative or NaN at some frequency")
        found += gains[:, :, j] * np.reshape(values, (-1, 1))
    units = {o: lin.units[o] for o in lin.outputs}
    return PowerSpectrum(lin.system, np.atleast_1d(f), found, lin.outputs, units)


def default_frequencies(lin: LinearMatrices) -> np.ndarray:
    """Return frequencies that cover the poles, in rad/s."""
    poles = lin.poles()
    rates = poles if lin.step is None else np.log(poles + 0j) / lin.step
    sizes = np.abs(rates).ravel()
    sizes = sizes[np.isfinite(sizes)]
    sizes = sizes[sizes > 1e-6 * np.max(sizes, initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    top = 10 * high if lin.step is None else min(10 * high, np.pi / lin.step)
    return np.geomspace(0.1 * low, top, _POINTS)


def needs_ports(lin: LinearMatrices) -> None:
    """Raise an error for a model without inputs or without outputs."""
    for names, what in ((lin.inputs, "inputs"), (lin.outputs, "outputs")):
        if not names:
            raise ArmillaryError(
                f"the linear model of '{lin.system}' has no {what}; name them: linearize({what}=[…]), or "
                f"--{what} on the command line"
            )


def time_response(lin: LinearMatrices, times: object, name: str | None, kind: str) -> Run:
    """Return the outputs after a unit step or impulse of an input at t = 0, from the operating point."""
    from scipy.linalg import expm

    needs_ports(lin)
    lin.single(f"a {kind} response")
    if name is None:
        if len(lin.inputs) > 1:
            raise ArmillaryError(f"name the input of a {kind} response: input='{lin.inputs[0]}', …")
        name = lin.inputs[0]
    j = port(name, lin.inputs, "input")
    t = _response_times(lin, times)
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
    if kind == "step":  # the matrix carried takes (x, 1) from one time to the next
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
    """Return first, step·first, step²·first, … as rows; each product doubles their number."""
    found, power = first[None, :], step
    while len(found) < count:
        found = np.vstack([found, found @ power.T])
        power = power @ power
    return found[:count]


def _response_times(lin: LinearMatrices, times: object) -> np.ndarray:
    times = in_seconds("the times of a response", times)
    if lin.step is not None:
        given = reals(_settling_time(lin) if times is None else times, "the times of a response")
        end = float(np.max(given, initial=0.0))
        if not 0.0 < end < np.inf:
            raise ArmillaryError(f"a response ends after a positive time, not {end:g} s")
        return np.arange(round(end / lin.step) + 1) * lin.step
    if times is None:
        times = _settling_time(lin)
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
        raise ArmillaryError("the times of a response must be its end, or start at 0 and have equal steps")
    return given


def _settling_time(lin: LinearMatrices) -> float:
    """Return the time in which the slowest decaying mode decays to a thousandth, in seconds."""
    poles = lin.poles() if lin.step is None else np.log(lin.poles() + 0j) / lin.step
    rates = -poles.real[poles.real < -1e-9 * np.max(np.abs(poles), initial=0.0)]
    slow = 7.0 / rates.min() if rates.size else 10.0
    return float(min(slow, 1e4))


# The phase of a frequency response as a continuous function of frequency.
#
# Below all poles and zeros |G| is proportional to ωⁿ; the phase starts nearest to n·90°, at −180° for a
# negative gain with n = 0. Bisection follows the angle until no step exceeds a quarter of a turn, so that a
# lightly damped resonance between two samples turns the phase in the right direction. An undamped pole or
# zero is a jump of half a turn at any resolution; its direction is chosen so that the phase ends nearer to
# (n − 1)·90°, as in a collocated response.

_QUARTER = 0.5 * np.pi
_LEVELS = 48  # most bisections; after them an interval is narrower than rounding
_WORK = (
    4000  # most frequencies at one level, since responses of rounding errors have random phases everywhere
)
_HIGHEST = 0.75 * np.pi  # the phase starts at most this above n·90°: for n = 0, 180° becomes −180°
_NOTHING = 1e-13  # below this share of a response's largest value, its angle is a rounding error
_APART = 1.1  # ratio of the two frequencies that determine n
_POWERS = 8  # largest |n|


def continuous_phase(
    evaluate: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, values: np.ndarray, lowest: float
) -> np.ndarray:
    """Return the angles of G in radians, with the axes frequencies, outputs, inputs.

    ``evaluate`` gives G at other frequencies, and ``lowest`` is a frequency below the poles.
    """
    if not len(omega):
        return np.empty(values.shape)
    first = min(lowest, omega[0])
    if not first > 0:  # negative frequencies: follow the curve in the given order
        return _phase_along(evaluate, omega, values, np.zeros(values.shape[1:]))
    start = evaluate(np.array([first, first * _APART]))
    with np.errstate(all="ignore"):
        power = np.rint(np.log(np.abs(start[1] / start[0])) / np.log(_APART))
    power = np.clip(np.nan_to_num(power), -_POWERS, _POWERS)
    along = np.concatenate([[first], omega]), np.concatenate([start[:1], values])
    return _phase_along(evaluate, *along, power)[1:]


def _phase_along(
    evaluate: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, values: np.ndarray, power: np.ndarray
) -> np.ndarray:
    """Return the angles at ``omega``; ``power`` has the n with which the phase starts."""
    values = values.copy()
    for k in range(1, len(values)):  # an exact zero has no angle: keep the one before
        values[k] = np.where((values[k] == 0) | ~np.isfinite(values[k]), values[k - 1], values[k])
    seen = np.abs(values) > _NOTHING * np.max(np.abs(values), axis=0)
    steps, known = _angle_steps(evaluate, omega, values, seen[1:] & seen[:-1])
    found = np.empty(values.shape)
    highest = power * _QUARTER + _HIGHEST
    found[0] = highest - (highest - np.angle(values[0])) % (2 * np.pi)
    for k, step in enumerate(steps):
        other, usual = step - np.copysign(2 * np.pi, step), (power - 1) * _QUARTER
        nearer = np.abs(found[k] + other - usual) < np.abs(found[k] + step - usual)
        found[k + 1] = found[k] + np.where(~known[k] & nearer, other, step)
    return found


def _angle_steps(
    evaluate: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, values: np.ndarray, counted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the changes of the angle from each frequency to the next, and whether each is known; unknown
    changes are half turns.
    """
    direct = _angle_between(values[:-1], values[1:])
    steps = direct.copy()
    wide = (np.abs(steps) > _QUARTER) & counted
    known = ~wide
    place = np.flatnonzero(wide.any(axis=(1, 2)))
    low, high, g_low, g_high = omega[place], omega[place + 1], values[place], values[place + 1]
    steps[place] = 0.0
    for level in range(_LEVELS):
        if not place.size or (level and place.size > _WORK):
            break
        middle = np.where(low * high > 0, np.sign(low) * np.sqrt(np.abs(low * high)), 0.5 * (low + high))
        try:
            g = evaluate(middle)
        except np.linalg.LinAlgError:  # exactly at an undamped pole
            break
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        g_low, g_high = np.concatenate([g_low, g]), np.concatenate([g, g_high])
        place = np.concatenate([place, place])
        turned = _angle_between(g_low, g_high)
        done = ((np.abs(turned) <= _QUARTER) | ~counted[place]).all(axis=(1, 2))
        np.add.at(steps, place[done], turned[done])
        known[place[done]] |= True
        low, high, g_low, g_high, place = (x[~done] for x in (low, high, g_low, g_high, place))
    np.add.at(steps, place, _angle_between(g_low, g_high))
    jumps = (np.abs(_angle_between(g_low, g_high)) > _QUARTER) & counted[place]
    np.logical_and.at(known, place, ~jumps)
    # Only whole turns are taken from the bisection, since it has no angle if it meets a zero exactly.
    return direct + 2 * np.pi * np.rint((steps - direct) / (2 * np.pi)), known


def _angle_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the angle from one complex number to another, in (−π, π]; 0 if it is not finite."""
    with np.errstate(all="ignore"):
        found = np.angle(b * np.conj(a) / (np.abs(a) * np.abs(b)))
    return np.asarray(np.where(np.isfinite(found), found, 0.0))


# Pictures of linear models: Bode, Nyquist, and poles with zeros.


def pole_zero(lin: LinearMatrices, path: Path = None, *, show: bool = False) -> Figure:
    """Draw poles as crosses and transmission zeros as circles in the complex plane.

    For many operating points only poles are drawn, from pale to dark.
    """
    poles = np.atleast_2d(lin.poles())
    with open_figure((6.5, 5.5), path, show=show) as figure:
        ax = figure.subplots()
        for k, row in enumerate(poles):
            shade = 0.25 + 0.75 * (k + 1) / len(poles)
            ax.plot(row.real, row.imag, "x", color=COLOURS[0], alpha=shade, label="poles" if k == 0 else None)
        if not lin.many and lin.inputs and lin.outputs:
            try:
                zeros = transmission_zeros(lin.A, lin.B, lin.C, lin.D)
            except ArmillaryError:
                zeros = np.empty(0, dtype=complex)
            ax.plot(zeros.real, zeros.imag, "o", color=COLOURS[1], markerfacecolor="none", label="zeros")
        ax.axvline(0.0, color="#aab3bb", linewidth=0.8)
        unit = "1/s" if lin.step is None else "per step"
        ax.set(xlabel=f"real part ({unit})", ylabel=f"imaginary part ({unit})")
        ax.set_title(literal(lin.system))
        ax.legend(loc="best")
    return figure


def _check_one_point(r: FrequencyResponse) -> None:
    if r.values.ndim != 3:
        raise ArmillaryError("a plot shows one operating point: choose one, as in lin[3].bode()")


def _quotient_label(r: FrequencyResponse, output: str, name: str) -> str:
    above, below = (label_units(r.units[n]) or "1" for n in (output, name))
    return f"{output} ({above} per {below})" if (above, below) != ("1", "1") else output
