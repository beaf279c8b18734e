"""Derivatives of runs: against closed forms, differences of runs, and JAX."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ParameterError
from armillary.stages.model import Model
from examples import bouncing_ball, four_bar, slider_crank, spacecraft_2, stanford_arm
from tests.analysis.differences import NEAR, TIGHT, assert_derivatives
from tests.loading import loaded


@cache
def oscillator(k: float = 400.0) -> Model:
    s = arm.System("oscillator")
    s.parameter("k", k, units="N/m")
    s.parameter("m", 4000.0, units="g")
    b = s.body("b", joint=arm.Prismatic("x"), mass="m", inertia=0)
    s.force("spring", "-k*b.q1", s.ground.x, at=b.com)
    s.output("x", b.q1, units="mm")
    return s.derive().compile()


SPRING = ["k", "m", "b.q1", "b.u1"]


def test_oscillator_has_its_closed_form() -> None:
    """x = x₀ cos ωt + (v₀/ω) sin ωt with ω² = k/m, here 100; m in grams and x in mm."""
    x0, v0, w, m = 0.3, 0.5, 10.0, 4.0
    s = oscillator().sensitivities(2.0, SPRING, initial={"b.q1": x0, "b.u1": v0}, sample=0.01, **TIGHT)
    t = s.time
    by_w = -x0 * t * np.sin(w * t) + v0 * (t * np.cos(w * t) / w - np.sin(w * t) / w**2)
    expected = {
        "k": 1e3 * by_w / (2 * m * w),
        "m": 1e3 * by_w * (-w / (2 * m)) * 1e-3,
        "b.q1": 1e3 * np.cos(w * t),
        "b.u1": 1e3 * np.sin(w * t) / w,
    }
    for name, values in expected.items():
        assert s["x", name] == pytest.approx(values, rel=0, abs=1e-9 * np.max(np.abs(values)))
    units = {name: s.units["x", name] for name in s.to}
    assert units == {"k": "mm/(N/m)", "m": "mm/g", "b.q1": "mm/m", "b.u1": "mm/(m/s)"}
    assert s.run["x"] == pytest.approx(1e3 * (x0 * np.cos(w * t) + v0 / w * np.sin(w * t)), abs=1e-8)
    assert s.scaled["x", "k"] == pytest.approx(400.0 * s["x", "k"]) and s.scaled.units["x", "k"] == "mm"
    assert np.array_equal(s.scaled.scaled.values, s.scaled.values)


def test_tolerances_of_derivatives_follow_the_parameters_of_the_run() -> None:
    """The size of k, by which its derivatives are judged, is what it is in the run: steps and numbers are
    those of a model with this default.
    """
    how: dict[str, Any] = {"initial": {"b.q1": 0.3}, "sample": 0.1, "rtol": 1e-5, "atol": 1e-7}
    own = oscillator().sensitivities(2.0, ["k"], ["x"], **how)
    other = oscillator(1e-3).sensitivities(2.0, ["k"], ["x"], parameters={"k": 400.0}, **how)
    assert other.run.info["steps"] == own.run.info["steps"]
    assert other["x", "k"] == pytest.approx(own["x", "k"], rel=1e-12, abs=1e-15)
    at_zero = oscillator().sensitivities(
        1.0, ["k"], ["x"], parameters={"k": 0.0}, sample=0.1, initial={"b.q1": 0.3}
    )
    assert at_zero["x", "k"] == pytest.approx(-1e3 * 0.3 * at_zero.time**2 / 2 / 4.0, rel=1e-9)


@cache
def skate() -> Model:
    """An edge on a slope, which slips sideways at a given speed c: a system with a speed constraint alone."""
    s = arm.System("skate")
    s.parameter("g", 1.3, units="m/s^2")
    s.parameter("c", 0.2, units="m/s")
    b = s.body("b", joint=arm.Planar("z"), mass=1, inertia=(0.1, 0.1, 0.1))
    s.constrain(arm.dot(arm.velocity(b.origin), b.y) - s.parameters["c"], name="edge")
    s.gravity("g", -s.ground.y)
    return s.derive().compile()


def test_a_skate_has_its_closed_form() -> None:
    """It turns at w: θ = wt, and along the edge v̇ = w c − g sin θ, so that with ẋ = v cos θ − c sin θ

    ∂x/∂v₀ = sin θ/w    ∂x/∂g = (t/2 + sin 2θ/4w − sin θ/w)/w    ∂x/∂c = t sin θ + 2 (cos θ − 1)/w
    """
    w = 1.5
    names = ["b.u1", "g", "c"]
    s = skate().sensitivities(2.0, names, initial={"b.u1": 0.7, "b.u3": w}, sample=0.1, **TIGHT)
    t, turned = s.time, w * s.time
    expected = {
        "b.u1": np.sin(turned) / w,
        "g": (t / 2 + np.sin(2 * turned) / (4 * w) - np.sin(turned) / w) / w,
        "c": t * np.sin(turned) + 2 * (np.cos(turned) - 1) / w,
    }
    for name, values in expected.items():
        assert s["b.q1", name] == pytest.approx(values, rel=0, abs=1e-8), name
    alone = skate().sensitivities(2.0, ["g"], initial={"b.u1": 0.7, "b.u3": w}, sample=0.1, **TIGHT)
    assert alone["b.q1", "g"] == pytest.approx(expected["g"], rel=0, abs=1e-8)


def test_a_start_by_its_dependent_speed_moves_with_what_the_constraint_gives() -> None:
    """−u₁ sin θ + u₂ cos θ = c with u₂ named: ∂u₁/∂c = −1/sin θ and ∂u₁/∂θ = −(u₂ − c cos θ)/sin²θ."""
    angle, u2, c = 0.6, 0.5, 0.2
    s = skate().sensitivities(0.01, ["c", "b.q3"], initial={"b.q3": angle, "b.u2": u2})
    assert s.run["b.u1"][0] == pytest.approx((u2 * np.cos(angle) - c) / np.sin(angle), rel=1e-12)
    assert s["b.u1", "c"][0] == pytest.approx(-1 / np.sin(angle), rel=1e-12)
    by_angle = -(u2 - c * np.cos(angle)) / np.sin(angle) ** 2
    assert s["b.u1", "b.q3"][0] == pytest.approx(by_angle, rel=1e-12)


def test_pendulum_of_small_swing_has_its_closed_form() -> None:
    """q = q₀ cos ωt, ω² = g/L: dq/dL = q₀ t sin(ωt) ω/(2L). q₀ = 1e-4: the next order is q₀² = 1e-8 of it."""
    s = arm.System("pendulum")
    s.parameter("L", 0.8, units="m")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    found = s.derive().compile().sensitivities(3.0, ["L"], initial={bob.q1: 1e-4}, atol=1e-17, sample=0.1)
    w = np.sqrt(9.81 / 0.8)
    expected = 1e-4 * found.time * np.sin(w * found.time) * w / 1.6
    assert found["bob.q1", "L"] == pytest.approx(expected, rel=0, abs=1e-7 * np.max(np.abs(expected)))


def test_bouncing_ball_has_its_closed_form() -> None:
    """After the first bounce y = e√(2gh)(t − t₁) − g(t − t₁)²/2, and t₁ = √(2h/g) moves with g and h."""
    g, e, h = 9.81, 0.8, 1.0
    t1 = np.sqrt(2 * h / g)
    times = np.linspace(t1 + 0.05, t1 * (1 + 2 * e) - 0.05, 20)
    model = bouncing_ball.system().derive().compile()
    for how in (TIGHT, {"step": 0.01}):
        s = model.sensitivities(
            float(times[-1]), ["g", "e", "ball.q1"], initial={"ball.q1": h}, sample=times, **how
        )
        x = times - t1
        slope = -e * np.sqrt(2 * g * h) + g * x  # of y by t₁
        assert s["ball.q1", "e"] == pytest.approx(np.sqrt(2 * g * h) * x, abs=1e-11)
        by_g = e * np.sqrt(h / (2 * g)) * x - x**2 / 2 + slope * (-t1 / (2 * g))
        assert s["ball.q1", "g"] == pytest.approx(by_g, abs=1e-11)
        by_h = e * np.sqrt(g / (2 * h)) * x + slope * t1 / (2 * h)
        assert s["ball.q1", "ball.q1"] == pytest.approx(by_h, abs=1e-11)


@cache
def robot() -> Model:
    return stanford_arm.system().derive().compile()


ROBOT: tuple[list[str], list[str]] = (["K1", "MC", "C.u1"], ["A.q1", "B.u1", "C.q1"])


def test_arm_is_that_of_differences() -> None:
    """With fixed steps both are derivatives of the same map."""
    assert_derivatives(robot(), 1.0, *ROBOT, 1e-6, sample=0.1, step=0.002)


def test_spacecraft_is_that_of_differences_and_keeps_its_momentum() -> None:
    model = spacecraft_2.system().derive().compile()
    how: dict[str, Any] = {"initial": spacecraft_2.START, "sample": 5.0, "step": 0.05}
    s = assert_derivatives(model, 100.0, ["K", "W.u6"], ["A1.q1", "W.u5"], 1e-6, also=["hz"], **how)
    assert np.ptp(s["hz", "W.u6"]) < 1e-10 * s["hz", "W.u6"][0]  # what is conserved, is so for every start
    assert np.max(np.abs(s.scaled["hz", "K"])) < 1e-13  # and no spring inside changes it


def test_closed_loop_moves_with_its_lengths() -> None:
    """The assembled start, too: the other cranks follow A.q1 and the lengths."""
    model = four_bar.system().derive().compile()
    of = ["A.q1", "B.q1", "C.q1", "C.u1", "pull"]
    to = ["L1", "A.q1", "A.u1"]
    initial = {"A.q1": -0.5, "A.u1": 0.2}
    also = ["gap along ground.x"]
    s = assert_derivatives(model, 1.0, to, of, NEAR, also, initial=initial, sample=0.05, step=0.002)
    assert np.max(np.abs(s.scaled["gap along ground.x"])) < 1e-14  # the loop stays closed, whatever changes


def test_dependent_speeds_are_exchanged_on_the_way() -> None:
    model = slider_crank.system(True).derive().compile()
    s = assert_derivatives(
        model,
        0.3,
        ["a", "A.u1"],
        ["A.q1", "C.u1"],
        1e-6,
        initial={"A.q1": 0.5, "A.u1": 20.0},
        sample=0.05,
        step=0.0005,
    )
    assert "became independent" in s.run.info["configurations"]


@cache
def tumbler(formalism: str) -> Model:
    """A top on a ball joint, with a lid on its inertia; Euler parameters."""
    s = arm.System("tumbler")
    s.parameter("J", 1.5, units="kg*m2")
    s.parameter("k", 0.3, units="N*m*s")
    a = s.body("a", joint=arm.Spherical(), com=(0, 0, 0.2), mass=1.0, inertia=("J", 1.0, 0.7))
    s.gravity(9.81, -s.ground.z)
    s.moment("drag", "-k*a.u1", a.x, on=a)
    s.output("height", arm.dot(arm.position(a.com), s.ground.z))
    return s.derive(formalism).compile()


TURNED = {"a.q1": 1.0, "a.q2": 0.5, "a.u1": 1.0, "a.u2": 0.5, "a.u3": 2.0}  # Euler parameters not yet unit


TUMBLING = ["J", "k", "a.q2", "a.u3"]


@pytest.mark.parametrize(("formalism", "how"), [("kane", {"step": 0.002}), ("momentum", TIGHT)])
def test_euler_parameters_stay_on_their_sphere(formalism: str, how: dict[str, Any]) -> None:
    of, rest = ["a.q1", "a.q3", "a.u2", "height"], ["a.q2", "a.q4"]
    s = assert_derivatives(
        tumbler(formalism), 2.0, TUMBLING, of, NEAR, rest, initial=TURNED, sample=0.1, **how
    )
    off = sum(s.run[f"a.q{i}"] * s[f"a.q{i}", "J"] for i in (1, 2, 3, 4))
    assert np.max(np.abs(off)) < 1e-14


def test_euler_parameters_that_close_a_loop() -> None:
    """A tethered top of two freedoms: two names tell where it starts, one leaves it to how it is turned."""
    s = arm.System("tethered top")
    s.parameter("L", 0.9, units="m")
    a = s.body("a", joint=arm.Spherical(), com=(0.3, 0.4, 0.1), mass=1.0, inertia=(1, 1.2, 0.7))
    s.close_joint("distance", a.com, s.ground.point("hook", (1.0, -0.2, 0.3)), length="L")
    model = s.derive().compile()
    all_four = ["a.q1", "a.q2", "a.q3", "a.q4"]
    initial = {"a.q2": 0.1, "a.q4": -0.2}
    assert_derivatives(model, 0.0, ["L", "a.q2"], all_four, NEAR, initial=initial, step=0.01)
    with pytest.raises(ParameterError, match=r"how the loops .* are closed .*values that close"):
        model.sensitivities(0.0, ["a.q2"], all_four, initial={"a.q2": 0.1}, step=0.01)


def test_memory_has_derivatives_of_its_own() -> None:
    """Sampled and per-step memories, and their initial values; with fixed steps differences are of a map."""
    s = arm.System("slider")
    for name, value, units in (("k", 40.0, "N/m"), ("gain", 8.0, "N/m")):
        s.parameter(name, value, units=units)
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.memory("push", 0.0, update="-gain*a.q1", every=0.05, units="N")
    s.memory("lag", 0.1, update="0.9*lag + 0.1*k*a.q1", units="N")
    s.memory("offset", 0.0, units="N")
    s.memories["offset"] = replace(s.memories["offset"], start=s.expression("k*a.q1"))
    s.force("pull", "-k*a.q1 + push + lag + 0.1*offset", a.x, at=a.com)
    model = s.derive().compile()
    to, of = ["k", "gain", "a.q1"], ["a.q1", "push", "lag", "offset"]
    assert_derivatives(model, 1.0, to, of, 1e-8, initial={"a.q1": 0.3}, step=0.01)
    found = model.sensitivities(1.0, ["lag"], ["a.q1"], step=0.01)
    ends = [model.simulate(1.0, step=0.01, memory={"lag": 0.1 + d})["a.q1"] for d in (1e-3, -1e-3)]
    assert found["a.q1", "lag"] == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=1e-11)  # it is linear


def test_events_that_switch_a_force_move_with_parameters() -> None:
    """One at a time that is a parameter, one at a place; each leaves another force."""
    s = arm.System("rocket")
    for name, value, units in (("T", 0.5, "s"), ("F", 10.0, "N"), ("top", 1.2, "m")):
        s.parameter(name, value, units=units)
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.memory("on", 1.0)
    s.memory("when", 0.0, units="s")
    s.event("cut", s.time - s.parameters["T"], direction=1, set={"on": 0.0})
    s.event("turn", a.q1 - s.parameters["top"], direction=1, set={"on": -0.7, "when": s.time})
    s.force("push", "F*on - 0.2*a.u1 + 3*when/T", a.x, at=a.com)
    model = s.derive().compile()
    to, of = ["T", "F", "top", "a.u1"], ["a.q1", "a.u1", "when"]
    assert_derivatives(model, 2.0, to, of, NEAR, initial={"a.u1": 0.1}, sample=0.0731, **TIGHT)


def test_placed_mass_centres_and_angles_in_degrees() -> None:
    s = arm.System("craft", units="SI-deg")
    s.parameter("arm", 0.4, units="m")
    s.parameter("m", 2.0, units="kg")
    hub = s.body("hub", joint=arm.Free(rotation="zyx"), mass=3.0, inertia=(1, 1, 1))
    s.body(
        "panel", hub, arm.Revolute("y"), at=("arm", 0, 0), com=(0.3, 0, 0), mass="m", inertia=(0.1, 0.1, 0.1)
    )
    s.moment("spring", "-0.5*panel.q1", hub.y, on="panel", reaction=hub)
    s.start_mass_centre(hub, position=(1, 2, 3), velocity=(0, 0, 0.1))
    model = s.derive().compile()
    to, of = ["arm", "m", "panel.q1", "hub.u6"], ["hub.q1", "hub.u1", "panel.q1"]
    initial = {"panel.q1": 30.0, "hub.u6": 10.0}
    found = assert_derivatives(model, 2.0, to, of, NEAR, initial=initial, sample=0.1, h=1e-4, step=0.01)
    assert found.units["panel.q1", "m"] == "deg/kg"
    assert found["panel.q1", "panel.q1"][0] == pytest.approx(1.0)


def test_drag_from_rest_has_derivatives() -> None:
    """The slope of √(v²) is infinite at rest; that of |v| v is not."""
    s = arm.System("sled")
    s.parameter("c", 0.5, units="N*s2/m2")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    b = s.body("b", a, arm.Prismatic("y"), mass=1.0, inertia=0)
    s.force("drag", "-c*sqrt(a.u1^2 + b.u1^2)*a.u1", a.x, at=b.com)
    s.force("push", "3*sin(2*t)", a.x, at=b.com)
    assert_derivatives(s.derive().compile(), 2.0, ["c"], ["a.q1", "a.u1"], 1e-6, sample=0.1, step=0.01)


def test_batches_give_the_sensitivities_of_single_runs() -> None:
    model = robot().with_sensitivities(*ROBOT)
    gains, starts = np.linspace(2.0, 4.0, 5), np.linspace(-0.5, 0.5, 5)
    column = "d(A.q1)/d(K1)"
    how: dict[str, Any] = {"step": 0.002, "sample": 0.1}
    batch = model.simulate_batch(
        0.5, parameters={"K1": gains}, initial={"C.u1": starts}, outputs=[column], **how
    )
    for i in (0, 3):
        run = model.simulate(0.5, parameters={"K1": gains[i]}, initial={"C.u1": starts[i]}, **how)
        assert batch[column][i] == pytest.approx(run[column], rel=1e-13)


def test_tables_of_sensitivities() -> None:
    pytest.importorskip("xarray", reason="needs armillary[data]")
    s = oscillator().sensitivities(1.0, SPRING, initial={"b.q1": 0.2}, sample=0.5)
    data = s.to_xarray()
    assert data["x"].dims == ("time", "to") and list(data["per"].values) == ["N/m", "g", "m", "m/s"]
    assert float(data["x"].sel(to="k").isel(time=-1)) == s.final["x", "k"]
    assert s.to_pandas()["x", "k"].to_numpy() == pytest.approx(s["x", "k"])
    assert repr(s).splitlines()[1].split() == ["k", "m", "b.q1", "b.u1", "(per", "m/s)"]  # b.u1 starts at 0
    again = oscillator().with_sensitivities(["k"]).sensitivities(1.0, SPRING, sample=0.5)
    assert again.of == ("b.q1", "b.u1", "x")


def test_jax_differentiates_the_exported_rollout_to_the_same(tmp_path: Path) -> None:
    """There every step's projection is differentiated as it is taken: the two differ by O(h⁵)."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    model, step, steps = tumbler("kane"), 0.002, 200
    module = loaded(model.equations.export("jax", tmp_path / "tumbler"))
    state, memory = jax.numpy.array(module.initial_state(TURNED)), module.initial_memory()

    def rows(x: Any) -> Any:
        return module.rollout(module.Parameters(J=x[0]), state.at[-1].set(x[1]), memory, step, steps).rows

    found = jax.jit(jax.vmap(jax.jacfwd(rows)))(jax.numpy.array([[1.5, 2.0], [1.6, 1.0]]))[0]
    s = model.sensitivities(steps * step, ["J", "a.u3"], step=step, initial=TURNED)
    assert set(s.of) <= set(module.OUTPUT_NAMES)
    for name in s.of:
        np.testing.assert_allclose(found[:, module.OUTPUT_NAMES.index(name)], s[name], rtol=0, atol=1e-9)


