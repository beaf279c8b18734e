"""The layout of a study's results: numbers, a column each; histories and histograms, an array each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from armillary.results.record import distinct_labels
from armillary.untyped import DataMapping, DataTable, Given

VARIED, METRIC, STATUS, STOP = "varied", "metric", "status", "t_stop"
RUN = "run"  # the dimension, and the column of numbers of runs


@dataclass(frozen=True)
class StoredColumn:
    """One number of every run: a value that is varied, a metric, or how and when the run ended."""

    name: str
    label: str  # in the store, where some names are not allowed or taken
    kind: str
    units: str = ""
    about: str = ""


@dataclass(frozen=True)
class Array:
    """Several numbers of every run: the history of an output, or a metric's histogram."""

    name: str
    label: str
    along: str  # the second dimension: "time", or the bins of this histogram
    size: int
    units: str = ""
    about: str = ""
    edges: tuple[float, ...] = ()  # of bins
    edge_units: str = ""

    def chunk_bytes(self, block: int) -> int:
        return 8 * block * self.size


@dataclass(frozen=True)
class StoreLayout:
    """Columns and arrays, and the runs in blocks: block b has the runs b·block … (b+1)·block − 1."""

    columns: tuple[StoredColumn, ...]
    arrays: tuple[Array, ...]
    runs: int
    block: int
    times: np.ndarray = field(compare=False)  # of histories

    @property
    def blocks(self) -> int:
        return -(-self.runs // self.block)

    def span(self, number: int) -> tuple[int, int]:
        """The first run of a block, and the one behind its last."""
        return number * self.block, min((number + 1) * self.block, self.runs)

    @property
    def bytes(self) -> int:
        """Bytes on the disk before compression: histories, and numbers in records, store and table."""
        return 8 * self.runs * (3 * len(self.columns) + sum(array.size for array in self.arrays))

    @property
    def files(self) -> int:
        """Files on the disk, but for a few: a record and the chunks of each block."""
        return self.blocks * (1 + len(self.arrays))

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the columns of a kind, in order."""
        return tuple(column.name for column in self.columns if column.kind == kind)

    @property
    def table_names(self) -> list[str]:
        """Names of the columns in a table: their own, numbered where one is taken."""
        return distinct_labels([column.name for column in self.columns], taken=(RUN,))

    def as_data(self) -> DataTable:
        """All but runs and block, as JSON keeps it."""
        columns = [vars(column).copy() for column in self.columns]
        arrays = [{**vars(a), "edges": list(a.edges)} for a in self.arrays]
        return {"columns": columns, "arrays": arrays, "times": _times_as_data(self.times)}

    @classmethod
    def from_data(cls, data: DataMapping, runs: int, block: int) -> StoreLayout:
        columns = tuple(StoredColumn(**entry) for entry in data["columns"])
        arrays = tuple(Array(**{**entry, "edges": tuple(entry["edges"])}) for entry in data["arrays"])
        return cls(columns, arrays, runs, block, _times_from_data(data["times"]))


def _times_as_data(times: np.ndarray) -> Given:
    """Times as JSON keeps them: {"even": [first, interval, last, count]} where that is exact, or a list."""
    if len(times) > 2:
        even = {"even": [float(times[0]), float(times[1] - times[0]), float(times[-1]), len(times)]}
        if np.array_equal(_times_from_data(even), times):
            return even
    return times.tolist()


def _times_from_data(data: object) -> np.ndarray:
    if not isinstance(data, Mapping):
        return np.array(data, dtype=float)
    first, interval, last, count = data["even"]
    times: np.ndarray = first + np.arange(count) * interval
    times[-1] = last
    return times


@dataclass(frozen=True, eq=False)
class Made:
    """The results of a block of runs: ``columns[c, i]`` and ``arrays[a][i, :]`` of its run i."""

    columns: np.ndarray
    arrays: tuple[np.ndarray, ...]
    failed: tuple[tuple[int, str], ...] = ()  # numbers of runs that did not end well, and why
