"""Commands that draw: `armillary plot`, `armillary view` and `armillary live`.

`plot` draws outputs of saved runs, over time or against each other; `view` shows how a system moves, as one
HTML page, a film or a picture; `live` writes a page in which the model itself runs.
"""

from __future__ import annotations

from pathlib import Path

import click

from armillary.cli import app, options
from armillary.cli.options import argument, option
from armillary.untyped import DataTable, Given


@options.command(
    """
    armillary plot step.csv r Ay -o step.png
    armillary plot slow.nc fast.nc --label "40 mph" --label "60 mph" r -o compare.html
    armillary plot step.csv NRB.q2 --x NRB.q1 -o path.svg
    """
)
def plot(
    *,
    arguments: tuple[str, ...] = argument(
        metavar="RUN... [OUTPUT]...", nargs=-1, required=True, type=click.Path()
    ),
    x: str | None = option("Horizontal axis instead of time.", metavar="OUTPUT"),
    label: tuple[str, ...] = option("Name of a run in the legend, in the order of the runs."),
    output: str | None = options.output_option("Picture: .png, .svg, .pdf or .html; else a window."),
    json_wanted: bool,
) -> int:
    """Draw outputs of one or more saved runs.

    Arguments that end in .csv, .nc, .parquet or .erd are runs; the others are outputs by name or pattern. By
    default the model's own outputs are drawn, or the outputs selected in the run. Curves with the same units
    share a panel; several runs are overlaid.
    """
    from armillary.errors import ArmillaryError
    from armillary.results import load_run
    from armillary.results import plot as draw
    from armillary.results.plots.run_plot import can_show
    from armillary.run_files.execute import SUFFIXES

    paths = [a for a in arguments if Path(a).suffix.lower() in SUFFIXES]
    names = [a for a in arguments if a not in paths]
    if not paths:
        raise ArmillaryError(f"no run is named: give a file that ends in {', '.join(SUFFIXES)}")
    if label and len(label) != len(paths):
        raise ArmillaryError(f"{len(label)} labels for {len(paths)} runs; give one for each, or none")
    runs = [load_run(path) for path in paths]
    if output is None and not can_show():
        raise ArmillaryError("there is no display to show a plot on; give a file, such as -o plot.png")
    labels = list(label) or [Path(path).stem for path in paths]
    draw(runs, *names, x=x, path=output, labels=labels, show=output is None)
    data = {"command": "plot", "runs": paths, "outputs": names, "file": output}
    app.emit(json_wanted, data, f"wrote {output}" if output else "shown")
    return 0


_SECONDS, _RATE = 5.0, 60.0  # of a run without settings: duration, pictures per second


@options.command(
    """
    armillary view car.toml step.nc -o step.html
    armillary view step.toml
    armillary view stewart_platform --duration 5 --view front -o platform.gif
    """
)
def view(
    *,
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    saved: str | None = argument(metavar="[RUN]", required=False, type=click.Path()),
    duration: str | None = option("Without a saved run: how long to simulate.", metavar="TIME"),
    title: str = option("Title of the page; by default the name of the system.", default=""),
    side: str = option("Direction: oblique, front, side, top, x, y or z.", "--view", default="oblique"),
    follow: str | None = option("A body that stays in the picture.", metavar="BODY"),
    paths: tuple[str, ...] = option("A body or point whose path is drawn.", "--path", metavar="POINT"),
    theme: str | None = option("light or dark; by default the browser's."),
    arrows: tuple[str, ...] = option(
        "Arrows: forces, moments, velocities or weights.", "--arrow", metavar="KIND"
    ),
    reactions: tuple[str, ...] = option("Arrows at the joint of a body.", "--reaction", metavar="BODY"),
    size: tuple[int, int] | None = option(
        "Size of a film or picture, pixels.", type=int, nargs=2, metavar="WIDTH HEIGHT"
    ),
    speed: float | None = option("Seconds of motion per second of a film or page."),
    time: float | None = option("Time of a single picture.", metavar="SECONDS"),
    assignments: tuple[str, ...] = options.settings_option,
    formalism: str | None = options.formalism_option,
    output: str | None = options.output_option(
        "File: .html, .glb, or .gif, .webp, .mp4, .png; by default a browser opens."
    ),
    json_wanted: bool,
) -> int:
    """Show how a system moves: bodies, plots and a time line in one page that needs no network.

    RUN is a saved run of the model. Without it, the run file is run, or a model from its initial values.
    Bodies are drawn from their joints, points, masses and inertias.
    """
    from armillary.errors import ArmillaryError
    from armillary.results import load_run
    from armillary.runtime.models.compiled import compiled_model
    from armillary.settings import RunSettings

    if saved is not None and duration is not None:
        raise ArmillaryError("--duration is for a new run; leave it out with a saved run")
    simulation = options.simulation(
        source, loading, {"run.duration": duration, "run.formalism": formalism}, assignments
    )
    if saved is not None:
        run = load_run(saved)
    elif "duration" in simulation.values.settings:
        run = simulation.run()
    else:
        short = RunSettings(_SECONDS, sample=1 / _RATE)
        model = compiled_model(simulation.model)
        run = model.run_with(short, **simulation.given_values(), progress=True, on_start=None)
    seen: DataTable = {"view": side, "follow": follow, "paths": paths, "theme": theme, "title": title}
    seen |= {"arrows": arrows, "reactions": reactions, "speed": speed}
    film: DataTable = {"size": size, "time": time}
    if output is None:
        place = run.view(model=simulation.model, **seen).path
    else:
        given: DataTable = {name: value for name, value in film.items() if value is not None}
        place = run.animate(output, model=simulation.model, **seen, **given)
    data = {"command": "view", "system": run.system, "rows": len(run), "file": str(place)}
    app.emit(json_wanted, data, f"wrote {place}")
    return 0


