"""CasADi's functions of our equations: values, Jacobians and Hessians against ours."""

import numpy as np
import pytest

import armillary as arm
from examples import stanford_arm
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
    assert np.allclose(first, np.hstack([lin.A, lin.B]), rtol=1e-12, atol=1e-12)
    second = model.second_derivatives(PLACE, ["F"])
    for i in range(4):
        H = casadi.Function("H", [t, X, V, P], [casadi.hessian(f[i], z)[0]])(0, x, v, made.defaults)
        assert np.allclose(H, second[i], rtol=1e-12, atol=1e-12)


def test_the_stanford_arm_has_our_rates():
    eom = stanford_arm.system().derive()
    made, model = eom.to_casadi(outputs=[]), eom.compile()
    x = np.random.default_rng(2).uniform(-1, 1, len(made.states))
    found = np.array(made.rates(0.3, x, [], made.defaults)).ravel()
    assert np.allclose(found, model.derivatives(0.3, x), rtol=1e-11, atol=1e-11)


def test_unknown_inputs_are_named():
    with pytest.raises(arm.ArmillaryError, match="has no input 'G'"):
        cart_pole().equations.to_casadi(inputs=["G"])
