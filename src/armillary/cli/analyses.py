"""Commands that analyse motions: `armillary trim`, `solve`, `sweep` and `inverse`.

`trim` finds an operating point of a model, and branches of them; `solve` finds positions of a mechanism at
which outputs have given values (inverse kinematics); `sweep` moves a mechanism along a path, without its
dynamics; `inverse` finds the efforts of a recorded motion.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from armillary.cli import app, options
from armillary.cli.options import (
    argument,
    driven_values,
    name_and_text,
    option,
    read_assignments,
    read_bounds,
)
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    from armillary.analysis.operating.branch import Branch
    from armillary.analysis.operating.point import OperatingPoint
    from armillary.run_files.execute import Simulation


_OPTIONS = {  # by the argument of Model.trim
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

    One value for each gives all solutions that are found, the one nearest to the start first. FROM:TO:COUNT,
    or a list with commas, is a path, with a solution for each row. Units may follow a value: travel="20 mm".
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
    accelerations: tuple[str, ...] = option("Second rate of it.", "--acceleration", metavar="NAME=VALUE"),
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
        "Body or constraint to give the reaction of; repeatable.", "--reaction"
    ),
    slopes: bool = option("Rates from slopes of the recorded speeds, as for measurements."),
    output: str | None = options.results_option,
    plot: str | None = options.plot_option("the efforts"),
    json_wanted: bool,
) -> int:
    """Find the efforts along a saved run of a model: forces and moments in addition to the model's loads.

    Without --actuator they act along all speeds, including prescribed ones. The run may be a table of
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
