"""Cost and covariance matrices as users give them: a number, one per name, a row, or a whole matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from armillary.algebra.arguments import checked_names, real
from armillary.errors import ParameterError, shown

_ROUNDING = 1e-12  # of the largest eigenvalue: what is below zero by less is zero


def weight_matrix(given: object, names: Sequence[str], what: str, *, positive: bool = False) -> np.ndarray:
    """Return a symmetric matrix that is not negative (``positive``: nor zero in any direction).

    A number counts for every name; a mapping has numbers by name, the rest zero; a row is the diagonal.
    """
    n = len(names)
    if isinstance(given, Mapping):
        checked_names(given, names, f"{what}: there is no", ParameterError)
        diagonal = [real(given.get(name, 0.0), f"{what} of '{name}'", ParameterError) for name in names]
        matrix = np.diag(diagonal) if n else np.zeros((0, 0))
    else:
        try:
            array = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise ParameterError(f"{what} must be numbers, not {shown(given)}") from None
        matrix = array * np.eye(n) if array.ndim == 0 else np.diag(array) if array.ndim == 1 else array
    if matrix.shape != (n, n):
        raise ParameterError(
            f"{what} must be a number, {n} numbers or a {n} × {n} matrix, for {', '.join(names)}"
        )
    if not np.isfinite(matrix).all():
        raise ParameterError(f"{what} has an element that is not a finite number")
    size = float(np.max(np.abs(matrix), initial=0.0))
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * size):
        raise ParameterError(f"{what} must be symmetric")
    matrix = (matrix + matrix.T) / 2
    least, vector = _least(matrix)
    if least < -_ROUNDING * size or (positive and least <= _ROUNDING * size):
        where = names[int(np.argmax(np.abs(vector)))] if n else ""
        need = "positive" if positive else "zero or positive"
        raise ParameterError(
            f"{what} must be {need} in every direction; its smallest eigenvalue is {least:.3g}, along "
            f"'{where}' mostly"
        )
    return matrix


def _least(matrix: np.ndarray) -> tuple[float, np.ndarray]:
    if not len(matrix):
        return np.inf, np.empty(0)
    values, vectors = np.linalg.eigh(matrix)
    return float(values[0]), vectors[:, 0]
