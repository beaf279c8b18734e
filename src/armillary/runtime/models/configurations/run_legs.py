"""The legs of a run as one result, and a run of one leg."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from armillary.algebra.arguments import unsigned_zeros
from armillary.errors import ArmillaryError
from armillary.runtime.integrators import Integration
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.integrate import Lasts, Supply, integrate
from armillary.runtime.integrators.records import RunChanges
from armillary.runtime.integrators.settings import IntegrationSettings
from armillary.runtime.models.programs.instance import Instance
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
    """Make a run through one program alone."""
    return judged_leg(instance, integrate_leg(instance, start, settings, report))


def judged_leg(instance: Instance, result: Integration) -> RunLegs:
    """Check the end of a run through one program alone."""
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
    """Integrate the motion from a place; ``state``: the state there, if it is known; other options: see
    `integrate`.
    """
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
    """Return the result with the rows before the first in which a constraint is broken."""
    count = bisect(range(len(result.time)), 0, key=lambda k: _violation(instance, result, k))
    return replace(result, time=result.time[:count], samples=result.samples[:count])


def _violation(instance: Instance, result: Integration, k: int) -> int:
    """Return 1 if a constraint is broken in a row, else 0."""
    try:
        instance.check(instance.row_place(float(result.time[k]), result.samples[k], result.final_memory))
    except ArmillaryError:
        return 1
    return 0
