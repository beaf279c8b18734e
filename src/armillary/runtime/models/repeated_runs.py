"""Repeated runs of a model with the same settings and parameters: their common data are kept.

Such a run has four steps without decisions: write initial values into a prepared workspace, close kinematic
loops, call the compiled integration loop, make the record. All other runs take the general path: compiled.py
if values are not plain numbers, legs.py if a run starts better with other dependent speeds or ends early.
Both paths give the same results to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, sqrt
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.llvm.jit import machine_settings
from armillary.runtime.addresses import address
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.integrate import drive
from armillary.runtime.integrators.settings import Integration, IntegrationSettings
from armillary.runtime.models.failures import watch_start
from armillary.runtime.models.legs import ConfigurationRun, Report, RunLegs, judged_leg
from armillary.runtime.models.run_changes import ConfigurationSupply, known_changes
from armillary.runtime.models.run_record import (
    KnownParameters,
    finished_run,
    recorded_run,
    run_info,
)
from armillary.runtime.progress import progress_line
from armillary.runtime.start.assembly import Bench
from armillary.runtime.start.initial import Place, initial_memory
from armillary.settings import RunSettings
from armillary.solver.thresholds import FIRST_STEPS
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.results import Run
    from armillary.runtime.models.compiled import CompiledModel

_FLOATS = {float, np.float64}
_MOST = 8  # largest number of settings whose data are kept


def keep_for_repetition(
    model: CompiledModel, known: KnownParameters, given: RunSettings, settings: IntegrationSettings
) -> None:
    """Keep the common data of runs with these settings, if the previous run had the same settings."""
    if known.last[0] is not given:
        known.last[0] = given
        return
    if not (
        type(settings.atol) is float and model.plain_state and model.starts_plainly and model.changes_inside
    ):
        return
    if len(known.repeated) >= _MOST:
        known.repeated.clear()
    known.repeated[id(given)] = RepeatedRuns(model, known, given, settings)


class _InitialNames(NamedTuple):
    """Names of given initial values, with their indices and factors to the model's units."""

    names: tuple[str, ...]
    first: int  # index of the first value if all are in order with factor 1; else −1
    write: Callable[..., None]  # writes values from ``first`` on, in half the time of an array assignment
    places: np.ndarray
    factors: np.ndarray
    named: frozenset[str]
    agreeing: bool  # whether closing loops must also make the speeds satisfy the constraints


