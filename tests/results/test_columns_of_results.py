"""Each column of each result has its units and description: runs, sweeps, derivatives and branches."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm


@cache
def _crank() -> Any:
    """A bob on a crank of length r, and a cart beside it with a spring of no stiffness."""
    s = arm.System("crank")
    s.parameter("r", 100.0, units="mm", about="length of the crank")
    s.parameter("soft", 0.0, units="N/m", about="a spring that is not there")
    s.gravity(9.81, "-ground.y")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-r", 0), mass=2, inertia=0)
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=3, inertia=0)
    s.force("pull", "-soft*cart.q1 - 5*cart.u1", s.ground.x, at=cart.com)
    s.input("torque", units="N*m", about="on the bob")
    s.moment("motor", "torque - 0.1*bob.u1", s.ground.z, on=bob)
    s.output("height", "dot(position(bob.com), ground.y)", units="mm", about="of the bob")
    s.output("place", "cart.q1", units="mm", about="of the cart")
    return s.derive().compile()


def _check_columns(result: Any) -> None:
    names = list(result.names)
    assert len(set(names)) == len(names)
    assert set(names) <= set(result.units), set(names) - set(result.units)
    if hasattr(result, "descriptions"):
        assert all(result.descriptions.get(name) for name in names), names


def test_columns_have_units_and_descriptions() -> None:
    model = _crank()
    run = model.simulate(0.2, step=0.05, initial={"bob.q1": 0.3, "cart.u1": 1.0})
    _check_columns(run)
    swept = model.sweep({"bob.q1": np.linspace(0.0, 1.0, 5)}, speeds={"bob.q1": 2.0})
    _check_columns(swept)
    assert swept.units["height"] == "mm" and swept.units["d(height)/dt"] == "mm/s"
    assert swept.descriptions["d(height)/dt"] == "rate of height"
    found = model.sensitivities(0.2, ["r", "soft"], ["height", "place"], step=0.05, initial={"cart.u1": 1.0})
    derivatives = found.as_run()
    _check_columns(derivatives)
    assert derivatives.descriptions["d(place)/d(soft)"] == "derivative of place by soft"


def test_relative_derivatives_by_a_parameter_of_zero_stay_as_they_are() -> None:
    """∂x/∂soft at soft = 0 of m ẍ + c ẋ = −soft x is not zero; that by r is taken times r."""
    found = _crank().sensitivities(
        0.4, ["r", "soft"], ["height", "place"], sample=0.1, initial={"bob.q1": 0.3, "cart.q1": 0.2}
    )
    scaled = found.scaled
    assert np.max(np.abs(found["place", "soft"])) > 1.0
    np.testing.assert_array_equal(scaled["place", "soft"], found["place", "soft"])
    np.testing.assert_allclose(scaled["height", "r"], 100.0 * found["height", "r"], rtol=1e-14)
    assert scaled.units["place", "soft"] == found.units["place", "soft"] == "mm/(N/m)"
    assert scaled.units["height", "r"] == "mm"
    assert found.final["place", "soft"] == found["place", "soft"][-1]


def test_columns_of_branches() -> None:
    """m g r sin q = torque, stable below a quarter turn; along it one eigenvalue becomes positive."""
    model = _crank()
    branch = model.trace(model.equilibrium(fixed={"cart.q1": 0.0}), "torque", 0.0, 1.5)
    assert set(branch.names) <= set(branch.units)
    assert branch.units["torque"] == "N*m" and branch.name == "torque"
    assert 2 * 9.81 * 0.1 * np.sin(branch["bob.q1"]) == pytest.approx(branch["torque"], abs=1e-9)
    assert set(branch.growing.tolist()) == {0}
    assert "bob.q1" in branch.found
