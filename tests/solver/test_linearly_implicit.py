"""Linearly implicit methods: coefficients, stiff problems with known answers, derivatives of programs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.program import rate_columns
from armillary.runtime.models.instance import Instance
from armillary.solver.methods.registry import METHODS
from armillary.stages.model import Model
from examples import four_bar, spinning_top
from tests.later import later
from tests.solver.problems import integrate
from tests.solver.traced import compile_model
from tests.systems.cable import cable

scipy_integrate, scipy_linalg = later("scipy.integrate"), later("scipy.linalg")
IMPLICIT = [m.name for m in METHODS.values() if m.rosenbrock and not m.begins_with]


# ---------------------------------------------------------------- coefficients


def _standard(method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """α, γ, b and the error and dense weights as Hairer & Wanner (1996), IV.7 have them, from those of the
    stages w = Γ k: C = I/γ − Γ⁻¹, a = α Γ⁻¹, m = b Γ⁻¹.
    """
    t = METHODS[method].rosenbrock
    s = t.stages

    def square(rows):
        return np.array([[*row, *[0.0] * (s - len(row))] for row in rows])

    g = np.linalg.inv(np.eye(s) / t.gamma - square(t.couplings))
    weights = np.array([*t.errors, *t.dense])
    return square(t.a) @ g, g, np.array(t.b) @ g, weights @ g, np.array(t.c)


@pytest.mark.parametrize("method", IMPLICIT)
def test_coefficients_are_consistent(method: str) -> None:
    """Stage times are the sums of α, slopes those of γ; the error and the dense terms of ẏ = 1 vanish."""
    alpha, gamma, b, others, times = _standard(method)
    assert alpha.sum(axis=1) == pytest.approx(times, abs=1e-12)
    assert gamma.sum(axis=1) == pytest.approx(METHODS[method].rosenbrock.slopes, abs=1e-12)
    assert others.sum(axis=1) == pytest.approx(0.0, abs=1e-11)
    assert b.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("method", IMPLICIT)
def test_conditions_of_order_hold(method: str) -> None:
    """Hairer & Wanner (1996), II, table IV.7.1, up to order 4 (those of the method's order and below)."""
    alpha, gamma, b, _, _ = _standard(method)
    beta = alpha + gamma
    a, be = alpha.sum(axis=1), beta.sum(axis=1)
    conditions = {
        2: [(b @ be, 1 / 2)],
        3: [(b @ a**2, 1 / 3), (b @ beta @ be, 1 / 6)],
        4: [
            (b @ a**3, 1 / 4), ((b * a) @ alpha @ be, 1 / 8), (b @ beta @ a**2, 1 / 12),
            (b @ beta @ beta @ be, 1 / 24),
        ],
    }  # fmt: skip
    for order, each in conditions.items():
        if order <= METHODS[method].order:
            for found, wanted in each:
                assert found == pytest.approx(wanted, abs=1e-11), order


@pytest.mark.parametrize("method", IMPLICIT)
def test_the_stability_function_vanishes_far_out_and_stays_below_one_on_the_left(method: str) -> None:
    """R(z) = 1 + z bᵀ(I − z(α + γ))⁻¹ 1: A-stable, and R(∞) = 0."""
    alpha, gamma, b, _, _ = _standard(method)
    one = np.ones(len(b))

    def R(z: complex) -> float:
        return abs(1 + z * b @ np.linalg.solve(np.eye(len(b)) - z * (alpha + gamma), one))

    assert max(R(1j * y) for y in np.logspace(-2, 5, 200)) <= 1 + 1e-9
    assert R(-1e8) < 1e-6


# ---------------------------------------------------------------- stiff problems


@pytest.mark.parametrize(("method", "how"), [("rodas5p", {"sample": 0.5}), ("rodas3", {"step": 0.05})])
@pytest.mark.parametrize("rate", [1e2, 1e5, 1e8])
def test_a_slow_motion_beside_a_fast_decay_takes_few_steps(
    method: str, how: dict[str, Any], rate: float
) -> None:
    """Prothero and Robinson: ẏ = −λ(y − cos t) − sin t, y = cos t, whatever λ."""
    model = compile_model(lambda t, y, p, m: [-rate * (y[0] - y[1]) - y[2], -y[2], y[1]], n_states=3)
    run = integrate(model.functions, method, t0=0, t_end=10, state=[1, 1, 0], rtol=1e-6, atol=1e-8, **how)
    assert run.samples[:, 0] == pytest.approx(np.cos(run.time), abs=2e-5 if method == "rodas5p" else 2e-4)
    assert run.steps < 250


@cache
def robertson() -> Model:
    """Robertson's reactions as states of the user's own; rates of 0.04 and 3e7 1/s."""
    s = arm.System("robertson")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0)
    for name, start in (("x", 1.0), ("y", 0.0), ("z", 0.0)):
        s.state(name, initial=start)
    s.rate("x", "-0.04*x + 1e4*y*z")
    s.rate("y", "0.04*x - 1e4*y*z - 3e7*y*y")
    s.rate("z", "3e7*y*y")
    return s.derive().compile()


