"""ERD files: the tables of time histories that AUTOSIM's programs wrote, readable by ERD plotters.

Source: Sayers (1990), Appendix B, subroutine OPNOUT; the format is defined in Sayers (1987), *ERD
data-processing software reference manual, version 2.00*, UMTRI-87-2.

    ERDFILEV2.00
         3,     2,    -1,     1,     5, 0.05, -1,    channels, samples, records, bytes, kind of numbers, step
    TITLE   Car
    SHORTNAMTime    Ay      r                           8 characters each, and so UNITSNAM
    LONGNAMETime …                                      32 characters each, and so GENNAME and RIGIBODY
    XLABEL  Time
    XUNITS  sec
    HISTORY Data generated with …
    ARMILRUN units "r": "deg/s"                         our metadata, as in a CSV file
    END
    0.0 0.0 0.0
    0.05 0.0123 0.456

Files are written as text, one sample per line, time as the first channel, every number with all its digits.
Names, units and descriptions are cut to the format's widths and to ASCII for other readers; `ARMILRUN` lines
keep them whole, so that a run comes back equal. These files are read, text of other programs (free, or in the
columns of a FORMAT line), and 32-bit binary numbers in a .bin file beside the header, as AUTOSIM wrote them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from armillary.algebra.units import parse_unit
from armillary.errors import UnitsError
from armillary.results.record import (
    FileContent,
    distinct_labels,
    empty_metadata,
    metadata_lines,
    read_metadata,
)
from armillary.untyped import DataTable

_MAGIC = "ERDFILEV"
_OWN = "ARMILRUN"
_TEXT, _FLOAT32 = 5, 1  # kinds of numbers
_MOST = 100_000  # channels; a header that states more is damaged
_WIDTHS = {"SHORTNAM": 8, "LONGNAME": 32, "UNITSNAM": 8, "GENNAME": 32, "RIGIBODY": 32}

# Samples are evenly spaced if no interval differs from the mean by more than this part of it: more than the
# rounding of added steps, less than the extra sample of an event.
_EVEN = 1e-6

# Generic names are what a plotter writes along an axis for several channels; they follow from the units.
_GENERIC = {
    "m": "Translation", "m/s": "Translational Speed", "m/s2": "Translational Acceleration", "rad": "Rotation",
    "rad/s": "Angular Speed", "rad/s2": "Angular Acceleration", "N": "Force", "N*m": "Moment", "J": "Energy",
    "W": "Power", "s": "Time", "kg": "Mass", "N*m*s": "Angular Momentum", "N*s": "Momentum",
}  # fmt: skip


def write_erd(path: Path, record: FileContent) -> None:
    """Write a text file with header and samples."""
    metadata = record.metadata
    units, about = metadata.get("units", {}), metadata.get("descriptions", {})
    columns = {
        "SHORTNAM": distinct_labels(
            ["Time", *(_ascii(name) or "_" for name in record.names)], taken=(), width=8
        ),
        "LONGNAME": ["Time", *(about.get(name, name) for name in record.names)],
        "UNITSNAM": ["sec", *(units.get(name, "") for name in record.names)],
        "GENNAME": ["Time", *(_generic(units.get(name, "")) for name in record.names)],
        "RIGIBODY": ["", *(name.partition(".")[0] if "." in name else "" for name in record.names)],
    }
    samples = record.time.size
    with path.open("w", encoding="ascii", newline="\n") as file:
        shape = f"{len(record.names) + 1:6d},{samples:6d},{-1:6d},{1:6d},{_TEXT:6d}"
        file.write(f"{_MAGIC}2.00\n{shape}, {_sample_interval(record.time)!r}, -1,\n")
        file.write(f"TITLE   {_ascii(metadata.get('system', ''))}\n")
        for keyword, entries in columns.items():
            width = _WIDTHS[keyword]
            file.write(f"{keyword:<8}" + "".join(f"{_ascii(e)[:width]:<{width}}" for e in entries) + "\n")
        file.write("XLABEL  Time\nXUNITS  sec\n")
        info = metadata.get("info", {})
        maker, date = f"Armillary {info.get('armillary', '')}".strip(), info.get("created", "")
        file.write(f"HISTORY {_ascii(f'Data generated with {maker} {date}')}\n")
        kept = metadata | {"names": list(record.names)}
        file.writelines(f"{_OWN} {line}\n" for line in metadata_lines(kept, ascii_only=True))
        file.write("END\n")
        for time, row in zip(record.time.tolist(), record.values, strict=True):
            file.write(" ".join(map(repr, [time, *row.tolist()])) + "\n")


def read_erd(path: Path) -> FileContent:
    """Return the record in an ERD file, of ours or of another program."""
    with path.open(encoding="latin-1") as file:
        header = _read_header(file)
        if header.kind == _TEXT:
            values = _read_text(file, header)
        elif header.kind == _FLOAT32:
            values = _read_binary(path, header)
        else:
            raise ValueError(
                f"numbers of kind {header.kind} are not read, only text (5) and 32-bit floats (1)"
            )
    if header.samples >= 0 and len(values) != header.samples:
        raise ValueError(f"it has {len(values)} samples, and its header states {header.samples}")
    if "names" in header.own:
        own = dict(header.own)
        return FileContent(tuple(own.pop("names")), values[:, 0], values[:, 1:], own)
    return _foreign(header, values)


# ------------------------------------------------------------------------------------------------- the header


class _Header(NamedTuple):
    channels: int
    samples: int
    kind: int
    step: float
    texts: dict[str, str]  # by keyword; HISTORY lines joined
    lists: dict[str, str]  # by keyword of _WIDTHS: the text behind it
    own: DataTable


def _read_header(file: TextIO) -> _Header:
    if not file.readline(200).startswith(_MAGIC):
        raise ValueError(f"its first line is not {_MAGIC}2.00")
    numbers = re.split(r"[,\s]+", file.readline().strip(" ,\n"))
    if len(numbers) < 6:
        raise ValueError("its second line lacks channels, samples, records, bytes, kind of numbers and step")
    channels, samples, _, _, kind = (int(number) for number in numbers[:5])
    if not 1 <= channels <= _MOST:
        raise ValueError(f"it has {channels} channels")
    texts: dict[str, str] = {}
    lists: dict[str, str] = {}
    own = empty_metadata()
    last = ""
    for line in iter(file.readline, ""):
        keyword = line[:8].strip().upper()
        if keyword == "END":
            return _Header(channels, samples, kind, float(numbers[5]), texts, lists, own)
        if keyword in _WIDTHS:
            lists[last := keyword] = line[8:].rstrip("\n")
        elif keyword.startswith("&") and last:  # a list too long for one line goes on
            filled = lists[last]
            lists[last] = filled + " " * (-len(filled) % _WIDTHS[last]) + line[8:].rstrip("\n")
        elif keyword == _OWN:
            read_metadata(own, line[9:])
        else:
            word, _, rest = line.strip().partition(" ")
            keyword = word.upper()
            before = f"{texts[keyword]}; " if keyword in texts else ""
            texts[keyword] = before + rest.strip()
    raise ValueError("its header has no END")


def _read_entries(header: _Header, keyword: str) -> list[str]:
    text, width = header.lists.get(keyword, ""), _WIDTHS[keyword]
    return [text[i * width : (i + 1) * width].strip() for i in range(header.channels)]


def _foreign(header: _Header, values: np.ndarray) -> FileContent:
    """Return the record of a file that another program wrote.

    Time is the sample's number times the step; without a step the first channel is the horizontal axis.
    """
    long = _read_entries(header, "LONGNAME")
    short = _read_entries(header, "SHORTNAM")
    names = distinct_labels(short[i] or long[i] or f"channel {i + 1}" for i in range(header.channels))
    units = _read_entries(header, "UNITSNAM")
    info = {
        key.lower(): text for key, text in header.texts.items() if key not in ("TITLE", "FORMAT") and text
    }
    record = {"armillary_run": 1, "system": header.texts.get("TITLE", ""), "info": info}
    metadata = empty_metadata() | record
    metadata["units"] = {name: unit for name, unit in zip(names, units, strict=True) if unit}
    metadata["descriptions"] = {name: about for name, about in zip(names, long, strict=True) if about}
    time = header.step * np.arange(len(values)) + float(header.texts.get("XSTART") or 0.0)
    return FileContent(tuple(names), time if header.step else values[:, 0].copy(), values, metadata)


# ---------------------------------------------------------------------------------------------------- numbers


def _read_text(file: TextIO, header: _Header) -> np.ndarray:
    width = re.match(r"\(?\s*\d*[EFGD](\d+)", header.texts.get("FORMAT", "").upper())
    words = (
        _in_columns(file, int(width[1])) if width else (w for line in file for w in re.split(r"[,\s]+", line))
    )
    plain = (word.replace("D", "E").replace("d", "e") for word in words if word)
    values = np.fromiter(map(float, plain), dtype=float)
    if values.size % header.channels:
        raise ValueError(f"its {values.size} numbers are no rows of {header.channels}")
    return values.reshape(-1, header.channels)


def _in_columns(file: TextIO, width: int) -> Iterator[str]:
    """Yield numbers of a fixed width, which may touch each other."""
    for line in file:
        yield from (line[i : i + width].strip() for i in range(0, len(line.rstrip()), width))


def _read_binary(path: Path, header: _Header) -> np.ndarray:
    """Return 32-bit floats from the file beside the header, with or without the marks of Fortran's records.

    Marks before and after a record hold its length and show the order of bytes; without marks the file is
    little-endian.
    """
    beside = [path.with_name(path.name + end) for end in (".BIN", ".bin")]
    beside += [path.with_suffix(end) for end in (".BIN", ".bin")]
    source = next((candidate for candidate in beside if candidate.is_file()), None)
    if source is None:
        raise ValueError(f"its numbers are in '{beside[3].name}', which is not there")
    raw = source.read_bytes()
    row = 4 * header.channels
    for order in "<>":
        mark = np.dtype(f"{order}i4")
        marked = row + 8
        if raw and len(raw) % marked == 0 and np.frombuffer(raw, mark, 1)[0] == row:
            table = np.frombuffer(raw, f"{order}f4").reshape(-1, header.channels + 2)
            return table[:, 1:-1].astype(float)
    if len(raw) % row:
        raise ValueError(f"'{source.name}' has {len(raw)} bytes, no whole number of samples of {row}")
    return np.frombuffer(raw, "<f4").reshape(-1, header.channels).astype(float)


# ------------------------------------------------------------------------------------------------------ texts


def _sample_interval(time: np.ndarray) -> float:
    """Return the interval of evenly spaced samples, else 0."""
    if time.size < 2 or not np.all(np.isfinite(time)):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (time[-1] - time[0]) / (time.size - 1)
        even = bool(np.all(np.abs(np.diff(time) - mean) <= _EVEN * abs(mean)))
    return float(mean) if even and np.isfinite(mean) else 0.0


def _generic(units: str) -> str:
    try:
        unit = parse_unit(units)
    except UnitsError:
        return ""
    # An angle has no dimension, and a moment has the dimension of an energy: the letters distinguish them.
    angular, energy = re.search(r"deg|rad|rev", units) is not None, "J" in units
    for text, name in _GENERIC.items():
        same_letters = ("rad" in text) == angular and ("J" in text) == energy
        if same_letters and parse_unit(text).dimension == unit.dimension:
            return name
    return "Dimensionless" if units else ""


def _ascii(text: str) -> str:
    """Return text that ERD readers accept: accents dropped, other letters replaced, no control characters."""
    parts = (c for c in unicodedata.normalize("NFKD", str(text)) if not unicodedata.combining(c))
    plain = "".join(parts).encode("ascii", "replace").decode("ascii")
    return re.sub(r"[\x00-\x1f\x7f]", " ", plain).strip()
