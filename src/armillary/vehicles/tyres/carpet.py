"""Carpet plots of a tyre: side force or aligning moment over slip and load in one picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.vehicles.tyres.tyre import Tyre

LABELS = {"fx": ("-Fx", "N"), "fy": ("-Fy", "N"), "mz": ("Mz", "N*m")}


@dataclass(frozen=True)
class Carpet:
    """A grid of forces: rows are loads (N), columns slips (slip angle in rad, or longitudinal slip)."""

    channel: str
    slip: str  # "alpha" or "kappa"
    loads: np.ndarray
    slips: np.ndarray
    values: np.ndarray  # N or N·m, by load and slip

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw the carpet: lines of equal load and of equal slip, each load shifted to the right."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 5), layout="constrained")
        axes = figure.subplots()
        label, unit = LABELS[self.channel]
        shown = -self.values if label.startswith("-") else self.values
        angle = np.degrees(self.slips) if self.slip == "alpha" else self.slips
        shift = 0.25 * (angle[-1] - angle[0]) * (self.loads - self.loads[0]) / np.ptp(self.loads)
        for i, load in enumerate(self.loads):
            axes.plot(angle + shift[i], shown[i], color="#1f5fa8", lw=1)
            axes.annotate(f"{load:.0f} N", (angle[-1] + shift[i], shown[i, -1]), fontsize=7)
        for j, slip in enumerate(angle):
            axes.plot(slip + shift, shown[:, j], color="#c8571b", lw=0.7)
            axes.annotate(f"{slip:g}", (slip + shift[-1], shown[-1, j]), fontsize=6, ha="center", va="bottom")
        axes.set_xticks([])
        axes.set_xlabel("slip angle, deg" if self.slip == "alpha" else "longitudinal slip")
        axes.set_ylabel(f"{label}, {unit}")
        figure.savefig(path)
        return Path(path)


def carpet(
    tyre: Tyre,
    loads: Sequence[float],
    slips: Sequence[float],
    *,
    channel: str = "fy",
    slip: str = "alpha",
    gamma: float = 0.0,
) -> Carpet:
    """Return the carpet of a tyre for rising loads in N and slips: angles in rad, or longitudinal slips.

    channel  "fy", "mz" or "fx"; slip  "alpha" or "kappa"
    """
    if channel not in LABELS or slip not in ("alpha", "kappa"):
        raise arm.ModelError(
            f"carpet: channel={channel!r}, slip={slip!r}; use fx, fy or mz, and alpha or kappa"
        )
    rows, columns = np.asarray(loads, dtype=float), np.asarray(slips, dtype=float)
    if len(rows) < 2 or len(columns) < 2 or np.any(np.diff(rows) <= 0) or np.any(np.diff(columns) <= 0):
        raise arm.ModelError("carpet: give two loads and two slips at least, both rising")
    moved = {"alpha": 0.0, "kappa": 0.0, slip: columns[None, :]}
    found = tyre.evaluate(fz=rows[:, None], gamma=gamma, **moved)
    return Carpet(channel, slip, rows, columns, np.asarray(getattr(found, channel)))
