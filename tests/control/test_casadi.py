"""CasADi's functions of our equations: values, Jacobians and Hessians against ours."""

import itertools
import math
import operator

import numpy as np
import pytest

import armillary as arm
from examples import chain, spinning_top, stanford_arm
from examples.optimal_motions import PROBLEMS
from tests.control.systems import cart_pole

casadi = pytest.importorskip("casadi", reason="CasADi is not installed: pip install 'armillary[casadi]'")
PLACE = {"pole.q1": 0.7, "cart.u1": -0.4, "pole.u1": 1.2, "F": 3.0}


def test_values_jacobians_and_hessians_are_ours():
    model = cart_pole()
    made = model.equations.to_casadi(outputs=["tip"])
    x, v = np.array([0.0, 0.7, -0.4, 1.2]), [3.0]
    known = model.derivatives(0.0, x, memory={"F": 3.0})
    assert np.allclose(np.array(made.rates(0, x, v, made.defaults)).ravel(), known, rtol=1e-12)
    assert float(made.outputs(0, x, v, made.defaults)) == pytest.approx(0.5 * np.sin(0.7))
    t, X, V, P = (casadi.SX.sym(n, s) for n, s in (("t", 1), ("x", 4), ("v", 1), ("p", len(made.parameters))))
    z, f = casadi.vertcat(X, V), made.rates(t, X, V, P)
    first = casadi.Function("J", [t, X, V, P], [casadi.jacobian(f, z)])(0, x, v, made.defaults)
    lin = model.linearize(PLACE, ["F"])
    assert np.allclose(np.array(first), np.hstack([lin.A, lin.B]), rtol=1e-12, atol=1e-12)
    second = model.second_derivatives(PLACE, ["F"])
    for i in range(4):
        H = casadi.Function("H", [t, X, V, P], [casadi.hessian(f[i], z)[0]])(0, x, v, made.defaults)
        assert np.allclose(np.array(H), second[i], rtol=1e-12, atol=1e-12)


def test_the_stanford_arm_has_our_rates():
    eom = stanford_arm.system().derive()
    made, model = eom.to_casadi(outputs=[]), eom.compile()
    x = np.random.default_rng(2).uniform(-1, 1, len(made.states))
    found = np.array(made.rates(0.3, x, [], made.defaults)).ravel()
    assert np.allclose(found, model.derivatives(0.3, x), rtol=1e-11, atol=1e-11)


def test_unknown_inputs_are_named():
    with pytest.raises(arm.ArmillaryError, match="has no input 'G'"):
        cart_pole().equations.to_casadi(inputs=["G"])
    with pytest.raises(arm.ArmillaryError, match=r"^parameters=: .* has no parameter 'M'"):
        cart_pole().equations.to_casadi(kind="external", parameters=["M"])


TEN = {
    **{
        name: problem.make
        for name, problem in PROBLEMS.items()
        if name.endswith(("effort", "arm", "walker", "lap"))
    },
    "bead": PROBLEMS["brachistochrone"].make,
    "Stanford arm": stanford_arm.system,
    "spinning top": spinning_top.system,
    "chain": lambda: chain.system(4),
}


@pytest.mark.parametrize("name", TEN)
def test_external_functions_have_the_derivatives_of_casadis_expressions(name):
    """Values, Jacobians, adjoints and Hessians of our compiled code, to 1e-12 of CasADi's own."""
    eom = TEN[name]().derive()
    theirs, ours = eom.to_casadi(outputs=[]), eom.to_casadi(outputs=[], kind="external")
    assert (theirs.states, theirs.inputs) == (ours.states, ours.inputs)
    n, m, rng = len(ours.states), len(ours.inputs), np.random.default_rng(3)
    x, v, w = rng.uniform(0.2, 0.9, n), rng.uniform(-1, 1, m), rng.normal(size=n)
    X, V, W = (casadi.MX.sym(label, size) for label, size in (("x", n), ("v", m), ("w", n)))
    found = []
    for f, p in ((theirs.rates, theirs.defaults), (ours.rates, [])):
        e = f(0.3, X, V, p)
        adjoint = casadi.jtimes(e, X, W, True)
        results = [e, casadi.jacobian(e, X), casadi.jacobian(e, V), adjoint]
        results += [casadi.hessian(casadi.dot(W, e), X)[0], casadi.jacobian(adjoint, V)]
        found.append([np.array(r) for r in casadi.Function("F", [X, V, W], results)(x, v, w)])
    for a, b in zip(*found, strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-12 * max(1.0, np.abs(a).max(initial=0.0)))


