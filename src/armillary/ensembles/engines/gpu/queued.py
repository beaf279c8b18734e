"""The engine on a GPU for all that the described solver does: events, memories, adaptive steps, changes of
configuration.

A thread makes a run and then takes the next one from a queue, so that no thread waits for the longest run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from armillary.ensembles.engines.engine import LEFT_OVER, Outcome
from armillary.ensembles.engines.gpu.engine import CardEngine
from armillary.ensembles.engines.gpu.metric_slots import metric_text
from armillary.ensembles.engines.gpu.signals import SignalData
from armillary.ensembles.plan import (
    ACCUMULATES,
    DIVERGED,
    EVENT,
    FAILED,
    FINISHED,
    NOT_RUN,
    TOO_MANY_STEPS,
    TOO_SMALL,
    Plan,
)
from armillary.ensembles.request import restricted
from armillary.ensembles.starts import CompactBlock, Starts
from armillary.errors import ArmillaryError
from armillary.export.cuda.ensemble import Kernel
from armillary.export.cuda.solver import Configured, Features, solver_kernel
from armillary.program.configuration_changes import with_changes
from armillary.program.configurations import configurations_of
from armillary.program.program import Program
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.loop.layout import MOST_CONFIGURATIONS
from armillary.runtime.models.configurations.changes import ChangeCode
from armillary.runtime.models.programs.configured_program import ConfiguredProgram

# By the kernel's own numbers.
_STATUS = np.array(
    [
        NOT_RUN, FINISHED, EVENT, DIVERGED, TOO_SMALL, ACCUMULATES, TOO_MANY_STEPS, FAILED, LEFT_OVER,
    ],
    dtype=np.int8,
)  # fmt: skip
_WAVES = 8  # of threads in a chunk of runs: the last runs of a chunk leave threads idle


class Queued(CardEngine):
    """Any Runge-Kutta method, events and memories, and changes among the configurations of the table."""

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        method = plan.method
        if method.family:
            return (
                f"'{plan.program.name}' is in {method.family}; derive it with formalism='kane', 'recursive' "
                "or 'momentum'"
            )
        if method.tableau is None:
            return f"method '{method.name}' calls Python at every step; take rk4, midpoint, dopri5 or dop853"
        if np.ndim(plan.settings.atol):
            return "every state has a tolerance of its own; give one number as atol="
        return ""

    def __init__(self, plan: Plan, precision: str = "double") -> None:
        if plan.method.adaptive and precision != "double":
            raise ArmillaryError(
                f"method '{plan.method.name}' controls errors that precision='{precision}' does not resolve; "
                "give a step=, or precision='double'"
            )
        super().__init__(plan, precision)
        cupy, s = self.device.cupy, plan.settings
        self._times = cupy.asarray(np.append(plan.times, np.inf))
        jumps = np.append([] if plan.stops is None else plan.stops, np.inf)
        self._jumps = cupy.asarray(jumps.astype(self._real).astype(float))  # as the kernel has the time
        self._due = cupy.asarray(_due(plan))
        reals = (s.t0, s.t_end, s.step or 0.0, s.max_step, s.rtol, float(np.max(s.atol)))
        addresses = np.array([self._times.data.ptr, self._jumps.data.ptr], dtype=np.uint64)
        counts = np.array([s.max_steps, len(plan.times)], dtype=np.int64)
        parts = (addresses, np.array(reals), counts)
        self._code.put("every", np.frombuffer(b"".join(part.tobytes() for part in parts), np.uint8))

    def written(self) -> Kernel:
        plan = self.plan
        dense = plan.method.adaptive or bool(plan.program.events.results) or plan.row_at is None
        features = Features(plan.method, dense, plan.stops is not None)
        models = self._models = _models(plan)
        self._changes = _change_codes(models) if len(models) > 1 else []
        programs = [code.program for code in self._changes] or [models[0].equations.program]
        configured = [_configured(m, plan, p) for m, p in zip(models, programs, strict=True)]
        metrics = metric_text(plan.metrics)
        return solver_kernel(configured, features, plan.starts.varying, self.precision, plan.history, metrics)

    def precomputing(self) -> Sequence[tuple[int, int]]:
        if len(self._models) == 1:
            return super().precomputing()
        return [(code.address("precompute"), len(code.program.constants)) for code in self._changes]

    @property
    def wanted(self) -> int:
        return _WAVES * self._code.resident

    def _chunk(self, starts: Starts, i0: int, i1: int) -> Outcome:
        block, signals = starts.compact(i0, i1), self._signals_of(starts)
        if signals is not None:
            block = replace(block, memory=signals.numbered(block.memory, i0))
        return self.columns(block, i1 - i0, signals)

    def columns(self, block: CompactBlock, n: int, signals: SignalData | None) -> Outcome:
        """n runs from these parameters, states and memory."""
        cupy = self.device.cupy
        on_card = {
            "queue": cupy.zeros(2, np.uint64),
            "due": self._due,
            "varied": self._varied(block, n),
            "state": self._spread(block.state, n),
            "memory": self._spread(block.memory, n),
            **self._results(n),
            "ended": cupy.full(n, -1, np.int32),
        }
        threads = min(n, self._code.resident)
        with self._lock:  # constant memory is one for all
            self._put_constants(block.parameters, signals)
            end = self._timed(lambda: self._code.launch(threads, n, tuple(on_card.values())))
        end()
        with self._lock:
            self.evaluations += int(on_card["queue"].get()[1])
        return self._outcome(on_card, _STATUS)


def _models(plan: Plan) -> list[ConfiguredProgram]:
    """The models of all configurations of the table, the first one first."""
    model = plan.code
    if not (model.changes_configuration and model.changes_inside):
        return [model]
    model.compile_configurations()
    table = configurations_of(model.base.equations)
    return [model.configuration_models[entry.configuration] for entry in table][:MOST_CONFIGURATIONS]


def _change_codes(models: Sequence[ConfiguredProgram]) -> list[ChangeCode]:
    """Programs with the sections of changes and the ratings of all choices of dependent speeds."""
    table = configurations_of(models[0].base.equations)
    found = [(m.base.equations, table.ratings(m.equations.configuration.locked)) for m in models]
    return [ChangeCode(with_changes(equations, ratings=ratings).program) for equations, ratings in found]


def _due(plan: Plan) -> np.ndarray:
    """A code for each row: twice its number among those that are kept, from 1, plus 1 if metrics use it."""
    kept = plan.kept & bool(plan.history)
    return np.where(kept, 2 * np.cumsum(plan.kept), 0).astype(np.int32) + (
        plan.measured & bool(plan.metrics)
    ).astype(np.int32)


def _configured(model: ConfiguredProgram, plan: Plan, program: Program) -> Configured:
    """A configuration, with the outputs of a batch."""
    equations = replace(model.equations, program=program)
    watched = equations.targets.watched
    stops = [model.ends_a_leg(k) or e.name in INTERNAL_EVENTS for k, e in enumerate(watched)]
    changing = model.may_change_configuration
    ends = [e.stop and not changes for e, changes in zip(watched, changing, strict=True)]
    return Configured(equations, restricted(program, model.output_names, plan.columns), stops, ends)
