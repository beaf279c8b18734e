"""The result of a manoeuvre: its run, the standard's figures, a verdict, and a report on one page."""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

import armillary as arm
from armillary.vehicles.cars import OVERTURNED

PLOTTED = ("steer angle", "yaw velocity", "lateral acceleration", "sideslip angle", "roll angle", "speed")


class Tabled(Protocol):
    """A result with figures."""

    def table(self) -> str:
        """Return the figures as lines of text."""


class Reported(Tabled, Protocol):
    """A result with figures and a run."""

    @property
    def run(self) -> arm.Run:
        """The run."""


@dataclass(frozen=True)
class Manoeuvre:
    """A manoeuvre that was run."""

    name: str
    standard: str
    run: arm.Run = field(repr=False)
    figures: Mapping[str, tuple[float, str]]  # value and unit by name
    passed: bool | None = None  # None where the standard has no verdict
    verdict: str = ""

    def __post_init__(self) -> None:
        time = overturn_time(self.run)
        if time is not None:
            object.__setattr__(self, "passed", False)
            object.__setattr__(
                self, "verdict", f"the vehicle overturned after {time:.2f} s, where the run ended"
            )

    def __getitem__(self, name: str) -> float:
        """Return a figure by name."""
        try:
            return self.figures[name][0]
        except KeyError:
            known = ", ".join(self.figures)
            raise arm.ModelError(f"{self.name} has no figure {name!r}; there are {known}") from None

    def table(self) -> str:
        """Return the figures as lines of text."""
        rows = [f"{name:<40}{value:12.4f}  {unit}".rstrip() for name, (value, unit) in self.figures.items()]
        if self.passed is not None:
            rows.append(f"{'verdict':<40}{'passed' if self.passed else 'failed':>12}")
        return "\n".join([*rows, self.verdict] if self.verdict else rows)

    def report(self, path: str | os.PathLike[str], *, motion: bool = True) -> Path:
        """Write a page with the figures, plots over time and the moving car."""
        return write_report(f"{self.name} ({self.standard})", self, path, motion=motion)


def write_report(title: str, result: Reported, path: str | os.PathLike[str], *, motion: bool = True) -> Path:
    """Write one HTML file with the figures of a manoeuvre, its plots, and the moving car."""
    run, made = result.run, Path(path)
    plots = []
    with tempfile.TemporaryDirectory() as folder:
        for name in (name for name in PLOTTED if name in run):
            picture = Path(folder) / "plot.svg"
            run.plot(name, path=picture)
            text = picture.read_text(encoding="utf-8")
            plots.append(text[text.index("<svg") :])
        moving = ""
        if motion:
            page = Path(folder) / "motion.html"
            run.animate(page)
            moving = (
                '<iframe title="motion" style="width:100%;height:30em;border:0" srcdoc="'
                + html.escape(page.read_text(encoding="utf-8"), quote=True)
                + '"></iframe>'
            )
    figures = "".join(f"<div>{plot}</div>" for plot in plots)
    made.write_text(
        f"<!doctype html><meta charset='utf-8'><title>{html.escape(title)}</title>"
        "<style>body{font:15px sans-serif;margin:2em auto;max-width:62em}"
        ".p{display:grid;grid-template-columns:1fr 1fr}svg{width:100%;height:auto}</style>"
        f"<h1>{html.escape(title)}</h1><pre>{html.escape(result.table())}</pre>"
        f"<div class='p'>{figures}</div>{moving}\n",
        encoding="utf-8",
    )
    return made


def overturn_time(run: arm.Run) -> float | None:
    """Return when the vehicle overturned, s, or None."""
    return next((event.time for event in run.events if event.name == OVERTURNED), None)


def require_whole_run(name: str, run: arm.Run) -> None:
    """Refuse a run that ended before its time, where figures need all of it."""
    time = overturn_time(run)
    if time is not None:
        raise arm.ModelError(
            f"{name}: the vehicle overturned after {time:.2f} s; give a smaller steer angle or a lower speed"
        )


def peak(values: Sequence[float] | np.ndarray) -> float:
    """Return the value of largest size, with its sign."""
    array = np.asarray(values)
    return float(array[int(np.argmax(np.abs(array)))])


def at_time(run: arm.Run, name: str, time: float) -> float:
    """Return an output between the samples of a run."""
    return float(np.interp(time, np.asarray(run.time), np.asarray(run[name])))
