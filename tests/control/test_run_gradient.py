"""Gradients of runs: against forward sensitivities, closed forms and differences; what is refused."""

from functools import cache
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.control import adjoint
from armillary.control.adjoint import RunMap, StepGrid, TangentMap
from armillary.control.array_functions import ArrayFunctions
from armillary.control.run_gradient import _step_grid
from armillary.solver.methods.registry import METHODS
from armillary.stages.model import Model
from tests.control.systems import bead, cart_pole, slider

EXACT = 1e-10  # of the larger of 1 and the derivative: the same steps, differentiated in the other order


def _close(found, expected, tolerance=EXACT):
    assert np.allclose(found, expected, rtol=tolerance, atol=tolerance), (found, expected)


@pytest.mark.parametrize("how", [{"step": 0.01}, {"step": 0.01, "method": "midpoint"}])
def test_a_gradient_is_the_last_row_of_forward_sensitivities(how):
    to = ["L", "cart.q1", "cart.u1", "pole.q1", "pole.u1", "F"]
    kw = dict(initial={"pole.q1": 0.3, "cart.u1": 0.2}, memory={"F": 2.0}, **how)
    found = cart_pole().gradient(1.0, to, final_cost="tip", **kw)
    forward = cart_pole().sensitivities(1.0, to, of=["tip"], **kw)
    assert found.value == pytest.approx(forward.run.final["tip"], rel=1e-13)
    _close([found[n] for n in to], [forward.final["tip", n] for n in to])
    assert found.final["pole.u1"] == pytest.approx(forward.run.final["pole.u1"], rel=1e-12)
    assert found.steps == 100 and list(found) == to


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_accepted_steps_of_an_adaptive_run_are_differentiated(method):
    """Both derivatives have the error of their runs, 1e-11 of each state."""
    kw = dict(initial={"pole.q1": 0.3}, memory={"F": 2.0}, method=method, rtol=1e-11, atol=1e-12)
    found = cart_pole().gradient(1.0, ["L", "pole.q1", "F"], final_cost="tip", **kw)
    forward = cart_pole().sensitivities(1.0, ["L", "pole.q1", "F"], of=["tip"], **kw)
    _close(list(found.values()), [forward.final["tip", n] for n in found], 1e-8)
    assert found.steps == cart_pole().simulate(1.0, **kw).info["steps"]


def test_an_integral_is_a_state_whose_rate_is_the_cost():
    """The bead's state y has the rate u sin(slope)."""
    kw = dict(memory={"slope": 0.7}, initial={"bead.u1": 0.5}, step=0.02)
    along = bead().gradient(1.0, ["bead.u1", "slope"], cost="bead.u1*sin(slope)", **kw)
    ended = bead().gradient(1.0, ["bead.u1", "slope"], final_cost="y", **kw)
    forward = bead().sensitivities(1.0, ["bead.u1", "slope"], of=["y"], **kw)
    assert along.value == pytest.approx(ended.value, rel=1e-13)
    for found in (along, ended):
        _close([found[n] for n in found], [forward.final["y", n] for n in found])


def test_held_values_move_a_mass_as_the_closed_form_says():
    """∂x(T)/∂Fᵢ = Δ (T − tᵢ − Δ/2) of 1 kg, for a force held over Δ; RK4 is exact for it."""
    t, gap = np.arange(0.0, 1.0, 0.1), 0.1
    signal = arm.Signal(t, np.cos(t), interpolation="hold")
    found = slider().gradient(1.0, ["F"], final_cost="b.q1", inputs={"F": signal}, step=0.02)
    _close(found["F"], gap * (1.0 - t - gap / 2))
    uneven = slider().gradient(1.0, ["F"], final_cost="b.q1", inputs={"F": signal}, step=0.03)
    _close(uneven["F"], gap * (1.0 - t - gap / 2))  # steps end where the data jump


def test_values_between_which_an_input_is_linear():
    """∂u(T)/∂Fᵢ is the area of the i-th hat function; the integral of F² has 2 F times its mass matrix."""
    t, y = np.array([0.0, 0.2, 0.5, 1.0]), np.array([1.0, 2.0, -1.0, 0.5])
    signal = arm.Signal(t, y, interpolation="linear")
    found = slider().gradient(1.0, ["F"], final_cost="b.u1", inputs={"F": signal}, step=0.1)
    _close(found["F"], [0.1, 0.25, 0.4, 0.25])
    squared = slider().gradient(1.0, ["F"], cost="F^2", inputs={"F": signal}, step=0.1)
    h = np.diff(t)
    expected = np.zeros(4)
    expected[:-1] += h * (2 * y[:-1] + y[1:]) / 3
    expected[1:] += h * (2 * y[1:] + y[:-1]) / 3
    _close(squared["F"], expected)


