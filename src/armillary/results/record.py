"""The content of a run's file, whatever the format; its metadata as lines of text; units of outputs."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from armillary.algebra.units import parse_unit
from armillary.errors import UnitsError
from armillary.untyped import DataTable

TIME = "time"

_LINE = re.compile(r'(\w+)(?: ("(?:[^"\\]|\\.)*"))?: (.*)')


class FileContent(NamedTuple):
    """The content of a run's file: `values[:, i]` are the samples of `names[i]` at `time`.

    Content that is not sampled over time has another quantity instead of time, called `over`. `metadata` is a
    mapping of plain values (texts, numbers, and mappings or lists of them) that JSON writes and reads back
    exactly, because it prints floats with `repr`.
    """

    names: tuple[str, ...]
    time: np.ndarray
    values: np.ndarray
    metadata: DataTable
    over: str = TIME


def metadata_lines(metadata: DataTable, *, ascii_only: bool = False) -> Iterator[str]:
    """Yield the metadata with one fact per line: `units "A.q1": "rad"`."""
    for key, value in metadata.items():
        pairs: Iterable[tuple[object, object]] | None = None
        if isinstance(value, dict):
            pairs = value.items()
        elif key == "events":
            pairs = ((name, time) for time, name in value)
        if pairs is None:
            yield f"{key}: {as_json(value, ascii_only)}"
        else:
            yield from (
                f"{key} {as_json(name, ascii_only)}: {as_json(item, ascii_only)}" for name, item in pairs
            )


def empty_metadata() -> DataTable:
    """Return metadata without facts, for `read_metadata` to fill."""
    tables = ("units", "descriptions", "parameters", "parameter_units", "info")
    return {key: {} for key in tables} | {"events": []}


def read_metadata(metadata: DataTable, line: str) -> bool:
    """Enter a line of `metadata_lines` into metadata; return whether it was such a line."""
    match = _LINE.match(line)
    if match is None:
        return False
    key, name, value = match[1], match[2], json.loads(match[3])
    if name is None:
        metadata[key] = value
    elif key == "events":
        metadata[key].append([value, json.loads(name)])
    else:
        metadata[key][json.loads(name)] = value
    return True


def distinct_labels(
    labels: Iterable[str], *, taken: Iterable[str] = (TIME,), width: int | None = None
) -> list[str]:
    """Return the labels, cut to `width`; a label that is taken already (as time is) gets a number."""
    used, result = set(taken), []
    for label in labels:
        numbered = (_number_label(label, str(number), width) for number in itertools.count(2))
        trials = itertools.chain([label[:width]], numbered)
        result.append(next(trial for trial in trials if trial not in used))
        used.add(result[-1])
    return result


def _number_label(label: str, number: str, width: int | None) -> str:
    return f"{label}_{number}" if width is None else label[: width - len(number)] + number


def stack(columns: list[np.ndarray], time: np.ndarray) -> np.ndarray:
    """Return columns side by side; without columns, an empty row per time."""
    return np.stack(columns, axis=1) if columns else np.empty((time.size, 0))


def as_json(value: object, ascii_only: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ascii_only)


UNKNOWN = "?"  # units of a column for which the table of another program states none


def label_units(units: str) -> str:
    """Return units as a label shows them; empty for numbers without units."""
    return "" if units.strip() in ("1", "-", UNKNOWN) else units


def conversion(name: str, source: str, target: str) -> float:
    """Return the factor from one unit of an output to another of the same dimension, 1 if one is
    unknown.
    """
    if UNKNOWN in (source, target) or label_units(source) == label_units(target):
        return 1.0
    try:
        one, other = (parse_unit(label_units(text) or "1") for text in (source, target))
    except UnitsError as error:
        raise UnitsError(
            f"output '{name}' cannot be converted from '{source}' to '{target}': {error}"
        ) from error
    if one.dimension != other.dimension:
        raise UnitsError(
            f"output '{name}' cannot be compared: it is in '{target}' here and in '{source}' there"
        )
    return one.scale / other.scale
