"""An FMU's description of itself: variables, units and what it can do, from modelDescription.xml alone.

Sources: FMI specification 2.0.4, sections 2.2 and 4.3; 3.0.1, sections 2.4 and 4.4.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from xml.etree import ElementTree

from armillary.algebra.dimension import Dimension
from armillary.algebra.units import parse_unit
from armillary.errors import ModelError, UnitsError
from armillary.model.fmu.archive import LONGEST_DESCRIPTION, content, opened
from armillary.model.fmu.description import Fmu, FmuUnit, FmuVariable

_BASES = ("kg", "m", "s", "A", "K")
_VERSIONS = ("2.0", "3.0")


def read(path: str | os.PathLike[str]) -> Fmu:
    """The description of an FMU file."""
    with opened(path) as archive:
        text = content(archive, "modelDescription.xml", LONGEST_DESCRIPTION)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ModelError(
            f"'{path}': its modelDescription.xml declares a document type, which FMI does not know"
        )
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ModelError(f"'{path}': its modelDescription.xml cannot be read: {error}") from None
    if root.tag != "fmiModelDescription":
        raise ModelError(f"'{path}': its modelDescription.xml describes no FMU but a '{root.tag}'")
    version = root.get("fmiVersion", "")
    known = next((v for v in _VERSIONS if version.startswith(v)), None)
    if known is None:
        raise ModelError(f"'{path}' is of FMI version '{version}'; {' and '.join(_VERSIONS)} can be imported")
    simulation = root.find("CoSimulation")
    return Fmu(
        Path(path).resolve(),
        root.get("modelName", "") or Path(path).stem,
        known,
        root.get("guid" if known == "2.0" else "instantiationToken", ""),
        "" if simulation is None else simulation.get("modelIdentifier", ""),
        _variables(root, known, f"'{path}'"),
    )


def _variables(root: ElementTree.Element, version: str, where: str) -> dict[str, FmuVariable]:
    units = {u.get("name", ""): _unit(u, where) for u in root.iterfind("UnitDefinitions/Unit")}
    types = {
        t.get("name", ""): t.get("unit")
        or next((child.get("unit") for child in t if child.get("unit")), None)
        for t in root.iterfind("TypeDefinitions/*")
    }
    found: dict[str, FmuVariable] = {}
    for element in root.iterfind("ModelVariables/*"):
        real = element.find("Real") if version == "2.0" else element
        if real is None or (
            version == "3.0" and (element.tag != "Float64" or element.find("Dimension") is not None)
        ):
            continue  # whole numbers, truths, texts and arrays cannot be connected
        name = element.get("name", "")
        unit = real.get("unit") or types.get(real.get("declaredType", "")) or ""
        start = real.get("start")
        reference = _whole(element.get("valueReference"), f"{where}: the value reference of '{name}'")
        if not 0 <= reference < 1 << 32:
            raise ModelError(f"{where}: the value reference of '{name}', {reference}, is no 32-bit number")
        found[name] = FmuVariable(
            name,
            reference,
            element.get("causality", "local"),
            element.get("variability", "continuous"),
            None if start is None else _number(start, f"{where}: the start value of '{name}'"),
            units.get(unit, FmuUnit(unit)),
            element.get("description", ""),
        )
    return found


def _unit(element: ElementTree.Element, where: str) -> FmuUnit:
    """A unit by its base units; by its name where it has none."""
    name = element.get("name", "")
    base = element.find("BaseUnit")
    if base is None:
        try:
            unit = parse_unit(name)
        except UnitsError:
            return FmuUnit(name)
        return FmuUnit(name, unit.dimension, unit.scale)
    if any(base.get(other, "0") != "0" for other in ("mol", "cd")):
        return FmuUnit(name)
    inside = f"{where}: unit '{name}'"
    exponents = [_whole(base.get(b, "0"), inside) for b in _BASES]
    if any(abs(e) > 100 for e in exponents):
        raise ModelError(f"{inside} has an exponent beyond 100")
    factor, offset = _number(base.get("factor", "1"), inside), _number(base.get("offset", "0"), inside)
    if factor == 0.0:
        raise ModelError(f"{inside} has the factor zero")
    return FmuUnit(name, Dimension(*exponents), factor, offset)


def _whole(text: str | None, where: str) -> int:
    try:
        return int(text or "")
    except ValueError:
        raise ModelError(f"{where} is {text!r}, not a whole number") from None


def _number(text: str, where: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ModelError(f"{where} is {text!r}, not a finite number")
    return found
