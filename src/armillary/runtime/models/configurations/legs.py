"""A run through the configurations of its system, in one compiled loop.

The loop makes all changes of configuration by itself, with tables to which is added what it lacks
(supply.py). All configurations have the same outputs, so only the report shows where they change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.recording.records import EventRecord
from armillary.program.targets.targets import PIVOT_SIGN
from armillary.runtime.integrators import Integration
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.records import Outlook
from armillary.runtime.integrators.sampling import check_rows
from armillary.runtime.integrators.settings import IntegrationSettings
from armillary.runtime.loop.thresholds.change_thresholds import AROUND
from armillary.runtime.models.configurations.configurations import Configurations
from armillary.runtime.models.configurations.rank_loss import horizon, refuse, refuse_place
from armillary.runtime.models.configurations.run_legs import Report, RunLegs, consistent_rows, integrate_leg
from armillary.runtime.models.configurations.supply import ConfigurationSupply
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.place import Place


@dataclass(frozen=True)
class Stretch:
    """A stretch of time in which a step jumped over a singular place, and how short steps are to be there."""

    begin: float
    end: float
    step: float


class ConfigurationRun:
    """A run from a place, in the first configuration or one with a better choice of dependent speeds.

    The caller gives the ``state`` at the start if it is known to suit the first configuration.
    """

    stretch: Stretch | None = None

    def __init__(
        self,
        configurations: Configurations,
        place: Place,
        settings: IntegrationSettings,
        report: Report,
        state: np.ndarray | None = None,
    ) -> None:
        self.configurations, self.place, self.settings, self.report = configurations, place, settings, report
        self.configuration = configurations.first  # in which it begins
        self.legs = RunLegs(configurations[self.configuration])
        outputs = len(self.legs.instance.model.output_names)
        check_rows(settings.samples, settings.fixed_step, outputs)  # before their times are written down
        self.times = settings.row_times
        suits, state = state is not None, self.legs.instance.pack_state(place) if state is None else state
        self.start = place, state
        self.suits = suits or (place.holds and self.legs.instance.determines_speeds(place, state))

    def run(self, result: Integration | None = None) -> RunLegs:
        """Make the whole run; ``result``: of the loop, if it has been entered for the first time."""
        try:
            while not self._finish(self._integrate() if result is None else result):
                result = None
        except ArmillaryError as error:
            if not self.legs.parts:
                raise
            self.legs.failure = str(error)
        return self.legs

    def _integrate(self) -> Integration:
        """The motion from the start."""
        self.legs = RunLegs(self.configurations[self.configurations.first])
        supply, (place, state) = ConfigurationSupply(self.configurations, self.settings.atol), self.start
        tables = supply.tables
        if (stretch := self.stretch) is not None:
            outlook = Outlook(
                short_begin=stretch.begin, short_end=stretch.end, short_step=stretch.step, wary=1
            )
            tables = replace(tables, outlook=outlook)

        def choose(run: CompiledRun) -> CompiledRun:
            while not run.choose_start(place.motion):
                run = run.change_tables(supply(run))
            self._begin_in(self.configurations.known[run.control.configuration])
            return run

        result = integrate_leg(
            self.legs.instance, place, self.settings.at_times, self.report, tables, state,
            supply=supply, begin=None if self.suits else choose,
        )  # fmt: skip
        result.time = self.times[: len(result.time)]
        return result

    def _begin_in(self, configuration: Configuration) -> None:
        """Begin in another configuration; check the start in it."""
        before, self.configuration = self.configurations.first, configuration
        self._note_exchange(self.place.t, before, configuration)
        self.configurations[configuration].check(self.place)

    def _finish(self, result: Integration) -> bool:
        """Record the rows of the run. Return False if it has to be made again."""
        end = self.configurations.known[result.changes[-1][1]] if result.changes else self.configuration
        instance = self.legs.instance = self.configurations[end]
        if result.refused_event is not None:
            self._refuse(instance, result)
        if result.failure:
            self._add(instance, result)
            raise ArmillaryError(result.failure)
        if result.status == "finished" and self._finish_run(instance, result):
            return True
        happened = events_at_end(instance, result)
        flipped = any(e.name == PIVOT_SIGN for e in happened)
        # An event that rounding puts just before the place comes first, and no step leads on from there.
        stuck = bool(happened) and result.status == "step too small" and self.stretch is None
        if (flipped or stuck) and result.t_stop > self.place.t:
            self._go_back(result, self.configurations[self.configuration])
            return False
        if flipped:
            refuse_place(instance, result.t_stop, self.place)
        reached = instance.place(result.t_stop, result.final_state, result.final_memory)
        if result.status in ("finished", "event") and not any(e.changes for e in happened):
            self._check(instance, reached, result)  # before its rows are taken over
        self._add(instance, result)
        return True

    def _finish_run(self, instance: Instance, result: Integration) -> bool:
        """Record the rows if the constraints hold at the end; return False if there is more to do."""
        if (result.events and result.events[-1][0] == result.t_stop) or not instance.holds_at_end(result):
            return False
        self._add(instance, result)
        return True

    def _add(self, instance: Instance, result: Integration) -> None:
        """Record rows, events and notes."""
        self._note_changes(result)
        self.legs.parts.append(result)
        own = instance.equations.targets.shown_events if result.events else ()
        shown = [(t, own[k]) for t, k in result.events if k < len(own)]  # others are internal
        self.legs.events += [(t, event.name) for t, event in shown if not event.hidden]

    def _refuse(self, instance: Instance, result: Integration) -> None:
        """Raise the error for a place of lost rank that the loop could not pass; keep the rows before it."""
        refused = result.t_stop, result.refused_event
        self._add(instance, replace(result, events=[e for e in result.events if e != refused]))
        refuse(instance, result, self.place)

    def _check(self, instance: Instance, reached: Place, result: Integration) -> None:
        """Raise an error if a constraint is broken at the end; keep the rows in which all hold."""
        try:
            instance.check(reached, reached=True)
        except ArmillaryError:
            self.legs.parts.append(consistent_rows(instance, result))
            raise

    def _go_back(self, result: Integration, instance: Instance) -> None:
        """Short steps about a place that was jumped over: the factor of a dependent speed changed its sign.

        Where these jump over it again, no step leads across.
        """
        if self.stretch is not None and self.stretch.begin <= result.t_stop <= self.stretch.end:
            sound = result.time < self.stretch.begin
            rows = replace(result, time=result.time[sound], samples=result.samples[sound])
            self.legs.parts.append(replace(rows, status="step too small"))
            refuse_place(instance, result.t_stop, self.place)
        near = min(horizon(instance, self.place, AROUND), self.settings.t_end - self.settings.t0)
        begin, end = max(self.place.t, result.t_stop - near), result.t_stop + near
        self.stretch = Stretch(begin, end, near / 6)

    # ------------------------------------------------------------ notes

    def _note_changes(self, result: Integration) -> None:
        """Note the changes and passages that the loop made."""
        passages, began = iter([*result.passages, (inf, 0.0)]), self.configuration
        passed = next(passages)
        for t, number in [*result.changes, (inf, -1)]:
            while passed[0] < t:
                self._note_passage(*passed)
                passed = next(passages)
            if t == inf:
                break
            now = self.configurations.known[number]
            if began.locked == now.locked:
                self._note_exchange(t, began, now)
            else:
                self._note_locks(t, result)
            began = now

    def _note_locks(self, t: float, result: Integration) -> None:
        for k in [k for when, k in result.events if when == t]:
            event = self.legs.instance.equations.targets.watched[k]
            if event.lock or event.unlock:
                self.legs.notes.append(f"t = {t:.6g} s: event '{event.name}' {_lock_text(event)}")

    def _note_passage(self, singular: float, length: float) -> None:
        self.legs.notes.append(
            f"t = {singular:.6g} s: passed a place where the constraints lose rank, in one step of "
            f"{length:.3g} s"
        )

    def _note_exchange(self, t: float, before: Configuration, after: Configuration) -> None:
        if text := self.configurations.exchange_text(before, after):
            self.legs.notes.append(f"t = {t:.6g} s: {text}")


def events_at_end(instance: Instance, result: Integration) -> list[EventRecord]:
    """The events that happen where a run or a leg of it ends."""
    watched = instance.equations.targets.watched
    return [watched[k] for t, k in result.events if t == result.t_stop and k < len(watched)]


def _lock_text(event: EventRecord) -> str:
    both = (("locks", event.lock), ("unlocks", event.unlock))
    return " and ".join(f"{verb} {', '.join(u.data.name for u in us)}" for verb, us in both if us)
