"""Iterated LQR against LQR, and the swing-up of the cart and pole."""

from itertools import product

import numpy as np
import pytest

import armillary as arm
from armillary.control.compiled_sweeps import pad_rows, prepare_sweep
from armillary.control.plant import plant
from tests.control.systems import bead, cart_pole, slider, slider_riccati
from tests.later import later

linalg = later("scipy.linalg")


def test_on_a_linear_model_one_iteration_gives_the_discrete_riccati_solution():
    """The step map of the double integrator is exact: x⁺ = F x + G v. The cost is ½ x₀ᵀ P₀ x₀."""
    found = slider().ilqr(
        1.0, step=0.1, inputs=["F"], Q=[1.0, 0.5], R=0.2, final=[3.0, 4.0], initial={"b.q1": 1.0}
    )
    K, P = slider_riccati()
    assert found.converged and found.cost == pytest.approx(0.5 * P[0, 0], rel=1e-10)
    assert np.allclose(found.K[0], -K, rtol=1e-8)


def test_the_cart_pole_swings_up_within_its_limits():
    how = dict(
        step=0.04, inputs={"F": (-20, 20)}, Q={"cart.q1": 0.1}, R=0.01, final=[100, 100, 10, 10],
        target={"pole.q1": np.pi}, iterations=60,
    )  # fmt: skip
    found = cart_pole().ilqr(2.0, second=True, **how)
    assert abs(found.run.final["pole.q1"] - np.pi) < 0.02 and abs(found.run.final["cart.q1"]) < 0.02
    assert np.abs(found.input).max() <= 20 and all(np.diff(found.costs) <= 0)
    # The inputs, held, make the same motion in a run.
    held = arm.Signal(found.time, np.append(found.input[:, 0], 0.0), interpolation="hold")
    run = cart_pole().simulate(2.0, step=0.04, inputs={"F": held})
    assert np.allclose(run.final["pole.q1"], found.run.final["pole.q1"], atol=1e-9)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"inputs": []}, "nothing can be steered; the model has 'F'"),
        ({"inputs": ["L"]}, "is a parameter, which stays constant"),
        ({"inputs": ["G"]}, "has no input"),
        ({"inputs": {"F": (1, -1)}}, "low < high"),
        ({"step": 0.0}, "a whole number of steps: duration 2.0, step 0.0"),
        ({"step": 0.3}, "a whole number of steps"),
        ({"tolerance": -1}, "tolerance must be a number, zero or more"),
        ({"target": [0, 1]}, "target= must hold values by name"),
        ({"guess": [1.0, 2.0]}, "guess= must be inputs for 20 steps"),
        ({"target": {"pole": 1}}, "target=: there is no 'pole'"),
        ({"target": {"pole.q1": np.nan}}, "target= of 'pole.q1' is nan"),
        ({"guess": ["a"] * 20}, "guess= must be a number or an array of numbers"),
    ],
)
def test_wrong_arguments_are_named(changed, words):
    how = {"step": 0.1, "inputs": ["F"], "Q": 1.0, "R": 1.0, "final": 1.0} | changed
    with pytest.raises(arm.ArmillaryError, match=words):
        cart_pole().ilqr(2.0, **how)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_the_size_of_the_cost_changes_neither_motion_nor_number_of_iterations(size):
    how = {"step": 0.05, "inputs": ["F"], "initial": {"pole.q1": 1.0, "cart.q1": 0.3}}
    usual = cart_pole().ilqr(1.0, Q=1.0, R=0.1, final=1.0, **how)
    found = cart_pole().ilqr(1.0, Q=size, R=0.1 * size, final=size, **how)
    assert usual.converged and found.converged and len(found.costs) == len(usual.costs) > 3
    assert np.allclose(found.input, usual.input, rtol=1e-6, atol=1e-9)
    assert found.cost == pytest.approx(size * usual.cost, rel=1e-9)


def test_a_cost_that_no_regularisation_makes_convex_is_refused():
    """x' = u cos(slope) to a place far ahead: the curvature, −S (x − x₀) h u cos(slope), is beyond the most
    regularisation, 10¹⁰.
    """
    how = {"step": 0.1, "inputs": ["slope"], "initial": {"bead.u1": 1.0}, "target": {"x": -50.0}}
    with pytest.raises(arm.ArmillaryError, match="not convex in the inputs, whatever the regularisation"):
        bead().ilqr(1.0, Q=0, R=1e-9, final={"x": 1e16}, second=True, **how)


def sweep_in_numpy(x, v, F, bent, target, weights, limits, h, regular):
    """The sweep backwards with NumPy; limits by trying every set of inputs at them."""
    Q, R, S = weights
    (N, m), n = v.shape, x.shape[1]
    P, p = S, S @ (x[-1] - target)
    d, K = np.zeros((N, m)), np.zeros((N, m, n))
    for k in range(N - 1, -1, -1):
        A, B = F[k, :, :n], F[k, :, n:]
        Qx, Qv = h * Q @ (x[k] - target) + A.T @ p, h * R @ v[k] + B.T @ p
        H = np.tensordot(h * p, bent[k], 1)
        Qxx, Qvx, Qvv = h * Q + A.T @ P @ A, B.T @ P @ A, h * R + B.T @ P @ B
        Qxx, Qvx, Qvv = Qxx + H[:n, :n], Qvx + H[n:, :n], Qvv + H[n:, n:]
        pushed = Qvv + regular * (B.T @ B + np.eye(m))
        low, high = limits[0] - v[k], limits[1] - v[k]
        best = None
        for sides in product((-1, 0, 1), repeat=m):
            fixed, free = np.flatnonzero(sides), np.flatnonzero(np.equal(sides, 0))
            e = np.where(np.less(sides, 0), low, high) * np.abs(sides)
            pull = Qv[free] + pushed[np.ix_(free, fixed)] @ e[fixed]
            e[free] = -np.linalg.solve(pushed[np.ix_(free, free)], pull)
            cost = e @ pushed @ e / 2 + Qv @ e
            inside = np.all(e >= low - 1e-12) and np.all(e <= high + 1e-12)
            if inside and (best is None or cost < best[0] - 1e-12):
                best = (cost, e, free)
        _, d[k], free = best
        K[k][free] = -np.linalg.solve(pushed[np.ix_(free, free)], Qvx[free])
        p = Qx + K[k].T @ (Qvv @ d[k] + Qv) + Qvx.T @ d[k]
        P = Qxx + K[k].T @ Qvv @ K[k] + K[k].T @ Qvx + Qvx.T @ K[k]
    return d, K


