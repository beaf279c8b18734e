"""The functions of roots.py and factors.py as Python, where nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType

import numpy as np

from armillary.numerics import factors, roots
from armillary.numerics.roots_record import Roots
from armillary.untyped import Given


def python_functions(given: Mapping[str, Callable[..., Given]]) -> dict[str, Given]:
    """Return the functions by name, without chords and bounds; they call those that are ``given``, the user's
    of language.py and others that take the place of a function of the description.
    """
    scope: dict[str, Given] = {**vars(factors), **vars(roots), "CHORDS": False, "BOUNDED": False}
    for module in (factors, roots):
        for name, f in vars(module).items():
            if isinstance(f, FunctionType) and f.__module__ == module.__name__:
                scope[name] = FunctionType(f.__code__, scope, name)
    scope |= given
    return scope


def set_lengths(run: Roots, rows: int, columns: int) -> None:
    """Set the vectors of a record for a number of equations and of unknowns."""
    run.rows, run.columns, run.rank = rows, columns, 0
    run.matrix, run.factors = np.zeros(rows * columns), np.zeros(rows * (columns + 1))
    run.residual, run.missed, run.linear = np.zeros((3, rows))
    run.damped, run.order = np.zeros(columns**2), np.zeros(columns, dtype=int)
    run.step, run.heads, run.solved, run.turned = np.zeros((4, columns))
    run.lengths, run.fresh, run.side = np.zeros((3, columns))
