"""MuJoCo's own batch, `mujoco.rollout`, beside ours: the Stanford arm, free to swing, from many states.

The same equations, classical Runge-Kutta steps of the same size, double precision, the same starts and number
of threads, nothing kept but the last states, which must agree. Not the same: MuJoCo's step is that of any
model, read from tables, with all its stages; those that an option disables are off (contacts, constraints,
limits, actuation, sensors, springs and dampers). For parameters that differ between runs it would need a
model for each.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import numpy as np

from armillary.algebra.arguments import core_of
from benchmarks.build import HERE, NotAvailable
from benchmarks.cores import processors
from benchmarks.environment import Environment
from benchmarks.exchange import mjcf
from benchmarks.models import MODELS
from benchmarks.ours import system

MODEL = "arm"
STEPS, STEP = 250, 1e-3
RUNS, RUNS_OF_OURS = 256, 16_384
"""Ours are more, for its batch to last as long as a clock needs; steps per second are compared."""
AGREEMENT = 1e-9
"""Largest difference of the last coordinates and speeds, relative to them or to one."""


def measure_rollouts(environment: Environment, *, with_peer: bool, rounds: int = 5) -> list[dict[str, Any]]:
    """A record with one thread and one with all; where MuJoCo is not to be had, `missing` says why."""
    from armillary.ensembles.batch import Prepared
    from armillary.settings import RunSettings

    compiled = system(MODELS[MODEL]).derive().compile()
    starts = np.random.default_rng(7).uniform(-0.5, 0.5, (RUNS_OF_OURS, 2 * MODELS[MODEL].nv))
    settings = RunSettings(STEPS * STEP, step=STEP, sample=STEPS * STEP)
    prepared = Prepared(core_of(compiled), settings, outputs=[], initial=starts)
    return [
        _measure(prepared, starts, threads, environment, with_peer, rounds)
        for threads in sorted({1, len(processors())})
    ]


def _measure(
    prepared: Any, starts: np.ndarray, threads: int, environment: Environment, with_peer: bool, rounds: int
) -> dict[str, Any]:
    record: dict[str, Any] = {"title": MODELS[MODEL].title, "threads": threads}
    ours, theirs = float("inf"), float("inf")
    try:
        for _ in range(rounds):
            begin = time.perf_counter()
            batch = prepared(initial=starts, threads=threads)
            ours = min(ours, time.perf_counter() - begin)
            if with_peer:
                answer = _mujoco(environment, starts[:RUNS], threads)
                theirs = min(theirs, answer["seconds"])
                ends = np.array(answer["ends"])
                found = batch.final_state[: len(ends)]
                record["difference"] = float(np.max(np.abs(found - ends) / np.maximum(1.0, np.abs(ends))))
    except NotAvailable as reason:
        record["missing"] = str(reason)
    record["steps_per_second"] = RUNS_OF_OURS * STEPS / ours
    if not with_peer:
        record["missing"] = "MuJoCo was left out"
    elif "missing" not in record and not record["difference"] <= AGREEMENT:
        record["missing"] = f"ends elsewhere, by {record['difference']:.0e}"
    elif "missing" not in record:
        record["mujoco_steps_per_second"] = RUNS * STEPS / theirs
    return record


def _mujoco(environment: Environment, starts: np.ndarray, threads: int) -> dict[str, Any]:
    environment.need("mujoco")
    question = {
        "mjcf": mjcf(MODELS[MODEL]), "starts": starts.tolist(), "step": STEP, "steps": STEPS,
        "threads": threads, "repeats": 3,
    }  # fmt: skip
    done = subprocess.run(
        [environment.python, str(HERE / "peers" / "rollout_script.py")],
        input=json.dumps(question), capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise NotAvailable(f"mujoco.rollout failed: {(done.stderr.splitlines() or ['no reason given'])[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
