"""A run with derivatives of its motion, leg by leg.

The loop of a leg ends where other dependent speeds are required. The state there, with its derivatives, is
the start of the next leg, in another program. The solver of the program without derivatives chooses the
speeds. Derivatives cannot pass singular configurations, where constraints lose rank; a run of the motion
alone finds the times at which these are passed.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.description import EventRecord
from armillary.program.targets.targets import (
    DEPENDENT_SPEEDS,
    INTERNAL_EVENTS,
    LOST_RANK,
    PIVOT_SIGN,
)
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.settings import Integration, IntegrationSettings
from armillary.runtime.models.configurations import Configurations
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.legs import (
    ConfigurationRun,
    Report,
    RunLegs,
    events_at_end,
    integrate_leg,
    refuse_choice,
    refuse_derivatives,
)
from armillary.runtime.models.run_changes import ConfigurationSupply, known_changes, single_changes
from armillary.runtime.start.initial import Place
from armillary.solver.thresholds import EPSILON, MIDDLE, SOON

_CAREFUL = "dop853"  # the method of the motion without derivatives


class DerivativeLegs(ConfigurationRun):
    """A run in progress: its place, its configuration and the next legs."""

    shown = -inf  # the time of the last row
    near = 0.0  # rows within this time after the event that began the leg are evaluated at the event

    def __init__(
        self,
        configurations: Configurations,
        place: Place,
        settings: IntegrationSettings,
        report: Report,
        state: np.ndarray | None = None,
    ) -> None:
        super().__init__(configurations, place, settings, report, state)
        self.t0, self.t_end, self.grid = settings.t0, settings.t_end, settings.fixed_step
        self.stops: list[float] = []
        first = self.legs.instance
        plain = first.model.plain(first)
        self._plain = Configurations(plain.model.configuration_models, configurations.first, plain)
        if not self.suits:
            self._begin_in(self._choose(place))
            self.legs.instance = configurations[self.configuration]

    def run(self, result: Integration | None = None) -> RunLegs:
        """Make the run and return its legs."""
        try:
            while self._leg():
                pass
        except ArmillaryError as error:
            if not self.legs.parts:
                raise
            self.legs.failure = str(error)
        return self.legs

    def _choose(self, place: Place) -> Configuration:
        """Return the configuration for a place: the present one, or one with a better choice."""
        plain, supply = self._plain[self.configuration], ConfigurationSupply(self._plain, 0.0)
        functions = plain.model.run_functions
        start = known_changes(self._plain).configurations.index(self.configuration)
        settings = replace(self._part(self.t_end, np.empty(0)), method=_CAREFUL, step=None, atol=0.0)
        run = CompiledRun(
            functions,
            settings,
            state=np.zeros(functions.n_states),
            memory=place.memory[: functions.n_memory],
            constants=plain.constants,
            changes=replace(supply.tables, start=start),
        )
        while not run.choose_start(place.motion):
            run = run.change_tables(supply(run))
        found: int = run.control.configuration
        return self._plain.known[found]

    def _leg(self) -> bool:
        """Make one leg; return whether another follows."""
        instance, end = self.legs.instance, self._leg_end()
        step, max_step = self.settings.step, self.settings.max_step
        if self._weak(instance):
            plain = instance.model.plain(instance)
            end = min(end, self._derivatives_end(plain, self._careful_leg(plain)))
            if self.stretch is not None:
                step = min(self.grid, self.stretch.step) if self.grid else None
                max_step = min(max_step, self.stretch.step)
        return self._finish_leg(self._integrate_leg(instance, end, step, max_step), end)

    def _finish_leg(self, result: Integration, end: float) -> bool:
        """Record a leg's rows, and choose the next configuration or repeat the leg; return whether another
        leg follows.
        """
        origin, instance = self.place, self.legs.instance
        if result.status == "finished" and end == self.t_end and self._finish_run(instance, result):
            return False
        happened = events_at_end(instance, result)
        flipped = any(e.name == PIVOT_SIGN for e in happened)
        # Rounding may put an event just before a singularity; then no step continues from there.
        stuck = bool(happened) and result.status == "step too small" and self.stretch is None
        if (flipped or stuck) and result.t_stop > origin.t:
            self._go_back(result, instance)  # the leg is made again
            return True
        self.near, at = 0.0, result.t_stop
        changing = [e for e in happened if e.name in INTERNAL_EVENTS]
        if result.status == "event" and changing:  # rows at this time show the state after it
            # An event is located just after the zero of its function; rows that differ from it by rounding
            # get its time.
            self.near = result.near or 16.0 * EPSILON * max(abs(result.t_stop), abs(origin.t))
            before = result.time < result.t_stop - self.near
            result = replace(result, time=result.time[before], samples=result.samples[before])
            # A grid point may have the same rounding error. A leg must not start before the zero, since it
            # would repeat the event.
            grid_point = min(self._on_grid(result.t_stop), self.t_end)
            at = grid_point if 0.0 < grid_point - result.t_stop <= self.near else result.t_stop
        reached = instance.place(at, result.final_state, result.final_memory)
        if result.status in ("finished", "event") and not any(e.changes for e in happened):
            self._check(instance, reached, result)  # before its rows are recorded
        self._add(instance, result)
        self.shown = max(self.shown, *result.time[-1:], -inf)
        self.place = reached
        if self.stretch is not None and self.place.t >= self.stretch.end:
            self.stretch = None
        if result.status == "finished":
            return end < self.t_end
        stopping = [e for e in happened if e.stop and e.name not in INTERNAL_EVENTS]
        if result.status != "event" or stopping:
            return False
        self.stops.append(self.place.t)
        _check_progress(self.stops, changing)
        if any(e.name == DEPENDENT_SPEEDS for e in changing):
            self._exchange()
        return True

    def _exchange(self) -> None:
        """Continue with other dependent speeds."""
        before, place = self.configuration, self.place
        refuse_choice(self.configurations[before], place)
        try:
            self.configuration = self._choose(place)
        except ArmillaryError as error:
            raise ArmillaryError(
                f"at t = {place.t:.6g} s, after event '{DEPENDENT_SPEEDS}': {error}"
            ) from None
        self.legs.instance = self.configurations[self.configuration]
        self._note_exchange(place.t, before, self.configuration)

    def _leg_end(self) -> float:
        """Return the latest time at which the next leg must end."""
        t, ends = self.place.t, [self.t_end]
        if self.stretch is not None:
            ends.append(self.stretch.begin if t < self.stretch.begin else self.stretch.end)
        elif self.grid and t > self.t0:  # A leg from between two grid points ends at the next grid point.
            grid = self._on_grid(t)
            ends += [grid] if grid > t else []
        return min(ends)

    def _on_grid(self, t: float) -> float:
        """Return the first end of a fixed step at or after t; return t if the step size varies."""
        if not self.grid or not np.isfinite(t):
            return t
        return self.t0 + self.grid * float(np.ceil((t - self.t0) / self.grid * (1 - 1e-12)))

    def _integrate_leg(
        self, instance: Instance, end: float, step: float | None, max_step: float
    ) -> Integration:
        atol, due = self.configurations.tolerances(self.configuration, self.settings.atol), self.times
        if not self.legs.parts and end == self.t_end and self.stretch is None:  # the only leg
            leg = self.settings.at_times
            leg = leg if atol is leg.atol else replace(leg, atol=atol)
        else:
            due = due[(due > self.shown) & (due <= end)]
            leg = replace(self._part(end, due), step=step, max_step=max_step, atol=atol)
        known = self.suits and self.start[0] is self.place
        result = integrate_leg(instance, self.place, leg, self.report, state=self.start[1] if known else None)
        result.time = due[: len(result.time)]
        return result

    def _part(self, end: float, due: np.ndarray) -> IntegrationSettings:
        """Return the settings of the run from here to ``end``, with rows at the times ``due``."""
        tried = sum(p.steps + p.rejected for p in self.legs.parts)
        return replace(
            self.settings,
            t0=self.place.t,
            t_end=end,
            sample=np.where(due <= self.place.t + self.near, self.place.t, due),
            max_steps=self.settings.max_steps - tried,
        )

    def _weak(self, instance: Instance) -> bool:
        """Return whether the constraints may be about to lose rank."""
        if instance.equations.reduction.strength is None:
            return False
        if self.stretch is not None and self.place.t >= self.stretch.begin:
            return True
        state = instance.pack_state(self.place)
        return instance.strength(self.place.t, state, self.place.memory) <= LOST_RANK * (1 + 1e-6)

    def _careful_leg(self, plain: Instance) -> Integration:
        """Compute the motion through an interval of weak constraints, by the compiled loop without
        derivatives.

        ``plain`` is the program without derivatives of its motion.
        """
        until = self.stretch.end if self.stretch is not None else -inf

        def lasts(t: float, state: np.ndarray, memory: np.ndarray) -> bool:
            return t < until or plain.strength(t, state, memory) <= LOST_RANK

        due = self.times[self.times > self.shown]
        sizes = plain.model.run_functions
        atol = self.configurations.tolerances(self.configuration, self.settings.atol)
        atol = atol if isinstance(atol, float) else atol[: sizes.n_states]
        leg = replace(self._part(self.t_end, due), method=_CAREFUL, step=None, atol=atol)
        place = self.place._replace(memory=self.place.memory[: sizes.n_memory])
        return integrate_leg(plain, place, leg, None, single_changes(plain), lasts=lasts)

    def _derivatives_end(self, plain: Instance, result: Integration) -> float:
        """Return the latest time at which a leg with derivatives must end.

        It is the start of the step in which the motion alone (``result``) passes a singular configuration.
        """
        t = self.place.t
        if result.refused_event is not None:
            refuse_derivatives(plain, result.t_stop)
        if not result.passages:
            return self._on_grid(result.t_stop) if result.status == "finished" else inf
        singular, length = result.passages[0]
        begin = self._on_grid(singular - MIDDLE * length) - (self.grid or 0.0)
        if begin - t <= SOON * (singular - t):
            refuse_derivatives(plain, singular)
        return begin


def _check_progress(stops: list[float], changing: list[EventRecord]) -> None:
    """Raise an error if configurations change without end at one time."""
    if len(stops) > 20 and stops[-1] - stops[-20] <= 1e-9 * max(abs(stops[-1]), 1.0):
        raise ArmillaryError(
            f"at t = {stops[-1]:.6g} s {', '.join(repr(e.name) for e in changing)} requires another "
            "configuration again and again; the constraints are singular there"
        )
