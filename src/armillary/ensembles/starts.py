"""The starts of many runs: parameters, states and memory, from values that may differ from run to run.

The starts of a block of runs are computed together if they are numbers given by name, or if `FoundStarts` can
compute them (closed loops, mass centres, memories that begin with an expression, momenta). If the status of
contacts is decided at the start, or states include derivatives of the motion, the code of single runs
computes the start of each run, or of one run if all runs start alike.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from armillary.algebra.calculus import ValueTable, evaluator
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.walk import symbols
from armillary.ensembles.start_values import GivenValues, VariedValues, of_run, run_count
from armillary.errors import ArmillaryError, ParameterError
from armillary.runtime.inputs.reading import DrivenInputs
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.failures import weak_start
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.parameters import (
    check_physical,
    negative_quantity,
    parameter_table,
    physical_quantities,
    with_these,
)
from armillary.runtime.start.initial import (
    initial_memory,
    initial_states,
    initial_values,
    place_mass_centres,
    started_memory,
    state_number,
)
from armillary.solver.language.language import CLOSED
from armillary.solver.llvm.closing_code import loop_code
from armillary.untyped import DataTable

# Computed starts of many runs: closed loops, mass centres, memories that begin with expressions, momenta.
# Compiled code closes loops and computes momenta run by run; expressions are evaluated for all runs at once.


def can_find(model: CompiledModel) -> bool:
    """Return whether `FoundStarts` can compute the starts of this model.

    It computes neither derivatives of the motion nor the status of contacts.
    """
    kind = type(model)
    ordinary = kind.place_at_start is CompiledModel.place_at_start
    ordinary = ordinary and kind.further_states is CompiledModel.further_states
    return ordinary and not model.equations.system.contacts


class FoundStarts:
    """The computed starts of some runs: all arrays have a row per run, in the model's own units."""

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
        """Compute the starts; ``names`` are the parameters' names, ``u`` has all speeds.

        Values in ``named`` stay unchanged. ``failed`` has the reasons why runs cannot start.
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
        """Return the values of all symbols of expressions by name: arrays with a number per run."""
        equations = self.model.equations
        values: ValueTable = dict(zip(self.names, self.parameters.T, strict=True))
        values |= dict(zip(equations.coordinates, self.q.T, strict=True))
        values |= {s.data.name: x for s, x in zip(equations.system.speeds, self.u.T, strict=True)}
        values |= dict(zip(equations.states, self.states.T, strict=True))
        values |= dict(zip(equations.system.memories, self.memory.T, strict=True))
        return values | {equations.system.time.data.name: self.t0}

    def _place_centres(self, named: set[str]) -> None:
        place_mass_centres(self.model.equations, self.q.T, self.u.T, self._values, named)

    def state_rows(self) -> np.ndarray:
        """Return the states of the program, a row per run."""
        second = self.u[:, self.model.independent_speeds]
        if self.model.equations.conversion is not None:
            second = self._convert_speeds(second)
        return np.hstack([self.q, second, self.states])

    def _convert_speeds(self, u: np.ndarray) -> np.ndarray:
        """Return momenta, or other speeds that the program has chosen, instead of the speeds."""
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


_EXAMINED = 64  # sets of parameters that are checked first
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]
# Quantities of a body or contact that cannot be negative: the beginning of an error message, their
# expressions by name, and a function that evaluates these.
Quantities = tuple[str, dict[str, Expr], Any]


@dataclass(frozen=True)
class CompactBlock:
    """Parameters, states and memory of neighbouring runs, in the model's own units.

    ``parameters`` has the values of the batch's first run; ``varied`` has the columns of the parameters that
    differ, by their index. ``state`` and ``memory`` have a column per run, or a single column if all runs
    start alike.
    """

    parameters: np.ndarray
    varied: dict[int, np.ndarray]
    state: np.ndarray
    memory: np.ndarray


class Starts(VariedValues):
    """The starts of all runs of a batch: checks, and blocks of starts in the model's own units."""

    def __init__(
        self,
        model: CompiledModel,
        parameters: GivenValues | None,
        initial: object,
        memory: GivenValues | None,
        runs: int | None,
        t0: float,
        like: Starts | None = None,
        inputs: DrivenInputs | None = None,
    ) -> None:
        """Check the given values; ``like`` are starts of the same model whose tables are reused."""
        table = like.table if like else parameter_table(model.equations)
        super().__init__(model, table, parameters, initial, memory, inputs)
        self.t0 = t0
        self.quantities: list[Quantities] = like.quantities if like else _quantities(model)
        self.failed: dict[int, str] = {}  # reasons why runs cannot start; threads add to it
        self._making = threading.Lock()
        self.runs = run_count(self._lengths(), runs)
        self.unable = np.zeros(self.runs, dtype=bool)  # flags of the runs that cannot start
        self._check()

    # ------------------------------------------------------------ runs that cannot start

    def _check(self) -> None:
        """Raise errors for missing, impossible or unknown values before any run."""
        table, equations = self.table, self.model.equations
        values = table.values(self._first_parameters)
        one = self.single(0)
        self.model.check_start(self._first_initial)
        initial_memory(equations, one["memory"], self.t0)
        if not self.columns["parameters"]:
            check_physical(equations.system, table, values)
            if why := self.model.refusal(dict(zip(table.names, table.inside(values), strict=True))):
                raise ParameterError(with_these(why))
            return
        inside: DataTable = dict(zip(table.names, table.inside(values).tolist(), strict=True))
        inside |= self.columns["parameters"]
        self._exclude_negative(inside)
        known = {name: inside[name] for name in (*values, *self.columns["parameters"])}
        self._exclude_massless(known)
        if self.model.may_refuse:
            self._exclude_unsuitable_runs(known)

    def _exclude_negative(self, inside: DataTable) -> None:
        """Exclude runs whose parameters make a quantity negative that cannot be, such as a mass."""
        for where, quantities, evaluated in self.quantities:
            for value, what in zip(evaluated(inside), quantities, strict=True):
                if np.ndim(value) == 0 and value >= 0:
                    continue
                sizes = np.broadcast_to(value, self.runs)
                for i in np.flatnonzero((sizes < 0) & ~self.unable):
                    words = f"{where}: its {what}"
                    self._fail(int(i), negative_quantity(words, float(sizes[i]), quantities[what]))

    def _exclude_massless(self, inside: DataTable) -> None:
        """Exclude runs whose parameters leave a joint without any mass to move."""
        for i, why in self.table.masses.all_singular(inside, self.runs).items():
            if not self.unable[i]:
                self._fail(i, with_these(why))

    def _exclude_unsuitable_runs(self, inside: DataTable) -> None:
        """Exclude runs that this kind of model refuses.

        A few runs with widely different values are checked first; the others are checked only if one of these
        is refused.
        """
        spread = np.unique(np.linspace(0, self.runs - 1, _EXAMINED).astype(int))
        ends = [f(column) for column in self.columns["parameters"].values() for f in (np.argmin, np.argmax)]
        first = np.unique([*spread, *ends])
        for these in (first, np.setdiff1d(np.arange(self.runs), first)):
            for i in these.tolist():
                if not self.unable[i] and (why := self.model.refusal(of_run(inside, i))):
                    self._fail(i, with_these(why))
            if not self.failed:
                return

    def _exclude_weak_places(self, state: np.ndarray, i0: int) -> None:
        """Exclude runs from i0 on that start in a configuration with a motion without mass.

        The candidates are runs that start with the three axes of a joint in one plane. Those with extreme
        parameters are checked first; the others are checked only if one of these fails.
        """
        columns = self.columns["parameters"].values()
        for joint in self.model.three_angles:
            locked = i0 + np.flatnonzero(joint.is_locked(state[joint.middle]))
            if not locked.size:
                continue
            ends = [int(f(column[locked])) for column in columns for f in (np.argmin, np.argmax)]
            first = locked[np.unique([0, *ends])]
            found = {i: self._weakness(i) for i in first.tolist()}
            if any(found.values()):
                why = found[int(locked[0])]
                others = np.setdiff1d(locked, first).tolist()
                found |= {i: self._weakness(i) if columns else why for i in others}
            for i, why in found.items():
                if why:
                    self._fail(i, why)

    def _weakness(self, i: int) -> str:
        """Return why a run cannot start, if it starts at a motion without mass; else ""."""
        given = self.single(i)
        instance = Instance(self.model, given["parameters"])
        memory = initial_memory(self.model.equations, given["memory"], self.t0)
        start = self.model.place_at_start(instance, given["initial"], self.t0, memory)
        return weak_start(instance, start)

    def _fail(self, i: int, why: str) -> None:
        self.failed[i] = why
        self.unable[i] = True

    def check_possible(self) -> None:
        """Raise an error if no run can start."""
        if np.all(self.unable):
            raise ParameterError(
                f"{self.failed[0]}, in all {self.runs} runs" if self.runs > 1 else self.failed[0]
            )

    # ------------------------------------------------------------ blocks

    def block(self, i0: int, i1: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return parameters, states and memory of runs i0 … i1 − 1 in the model's units, by columns."""
        return self.block_with_motion(i0, i1)[:3]

    def block_with_motion(self, i0: int, i1: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the same as ``block``, and the motions at the start: [coordinates, all speeds, states].

        Motions are computed only if loops may have to be closed, since a state does not determine dependent
        speeds that are poorly chosen; otherwise the array may have no rows.
        """
        parameters = self._parameter_columns(i0, i1)
        state, memory, motion = self._start_states(i0, i1)
        self._exclude_weak_places(state, i0)
        state[:, self.unable[i0:i1]] = np.nan  # such a run ends at once
        memory = memory if self.inputs is None else self.inputs.address_data(memory, i0)
        return parameters, state, memory, motion

    def _parameter_columns(self, i0: int, i1: int) -> np.ndarray:
        parameters = np.empty((len(self.table.names), i1 - i0))
        parameters[:] = self._inside[:, None]
        for name, column in self.columns["parameters"].items():
            parameters[self.table.names.index(name)] = column[i0:i1]
        return parameters

    def compact(self, i0: int, i1: int) -> CompactBlock:
        """Return the same as ``block``, with equal columns stored once."""
        columns = {
            self.table.names.index(name): column[i0:i1] for name, column in self.columns["parameters"].items()
        }
        alike = self._start_alike if not self._given_by_numbers else not self.columns["initial"]
        alike = alike and not self.columns["memory"] and self.given_inputs is None
        if not alike or np.any(self.unable[i0:i1]):
            _, state, memory = self.block(i0, i1)
        else:
            state, memory, _ = self._start_states(i0, i0 + 1)
            if any(joint.is_locked(state[joint.middle]).any() for joint in self.model.three_angles):
                _, state, memory = self.block(i0, i1)
        return CompactBlock(self._inside, columns, state, memory)

    @property
    def inputs(self) -> DrivenInputs | None:
        """Inputs over time; inputs without data keep their value at the start of each run."""
        with self._making:  # made once for all threads, since memories contain addresses of the data
            return self._complete_inputs

    @cached_property
    def _complete_inputs(self) -> DrivenInputs | None:
        if self.given_inputs is None:
            return None
        found = self.given_inputs.complete(self._given_memory(0, self.runs))
        _ = found.blocks
        return found

    @cached_property
    def _inside(self) -> np.ndarray:
        return self.table.inside(self.table.values(self._first_parameters))

    def _start_states(self, i0: int, i1: int) -> Columns:
        """Return states, memory and motions of some runs."""
        if self._given_by_numbers:
            return self._numeric_starts(i0, i1)
        if self._start_alike:
            state, memory, motion = (np.tile(a[:, None], (1, i1 - i0)) for a in self._common_start)
            return state, memory, motion
        if can_find(self.model):
            return self._found_starts(i0, i1)
        found = zip(*(self._start_or_failure(i) for i in range(i0, i1)), strict=True)
        state, memory, motion = (np.stack(columns, axis=1) for columns in found)
        return state, memory, motion

    @cached_property
    def _common_start(self) -> Columns:
        """The start of every run, if all start alike."""
        return self._single_start(0)

    def _single_start(self, i: int) -> Columns:
        """Return state, memory and motion of a run, computed as for a single run."""
        given = self.single(i)
        instance = Instance(self.model, given["parameters"])
        stored = initial_memory(self.model.equations, given["memory"], self.t0)
        stored = stored if self.given_inputs is None else self.given_inputs.at(self.t0, stored, i)
        place = self.model.place_at_start(instance, given["initial"], self.t0, stored)
        return instance.pack_state(place), place.memory, place.motion

    def _start_or_failure(self, i: int) -> Columns:
        """Return the start of a run; if it cannot start, exclude it and return NaN."""
        try:
            return self._single_start(i)
        except ArmillaryError as error:
            self._fail(i, str(error))
            return self._no_start

    @cached_property
    def _no_start(self) -> Columns:
        equations = self.model.equations
        state, memory = len(equations.program.state), len(equations.program.memory)
        return np.full(state, np.nan), np.full(memory, np.nan), np.full(len(equations.motion_names), np.nan)

    @cached_property
    def _given_by_numbers(self) -> bool:
        """Whether starts are only given numbers, without anything to compute."""
        equations, kind = self.model.equations, type(self.model.base)
        ordinary = self.model.start_tail is not None and kind.place_at_start is CompiledModel.place_at_start
        ordinary = ordinary and kind.second_half is CompiledModel.second_half
        started = any(m.start is not None for m in equations.system.memories.values())
        found = equations.reduction.rows or started or equations.system.contacts
        return ordinary and not (found or equations.mass_centre_starts)

    @cached_property
    def _start_alike(self) -> bool:
        """Whether all runs start alike, because no value that differs affects the start."""
        if self.columns["initial"] or self.columns["memory"]:
            return False
        if self.given_inputs is not None and any(s.runs for s in self.given_inputs.signals.values()):
            return False
        equations, kind = self.model.equations, type(self.model)
        if kind.place_at_start is not CompiledModel.place_at_start:
            return not self.columns["parameters"]
        if kind.second_half is not CompiledModel.second_half:
            return not self.columns["parameters"]
        program, system = equations.program, equations.system
        if system.contacts:
            return not self.columns["parameters"]
        expression = dict(zip(program.constants, program.precompute.results, strict=True))
        used = symbols(*program.geometry.results)
        entering = set(symbols(*[expression.get(s, s) for s in used]))
        for start in equations.mass_centre_starts:
            entering |= set(symbols(*[as_expr(x) for x in (*start.places, *start.rates)]))
        entering |= set(symbols(*[m.start for m in system.memories.values() if m.start is not None]))
        names = {s.data.name for s in entering}
        return not names & set(self.columns["parameters"])

    def _found_starts(self, i0: int, i1: int) -> Columns:
        """Return starts that must be computed."""
        model = self.model
        speeds = [s.data.name for s in model.equations.system.speeds]
        parts = np.cumsum([len(model.coordinate_names), len(speeds)])
        given = np.split(self._numbers(i0, i1, speeds), parts)
        q, u, states = (np.ascontiguousarray(part.T) for part in given)
        stored = self._given_memory(i0, i1)
        if self.given_inputs is not None:
            stored = self.given_inputs.at_runs(self.t0, stored, i0)
        memory = np.ascontiguousarray(stored.T)
        inside, named = self._parameter_columns(i0, i1).T, set(self._initial)
        try:
            found = FoundStarts(model, self.t0, self.table.names, inside, q, u, states, memory, named)
        except ArmillaryError as error:
            for i in range(i0, i1):
                self._fail(i, str(error))
            state, _, motion = (np.tile(a[:, None], (1, i1 - i0)) for a in self._no_start)
            return state, memory.T, motion
        for i, why in found.failed.items():
            self._fail(i0 + i, why)
        return found.state_rows().T, found.memory.T, np.hstack([found.q, found.u, found.states]).T

    def _numeric_starts(self, i0: int, i1: int) -> Columns:
        """Return starts that are only given numbers."""
        state = self._numbers(i0, i1, self.model.speed_names)
        memory = self._given_memory(i0, i1)
        tails = [np.tile(tail[:, None], (1, i1 - i0)) for tail in self.model.start_tail or ()]
        return np.vstack([state, tails[0]]), np.vstack([memory, tails[1]]), np.empty((0, i1 - i0))

    def _numbers(self, i0: int, i1: int, speeds: Sequence[str]) -> np.ndarray:
        """Return values of coordinates, ``speeds`` and states, given or from the description, a column per
        run.
        """
        equations = self.model.equations
        q, u, _ = initial_values(equations, self._first_initial)
        all_speeds = [s.data.name for s in equations.system.speeds]
        names = [*equations.coordinates, *speeds, *self.model.state_names]
        free = u[[all_speeds.index(name) for name in speeds]]
        kept = np.concatenate([q, free, initial_states(equations, self._first_initial)])
        state = np.empty((len(names), i1 - i0))
        state[:] = kept[:, None]
        for name, column in self.columns["initial"].items():
            if name in names:
                state[names.index(name)] = column[i0:i1]
        for first in equations.program.quaternions:
            four = state[first : first + 4]
            if any(names[first + k] in self.columns["initial"] for k in range(4)):
                self._make_unit(four, names[first], i0)
        return state

    def _given_memory(self, i0: int, i1: int) -> np.ndarray:
        """Return given or described memory of runs i0 … i1 − 1, a column per run."""
        equations = self.model.equations
        memory = np.empty((len(equations.system.memories), i1 - i0))
        memory[:] = initial_memory(equations, self.share("memory"), self.t0)[:, None]
        for name, column in self.columns["memory"].items():
            memory[list(equations.system.memories).index(name)] = column[i0:i1]
        return memory

    @cached_property
    def _first_initial(self) -> DataTable:
        """The initial values of the first run, without varied Euler parameters; see `_make_unit`."""
        names = self.model.base.coordinate_names
        fours = {names[q + k] for q in self.model.equations.program.quaternions for k in range(4)}
        varied = fours & set(self.columns["initial"])
        return {name: value for name, value in self.single(0)["initial"].items() if name not in varied}

    def _make_unit(self, four: np.ndarray, name: str, i0: int) -> None:
        """Normalise Euler parameters in place, a column per run; exclude runs in which all are zero."""
        given = self.single(i0)["initial"]
        described = {s.data.name: (s, x) for s, x in self.model.equations.system.initial.items()}
        first = self.model.coordinate_names.index(name)
        for k in range(4):
            own = self.model.coordinate_names[first + k]
            if own not in self.columns["initial"]:
                symbol, value = described[own]
                where = f"the initial value of '{own}'"
                four[k] = state_number(symbol, given[own], where) if own in given else value
        length = np.sqrt(np.sum(four**2, axis=0))
        for i in np.flatnonzero(length == 0.0):
            self._fail(i0 + int(i), f"the Euler parameters from '{name}' on are all zero")
        four /= np.where(length == 0.0, 1.0, length)


def _quantities(model: CompiledModel) -> list[Quantities]:
    """Return the quantities of bodies and contacts that cannot be negative and that depend on parameters."""
    found = []
    for where, quantities in physical_quantities(model.equations.system):
        kept = {what: e for what, e in quantities.items() if symbols(e)}
        if kept:
            found.append((where, kept, evaluator(kept.values())))
    return found
