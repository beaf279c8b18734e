"""Runs through several programs of one system: other dependent speeds, joints locked and unlocked.

Each mode of a system has a program of its own, derived and compiled when a run first needs it and kept. The
compiled loop ends where an event asks for another mode; here the state is carried over and the run goes on.
All modes have the same outputs, so nobody sees the seams but in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.errors import SimulationError
from armillary.mechanics.constrained import Mode, Setting, full_tree
from armillary.mechanics.impulse import after_impulse, full_mass_matrix
from armillary.mechanics.partition import partition
from armillary.mechanics.tree import numeric
from armillary.model.records import Event
from armillary.program.derive import derive
from armillary.program.roots import POOR, RANK, SWITCHING
from armillary.runtime.integrators import METHODS, Integration, integrate
from armillary.runtime.integrators.sampling import SampleTimes
from armillary.runtime.leap import leap, stride_across
from armillary.runtime.place import Place

if TYPE_CHECKING:
    from armillary.runtime.compiled import CompiledModel


@dataclass
class Journey:
    """What a run through several modes gave: rows and counts together, and what happened on the way."""

    model: CompiledModel  # of the last part
    parts: list[Integration] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def result(self) -> Integration:
        last = self.parts[-1]
        return replace(
            last,
            time=np.concatenate([p.time for p in self.parts]),
            samples=np.concatenate([p.samples for p in self.parts]),
            steps=sum(p.steps for p in self.parts),
            rejected=sum(p.rejected for p in self.parts),
            evaluations=sum(p.evaluations for p in self.parts),
        )


class Modes:
    """The programs of one system by mode; the first is the one that the user derived."""

    def __init__(self, model: CompiledModel) -> None:
        self.first = model.equations.mode
        self._models: dict[Mode, CompiledModel] = {self.first: model}

    def model(self, mode: Mode) -> CompiledModel:
        """The program of a mode, derived and compiled at its first use."""
        if mode not in self._models:
            equations = self._models[self.first].equations
            again = derive(equations.system, equations.formalism, mode=mode, **equations.options)
            self._models[mode] = again.compile()
        return self._models[mode]

    def travel(
        self,
        place: Place,
        t_end: float,
        *,
        method: str,
        parameters: Mapping[str, Any] | None,
        step: float | None,
        sample: Any,
        max_steps: int,
        **how: Any,
    ) -> Journey:
        """The run from a place to an end, through as many modes as it takes."""
        mode = self.suitable(place, self.first, parameters)
        journey = Journey(self.model(mode))
        self._note_exchange(place.t, self.first, mode, journey)
        t0, times = place.t, _all_times(sample, place.t, t_end, step)
        stops: list[float] = []
        stride = 0.0
        while True:
            model = journey.model = self.model(mode)
            end = t_end
            if stride:
                end = min(place.t + stride, t_end)
            elif step and not METHODS[method].adaptive and place.t > t0:  # back to the grid of steps first
                grid = t0 + step * np.ceil((place.t - t0) / step * (1 - 1e-12))
                end = min(grid, t_end) if grid > place.t else t_end
            due = times[((times > place.t) if journey.parts else (times >= place.t)) & (times <= end)]
            if stride:
                result = leap(model, place, end, due, parameters)
            else:
                result = integrate(
                    model.run_functions(),
                    method,
                    t0=place.t,
                    t_end=end,
                    state=model.packed(place),
                    memory=place.memory,
                    constants=model.constants(parameters),
                    step=step,
                    sample=due,
                    max_steps=max_steps - sum(p.steps + p.rejected for p in journey.parts),
                    **how,
                )
            journey.parts.append(result)
            place = model.place(result.t_stop, result.final_state, result.final_memory, parameters)
            watched = model.equations.targets.watched
            journey.events += [(t, watched[k].name) for t, k in result.events if not watched[k].hidden]
            happened = [watched[k] for t, k in result.events if t == result.t_stop]
            if result.status == "finished":
                if end >= t_end:
                    return journey
                stride = 0.0
                continue
            changing = [e for e in happened if e.name in (SWITCHING, RANK) or e.lock or e.unlock]
            stopping = [e for e in happened if e.stop and e.name not in (SWITCHING, RANK)]
            if result.status != "event" or not changing or stopping:
                return journey
            stops.append(place.t)
            _check_progress(stops, changing)
            stride = 0.0
            if any(e.name == RANK for e in changing):
                stride, ahead = stride_across(model, place, parameters)
                if stride:
                    journey.notes.append(
                        f"t = {place.t + ahead:.6g} s: passed a place where the constraints lose rank, in one "
                        f"step of {stride:.3g} s"
                    )
            if any(e.name != RANK for e in changing):
                place, mode = self._changed(place, mode, changing, parameters, journey)

    # ------------------------------------------------------------ from mode to mode

    def _changed(
        self,
        place: Place,
        mode: Mode,
        changing: list[Event],
        parameters: Mapping[str, Any] | None,
        journey: Journey,
    ) -> tuple[Place, Mode]:
        locked = set(mode.locked)
        for event in changing:
            locked |= {u.data.name for u in event.lock}
            locked -= {u.data.name for u in event.unlock}
        now = Mode(frozenset(locked), mode.dependents if locked == mode.locked else ())
        new = locked - mode.locked
        if new:
            place = replace(place, u=self._stopped(place, sorted(locked), parameters))
        chosen = self.suitable(place, now, parameters)
        for event in changing:
            if event.lock or event.unlock:
                parts = [
                    f"{verb} {', '.join(u.data.name for u in us)}"
                    for verb, us in (("locks", event.lock), ("unlocks", event.unlock))
                    if us
                ]
                journey.notes.append(f"t = {place.t:.6g} s: event '{event.name}' {' and '.join(parts)}")
        if locked == mode.locked:
            self._note_exchange(place.t, mode, chosen, journey)
        return place, chosen

    def _note_exchange(self, t: float, mode: Mode, chosen: Mode, journey: Journey) -> None:
        before, after = self._dependents(mode), self._dependents(chosen)
        if before != after:
            journey.events.append((t, SWITCHING))
            journey.notes.append(
                f"t = {t:.6g} s: {', '.join(sorted(before - after))} became independent in place of "
                f"{', '.join(sorted(after - before))}, whose motion did not tell that of the others there"
            )

    def _dependents(self, mode: Mode) -> set[str]:
        setting = self.model(mode).equations.setting
        names = [u.data.name for u in self.model(mode).equations.system.speeds]
        return {names[d] for d in setting.elimination.factors}

    def suitable(self, place: Place, mode: Mode, parameters: Mapping[str, Any] | None) -> Mode:
        """The mode itself where its choice of dependent speeds is good at a place, else one that is."""
        model = self.model(mode)
        setting = model.equations.setting
        if setting.quality is None or model.quality(place, parameters) > POOR:
            return mode
        return self._better(place, mode, setting, parameters)

    def _better(
        self, place: Place, mode: Mode, setting: Setting, parameters: Mapping[str, Any] | None
    ) -> Mode:
        model = self.model(mode)
        system = model.equations.system
        names = [u.data.name for u in system.speeds]
        figures = model.geometry(parameters, place.memory).at(place.t, place.q)
        sizes = np.ones(len(names))
        for kind in {u.dimension for u in system.speeds}:
            same = [u.dimension is kind for u in system.speeds]
            sizes[same] = np.max(np.abs(figures.jacobian[:, same]), initial=0.0) or 1.0
        rows = {row.constraint.name: i for i, row in enumerate(setting.rows)}
        kept = setting.elimination.kept
        now = [(rows[kept[step.row].constraint.name], step.speed) for step in setting.elimination.steps]
        free = {
            names.index(target.data.name)
            for event in system.events.values()
            for target in event.changes
            if target.data.role == "speed"
        }
        chosen = partition(figures.jacobian, sizes, free, now)
        if len(chosen) < len(now):
            lost = [setting.rows[i].constraint.name for i, _ in now if i not in {row for row, _ in chosen}]
            raise SimulationError(
                f"at t = {place.t:.6g} s the constraints of '{system.name}' lose rank "
                f"({', '.join(lost)} says nothing new there), so the motion can go on in more than one way; "
                "start a little away from there",
                None,
            )
        return Mode(mode.locked, tuple((setting.rows[i].constraint.name, names[j]) for i, j in chosen))

    def _stopped(self, place: Place, locked: list[str], parameters: Mapping[str, Any] | None) -> np.ndarray:
        """Speeds after joints have been locked: momentum is exchanged with all others."""
        model = self.model(self.first)
        system, setting = model.equations.system, model.equations.setting
        names = [u.data.name for u in system.speeds]
        M = full_mass_matrix(numeric(full_tree(system), model.values_at(place, parameters)), len(names))
        rows = np.zeros((len(locked), len(names)))
        rows[range(len(locked)), [names.index(name) for name in locked]] = 1.0
        known = np.zeros(len(locked))
        if setting.rows:
            figures = model.geometry(parameters, place.memory).at(place.t, place.q)
            rows, known = np.vstack([figures.jacobian, rows]), np.concatenate([figures.known, known])
        return after_impulse(M, place.u, rows, known)


def _all_times(sample: Any, t0: float, t_end: float, step: float | None) -> np.ndarray:
    """Times of all rows; without ``sample`` the ends of steps."""
    times = SampleTimes(step if sample is None else sample, t0, t_end)
    found = np.asarray(times.times(0, times.count), dtype=float)
    return np.append(found, t_end) if sample is None and found[-1] < t_end else found


def _check_progress(stops: list[float], changing: list[Event]) -> None:
    """An error for modes that change without end at one time."""
    if len(stops) > 20 and stops[-1] - stops[-20] <= 1e-9 * max(abs(stops[-1]), 1.0):
        raise SimulationError(
            f"at t = {stops[-1]:.6g} s {', '.join(repr(e.name) for e in changing)} asks for another mode "
            "again and again; the constraints are singular there",
            None,
        )
