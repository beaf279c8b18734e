"""Descriptions of FMUs: variables, units and capabilities, read from modelDescription.xml.

An FMU is an archive from outside: everything in it is checked before it is used, and nothing is executed.

Sources: FMI specification 2.0.4, sections 2.2 and 4.3; 3.0.1, sections 2.4 and 4.4.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from armillary.algebra.arguments import file_path
from armillary.algebra.units import Dimension, parse_unit
from armillary.errors import ModelError, UnitsError, nearest, there_are
from armillary.files.xml import Element, parse_xml
from armillary.limited_files import UnreadableFileError, read_up_to

NUMERIC = (
    "Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean",
    "Enumeration",
)  # fmt: skip
WHOLE_RANGES = {
    "Boolean": (0, 1),
    "Enumeration": (-(2**63), 2**63 - 1),
    **{f"Int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"UInt{n}": (0, 2**n - 1) for n in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class FmuUnit:
    """A unit of an FMU: a value v in it is factor·v + offset in SI. A unit without a meaning in mechanics has
    no dimension.
    """

    name: str = ""
    dimension: Dimension | None = None
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class FmuVariable:
    """A scalar variable of an FMU, or an element of an array, named as in ``x[2,1]``.

    ``type`` is a type of FMI 3.0, also for FMI 2.0 (Float64, Int32, Boolean, Enumeration, String).
    """

    name: str
    reference: int
    causality: str
    variability: str
    start: float | None
    unit: FmuUnit
    about: str
    type: str = "Float64"
    size: int = 1  # elements of the whole array
    index: int = 0  # of this element in the array, row by row
    starts: tuple[float, ...] = (0.0,)  # elements of the whole array


@dataclass(frozen=True)
class Exchange:
    """Model exchange: the library, the continuous states in order, and the number of event functions."""

    identifier: str
    states: tuple[FmuVariable, ...] = ()
    indicators: int = 0
    completes: bool = True  # the FMU needs a call at the end of every step


@dataclass(frozen=True, eq=False, repr=False)
class Fmu:
    """The description of an FMU. ``variables`` are its scalars and elements of arrays, by name."""

    path: Path
    name: str
    version: str  # version of FMI
    token: str
    identifier: str  # name of its library for co-simulation, "" if it has none
    variables: dict[str, FmuVariable] = field(default_factory=dict)
    exchange: Exchange | None = None

    def _of(self, causality: str) -> dict[str, FmuVariable]:
        found = {name: v for name, v in self.variables.items() if v.causality == causality}
        texts = ("String",) if causality == "parameter" else ()
        return {name: v for name, v in found.items() if v.type in NUMERIC or v.type in texts}

    @property
    def inputs(self) -> dict[str, FmuVariable]:
        """Variables that a system may drive."""
        return self._of("input")

    @property
    def outputs(self) -> dict[str, FmuVariable]:
        """Variables that a system may use."""
        return self._of("output")

    @property
    def parameters(self) -> dict[str, FmuVariable]:
        """Variables that may be set before a run."""
        return self._of("parameter")

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the continuous states of model exchange."""
        return tuple(v.name for v in self.exchange.states) if self.exchange else ()

    def variable(self, name: str, causality: str, where: str) -> FmuVariable:
        """Return a variable by name; raise an error with the nearest name if there is none."""
        known = self._of(causality)
        if name in known:
            return known[name]
        other = self.variables.get(name)
        if other is not None and other.causality == causality:
            raise ModelError(
                f"{where}: {causality} '{name}' of '{self.name}' is of type {other.type}, which cannot be "
                "connected; only numbers, Booleans and enumerations can"
            )
        raise ModelError(
            f"{where}: '{self.name}' has no {causality} '{name}'{nearest(name, known)}; "
            f"{there_are(list(known)[:8])}"
        )

    def elements(self, name: str, causality: str) -> list[FmuVariable]:
        """Return the elements of an array in order; empty if there is no such array."""
        found = [v for key, v in self._of(causality).items() if v.size > 1 and key.rpartition("[")[0] == name]
        return sorted(found, key=lambda v: v.index)

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs, {len(self.parameters)} parameters"
        return f"Fmu({self.name!r}, FMI {self.version}: {counts})"


LONGEST_DESCRIPTION = 64 << 20  # most bytes of modelDescription.xml; 100,000 variables take 20 MiB
LARGEST = 2 << 30  # most bytes of all unpacked files together
_CHUNK = 1 << 20

# Errors that the reading of a damaged archive may raise.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError, OSError),
    *(ValueError, IndexError, OverflowError),
)


@contextmanager
def open_archive(path: str | os.PathLike[str], what: str = "an FMU") -> Iterator[zipfile.ZipFile]:
    """Open the archive of an FMU or a package.

    Damage found inside the ``with`` block raises an error that names the archive.
    """
    if not Path(path).is_file():
        raise ModelError(f"there is no {what.partition(' ')[2]} '{path}'")
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except ModelError:
        raise
    except _DAMAGE as error:
        raise ModelError(
            f"'{path}' is not {what} that can be read: {error or type(error).__name__}"
        ) from error


