"""Efforts as expressions: a controller by inverse dynamics in the model that it controls."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm


def two_links() -> arm.System:
    s = arm.System("two links")
    s.gravity(9.81, -s.ground.y)
    A = s.body("A", joint=arm.Revolute("z"), com=(0.2, 0, 0), mass=3, inertia=(0.01, 0.05, 0.05))
    s.body("B", A, arm.Revolute("z"), at=(0.4, 0, 0), com=(0.15, 0, 0), mass=2, inertia=(0.01, 0.02, 0.02))
    return s


def test_an_error_decays_as_the_gains_say():
    """ë + 20 ė + 100 e = 0 from e = 0.3 at rest: e = 0.3 (1 + 10 t) exp(−10 t), whatever the arm is."""
    s = two_links()
    A, B = s.bodies["A"], s.bodies["B"]
    rates = {A.u1: -20 * A.u1 - 100 * A.q1, "B.u1": -20 * B.u1 - 100 * B.q1}
    efforts = s.derive().inverse(rates)
    s.moment("motor_A", efforts["A.u1"], A.z, on=A)
    s.moment("motor_B", efforts["B.u1"], B.z, on=B, reaction=A)
    model = s.derive().compile()
    run = model.simulate(1.0, step=1e-3, initial={"A.q1": 0.3, "B.q1": -0.3})
    expected = 0.3 * (1 + 10 * run.time) * np.exp(-10 * run.time)
    assert run["A.q1"] == pytest.approx(expected, abs=1e-9)
    assert run["B.q1"] == pytest.approx(-expected, abs=1e-9)
    assert run.units["motor_A"] == "N*m"


def test_expressions_are_the_numbers_of_the_model():
    s = two_links()
    eom = s.derive()
    efforts = eom.inverse({"B.u1": 4.0})
    at = {"A.q1": 0.3, "B.q1": 0.5, "A.u1": 1.0, "B.u1": -2.0}
    numbers = eom.compile().inverse([0.3, 0.5], [1.0, -2.0], [0.0, 4.0])
    for name, expression in efforts.items():
        assert arm.evaluate(expression, at) == pytest.approx(numbers[name], rel=1e-13)


def test_mistakes_are_sentences():
    eom = two_links().derive()
    with pytest.raises(arm.ArmillaryError, match=r"'A.u2' is not an independent speed.*A\.u1"):
        eom.inverse({"A.u2": 1.0})
    with pytest.raises(arm.ArmillaryError, match=r"must be an expression or a number, not '-A\.q1'"):
        eom.inverse({"A.u1": "-A.q1"})
    with pytest.raises(arm.ArmillaryError, match="needs the wanted rates by speed"):
        eom.inverse([1.0, 2.0])
