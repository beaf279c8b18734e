"""Matrices as arrays, sparse matrices or files: .npy, sparse .npz and Matrix Market .mtx."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.checks import no_imaginary, numbers, times
from armillary.model.flexible.part import MatrixLike


def read_matrix(value: object, where: str, what: str) -> MatrixLike:
    """A square matrix of finite numbers: a dense array, or sparse in rows (CSR)."""
    import scipy.sparse

    if isinstance(value, str | Path):
        value = _from_file(Path(value), where, what)
        what = f"{what} of file"
    if not scipy.sparse.issparse(value):
        found = numbers(value, where, what)
        _square(found.shape, where, what)
        return found
    given = scipy.sparse.csr_matrix(value)
    no_imaginary(given.data, where, what)
    matrix = scipy.sparse.csr_matrix(given.real, dtype=float)
    _square(matrix.shape, where, what)
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right"))
        raise ModelError(
            f"{where}: {what} holds {matrix.data[bad[0]]} at ({row}, {matrix.indices[bad[0]] + 1}); every "
            "value must be a finite number"
        )
    return matrix


def _square(shape: tuple[int, ...], where: str, what: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ModelError(f"{where}: {what} must be square, not {times(shape)}")


def _from_file(path: Path, where: str, what: str) -> MatrixLike:
    import scipy.io
    import scipy.sparse

    # pickles in a file could run any code, so they are refused
    readers = {
        ".npy": lambda: np.load(path, allow_pickle=False),
        ".npz": lambda: scipy.sparse.load_npz(path),
        ".mtx": lambda: scipy.io.mmread(path),
    }
    if path.suffix not in readers:
        raise ModelError(
            f"{where}: {what} is in file '{path}', but only {', '.join(readers)} files can be read; save it "
            "as one of these"
        )
    if not path.is_file():
        raise ModelError(f"{where}: {what}: there is no file '{path}'; check its name and folder")
    try:
        with warnings.catch_warnings():
            # SciPy 1.18 announces sparse arrays in place of matrices; either is converted by the caller.
            warnings.simplefilter("ignore", DeprecationWarning)
            return readers[path.suffix]()
    except Exception as error:  # every format has its own kinds
        raise ModelError(f"{where}: {what}: file '{path}' cannot be read ({error})") from error
