"""A run through the configurations of its system, in one compiled loop.

The loop itself changes configurations. If its tables lack a configuration, the loop stops, and
`ConfigurationSupply` (run_changes.py) adds it. All configurations have the same outputs, so only the notes of
a run show the changes.

This file also joins the legs of a run to one result, makes runs of one leg, and raises errors for runs that
end at a loss of rank (see solver/passages.py).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import NoReturn

import numpy as np

from armillary.algebra.arguments import unsigned_zeros
from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.description import EventRecord
from armillary.program.targets.targets import CONSTRAINT_RANK, PIVOT_SIGN
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.integrate import Lasts, Supply, integrate
from armillary.runtime.integrators.settings import (
    Integration,
    IntegrationSettings,
    Outlook,
    RunChanges,
    check_rows,
)
from armillary.runtime.models.configurations import Configurations
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.run_changes import ConfigurationSupply
from armillary.runtime.start.initial import Place
from armillary.solver.thresholds import AROUND, NO_STRENGTH, STRIDE

Report = Callable[[float], None] | None  # called with the time reached


@dataclass
class RunLegs:
    """The results of a run through several configurations: its legs, events and notes."""

    instance: Instance  # of the last leg
    parts: list[Integration] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: str = ""  # why the run could not continue

    def result(self) -> Integration:
        """Join all legs; add a row at the end if an event ended the run between rows."""
        last = self.parts[-1]
        if len(self.parts) == 1 and last.status != "event":
            return last
        time = np.concatenate([p.time for p in self.parts])
        samples = np.concatenate([p.samples for p in self.parts])
        if last.status == "event" and not (len(time) and time[-1] >= last.t_stop):
            row = last.last_row
            if row is None:
                row = self.instance.outputs(last.t_stop, last.final_state, last.final_memory)
            time, samples = np.append(time, last.t_stop), np.vstack([samples, unsigned_zeros(row)])
        return replace(
            last,
            time=time,
            samples=samples,
            steps=sum(p.steps for p in self.parts),
            rejected=sum(p.rejected for p in self.parts),
            evaluations=sum(p.evaluations for p in self.parts),
            changeovers=[change for p in self.parts for change in p.changeovers],
            calm=False,
        )


def single_leg(instance: Instance, start: Place, settings: IntegrationSettings, report: Report) -> RunLegs:
    """Make a run in a single program."""
    return judged_leg(instance, integrate_leg(instance, start, settings, report))


def judged_leg(instance: Instance, result: Integration) -> RunLegs:
    """Check the end of a run in a single program; return the run as legs."""
    watched = instance.equations.targets.watched
    events = [(t, watched[k].name) for t, k in result.events if not watched[k].hidden]
    legs = RunLegs(instance, [result], events)
    if result.status in ("finished", "event") and instance.equations.reduction.rows:
        try:
            reached = instance.place(result.t_stop, result.final_state, result.final_memory)
            instance.check(reached, reached=True)
        except ArmillaryError as error:
            legs.parts = [consistent_rows(instance, result)]
            legs.failure = str(error)
    return legs


def integrate_leg(
    instance: Instance,
    place: Place,
    settings: IntegrationSettings,
    report: Report,
    changes: RunChanges | None = None,
    state: np.ndarray | None = None,
    *,
    supply: Supply | None = None,
    begin: Callable[[CompiledRun], CompiledRun] | None = None,
    lasts: Lasts | None = None,
) -> Integration:
    """Integrate the motion from a place; ``state`` is the state there, if known; see `integrate`."""
    inputs, method = instance.inputs, settings.integrator
    stops = inputs.stops(settings.t0, settings.t_end, method.adaptive) if inputs is not None else None
    return integrate(
        instance.model.run_functions,
        settings,
        state=instance.pack_state(place) if state is None else state,
        memory=place.memory,
        constants=instance.constants,
        progress=report,
        stops=stops,
        changes=changes,
        supply=supply,
        begin=begin,
        lasts=lasts,
    )


def consistent_rows(instance: Instance, result: Integration) -> Integration:
    """Return the result with the rows before the first row with a broken constraint."""
    count = bisect(range(len(result.time)), 0, key=lambda k: _violation(instance, result, k))
    return replace(result, time=result.time[:count], samples=result.samples[:count])


def _violation(instance: Instance, result: Integration, k: int) -> int:
    """Return 1 if a constraint is broken in a row, else 0."""
    try:
        instance.check(instance.row_place(float(result.time[k]), result.samples[k], result.final_memory))
    except ArmillaryError:
        return 1
    return 0


# A leg cannot pass a singularity if the motion from its start to there is less than this part of the
# coordinates' sizes.
TOO_NEAR = 2e-2


def refuse_place(instance: Instance, t: float, begin: Place) -> NoReturn:
    """Raise an error for a singularity that no step leads across; ``begin`` is the start of the leg."""
    cause = _interruption(instance, t, begin)
    if not cause and instance.equations.system.prescriptions:
        cause = "a loop cannot follow a prescribed motion any further: check how far its points can move"
    elif not cause:
        cause = (
            "if directions of close_loop() are fixed in different bodies, they may have become parallel: "
            "give directions of one body; if the mechanism can fold flat except for 1e-11 to 1e-6 of its "
            "lengths, make the lengths equal exactly, or make them differ by more"
        )
    raise ArmillaryError(
        f"the constraints of '{instance.equations.system.name}' lose rank near t = {t:.6g} s "
        f"and the motion could not be carried across; {cause}"
    )


def _interruption(instance: Instance, t: float, begin: Place) -> str:
    """Return why a step across a singularity was too short for an accurate result; "" if it was not.

    There are two causes: input data jump or have a kink near the singularity, or the leg begins near it.
    Rounding errors of a step across grow with the inverse third power of its length.
    """
    rates, _ = instance.sized_rates(begin)
    usual = STRIDE / max(float(np.max(np.abs(rates), initial=0.0)), 1e-300)  # seconds
    pieces = instance.inputs.pieces if instance.inputs is not None else {}
    breaks = [(when, name) for name, p in pieces.items() for when in (*p.jumps(), *p.derivative().jumps())]
    apart, when, name = min(((abs(when - t), when, name) for when, name in breaks), default=(np.inf, 0.0, ""))
    if apart < usual:
        return (
            f"input '{name}' jumps or bends at t = {when:.6g} s, so close to the singular configuration that "
            "every accurate step across it contains this time: let the input jump or bend earlier or later"
        )
    if t - begin.t < TOO_NEAR / STRIDE * usual:
        return (
            f"the motion begins at t = {begin.t:.6g} s, so close before the singular configuration that "
            "rounding errors spoil a step across it: begin farther before it, or beyond it"
        )
    return ""


def refuse(instance: Instance, result: Integration, begin: Place) -> NoReturn:
    """Raise an error for a run that ended where no step leads across, or where an event cannot happen."""
    k, t, system = result.refused_event, result.t_stop, instance.equations.system
    assert k is not None
    event = instance.equations.targets.watched[k]
    if event.name == CONSTRAINT_RANK:
        refuse_place(instance, t, begin)
    raise ArmillaryError(
        f"event '{event.name}' changes the motion at t = {t:.6g} s, where the constraints of '{system.name}' "
        "lose rank: the motion cannot begin again there, since its accelerations are not determined; let the "
        "event happen a little earlier or later"
    )


def refuse_choice(instance: Instance, place: Place) -> None:
    """Raise an error if other dependent speeds are required too near a loss of rank.

    No choice is better there, and with another choice a run would leave its branch of motion.
    """
    weak = instance.equations.reduction.strength is not None
    if weak and instance.strength(place.t, instance.pack_state(place), place.memory) <= NO_STRENGTH:
        refuse_place(instance, place.t, place)


def refuse_derivatives(instance: Instance, t: float) -> NoReturn:
    """Raise an error for derivatives of a motion across a loss of rank."""
    raise ArmillaryError(
        f"the constraints of '{instance.equations.system.name}' lose rank near t = {t:.6g} s, and "
        "the derivatives of the motion cannot be carried across; end the run before, or start beyond"
    )


def horizon(instance: Instance, place: Place, distance: float) -> float:
    """Return the seconds in which the fastest coordinate moves by a distance in units of its size."""
    fast, quickens = (float(np.max(np.abs(part), initial=1e-300)) for part in instance.sized_rates(place))
    found: float = min(distance / fast, (2 * distance / quickens) ** 0.5)
    return found


@dataclass(frozen=True)
class Stretch:
    """An interval of time in which a step jumped over a singular configuration, and the step size there."""

    begin: float
    end: float
    step: float


class ConfigurationRun:
    """A run from a place, in the first configuration or one with a better choice of dependent speeds.

    The caller gives the ``state`` at the start if the start certainly suits the first configuration.
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
        self.configuration = configurations.first  # in which the run begins
        self.legs = RunLegs(configurations[self.configuration])
        outputs = len(self.legs.instance.model.output_names)
        check_rows(settings.samples, settings.fixed_step, outputs)  # before `row_times` allocates an array
        self.times = settings.row_times
        suits, state = state is not None, self.legs.instance.pack_state(place) if state is None else state
        self.start = place, state
        self.suits = suits or (place.holds and self.legs.instance.determines_speeds(place, state))

    def run(self, result: Integration | None = None) -> RunLegs:
        """Make the run and return its legs; ``result`` is the result of the loop, if it has run already."""
        try:
            while not self._finish(self._integrate() if result is None else result):
                result = None
        except ArmillaryError as error:
            if not self.legs.parts:
                raise
            self.legs.failure = str(error)
        return self.legs

    def _integrate(self) -> Integration:
        """Integrate the motion from the start."""
        self.legs = RunLegs(self.configurations[self.configurations.first])
        supply, (place, state) = ConfigurationSupply(self.configurations, self.settings.atol), self.start
        tables = supply.tables
        if (stretch := self.stretch) is not None:
            outlook = Outlook(
                short_begin=stretch.begin, short_end=stretch.end, short_step=stretch.step, met_singularity=1
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
        """Record the rows of the run; return False if the run must be repeated."""
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
        # Rounding may put an event just before a singularity; then no step continues from there.
        stuck = bool(happened) and result.status == "step too small" and self.stretch is None
        if (flipped or stuck) and result.t_stop > self.place.t:
            self._go_back(result, self.configurations[self.configuration])
            return False
        if flipped:
            refuse_place(instance, result.t_stop, self.place)
        reached = instance.place(result.t_stop, result.final_state, result.final_memory)
        if result.status in ("finished", "event") and not any(e.changes for e in happened):
            self._check(instance, reached, result)  # before its rows are recorded
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
        """Raise the error for a loss of rank that the loop could not pass; keep the rows before it."""
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
        """Set short steps around a singularity that a step jumped over, so that the factor of a dependent
        speed changed its sign. If short steps have jumped over it already, raise an error.
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
            f"t = {singular:.6g} s: passed a configuration where the constraints lose rank, in one step of "
            f"{length:.3g} s"
        )

    def _note_exchange(self, t: float, before: Configuration, after: Configuration) -> None:
        if text := self.configurations.exchange_text(before, after):
            self.legs.notes.append(f"t = {t:.6g} s: {text}")


def events_at_end(instance: Instance, result: Integration) -> list[EventRecord]:
    """Return the events that happen at the end of a run or of a leg."""
    watched = instance.equations.targets.watched
    return [watched[k] for t, k in result.events if t == result.t_stop and k < len(watched)]


def _lock_text(event: EventRecord) -> str:
    """Describe what an event locks and unlocks."""
    both = (("locks", event.lock), ("unlocks", event.unlock))
    return " and ".join(f"{verb} {', '.join(u.data.name for u in us)}" for verb, us in both if us)
