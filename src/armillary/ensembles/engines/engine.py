"""The interface of engines: a plan and starts enter, an `Outcome` leaves.

An engine is a class whose attributes state its properties. Its method ``refusal`` returns why it cannot make
the runs of a plan. ``table.py`` lists all engines; the first that does not refuse makes the runs. A new
engine is a new file and an entry in the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, symbol
from armillary.ensembles.plan import NOT_RUN, BatchMetric, Plan
from armillary.ensembles.starts import Starts
from armillary.llvm.instructions import Places
from armillary.llvm.module import Module
from armillary.llvm.node_writer import Writer
from armillary.program.program import section
from armillary.untyped import DataTable

LEFT_OVER = 100  # status of a run that an engine leaves to single runs


class Engine:
    """An object that makes the runs i0 … i1 − 1 of a plan from starts; several threads may call it."""

    name: str  # for the info of results
    threads: ClassVar[int | None] = None  # number of threads that call it; None: the user chooses
    leaves_runs: ClassVar[bool] = False  # whether some runs may end LEFT_OVER
    judges_runs: ClassVar[bool] = False  # whether it detects motions without mass; else batch.py does

    width = 1  # number of runs that it makes side by side

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        # Once this number is not zero, engines begin no further runs; compiled loops read it repeatedly.
        self.halt = np.zeros(1)

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        """Return why this engine cannot make the runs of a plan; "" if it can."""
        raise NotImplementedError

    @classmethod
    def for_plan(cls, plan: Plan, precision: str) -> Engine:
        """Return the engine for a plan that it does not refuse."""
        return cls(plan)

    @property
    def chunk(self) -> int | None:
        """The number of runs that a call should make; `None` for any number."""
        return None

    @property
    def info(self) -> DataTable:
        """Further entries for the info of results."""
        return {}

    def renew(self) -> bool:
        """Add configurations that single runs have met since the last call; return whether there were any."""
        return False

    def make_ready(self) -> None:
        """Compile everything before threads begin, since their stacks may be too small for the compiler."""

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        raise NotImplementedError


_ARRAYS = ("status", "t_stop", "state", "memory", "rows", "slots", "event")


@dataclass(eq=False)
class Outcome:
    """The results of n runs of a plan: a column per run."""

    status: np.ndarray  # (n,) of int8, indices in STATUS
    t_stop: np.ndarray  # (n,), times at which the runs ended
    state: np.ndarray  # (states, n)
    memory: np.ndarray  # (memories, n)
    rows: np.ndarray  # (samples, history columns, n); NaN after a run's end
    slots: np.ndarray  # (slots, n), the numbers from which metrics are computed (metrics.py)
    messages: dict[int, str]  # of failed runs, by column
    # (n,): number of the event that ended the run, or −1
    event: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if self.event.size != self.status.size:
            self.event = np.full(self.status.size, -1, dtype=np.int32)

    @classmethod
    def empty(cls, plan: Plan, n: int) -> Outcome:
        """Return the outcome of n runs that are not made yet."""
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

    def first_runs(self, n: int) -> Outcome:
        """Return the outcome of the first n runs."""
        arrays = {name: getattr(self, name)[..., :n] for name in _ARRAYS}
        return Outcome(**arrays, messages={i: text for i, text in self.messages.items() if i < n})

    def put_runs(self, i0: int | np.ndarray, part: Outcome) -> None:
        """Store the runs of a part: in columns from ``i0`` on, or in given columns."""
        n = len(part.status)
        places = i0 if isinstance(i0, np.ndarray) else slice(i0, i0 + n)
        for name in _ARRAYS:
            getattr(self, name)[..., places] = getattr(part, name)
        numbers = i0 if isinstance(i0, np.ndarray) else range(i0, i0 + n)
        self.messages |= {int(numbers[i]): text for i, text in part.messages.items()}


# LLVM code, on single numbers or vectors, that updates the slots of all metrics by one row of outputs.

_TIME = symbol("t")


def add_metrics_function(module: Module, metrics: Sequence[BatchMetric]) -> None:
    """Define update_metrics(t, outputs, slots), a function that updates all metrics by one row of outputs."""
    places: Places = {_TIME: "%t"}
    renewed: list[Expr] = []
    for entry in metrics:
        y = symbol(f"output {entry.column}")
        old = [symbol(f"slot {len(renewed) + i}") for i in range(len(entry.metric.start))]
        places |= {y: ("outputs", entry.column)}
        places |= {slot: ("slots", len(renewed) + i) for i, slot in enumerate(old)}
        for slot, before in zip(entry.metric.slots(entry.metric.row(_TIME, y, old)), old, strict=True):
            after = slot.value_after_row(before)
            renewed.append(after if slot.where is None else fn.select(slot.where, after, before))
    found = section("update_metrics", [f"slot {i}" for i in range(len(renewed))], renewed)
    writer = _UnfusedWriter(module, places, {}, found.arrival)
    for node in found.nodes:
        writer.node(node)
    writer.results(found, [("slots", i) for i in range(len(renewed))])
    module.define(
        f"void @update_metrics({module.real} %t, ptr noalias %outputs, ptr noalias %slots)",
        writer.body("update_metrics"),
    )


class _UnfusedWriter(Writer):
    """A writer that fuses no operations, so that a metric has the same bits on all processors and in single
    runs.
    """

    def multiply_add(self, a: str, b: str, c: str) -> str:
        return self.add(self.mul(a, b), c)
