"""Sections and numbers of OpenCRG files (.crg), with errors that name file and line.

A file has sections of text, from ``$NAME`` to ``$``. The data follow a line of ``$$$$``: one row per cross
section, one column per line ``D:`` of $KD_DEFINITION. A format of four letters describes the rows:

    L or K   each row begins a record of 80 bytes, or rows fill records one after the other
    R or D   single or double precision: 10 or 20 characters, 4 or 8 bytes big endian
    F or B   text or binary
    I        interchangeable

Nothing in a file is executed, and files of more than MOST bytes are refused.

Source: ASAM OpenCRG 1.2.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

import armillary as arm

MOST = 500_000_000  # largest size of a file, bytes
RECORD = 80  # bytes of a record of data
FORMATS = tuple(f"{a}{b}{c}I" for a in "LK" for b in "RD" for c in "FB")

# Names in $ROAD_CRG that are read, all with numbers; others, such as geographic positions, are ignored.
ROAD = {
    *(f"REFERENCE_LINE_{end}_{what}" for end in ("START", "END") for what in "UXYZSB"),
    "REFERENCE_LINE_START_PHI", "REFERENCE_LINE_END_PHI", "REFERENCE_LINE_INCREMENT",
    "LONG_SECTION_V_RIGHT", "LONG_SECTION_V_LEFT", "LONG_SECTION_V_INCREMENT",
}  # fmt: skip
TABLES = ("ROAD_CRG", "ROAD_CRG_OPTS", "ROAD_CRG_MODS")
NUMBER = re.compile(r"\s*([-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?)")


class Entry(NamedTuple):
    """A value of a section and its line in the file."""

    value: float
    line: int


class Definition(NamedTuple):
    """The data definition: format, its line, and names of channels with their lines."""

    kind: str
    line: int
    channels: list[tuple[str, int]]


@dataclass
class Sections:
    """The header of a file."""

    path: str
    tables: dict[str, dict[str, Entry]] = field(default_factory=lambda: {name: {} for name in TABLES})
    definition: Definition = field(default_factory=lambda: Definition("KRBI", 1, []))
    last_line: int | None = None  # of the data, if the file is text


def read_sections(path: Path, depth: int) -> tuple[Sections, np.ndarray]:
    """Return the header of a file and its rows of numbers; ``depth`` counts files that led to this one."""
    where = os.fspath(path)
    if not path.is_file():
        raise arm.ModelError(f"{where}: there is no such file; check its name and folder")
    if path.stat().st_size > MOST:
        raise arm.ModelError(f"{where}: it has more than {MOST // 10**6} MB; cut it into smaller roads")
    content = path.read_bytes()
    sections = Sections(where)
    kind, kind_line, channels = "KRBI", 1, []
    included = None
    section, place, number, begun = "", 0, 0, 1
    while True:
        if place >= len(content):
            if included is not None:
                break
            raise arm.ModelError(
                f"{where}, line {number}: the file ends in its header, section ${section or 'CT'} of line "
                f"{begun}; it is cut off: copy it again"
            )
        end = content.find(b"\n", place)
        end = len(content) if end < 0 else end
        line = content[place:end].decode("latin-1").rstrip("\r")[:72]
        place, number = end + 1, number + 1
        if line.startswith("$$"):
            break
        if line.startswith("$"):
            word = re.match(r"\$\s*([A-Za-z]\w*)?", line)
            section, begun = (word[1] or "").upper() if word else "", number
            continue
        text = line.split("!")[0].strip()
        if not text or line.startswith("*") or section in ("", "CT"):
            continue
        if section in TABLES:
            name, entry = _parameter(text, number, where, section)
            if section != "ROAD_CRG" or name in ROAD:
                sections.tables[section][name] = entry
        elif section == "KD_DEFINITION":
            mark, _, rest = text.partition(":")
            if mark == "#":
                kind, kind_line = rest.strip().upper(), number
                if kind not in FORMATS:
                    raise arm.ModelError(
                        f"{where}, line {number}: the format {kind!r} is not known; there are "
                        f"{', '.join(FORMATS)}"
                    )
            elif mark.strip().upper() == "D":
                channels.append((rest.strip(), number))
        elif section == "ROAD_CRG_FILE":
            included = (text, number)
    if included is not None:
        return _read_named_file(path, included, sections, depth)
    if not channels:
        raise arm.ModelError(
            f"{where}: no channels are defined; $KD_DEFINITION needs lines that begin with D:"
        )
    sections.definition = definition = Definition(kind, kind_line, channels)
    rows = _binary(content, place, number, sections) if kind[2] == "B" else _text(
        content, place, number, definition, where
    )  # fmt: skip
    sections.last_line = number + content.count(b"\n", place) if kind[2] == "F" else None
    return sections, rows


def _read_named_file(
    path: Path, included: tuple[str, int], own: Sections, depth: int
) -> tuple[Sections, np.ndarray]:
    """Return header and data of a named file, where entries of the file that names it replace its own."""
    name, line = included
    where = f"{os.fspath(path)}, line {line}"
    if depth > 3:
        raise arm.ModelError(
            f"{where}: files refer to each other more than three times; name the data itself"
        )
    other = path.parent / name.replace("\\", "/")
    if "$" in name or not other.resolve().is_relative_to(path.parent.resolve()):
        raise arm.ModelError(
            f"{where}: the file {name!r} is not in the folder of this one; copy it there and name it without "
            "folders"
        )
    if not other.is_file():
        raise arm.ModelError(f"{where}: there is no file {name!r} in the folder of this one")
    sections, rows = read_sections(other, depth + 1)
    for section in TABLES:
        sections.tables[section] = {**sections.tables[section], **own.tables[section]}
    return sections, rows


def _parameter(text: str, line: int, where: str, section: str) -> tuple[str, Entry]:
    name, equals, value = text.partition("=")
    match = NUMBER.match(value)
    if not equals or match is None:
        raise arm.ModelError(f"{where}, line {line}: {text!r} in ${section} is not NAME = number")
    number = float(match[1].replace("d", "e").replace("D", "e"))
    return name.strip().upper(), Entry(number, line)


def _text(content: bytes, place: int, line: int, definition: Definition, where: str) -> np.ndarray:
    """Return the rows of a text file: numbers of fixed width, and fields with a star for missing numbers."""
    width, count = (10 if definition.kind[1] == "R" else 20), len(definition.channels)
    per_record = RECORD // width
    records = content[place:].decode("latin-1").split("\n")
    fields: list[list[str]] = []
    for offset, record in enumerate(records, start=1):
        text = record.rstrip("\r")
        if not text.strip():
            continue
        found = [text[i : i + width] for i in range(0, min(len(text), RECORD), width)]
        if len(found[-1]) < width and offset < len(records):  # a whole line may lack blanks at its end
            found[-1] = found[-1].ljust(width) if found[-1].strip() else ""
        fields.append([f for f in found if f.strip()] + [str(line + offset)])
    long = definition.kind[0] == "L"
    numbers: list[float] = []
    rows: list[list[float]] = []
    used = 0
    for *texts, at in fields:
        for text in texts:
            numbers.append(_field(text, int(at), where))
        used += 1
        whole = used * per_record >= count if long else len(numbers) >= count
        while whole and len(numbers) >= count:
            rows.append(numbers[:count])
            numbers = numbers[count:] if not long else []
            used = 0
        if long and whole and numbers:
            raise arm.ModelError(
                f"{where}, line {at}: this row has {len(numbers)} of {count} numbers; the file is cut off or "
                "damaged: copy it again"
            )
    if numbers and (long or not all(np.isnan(numbers))):
        raise arm.ModelError(
            f"{where}, line {line + len(records)}: the last row has {len(numbers)} of {count} numbers; the "
            "file is cut off: copy it again"
        )
    return np.array(rows, dtype=float).reshape(-1, count)


def _field(text: str, line: int, where: str) -> float:
    stripped = text.strip()
    if stripped.startswith("*"):
        return 0.0 if "unused" in stripped else np.nan
    try:
        return float(stripped.replace("d", "e").replace("D", "e"))
    except ValueError:
        if stripped.lower().lstrip("+-").startswith("nan"):
            return np.nan
        raise arm.ModelError(
            f"{where}, line {line}: {stripped!r} is not a number; fields are {len(text)} characters wide"
        ) from None


def _binary(content: bytes, place: int, line: int, sections: Sections) -> np.ndarray:
    """Return rows of big-endian numbers; their count follows from the length of the reference line."""
    where, definition = sections.path, sections.definition
    size, count = (4 if definition.kind[1] == "R" else 8), len(definition.channels)
    row = count * size
    if definition.kind[0] == "L":
        row = -(-row // RECORD) * RECORD
    given = len(content) - place
    road = sections.tables["ROAD_CRG"]
    rows = expected_rows(road)
    if rows is None:
        rows = given // row
    needed = rows * row
    if given < needed or (given - needed >= max(RECORD, row) and "REFERENCE_LINE_END_U" in road):
        fault = "cut off: copy it again" if given < needed else "longer than its header says: correct END_U"
        raise arm.ModelError(
            f"{where}: {given} bytes of data follow line {line}, but {rows} cross sections "
            f"of {count} channels need {needed}; the file is {fault}"
        )
    kind = ">f4" if size == 4 else ">f8"
    numbers = np.frombuffer(content, dtype=kind, count=needed // size, offset=place)
    return numbers.reshape(rows, row // size)[:, :count].astype(float)


def expected_rows(road: Mapping[str, Entry]) -> int | None:
    """Return the number of cross sections by the header; None if the header does not state it."""
    end, step = road.get("REFERENCE_LINE_END_U"), road.get("REFERENCE_LINE_INCREMENT")
    if end is None or step is None or step.value <= 0:
        return None
    begin = road.get("REFERENCE_LINE_START_U", Entry(0.0, 0)).value
    return round((end.value - begin) / step.value) + 1
