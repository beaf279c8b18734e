"""Second derivatives against differences of exact first derivatives, closed forms and each other."""

import math

import numpy as np
import pytest

import armillary as arm
from tests.control.systems import cart_pole

PLACE = {"pole.q1": 0.7, "cart.u1": -0.4, "pole.u1": 1.2, "F": 3.0}
NAMES = ("cart.q1", "pole.q1", "cart.u1", "pole.u1", "F")


def test_they_are_the_slopes_of_the_exact_first_derivatives():
    """Central differences of A, B, C and D, right to 1e-9 for steps of 1e-4 and their error of h²/6 f''''."""
    model = cart_pole()
    found = model.second_derivatives(PLACE, ["F"], ["tip"])
    assert found.shape == (5, 5, 5) and np.allclose(found, np.swapaxes(found, 1, 2), rtol=0, atol=1e-14)
    for k, name in enumerate(NAMES):
        sides = []
        for h in (1e-4, -1e-4, 2e-4, -2e-4):
            lin = model.linearize({**PLACE, name: PLACE.get(name, 0.0) + h}, ["F"], ["tip"])
            sides.append(np.block([[lin.A, lin.B], [lin.C, lin.D]]))
        slope = (8 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / 12e-4
        assert np.abs(found[:, :, k] - slope).max() < 1e-9 * max(1.0, np.abs(slope).max())


def test_a_pendulum_has_its_closed_form():
    """ü = −(g/L) sin q: ∂²/∂q² = (g/L) sin q, and ∂²/∂q∂u = 0; with damping −c u², −2 c."""
    s = arm.System("pendulum")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -2, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("drag", "-0.3*bob.u1^2", s.ground.z, on=bob)
    found = s.derive().compile().second_derivatives({"bob.q1": 0.5})
    assert np.allclose(found[1], [[9.81 / 2 * np.sin(0.5), 0], [0, -0.6 / 4]], rtol=1e-13)
    assert not found[0].any()


def test_weighted_sums_and_directions_are_products_of_all():
    model = cart_pole()
    whole = model.second_derivatives(PLACE, ["F"], ["tip"])
    weights, along = np.array([1.0, -2.0, 0.5, 3.0, 0.7]), np.array([0.2, 1.0, -1.0, 0.4, 2.0])
    summed = model.second_derivatives(PLACE, ["F"], ["tip"], weights=weights)
    assert np.allclose(summed, np.tensordot(weights, whole, 1), rtol=1e-12, atol=1e-12)
    product = model.second_derivatives(PLACE, ["F"], ["tip"], weights=weights, along=along)
    assert np.allclose(product, summed @ along, rtol=1e-12, atol=1e-12)
    each = model.second_derivatives(PLACE, ["F"], ["tip"], along=dict(zip(NAMES, along, strict=True)))
    assert np.allclose(each, whole @ along, rtol=1e-12, atol=1e-12)


def test_outputs_are_in_stated_units():
    """q² in degrees has the second derivative 2 · 180/π."""
    s = arm.System("pendulum")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.output("swing", bob.q1 * bob.q1, units="deg")
    found = s.derive().compile().second_derivatives({"bob.q1": 0.5}, outputs=["swing"])
    assert found[2, 0, 0] == pytest.approx(2 * 180 / np.pi)


def test_they_are_in_stated_units_of_states_and_inputs():
    """x' = c F² x² with F in kN and x in mm: 1 kN is 10³ N and 1 mm is 10⁻³ m."""
    s = arm.System("creep")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.input("F", units="kN")
    s.parameter("c", 1e-3, units="1/(N^2*m*s)")
    s.state("x", rate="c*F^2*x^2", initial=2.0, units="mm")
    model = s.derive().compile()
    names = ["b.q1", "b.u1", "x", "F"]
    place, x, F = {"x": 300.0, "F": 0.004}, 0.3, 4.0  # m and N
    whole = model.second_derivatives(place, ["F"])
    exact = 1e-3 * np.array([[2 * F**2, 4 * F * x], [4 * F * x, 2 * x**2]])  # by m and N
    sizes = np.array([1e-3, 1e3])
    assert np.allclose(whole[2, 2:, 2:], exact * np.outer(sizes, sizes) / 1e-3, rtol=1e-12)
    along = np.array([0.1, 0.2, 0.5, -1.0])
    assert np.allclose(model.second_derivatives(place, ["F"], along=along), whole @ along, rtol=1e-12)
    weights = np.array([1.0, -2.0, 3.0])
    weighted = model.second_derivatives(place, ["F"], weights=weights)
    assert np.allclose(weighted, np.tensordot(weights, whole, 1), rtol=1e-12)
    by_name = model.second_derivatives(place, ["F"], along=dict(zip(names, along, strict=True)))
    assert np.allclose(by_name, whole @ along, rtol=1e-12)
    with pytest.raises(arm.ArmillaryError, match="along= needs 4 finite numbers"):
        model.second_derivatives(place, ["F"], along=[1, 2, math.nan, 0])


def test_wrong_arguments_are_named():
    model = cart_pole()
    with pytest.raises(arm.ArmillaryError, match="weights= there is no 'tap'"):
        model.second_derivatives(outputs=["tip"], weights={"tap": 1})
    with pytest.raises(arm.ArmillaryError, match="along= needs 4 finite numbers"):
        model.second_derivatives(along=[1, 2])
    with pytest.raises(arm.ArmillaryError, match="one operating point"):
        model.second_derivatives({"pole.q1": [0.1, 0.2]})
