"""The reference pages docs/reference/api.md, made from signatures and docstrings, and examples.md.

    python docs/make_reference.py

A test compares the first with what this file makes of the code, so that neither drifts from the other.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import armillary
import armillary.control
import armillary.run_files
import armillary.vehicles
import armillary.verification
from armillary.algebra.textbook_form import ExpressionMatrix, ExpressionVector
from armillary.analysis.linear.conversions import TransferFunction
from armillary.analysis.linear.linear_model import Margins
from armillary.analysis.linear.responses import FrequencyResponse
from armillary.analysis.modes.modes import Mode
from armillary.analysis.modes.shapes import BodyShapes
from armillary.control.casadi_functions import CasadiFunctions
from armillary.control.estimation import Estimate
from armillary.control.ilqr import IteratedRegulator
from armillary.control.jax_functions import JaxFunctions
from armillary.control.optimum import Optimum, PhasedOptimum
from armillary.control.predictive import PredictiveRegulator
from armillary.control.receding import RecedingRegulator
from armillary.control.regulators import KalmanGain, OutputRegulator, Regulator
from armillary.control.run_gradient import RunGradient
from armillary.control.torch_functions import TorchFunctions
from armillary.control.tracking import TrackingRegulator
from armillary.model.flexible.part import FlexiblePart
from armillary.program.configurations import ConfigurationTable, ListedConfiguration
from armillary.program.formalisms.hubs import Contribution
from armillary.program.passes.graph import Operations
from armillary.results import Comparison, Difference, Event
from armillary.stages.equations import Equations, MomentumEquations
from armillary.stages.model import Model, MomentumModel
from armillary.studies import StudyStatus
from armillary.studies.sensitivity import Sensitivity

FOLDER = Path(__file__).parent / "reference"
PAGE = FOLDER / "api.md"
EXAMPLES = FOLDER / "examples.md"

# Titles of the public names, by the place in which they are defined.
GROUPS = {
    "armillary.stages.system.System": "Description",
    "armillary.model.bodies.body": "Description",
    "armillary.model.joints": "Joints",
    "armillary.model.bodies.motion": "Motion of points and bodies",
    "armillary.model.quantities": "Motion of points and bodies",
    "armillary.model.loads.laws": "Contact and friction",
    "armillary.model.flexible": "Flexible parts",
    "armillary.model.bodies.figures": "Shapes",
    "armillary.model.space": "Spacecraft",
    "armillary.algebra.vectors": "Vectors",
    "armillary.algebra.functions": "Functions of scalars",
    "armillary.algebra.expression": "Expressions",
    "armillary.algebra.calculus": "Expressions",
    "armillary.algebra.walk": "Expressions",
    "armillary.algebra.typesetting": "Expressions",
    "armillary.algebra.tables": "User functions",
    "armillary.algebra.block_functions": "User functions",
    "armillary.stages.system.load": "Models and runs in files",
    "armillary.files.model": "Models and runs in files",
    "armillary.files.robots": "Models and runs in files",
    "armillary.files.fmu": "Models and runs in files",
    "armillary.files.ssp": "Models and runs in files",
    "armillary.run_files": "Models and runs in files",
    "armillary.limited_files": "Models and runs in files",
    "armillary.runtime.inputs": "Inputs over time",
    "armillary.results": "Results",
    "armillary.viewer": "Pictures",
    "armillary.analysis.modes": "Modes",
    "armillary.analysis": "Sensitivities and fits",
    "armillary.ensembles": "Ensembles",
    "armillary.studies": "Ensembles",
    "armillary.errors": "Errors",
}
# Classes whose members are listed: where their objects come from, and attributes that are not in a docstring.
IN_DETAIL: tuple[tuple[type, str, tuple[str, ...]], ...] = (
    (armillary.System, "", ("name", "ground", "time", "bodies", "parameters", "coordinates", "speeds")),
    (armillary.Body, "", ()),
    (FlexiblePart, "Made by `Body.flexible`.", ()),
    (armillary.Section, "", ()),
    (armillary.Orbit, "", ("mu", "p", "e", "a", "i", "raan", "argp", "nu")),
    (Equations, "Made by `System.derive`.", ()),
    (MomentumEquations, 'Made by `System.derive("momentum")`; all that `Equations` has, and:', ()),
    (Contribution, "Found in `Equations.contributions`.", ()),
    (ConfigurationTable, "Found in `Equations.configurations`.", ()),
    (ListedConfiguration, "Taken from a `ConfigurationTable` by its number.", ()),
    (ExpressionMatrix, "Found in `Equations.mass_matrix` and `Equations.input_map`; made by `jacobian`.", ()),
    (ExpressionVector, "Found in `Equations.forcing` and its parts.", ()),
    (Operations, "Found in `Equations.operations`.", ()),
    (Model, "Made by `Equations.compile`.", ("equations",)),
    (MomentumModel, "Made by `MomentumEquations.compile`; all that `Model` has, and:", ()),
    (armillary.Run, "Made by `Model.simulate`.", ()),
    (Event, "Found in `Run.events`.", ()),
    (Comparison, "Made by `Run.compare`.", ()),
    (Difference, "Found in `Comparison.differences`.", ()),
    (armillary.Batch, "Made by `Model.simulate_batch`.", ()),
    (armillary.Study, "", ()),
    (StudyStatus, "Made by `Study.status`.", ()),
    (armillary.Design, "", ("kind", "seed", "runs", "names", "distributions")),
    (Sensitivity, "Made by `Study.sensitivity`.", ()),
    (armillary.Sensitivities, "Made by `Model.sensitivities`.", ()),
    (armillary.Sweep, "Made by `Model.sweep`.", ()),
    (armillary.Solutions, "Made by `Model.solve`; all that `Sweep` has.", ()),
    (armillary.Workspace, "Made by `Model.workspace`.", ()),
    (armillary.LinearModel, "Made by `Model.linearize`; `load_linear` reads it from a file.", ()),
    (FrequencyResponse, "Made by `LinearModel.frequency_response`.", ()),
    (TransferFunction, "Made by `LinearModel.transfer_function`.", ()),
    (Margins, "Made by `LinearModel.margins`.", ()),
    (armillary.PowerSpectrum, "Made by `Run.psd` and `LinearModel.psd`.", ()),
    (armillary.Signal, "", ()),
    (armillary.Experiment, "", ()),
    (armillary.Fit, "Made by `fit`.", ()),
    (armillary.Efforts, "Made by `Model.inverse`.", ()),
    (armillary.Modes, "Made by `LinearModel.modes`; `UndampedModes` by `Model.undamped_modes`.", ()),
    (Mode, "Taken from `Modes` by number or name.", ()),
    (BodyShapes, "Found in `Modes.bodies`.", ()),
    (armillary.BaseParameters, "Made by `Equations.base_parameters`.", ()),
    (armillary.Regressor, "Made by `Model.regressor`.", ()),
    (armillary.Campbell, "Made by `campbell`.", ()),
    (armillary.RootLocus, "Made by `root_locus`.", ()),
    (armillary.ExcitingTrajectory, "Made by `exciting_trajectory`.", ()),
    (armillary.Identification, "Made by `identify`.", ()),
    (armillary.OperatingPoint, "Made by `Model.trim` and `Model.equilibrium`.", ()),
    (armillary.Branch, "Made by `Model.trace`.", ()),
    (Regulator, "Made by `Model.lqr` and `control.lqr`.", ()),
    (TrackingRegulator, "Made by `Model.lqr_along`.", ()),
    (IteratedRegulator, "Made by `Model.ilqr`.", ()),
    (RecedingRegulator, "Made by `Model.nmpc`.", ()),
    (PredictiveRegulator, "Made by `Model.mpc` and `control.mpc`.", ()),
    (KalmanGain, "Made by `control.kalman`.", ()),
    (OutputRegulator, "Made by `control.lqg`.", ()),
    (Estimate, "Made by `Model.estimate`.", ()),
    (Optimum, "Made by `Model.optimize`.", ()),
    (RunGradient, "Made by `Model.gradient`.", ()),
    (JaxFunctions, "Made by `Model.to_jax`.", ()),
    (TorchFunctions, "Made by `Model.to_torch`.", ()),
    (PhasedOptimum, "Made by `control.optimize_phases`.", ()),
    (CasadiFunctions, "Made by `Equations.to_casadi`.", ()),
    (armillary.vehicles.Tyre, "Of `armillary.vehicles`, as are the following.", ()),
    (armillary.vehicles.MagicFormula, "All that `Tyre` has, and:", ()),
    (armillary.vehicles.TyreFile, "Made by `vehicles.read_tir`.", ()),
    (armillary.vehicles.RoadWheel, "Made by `vehicles.add_wheel`.", ()),
    (armillary.vehicles.Car, "Made by `vehicles.single_track_car` and `vehicles.fourteen_freedom_car`.", ()),
)
EXAMPLES_HEAD = """# Examples

