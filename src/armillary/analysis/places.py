"""Places of a motion as a user gives them: coordinates, speeds and their rates, one of each or many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import checked_names, reals, table
from armillary.algebra.calculus import Values
from armillary.errors import ArmillaryError, ParameterError
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.start.initial import initial_memory, initial_states, vector
from armillary.untyped import DataMapping


@dataclass(frozen=True, eq=False)
class Places:
    """Rows of times, states [q, u, own states], rates u̇ and memory; ``shape`` has their leading axes,
    () for a single place.
    """

    t: np.ndarray
    states: np.ndarray
    rates: np.ndarray
    memory: np.ndarray
    shape: tuple[int, ...]


def _repeat_for_parameters(places: Places, parameters: Mapping[str, object] | None) -> Places:
    """A single place once for each of the parameters' values, where some are arrays."""
    given = table(parameters, "parameters=", ParameterError)
    counts = {len(value) for value in given.values() if np.ndim(value) == 1}
    if len(counts) != 1:
        return places
    n = counts.pop()
    t, states = np.repeat(places.t, n), np.repeat(places.states, n, axis=0)
    return Places(t, states, np.repeat(places.rates, n, axis=0), np.repeat(places.memory, n, axis=0), (n,))


class PlaceReader:
    """Places of a system from arrays with any leading axes, or from values by name in stated units.

    ``verb`` begins the sentences of errors.
    """

    def __init__(self, equations: DerivedEquations, verb: str = "inverse()") -> None:
        system = equations.system
        self.equations, self.verb = equations, verb
        self.coordinates, self.speeds, self.states = equations.coordinates, equations.speeds, equations.states
        self.symbols = {s.data.name: s for s in system.initial}
        self.start = {s.data.name: float(value) for s, value in system.initial.items()}
        self._own = initial_states(equations, None)
        self._still = np.zeros(len(self.speeds))

    def read(
        self,
        model: CompiledModel,
        q: object,
        u: object,
        udot: object,
        t: object,
        memory: object,
        states: object,
        parameters: Mapping[str, object] | None = None,
    ) -> Places:
        """Places, of which a single one is there once for each of the parameters' values where some are
        arrays; left out, speeds and rates are zero, states and memory as at the start of a run.
        """
        equations, times = self.equations, self._numbers(t, "t")
        if isinstance(q, Mapping) and equations.reduction.rows and (u is None or isinstance(u, Mapping)):
            q, u = self._assemble(model, q, u, times, parameters)
        read = [
            self.rows(q, self.coordinates, "q", "coordinate"),
            self._still if u is None else self.rows(u, self.speeds, "u", "speed", {}),
            self._still if udot is None else self.rows(udot, self.speeds, "udot", "speed", {}),
            self._own if states is None else self.rows(states, self.states, "states", "state"),
            self._memory_of(memory, times),
        ]
        if times.ndim == 0 and all(a.ndim == 1 for a in read):
            whole = np.concatenate([read[0], read[1], read[3]])
            single = Places(times[None], whole[None], read[2][None], read[4][None], ())
            return _repeat_for_parameters(single, parameters)
        try:
            shape = np.broadcast_shapes(times.shape, *(a.shape[:-1] for a in read))
        except ValueError:
            words = ", ".join(f"{name} {a.shape}" for name, a in zip(("q", "u", "udot"), read, strict=False))
            raise ArmillaryError(
                f"{self.verb}: the leading axes of {words} do not fit together; give each as many "
                "rows, or one"
            ) from None
        count = math.prod(shape)
        rows = [np.broadcast_to(a, (*shape, a.shape[-1])).reshape(count, a.shape[-1]) for a in read]
        whole = np.concatenate([rows[0], rows[1], rows[3]], axis=1)
        return Places(np.broadcast_to(times, shape).reshape(count), whole, rows[2], rows[4], shape)

    def rows(
        self,
        value: object,
        names: Sequence[str],
        what: str,
        noun: str,
        start: Mapping[str, float] | None = None,
    ) -> np.ndarray:
        """Values along the last axis, in the order of the names; names left out keep their start values."""
        start = self.start if start is None else start
        if isinstance(value, Mapping):
            return self._by_name(value, names, start, what, noun)
        if value is None:
            return np.array([start.get(name, 0.0) for name in names])
        found = self._numbers(value, what)
        if found.ndim == 0 or found.shape[-1] != len(names):
            listed = f": {', '.join(names)}" if names else ""
            raise ArmillaryError(
                f"{self.verb}: {what} has the shape {found.shape}, but there are {len(names)} {noun}s{listed}"
            )
        return found

    def _numbers(self, value: object, what: str) -> np.ndarray:
        return reals(value, f"{self.verb}: {what}")

    def _by_name(
        self,
        value: Values,
        names: Sequence[str],
        start: Mapping[str, float],
        what: str,
        noun: str,
    ) -> np.ndarray:
        missing, after = f"{self.verb}: {what} names", f", which is not an independent {noun}"
        given = checked_names(value, names, missing, ParameterError, after=after, listed=True)
        own = {
            name: self._numbers(x, f"{what}[{name!r}]") * state_factor(self.symbols[name])
            for name, x in given.items()
        }
        columns = [own[name] if name in own else np.array(start.get(name, 0.0)) for name in names]
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    def _memory_of(self, memory: object, times: np.ndarray) -> np.ndarray:
        if memory is None and not self.equations.system.memories:
            return np.empty(0)
        if memory is None or isinstance(memory, Mapping):
            return initial_memory(self.equations, memory, float(np.min(times)) if times.size else 0.0)
        found = self._numbers(memory, "memory")
        length = len(self.equations.system.memories)
        return found if found.ndim > 1 and found.shape[-1] == length else vector(memory, length, "memory")

    def _assemble(
        self,
        model: CompiledModel,
        q: Values,
        u: Values | None,
        times: np.ndarray,
        parameters: DataMapping | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates that close the loops, near the named ones, and speeds that agree with them.

        Independent speeds that are left out are zero unless a dependent speed is named.
        """
        equations, own = self.equations, {str(name): value for name, value in (u or {}).items()}
        if {*own} <= {*self.speeds}:
            own = dict.fromkeys(self.speeds, 0.0) | own
        given = table(parameters, "parameters=", ParameterError)
        if times.ndim or any(np.ndim(value) for value in (*q.values(), *own.values(), *given.values())):
            raise ArmillaryError(
                f"{self.verb}: arrays by name leave open how loops are closed; give q as an array of all "
                f"coordinates, {', '.join(equations.coordinates)}, e.g. from a run"
            )
        if model.speed_names != equations.speeds:
            raise ArmillaryError(f"{self.verb}: give q and u of this model as arrays of closed positions")
        whole = model.state({**q, **own}, given, float(times))
        n = len(equations.coordinates)
        return whole[:n], whole[n : n + len(equations.speeds)]
