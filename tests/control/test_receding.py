"""Nonlinear predictive control: against Riccati's gains, and as a controller of nonlinear models."""

import numpy as np
import pytest

import armillary as arm
from tests.control.systems import cart_pole, slider, slider_riccati

BALANCE = {
    "step": 0.05, "inputs": {"F": (-8, 8)}, "Q": [1, 10, 0.1, 0.1], "R": 0.01, "final": [10, 100, 10, 10],
    "target": {"pole.q1": np.pi},
}  # fmt: skip


def test_on_a_linear_model_each_sample_applies_the_first_gain_of_the_riccati_recursion():
    law = slider().nmpc(1.0, step=0.1, inputs=["F"], Q=[1.0, 0.5], R=0.2, final=[3.0, 4.0])
    gain, _ = slider_riccati()
    for state in ([1.0, 0.0], [0.9, -0.2], [-3.0, 4.0]):
        assert law.input(state) == pytest.approx(-gain @ state, rel=1e-9)
    assert law.input({"b.q1": 2.0}) == pytest.approx(-2.0 * gain[:, 0], rel=1e-9)
    assert law.input([5.0, 0.0], target={"b.q1": 5.0}) == pytest.approx(0.0, abs=1e-9)


def test_one_iteration_a_sample_swings_the_pole_up_within_the_limits():
    """The plan of each sample goes on from the one before: the first cost is far above the last."""
    model, law = cart_pole(), cart_pole().nmpc(1.5, **BALANCE)
    x, costs, forces = np.zeros(4), [], []
    for _ in range(100):
        v = law.input(x)
        costs.append(law.cost)
        forces.append(float(v[0]))
        run = model.simulate(
            0.05, step=0.05, initial=dict(zip(law.states, x, strict=True)), inputs={"F": v[0]}
        )
        x = np.array([run.final[name] for name in law.states])
        assert np.allclose(x, law.predicted[1], rtol=1e-9, atol=1e-12)
    assert np.abs(x - [0, np.pi, 0, 0]).max() < 0.02 and costs[-1] < 1e-3 * costs[0]
    assert np.abs(forces).max() == 8.0
    assert law.plan.shape == (30, 1) and law.K.shape == (30, 1, 4)


def test_the_time_of_a_sample_is_that_of_the_model():
    """A force sin(w t + phase): at t = 1 without a phase the plan is that of t = 0 with a phase of w."""
    s = arm.System("pushed slider")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    for name, value, units in (("phase", 0.0, "rad"), ("w", 1.0, "rad/s"), ("size", 1.0, "N")):
        s.parameter(name, value, units=units)
    s.input("F", units="N")
    s.force("push", "F + size*sin(w*t + phase)", s.ground.x, at=body.com)
    how = {"step": 0.1, "inputs": ["F"], "Q": 1.0, "R": 0.1, "final": 1.0}
    model = s.derive().compile()
    later = model.nmpc(1.0, **how).input([0.5, 0.0], t=1.0)
    shifted = model.nmpc(1.0, parameters={"phase": 1.0}, **how).input([0.5, 0.0])
    assert later == pytest.approx(shifted, rel=1e-9)
    assert abs(later - model.nmpc(1.0, **how).input([0.5, 0.0])) > 0.1


def test_a_restart_forgets_the_plan():
    law = cart_pole().nmpc(1.0, **BALANCE)
    assert repr(law).endswith("F over 20 steps of 0.05 s; no plan yet")
    first = law.input([0.0, 3.0, 0.0, 0.0])
    law.input([0.0, 3.0, 0.0, 0.0])
    law.restart()
    assert np.array_equal(law.input([0.0, 3.0, 0.0, 0.0]), first)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ([1.0, 2.0], "a state has 4 numbers: cart.q1, pole.q1"),
        ([0.0, np.nan, 0.0, 0.0], "state must be finite|state.*finite"),
        ({"pole": 1.0}, "state: there is no 'pole'"),
        ([0.0, 1e200, 0.0, 1e200], "from this state is not finite; give a shorter step"),
    ],
)
def test_wrong_states_are_named(state, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        cart_pole().nmpc(1.0, **BALANCE).input(state)


def test_settings_of_the_plan_are_checked_by_the_name_of_the_verb():
    with pytest.raises(arm.ArmillaryError, match="nmpc needs a whole number of steps"):
        cart_pole().nmpc(1.02, **BALANCE)
