"""Compiled sections of a change of configuration, with one set of parameter values; see
program/configurations/sections.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from armillary.algebra.arguments import unsigned_zeros
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import change_text
from armillary.program.configurations.sections import ENTER, IMPULSE, LEAVE, RATINGS, with_changes
from armillary.program.equations import DerivedEquations
from armillary.runtime.addresses import lasting

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)
_PRECOMPUTE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)
_NOTHING = np.zeros(1)


class ChangeCode:
    """The sections of changes of one configuration as machine code."""

    def __init__(self, equations: DerivedEquations) -> None:
        self.program = with_changes(equations).program
        self._code = Compiled(change_text(self.program))
        self._precompute = _PRECOMPUTE(self._code.address("precompute"))
        self.lengths = {s.name: len(s.results) for s in self.program.changes}
        self._functions: dict[str, Callable[..., None]] = {}

    def function(self, name: str) -> Callable[..., None]:
        """A section as a function of a time and the addresses of its arrays, with a motion for the state."""
        if name not in self._functions:
            self._functions[name] = _FUNCTION(self._code.address(name))
        return self._functions[name]

    def address(self, name: str) -> int:
        """The address of a section."""
        return self._code.address(name)

    def constants(self, inside: np.ndarray) -> np.ndarray:
        """Constants for values of all parameters in the model's own units."""
        constants, inside = np.zeros(max(len(self.program.constants), 1)), np.ascontiguousarray(inside)
        self._precompute(inside.ctypes.data, constants.ctypes.data)
        return constants


class Changes:
    """The sections of changes of one configuration, for the parameters of a run.

    A motion is [coordinates, all speeds, states of the user's own].
    """

    def __init__(self, code: ChangeCode, inside: Callable[[], np.ndarray]) -> None:
        self._code, self._inside = code, inside

    @lasting
    def constants(self) -> np.ndarray:
        return self._code.constants(self._inside())

    def leave(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """The motion of a state."""
        return self._call(LEAVE, t, state, memory)

    def enter(self, t: float, motion: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """The state of a motion that satisfies the constraints and locks of this configuration."""
        return self._call(ENTER, t, motion, memory)

    def impulse(self, t: float, motion: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """All speeds after the locks of this configuration have closed in a motion."""
        return self._call(IMPULSE, t, motion, memory)

    def ratings(self, t: float, motion: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """How good each choice of dependent speeds of the group is: 1 at best, 0 where it is singular."""
        return self._call(RATINGS, t, motion, memory)

    def _call(self, name: str, t: float, given: np.ndarray, memory: np.ndarray) -> np.ndarray:
        out, stored = np.empty(self._code.lengths[name]), memory if memory.size else _NOTHING
        y = np.ascontiguousarray(given, dtype=float)
        places = (a.ctypes.data for a in (y, self.constants, stored, out))
        self._code.function(name)(t, *places)
        return unsigned_zeros(out)
