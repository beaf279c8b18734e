"""Options of analyses: values and ranges by name, and the operating point of linear models.

Values by name on the command line: NAME=VALUE, NAME=LOW:HIGH, and ranges, NAME=FROM:TO:COUNT or NAME=1,2,3
with units behind them.

Options that commands on linear models share: the operating point, inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

import click

from armillary.cli import options
from armillary.untyped import AnyFunction, DataTable, Given

if TYPE_CHECKING:
    import numpy as np

    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.run_files.execute import Simulation


def name_and_text(text: str) -> tuple[str, str]:
    """The name and the text behind the sign of equality."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise click.UsageError(f"'{text}' is not of the form NAME=FROM:TO:COUNT, or NAME=1,2,3")
    return name.strip(), value.strip()


def values_with_units(name: str, text: str) -> tuple[np.ndarray, str]:
    """FROM:TO:COUNT, or numbers with commas between them, and the text of their units, "" without any."""
    import numpy as np

    from armillary.model.units import arithmetic, number_and_unit

    *texts, last = text.split(":" if ":" in text else ",")
    last, units = number_and_unit(last)
    try:
        if ":" in text:
            first, end = map(arithmetic, texts)
            values = np.linspace(first, end, int(last))
        else:
            values = np.array([arithmetic(number) for number in (*texts, last)])
    except ValueError:
        raise click.UsageError(f"{name}: '{text}' is neither FROM:TO:COUNT nor numbers with commas") from None
    return values, units


def values_of(name: str, text: str, own: str) -> np.ndarray:
    """The same values in the units ``own`` of the name."""
    from armillary.results.record import conversion

    values, units = values_with_units(name, text)
    return values * (conversion(name, units, own) if units else 1.0)


def driven_values(name: str, text: str) -> Given:
    """The values of what is driven, as `Model.sweep` takes them, with their units where these are given."""
    values, units = values_with_units(name, text)
    return (values, units) if units else values


def assigned(texts: tuple[str, ...], option: str) -> DataTable:
    """Values by name from NAME=VALUE."""
    from armillary.errors import ArmillaryError, shown
    from armillary.run_files.run_file import parse_setting

    for text in texts:
        if "=" not in text:
            raise ArmillaryError(f"--{option} {shown(text)}: write --{option} NAME=VALUE")
    return dict(parse_setting(text) for text in texts)


def pair(text: object, option: str) -> tuple[Given, Given]:
    """LOW:HIGH; a bound may be left out."""
    from armillary.errors import ArmillaryError
    from armillary.run_files.run_file import parse_setting

    low, colon, high = str(text).partition(":")
    if not colon:
        raise ArmillaryError(f"--{option}: '{text}' must be two values with a colon between them, as 1:10")
    first, second = (parse_setting(f"x={part}")[1] if part.strip() else None for part in (low, high))
    return first, second


def linear_model_options(function: Callable[..., object]) -> AnyFunction:
    """A model with its operating point, inputs and outputs; the command gets the linear model as ``lin``."""

    @options.simulation_argument
    @point_option
    @inputs_option("Parameters, inputs or memories")
    @options.names_option("--outputs", help="Outputs; repeatable.")
    @wraps(function)
    def with_linear_model(
        *args: object,
        simulation: Simulation,
        point: tuple[str, ...],
        inputs: list[str],
        outputs: list[str],
        **others: object,
    ) -> object:
        at, parameters = operating_point(simulation, point), simulation.given().get("parameters")
        lin: LinearModel = simulation.model.linearize(at, inputs, outputs, parameters)
        return function(*args, lin=lin, **others)

    return with_linear_model  # fmt: skip


def inputs_option(meaning: str) -> Callable[[AnyFunction], AnyFunction]:
    """``--inputs``, a list of names for the command; ``--input`` is the same."""
    return options.names_option("--inputs", "--input", "inputs", help=f"{meaning}; repeatable.")


point_option = click.option(
    "--at", "point", multiple=True, metavar="NAME=VALUE",
    help="Operating point: coordinates, speeds, states, inputs, parameters, and the time t; repeatable.",
)  # fmt: skip


def operating_point(simulation: Simulation, point: tuple[str, ...]) -> DataTable:
    """The point of ``--at``; what it leaves out is as at the start of runs."""
    from armillary.run_files.run_file import parse_setting

    given = simulation.given()
    return {**given.get("initial", {}), **given.get("memory", {}), **dict(map(parse_setting, point))}
