"""Compiled models that carry the derivatives of their motion along.

A state is [coordinates, speeds, states, S₁, S₂, …], one S = ∂[coordinates, speeds, states]/∂p, times the
size of p, for every parameter or initial value p; ``outputs`` and runs have columns d(output)/d(p) in stated
units. See program/derivatives/sensitivities/equations.py. ``base`` is the model without derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import cast

import numpy as np

from armillary.algebra.calculus import ValueTable, evaluator, tangents
from armillary.errors import ParameterError
from armillary.llvm.jit import Compiled
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.units import state_factor
from armillary.program.derivatives.rate_columns import with_partial_rates
from armillary.program.derivatives.sensitivities import (
    DerivedSensitiveEquations,
    JumpCheck,
    jump_check,
    sensitive_equations,
)
from armillary.runtime.models.compiled import CompiledModel, Compiler
from armillary.runtime.models.programs.configured_program import as_program_of, driven_equations
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.derivatives import Along, StartDerivatives
from armillary.runtime.start.initial import initial_memory, vector
from armillary.runtime.start.place import Place
from armillary.settings import Initial
from armillary.untyped import AnyFunction, Given


class CompiledSensitiveModel(CompiledModel):
    """One system's equations and their derivatives as machine code."""

    changes_inside = False

    equations: DerivedSensitiveEquations

    def __init__(
        self,
        equations: DerivedSensitiveEquations,
        code: Compiled,
        seconds: float,
        compiler: Compiler,
        base: CompiledModel | None = None,
    ) -> None:
        super().__init__(equations, code, seconds, compiler)
        assert equations.plain is not None
        base = base or compiler(equations.plain)
        self._base = base
        self.speed_names = base.speed_names
        self.directions = tuple(d.name for d in equations.directions)
        self._starts = StartDerivatives(base.equations, equations.directions)

    @property
    def base(self) -> CompiledModel:
        """The model without derivatives of its motion."""
        return self._base

    @property
    def own_states(self) -> int:
        """How many states are of the motion, before its derivatives."""
        return len(self.base.equations.program.state)

    @property
    def start_tail(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Derivatives at the start of every run: ones and zeros, where nothing has to be found there."""
        starts, moved = self._starts, self.equations.directions
        four = [start + k for start in self.equations.program.quaternions for k in range(4)]
        if any(d.name in (self.coordinate_names[i] for i in four) for d in moved):
            return None
        states = starts.seed([*self.coordinate_names, *self.speed_names, *self.state_names])
        return states.ravel(), self._extend_memory(np.empty(0), starts.seed(starts.memories))

    @cached_property
    def differentiated(self) -> CompiledModel:
        """The same model with the partial derivatives of its rates."""
        found = with_partial_rates(self.equations, sparse=not self.changes_configuration)
        return self if found.program is self.equations.program else self.compiler(found, base=self.base)

    @cached_property
    def driven(self) -> CompiledModel:
        """The same model, whose inputs are read from data over time."""
        return self.compiler(driven_equations(self.equations), base=self.base.driven)

    def with_sensitivities(
        self, to: Sequence[Given], of: Sequence[str] | None = None, *, ignore_jumps: bool = False
    ) -> CompiledSensitiveModel:
        """The system's model with other derivatives."""
        return self.base.with_sensitivities(to, of, ignore_jumps=ignore_jumps)

    def refusal(self, inside: Mapping[str, float]) -> str:
        """The message where rates jump with these parameters."""
        return self._jumps(inside) if self._jumps is not None else ""

    @property
    def may_refuse(self) -> bool:
        """Whether there is a switch that may jump."""
        return self._jumps is not None

    @cached_property
    def _jumps(self) -> JumpCheck | None:
        return jump_check(self.equations)

    # ------------------------------------------------------------ values

    def second_half(
        self, instance: Instance, t: float, q: np.ndarray, u: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        """The part of a state after the coordinates, without derivatives."""
        return self.base.second_half(self.plain(instance), t, q, u, memory)

    def plain(self, instance: Instance) -> Instance:
        """The program without derivatives of its motion."""
        return Instance(self.base, instance.parameters, instance.inputs)

    def _memory_vector(self, memory: Given, t: float) -> np.ndarray:
        by_name = memory if isinstance(memory, Mapping) else None
        stored = self._extend_memory(initial_memory(self.equations, by_name, t))
        return stored if memory is by_name else vector(memory, len(stored), "memory")

    def _extend_memory(self, memory: np.ndarray, moved: np.ndarray | None = None) -> np.ndarray:
        """Memory with its derivatives, zero where none are given."""
        kept = list(self.equations.memory_places)
        rows = np.zeros((len(self.directions), len(kept))) if moved is None else moved[:, kept]
        return np.concatenate([memory, rows.ravel()])

    def tolerances(self, atol: float | Sequence[float]) -> float | Sequence[float]:
        """Return the tolerances of all states, from the tolerances of coordinates and speeds: the same for
        each derivative.
        """
        count = len(self.base.equations.program.state)
        return np.tile(atol, 1 + len(self.directions)).tolist() if np.shape(atol) == (count,) else atol

    # ------------------------------------------------------------ where a run starts, and goes on

    def place_at_start(self, instance: Instance, initial: Initial, t: float, memory: np.ndarray) -> Place:
        """The place where a run starts, with its derivatives."""
        initial = self._name_initial_values(initial)
        plain = self.plain(instance)
        place = self.base.place_at_start(plain, initial, t, memory)
        found = self._starts.of(plain, place, initial, memory)
        along = np.hstack([found.q, found.u, found.states])
        return place._replace(memory=self._extend_memory(place.memory, found.memory), along=along)

    def _name_initial_values(self, initial: Initial) -> Initial:
        """Return the initial values with every value that the motion is differentiated by; omitted ones are
        as described in the system.
        """
        directions = self.equations.directions
        varied = [d for d in directions if d.role in ("coordinate", "speed", "state")]
        if initial is not None and not isinstance(initial, Mapping):
            guessed = {q.data.name for q in self.equations.reduction.corrections}
            if wrong := [d.name for d in varied if d.name in guessed]:
                raise ParameterError(
                    f"in a whole initial state '{wrong[0]}' is a first guess, so it has "
                    "no derivatives; give initial values by name"
                )
            return initial
        described = {s.data.name: value for s, value in self.equations.system.initial.items()}
        said = {str(name): value for name, value in (initial or {}).items()}
        return {d.name: described[d.name] / d.factor for d in varied} | said

    def further_states(self, instance: Instance, place: Place) -> np.ndarray:
        """The derivatives S of a state."""
        n, columns = len(self.coordinate_names), len(self.directions)
        if place.along is None:
            return np.zeros(columns * len(self.base.equations.program.state))
        speeds = [u.data.name for u in self.equations.system.speeds]
        last = n + len(speeds)
        free = [n + speeds.index(name) for name in self.speed_names]
        second = place.along[:, free]
        if self._momenta is not None:
            values = self.plain(instance).values(place)
            moved = self._starts.moved(values, place.along[:, :n], place.along[:, n:last])
            second = self._momenta(values, moved).T
        return np.hstack([place.along[:, :n], second, place.along[:, last:]]).ravel()

    @cached_property
    def _momenta(self) -> Along | None:
        """Derivatives of momenta, where these are states in place of speeds."""
        conversion = self.base.equations.conversion
        return None if conversion is None else Along(conversion)

    def along(self, instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
        """Derivatives of all coordinates, speeds and states, for another choice of independent speeds."""
        if not self.equations.reduction.rows:
            return None
        values: ValueTable = self.inside(instance.parameters)
        program = self.equations.program
        values |= {s.data.name: x for s, x in zip(program.state, state.tolist(), strict=True)}
        values |= {s.data.name: x for s, x in zip(program.memory, memory.tolist(), strict=True)}
        found = self._all_speeds({**values, program.time.data.name: t})
        shape = (len(self.directions), -1)
        base = state[len(self.base.equations.program.state) :].reshape(shape)
        n, m = len(self.coordinate_names), len(self.coordinate_names) + len(self.speed_names)
        return np.hstack([base[:, :n], np.reshape(found, shape), base[:, m:]])

    @cached_property
    def _all_speeds(self) -> AnyFunction:
        """Derivatives of all speeds, direction by direction, as a function of values by name."""
        columns = {c.name: c.expression for c in self.base.equations.targets.columns}
        speeds = [columns[u.data.name] * state_factor(u) for u in self.equations.system.speeds]
        return evaluator([x for moving in self.equations.moving for x in tangents(speeds, moving)])

    def in_configuration(self, configuration: Configuration) -> CompiledModel:
        """The same system's model in another configuration, with the same derivatives."""
        known = self.base.configuration_models
        if configuration not in known:
            known.setdefault(configuration, self.base.in_configuration(configuration))
        base = cast("CompiledModel", known[configuration])
        found = sensitive_equations(base.equations, self.directions, self.equations.of, ignore_jumps=True)
        return self.compiler(as_program_of(self.equations, found), base=base)

    def __repr__(self) -> str:
        return f"SensitiveModel({self.equations.system.name!r}, to {', '.join(self.directions)})"
