"""`armillary check`: mistakes and doubts in a model, run or study file, found without running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from armillary.cli import options, show
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
@options.model_argument
@options.settings_option
@click.option("--derive/--no-derive", default=True, show_default=True, help="Derive the equations too.")
@click.option("--strict", is_flag=True, help="Exit code 1 where there are warnings.")
def check(
    source: str,
    loading: DataTable,
    assignments: tuple[str, ...],
    derive: bool,
    strict: bool,
    json_wanted: bool,
) -> int:
    """Look for mistakes in a model, run or study file without running it.

    Errors are what would stop a run. Warnings are doubts: parameters without a description or units, values
    that nothing needs, parts that an importer could not take over.
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
        click.echo(show.as_json(data))
        return code
    for line in errors:
        click.echo(f"{show.bad('error:')} {line}", err=True)
    for line in warnings:
        click.echo(f"{show.doubtful('warning:')} {line}")
    verdict = f"{_count(len(errors), 'error')}, {_count(len(warnings), 'warning')}"
    click.echo(f"{name}: {(show.bad if errors else show.good)(verdict)}")
    return code


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _examine(opened: Callable[[], Simulation], derive: bool, warnings: list[str]) -> str:
    """The system's name; errors are raised, doubts appended."""
    import warnings as python_warnings

    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        simulation = opened()
    for message in (str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        head, *items = message.splitlines()  # an importer lists what it left out
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
    """Parameters that the equations do not need, and those without a value."""
    if complete:
        simulation.check_values()
    found = [f"parameter '{name}' has no default: each run must give it" for name in simulation.missing]
    return found + [
        f"parameter '{name}' is not needed by any equation"
        for name in simulation.values.parameters
        if name not in simulation.needed
    ]
