"""Optimal motions against closed forms, Pontryagin's conditions and runs of the same model."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import simpson, solve_bvp

import armillary as arm
from armillary import control
from armillary.algebra.arguments import core_of
from armillary.algebra.expression import symbol
from armillary.control.nonlinear_program import PhasedProgram
from armillary.control.optimize import _PLACES, _SHARES
from armillary.control.optimum import Outcome, message_of
from armillary.control.problem import ExpressionReader, read_problem
from armillary.control.scheme import SCHEMES, Mesh
from armillary.control.shooting import make_program, uniform_mesh
from tests.control.systems import bead, cart_pole, slider

STAND = {"cart.q1": 1.0, "pole.q1": np.pi, "cart.u1": 0.0, "pole.u1": 0.0}


@pytest.mark.parametrize(("method", "order"), [("hermite-simpson", 4), ("radau", 5)])
def test_schemes_integrate_polynomials_of_their_order(method, order):
    mesh = Mesh(method, np.array([0.0, 0.3, 1.0]))
    for k in range(order):
        assert mesh.weights @ mesh.points**k == pytest.approx(1 / (k + 1), rel=1e-12)
    x, f = mesh.points[:, None] ** 3, 3 * mesh.points[:, None] ** 2
    between = mesh.states_between(x, f, 1.0, np.array([0.2, 0.9]))[..., 0]
    tau = mesh.ends[:-1, None] + np.diff(mesh.ends)[:, None] * [0.2, 0.9]
    assert np.allclose(between, tau**3, atol=1e-14)


@pytest.mark.parametrize("method", ["hermite-simpson", "radau", "multiple shooting"])
def test_derivatives_of_the_program_are_those_of_its_values(method):
    """Everything at once: free duration, an unknown parameter, a link, costs, constraints of the time."""
    problem = read_problem(
        core_of(cart_pole()), "F^2 + t*cart.u1^2", (0.5, 2.0), ["F"], {"F": 0.0, "sin(pole.q1)*L": (0, 1)},
        {"cart.q1*pole.q1 + t^2": (0, None)}, None, {"tip*F*t": (-1, 1)}, "L*t*pole.q1^2",
        {"L": (0.3, 0.8)}, ["cart.u1*L"], ["cart.u1*t + pole.q1^2"], None, 0.2,
    )  # fmt: skip
    program = PhasedProgram([make_program(problem.functions, uniform_mesh(method, 2), 0.2, None)])
    rng = np.random.default_rng(5)
    z, y = rng.uniform(0.4, 1.0, program.size), rng.normal(size=program.rows)
    J, H = np.zeros((program.rows, program.size)), np.zeros((program.size, program.size))
    J[program.jacobian_places] = program.jacobian(z)
    H[program.hessian_places] = program.hessian(z, y, 0.7)
    H = H + np.tril(H, -1).T

    def slope(at):
        G = np.zeros_like(J)
        G[program.jacobian_places] = program.jacobian(at)
        return 0.7 * program.gradient(at) + G.T @ y

    h = 1e-6
    for i, e in enumerate(h * np.eye(program.size)):
        difference = (program.constraints(z + e) - program.constraints(z - e)) / (2 * h)
        assert np.allclose(J[:, i], difference, atol=2e-8)
        cost = (program.objective(z + e) - program.objective(z - e)) / (2 * h)
        assert program.gradient(z)[i] == pytest.approx(cost, abs=2e-8)
        assert np.allclose(H[:, i], (slope(z + e) - slope(z - e)) / (2 * h), atol=2e-7)


@pytest.mark.parametrize("method", ["hermite-simpson", "radau", "multiple shooting"])
def test_least_effort_of_the_double_integrator_is_12_and_linear(method):
    """v = 6 − 12 t, ∫ v² dt = 12, which a mesh of one interval has exactly, also where it begins; wide limits
    of the path change nothing.
    """
    found = slider().optimize(
        "F^2", duration=1.0, inputs=["F"], final={"b.q1": 1, "b.u1": 0}, path={"b.q1": (-1, 2)},
        intervals=1, method=method,
    ).check()  # fmt: skip
    assert found.cost == pytest.approx(12, rel=1e-9)
    assert np.allclose(found.run["F"], 6 - 12 * found.run.time, atol=1e-7)


def test_accelerations_in_a_cost_are_those_of_the_motion():
    """A force F on a cart of 1 kg under a hanging pole of 0.5 m: a = F, and −F/L turns the pole."""
    equations = core_of(cart_pole()).equations
    system, read = equations.system, ExpressionReader(equations, {}, None).read
    point = dict.fromkeys(("cart.q1", "cart.u1", "pole.q1", "pole.u1"), 0.0) | {"F": 2.0, "L": 0.5}
    ahead = arm.dot(arm.acceleration(system.bodies["cart"].com), system.ground.x)
    turning = arm.dot(arm.angular_acceleration(system.bodies["pole"]), system.ground.z)
    found = [arm.evaluate(read(value, "cost="), point) for value in (ahead, turning)]
    assert found == pytest.approx([2.0, -4.0], rel=1e-13)
    tip = arm.evaluate(read("2*tip", "cost="), point | {"cart.q1": 1.0, "pole.q1": np.pi / 6})
    assert tip == pytest.approx(2 * (1.0 + 0.5 * 0.5), rel=1e-14)  # an output within a text


def test_a_reaction_in_a_cost_must_be_an_output():
    s = arm.System("slider")
    hold = s.reaction_force(s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0))
    read = ExpressionReader(core_of(s.derive()), {}, None).read
    with pytest.raises(arm.ArmillaryError, match=r"'b joint force y', which does not follow .* s\.output"):
        read(arm.dot(hold, s.ground.y), "cost=")


def test_least_time_of_the_double_integrator_switches_in_the_middle():
    """Between rest and rest over 1 m with |F| ≤ 1 N: 2 s, full force forwards, then backwards."""
    found = (
        slider()
        .optimize(1, duration=(0.1, 10), inputs={"F": (-1, 1)}, final={"b.q1": 1, "b.u1": 0}, intervals=10)
        .check()
    )
    assert found.duration == pytest.approx(2.0, abs=1e-5)
    first, last = found.run.time < 0.9, found.run.time > 1.1
    assert np.all(found.run["F"][first] > 0.999) and np.all(found.run["F"][last] < -0.999)


@pytest.mark.parametrize("method", ["hermite-simpson", "radau"])
def test_the_brachistochrone_is_a_cycloid(method):
    """From rest at (0, 0) to (2, 2) m below: x = r (θ − sin θ), y = r (1 − cos θ), T = θ √(r/g)."""
    from scipy.optimize import brentq

    theta = brentq(lambda a: (a - np.sin(a)) - (1 - np.cos(a)), 1.0, 3.0)
    r = 2 / (1 - np.cos(theta))
    found = bead().optimize(
        1, duration=(0.1, 3.0), inputs={"slope": (0.0, np.pi / 2)}, final={"x": 2.0, "y": 2.0},
        guess={"slope": [1.2, 0.3], "x": [0, 2], "y": [0, 2], "bead.u1": [0, 6], "duration": 1.0},
        intervals=8, method=method, accuracy=1e-5,
    ).check()  # fmt: skip
    assert found.duration == pytest.approx(theta * np.sqrt(r / 9.81), rel=1e-6)
    a = found.run.time * np.sqrt(9.81 / r)
    assert np.allclose(found.run["y"], r * (1 - np.cos(a)), atol=1e-3)


def test_multiple_shooting_finds_the_motion_of_collocation_and_runs_repeat_it():
    """Inputs that are linear in each of N intervals miss the best ones by 1/N², and so does the cost by 1/N⁴:
    it is stationary.
    """
    stated = {
        "duration": 2.0, "inputs": {"F": (-100, 100)}, "final": STAND,
        "guess": {"cart.q1": [0, 1], "pole.q1": [0, np.pi]},
    }  # fmt: skip
    model = cart_pole()
    best = model.optimize("F^2", accuracy=1e-8, intervals=40, **stated).check()
    coarse, shot = (
        model.optimize("F^2", method="multiple shooting", intervals=n, **stated).check() for n in (60, 120)
    )
    assert shot.cost == pytest.approx(best.cost, rel=1e-6)
    assert best.cost - 1e-6 < shot.cost < coarse.cost
    assert 12 < (coarse.cost - best.cost) / (shot.cost - best.cost) < 24
    assert shot.errors[-1] <= 1e-6
    again = model.simulate(2.0, inputs=shot.signals(), sample=1.0, method="dop853")
    for name, value in STAND.items():
        assert again[name][-1] == pytest.approx(value, abs=1e-5)
    middle = np.argmin(np.abs(shot.run.time - 1.0))
    assert again["pole.q1"][1] == pytest.approx(shot.run["pole.q1"][middle], abs=1e-6)


def test_multiple_shooting_finds_the_least_time_that_limits_allow():
    """The double integrator with |F| ≤ 1 N, as above; one end of the ten intervals is the switching time."""
    found = slider().optimize(
        1, duration=(0.1, 10), inputs={"F": (-1, 1)}, final={"b.q1": 1, "b.u1": 0}, intervals=10,
        method="multiple shooting",
    ).check()  # fmt: skip
    # Inputs turn linearly within an interval of 0.1 T on each side of the middle: T² (1/4 − (0.1)²/3) = 1.
    assert found.duration == pytest.approx(1 / np.sqrt(0.25 - 0.01 / 3), rel=1e-6)


def swing_up_effort(t, states):
    """The least ∫ F² dt by Pontryagin's conditions, near some states over the time.

    The equations are those of Kelly (2017), An introduction to trajectory optimization, SIAM Review 59,
    section 6. Costates follow λ' = −∂H/∂x by complex steps, with H = F² + λ·f and F at its minimum.
    """
    m1, m2, L, g = 1.0, 0.3, 0.5, 9.81

    def rates(x, F):
        _, a, v, w = x
        s, c = np.sin(a), np.cos(a)
        mass = m1 + m2 * (1 - c * c)
        push = F + m2 * s * (L * w * w + g * c)
        return np.array([v, w, push / mass, -(c * (F + m2 * L * s * w * w) + (m1 + m2) * g * s) / (L * mass)])

    def force(x, p):
        mass = m1 + m2 * (1 - np.cos(x[1]) ** 2)
        return -0.5 * (p[2] / mass - p[3] * np.cos(x[1]) / (L * mass))

    def slopes(_, y):
        x, p = y[:4], y[4:]
        F = force(x, p)
        costates = []
        for i in range(4):
            z = x.astype(complex)
            z[i] += 1e-30j
            costates.append(-np.imag(np.sum(p * rates(z, F), axis=0)) / 1e-30)
        return np.vstack([rates(x, F), costates])

    goal = np.array([1.0, np.pi, 0.0, 0.0])
    found = solve_bvp(
        slopes,
        lambda a, b: np.concatenate([a[:4], b[:4] - goal]),
        t,
        np.vstack([states, np.zeros_like(states)]),
        tol=1e-8,
        max_nodes=20000,
    )
    assert found.success
    fine = np.linspace(0, 2, 4001)
    y = found.sol(fine)
    assert np.max(np.abs(force(y[:4], y[4:]))) < 20  # the limit of the force is not reached
    return simpson(force(y[:4], y[4:]) ** 2, x=fine)


def test_the_swing_up_of_the_cart_pole_takes_the_least_effort():
    """As Pontryagin's conditions say, solved as a problem of boundary values.

    The motion is one of the model: a run under the same inputs ends upright, as far as an unstable pole
    follows inputs on straight lines.
    """
    found = cart_pole().optimize(
        "F^2", duration=2.0, inputs={"F": (-20, 20)}, bounds={"cart.q1": (-2, 2)}, final=STAND,
        intervals=30, accuracy=1e-5,
    ).check()  # fmt: skip
    states = np.array([found.run[name] for name in ("cart.q1", "pole.q1", "cart.u1", "pole.u1")])
    assert found.cost == pytest.approx(swing_up_effort(found.run.time, states), rel=2e-5)
    assert found.errors[-1] <= 1e-5 < found.errors[0]
    run = cart_pole().simulate(2.0, rtol=1e-9, inputs=found.signals())
    assert abs(run.final["pole.q1"] - np.pi) < 0.02
    again = cart_pole().optimize(
        "F^2", duration=2.0, inputs={"F": (-20, 20)}, bounds={"cart.q1": (-2, 2)}, final=STAND,
        intervals=found.intervals, accuracy=None, guess=found,
    )  # fmt: skip
    assert (
        again.solved
        and again.iterations < found.iterations
        and again.cost == pytest.approx(found.cost, rel=1e-4)
    )


def test_a_parameter_is_found_with_the_motion():
    """A pendulum that swings freely from 0.01 rad to its other side in 1 s: T/2 = π √(L/g), so L = g/π²."""
    s = arm.System("pendulum")
    s.parameter("L", 2.0, units="m")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.input("M", units="N*m")
    s.moment("motor", "M", s.ground.z, on=bob)
    found = s.derive().compile().optimize(
        "M^2", duration=1.0, inputs=["M"], initial={"bob.q1": 0.01}, final={"bob.q1": -0.01, "bob.u1": 0},
        free={"L": (0.5, 4.0)}, guess={"L": 1.1}, intervals=10, accuracy=None,
    ).check()  # fmt: skip
    assert found.parameters["L"] == pytest.approx(9.81 / np.pi**2, rel=1e-4)
    assert found.run.parameters["L"] == found.parameters["L"] and found.cost < 1e-10


@pytest.mark.parametrize("method", ["hermite-simpson", "radau"])
def test_a_periodic_motion_closes_and_a_path_constraint_holds(method):
    """A slider that stays within 0.2 m of a sine, at the points of the mesh; both ends agree."""
    found = slider().optimize(
        "F^2", duration=2.0, inputs=["F"], periodic=["b.q1", "b.u1"],
        path={"b.q1 - sin(pi*t)": (-0.2, 0.2)}, intervals=10, accuracy=None, method=method,
    ).check()  # fmt: skip
    run = found.run
    assert run.final["b.q1"] == pytest.approx(run.initial["b.q1"], abs=1e-9)
    assert run.final["b.u1"] == pytest.approx(run.initial["b.u1"], abs=1e-9)
    assert np.max(np.abs(run["b.q1"] - np.sin(np.pi * run.time))) < 0.21


@pytest.mark.parametrize("method", list(SCHEMES))
def test_the_estimate_of_the_error_falls_with_the_power_that_refinement_takes(method):
    problem = {"duration": 2.0, "inputs": {"F": (-50, 50)}, "final": STAND, "accuracy": None}
    coarse, fine = (
        cart_pole().optimize("F^2", intervals=n, method=method, **problem).errors[-1] for n in (40, 80)
    )
    assert np.log2(coarse / fine) == pytest.approx(SCHEMES[method][1], abs=0.5)


def test_a_cost_that_falls_without_limit_asks_for_limits():
    found = slider().optimize("b.q1", duration=1.0, inputs=["F"], intervals=5)
    assert not found.solved and found.status == "unbounded"
    assert "the cost of 'slider' falls without limit: give limits by inputs= or bounds=" in found.message


def test_an_impossible_motion_names_what_is_violated():
    found = cart_pole().optimize(
        "F^2", duration=0.3, inputs={"F": (-2, 2)}, final=STAND, intervals=5, accuracy=None
    )
    assert not found.solved and found.status == "infeasible"
    assert "equation of motion of 'pole.q1'" in found.message and max(found.violations.values()) > 0.1
    with pytest.raises(arm.ArmillaryError, match="no motion of 'cart and pole' that obeys all constraints"):
        found.check()


@pytest.mark.parametrize(
    ("violation", "rate", "least"),
    [
        (0.0, -1.0, 1e-14),  # only the cost can get better, down to rounding
        (1e-3, -0.1, 1e-11),  # Wächter and Biegler (2006), eq. 23: γ_φ θ/(−∇φᵀd), times 1e-4
        (1e-3, -1e-9, 1e-9),  # at most γ_θ = 1e-5
        (1e-3, 0.0, 1e-12),
        (1e-3, 2.0, 1e-12),
    ],
)
def test_steps_are_halved_down_to_the_least_that_may_be_accepted(monkeypatch, violation, rate, least):
    """The smaller the violation beside the slope of the cost, the smaller; then the restoration begins."""
    from armillary.control.interior_point import InteriorPoint

    tried = []
    search = object.__new__(InteriorPoint)
    search.cost = 0.0
    search.v = SimpleNamespace(
        c=np.array([-violation]),
        gaps=None,
        trial=None,
        trial_gaps=None,
        run=lambda *_, size: tried.append(size),
    )
    monkeypatch.setattr(InteriorPoint, "_barrier", lambda *_: 0.0)
    monkeypatch.setattr(InteriorPoint, "_at", lambda *_: SimpleNamespace(theta=-1.0))
    monkeypatch.setattr(InteriorPoint, "_accepts", lambda *_: False)
    assert search._line_search(0.7, rate, 0.99) is None
    assert tried == [0.7 * 0.5**k for k in range(len(tried))]
    assert least < tried[-1] <= 2.02 * (least if least == 1e-14 else least + 1e-14)


def test_an_interrupted_search_returns_its_best_point(monkeypatch):
    from armillary.control import interior_point

    calls = iter(range(100))
    plain = interior_point.InteriorPoint._iterate

    def interrupted(self):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return plain(self)

    monkeypatch.setattr(interior_point.InteriorPoint, "_iterate", interrupted)
    found = cart_pole().optimize(
        "F^2", duration=2.0, inputs={"F": (-20, 20)}, final=STAND, intervals=10, accuracy=None
    )
    assert found.status == "interrupted" and "best point so far" in found.message
    assert np.isfinite(found.run.values).all()


def test_a_search_that_is_interrupted_between_its_meshes_keeps_its_motion(monkeypatch):
    from armillary.control import optimize

    made = []
    plain = optimize.ScaledProgram

    def interrupted(*given):
        made.append(given)
        if len(made) == 2:
            raise KeyboardInterrupt
        return plain(*given)

    monkeypatch.setattr(optimize, "ScaledProgram", interrupted)
    how = {"duration": 2.0, "inputs": {"F": (-20, 20)}, "final": STAND, "intervals": 10}
    found = cart_pole().optimize("F^2", accuracy=1e-6, **how)
    monkeypatch.undo()
    coarse = cart_pole().optimize("F^2", accuracy=None, **how)
    assert found.status == "interrupted" and len(found.errors) == 2
    assert found.cost == pytest.approx(coarse.cost, rel=0.05)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"cost": "G^2"}, "there is nothing called 'G'"),
        ({"cost": "ground.x"}, "is no scalar; take a component"),
        ({"duration": -1}, "duration= must be a positive number"),
        ({"duration": np.inf}, r"must be finite, not inf; give \(low, high\)"),
        ({"final": {"b.q1": (2, 1)}}, "the lower limit 2 is above the upper one, 1"),
        ({"final": {"b.q1": np.nan}}, "is not a number|must be a number"),
        ({"final": {"b.q1": (1, 2, 3)}}, r"must be a number or limits \(low, high\)"),
        ({"final": {"b.q1": 3}, "bounds": {"b.q1": (0, 1)}}, "'b.q1' at the end has no value"),
        ({"bounds": {"b": (0, 1)}}, "there is no state or input 'b'"),
        ({"free": {"m": (0, 1)}}, "has no parameter 'm'"),
        ({"periodic": ["b"]}, "periodic= there is no state 'b'"),
        ({"guess": {"b.q": [0, 1]}}, "has no state, input or unknown 'b.q'"),
        ({"method": "euler"}, "method="),
        ({"cost": "1/b.q1"}, "not finite numbers at the guess"),
        ({"iterations": "ten"}, "iterations= must be a whole number of 0 or more, not 'ten'"),
        ({"refinements": 1.5}, "refinements= must be a whole number"),
        ({"accuracy": -1}, "accuracy= must be a positive number, not -1"),
        ({"accuracy": 0}, "accuracy= must be a positive number, not 0"),
        ({"tolerance": 0}, "tolerance= must be a positive number, not 0"),
        ({"t0": np.nan}, "t0= must be finite"),
        ({"initial": {"t": 1.0}}, "initial= 't' holds no state, input or unknown; the time begins at t0="),
        ({"guess": {"b.q1": []}}, "with at least one"),
        ({"guess": {"b.q1": [[0, 1]]}}, "must be a number or a column"),
        ({"guess": {"duration": "long"}}, "guess= of 'duration' must be a positive number, not 'long'"),
        ({"guess": {"duration": -4}}, "guess= of 'duration' must be a positive number, not -4"),
        ({"final": {"b.q1": np.inf}}, "must be finite, not inf; leave it out"),
        ({"inputs": {"F": (np.inf, np.inf)}}, "no number is between the limits inf and inf"),
        ({"cost": "sqrt(F)"}, "slopes of the rates, the cost or a constraint are not finite"),
    ],
)
def test_wrong_problems_are_named(changed, words):
    how = {"cost": "F^2", "duration": 1.0, "inputs": ["F"], "final": {"b.q1": 0.0}} | changed
    with pytest.raises(arm.ArmillaryError, match=words):
        slider().optimize(how.pop("cost"), **how)


def test_events_and_contacts_are_refused():
    s = arm.System("stopped")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.input("F", units="N")
    s.force("push", "F", s.ground.x, at=body.com)
    s.event("stop", "b.q1 - 1", lock="b.q1")
    with pytest.raises(arm.ArmillaryError, match="event 'stop' of 'stopped' may change the motion"):
        s.derive().compile().optimize("F^2", duration=1.0, inputs=["F"])


def test_a_force_that_jumps_is_named_where_no_motion_is_found():
    s = arm.System("weak")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.input("F", units="N")
    s.force("push", "F*select(b.q1 > 0.5, 1, 0.1)", s.ground.x, at=body.com)
    end = {"b.q1": 1.0, "b.u1": 0.0}
    how = dict(duration=1.0, inputs=["F"], final=end, intervals=8, accuracy=None, iterations=3)
    found = s.derive().compile().optimize("F^2", **how)
    assert not found.solved and "may jump at >, select: make them smooth" in found.message


def test_a_run_that_shares_no_name_is_no_guess():
    s = arm.System("wheel")
    s.body("wheel", joint=arm.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    run = s.derive().compile().simulate(0.1)
    with pytest.raises(arm.ParameterError, match="the run of 'wheel' has no duration, or no state or input"):
        slider().optimize("F^2", duration=1.0, inputs=["F"], guess=run)


def test_what_reaches_a_limit_is_named_where_no_motion_is_found():
    """From rest to rest over 1 m in 1 s takes a force of 4 N at least."""
    how = dict(duration=1.0, final={"b.q1": 1.0, "b.u1": 0.0}, intervals=6, accuracy=None)
    weak = slider().optimize("F^2", inputs={"F": (-2, 2)}, **how)
    assert weak.status == "infeasible" and "There 'F' reached a limit." in weak.message
    slow = slider().optimize("F^2", inputs=["F"], bounds={"b.u1": (-0.5, 0.5)}, **how)
    assert slow.status == "infeasible" and "There 'b.u1' reached a limit." in slow.message
    moved = slider().optimize("F^2", inputs=["F"], path={"b.q1^2": (None, 0.25)}, **how)
    assert moved.violations["path constraint 'b.q1^2' at t = 1 s"] == pytest.approx(0.75, abs=1e-6)
    assert "reached a limit" not in moved.message


def test_a_kink_of_the_cost_and_a_tolerance_below_rounding_are_no_impossible_motions():
    how = dict(duration=1.0, final={"b.q1": 1.0, "b.u1": 0.0}, intervals=6, accuracy=None)
    kinked = slider().optimize("abs(F)", inputs={"F": (-10, 10)}, **how)
    assert kinked.solved or "may have a kink at abs: make them smooth" in kinked.message
    exact = slider().optimize("F^2", inputs=["F"], tolerance=1e-30, **how)
    assert exact.status == "no progress" and exact.cost == pytest.approx(12.0, rel=1e-12)


def test_a_parameter_without_limits_begins_at_its_value_and_a_warm_start_at_what_was_found():
    """∫ F² dt = 12 m² and 100 (m − 2)² are least together at m = 25/14, with F = m (6 − 12 t). Costs are in
    the model's units, values and limits in their own.
    """
    s = arm.System("slider of some mass")
    mass = s.parameter("m", 1000.0, units="g")
    body = s.body("b", joint=arm.Prismatic("x"), mass=mass, inertia=0)
    s.input("F", units="kN")
    s.force("push", "F", s.ground.x, at=body.com)
    model = s.derive().compile()
    how = dict(
        duration=1.0, inputs=["F"], final={"b.q1": 1.0, "b.u1": 0.0}, free={"m": (None, None)}, intervals=4,
        accuracy=None, final_cost="100*(m - 2)^2",
    )  # fmt: skip
    found = model.optimize("F^2", **how)
    assert found.solved and found.parameters["m"] == pytest.approx(25000 / 14)
    assert found.run["F"][0] == pytest.approx(6e-3 * 25 / 14, rel=1e-5)
    narrow = how | {"free": {"m": (500, 1500)}, "inputs": {"F": (-9.5e-3, 9.5e-3)}}
    least = model.optimize("F^2", **narrow)
    assert least.solved and least.parameters["m"] == pytest.approx(1500, rel=1e-6)
    assert least.run["F"][0] == pytest.approx(9e-3, rel=1e-5)
    first = model.optimize("F^2", **how, iterations=0)
    again = model.optimize("F^2", **how, iterations=0, guess=found)
    assert first.parameters["m"] == 1000.0 and again.parameters["m"] == pytest.approx(25000 / 14)


def test_ipopt_returns_its_best_point_when_it_is_interrupted(monkeypatch):
    pytest.importorskip("casadi", reason="CasADi, which has IPOPT, is not installed")
    plain, made = PhasedProgram.hessian, []

    def interrupted(self, *given):
        made.append(given)
        if len(made) == 3:
            raise KeyboardInterrupt
        return plain(self, *given)

    monkeypatch.setattr(PhasedProgram, "hessian", interrupted)
    found = cart_pole().optimize(
        "F^2", duration=2.0, inputs={"F": (-20, 20)}, final=STAND, intervals=10, accuracy=None, solver="ipopt"
    )
    assert found.status == "interrupted" and np.isfinite(found.cost) and found.iterations > 0


@pytest.mark.parametrize("solver", ["embedded", "ipopt"])
def test_a_cost_that_is_tiny_in_its_units_has_the_same_motion(solver):
    """58.81 N²s by Pontryagin's conditions (`swing_up_effort`), of which 20 intervals have 99.8 %."""
    if solver == "ipopt":
        pytest.importorskip("casadi", reason="CasADi, which has IPOPT, is not installed")
    found = cart_pole().optimize(
        "1e-12*F^2", duration=2.0, inputs={"F": (-20, 20)}, final=STAND, accuracy=None, solver=solver
    )
    assert found.solved and found.cost == pytest.approx(58.81e-12, rel=5e-3)


