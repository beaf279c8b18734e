"""Constraints beside everything else: time, functions, tables, memory, events, units, methods, parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson, solve_ivp

import armillary as arm

G = 9.81
TIGHT = {"rtol": 1e-11, "atol": 1e-12}


# ---------------------------------------------------------------- constraints that depend on time


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
@pytest.mark.parametrize("form", ["position", "speed"])
def test_a_pendulum_that_grows(formalism: str, form: str) -> None:
    """θ̈ = −(g sin θ + 2 L̇ θ̇)/L for a mass on a string of length L = L₀ + v t, let go at a rate θ̇₀."""
    s = arm.System("winch")
    s.body("bob", joint=arm.Planar("z"), mass=2, inertia=(0.1, 0.1, 0.1))
    s.gravity(G, -s.ground.y)
    s.parameter("L0", 1.0, units="m")
    s.parameter("v", 0.2, units="m/s")
    if form == "position":
        s.constrain("sqrt(bob.q1^2 + bob.q2^2) - L0 - v*t", name="string")
    else:
        s.constrain("bob.u1*bob.q1 + bob.u2*bob.q2 - v*sqrt(bob.q1^2 + bob.q2^2)", name="string")
    s.start({"bob.q2": -1.0})
    angle, turning, t_end = 0.5, 0.9, 3.0
    side, down = math.sin(angle), math.cos(angle)
    run = (
        s.derive(formalism)
        .compile()
        .simulate(
            t_end,
            initial={
                "bob.q1": side,
                "bob.q2": -down,
                "bob.u1": 0.2 * side + turning * down,
                "bob.u2": -0.2 * down + turning * side,
            },
            sample=0.5,
            **TIGHT,
        )
    )
    expected = solve_ivp(
        lambda t, y: [y[1], -(G * math.sin(y[0]) + 0.4 * y[1]) / (1 + 0.2 * t)],
        (0, t_end),
        [angle, turning],
        method="DOP853",
        t_eval=run.time,
        rtol=1e-12,
        atol=1e-13,
    ).y[0]
    np.testing.assert_allclose(np.arctan2(run["bob.q1"], -run["bob.q2"]), expected, rtol=0, atol=1e-8)
    length = np.hypot(run["bob.q1"], run["bob.q2"])
    np.testing.assert_allclose(length, 1 + 0.2 * run.time, rtol=0, atol=1e-12 if form == "position" else 1e-8)


def guided_arm(directions: str) -> tuple[arm.System, list[Any]]:
    """Two bars whose tip follows x₀ + r cos wt, r sin wt, in one direction or both."""
    s = arm.System("guided arm")
    N = s.ground
    one = (0.1, 0.1, 0.1)
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=one, com=(0.3, 0, 0))
    B = s.body("B", A, arm.Revolute("z"), at=(0.6, 0, 0), mass=1, inertia=one, com=(0.3, 0, 0))
    s.gravity(G, -N.y)
    tip = B.point("tip", (0.5, 0, 0))
    s.parameter("w", 2.0, units="rad/s")
    s.parameter("r", 0.2, units="m")
    s.parameter("x0", 0.7, units="m")
    guides = {"x": (N.x, "x0 + r*cos(w*t)", "-r*w*sin(w*t)"), "y": (N.y, "r*sin(w*t)", "r*w*cos(w*t)")}
    made = []
    for letter in directions:
        axis, place, rate = guides[letter]
        gap = arm.dot(arm.position(tip), axis) - s.expression(place)
        made.append(s.constrain(gap, name=f"guide {letter}", at=tip, along=axis))
        s.output(f"power {letter}", made[-1].force * s.expression(rate))
        s.output(f"gap {letter}", gap)
    s.start({"A.q1": 0.6, "B.q1": -1.2})
    s.output("energy", s.kinetic_energy() + s.potential_energy())
    return s, made


@pytest.mark.parametrize("directions", ["x", "y", "xy"])
def test_power_of_a_moving_guide_is_the_rate_of_energy(directions: str) -> None:
    """Φ(q, t) = 0 with ∂Φ/∂t at every level: the gap stays closed and ∫ λ ∂(place)/∂t dt = ΔE."""
    s, _ = guided_arm(directions)
    run = s.derive().compile().simulate(1.5, t0=0.25, sample=0.001, **TIGHT)
    work = sum(simpson(run[f"power {d}"], x=run.time) for d in directions)
    assert work == pytest.approx(run["energy"][-1] - run["energy"][0], abs=1e-9)
    assert np.ptp(run["energy"]) > 1
    assert np.max([np.abs(run[f"gap {d}"]) for d in directions]) < 1e-12


def test_a_start_at_another_time_is_closed_at_that_time() -> None:
    s, _ = guided_arm("xy")
    model = s.derive().compile()
    for t in (0.0, 1.0, 7.3):
        out = model.outputs(t, model.state(t=t))
        assert abs(out["gap x"]) < 1e-12
        assert abs(out["gap y"]) < 1e-12


# ---------------------------------------------------------------- functions and tables


def cam(lift: Any) -> arm.System:
    s = arm.System("cam")
    s.body("cam", joint=arm.Revolute("z"), mass=1, inertia=(0.1, 0.1, 0.1))
    s.body("follower", joint=arm.Prismatic("y"), mass=2, inertia=0)
    s.gravity(G, -s.ground.y)
    s.parameter("metre", 1.0, units="m")
    s.function("lift", lift)
    s.constrain("follower.q1 - metre*lift(cam.q1)", name="cam")
    s.output("energy", s.kinetic_energy() + s.potential_energy())
    return s


def test_a_cam_by_a_user_function_keeps_its_energy() -> None:
    s = cam(lambda a: 0.1 * (1 - arm.cos(a)) + 0.02 * arm.sin(2 * a))
    run = s.derive().compile().simulate(2.0, initial={"cam.u1": 10.0}, sample=0.01, **TIGHT)
    a = run["cam.q1"]
    lift = 0.1 * (1 - np.cos(a)) + 0.02 * np.sin(2 * a)
    np.testing.assert_allclose(run["follower.q1"], lift, rtol=0, atol=1e-12)
    assert np.ptp(run["energy"]) < 1e-8


def test_a_cam_by_a_smooth_table_keeps_its_energy() -> None:
    """The curvature jumps at the points, the slope does not: good to the default tolerance."""
    x = np.linspace(-1, 7, 81)
    s = cam(arm.Table(x, 0.1 * (1 - np.cos(x)), kind="smooth"))
    run = s.derive().compile().simulate(0.5, initial={"cam.u1": 10.0}, sample=0.01)
    assert np.ptp(run["energy"]) < 1e-5


def test_a_cam_of_straight_pieces_is_refused() -> None:
    """At its points the follower's speed would jump, and no impulse with it: energy from nowhere."""
    x = np.linspace(-1, 7, 81)
    with pytest.raises(arm.ArmillaryError, match=r"(?s)'cam'.*smooth"):
        cam(arm.Table(x, 0.1 * (1 - np.cos(x)), kind="linear")).derive()


