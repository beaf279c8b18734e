"""Starts of many runs that have to be found: closed loops, mass centres, started memories, momenta.

Loops are closed and momenta computed in compiled loops over the runs; expressions are evaluated for all runs
at once.
"""

from __future__ import annotations

import numpy as np

from armillary.algebra.calculus import ValueTable
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.solver.language.language import CLOSED
from armillary.runtime.start.loop_code import loop_code
from armillary.runtime.start.mass_centres import place_mass_centres, started_memory


def can_find(model: CompiledModel) -> bool:
    """Whether starts of this kind of model are found here: derivatives of starts and contacts that are
    decided at the start are not.
    """
    kind = type(model)
    ordinary = kind.place_at_start is CompiledModel.place_at_start
    ordinary = ordinary and kind.further_states is CompiledModel.further_states
    return ordinary and not model.equations.system.contacts


class FoundStarts:
    """Starts of some runs of one model: all arrays have a row per run, in the model's own units."""

    def __init__(
        self,
        model: CompiledModel,
        t0: float,
        names: tuple[str, ...],
        parameters: np.ndarray,
        q: np.ndarray,
        u: np.ndarray,
        states: np.ndarray,
        memory: np.ndarray,
        named: set[str],
    ) -> None:
        """``names`` are those of the parameters, ``u`` all speeds; what is ``named`` stays as it is, in all
        runs. Why runs cannot start is in ``failed``.
        """
        self.model, self.t0, self.states = model, t0, states
        self.names, self.parameters = names, parameters
        self.q, self.u, self.memory = q, u, memory
        self.failed: dict[int, str] = {}
        self.constants = self._constants()
        if model.equations.reduction.rows:
            self._close(named)
        self._place_centres(named)
        given = np.ascontiguousarray(memory.T)
        self.memory = np.ascontiguousarray(started_memory(model.equations, given, self._values).T)

    def _constants(self) -> np.ndarray:
        count = max(len(self.model.equations.program.constants), 1)
        given, found = np.ascontiguousarray(self.parameters), np.zeros((len(self.parameters), count))
        places = (given.ctypes.data, found.ctypes.data)
        loop_code().precompute(
            self.model.address("precompute"), len(found), given.shape[1], found.shape[1], *places
        )
        return found

    def _close(self, named: set[str]) -> None:
        loops = self.model.loops
        status, left = loops.close_many(
            self.model.address("geometry"), self.constants, self.t0, self.q, self.u, self.memory,
            loops.flags(named),
        )  # fmt: skip
        for i in np.flatnonzero(status != CLOSED).tolist():
            _, rows = loops.sizes(self.constants[i])
            self.failed[i] = loops.problem(int(status[i]), left[i], named, rows)

    def _values(self) -> ValueTable:
        """Values of all that expressions can hold, by name, an array each."""
        equations = self.model.equations
        values: ValueTable = dict(zip(self.names, self.parameters.T, strict=True))
        values |= dict(zip(equations.coordinates, self.q.T, strict=True))
        values |= {s.data.name: x for s, x in zip(equations.system.speeds, self.u.T, strict=True)}
        values |= dict(zip(equations.states, self.states.T, strict=True))
        values |= dict(zip(equations.system.memories, self.memory.T, strict=True))
        return values | {equations.system.time.data.name: self.t0}

    def _place_centres(self, named: set[str]) -> None:
        place_mass_centres(self.model.equations, self.q.T, self.u.T, self._values, named)

    def packed(self) -> np.ndarray:
        """The states of the program."""
        second = self.u[:, self.model.independent_speeds]
        if self.model.equations.conversion is not None:
            second = self._converted(second)
        return np.hstack([self.q, second, self.states])

    def _converted(self, u: np.ndarray) -> np.ndarray:
        """Momenta, or other speeds that the program chose, in place of the speeds."""
        count = len(self.model.equations.targets.speeds)
        still = np.zeros((len(u), count + self.states.shape[1]))
        work = np.ascontiguousarray(np.hstack([self.q, still, u]))
        memory = self.memory if self.memory.size else np.zeros((len(u), 1))
        times, out = np.array([float(self.t0)]), np.empty((len(u), count))
        arrays = (times, work, self.constants, memory, out)
        strides = (0, *(a.shape[1] for a in arrays[1:]))
        places = (a.ctypes.data for a in arrays)
        loop_code().evaluate(self.model.address("momenta"), len(u), *strides, *places)
        return out + 0.0  # no −0
