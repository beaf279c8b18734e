"""Commands for files and the installation: `check`, `schema`, `diff`, `examples`, `info`, `completion`."""

from __future__ import annotations

import ast
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from armillary.cli import app, options
from armillary.cli.options import argument, option
from armillary.errors import ArmillaryError
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.run_files.execute import Simulation


@options.command(
    """
    armillary check car.toml
    armillary check step.toml --strict --json
    armillary check car_study.toml
    """
)
def check(
    *,
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    assignments: tuple[str, ...] = options.settings_option,
    derive: bool = option(
        "Derive the equations too.", "--derive/--no-derive", default=True, show_default=True
    ),
    strict: bool = option("Exit code 1 if there are warnings."),
    json_wanted: bool,
) -> int:
    """Look for mistakes in a model, run or study file without running it.

    Errors are faults that would stop a run. Warnings are doubts: parameters without a description or units,
    values that are not needed, parts that an importer could not take over.
    """
    errors: list[str] = []
    warnings: list[str] = []
    name = source
    try:
        opened = options.study_setup if options.names_study(source) else options.simulation
        name = _examine(lambda: opened(source, loading, {}, assignments), derive, warnings)
    except ArmillaryError as error:
        errors = list(getattr(error, "problems", None) or [str(error)])
    code = 2 if errors else 1 if warnings and strict else 0
    if json_wanted:
        data = {"ok": code == 0, "command": "check", "system": name, "errors": errors, "warnings": warnings}
        click.echo(app.as_json(data))
        return code
    for line in errors:
        click.echo(f"{app.bad('error:')} {line}", err=True)
    for line in warnings:
        click.echo(f"{app.doubtful('warning:')} {line}")
    verdict = f"{_pluralize(len(errors), 'error')}, {_pluralize(len(warnings), 'warning')}"
    click.echo(f"{name}: {(app.bad if errors else app.good)(verdict)}")
    return code


