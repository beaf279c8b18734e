"""`armillary trim`: an operating point of a model, and branches of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from armillary.cli import options, show
from armillary.cli.analyses.linear_options import inputs_option
from armillary.cli.analyses.ranges import assigned, pair
from armillary.untyped import AnyFunction, DataMapping, DataTable

if TYPE_CHECKING:
    from armillary.analysis.operating.branch import Branch
    from armillary.analysis.operating.point import OperatingPoint
    from armillary.run_files.execute import Simulation

_OPTIONS = {  # by the argument of Model.trim
    "fixed": "--fixed", "free": "--free", "rates": "--rate", "inputs": "--inputs", "outputs": "--target",
    "bounds": "--bound", "starts": "--start",
}  # fmt: skip


def _values(name: str, help_text: str) -> Callable[[AnyFunction], AnyFunction]:
    return click.option(f"--{name}", multiple=True, metavar="NAME=VALUE", help=f"{help_text}; repeatable.")


@options.command(
    """
    armillary trim four_bar --rest
    armillary trim car --set SPEED="60 mile/hour" --inputs STEER --target Ay=0.3
    armillary trim rolling_disc --fixed lean.q1=0.3 --fixed heading.u3=-2 --start disc.u1=5 -o circle.toml
    armillary trim bicycle --fixed heading.u1=5 --trace heading.u1=1:10 --plot speeds.png
    """
)
@options.model_argument
@options.settings_option
@click.option("--rest", is_flag=True, help="All rates are zero, those of cyclic coordinates too.")
@_values("fixed", "Coordinate, speed or state that is given")
@click.option(
    "--free", multiple=True, metavar="NAME", help="State to find; left out: all that are not fixed."
)
@_values("rate", "Rate of a state, per second, other than zero; 'any' for any rate")
@inputs_option("Parameters or inputs to find")
@_values("target", "Output that must have a value")
@click.option("--bound", multiple=True, metavar="NAME=LOW:HIGH", help="Bounds of an unknown; repeatable.")
@_values("start", "Value from which to start")
@click.option("--starts", type=int, help="So many scattered starts, to find several solutions.")
@click.option("--settle", is_flag=True, help="Start where a heavily damped motion comes to rest: stable.")
@click.option(
    "--trace", metavar="NAME=FROM:TO", help="Follow the branch of operating points along a quantity."
)
@click.option(
    "-o", "--output", type=click.Path(), help="The point: .toml (a run file) or .json; a branch: .json."
)
@options.plot_option("the branch of --trace")
def trim(
    source: str,
    loading: DataTable,
    assignments: tuple[str, ...],
    rest: bool,
    free: tuple[str, ...],
    inputs: list[str],
    bound: tuple[str, ...],
    starts: int | None,
    settle: bool,
    trace: str | None,
    output: str | None,
    plot: str | None,
    json_wanted: bool,
    **values: tuple[str, ...],
) -> int:
    """Find an operating point of a model: a state of rest or of steady motion, and inputs that hold it.

    Cyclic coordinates, which no rate depends on, are recognised; all other rates are zero unless given. The
    table lists what was fixed and found, what is left of each condition, and the stability.
    """
    from armillary.errors import ArmillaryError

    if plot is not None and trace is None:
        raise ArmillaryError("--plot draws the branch of --trace NAME=FROM:TO; give that too")
    if output is not None:
        _check_format(output, trace is not None)
    simulation = options.simulation(source, loading, {}, assignments)
    given = simulation.given()
    start = given.get("initial", {}) | assigned(values["start"], "start")
    asked: DataTable = {
        "fixed": assigned(values["fixed"], "fixed"),
        "free": list(free) or None,
        "inputs": inputs,
        "outputs": assigned(values["target"], "target"),
        "parameters": given.get("parameters"),
        "memory": given.get("memory"),
        "bounds": {name: pair(ends, "bound") for name, ends in assigned(bound, "bound").items()},
        "starts": start if starts is None else starts,
        "settle": settle,
    }
    rates = {
        name: None if value == "any" else value for name, value in assigned(values["rate"], "rate").items()
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
        (name, ends), *_ = assigned((trace,), "trace").items()
        branch = model.trace(op, name, *pair(ends, "trace"))
    written = _written(simulation, op, branch, output, plot)
    shown = str(op) if branch is None else f"{op}\n\n{branch}"
    text = "\n".join([shown, *(f"wrote {path}" for path in written)])
    show.emit(json_wanted, _data(op, branch, written), text)
    return 0


def _as_options(message: str) -> str:
    """A message about arguments of `Model.trim`, about the options that give them."""
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


def _written(
    simulation: Simulation, op: OperatingPoint, branch: Branch | None, output: str | None, plot: str | None
) -> list[str]:
    """The files that were requested."""
    if output is not None:
        if output.lower().endswith(".toml"):
            _write_run_file(simulation, op, output)
        else:
            (op if branch is None else branch).save(output)
    if plot is not None and branch is not None:
        branch.plot(path=plot)
    return [path for path in (output, plot) if path is not None]


def _write_run_file(simulation: Simulation, op: OperatingPoint, path: str) -> None:
    """A run file that starts at the point."""
    from armillary.atomic import replacing
    from armillary.toml_text import toml_text

    tables: dict[str, DataMapping] = {
        "parameters": {**simulation.given().get("parameters", {}), **op.parameters},
        "initial": dict(op),
        "inputs": _given(simulation.values.inputs) | dict(op.memory),
        "memory": _given(simulation.values.memory),
    }
    data: DataTable = {"model": simulation.file.model, "title": f"operating point of {op.system}"}
    data |= {name: values for name, values in tables.items() if values}
    with replacing(path) as temporary:
        temporary.write_text(toml_text(data, dict.fromkeys(tables, 1)), encoding="utf-8")


def _given(values: DataMapping) -> DataTable:
    return {name: value.number for name, value in values.items() if value.given}


def _data(op: OperatingPoint, branch: Branch | None, written: list[str]) -> DataTable:
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