@pytest.mark.parametrize("how", [{"step": 0.01}, {"rtol": 1e-10}])
def test_all_costs_together_agree_with_differences(how):
    """Central differences of 1e-5: their own error is about 1e-9, of adaptive runs 1e-8."""
    t, y = np.linspace(0, 1, 6), np.sin(3 * np.linspace(0, 1, 6))
    costs = dict(cost="F^2 + cart.q1^2*L", sample_cost="(pole.q1 - F)^2*L", final_cost="tip*pole.u1")

    def found(to, y=y, L=0.5, q=0.3):
        return cart_pole().gradient(
            1.0, to, inputs={"F": (t, y)}, parameters={"L": L}, initial={"pole.q1": q}, sample=0.05, **costs,
            **how,
        )  # fmt: skip

    whole, e = found(["L", "pole.q1", "F"]), 1e-5
    unit = e * np.eye(6)[2]
    pairs = [
        (whole["L"], found(["L"], L=0.5 + e).value - found(["L"], L=0.5 - e).value),
        (whole["pole.q1"], found(["L"], q=0.3 + e).value - found(["L"], q=0.3 - e).value),
        (whole["F"][2], found(["L"], y=y + unit).value - found(["L"], y=y - unit).value),
    ]
    for exact, difference in pairs:
        assert exact == pytest.approx(difference / (2 * e), abs=1e-7)


@cache
def _tumbling():
    """A free box with Euler parameters, pulled by a spring at a corner, described in millimetres."""
    s = arm.System("box")
    s.parameter("k", 0.02, units="N/mm")
    box = s.body("box", joint=arm.Free(), mass=2.0, inertia=(0.02, 0.03, 0.04))
    corner = box.point("corner", (0.1, 0.2, 0.05))
    s.force("pull", "-k*box.q1", s.ground.x, at=corner)
    s.output("turn", arm.dot(box.x, s.ground.y))
    return s.derive().compile()


def test_euler_parameters_are_differentiated_with_their_length():
    """Forward sensitivities take the part along the sphere at every stage: they differ by local errors."""
    names = ["k", "box.u4", "box.u5", "box.q1", "box.q5"]
    kw = dict(initial={"box.q1": 0.1, "box.u4": 1.0, "box.u5": 2.0, "box.q5": 0.2}, step=2e-3)
    found = _tumbling().gradient(1.0, names, final_cost="turn", **kw)
    forward = _tumbling().sensitivities(1.0, names, of=["turn"], **kw)
    _close([found[n] for n in names], [forward.final["turn", n] for n in names], 1e-9)


@cache
def _four_bar():
    s = arm.System("four-bar")
    s.parameter("tau", 0.4)
    s.parameter("reach", 0.2)
    how = dict(joint=arm.Revolute("z"), com=(0.1, 0, 0), mass=1, inertia=(0.02, 0.02, 0.02))
    a = s.body("a", **how)
    b = s.body("b", a, at=(0.35, 0, 0), **how)
    c = s.body("c", at=(0.4, 0, 0), **how)
    end, pin = b.point("end", (0.5, 0, 0)), c.point("pin", ("reach", 0, 0))
    s.close_loop(end, pin, directions=[s.ground.x, s.ground.y], name="pin")
    s.moment("drive", "tau", s.ground.z, on=a)
    s.gravity(9.81, -s.ground.y)
    return s.derive().compile()


START = {"a.q1": 1.2, "b.q1": -0.6, "c.q1": 1.4}


def test_a_run_of_a_closed_loop_has_a_gradient():
    """Forward sensitivities are brought back to closed loops at every stage: they differ by local errors."""
    model = _four_bar()
    names = ["tau", "reach", "a.q1", "a.u1"]
    kw = dict(initial=START, step=5e-4)
    found = model.gradient(0.2, names, final_cost="c.q1", **kw)
    forward = model.sensitivities(0.2, names, of=["c.q1"], **kw)
    _close([found[n] for n in names], [forward.final["c.q1", n] for n in names])


