"""Figures of the documentation, drawn from runs: those that a page itself makes, and those of the examples.

    python docs/make_figures.py [name …]

The SVG files are kept in the repository. Curves are rounded, so that the last bits of a run change no file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DOCS = Path(__file__).resolve().parent
OURS, THEIRS, THIRD, PRINTED = "#1f5fa8", "#c8571b", "#5b8c3a", "black"
STYLE = {
    "svg.hashsalt": "armillary",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
}

sys.path.insert(0, str(DOCS.parent))
from examples import jpl_spinning_rotor, spinning_boom  # noqa: E402


def page(name: str) -> dict[str, Any]:
    """What the Python blocks of a page leave behind: its models, its runs."""
    text = (DOCS / name).read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            for kind, block in re.findall(r"^```(.*?)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
                if kind.startswith("toml "):
                    Path(kind.split()[1]).write_text(block, encoding="utf-8")
                elif kind == "shell":
                    commands(block)
                elif kind == "python":
                    exec(compile(block, name, "exec"), names)
        finally:
            os.chdir(here)
    return names


def commands(block: str) -> None:
    """The `armillary` commands of a block."""
    from armillary.cli.app import app

    for line in block.splitlines():
        if line.startswith("armillary "):
            app.main(shlex.split(line)[1:], standalone_mode=False)


def panels(rows: int, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """A figure as wide as the text, with panels above each other that share their time."""
    figure = Figure(figsize=(7.6, height))
    return figure, list(np.atleast_1d(figure.subplots(rows, 1, sharex=True)))


def curve(axes: Axes, run: Any, name: str, colour: str = OURS, label: str = "", digits: int = 4) -> None:
    """An output over time, with its units on the axis."""
    axes.plot(run.time.round(6), run[name].round(digits), color=colour, label=label or name)
    axes.set_ylabel(f"{name} [{run.units[name]}]")


def finish_axes(axes: Axes, x: str, y: str, **legend: Any) -> None:
    """Name both axes and show the legend."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(**legend)


def pendulum() -> Figure:
    """Seconds that a clock loses in a day, over its swing."""
    names = page("tutorial/pendulum.md")
    figure, (axes,) = panels(1, 2.8)
    swing = np.linspace(0, 8.5, 60)
    axes.plot(swing, 86400 * np.radians(swing) ** 2 / 16, color=THEIRS, lw=1, label="θ²/16 of a day")
    axes.plot(names["swings"], np.round(names["found"], 3), "o", color=OURS, label="found by runs")
    finish_axes(axes, "swing [deg]", "loss [s per day]")
    return figure


def stanford_arm() -> Figure:
    """The arm on its way to its targets."""
    run = page("tutorial/stanford-arm.md")["run"]
    figure, axes = panels(2)
    for name, colour in zip(("A.q1", "B.q1", "E.q1"), (OURS, THEIRS, THIRD), strict=True):
        curve(axes[0], run, name, colour)
    axes[0].set_ylabel("angle [rad]")
    axes[0].legend(ncols=3)
    curve(axes[1], run, "tip height")
    axes[1].set_xlabel("time [s]")
    axes[1].set_xlim(0, 4)
    return figure


def thruster() -> Figure:
    """The error of the sampled thruster within its dead band."""
    names = page("tutorial/thrusters-and-events.md")
    run, figure, axes = names["exact"], *panels(2)
    shown = run.time < 40
    axes[0].plot(run.time[shown].round(4), 1e3 * run["bus.q1"][shown].round(7), color=OURS)
    axes[0].set_ylabel("angle [mrad]")
    axes[1].plot(run.time[shown].round(4), run["fire"][shown], color=THEIRS)
    axes[1].set_ylabel("thruster")
    axes[1].set_xlabel("time [s]")
    return figure


def four_bar() -> Figure:
    """Angles of the linkage that falls: crank A turns back, B and C go on."""
    run = page("tutorial/four-bar.md")["falling"]
    figure, (axes,) = panels(1, 2.8)
    for name, colour in zip(("A.q1", "B.q1", "C.q1"), (OURS, THEIRS, THIRD), strict=True):
        axes.plot(run.time.round(4), run[name].round(4), color=colour, label=name)
    for note in run.info["configurations"].split("; "):
        axes.axvline(float(note.split()[2]), color="0.6", ls=":", lw=1)
    finish_axes(axes, "time [s]", "angle [rad]", ncols=3)
    return figure


def boom() -> Figure:
    """The tip of a boom that is spun up, with foreshortening and without it."""
    runs = page("tutorial/boom.md")["runs"]
    figure, (axes,) = panels(1, 2.8)
    curve(axes, runs[True], "tip", label="with stiffening")
    curve(axes, runs[False], "tip", THEIRS, "without: it diverges")
    axes.set_ylim(-1.5, 0.3)
    axes.set_xlabel("time [s]")
    axes.legend(loc="lower right")
    return figure


