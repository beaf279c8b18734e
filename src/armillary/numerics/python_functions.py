"""The functions of roots.py as Python code that needs no compilation, with linear algebra by NumPy.

Loops over all elements of a matrix would take a thousand times as long in Python. So the few functions with
such loops are replaced by NumPy functions, with A = U diag(d) Vᵀ instead of the factors of factors.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType

import numpy as np

from armillary.numerics import roots
from armillary.numerics.language import Roots
from armillary.numerics.roots_thresholds import DAMPINGS
from armillary.untyped import Given


def python_functions(given: Mapping[str, Callable[..., Given]]) -> dict[str, Given]:
    """Return the functions of roots.py by name, without chords and bounds.

    ``given`` has the functions of the calling module that language.py declares, and functions that replace
    some of roots.py.
    """
    scope: dict[str, Given] = {**vars(roots), **_OF_ARRAYS, "CHORDS": False, "BOUNDED": False, **given}
    own = {name: f for name, f in vars(roots).items() if isinstance(f, FunctionType)}
    for name, f in own.items():
        if f.__module__ == roots.__name__ and name not in {*_OF_ARRAYS, *given}:
            scope[name] = FunctionType(f.__code__, scope, name)
    return scope


def _matrix(run: Roots) -> np.ndarray:
    return run.matrix.reshape(run.columns, run.rows).T


def _factorise(run: Roots) -> None:
    U, d, V = np.linalg.svd(_matrix(run), full_matrices=False)
    run.rank = int(np.count_nonzero(d > run.cut * d[0])) if d.size else 0
    run.lengths, run.factors = d[: run.rank], V[: run.rank]
    run.side = -run.residual @ U[:, : run.rank]
    run.solved = run.side / run.lengths
    run.gauss = float(run.solved @ run.solved) ** 0.5


def _damp(run: Roots, radius: float) -> None:
    """Set y = d b/(d² + μ) with |y| about the radius, by Newton's method for 1/|y| as a function of μ."""
    damping = 0.0
    for _ in range(int(DAMPINGS) + 1):
        squares = run.lengths**2 + damping
        run.solved = run.lengths * run.side / squares
        length = float(np.linalg.norm(run.solved))
        if abs(length - radius) <= 0.1 * radius or not length > 0.0:
            break
        slope = float(np.sum(run.solved**2 / squares))
        damping = max(damping + (length / radius - 1.0) * length**2 / slope, 0.0)
    if length > radius:
        run.solved = run.solved * (radius / length)


def _set_step(run: Roots) -> None:
    run.step[:] = run.solved @ run.factors


def _largest_part(run: Roots) -> float:
    return float(np.max(np.abs(run.step), initial=0.0))


def _predicted_square(run: Roots) -> float:
    linear = run.residual + _matrix(run) @ run.step
    return float(linear @ linear)


def _has_finite_matrix(run: Roots) -> bool:
    return bool(np.all(np.isfinite(run.matrix)))


_OF_ARRAYS: dict[str, Given] = {
    "factorise_matrix": _factorise,
    "damp_step": _damp,
    "set_step": _set_step,
    "largest_part": _largest_part,
    "predicted_square": _predicted_square,
    "has_finite_matrix": _has_finite_matrix,
}


def set_lengths(run: Roots, rows: int, columns: int) -> None:
    """Allocate the vectors of a record for ``rows`` equations and ``columns`` unknowns."""
    run.rows, run.columns = rows, columns
    run.matrix, run.residual, run.missed, run.step = map(np.zeros, (rows * columns, rows, rows, columns))
