"""Columns of numbers from a file of separated values: by name or by number, with units from their headings.

Separators are commas, semicolons or tabs, whichever the first line has; between semicolons a decimal comma is
read too. Blank lines and lines that begin with "#" are skipped. The first line holds headings where a cell of
it is not a number: "speed", "speed [rpm]" or "speed (rpm)".
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.algebra.units import parse_unit
from armillary.errors import ExpressionError, UnitsError, nearest
from armillary.limited_files import UnreadableFileError, read_limited

_HEADING = re.compile(r"\s*(.*?)\s*[\[(]([^\])]*)[\])]\s*\Z")
_MOST = 2**28  # bytes of a file


@dataclass(frozen=True, eq=False)
class CsvColumns:
    """The columns of a file; ``units`` are "" where no heading states any."""

    path: Path
    headings: tuple[str, ...]  # as they stand in the file, without units; "" without headings
    units: tuple[str, ...]
    values: np.ndarray  # a row per line

    def place(self, column: str | int) -> int:
        """Where a column is, by its heading or by its number from 1."""
        if isinstance(column, str):
            if column in self.headings:
                return self.headings.index(column)
            there = ", ".join(repr(h) for h in self.headings if h) or "none: give numbers of columns from 1"
            hint = nearest(column, self.headings) or f"; there are {there}"
            raise ExpressionError(f"file '{self.path}' has no column '{column}'{hint}")
        count = len(self.headings)
        if isinstance(column, bool) or not isinstance(column, int | np.integer) or not 1 <= column <= count:
            raise ExpressionError(
                f"file '{self.path}': column={column!r} is neither a heading nor a number from 1 to {count}"
            )
        return int(column) - 1


def read_columns(path: str | os.PathLike[str], finite: bool = True) -> CsvColumns:
    """Return all columns of a file.

    An error names the line and the column of a cell that is not a number. If ``finite``, nan and infinite
    values are errors too.
    """
    file = file_path(path, "the file of a table", ExpressionError)
    lines = list(_lines(file))
    if not lines:
        raise ExpressionError(f"file '{file}' holds no values")
    separator = max(";\t,", key=lines[0][1].count)
    decimal = separator == ";"
    first = _cells(file, *lines[0], separator)
    headed = any(_parse_cell(cell, decimal) is None for cell in first)
    found = [_heading(cell) for cell in first] if headed else [("", "")] * len(first)
    rows = lines[headed:]
    values = _plain_values([text for _, text in rows], separator)
    if values is None or values.shape[1] != len(first) or (finite and not np.isfinite(values).all()):
        values, kind = np.empty((len(rows), len(first))), "finite number" if finite else "number"
        for i, (n, text) in enumerate(rows):
            cells = _cells(file, n, text, separator)
            if len(cells) != len(first):
                raise ExpressionError(
                    f"file '{file}', line {n}: {len(cells)} values, but {len(first)} columns"
                )
            for j, cell in enumerate(cells):
                value = _number(cell, decimal, finite)
                if value is None:
                    name = f"column '{found[j][0]}'" if found[j][0] else f"column {j + 1}"
                    raise ExpressionError(f"file '{file}', line {n}, {name}: '{cell}' is not a {kind}")
                values[i, j] = value
    return CsvColumns(file, tuple(name for name, _ in found), tuple(units for _, units in found), values)


def _plain_values(lines: list[str], separator: str) -> np.ndarray | None:
    """Values where all cells are plain numbers: NumPy reads them in an eighth of the time of Python."""
    if not lines:
        return None
    texts = [line.replace(",", ".") for line in lines] if separator == ";" else lines
    try:
        return np.loadtxt(texts, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines with content and their numbers."""
    try:
        text = read_limited(file, _MOST, "take fewer points").decode("utf-8-sig")
    except UnreadableFileError as error:
        raise ExpressionError(f"file '{file}': {error}") from None
    except UnicodeDecodeError:
        raise ExpressionError(f"file '{file}' is not a text in UTF-8") from None
    for n, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield n, line


def _cells(file: Path, n: int, line: str, separator: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    except csv.Error as error:
        raise ExpressionError(f"file '{file}', line {n} cannot be read: {error}") from None


def _number(cell: str, decimal: bool, finite: bool) -> float | None:
    """The number in a cell; None for anything else, also for 1_000, a number of Python's alone."""
    value = None if "_" in cell else _parse_cell(cell, decimal)
    return value if value is not None and (math.isfinite(value) or not finite) else None


def _parse_cell(cell: str, decimal: bool) -> float | None:
    """A cell as a number of Python's, nan and inf too; a line of such cells holds no headings."""
    try:
        return float(cell.replace(",", ".") if decimal else cell)
    except ValueError:
        return None


def _heading(cell: str) -> tuple[str, str]:
    """A name and units that stand in brackets after it; a bracket that holds none belongs to the name."""
    found = _HEADING.match(cell)
    if found is None:
        return cell, ""
    try:
        parse_unit(found[2])
    except UnitsError:
        return cell, ""
    return found[1], found[2]
