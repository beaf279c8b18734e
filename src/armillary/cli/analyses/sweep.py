"""`armillary sweep`: a mechanism moved along a path, without its dynamics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from armillary.cli import options
from armillary.cli.analyses.ranges import driven_values, name_and_text

if TYPE_CHECKING:
    from armillary.run_files.execute import Simulation


@options.command(
    """
    armillary sweep double_wishbone lower.q1="-10:10:81 deg" --outputs camber,toe -o sweep.csv --plot toe.png
    armillary sweep slider_crank crank.q1="0:360:73 deg" --speed crank.q1=100
    armillary sweep arm.toml a.q1=-1:1:21 b.q1=0,0.5,1 --grid --outputs x,y -o grid.nc
    """
)
@options.simulation_argument
@click.argument("driven", nargs=-1, required=True, metavar="NAME=FROM:TO:COUNT …")
@options.names_option("--outputs", help="Outputs to compute, with commas between them; repeatable.")
@click.option("--speed", "speeds", multiple=True, metavar="NAME=VALUE", help="Rate of what is driven.")
@click.option(
    "--acceleration", "accelerations", multiple=True, metavar="NAME=VALUE", help="Second rate of the same."
)
@click.option("--derivatives", is_flag=True, help="Derivatives of outputs by what is driven.")
@click.option("--static", is_flag=True, help="Equilibrium of all loads at rest, with efforts.")
@click.option("--grid", is_flag=True, help="All combinations of the values.")
@options.held_option
@options.table_option
@options.plot_option("the outputs")
def sweep(
    simulation: Simulation,
    driven: tuple[str, ...],
    outputs: list[str],
    speeds: tuple[str, ...],
    accelerations: tuple[str, ...],
    derivatives: bool,
    static: bool,
    grid: bool,
    held: tuple[str, ...],
    output: str | None,
    plot: str | None,
    json_wanted: bool,
) -> int:
    """Positions of a mechanism along a path of driven coordinates or outputs, without its dynamics.

    Values are FROM:TO:COUNT, or a list with commas, with units behind them where they are not those of the
    coordinate: lower.q1="-10:10:81 deg". Limits of reach, singular positions and turning points are listed.
    """
    model, given = simulation.model, simulation.given()
    found = model.sweep(
        {name: driven_values(name, text) for name, text in map(name_and_text, driven)},
        outputs or None,
        speeds=_numbers(speeds), accelerations=_numbers(accelerations), derivatives=derivatives,
        static=static, grid=grid, held=held or None, start=given.get("initial"),
        parameters=given.get("parameters"),
    )  # fmt: skip
    data = {
        "rows": len(found),
        "reached": int(found.found.sum()),
        "names": list(found.names),
        "units": dict(found.units),
        "held": dict(found.held),
        "landmarks": [
            {"kind": m.kind, "row": m.row, "at": dict(m.at), "text": str(m)} for m in found.landmarks
        ],
    }
    return options.emit_result(found, output, plot, json_wanted, data, repr(found))


def _numbers(assignments: tuple[str, ...]) -> dict[str, float] | None:
    found = {}
    for name, value in map(name_and_text, assignments):
        try:
            found[name] = float(value)
        except ValueError:
            raise click.UsageError(f"{name}: '{value}' is not a number") from None
    return found or None