def test_sensitivities_pass_kinks_at_the_strictest_tolerances() -> None:
    """Their rates jump where a limit is reached: no step is as short as a tolerance of 1e-13 wants, and one
    of these runs ended with a step that was too small. Against central differences of the motion.
    """
    s = arm.System("limited")
    for name, value, units in (("kp", 20.0, "N/m"), ("w", 3.0, "rad/s"), ("k", 4.0, "N/m")):
        s.parameter(name, value, units=units)
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    command = "kp*(sin(w*t)*0.3 - b.q1)"
    s.force("drive", f"max(-3, min(3, {command})) - k*b.q1 - 0.5*b.u1", s.ground.x, at=b.com)
    s.start({"b.q1": 0.3})
    model = s.derive().compile()
    strict: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-15, "sample": 40.0}
    for kp, w in ((30.0, 1.3), (20.0, 2.1), (35.0, 1.7), (26.0, 3.1)):
        known = {"kp": kp, "w": w}
        found = model.sensitivities(40.0, ["kp", "w"], parameters=known, **strict)
        for name, change in (("kp", 1e-3), ("w", 1e-5)):
            ends = [
                model.simulate(40.0, parameters={**known, name: known[name] + d}, **strict)["b.q1"][-1]
                for d in (-change, change)
            ]
            by_runs = np.diff(ends)[0] / (2 * change)
            assert found["b.q1", name][-1] == pytest.approx(by_runs, rel=1e-4, abs=1e-8)


def test_sensitivities_of_a_motion_without_end_still_stop() -> None:
    s = arm.System("runaway")
    s.parameter("k", 1.0, units="1/s")
    s.state("x", "k*x^2", initial=1.0)
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    with pytest.raises(arm.SimulationError, match=r"stopped at t = 1 s|stopped at t = 0\.99"):
        s.derive().compile().sensitivities(2.0, ["k"])
