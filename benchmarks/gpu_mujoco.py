"""MuJoCo's own batches of the Stanford arm without controller, beside ours: the same bodies, RK4 and step.

    Batch   mujoco.batch (rollout in older releases): C on all cores of the processor, double precision
    MJX     MuJoCo in JAX on the same card, in single and in double precision

Everything that a free tree does not need (contacts, limits, actuators, sensors) is off in MuJoCo. All start
at the same random states; ends after 100 steps are compared with ours in double precision.
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

STEP, STEPS, CHECKED = 1e-3, 100, 256
GRAVITY = 9.81
OURS = 1 << 21


def starts(n: int) -> np.ndarray:
    """Random coordinates and speeds, a column per run; more of them begin with the same ones."""
    return np.ascontiguousarray(np.random.default_rng(3).uniform(-1, 1, (n, 12)).T)


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
    wanted, _ = ours(starts(CHECKED), STEPS, "double")
    for precision in ("double", "single", "fast"):
        end, rate = ours(starts(OURS), STEPS, precision)
        error = float(np.max(np.abs(end[:, :CHECKED] - wanted)))
        found[f"Armillary {precision}"] = {"evaluations_per_second": rate, "error": error, "runs": OURS}
    for name, make in (("Batch", _batch), ("MJX single", _mjx), ("MJX double", _mjx_double)):
        try:
            found[f"MuJoCo {name}"] = _measured(make(), wanted)
        except Exception as reason:  # a peer that is missing or breaks is reported, and the rest goes on
            found[f"MuJoCo {name}"] = {"reason": f"{type(reason).__name__}: {reason}"[:200]}
    return found


Runner = tuple[Callable[[np.ndarray], np.ndarray], int, dict[str, Any]]


def _measured(runner: Runner, wanted: np.ndarray) -> dict[str, Any]:
    """The error of the first runs, and the best rate of all."""
    run, many, told = runner
    states = starts(many)
    error = float(np.max(np.abs(run(states)[:, :CHECKED] - wanted)))
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        run(states)
        seconds.append(time.perf_counter() - began)
    rate = 4 * many * STEPS / min(seconds)
    return {"evaluations_per_second": rate, "error": error, "runs": many, **told}


def _model() -> tuple[Any, Any]:
    mujoco = import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf(stanford_arm()))
    model.opt.timestep = STEP
    return mujoco, model


def _batch() -> Runner:
    mujoco, model = _model()
    threads, many = len(os.sched_getaffinity(0)), 16384
    batch = import_module("mujoco.batch").Batch(model, nsim=many, nthread=threads)
    q, v = batch.bind("qpos"), batch.bind("qvel")

    def run(states: np.ndarray) -> np.ndarray:
        q[:], v[:] = states[:6].T, states[6:].T
        batch.step(nstep=STEPS)
        return np.concatenate([q.T, v.T])

    return run, many, {"version": mujoco.__version__, "threads": threads}


def _mjx(double: bool = False) -> Runner:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", double)
    mujoco, model = _model()
    mjx = import_module("mujoco.mjx")
    on_card = mjx.put_model(model)
    empty = mjx.make_data(on_card)

    def one(state: Any) -> Any:
        data = empty.replace(qpos=state[:6], qvel=state[6:])
        data = jax.lax.fori_loop(0, STEPS, lambda _, d: mjx.step(on_card, d), data)
        return jax.numpy.concatenate([data.qpos, data.qvel])

    many = jax.jit(jax.vmap(one, in_axes=1, out_axes=1))

    def run(states: np.ndarray) -> np.ndarray:
        return np.asarray(many(jax.numpy.asarray(states)))

    told = {"version": mujoco.__version__, "jax": jax.__version__, "device": str(jax.devices()[0])}
    return run, 131072, told


def _mjx_double() -> Runner:
    return _mjx(True)