def satellite() -> Figure:
    """The turn of twelve seconds and the one that suits the boom."""
    names = page("tutorial/satellite.md")
    figure, axes = panels(2)
    for key, colour, label in (("run", THEIRS, "12 s"), ("slow", OURS, "two periods of the boom")):
        for axis, name in zip(axes, ("attitude 2", "tip"), strict=True):
            curve(axis, names[key], name, colour, label, 2)
    axes[0].legend(loc="lower right")
    axes[1].set_xlabel("time [s]")
    axes[1].set_xlim(0, 40)
    return figure


def car() -> Figure:
    """The step of steer at three speeds."""
    runs = page("tutorial/car.md")["runs"]
    figure, axes = panels(2)
    for (speed, run), colour in zip(runs.items(), (THIRD, OURS, THEIRS), strict=True):
        for axis, name in zip(axes, ("yaw_rate", "lateral"), strict=True):
            curve(axis, run, name, colour, f"{speed} km/h")
    axes[0].legend(ncols=3, loc="lower right")
    axes[1].set_xlabel("time [s]")
    return figure


def linear_car() -> Figure:
    """Poles over the speed, in the complex plane."""
    names = page("tutorial/linear-car.md")
    figure, (axes,) = panels(1, 3.6)
    places = np.array(names["poles"]).round(4)
    speeds = np.repeat(names["speeds"][:, None], places.shape[1], axis=1)
    dots = axes.scatter(places.real, places.imag, c=speeds, cmap="viridis", s=14)
    figure.colorbar(dots, label="speed [mph]")
    axes.set_xlabel("real part [1/s]")
    axes.set_ylabel("imaginary part [1/s]")
    return figure


def bicycle() -> Figure:
    """Real and imaginary parts of the eigenvalues over the speed."""
    locus = page("tutorial/bicycle.md")["locus"]
    figure, (axes,) = panels(1, 3.6)
    colours = {"weave": OURS, "capsize": THEIRS, "castering": THIRD}
    for i, name in enumerate(locus.names):
        w = locus[i].round(4)
        label = name if i == locus.names.index(name) else None
        axes.plot(locus.values, w.real, color=colours[name], label=label)
        if (w.imag > 0).any():
            turning = np.where(w.imag > 0, w.imag, np.nan)
            axes.plot(locus.values, turning, "--", color=colours[name], label="weave, imaginary part")
    for crossing in locus.crossings:
        axes.plot([round(crossing.value, 4)], [0.0], "o", color=PRINTED, ms=4)
    axes.axhline(0.0, color=PRINTED, lw=0.6)
    axes.set_ylim(-12, 12)
    finish_axes(axes, "speed [m/s]", "eigenvalue [1/s]", loc="upper right")
    return figure


def quarter_car() -> Figure:
    """Magnitudes over frequency, for three dampers."""
    names = page("tutorial/quarter-car.md")
    figure, axes = panels(3, 6.0)
    omega = names["omega"].round(4)
    for k, (damping, colour) in enumerate(zip(names["dampers"], (OURS, THEIRS, THIRD), strict=True)):
        for i, (axis, name) in enumerate(zip(axes, ("acceleration", "travel", "tyre load"), strict=True)):
            size = np.array([float(f"{x:.4g}") for x in names["response"].magnitude[k, :, i, 0]])
            axis.loglog(omega / 2 / np.pi, size, color=colour, label=f"c = {damping:g} kN·s/m")
            axis.set_ylabel(name)
    axes[0].legend()
    axes[-1].set_xlabel("frequency [Hz]")
    return figure


def fmu() -> Figure:
    """The kerb, as FMPy runs the exported FMU and as the process itself runs the model."""
    names = page("tutorial/fmu.md")
    theirs, run = names["theirs"], names["run"]
    figure, (axes,) = panels(1, 2.8)
    axes.plot((run.time + 0.5).round(4), run["jolt"].round(5), color=OURS, label="in this process")
    axes.plot(
        theirs["time"][::4].round(4), theirs["jolt"][::4].round(5), ".", color=THEIRS, label="the FMU in FMPy"
    )
    finish_axes(axes, "time [s]", "jolt [gee]")
    return figure


def figure_9() -> Figure:
    """The platform's appendage by the equations, by the program of 1975, and as the report prints it."""
    file = DOCS.parent / "src/armillary/verification/data/jpl_spinning_rotor.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    record = data["trajectory_as_listed"]
    listed = dict(zip(record["columns"], np.array(record["rows"]).T, strict=True))
    printed = data["printed"]["values"]
    model = jpl_spinning_rotor.system().derive("mbdyfr").compile()
    run = model.simulate(10.0, sample=0.02, rtol=1e-10, atol=1e-12, initial=jpl_spinning_rotor.START)
    figure, axes_of = panels(2, 5)
    for axes, letter in zip(axes_of, "XY", strict=True):
        own = run[f"platform tip {letter.lower()}"].round(3)
        axes.plot(run.time, own, color=OURS, lw=1.2, label="the equations, Armillary")
        axes.plot(listed["t"], 1000 * listed[f"U2{letter}"], ".--", color=THEIRS, lw=0.9, ms=3,
                  label="with the program error of 1975")  # fmt: skip
        times = [float(t) for t in printed]
        axes.plot(times, [1000 * row[f"U2{letter}"] for row in printed.values()], "x", color=PRINTED, ms=7,
                  label="printed in Fig. 9")  # fmt: skip
        axes.set_ylabel(f"tip {letter.lower()} [mm]")
    axes_of[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8)
    axes_of[1].set_xlabel("time [s]")
    return figure


