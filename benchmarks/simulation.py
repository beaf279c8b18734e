"""Simulation of the arm, 10 s at 1 ms with RK4, against the time of its 40,000 evaluations alone.

The evaluations are timed in two ways. Independent ones, one state after another from a pool, are what all
candidates are compared by; a wide core works on two of them at once. In a simulation each evaluation needs
the result of the one before; chained evaluations do too, so their time is the one that the integrator's own
cost adds to.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from benchmarks.candidate import Native, address, timer
from benchmarks.timing import Effort, one_core, time_interleaved

DURATION, STEP = 10.0, 1e-3
EVALUATIONS = 4 * round(DURATION / STEP)


def simulate_arm(candidate: Native, compiled: Any, effort: Effort) -> dict[str, float]:
    """Seconds of `simulate` as a user calls it, and their ratio to the evaluations, measured in turns."""
    initial = {name: 0.1 * (i + 1) for i, name in enumerate(compiled.coordinate_names)}
    compiled.simulate(2 * STEP, step=STEP, method="rk4", initial=initial)  # compiles the integrator
    chain = replace(candidate, name="chained", loop=address(timer()["derivatives_chain"]))
    seconds = without_rows = starting = independent = chained = float("inf")

    def timed(duration: float, sample: float) -> float:
        start = time.thread_time()
        compiled.simulate(duration, step=STEP, method="rk4", initial=initial, sample=sample)
        return time.thread_time() - start

    for _ in range(max(3, effort.rounds // 10)):
        with one_core():
            # As often as evaluations are: a first run finds caches of what was timed before it.
            seconds = min(seconds, *(timed(DURATION, STEP) for _ in range(5)))
            without_rows = min(without_rows, *(timed(DURATION, DURATION) for _ in range(5)))
            starting = min(starting, *(timed(STEP, STEP) for _ in range(5)))
        few = Effort(rounds=5, chunk=effort.chunk)
        times = time_interleaved([candidate, chain], few)
        independent = min(independent, times[0].minimum)
        chained = min(chained, times[1].minimum)
    alone, in_sequence = (1e-9 * ns * EVALUATIONS for ns in (independent, chained))
    return {
        "seconds": seconds,
        "evaluations_seconds": alone,
        "chained_evaluations_seconds": in_sequence,
        "ratio": seconds / in_sequence,
        "ratio_to_independent": seconds / alone,
        "steps": EVALUATIONS // 4,
        "start_milliseconds": 1e3 * (starting - seconds * STEP / DURATION),
        "sample_nanoseconds": 1e9 * (seconds - without_rows) * STEP / DURATION,
    }
