"""The result of a manoeuvre: its run, the standard's figures, a verdict, and a report on one page."""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

import armillary as arm
from armillary.vehicles.arguments import is_number
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
    """A completed manoeuvre: its run, figures and verdict."""

    name: str
    standard: str
    run: arm.Run = field(repr=False)
    figures: Mapping[str, tuple[float, str]]  # value and unit by name
    passed: bool | None = None  # None if the standard has no verdict
    verdict: str = ""
    drawing: Callable[[Path], Path] | None = field(default=None, repr=False)  # makes the report's SVG

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
        """Write a page with the figures, plots over time and an animation of the car."""
        return write_report(f"{self.name} ({self.standard})", self, path, motion=motion)


STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:62em;color:#222}
h1{font-size:1.5em;margin:0}p{margin:.2em 0 1em;color:#666}svg{width:100%;height:auto}
table{border-collapse:collapse;margin:1em 0}td{padding:.15em 1.2em .15em 0;border-bottom:1px solid #ddd}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.p{display:grid;grid-template-columns:1fr 1fr;gap:.5em}
.passed{color:#00753b}.failed{color:#b3261e}pre{font-size:.9em}@media print{iframe{display:none}}"""


def write_report(title: str, result: Reported, path: str | os.PathLike[str], *, motion: bool = True) -> Path:
    """Write one HTML file with the figures of a manoeuvre, its plots, and an animation of the car."""
    run, made = result.run, Path(path)
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "plot.svg"
        track = ""
        if isinstance(result, Manoeuvre) and result.drawing is not None:
            track = _svg(result.drawing(picture))
        plots = []
        for name in (name for name in PLOTTED if name in run):
            run.plot(name, path=picture, title=name)
            plots.append(f"<div>{_svg(picture)}</div>")
        moving = ""
        if motion:
            page = Path(folder) / "motion.html"
            run.animate(page)
            moving = (
                '<iframe title="motion" style="width:100%;height:34em;border:0" srcdoc="'
                + html.escape(page.read_text(encoding="utf-8"), quote=True)
                + '"></iframe>'
            )
    step = run.info.get("step")
    words = f"{run.system}, {run.info.get('method', '')}" + (
        f", steps of {1e3 * float(step):g} ms" if step else ""
    )
    text = (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>{STYLE}</style><h1>{html.escape(title)}</h1><p>{html.escape(words)}</p>{_figures(result)}"
        f"{track}<div class='p'>{''.join(plots)}</div>{moving}\n"
    )
    arm.write_file(made, text)
    return made


def _figures(result: Reported) -> str:
    """Return a manoeuvre's figures, to four digits, and verdict as an HTML table; other results as text."""
    if not isinstance(result, Manoeuvre):
        return f"<pre>{html.escape(result.table())}</pre>"
    rows = [
        f"<tr><td>{html.escape(name)}<td class=n>{value:.4g}<td>{html.escape(unit)}"
        for name, (value, unit) in result.figures.items()
    ]
    if result.passed is not None:
        word = "passed" if result.passed else "failed"
        rows.append(f"<tr><td>verdict<td class='n {word}'>{word}<td>{html.escape(result.verdict)}")
    return f"<table>{''.join(rows)}</table>"


def _svg(picture: Path) -> str:
    text = picture.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def overturn_time(run: arm.Run) -> float | None:
    """Return the time at which the vehicle overturned, s, or None."""
    return next((event.time for event in run.events if event.name == OVERTURNED), None)


def require_whole_run(name: str, run: arm.Run) -> None:
    """Raise an error if the vehicle overturned, so that the run ended before its time."""
    time = overturn_time(run)
    if time is not None:
        raise arm.ModelError(
            f"{name}: the vehicle overturned after {time:.2f} s; give a smaller steer angle or a lower speed"
        )


def peak(values: Sequence[float] | np.ndarray) -> float:
    """Return the value of largest magnitude, with its sign."""
    array = np.asarray(values)
    return float(array[int(np.argmax(np.abs(array)))])


def first_peak(values: Sequence[float] | np.ndarray) -> float:
    """Return the value of largest magnitude in the first swing that reaches half of the largest magnitude.

    A swing lasts to the next change of sign. A lightly damped car may swing further in the second half of a
    sine than in the first one.
    """
    array = np.asarray(values)
    begin = int(np.argmax(np.abs(array) >= 0.5 * np.max(np.abs(array))))
    back = np.nonzero(array[begin:] * np.sign(array[begin]) < 0)[0]
    return peak(array[begin : begin + int(back[0])] if len(back) else array[begin:])


def require_speed(speed: float) -> None:
    """Raise an error unless a speed is a positive, finite number."""
    if not is_number(speed) or not 0 < speed < np.inf:
        raise arm.ModelError(f"speed={speed!r} must be a positive, finite number of m/s")


def at_time(run: arm.Run, name: str, time: float) -> float:
    """Return an output at a time, by linear interpolation between the samples."""
    return float(np.interp(time, np.asarray(run.time), np.asarray(run[name])))