# ---------------------------------------------------------------- a four-bar with everything


def four_bar(units: str = "SI", k: float = 1.0) -> arm.System:
    """Lengths and gravity times k: the same angles in time."""
    s = arm.System("four-bar", units=units)
    N = s.ground

    def bar(
        name: str, mass: float, inertia: float, com: Any, parent: Any = None, at: float = 0.0
    ) -> arm.Body:
        place = tuple(k * x for x in com)
        return s.body(
            name,
            parent,
            arm.Revolute("z"),
            at=(k * at, 0, 0),
            mass=mass,
            inertia=(k * k * inertia,) * 3,
            com=place,
        )

    A = bar("A", 1.0, 0.02, (0.1, 0.01, 0))
    B = bar("B", 2.0, 0.05, (0.3, 0, 0), A, 0.25)
    C = bar("C", 1.5, 0.03, (0.02, 0.2, 0), None, 0.5)
    s.gravity(k * G, -N.y)
    s.parameter("rocker", k * 0.5)
    tip, pin = B.point("tip", (k * 0.6, 0, 0)), C.point("pin", (0, "rocker", 0))
    s.close_loop(tip, pin, [C.x, C.y], name="pin")
    gap = arm.position(tip, pin)
    s.output("gap x", arm.dot(gap, N.x))
    s.output("gap y", arm.dot(gap, N.y))
    s.output("gap", arm.magnitude(gap))
    s.output("energy", s.kinetic_energy() + s.potential_energy())
    return s


@pytest.fixture(scope="module")
def model() -> Any:
    return four_bar().derive().compile()


@pytest.fixture(scope="module")
def reference(model: Any) -> Any:
    return model.simulate(0.5, initial={"A.u1": 9.0}, sample=0.125, rtol=1e-12, atol=1e-13)


