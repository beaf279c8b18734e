"""`armillary inverse`: the efforts that a recorded motion takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from armillary.cli import options

if TYPE_CHECKING:
    from armillary.run_files.execute import Simulation


@options.command(
    """
    armillary inverse arm.toml motion.csv -o efforts.csv
    armillary inverse arm.toml motion.nc --actuator motor1 --actuator motor2 --plot efforts.png
    armillary inverse robot.urdf measured.csv --slopes --set payload="2 kg"
    """
)
@options.simulation_argument
@click.argument("motion", metavar="RUN", type=click.Path())
@click.option(
    "--actuator", "actuators", multiple=True, help="Speed, load, input or parameter that acts; repeatable."
)
@click.option(
    "--reaction", "reactions", multiple=True, help="Body or constraint to give the reaction of; repeatable."
)
@click.option("--slopes", is_flag=True, help="Rates from slopes of the recorded speeds, as for measurements.")
@options.results_option
@options.plot_option("the efforts")
def inverse(
    simulation: Simulation,
    motion: str,
    actuators: tuple[str, ...],
    reactions: tuple[str, ...],
    slopes: bool,
    output: str | None,
    plot: str | None,
    json_wanted: bool,
) -> int:
    """Efforts along a saved run of a model: forces and moments besides the loads that the model has.

    Without --actuator they are those along all speeds; prescribed ones are among them. The run may be a table
    of measurements with time in its first column and columns named as the coordinates.
    """
    from armillary.results import load_run

    found = simulation.model.inverse(
        load_run(motion), udot="spline" if slopes else None, parameters=simulation.given().get("parameters"),
        actuators=actuators or None, reactions=reactions,
    )  # fmt: skip
    data = {
        "names": list(found.names),
        "units": dict(found.units),
        "largest": {name: float(abs(found[name]).max()) for name in found.names},
        "note": found.note,
    }
    return options.emit_result(found, output, plot, json_wanted, data, repr(found))
