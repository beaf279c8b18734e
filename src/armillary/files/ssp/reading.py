"""A package's description of itself, from SystemStructure.ssd (SSP 1.0, section 4). Nothing is executed."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path, PurePosixPath

from armillary.algebra.arguments import file_path
from armillary.errors import ModelError
from armillary.files.fmu.archive import LONGEST_DESCRIPTION, content, opened
from armillary.files.ssp.package import STRUCTURE, Connection, Connector, Package
from armillary.files.xml import Element, parse_xml

_FMU = "application/x-fmu-sharedlibrary"


def read(path: str | os.PathLike[str]) -> Package:
    """The package in a file."""
    path = file_path(path, "an SSP package", ModelError)
    with opened(path, "an SSP package") as archive:
        root = _parsed(archive, STRUCTURE)
        system = root.need("System")
        if root.tag != "SystemStructureDescription":
            root.fail(f"a '{root.tag[:80]}', not a SystemStructureDescription")
        components: dict[str, str] = {}
        parameters: dict[Connector, float | str | bool] = {}
        _bindings(archive, system, "", parameters)
        for element in system.inside("Elements"):
            if element.tag != "Component":
                element.fail(f"a {element.tag} inside the system; FMUs side by side can be read")
            name = element.text("name")
            if name in components:
                element.fail(f"two FMUs are called '{name}'")
            if element.text("type", _FMU) != _FMU:
                element.fail(f"'{name}' is of type '{element.text('type')[:80]}'; FMUs can be read")
            components[name] = _inside(element)
            _bindings(archive, element, name, parameters)
    connections = tuple(_connection(c, components) for c in system.inside("Connections"))
    shown = {c.text("name"): c.text("kind", "") for c in system.inside("Connectors")}
    return Package(
        Path(path).resolve(), root.text("name", "") or Path(path).stem, components, connections,
        tuple(name for name, kind in shown.items() if kind == "input"),
        tuple(name for name, kind in shown.items() if kind == "output"),
        {where: value for where, value in parameters.items() if where.component in components},
    )  # fmt: skip


def _parsed(archive: zipfile.ZipFile, name: str) -> Element:
    """A file of XML, without the prefixes of its names."""
    file = f"{Path(archive.filename or '').name}/{name}"
    root = parse_xml(content(archive, name, LONGEST_DESCRIPTION, "an SSP package"), file)
    stack = [root]
    while stack:
        element = stack.pop()
        element.tag = element.tag.rpartition(":")[2]
        stack += element.children
    return root


def _inside(element: Element) -> str:
    """The place of an FMU in the package."""
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
        element.fail(f"a {others[0]}; linear ones can be read")
    factor, offset = (change.number("factor", 1.0), change.number("offset", 0.0)) if change else (1.0, 0.0)
    return Connection(ends[0], ends[1], factor, offset)


def _bindings(
    archive: zipfile.ZipFile, owner: Element, name: str, found: dict[Connector, float | str | bool]
) -> None:
    """Parameters that a component or the system sets, the system's by their names with a dot."""
    for binding in owner.inside("ParameterBindings"):
        if binding.only("ParameterMapping"):
            binding.fail("a ParameterMapping; give the parameters their own names")
        values = binding.only("ParameterValues")
        source = binding.text("source", "")
        sets = values.children if values else [_parsed(archive, source)] if source else []
        prefix = binding.text("prefix", "")
        for group in sets:
            for parameter in group.inside("Parameters"):
                full = f"{prefix}{parameter.text('name')}"
                component, variable = (name, full) if name else _split(full)
                found[Connector(component, variable)] = _value(parameter)


def _split(text: str) -> tuple[str, str]:
    component, _, variable = text.partition(".")
    return component, variable


def _value(parameter: Element) -> float | str | bool:
    for kind in parameter.children:
        match kind.tag:
            case "Real" | "Integer":
                return kind.number("value")
            case "Boolean":
                return kind.flag("value")
            case "String" | "Enumeration":
                return kind.text("value")
    parameter.fail("it has no value that can be read: a Real, Integer, Boolean or String")
