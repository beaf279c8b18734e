"""Dimensions and units where terms meet that were made apart: no false errors, and the right numbers."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError, UnitsError


def test_terms_that_share_a_product_of_numbers_are_no_units_error() -> None:
    """Bars on the ground and on a cart, of plain numbers: sin(B.q1) stands for a length and for an energy."""
    s = arm.System("s")
    s.gravity(9.81, -s.ground.y)
    bar = {"com": (0.5, 0, 0), "mass": 1, "inertia": 0}
    s.body("A", joint=arm.Revolute("z"), **bar)
    parent = s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    for name in "BCD":
        parent = s.body(name, parent, arm.Revolute("z"), at=(0 if name == "B" else 1, 0, 0), **bar)
    s.output("potential", s.potential_energy(), units="J")
    s.output("energy", s.total_energy(), units="J")
    model = s.derive().compile()
    q = {"A.q1": 0.3, "B.q1": 0.4, "C.q1": 0.5, "D.q1": -0.6}
    # Heights of the four mass centres, by hand.
    b, c, d = np.sin([0.4, 0.9, 0.3])
    heights = 0.5 * np.sin(0.3) + 0.5 * b + (b + 0.5 * c) + (b + c + 0.5 * d)
    assert model.outputs(0.0, model.state(q))["potential"] == pytest.approx(9.81 * heights, rel=1e-13)
    run = model.simulate(0.5, sample=0.05, initial=q)
    assert np.ptp(run["energy"]) < 1e-6


def test_true_units_errors_of_outputs_are_still_found() -> None:
    s = arm.System("s")
    s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    with pytest.raises(UnitsError):
        s.output("wrong", s.kinetic_energy(), units="m")
    with pytest.raises(UnitsError):
        s.output("sum", "A.q1 + A.u1")


# ---------------------------------------------------------------- stops


def carriage() -> arm.System:
    s = arm.System("carriage")
    s.parameter("low", 500, units="mm")
    s.parameter("high", 80, units="cm")
    s.body("A", joint=arm.Prismatic("x"), mass=2, inertia=0)
    return s


@pytest.mark.parametrize(
    ("lower", "upper"), [("low", 0.8), (0.5, "high"), ("low", "high"), (0.5, 0.8)], ids=str
)
def test_the_ends_of_a_stop_may_have_units_of_their_own(lower: object, upper: object) -> None:
    """Ends at 0.5 m and 0.8 m: 1000 N/m on 2 kg, 0.1 m beyond either."""
    s = carriage()
    s.stop("end", "A.q1", lower=lower, upper=upper, stiffness=1000)
    model = s.derive().compile()
    found = [float(model.derivatives(0.0, [x, 0.0])[1]) for x in (0.4, 0.5, 0.65, 0.8, 0.9)]
    assert found == pytest.approx([50.0, 0.0, 0.0, 0.0, -50.0], abs=1e-9)


def test_ends_of_a_stop_in_the_wrong_order_are_refused_by_their_size() -> None:
    with pytest.raises(ModelError, match=r"stop 'end': its lower end 0\.9 is not below its upper end 0\.8"):
        carriage().stop("end", "A.q1", lower=0.9, upper=0.8, stiffness=1000)
    with pytest.raises(UnitsError):
        s = carriage()
        s.parameter("turn", 1, units="kg")
        s.stop("end", "A.q1", lower="turn", upper=0.8, stiffness=1000)


# ---------------------------------------------------------------- small angles behind


@pytest.mark.parametrize("keep", [1, 3])
def test_atan2_of_something_small_and_something_negative_is_kept(keep: int) -> None:
    """atan2(x, −0.6) jumps by 2π where x passes zero: no series has that. Ahead of it, x/p is the series."""
    s = arm.System("s")
    A = s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("p", 0.7, units="m")
    s.parameter("n", -0.6, units="m")
    s.small(A.q1, A.u1)
    s.output("ahead", "atan2(A.q1, p)")
    s.output("behind", "atan2(A.q1, n)")
    s.output("mirrored", "atan2(A.q1, -p)")
    model = s.derive(keep=keep).compile()
    for x in (0.05, 1e-3, -1e-3, -0.05):
        found = model.outputs(0.0, [x, 0.0])
        assert found["behind"] == pytest.approx(np.arctan2(x, -0.6), abs=1e-14)
        assert found["mirrored"] == pytest.approx(np.arctan2(x, -0.7), abs=1e-14)
        # The first terms that are left out: x³/3 or x⁵/5 of the ratio.
        left_out = abs(x / 0.7) ** (3 if keep == 1 else 5) / (3 if keep == 1 else 5)
        assert abs(found["ahead"] - np.arctan2(x, 0.7)) <= left_out + 1e-15
    functions = s.derive(keep=keep).show("outputs")
    assert functions.count("atan2") == 2