def test_the_compiled_sweep_is_that_of_numpy():
    """Three inputs, of which some reach their limits, with the curvature of the rates."""
    rng = np.random.default_rng(4)
    N, n, m = 5, 4, 3
    x, v, F = rng.normal(size=(N + 1, n)), 0.1 * rng.normal(size=(N, m)), rng.normal(size=(N, n, n + m))
    bent = 0.01 * rng.normal(size=(N, n, n + m, n + m))
    bent = bent + np.swapaxes(bent, 2, 3)
    weights = tuple(a @ a.T + np.eye(len(a)) for a in (rng.normal(size=(k, k)) for k in (n, m, n)))
    limits, target = (np.full(m, -0.25), np.full(m, 0.25)), rng.normal(size=n)
    sweep = prepare_sweep((N, n, m), target, weights, limits, pad_rows(F, n, m), curved=True)
    sweep(x=x, v=v, curvatures=bent, settings=(0.1, 0.3))
    d, K, (solved, slope, _) = sweep["d"], sweep["K"][:, :, :n], sweep["found"]
    known = sweep_in_numpy(x, v, F, bent, target, weights, limits, 0.1, 0.3)
    assert np.any(np.isclose(np.abs(v + d), 0.25)) and np.any(np.abs(v + d) < 0.24)
    assert np.allclose(d, known[0], atol=1e-9) and np.allclose(K, known[1], atol=1e-8)
    assert solved and slope > 0
    price = weights[2] @ (x[-1] - target)  # of the last state: with it the inputs' curvature is made negative
    bent[-1, :, n:, n:] = -1e3 * np.sign(price)[:, None, None] * np.eye(m)
    sweep(curvatures=bent, settings=(0.1, 0.0))
    assert not sweep["found"][0]


@pytest.mark.optimised
def test_compiled_derivatives_of_steps_are_those_of_their_differences():
    """With rates that are compiled for several rows at a time, too: each loop finds those of one place."""
    motion = plant(cart_pole.__wrapped__(), ("F",))
    rng = np.random.default_rng(2)
    t, x, v = np.arange(3.0), rng.normal(size=(3, 4)), rng.normal(size=(3, 1))
    ends, found = motion.step_derivatives(t, x, v, 0.05, {"L": 0.4})
    assert np.allclose(ends, motion.step(t, x, v, 0.05, {"L": 0.4}), rtol=1e-14, atol=1e-15)
    for j, move in enumerate(1e-3 * np.eye(5)):  # of order four: an error of some 1e-12
        near, far = (
            motion.step(t, x + k * move[:4], v + k * move[4:], 0.05, {"L": 0.4})
            - motion.step(t, x - k * move[:4], v - k * move[4:], 0.05, {"L": 0.4})
            for k in (1, 2)
        )
        assert np.allclose(found[:, :, j], (8 * near - far) / 12e-3, rtol=1e-9, atol=1e-10)


def test_repeated_searches_take_nothing_from_the_one_before():
    """Other starts, weights, parameters and curvature between two equal calls: the same numbers."""
    how = {"step": 0.05, "inputs": {"F": (-4, 4)}, "Q": {"cart.q1": 1.0}, "R": 0.1, "final": 1.0}
    model = cart_pole.__wrapped__()
    first = model.ilqr(0.5, initial={"pole.q1": 1.0}, **how)
    shorter = model.ilqr(0.5, initial={"pole.q1": 1.0}, parameters={"L": 0.2}, **how)
    model.ilqr(0.5, initial={"pole.q1": 2.0}, second=True, **how)
    how["Q"]["cart.q1"] = 5.0  # the same dictionary with another weight
    heavier = model.ilqr(0.5, initial={"pole.q1": 1.0}, **how)
    how["Q"]["cart.q1"] = 1.0
    again = model.ilqr(0.5, initial={"pole.q1": 1.0}, **how)
    for name in ("state", "input", "K"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert first.costs == again.costs and len({first.cost, shorter.cost, heavier.cost}) == 3
    assert np.array_equal(again.run["pole.q1"], again.state[:, 1])
    assert model.ilqr(0.5, initial={"pole.q1": 1.0}, parameters={"L": 0.2}, **how).cost == shorter.cost
    assert heavier.cost == pytest.approx(
        cart_pole().ilqr(0.5, initial={"pole.q1": 1.0}, **{**how, "Q": {"cart.q1": 5.0}}).cost, rel=1e-9
    )


def test_a_locked_joint_is_named_as_a_reason_for_dependent_states():
    s = arm.System("two")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("b", parent=a, joint=arm.Prismatic("y"), mass=1.0, inertia=0)
    s.input("F", units="N")
    s.force("push", "F", s.ground.x, at=a.com)
    s.lock("b.u1")
    with pytest.raises(arm.ArmillaryError, match="locked joints"):
        s.derive().compile().ilqr(1.0, step=0.1, inputs=["F"], Q=1.0, R=1.0, final=1.0)
