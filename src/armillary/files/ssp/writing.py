"""A package of several FMUs, from equations and FMU files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from armillary.algebra.arguments import core_of, file_path
from armillary.algebra.units import BASE_UNITS
from armillary.errors import ModelError, UnitsError
from armillary.export.fmi.platforms import write_archive
from armillary.export.fmi.variables import base_unit
from armillary.export.languages import export
from armillary.files.fmu import fmu as read_fmu
from armillary.files.fmu.description import Fmu, FmuVariable
from armillary.files.ssp.package import SSC, SSD, SSV, STRUCTURE, Connection, Connector, connector
from armillary.program.equations import DerivedEquations

_TYPES = {"Float64": "Real", "Float32": "Real", "Boolean": "Boolean", "String": "String"}


def write_ssp(
    path: str | os.PathLike[str],
    components: Mapping[str, DerivedEquations | Fmu | str | os.PathLike[str]],
    connections: Mapping[str, str] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    duration: float = 10.0,
    force: bool = False,
    **options: object,
) -> Path:
    """Write an SSP package (.ssp) of FMUs by name: equations, which are exported with ``options``, or FMU
    files.

    ``connections`` give each input its output, ``{"plant.push": "control.force"}``. A name without an FMU
    is a connector of the package: ``{"plant.push": "push", "height": "plant.tip"}``. ``parameters`` of FMUs,
    ``{"plant.k": 3.0}``, are set by the package.
    """
    target = file_path(path, "the SSP package", ModelError)
    _check_names(components)
    with tempfile.TemporaryDirectory(prefix="armillary-ssp-") as folder:
        units = {name: _make_fmu(name, part, Path(folder), options) for name, part in components.items()}
        links = [_link(end, start, units) for end, start in (connections or {}).items()]
        _check_links(links)
        settings: dict[Connector, float] = {}
        for key, value in (parameters or {}).items():
            at = connector(key, units, "parameters of the SSP package")
            if not at.component:
                raise ModelError(
                    f"parameter '{key}' of the SSP package names no FMU; there are {', '.join(units)}"
                )
            units[at.component].variable(at.variable, "parameter", "SSP package")
            settings[at] = float(value)
        content: dict[str, str | bytes] = {
            STRUCTURE: _structure_xml(Path(target).stem, units, links, settings, duration)
        }
        content |= {f"resources/{name}.fmu": unit.path.read_bytes() for name, unit in units.items()}
    return write_archive(target, content, force=force, marker=STRUCTURE, kind="an SSP package")


def _check_names(components: object) -> None:
    if not isinstance(components, Mapping) or not components:
        raise ModelError("an SSP package needs FMUs by name: {'plant': eom, 'control': 'control.fmu'}")
    for name in components:
        if not (isinstance(name, str) and name.isidentifier()):
            raise ModelError(f"'{name}' cannot be the name of an FMU in a package: letters, digits and _")


def _make_fmu(name: str, part: object, folder: Path, options: Mapping[str, object]) -> Fmu:
    if isinstance(part, Fmu):
        return part
    if isinstance(core := core_of(part), DerivedEquations):
        return read_fmu(export(core, "fmu", folder / f"{name}.fmu", **options))
    if isinstance(part, str | os.PathLike):
        return read_fmu(part)
    raise ModelError(f"FMU '{name}' of the SSP package: {part!r} is neither equations nor an FMU file")


def _link(end: object, start: object, units: Mapping[str, Fmu]) -> Connection:
    where = "connections of the SSP package"
    to, source = connector(end, units, where), connector(start, units, where)
    if not (to.component or source.component):
        raise ModelError(
            f"{where}: neither '{end}' nor '{start}' is a variable of an FMU; there are {', '.join(units)}"
        )
    if to.component:
        units[to.component].variable(to.variable, "input", where)
    if source.component:
        units[source.component].variable(source.variable, "output", where)
    return Connection(source, to)


def _check_links(links: list[Connection]) -> None:
    shown = {str(c.end) for c in links if not c.end.component}
    for link in links:
        if not link.start.component and link.start.variable in shown:
            raise ModelError(f"connector '{link.start}' of the SSP package is an input and an output")


def _structure_xml(
    name: str,
    units: Mapping[str, Fmu],
    links: list[Connection],
    settings: Mapping[Connector, float],
    duration: float,
) -> bytes:
    """SystemStructure.ssd"""
    root = Element("ssd:SystemStructureDescription", {
        "xmlns:ssd": SSD, "xmlns:ssc": SSC, "xmlns:ssv": SSV, "version": "1.0", "name": name,
    })  # fmt: skip
    system = SubElement(root, "ssd:System", {"name": name})
    used: dict[str, FmuVariable] = {}
    ends = {}
    for link in links:
        if not link.start.component:
            ends[link.start.variable] = ("input", units[link.end.component].inputs[link.end.variable])
        if not link.end.component:
            ends[link.end.variable] = ("output", units[link.start.component].outputs[link.start.variable])
    if ends:
        group = SubElement(system, "ssd:Connectors")
        for label, (kind, variable) in ends.items():
            _connector(group, label, kind, variable, used)
    elements = SubElement(system, "ssd:Elements")
    for key, unit in units.items():
        part = SubElement(elements, "ssd:Component", {
            "name": key, "source": f"resources/{key}.fmu", "type": "application/x-fmu-sharedlibrary",
        })  # fmt: skip
        group = SubElement(part, "ssd:Connectors")
        for kind, variables in (
            ("input", unit.inputs),
            ("output", unit.outputs),
            ("parameter", unit.parameters),
        ):
            for variable in variables.values():
                _connector(group, variable.name, kind, variable, used)
        own = {at.variable: value for at, value in settings.items() if at.component == key}
        if own:
            bindings = SubElement(SubElement(part, "ssd:ParameterBindings"), "ssd:ParameterBinding")
            values = SubElement(bindings, "ssd:ParameterValues")
            group = SubElement(values, "ssv:ParameterSet", {"version": "1.0", "name": key})
            group = SubElement(group, "ssv:Parameters")
            for label, value in own.items():
                entry = SubElement(group, "ssv:Parameter", {"name": label})
                SubElement(entry, "ssv:Real", {"value": repr(value)})
    if links:
        group = SubElement(system, "ssd:Connections")
        for link in links:
            found: dict[str, str] = {}
            for end, at in (("start", link.start), ("end", link.end)):
                found |= {f"{end}Element": at.component} if at.component else {}
                found[f"{end}Connector"] = at.variable
            SubElement(group, "ssd:Connection", found)
    if used:
        definitions = SubElement(root, "ssd:Units")
        for text, variable in used.items():
            entry = SubElement(definitions, "ssc:Unit", {"name": text})
            SubElement(entry, "ssc:BaseUnit", _base(variable))
    SubElement(root, "ssd:DefaultExperiment", {"startTime": "0.0", "stopTime": repr(float(duration))})
    indent(root)
    result: bytes = tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"
    return result


def _connector(
    group: Element, name: str, kind: str, variable: FmuVariable, used: dict[str, FmuVariable]
) -> None:
    entry = SubElement(group, "ssd:Connector", {"name": name, "kind": kind})
    type_ = _TYPES.get(variable.type, "Integer")
    unit = variable.unit
    known = type_ == "Real" and unit.name and unit.dimension is not None
    if known:
        used.setdefault(unit.name, variable)
    SubElement(entry, f"ssc:{type_}", {"unit": unit.name} if known else {})


def _base(variable: FmuVariable) -> dict[str, str]:
    """Return a unit as exponents of base units; from its name where that is one of ours, with the radian."""
    unit = variable.unit
    try:
        return base_unit(unit.name)
    except UnitsError:
        assert unit.dimension is not None
        exponents = zip(BASE_UNITS, unit.dimension.exponents, strict=True)
        found = {name: str(int(e)) for name, e in exponents if e}
        return found | {"factor": repr(unit.factor), "offset": repr(unit.offset)}
