"""MuJoCo's own batches of the Stanford arm without controller, beside ours: the same bodies, RK4 and step.

    Batch   mujoco.batch (rollout in older releases): C on all cores of the processor, double precision
    MJX     MuJoCo in JAX on the same card, in single and in double precision

Everything that a free tree does not need (contacts, limits, actuators, sensors) is off in MuJoCo. All start at the same
random states; ends are compared with ours in double precision.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.exchange import mjcf
from benchmarks.models import stanford_arm

STEP, CHECKED, CHECKED_STEPS = 1e-3, 256, 100
GRAVITY = 9.81


def starts(n: int) -> np.ndarray:
    """Random coordinates and speeds, a column per run."""
    random = np.random.default_rng(3)
    return np.concatenate([random.uniform(-1, 1, (6, n)), random.uniform(-1, 1, (6, n))])


def ours(states: np.ndarray, steps: int, precision: str) -> tuple[np.ndarray, float]:
    """States at the end, and evaluations per second on the card."""
    model = import_module("stanford_arm").system(controller=False, offset=False).derive().compile()
    names = [*model.coordinate_names, *model.speed_names]
    batch = model.simulate_batch(
        steps * STEP, step=STEP, sample=steps * STEP, parameters={"GEES": GRAVITY}, outputs=["tip height"],
        initial=dict(zip(names, states, strict=True)), device="gpu", precision=precision, progress=False,
    ).check()  # fmt: skip
    return batch.final_state.T, batch.info["evaluations_per_second"]


def mujoco_batches() -> dict[str, Any]:
    """Rates of all that can be imported here, and ours; reasons for what cannot."""
    found: dict[str, Any] = {}
    few = starts(CHECKED)
    wanted, _ = ours(few, CHECKED_STEPS, "double")
    for precision in ("double", "single", "fast"):
        end, rate = ours(starts(2_000_000), 400, precision)
        found[f"Armillary, {precision}"] = {"evaluations_per_second": rate}
    for name, make in (("Batch", _batch), ("MJX single", _mjx), ("MJX double", _mjx_double)):
        try:
            found[f"MuJoCo {name}"] = _measured(make(), few, wanted)
        except Exception as reason:  # a peer that is missing or breaks is reported, and the rest goes on
            found[f"MuJoCo {name}"] = {"reason": f"{type(reason).__name__}: {reason}"[:200]}
    return found


Runner = tuple[Callable[[np.ndarray, int], np.ndarray], int, int, dict[str, Any]]


def _measured(runner: Runner, few: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """The error of few runs, and the best rate of many."""
    run, many, steps, told = runner
    error = float(np.max(np.abs(run(few, CHECKED_STEPS) - wanted)))
    states = starts(many)
    run(states, steps)
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        run(states, steps)
        seconds.append(time.perf_counter() - began)
    rate = 4 * many * steps / min(seconds)
    return {"evaluations_per_second": rate, "error": error, "runs": many, "steps": steps, **told}


def _model() -> tuple[Any, Any]:
    mujoco = import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf(stanford_arm()))
    model.opt.timestep = STEP
    return mujoco, model


def _batch() -> Runner:
    mujoco, model = _model()
    threads = len(os.sched_getaffinity(0))
    batches: dict[int, Any] = {}

    def run(states: np.ndarray, steps: int) -> np.ndarray:
        n = states.shape[1]
        if n not in batches:
            batches[n] = import_module("mujoco.batch").Batch(model, nsim=n, nthread=threads)
        batch = batches[n]
        q, v = batch.bind("qpos"), batch.bind("qvel")
        q[:], v[:] = states[:6].T, states[6:].T
        batch.step(nstep=steps)
        return np.concatenate([q.T, v.T])

    return run, 16384, 100, {"version": mujoco.__version__, "threads": threads}


def _mjx(double: bool = False) -> Runner:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", double)
    mujoco, model = _model()
    mjx = import_module("mujoco.mjx")
    on_card = mjx.put_model(model)
    empty = mjx.make_data(on_card)

    def one(state: Any, steps: int) -> Any:
        data = empty.replace(qpos=state[:6], qvel=state[6:])
        data = jax.lax.fori_loop(0, steps, lambda _, d: mjx.step(on_card, d), data)
        return jax.numpy.concatenate([data.qpos, data.qvel])

    many = jax.jit(jax.vmap(one, in_axes=(1, None), out_axes=1), static_argnums=1)

    def run(states: np.ndarray, steps: int) -> np.ndarray:
        return np.asarray(many(jax.numpy.asarray(states), steps))

    told = {"version": mujoco.__version__, "jax": jax.__version__, "device": str(jax.devices()[0])}
    return run, 131072, 100, told


def _mjx_double() -> Runner:
    return _mjx(True)
