"""The FMUs of a package as parts of a system, stepped along with it and connected as the package states."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from armillary.algebra.expression import Expr, number
from armillary.errors import ModelError, nearest, there_are
from armillary.files.fmu import fmu as read_fmu
from armillary.files.fmu.archive import unpack
from armillary.files.fmu.connections import outward
from armillary.files.fmu.cosimulation import FmuPart, check_period, join, prepare, settings
from armillary.files.fmu.description import Fmu, FmuVariable
from armillary.files.ssp.package import Connector, Package, connector
from armillary.files.ssp.reading import read
from armillary.model.description import Description
from armillary.model.reading.expressions import check_new_name
from armillary.model.recording.records import OutputRecord
from armillary.untyped import DataMapping, DataTable, Given


def add_package(
    system: Description,
    name: str,
    source: str | os.PathLike[str],
    every: float | str,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    extrapolate: bool,
) -> dict[str, Expr]:
    """The implementation of the verb ``ssp``."""
    check_new_name(system, name, "SSP package")
    where = f"SSP package '{name}'"
    package = read(source)
    period = check_period(every, where)
    with tempfile.TemporaryDirectory(prefix="armillary-ssp-", ignore_cleanup_errors=True) as folder:
        unpack(package.path, ("resources",), Path(folder))
        units = {key: read_fmu(Path(folder, place)) for key, place in package.components.items()}
        given = _given(package, units, parameters, where)
        parts: dict[str, FmuPart] = {}
        for key, unit in units.items():
            label = f"{where}, FMU '{key}'"
            values = settings(unit, given.get(key), label)
            shown = list(unit.outputs.values())
            parts[key] = prepare(system, f"{name}_{key}", unit, period, values, shown, extrapolate)
        result = {
            f"{key}.{variable}": value
            for key, part in parts.items()
            for variable, value in part.outputs.items()
        }
        driven = _driven(system, package, units, result, inputs or {}, where)
        for key, part in parts.items():
            own = {v: value for (component, v), value in driven.items() if component == key}
            join(system, part, own, coupled=True)
    shown_by = {str(c.end): c for c in package.connections if not c.end.component}
    for label in package.outputs:
        if label in shown_by:
            value = _source(shown_by[label].start, result, where)
            result[label] = shown_by[label].factor * value + number(shown_by[label].offset, value.dimension)
            _show(system, f"{name}_{label}", result[label], label)
    return result


def _show(system: Description, label: str, value: Expr, about: str) -> None:
    check_new_name(system, label, "output")
    units = system.units.unit_text(value.dimension) if value.dimension is not None else ""
    system.definitions[label] = value
    system.outputs[label] = OutputRecord(label, value, units, f"output '{about}' of the package")


def _source(start: Connector, outputs: Mapping[str, Expr], where: str) -> Expr:
    if str(start) not in outputs:
        raise ModelError(f"{where}: there is no output '{start}'{nearest(str(start), outputs)}")
    return outputs[str(start)]


def _given(
    package: Package, units: Mapping[str, Fmu], parameters: DataMapping | None, where: str
) -> dict[str, DataTable]:
    """Parameters by FMU: those of the package, and in their place those of the user."""
    found: dict[str, DataTable] = {}
    for at, value in package.parameters.items():
        if at.variable in units[at.component].parameters:
            found.setdefault(at.component, {})[at.variable] = value
    for key, value in (parameters or {}).items():
        at = connector(key, units, where)
        if not at.component:
            raise ModelError(f"{where}: parameter '{key}' names no FMU; there are {', '.join(units)}")
        found.setdefault(at.component, {})[at.variable] = value
    return found


def _driven(
    system: Description,
    package: Package,
    units: Mapping[str, Fmu],
    outputs: Mapping[str, Expr],
    inputs: Mapping[str, object],
    where: str,
) -> dict[tuple[str, FmuVariable], Expr]:
    """The source of each input of an FMU, in its units."""
    found: dict[tuple[str, FmuVariable], Expr] = {}
    unused = {str(key) for key in inputs}
    for link in package.connections:
        if not link.end.component:
            continue
        label = f"{where}, connection to '{link.end}'"
        variable = units[link.end.component].variable(link.end.variable, "input", label)
        if link.start.component:
            value: Given = _source(link.start, outputs, label)
        elif link.start.variable in unused or link.start.variable in inputs:
            value = inputs[link.start.variable]
            unused.discard(link.start.variable)
        else:
            continue  # it keeps its start value
        signal = outward(system, value, variable, label)
        found[link.end.component, variable] = link.factor * signal + link.offset
    for key in sorted(unused):
        at = connector(key, units, f"{where}, inputs")
        if not at.component:
            raise ModelError(
                f"{where} has no input '{key}'{nearest(key, package.inputs)}; {there_are(package.inputs)}"
            )
        variable = units[at.component].variable(at.variable, "input", where)
        if (at.component, variable) in found:
            raise ModelError(f"{where}: input '{key}' is connected inside the package already")
        found[at.component, variable] = outward(system, inputs[key], variable, f"{where}, input '{key}'")
    return found
