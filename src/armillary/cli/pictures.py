"""Commands that draw: `armillary plot`, `armillary view` and `armillary live`.

`plot` draws outputs of saved runs, over time or against each other; `view` shows how a system moves, as one
HTML page, a film or a picture; `live` writes a page in which the model itself runs.
"""

from __future__ import annotations

from pathlib import Path

import click

from armillary.cli import app, options
from armillary.untyped import DataTable, Given


@options.command(
    """
    armillary plot step.csv r Ay -o step.png
    armillary plot slow.nc fast.nc --label "40 mph" --label "60 mph" r -o compare.html
    armillary plot step.csv NRB.q2 --x NRB.q1 -o path.svg
    """
)
@click.argument("arguments", metavar="RUN... [OUTPUT]...", nargs=-1, required=True, type=click.Path())
@click.option("--x", metavar="OUTPUT", help="Horizontal axis instead of time.")
@click.option("--label", multiple=True, help="Name of a run in the legend, in the order of the runs.")
@click.option("-o", "--output", type=click.Path(), help="Picture: .png, .svg, .pdf or .html; else a window.")
def plot(
    arguments: tuple[str, ...],
    x: str | None,
    label: tuple[str, ...],
    output: str | None,
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
@options.model_argument
@click.argument("saved", metavar="[RUN]", required=False, type=click.Path())
@click.option("--duration", metavar="TIME", help="Without a saved run: how long to simulate.")
@click.option("--title", default="", help="Title of the page; by default the name of the system.")
@click.option("--view", "side", default="oblique", help="Direction: oblique, front, side, top, x, y or z.")
@click.option("--follow", metavar="BODY", help="A body that stays in the picture.")
@click.option("--path", "paths", metavar="POINT", multiple=True, help="A body or point whose path is drawn.")
@click.option("--theme", help="light or dark; by default the browser's.")
@click.option(
    "--arrow", "arrows", metavar="KIND", multiple=True, help="Arrows: forces, moments, velocities or weights."
)
@click.option("--reaction", "reactions", metavar="BODY", multiple=True, help="Arrows at the joint of a body.")
@click.option("--size", type=int, nargs=2, metavar="WIDTH HEIGHT", help="Size of a film or picture, pixels.")
@click.option("--speed", type=float, help="Seconds of motion per second of a film or page.")
@click.option("--time", type=float, metavar="SECONDS", help="Time of a single picture.")
@options.settings_option
@options.formalism_option
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="File: .html, .glb, or .gif, .webp, .mp4, .png; by default a browser opens.",
)
def view(
    source: str,
    saved: str | None,
    loading: DataTable,
    duration: str | None,
    title: str,
    side: str,
    follow: str | None,
    paths: tuple[str, ...],
    theme: str | None,
    arrows: tuple[str, ...],
    reactions: tuple[str, ...],
    size: tuple[int, int] | None,
    speed: float | None,
    time: float | None,
    assignments: tuple[str, ...],
    formalism: str | None,
    output: str | None,
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
@options.model_argument
@click.option(
    "--slider", "sliders", multiple=True, metavar="NAME[=LOW:HIGH]",
    help="Parameter, initial value or input to change, with limits in its units; repeatable.",
)  # fmt: skip
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME[=LOW:HIGH]",
    help="Input that keys and a gamepad move; repeatable.",
)  # fmt: skip
@click.option("--plot", "plots", multiple=True, metavar="NAME", help="Output to show at first; repeatable.")
@click.option("--method", help="Integration method; by default dopri5, or rk4 with --step.")
@click.option("--step", metavar="TIME", help="Step of a fixed-step method.")
@click.option("--grab/--no-grab", default=None, help="Whether bodies can be pulled with the pointer.")
@click.option("--title", default="", help="Title of the page; by default the name of the system.")
@options.settings_option
@options.formalism_option
@click.option("-o", "--output", type=click.Path(), help="File of the page; by default NAME.html here.")
def live(
    source: str,
    loading: DataTable,
    sliders: tuple[str, ...],
    inputs: tuple[str, ...],
    plots: tuple[str, ...],
    method: str | None,
    step: str | None,
    grab: bool | None,
    title: str,
    assignments: tuple[str, ...],
    formalism: str | None,
    output: str | None,
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