METHODS = {
    "rk4": 1e-5,
    "midpoint": 5e-3,
    "dopri5": 1e-6,
    "dop853": 1e-6,
    "rodas5p": 1e-6,
    "auto": 1e-6,
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_loop_closed(method: str, model: Any, reference: Any) -> None:
    """To rounding, whatever the error of the method; angles as well as the method can."""
    step = {"step": 1e-3} if method in ("rk4", "midpoint") else {}
    run = model.simulate(0.5, initial={"A.u1": 9.0}, method=method, sample=0.125, **step)
    np.testing.assert_allclose(run["A.q1"], reference["A.q1"], rtol=0, atol=METHODS[method])
    assert np.max(np.abs([run["gap x"], run["gap y"]])) < 1e-10


def test_a_gap_that_is_zero_has_a_magnitude(reference: Any) -> None:
    assert np.max(np.abs(reference["gap"])) < 1e-7  # the root of rounding, and not NaN


def test_other_units_give_the_same_angles(reference: Any) -> None:
    run = four_bar("in-lb-s", 39.37).derive().compile().simulate(
        0.5, initial={"A.u1": 9.0}, sample=0.125, rtol=1e-12, atol=1e-13
    )  # fmt: skip
    np.testing.assert_allclose(run["A.q1"], reference["A.q1"], rtol=0, atol=1e-9)


def test_a_rod_in_feet_in_a_system_of_inches() -> None:
    s = arm.System("rod", units="in-lb-s")
    bob = s.body("bob", joint=arm.Planar("z"), mass=1, inertia=(1, 1, 1))
    s.gravity(386.0, -s.ground.y)
    s.parameter("L", 1.0, units="ft")
    (rod,) = s.close_joint("distance", bob, s.ground, length="L", name="rod")
    s.start({"bob.q2": -11.0})
    s.output("tension", -rod.force)
    model = s.derive().compile()
    y = model.state()
    assert y[1] == pytest.approx(-12.0)
    assert model.outputs(0.0, y)["tension"] == pytest.approx(386.0)


@pytest.mark.parametrize("rocker", [0.42, 0.55])
def test_another_length_closes_the_loop_elsewhere(model: Any, rocker: float) -> None:
    run = model.simulate(0.5, parameters={"rocker": rocker}, initial={"A.u1": 9.0}, sample=0.1, **TIGHT)
    assert np.max(np.abs([run["gap x"], run["gap y"]])) < 1e-12
    assert np.ptp(run["energy"]) < 1e-7
    assert abs(run["C.q1"][0] - model.state()[2]) > 0.05


@pytest.mark.parametrize(
    ("direction", "words"),
    [
        (lambda g, tilt: g.x, "ground.x"),
        (lambda g, tilt: -2 * g.z, "-ground.z"),
        (lambda g, tilt: 0.6 * g.x - 0.8 * g.y, "0.6*ground.x - 0.8*ground.y"),
        (
            lambda g, tilt: arm.cos(tilt) * g.y - arm.sin(tilt) * g.x,
            "cos(tilt)*ground.y - sin(tilt)*ground.x",
        ),
    ],
)
def test_a_gap_is_named_by_its_direction(direction: Any, words: str) -> None:
    s = arm.System("guide")
    tilt = s.parameter("tilt", 0.3, units="rad")
    body = s.body("b", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    [gap] = s.close_loop(body.origin, s.ground.origin, directions=direction(s.ground, tilt))
    assert gap.name == f"loop1 along {words}"


def test_memory_in_a_load_of_a_loop() -> None:
    """A sampled brake takes energy away and leaves the loop closed."""
    s = four_bar()
    s.parameter("c", 0.1, units="N*m*s")
    s.memory("sampled", 0.0, update="A.u1", every=0.01, units="rad/s")
    s.moment("brake", "-c*sampled", s.ground.z, on="A")
    run = s.derive().compile().simulate(0.5, initial={"A.u1": 9.0}, step=1e-3)
    assert run["energy"][-1] < run["energy"][0] - 0.1
    assert np.max(np.abs([run["gap x"], run["gap y"]])) < 1e-10
    assert len(set(run["sampled"])) > 40


# ---------------------------------------------------------------- events


def test_a_stop_at_a_dependent_coordinate() -> None:
    """The rocker C rebounds with half its speed, though in its turning point before it must be given up."""
    s = four_bar()
    s.start({"B.q1": 0.958, "C.q1": -0.191})
    s.event("stop", "C.q1 - 0.1", direction=1, set={"C.u1": -0.5 * s.bodies["C"].u1})
    run = s.derive().compile().simulate(0.7, initial={"A.u1": 5.0}, sample=0.0005, rtol=1e-10)
    (time,) = (event.time for event in run.events if event.name == "stop")
    after = int(np.searchsorted(run.time, time))
    for name in ("A.u1", "B.u1", "C.u1"):  # at samples up to 0.5 ms away
        assert run[name][after] / run[name][after - 1] == pytest.approx(-0.5, abs=0.02)
    assert np.max(np.abs([run["gap x"], run["gap y"]])) < 1e-10


@pytest.mark.parametrize("target", ["A.q1", "B.q1", "C.q1"])
def test_an_event_that_moves_a_coordinate_leaves_no_loop_open(target: str) -> None:
    """Whether it is dependent or not: the loop is closed again at once, or the model is refused."""
    s = four_bar()
    s.event("jump", "t - 0.05", direction=1, set={target: s.lookup(target) + 0.1})
    run = s.derive().compile().simulate(0.1, initial={"A.u1": 1.0}, step=1e-3)
    assert np.max(np.abs([run["gap x"], run["gap y"]])) < 1e-9
    assert np.max(np.abs(np.diff(run[target]))) > 0.05


def test_a_memory_in_a_position_is_followed_where_an_event_changes_it() -> None:
    s = arm.System("shelf")
    s.body("lift", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.body("bob", "lift", arm.Revolute("z"), mass=1, inertia=0, com=(0, -0.5, 0))
    s.parameter("storey", 0.25, units="m")
    s.memory("floor", 0.5, units="m")
    s.event("call", "t - 0.05", set={"floor": "floor + storey"})
    s.constrain("lift.q1 - floor", name="at floor")
    run = s.derive().compile().simulate(0.1, step=1e-3)
    np.testing.assert_allclose(run["lift.q1"][[0, -1]], [0.5, 0.75], atol=1e-9)


def test_a_clutch_keeps_the_momentum() -> None:
    """Rotors of 2 and 1 kg m² about one axis: locked at 1 s, free at 2 s; effort is what turns the second."""
    s = arm.System("clutch")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(2, 2, 2))
    B = s.body("B", A, arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.moment("drive", 0.5, A.z, on=A)
    s.event("engage", "t - 1", lock="B.q1")
    s.event("release", "t - 2", unlock="B.q1")
    s.output("momentum", 2 * A.u1 + (A.u1 + B.u1))
    s.output("effort", s.effort("B.q1"))
    run = s.derive().compile().simulate(3.0, initial={"A.u1": 1.0, "B.u1": 6.0}, sample=[0.5, 1.5, 2.5])
    np.testing.assert_allclose(run["momentum"], 9 + 0.5 * run.time, rtol=1e-10)
    np.testing.assert_allclose(run["effort"], [0, 0.5 / 3, 0], atol=1e-12)
    assert run["A.u1"][1] == pytest.approx((9 + 0.75) / 3)
    assert run["B.u1"][2] == pytest.approx(-0.125)


def test_a_joint_that_the_user_eliminates_can_be_locked_by_an_event() -> None:
    """Two geared rotors; the one whose speed is given up is braked, and both stand still."""
    s = arm.System("gears")
    for name in "AB":
        s.body(name, joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.body("free", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.constrain("A.u1 + 2*B.u1", name="mesh", eliminate="A.u1")
    s.event("brake", "t - 0.5", lock="A.q1")
    run = s.derive().compile().simulate(1.0, initial={"B.u1": 1.0, "free.u1": 3.0}, sample=[0.25, 0.75])
    np.testing.assert_allclose(run["A.u1"], [-2, 0], atol=1e-12)
    np.testing.assert_allclose(run["B.u1"], [1, 0], atol=1e-12)
    np.testing.assert_allclose(run["free.u1"], 3, rtol=1e-12)


def test_a_loop_grabbed_by_an_event_loses_what_the_impulse_takes() -> None:
    """A pendulum on the coupler is locked: M (u⁺ − u⁻) does no work on any motion that is left.

    For one freedom left with speed ratios c: u⁺ = c (cᵀ M u⁻)/(cᵀ M c), M by numbers from the kinetic energy.
    """
    s = four_bar()
    s.body("D", "B", arm.Revolute("z"), at=(0.3, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1), com=(0.2, 0, 0))
    s.output("T", s.kinetic_energy())
    free = s.derive().compile()
    start = {"A.u1": 5.0, "D.u1": -7.0}
    at = 0.1
    before = free.simulate(at, initial=start, sample=[at], **TIGHT)
    q = [float(before[n][-1]) for n in free.coordinate_names]
    names = free.speed_names  # of A and D, or of others that tell the same

    def kinetic(u: Any) -> float:
        return free.outputs(at, [*q, *u])["T"]

    u0 = np.array([float(before[n][-1]) for n in names])
    unit = np.eye(2)
    M = np.array([[kinetic(a + b) - kinetic(a) - kinetic(b) for b in unit] for a in unit])
    spin = np.array([free.outputs(at, [*q, *e])["D.u1"] for e in unit])
    c = np.array([spin[1], -spin[0]])  # motion with D at rest on B
    after = c * (c @ M @ u0) / (c @ M @ c)
    s.event("grab", f"t - {at}", lock="D.q1")
    run = s.derive().compile().simulate(at + 0.01, initial=start, sample=[at + 1e-9], **TIGHT)
    expected = free.outputs(at, [*q, *after])
    for name in ("A.u1", "B.u1", "C.u1", "D.u1"):
        assert run[name][-1] == pytest.approx(expected[name], abs=1e-6)
    assert expected["T"] < kinetic(u0) - 0.1
