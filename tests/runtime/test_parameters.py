"""Parameter values: named, complete, finite, in stated units or as quantities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ParameterError, UnitsError
from tests.later import later
from tests.later import unit_registry as units
from tests.runtime.compiled_systems import pendulum, pendulum_model

later("pint")

STATE = [0.3, 0.0]


def acceleration(parameters: dict[Any, Any]) -> float:
    return float(pendulum_model().derivatives(0.0, STATE, {"c": 0.0, **parameters})[1])


def test_values_replace_defaults() -> None:
    assert acceleration({}) == pytest.approx(-9.81 / 0.5 * math.sin(0.3), rel=1e-14)
    assert acceleration({"L": 2, "g": np.float32(1.5)}) == pytest.approx(-0.75 * math.sin(0.3), rel=1e-14)
    assert acceleration({}) == pytest.approx(-9.81 / 0.5 * math.sin(0.3), rel=1e-14)  # and are forgotten


def test_defaults_are_not_disturbed_by_writing_to_constants() -> None:
    constants = pendulum_model().constants({"c": 1.0})
    constants[:] = 0.0
    assert acceleration({}) == pytest.approx(-9.81 / 0.5 * math.sin(0.3), rel=1e-14)


def test_symbols_are_as_good_as_names() -> None:
    s = pendulum()
    model = s.derive().compile()
    found = model.derivatives(0.0, STATE, {s.parameters["L"]: 2.0, "c": 0})
    assert found[1] == pytest.approx(-9.81 / 2 * math.sin(0.3), rel=1e-14)


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(ParameterError, match=r"there is no parameter 'l'; did you mean 'L'\?"):
        acceleration({"l": 1.0})


def test_all_missing_values_are_listed_at_once() -> None:
    s = arm.System("bare")
    body = s.body("A", joint=arm.Revolute("z"))
    s.moment("tau", "-k*A.q1 - c*A.u1", "ground.z", on=body)
    model = s.derive().compile()
    with pytest.raises(ParameterError, match=r"no value for parameters A.I33, k, c: give defaults"):
        model.derivatives(0.0, [0, 0])
    with pytest.raises(
        ParameterError, match=r"A\.I33: in body 'A', described without inertia=\n  k: in moment"
    ):
        model.derivatives(0.0, [0, 0])
    with pytest.raises(ParameterError, match="no value for parameter c: give defaults"):
        model.simulate(1.0, step=0.1, parameters={"k": 1, "A.I33": 2.0})
    found = model.derivatives(0.0, [0.5, 0.1], {"k": 1, "A.I33": 2.0, "c": 4.0})
    assert found == pytest.approx([0.1, (-0.5 - 0.4) / 2], rel=1e-14)


def test_none_is_no_value_of_a_parameter_with_a_default() -> None:
    """The mapping ``model.parameters`` has None for a parameter without one, and can be given back."""
    model = pendulum_model()
    with pytest.raises(
        ParameterError, match=r"'L' needs a number, not None; leave it out for its default, 0\.5"
    ):
        model.simulate(0.1, step=0.1, parameters={"L": None, "c": 0.1})
    given = {**model.parameters, "c": 0.1}
    assert model.simulate(0.1, step=0.1, parameters=given).parameters["L"] == 0.5
    with pytest.raises(ParameterError, match="no value for parameter c"):
        model.simulate(0.1, step=0.1, parameters=model.parameters)


def test_values_that_nothing_uses_may_be_missing() -> None:
    """A point mass on a fixed axis needs no moment about the others; a run records what it was given."""
    s = arm.System("bare")
    s.body("A", joint=arm.Revolute("z"))
    model = s.derive().compile()
    run = model.simulate(0.1, step=0.1, parameters={"A.I11": 3.0})
    assert dict(run.parameters) == {"A.I11": 3.0}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "parameter 'L' is nan; give a finite number"),
        (math.inf, "parameter 'L' is inf; give a finite number"),
        ("long", "parameter 'L' needs a number, or text such as '.*', not 'long'"),
        ("0.5 kg", "parameter 'L' has units of .*, but '0.5 kg' has"),
        (1j, r"parameter 'L' needs a number, not 1j"),
        ([1.0, 2.0], r"parameter 'L' needs a number, not \[1.0, 2.0\]"),
        (pendulum, "parameter 'L' needs a number"),
    ],
)
def test_impossible_values(value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        acceleration({"L": value})


# ---------------------------------------------------------------- quantities


def test_quantities_come_in_any_unit_of_the_dimension() -> None:
    assert acceleration({"L": 50 * units().cm}) == acceleration({"L": 0.5})
    assert acceleration({"L": 1 * units().foot}) == pytest.approx(acceleration({"L": 0.3048}), rel=1e-15)


def test_quantities_of_another_dimension_are_refused() -> None:
    with pytest.raises(UnitsError, match=r"parameter 'L' has dimension \[m\], but 3.* has \[kg\]"):
        acceleration({"L": 3 * units().kg})
    with pytest.raises(UnitsError, match=r"parameter 'c' has dimension"):
        acceleration({"c": 3 * units().m})  # whose units were deduced


def test_quantities_of_batches_are_checked_and_converted_as_those_of_one_run() -> None:
    def swing(length: Any) -> arm.Batch:
        how: dict[str, Any] = {"step": 0.05, "outputs": ["bob.q1"], "sample": 0.05, "progress": False}
        return pendulum_model().simulate_batch(
            0.1, parameters={"c": 0.0, "L": length}, initial={"bob.q1": 0.3}, **how
        )

    lengths = np.array([0.5, 0.7])
    found = swing(100 * lengths * units().cm)
    assert found.parameters["L"] == pytest.approx(lengths, rel=1e-15)
    assert found["bob.q1"] == pytest.approx(swing(lengths)["bob.q1"], abs=1e-14)
    with pytest.raises(UnitsError, match=r"'L' has dimension \[m\], but the given value has \[kg\]"):
        swing(lengths * units().kg)
    with pytest.raises(ParameterError, match="is a list of quantities; give one quantity with an array"):
        swing([0.5 * units().m, 0.7 * units().m])


def test_quantities_without_a_finite_value_are_refused() -> None:
    with pytest.raises(ParameterError, match="parameter 'L' is nan"):
        acceleration({"L": math.nan * units().m})


def test_stated_units_are_those_of_the_numbers() -> None:
    s = arm.System("degrees")
    body = s.body("A", joint=arm.Revolute("z"), mass=0, inertia=(1, 1, 1))
    s.parameter("k", 90.0, units="N*m/deg")
    s.parameter("rest", 30.0, units="deg")
    s.moment("spring", "-k*(A.q1 - rest)", "ground.z", on=body)
    s.output("angle", body.q1, units="deg")
    model = s.derive().compile()
    stiffness = 90 * 180 / math.pi
    assert model.derivatives(0, [0, 0])[1] == pytest.approx(stiffness * math.pi / 6, rel=1e-14)
    turned = model.derivatives(0, [0, 0], {"rest": 60.0})[1]
    assert turned == pytest.approx(stiffness * math.pi / 3, rel=1e-14)
    assert model.derivatives(0, [0, 0], {"rest": math.pi / 3 * units().rad})[1] == pytest.approx(
        turned, rel=1e-14
    )
    assert model.outputs(0, [math.pi / 4, 0])["angle"] == pytest.approx(45.0, rel=1e-15)
    run = model.simulate(0.0, step=1e-3, parameters={"rest": 1 * units().rad})
    assert run.parameters["rest"] == pytest.approx(180 / math.pi, rel=1e-15)
    assert run.parameter_units["rest"] == "deg" and run.parameters["k"] == 90.0


def test_inches_and_pounds() -> None:
    """A mass of 2 lb·s²/in on a spring of 50 lb/in; values in SI enter as quantities or stated units."""
    s = arm.System("sprung", units="in-lb-s")
    body = s.body("A", joint=arm.Prismatic("x"), mass="m")
    s.parameter("k", 50.0, units="lb/in")
    s.parameter("preload", 4.4482216152605, units="N")
    s.force("spring", "preload - k*A.q1", "ground.x", at=body.com)
    s.output("in metres", body.q1, units="m")
    model = s.derive().compile()
    assert model.derivatives(0, [0.0, 0], {"m": 2.0})[1] == pytest.approx(0.5, rel=1e-14)  # 1 lb
    assert model.derivatives(0, [1.0, 0], {"m": 2.0})[1] == pytest.approx(-24.5, rel=1e-14)
    mass = 2 * units().pound_force * units().s ** 2 / units().inch
    assert model.derivatives(0, [1.0, 0], {"m": mass})[1] == pytest.approx(-24.5, rel=1e-12)
    stiffness = (50 * units().pound_force / units().inch).to("N/m")
    assert model.derivatives(0, [1.0, 0], {"m": 2, "k": stiffness})[1] == pytest.approx(-24.5, rel=1e-12)
    assert model.outputs(0, [1.0, 0], {"m": 2.0})["in metres"] == pytest.approx(0.0254, rel=1e-15)
    with pytest.raises(UnitsError, match="parameter 'm' has dimension"):
        model.derivatives(0, [1.0, 0], {"m": 2.0 * units().inch})


def test_deduced_units_reach_the_run() -> None:
    run = pendulum_model().simulate(0.01, step=0.01, parameters={"c": 0.1})
    assert run.parameter_units == {"m": "kg", "L": "m", "g": "m/s^2", "c": "N*m*s"}
    assert run.parameters == {"m": 2.0, "L": 0.5, "g": 9.81, "c": 0.1}


def test_a_model_lists_its_parameters_with_defaults() -> None:
    assert pendulum_model().parameters == {"m": 2.0, "L": 0.5, "g": 9.81, "c": None}