The files in `examples/`, listed by `docs/make_reference.py`. Each describes a system as a user would
and runs as it stands: `.venv/bin/python examples/pendulum.py out` prints a few lines and puts its plots into
`out`. What they are checked against is in the [verification manual](../verification/index.md).
"""
HEAD = """# Reference

One line for every public name, made from the code by `docs/make_reference.py`; `help(arm.System.body)` shows
more. Names are used as `arm.Revolute` after `import armillary as arm`. Arguments after `*` are given by name.
"""
VEHICLES_HEAD = """Names of `armillary.vehicles`: `veh.read_tyre` after `import armillary.vehicles as veh`.
"""


RUN_FILES_HEAD = """Names of `armillary.run_files`, for what `armillary run` does.
"""
VERIFICATION_HEAD = """Names of `armillary.verification`, for what `armillary verify` does.
"""


CONTROL_HEAD = """Names of `armillary.control`, for linear models and descriptions; models have the verbs
`lqr`, `lqr_along`, `ilqr`, `nmpc`, `mpc`, `estimate`, `optimize`, `gradient`, `to_jax`, `to_torch` and
`second_derivatives`.
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in _grouped().items():
        parts += [f"## {title}\n", _table([(_call(name, getattr(armillary, name)), name) for name in names])]
    parts += ["## Control\n", CONTROL_HEAD, _names_of(armillary.control)]
    parts += ["## Vehicles\n", VEHICLES_HEAD, _names_of(armillary.vehicles)]
    parts += ["## Run files\n", RUN_FILES_HEAD, _names_of(armillary.run_files)]
    parts += ["## Verification\n", VERIFICATION_HEAD, _names_of(armillary.verification)]
    documented = [cls for cls, _, _ in IN_DETAIL]
    for cls, origin, attributes in IN_DETAIL:
        parts += [f"## {cls.__name__}\n", f"{_first_paragraph(cls)} {origin}".rstrip() + "\n"]
        if issubclass(cls, tuple):  # a named one
            attributes = cls._fields
        if dataclasses.is_dataclass(cls):
            known = {
                f.name
                for base in cls.__mro__[1:]
                if dataclasses.is_dataclass(base) and base in documented
                for f in dataclasses.fields(base)
            }
            attributes = tuple(
                f.name for f in dataclasses.fields(cls) if not f.name.startswith("_") and f.name not in known
            )
        if attributes:
            parts.append("Attributes: " + ", ".join(f"`{name}`" for name in attributes) + ".\n")
        rows = [f"| {shown} | {_first_paragraph(member)} |" for shown, member in members(cls)]
        if rows:
            parts.append("\n".join(["| | |", "| --- | --- |", *rows]) + "\n")
    return "\n".join(parts)


