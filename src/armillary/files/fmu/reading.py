"""An FMU's description of itself: variables, units and what it can do, from modelDescription.xml alone.

Sources: FMI specification 2.0.4, sections 2.2 and 4.3; 3.0.1, sections 2.4 and 4.4.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from armillary.algebra.arguments import file_path
from armillary.algebra.units.dimension import Dimension
from armillary.algebra.units.units import parse_unit
from armillary.errors import ModelError, UnitsError
from armillary.files.fmu.archive import LONGEST_DESCRIPTION, content, opened
from armillary.files.fmu.description import Fmu, FmuUnit, FmuVariable
from armillary.files.xml import Element, parse_xml

_BASES = ("kg", "m", "s", "A", "K")
_VERSIONS = ("2.0", "3.0")
_FILE = "modelDescription.xml"


def read(path: str | os.PathLike[str]) -> Fmu:
    """The description of an FMU file."""
    path = file_path(path, "an FMU", ModelError)
    with opened(path) as archive:
        text = content(archive, _FILE, LONGEST_DESCRIPTION)
    root = parse_xml(text, f"{Path(path).name}/{_FILE}")
    if root.tag != "fmiModelDescription":
        raise ModelError(f"'{path}': its {_FILE} describes no FMU but a '{root.tag[:80]}'")
    version = root.text("fmiVersion", "")
    known = next((v for v in _VERSIONS if version.startswith(v)), None)
    if known is None:
        raise ModelError(
            f"'{path}' is of FMI version '{version[:80]}'; {' and '.join(_VERSIONS)} can be imported"
        )
    return Fmu(
        Path(path).resolve(),
        root.text("modelName", "") or Path(path).stem,
        known,
        root.text("guid" if known == "2.0" else "instantiationToken", ""),
        _identifier(root),
        _variables(root, known),
    )


def _identifier(root: Element) -> str:
    """The name of the library for co-simulation: an identifier of C (FMI 2.0.4, 2.2.1), so no path."""
    simulation = root.only("CoSimulation")
    if simulation is None:
        return ""
    found = simulation.text("modelIdentifier", "")
    if not (found.isascii() and found.isidentifier()):
        simulation.fail(f"its modelIdentifier '{found[:80]}' is no name of a library: letters, digits and _")
    return found


def _variables(root: Element, version: str) -> dict[str, FmuVariable]:
    units = {u.text("name", ""): _unit(u) for u in _inside(root, "UnitDefinitions") if u.tag == "Unit"}
    types = {
        t.text("name", ""): next((u for e in (t, *t.children) if (u := e.text("unit", ""))), "")
        for t in _inside(root, "TypeDefinitions")
    }
    found: dict[str, FmuVariable] = {}
    for element in _inside(root, "ModelVariables"):
        real = element.only("Real") if version == "2.0" else element
        if real is None or (version == "3.0" and (element.tag != "Float64" or element.all("Dimension"))):
            continue  # whole numbers, truths, texts and arrays cannot be connected
        name = element.text("name", "")
        unit = real.text("unit", "") or types.get(real.text("declaredType", ""), "")
        reference = _whole(element, "valueReference", "")
        if not 0 <= reference < 1 << 32:
            element.fail(f"its valueReference {reference} is no 32-bit number")
        found[name] = FmuVariable(
            name,
            reference,
            element.text("causality", "local"),
            element.text("variability", "continuous"),
            _number(real, "start", "") if real.has("start") else None,
            units.get(unit, FmuUnit(unit)),
            element.text("description", ""),
        )
    return found


def _inside(root: Element, tag: str) -> list[Element]:
    """The elements of a list."""
    group = root.only(tag)
    return group.children if group else []


def _unit(element: Element) -> FmuUnit:
    """A unit by its base units; by its name where it has none."""
    name = element.text("name", "")
    base = element.only("BaseUnit")
    if base is None:
        try:
            unit = parse_unit(name)
        except UnitsError:
            return FmuUnit(name)
        return FmuUnit(name, unit.dimension, unit.scale)
    if any(base.text(other, "0") != "0" for other in ("mol", "cd")):
        return FmuUnit(name)
    exponents = [_whole(base, b, "0") for b in _BASES]
    if any(abs(e) > 100 for e in exponents):
        base.fail("it has an exponent beyond 100")
    factor, offset = _number(base, "factor", "1"), _number(base, "offset", "0")
    if factor == 0.0:
        base.fail("it has the factor zero")
    return FmuUnit(name, Dimension(*exponents), factor, offset)


def _whole(element: Element, key: str, default: str) -> int:
    text = element.text(key, default)
    try:
        return int(text)
    except ValueError:
        element.fail(f"its {key} is {text[:80]!r}, not a whole number")


def _number(element: Element, key: str, default: str) -> float:
    text = element.text(key, default)
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        element.fail(f"its {key} is {text[:80]!r}, not a finite number")
    return found
