"""Run by the interpreter of the peers: parameters of the arm of identification.py by mujoco.sysid.

    python sysid_script.py data.json

The last line of the output is JSON: the parameters found and the seconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import mujoco
import numpy as np
from mujoco import sysid

XML = """
<mujoco model="robot">
  <compiler angle="radian"/>
  <option integrator="RK4" timestep="{step}" gravity="0 0 -9.81"><flag contact="disable"/></option>
  <worldbody>
    <body name="base">
      <inertial pos="0 0 0.1" mass="8" diaginertia="0.06 0.06 0.04"/>
      <joint name="base" type="hinge" axis="0 0 1" damping="1"/>
      <body name="upper" pos="0 0 0.3">
        <inertial pos="0.2 0 0" mass="4" diaginertia="0.01 0.08 0.08"/>
        <joint name="upper" type="hinge" axis="0 1 0" damping="1"/>
        <body name="fore" pos="0.4 0 0">
          <inertial pos="0.15 0 0" mass="2" diaginertia="0.004 0.03 0.03"/>
          <joint name="fore" type="hinge" axis="0 1 0" damping="1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="base"/><motor joint="upper"/><motor joint="fore"/>
  </actuator>
  <sensor>
    <jointpos name="base.q1" joint="base"/><jointvel name="base.u1" joint="base"/>
    <jointpos name="upper.q1" joint="upper"/><jointvel name="upper.u1" joint="upper"/>
    <jointpos name="fore.q1" joint="fore"/><jointvel name="fore.u1" joint="fore"/>
  </sensor>
</mujoco>
"""


def parameters(start: dict[str, float]) -> sysid.ParameterDict:
    found = sysid.ParameterDict()

    def add(name: str, modifier) -> None:
        value = start[name]
        found.add(sysid.Parameter(name, value, 0.2 * value, 5.0 * value, modifier=modifier))

    def mass(body: str):
        return lambda spec, p: setattr(spec.body(body), "mass", p.value[0])

    def place(body: str):
        return lambda spec, p: setattr(spec.body(body), "ipos", [p.value[0], 0.0, 0.0])

    def damping(joint: str):
        return lambda spec, p: setattr(spec.joint(joint), "damping", [p.value[0], 0.0, 0.0])

    for body in ("upper", "fore"):
        add(f"{body}.mass", mass(body))
        add(f"{body}.x", place(body))
    for i, joint in enumerate(("base", "upper", "fore"), start=1):
        add(f"damping{i}", damping(joint))
    return found


def main(path: str) -> None:
    given = json.loads(Path(path).read_text(encoding="utf-8"))
    spec = mujoco.MjSpec.from_string(XML.format(step=given["step"]))
    model = spec.compile()
    data = mujoco.MjData(model)
    state = sysid.create_initial_state(model, data.qpos, data.qvel, data.act)
    control = np.array(given["control"])
    t = np.arange(len(control)) * given["step"]
    names = [name for name in given["data"] if name != "time"]
    sensors = np.column_stack([given["data"][name] for name in names])
    # A step of MuJoCo leaves the sensors of the state before it, with the time after it.
    times = np.array(given["data"]["time"]) + given["step"]
    weights = np.array([1 / given["noise"][name.split(".")[1][0]] for name in names])
    sequences = sysid.ModelSequences(
        "robot", spec, "measured", state, sysid.TimeSeries(t, control),
        sysid.TimeSeries.from_names(times, sensors, model),
    )  # fmt: skip
    weighted = dict(zip(names, weights.tolist(), strict=True))
    residual = sysid.build_residual_fn(models_sequences=[sequences], sensor_weights=weighted)
    began = time.process_time()
    best, _ = sysid.optimize(
        initial_params=parameters(given["start"]), residual_fn=residual, optimizer="mujoco", verbose=False
    )
    seconds = time.process_time() - began
    values = {name: float(best[name].value[0]) for name in given["start"]}
    print(json.dumps({"found": values, "seconds": seconds, "version": mujoco.__version__}))


if __name__ == "__main__":
    main(sys.argv[1])
