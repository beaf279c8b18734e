"""Commands on linear models: `armillary linearize` (A, B, C, D), `armillary bode` (frequency response) and
`armillary modes` (at an operating point, over a parameter, or over the spin of a part).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import numpy as np

from armillary.cli import app, options
from armillary.cli.options import (
    name_and_text,
    operating_point,
    option,
    values_of,
)
from armillary.text_tables import aligned
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.analysis.modes.modes import Modes
    from armillary.analysis.modes.root_locus import Campbell, RootLocus
    from armillary.run_files.execute import Simulation
    from armillary.stages.model import Model


@options.command(
    """
    armillary linearize car --inputs STEER --outputs r
    armillary linearize car.toml --at SPEED="60 mile/hour" --at NRB.q3=0 -o car.json
    armillary linearize four_bar -o four_bar.html
    """
)
def linearize(
    *,
    lin: LinearModel = options.linear_model_options,
    output: str | None = options.output_option("Linear model: .json; or a report: .txt or .html."),
    json_wanted: bool,
) -> int:
    """Compute A, B, C and D of a model at an operating point, and its poles.

    Without --at, the point is the start of runs. Loops are closed there; states are the independent ones.
    """
    if output is not None:
        lin.save(output)
    data = {
        "command": "linearize",
        "system": lin.system,
        "states": list(lin.states),
        "inputs": list(lin.inputs),
        "outputs": list(lin.outputs),
        "units": lin.units,
        **{name: getattr(lin, name).tolist() for name in "ABCD"},
        "poles": [[p.real, p.imag] for p in lin.poles()],
        "operating_point": dict(lin.operating_point),
        "files": [output] if output is not None else [],
    }
    app.emit(json_wanted, data, lin.report() if output is None else f"{lin!r}\nwrote {output}")
    return 0


_ROWS = 13  # of the table in the terminal


@options.command(
    """
    armillary bode car --inputs STEER --outputs r -o yaw.png
    armillary bode car --inputs STEER --outputs r --from 0.1 --to 100 --set SPEED="60 mile/hour"
    armillary bode car --inputs STEER --outputs r --nyquist -o yaw.svg
    """
)
def bode(
    *,
    lin: LinearModel = options.linear_model_options,
    low: float | None = option("The lowest frequency, rad/s, or Hz with --hz.", "--from"),
    high: float | None = option("The highest frequency, rad/s, or Hz with --hz.", "--to"),
    hz: bool = option("Frequencies in Hz: in the table, the picture, --from, --to."),
    decibels: bool = option("Magnitudes in dB, in the table and the picture."),
    nyquist: bool = option("The curve in the complex plane instead."),
    output: str | None = options.output_option("Picture: .png, .svg or .pdf."),
    json_wanted: bool,
) -> int:
    """Compute the frequency response of a model at an operating point, as a table or picture.

    Magnitudes are per unit of the input, phases in degrees. Frequencies cover the poles unless --from and
    --to are given.
    """
    covered = lin.frequency_response().omega
    unit = 2 * np.pi if hz else 1.0
    first, last = (covered[i] / unit if given is None else given for i, given in ((0, low), (-1, high)))
    if not 0 < first < last:
        raise click.UsageError(
            f"frequencies must be positive and increase, not go from {first:g} to {last:g}"
        )
    response = lin.frequency_response(unit * np.geomspace(first, last, len(covered)))
    if output is not None and nyquist:
        response.nyquist(output)
    elif output is not None:
        response.bode(output, hz=hz, decibels=decibels)
    data = {
        "command": "bode",
        "system": lin.system,
        "inputs": list(lin.inputs),
        "outputs": list(lin.outputs),
        "units": lin.units,
        "omega": response.omega.tolist(),
        "magnitude": response.magnitude.tolist(),
        "phase": response.phase.tolist(),
        "files": [output] if output is not None else [],
    }
    few = lin.frequency_response(unit * np.geomspace(first, last, _ROWS))
    sizes, mark = (few.decibels, " dB") if decibels else (few.magnitude, "")
    rows = [["Hz" if hz else "rad/s", *(f"{o} by {i}" for o in lin.outputs for i in lin.inputs)]]
    for k, w in enumerate(few.omega):
        pairs = zip(sizes[k].ravel(), few.phase[k].ravel(), strict=True)
        rows.append([f"{w / unit:.4g}", *(f"{size:.4g}{mark} ∠ {angle:.1f}°" for size, angle in pairs)])
    lines = [repr(response), *aligned(rows, ">" * len(rows[0]))]
    app.emit(json_wanted, data, "\n".join(lines) if output is None else f"{response!r}\nwrote {output}")
    return 0


@options.command(
    """
    armillary modes bicycle --at heading.u1=5
    armillary modes bicycle --sweep heading.u1=0:10:41 -o locus.json --plot locus.png
    armillary modes rotor.toml --spin rotor.u1="0:6000:61 rpm" --orders 1,2 --plot campbell.png
    """
)
def modes(
    *,
    simulation: Simulation = options.simulation_argument,
    point: tuple[str, ...] = options.point_option,
    sweep: str | None = option("Follow the modes over these values.", metavar="NAME=FROM:TO:COUNT"),
    spin: str | None = option("Campbell diagram over these spins.", metavar="NAME=FROM:TO:COUNT"),
    orders: str = option("Orders of the spin that excite, with commas.", default="1", show_default=True),
    undamped: bool = option("Undamped modes from mass matrix and stiffness, at rest."),
    energies: bool = option("Energies of each mode, by body and by load."),
    output: str | None = options.output_option("Results: .json; or a report: .txt or .html."),
    plot: str | None = options.plot_option("the eigenvalues"),
    json_wanted: bool,
) -> int:
    """Find the modes of a model: frequencies, dampings, participation of states; stability over a parameter.

    Without --at, the operating point is the start of runs.
    """
    if sum((sweep is not None, spin is not None, undamped or energies)) > 1:
        raise click.UsageError("give only one of --sweep, --spin, and --undamped or --energies")
    excited = _read_numbers(orders)
    model, at = simulation.model, operating_point(simulation, point)
    parameters = simulation.given_values().get("parameters")
    found: Modes | RootLocus | Campbell
    if sweep is not None or spin is not None:
        found = _swept(model, sweep, spin, excited, at, parameters)
    elif undamped:
        found = model.undamped_modes(at, parameters=parameters)
    else:
        found = model.linearize(at, parameters=parameters).modes()
    # mypy: only modes of one operating point come with energies.
    text = f"{found}\n\n{found.bodies}" if energies else str(found)  # type: ignore[union-attr]
    return options.emit_result(found, output, plot, json_wanted, _json_of_modes(found), text)


def _swept(
    model: Model, sweep: str | None, spin: str | None, orders: list[float], at: Given, parameters: Given
) -> RootLocus | Campbell:
    from armillary.analysis.modes.root_locus import campbell, root_locus
    from armillary.analysis.modes.tracking import operating_sweep

    name, text = name_and_text(sweep or spin or "")
    asked = operating_sweep(model, name, {k: v for k, v in at.items() if k != name}, None, parameters)
    values = values_of(name, text, asked.units)
    if spin is None:
        return root_locus(model, name, values, at=asked.at, parameters=parameters)
    return campbell(model, name, values, orders=orders, at=asked.at, parameters=parameters)


def _read_numbers(text: str) -> list[float]:
    try:
        return [float(x) for x in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--orders: '{text}' is not a list of numbers with commas") from None


def _json_of_modes(found: Given) -> DataTable:
    """Return the result as data for scripts."""
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
