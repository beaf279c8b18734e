"""What an engine needs to make the runs of a batch, and what it gives back.

Arrays hold quantities row by row and runs column by column: neighbouring runs are neighbours in memory, as
vector registers and GPUs want them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
KEPT, LOOKED = 1, 2  # what a row is for: a history, metrics, or both (3)


@dataclass(frozen=True)
class Look:
    """A metric of a batch: its name, and the column of the output that it looks at."""

    name: str
    metric: Metric
    column: int


@dataclass(frozen=True, eq=False)
class Plan:
    """The runs of a batch, checked and ready for any engine.

    ``times`` are those of all rows, those of ``kept`` become histories of the columns ``history``, those of
    ``looked`` are shown to the metrics. ``grid`` and ``steps`` are the ends and lengths of fixed steps, and
    ``row_at`` the row that is due at each grid point or −1, where all rows lie on grid points; else None.
    """

    model: CompiledModel
    program: Program  # of the model, with just ``columns`` as outputs
    columns: tuple[str, ...]
    settings: IntegrationSettings
    times: np.ndarray
    kept: np.ndarray
    looked: np.ndarray
    history: tuple[int, ...]
    looks: tuple[Look, ...]
    starts: Starts
    grid: np.ndarray | None
    steps: np.ndarray | None
    row_at: np.ndarray | None

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
    def t_look(self) -> float:
        """The time of the first row that metrics see."""
        seen = self.times[self.looked]
        return float(seen[0]) if seen.size else self.settings.t0

    @property
    def slots(self) -> np.ndarray:
        """The slots of all metrics before the first row."""
        return np.array([x for look in self.looks for x in look.metric.start], dtype=float)

    @property
    def uses(self) -> np.ndarray:
        """What each row is for, as a real number that compiled code compares."""
        return np.where(self.kept, float(KEPT), 0.0) + np.where(self.looked, float(LOOKED), 0.0)

    def slot_places(self) -> list[int]:
        """Where the slots of each metric begin."""
        sizes = [len(look.metric.start) for look in self.looks]
        return [sum(sizes[:i]) for i in range(len(sizes))]


class Engine:
    """What makes runs of a plan: called with starts and the numbers of runs, i0 … i1 − 1, by any thread."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.halt = np.zeros(1)  # not zero: nothing more is begun; compiled loops look at it now and then

    @property
    def chunk(self) -> int | None:
        """How many runs it wants at a time; None where it does not matter."""
        return None

    @property
    def info(self) -> dict[str, Any]:
        """What is to be told of it."""
        return {}

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        raise NotImplementedError


_ARRAYS = ("status", "t_stop", "state", "memory", "rows", "slots", "event")


@dataclass(eq=False)
class Outcome:
    """What came of runs i0 … i1 − 1 of a plan: a column per run."""

    status: np.ndarray  # (n,) of int8, places in STATUS
    t_stop: np.ndarray  # (n,)
    state: np.ndarray  # (states, n)
    memory: np.ndarray  # (memories, n)
    rows: np.ndarray  # (samples, history columns, n); NaN where a run did not get
    slots: np.ndarray  # (slots, n)
    messages: dict[int, str]  # of runs that failed, counted from i0
    event: np.ndarray = field(
        default_factory=lambda: np.empty(0)
    )  # (n,): number of that which ended it, or −1

    def __post_init__(self) -> None:
        if self.event.size != self.status.size:
            self.event = np.full(self.status.size, -1, dtype=np.int32)

    @classmethod
    def empty(cls, plan: Plan, n: int) -> Outcome:
        """Room for n runs, none of them made."""
        samples = len(plan.samples)
        return cls(
            np.full(n, NOT_RUN, dtype=np.int8),
            np.full(n, np.nan),
            np.full((len(plan.program.state), n), np.nan),
            np.full((len(plan.program.memory), n), np.nan),
            np.full((samples, len(plan.history), n), np.nan),
            np.full((len(plan.slots), n), np.nan),
            {},
        )

    def first(self, n: int) -> Outcome:
        """The first n runs alone."""
        arrays = {name: getattr(self, name)[..., :n] for name in _ARRAYS}
        return Outcome(**arrays, messages=self.messages)

    def put(self, i0: int, part: Outcome) -> None:
        """The runs of a part in their place among all."""
        n = len(part.status)
        for name in _ARRAYS:
            getattr(self, name)[..., i0 : i0 + n] = getattr(part, name)
        self.messages |= {i0 + i: text for i, text in part.messages.items()}
