"""Columns of a dataset that are read when they are used: a study of 1e9 runs has 8 GB of each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from armillary.studies.definition.definition import Definition
from armillary.studies.store.folder import Folder
from armillary.studies.store.records import read_numbers
from armillary.untyped import LibraryObject

_DENSE = 1000  # rows between two that are wanted, up to which all are read
_REMEMBERED = 64 * 2**20  # bytes of numbers that are kept for the next column


class RecordedNumbers:
    """The numbers of runs, from the records of blocks; NaN where a run is not made.

    A record holds all columns of a block: what was read for one column is kept for the next, if it is small.
    """

    def __init__(self, folder: Folder, definition: Definition) -> None:
        self._read = partial(read_numbers, folder, definition.layout, definition.digest)
        self._last: tuple[tuple[int, int], np.ndarray] | None = None

    def __call__(self, first: int, end: int) -> np.ndarray:
        """The numbers (columns, runs) of the runs from one up to another."""
        if self._last is not None and self._last[0] == (first, end):
            return self._last[1]
        found, _ = self._read(first, end)
        if found.nbytes <= _REMEMBERED:
            self._last = (first, end), found
        return found


def lazy_column(runs: int, dtype: LibraryObject, read: Callable[[int, int], np.ndarray]) -> LibraryObject:
    """A column as xarray takes it; ``read`` gives the values of the runs from one up to another."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class Column(BackendArray):
        shape = (runs,)

        def __init__(self) -> None:
            self.dtype = np.dtype(dtype)

        def __getitem__(self, key: LibraryObject) -> LibraryObject:
            support = indexing.IndexingSupport.OUTER_1VECTOR
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

        def _read(self, key: tuple[LibraryObject, ...]) -> LibraryObject:
            (rows,) = key
            if isinstance(rows, np.ndarray):
                return self._some(np.where(rows < 0, rows + runs, rows))
            if not isinstance(rows, slice):
                return read(int(rows), int(rows) + 1)[0]
            wanted = range(runs)[rows]
            if not len(wanted):
                return np.empty(0, self.dtype)
            first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
            return read(first, last + 1)[np.arange(wanted.start, wanted.stop, wanted.step) - first]

        def _some(self, rows: np.ndarray) -> np.ndarray:
            """Single runs; those far apart are read one by one, not with all that lies between them."""
            if not len(rows):
                return np.empty(0, self.dtype)
            first, last = int(rows.min()), int(rows.max())
            if last - first < _DENSE * len(rows):
                found: np.ndarray = read(first, last + 1)[rows - first]
                return found
            return np.concatenate([read(int(row), int(row) + 1) for row in rows])

    return indexing.LazilyIndexedArray(Column())


def lazy_array(array: LibraryObject, guard: Callable[[], AbstractContextManager[None]]) -> LibraryObject:
    """An array of the store as xarray takes it, each part of which is read within ``guard()``."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class StoredArray(BackendArray):
        shape = array.shape

        def __init__(self) -> None:
            self.dtype = np.dtype(array.dtype)

        def __getitem__(self, key: LibraryObject) -> LibraryObject:
            support = indexing.IndexingSupport.OUTER
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

        def _read(self, key: tuple[LibraryObject, ...]) -> LibraryObject:
            with guard():
                return array.oindex[key]

    return indexing.LazilyIndexedArray(StoredArray())