def spin_up() -> Figure:
    """The tip of a boom that is spun up, with foreshortening and without it."""
    figure, (axes,) = panels(1, 3.2)
    for stiffening, seconds, colour in ((True, 20.0, OURS), (False, 9.5, THEIRS)):
        run = spinning_boom.system(stiffening).derive().compile().simulate(seconds, sample=0.05)
        label = "with foreshortening" if stiffening else "without: it diverges"
        axes.plot(run.time, run["boom tip"].round(4), color=colour, lw=1.2, label=label)
    axes.set_ylim(-1.5, 0.3)
    finish_axes(axes, "time [s]", "tip in plane [m]", loc="lower right", fontsize=8)
    return figure


def truck() -> Figure:
    """Rearward amplification over frequency."""
    names = page("tutorial/truck.md")
    figure, (axes,) = panels(1, 2.8)
    for (speed, curve), colour in zip(names["curves"].items(), (OURS, THEIRS, THIRD), strict=True):
        axes.plot(names["frequencies"], curve.round(5), color=colour, label=f"{3.6 * speed:.0f} km/h")
    finish_axes(axes, "frequency [Hz]", "trailer over tractor", fontsize=8)
    return figure


def car_fit() -> Figure:
    """Recorded and fitted yaw velocity."""
    names = page("tutorial/car-fit.md")
    figure, (axes,) = panels(1, 2.8)
    data = names["data"]
    axes.plot(data["time"], data["yaw velocity"].round(3), ".", color=PRINTED, ms=2, label="recorded")
    fitted = names["model"].simulate(
        8.0, step=4e-3, sample=0.02, inputs={"steer": (names["time"], names["steer"])},
        parameters=dict(names["fit"].parameters),
    )  # fmt: skip
    axes.plot(fitted.time, fitted["yaw velocity"].round(3), color=OURS, label="fitted car")
    finish_axes(axes, "time [s]", "yaw velocity [deg/s]", fontsize=8)
    return figure


def lane_change_study() -> Figure:
    """Margins of all cars over what their drivers do."""
    names = page("tutorial/lane-change-study.md")
    figure, (axes,) = panels(1, 2.8)
    margin = 1e3 * names["margin"]
    lag = 1e3 * names["values"]["driver_lag"]
    for chosen, colour, label in ((margin > 0, OURS, "pass"), (margin <= 0, THEIRS, "fail")):
        axes.plot(lag[chosen].round(2), margin[chosen].round(1), ".", color=colour, ms=4, label=label)
    finish_axes(axes, "lag of the driver's arms [ms]", "least distance to the edges [mm]", fontsize=8)
    return figure


def kc_study() -> Figure:
    """Toe over travel before and after."""
    names = page("tutorial/kc-study.md")
    figure, (axes,) = panels(1, 2.8)
    veh, points = names["veh"], names["points"]
    for places, label, colour in ((names["POINTS"], "before", THEIRS), (points, "after", OURS)):
        bump = veh.suspension_rig(veh.double_wishbone, places, vary=()).bump(names["travel"])
        axes.plot(1e3 * names["travel"], bump["left toe"].round(5), color=colour, label=label)
    finish_axes(axes, "travel [mm]", "toe [deg]", fontsize=8)
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "tutorial/figures/pendulum": pendulum,
    "tutorial/figures/stanford-arm": stanford_arm,
    "tutorial/figures/thruster": thruster,
    "tutorial/figures/four-bar": four_bar,
    "tutorial/figures/boom": boom,
    "tutorial/figures/satellite": satellite,
    "tutorial/figures/car": car,
    "tutorial/figures/linear-car": linear_car,
    "tutorial/figures/quarter-car": quarter_car,
    "tutorial/figures/bicycle": bicycle,
    "tutorial/figures/fmu": fmu,
    "tutorial/figures/truck": truck,
    "tutorial/figures/car-fit": car_fit,
    "tutorial/figures/kc-study": kc_study,
    "tutorial/figures/lane-change-study": lane_change_study,
    "verification/jpl-figure-9": figure_9,
    "verification/spin-up": spin_up,
}


def save(name: str) -> None:
    """An SVG without date and random names."""
    with mpl.rc_context(STYLE):
        figure = FIGURES[name]()
        figure.tight_layout()
        path = DOCS / f"{name}.svg"
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for name in FIGURES:
        if not wanted or Path(name).name in wanted:
            save(name)