def examples() -> str:
    """The list of examples, each with the first lines of its docstring."""
    rows = []
    for path in sorted((FOLDER.parents[1] / "examples").glob("*.py")):
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        rows.append(f"| [{path.name}](../../examples/{path.name}) | {_one_line(about)} |")
    return "\n".join([EXAMPLES_HEAD, "| | |", "| --- | --- |", *rows]) + "\n"


def _grouped() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {title: [] for title in GROUPS.values()}
    for name in armillary.__all__:
        thing = getattr(armillary, name)
        place = f"{thing.__module__}.{getattr(thing, '__name__', '')}"
        title = next(title for start, title in GROUPS.items() if place.startswith(start))
        groups[title].append(name)
    return groups


def _names_of(package: ModuleType) -> str:
    lines = []
    for name in package.__all__:
        thing = getattr(package, name)
        shown, about = (
            (_call(name, thing), _first_paragraph(thing)) if callable(thing) else (f"`{name}`", _kind(thing))
        )
        lines.append(f"| {shown} | {about} |")
    return "\n".join(["| | |", "| --- | --- |", *lines]) + "\n"


def _kind(constant: object) -> str:
    """Return the names in a table or list, or the class of a constant."""
    if isinstance(constant, Mapping | tuple | list):
        return ", ".join(f"`{name}`" for name in constant) + "."
    return f"A `{type(constant).__name__}`."


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [f"| {shown} | {_first_paragraph(getattr(armillary, name))} |" for shown, name in rows]
    return "\n".join(["| | |", "| --- | --- |", *lines]) + "\n"


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties as they are written, in the order of the source."""
    seen: set[str] = set()
    others = [other for other, _, _ in IN_DETAIL if other is not cls and issubclass(cls, other)]
    listed = {base for other in others for base in other.__mro__} | {object}
    listed |= {tuple}
    internal = ["felt"]  # of contributions
    for owner in (base for base in cls.__mro__ if base not in listed):
        for name in tuple(vars(owner)):
            getattr(owner, name)  # a verb from another module becomes a method at the first look
            member = vars(owner)[name]
            if name.startswith("_") or name in seen or name in internal or not inspect.getdoc(member):
                continue
            seen.add(name)
            if isinstance(member, property | cached_property):
                yield f"`{name}`", member
            elif isinstance(member, classmethod):
                yield _call(f"{cls.__name__}.{name}", getattr(cls, name)), member
            elif callable(member):
                yield _call(name, member, method=not isinstance(member, type | staticmethod)), member


def _call(name: str, thing: Any, *, method: bool = False) -> str:
    """The name with its arguments, without types; errors and what users do not construct stand alone."""
    built = (armillary.Expr, armillary.Vector, armillary.Dyadic)
    if dataclasses.is_dataclass(thing) or thing in built or _is_error(thing):
        return f"`{name}`"
    arguments = list(inspect.signature(thing).parameters.values())
    if method:  # its first argument is the object
        arguments = arguments[1:]
    return f"`{name}{inspect.Signature([_plain_argument(p) for p in arguments])}`"


class _Elsewhere:
    """A default that is a design of its own: its numbers stand in its own documentation."""

    def __repr__(self) -> str:
        return "…"


def _plain_argument(argument: inspect.Parameter) -> inspect.Parameter:
    default = argument.default
    if dataclasses.is_dataclass(default) and len(repr(default)) > 100:
        argument = argument.replace(default=_Elsewhere())
    return argument.replace(annotation=argument.empty)


def _is_error(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


def _first_paragraph(thing: Any) -> str:
    return _one_line(inspect.getdoc(thing) or "")


def _one_line(docstring: str) -> str:
    paragraph = docstring.split("\n\n")[0]
    text = re.sub(r"\s+", " ", paragraph).replace("``", "`").replace("|", "\\|")
    return text if text.endswith(".") else text + "."


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    PAGE.write_text(reference(), encoding="utf-8")
    EXAMPLES.write_text(examples(), encoding="utf-8")
