"""Options that commands on linear models share: the operating point, inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from armillary.cli import options

if TYPE_CHECKING:
    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.run_files.execute import Simulation


def linear_model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A model with its operating point, inputs and outputs; the command gets the linear model as ``lin``."""

    @options.simulation_argument
    @click.option(
        "--at",
        "point",
        multiple=True,
        metavar="NAME=VALUE",
        help="Operating point: coordinates, speeds, states, inputs, parameters, and the time t; repeatable.",
    )
    @inputs_option("Parameters, inputs or memories")
    @click.option("--outputs", multiple=True, metavar="NAME,…", help="Outputs; repeatable.")
    @wraps(function)
    def with_linear_model(
        *args: Any,
        simulation: Simulation,
        point: tuple[str, ...],
        inputs: list[str],
        outputs: tuple[str, ...],
        **others: Any,
    ) -> Any:
        from armillary.run_files.run_file import parse_setting

        given = simulation.given()
        at = {**given.get("initial", {}), **given.get("memory", {}), **dict(map(parse_setting, point))}
        lin: LinearModel = simulation.model.linearize(
            at, inputs=inputs, outputs=_names(outputs), parameters=given.get("parameters")
        )
        return function(*args, lin=lin, **others)

    return with_linear_model  # fmt: skip


def inputs_option(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--inputs``, a list of names for the command; ``--input`` is the same."""
    return click.option(
        "--inputs", "--input", "inputs", multiple=True, metavar="NAME,…", help=f"{meaning}; repeatable.",
        callback=lambda context, option, given: _names(given),
    )  # fmt: skip


def _names(given: tuple[str, ...]) -> list[str]:
    return [name.strip() for text in given for name in text.split(",") if name.strip()]