@options.command(
    """
    armillary live pendulum --slider L=0.2:1 --slider bob.q1 -o pendulum.html
    armillary live car.toml --slider SPEED --plot Ay
    armillary live four_bar --no-grab --step 1e-3
    """
)
def live(
    *,
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    sliders: tuple[str, ...] = option(
        "Parameter, initial value or input to change, with limits in its units; repeatable.",
        "--slider",
        metavar="NAME[=LOW:HIGH]",
    ),
    inputs: tuple[str, ...] = option(
        "Input that keys and a gamepad move; repeatable.", "--input", metavar="NAME[=LOW:HIGH]"
    ),
    plots: tuple[str, ...] = option("Output to show at first; repeatable.", "--plot", metavar="NAME"),
    method: str | None = option("Integration method; by default dopri5, or rk4 with --step."),
    step: str | None = option("Step of a fixed-step method.", metavar="TIME"),
    grab: bool | None = option(
        "Whether bodies can be pulled with the pointer.", "--grab/--no-grab", default=None
    ),
    title: str = option("Title of the page; by default the name of the system.", default=""),
    assignments: tuple[str, ...] = options.settings_option,
    formalism: str | None = options.formalism_option,
    output: str | None = options.output_option("File of the page; by default NAME.html here."),
    json_wanted: bool,
) -> int:
    """Write a page in which a model runs: sliders, growing plots, bodies that can be pulled; no network.

    The equations are compiled to WebAssembly inside the page. It starts with the values of a run file.
    """
    from armillary.errors import ArmillaryError

    changed = {"run.formalism": formalism, "run.step": step, "run.method": method}
    simulation = options.simulation(source, loading, changed, assignments)
    given = simulation.given_values()
    if given.pop("inputs", None) is not None:
        raise ArmillaryError(
            f"{simulation.file.source} has data over time for inputs, which a live page moves by hand; "
            "leave the data out"
        )
    settings = {name: entry.value for name, entry in simulation.values.settings.items()}
    place = simulation.model.live(
        output or f"{Path(simulation.file.model).stem}.html",
        sliders=[_with_limits(text) for text in sliders] or None,
        inputs=[_with_limits(text) for text in inputs] or None,
        plots=list(plots) or None,
        method=method,
        step=settings.get("step") if step is not None else None,
        grab=grab,
        title=title,
        **given,
    )
    data = {"command": "live", "system": simulation.system.name, "file": str(place)}
    app.emit(json_wanted, data, f"wrote {place}")
    return 0


def _with_limits(text: str) -> Given:
    """Return a name, or a name with its limits from NAME=LOW:HIGH."""
    name, sign, limits = text.partition("=")
    if not sign:
        return name
    try:
        low, high = map(float, limits.split(":"))
    except ValueError:
        raise click.UsageError(f"'{text}' is not of the form NAME or NAME=LOW:HIGH") from None
    return name.strip(), low, high
