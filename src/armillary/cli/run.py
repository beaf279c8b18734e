"""The commands that simulate: `armillary run` of a model or run file, `armillary maneuver` of a car."""

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
from armillary.untyped import DataTable, LibraryObject

if TYPE_CHECKING:
    from armillary.results import Run
    from armillary.run_files.execute import Simulation


_PATIENCE = 1.0  # seconds before a bar appears, including derivation and compilation


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

    Next to the results it writes an echo file, NAME.echo.toml: every parameter and initial value with units,
    meaning and source. The echo file is a run file that gives the same run again.
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
    """Yield a function that shows a bar on a terminal with the time reached, once a run takes longer."""
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
    brake: float = option("Pedal of the brake, 0 to 1.", default=0.3, show_default=True),
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