def test_ipopt_finds_the_same_motion():
    pytest.importorskip("casadi", reason="CasADi, which has IPOPT, is not installed")
    how = dict(duration=2.0, inputs={"F": (-20, 20)}, final=STAND, intervals=20, accuracy=None)
    ours, theirs = (cart_pole().optimize("F^2", solver=name, **how) for name in ("embedded", "ipopt"))
    assert theirs.solved and theirs.cost == pytest.approx(ours.cost, rel=1e-7)
    short = cart_pole().optimize("F^2", solver="ipopt", **{**how, "duration": 0.2, "intervals": 5})
    assert not short.solved and short.violations


def test_an_event_that_only_ends_runs_does_not_stand_in_the_way():
    """The double integrator from rest to rest in 1 s: ∫ F² dt = 12."""
    s = arm.System("ends")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.input("F", units="N")
    s.force("push", "F", s.ground.x, at=body.com)
    s.event("far", "b.q1 - 100", stop=True)
    end = {"b.q1": 1.0, "b.u1": 0.0}
    found = (
        s.derive()
        .compile()
        .optimize("F^2", duration=1.0, inputs=["F"], final=end, intervals=8, accuracy=None)
    )
    assert found.solved and found.cost == pytest.approx(12.0, rel=1e-8)


def test_a_solution_beyond_its_accuracy_says_so() -> None:
    inside = SimpleNamespace(results=[])
    problems = [SimpleNamespace(system="slider", functions=SimpleNamespace(inside=inside))]
    solved = Outcome(SimpleNamespace(status="solved"), {}, 3, (0.1, 2e-3), None)
    assert message_of(problems, solved) == "solved"
    assert message_of(problems, replace(solved, accuracy=2e-3)) == "solved"
    found = message_of(problems, replace(solved, accuracy=1e-6))
    assert found == "solved, but the error of the states is 0.002: allow more refinements= or intervals="
    inside.results.append(arm.sign(symbol("u", "variable")))
    assert "may jump at sign" in message_of(problems, replace(solved, accuracy=1e-6))


