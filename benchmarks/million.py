"""A million runs of the car with small variables, on all cores: from the call to the metrics of every run.

The car of Sayers (1990), section 9.1, answers a step of steer for 2 s; stiffnesses, weight and speed differ
from run to run, and of four outputs the largest, the mean and the last value are kept.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.cores import processors
from benchmarks.published import example_system

RUNS = 1_000_000
DURATION = 2.0
METHODS = (("rk4", 0.005), ("midpoint", 0.025))
"""Fine steps, and those of the published run."""
VARIED = ("CA1", "CA2", "RBW", "SPEED")
METRICS = {
    "peak roll": "maximum(RB.q1)",
    "mean yaw rate": "mean(r)",
    "last yaw rate": "final(r)",
    "peak acceleration": "maximum(Ay)",
}


def measure_million(runs: int = RUNS, repeats: int = 2) -> list[dict[str, Any]]:
    """One record for each method: seconds of the whole call, and of it what prepares the batch."""
    compiled = example_system("car", judgement="car_small").derive().compile()
    random = np.random.default_rng(6)
    parameters = {name: compiled.parameters[name] * random.normal(1.0, 0.05, runs) for name in VARIED}
    records = []
    for method, step in METHODS:
        how = {"step": step, "method": method, "parameters": parameters, "metrics": METRICS}
        seconds = float("inf")
        for _ in range(repeats):
            start = time.perf_counter()
            batch = compiled.simulate_batch(DURATION, **how, progress=False)
            seconds = min(seconds, time.perf_counter() - start)
        record = {
            "method": method,
            "step": step,
            "runs": runs,
            "processors": len(processors()),
            "engine": batch.info["engine"],
            "seconds": seconds,
            "prepare_seconds": batch.info["prepare_seconds"],
            "metrics": len(METRICS),
        }
        if wrong := _wrong(compiled, parameters, batch, how):
            record["wrong"] = wrong
        records.append(record)
    return records


def _wrong(compiled: Any, parameters: dict[str, np.ndarray], batch: Any, how: dict[str, Any]) -> str:
    """What is wrong with a batch: a run that failed, or one that a single run of its values contradicts."""
    if batch.failed.size:
        return f"{batch.failed.size} runs failed"
    for i in (0, batch.runs // 2, batch.runs - 1):
        values = {name: float(column[i]) for name, column in parameters.items()}
        run = compiled.simulate(DURATION, step=how["step"], method=how["method"], parameters=values)
        wanted = (
            np.max(run["RB.q1"]), np.trapezoid(run["r"], run.time) / DURATION, run["r"][-1], np.max(run["Ay"])
        )  # fmt: skip
        found = [batch[name][i] for name in METRICS]
        if not np.allclose(found, wanted, rtol=1e-10, atol=0.0):
            return f"run {i} has other metrics than a single run of its values"
    return ""
