"""Values of compiled models: shapes, names, initial states, formalisms, and what is refused."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ModelError, ParameterError, UnitsError
from armillary.stages.model import Model
from tests.later import unit_registry
from tests.mechanics import random_trees, reference
from tests.runtime.compiled_systems import pendulum, pendulum_model, spinning

pytestmark = pytest.mark.optimised

C = {"c": 0.0}


def test_derivatives_are_rates_of_coordinates_then_of_speeds() -> None:
    model = pendulum_model()
    found = model.derivatives(0.0, [0.3, 0.7], {"c": 0.4})
    expected = -9.81 / 0.5 * math.sin(0.3) - 0.4 * 0.7 / (2 * 0.25)
    assert found.shape == (2,) and found.dtype == float
    assert found == pytest.approx([0.7, expected], rel=1e-14)
    assert model.accelerations(0.0, [0.3], [0.7], {"c": 0.4}) == pytest.approx([expected], rel=1e-14)


def test_outputs_come_by_name_in_their_units() -> None:
    found = pendulum_model().outputs(0.0, (0.3, 0.7), {"c": 0.4})
    assert list(found) == ["bob.q1", "bob.u1", "friction", "height", "energy"]
    assert tuple(found) == pendulum_model().output_names
    assert found["bob.q1"] == 0.3 and found["friction"] == pytest.approx(-0.28, rel=1e-15)
    assert found["height"] == pytest.approx(-50 * math.cos(0.3), rel=1e-14)  # in cm
    assert found["energy"] == pytest.approx(0.25 * 0.49, rel=1e-14)


def test_names_are_those_of_the_equations() -> None:
    model = spinning()
    assert model.coordinate_names == tuple(f"A.q{i}" for i in range(1, 8))
    assert model.speed_names == tuple(f"A.u{i}" for i in range(1, 7))
    assert repr(model).startswith("Model('tumbling', ")
    assert model.formalism in ("kane", "recursive") and model.compile_seconds > 0


def test_the_state_given_is_left_alone() -> None:
    state = np.array([0.3, 0.7])
    pendulum_model().derivatives(0.0, state, C)
    pendulum_model().simulate(0.1, step=0.01, initial=state, parameters=C)
    assert state.tolist() == [0.3, 0.7]


@pytest.mark.parametrize("state", [[0.0], [0.0] * 3, 0.0, [[0.0, 0.0]], [], "up", {"bob.q1": 1.0}, [0, [1]]])
def test_states_of_the_wrong_shape_are_refused(state: Any) -> None:
    with pytest.raises(ArmillaryError, match="the state must be 2 numbers, not"):
        pendulum_model().derivatives(0.0, state, C)
    with pytest.raises(ArmillaryError, match="the state must be 2 numbers, not"):
        pendulum_model().outputs(0.0, state, C)


def test_coordinates_and_speeds_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ArmillaryError, match="the coordinates must be 7 numbers, not an array of shape"):
        spinning().accelerations(0.0, [0.0] * 6, [0.0] * 6)
    with pytest.raises(ArmillaryError, match="the speeds must be 6 numbers, not an array of shape"):
        spinning().accelerations(0.0, [0.0] * 7, [0.0] * 7)
    with pytest.raises(ArmillaryError, match="the memory must be 0 numbers"):
        spinning().derivatives(0.0, [0.0] * 13, memory=[1.0])


# ---------------------------------------------------------------- initial states


def test_initial_values_by_name_by_symbol_or_all_in_order() -> None:
    s = pendulum()
    model = s.derive().compile()
    assert model.state().tolist() == [0.0, 0.0]
    assert model.state({"bob.u1": 2}).tolist() == [0.0, 2.0]
    assert model.state({s.coordinates[0]: 0.5}).tolist() == [0.5, 0.0]
    assert model.state((0.1, 0.2)).tolist() == [0.1, 0.2]
    assert model.state(np.array([0.1, 0.2])).tolist() == [0.1, 0.2]


def test_initial_values_may_be_quantities() -> None:
    units = unit_registry()
    found = pendulum_model().state({"bob.q1": 90 * units.deg, "bob.u1": 60 * units.rpm})
    assert found == pytest.approx([math.pi / 2, 2 * math.pi], rel=1e-15)
    assert spinning().state({"A.q1": 3 * units.cm})[0] == pytest.approx(0.03, rel=1e-15)
    with pytest.raises(
        UnitsError, match=r"the initial value of 'A.q1' has dimension \[m\], but 3.* has \[s\]"
    ):
        spinning().state({"A.q1": 3 * units.s})


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ({"bob.q2": 1.0}, r"there is no coordinate, speed or state 'bob.q2'; did you mean 'bob.q1'\?"),
        ({"bob.q1": math.nan}, "the initial value of 'bob.q1' is nan; give a finite number"),
        ({"bob.u1": -math.inf}, "the initial value of 'bob.u1' is -inf; give a finite number"),
        ({"bob.q1": "up"}, "the initial value of 'bob.q1' needs a number, or text such as .*, not 'up'"),
        ({"bob.q1": None}, "the initial value of 'bob.q1' needs a number, not None"),
        ([0.0, math.nan], "the initial value of 'bob.u1' is not a finite number"),
    ],
)
def test_impossible_initial_values(initial: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        pendulum_model().simulate(1.0, step=0.1, initial=initial, parameters=C)


def test_initial_states_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ArmillaryError, match="the initial state must be 2 numbers"):
        pendulum_model().simulate(1.0, step=0.1, initial=[0.0], parameters=C)


def test_euler_parameters_are_made_unit_at_the_start() -> None:
    model = spinning()
    state = model.state({"A.q4": 3.0, "A.q5": 0.0, "A.q6": 4.0})
    assert state[3:7] == pytest.approx([0.6, 0.0, 0.8, 0.0], abs=1e-16)
    with pytest.raises(ParameterError, match=r"the Euler parameters from 'A.q4' on are all zero"):
        model.state({"A.q4": 0.0})


def test_prescribed_speeds_have_no_initial_value() -> None:
    s = arm.System("driven")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.body("arm", parent=crank, joint=arm.Revolute("z"), at=(1, 0, 0), com=(0.5, 0, 0), mass=1, inertia=0)
    s.prescribe(crank.u1, "rate*cos(w*t)")
    model = s.derive().compile()
    assert model.speed_names == ("arm.u1",)
    assert model.coordinate_names == ("crank.q1", "arm.q1")
    with pytest.raises(ParameterError, match=r"'crank.u1' is prescribed, so it has no initial value"):
        model.simulate(1.0, step=0.1, initial={"crank.u1": 1.0}, parameters={"rate": 2.0, "w": 1.0})
    run = model.simulate(2.0, method="dop853", parameters={"rate": 2.0, "w": 1.0})
    assert run["crank.u1"] == pytest.approx(2 * np.cos(run.time), rel=1e-12)
    assert run["crank.q1"] == pytest.approx(2 * np.sin(run.time), abs=1e-8)
    # A point mass at l = 1/2 from the end of a crank of length 1: l (ψ̈ + φ̈) = −(φ̈ cos ψ + φ̇² sin ψ).
    t, q, u = 0.7, 0.4, 0.3
    found = model.accelerations(t, [0.2, q], [u], {"rate": 2.0, "w": 1.0})[0]
    speed, rate = 2 * math.cos(t), -2 * math.sin(t)
    expected = -rate - (rate * math.cos(q) + speed**2 * math.sin(q)) / 0.5
    assert found == pytest.approx(expected, rel=1e-13)


# ---------------------------------------------------------------- ways to derive


@cache
def random_model(seed: int, formalism: str, regroup: bool) -> Model:
    """A random tree with its data as parameters."""
    case = random_trees.tree_case(seed)
    return random_trees.build(case, parameters=True).derive(formalism, regroup=regroup).compile()


@pytest.mark.parametrize("seed", [11])
def test_every_way_to_derive_gives_the_accelerations_of_first_principles(seed: int) -> None:
    """Compiled code against an independent evaluator, to 1e-10 as for formalisms."""
    case = random_trees.tree_case(seed)
    expected = reference.accelerations(case.tree, case.q, case.u)
    for formalism, regroup in product(("kane", "recursive"), (True, False)):
        found = random_model(seed, formalism, regroup).accelerations(0.0, case.q, case.u)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))


@pytest.mark.parametrize("seed", [1, 11])
def test_two_formalisms_give_the_same_trajectory(seed: int) -> None:
    """Random systems over 1 s, to 1e-9 of the largest value, with and without regrouped inertia."""
    case = random_trees.tree_case(seed)
    state = np.concatenate([case.q, 0.2 * case.u])
    runs = []
    for formalism, regroup in (("kane", True), ("recursive", False)):
        model = random_model(seed, formalism, regroup)
        runs.append(model.simulate(1.0, method="dop853", rtol=1e-12, atol=1e-13, initial=state, sample=0.1))
    assert runs[0].names == runs[1].names
    scale = np.max(np.abs(runs[0].values), axis=0) + 1e-3
    assert np.max(np.abs(runs[0].values - runs[1].values) / scale) < 1e-9


def test_unknown_formalism_and_backend() -> None:
    s = pendulum()
    with pytest.raises(
        ModelError, match=r"unknown formalism 'kan'; did you mean 'kane'\? There are auto, kane"
    ):
        s.derive("kan")
    with pytest.raises(ArmillaryError, match=r"unknown backend 'lvm'; did you mean 'llvm'\? There is llvm"):
        s.derive().compile("lvm")


def test_a_system_without_degrees_of_freedom_is_refused() -> None:
    s = arm.System("stone")
    s.body("rock", mass=1, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="system 'stone' has no degree of freedom: give a body a joint"):
        s.derive()


@pytest.mark.parametrize("formalism", ["auto", "momentum"])
def test_memory_of_a_single_call_is_given_by_name_as_for_a_run(formalism: str) -> None:
    """m ẍ = F + a, with F in kN; what is left out is as at the start."""
    s = arm.System("driven")
    s.input("F", units="kN")
    s.memory("a", 3.0)
    block = s.body("block", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.force("push", "F + a", s.ground.x, at=block.com)
    model = s.derive(formalism).compile()
    state = model.state()
    for given, force in (({"F": 2}, 2003.0), ({"F": "500 N", "a": 1.0}, 501.0), ({}, 3.0), ([4.0, 5.0], 9.0)):
        rate = force if formalism == "momentum" else force / 2
        assert model.derivatives(0.0, state, memory=given)[1] == pytest.approx(rate, rel=1e-15)
        assert model.accelerations(0.0, [0.0], [0.0], memory=given) == pytest.approx([force / 2], rel=1e-15)
        assert model.outputs(0.0, state, memory=given)["push"] == pytest.approx(force, rel=1e-15)
    sensitive = model.with_sensitivities(["block.q1"], ["push"])
    assert sensitive.outputs(0.0, sensitive.state(), memory={"F": 2})["push"] == pytest.approx(2003.0)
    for call in (model.derivatives, model.outputs):
        with pytest.raises(ParameterError, match="there is no memory 'G'"):
            call(0.0, state, memory={"G": 1.0})
