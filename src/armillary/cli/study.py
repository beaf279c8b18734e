"""The command `armillary study`: many runs of a model, from a study file to tables of metrics, sensitivities
and charts in a folder.
"""

from __future__ import annotations

import re
import shlex
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
import numpy as np

from armillary.cli import app, options
from armillary.cli.app import failure_with_data, partial_run
from armillary.cli.options import argument, option
from armillary.errors import ArmillaryError, MissingExtraError
from armillary.studies import Study
from armillary.studies.sensitivity import Sensitivity
from armillary.untyped import AnyFunction, DataTable

_LEVELS = {"lowest": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "highest": 1.0}


def spreads(study: Study, names: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
    """Return quantiles of each metric over the runs in which it is finite, and the number of other runs."""
    table = study.table()
    table = table[table["status"] != "not run"]
    found = {}
    for name in study.metrics if names is None else names:
        if name in table:  # metrics that are histograms are not in it
            values = table[name].to_numpy()
            known = values[np.isfinite(values)]
            quantiles = np.quantile(known, list(_LEVELS.values())) if known.size else [np.nan] * len(_LEVELS)
            found[name] = dict(zip(_LEVELS, map(float, quantiles), strict=True))
            found[name]["without"] = int(values.size - known.size)
    return found


def metrics_table(study: Study, names: Sequence[str] | None = None) -> str:
    """Return a table of the metrics of a study, one line for each."""
    rows = []
    for name, spread in spreads(study, names).items():
        numbers = [f"{value:.5g}" for value in list(spread.values())[:-1]]
        rows.append([name, *numbers, study.units[name], str(spread["without"] or "")])
    heads = ["", *_LEVELS, "", "without"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return app.align_columns([heads, *rows]) if rows else ""


def metrics_of_run(study: Study, run: int) -> dict[str, float]:
    """Return the metrics of one run from the results of the study."""
    table = study.table()
    return {name: float(table[name].iloc[run]) for name in study.metrics if name in table}


def sensitivities(study: Study, names: Sequence[str]) -> tuple[dict[str, Sensitivity], dict[str, str]]:
    """Return sensitivities by metric, and reasons by metric where they cannot be computed."""
    found, unknown = {}, {}
    known = study.table().columns
    for name in names:
        if name in known:
            try:
                found[name] = study.sensitivity(name)
            except MissingExtraError:
                raise
            except ArmillaryError as error:
                unknown[name] = str(error)
    return found, unknown


def draw_charts(
    study: Study, folder: Path, names: Sequence[str], found: Mapping[str, Sensitivity]
) -> list[Path]:
    """Draw the charts of a study into a folder; return their paths."""
    known = study.table().columns
    shown = [name for name in names if name in known]
    charts: dict[str, AnyFunction] = {f"fan {name}": partial(study.fan, name) for name in study.outputs}
    charts |= {f"histogram {name}": partial(study.histogram, name) for name in names}
    charts |= {f"sensitivity {name}": each.plot for name, each in found.items()}
    if shown:
        charts["scatter"] = partial(study.scatter, *study.varied, *shown)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArmillaryError(f"cannot make the folder '{folder}': {error.strerror or error}") from error
    written = []
    for title, chart in charts.items():
        path = folder / (re.sub(r"[^\w.]+", "-", title).strip("-") + ".png")
        try:
            chart(path=path)
        except MissingExtraError:
            raise
        except ArmillaryError:  # a metric without a finite value has no chart
            continue
        written.append(path)
    return written


@click.group(
    cls=options.CommandGroup,
    epilog="""
    armillary study run car_study.toml
    armillary study show car_study --plot charts
    armillary study status car_study --json
    armillary study rerun car_study 123 -o run123.nc
    """,
    invoke_without_command=True,
)
@click.pass_context
def study(ctx: click.Context) -> None:
    """Make many runs of a model, varied and kept in a folder; continue a study after an interruption."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


_folder_argument = argument(metavar="FOLDER", type=click.Path(file_okay=False))


@study.command(
    cls=options.Command,
    epilog="""
    armillary study run car_study.toml
    armillary study run car_study.toml --runs 16384 --threads 8 --folder studies/large
    armillary study run car_study.toml --scheduler tcp://node1:8786
    armillary study run studies/large
    """,
)
def run(
    *,
    source: str = argument(metavar="STUDY_FILE|FOLDER", type=click.Path()),
    runs: int | None = option("Number of runs; a larger number than the folder has extends the study."),
    seed: int | None = option("Seed of the design."),
    folder: str | None = options.file_option("Folder of the study, instead of the file's."),
    assignments: tuple[str, ...] = options.settings_option,
    threads: int | None = option(
        "Threads in this process; all cores by default.", type=click.IntRange(min=1)
    ),
    device: str = option(
        "Processor that computes the runs.",
        type=click.Choice(["cpu", "gpu"]),
        default="cpu",
        show_default=True,
    ),
    scheduler: str | None = option("Dask scheduler, such as tcp://node1:8786.", metavar="ADDRESS"),
    trust: bool = options.trust_option,
    quiet: bool = options.quiet_option,
    json_wanted: bool,
) -> int:
    """Make the runs of a study file, or make the missing runs of a study's folder.

    After an interruption, finished blocks of runs are kept, and the same command makes the missing ones. The
    folder has the metrics of all runs in metrics.parquet and their outputs over time in results.zarr.
    """
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    began = time.perf_counter()
    settings = {"study.runs": runs, "study.seed": seed, "study.folder": folder}
    made, title = _open(source, settings, assignments, trust)
    try:
        made.run(scheduler, progress=not (quiet or json_wanted), threads=threads, device=device)
    except KeyboardInterrupt:
        return _report_interruption(made, json_wanted)
    status = made.status()
    nothing = status.failed == status.runs
    if json_wanted:
        seconds = time.perf_counter() - began
        click.echo(app.as_json({"ok": not nothing, **_json_of_study("study run", made), "seconds": seconds}))
    elif not quiet:
        click.echo("\n".join([*title, repr(made), metrics_table(made)]).rstrip())
        click.echo(app.faint(f"  {app.seconds(time.perf_counter() - began)}"))
        click.echo(f"  in {made.path}; see 'armillary study show {shlex.quote(str(made.path))}'")
    return 1 if nothing else 0


def _open(
    source: str, settings: DataTable, assignments: tuple[str, ...], trust: bool
) -> tuple[Study, list[str]]:
    """Return the study of a file or folder, with the number of runs that the command gives; and its title as
    a list of one line or none.
    """
    from armillary.errors import ArmillaryError

    if not Path(source).is_dir():
        loading = {"trust": True} if trust else {}
        setup = options.study_setup(source, loading, settings, assignments)
        title = setup.file.title
        return setup.study(), [click.style(title, bold=True)] if title else []
    from armillary.studies import open_study

    runs = settings.pop("study.runs")
    given = [name.removeprefix("study.") for name, value in settings.items() if value is not None]
    if given or assignments:
        raise ArmillaryError(
            f"'{source}' is the folder of a study, in which {given[0] if given else 'a value'} cannot be "
            "changed; give its study file, and another folder with --folder"
        )
    study = open_study(source, trust=trust)
    return study if runs in (None, study.runs) else study.extend(runs), []


def _report_interruption(made: Study, json_wanted: bool) -> int:
    status = made.status()
    if json_wanted:
        click.echo(app.as_json({"ok": False, **_json_of_study("study run", made), "status": "interrupted"}))
    click.echo(
        f"{click.style('armillary:', fg='yellow')} interrupted; {status.made} of {status.runs} runs are kept "
        f"in '{made.path}'. Give the same command again to go on.",
        err=True,
    )
    return 130


def _json_of_study(command: str, made: Study) -> DataTable:

    status = made.status()
    return {
        "command": command,
        "folder": str(made.path),
        "complete": status.complete,
        "runs": status.runs,
        "made": status.made,
        "failed": status.failed,
        "failures": [{"run": number, "why": why} for number, why in status.failures],
        "blocks": status.blocks,
        "finished": status.finished,
        "varied": list(made.varied),
        "outputs": list(made.outputs),
        "metrics": spreads(made) if status.made else {},
        "units": made.units,
    }


@study.command(cls=options.Command, epilog="armillary study status car_study")
def status(
    *,
    folder: str = _folder_argument,
    json_wanted: bool,
) -> int:
    """Show the progress of a study, also while it runs: runs made, and failed runs with reasons."""
    from armillary.studies import open_study

    made = open_study(folder)
    lines = [repr(made)]
    if by := made.run_by:
        lines.append(f"  being run by {by}")
    elif not made.status().complete:
        lines.append(f"  to go on: armillary study run {shlex.quote(folder)}")
    data = {**_json_of_study("study status", made), "run_by": by or None}
    app.emit(json_wanted, data, "\n".join(lines))
    return 0


@study.command(
    "show",
    cls=options.Command,
    epilog="""
    armillary study show car_study
    armillary study show car_study "peak yaw rate" --plot charts
    """,
)
def show_(
    *,
    folder: str = _folder_argument,
    metrics: tuple[str, ...] = argument(metavar="[METRIC]...", nargs=-1),
    plot: str | None = option("Folder for charts of metrics and outputs.", type=click.Path(file_okay=False)),
    sensitivity: bool = option(
        "Sensitivities of metrics.", "--sensitivity/--no-sensitivity", default=True, show_default=True
    ),
    json_wanted: bool,
) -> int:
    """Sum up a study: metrics of all runs, and their sensitivities.

    --plot draws histograms of metrics, fan charts of outputs over time, metrics over the varied quantities,
    and bars of sensitivities. These are Sobol' indices for a saltelli design, Morris screening for a morris
    design, and for any other design the part of the variance that each quantity explains.
    """
    from armillary.studies import open_study

    made = open_study(folder)
    names = _select_metrics(made, metrics)
    found, unknown = sensitivities(made, names) if sensitivity else ({}, {})
    written = draw_charts(made, Path(plot), names, found) if plot is not None else []
    if json_wanted:
        data_of = {
            name: {"method": s.method, "names": list(s.names), "runs": s.runs, "correlated": s.correlated}
            | {column: values.tolist() for column, values in s.values.items()}
            for name, s in found.items()
        }
        data = {
            **_json_of_study("study show", made),
            "sensitivity": data_of,
            "files": list(map(str, written)),
        }
        click.echo(app.as_json({"ok": True, **data}))
        return 0
    click.echo(f"{made!r}\n{metrics_table(made, names)}".rstrip())
    for each in found.values():
        click.echo(f"\n{each}")
    for name, why in unknown.items():
        click.echo(app.faint(f"\n{name}: {why}"))
    for path in written:
        click.echo(f"wrote {path}")
    return 0


def _select_metrics(made: Study, metrics: tuple[str, ...]) -> list[str]:
    from armillary.errors import ArmillaryError, nearest

    for name in metrics:
        if name not in made.metrics:
            near = nearest(name, made.metrics) or f"; it has {', '.join(made.metrics) or 'none'}"
            raise ArmillaryError(f"study '{made.path}' has no metric '{name}'{near}")
    return list(metrics or made.metrics)


@study.command(
    cls=options.Command,
    epilog="""
    armillary study rerun car_study 123
    armillary study rerun car_study 123 --sample 0.001 -o run123.nc --plot run123.png
    """,
)
def rerun(
    *,
    folder: str = _folder_argument,
    number: int = argument(metavar="RUN", type=int),
    sample: float | None = option("Time between rows, in seconds; by default the study's."),
    output: str | None = options.results_option,
    plot: str | None = options.plot_option("the model's outputs"),
    trust: bool = options.trust_option,
    json_wanted: bool,
) -> int:
    """Repeat one run of a study, alone and with all outputs, and save it.

    Runs are numbered from 0, as in the tables. The results go to FOLDER-RUN.csv unless a file is named.
    """
    from armillary.studies import open_study

    made = open_study(folder, trust=trust)
    values = made.values(number)
    target = Path(output) if output is not None else Path(f"{made.path.resolve().name}-{number}.csv")
    changed = {} if sample is None else {"sample": sample}
    again, failure = partial_run(lambda: made.rerun(number, progress=False, **changed))
    again.save(target)
    written = [target]
    if plot is not None:
        from armillary.results import plot as draw

        draw([again], path=plot)
        written.append(Path(plot))
    if failure is not None:
        raise failure_with_data(failure, target)
    metrics = metrics_of_run(made, number)
    data = {
        "command": "study rerun",
        "run": number,
        "values": values,
        "metrics": metrics,
        "units": made.units,
        "files": list(map(str, written)),
    }
    rows = [[name, f"{value:.6g}", made.units[name]] for name, value in {**values, **metrics}.items()]
    lines = [f"run {number} of the study in '{made.path}'", app.align_columns(rows, header=False)]
    app.emit(json_wanted, data, "\n".join([*lines, *(f"wrote {path}" for path in written)]))
    return 0
