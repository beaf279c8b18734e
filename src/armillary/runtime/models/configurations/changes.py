"""Compiled sections of a change of configuration, with one set of parameter values; see
program/configuration_changes.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import unsigned_zeros
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import change_text
from armillary.mechanics.constraints.reduction import Configuration
from armillary.program.configuration_changes import ENTER, IMPULSE, LEAVE, with_ratings
from armillary.program.configurations import configurations_of
from armillary.program.equations import DerivedEquations
from armillary.program.program import Program
from armillary.runtime.addresses import kept_with_owner

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)
_PRECOMPUTE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)
_NOTHING = np.zeros(1)


class ChangeCode:
    """The sections of changes of one configuration as machine code."""

    def __init__(self, program: Program) -> None:
        self.program = program
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

    def call(
        self, name: str, t: float, given: np.ndarray, constants: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        """The results of a section at a time, with a motion for the state."""
        out, stored = np.empty(self.lengths[name]), memory if memory.size else _NOTHING
        y = np.ascontiguousarray(given, dtype=float)
        self.function(name)(t, *(a.ctypes.data for a in (y, constants, stored, out)))
        return out

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
        self._code, self.inside = code, inside

    @kept_with_owner
    def constants(self) -> np.ndarray:
        return self._code.constants(self.inside())

    def leave(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """The motion of a state."""
        return self._call(LEAVE, t, state, memory)

    def enter(self, t: float, motion: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """The state of a motion that satisfies the constraints and locks of this configuration."""
        return self._call(ENTER, t, motion, memory)

    def impulse(self, t: float, motion: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """All speeds after the locks of this configuration have closed in a motion."""
        return self._call(IMPULSE, t, motion, memory)

    def _call(self, name: str, t: float, given: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return unsigned_zeros(self._code.call(name, t, given, self.constants, memory))


@dataclass(frozen=True)
class RatedChoices:
    """The choices of dependent speeds with one set of locks, with the code of their ratings."""

    configurations: tuple[Configuration, ...]
    code: ChangeCode


def rated_choices(equations: DerivedEquations, locked: frozenset[str]) -> RatedChoices | None:
    """Return the choices that the table of these equations has for a set of locks; `None` if there is only
    one.
    """
    table = configurations_of(equations)
    ratings = table.ratings(locked)
    if not ratings:
        return None
    choices = tuple(table[number].configuration for number in table.groups[locked])
    return RatedChoices(choices, ChangeCode(with_ratings(equations, ratings)))
