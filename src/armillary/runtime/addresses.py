"""Addresses of arrays for generated code, and properties whose arrays must keep their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

Made = TypeVar("Made")

_NOTHING = np.zeros(1)
_NOWHERE = _NOTHING.ctypes.data


def address(array: np.ndarray) -> int:
    """Return the address of an array; for an empty array, the address of another array, never 0."""
    if not array.size:
        return _NOWHERE
    buffer: Any = array  # NumPy's type hints call it a buffer only from Python 3.12 on
    try:
        # a quarter of the time of `array.ctypes.data`
        return ctypes.addressof(ctypes.c_double.from_buffer(buffer))
    except TypeError:  # for a read-only array
        return array.ctypes.data


class kept_with_owner(Generic[Made]):
    """A property that is computed once.

    If several threads compute it at the same time, all get the first result, which lives as long as its
    owner. With `functools.cached_property` the last result would replace the first, whose address may be in
    use.
    """

    def __init__(self, compute: Callable[[Any], Made]) -> None:  # ``compute`` is called with the owner
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, kind: type | None = None) -> Made:
        if owner is None:
            # Access through the class returns the descriptor itself, which has another type for mypy.
            return self  # type: ignore[return-value]
        found: Made = vars(owner).setdefault(self._name, self._compute(owner))
        return found
