"""Operating points at which a linear model says nothing are refused in sentences; others have notes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from test_linear_models import compiled, four_bar, spinning

import armillary as arm
from armillary.errors import ArmillaryError


@cache
def sliding() -> Any:
    """A block with dry friction, a stop that is hit by an event, and an output that jumps."""
    s = arm.System("block")
    s.parameter("mu", 0.3)
    s.parameter("colour", 1.0)
    block = s.body("block", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.force("friction", "-mu*sign(block.u1) - 3*max(block.q1, 0)", s.ground.x, at=block.com)
    s.output("side", arm.select(block.q1 > 1.0, 1.0, 0.0) * 5 + block.q1)
    hits = s.memory("hits", 0.0)
    s.event("stop", block.q1 - 2.0, set={hits: hits + 1, block.u1: -block.u1})
    return s.derive().compile()


def test_an_input_that_does_not_act_has_a_column_of_zeros_and_a_note() -> None:
    lin = sliding().linearize({"block.q1": 1.5, "block.u1": 1.0}, inputs=["mu", "colour"])
    np.testing.assert_array_equal(lin.B, [[0, 0], [-0.5, 0]])
    assert lin.note == "input 'colour' acts on no state"
    lin = sliding().linearize({"block.q1": 1.5, "block.u1": 1.0}, inputs=["colour"], outputs=["side"])
    assert lin.note == "input 'colour' acts on no state and no output that is requested"
    assert not lin.B.any() and not lin.D.any() and lin.transfer_function().gain == 0.0
    assert sliding().linearize({"block.q1": 1.5, "block.u1": 1.0}, inputs=["mu"]).note == ""


def test_rates_and_outputs_that_jump_at_the_point_are_named_with_what_switches() -> None:
    with pytest.raises(
        ArmillaryError, match=r"the rate of 'block.u1' jumps with 'block.u1' .* 'sign\(block.u1\)'"
    ):
        sliding().linearize()
    with pytest.raises(ArmillaryError, match=r"output 'side' jumps with 'block.q1' at the operating point"):
        sliding().linearize({"block.q1": 1.0, "block.u1": 1.0}, outputs=["side"])
    assert sliding().linearize({"block.q1": 1.0, "block.u1": 1.0}).A[1, 0] == -1.5  # not requested


def test_a_kink_is_no_jump() -> None:
    lin = sliding().linearize({"block.q1": 0.0, "block.u1": 1.0})
    assert np.all(np.isfinite(lin.A))


def test_an_event_at_the_point_is_named() -> None:
    with pytest.raises(ArmillaryError, match="event 'stop' happens just at the operating point"):
        sliding().linearize({"block.q1": 2.0, "block.u1": 1.0})


def test_a_state_that_breaks_constraints_is_refused() -> None:
    model = compiled(four_bar)
    state = model.state()
    assert model.linearize(state).A.shape == (2, 2)
    state[1] += 0.01
    with pytest.raises(ArmillaryError, match="breaks constraint 'loop1") as error:
        model.linearize(state)
    assert "make the state with model.state(…)" in str(error.value)
    with pytest.raises(ArmillaryError, match="breaks constraint"):
        model.linearize(np.array([model.state(), state]))


def test_coordinates_by_name_that_break_a_loop_are_refused_where_all_are_given() -> None:
    """Rounded ones, and fewer than all, are moved with a note, as at the start of a run."""
    model = compiled(four_bar, "kane")
    closed = dict(zip(model.coordinate_names, model.state().tolist(), strict=False))
    assert model.linearize(closed).note == ""
    rounded = {name: round(value, 4) for name, value in closed.items()}
    assert "loops closed by moving B.q1 from -0.5509 to" in model.linearize(rounded).note
    assert "loops closed by moving B.q1 from -0.5 to" in model.linearize({"A.q1": 1.0, "B.q1": -0.5}).note
    broken = {"A.q1": 0.4, "B.q1": 3.0, "C.q1": 0.0}
    with pytest.raises(ArmillaryError, match=r"breaks constraint 'loop1 along ground.x' .* by -2;") as error:
        model.linearize(broken)
    assert "leave out those that follow from the others, such as B.q1 and C.q1" in str(error.value)
    with pytest.raises(ArmillaryError, match="breaks constraint 'loop1"):
        model.linearize(broken | {"A.q1": [0.4, 0.5]})


def test_euler_parameters_that_are_not_unit_are_refused() -> None:
    model = compiled(spinning, "kane")
    state = model.state()
    state[0] = 1.1
    with pytest.raises(ArmillaryError, match=r"the Euler parameters from 'hub.q1' on have length 1.1, not 1"):
        model.linearize(state)


def test_a_derivative_that_is_not_finite_is_named() -> None:
    s = arm.System("root")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("odd", "-1/(a.q1 - 1)", s.ground.x, at=a.com)
    with pytest.raises(ArmillaryError, match=r"the rate of 'a.u1' .* has no finite derivative by 'a.q1'"):
        s.derive().compile().linearize({"a.q1": 1.0})


def test_a_kink_at_the_operating_point_is_noted() -> None:
    """A one-sided spring just at contact; none away from it, nor for |v| v, whose slopes agree."""
    s = arm.System("stop")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", "-40*max(a.q1 - 0.2, 0) - 3*abs(a.u1)*a.u1", s.ground.x, at=a.com)
    model = s.derive().compile()
    note = model.linearize({"a.q1": 0.2}).note
    assert "the rate of 'a.u1' has a kink with 'a.q1'" in note and "max(" in note
    assert model.linearize({"a.q1": 0.3}).note == "" and model.linearize().note == ""


def test_jumps_are_looked_for_at_all_points_of_a_batch() -> None:
    """Beyond the first twenty too, and with parameters that are arrays."""
    speeds = np.ones(50)
    speeds[37] = 0.0
    assert sliding().linearize({"block.u1": np.ones(50)}, parameters={"mu": np.ones(50)}).A.shape == (
        50,
        2,
        2,
    )
    with pytest.raises(
        ArmillaryError, match=r"jumps with 'block.u1' at the operating point \(point 37 of 50\)"
    ):
        sliding().linearize({"block.u1": speeds}, parameters={"mu": np.ones(50)})
    places = np.full(3, 0.5)
    places[1] = 0.0
    assert "has a kink with 'block.q1'" in sliding().linearize({"block.q1": places, "block.u1": 1.0}).note
