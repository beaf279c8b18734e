"""Interleaved timing: all candidates of a model in one process, round by round, a few milliseconds each.

Whatever changes with time (clock frequency, neighbours on the machine) so meets all candidates alike; the
minimum over the rounds is kept, because noise only ever adds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.candidate import Candidate, timer


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


def _evaluations_in(candidate: Candidate, chunk: float) -> int:
    """Evaluations that fill a chunk, found by doubling; this also warms the candidate up."""
    count = 16
    while (seconds := timer().chunk_seconds(candidate.loop, candidate.self, count)) < 0.25 * chunk:
        count *= 2
    return max(16, round(count * chunk / seconds))


def time_interleaved(candidates: Sequence[Candidate], effort: Effort) -> list[Timing]:
    with one_core():
        counts = [_evaluations_in(candidate, effort.chunk) for candidate in candidates]
        seconds = np.empty((effort.rounds, len(candidates)))
        for row in seconds:
            for column, (candidate, count) in enumerate(zip(candidates, counts, strict=True)):
                row[column] = timer().chunk_seconds(candidate.loop, candidate.self, count) / count
    return [Timing(1e9 * float(column.min()), 1e9 * float(np.median(column))) for column in seconds.T]