def test_external_functions_follow_a_parameter_and_solve_a_problem():
    """The length of the pole as an element of p; and a program of CasADi's with our Hessian."""
    ours = cart_pole().equations.to_casadi(outputs=["tip"], kind="external", parameters=["L"])
    assert ours.parameters == ("L",) and ours.defaults == [0.5]
    P = casadi.MX.sym("L")
    x = [0.0, 0.7, -0.4, 1.2]
    slope = casadi.Function("s", [P], [casadi.jacobian(ours.outputs(0, x, 3.0, P), P)])
    assert float(slope(0.5)) == pytest.approx(np.sin(0.7), rel=1e-12)
    V = casadi.MX.sym("F")
    push = ours.rates(0, x, V, 0.5)[3]
    solver = casadi.nlpsol(
        "n", "ipopt", {"x": V, "f": (push - 2) ** 2}, {"ipopt.print_level": 0, "print_time": 0}
    )
    best = float(solver(x0=0)["x"])
    assert float(ours.rates(0, x, best, 0.5)[3]) == pytest.approx(2.0, abs=1e-6)
    with pytest.raises(arm.ArmillaryError, match="has no parameter 'M'"):
        cart_pole().equations.to_casadi(kind="external", parameters=["M"])
    with pytest.raises(arm.ArmillaryError, match="kind="):
        cart_pole().equations.to_casadi(kind="code")
    with pytest.raises(arm.ParameterError, match="parameters= is for kind='external'"):
        cart_pole().equations.to_casadi(parameters=["L"])


def test_every_function_has_its_values_also_where_arguments_are_equal():
    """Against Python's operators and its mathematics."""
    from armillary.control.casadi_functions import _functions

    casadi = pytest.importorskip("casadi")
    two = {
        "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
        "ne": operator.ne, "and": lambda a, b: bool(a) and bool(b), "or": lambda a, b: bool(a) or bool(b),
        "min": min, "max": max, "atan2": math.atan2, "mod": lambda a, b: math.nan if b == 0 else a % b,
        "pow": lambda a, b: math.nan if a <= 0 else a**b,
    }  # fmt: skip
    one = {
        name: getattr(math, name)
        for name in ("sin", "cos", "tan", "tanh", "asin", "acos", "atan", "exp", "floor", "ceil")
    } | {
        "abs": abs,
        "sign": np.sign,
        "log": lambda a: math.log(a) if a > 0 else math.nan,
        "not": operator.not_,
    }
    ours = _functions(casadi)
    assert set(ours) == {*one, *two, "select"}
    a, b, c = (casadi.SX.sym(name) for name in "abc")
    values = (-0.7, 0.0, 0.4, 1.0)
    for name, known in one.items():
        found = casadi.Function("f", [a], [ours[name](a)])
        for x in values:
            if not math.isnan(known(x)):
                assert float(found(x)) == pytest.approx(float(known(x)), abs=1e-15), (name, x)
    for name, known in two.items():
        found = casadi.Function("f", [a, b], [ours[name](a, b)])
        for x, y in itertools.product(values, values):
            if not math.isnan(known(x, y)):
                assert float(found(x, y)) == pytest.approx(float(known(x, y)), abs=1e-15), (name, x, y)
    found = casadi.Function("f", [a, b, c], [ours["select"](a, b, c)])
    assert (float(found(1, 2, 3)), float(found(0, 2, 3))) == (2.0, 3.0)


def test_a_controller_of_do_mpc_runs_on_our_functions():
    """At the first step, the force saturates; the pole is caught within its limits."""
    pytest.importorskip("do_mpc", reason="do-mpc is not installed: pip install do-mpc")
    from examples import do_mpc_cart_pole

    run = do_mpc_cart_pole.balance(do_mpc_cart_pole.system().derive(), seconds=1.5)
    assert abs(run["F"][0]) == pytest.approx(do_mpc_cart_pole.FORCE, rel=1e-6)
    assert abs(run.final["pole.q1"]) < 0.1 and np.all(abs(run["F"]) <= do_mpc_cart_pole.FORCE * (1 + 1e-6))
