"""Pictures of linear models: Bode, Nyquist, and poles with zeros."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.linear.structure import transmission_zeros
from armillary.errors import ArmillaryError
from armillary.results.plots.figure import COLOURS, drawn, literal
from armillary.results.record import label_units

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.analysis.linear.responses import FrequencyResponse

Path = str | os.PathLike[str] | None


def bode_plot(
    r: FrequencyResponse, path: Path, show: bool, *, hz: bool = False, decibels: bool = False
) -> Figure:
    """Magnitude and phase over frequency, a column for each input and a colour for each output."""
    _one(r)
    frequency, size = (r.frequency if hz else r.omega), (r.decibels if decibels else r.magnitude)
    with drawn((1.0 + 5.5 * len(r.inputs), 6.0), path, show=show) as figure:
        from matplotlib.ticker import MaxNLocator

        axes = figure.subplots(2, len(r.inputs), sharex=True, squeeze=False)
        for j, name in enumerate(r.inputs):
            top, bottom = axes[:, j]
            for i, output in enumerate(r.outputs):
                colour = COLOURS[i % len(COLOURS)]
                label = literal(_quotient(r, output, name))
                draw = top.semilogx if decibels else top.loglog
                draw(frequency, size[:, i, j], color=colour, label=label)
                bottom.semilogx(frequency, r.phase[:, i, j], color=colour)
            top.set_title(literal(name))
            top.legend(loc="best")
            bottom.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 1.5, 3, 4.5, 9, 10]))
            bottom.set_xlabel("frequency (Hz)" if hz else "frequency (rad/s)")
        axes[0, 0].set_ylabel("magnitude (dB)" if decibels else "magnitude")
        axes[1, 0].set_ylabel("phase (deg)")
        figure.align_ylabels(axes[:, 0])
    return figure


def nyquist_plot(r: FrequencyResponse, path: Path, show: bool) -> Figure:
    """G(iω) in the complex plane, for positive frequencies and, thinner, for negative ones; −1 is marked."""
    _one(r)
    with drawn((6.5, 6.0), path, show=show) as figure:
        ax = figure.subplots()
        pairs = [(i, j) for i in range(len(r.outputs)) for j in range(len(r.inputs))]
        for k, (i, j) in enumerate(pairs):
            g, colour = r.values[:, i, j], COLOURS[k % len(COLOURS)]
            ax.plot(g.real, g.imag, color=colour, label=literal(_quotient(r, r.outputs[i], r.inputs[j])))
            ax.plot(g.real, -g.imag, color=colour, linewidth=0.6)
        ax.plot([-1], [0], "+", color="#1c2126")
        ax.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
        ax.set_title(literal(r.system))
        ax.legend(loc="best")
    return figure


def pole_zero_plot(lin: LinearMatrices, path: Path, show: bool) -> Figure:
    """Poles as crosses and transmission zeros as circles; of many points, poles alone, pale to dark."""
    poles = np.atleast_2d(lin.poles())
    with drawn((6.5, 5.5), path, show=show) as figure:
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


def _one(r: FrequencyResponse) -> None:
    if r.values.ndim != 3:
        raise ArmillaryError("a plot shows one operating point: take one of many, lin[3].bode()")


def _quotient(r: FrequencyResponse, output: str, name: str) -> str:
    above, below = (label_units(r.units[n]) or "1" for n in (output, name))
    return f"{output} ({above} per {below})" if (above, below) != ("1", "1") else output
