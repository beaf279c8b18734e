"""Commands that analyse models: `armillary trim`, `solve`, `sweep`, `inverse`, `linearize`, `bode`, `modes`.

`trim` finds an operating point of a model, or a branch of operating points. `solve` finds positions of a
mechanism at which outputs have given values (inverse kinematics). `sweep` moves a mechanism along a path,
without its dynamics. `inverse` finds the efforts of a recorded motion. `linearize` writes the matrices A, B,
C and D, and `bode` a frequency response. `modes` finds modes at an operating point, over a parameter, or over
the spin of a part.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from armillary.cli import app, options
from armillary.cli.options import (
    argument,
    driven_values,
    name_and_text,
    operating_point,
    option,
    read_assignments,
    read_bounds,
    values_of,
)
from armillary.text_tables import aligned
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.analysis.modes.modes import Modes
    from armillary.analysis.modes.root_locus import Campbell, RootLocus
    from armillary.analysis.operating.branch import Branch
    from armillary.analysis.operating.point import OperatingPoint
    from armillary.run_files.execute import Simulation
    from armillary.stages.model import Model


_OPTIONS = {  # options of `armillary trim` by the argument of `Model.trim`
    "fixed": "--fixed", "free": "--free", "rates": "--rate", "inputs": "--inputs", "outputs": "--target",
    "bounds": "--bound", "starts": "--start",
}  # fmt: skip


def _values_option(help_text: str) -> options.ParameterDefault:
    return option(f"{help_text}; repeatable.", metavar="NAME=VALUE")


@options.command(
    """
    armillary trim four_bar --rest
    armillary trim car --set SPEED="60 mile/hour" --inputs STEER --target Ay=0.3
    armillary trim rolling_disc --fixed lean.q1=0.3 --fixed heading.u3=-2 --start disc.u1=5 -o circle.toml
    armillary trim bicycle --fixed heading.u1=5 --trace heading.u1=1:10 --plot speeds.png
    """
)
def trim(
    *,
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    assignments: tuple[str, ...] = options.settings_option,
    rest: bool = option("All rates are zero, also those of cyclic coordinates."),
    fixed: tuple[str, ...] = _values_option("Coordinate, speed or state that is given"),
    free: tuple[str, ...] = option("State to find; by default all that are not fixed.", metavar="NAME"),
    rate: tuple[str, ...] = _values_option(
        "Rate of a state, per second, other than zero; 'any' for any rate"
    ),
    inputs: list[str] = options.inputs_option("Parameters or inputs to find"),
    target: tuple[str, ...] = _values_option("Output that must have a value"),
    bound: tuple[str, ...] = option("Bounds of an unknown; repeatable.", metavar="NAME=LOW:HIGH"),
    start: tuple[str, ...] = _values_option("Value from which to start"),
    starts: int | None = option("Number of scattered starts, to find several solutions."),
    settle: bool = option("Start where a heavily damped motion comes to rest."),
    trace: str | None = option(
        "Follow the branch of operating points along a quantity.", metavar="NAME=FROM:TO"
    ),
    output: str | None = options.output_option("The point: .toml (a run file) or .json; a branch: .json."),
    plot: str | None = options.plot_option("the branch of --trace"),
    json_wanted: bool,
) -> int:
    """Find an operating point of a model: a state of rest or of steady motion, and inputs that hold it.

    Cyclic coordinates, on which no rate depends, are recognised; all other rates are zero unless given. The
    table lists fixed and found values, the residual of each condition, and the stability.
    """
    from armillary.errors import ArmillaryError

    if plot is not None and trace is None:
        raise ArmillaryError("--plot draws the branch of --trace NAME=FROM:TO; give --trace too")
    if output is not None:
        _check_format(output, trace is not None)
    simulation = options.simulation(source, loading, {}, assignments)
    given = simulation.given_values()
    first = given.get("initial", {}) | read_assignments(start, "start")
    asked: DataTable = {
        "fixed": read_assignments(fixed, "fixed"),
        "free": list(free) or None,
        "inputs": inputs,
        "outputs": read_assignments(target, "target"),
        "parameters": given.get("parameters"),
        "memory": given.get("memory"),
        "bounds": {
            name: read_bounds(ends, "bound") for name, ends in read_assignments(bound, "bound").items()
        },
        "starts": first if starts is None else starts,
        "settle": settle,
    }
    rates = {
        name: None if value == "any" else value for name, value in read_assignments(rate, "rate").items()
    }
    if rest and rates:
        raise ArmillaryError("at rest all rates are zero; leave out --rest or --rate")
    model = simulation.model
    try:
        op = model.equilibrium(**asked) if rest else model.trim(**asked, rates=rates)
    except ArmillaryError as error:
        raise ArmillaryError(_as_options(str(error))) from error
    branch = None
    if trace is not None:
        (name, ends), *_ = read_assignments((trace,), "trace").items()
        branch = model.trace(op, name, *read_bounds(ends, "trace"))
    written = _write_requested_files(simulation, op, branch, output, plot)
    shown = str(op) if branch is None else f"{op}\n\n{branch}"
    text = "\n".join([shown, *(f"wrote {path}" for path in written)])
    app.emit(json_wanted, _json_of_point(op, branch, written), text)
    return 0


def _as_options(message: str) -> str:
    """Return a message about arguments of `Model.trim` in terms of the command's options."""
    message = re.sub(r"rates=\{'([^']*)': …\} \(None for any\)", r"--rate \1=… ('any' for any)", message)
    message = message.replace("; use trim", "; leave out --rest")
    return re.sub(r"\b(\w+)=(\[…\]|\{[^}]*\})?", lambda m: _OPTIONS.get(m[1], m[0]), message)


