"""Inputs over time in run files: a file, columns of it, or points.

[inputs]
steer = 0.02                                    # a constant
road = "road.csv"                               # the column named road, else the second, over the first

[inputs.wind]
file = "weather.csv"                            # relative to the run file
time = "t"                                      # a heading, or the number of a column from 1
column = "gust"
units = "km/h"                                  # those of the heading, where left out
interpolation = "hold"

[inputs.torque]
t = [0.0, 1.0, 1.0001, 5.0]
y = [0.0, 0.0, 12.0, 12.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from armillary.algebra.csv_columns import read_columns
from armillary.errors import ArmillaryError, shown, suggestion
from armillary.run_files.run_file import COMMAND_LINE, SourcedValue
from armillary.runtime.inputs.signal import Signal
from armillary.untyped import DataTable

_OF_FILES = ("file", "time", "column", "units", "interpolation")
_OF_POINTS = ("t", "y", "units", "interpolation")
_SUFFIXES = (".csv", ".txt", ".tsv")


class FileSignal(NamedTuple):
    """An input over time: its signal, the table that describes it, and where that stands."""

    signal: Signal
    table: DataTable
    source: str

    def table_for(self, folder: Path) -> DataTable:
        """The table for a run file in another folder."""
        if "file" not in self.table:
            return self.table
        path = Path(self.table["file"]).resolve()
        near = path.relative_to(folder.resolve()) if path.is_relative_to(folder.resolve()) else path
        return {**self.table, "file": near.as_posix()}


def gathered(given: Mapping[str, SourcedValue]) -> dict[str, SourcedValue]:
    """Entries by the names of inputs: ``road.units`` of the command line belongs to the table ``road``."""
    found: dict[str, SourcedValue] = {}
    for name, entry in given.items():
        head, dot, key = name.partition(".")
        before = found[head].value if head in found else {}
        if not dot:
            found[name] = entry
        else:
            table = before if isinstance(before, dict) else {"file": before}
            found[head] = SourcedValue({**table, key: entry.value}, entry.source)
    return found


def is_signal(value: object) -> bool:
    """Whether an entry of [inputs] is data over time, and no constant."""
    return isinstance(value, dict) or (isinstance(value, str) and value.lower().endswith(_SUFFIXES))


def file_signal(name: str, entry: SourcedValue, folder: Path) -> FileSignal:
    """The signal that an entry describes; errors are sentences without the place."""
    table = dict(entry.value) if isinstance(entry.value, dict) else {"file": entry.value}
    known = _OF_POINTS if "t" in table or "y" in table else _OF_FILES
    for key in table:
        if key not in known:
            raise ArmillaryError(f"unknown key '{key}'{suggestion(key, known)}")
    how = {key: table[key] for key in ("units", "interpolation") if key in table}
    if known is _OF_POINTS:
        for key in ("t", "y"):
            if key not in table:
                raise ArmillaryError(f"points need both t and y, and {key} is missing")
        return FileSignal(Signal(table["t"], table["y"], name=name, **how), table, entry.source)
    if not isinstance(table.get("file"), str):
        raise ArmillaryError(f"file must be the name of a file, not {shown(table.get('file'))}")
    # A path on the command line is relative to where the command is given.
    path = Path(table["file"]) if entry.source == COMMAND_LINE else folder / table["file"]
    column = table.get("column")
    if column is None:
        column = name if name in read_columns(path).headings else 2
    signal = Signal.from_csv(path, table.get("time", 1), column, **how)
    return FileSignal(signal, {**table, "file": str(path), "column": column}, entry.source)
