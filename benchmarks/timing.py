"""Interleaved timing: all candidates of a model in one run, round by round, a few milliseconds each.

Whatever changes with time (clock frequency, neighbours on the machine) so meets all candidates alike; the
minimum over the rounds is kept, because noise only ever adds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.candidate import Candidate


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int = 150
    chunk: float = 3e-3  # seconds


@dataclass(frozen=True)
class Timing:
    """Nanoseconds of thread CPU time per evaluation."""

    minimum: float
    median: float


@contextmanager
def one_core() -> Iterator[None]:
    """The process held on its last core while it measures, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def time_interleaved(candidates: Sequence[Candidate], effort: Effort) -> list[Timing]:
    with one_core():
        watches = [candidate.stopwatch(effort.chunk) for candidate in candidates]
        seconds = np.array([[watch() for watch in watches] for _ in range(effort.rounds)])
    return [Timing(1e9 * float(column.min()), 1e9 * float(np.median(column))) for column in seconds.T]


def least_seconds(work: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the least CPU time of each piece of work on one core, taken in turns."""
    best = [float("inf")] * len(work)
    with one_core():
        for _ in range(rounds):
            for k, one in enumerate(work):
                start = time.process_time()
                one()
                best[k] = min(best[k], time.process_time() - start)
    return best
