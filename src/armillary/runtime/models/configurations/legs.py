"""A run through several programs of one system, leg by leg.

The compiled loop ends where an event requires another configuration; the place reached is carried over and
the run goes on. All configurations have the same outputs, so only the report shows where they change.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, isfinite

import numpy as np

from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.records import EventRecord
from armillary.program.targets.targets import (
    CONSTRAINT_RANK,
    DEPENDENT_SPEEDS,
    INTERNAL_EVENTS,
    LOST_RANK,
    PIVOT_SIGN,
)
from armillary.runtime.integrators import Integration
from armillary.runtime.integrators.integrate import integrate
from armillary.runtime.integrators.records import Outlook, RunChanges
from armillary.runtime.integrators.sampling import check_rows
from armillary.runtime.integrators.settings import IntegrationSettings
from armillary.runtime.loop.formulas import EPSILON
from armillary.runtime.loop.thresholds.change_thresholds import AROUND, LOOK_AGAIN, SHORTEST
from armillary.runtime.models.configurations.configurations import Configurations, changes_configuration
from armillary.runtime.models.configurations.rank_loss import (
    Forecast,
    RoughStepError,
    confirmed,
    forecast,
    found,
    horizon,
    leap,
    refuse,
    refuse_choice,
)
from armillary.runtime.models.configurations.run_changes import KnownChanges, known_changes
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.place import Place

Report = Callable[[float], None] | None  # called with the time reached


@dataclass
class RunLegs:
    """The results of a run through several configurations: rows and counts together, and notes."""

    instance: Instance  # of the last leg
    parts: list[Integration] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: str = ""  # why it could not go on

    def result(self) -> Integration:
        """All legs as one, with a row at the end where an event ended the run between rows."""
        last = self.parts[-1]
        if len(self.parts) == 1 and last.status != "event":
            return last
        time = np.concatenate([p.time for p in self.parts])
        samples = np.concatenate([p.samples for p in self.parts])
        if last.status == "event" and not (len(time) and time[-1] >= last.t_stop):
            row = last.last_row
            if row is None:
                row = self.instance.outputs(last.t_stop, last.final_state, last.final_memory)
            time, samples = np.append(time, last.t_stop), np.vstack([samples, row])
        return replace(
            last,
            time=time,
            samples=samples,
            steps=sum(p.steps for p in self.parts),
            rejected=sum(p.rejected for p in self.parts),
            evaluations=sum(p.evaluations for p in self.parts),
            calm=False,
        )


def single_leg(instance: Instance, start: Place, settings: IntegrationSettings, report: Report) -> RunLegs:
    """A run through one program alone."""
    return judged_leg(instance, _integrated(instance, start, settings, report))


def judged_leg(instance: Instance, result: Integration) -> RunLegs:
    """A run through one program alone that has come to an end, which is checked."""
    watched = instance.equations.targets.watched
    events = [(t, watched[k].name) for t, k in result.events if not watched[k].hidden]
    legs = RunLegs(instance, [result], events)
    if result.status in ("finished", "event") and instance.equations.reduction.rows:
        try:
            reached = instance.place(result.t_stop, result.final_state, result.final_memory)
            instance.check(reached, reached=True)
        except ArmillaryError as error:
            legs.parts = [_consistent_rows(instance, result)]
            legs.failure = str(error)
    return legs


def _integrated(
    instance: Instance,
    place: Place,
    settings: IntegrationSettings,
    report: Report,
    changes: RunChanges | None = None,
    state: np.ndarray | None = None,
) -> Integration:
    """The motion of one program from a place; its ``state``, where that is known."""
    inputs, method = instance.inputs, settings.integrator
    stops = inputs.stops(settings.t0, settings.t_end, method.adaptive) if inputs is not None else None
    return integrate(
        instance.model.run_functions,
        settings,
        state=instance.packed(place) if state is None else state,
        memory=place.memory,
        constants=instance.constants,
        progress=report,
        stops=stops,
        changes=changes,
    )


@dataclass(frozen=True)
class ShortSteps:
    """A stretch of time to be passed in short steps: a singular place is in it that a longer step jumped
    over.
    """

    begin: float
    end: float
    step: float


class LegRunner:
    """A run under way: where it is, in what configuration, and how it goes on from there.

    The ``state`` at its start is given where that is known to suit the first configuration.
    """

    shown = -inf  # the time of the last row
    stride = 0.0  # of the next leg, where it is a step across a singular place
    share = 1.0  # of the usual step across
    ahead: Forecast | None = None
    brief = inf
    short_steps: ShortSteps | None = None
    known: KnownChanges | None = None  # of the configurations that the loop has tables of
    near = 0.0  # rows as close to the place are at its time: it is that of an event, up to rounding
    outlook = Outlook()  # of the last leg
    rank_ahead = False  # whether the loop has ended because constraints are about to lose rank

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
        suits, state = state is not None, self.legs.instance.packed(place) if state is None else state
        self.start: tuple[Place, np.ndarray] | None = place, state
        if not suits and not (place.holds and self.legs.instance.determines_speeds(place, state)):
            self._choose()

    def go_on(self, result: Integration) -> RunLegs:
        """The whole run, after a first leg that was to lead to its end from a place that suits."""
        self.known = known_changes(self.configurations)
        return self.run(lambda: self._go_on(result, self.t_end))

    def _choose(self) -> None:
        """A configuration for the start, which is checked: not all is well there in the first one."""
        first, place = self.configurations.first, self.place
        self.configuration = self.configurations.suitable(place, first)
        self.legs.instance, self.start = self.configurations[self.configuration], None
        self._note_exchange(place.t, first, self.configuration)
        self.legs.instance.check(place)

    def run(self, first: Callable[[], bool] | None = None) -> RunLegs:
        """The whole run; ``first``: its first leg, where it has been made."""
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
        """The first leg, which is the whole run in most cases; whether another follows."""
        settings, known = self.settings, known_changes(self.configurations)
        ordinary = settings.integrator.tableau is not None and type(settings.atol) is float
        if self.start is None or known is None or not ordinary:
            return self._leg()
        if known.configurations[known.tables.start] != self.configuration:
            return self._leg()
        self.known, (place, state), due = known, self.start, self.times
        result = _integrated(self.legs.instance, place, settings.at_times, self.report, known.tables, state)
        result.time = due[: len(result.time)]
        return self._go_on(result, self.t_end)

    def _leg(self) -> bool:
        """One leg; whether another follows."""
        instance, inside = self.legs.instance, self._changes()
        self.rank_ahead, look = False, self.rank_ahead or inside is None
        if not self.stride and look:
            self._look_ahead(instance)
        end, due = self._leg_end(inside is not None), self.times
        if self.legs.parts or end < self.t_end:
            due = due[(due > self.shown) & (due <= end)]
        if not self.stride:
            result = self._run(instance, end, due, inside)
        else:
            try:
                result = leap(instance, self.place, end, due)
            except RoughStepError as error:
                self._shorten(error)
                return True
            self.share = 1.0
        return self._go_on(result, end)

    def _go_on(self, result: Integration, end: float) -> bool:
        """What follows a leg that was to come to an end: its rows taken over, and another configuration, or
        the same leg again; whether there is another.
        """
        origin, began, instance = self.place, self.configuration, self.legs.instance
        if result.refused_event is not None:
            self._refuse(instance, began, result)
        if result.changes:
            self.configuration = self._numbered(result.changes[-1][1])
            instance = self.legs.instance = self.configurations[self.configuration]
        if result.status == "finished" and end == self.t_end and self._arrived(instance, began, result):
            return False
        watched = instance.equations.targets.watched
        happened = [watched[k] for t, k in result.events if t == result.t_stop and k < len(watched)]
        flipped = any(e.name == PIVOT_SIGN for e in happened)
        # An event that rounding puts just before the place comes first, and no step leads on from there.
        stuck = bool(happened) and result.status == "step too small" and self.short_steps is None
        if (flipped or stuck) and result.t_stop > origin.t:
            self.configuration, self.legs.instance = began, self.configurations[began]
            self._go_back(result, self.legs.instance)  # the leg is gone through again
            return True
        self.near = 0.0
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
        reached = instance.place(result.t_stop, result.final_state, result.final_memory)
        if result.status in ("finished", "event") and not any(e.changes for e in happened):
            self._check(instance, reached, result)  # before its rows are taken over
        if not self.stride:  # after a change constraints are looked at at once
            kept, same = result.outlook or Outlook(), result.status == "finished"
            self.outlook = kept if same else kept._replace(look=-inf)
        self.stride = 0.0
        self._add(instance, began, result)
        self.shown = max(self.shown, *result.time[-1:], -inf)
        self.place = reached
        if self.short_steps is not None and self.place.t >= self.short_steps.end:
            self.short_steps = None
        if result.status == "finished":
            return end < self.t_end
        stopping = [e for e in happened if e.stop and e.name not in INTERNAL_EVENTS]
        if result.status != "event" or stopping:
            return False
        self.stops.append(self.place.t)
        _check_progress(self.stops, changing)
        # The loop ended to pass a place where rank is lost, or where one may be ahead.
        self.rank_ahead = all(e.name == CONSTRAINT_RANK for e in changing)
        self._change(changing, result)
        self.legs.instance = self.configurations[self.configuration]
        return True

    def _arrived(self, instance: Instance, began: Configuration, result: Integration) -> bool:
        """Whether a leg is the last one, and its end as it should be; its rows are taken over then."""
        if (result.events and result.events[-1][0] == result.t_stop) or not instance.reached(result):
            return False
        self._add(instance, began, result)
        return True

    def _add(self, instance: Instance, began: Configuration, result: Integration) -> None:
        """The rows, events and notes of a leg taken over."""
        self._note_changes(began, result)
        self.legs.parts.append(result)
        own = instance.equations.targets.shown_events if result.events else ()
        shown = [(t, own[k]) for t, k in result.events if k < len(own)]  # others are internal
        self.legs.events += [(t, event.name) for t, event in shown if not event.hidden]

    def _refuse(self, instance: Instance, began: Configuration, result: Integration) -> None:
        """An error for what the loop could not do at a place where rank is lost; rows before it are kept."""
        if result.changes:
            instance = self.configurations[self._numbered(result.changes[-1][1])]
        refused = (result.t_stop, result.refused_event)
        self._add(instance, began, replace(result, events=[e for e in result.events if e != refused]))
        refuse(instance, result)

    def _shorten(self, error: RoughStepError) -> None:
        """A shorter step across, from nearer by; the error is raised where that is of no use any more."""
        self.share /= 2
        if self.share < SHORTEST:
            raise error
        self.stride, self.ahead = 0.0, None
        self.legs.notes.pop()

    def _check(self, instance: Instance, reached: Place, result: Integration) -> None:
        """An error where a constraint is broken at the end of a leg; rows are kept as far as all hold."""
        try:
            instance.check(reached, reached=True)
        except ArmillaryError:
            self.legs.parts.append(_consistent_rows(instance, result))
            raise

    def _leg_end(self, watched: bool) -> float:
        """Where the next leg ends at the latest; ``watched``: its loop looks ahead by itself."""
        t, ends = self.place.t, [self.t_end]
        if self.stride:
            return min(t + self.stride, self.t_end)
        if not watched:
            ends.append(self._on_grid(t + self.brief))  # near a weak place, to look again
        if self.ahead is not None and (self.ahead.certain or not watched):
            look = self.ahead.next_look(t)
            before = self._on_grid(look) - (self.grid or 0.0)  # no step has to be cut in two to look
            ends.append(look if self.ahead.certain or before <= t else before)
        if self.short_steps is not None:
            ends.append(self.short_steps.begin if t < self.short_steps.begin else self.short_steps.end)
        elif self.grid and t > self.t0:  # back to the grid of steps first
            grid = self._on_grid(t)
            ends += [grid] if grid > t else []
        return min(ends)

    def _on_grid(self, t: float) -> float:
        """The first end of a step of fixed size that is not before t; t itself where steps have any size."""
        if not self.grid or not np.isfinite(t):
            return t
        return self.t0 + self.grid * float(np.ceil((t - self.t0) / self.grid * (1 - 1e-12)))

    def _run(
        self, instance: Instance, end: float, due: np.ndarray, changes: RunChanges | None
    ) -> Integration:
        step, max_step = self.settings.step, self.settings.max_step
        if self.short_steps is not None and self.place.t >= self.short_steps.begin:
            step = min(self.grid, self.short_steps.step) if self.grid else None
            max_step = min(max_step, self.short_steps.step)
        atol = self.configurations.tolerances(self.configuration, self.settings.atol)
        if not self.legs.parts and end == self.t_end and self.short_steps is None:  # the whole run
            leg = self.settings.at_times
            leg = leg if atol is leg.atol else replace(leg, atol=atol)
        else:
            tried = sum(p.steps + p.rejected for p in self.legs.parts)
            leg = replace(
                self.settings,
                t0=self.place.t,
                t_end=end,
                step=step,
                sample=np.where(due <= self.place.t + self.near, self.place.t, due),
                max_step=max_step,
                max_steps=self.settings.max_steps - tried,
                atol=atol,
            )
        if changes is not None:
            again = self.ahead.next_look(self.place.t) if self.ahead else self.place.t + self.brief
            outlook = self.outlook._replace(look=again) if isfinite(again) else self.outlook
            if outlook != changes.outlook:
                changes = replace(changes, outlook=outlook)
            self.ahead, self.brief = self.ahead if self.ahead and self.ahead.certain else None, inf
        state = self.start[1] if self.start is not None and self.start[0] is self.place else None
        result = _integrated(instance, self.place, leg, self.report, changes, state)
        result.time = due[: len(result.time)]
        return result

    def _changes(self) -> RunChanges | None:
        """The configurations that this leg may enter by itself."""
        method, atol = self.settings.integrator, self.settings.atol
        single = isinstance(atol, float) or not np.ndim(atol)
        if self.stride or method.tableau is None or not single or self.short_steps is not None:
            return None
        known = self.known = known_changes(self.configurations)
        if known is None or self.configuration not in known.configurations:
            return None
        number = known.configurations.index(self.configuration)
        return known.tables if number == known.tables.start else replace(known.tables, start=number)

    def _numbered(self, number: int) -> Configuration:
        """A configuration that the loop has entered."""
        assert self.known is not None
        return self.known.configurations[number]

    def _note_changes(self, began: Configuration, result: Integration) -> None:
        """Notes of what the loop changed and passed by itself."""
        passages = iter([*result.passages, (inf, 0.0)])
        passed = next(passages)
        for t, number in [*result.changes, (inf, -1)]:
            while passed[0] < t:
                self._note_passage(*passed)
                passed = next(passages)
            if t == inf:
                break
            now = self._numbered(number)
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

        Where these jump over it again, no other choice of dependent speeds was better: rank is lost there.
        """
        if self.short_steps is not None and self.short_steps.begin <= result.t_stop <= self.short_steps.end:
            self.ahead = found(instance, self.place, result.t_stop, self.share)
            return
        near = min(horizon(instance, self.place, AROUND), self.t_end - self.t0)
        self.short_steps = ShortSteps(max(self.place.t, result.t_stop - near), result.t_stop + near, near / 6)

    def _change(self, changing: list[EventRecord], result: Integration) -> None:
        """Another configuration, or a step across a singular place."""
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
            self.place, self.configuration = configurations.changed(place, before, others, result.choice)
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

    def _look_ahead(self, instance: Instance) -> None:
        """A forecast where the constraints are weak, and the step across its place, once that is at hand."""
        if instance.equations.reduction.strength is None:
            return
        t = self.place.t
        if self.ahead is None or not self.ahead.certain:
            strength = instance.strength(t, instance.packed(self.place), self.place.memory)
            weak = strength <= LOST_RANK * (1 + 1e-6)
            self.ahead = forecast(instance, self.place, self.share) if weak else None
            self.brief = horizon(instance, self.place, AROUND) if weak and self.ahead is None else inf
        if self.ahead is None or not self.ahead.at_hand(t):
            return
        if not self.ahead.certain and not confirmed(instance, self.place, self.ahead):
            nearer = max(0.5 * (self.ahead.singular - t), horizon(instance, self.place, LOOK_AGAIN))
            self.ahead, self.brief = None, nearer
            return
        self.stride = self.ahead.across(t)
        self._note_passage(self.ahead.singular, self.stride)
        self.ahead = None

    def _note_passage(self, singular: float, length: float) -> None:
        self.legs.notes.append(
            f"t = {singular:.6g} s: passed a place where the constraints lose rank, in one step of "
            f"{length:.3g} s"
        )

    def _note_exchange(self, t: float, before: Configuration, after: Configuration) -> None:
        if text := self.configurations.exchange_text(before, after):
            self.legs.notes.append(f"t = {t:.6g} s: {text}")


def _consistent_rows(instance: Instance, result: Integration) -> Integration:
    """The result with its rows as far as all constraints hold."""
    count = bisect(range(len(result.time)), 0, key=lambda k: _violated(instance, result, k))
    return replace(result, time=result.time[:count], samples=result.samples[:count])


def _violated(instance: Instance, result: Integration, k: int) -> int:
    """1 where a constraint is broken in a row, else 0."""
    try:
        instance.check(instance.row_place(float(result.time[k]), result.samples[k], result.final_memory))
    except ArmillaryError:
        return 1
    return 0


def _lock_text(event: EventRecord) -> str:
    both = (("locks", event.lock), ("unlocks", event.unlock))
    return " and ".join(f"{verb} {', '.join(u.data.name for u in us)}" for verb, us in both if us)


def _check_progress(stops: list[float], changing: list[EventRecord]) -> None:
    """An error for configurations that change without end at one time."""
    if len(stops) > 20 and stops[-1] - stops[-20] <= 1e-9 * max(abs(stops[-1]), 1.0):
        raise ArmillaryError(
            f"at t = {stops[-1]:.6g} s {', '.join(repr(e.name) for e in changing)} requires another "
            "configuration again and again; the constraints are singular there"
        )
