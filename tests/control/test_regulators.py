"""Gains against SciPy's Riccati solvers, closed forms and integrated Riccati equations."""

import numpy as np
import pytest

import armillary as arm
from armillary import control
from tests.control.systems import cart_pole, slider
from tests.later import later
from tests.systems.falling_four_bar import four_bar

linalg, integrate = later("scipy.linalg"), later("scipy.integrate")
interpolate = later("scipy.interpolate")
UPRIGHT = {"pole.q1": np.pi}
WEIGHTS = np.diag([1.0, 10.0, 0.1, 0.1])


def test_lqr_of_the_double_integrator_has_its_closed_form():
    """Q = diag(1, 0), R = 1: K = (1, √2), P = [√2, 1; 1, √2] (Anderson and Moore 1990, section 3.2)."""
    found = slider().lqr(["F"], {"b.q1": 1.0}, 1.0)
    assert np.allclose(found.K, [[1.0, np.sqrt(2)]], rtol=1e-12)
    assert np.allclose(found.cost, [[np.sqrt(2), 1.0], [1.0, np.sqrt(2)]], rtol=1e-12)
    assert np.allclose(sorted(found.poles.imag), [-np.sqrt(0.5), np.sqrt(0.5)])
    assert found.gains("control") == {"control_k1": found.K[0, 0], "control_k2": found.K[0, 1]}


def test_lqr_solves_the_riccati_equation_continuous_and_discrete():
    lin = cart_pole().linearize(UPRIGHT, inputs=["F"])
    N = np.array([[0.1], [0.2], [0.0], [0.05]])
    found = control.lqr(lin, WEIGHTS, 0.5, N)
    P, A, B = found.cost, lin.A, lin.B
    rest = A.T @ P + P @ A - (P @ B + N) @ (B.T @ P + N.T) / 0.5 + WEIGHTS
    assert np.abs(rest).max() < 1e-9 * np.abs(P).max()
    discrete = lin.discretize(0.02)
    found = control.lqr(discrete, WEIGHTS, 0.5)
    P = linalg.solve_discrete_are(discrete.A, discrete.B, WEIGHTS, [[0.5]])
    assert np.allclose(found.cost, P, rtol=1e-8)
    assert np.abs(found.poles).max() < 1


def test_a_finite_horizon_satisfies_the_differential_riccati_equation():
    """Against SciPy's integration of −Ṗ = AᵀP + P A − P B R⁻¹ Bᵀ P + Q."""
    lin = cart_pole().linearize(UPRIGHT, inputs=["F"])
    final = np.diag([5.0, 1.0, 2.0, 3.0])
    times, K, P = control.finite_horizon(lin, WEIGHTS, 0.5, 1.5, final=final, points=4)

    def back(_, p):
        P = p.reshape(4, 4)
        return (lin.A.T @ P + P @ lin.A - P @ lin.B @ lin.B.T @ P / 0.5 + WEIGHTS).ravel()

    known = integrate.solve_ivp(back, (0, 1.5), final.ravel(), rtol=1e-10, atol=1e-10, t_eval=[0.5, 1.0, 1.5])
    for i in range(3):
        assert np.allclose(P[2 - i], known.y[:, i].reshape(4, 4), rtol=1e-7)
    assert np.allclose(K, lin.B.T @ P / 0.5) and times[-1] == 1.5


@pytest.mark.parametrize(("duration", "points"), [(20.0, 5), (200.0, 2), (2e4, 3)])
def test_a_long_horizon_with_few_points_ends_in_the_steady_gain(duration, points):
    """P(0) of a horizon of many time constants is SciPy's solution of the algebraic equation."""
    lin = cart_pole().linearize(UPRIGHT, inputs=["F"])
    _, _, P = control.finite_horizon(
        lin, WEIGHTS, 0.5, duration, final=np.diag([5.0, 1, 2, 3]), points=points
    )
    known = linalg.solve_continuous_are(lin.A, lin.B, WEIGHTS, [[0.5]])
    assert np.allclose(P[0], known, rtol=1e-6, atol=1e-6)


def test_the_discrete_kalman_gain_is_the_limit_of_the_filter():
    """P = A (P − L C P) Aᵀ + W with L = P Cᵀ (V + C P Cᵀ)⁻¹, repeated from the identity."""
    lin = cart_pole().linearize(UPRIGHT, inputs=["F"], outputs=["tip", "pole.q1"]).discretize(0.02)
    found = control.kalman(lin, 0.1, [1e-2, 1e-3])
    A, C, V, P, L = lin.A, lin.C, np.diag([1e-2, 1e-3]), np.eye(4), np.zeros((4, 2))
    for _ in range(3000):
        L = P @ C.T @ np.linalg.inv(V + C @ P @ C.T)
        P = A @ (P - L @ C @ P) @ A.T + 0.1 * np.eye(4)
    assert np.allclose(found.covariance, P, rtol=1e-7, atol=1e-9 * np.abs(P).max())
    assert np.allclose(found.L, L, rtol=1e-6, atol=1e-8)
    assert np.abs(found.poles).max() < 1


