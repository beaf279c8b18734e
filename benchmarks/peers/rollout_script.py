"""MuJoCo's own batch, `mujoco.rollout`; run by the peers' interpreter, apart from Armillary.

    python rollout_script.py < question.json

The question has the model as MJCF text, its states at the start (a row of coordinates and speeds per run),
the step, the number of steps and of threads, and how often to repeat. The answer is one JSON object: wall
seconds of the quickest batch, and the states at the end of the first runs. Timed batches keep no histories.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import mujoco
import numpy as np
from mujoco.rollout import Rollout

SHOWN = 8


def main() -> None:
    wanted: dict[str, Any] = json.loads(sys.stdin.read())
    model = mujoco.MjModel.from_xml_string(wanted["mjcf"])
    model.opt.timestep = wanted["step"]
    if not (model.jnt_stiffness.any() or model.dof_damping.any()):  # nothing is passive: a stage less
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
    starts = np.array(wanted["starts"])
    states = np.hstack([np.zeros((len(starts), 1)), starts])  # with the time
    threads, steps = wanted["threads"], wanted["steps"]
    data = [mujoco.MjData(model) for _ in range(threads)]
    control = mujoco.mjtState.mjSTATE_CTRL.value
    seconds = float("inf")
    # Without a pool of threads the calling thread does the work.
    with Rollout(nthread=threads if threads > 1 else 0) as batch:
        ends = batch.rollout(model, data, states[:SHOWN], nstep=steps)[0][:, -1, 1:]
        models = [model] * len(states)
        for _ in range(wanted["repeats"]):
            start = time.perf_counter()
            batch.rollout(
                models, data, states, None, control_spec=control, nstep=steps, skip_checks=True, state=None
            )
            seconds = min(seconds, time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "ends": ends.tolist()}))


if __name__ == "__main__":
    main()
