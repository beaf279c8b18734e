"""Operating points of the examples that have no state of rest: what moves steadily there, in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.operating.point import OperatingPoint
from armillary.stages.model import Model
from examples import basilisk_panels, bouncing_ball, car, cart, slosh, steered_car

EXACT = 1e-12  # a few roundings


def _no_rest(s: arm.System) -> Model:
    """The model, after a check that it has no state of rest."""
    model = s.derive().compile()
    with pytest.raises(arm.ArmillaryError, match=r"conditions fail|for all values of the unknowns"):
        model.equilibrium()
    return model


def _stays(model: Model, op: OperatingPoint, names: list[str], tolerance: float = 1e-8) -> None:
    """Whether a run of a second from the point keeps these values."""
    run = model.simulate(1.0, initial=op, parameters=op.parameters, sample=0.25)
    for name in names:
        assert np.max(np.abs(run[name] - op[name])) < tolerance * max(1.0, abs(op[name])), name


def test_a_ball_falls() -> None:
    """u̇ = −g, whatever its place and speed."""
    op = _no_rest(bouncing_ball.system()).trim(rates={"ball.u1": -9.81})
    assert op.residuals == {"rate of ball.u1": 0.0} and op.wanted == {"rate of ball.u1": -9.81}
    assert op.rates["ball.u1"] == -9.81 and op.stable is None
    with pytest.raises(arm.ArmillaryError, match=r"rate of ball.u1 is -9.81 m/s2, not -9.8 m/s2"):
        bouncing_ball.system().derive().compile().trim(rates={"ball.u1": -9.8})


def test_a_steered_car_turns_steadily_without_drive() -> None:
    """On a path of curvature κ the yaw rate is κ v, and no wheel needs a torque."""
    model = _no_rest(steered_car.system("tightest"))
    op = model.trim(fixed={"car.u1": 8.0}, inputs=["drive"])
    assert op.inputs["drive"] == pytest.approx(0.0, abs=1e-9)
    assert op.cyclic["car.q3"] == pytest.approx(0.1 * 8.0, rel=EXACT)
    _stays(model, op, ["car.u1"])


def test_a_car_that_is_steered_to_and_fro_at_its_tightest() -> None:
    """There the steering needs a torque, and the states change the rate of the speed by rounding alone."""
    op = steered_car.system().derive().compile().trim(fixed={"car.u1": 8.0}, inputs=["drive"], t=math.pi)
    assert abs(op.rates["car.u1"]) < 1e-12 and abs(op.inputs["drive"]) < 1.0


def test_panels_on_an_orbit_are_straight_where_the_hub_does_not_turn() -> None:
    """Gravity acts alike on all bodies there, so hub and panels fall with μ/r² and keep their shape."""
    moving = [f"hub.{name}{i}" for name in "qu" for i in (1, 2, 3)]
    still = dict.fromkeys(["hub.u4", "hub.u5", "hub.u6"], 0.0)
    model = basilisk_panels.system().derive().compile()
    op = model.trim(fixed=still, rates=dict.fromkeys(moving), starts={"panel1.q1": 0.5, "panel6.q1": -0.4})
    assert [op[f"panel{i}.q1"] for i in range(1, 8)] == pytest.approx([0.0] * 7, abs=1e-12)
    assert op["hub.q4"] == 1.0
    right, left = (sum(0.5 + 0.75 + 1.5 * k for k in range(n)) for n in (4, 3))
    centre = np.array([50 * (right - left), 0.0, 50 * 7 * 1.0]) / (750 + 50 * 7)  # from the hub's origin
    r = np.linalg.norm([op[f"hub.q{i}"] for i in (1, 2, 3)] + centre)
    fall = np.array([op.rates[f"hub.u{i}"] for i in (1, 2, 3)])
    assert np.linalg.norm(fall) == pytest.approx(basilisk_panels.MU / r**2, rel=EXACT)


def test_liquid_hangs_straight_under_thrust() -> None:
    """The acceleration is thrust over the whole mass."""
    model = _no_rest(slosh.system())
    upright = {"craft.q4": 1.0, "craft.q5": 0.0, "craft.q6": 0.0, "craft.q7": 0.0}
    op = model.trim(fixed=upright, rates={"craft.u3": None}, starts={"slosh.q1": 0.6, "slosh.q2": -0.4})
    assert [op["slosh.q1"], op["slosh.q2"]] == pytest.approx([0.0, 0.0], abs=1e-12)
    mass = model.parameters["mass"] + model.parameters["m"]
    assert op.rates["craft.u3"] == pytest.approx(1000.0 / mass, rel=EXACT)
    given = model.trim(fixed=upright, rates={"craft.u3": 0.5}, inputs=["thrust"])
    assert given.inputs["thrust"] == pytest.approx(0.5 * mass, rel=EXACT)


def test_a_cart_rolls_straight_at_constant_speed_without_a_push() -> None:
    """The front axle trails, and every wheel turns at v/R."""
    model = _no_rest(cart.system())
    op = model.trim(fixed={"B.u1": 2.0}, inputs=["F"], starts={"FA.q1": 0.4})
    assert op.inputs["F"] == pytest.approx(0.0, abs=1e-12) and op["FA.q1"] == pytest.approx(0.0, abs=1e-12)
    assert op.cyclic["LFW.q1"] == pytest.approx(10.0, rel=EXACT) and op.stable
    _stays(model, op, ["B.u1", "FA.q1"])


def test_a_car_turns_steadily_at_constant_speed() -> None:
    """The steer angle that gives a lateral acceleration gives it, and a run keeps it."""
    model = _no_rest(car.system())
    op = model.trim(inputs=["STEER"], outputs={"Ay": 0.3})
    assert op.outputs["Ay"] == pytest.approx(0.3, rel=EXACT) and op.stable
    again = model.trim(parameters={"STEER": op.inputs["STEER"]})
    assert again["RB.q1"] == pytest.approx(op["RB.q1"], rel=1e-10)
    _stays(model, op, ["NRB.u2", "NRB.u3", "RB.q1"])
