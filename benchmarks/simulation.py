"""Simulation of the arm, 10 s at 1 ms with RK4, against the time of its 40,000 evaluations alone.

The evaluations are timed in two ways. Independent ones, one state after another from a pool, are what all
candidates are compared by; a wide core works on two of them at once. In a simulation each evaluation needs
the result of the one before; chained evaluations do too, so their time is the one that the integrator's own
cost adds to.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from benchmarks.candidate import Native, address, timer
from benchmarks.timing import Effort, one_core

DURATION, STEP = 10.0, 1e-3
EVALUATIONS = 4 * round(DURATION / STEP)


def simulate_arm(candidate: Native, compiled: Any, effort: Effort) -> dict[str, float]:
    """Seconds of `simulate` as a user calls it, and their ratio to the evaluations, measured in turns."""
    initial = {name: 0.1 * (i + 1) for i, name in enumerate(compiled.coordinate_names)}
    compiled.simulate(2 * STEP, step=STEP, method="rk4", initial=initial)  # compiles the integrator
    chain = address(timer()["derivatives_chain"])

    def simulated(duration: float, sample: float) -> float:
        start = time.thread_time()
        compiled.simulate(duration, step=STEP, method="rk4", initial=initial, sample=sample)
        return time.thread_time() - start

    def evaluated(loop: int) -> float:
        found: float = timer().chunk_seconds(loop, candidate.self, EVALUATIONS)
        return found

    # All that is compared takes about as long, so that on a busy machine each finds as quiet moments.
    works = [
        partial(simulated, DURATION, STEP), partial(simulated, DURATION, DURATION),
        partial(simulated, STEP, STEP), partial(evaluated, candidate.loop), partial(evaluated, chain),
    ]  # fmt: skip
    best = [float("inf")] * len(works)
    with one_core():
        for _ in range(max(3, effort.rounds // 5)):
            for i, work in enumerate(works):
                # Several times: a first run finds caches of what was timed before it.
                best[i] = min(best[i], *(work() for _ in range(5)))
    seconds, without_rows, starting, alone, in_sequence = best
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
