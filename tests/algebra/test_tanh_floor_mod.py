"""tanh, hypot, floor, ceil and mod: values, derivatives, units, texts, lanes and jumps."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.expression import as_expr, number, symbol
from armillary.algebra.parsing import parse
from armillary.algebra.units import LENGTH, MASS
from armillary.errors import ArmillaryError, ExpressionError, UnitsError
from tests.later import later

mpmath = later("mpmath")

x, y = symbol("x"), symbol("y")
NAMES = {"x": x, "y": y}


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("tanh(x)", "tanh(x)"),
        ("tanh(-2*x)", "-tanh(2*x)"),
        ("floor(-x)", "floor(-x)"),  # no odd function: floor(-0.5) is -1
        ("ceil(x + y)", "ceil(x + y)"),
        ("mod(x, 2*y)", "mod(x, 2*y)"),
        ("hypot(x, y)", "sqrt(x^2 + y^2)"),
        ("hypot(3e200, 0)", "3e+200"),  # numbers have no range of squares
        ("mod(7, -3) + floor(-0.5) + ceil(-0.5)", "-3"),
    ],
)
def test_texts_read_and_print(text: str, again: str) -> None:
    made = parse(text, NAMES.__getitem__)
    assert str(made) == again
    assert parse(again, NAMES.__getitem__) is made


def test_values_are_those_of_many_digits_and_of_numpy() -> None:
    at = {
        "x": np.array([-7.5, -0.3, 0.0, 1e-9, 0.7, 3.0, 25.0]),
        "y": np.array([2.0, -0.7, 1.0, 3.0, -2.5, 1.5, 4.0]),
    }
    found = {
        name: arm.evaluate(parse(f"{name}(x)", NAMES.__getitem__), at) for name in ("tanh", "floor", "ceil")
    }
    with mpmath.workdps(40):
        for i, value in enumerate(at["x"]):
            exact = mpmath.mpf(float(value))
            assert found["tanh"][i] == pytest.approx(float(mpmath.tanh(exact)), rel=3e-16, abs=0)
            assert (found["floor"][i], found["ceil"][i]) == (
                float(mpmath.floor(exact)),
                float(mpmath.ceil(exact)),
            )
    rest = arm.evaluate(arm.mod(x, y), at)
    np.testing.assert_array_equal(rest, np.mod(at["x"], at["y"]))
    assert np.all(rest * at["y"] >= 0) and np.all(np.abs(rest) < np.abs(at["y"]))
    np.testing.assert_allclose(arm.evaluate(arm.hypot(x, y), at), np.hypot(at["x"], at["y"]), rtol=4e-16)


@pytest.mark.parametrize("text", ["tanh(x*y)", "hypot(x, 2*y)", "mod(x, y)", "x*floor(y)", "y*ceil(3*x)"])
def test_derivatives_are_those_of_differences(text: str) -> None:
    f, at, h = parse(text, NAMES.__getitem__), {"x": 2.35, "y": 0.62}, 1e-6
    for s in (x, y):
        exact = arm.evaluate(arm.derivative(f, s), at)
        sides = [arm.evaluate(f, {**at, s.name: at[s.name] + d}) for d in (h, -h)]
        assert exact == pytest.approx((sides[0] - sides[1]) / (2 * h), rel=1e-7, abs=1e-9)


def test_units_of_arguments_are_checked() -> None:
    s = arm.System("units")
    b, c = (s.body(name, joint=arm.Prismatic("x"), mass=1, inertia=0) for name in "bc")
    assert str(arm.mod(b.q1, 0.5).dimension) == "m" and str(arm.hypot(b.q1, c.q1).dimension) == "m"
    with pytest.raises(UnitsError, match=r"floor\(b.q1\) needs a dimensionless argument"):
        arm.floor(b.q1)
    with pytest.raises(UnitsError):
        arm.mod(b.q1, b.u1)
    with pytest.raises(UnitsError):
        arm.hypot(b.q1, b.u1)
    with pytest.raises(ExpressionError, match="divides by zero"):
        parse("mod(3, 0)", {}.__getitem__)


def test_typeset() -> None:
    assert arm.latex(arm.tanh(x)) == r"\tanh\left(x\right)"
    assert "mod" in arm.latex(arm.mod(x, y)) and "floor" in arm.latex(arm.floor(x))


def test_things_may_be_called_as_these_functions_are() -> None:
    s = arm.System("names")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("floor", "-4*b.q1", b.x, at=b.com)
    s.parameter("mod", 2.0)
    s.output("both", "floor(mod*3.3) + mod(7, mod)")
    s.output("load", "floor", units="N")
    found = s.derive().compile().outputs(0.0, [0.5, 0.0])
    assert (found["both"], found["load"]) == (7.0, -2.0)


def wave() -> arm.System:
    s = arm.System("steps")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("T", 0.3, units="s")
    s.parameter("F", 2.0, units="N")
    s.force("f", "F*(tanh(b.q1/0.2) + floor(t/T) - 0.5*ceil(b.u1*0.3) + mod(t, T)/T)", b.x, at=b.com)
    return s


def test_lanes_and_single_runs_agree() -> None:
    model = wave().derive().compile()
    start = np.linspace(-1.0, 1.0, 9)
    batch = model.simulate_batch(1.0, step=0.01, initial={"b.u1": start}, outputs=["b.q1", "f"])
    for i in (0, 4, 8):
        run = model.simulate(1.0, step=0.01, initial={"b.u1": start[i]})
        np.testing.assert_allclose(batch["f"][i], run["f"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(batch["b.q1"][i], run["b.q1"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("text", ["floor(b.q1/0.2)", "ceil(b.q1/0.2)", "mod(b.q1, 0.2)/0.2"])
def test_sensitivities_refuse_what_jumps_with_the_motion(text: str) -> None:
    s = arm.System("jump")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("F", 2.0, units="N")
    s.force("f", f"F*{text}", b.x, at=b.com)
    with pytest.raises(ArmillaryError, match=r"the rates of 'jump' jump with '(floor|ceil|mod)"):
        s.derive().compile().with_sensitivities(["F"])


def test_a_small_argument_leaves_the_series() -> None:
    s = arm.System("small")
    b = s.body("b", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.small(b.q1)
    s.parameter("M", 3.0, units="N*m")
    s.moment("m", "-M*tanh(2*b.q1)", s.ground.z, on=b)
    assert s.derive().compile().derivatives(0.0, [0.5, 0.0])[1] == pytest.approx(-3.0, rel=1e-14)


@pytest.mark.parametrize("name", ["min", "max", "mod", "hypot"])
def test_numbers_of_a_model_keep_their_dimension_in_functions_of_two(name: str) -> None:
    """A constant depth in metres had lost its unit in max(depth, 0). Literals have none and fit anywhere."""
    function = getattr(arm, name)
    length, other = number(0.05, LENGTH), number(0.02, LENGTH)
    assert function(length, other).dimension is function(length, 3.0).dimension is LENGTH
    assert function(as_expr(2.0), 3.0).dimension is None
    with pytest.raises(UnitsError, match="dimensions differ"):
        function(length, number(2.0, MASS))


def test_a_block_pressed_into_a_plane_slides_under_friction() -> None:
    """N = k δ with a depth that cannot change: μ N stops a block of 1 kg by 0.2·500·0.05 = 5 m/s²."""
    s = arm.System("pressed")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    plane = (s.ground.point((0, 0, -0.35)), s.ground.z)
    law = arm.SmoothFriction(0.2, 1e-9)
    s.contact("touch", b.point((0, 0, -0.4)), plane=plane, stiffness=500.0, friction=law)
    assert s.derive().compile().derivatives(0.0, [0.0, 1.0])[1] == pytest.approx(-5.0, rel=1e-12)
