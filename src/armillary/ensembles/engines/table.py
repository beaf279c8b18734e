"""The list of engines, the choice of an engine, and the engine that makes runs one by one in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from armillary.ensembles.engines.engine import Engine, Outcome
from armillary.ensembles.engines.lane_engines import Lanes, LanesWithEvents
from armillary.ensembles.engines.scalar import Scalar
from armillary.ensembles.plan import (
    ACCUMULATES,
    DIVERGED,
    EVENT,
    FAILED,
    FINISHED,
    NOT_RUN,
    STATUS,
    TOO_MANY_STEPS,
    TOO_SMALL,
    Plan,
)
from armillary.ensembles.starts import Starts
from armillary.errors import ArmillaryError, SimulationError
from armillary.model.units import state_factor
from armillary.results import Run

# The engine that makes single runs, for redundant coordinates and for runs that other engines leave over.

# Failures of single runs that keep their own status; other failures have the status "failed".
_FAILURES = [STATUS[i] for i in (DIVERGED, TOO_SMALL, ACCUMULATES, TOO_MANY_STEPS)]


class PythonEngine(Engine):
    """Engine for any model and method: ``simulate``, run by run."""

    name = "python"
    threads = 1
    judges_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        return ""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        end = plan.settings.t_end
        self.times = plan.times if np.any(plan.times[-1:] == end) else np.append(plan.times, end)

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        outcome = Outcome.empty(self.plan, i1 - i0)
        for i in range(i0, i1):
            if self.halt[0]:
                break
            self.make_run(starts, i, i - i0, outcome)
        return outcome

    def make_run(self, starts: Starts, i: int, column: int, outcome: Outcome) -> None:
        """Make run ``i`` and put it into a column; after Ctrl-C mark it as not run and set ``halt``."""
        plan = self.plan
        settings = replace(plan.settings, sample=self.times)
        run: Run | None
        try:
            run = plan.model.run_with(settings, **starts.single(i))
            status = EVENT if run.info["status"] == "event" else FINISHED
        except SimulationError as error:
            run, status = error.run, FAILED
            outcome.messages[column] = str(error)
        except ArmillaryError as error:
            run, status = None, FAILED
            outcome.messages[column] = str(error)
        outcome.status[column] = status
        if run is None:
            return
        ended = str(run.info["status"])
        if ended == "interrupted":
            # The run has caught Ctrl-C, which must end the batch.
            outcome.status[column] = NOT_RUN
            self.halt[0] = 1.0
            return
        if status == FAILED and ended in _FAILURES:
            outcome.status[column] = STATUS.index(ended)
        if not len(run):
            return
        self.record_run(run, status, column, outcome)

    def record_run(self, run: Run, status: int, column: int, outcome: Outcome) -> None:
        plan = self.plan
        values = (
            np.stack([run[name] for name in plan.columns], axis=1)
            if plan.columns
            else np.empty((len(run), 0))
        )
        count = min(len(run), len(plan.times))
        rows = np.flatnonzero(plan.kept[:count] & (run.time[:count] == plan.times[:count]))
        outcome.rows[: len(rows), :, column] = values[np.ix_(rows, np.array(plan.history, dtype=int))]
        seen = np.zeros(len(run), dtype=bool)
        seen[:count] = plan.measured[:count]
        seen[-1] |= status == EVENT
        place = 0
        for entry in plan.metrics:
            size = len(entry.metric.start)
            if np.any(seen):
                slots = entry.metric.slots_of(run.time[seen], values[seen, entry.column])
                outcome.slots[place : place + size, column] = slots
            place += size
        outcome.t_stop[column] = run.time[-1]
        symbols = plan.program.state
        known = [s for s in symbols if s.data.name in run]
        if len(known) == len(symbols):
            outcome.state[:, column] = [run[s.data.name][-1] * state_factor(s) for s in known]
        memories = plan.model.equations.system.memories
        outcome.memory[:, column] = [
            run[name][-1] * m.factor if name in run else np.nan for name, m in memories.items()
        ]
        watched = [e.name for e in plan.model.equations.targets.watched]
        if status == EVENT and run.events and run.events[-1].name in watched:
            outcome.event[column] = watched.index(run.events[-1].name)


def _cpu() -> tuple[type[Engine], ...]:
    return Lanes, LanesWithEvents, Scalar, PythonEngine


def _gpu() -> tuple[type[Engine], ...]:
    from armillary.ensembles.engines.gpu_runs import (  # a slow import
        FixedSteps,
        Queued,
    )

    return FixedSteps, Queued


# The engines of each device, the fastest first.
ENGINES: Mapping[str, Callable[[], tuple[type[Engine], ...]]] = {"cpu": _cpu, "gpu": _gpu}


def engine_for(plan: Plan, device: str = "cpu", precision: str = "double") -> Engine:
    """Return the fastest engine of a device that can make the runs of a plan."""
    why = ""
    for kind in ENGINES[device]():
        if not (why := kind.refusal(plan)):
            return kind.for_plan(plan, precision)
    raise ArmillaryError(f"these runs are not possible on the {device.upper()}: {why}; or use device='cpu'")
