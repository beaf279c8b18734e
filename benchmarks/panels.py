"""Basilisk's scenario, a hub with 4 + 3 hinged panels, with and without Earth's gravity: time per RK4 step.

Both programs run one second at the step of Basilisk's own test, in turns on one core, and keep no states.
Ours is `model.simulate` as a user calls it, what starts a run included; of Basilisk's only the stepping
counts, and its initialisation does not. Both must end with the panels at the same angles.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from benchmarks.build import HERE, NotAvailable, run
from benchmarks.candidate import Operations
from benchmarks.environment import Environment
from benchmarks.published import example_system
from benchmarks.timing import one_core

STEPS, STEP = 10_000, 1e-4
AGREEMENT = 1e-13
"""Largest difference of the angles at the end, in rad. Measured, 4e-17: steps of the same size round alike. A
hinge's stiffness that differs by a part in 1e9 makes 1e-10.
"""
FIELDS = {"without gravity": None, "on its orbit": "mass centre"}


def measure_panels(environment: Environment, *, with_peer: bool, repeats: int) -> list[dict[str, Any]]:
    """One record for each field; the reason stands under `missing` where Basilisk is not to be had."""
    return [_measure(title, field, environment, with_peer, repeats) for title, field in FIELDS.items()]


def _measure(
    title: str, field: str | None, environment: Environment, with_peer: bool, repeats: int
) -> dict[str, Any]:
    equations = example_system("basilisk_panels", field=field).derive()
    compiled = equations.compile()
    compiled.simulate(2 * STEP, step=STEP, method="rk4", sample=2 * STEP)  # compiles the integrator
    record: dict[str, Any] = {
        "title": title,
        "steps": STEPS,
        "formalism": equations.formalism,
        "operations": Operations.of(equations).total,
    }
    ours, theirs, angles = float("inf"), float("inf"), np.array([])
    try:
        for _ in range(repeats):
            seconds, angles = _ours(compiled)
            ours = min(ours, seconds)
            if with_peer:
                answer = _basilisk(environment, gravity=field is not None)
                theirs = min(theirs, answer["seconds"])
                record["difference"] = float(np.abs(angles - answer["angles"]).max())
    except NotAvailable as reason:
        record["missing"] = str(reason)
    record["microseconds"] = 1e6 * ours / STEPS
    if not with_peer:
        record["missing"] = "Basilisk was left out"
    elif "missing" not in record and not record["difference"] <= AGREEMENT:
        record["missing"] = f"ends elsewhere, by {record['difference']:.0e} rad"
    elif "missing" not in record:
        record["basilisk_microseconds"] = 1e6 * theirs / STEPS
    return record


def _ours(compiled: Any) -> tuple[float, np.ndarray]:
    """CPU seconds of a run, and the panels' angles at its end."""
    with one_core():
        start = time.thread_time()
        result = compiled.simulate(STEPS * STEP, step=STEP, method="rk4", sample=STEPS * STEP)
        seconds = time.thread_time() - start
    return seconds, np.array([result.final[f"panel{i}.q1"] for i in range(1, 8)])


def _basilisk(environment: Environment, *, gravity: bool) -> dict[str, Any]:
    environment.need("bsk")
    script = HERE / "peers" / "basilisk_script.py"
    wanted = {"gravity": gravity, "steps": STEPS, "step": STEP, "repeats": 1}
    answer: dict[str, Any] = json.loads(run([environment.python, script, json.dumps(wanted)]))
    return answer
