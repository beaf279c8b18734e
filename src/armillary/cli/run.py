"""Commands that simulate, and commands that draw.

`armillary run` simulates a model or run file, `armillary maneuver` a car. `armillary plot` draws outputs of
saved runs, over time or against each other; `view` shows how a system moves, as one HTML page, a film or a
picture; `live` writes a page in which the model itself runs.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from armillary.cli import app, options
from armillary.cli.app import failure_with_data, partial_run
from armillary.cli.options import argument, option
from armillary.untyped import DataTable, Given, LibraryObject

if TYPE_CHECKING:
    from armillary.results import Run
    from armillary.run_files.execute import Simulation


_PATIENCE = 1.0  # seconds after which a progress bar appears; derivation and compilation count


@options.command(
    """
    armillary run step.toml
    armillary run step.toml --set SPEED="60 mile/hour" --set run.step=1e-3 -o fast.nc
    armillary run car --duration 2 --step 0.025 --method midpoint --plot car.png
    armillary run quarter_car.toml --duration 10 --input road=road.csv
    """
)
def run(
    *,
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    settings: DataTable = options.run_options,
    assignments: tuple[str, ...] = options.settings_option,
    signals: tuple[str, ...] = options.input_option,
    select: tuple[str, ...] = option("Output to keep, by name or pattern; may be repeated."),
    output: str | None = options.results_option,
    echo: bool = option("Write the echo file.", "--echo/--no-echo", default=True, show_default=True),
    save: bool = option("Write results and echo file.", "--save/--no-save", default=True, show_default=True),
    plot: str | None = options.plot_option("the selected outputs"),
    quiet: bool = options.quiet_option,
    json_wanted: bool,
) -> int:
    """Simulate a run file, or a model, and save the results.

    Next to the results, the command writes an echo file, NAME.echo.toml. It has every parameter and initial
    value with units, meaning and source. The echo file is a run file that gives the same run again.
    """
    if output is not None and not save:
        raise click.UsageError(f"--no-save writes no results, so --output {output} does not apply")
    settings |= {"output.file": output, "output.select": list(select)}
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    given = tuple(f"inputs.{signal}" for signal in signals)
    simulation = options.simulation(source, loading, settings, (*assignments, *given))
    simulation.run_settings()
    if save:
        simulation.check_places()
    with _progress(simulation, quiet or json_wanted) as progress:
        made, failure = partial_run(lambda: simulation.run(progress=progress))
    written = simulation.save(made, echo=echo) if save else []
    if plot is not None:
        from armillary.results import plot as draw

        draw([simulation.select_outputs(made)], path=plot)
        written.append(Path(plot))
    if failure is not None:
        raise failure_with_data(failure, written[0] if save else None)
    interrupted = made.info.get("status") == "interrupted"
    if json_wanted:
        click.echo(app.as_json({"ok": not interrupted, **_json_of_run(simulation, made, written)}))
    elif not quiet:
        click.echo(_summarize_run(simulation, made, written))
    return 130 if interrupted else 0


def _json_of_run(simulation: Simulation, made: Run, written: list[Path]) -> DataTable:
    return {
        "command": "run",
        "system": made.system,
        "formalism": made.info["formalism"],
        "method": made.info["method"],
        "status": made.info["status"],
        "steps": made.info["steps"],
        "samples": len(made),
        "files": [str(path) for path in written],
        "seconds": simulation.seconds,
        "events": [{"time": e.time, "name": e.name} for e in made.events],
        "units": {name: made.units[name] for name in simulation.names},
        "final": {name: made.final[name] for name in simulation.names} if len(made) else {},
    }


def _summarize_run(simulation: Simulation, made: Run, written: list[Path]) -> str:
    info = made.info
    title = simulation.file.title or made.system
    span = f"{made.time[0]:g} to {made.time[-1]:g} s" if len(made) else "no samples"
    lines = [
        f"{click.style(title, bold=True)}: {span}, {info['method']}, {info['steps']} steps, {info['status']}"
    ]
    final = made.final if len(made) else {}
    outputs = simulation.select_outputs(made).outputs or made.names
    rows = [[name, f"{final[name]:.6g}", made.units[name], made.descriptions[name]] for name in outputs[:12]]
    if rows:
        lines += [app.align_columns([["at the end", "", "", ""], *rows])]
    if made.events:
        last = made.events[-1]
        count = "1 event" if len(made.events) == 1 else f"{len(made.events)} events, the last"
        lines.append(f"  {count}: {last.name} at {last.time:g} s")
    times = ", ".join(f"{name} {app.seconds(value)}" for name, value in simulation.seconds.items())
    lines.append(app.faint(f"  {times}"))
    lines += [f"  wrote {path}" for path in written]
    return "\n".join(lines)


@contextmanager
def _progress(simulation: Simulation, quiet: bool) -> Iterator[bool | Callable[[float], None]]:
    """Yield a function that shows the time reached by a run as a bar on a terminal; `False` if none is shown.

    The bar appears once the run has taken longer than ``_PATIENCE``.
    """
    from armillary.runtime.progress import on_terminal

    if quiet or not on_terminal():
        yield False
        return
    settings = simulation.run_settings()
    start, end = settings.t0, settings.t_end
    called = time.monotonic()
    with ExitStack() as stack:
        bars: list[LibraryObject] = []  # of click's class of progress bars, which has no public name

        def report(t: float) -> None:
            if not bars and time.monotonic() - called > _PATIENCE:
                new = click.progressbar(length=1000, label="simulating", file=sys.stderr)
                bars.append(stack.enter_context(new))
            for bar in bars:
                share = int(1000 * (t - start) / (end - start)) if end > start else 1000
                bar.update(max(share - bar.pos, 0))

        yield report


@options.command(
    """
    armillary maneuver step-steer car.toml --speed "100 km/h" --steer "1 deg"
    armillary maneuver handling full_car --speed "100 km/h"
    armillary maneuver double-lane-change car.toml --speed "80 km/h" --report report.html
    """
)
def maneuver(
    *,
    name: str = argument(),
    car: str = argument(),
    speed: str = option("Speed, m/s or km/h.", default="80 km/h", show_default=True, metavar="VALUE"),
    steer: str = option("Angle of front wheels.", default="1 deg", show_default=True, metavar="VALUE"),
    brake: float = option("Position of the brake pedal, 0 to 1.", default=0.3, show_default=True),
    report: str | None = option(
        "Page with figures, plots and the moving car.", type=click.Path(dir_okay=False)
    ),
    output: str | None = option(
        "The run: .nc, .csv, .parquet, …", "-o", "--output", type=click.Path(dir_okay=False)
    ),
    json_wanted: bool,
) -> int:
    """Drive a car through a manoeuvre of a standard and print its figures.

    CAR is a text model, or a vehicle of this package by name: single_track_car, fourteen_freedom_car,
    full_car, pickup, formula_student_car, go_kart, tractor_and_trailer. NAME is one of step-steer,
    sine-steer, pulse-steer, random-steer, steady-circle, handling, sine-with-dwell, j-turn, fishhook,
    braking, split-braking, braking-in-a-turn, ride, double-lane-change, obstacle-avoidance. The exit code is
    1 if the car fails by the standard's verdict.
    """
    from armillary.model.units import SYSTEMS, text_number
    from armillary.vehicles import MANOEUVRES, VEHICLES, Car, run_manoeuvre, write_report

    if name not in MANOEUVRES:
        raise click.UsageError(f"there is no manoeuvre '{name}'; use one of {', '.join(MANOEUVRES)}")
    if (report or output) and not MANOEUVRES[name].moves:
        raise click.UsageError(f"'{name}' has no run, so --report and --output do not apply")
    if car not in VEHICLES and not Path(car).is_file():
        raise click.UsageError(f"'{car}' is neither a file nor one of the vehicles {', '.join(VEHICLES)}")
    found = run_manoeuvre(
        name,
        Car.load(car),
        speed=text_number(speed, "--speed", "m/s", SYSTEMS["SI"]),
        steer=text_number(steer, "--steer", "rad", SYSTEMS["SI"]),
        brake=brake,
    )
    passed = getattr(found, "passed", None)
    if json_wanted:
        print(
            app.as_json({"ok": passed is not False, "manoeuvre": name, "table": found.table().splitlines()})
        )
    else:
        click.echo(found.table())
    run = getattr(found, "run", None)
    if report:
        write_report(name, found, report)  # type: ignore[arg-type]  # manoeuvres that move have a run
    if output and run is not None:
        run.save(output)
    return 1 if passed is False else 0


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


_SECONDS, _RATE = 5.0, 60.0  # duration, and pictures per second, of a run without settings


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

    RUN is a saved run of the model. Without RUN, the run file or the model is simulated.
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

    The equations are compiled to WebAssembly inside the page. The page starts with the values of
    the run file.
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
