"""SSP packages (.ssp): several FMUs and their connections in one file, read as parts of a system, or written.

A package is described by its SystemStructure.ssd (SSP 1.0, section 4, https://ssp-standard.org): FMUs, their
connections, the connectors that the package shows and the parameters that it sets. Nothing is executed.
`load_ssp` in files/model/load.py makes a system of a package alone.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree
from xml.etree.ElementTree import SubElement, indent, tostring

from armillary.algebra.arguments import core_of, file_path
from armillary.algebra.expression import Expr, number
from armillary.algebra.units import BASE_UNITS
from armillary.errors import ModelError, UnitsError, nearest, there_are
from armillary.export import export
from armillary.export.fmi import write_archive
from armillary.export.fmi.variables import base_unit
from armillary.files.fmu import fmu as read_fmu
from armillary.files.fmu.coupling import (
    FmuPart,
    check_period,
    connect_fmu,
    outward,
    prepare_fmu,
    read_parameters,
)
from armillary.files.fmu.description import (
    LONGEST_DESCRIPTION,
    Fmu,
    FmuVariable,
    content,
    open_archive,
    unpack,
)
from armillary.files.xml import Element, parse_xml
from armillary.model.description import Description, OutputRecord
from armillary.model.reading.expressions import check_new_name
from armillary.program.equations import DerivedEquations
from armillary.untyped import DataMapping, DataTable, Given

STRUCTURE = "SystemStructure.ssd"
SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"


@dataclass(frozen=True)
class Connector:
    """A variable of an FMU or, without a ``component``, a connector of the package itself."""

    component: str
    variable: str

    def __str__(self) -> str:
        return f"{self.component}.{self.variable}" if self.component else self.variable


@dataclass(frozen=True)
class Connection:
    """A connection: ``end`` receives factor · start + offset, in the unit of ``end``."""

    start: Connector
    end: Connector
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Package:
    """The description of a package. ``components`` are the paths of FMUs in it, by name."""

    path: Path
    name: str
    components: Mapping[str, str]
    connections: tuple[Connection, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: Mapping[Connector, float | str | bool]


def connector(text: object, components: Mapping[str, object], where: str) -> Connector:
    """Return an end of a connection, from ``component.variable`` or the name of a connector of
    the package.
    """
    if not isinstance(text, str) or not text.strip():
        raise ModelError(f"{where}: {text!r} is not a connector; give 'component.variable', or a name")
    first, dot, rest = text.partition(".")
    if first in components:
        if not rest:
            raise ModelError(f"{where}: '{text}' names an FMU but no variable of it; give '{first}.variable'")
        return Connector(first, rest)
    if dot and (near := nearest(first, components)):
        raise ModelError(f"{where}: there is no FMU '{first}'{near}")
    return Connector("", text)


_FMU = "application/x-fmu-sharedlibrary"


def read_package(path: str | os.PathLike[str]) -> Package:
    """Return the package in a file."""
    path = file_path(path, "an SSP package", ModelError)
    with open_archive(path, "an SSP package") as archive:
        root = _parse_xml(archive, STRUCTURE)
        system = root.need("System")
        if root.tag != "SystemStructureDescription":
            root.fail(f"a '{root.tag[:80]}', not a SystemStructureDescription")
        components: dict[str, str] = {}
        parameters: dict[Connector, float | str | bool] = {}
        _bindings(archive, system, "", parameters)
        for element in system.inside("Elements"):
            if element.tag != "Component":
                element.fail(f"a {element.tag} inside the system; only FMUs (Component) can be read")
            name = element.text("name")
            if name in components:
                element.fail(f"two FMUs are called '{name}'")
            if element.text("type", _FMU) != _FMU:
                element.fail(f"'{name}' is of type '{element.text('type')[:80]}'; FMUs can be read")
            components[name] = _path_of_fmu(element)
            _bindings(archive, element, name, parameters)
    connections = tuple(_connection(c, components) for c in system.inside("Connections"))
    shown = {c.text("name"): c.text("kind", "") for c in system.inside("Connectors")}
    return Package(
        Path(path).resolve(), root.text("name", "") or Path(path).stem, components, connections,
        tuple(name for name, kind in shown.items() if kind == "input"),
        tuple(name for name, kind in shown.items() if kind == "output"),
        {where: value for where, value in parameters.items() if where.component in components},
    )  # fmt: skip


def _parse_xml(archive: zipfile.ZipFile, name: str) -> Element:
    """Return the root element of an XML file in an archive, with tags without their prefixes."""
    file = f"{Path(archive.filename or '').name}/{name}"
    root = parse_xml(content(archive, name, LONGEST_DESCRIPTION, "an SSP package"), file)
    stack = [root]
    while stack:
        element = stack.pop()
        element.tag = element.tag.rpartition(":")[2]
        stack += element.children
    return root


def _path_of_fmu(element: Element) -> str:
    """Return the path of an FMU in the package."""
    source = element.text("source")
    place = PurePosixPath(source)
    if ":" in source or place.is_absolute() or ".." in place.parts or not source.startswith("resources/"):
        element.fail(f"its source '{source[:80]}' is not a file below resources/ of the package")
    return str(place)


def _connection(element: Element, components: dict[str, str]) -> Connection:
    ends = []
    for end in ("start", "end"):
        component = element.text(f"{end}Element", "")
        if component and component not in components:
            element.fail(f"there is no FMU '{component}'")
        ends.append(Connector(component, element.text(f"{end}Connector")))
    change = element.only("LinearTransformation")
    others = [c.tag for c in element.children if c.tag.endswith("MappingTransformation")]
    if others:
        element.fail(f"it has a {others[0]}; only a LinearTransformation can be read")
    factor, offset = (change.number("factor", 1.0), change.number("offset", 0.0)) if change else (1.0, 0.0)
    return Connection(ends[0], ends[1], factor, offset)


def _bindings(
    archive: zipfile.ZipFile, owner: Element, name: str, found: dict[Connector, float | str | bool]
) -> None:
    """Collect the parameters that a component or the system sets.

    The system names them ``component.parameter``.
    """
    for binding in owner.inside("ParameterBindings"):
        if binding.only("ParameterMapping"):
            binding.fail("a ParameterMapping; give the parameters their own names")
        values = binding.only("ParameterValues")
        source = binding.text("source", "")
        sets = values.children if values else [_parse_xml(archive, source)] if source else []
        prefix = binding.text("prefix", "")
        for group in sets:
            for parameter in group.inside("Parameters"):
                full = f"{prefix}{parameter.text('name')}"
                component, variable = (name, full) if name else _split_connector(full)
                found[Connector(component, variable)] = _read_value(parameter)


def _split_connector(text: str) -> tuple[str, str]:
    component, _, variable = text.partition(".")
    return component, variable


def _read_value(parameter: Element) -> float | str | bool:
    for kind in parameter.children:
        match kind.tag:
            case "Real" | "Integer":
                return kind.number("value")
            case "Boolean":
                return kind.flag("value")
            case "String" | "Enumeration":
                return kind.text("value")
    parameter.fail("it has no value that can be read: a Real, Integer, Boolean or String")


def add_package(
    system: Description,
    name: str,
    source: str | os.PathLike[str],
    every: float | str,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    extrapolate: bool,
) -> dict[str, Expr]:
    """Make an SSP package part of a system; see the verb ``ssp``."""
    check_new_name(system, name, "SSP package")
    where = f"SSP package '{name}'"
    package = read_package(source)
    period = check_period(every, where)
    with tempfile.TemporaryDirectory(prefix="armillary-ssp-", ignore_cleanup_errors=True) as folder:
        unpack(package.path, ("resources",), Path(folder))
        units = {key: read_fmu(Path(folder, place)) for key, place in package.components.items()}
        given = _collect_parameters(package, units, parameters, where)
        parts: dict[str, FmuPart] = {}
        for key, unit in units.items():
            label = f"{where}, FMU '{key}'"
            values = read_parameters(unit, given.get(key), label)
            shown = list(unit.outputs.values())
            parts[key] = prepare_fmu(system, f"{name}_{key}", unit, period, values, shown, extrapolate)
        result = {
            f"{key}.{variable}": value
            for key, part in parts.items()
            for variable, value in part.outputs.items()
        }
        driven = _connect_inputs(system, package, units, result, inputs or {}, where)
        for key, part in parts.items():
            own = {v: value for (component, v), value in driven.items() if component == key}
            connect_fmu(system, part, own, coupled=True)
    shown_by = {str(c.end): c for c in package.connections if not c.end.component}
    for label in package.outputs:
        if label in shown_by:
            value = _find_source(shown_by[label].start, result, where)
            result[label] = shown_by[label].factor * value + number(shown_by[label].offset, value.dimension)
            _show(system, f"{name}_{label}", result[label], label)
    return result


def _show(system: Description, label: str, value: Expr, about: str) -> None:
    check_new_name(system, label, "output")
    units = system.units.unit_text(value.dimension) if value.dimension is not None else ""
    system.definitions[label] = value
    system.outputs[label] = OutputRecord(label, value, units, f"output '{about}' of the package")


def _find_source(start: Connector, outputs: Mapping[str, Expr], where: str) -> Expr:
    if str(start) not in outputs:
        raise ModelError(f"{where}: there is no output '{start}'{nearest(str(start), outputs)}")
    return outputs[str(start)]


def _collect_parameters(
    package: Package, units: Mapping[str, Fmu], parameters: DataMapping | None, where: str
) -> dict[str, DataTable]:
    """Return the parameters of each FMU, where the user's values replace the package's."""
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


def _connect_inputs(
    system: Description,
    package: Package,
    units: Mapping[str, Fmu],
    outputs: Mapping[str, Expr],
    inputs: Mapping[str, object],
    where: str,
) -> dict[tuple[str, FmuVariable], Expr]:
    """Return the expression that drives each connected input of an FMU, in the units of the input."""
    sources: dict[tuple[str, FmuVariable], Expr] = {}
    unused = {str(key) for key in inputs}
    for link in package.connections:
        if not link.end.component:
            continue
        label = f"{where}, connection to '{link.end}'"
        variable = units[link.end.component].variable(link.end.variable, "input", label)
        if link.start.component:
            value: Given = _find_source(link.start, outputs, label)
        elif link.start.variable in unused or link.start.variable in inputs:
            value = inputs[link.start.variable]
            unused.discard(link.start.variable)
        else:
            continue  # the input keeps its start value
        signal = outward(system, value, variable, label)
        sources[link.end.component, variable] = link.factor * signal + link.offset
    for key in sorted(unused):
        at = connector(key, units, f"{where}, inputs")
        if not at.component:
            raise ModelError(
                f"{where} has no input '{key}'{nearest(key, package.inputs)}; {there_are(package.inputs)}"
            )
        variable = units[at.component].variable(at.variable, "input", where)
        if (at.component, variable) in sources:
            raise ModelError(f"{where}: input '{key}' is connected inside the package already")
        sources[at.component, variable] = outward(system, inputs[key], variable, f"{where}, input '{key}'")
    return sources


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
    """Return the content of SystemStructure.ssd."""
    root = ElementTree.Element("ssd:SystemStructureDescription", {
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
    group: ElementTree.Element, name: str, kind: str, variable: FmuVariable, used: dict[str, FmuVariable]
) -> None:
    entry = SubElement(group, "ssd:Connector", {"name": name, "kind": kind})
    type_ = _TYPES.get(variable.type, "Integer")
    unit = variable.unit
    known = type_ == "Real" and unit.name and unit.dimension is not None
    if known:
        used.setdefault(unit.name, variable)
    SubElement(entry, f"ssc:{type_}", {"unit": unit.name} if known else {})


def _base(variable: FmuVariable) -> dict[str, str]:
    """Return a unit as exponents of base units; its name is parsed if possible, to include the radian."""
    unit = variable.unit
    try:
        return base_unit(unit.name)
    except UnitsError:
        assert unit.dimension is not None
        exponents = zip(BASE_UNITS, unit.dimension.exponents, strict=True)
        found = {name: str(int(e)) for name, e in exponents if e}
        return found | {"factor": repr(unit.factor), "offset": repr(unit.offset)}
