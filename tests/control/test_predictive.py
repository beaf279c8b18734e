"""Model predictive control against LQR, a quadratic program by SciPy, and itself in models and in C."""

import ctypes
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary import control
from armillary.algebra.arguments import core_of
from tests.later import later

optimize = later("scipy.optimize")
Q, R, STEP = [1.0, 1.0, 0.1, 0.1], 0.01, 0.05


def upright(law=None):
    """A cart with a pole above it; the force is an input, or follows a law every 0.05 s."""
    s = arm.System("cart and pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, 0.5, 0), mass=0.3, inertia=0)
    s.gravity(9.81, -s.ground.y)
    if law is None:
        force = s.input("F", units="N")
    else:
        force = s.memory("F", 0.0, units="N", update=law.expressions(s)[0], every=STEP)
    s.force("motor", force, s.ground.x, at=cart.com)
    return s


@cache
def law():
    return upright().derive().compile().mpc({"F": (-8, 8)}, Q, R, step=STEP, horizon=6, passes=8)


def test_without_limits_the_law_is_that_of_lqr():
    linear = upright().derive().compile().linearize(inputs=["F"]).discretize(STEP)
    free = control.mpc(linear, Q, R, 4, passes=2)
    x = np.array([0.3, -0.2, 0.5, 0.1])
    assert free.input(x) == pytest.approx(-control.lqr(linear, Q, R).K @ x, rel=1e-9)


def test_limits_are_of_the_input_and_not_of_its_change_from_the_operating_point():
    """A weight of 1 kg is held by 9.81 N; from far above, the law pulls down by no less than 0 N."""
    s = arm.System("weight")
    body = s.body("b", joint=arm.Prismatic("y"), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.input("F", units="N")
    s.force("lift", "F", s.ground.y, at=body.com)
    model = s.derive().compile()
    made = model.mpc({"F": (0, 12)}, 1.0, 0.1, step=STEP, horizon=4, at={"F": 9.81}, passes=200)
    assert made.input([0.0, 0.0]) == pytest.approx([9.81])
    assert made.input([50.0, 0.0]) == pytest.approx([0.0], abs=1e-9)
    assert made.input([-50.0, 0.0]) == pytest.approx([12.0])
    with pytest.raises(
        arm.ArmillaryError, match=r"mpc: 'weight' is not steady .*'b\.u1' changes by -9\.81 m/s2"
    ):
        model.mpc(["F"], 1.0, 0.1, step=STEP, horizon=4)


def test_many_passes_solve_the_quadratic_program():
    """min ½ VᵀHV + gᵀV between limits is a bounded least-squares problem of H's Cholesky factor."""
    made = law()
    x = np.array([0.2, 0.3, -0.5, 0.4])
    factor = np.linalg.cholesky(made.H).T
    right = -np.linalg.solve(factor.T, made.G @ x)
    known = optimize.lsq_linear(factor, right, (-8, 8), method="bvls", tol=1e-12).x
    assert np.any(np.isclose(np.abs(known), 8)) and np.any(np.abs(known) < 7.9)
    assert np.allclose(made.plan(x, passes=5000)[:, 0], known, atol=1e-6)
    assert abs(made.input(x)[0] - known[0]) < 0.5 and abs(made.input(x)[0]) <= 8


def test_the_law_in_a_model_balances_the_pole_within_its_limits():
    run = upright(law()).derive().compile().simulate(4.0, step=0.01, initial={"pole.q1": 0.3})
    assert np.max(np.abs(run["F"])) <= 8 and np.min(run["F"]) == -8
    assert abs(run.final["pole.q1"]) < 1e-2 and abs(run.final["cart.q1"]) < 0.1
    i = int(np.flatnonzero(run["F"])[0])  # the first sample that holds an input
    names = ("cart.q1", "pole.q1", "cart.u1", "pole.u1")
    assert run["F"][i] == pytest.approx(law().input([run[n][i] for n in names])[0], abs=1e-6)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc")
def test_the_law_in_embedded_c_gives_the_same_inputs(tmp_path):
    s = upright()
    s.output("law", law().expressions(s)[0])
    equations = s.derive()
    equations.export("c", tmp_path / "c", profile="embedded", precision="double", measure=False)
    source, target = str(tmp_path / "c" / "src" / "cart_and_pole.c"), str(tmp_path / "law.so")
    subprocess.run(["cc", "-std=c99", "-O1", "-fPIC", "-shared", source, "-o", target, "-lm"], check=True)
    library = ctypes.CDLL(target)
    reals = ctypes.POINTER(ctypes.c_double)
    constants, out = np.zeros(5000), np.zeros(20)
    parameters, memory = np.zeros(2), np.zeros(2)
    library.cart_and_pole_precompute(parameters.ctypes.data_as(reals), constants.ctypes.data_as(reals))
    place = [c.name for c in core_of(equations).targets.columns].index("law")
    for x in ([0.2, 0.3, -0.5, 0.4], [0.01, 0.0, 0.0, 0.0], [-0.5, -0.1, 1.0, 0.0]):
        state = np.array(x)
        places = [a.ctypes.data_as(reals) for a in (state, constants, memory, out)]
        library.cart_and_pole_outputs(ctypes.c_double(0.0), *places)
        assert out[place] == pytest.approx(law().input(x)[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"horizon": 0}, "horizon"),
        ({"inputs": {"F": (2, 1)}}, r"limits of 'F' must be \(low, high\)"),
        ({"R": 0.0}, "R must be positive"),
        ({"Q": [1.0]}, "Q must be"),
        ({"inputs": {"F": "wide"}}, "limits of 'F' must be a number or an array of numbers"),
    ],
)
def test_wrong_problems_are_named(how, words):
    given = {"inputs": {"F": (-8, 8)}, "Q": Q, "R": R, "step": STEP, "horizon": 6} | how
    with pytest.raises(arm.ArmillaryError, match=words):
        upright().derive().compile().mpc(**given)
    linear = upright().derive().compile().linearize(inputs=["F"])
    with pytest.raises(arm.ArmillaryError, match="mpc takes a discrete model"):
        control.mpc(linear, Q, R, 5)


def test_one_end_of_the_limits_may_be_open():
    one_sided = upright().derive().compile().mpc({"F": (None, 2.0)}, Q, R, step=STEP, horizon=6)
    found = [one_sided.input([0.0, angle, 0.0, 0.0])[0] for angle in (-0.5, 0.5)]
    assert min(found) < -8 and max(found) == pytest.approx(2.0)  # LQR takes more than 8 N either way


def test_states_are_named_or_counted():
    with pytest.raises(arm.ArmillaryError, match="passes must be a positive whole number, not 0"):
        law().plan([0.0, 0.0, 0.0, 0.0], passes=0)
    with pytest.raises(arm.ParameterError, match="a state has 4 numbers"):
        law().input([1.0])
    with pytest.raises(arm.ParameterError, match="state has an element that is not a finite number"):
        law().input([0.0, np.nan, 0.0, 0.0])
    with pytest.raises(arm.ParameterError, match="there is no state 'pole'"):
        law().input({"pole": 1.0})
    assert law().input({"pole.q1": 0.01}) == pytest.approx(law().input([0, 0.01, 0, 0]))
    assert "6 steps of 0.05 s, 8 passes" in repr(law())
