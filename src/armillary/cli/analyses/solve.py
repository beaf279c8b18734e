"""`armillary solve`: positions of a mechanism at which outputs have given values (inverse kinematics)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from armillary.cli import options
from armillary.cli.analyses.ranges import assigned, driven_values, name_and_text, pair

if TYPE_CHECKING:
    from armillary.run_files.execute import Simulation


@options.command(
    """
    armillary solve double_wishbone travel="20 mm" --outputs camber,toe
    armillary solve arm.toml x=0.3 y=0.2 --limit elbow.q1=0: --starts 50 -o positions.csv
    armillary solve arm.toml x=0.3:0.5:21 y=0.2 --hold wrist.q1 -o path.csv --plot path.svg
    """
)
@options.simulation_argument
@click.argument("wanted", nargs=-1, required=True, metavar="OUTPUT=VALUE …")
@click.option(
    "--limit", "limits", multiple=True, metavar="NAME=LOW:HIGH",
    help="Limits of a coordinate or output; either may be left out; repeatable.",
)  # fmt: skip
@options.held_option
@click.option("--starts", type=int, help="So many starts, to find several solutions; 20 by default.")
@options.names_option("--outputs", help="Further outputs to show, with commas between them; repeatable.")
@click.option("--time", type=float, default=0.0, help="Time at which prescribed motion is taken.")
@options.table_option
@options.plot_option("the outputs along a path")
def solve(
    simulation: Simulation,
    wanted: tuple[str, ...],
    limits: tuple[str, ...],
    held: tuple[str, ...],
    starts: int | None,
    outputs: list[str],
    time: float,
    output: str | None,
    plot: str | None,
    json_wanted: bool,
) -> int:
    """Positions at which outputs of positions, or coordinates, have given values: inverse kinematics.

    A value for each gives all solutions that are found, the one nearest to the start first. FROM:TO:COUNT, or
    a list with commas, is a path, with a solution for each row. Units may follow a value: travel="20 mm".
    """
    model, given = simulation.model, simulation.given()
    more = {} if starts is None else {"starts": starts}
    found = model.solve(
        {name: driven_values(name, text) for name, text in map(name_and_text, wanted)},
        limits={name: pair(text, "limit") for name, text in assigned(limits, "limit").items()},
        held=held or None, start=given.get("initial"), parameters=given.get("parameters"), time=time,
        shown=outputs or None, **more,
    )  # fmt: skip
    data = {
        "rows": len(found),
        "reached": int(found.found.sum()),
        "names": list(found.names),
        "units": dict(found.units),
        "solutions": {name: found[name].tolist() for name in found.names},
    }
    return options.emit_result(found, output, plot, json_wanted, data, repr(found))