def test_robertsons_reactions_agree_with_radau_at_a_tight_tolerance() -> None:
    """At t = 40: 0.7158, 9.1855e−6, 0.2842 (Hairer & Wanner 1996, IV.10); Radau with 1e-10 decides."""
    run = robertson().simulate(40.0, method="rodas5p", rtol=1e-8, atol=1e-12, sample=4.0)

    def rates(t: float, y: np.ndarray) -> list[float]:
        a, b = 0.04 * y[0] - 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
        return [-a, a - b, b]

    exact = scipy_integrate.solve_ivp(
        rates, (0.0, 40.0), [1.0, 0.0, 0.0], method="Radau", rtol=1e-10, atol=1e-14, t_eval=run.time
    )
    for name, values in zip("xyz", exact.y, strict=True):
        assert run[name] == pytest.approx(values, rel=1e-6, abs=1e-12)
    assert run["x"][-1] == pytest.approx(0.7158, abs=1e-4)
    assert run.info["steps"] < 200


@cache
def springs(n: int = 6) -> Model:
    """Masses of 0.1 kg in a row, between springs of 1e7 N/m with dampers of 1e4 N·s/m; the first one soft."""
    s = arm.System("springs")
    previous = None
    for i in range(n):
        mass = s.body(f"m{i}", previous, arm.Prismatic("x"), mass=0.1)
        k, c = (40.0, 0.1) if previous is None else (1e7, 1e4)
        load = f"-{k}*m{i}.q1 - {c}*m{i}.u1"
        s.force(f"f{i}", load, s.ground.x, at=mass, reaction=previous or s.ground)
        previous = mass
    return s.derive().compile()


def test_a_stiff_row_of_springs_moves_as_its_matrix_exponential() -> None:
    """ẏ = A y with A of the linear model; the fastest rate is some 4e5 1/s."""
    model = springs()
    A = np.array(model.linearize().A)
    assert np.abs(np.linalg.eigvals(A)).max() > 1e5
    start = {"m0.q1": 0.1}
    run = model.simulate(1.0, method="rodas5p", rtol=1e-8, atol=1e-10, sample=0.1, initial=start)
    names = [*model.coordinate_names, *model.speed_names]
    y0 = np.array([start.get(name, 0.0) for name in names])
    exact = np.array([scipy_linalg.expm(A * t) @ y0 for t in run.time])
    for name, values in zip(names, exact.T, strict=True):
        assert run[name] == pytest.approx(values, abs=1e-7)
    assert run.info["steps"] < 300
    fixed = model.simulate(1.0, method="rodas3", step=1e-3, sample=0.1, initial=start)
    assert fixed["m0.q1"] == pytest.approx(exact[:, 0], abs=1e-6)


# ---------------------------------------------------------------- partial derivatives of programs


