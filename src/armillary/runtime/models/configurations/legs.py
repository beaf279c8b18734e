"""A run through several programs of one system, leg by leg.

The compiled loop ends where an event requires another configuration; the place reached is carried over and
the run goes on. All configurations have the same outputs, so only the report shows where they change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.recording.records import EventRecord
from armillary.program.targets.targets import (
    CONSTRAINT_RANK,
    DEPENDENT_SPEEDS,
    INTERNAL_EVENTS,
    LOST_RANK,
    PIVOT_SIGN,
)
from armillary.runtime.integrators import Integration
from armillary.runtime.integrators.records import Outlook, RunChanges
from armillary.runtime.integrators.sampling import check_rows
from armillary.runtime.integrators.settings import IntegrationSettings
from armillary.runtime.loop.thresholds.change_thresholds import AROUND, MIDDLE, SOON
from armillary.runtime.loop.thresholds.step_thresholds import EPSILON
from armillary.runtime.models.configurations.configurations import (
    Configurations,
    changes_configuration,
    set_speeds,
)
from armillary.runtime.models.configurations.rank_loss import (
    horizon,
    refuse,
    refuse_choice,
    refuse_derivatives,
    refuse_place,
)
from armillary.runtime.models.configurations.run_changes import KnownChanges, known_changes, single_changes
from armillary.runtime.models.configurations.run_legs import Report, RunLegs, consistent_rows, integrate_leg
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.place import Place

_CAREFUL = "dop853"  # the method of legs that the method of the run leaves to the compiled loop


@dataclass(frozen=True)
class Stretch:
    """A stretch of time in which a step jumped over a singular place, and how short steps are to be there."""

    begin: float
    end: float
    step: float


class LegRunner:
    """A run under way: its place, its configuration, and what follows.

    The caller gives the ``state`` at the start if it is known to suit the first configuration.
    """

    shown = -inf  # the time of the last row
    stretch: Stretch | None = None
    known: KnownChanges | None = None  # of the configurations that the loop has tables of
    near = 0.0  # rows as close to the place are at its time: it is that of an event, up to rounding
    outlook = Outlook()  # of the last leg

    def __init__(
        self,
        configurations: Configurations,
        place: Place,
        settings: IntegrationSettings,
        report: Report,
        state: np.ndarray | None = None,
    ) -> None:
        self.configurations, self.place, self.settings, self.report = configurations, place, settings, report
        self.t0, self.t_end, self.grid = settings.t0, settings.t_end, settings.fixed_step
        self.configuration = configurations.first
        self.legs = RunLegs(configurations[self.configuration])
        outputs = len(self.legs.instance.model.output_names)
        check_rows(settings.samples, self.grid, outputs)  # before their times are written down
        self.times = settings.row_times
        self.stops: list[float] = []
        suits, state = state is not None, self.legs.instance.pack_state(place) if state is None else state
        self.start: tuple[Place, np.ndarray] | None = place, state
        if not suits and not (place.holds and self.legs.instance.determines_speeds(place, state)):
            self._choose()

    def continue_run(self, result: Integration) -> RunLegs:
        """Finish a run whose first leg began at a place that suits and has come to an end."""
        self.known = known_changes(self.configurations)
        return self.run(lambda: self._finish_leg(result, self.t_end))

    def _choose(self) -> None:
        """Choose a configuration for the start, since the first one does not suit; check the start in it."""
        first, place = self.configurations.first, self.place
        self.configuration = self.configurations.suitable(place, first)
        self.legs.instance, self.start = self.configurations[self.configuration], None
        self._note_exchange(place.t, first, self.configuration)
        self.legs.instance.check(place)

    def run(self, first: Callable[[], bool] | None = None) -> RunLegs:
        """Make the whole run; ``first`` finishes its first leg if that has been made."""
        try:
            going = first() if first else self._first_leg()
            while going:
                going = self._leg()
        except ArmillaryError as error:
            if not self.legs.parts:
                raise
            self.legs.failure = str(error)
        return self.legs

    def _first_leg(self) -> bool:
        """Make the first leg, in most cases the whole run. Return True if another follows."""
        settings, known = self.settings, known_changes(self.configurations)
        if self.start is None or known is None or type(settings.atol) is not float:
            return self._leg()
        if known.configurations[known.tables.start] != self.configuration:
            return self._leg()
        self.known, (place, state), due = known, self.start, self.times
        result = integrate_leg(self.legs.instance, place, settings.at_times, self.report, known.tables, state)
        result.time = due[: len(result.time)]
        return self._finish_leg(result, self.t_end)

    def _leg(self) -> bool:
        """Make one leg. Return True if another follows."""
        instance, inside = self.legs.instance, self._changes()
        end = self._leg_end(inside is not None)
        step, max_step = self.settings.step, self.settings.max_step
        if inside is None and self._weak(instance):
            plain = instance.model.plain(instance)
            result = self._careful_leg(plain)
            if plain is instance:
                return self._finish_leg(result, result.t_stop)
            end = min(end, self._derivatives_end(plain, result))
            if self.stretch is not None:
                step = min(self.grid, self.stretch.step) if self.grid else None
                max_step = min(max_step, self.stretch.step)
        return self._finish_leg(self._run(instance, end, inside, step, max_step), end)

    def _finish_leg(self, result: Integration, end: float) -> bool:
        """Record a leg's rows and choose the next configuration, or the same leg again. Return True if a leg
        follows.
        """
        origin, began, instance = self.place, self.configuration, self.legs.instance
        if result.refused_event is not None:
            self._refuse(instance, began, result)
        if result.changes:
            self.configuration = self._configuration_at(result.changes[-1][1])
            instance = self.legs.instance = self.configurations[self.configuration]
        if result.status == "finished" and end == self.t_end and self._finish_run(instance, began, result):
            return False
        watched = instance.equations.targets.watched
        happened = [watched[k] for t, k in result.events if t == result.t_stop and k < len(watched)]
        flipped = any(e.name == PIVOT_SIGN for e in happened)
        # An event that rounding puts just before the place comes first, and no step leads on from there.
        stuck = bool(happened) and result.status == "step too small" and self.stretch is None
        if (flipped or stuck) and result.t_stop > origin.t:
            self.configuration, self.legs.instance = began, self.configurations[began]
            self._go_back(result, self.legs.instance)  # the leg is gone through again
            return True
        self.near, at = 0.0, result.t_stop
        changing = [
            e for e in happened if e.name in INTERNAL_EVENTS or changes_configuration(e, instance.equations)
        ]
        if any(changes_configuration(e, instance.equations) for e in changing):
            changing += [e for e in happened if e.changes and e not in changing]
        if result.status == "event" and changing:  # rows at this time show what comes of it
            # An event is located just after its zero: rows as close as rounding brings them are at its time.
            self.near = result.near or 16.0 * EPSILON * max(abs(result.t_stop), abs(origin.t))
            before = result.time < result.t_stop - self.near
            result = replace(result, time=result.time[before], samples=result.samples[before])
            # Grid points of a leg may be off by as much; from before its zero the event would happen again.
            grid_point = min(self._on_grid(result.t_stop), self.t_end)
            at = grid_point if 0.0 < grid_point - result.t_stop <= self.near else result.t_stop
        reached = instance.place(at, result.final_state, result.final_memory)
        if result.status in ("finished", "event") and not any(e.changes for e in happened):
            self._check(instance, reached, result)  # before its rows are taken over
        kept, same = result.outlook or Outlook(), result.status == "finished"
        self.outlook = kept if same else kept._replace(look=-inf)  # after a change they are looked at at once
        self._add(instance, began, result)
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
        self._change(changing, result)
        self.legs.instance = self.configurations[self.configuration]
        return True

    def _finish_run(self, instance: Instance, began: Configuration, result: Integration) -> bool:
        """Record the rows of the last leg if its constraints hold; return False if there is more to do."""
        if (result.events and result.events[-1][0] == result.t_stop) or not instance.holds_at_end(result):
            return False
        self._add(instance, began, result)
        return True

    def _add(self, instance: Instance, began: Configuration, result: Integration) -> None:
        """Record the rows, events and notes of a leg."""
        self._note_changes(began, result)
        self.legs.parts.append(result)
        own = instance.equations.targets.shown_events if result.events else ()
        shown = [(t, own[k]) for t, k in result.events if k < len(own)]  # others are internal
        self.legs.events += [(t, event.name) for t, event in shown if not event.hidden]

    def _refuse(self, instance: Instance, began: Configuration, result: Integration) -> None:
        """Raise the error for a place of lost rank that the loop could not pass; keep the rows before it."""
        if result.changes:
            instance = self.legs.instance = self.configurations[self._configuration_at(result.changes[-1][1])]
        refused, begin = (result.t_stop, result.refused_event), self.place
        self._add(instance, began, replace(result, events=[e for e in result.events if e != refused]))
        refuse(instance, result, begin)

    def _check(self, instance: Instance, reached: Place, result: Integration) -> None:
        """Raise an error if a constraint is broken at the end of a leg; keep the rows in which all hold."""
        try:
            instance.check(reached, reached=True)
        except ArmillaryError:
            self.legs.parts.append(consistent_rows(instance, result))
            raise

    def _leg_end(self, watched: bool) -> float:
        """Return the latest end of the next leg; ``watched``: its loop passes places of lost rank itself."""
        t, ends = self.place.t, [self.t_end]
        if self.stretch is not None and not watched:
            ends.append(self.stretch.begin if t < self.stretch.begin else self.stretch.end)
        elif self.grid and t > self.t0:  # back to the grid of steps first
            grid = self._on_grid(t)
            ends += [grid] if grid > t else []
        return min(ends)

    def _on_grid(self, t: float) -> float:
        """Return the first end of a fixed step that is not before t, or t itself if steps have any size."""
        if not self.grid or not np.isfinite(t):
            return t
        return self.t0 + self.grid * float(np.ceil((t - self.t0) / self.grid * (1 - 1e-12)))

    def _run(
        self,
        instance: Instance,
        end: float,
        changes: RunChanges | None,
        step: float | None,
        max_step: float,
    ) -> Integration:
        atol, due = self.configurations.tolerances(self.configuration, self.settings.atol), self.times
        if not self.legs.parts and end == self.t_end and self.stretch is None:  # the whole run
            leg = self.settings.at_times
            leg = leg if atol is leg.atol else replace(leg, atol=atol)
        else:
            due = due[(due > self.shown) & (due <= end)]
            leg = replace(self._part(end, due), step=step, max_step=max_step, atol=atol)
        if changes is not None and self.outlook != changes.outlook:
            changes = replace(changes, outlook=self.outlook)
        state = self.start[1] if self.start is not None and self.start[0] is self.place else None
        result = integrate_leg(instance, self.place, leg, self.report, changes, state)
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
        """Return True if the constraints may be about to lose rank."""
        if instance.equations.reduction.strength is None:
            return False
        if self.stretch is not None and self.place.t >= self.stretch.begin:
            return True
        state = instance.pack_state(self.place)
        return instance.strength(self.place.t, state, self.place.memory) <= LOST_RANK * (1 + 1e-6)

    def _careful_leg(self, plain: Instance) -> Integration:
        """The motion through a stretch where the constraints are weak, by the compiled loop, for methods that
        do not pass places where rank is lost; ``plain``: the program without derivatives of its motion.
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
        result = integrate_leg(plain, place, leg, None, single_changes(plain), lasts=lasts)
        result.time = due[: len(result.time)]
        return result

    def _derivatives_end(self, plain: Instance, result: Integration) -> float:
        """The end of the derivatives of a motion, found from the motion alone: where a step across begins."""
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

    def _changes(self) -> RunChanges | None:
        """Return the configurations that this leg may enter by itself, None if its loop has no tables."""
        instance = self.legs.instance
        if not instance.model.changes_inside:
            return None
        known = self.known = None if np.ndim(self.settings.atol) else known_changes(self.configurations)
        if known is None or self.configuration not in known.configurations:
            return single_changes(instance)
        number = known.configurations.index(self.configuration)
        return known.tables if number == known.tables.start else replace(known.tables, start=number)

    def _configuration_at(self, number: int) -> Configuration:
        """Return the configuration of a number that the loop has logged."""
        assert self.known is not None
        return self.known.configurations[number]

    def _note_changes(self, began: Configuration, result: Integration) -> None:
        """Note the changes and passages that the loop made by itself."""
        passages = iter([*result.passages, (inf, 0.0)])
        passed = next(passages)
        for t, number in [*result.changes, (inf, -1)]:
            while passed[0] < t:
                self._note_passage(*passed)
                passed = next(passages)
            if t == inf:
                break
            now = self._configuration_at(number)
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

    def _go_back(self, result: Integration, instance: Instance) -> None:
        """Short steps about a place that was jumped over: the factor of a dependent speed changed its sign.

        Where these jump over it again, no step leads across.
        """
        if self.stretch is not None and self.stretch.begin <= result.t_stop <= self.stretch.end:
            sound = result.time < self.stretch.begin
            rows = replace(result, time=result.time[sound], samples=result.samples[sound])
            self.legs.parts.append(replace(rows, status="step too small"))
            refuse_place(instance, result.t_stop, self.place)
        near = min(horizon(instance, self.place, AROUND), self.t_end - self.t0)
        begin, end = max(self.place.t, result.t_stop - near), result.t_stop + near
        self.stretch = Stretch(begin, end, near / 6)
        self.outlook = Outlook(short_begin=begin, short_end=end, short_step=near / 6, wary=1)

    def _change(self, changing: list[EventRecord], result: Integration) -> None:
        """Change the configuration after events, unless they only announce a singular place."""
        others = [e for e in changing if e.name not in (CONSTRAINT_RANK, PIVOT_SIGN)]
        if not others:
            return
        before, configurations, place = self.configuration, self.configurations, self.place
        if any(e.name == DEPENDENT_SPEEDS for e in others):
            refuse_choice(configurations[before], place)
        alike = self.known is not None  # the loop makes this change by itself in later runs
        if alike:
            n, state, changes = len(place.q), result.final_state, configurations[before].changes
            motion = changes.leave(place.t, state, place.memory)
            place = place._replace(u=motion[n : n + len(place.u)])
        try:
            settings = set_speeds(configurations[before], result)
            self.place, self.configuration = configurations.apply_events(
                place, before, others, settings, result.choice
            )
        except ArmillaryError as error:
            names = ", ".join(f"'{e.name}'" for e in others)
            raise ArmillaryError(f"at t = {self.place.t:.6g} s, after event {names}: {error}") from None
        if alike:
            place, changes = self.place, configurations[self.configuration].changes
            self.start = place, changes.enter(place.t, place.motion, place.memory)
        if before.locked == self.configuration.locked:
            self._note_exchange(self.place.t, before, self.configuration)
            return
        for event in others:
            if event.lock or event.unlock:
                self.legs.notes.append(f"t = {self.place.t:.6g} s: event '{event.name}' {_lock_text(event)}")

    def _note_passage(self, singular: float, length: float) -> None:
        self.legs.notes.append(
            f"t = {singular:.6g} s: passed a place where the constraints lose rank, in one step of "
            f"{length:.3g} s"
        )

    def _note_exchange(self, t: float, before: Configuration, after: Configuration) -> None:
        if text := self.configurations.exchange_text(before, after):
            self.legs.notes.append(f"t = {t:.6g} s: {text}")


def _lock_text(event: EventRecord) -> str:
    both = (("locks", event.lock), ("unlocks", event.unlock))
    return " and ".join(f"{verb} {', '.join(u.data.name for u in us)}" for verb, us in both if us)


def _check_progress(stops: list[float], changing: list[EventRecord]) -> None:
    """Raise an error if configurations change without end at one time."""
    if len(stops) > 20 and stops[-1] - stops[-20] <= 1e-9 * max(abs(stops[-1]), 1.0):
        raise ArmillaryError(
            f"at t = {stops[-1]:.6g} s {', '.join(repr(e.name) for e in changing)} requires another "
            "configuration again and again; the constraints are singular there"
        )
