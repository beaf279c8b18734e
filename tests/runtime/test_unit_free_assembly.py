"""The same mechanism in metres, in millimetres and much smaller: the same starts, and the same run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.runtime.models.instance import Instance
from armillary.stages.model import Model


@cache
def slider_crank(length: float, units: str = "SI") -> Model:
    """With lengths in so many units for a metre; inertias and weights are those of the same bodies."""
    s = arm.System("slider crank", units=units)
    s.parameter("crank", 0.04 * length)
    s.parameter("rod", 0.12 * length)
    J = [1e-3 * length**2] * 3
    A = s.body("A", joint=arm.Revolute("z"), com=(0.02 * length, 0, 0), mass=1, inertia=J)
    B = s.body("B", A, arm.Revolute("z"), at=("crank", 0, 0), com=(0.06 * length, 0, 0), mass=2, inertia=J)
    C = s.body("C", joint=arm.Prismatic("x"), mass=3, inertia=0)
    s.close_loop(B.point("end", ("rod", 0, 0)), C.origin, [s.ground.x, s.ground.y], name="pin")
    s.gravity(9.81 * length, -s.ground.y)
    s.start({"A.q1": 0.7})
    return s.derive().compile()


OTHERS = [(1000.0, "mm-kg-s"), (1e-3, "SI")]


@pytest.mark.parametrize(("length", "units"), OTHERS)
def test_loops_are_closed_alike_whatever_the_unit_of_length(length: float, units: str) -> None:
    """Also from scattered starts, with the slider given and a crank of nearly three times the length."""
    cases = [(0.041, {"A.q1": 2.0}), (0.11, {"C.q1": 0.1}), (0.04, {"A.q1": 1.0, "B.q1": 3.0, "C.q1": -0.1})]
    for crank, initial in cases:
        expected = slider_crank(1.0).state(initial, {"crank": crank})
        given = {name: x * (length if name == "C.q1" else 1.0) for name, x in initial.items()}
        found = slider_crank(length, units).state(given, {"crank": crank * length})
        assert found / [1, 1, length, 1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("length", "units"), OTHERS)
def test_runs_take_the_same_steps_whatever_the_unit_of_length(length: float, units: str) -> None:
    how = {"initial": {"A.q1": 0.7}, "rtol": 1e-8, "sample": 0.1}
    ours = slider_crank(1.0).simulate(1.0, **how, atol=[1e-10] * 4)
    theirs = slider_crank(length, units).simulate(1.0, **how, atol=[1e-10, 1e-10, 1e-10 * length, 1e-10])
    assert theirs.info["steps"] == ours.info["steps"]
    assert theirs["A.q1"] == pytest.approx(ours["A.q1"], abs=1e-9)
    assert theirs["C.q1"] / length == pytest.approx(ours["C.q1"], abs=1e-10)


def test_a_correction_is_judged_by_the_size_of_the_mechanism_of_the_run() -> None:
    """A slider 2 cm off its place is put right where the crank measures 40 cm, and not where it has 4 mm:
    that far from it the loop is no longer near.
    """
    model = slider_crank(1.0)
    program = model.equations.program
    place = program.state.index(next(s for s in program.state if s.data.name == "C.q1"))
    for scale, mended in ((10.0, True), (0.1, False)):
        parameters = {"crank": 0.04 * scale, "rod": 0.12 * scale}
        instance = Instance(core_of(model), parameters)
        state = model.state({"A.q1": 0.7}, parameters)
        off = state.copy()
        off[place] += 0.02
        found = instance.close_state(0.0, off, np.zeros(0))
        assert (abs(found[place] - state[place]) < 1e-9) == mended