def test_starts_close_loops_whatever_of_them_is_given():
    """A slider-crank: its rod's angle and its slider's place follow from the crank, also for another rod."""
    s = arm.System("slider-crank")
    s.parameter("b", 0.3, units="m")
    crank = s.body("crank", joint=arm.Revolute("z"), com=(0.05, 0, 0), mass=1, inertia=(0, 0.01, 0.01))
    rod = s.body(
        "rod", crank, arm.Revolute("z"), at=(0.1, 0, 0), com=("b/2", 0, 0), mass=1, inertia=(0, 0.01, 0.01)
    )
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.input("M", units="N*m")
    s.moment("motor", "M", s.ground.z, on=crank)
    s.close_loop(rod.point("end", ("b", 0, 0)), slider.origin)
    s.output("gap", arm.magnitude(arm.position(rod.end, slider.origin)), units="m")
    model = s.derive().compile()
    how = {"duration": 1.0, "inputs": ["M"], "final": {"crank.q1": 2.0, "crank.u1": 0.0}, "accuracy": 1e-4}
    given = model.optimize("M^2", initial={"crank.q1": 0.6}, **how).check()
    assert given.run["gap"].max() < 1e-5
    end = model.simulate(1.0, initial={"crank.q1": 0.6}, inputs=given.signals()).final
    assert [end["crank.q1"], end["crank.u1"]] == pytest.approx([2.0, 0.0], abs=2e-4)
    ranged = model.optimize("M^2", initial={"crank.q1": (0.5, 0.7)}, **how).check()
    assert ranged.run["crank.q1"][0] == pytest.approx(0.7, abs=1e-6) and ranged.run["gap"].max() < 1e-5
    longer = model.optimize("M^2", initial={"crank.q1": 0.6}, free={"b": (0.25, 0.4)}, **how).check()
    known = model.optimize("M^2", initial={"crank.q1": 0.6}, parameters={"b": 0.4}, **how).check()
    assert longer.cost == pytest.approx(known.cost, rel=1e-6) and longer.run["gap"].max() < 1e-5
    half = {k: how[k] for k in ("inputs", "final")} | {"model": model, "cost": "M^2", "duration": 0.5}
    joined = control.optimize_phases([
        control.Phase(**half | {"final": None}, initial={"crank.q1": 0.6}),
        control.Phase(**half, link={"crank.q1": "crank.q1", "crank.u1": "crank.u1"}),
    ])  # fmt: skip
    assert joined.check().cost == pytest.approx(given.cost, rel=1e-5)  # other meshes
    with pytest.raises(arm.ParameterError, match=r"'slider\.q1' of 'slider-crank' follows from"):
        model.optimize("M^2", periodic=["crank.q1", "rod.q1", "slider.q1"], **how)