def content(archive: zipfile.ZipFile, name: str, most: int, what: str = "an FMU") -> bytes:
    """Return a file of an archive; refuse a file longer than allowed, or longer than its entry states."""
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise ModelError(f"'{archive.filename}' is not {what}: it holds no {name}") from None
    try:
        with archive.open(entry) as file:
            return read_up_to(file, most)
    except UnreadableFileError as error:
        raise ModelError(f"'{archive.filename}': {name}: {error}") from None


def unpack(path: str | os.PathLike[str], folders: tuple[str, ...], target: Path) -> None:
    """Write the files below some folders of an FMU into a folder of this machine."""
    left = LARGEST
    with open_archive(path) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or not entry.filename.startswith(tuple(f"{folder}/" for folder in folders)):
                continue
            place = target / _check_member_name(path, entry.filename)
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, place.open("wb") as written:
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise ModelError(f"'{path}' unpacks to more than {LARGEST >> 30} GiB")
                    written.write(chunk)


def _check_member_name(path: str | os.PathLike[str], name: str) -> PurePosixPath:
    """Return the name of a member; refuse one that leads outside of the folder it is unpacked to."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or "\\" in name or ":" in name or "\0" in name:
        raise ModelError(f"'{path}' holds a file that would be unpacked elsewhere: '{name}'")
    return place


_BASES = ("kg", "m", "s", "A", "K")
_VERSIONS = ("2.0", "3.0")
_FILE = "modelDescription.xml"


def read_fmu(path: str | os.PathLike[str]) -> Fmu:
    """Return the description of an FMU file."""
    path = file_path(path, "an FMU", ModelError)
    with open_archive(path) as archive:
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
    variables, listed = _variables(root, known)
    return Fmu(
        Path(path).resolve(),
        root.text("modelName", "") or Path(path).stem,
        known,
        root.text("guid" if known == "2.0" else "instantiationToken", ""),
        _identifier(root.only("CoSimulation")),
        variables,
        _exchange(root, known, listed),
    )


def _identifier(element: Element | None) -> str:
    """Return the name of a library: an identifier of C (FMI 2.0.4, 2.2.1), so no path."""
    if element is None:
        return ""
    found = element.text("modelIdentifier", "")
    if not (found.isascii() and found.isidentifier()):
        element.fail(f"its modelIdentifier '{found[:80]}' is not a name of a library: letters, digits and _")
    return found


def _exchange(
    root: Element, version: str, listed: list[tuple[Element, list[FmuVariable]]]
) -> Exchange | None:
    """Return the states and event functions of model exchange, if the FMU has it."""
    element = root.only("ModelExchange")
    if element is None:
        return None
    structure = root.only("ModelStructure")
    variables = {_read_integer(entry[0], "valueReference", ""): entry for entry in listed}
    states: list[FmuVariable] = []
    if version == "2.0":
        unknowns = structure.inside("Derivatives") if structure else []
        for unknown in unknowns:
            rate, _ = _variable_at(listed, _read_integer(unknown, "index", ""), unknown)
            real = rate.only("Real") or rate
            states += _variable_at(listed, _read_integer(real, "derivative", ""), rate)[1]
        indicators = _read_integer(root, "numberOfEventIndicators", "0")
    else:
        indicators = 0
        for unknown in structure.children if structure else []:
            reference = _read_integer(unknown, "valueReference", "")
            if unknown.tag not in ("ContinuousStateDerivative", "EventIndicator"):
                continue
            if reference not in variables:
                unknown.fail(f"there is no variable with valueReference {reference}")
            element_of, parts = variables[reference]
            if unknown.tag == "EventIndicator":
                indicators += len(parts)
                continue
            state_reference = _read_integer(element_of, "derivative", "")
            if state_reference not in variables:
                element_of.fail(f"there is no variable with valueReference {state_reference}")
            states += variables[state_reference][1]
    if not 0 <= indicators <= MOST_ELEMENTS:
        root.fail(f"it has {indicators} event indicators")
    needed = element.text("completedIntegratorStepNotNeeded", "false") != "true"
    if version == "3.0":
        needed = element.text("needsCompletedIntegratorStep", "true") == "true"
    return Exchange(_identifier(element), tuple(states), indicators, needed)


def _variable_at(
    variables: list[tuple[Element, list[FmuVariable]]], index: int, element: Element
) -> tuple[Element, list[FmuVariable]]:
    """Return a variable by its index in the list, counted from 1."""
    if not 1 <= index <= len(variables):
        element.fail(f"there is no variable number {index}")
    return variables[index - 1]


MOST_ELEMENTS = 10_000  # the largest array that is read
# Types of FMI 3.0, by types of FMI 2.0.
_SECOND = {
    "Real": "Float64", "Integer": "Int32", "Boolean": "Boolean", "String": "String",
    "Enumeration": "Enumeration",
}  # fmt: skip


def _variables(
    root: Element, version: str
) -> tuple[dict[str, FmuVariable], list[tuple[Element, list[FmuVariable]]]]:
    """Return the variables by name, and in the order of the file with their elements."""
    units = {u.text("name", ""): _read_unit(u) for u in root.inside("UnitDefinitions") if u.tag == "Unit"}
    types = {
        t.text("name", ""): next((u for e in (t, *t.children) if (u := e.text("unit", ""))), "")
        for t in root.inside("TypeDefinitions")
    }
    by_name: dict[str, FmuVariable] = {}
    groups: list[tuple[Element, list[FmuVariable]]] = []
    listed = root.inside("ModelVariables")
    sizes = {
        e.text("valueReference", ""): e for e in listed if e.text("causality", "") == "structuralParameter"
    }
    for element in listed:
        typed, kind = element, element.tag
        if version == "2.0":
            typed = next((c for c in element.children if c.tag in _SECOND), element)
            kind = _SECOND.get(typed.tag, typed.tag)
        reference = _read_integer(element, "valueReference", "")
        if not 0 <= reference < 1 << 32:
            element.fail(f"its valueReference {reference} is no 32-bit number")
        unit = typed.text("unit", "") or types.get(typed.text("declaredType", ""), "")
        shape = [_dimension(d, sizes) for d in element.all("Dimension")] if version == "3.0" else []
        size = math.prod(shape)
        if size > MOST_ELEMENTS:
            element.fail(f"it has {size} elements; arrays of up to {MOST_ELEMENTS} can be read")
        starts = _starts(typed, kind, size)
        plain = FmuVariable(
            element.text("name", ""),
            reference,
            element.text("causality", "local"),
            element.text("variability", "continuous" if kind in ("Float64", "Float32") else "discrete"),
            starts[0] if starts else None,
            units.get(unit, FmuUnit(unit)),
            element.text("description", ""),
            kind,
            size,
            0,
            tuple(starts) or (0.0,) * size,
        )
        parts = [plain] if not shape else [_element(plain, shape, k, starts) for k in range(size)]
        by_name |= {v.name: v for v in parts}
        groups.append((element, parts))
    return by_name, groups


def _element(whole: FmuVariable, shape: list[int], index: int, starts: list[float]) -> FmuVariable:
    """Return an element of an array, numbered from 1 on, row by row."""
    numbers, rest = [], index
    for length in reversed(shape):
        numbers.append(rest % length + 1)
        rest //= length
    name = f"{whole.name}[{','.join(map(str, reversed(numbers)))}]"
    return replace(whole, name=name, index=index, start=starts[index] if starts else None)


def _dimension(element: Element, sizes: dict[str, Element]) -> int:
    """Return the length of an array in one direction: a number, or the start value of a
    structural parameter.
    """
    by = element.text("valueReference", "")
    source = sizes.get(by) if by else element
    if source is None:
        element.fail(f"there is no structural parameter with valueReference {by[:20]}")
    found = _read_integer(source, "start", "")
    if found < 1:
        element.fail(f"it has {found} elements")
    return found


def _starts(element: Element, kind: str, size: int) -> list[float]:
    """Return the start value of each element as a number; a single value in the file is for all elements."""
    if not element.has("start") or kind not in NUMERIC:
        return []
    words = element.text("start", "").split()
    if kind == "Boolean":
        known = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}
        if any(word not in known for word in words):
            element.fail(f"its start is {' '.join(words)[:80]!r}, neither true nor false")
        found = [known[word] for word in words]
    else:
        found = [_parse_finite(element, "start", word) for word in words]
        if kind in WHOLE_RANGES:  # keep all digits, of which a float may lose some
            whole = [word.lstrip("+-").isdecimal() for word in words]
            found = [int(w) if k else x for w, x, k in zip(words, found, whole, strict=True)]
    if len(found) == 1:
        return found * size
    if len(found) != size:
        element.fail(f"it has {len(found)} start values for {size} elements")
    return found


def _read_unit(element: Element) -> FmuUnit:
    """Return a unit by its base units, or by its name if it has none."""
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
    exponents = [_read_integer(base, b, "0") for b in _BASES]
    if any(abs(e) > 100 for e in exponents):
        base.fail("it has an exponent beyond 100")
    factor, offset = _read_float(base, "factor", "1"), _read_float(base, "offset", "0")
    if factor == 0.0:
        base.fail("it has the factor zero")
    return FmuUnit(name, Dimension(*exponents), factor, offset)


def _read_integer(element: Element, key: str, default: str) -> int:
    text = element.text(key, default)
    try:
        return int(text)
    except ValueError:
        element.fail(f"its {key} is {text[:80]!r}, not a whole number")


def _read_float(element: Element, key: str, default: str) -> float:
    return _parse_finite(element, key, element.text(key, default))


def _parse_finite(element: Element, key: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        element.fail(f"its {key} is {text[:80]!r}, not a finite number")
    return found
