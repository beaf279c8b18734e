"""Sines by increments from those of the first stage of a step: right to rounding up to 1/64."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.program.packs import LARGEST, near_sines


def pendulum() -> arm.System:
    """Of a mass on a massless rod, 1 m long: u̇ = −9.81 sin q − u cos q."""
    s = arm.System("pendulum")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.parameter("c", 1.0, units="N*m*s")
    s.moment("drag", "-c*bob.u1*cos(bob.q1)", s.ground.z, on=bob)
    return s


def evaluated(results: list[arm.Expr], values: dict[arm.Expr, float]) -> list[float]:
    return [float(arm.evaluate(result, values)) for result in results]


@pytest.mark.parametrize("d", [0.0, 1e-9, -3e-4, 0.007, 1 / 64, -1 / 64])
@pytest.mark.parametrize("q", [0.0, 0.3, -1.4, 2.9, 500.0])
def test_rates_near_those_of_the_first_stage_are_right_to_rounding(q: float, d: float) -> None:
    program = pendulum().derive().program
    near = near_sines(program)
    assert near is not None
    (angle,), (sine, cosine) = near.angles, near.sines
    x, speed = q + d, 0.7
    given = dict(zip(program.state, (x, speed), strict=True)) | {angle: q, sine: np.sin(q), cosine: np.cos(q)}
    names = {p: v for p, v in zip(program.parameters, (1.0,), strict=True)}
    given |= dict(zip(program.constants, evaluated(list(program.precompute.results), names), strict=True))
    rate, acceleration, turned = evaluated(list(near.further.results), given)
    assert rate == speed
    assert acceleration == pytest.approx(-9.81 * np.sin(x) - speed * np.cos(x), rel=0, abs=1e-14)
    assert turned == pytest.approx((x - q) ** 2, rel=1e-15, abs=0)
    assert turned <= LARGEST * (1 + 1e-12)


def test_the_first_stage_gives_the_sine_and_cosine_of_every_angle() -> None:
    program = pendulum().derive().program
    near = near_sines(program)
    assert near is not None
    assert [str(result) for result in near.first.results[2:]] == ["sin(bob.q1)", "cos(bob.q1)"]
    assert set(near.angles.values()) == {0}


def test_systems_without_angles_have_none() -> None:
    s = arm.System("cart")
    s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    assert near_sines(s.derive().program) is None


def test_the_terms_that_the_series_leave_out_are_below_rounding() -> None:
    """d⁷/5040 of the sine and d⁸/40320 of the cosine, at the largest d."""
    d = LARGEST**0.5
    assert d == 1 / 64 and d**7 / 5040 < 2.0**-53 and d**8 / 40320 < 2.0**-53