def test_tangents_of_a_closed_loop_are_the_transpose_of_its_adjoint():
    """w · (J d) = (Jᵀ w) · d, by a length of a link too, which the closing of the loop depends on."""
    of = RunMap(_four_bar(), METHODS["rk4"], (), ("tau", "reach"))
    grid, rng = StepGrid.equal_steps(0.0, 2e-3, 5, 5), np.random.default_rng(2)
    start, seeds = _four_bar().state(START)[None], rng.normal(size=(1, 2, 4))
    move, by = rng.normal(size=4), rng.normal(size=2)
    pulled = of.pull(start, grid, of.hold(), seeds)
    moves = np.broadcast_to(by, (1, 5, 2))
    pushed = TangentMap(of).run(np.append(start, move)[None], grid, of.hold(), moves=moves)
    # Compiled apart from each other, the two may round differently.
    assert pushed.states[:, :, :4] == pytest.approx(pulled.motion.states, rel=1e-13, abs=1e-14)
    forwards = np.sum(seeds * pushed.states[:, :, 4:])
    assert forwards == pytest.approx(pulled.by_start[0] @ move + pulled.by_parameters[0] @ by, rel=1e-11)


def test_a_change_of_independent_speeds_is_named():
    with pytest.raises(arm.ArmillaryError, match="changes its choice of independent speeds"):
        _four_bar().gradient(
            3.0, ["tau"], final_cost="c.q1", initial=START, parameters={"tau": 8.0}, step=2e-3
        )


def test_checkpoints_change_nothing_and_rows_are_runs():
    """47 steps in segments of 47 and of 7, each of the others repeated; three runs at once and apart."""
    of = RunMap(cart_pole(), METHODS["rk4"], ("F",), ("L",))
    grid = StepGrid.equal_steps(0.0, 0.02, 47, 5)
    rng = np.random.default_rng(3)
    start, v = rng.normal(size=(3, 4)), of.hold(rng.normal(size=(3, 47, 1)))
    seeds = rng.normal(size=(3, grid.samples, 4))
    lengths = {"L": np.array([0.4, 0.5, 0.6])}
    whole = of.pull(start, grid, v, seeds, parameters=lengths)
    cut = of.pull(start, grid, v, seeds, parameters=lengths, store=1)
    for a, b in zip(whole[1:], cut[1:], strict=True):
        assert np.array_equal(a, b)
    motion = of.run(start, grid, v, lengths)
    assert np.array_equal(motion.states, whole.motion.states)
    for i, L in enumerate(lengths["L"]):
        one = of.pull(
            start[i : i + 1], grid, of.hold(v.values[i, :, 0]), seeds[i : i + 1], parameters={"L": L}
        )
        for a, b in zip(whole[1:], one[1:], strict=True):
            _close(a[i], b[0], 1e-13)


def test_samples_of_a_map_are_those_of_a_run():
    of = RunMap(cart_pole(), METHODS["dopri5"], ("F",))
    grid = StepGrid.equal_steps(0.0, 0.01, 100, 100)
    found = of.run(cart_pole().state({"pole.q1": 0.3})[None], grid, of.hold(np.array([2.0])))
    run = cart_pole().simulate(1.0, rtol=1e-12, atol=1e-12, initial={"pole.q1": 0.3}, memory={"F": 2.0})
    assert np.allclose(found.states[0, -1, :2], [run.final["cart.q1"], run.final["pole.q1"]], rtol=1e-9)


# ------------------------------------------------------------ events


