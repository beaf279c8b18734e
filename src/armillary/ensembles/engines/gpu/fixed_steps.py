"""The engine on a GPU for fixed steps without events: a run's state stays in registers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from armillary.ensembles.engines.engine import LEFT_OVER, Outcome
from armillary.ensembles.engines.gpu.engine import CardEngine
from armillary.ensembles.engines.gpu.metric_slots import metric_text
from armillary.ensembles.engines.gpu.queued import Queued
from armillary.ensembles.engines.gpu.signals import stopped
from armillary.ensembles.plan import DIVERGED, FINISHED, NOT_RUN, Plan
from armillary.ensembles.starts import CompactBlock, Starts
from armillary.export.cuda.ensemble import Kernel, kernel
from armillary.program.targets.targets import DEPENDENT_SPEEDS, INTERNAL_EVENTS
from armillary.runtime.loop.tableau import Tableau

_STATUS = np.array([NOT_RUN, FINISHED, DIVERGED, LEFT_OVER], dtype=np.int8)  # by the kernel's own numbers
_MOST_EVENTS = 64  # one bit each
_SPEED = 1e13  # nodes of a program that a large card computes in a second: for the size of chunks alone
_SECONDS = 1.0  # of a chunk, and so until Ctrl-C acts
MANY = 1000  # runs of a chunk that leave their configuration, for which another kernel is compiled
_MOST_RUNS = 1 << 20  # of a chunk: more leave the card waiting for the host, fewer cost waves half full


class FixedSteps(CardEngine):
    """Fixed steps without events."""

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        program, method = plan.program, plan.method
        handled = [e.name for e in plan.model.equations.targets.watched if e.name not in INTERNAL_EVENTS]
        if method.adaptive or method.tableau is None:
            return f"method '{method.name}' chooses its own steps; give a step, for rk4 or midpoint"
        if handled:
            return f"'{program.name}' has the event '{handled[0]}'"
        if len(program.events.results) > _MOST_EVENTS:
            return f"'{program.name}' has more than {_MOST_EVENTS} constraints to watch"
        if plan.stops is not None and program.update.results:
            return f"inputs jump, and '{program.name}' has memories that are renewed at steps"
        if method.family:
            return f"'{program.name}' is in {method.family}"
        if plan.row_at is None:
            return "samples lie inside steps; let sample= be a multiple of step="
        if any(weight for row in method.tableau.a for weight in row[:-1]):
            return f"method '{method.name}' needs more than the last stage at a time"
        return ""

    def __init__(self, plan: Plan, precision: str = "double") -> None:
        assert plan.method.tableau is not None
        self._tableau = plan.method.tableau
        super().__init__(plan, precision)
        cupy = self.device.cupy
        grid, steps, due = stopped(plan, self._real)
        self._grid, self._due, self._last = cupy.asarray(grid), cupy.asarray(due), len(grid) - 1
        self._spans = _spans(steps)
        self._second: Queued | None = None  # for runs that leave their configuration

    def written(self) -> Kernel:
        plan = self.plan
        metrics, stages = metric_text(plan.metrics), self._tableau.stages
        choice = plan.code.watched_index.get(DEPENDENT_SPEEDS)
        return kernel(
            plan.program, plan.starts.varying, stages, self.precision, plan.history, metrics, choice,
            most_room=self.device.room,
        )  # fmt: skip

    @property
    def wanted(self) -> int:
        """About a second's work."""
        plan, wave = self.plan, self.wave
        assert plan.steps is not None
        nodes = len(plan.program.derivatives.nodes) + 4 * len(plan.program.state)
        work = max(1, len(plan.steps)) * self._tableau.stages * nodes
        return max(1, round(min(_SECONDS * _SPEED / work, _MOST_RUNS) / wave)) * wave

    def _chunk(self, starts: Starts, i0: int, i1: int) -> Outcome:
        real, n = self._real, i1 - i0
        block = starts.compact(i0, i1)
        signals = self._signals_of(starts)
        memory = block.memory if signals is None else signals.numbered(block.memory, i0)
        lost = block.state - block.state.astype(real) if real.itemsize == 4 else np.zeros((1, 1))
        on_card = {
            "varied": self._varied(block, n),
            "state": self._spread(block.state, n),
            "lost": self._spread(lost, n if real.itemsize == 4 else 1),
            "memory": self._spread(memory, n),
            **self._results(n),
        }

        def launch() -> None:
            """All steps: one launch for each span of equal ones."""
            for first, stop, length in self._spans:
                self._code.put("step", _method(self._tableau, length, real))
                points = (np.int32(first), np.int32(stop), np.int32(self._last), self._grid, self._due)
                self._code.launch(n * self.kernel.threads, n, (*points, *on_card.values()))

        with self._lock:  # constant memory is one for all
            self._put_constants(block.parameters, signals)
            end = self._timed(launch)
            self.evaluations += n * self._last * self._tableau.stages
        end()
        outcome = self._outcome(on_card, _STATUS)
        left = np.flatnonzero(outcome.status == LEFT_OVER)
        if left.size >= MANY and not Queued.refusal(self.plan):
            with self._lock:
                self._second = self._second or Queued(self.plan, self.precision)
            chosen = CompactBlock(
                block.parameters,
                {place: column[left] for place, column in block.varied.items()},
                *(a[:, left] if a.shape[1] == n else a for a in (block.state, memory)),
            )
            outcome.put(left, self._second.columns(chosen, left.size, signals))
        return outcome


# ---------------------------------------------------------------- the plan as the kernel reads it


def _spans(steps: np.ndarray) -> list[tuple[int, int, float]]:
    """Neighbouring equal steps: (first, end, length)."""
    if not steps.size:
        return [(0, 0, 0.0)]
    edges = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
    return [(a, b, float(steps[a])) for a, b in pairwise(edges)]


def _method(tableau: Tableau, step: float, real: np.dtype) -> np.ndarray:
    """The kernel's ``struct method``: the weights times the step, as bytes."""
    stages = tableau.stages
    kind = np.dtype([("a", real, stages), ("b", real, stages), ("c", np.float64, stages)], align=True)
    record = np.zeros((), kind)
    record["a"] = [step * row[-1] for row in tableau.a[1:]] + [0.0]
    record["b"] = [step * b for b in tableau.b]
    record["c"] = [step * c for c in tableau.c]
    return np.frombuffer(record.tobytes(), np.uint8)
