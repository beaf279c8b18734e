"""Initial values as given by the user: by name or in order, checked; others as described.

A ``Place`` of a motion has all coordinates and speeds, whatever the states of a program are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import NamedTuple

import numpy as np

from armillary.algebra.arguments import checked_names, table
from armillary.algebra.expression import Expr
from armillary.errors import ArmillaryError, ParameterError, nearest, shown
from armillary.model.description import Description, Memory
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.parameters import model_number
from armillary.settings import Initial
from armillary.untyped import DataTable

_FLOATS = {float, np.float64}


def vector(values: object, length: int, what: str) -> np.ndarray:
    """Return values as an array of ``length`` numbers; raise an error if they have another form."""
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArmillaryError(f"the {what} must be {length} numbers, not {shown(values)}") from None
    if found.shape != (length,):
        raise ArmillaryError(f"the {what} must be {length} numbers, not an array of shape {found.shape}")
    return found


def initial_values(equations: DerivedEquations, initial: Initial) -> tuple[np.ndarray, np.ndarray, set[str]]:
    """Return all coordinates, with unit Euler parameters, all speeds, and the names that the user gave."""
    q, u, _, named = whole_start(equations, initial)
    return q, u, named


def whole_start(
    equations: DerivedEquations, initial: Initial
) -> tuple[np.ndarray, np.ndarray, np.ndarray, set[str]]:
    """Return all coordinates, with unit Euler parameters, all speeds, the user's own states, and the names
    that the user gave.
    """
    given = {} if initial is None else initial
    places, described = equations.start_places
    found, named = described.copy(), set(given) if type(given) is dict else set()
    try:
        for key in named:
            number, factor = places[key]
            found[number] = given[key] * factor
        plain = type(given) is dict and {*map(type, given.values())} <= _FLOATS and all(map(isfinite, found))
    except (KeyError, TypeError, OverflowError):
        plain = False
    if not plain:  # not plain numbers by name, or a value that is not finite
        values, named = given_values(equations, initial)
        found = [*map(values.__getitem__, equations.motion_names)]
    y = np.array(found, dtype=float)
    first, last = len(equations.coordinates), len(y) - len(equations.states)
    return _unit_quaternions(equations, y[:first]), y[first:last], y[last:], named


def initial_states(equations: DerivedEquations, initial: Initial) -> np.ndarray:
    """Return the user's own states."""
    if not equations.states:
        return np.empty(0)
    values, _ = given_values(equations, initial)
    return np.array([values[name] for name in equations.states], dtype=float)


def given_values(equations: DerivedEquations, initial: Initial) -> tuple[dict[str, float], set[str]]:
    """Return initial values of all coordinates, speeds and states by name, and the names that the user
    gave.
    """
    values = dict(equations.described_start)
    if initial is not None and not isinstance(initial, Mapping):
        state = [*equations.coordinates, *equations.speeds, *equations.states]
        whole = vector(initial, len(state), "initial state")
        values |= dict(zip(state, whole.tolist(), strict=True))
        # In a whole state, coordinates that constraints decide are first guesses.
        guessed = {q.data.name for q in equations.reduction.corrections}
        named = set(state) - guessed
    else:
        given, factors = initial or {}, equations.start_factors
        named = {str(key) for key in given}
        for key, value in given.items():
            if isinstance(value, float) and type(key) is str and key in factors:
                values[key] = value * factors[key]
            else:
                values[str(key)] = _start_number(equations, str(key), value)
        if not all(map(isfinite, values.values())):
            for key, value in given.items():
                _start_number(equations, str(key), value)  # raises an error about a given value
    if not all(map(isfinite, values.values())):
        name = next(name for name, value in values.items() if not isfinite(value))
        raise ParameterError(f"the initial value of '{name}' is not a finite number")
    return values, named


def _start_number(equations: DerivedEquations, name: str, value: object) -> float:
    symbol = equations.startable.get(name)
    if symbol is None:
        raise _no_initial_value(equations, name)
    return state_number(symbol, value, f"the initial value of '{name}'")


def _no_initial_value(equations: DerivedEquations, name: str) -> ParameterError:
    system = equations.system
    known = equations.motion_names
    given = {p.speed.data.name for p in equations.reduction.given.values()}
    if name in given or (name not in known and any(name == q.data.name for q in system.coordinates)):
        how = "locked" if name in equations.configuration.locked else "prescribed"
        return ParameterError(f"'{name}' is {how}, so it has no initial value")
    return ParameterError(f"there is no coordinate, speed or state '{name}'{nearest(name, known)}")


def state_number(symbol: Expr, value: object, where: str) -> float:
    """Return a symbol's value in the model's units, from a number or text in stated units, or a quantity."""
    data = symbol.data
    factor, system = state_factor(symbol), data.owner.units
    return model_number(value, where, data.units or "", factor, system, symbol.dimension)


def _unit_quaternions(equations: DerivedEquations, q: np.ndarray) -> np.ndarray:
    for start in equations.program.quaternions:
        length = float(np.linalg.norm(q[start : start + 4]))
        if length == 0.0:
            raise ParameterError(
                f"the Euler parameters from '{equations.coordinates[start]}' on are all zero"
            )
        q[start : start + 4] /= length
    return q


def initial_memory(
    equations: DerivedEquations, given: Mapping[str, float] | None = None, t0: float | None = None
) -> np.ndarray:
    """Return the memory with which a run starts; clocks of periodic updates one period after ``t0``."""
    system = equations.system
    if not system.memories and given is None:
        return np.empty(0)
    names = list(system.memories)
    stored = np.array([m.initial for m in system.memories.values()], dtype=float)
    for i, memory in enumerate(system.memories.values()):
        if memory.period is not None and t0 is not None:
            stored[i] = t0 + memory.period
    values = table(given, "memory=", ParameterError)
    for name, value in checked_memories(values, system).items():
        stored[names.index(name)] = memory_number(system, system.memories[name], value)
    return stored


def checked_memories(given: Iterable[str], system: Description) -> DataTable:
    """Return values by names of memories; raise an error if a name is unknown.

    For name_mode, which is now name_status, the error says so.
    """
    for name in map(str, given):
        renamed = name.removesuffix("_mode") + "_status"
        if name.endswith("_mode") and name not in system.memories and renamed in system.memories:
            raise ParameterError(f"there is no memory '{name}'; it is called '{renamed}'")
    return checked_names(given, system.memories, "there is no memory", ParameterError)


def memory_number(system: Description, memory: Memory, value: object) -> float:
    """Return a memory's value in the model's units, from a number or text in stated units, or a quantity."""
    symbol, where = memory.symbol, f"memory '{memory.symbol}'"
    units = symbol.data.units or ""
    return model_number(value, where, units, memory.factor, system.units, symbol.dimension)


_NONE = np.empty(0)


class Place(NamedTuple):
    """Time, all coordinates and all speeds, memory, and the user's own states."""

    t: float
    q: np.ndarray
    u: np.ndarray
    memory: np.ndarray
    states: np.ndarray = _NONE
    note: str = ""  # a note on how it was computed
    along: np.ndarray | None = None  # derivatives of q, u and states, one row each; sensitivities.py
    holds: bool = False  # whether it was computed so that all constraints hold

    @property
    def motion(self) -> np.ndarray:
        """[coordinates, all speeds, states], the argument of sections of changes."""
        return np.concatenate([self.q, self.u, self.states])
