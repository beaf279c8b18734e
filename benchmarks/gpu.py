"""Batches on the GPU at hand: rates beside the card's ceilings, and beside MuJoCo's own batches.

    python benchmarks/gpu.py                 # prints tables, writes gpu_results.json
    python benchmarks/gpu.py --quick         # a tenth of the runs

Both ceilings are measured first: fused multiply-adds in registers, and a copy in the card's memory. Then for
each model and precision: random starts on the card are compared with the CPU's, and the rate of derivative
evaluations is that of RK4 as `simulate_batch` runs it, by the card's own clock. Flops are counted in the
machine code of the loop over steps (a fused multiply-add is two), so that the method and the sines are in
them; operations are those of the model's equations alone, each function one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src"), str(HERE.parent / "examples")]

from armillary.algebra.arguments import core_of  # noqa: E402
from armillary.ensembles.batch import Prepared  # noqa: E402
from armillary.ensembles.plan import FINISHED  # noqa: E402
from armillary.settings import RunSettings  # noqa: E402
from benchmarks.gpu_ceilings import ceilings  # noqa: E402
from benchmarks.gpu_models import MODELS, Case, Scattered  # noqa: E402
from benchmarks.gpu_mujoco import mujoco_batches  # noqa: E402
from benchmarks.gpu_report import markdown  # noqa: E402
from benchmarks.gpu_sass import STAGES, per_evaluation  # noqa: E402

PRECISIONS = ("double", "single", "fast")
STEPS = 400
CHECKED = 64  # runs compared with the CPU's
REPEATS = 5


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--results", type=Path, default=HERE / "gpu_results.json")
    options = parser.parse_args()
    found: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "ceilings": ceilings()}
    print(json.dumps(found["ceilings"]), flush=True)
    found["models"] = []
    for case in MODELS:
        for precision in PRECISIONS:
            row = measured(case, precision, found["ceilings"], 0.1 if options.quick else 1.0)
            found["models"].append(row)
            print(json.dumps(row), flush=True)
    found["user"] = million_cars()
    print(json.dumps(found["user"]), flush=True)
    found["solver"] = described_solver()
    print(json.dumps(found["solver"]), flush=True)
    found["deployments"] = deployments(100_000 if options.quick else 1_000_000)
    print(json.dumps(found["deployments"]), flush=True)
    found["mujoco"] = mujoco_batches()
    print(json.dumps(found["mujoco"]), flush=True)
    options.results.write_text(json.dumps(found, indent=1) + "\n")
    print(markdown(found))


def measured(case: Case, precision: str, ceiling: dict[str, Any], scale: float) -> dict[str, Any]:
    """One model in one precision."""
    model = case.model()
    random = np.random.default_rng()  # fresh numbers every time
    error = checked(case, model, precision, random)
    began = time.perf_counter()
    engine = engine_of(model, case, STEPS, STEPS, precision)
    compiled = time.perf_counter() - began
    runs = engine.chunk * max(1, round(scale * case.runs / engine.chunk))  # no wave of threads half full
    starts = Scattered(engine.plan, runs, random, case.scatter)
    engine(starts, 0, min(runs, 100_000))
    rates = []
    for _ in range(REPEATS):
        evaluations, seconds = engine.evaluations, engine.seconds
        outcome = engine(starts, 0, runs)
        rates.append((engine.evaluations - evaluations) / (engine.seconds - seconds))
    if not (np.all(outcome.status == FINISHED) and np.all(np.isfinite(outcome.rows))):
        raise SystemExit(f"{case.name}: runs failed")
    return report(model, case, engine, float(np.median(rates)), ceiling) | {
        "precision": precision,
        "runs": runs,
        "error": error,
        "compile_seconds": compiled,
        "spread": (max(rates) - min(rates)) / float(np.median(rates)),
    }


def engine_of(model: Any, case: Case, steps: int, sample: int, precision: str | None) -> Any:
    """The engine for all outputs at every ``sample`` steps, or one output where those are the ends alone."""
    outputs = None if sample < steps else [model.output_names[0]]
    device = {"device": "gpu", "precision": precision} if precision else {}
    settings = RunSettings(steps * case.step, step=case.step, sample=sample * case.step)
    return Prepared(core_of(model), settings, outputs=outputs, runs=2, **device).engine


def checked(case: Case, model: Any, precision: str, random: np.random.Generator) -> float:
    """The largest difference of all outputs from the CPU's, over 200 steps of random starts, relative to a
    column's largest value. What the card does not write is NaN and fails.
    """
    card = engine_of(model, case, 200, 10, precision)
    starts = Scattered(card.plan, CHECKED, random, case.scatter)
    found, wanted = (e(starts, 0, CHECKED) for e in (card, engine_of(model, case, 200, 10, None)))
    size = np.maximum(np.max(np.abs(wanted.rows), axis=(0, 2)), 1e-6)
    worst = float(np.max(np.max(np.abs(found.rows - wanted.rows), axis=(0, 2)) / size))
    if not worst < (1e-12 if precision == "double" else 1e-2):
        raise SystemExit(f"{case.name} in {precision} precision is off by {worst:.2g}")
    return worst


def report(model: Any, case: Case, engine: Any, rate: float, ceiling: dict[str, Any]) -> dict[str, Any]:
    """A rate beside what the card can do, and what the compiler made of the model."""
    real = "double" if engine.precision == "double" else "float"
    counted = per_evaluation(engine.kernel.text, real)
    operations = model.equations.operations
    found: dict[str, Any] = {
        "model": case.name,
        "formalism": model.formalism,
        "states": len(model.equations.program.state),
        "evaluations_per_second": rate,
        **{name: engine.info[name] for name in ("threads_per_run", "registers", "local_bytes", "block")},
        "occupancy": engine.info["occupancy"],
        "operations": str(operations),
        "operations_share": operations.total * rate / ceiling[real],
    }
    if counted:
        counted = {kind: engine.info["threads_per_run"] * number for kind, number in counted.items()}
        arithmetic = counted["fma"] + counted["mul"] + counted["add"]
        flops = arithmetic + counted["fma"]
        # Start and end of a run, once in all its steps.
        moved = 2 * engine.bytes_per_run / (STEPS * STAGES)
        found |= {
            "instructions": counted,
            "flops": flops,
            "flops_per_second": flops * rate,
            "peak_share": flops * rate / ceiling[real],
            "pipe_share": 2 * arithmetic * rate / ceiling[real],
            "flops_per_byte": flops / moved,
            "ridge": ceiling[real] / ceiling["copy"],
        }
    return found


def million_cars() -> dict[str, Any]:
    """A million runs of the car, 2 s, with a parameter that differs and two metrics, as a user has them."""
    case = next(c for c in MODELS if c.name.startswith("car"))
    model = case.model()
    steer = np.random.default_rng(1).uniform(0.5, 1.5, 1_000_000)
    metrics = {"peak": "maximum(r)", "rms": "rms(Ay)"}
    found = {}
    for precision in ("double", "single"):
        for _ in range(3):  # the first call loads the code
            began = time.perf_counter()
            batch = model.simulate_batch(
                2.0, step=0.005, parameters={"STEER": steer}, metrics=metrics, device="gpu",
                precision=precision, progress=False,
            ).check()  # fmt: skip
            whole = time.perf_counter() - began
        evaluations = len(steer) * 400 * 4
        found[precision] = {
            "seconds": batch.info["seconds"],
            "whole_call": whole,
            "on_card": evaluations / batch.info["evaluations_per_second"],
        }
    return found


def described_solver() -> dict[str, float]:
    """Evaluations per second of the arm by the kernel that has events and adaptive steps."""
    from armillary.ensembles.engines.gpu_runs import Queued

    case = MODELS[0]
    model, random = case.model(), np.random.default_rng()
    found = {}
    for precision in ("double", "single"):
        engine = Queued(engine_of(model, case, STEPS, STEPS, precision).plan, precision)
        starts = Scattered(engine.plan, 300_000, random)
        engine(starts, 0, 100_000)
        evaluations, seconds = engine.evaluations, engine.seconds
        engine(starts, 0, starts.runs)
        found[f"rk4 {precision}"] = (engine.evaluations - evaluations) / (engine.seconds - seconds)
    speeds = dict(
        zip(model.speed_names, random.uniform(-1, 1, (len(model.speed_names), 300_000)), strict=True)
    )
    batch = model.simulate_batch(
        0.4,
        device="gpu",
        initial=speeds,
        metrics=[f"final({model.output_names[0]})"],
        watch=0.4,
        progress=False,
    )
    return found | {"dop853 double": batch.info["evaluations_per_second"]}


def deployments(runs: int) -> dict[str, float]:
    """A wing of three panels that unfolds and latches, with other springs and dampers in each run (12 s,
    dop853 at the usual tolerance, the metric looked at a thousand times): on the card, and two threads.
    """
    from array_deployment import system

    model, random = system().derive().compile(), np.random.default_rng(0)
    parameters = {"k": random.uniform(1.2, 1.8, runs), "c": random.uniform(0.3, 0.5, runs)}
    how: dict[str, Any] = {"metrics": ["final(pitch)"], "progress": False}
    card = [model.simulate_batch(12.0, parameters=parameters, device="gpu", **how).check() for _ in range(2)]
    few = {name: values[: runs // 10] for name, values in parameters.items()}
    model.simulate_batch(12.0, parameters={name: v[:100] for name, v in few.items()}, threads=2, **how)
    cores = model.simulate_batch(12.0, parameters=few, threads=2, **how)
    differences = card[1]["final(pitch)"][: runs // 10] - cores["final(pitch)"]
    return {
        "runs": runs,
        "prepare_seconds": card[0].info["prepare_seconds"],
        "seconds": card[1].info["seconds"],
        "two_threads_runs": runs // 10,
        "two_threads_seconds": cores.info["seconds"],
        "error": float(np.max(np.abs(differences)) / np.max(np.abs(cores["final(pitch)"]))),
    }


if __name__ == "__main__":
    main()
