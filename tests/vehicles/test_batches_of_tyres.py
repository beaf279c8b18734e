"""Batches of a wheel with a Magic Formula tyre: the same bits whatever the size and order of the batch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import armillary as arm
import armillary.vehicles as veh
from armillary.algebra.arguments import core_of
from armillary.ensembles.plan import plan
from armillary.export.cuda.kernels import kernel
from armillary.settings import RunSettings

DATA = Path(__file__).parent / "data"
CARCASS = {"VERTICAL_STIFFNESS": 2e5, "LATERAL_STIFFNESS": 1e5, "LONGITUDINAL_STIFFNESS": 3e5}
STEERS = np.linspace(-0.1, 0.12, 7)


@cache
def wheel_model() -> object:
    """A steered wheel below a mass, on a sled that moves at 20 m/s."""
    s = arm.System("rig")
    s.parameter("delta", 0.0, units="rad")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.prescribe(sled.u1, 20.0)
    slide = s.body("slide", sled, arm.Prismatic("z"), mass=380, inertia=0)
    column = s.body("column", slide, arm.Revolute("z"), mass=0, inertia=0)
    s.prescribe(column.q1, "delta")
    tyre = veh.read_tyre(DATA / "made_up_61.tir", changes=CARCASS)
    veh.add_wheel(s, "wheel", column, tyre, mass=20, inertia=(0.5, 0.9, 0.5))
    s.gravity(9.81, -s.ground.z)
    return s.derive().compile()


def batch(order: list[int], **settings: object) -> np.ndarray:
    found = wheel_model().simulate_batch(
        0.1, step=1e-3, initial={"slide.q1": 0.3, "wheel.u1": 65.0}, parameters={"delta": STEERS[order]},
        outputs=["wheel Fy", "wheel Mz", "wheel.u1"], progress=False, **settings,
    )  # fmt: skip
    return np.array([np.asarray(found[name]) for name in ("wheel Fy", "wheel Mz", "wheel.u1")])


def test_bits_do_not_depend_on_the_batch() -> None:
    """All runs, one, some, and all backwards on two threads."""
    whole = batch([*range(7)])
    assert np.all(np.isfinite(whole)) and np.ptp(whole[0, :, -1]) > 1000
    for order in ([4], [6, 0, 3], [*range(7)][::-1]):
        np.testing.assert_array_equal(batch(order, threads=2), whole[:, order])


def test_a_run_of_a_batch_is_the_single_run() -> None:
    """To rounding: side forces of thousands of newtons within 1e-8 N."""
    model = wheel_model()
    run = model.simulate(
        0.1, step=1e-3, initial={"slide.q1": 0.3, "wheel.u1": 65.0}, parameters={"delta": 0.12}
    )
    assert np.allclose(run["wheel Fy"], batch([6])[0, 0], rtol=0, atol=1e-8)


def test_the_wheel_has_a_kernel_for_a_gpu() -> None:
    """The whole tyre, in both precisions: a function of its own, whose runs do not see each other."""
    given = plan(
        core_of(wheel_model()), RunSettings(0.1, step=1e-3), parameters={"delta": STEERS},
        initial={"slide.q1": 0.3, "wheel.u1": 65.0}, metrics=["maximum(wheel Fy)"],
    )  # fmt: skip
    for precision in ("double", "single"):
        text = kernel(given.program, given.starts.varying, 4, precision, (0,)).text
        assert text.count("atan") >= 15 and "__shared__" not in text
