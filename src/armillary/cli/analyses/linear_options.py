"""Options that commands on linear models share: the operating point, inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

import click

from armillary.cli import options
from armillary.untyped import AnyFunction, DataTable

if TYPE_CHECKING:
    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.run_files.execute import Simulation


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
