"""Control blocks: step responses against SciPy's linear systems, closed forms, and the loops they close."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_are

import armillary as arm
from armillary.errors import ArmillaryError, ModelError
from armillary.model.linear_blocks import pade
from tests.later import later
from tests.loading import loaded

signal = later("scipy.signal")

RNG = np.random.default_rng(5)
A = RNG.normal(size=(3, 3)) - 3 * np.eye(3)
B, C, D = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 3)), RNG.normal(size=(2, 2))
NUMERATOR, DENOMINATOR = [0.5, 2.0, 7.0], [0.1, 1.0, 4.0]


def bench() -> arm.System:
    """One of each block, driven by a step of 2 mm, beside a body at rest."""
    s = arm.System("bench")
    s.parameter("tau", 0.2, units="s")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.input("u", 2.0, units="mm")
    s.lag("first", "u", "tau", gain=3, initial=0.5, units="mm")
    s.second_order_lag("second", "u", frequency=8.0, damping=0.3)
    s.transfer_function("filtered", "u", NUMERATOR, DENOMINATOR)
    s.transfer_function("symbolic", "u", ["tau", 0], ["tau", 1])
    s.delay("late", "u", 0.5, order=4)
    s.delay("steady", "u", 0.5, order=3, initial=2.0, units="mm")
    s.rate_limit("slow", "u", rising=0.004, time_constant=0.1)
    s.rate_limit("sinking", "u", 0.004, 0.1, falling=0.001, initial=5.0, units="mm")
    s.second_order_lag("stronger", "u", frequency=8.0, damping=0.3, gain=-2.5, initial=1.0, units="mm")
    s.linear_model("through", ["u", "first"], [[-1.0]], [[0, 0]], [[1.0]], D=[[2.0, 3.0]], initial=[4.0])
    y1, y2 = s.linear_model("plant", ["u", "first"], A, B, C, D, units=["N", "m"])
    for name in ("filtered", "symbolic", "late", "steady"):
        s.output(f"{name} out", name, units="mm")
    s.output("y1", y1, units="N")
    s.output("y2", y2, units="m")
    s.output("push", "plant_y1", units="N")
    s.output("fed through", "through", units="1")
    return s


@pytest.fixture(scope="module")
def run() -> arm.Run:
    return bench().derive().compile().simulate(2.0, sample=0.02, rtol=1e-11, atol=1e-14)


def step_response(numerator: Any, denominator: Any, t: np.ndarray) -> np.ndarray:
    return signal.step((numerator, denominator), T=t)[1]


def test_lags_and_transfer_functions_have_the_step_responses_of_scipy(run: arm.Run) -> None:
    t = run.time
    np.testing.assert_allclose(run["first"], 6.0 - 5.5 * np.exp(-t / 0.2), rtol=1e-9)
    np.testing.assert_allclose(run["second"], 2e-3 * step_response([64], [1, 4.8, 64], t), atol=1e-11)
    np.testing.assert_allclose(run["filtered out"], 2 * step_response(NUMERATOR, DENOMINATOR, t), atol=1e-8)
    np.testing.assert_allclose(run["symbolic out"], 2 * np.exp(-t / 0.2), atol=1e-8)


def test_a_delay_is_its_pade_approximant(run: arm.Run) -> None:
    for out, order in (("late out", 4),):
        a = np.array(pade(order)) * 0.5 ** np.arange(order, -1, -1.0)
        b = a * (-1.0) ** np.arange(order, -1, -1)
        np.testing.assert_allclose(run[out], 2 * step_response(b, a, run.time), atol=1e-8)
        # Padé: e^(−sT) to order 2n, and modulus one.
        w = np.array([0.5, 2.0])
        G = np.polyval(b, 1j * w) / np.polyval(a, 1j * w)
        np.testing.assert_allclose(G, np.exp(-0.5j * w), atol=1e-9)
        np.testing.assert_allclose(np.abs(np.polyval(b, 40j) / np.polyval(a, 40j)), 1.0, rtol=1e-12)
    np.testing.assert_allclose(run["steady out"], 2.0, rtol=1e-12)


def test_a_rate_limit_rises_at_its_rate_and_arrives_with_its_lag(run: arm.Run) -> None:
    # (u − y)/τ = 4 mm/s at y = 1.6 mm, which is reached at 0.4 s.
    t = run.time
    wanted = np.where(t < 0.4, 4e-3 * t, 2e-3 - 0.4e-3 * np.exp(-(t - 0.4) / 0.1))
    np.testing.assert_allclose(run["slow"], wanted, atol=1e-10)


def test_a_rate_limit_falls_at_a_rate_of_its_own(run: arm.Run) -> None:
    """From 5 to 2 mm at 1 mm/s: (u − y)/τ is above −1 mm/s only in the last 0.1 mm, from 2.9 s on."""
    np.testing.assert_allclose(run["sinking"], 5.0 - run.time, rtol=1e-9)


def test_a_second_order_lag_multiplies_its_input_by_its_gain_and_starts_at_rest(run: arm.Run) -> None:
    """K u (step response) plus the part of a start at 1 mm without speed, which is one less that response."""
    step = step_response([64], [1, 4.8, 64], run.time)
    np.testing.assert_allclose(run["stronger"], -2.5 * 2.0 * step + 1.0 * (1.0 - step), atol=1e-8)


def test_the_direct_part_of_a_linear_model_adds_its_inputs_in_si(run: arm.Run) -> None:
    wanted = 4.0 * np.exp(-run.time) + 2.0 * 2e-3 + 3.0 * 1e-3 * run["first"]
    np.testing.assert_allclose(run["fed through"], wanted, rtol=1e-9)


def test_feedback_adds_the_inputs_that_hold_the_reference() -> None:
    """u = u₀ − K (x − x₀): a mass of 2 kg with a force of 3 N against it stays at 0.5 m with u₀ = 3 N."""
    s = arm.System("held")
    b = s.body("b", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.parameter("load", 3.0, units="N")
    s.feedback("hold", [[40.0, 12.0]], [b.q1, b.u1], units=["N"], reference=[0.5, 0], feedforward=["load"])
    s.force("motor", "hold - load", s.ground.x, at=b.com)
    model = s.derive().compile()
    assert model.accelerations(0.0, [0.5], [0.0])[0] == 0.0
    found = model.accelerations(0.0, [0.8], [0.25])[0]
    assert found == pytest.approx(-(40.0 * 0.3 + 12.0 * 0.25) / 2, rel=1e-13)


def test_a_linear_model_takes_numbers_in_si_and_gives_its_outputs_units(run: arm.Run) -> None:
    t = run.time
    u = np.stack([np.full_like(t, 2e-3), 1e-3 * run["first"]], axis=1)
    fine = np.linspace(0, 2, 20001)
    first = 1e-3 * (6.0 - 5.5 * np.exp(-fine / 0.2))
    y = signal.lsim((A, B, C, D), np.stack([np.full_like(fine, 2e-3), first], axis=1), fine)[1]
    assert u.shape == (len(t), 2)
    np.testing.assert_allclose(run["y1"], y[::200, 0], atol=1e-10)
    np.testing.assert_allclose(run["y2"], y[::200, 1], atol=1e-10)
    assert np.array_equal(run["push"], run["y1"])


def test_blocks_are_written_and_read_and_included_with_a_prefix(tmp_path: Path, run: arm.Run) -> None:
    s = bench()
    s.pid("control", "0.001 - b.q1", 100.0, 20.0, 5.0, low=-1.0, high=1.0, tracking=0.5, units="N")
    s.feedback("hold", [[3.0, 4.0]], ["b.q1", "b.u1"], units=["N"], reference=["u", 0])
    s.force("motor", "control + hold", s.ground.x, at="b.com")
    s.save(tmp_path / "bench.toml")
    again = arm.load(tmp_path / "bench.toml")
    here, there = (x.derive().compile().simulate(0.3, step=0.01) for x in (s, again))
    assert here.names == there.names
    np.testing.assert_array_equal(here.values, there.values)
    (tmp_path / "whole.toml").write_text(
        'armillary = 1\nname = "whole"\n[include.left]\nfile = "bench.toml"\nprefix = "l_"\n'
    )
    part = arm.load(tmp_path / "whole.toml").derive().compile().simulate(0.3, step=0.01)
    np.testing.assert_allclose(part["l_first"], here["first"], rtol=1e-12)
    np.testing.assert_allclose(part["l_motor"], here["motor"], rtol=1e-9)


def controlled(limited: bool, **how: Any) -> arm.System:
    """A mass of 2 kg that a PID controller brings to 1 m."""
    s = arm.System("servo")
    b = s.body("b", joint=arm.Prismatic("x"), mass=2, inertia=0)
    limits = {"low": -3.0, "high": 3.0} if limited else {}
    s.pid("control", "1 - b.q1", 8.0, 5.0, 6.0, units="N", **limits, **how)
    s.force("motor", "control", s.ground.x, at=b.com)
    return s


def test_a_pid_loop_has_the_poles_of_its_polynomial() -> None:
    """2 s² + 6 s + 8 + 5/s around the mass, with the derivative from the speed: 2 s³ + 6 s² + 8 s + 5."""
    run = controlled(False, derivative="-b.u1").derive().compile().simulate(6.0, rtol=1e-10, atol=1e-13)
    # The reference meets P and I: y/r = (8 s + 5)/(2 s³ + 6 s² + 8 s + 5).
    np.testing.assert_allclose(run["b.q1"], step_response([8, 5], [2, 6, 8, 5], run.time), atol=1e-8)


def test_a_filtered_derivative_is_a_transfer_function() -> None:
    run = controlled(False, filter=0.05).derive().compile().simulate(4.0, rtol=1e-10, atol=1e-13)
    # C = 8 + 5/s + 6 s/(1 + 0.05 s); y/r = C/(2 s² + C), times s (1 + 0.05 s).
    c = np.polyadd(np.polymul([8, 5], [0.05, 1]), [6, 0, 0])
    closed = np.polyadd(np.polymul([2, 0, 0], np.polymul([1, 0], [0.05, 1])), c)
    np.testing.assert_allclose(run["b.q1"], step_response(c, closed, run.time), atol=1e-8)


def test_anti_windup_follows_back_calculation_and_overshoots_less() -> None:
    def rates(t: float, y: np.ndarray, tracking: float) -> list[float]:
        q, v, z = y
        wish = 8 * (1 - q) + z - 6 * v
        force = min(max(wish, -3.0), 3.0)
        return [v, force / 2, 5 * (1 - q) + (force - wish) / tracking]

    peaks = {}
    for tracking in (0.8, 1e6):
        s = controlled(True, derivative="-b.u1", tracking=tracking)
        run = s.derive().compile().simulate(8.0, rtol=1e-9, atol=1e-11, sample=0.1)
        exact = solve_ivp(
            rates, (0, 8), [0, 0, 0], args=(tracking,), rtol=1e-10, atol=1e-12, t_eval=run.time, max_step=0.01
        )
        np.testing.assert_allclose(run["b.q1"], exact.y[0], atol=1e-7)
        peaks[tracking] = run["b.q1"].max()
    assert peaks[0.8] < 0.95 * peaks[1e6], peaks


def test_an_lqr_gain_places_the_poles_that_the_riccati_equation_promises() -> None:
    s = arm.System("cart and pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, 0.5, 0), mass=0.2, inertia=0)
    s.gravity(9.81, -s.ground.y)
    names = ["cart.q1", "pole.q1", "cart.u1", "pole.u1"]
    s.feedback("control", 0, names, units=["N"])
    s.input("push", units="N")
    s.force("drive", "push + control", s.ground.x, at=cart.com)
    model = s.derive().compile()
    plant = model.linearize(inputs=["push"])
    assert list(plant.states) == names
    Q, R = np.diag([1.0, 10.0, 1.0, 1.0]), np.eye(1)
    P = solve_continuous_are(plant.A, plant.B, Q, R)
    K = np.linalg.solve(R, plant.B.T @ P)
    gains = {f"control_k{i + 1}": K[0, i] for i in range(4)}
    closed = model.linearize(inputs=["push"], parameters=gains)
    np.testing.assert_allclose(closed.A, plant.A - plant.B @ K, atol=1e-10)
    run = model.simulate(12.0, initial={"pole.q1": 0.4}, parameters=gains)
    assert abs(run["pole.q1"][-1]) < 1e-4 and abs(run["cart.q1"][-1]) < 1e-3
    # A linear model as a block is the plant that it was made of.
    t = arm.System("twin")
    t.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    t.input("push", units="N")
    twin = t.linear_model("plant", ["push"], plant, units=["m", "rad", "m/s", "rad/s"][: len(plant.C)])
    assert len(twin) == len(plant.C)


def test_exported_python_has_the_same_rates(tmp_path: Path) -> None:
    equations = bench().derive()
    path = equations.export("python", tmp_path)
    file = next(p for p in Path(path).rglob("*.py") if "def derivatives" in p.read_text())
    module = loaded(file)
    model = equations.compile()
    y = np.linspace(-1, 1, len(model.state())) * 1e-3
    constants = module.precompute(module.parameters_of({}))
    found = module.derivatives(0.0, y, constants, module.initial_memory(0.0))
    np.testing.assert_allclose(found, model.derivatives(0.0, y), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s: s.lag("y", "b.q1", 0.0), "time constant of lag 'y': 0 is not positive"),
        (lambda s: s.lag("y", "b.q1", "3*b.q2"), "b.q2"),
        (lambda s: s.lag("first", "b.q1", 1.0), "the name is taken"),
        (lambda s: s.lag("y", "b.q1", 0.1, units="kgg"), "kgg"),
        (lambda s: s.transfer_function("y", "u", [1, 0, 0], [1, 1]), "higher order than its denominator"),
        (lambda s: s.transfer_function("y", "u", [], [1, 1]), "not a list of coefficients"),
        (lambda s: s.transfer_function("y", "u", [1], [0, 0]), "all coefficients are zero"),
        (lambda s: s.delay("y", "u", 0.1, order=0), "order=0 is not a whole number from 1 to 10"),
        (lambda s: s.delay("y", "u", -0.1), "time of delay 'y': -0.1 is not positive"),
        (lambda s: s.linear_model("y", ["u"], [[1, 2]]), "A must be square"),
        (lambda s: s.linear_model("y", ["u"], [[1]], [[1, 2]], [[1]]), "B has shape (1, 2)"),
        (lambda s: s.linear_model("y", ["u"], [[1]], [[1]], [[1]], units=["N", "N"]), "it has 1 outputs"),
        (lambda s: s.feedback("y", [[1.0]], ["b.q1", "b.u1"], units=["N"]), "K has shape (1, 1)"),
        (lambda s: s.feedback("y", [[1.0]], "b.q1", units=["N"]), "is not a list of expressions"),
        (lambda s: s.pid("y", "u", 1.0, filter=0.1), "need a gain kd="),
    ],
)
def test_wrong_blocks_are_refused_by_a_sentence_and_leave_nothing(make: Any, words: str) -> None:
    s = bench()
    states = len(s.states)
    with pytest.raises((ModelError, ArmillaryError)) as told:
        make(s)
    assert words in str(told.value)
    assert len(s.states) == states


def test_a_controller_s_description_is_that_of_its_integral() -> None:
    s = arm.System("held")
    s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1.0, inertia=0)
    s.pid("hold", "1 - A.q1", 3.0, 2.0, units="N*m", about="holds the arm")
    assert [state.about for state in s.states.values()] == ["integral of hold: holds the arm"]


def test_a_feedback_s_description_is_part_of_those_of_its_gains() -> None:
    s = arm.System("held")
    s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1.0, inertia=0)
    s.feedback("hold", [[3.0, 4.0]], ["A.q1", "A.u1"], units=["N*m"], about="holds the arm")
    found = [s.parameters[name].data.about for name in ("hold_k1", "hold_k2")]
    assert found == ["gain of hold for A.q1: holds the arm", "gain of hold for A.u1: holds the arm"]


def test_matrices_that_are_left_out_and_leading_zeros_change_nothing() -> None:
    """Without B and D the states decay alone, and without C all of them are outputs. A controller with an
    integral of 2 N adds half of an error to it; polynomials may begin with zeros.
    """
    s = arm.System("parts")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.input("u", 3.0)
    for k, y in enumerate(s.linear_model("decay", ["u"], [[-1.0, 2.0], [0.0, -3.0]], initial=[1.0, 0.5])):
        s.output(f"decay {k}", y)
    s.linear_model("driven", ["u"], [[-1.0, 2.0], [0.0, -3.0]], [4.0, 5.0], [0.5, 1.0])
    s.transfer_function("padded", "u", [0, 0, 2.0], [0, 0.5, 1.0])
    s.output("controlled", s.pid("control", "u - 1", 0.5, 2.0, initial=2.0))
    model = s.derive().compile()
    names = ["b.q1", "b.u1", *model.state_names]
    state = dict(zip(names, model.state(), strict=True))
    rates = dict(zip(names, model.derivatives(0.0, model.state()), strict=True))
    assert (state["decay_x1"], state["decay_x2"], state["control_integral"]) == (1.0, 0.5, 2.0)
    assert (rates["decay_x1"], rates["decay_x2"]) == (0.0, -1.5)
    assert (rates["driven_x1"], rates["driven_x2"]) == (12.0, 15.0)
    assert rates["padded_x1"] == 12.0 and [n for n in rates if n.startswith("padded")] == ["padded_x1"]
    assert rates["control_integral"] == 4.0
    out = model.outputs(0.0, model.state())
    assert [out[name] for name in ("decay 0", "decay 1", "controlled")] == [1.0, 0.5, 3.0]