def test_phases_are_all_phases():
    phase = control.Phase(model=slider(), cost="F^2", duration=1.0, inputs=["F"])
    for wrong in ([], ["swing"], [phase, 3.0], phase):
        with pytest.raises(arm.ParameterError, match=r"takes a list of control\.Phase, at least one"):
            control.optimize_phases(wrong)


def test_starts_have_unit_euler_parameters():
    """A turn about x from the angle θ to 0 at rest takes 12 J² θ²/T³."""
    s = arm.System("satellite")
    hub = s.body("hub", joint=arm.Free(), mass=1.0, inertia=(1, 2, 2.5))
    s.input("M", units="N*m")
    s.moment("wheel", "M", hub.x, on=hub)
    how = {"duration": 2.0, "inputs": ["M"], "final": {"hub.q5": 0.0, "hub.u4": 0.0}}
    model = s.derive().compile()
    for start, half in (
        ({"hub.q4": 1.0, "hub.q5": 0.3}, np.arctan(0.3)),
        ({"hub.q5": (0.2, 1)}, np.arcsin(0.2)),
    ):
        found = model.optimize("M^2", initial=start, **how).check()
        assert found.cost == pytest.approx(12 * (2 * half) ** 2 / 8, rel=1e-6)


@pytest.mark.parametrize("method", ["hermite-simpson", "radau", "multiple shooting"])
def test_a_parameter_alone_may_be_sought(method):
    """A spring of k = (π/2)² N/m brings 1 kg from 1 m to 0 in a second; the model has no inputs."""
    s = arm.System("mass and spring")
    s.parameter("k", 1.0)
    b = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.force("spring", "-k*b.q1", s.ground.x, at=b.com)
    found = s.derive().compile().optimize(
        0, duration=1.0, inputs=[], initial={"b.q1": 1.0}, final={"b.q1": 0.0}, free={"k": (0.5, 5)},
        method=method,
    )  # fmt: skip
    assert found.solved and found.parameters["k"] == pytest.approx(np.pi**2 / 4, rel=1e-6)
    assert found.signals() == {} and found.run.final["b.u1"] == pytest.approx(-np.pi / 2, rel=1e-6)


def test_the_error_of_an_interval_is_integrated_exactly_up_to_the_seventh_power() -> None:
    for power in range(8):
        assert np.sum(_SHARES * _PLACES**power) == pytest.approx(1 / (power + 1), rel=1e-14)