def _check_format(output: str, branch: bool) -> None:
    from armillary.errors import ArmillaryError

    what, use = (
        ("a branch", ".json, or leave out --trace")
        if branch
        else ("an operating point", ".json, or .toml for a run file")
    )
    name = Path(output)
    if name.suffix.lower() != ".json" and (branch or name.suffix.lower() != ".toml"):
        raise ArmillaryError(f"{what} cannot be saved as '{name.name}': use {use}")


def _write_requested_files(
    simulation: Simulation, op: OperatingPoint, branch: Branch | None, output: str | None, plot: str | None
) -> list[str]:
    """Write the files that were requested, and return their paths."""
    if output is not None:
        if output.lower().endswith(".toml"):
            _write_run_file(simulation, op, output)
        else:
            (op if branch is None else branch).save(output)
    if plot is not None and branch is not None:
        branch.plot(path=plot)
    return [path for path in (output, plot) if path is not None]


def _write_run_file(simulation: Simulation, op: OperatingPoint, path: str) -> None:
    """Write a run file that starts at the point."""
    from armillary.limited_files import write_file
    from armillary.text_tables import toml_text

    tables: dict[str, DataMapping] = {
        "parameters": {**simulation.given_values().get("parameters", {}), **op.parameters},
        "initial": dict(op),
        "inputs": _without_none(simulation.values.inputs) | dict(op.memory),
        "memory": _without_none(simulation.values.memory),
    }
    data: DataTable = {"model": simulation.file.model, "title": f"operating point of {op.system}"}
    data |= {name: values for name, values in tables.items() if values}
    write_file(path, toml_text(data, dict.fromkeys(tables, 1)))


def _without_none(values: DataMapping) -> DataTable:
    return {name: value.number for name, value in values.items() if value.given}


def _json_of_point(op: OperatingPoint, branch: Branch | None, written: list[str]) -> DataTable:
    data: DataTable = {
        "command": "trim",
        "system": op.system,
        "initial": dict(op),
        "inputs": dict(op.inputs),
        "parameters": dict(op.parameters),
        "units": dict(op.units),
        "roles": dict(op.roles),
        "rates": dict(op.rates),
        "outputs": dict(op.outputs),
        "residuals": dict(op.residuals),
        "stable": op.stable,
        "eigenvalues": [[x.real, x.imag] for x in op.eigenvalues.tolist()],
        "notes": list(op.notes),
        "solutions": [dict(other) for other in op.solutions],
        "files": written,
    }
    if branch is not None:
        data["branch"] = {name: branch[name].tolist() for name in branch.names}
        data["marks"] = [{"kind": m.kind, "value": m.value, "frequency": m.frequency} for m in branch.marks]
    return data


