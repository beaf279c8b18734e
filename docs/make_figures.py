"""Figures of the verification manual, made from runs and from the reference data.

    python docs/make_figures.py

The SVG files are kept in the repository. Curves are rounded, so that the last bits of a run change no file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "verification"
OURS, THEIRS, PRINTED = "#1f5fa8", "#c8571b", "black"

sys.path.insert(0, str(ROOT))
from examples import jpl_spinning_rotor, spinning_boom  # noqa: E402


def figure_9() -> Figure:
    """The platform's appendage by the equations, by the program of 1975, and as the report prints it."""
    data = json.loads((ROOT / "tests/verification/data/jpl_spinning_rotor.json").read_text(encoding="utf-8"))
    record = data["trajectory_as_listed"]
    listed = dict(zip(record["columns"], np.array(record["rows"]).T, strict=True))
    printed = data["printed"]["values"]
    model = jpl_spinning_rotor.system().derive("mbdyfr").compile()
    run = model.simulate(10.0, sample=0.02, rtol=1e-10, atol=1e-12, initial=jpl_spinning_rotor.START)
    figure = Figure(figsize=(8, 5))
    panels = figure.subplots(2, 1, sharex=True)
    for axes, letter in zip(panels, "XY", strict=True):
        own = run[f"platform tip {letter.lower()}"].round(3)
        axes.plot(run.time, own, color=OURS, lw=1.2, label="the equations, Armillary")
        axes.plot(listed["t"], 1000 * listed[f"U2{letter}"], ".--", color=THEIRS, lw=0.9, ms=3,
                  label="with the program error of 1975")  # fmt: skip
        times = [float(t) for t in printed]
        axes.plot(times, [1000 * row[f"U2{letter}"] for row in printed.values()], "x", color=PRINTED, ms=7,
                  label="printed in Fig. 9")  # fmt: skip
        axes.set_ylabel(f"tip {letter.lower()} [mm]")
    panels[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8)
    panels[1].set_xlabel("time [s]")
    return figure


def spin_up() -> Figure:
    """The tip of a boom that is spun up, with foreshortening and without it."""
    figure = Figure(figsize=(8, 3.2))
    axes = figure.subplots()
    for stiffening, seconds, colour in ((True, 20.0, OURS), (False, 9.5, THEIRS)):
        run = spinning_boom.system(stiffening).derive().compile().simulate(seconds, sample=0.05)
        label = "with foreshortening" if stiffening else "without: it diverges"
        axes.plot(run.time, run["boom tip"].round(4), color=colour, lw=1.2, label=label)
    axes.set_ylim(-1.5, 0.3)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("tip in plane [m]")
    axes.legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def save(figure: Figure, name: str) -> None:
    """An SVG without date and random names."""
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    with mpl.rc_context({"svg.hashsalt": "armillary", "svg.fonttype": "none"}):
        figure.tight_layout()
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    save(figure_9(), "jpl-figure-9")
    save(spin_up(), "spin-up")
