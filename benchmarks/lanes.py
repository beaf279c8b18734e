"""Vectors of runs: what they gain on one core, beside the best that runs one after another reach.

All engines make the same runs from starts and parameters that differ, and end in the same states; they take
turns on one core. A single long run is timed as well, less what starts it: the better of it and of the scalar
engine is what vectors are held against.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from armillary.algebra.arguments import core_of
from armillary.verification.rows import largest
from benchmarks.published import example_system
from benchmarks.timing import one_core

EXAMPLES = ("stanford_arm", "car", "spacecraft_2", "hub_and_panels", "spinning_boom")
WIDTHS = (2, 4, 8)
RUNS = 256  # of fixed steps: with 64 the start of a call, 0.4 ms, was a tenth of the arm's time
ADAPTIVE_RUNS = 64
STEPS, STEP = 250, 1e-3
DURATION = 10.0
"""Of adaptive runs, s; with the usual tolerances of 1e-9."""
STAGES = 4
AGREEMENT = {"rk4": 1e-10, "dop853": 1e-6}
"""Largest difference between the engines' last states, relative to a coordinate or to one. Steps of one size
round differently only; steps that are chosen follow their tolerance.
"""


def compiled_example(name: str) -> Any:
    return example_system(name).derive().compile()


def spread(compiled: Any, runs: int, parameters: int = 4) -> dict[str, Any]:
    """Starts of many runs: states about the described one, and the first parameters that are not zero varied
    by a twentieth.
    """
    random = np.random.default_rng(5)
    start = compiled.state()
    names = [name for name, value in compiled.parameters.items() if value][:parameters]
    return {
        "initial": start + 0.1 * random.standard_normal((runs, len(start))),
        "parameters": {
            name: compiled.parameters[name] * random.normal(1.0, 0.05, runs) for name in names
        },
    }  # fmt: skip


def measure_lanes(names: tuple[str, ...] = EXAMPLES, rounds: int = 30) -> list[dict[str, Any]]:
    """Nanoseconds of a derivative evaluation of each example within rk4, run by run and on vectors."""
    return [_fixed(name, rounds) for name in names]


def _fixed(name: str, rounds: int) -> dict[str, Any]:
    from armillary.ensembles.plan import plan
    from armillary.settings import RunSettings

    compiled = compiled_example(name)
    made = plan(
        core_of(compiled),
        RunSettings(STEPS * STEP, step=STEP, sample=STEPS * STEP),
        outputs=[],
        **spread(compiled, RUNS),
    )
    engines = _engines(made)
    candidates = {label: _whole(engine, made) for label, engine in engines.items()}
    candidates |= {"single": _single(compiled, RUNS * STEPS), "its start": _single(compiled, 2)}
    seconds = best_in_turns(candidates, rounds)
    seconds["single"] -= seconds.pop("its start")
    evaluations = STAGES * STEPS * RUNS
    times = {label: 1e9 * each / evaluations for label, each in seconds.items()}
    return _record(compiled, engines, made, times, min(times["single"], times["scalar"]), "nanoseconds")


def measure_adaptive(names: tuple[str, ...] = EXAMPLES, rounds: int = 10) -> list[dict[str, Any]]:
    """Microseconds of a run with dop853, run by run and on vectors."""
    return [_adaptive(name, rounds) for name in names]


def _adaptive(name: str, rounds: int) -> dict[str, Any]:
    from armillary.ensembles.plan import plan
    from armillary.settings import RunSettings

    compiled = compiled_example(name)
    made = plan(
        core_of(compiled),
        RunSettings(DURATION, sample=DURATION),
        outputs=[],
        **spread(compiled, ADAPTIVE_RUNS),
    )
    engines = _engines(made)
    candidates = {label: _whole(engine, made) for label, engine in engines.items()}
    seconds = best_in_turns(candidates, rounds)
    times = {label: 1e6 * each / made.runs for label, each in seconds.items()}
    return _record(compiled, engines, made, times, times["scalar"], "microseconds")


def _engines(made: Any) -> dict[str, Any]:
    from armillary.ensembles.engines.lane_engines import Lanes
    from armillary.ensembles.engines.scalar import Scalar

    return {"scalar": Scalar(made)} | {str(width): Lanes(made, width) for width in WIDTHS}


def _record(
    compiled: Any, engines: Mapping[str, Any], made: Any, times: dict[str, float], before: float, unit: str
) -> dict[str, Any]:
    ends = {label: engine(made.starts, 0, made.runs).state for label, engine in engines.items()}
    scale = np.maximum(1.0, np.abs(ends["scalar"]))
    error = largest(*(np.abs(ends[str(w)] - ends["scalar"]) / scale for w in WIDTHS))
    record = {
        "title": compiled.equations.system.name,
        "speeds": len(compiled.speed_names),
        "method": made.method.name,
        unit: times,
        "gain": {str(width): before / times[str(width)] for width in WIDTHS},
        "error": error,
    }
    if not error <= AGREEMENT[made.method.name]:
        record["wrong"] = f"engines differ by {error:.0e}"
    return record


# ---------------------------------------------------------------- the stopwatch


def best_in_turns(candidates: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least thread CPU seconds of each, one after another in every round, on one core."""
    best = dict.fromkeys(candidates, float("inf"))
    with one_core():
        for _ in range(rounds):
            for label, work in candidates.items():
                start = time.thread_time()
                work()
                best[label] = min(best[label], time.thread_time() - start)
    return best


def _whole(engine: Any, made: Any) -> Callable[[], object]:
    return lambda: engine(made.starts, 0, made.runs)


def _single(compiled: Any, steps: int) -> Callable[[], object]:
    duration = steps * STEP
    return lambda: compiled.simulate(duration, step=STEP, method="rk4", sample=duration, progress=False)
