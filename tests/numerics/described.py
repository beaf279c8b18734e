"""The described functions of roots and factors as Python, loops over elements included."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from armillary.numerics import factors, roots
from armillary.numerics.language import Roots
from armillary.numerics.python_functions import set_lengths

FACTORS: dict[str, Any] = {name: f for name, f in vars(factors).items() if isinstance(f, FunctionType)}
# Functions of roots.py in whose place functions of arrays run while equations are derived.
SUMS: dict[str, Any] = {
    f.__name__: f for f in (roots.largest_part, roots.predicted_square, roots.has_finite_matrix)
}


def set_all_lengths(run: Roots, rows: int, columns: int) -> None:
    """Allocate the vectors of a record, and those of factors.py."""
    set_lengths(run, rows, columns)
    run.linear, run.factors, run.damped = map(np.zeros, (rows, rows * (columns + 1), columns**2))
    run.order = np.zeros(columns, dtype=int)
    run.heads, run.solved, run.turned, run.lengths, run.fresh, run.side = np.zeros((6, columns))