def test_kalman_gain_and_lqg_agree_with_their_equations():
    lin = cart_pole().linearize(UPRIGHT, inputs=["F"], outputs=["tip", "pole.q1"])
    found = control.kalman(lin, 0.1, [1e-2, 1e-3])
    P, V = found.covariance, np.diag([1e-2, 1e-3])
    rest = lin.A @ P + P @ lin.A.T - P @ lin.C.T @ np.linalg.solve(V, lin.C @ P) + 0.1 * np.eye(4)
    assert np.abs(rest).max() < 1e-9 * np.abs(P).max()
    whole = control.lqg(lin, WEIGHTS, 0.5, 0.1, [1e-2, 1e-3])
    apart = np.concatenate([whole.regulator.poles, found.poles])  # the principle of separation
    assert np.allclose(np.sort_complex(whole.poles), np.sort_complex(apart), rtol=1e-6)


def test_noise_on_the_inputs_acts_through_them():
    """1/s²: noise of intensity w on the force and v on the position. With L = P Cᵀ/v the Riccati equation is
    w = v L₂² and 2 L₂ = L₁².
    """
    lin = slider().linearize(inputs=["F"], outputs=["b.q1"])
    found = control.kalman(lin, {"F": 0.3}, 0.01, noise_inputs=True)
    assert np.allclose(found.L[:, 0], [np.sqrt(2 * np.sqrt(30.0)), np.sqrt(30.0)], rtol=1e-9)


def test_gains_along_a_run_at_rest_stay_at_the_steady_ones():
    model = cart_pole()
    run = model.simulate(1.0, step=0.01, initial=UPRIGHT, sample=0.05)
    steady = model.lqr(["F"], WEIGHTS, 0.5, at=UPRIGHT)
    along = model.lqr_along(run, ["F"], WEIGHTS, 0.5, final=steady.cost)
    assert np.allclose(along.K, steady.K, rtol=1e-6)


def test_gains_along_a_swing_are_those_of_an_integrated_riccati_equation():
    model = cart_pole()
    run = model.simulate(1.0, rtol=1e-10, initial={"pole.q1": 1.0}, sample=0.01)
    along = model.lqr_along(run, ["F"], WEIGHTS, 0.5, final=2.0)
    fine = model.simulate(1.0, rtol=1e-10, initial={"pole.q1": 1.0}, sample=0.004)
    lin = model.linearize({n: fine[n] for n in along.states}, inputs=["F"])

    A, B = (interpolate.CubicSpline(fine.time, m) for m in (lin.A, lin.B))

    def back(s, p):
        P, a, b = p.reshape(4, 4), A(1.0 - s), B(1.0 - s)
        return (a.T @ P + P @ a - P @ b @ b.T @ P / 0.5 + WEIGHTS).ravel()

    known = integrate.solve_ivp(back, (0, 1), 2 * np.eye(4).ravel(), rtol=1e-9, atol=1e-9)
    assert np.allclose(along.cost[0], known.y[:, -1].reshape(4, 4), rtol=1e-6, atol=1e-6)


def test_a_tracked_swing_returns_to_its_reference_in_compiled_code():
    s = arm.System("tracked slider")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    (law,) = control.tracking_inputs(s, "track", ["b.q1", "b.u1"])
    s.force("push", law, s.ground.x, at=body.com)
    closed = s.derive().compile()
    t = np.linspace(0, 4, 801)
    plan = slider().simulate(4.0, sample=0.005, inputs={"F": (t, np.sin(2 * t))})
    steady = slider().lqr(["F"], {"b.q1": 100.0}, 1.0)
    along = slider().lqr_along(plan, ["F"], {"b.q1": 100.0}, 1.0, final=steady.cost)
    run = closed.simulate(4.0, sample=0.05, rtol=1e-8, initial={"b.q1": 0.3}, inputs=along.signals("track"))
    a = np.sqrt(5) * run.time  # the deviation has the poles −√5 (1 ± i)
    assert np.allclose(
        run["b.q1"] - plan["b.q1"][::10], 0.3 * np.exp(-a) * (np.cos(a) + np.sin(a)), atol=1e-5
    )
    assert np.allclose(along.at(4.0, [plan.final["b.q1"], plan.final["b.u1"]]), plan.final["F"])


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (
            {"pole.q1": 1.0},
            r"'pole\.u1' changes by -17\.7 rad/s2, 'cart\.u1' changes by 1\.104 m/s2; give at= a",
        ),
        ({"pole.q1": 3.13}, r"'cart\.u1' changes by"),
        ({**UPRIGHT, "F": 2.0}, r"'pole\.u1' changes by 4 rad/s2"),  # F/(m L) of the massless rod
        ({**UPRIGHT, "pole.u1": 2.0}, r"'pole\.q1' changes by 2 rad/s; give"),
    ],
)
def test_lqr_names_the_rates_of_a_point_that_is_not_steady(at, words):
    model = cart_pole()
    with pytest.raises(arm.ArmillaryError, match=words):
        model.lqr(["F"], WEIGHTS, 0.5, at=at)
    assert control.lqr(model.linearize(at, inputs=["F"]), WEIGHTS, 0.5).K.shape == (1, 4)


