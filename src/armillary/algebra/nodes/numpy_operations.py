"""NumPy operations on expressions: scalars mix; for functions and arrays the error names the alternative."""

from __future__ import annotations

import operator

import numpy as np

from armillary.errors import ExpressionError

_OPERATIONS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_OUR_NAMES = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "absolute": "abs",
    "minimum": "min",
    "maximum": "max",
    "remainder": "mod",
}


def apply_numpy(function: np.ufunc, method: str, inputs: tuple[object, ...], what: str) -> object:
    """An operation of a NumPy scalar and an expression; an error that names the remedy for all else."""
    name = function.__name__
    if name not in _OPERATIONS:
        raise ExpressionError(f"numpy.{name} takes numbers, not {what}: use arm.{_OUR_NAMES.get(name, name)}")
    if method != "__call__" or any(np.ndim(x) for x in inputs if isinstance(x, np.ndarray)):
        raise ExpressionError(f"{what} is a scalar: take the array's elements one by one")
    return _OPERATIONS[name](*[float(x) if isinstance(x, np.generic | np.ndarray) else x for x in inputs])
