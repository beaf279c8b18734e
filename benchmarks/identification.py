"""Parameters of an arm from noisy joint angles: `arm.fit` beside `mujoco.sysid` and SciPy's least squares.

    python -m benchmarks.identification            a table

Both programs see the same measurements: three joints driven by torques for four seconds, angles and speeds
every 10 ms with noise, from the same start and starting values. `mujoco.sysid` makes runs with MuJoCo's
Runge–Kutta method and finite differences, `arm.fit` one run with exact derivatives per evaluation. The third
row is `scipy.optimize.least_squares` with finite differences over `model.simulate`. Times are those of the
processor, of all threads. The interpreter of the peers (environment.py) needs mujoco[sysid].
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import armillary as arm
from armillary.stages.model import Model
from armillary.text_tables import aligned
from armillary.verification.rows import largest
from benchmarks.environment import find_environment

TRUE = {
    "upper.mass": 4.0, "upper.x": 0.2, "fore.mass": 2.0, "fore.x": 0.15,
    "damping1": 1.5, "damping2": 2.0, "damping3": 0.8,
}  # fmt: skip
START = {
    "upper.mass": 5.0, "upper.x": 0.15, "fore.mass": 1.5, "fore.x": 0.2,
    "damping1": 1.0, "damping2": 1.0, "damping3": 1.0,
}  # fmt: skip
END, STEP, EVERY = 4.0, 0.002, 0.01
NOISE = {"q": 1e-3, "u": 1e-2}  # rad, rad/s
JOINTS = ("base", "upper", "fore")


def robot() -> arm.System:
    """Three turning joints, each with a motor and a damper."""
    s = arm.System("robot")
    s.gravity(9.81, -s.ground.z)
    for name, value in TRUE.items():
        s.parameter(name.replace(".", "_"), value)
    for i in (1, 2, 3):
        s.input(f"torque{i}", units="N*m", interpolation="hold")
    base = s.body("base", joint=arm.Revolute("z"), mass=8, com=(0, 0, 0.1), inertia=(0.06, 0.06, 0.04))
    upper = s.body(
        "upper", base, arm.Revolute("y"), at=(0, 0, 0.3), mass="upper_mass", com=("upper_x", 0, 0),
        inertia=(0.01, 0.08, 0.08),
    )  # fmt: skip
    fore = s.body(
        "fore", upper, arm.Revolute("y"), at=(0.4, 0, 0), mass="fore_mass", com=("fore_x", 0, 0),
        inertia=(0.004, 0.03, 0.03),
    )  # fmt: skip
    for i, body in enumerate((base, upper, fore), start=1):
        parent = body.parent
        axis = parent.z if i == 1 else parent.y
        s.moment(f"motor{i}", f"torque{i} - damping{i}*{body.name}.u1", axis, on=body, reaction=parent)
    return s


def torques(t: np.ndarray) -> np.ndarray:
    """A column per joint."""
    return np.column_stack(
        [
            6.0 * np.sin(2.1 * t) + 3.0 * np.sin(5.3 * t),
            -12.0 + 8.0 * np.sin(1.7 * t + 0.5) + 4.0 * np.sin(4.1 * t),
            -3.0 + 2.0 * np.sin(2.9 * t + 1.0) + 1.5 * np.sin(6.7 * t),
        ]
    )


def measured(model: Model) -> tuple[dict[str, arm.Signal], dict[str, np.ndarray]]:
    """The torques, held for a step, and the measurements."""
    t = np.arange(round(END / STEP) + 1) * STEP
    inputs = {f"torque{i + 1}": arm.Signal(t, torques(t)[:, i]) for i in range(3)}
    run = model.simulate(END, step=STEP, sample=EVERY, inputs=inputs)
    chance = np.random.default_rng(5)
    data = {"time": run.time}
    for joint in JOINTS:
        for kind, sigma in NOISE.items():
            data[f"{joint}.{kind}1"] = run[f"{joint}.{kind}1"] + chance.normal(0, sigma, len(run))
    return inputs, data


def error(found: dict[str, float]) -> float:
    """The largest relative error of the parameters."""
    return largest([abs(found[name] / TRUE[name] - 1) for name in TRUE])


def ours(model: Model, inputs: dict[str, arm.Signal], data: dict[str, np.ndarray]) -> dict[str, Any]:
    """`arm.fit`."""
    sigma = {name: NOISE[name.split(".")[1][0]] for name in data if name != "time"}
    start = {name.replace(".", "_"): value for name, value in START.items()}
    experiment = arm.Experiment(data, inputs=inputs)
    began = time.process_time()
    fit = arm.fit(model, experiment, parameters=start, sigma=sigma, step=STEP, progress=False)
    seconds = time.process_time() - began
    began = time.process_time()
    arm.fit(model, experiment, parameters=start, sigma=sigma, step=STEP, progress=False)
    found = {name: float(fit.parameters[name.replace(".", "_")]) for name in TRUE}
    return {"found": found, "seconds": seconds, "again": time.process_time() - began}


def scipy_fit(model: Model, inputs: dict[str, arm.Signal], data: dict[str, np.ndarray]) -> dict[str, Any]:
    """SciPy's least squares with finite differences over single runs."""
    from scipy.optimize import least_squares

    names = [name for name in data if name != "time"]
    weights = np.array([1 / NOISE[name.split(".")[1][0]] for name in names])
    wanted = np.array([data[name] for name in names])

    def residual(x: np.ndarray) -> np.ndarray:
        given = dict(zip((n.replace(".", "_") for n in TRUE), x.tolist(), strict=True))
        run = model.simulate(END, step=STEP, sample=EVERY, inputs=inputs, parameters=given, progress=False)
        return ((np.array([run[name] for name in names]) - wanted) * weights[:, None]).ravel()

    began = time.process_time()
    found = least_squares(residual, list(START.values()), x_scale=list(START.values()))
    seconds = time.process_time() - began
    return {"found": dict(zip(TRUE, found.x.tolist(), strict=True)), "seconds": seconds}


def theirs(data: dict[str, np.ndarray]) -> dict[str, Any]:
    """`mujoco.sysid`, in the interpreter of the peers."""
    t = np.arange(round(END / STEP) + 1) * STEP
    content = {
        "step": STEP, "start": START, "noise": NOISE, "control": torques(t).tolist(),
        "data": {name: values.tolist() for name, values in data.items()},
    }  # fmt: skip
    script = Path(__file__).with_name("peers") / "sysid_script.py"
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "data.json"
        given.write_text(json.dumps(content), encoding="utf-8")
        command = [find_environment().python, str(script), str(given)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"mujoco.sysid did not run:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    model = robot().derive().compile()
    inputs, data = measured(model)
    results = {"arm.fit": ours(model, inputs, data), "SciPy, differences": scipy_fit(model, inputs, data)}
    if "--alone" not in sys.argv:
        results["mujoco.sysid"] = theirs(data)
    rows = [["", *TRUE, "largest error", "CPU s"]]
    rows += [["true", *(f"{v:g}" for v in TRUE.values()), "", ""]]
    for name, result in results.items():
        values = [f"{result['found'][n]:.4f}" for n in TRUE]
        rows.append([name, *values, f"{100 * error(result['found']):.2f} %", f"{result['seconds']:.2f}"])
    print("\n".join(aligned(rows, "<" + ">" * (len(TRUE) + 2))))
    print(f"arm.fit a second time, without compiling: {results['arm.fit']['again']:.2f} s")


if __name__ == "__main__":
    main()