@cache
def cart() -> Model:
    """A cart between bump stops of 1e7 N/m, with a spring that varies in time, an input and friction."""
    s = arm.System("cart")
    push = s.input("push", 0.0, units="N")
    body = s.body("cart", joint=arm.Prismatic("x"), mass=2.0)
    hung = s.body("arm", body, arm.Revolute("z"), com=(0, -0.5, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    s.force("spring", s.expression("-50*(2 + sin(3*t))*cart.q1") + push, s.ground.x, at=body)
    s.stop("bump", body.q1, lower=-0.2, upper=0.2, stiffness=1e7, damping=0.4, exponent=1.5)
    s.moment("friction", "-0.1*tanh(arm.u1/0.01)", s.ground.z, on=hung, reaction=body)
    return s.derive().compile()


@cache
def linkage() -> Model:
    return four_bar.system().derive().compile()


@cache
def top() -> Model:
    return spinning_top.system().derive().compile()


@pytest.mark.parametrize("made", [cart, linkage, top, robertson, springs])
def test_partial_rates_are_the_differences_of_the_rates(made: Any) -> None:
    """Central differences at a state beside the start, in the order of the solver: columns, then the time."""
    model = core_of(made()).differentiated
    instance, rng = Instance(core_of(model)), np.random.default_rng(3)
    n, memory = len(model.equations.program.state), np.zeros(len(model.equations.program.memory))
    state = model.state() + 0.05 * rng.uniform(size=n)
    found = instance.call("partial_rates", n * (n + 1), 0.3, state, memory).reshape(n + 1, n)
    for j in range(n + 1):
        step = np.zeros(n + 1)
        step[j] = 1e-6 * max(1.0, abs(state[j]) if j < n else 1.0)
        high, low = (instance.derivatives(0.3 + x[n], state + x[:n], memory) for x in (step, -step))
        slope = (high - low) / (2 * step[j])
        room = 1e-6 * (1.0 + np.abs(slope).max() + np.abs(high).max())
        assert found[j] == pytest.approx(slope, abs=room)


def _same_motion(model: Model, t_end: float, room: float, rtol: float = 1e-8, **how: Any) -> None:
    """Runs by rodas5p are those of dop853, and later ones those of the first to the last bit."""
    sample = t_end / 20
    wanted = model.simulate(t_end, rtol=1e-11, atol=1e-12, sample=sample, **how)
    runs = [
        model.simulate(t_end, method="rodas5p", rtol=rtol, atol=rtol / 10, sample=sample, **how)
        for _ in range(2)
    ]
    for name in (*model.coordinate_names, *model.speed_names, *model.state_names):
        assert runs[0][name] == pytest.approx(wanted[name], abs=room)
        assert runs[1][name].tobytes() == runs[0][name].tobytes()
    assert [e.name for e in runs[0].events] == [e.name for e in wanted.events]


def test_closed_loops_and_euler_parameters_are_integrated() -> None:
    _same_motion(linkage(), 1.0, 1e-6, initial={"A.q1": -0.5})
    _same_motion(top(), 0.5, 1e-5, initial=spinning_top.tilted(0.5))


def test_bump_stops_and_data_over_time_are_followed() -> None:
    """A push of 100 N, up in 0.2 s and down at 0.7 s, presses the cart against its stop."""
    push = arm.Signal([0.0, 0.2, 0.7, 0.75, 2.0], [0.0, 100.0, 100.0, -20.0, 0.0])
    _same_motion(cart(), 2.0, 1e-5, 1e-9, inputs={"push": push}, initial={"arm.q1": 0.5})


def test_derivatives_of_a_stiff_motion_are_carried_along() -> None:
    """By the initial value of a state: against runs with that value a little larger and smaller."""
    model = springs(2)
    found = model.with_sensitivities(["m0.q1"]).simulate(
        0.5, method="rodas5p", rtol=1e-8, atol=1e-10, sample=0.1, initial={"m0.q1": 0.1}
    )
    high, low = (
        model.simulate(0.5, rtol=1e-10, atol=1e-12, sample=0.1, initial={"m0.q1": 0.1 + x})
        for x in (1e-3, -1e-3)
    )
    for name in ("m0.q1", "m0.u1"):
        assert found[f"d({name})/d(m0.q1)"] == pytest.approx((high[name] - low[name]) / 2e-3, abs=1e-5)


# ---------------------------------------------------------------- the change between methods


def relaxing() -> Model:
    """x follows cos t, with a rate of 1e5 1/s that an event at t = 1 makes 1/s, beside a fast pendulum."""
    s = arm.System("relaxing")
    rate = s.memory("rate", initial=1e5)
    s.body("b", joint=arm.Revolute("z"), com=(0, -0.01, 0), mass=1.0, inertia=(0, 0, 0))
    s.gravity(9.81, -s.ground.y)
    s.state("x", "rate*(cos(t) - x)", initial=1.0)
    s.event("calm", "t - 1", set={rate: 1.0})
    s.start({"b.q1": 1.0})
    return s.derive().compile()


def test_auto_takes_a_stiff_method_while_a_run_is_stiff_and_changes_back() -> None:
    """x = cos t up to 1e-5 until t = 1; then ẋ = cos t − x: x = (cos t + sin t)/2 + C e^(−t)."""
    model = relaxing()
    settings = {"rtol": 1e-7, "atol": 1e-9, "sample": 0.05}
    run = model.simulate(4.0, method="auto", **settings)
    first, second = run.info["stiffness"].split("; ")
    assert first.startswith("rodas5p from t = 0.0") and second.startswith("dop853 from t = 1.")
    after = run.time > 1.0 + 1e-9
    assert run["x"][~after][1:] == pytest.approx(np.cos(run.time[~after][1:]), abs=2e-5)
    start = np.cos(1.0) + np.sin(1.0) / 1e5
    wanted = (np.cos(run.time) + np.sin(run.time)) / 2
    wanted += (start - (np.cos(1.0) + np.sin(1.0)) / 2) * np.exp(1.0 - run.time)
    assert run["x"][after] == pytest.approx(wanted[after], abs=1e-7)
    assert [e.name for e in run.events] == ["calm"]
    explicit = model.simulate(4.0, **settings)
    assert run["b.q1"] == pytest.approx(explicit["b.q1"], abs=1e-4)
    assert run.info["steps"] < explicit.info["steps"] / 5
    again = model.simulate(4.0, method="auto", **settings)
    assert again.values.tobytes() == run.values.tobytes()
    check_batch(model, 4.0, {"x": [1.0, -1.0]}, **settings)


def check_batch(model: Model, duration: float, initial: dict[str, list[float]], **settings: Any) -> None:
    """Check that two runs of a batch by `auto` are compiled and equal single runs to the last bit."""
    batch = model.simulate_batch(duration, method="auto", initial=initial, progress=False, **settings)
    assert batch.info["engine"] == "scalar"
    for i in range(2):
        start = {name: values[i] for name, values in initial.items()}
        run = model.simulate(duration, method="auto", initial=start, **settings)
        assert "rodas5p" in str(run.info["stiffness"])
        for name in model.output_names:
            assert np.array_equal(batch[name][i][: len(run)], run[name]), name
        assert batch.t_stop[i] == run.time[-1]


def test_repeated_runs_by_auto_that_end_at_an_event_are_alike() -> None:
    """Both methods' loops use one array of times, which a run that ends early leaves as it is."""
    s = arm.System("damper")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=1.0, inertia=0)
    bob = s.body("bob", rod, arm.Revolute("z"), at=(0, -0.5, 0), com=(0, -0.1, 0), mass=0.1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("damper", "-1000*bob.q1 - 100*bob.u1", s.ground.z, on=bob, reaction=rod)
    s.event("low", "rod.q1 - 0.5", stop=True)
    model, settings = s.derive().compile(), {"method": "auto", "rtol": 1e-6, "atol": 1e-8, "sample": 0.01}
    ended, again, whole, last = (
        model.simulate(2.0, initial={"rod.q1": q}, **settings) for q in (1.0, 1.0, 0.4, 1.0)
    )
    assert len(ended) < 30 and len(whole) == 201 and "rodas5p" in str(ended.info["stiffness"])
    for run in (again, last):
        assert np.array_equal(run.time, ended.time) and np.array_equal(run.values, ended.values)


def test_auto_is_dop853_where_nothing_is_stiff() -> None:
    settings = {"rtol": 1e-8, "atol": 1e-10, "sample": 0.05, "initial": {"A.q1": -0.5}}
    run, plain = (linkage().simulate(1.0, method=method, **settings) for method in ("auto", "dop853"))
    np.testing.assert_allclose(run.values, plain.values, rtol=0, atol=1e-10)
    assert "stiffness" not in run.info and run.info["method"] == "auto"
    assert run.info["steps"] == plain.info["steps"]


def test_locks_and_releases_are_kept_across_changes_of_method() -> None:
    """A clutch that grips at 0.3 s and lets go at 0.6 s, heat of a rate of 1e5 1/s beside it."""
    s = arm.System("clutch")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 0.5))
    B = s.body("B", A, arm.Revolute("z"), mass=1, inertia=(1, 1, 0.3))
    s.state("heat", "1e5*(A.u1*A.u1 - heat)")
    s.moment("motor", "2 - 0.1*B.u1 + 0.01*heat", s.ground.z, on=B, reaction=A)
    s.event("grip", "t - 0.3", lock=B.q1)
    s.event("release", "t - 0.6", unlock=B.q1)
    s.start({"A.u1": 3.0, "B.u1": -1.0})
    model = s.derive().compile()
    settings = {"rtol": 1e-7, "atol": 1e-9, "sample": 0.05}
    run, explicit = (model.simulate(1.0, method=method, **settings) for method in ("auto", "dop853"))
    assert [(e.name, round(e.time, 12)) for e in run.events] == [("grip", 0.3), ("release", 0.6)]
    for name in ("A.q1", "B.q1", "A.u1", "B.u1"):
        assert run[name] == pytest.approx(explicit[name], abs=1e-6)
    assert run.info["stiffness"].startswith("rodas5p") and run.info["steps"] < explicit.info["steps"] / 5
    again = model.simulate(1.0, method="auto", **settings)  # the loop has both configurations by now
    assert again.values.tobytes() == run.values.tobytes()
    check_batch(model, 1.0, {"A.u1": [3.0, 2.0]}, **settings)


