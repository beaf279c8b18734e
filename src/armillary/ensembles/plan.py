"""The data from which an engine makes the runs of a batch.

Arrays hold quantities row by row and runs column by column: neighbouring runs are neighbours in memory, as
vector registers and GPUs want them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.ensembles.metrics import Metric
from armillary.ensembles.starts import Starts
from armillary.program.program import Program
from armillary.runtime.integrators import Method
from armillary.runtime.integrators.settings import IntegrationSettings
from armillary.runtime.models.compiled import CompiledModel

# How a run ended, by number.
STATUS = (
    "finished", "event", "diverged", "step too small", "events accumulate", "too many steps", "failed",
    "not run",
)  # fmt: skip
FINISHED, EVENT, DIVERGED, TOO_SMALL, ACCUMULATES, TOO_MANY_STEPS, FAILED, NOT_RUN = range(len(STATUS))

AT_ONCE = 20_000  # steps of a run between two looks at whether to halt
KEPT, MEASURED = 1, 2  # what a row is for: a history, metrics, or both (3)


@dataclass(frozen=True)
class BatchMetric:
    """A metric of a batch: its name, and the column of the output that it is of."""

    name: str
    metric: Metric
    column: int


@dataclass(frozen=True, eq=False)
class Plan:
    """The runs of a batch, checked and ready for any engine.

    ``times`` are those of all rows, those of ``kept`` become histories of the columns ``history``, those of
    ``measured`` are shown to the metrics. ``grid`` and ``steps`` are the ends and lengths of fixed steps, and
    ``row_at`` the row that is due at each grid point or −1, where all rows lie on grid points; else None.
    """

    model: CompiledModel
    program: Program  # of the model, with just ``columns`` as outputs
    columns: tuple[str, ...]
    settings: IntegrationSettings
    times: np.ndarray
    kept: np.ndarray
    measured: np.ndarray
    history: tuple[int, ...]
    metrics: tuple[BatchMetric, ...]
    starts: Starts
    grid: np.ndarray | None
    steps: np.ndarray | None
    row_at: np.ndarray | None
    code: CompiledModel  # whose functions make the runs: that of the model, or what reads inputs over time
    size: int  # runs of the batch, or of a whole block of a study: the engine is chosen by it

    @cached_property
    def stops(self) -> np.ndarray | None:
        """Times at which the inputs of some run jump."""
        inputs, s = self.starts.inputs, self.settings
        return inputs.stops(s.t0, s.t_end, s.integrator.adaptive) if inputs is not None else None

    @property
    def runs(self) -> int:
        return self.starts.runs

    @property
    def method(self) -> Method:
        return self.settings.integrator

    @property
    def samples(self) -> np.ndarray:
        """The times of histories."""
        return self.times[self.kept] if self.history else self.times[:0]

    @property
    def first_measured(self) -> float:
        """The time of the first row that metrics see."""
        seen = self.times[self.measured]
        return float(seen[0]) if seen.size else self.settings.t0

    @property
    def slots(self) -> np.ndarray:
        """The slots of all metrics before the first row."""
        return np.array([x for entry in self.metrics for x in entry.metric.start], dtype=float)

    @property
    def uses(self) -> np.ndarray:
        """The purpose of each row, as a real number that compiled code compares."""
        return np.where(self.kept, float(KEPT), 0.0) + np.where(self.measured, float(MEASURED), 0.0)

    def slot_places(self) -> list[int]:
        """Where the slots of each metric begin."""
        sizes = [len(entry.metric.start) for entry in self.metrics]
        return [sum(sizes[:i]) for i in range(len(sizes))]