class RepeatedRuns:
    """Runs with the same settings and parameters, from any initial values."""

    def __init__(
        self, model: CompiledModel, known: KnownParameters, given: RunSettings, settings: IntegrationSettings
    ) -> None:
        self._given = given  # kept, since its identity is the key
        self._chosen = machine_settings()
        self._model, self._known, self._settings = model, known, settings
        equations, self._instance = model.equations, known.instance
        self._adaptive = settings.integrator.adaptive
        self._t0 = settings.t0
        self._stated = run_info(known.blank, settings.summary, model.tier)
        self._memory = initial_memory(equations, None, settings.t0)
        self._changes = known_changes(known.configurations) if model.changes_configuration else None
        self._supply = ConfigurationSupply(known.configurations, settings.atol) if self._changes else None
        self._integrated = settings.at_times if model.changes_configuration else settings
        self._due = settings.row_times if model.changes_configuration else None
        places, described = equations.start_indices
        self._places, self._described = places, np.array(described, dtype=float)
        self._closes, self._quaternions = bool(equations.reduction.rows), equations.program.quaternions
        self._finite = isfinite(sum(described))
        self._named = self._names(())
        n, m = len(equations.coordinates), len(equations.all_speeds)
        self._n, self._loops = n, slice(n, n + m)
        own = np.arange(n + m, len(described))
        self._state = np.concatenate((np.arange(n), n + model.independent_speeds, own))
        self._angles = model.three_angles
        step = settings.fixed_step
        self._short = step is not None and settings.t_end - settings.t0 <= FIRST_STEPS * step
        self._free: list[_ReusedRun] = []

    def _names(self, names: tuple[str, ...]) -> _InitialNames:
        """Return the record of given initial values for their names."""
        found = [self._places[name] for name in names]
        places = [place for place, _ in found]
        first, factors = places[0] if places else 0, [factor for _, factor in found]
        plain = places == [*range(first, first + len(places))] and {*factors} <= {1.0}
        return _InitialNames(
            names,
            first if plain else -1,
            Struct(f"{len(names)}d").pack_into,
            np.array(places, dtype=int),
            np.array(factors),
            frozenset(names),
            self._closes and not self._model.loops.leave_independent(names),
        )

    def _start(self, initial: Given) -> tuple[np.ndarray, _InitialNames] | None:
        """Return all coordinates, speeds and the user's states of a start, and the given names.

        Return None if the general path must read them.
        """
        y = self._described.copy()
        if initial is None:
            initial = {}
        if type(initial) is not dict:
            return None
        names, values, known = tuple(initial), [*initial.values()], self._named
        if names != known.names:
            try:
                known = self._named = self._names(names)
            except (KeyError, TypeError):
                return None
        if values:
            if not {*map(type, values)} <= _FLOATS:
                return None
            if known.first >= 0:
                known.write(y, 8 * known.first, *values)
            else:
                inside = known.factors * values
                y[known.places], values = inside, inside.tolist()
        # This is a sum, since a dot product of 32 numbers or more uses vectors of 512 bits, which lower the
        # clock of Skylake cores by 15 % for the run.
        if not (self._finite and isfinite(sum(values))):
            return None
        if self._angles and any([joint.is_locked(y[joint.middle]) for joint in self._angles]):
            return None
        for first in self._quaternions:
            part = y[first : first + 4]
            length = sqrt(part.dot(part))
            if length == 0.0:
                return None
            part /= length
        return y, known

    def run(self, initial: Given, progress: Given) -> Run | None:
        """Make a run from initial values, or return None if the general path must make it."""
        if progress is not False and progress is not True:
            return None
        known, model, instance = self._known, self._model, self._instance
        if self._chosen != machine_settings():
            return None
        if self._changes is not None and known_changes(known.configurations) is not self._changes:
            return None
        if (start := self._start(initial)) is None:
            return None
        y, given = start
        try:
            reused = self._free.pop()
        except IndexError:  # all are in use by other threads
            reused = _ReusedRun(self)
        run, bench, note = reused.run, reused.bench, ""
        run.again()
        if bench is not None:
            n, u = self._n, y[self._loops]
            note = model.loops.close(bench, instance, y[:n], u, given.named, given.agreeing)
            y[:n] = bench.q
            if given.agreeing:
                u[:] = bench.u
        run.state[:] = y.take(self._state)
        result, usual = None, reused.suits()
        if usual:
            result = self._drive(run, y, progress)
            run.drop_rows()
            if self._due is not None:
                result.time = self._due[: len(result.time)]
            usual = result.status == "finished" and not (result.changes or result.events or result.passages)
            usual = usual and (bench is None or reused.holds(result))
        if not usual and bench is not None and not given.agreeing:
            model.loops.close(bench, instance, y[:n], u, given.named)
            u[:] = bench.u
        self._free.append(reused)
        if usual and result is not None:
            legs = RunLegs(instance, [result])
        else:
            legs = self._finish_with_legs(y, result, note, progress)
        if usual and result is not None and result.calm:
            return finished_run(known.blank, result, self._stated, legs, note)
        return recorded_run(known.blank, legs.result(), self._stated, legs, note, self._adaptive)

    def _drive(self, run: CompiledRun, y: np.ndarray, progress: bool) -> Integration:
        """Drive a run to its end; show a line on a terminal if it may take long."""
        settings = self._settings
        if self._short:
            return drive(run, settings.max_steps, None, supply=self._supply)
        with progress_line(progress, settings.t0, settings.t_end) as report:
            return drive(run, settings.max_steps, self._watch(report, y), supply=self._supply)

    def _watch(self, report: Report, y: np.ndarray) -> Report:
        """Return a function that calls ``report`` and checks that a run from a start advances."""
        if not self._adaptive:
            return report
        return watch_start(report, self._instance, lambda: self._place(y), self._t0, self._settings.t_end)

    def _place(self, y: np.ndarray, note: str = "") -> Place:
        n, speeds = self._n, self._loops
        return Place(self._t0, y[:n], y[speeds], self._memory, y[speeds.stop :], note, holds=self._closes)

    def _finish_with_legs(
        self, y: np.ndarray, result: Integration | None, note: str, progress: bool
    ) -> RunLegs:
        """Finish or make a run by the general path.

        With a ``result`` the run has met events, failed or ended early. Without it the first choice of
        dependent speeds does not suit the start.
        """
        settings, configurations = self._settings, self._known.configurations
        if self._changes is None:
            assert result is not None  # a system with one choice of dependent speeds starts with it
            return judged_leg(self._instance, result)
        place = self._place(y, note)
        if result is not None:
            return ConfigurationRun(configurations, place, settings, None, y.take(self._state)).run(result)
        with progress_line(progress, settings.t0, settings.t_end) as report:
            return ConfigurationRun(configurations, place, settings, self._watch(report, y)).run()


class _ReusedRun:
    """The compiled loop with a workspace, for one run at a time; the next run uses the same workspace."""

    def __init__(self, runs: RepeatedRuns) -> None:
        instance, model = runs._instance, runs._model
        self.run = run = CompiledRun(
            model.run_functions,
            runs._integrated,
            state=np.zeros(len(runs._state)),
            memory=runs._memory,
            constants=instance.constants,
            changes=runs._changes.tables if runs._changes is not None else None,
        )
        run.keep()
        self.bench: Bench | None = None
        self._instance, self._n = instance, runs._n
        self._columns, self._factors = model.speeds.columns, model.speeds.factors
        self._scaled = bool(np.any(self._factors != 1.0))
        if runs._closes:
            self.bench = model.loops.bench(instance, runs._t0, runs._memory)
        self._weakening, self._t0 = model.weakening, runs._t0
        if self._weakening:
            self._watched = np.zeros(len(model.equations.targets.watched))
            arrays = run.state, instance.constants, runs._memory, self._watched
            self._places = [address(array) for array in arrays]
            self._events = model.function("events")

    def suits(self) -> bool:
        """Return whether the first program's dependent speeds are a good choice at the start."""
        if not self._weakening:
            return True
        self._events(self._t0, *self._places)
        return all([self._watched[k] > least for k, least in self._weakening])

    def holds(self, result: Integration) -> bool:
        """Return whether all constraints hold at the end of a run."""
        if not (len(result.time) and result.time[-1] == result.t_stop):
            return self._instance.holds_at_end(result)
        assert self.bench is not None
        speeds = result.samples[-1].take(self._columns)
        if self._scaled:
            speeds *= self._factors
        return self.bench.check(result.t_stop, result.final_state[: self._n], speeds)