def _pluralize(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _examine(opened: Callable[[], Simulation], derive: bool, warnings: list[str]) -> str:
    """Return the system's name; raise an error for a fault, and append doubts to ``warnings``."""
    import warnings as python_warnings

    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        simulation = opened()
    for message in (str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        head, *items = message.splitlines()  # an importer lists the parts that it left out
        warnings += [item.strip(" -") for item in items] or [head]
    complete = bool(simulation.file.source)  # a run file, not a model alone
    if complete:
        simulation.run_settings()
        simulation.check_places()
    warnings += _parameter_doubts(simulation)
    warnings += [
        f"output '{output.name}' is in grams, 'g', and its dimension cannot be checked; 'gee' is gravity"
        for output in simulation.system.outputs.values()
        if output.units == "g" and output.expression.dimension is None
    ]
    if derive:
        warnings += _needed_doubts(simulation, complete)
    return str(simulation.system.name)


def _parameter_doubts(simulation: Simulation) -> list[str]:
    found = []
    for name, value in simulation.values.parameters.items():
        stated = simulation.system.parameters[name].data
        if not stated.about:
            meaning = f"; it seems to be: {value.about}" if value.about else ""
            found.append(f"parameter '{name}' has no description{meaning}")
        if stated.units is None:
            deduced = f"; deduced from its use: {value.units}" if value.units else ", and none can be deduced"
            found.append(f"parameter '{name}' has no units{deduced}")
    return found


def _needed_doubts(simulation: Simulation, complete: bool) -> list[str]:
    """Return doubts about parameters that no equation needs, and about parameters without a value."""
    if complete:
        simulation.check_values()
    found = [f"parameter '{name}' has no default: each run must give it" for name in simulation.missing]
    return found + [
        f"parameter '{name}' is not needed by any equation"
        for name in simulation.values.parameters
        if name not in simulation.needed
    ]


@options.command(
    """
    armillary schema -o armillary.schema.json
    armillary schema run -o armillary-run.schema.json
    armillary schema study -o armillary-study.schema.json
    """
)
def schema(
    *,
    kind: str = argument(type=click.Choice(["model", "run", "study"]), default="model"),
    output: str | None = options.output_option("File to write instead of the terminal."),
    json_wanted: bool,
) -> int:
    """Print the JSON schema of model, run or study files: editors complete and check files with it."""
    from armillary.files.model.documents import model_schema
    from armillary.limited_files import write_file
    from armillary.run_files.run_file import run_schema
    from armillary.studies.study_file import study_schema

    made = {"model": model_schema, "run": run_schema, "study": study_schema}[kind]()
    text = app.as_json(made)
    if output is None:
        click.echo(text)
        return 0
    write_file(output, text + "\n")
    app.emit(json_wanted, {"command": "schema", "file": output}, f"wrote {output}")
    return 0


@options.command(
    """
    armillary diff before.csv after.csv
    armillary diff before.nc after.nc --rtol 1e-6 --select r --select "RB.*"
    """
)
def diff(
    *,
    first: str = argument(metavar="RUN", type=click.Path()),
    second: str = argument(metavar="RUN", type=click.Path()),
    rtol: float = option("Tolerance relative to the largest value.", default=1e-09, show_default=True),
    atol: float = option("Absolute tolerance.", default=1e-12, show_default=True),
    names: tuple[str, ...] = option("Output to compare, by name or pattern; repeatable.", "--select"),
    common: bool = option("Allow outputs that only one of the runs has."),
    interpolate: bool = option(
        "Interpolate if sampling times differ.", "--interpolate/--exact", default=True, show_default=True
    ),
    json_wanted: bool,
) -> int:
    """Compare two saved runs: the largest difference of each output, the worst first.

    The exit code is 0 if all outputs agree within the tolerances, and 1 if one does not, or is in one run
    only. A CSV table of another program, with time in its first column, is read as a run too.
    """
    from armillary.results import load_run

    here, there = load_run(first), load_run(second)
    found = here.compare(there, *names, rtol=rtol, atol=atol, interpolate=interpolate)
    well = found.agree and (common or found.complete)
    if json_wanted:
        click.echo(app.as_json({"ok": well, "command": "diff", **found.as_dict()}))
    else:
        *table, verdict = str(found).splitlines()
        click.echo("\n".join([*table, (app.good if well else app.bad)(verdict)]))
    return 0 if well else 1


@options.command(
    """
    armillary examples
    armillary examples show car
    armillary examples copy car --to my_car
    """
)
def examples(
    *,
    action: str = argument(type=click.Choice(["list", "show", "copy"]), default="list"),
    name: str | None = argument(required=False, type=options.ModelType()),
    folder: str = option("Folder to copy to.", "--to", type=click.Path(), default=".", show_default=True),
    force: bool = option("Overwrite existing files."),
    json_wanted: bool,
) -> int:
    """List the examples, show one, or copy it here.

    The name of an example stands for its model in all commands:  armillary run car --duration 2
    """
    from armillary.run_files.resolve import example_files, example_folder, example_names

    if action == "list":
        place = example_folder()
        titles = {key: _title(example_files(key)[0]) for key in example_names()}
        data = {"command": "examples", "folder": str(place), "examples": titles}
        app.emit(json_wanted, data, app.align_columns([[*item] for item in titles.items()], header=False))
        return 0
    if name is None:
        raise click.UsageError("no example is named; 'armillary examples' lists them")
    files = example_files(name)
    if action == "show":
        texts = {path.name: path.read_text(encoding="utf-8") for path in files}
        shown = "\n".join(f"{app.faint(f'# ---- {key}')}\n{text}" for key, text in texts.items())
        app.emit(json_wanted, {"command": "examples", "files": texts}, shown)
        return 0
    written = _copy_files(files, Path(folder), force)
    lines = [f"wrote {path}" for path in written]
    app.emit(json_wanted, {"command": "examples", "files": list(map(str, written))}, "\n".join(lines))
    return 0


def _title(path: Path) -> str:
    """Return the first line of the docstring of a program, or of the first comment of another file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    comment = r"^#\s*(.+)" if path.suffix == ".toml" else r"<!--\s*(.+?)\s*(?:-->|$)"
    found = re.search(comment, text, re.MULTILINE)
    return found[1] if found else ""


def _copy_files(files: list[Path], folder: Path, force: bool) -> list[Path]:
    from armillary.errors import ArmillaryError
    from armillary.limited_files import write_file

    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / path.name for path in files]
    there = [str(target) for target in targets if target.exists()]
    if there and not force:
        raise ArmillaryError(f"'{there[0]}' exists already; --force overwrites it")
    for path, target in zip(files, targets, strict=True):
        write_file(target, path.read_bytes())
    return targets


_REQUIRED = ("armillary", "numpy", "scipy", "llvmlite", "click")
_EXTRAS = {
    "matplotlib": "plots",
    "xarray": "NetCDF files and labelled data",
    "h5netcdf": "NetCDF files",
    "pandas": "tables",
    "pyarrow": "Parquet files",
    "pint": "quantities with units in Python",
    "fmpy": "checking FMUs",
    "jax": "running exported JAX code",
    "ziglang": "compiling FMUs without a system compiler, and for other platforms",
}
_COMPILERS = ("cc", "gcc", "clang", "gfortran", "nvcc", "octave")


@options.command(
    """
    armillary info
    armillary info --clear-cache
    """
)
def info(
    *,
    clear_cache: bool = option("Remove all cached models."),
    json_wanted: bool,
) -> int:
    """Show versions, extras, compilers, and the cache of compiled models."""
    removed = _clear() if clear_cache else None
    versions = {name: _version(name) for name in (*_REQUIRED, *_EXTRAS)}
    compilers = {
        name: shutil.which(os.environ.get("CC", name) if name == "cc" else name) for name in _COMPILERS
    }
    data: DataTable = {
        "command": "info",
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "versions": versions,
        "compilers": compilers,
        "cache": _cache(),
    }
    if removed is not None:
        data["removed"] = removed
    app.emit(json_wanted, data, _info_text(data))
    return 0


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache() -> DataTable:
    from armillary import cache

    folder, (files, size) = cache.folder(), cache.size()
    return {"folder": None if folder is None else str(folder), "files": files, "bytes": size}


def _clear() -> int:
    from armillary import cache

    return cache.clear()


def _info_text(data: DataTable) -> str:
    versions, cache = data["versions"], data["cache"]
    absent = app.faint("not installed")
    lines = [
        click.style(f"Armillary {versions['armillary']}", bold=True),
        f"  Python {data['python']} on {data['platform']}, {data['processors']} processors",
        f"  {data['executable']}",
        "",
    ]
    rows = [
        [name, versions[name] or absent, _EXTRAS.get(name, "")] for name in versions if name != "armillary"
    ]
    lines += [app.align_columns(rows, header=False), ""]
    lines.append(
        app.align_columns(
            [[n, p or app.faint("not found")] for n, p in data["compilers"].items()], header=False
        )
    )
    size = f"{cache['folder']}, {cache['files']} files, {cache['bytes'] / 1e6:.1f} MB"
    lines += ["", f"  cache of compiled models: {size if cache['folder'] else 'off'}"]
    if "removed" in data:
        lines.append(f"  removed {data['removed']} files from the cache")
    return "\n".join(lines)


@options.command(
    """
    eval "$(armillary completion bash)"                                  # in ~/.bashrc
    eval "$(armillary completion zsh)"                                   # in ~/.zshrc
    armillary completion fish > ~/.config/fish/completions/armillary.fish
    """
)
def completion(
    *,
    shell: str = argument(type=click.Choice(["bash", "zsh", "fish"])),
    json_wanted: bool,
) -> int:
    """Print the script that completes commands in your shell.

    It completes commands, options, model files, examples, and the names of parameters after --set.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(app.app, {}, "armillary", "_ARMILLARY_COMPLETE").source()
    app.emit(json_wanted, {"command": "completion", "shell": shell, "script": script}, script)
    return 0
