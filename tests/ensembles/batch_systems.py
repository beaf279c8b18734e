"""Systems for tests of batches, and the comparison of a batch with single runs."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import armillary as arm
from armillary.stages.model import Model


@cache
def example(name: str) -> Model:
    """A published example, compiled."""
    return import_module(f"examples.{name}").system().derive().compile()


@cache
def everything() -> Model:
    """All functions, a table, memory renewed every step and time: none of it changes a run's direction."""
    s = arm.System("everything")
    A = s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass=2, inertia=(0.1, 0.2, 0.3))
    B = s.body("B", parent=A, at=(2, 0, 0), joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.function("bump", arm.Table([-1.0, 0.0, 0.5, 2.0], [0.0, 1.0, -0.5, 0.2], kind="smooth"))
    s.function("map", arm.Table2([0.0, 1.0, 2.0], [-1.0, 1.0], [[0.0, 1.0], [0.5, 0.2], [1.0, -1.0]]))
    s.memory("worst", update="max(worst, abs(B.q1))", units="m")
    s.parameter("k", 5.0, units="N/m")
    s.parameter("F", 1.0, units="N")
    s.parameter("M", 1.0, units="N*m")
    s.parameter("T", 1.0, units="s")
    s.parameter("L", 1.0, units="m")
    angle = "(exp(-A.q1^2) + log(2 + A.q1^2) - atan2(A.u1*T, 1 + (B.q1/L)^2) + tan(0.3*sin(t/T)))"
    s.moment("m", f"M*{angle}", "ground.z", on=A)
    s.force("f", "-k*B.q1 + F*(bump(B.q1/L) + map(1 + B.q1/L, A.q1) - 0.1*worst/L)", A.x, at=B.com)
    jump = "select(B.u1 > 0, -1, 1)"
    s.force(
        "g", f"F*(asin(0.5*cos(A.q1)) + acos(0.3*sin(B.q1/L)) + (2 + cos(t/T))^1.7 + {jump})", A.x, at=B.com
    )
    s.force("h", "F*(sign(A.u1)*min(abs(A.u1*T), 0.1) + max(B.q1/L, -0.2) + atan(B.u1*T/L))", A.x, at=B.com)
    s.output("reach", arm.magnitude(arm.position(B.com)))
    s.output("seen", "worst")
    return s.derive().compile()


@cache
def stopping() -> Model:
    """A fall that an event ends: t = √(2h/g), at speed √(2gh)."""
    s = arm.System("fall")
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.parameter("g", 9.81)
    s.gravity("g", -s.ground.y)
    s.event("floor", ball.q1, direction=-1, stop=True)
    return s.derive().compile()


def worst_difference(model: Model, t_end: float, given: dict[str, Any], runs: list[int], **how: Any) -> float:
    """The largest difference between a batch and single runs, over all outputs and samples, relative to the
    largest value of each output, or to 1e-3 where it is smaller: some are rounding alone. Runs must end at
    the same time and in the same way, which is no failure.
    """
    batch = model.simulate_batch(t_end, progress=False, **given, **how).check()
    differences = []
    for i in runs:
        one = {
            kind: {name: v[i] if np.ndim(v) else v for name, v in values.items()}
            for kind, values in given.items()
        }
        run = model.simulate(t_end, progress=False, **one, **how)
        np.testing.assert_array_equal(batch.time, run.time)
        assert batch.status[i] == run.info["status"]
        assert batch.t_stop[i] == (t_end if batch.status[i] == "finished" else run.time[-1])
        for name in model.output_names:
            scale = max(np.max(np.abs(run[name])), 1e-3)
            assert np.all(np.isfinite(batch[name][i]))
            differences.append(np.max(np.abs(batch[name][i] - run[name])) / scale)
    return float(np.max(differences))
