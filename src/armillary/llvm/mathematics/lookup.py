"""Lookup tables as LLVM functions of doubles or vectors: the interval on each axis, then Horner's rule.

Breaks and coefficients, as in ``algebra/user_functions/tables.py``, become constant arrays beside the code.
The intervals of all lanes are found together: by bisection, in as many turns for every lane; in vectors,
where the breaks are few, by counting those that a lane has passed, without gathers.
"""

from __future__ import annotations

import numpy as np

from armillary.algebra.user_functions.tables import Piecewise
from armillary.llvm.instructions import Instructions, constant_array

FEW = 32  # breaks up to which counting takes less time than bisection


def lookup_function(name: str, table: Piecewise, lanes: int = 1) -> str:
    """LLVM code of a function for a piecewise polynomial; with ``lanes`` above one, of vectors of so many."""
    v = Instructions(lanes, single=lanes == 1)
    arguments = [f"%x{axis}" for axis in range(table.arity)]
    data = [constant_array(f"{name}_coefficients", np.ravel(table.coefficients))]
    intervals, distances = [], []
    for axis, (x, breaks) in enumerate(zip(arguments, table.breaks, strict=True)):
        array = f"{name}_breaks{axis}"
        data.append(constant_array(array, _padded(breaks)))
        if table.outside[axis] == "clamp":
            x = v.clamp(x, float(breaks[0]), float(breaks[-1]))
        else:
            x = v.add(x, 0.0)
        counting = lanes > 1 and len(breaks) <= FEW
        interval = _counted(v, x, breaks) if counting else _bisected(v, x, breaks, array)
        intervals.append(interval)
        distances.append(v.sub(x, v.elements(array, interval)))
    value = _horner(v, f"{name}_coefficients", table, intervals, distances)
    for axis, x in enumerate(arguments):
        if table.coefficients.shape[table.arity + axis] == 1:  # a constant piece would not notice NaN
            value = v.choose(v.compare("uno", x, 0.0), x, value)
        if table.outside[axis] == "zero":
            first, last = float(table.breaks[axis][0]), float(table.breaks[axis][-1])
            outside = v.either(v.compare("olt", x, first), v.compare("ogt", x, last))
            value = v.choose(outside, 0.0, value)
    return "\n".join([*data, v.function(name, arguments, v.real, value, "noinline")])


def _padded(breaks: np.ndarray) -> np.ndarray:
    """The left breaks of all intervals, and NaN up to a power of two: nothing is beyond it."""
    left = np.asarray(breaks[:-1], dtype=float)
    return np.concatenate([left, np.full((1 << (len(left) - 1).bit_length()) - len(left), np.nan)])


def _counted(v: Instructions, x: str, breaks: np.ndarray) -> str:
    interval = v.whole(0)
    for inner in breaks[1:-1]:
        passed = v.compare("oge", x, float(inner))
        interval = v.integer("sub", interval, v.emit(f"sext {v.mask} {passed} to {v.bits}"))
    return interval


def _bisected(v: Instructions, x: str, breaks: np.ndarray, array: str) -> str:
    interval = v.whole(0)
    step = len(_padded(breaks)) // 2
    while step:
        further = v.integer("add", interval, step)
        passed = v.compare("oge", x, v.elements(array, further))
        interval = v.emit(f"select {v.mask} {passed}, {v.bits} {further}, {v.bits} {interval}")
        step //= 2
    return interval


def _horner(v: Instructions, array: str, table: Piecewise, intervals: list[str], distances: list[str]) -> str:
    """Σ coefficients · powers: along the last axis for each power of the first, then along the first."""
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cell = intervals[0]
    if table.arity == 2:
        cell = v.integer("add", v.integer("mul", cell, shape[1]), intervals[1])
    base = v.integer("mul", cell, int(np.prod(degrees)))
    inner = degrees[-1]

    def coefficient(k: int) -> str:
        return v.elements(array, v.integer("add", base, k))

    values = []
    for row in range(degrees[0] if table.arity == 2 else 1):
        value = coefficient(row * inner + inner - 1)
        for power in reversed(range(inner - 1)):
            value = v.add(v.mul(value, distances[-1]), coefficient(row * inner + power))
        values.append(value)
    result = values[-1]
    for value in reversed(values[:-1]):
        result = v.add(v.mul(result, distances[0]), value)
    return result