@cache
def _ball():
    s = arm.System("ball")
    s.parameter("e", 0.8)
    s.parameter("g", 9.81, units="m/s2")
    s.input("wind", units="N")
    ball = s.body("ball", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    s.gravity("g", -s.ground.z)
    s.force("blow", "wind", s.ground.z, at=ball.com)
    s.event("bounce", "ball.q1", direction=-1, set={"ball.u1": "-e*ball.u1"})
    s.start({"ball.q1": 1.0})
    return s.derive().compile()


def test_a_bounce_has_the_derivatives_of_its_closed_form():
    """From height h the ball meets the ground after τ = √(2h/g) with v = √(2gh), and then has the height
    e v (T − τ) − g (T − τ)²/2; RK4 is exact for it.
    """
    h, g, e, T = 1.0, 9.81, 0.8, 0.9
    found = _ball().gradient(T, ["ball.q1", "g", "e"], final_cost="ball.q1", step=0.02)
    tau, v = np.sqrt(2 * h / g), np.sqrt(2 * g * h)
    rest = T - tau
    assert found.value == pytest.approx(e * v * rest - g * rest**2 / 2, rel=1e-12)
    later = -e * v + g * rest  # by τ
    by_h = e * v / (2 * h) * rest + later * tau / (2 * h)
    by_g = e * v / (2 * g) * rest - rest**2 / 2 - later * tau / (2 * g)
    _close([found["ball.q1"], found["g"], found["e"]], [by_h, by_g, v * rest])


def test_a_bounce_in_a_millionth_of_the_time_has_the_same_derivatives():
    """With g · 10¹² times are 10⁻⁶ as long; rows at whole steps and at the event are as many."""
    how = {"final_cost": "ball.q1", "sample_cost": "ball.q1^2"}
    usual = _ball().gradient(0.9, ["ball.q1", "e"], step=0.02, sample=0.1, **how)
    quick = {"step": 0.02e-6, "sample": 0.1e-6, "parameters": {"g": 9.81e12}}
    found = _ball().gradient(0.9e-6, ["ball.q1", "e"], **how, **quick)
    assert found.value == pytest.approx(usual.value, rel=1e-9) and found.steps == usual.steps
    _close([*found.values()], [*usual.values()], 1e-8)


@cache
def _gate():
    """A damped pendulum that a motor drives with a force that each passage of the lowest point makes weaker,
    with a kick there that depends on the time and on the number of passages.
    """
    s = arm.System("gate")
    s.parameter("k", 0.3, units="N*m*s")
    s.parameter("fade", 0.7)
    s.parameter("w", 1.0, units="rad/s")
    s.memory("level", 1.0, units="N*m")
    s.memory("passed", 0.0)
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    s.moment("motor", "level - k*bob.u1", s.ground.z, on=bob)
    s.event("low", "bob.q1 - 0.05*sin(w*t)", set={
        "bob.u1": "bob.u1*(1 - 0.1*sin(w*t)) - 0.1*w*passed", "level": "fade*level", "passed": "passed + 1",
    })  # fmt: skip
    s.output("height", arm.dot(arm.position(bob.com), s.ground.y), units="m")
    s.start({"bob.q1": 1.0})
    return s.derive().compile()


def test_jumps_of_states_and_memories_are_those_of_forward_sensitivities():
    """Forward derivatives are interpolated to the instant of an event as the state is, so both have the error
    of their runs.
    """
    to = ["k", "fade", "bob.q1", "bob.u1", "level"]
    how = dict(method="dop853", rtol=1e-12, atol=1e-13)
    found = _gate().gradient(3.0, to, final_cost="height", **how)
    forward = _gate().sensitivities(3.0, to, of=["height"], **how)
    assert len(forward.run.events) >= 3
    assert found.value == pytest.approx(forward.run.final["height"], rel=1e-10)
    _close([found[n] for n in to], [forward.final["height", n] for n in to], 1e-9)


def test_costs_along_a_run_with_events_have_the_derivatives_of_differences():
    to, h = ["k", "fade", "bob.q1"], 1e-5
    how = dict(cost="height*level", sample_cost="bob.u1^2*level", sample=0.25, step=0.005)
    found = _gate().gradient(2.0, to, **how)
    at = {"k": 0.3, "fade": 0.7, "bob.q1": 1.0}

    def value(name, change):
        moved = at | {name: at[name] + change}
        start = {"bob.q1": moved.pop("bob.q1")}
        return _gate().gradient(2.0, ["k"], initial=start, parameters=moved, **how).value

    for name in to:
        assert found[name] == pytest.approx((value(name, h) - value(name, -h)) / (2 * h), rel=1e-6)


# ------------------------------------------------------------ what is refused


def test_events_and_memories_are_named():
    s = arm.System("stop")
    s.body("ball", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    s.event("ground", "ball.q1", direction=-1, stop=True)
    with pytest.raises(arm.ArmillaryError, match="event 'ground' of 'stop' changes or ends the motion"):
        s.derive().compile().gradient(1.0, ["ball.q1"], final_cost="ball.q1", step=0.01)
    data = {"wind": arm.Signal([0, 1], [0, 1])}
    with pytest.raises(arm.ArmillaryError, match="have data, and its event 'bounce' changes the motion"):
        _ball().gradient(1.0, ["wind"], final_cost="ball.q1", step=0.01, inputs=data)
    with pytest.raises(arm.ArmillaryError, match="'bounce' of 'ball' is touched, not crossed"):
        _ball().gradient(
            0.5, ["e"], final_cost="ball.q1", step=0.01, parameters={"g": 1e-18},
            initial={"ball.q1": 1e-14, "ball.u1": -1e-13},
        )  # fmt: skip
    s = arm.System("delay")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.memory("kept", 0.0, update="b.q1")
    with pytest.raises(arm.ArmillaryError, match="memory 'kept' of 'delay' changes from step to step"):
        s.derive().compile().gradient(1.0, ["b.q1"], final_cost="b.q1", step=0.01)


@pytest.mark.parametrize(
    ("to", "more", "words"),
    [
        (["L"], {}, "give cost=, final_cost= or sample_cost="),
        (["M"], {"final_cost": "tip"}, "there is no parameter, coordinate, speed, state or memory 'M'"),
        ([], {"final_cost": "tip"}, "to= is empty"),
        (["L"], {"final_cost": "tipp"}, "final_cost= 'tipp' cannot be read"),
        (["L"], {"final_cost": "tip", "method": "rodas5p", "step": None}, "'rodas5p' is not one"),
        (["L"], {"final_cost": "sqrt(cart.q1 - 1)"}, "'cart and pole' is nan at t = 10 s"),
        (["L"], {"final_cost": "tip", "step": 2.0, "initial": {"pole.u1": 1e200}}, "diverges"),
        (
            ["F"],
            {
                "final_cost": "tip",
                "inputs": {"F": arm.Signal([0, 0.5, 1], [0, 1, 0], interpolation="smooth")},
            },
            "by 'smooth'",
        ),
    ],
)
def test_wrong_arguments_are_named(to, more, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        cart_pole().gradient(10.0, to, **{"step": 0.1, **more})


def test_a_summary_has_units():
    found = cart_pole().gradient(0.1, ["L", "F"], final_cost="tip", step=0.01, inputs={"F": ([0, 1], [0, 1])})
    assert "per m" in repr(found) and "2 values" in repr(found)
    with pytest.raises(arm.ArmillaryError, match=r"no derivative by 'pole\.q1'"):
        found["pole.q1"]


def test_every_derivative_of_runs_refuses_forces_that_jump_unless_they_are_ignored():
    """Sliding friction −μ sign u from u = 1: q(t) = t − μ t²/2, by one branch alone."""
    s = arm.System("dry")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("mu", 0.3, units="N")
    s.force("friction", "-mu*sign(b.u1)", s.ground.x, at=b.com)
    model = s.derive().compile()
    how = {"initial": {"b.u1": 1.0}, "step": 0.05}

    def array_functions(**ignored):
        return ArrayFunctions(core_of(model), parameters=["mu"], step=0.05, **ignored).step

    calls = {
        "gradient": lambda **ignored: model.gradient(0.1, ["mu"], final_cost="b.q1", **how, **ignored)["mu"],
        "sensitivities": lambda **ignored: model.sensitivities(0.1, ["mu"], ["b.q1"], **how, **ignored).final[
            "b.q1", "mu"
        ],
        "with_sensitivities": lambda **ignored: model.with_sensitivities(["mu"], ["b.q1"], **ignored),
        "to_jax": array_functions,
        "to_torch": array_functions,
    }
    methods = {n: getattr(Model, n) for n in dir(Model) if not n.startswith("_")}
    taking = {n for n, f in methods.items() if callable(f) and "ignore_jumps" in signature(f).parameters}
    assert taking == calls.keys()
    for call in calls.values():
        with pytest.raises(arm.ArmillaryError, match=r"jump with 'sign.*ignore_jumps=True if no run"):
            call()
        found = call(ignore_jumps=True)
        assert not isinstance(found, float) or found == pytest.approx(-(0.1**2) / 2, rel=1e-12)


def test_full_steps_have_exactly_the_length_that_was_given():
    """0.3 − 0.2 is not 0.1 in binary numbers; a sample and a jump divide two of the steps."""
    settings = SimpleNamespace(t0=0.0, t_end=0.7, fixed_step=0.1)
    samples, jumps = np.array([0.25, 0.7]), np.array([0.42])
    grid = _step_grid(settings, 0.1 * np.arange(8), samples, jumps)
    assert grid.lengths[[0, 1, 4, 7, 8]].tolist() == [0.1] * 5
    assert grid.lengths == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.1, 0.02, 0.08, 0.1, 0.1])
    assert [grid.kept[3], grid.kept[9]] == [0, 1] and sum(k >= 0 for k in grid.kept) == 2


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_share_the_rows_of_a_loop_without_gap_or_overlap(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adjoint, "processors", lambda: threads)
    shares = []
    made = SimpleNamespace(
        functions=SimpleNamespace(operations={"rates": SimpleNamespace(total=10**9)}),
        tableau=SimpleNamespace(stages=4),
        _share=lambda entry, arrays, first, last, *more: shares.append(range(first, last)),
    )
    RunMap._call(made, "rates", {}, 10, SimpleNamespace(lengths=np.ones(3)), 0)
    assert len(shares) == threads and sorted(row for rows in shares for row in rows) == list(range(10))
