"""Simulation of the arm, 10 s at 1 ms with RK4, against the time of its 40,000 evaluations alone."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.candidate import Candidate
from benchmarks.timing import Effort, one_core, time_interleaved

DURATION, STEP = 10.0, 1e-3
EVALUATIONS = 4 * round(DURATION / STEP)


def simulate_arm(candidate: Candidate, compiled: Any, effort: Effort) -> dict[str, float]:
    """Seconds of `simulate` as a user calls it, and their ratio to the evaluations, measured in turns."""
    initial = {name: 0.1 * (i + 1) for i, name in enumerate(compiled.coordinate_names)}
    compiled.simulate(2 * STEP, step=STEP, method="rk4", initial=initial)  # compiles the integrator
    seconds, nanoseconds = float("inf"), float("inf")
    for _ in range(max(3, effort.rounds // 10)):
        with one_core():
            start = time.thread_time()
            compiled.simulate(DURATION, step=STEP, method="rk4", initial=initial)
            seconds = min(seconds, time.thread_time() - start)
        few = Effort(rounds=5, chunk=effort.chunk)
        nanoseconds = min(nanoseconds, time_interleaved([candidate], few)[0].minimum)
    alone = 1e-9 * nanoseconds * EVALUATIONS
    return {
        "seconds": seconds,
        "evaluations_seconds": alone,
        "ratio": seconds / alone,
        "steps": EVALUATIONS // 4,
    }
