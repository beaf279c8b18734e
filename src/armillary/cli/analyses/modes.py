"""`armillary modes`: modes at an operating point, over a parameter, or over the spin of a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from armillary.cli import options
from armillary.cli.analyses.linear_options import operating_point, point_option
from armillary.cli.analyses.ranges import name_and_text, values_of
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.analysis.modes.campbell import Campbell
    from armillary.analysis.modes.modes import Modes
    from armillary.analysis.modes.root_locus import RootLocus
    from armillary.run_files.execute import Simulation
    from armillary.stages.model import Model


@options.command(
    """
    armillary modes bicycle --at heading.u1=5
    armillary modes bicycle --sweep heading.u1=0:10:41 -o locus.json --plot locus.png
    armillary modes rotor.toml --spin rotor.u1="0:6000:61 rpm" --orders 1,2 --plot campbell.png
    """
)
@options.simulation_argument
@point_option
@click.option("--sweep", metavar="NAME=FROM:TO:COUNT", help="Follow the modes over these values.")
@click.option("--spin", metavar="NAME=FROM:TO:COUNT", help="Campbell diagram over these spins.")
@click.option("--orders", default="1", show_default=True, help="Orders of the spin that excite, with commas.")
@click.option("--undamped", is_flag=True, help="Undamped modes from mass matrix and stiffness, at rest.")
@click.option("--energies", is_flag=True, help="Energies of each mode, by body and by load.")
@click.option("-o", "--output", type=click.Path(), help="Results: .json; or a report: .txt or .html.")
@options.plot_option("the eigenvalues")
def modes(
    simulation: Simulation,
    point: tuple[str, ...],
    sweep: str | None,
    spin: str | None,
    orders: str,
    undamped: bool,
    energies: bool,
    output: str | None,
    plot: str | None,
    json_wanted: bool,
) -> int:
    """Modes of a model: frequencies, dampings, what takes part in each; stability over a parameter.

    Without --at the operating point is where runs start.
    """
    if sum((sweep is not None, spin is not None, undamped or energies)) > 1:
        raise click.UsageError("give one of --sweep, --spin, and --undamped or --energies")
    excited = _numbers(orders)
    model, at = simulation.model, operating_point(simulation, point)
    parameters = simulation.given().get("parameters")
    found: Modes | RootLocus | Campbell
    if sweep is not None or spin is not None:
        found = _swept(model, sweep, spin, excited, at, parameters)
    elif undamped:
        found = model.undamped_modes(at, parameters=parameters)
    else:
        found = model.linearize(at, parameters=parameters).modes()
    # mypy: only modes of one operating point come with energies.
    text = f"{found}\n\n{found.bodies}" if energies else str(found)  # type: ignore[union-attr]
    return options.emit_result(found, output, plot, json_wanted, _data(found), text)


def _swept(
    model: Model, sweep: str | None, spin: str | None, orders: list[float], at: Given, parameters: Given
) -> RootLocus | Campbell:
    from armillary.analysis.modes.campbell import campbell
    from armillary.analysis.modes.root_locus import root_locus
    from armillary.analysis.modes.tracking import operating_sweep

    name, text = name_and_text(sweep or spin or "")
    asked = operating_sweep(model, name, {k: v for k, v in at.items() if k != name}, None, parameters)
    values = values_of(name, text, asked.units)
    if spin is None:
        return root_locus(model, name, values, at=asked.at, parameters=parameters)
    return campbell(model, name, values, orders=orders, at=asked.at, parameters=parameters)


def _numbers(text: str) -> list[float]:
    try:
        return [float(x) for x in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--orders: '{text}' is not a list of numbers with commas") from None


def _data(found: Given) -> DataTable:
    """The result as data for scripts."""
    from armillary.analysis.modes.modes import Modes
    from armillary.analysis.modes.root_locus import RootLocus

    def parts(values: Given) -> Given:
        return {"real": values.real.tolist(), "imag": values.imag.tolist()}

    if isinstance(found, Modes):
        listed = [
            {
                "eigenvalue": [m.eigenvalue.real, m.eigenvalue.imag],
                "kind": m.kind,
                "frequency": m.frequency,
                "damping": m.damping,
                "time_constant": m.time_constant,
                "participation": dict(m.participation),
            }
            for m in found
        ]
        return {"stable": found.stable, "modes": listed}
    swept = {
        "values": found.values.tolist(), "units": found.units, "eigenvalues": parts(found.eigenvalues),
    }  # fmt: skip
    if isinstance(found, RootLocus):
        crossings = [
            {"value": c.value, "omega": c.eigenvalue.imag, "branch": c.branch, "stabilises": c.stabilises}
            for c in found.crossings
        ]
        ranges = [list(pair) for pair in found.stable_ranges]
        return {
            **swept, "parameter": found.parameter, "labels": list(found.labels), "crossings": crossings,
            "stable_ranges": ranges,
        }  # fmt: skip
    critical = [c._asdict() for c in found.critical_speeds]
    return {**swept, "spin": found.spin, "critical_speeds": critical}