@pytest.mark.parametrize("locked", [False, True])
def test_locks_of_sparse_equations_give_the_rows_of_dense_ones(
    locked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link of a cable that is free or locked at first: the equations of the other configuration, which a
    run adds when it meets it, have fewer or more unknowns. Later runs have all of them from the start.
    """

    def runs() -> list[arm.Run]:
        s = cable(4)
        middle = s.bodies["g0x2"]
        if locked:
            s.lock(middle.q1)
            s.event("release", "t - 0.02", unlock=middle.q1)
        else:
            s.event("grip", "t - 0.02", lock=middle.q1)
            s.event("release", "t - 0.05", unlock=middle.q1)
        model = s.derive().compile()
        settings = {"rtol": 1e-7, "atol": 1e-9, "sample": 0.01}
        found = [model.simulate(0.1, method="rodas5p", **settings) for _ in range(2)]
        is_sparse.append(core_of(model).differentiated.equations.program.structure is not None)
        return found

    is_sparse: list[bool] = []
    dense, _ = runs()
    monkeypatch.setattr(rate_columns, "_SMALL", 0)
    monkeypatch.setattr(rate_columns, "_is_quicker", lambda *_: True)
    first, later_run = runs()
    assert is_sparse == [False, True] and len(first.events) == 2 - locked
    np.testing.assert_allclose(first.values, dense.values, rtol=0, atol=1e-10)
    assert np.array_equal(first.values, later_run.values)