@pytest.mark.parametrize("at", [{"pole.q1": 3.1416}, {**UPRIGHT, "cart.q1": 7.0, "cart.u1": 2.0}])
def test_rounded_values_and_the_way_of_a_vehicle_are_steady(at):
    """Nothing depends on the place and speed of the cart, so the gain is that at rest."""
    found = cart_pole().lqr(["F"], WEIGHTS, 0.5, at=at)
    assert np.allclose(found.K, cart_pole().lqr(["F"], WEIGHTS, 0.5, at=UPRIGHT).K, rtol=1e-6)


def test_a_linkage_is_steady_where_its_input_holds_it_and_a_turning_body_is_not():
    s = four_bar()
    s.input("T", units="N*m")
    s.moment("drive", "T", s.ground.z, on=s.bodies["crank"])
    model = s.derive().compile()
    assert model.lqr(["T"], 1.0, 1.0, at=model.trim(inputs=["T"])).poles.real.max() < 0
    with pytest.raises(arm.ArmillaryError, match=r"not steady .*'crank\.u1' changes by"):
        model.lqr(["T"], 1.0, 1.0)
    s = arm.System("top")
    body = s.body("b", joint=arm.Spherical(), inertia=(1, 2, 3), mass=1.0)
    torques = ["Tx", "Ty", "Tz"]
    for axis, torque in zip((body.x, body.y, body.z), torques, strict=True):
        s.input(torque, units="N*m")
        s.moment(f"drive_{torque}", torque, axis, on=body)
    with pytest.raises(arm.ArmillaryError, match=r"not steady .*'b\.q4' changes by 0\.5 1/s"):
        s.derive().compile().lqr(torques, 1.0, 1.0, at={"b.u3": 1.0})


@pytest.mark.parametrize(
    ("Q", "R", "words"),
    [
        (1.0, 0.0, "R must be positive in every direction"),
        (-1.0, 1.0, "Q must be zero or positive in every direction"),
        ([1, 2, 3], 1.0, r"Q must be a number, 2 numbers or a 2 × 2 matrix, for b.q1, b.u1"),
        ({"b.q2": 1}, 1.0, "Q: there is no 'b.q2'"),
        (np.nan, 1.0, "not a finite number"),
        (np.inf, 1.0, "not a finite number"),
        (0.0, 1.0, "the cost ignores the mode with eigenvalue"),
        (1.0, [1, 2], "R must be a number, for F"),
        (1j, 1.0, "Q must be a number or an array of numbers"),
    ],
)
def test_impossible_weights_are_named(Q, R, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        slider().lqr(["F"], Q, R)


@pytest.mark.parametrize(
    ("N", "words"),
    [
        ("heavy", "N must be a number or an array of numbers"),
        ([[1.0]], r"N must be a matrix of states by inputs, \(2, 1\), not \(1, 1\)"),
        ([[np.nan], [0.0]], "N has an element that is not a finite number"),
    ],
)
def test_weights_of_products_are_numbers_of_states_by_inputs(N, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        control.lqr(slider().linearize(inputs=["F"]), 1.0, 1.0, N)


@pytest.mark.parametrize(("duration", "points"), [(np.inf, 11), (1.0, 1)])
def test_a_horizon_has_an_end_and_two_points(duration, points):
    with pytest.raises(arm.ArmillaryError, match="a finite duration, and two points at least"):
        control.finite_horizon(slider().linearize(inputs=["F"]), 1.0, 1.0, duration, points=points)


def test_a_law_along_a_run_refuses_states_of_another_length():
    along = slider().lqr_along(slider().simulate(1.0, sample=0.1), ["F"], 1.0, 1.0)
    for state in (0.0, [0.0], [0.0, 0.0, 0.0]):
        with pytest.raises(arm.ParameterError, match=r"a state has 2 numbers: b.q1, b.u1"):
            along.at(0.5, state)


def test_states_of_an_unmoved_mode_are_named_by_their_shares():
    """v̇ = 4 x: the mode e^2t has the left vector (2, 1), so the coordinate comes first."""
    s = arm.System("two")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    b = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.input("F", units="N")
    s.force("push", "F", s.ground.x, at=a.com)
    s.force("away", "4*b.q1", s.ground.x, at=b.com)
    with pytest.raises(arm.ArmillaryError, match=r"eigenvalue 2\S*, mostly 'b\.q1', 'b\.u1'"):
        s.derive().compile().lqr(["F"], 1.0, 1.0)


def test_a_mode_that_no_input_moves_is_named():
    s = arm.System("two")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.input("F", units="N")
    s.force("push", "F", s.ground.x, at=a.com)
    with pytest.raises(arm.ArmillaryError, match=r"mostly 'b\..*is not moved by 'F'"):
        s.derive().compile().lqr(["F"], 1.0, 1.0)


def test_a_run_of_another_system_is_refused_by_the_name_that_it_lacks():
    run = slider().simulate(0.1, step=0.05)
    with pytest.raises(arm.ArmillaryError, match=r"the run of '.*' has no 'cart\.q1'; give a run of"):
        cart_pole().lqr_along(run, ["F"], 1.0, 1.0)