@options.command(
    """
    armillary solve double_wishbone travel="20 mm" --outputs camber,toe
    armillary solve arm.toml x=0.3 y=0.2 --limit elbow.q1=0: --starts 50 -o positions.csv
    armillary solve arm.toml x=0.3:0.5:21 y=0.2 --hold wrist.q1 -o path.csv --plot path.svg
    """
)
def solve(
    *,
    simulation: Simulation = options.simulation_argument,
    wanted: tuple[str, ...] = argument(nargs=-1, required=True, metavar="OUTPUT=VALUE …"),
    limits: tuple[str, ...] = option(
        "Limits of a coordinate or output; either may be left out; repeatable.",
        "--limit",
        metavar="NAME=LOW:HIGH",
    ),
    held: tuple[str, ...] = options.held_option,
    starts: int | None = option("Number of starts, to find several solutions; 20 by default."),
    outputs: list[str] = options.names_option(
        "Further outputs to show, with commas between them; repeatable."
    ),
    time: float = option("Time at which prescribed motion is taken.", default=0.0),
    output: str | None = options.table_option,
    plot: str | None = options.plot_option("the outputs along a path"),
    json_wanted: bool,
) -> int:
    """Find positions at which outputs, or coordinates, have given values: inverse kinematics.

    If each output has one value, all solutions found are returned, the one nearest to the start first. If an
    output has FROM:TO:COUNT, or a list with commas, the values are a path, with one solution for each row.
    Units may follow a value: travel="20 mm".
    """
    model, given = simulation.model, simulation.given_values()
    more = {} if starts is None else {"starts": starts}
    found = model.solve(
        {name: driven_values(name, text) for name, text in map(name_and_text, wanted)},
        limits={name: read_bounds(text, "limit") for name, text in read_assignments(limits, "limit").items()},
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


@options.command(
    """
    armillary sweep double_wishbone lower.q1="-10:10:81 deg" --outputs camber,toe -o sweep.csv --plot toe.png
    armillary sweep slider_crank crank.q1="0:360:73 deg" --speed crank.q1=100
    armillary sweep arm.toml a.q1=-1:1:21 b.q1=0,0.5,1 --grid --outputs x,y -o grid.nc
    """
)
def sweep(
    *,
    simulation: Simulation = options.simulation_argument,
    driven: tuple[str, ...] = argument(nargs=-1, required=True, metavar="NAME=FROM:TO:COUNT …"),
    outputs: list[str] = options.names_option("Outputs to compute, with commas between them; repeatable."),
    speeds: tuple[str, ...] = option("Rate of a driven quantity.", "--speed", metavar="NAME=VALUE"),
    accelerations: tuple[str, ...] = option(
        "Second rate of a driven quantity.", "--acceleration", metavar="NAME=VALUE"
    ),
    derivatives: bool = option("Derivatives of outputs by the driven quantities."),
    static: bool = option("Equilibrium of all loads at rest, with efforts."),
    grid: bool = option("All combinations of the values."),
    held: tuple[str, ...] = options.held_option,
    output: str | None = options.table_option,
    plot: str | None = options.plot_option("the outputs"),
    json_wanted: bool,
) -> int:
    """Find positions of a mechanism along a path of driven coordinates or outputs, without its dynamics.

    Values are FROM:TO:COUNT, or a list with commas, followed by units if they differ from the coordinate's:
    lower.q1="-10:10:81 deg". Limits of reach, singular positions and turning points are listed.
    """
    model, given = simulation.model, simulation.given_values()
    found = model.sweep(
        {name: driven_values(name, text) for name, text in map(name_and_text, driven)},
        outputs or None,
        speeds=_read_assignments(speeds),
        accelerations=_read_assignments(accelerations),
        derivatives=derivatives,
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


def _read_assignments(assignments: tuple[str, ...]) -> dict[str, float] | None:
    found = {}
    for name, value in map(name_and_text, assignments):
        try:
            found[name] = float(value)
        except ValueError:
            raise click.UsageError(f"{name}: '{value}' is not a number") from None
    return found or None


@options.command(
    """
    armillary inverse arm.toml motion.csv -o efforts.csv
    armillary inverse arm.toml motion.nc --actuator motor1 --actuator motor2 --plot efforts.png
    armillary inverse robot.urdf measured.csv --slopes --set payload="2 kg"
    """
)
def inverse(
    *,
    simulation: Simulation = options.simulation_argument,
    motion: str = argument(metavar="RUN", type=click.Path()),
    actuators: tuple[str, ...] = option(
        "Speed, load, input or parameter that acts; repeatable.", "--actuator"
    ),
    reactions: tuple[str, ...] = option(
        "Body or constraint whose reaction is wanted; repeatable.", "--reaction"
    ),
    slopes: bool = option("Take accelerations from slopes of the recorded speeds, as for measurements."),
    output: str | None = options.results_option,
    plot: str | None = options.plot_option("the efforts"),
    json_wanted: bool,
) -> int:
    """Find the efforts along a saved run of a model: forces and moments in addition to the model's loads.

    Without --actuator, the efforts act along all speeds, including prescribed ones. The run may be a table of
    measurements with time in its first column and columns named as the coordinates.
    """
    from armillary.results import load_run

    found = simulation.model.inverse(
        load_run(motion), udot="spline" if slopes else None,
        parameters=simulation.given_values().get("parameters"),
        actuators=actuators or None, reactions=reactions,
    )  # fmt: skip
    data = {
        "names": list(found.names),
        "units": dict(found.units),
        "largest": {name: float(abs(found[name]).max()) for name in found.names},
        "note": found.note,
    }
    return options.emit_result(found, output, plot, json_wanted, data, repr(found))


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
    output: str | None = options.output_option("Linear model, .json, or report, .txt or .html."),
    json_wanted: bool,
) -> int:
    """Compute A, B, C and D of a model at an operating point, and its poles.

    Without --at, the point is the start of runs. Kinematic loops are closed at the point; the states are the
    independent coordinates and speeds.
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


_ROWS = 13  # rows of the table in the terminal


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
    hz: bool = option("Use Hz in the table, the picture, --from and --to."),
    decibels: bool = option("Magnitudes in dB, in the table and the picture."),
    nyquist: bool = option("Draw the curve in the complex plane (Nyquist) instead."),
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
