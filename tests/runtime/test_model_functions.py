"""Further functions of a model as machine code: at one place, at many, with parameters per row."""

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import tangents
from armillary.algebra.expression import UNIT, symbol
from armillary.runtime.models.compiled_program import ModelFunctions


@pytest.fixture(scope="module")
def model():
    s = arm.System("pendulum")
    s.parameter("g", 9.81, units="m/s^2")
    s.gravity("g", "-ground.z")
    s.parameter("L", 0.7, units="m")
    s.body("P", joint=arm.Revolute("y"), mass=2, com=(0, 0, "-L"), inertia=(0.1, 0.1, 0.1))
    return s.derive().compile()


@pytest.fixture(scope="module")
def functions(model):
    t = core_of(model.equations).targets
    q, u = t.integrated
    push = symbol("push")
    rates = [t.rates[1] + push * q, u * t.time]
    return ModelFunctions(
        core_of(model.equations), {"pushed": rates, "slope": tangents(t.rates, {q: UNIT})}, [push]
    )


def test_values_at_one_place_are_those_of_the_model(model, functions):
    y = model.state({"P.q1": 0.3, "P.u1": 2.0})
    found = functions("pushed", 0.5, y, inputs=[10.0])
    assert found == pytest.approx([model.derivatives(0.5, y)[1] + 10 * 0.3, 2.0 * 0.5], rel=1e-14)


def test_derivatives_of_rates_are_compiled_too(functions):
    """Of u̇ = m g L sin q / (J + m L²), falling along z, by q."""
    slope = functions("slope", 0.0, np.array([0.3, 0.0]), {"L": 0.5})
    assert slope == pytest.approx([0.0, -2 * 9.81 * 0.5 * np.cos(0.3) / (0.1 + 2 * 0.25)], rel=1e-14)


def test_rows_are_single_places_with_parameters_of_their_own(model, functions):
    states = np.array([[0.3, 2.0], [-0.4, 1.0], [1.1, 0.0]])
    times, pushes, lengths = np.array([0.0, 1.0, 2.0]), np.array([[1.0], [2.0], [3.0]]), [0.5, 0.7, 0.9]
    found = functions.rows("pushed", times, states, {"L": np.array(lengths)}, inputs=pushes)
    single = [
        functions("pushed", t, y, {"L": length}, inputs=p)
        for t, y, length, p in zip(times, states, lengths, pushes, strict=True)
    ]
    assert np.array_equal(found, single)
    shared = functions.rows("pushed", 0.0, states, inputs=np.array([1.0]))
    assert np.array_equal(shared[1], functions("pushed", 0.0, states[1], inputs=[1.0]))


def test_arrays_of_different_lengths_are_refused(functions):
    with pytest.raises(arm.ArmillaryError, match=r"\[2, 3\] rows"):
        functions.rows("pushed", np.zeros(2), np.zeros((3, 2)), inputs=np.zeros(1))
    with pytest.raises(arm.ArmillaryError, match="give equally many of each"):
        functions.constants({"L": [1.0, 2.0]} | {"g": [1.0, 2.0, 3.0]})
