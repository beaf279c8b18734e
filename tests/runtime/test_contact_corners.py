"""Corners of contact without compliance: slow returns, fixed steps, sizes, units, many points, slips.

Each against a closed form, or against another path.
"""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import armillary as arm
from armillary.algebra.expression import as_expr, number, symbol
from armillary.program.targets.targets import UNDECIDED, _with_contacts

G = 9.81
ROUNDING = 1e-12  # of metres and joules near 1: gaps and gains of energy that are none
PLANAR = arm.Joint(translate=["x", "z"], rotate=["y"])


def add_feet(
    s: arm.System, body: arm.Body, feet: dict[str, tuple[float, float, float]], **law: object
) -> None:
    """Contacts of points with the floor, and outputs of their gaps."""
    for name, place in feet.items():
        foot = body.point(name, place)
        s.contact(name, foot, plane=(s.ground, s.ground.z), **law)
        s.output(f"gap_{name}", arm.dot(arm.position(foot), s.ground.z))
    s.output("energy", s.total_energy())


def least_gap(run: arm.Run) -> float:
    return min(float(run[name].min()) for name in run.names if name.startswith("gap_"))


# ---------------------------------------------------------------- 1: contacts that open slowly and return


@functools.cache
def plank(length: float = 1.0, mass: float = 1.0, turned: bool = False) -> arm.Model:
    """A plank of a metre and a kilogramme on two feet, in units of which a metre has ``length``, and a
    kilogramme ``mass``.
    """
    s = arm.System("plank")
    s.parameter("e", 0.0)
    s.parameter("mu", 0.0)
    s.parameter("I", mass * length**2 / 12, units="kg*m^2")
    body = s.body("b", joint=PLANAR, mass=mass, inertia=("I",) * 3)
    s.gravity(G * length, -s.ground.z)
    feet = {"left": (-0.5 * length, 0.0, 0.0), "right": (0.5 * length, 0.0, 0.0)}
    ordered = dict(reversed(feet.items())) if turned else feet
    add_feet(s, body, ordered, friction="mu", restitution="e", law="poisson")
    return s.derive().compile()


@pytest.mark.parametrize(("e", "mu"), [(0.0, 0.0), (0.4, 0.5)])
def test_a_dropped_plank_stays_above_the_floor_at_every_tilt(e: float, mu: float) -> None:
    """One foot strikes and opens the other at a gap of rounding; without friction it slides for good."""
    for tilt in np.linspace(-1.2, 1.2, 24):
        run = plank().simulate(
            4.0, initial={"b.q2": 1.0, "b.q3": tilt}, parameters={"e": e, "mu": mu}, sample=0.02
        )
        assert least_gap(run) > -ROUNDING, tilt
        assert np.diff(run["energy"]).max() < ROUNDING, tilt
        assert run.final["left_status"] != 0 and run.final["right_status"] != 0, tilt
        assert abs(run.final["b.u2"]) < ROUNDING and abs(run.final["b.u3"]) < ROUNDING, tilt


def test_a_foot_that_leaves_slowly_while_the_other_is_struck_returns() -> None:
    """At the start the left foot rises at 0.01 m/s and the right one is struck at 1 m/s."""
    left, right = 0.01, -1.0
    start = {"b.u2": (left + right) / 2, "b.u3": left - right}
    run = plank().simulate(1.0, initial=start, sample=0.01)
    assert least_gap(run) > -ROUNDING
    assert run.final["left_status"] == run.final["right_status"] == 1


def test_a_foot_that_falls_closes_while_the_drift_of_another_is_removed() -> None:
    """The left foot is lowered by 1 µm; the right one, which it draws down, was held until a step ended."""
    drift, gap, v = 1e-6, 2e-6, 0.01
    start = {"b.q2": (drift + gap) / 2, "b.q3": drift - gap, "b.u1": 0.1, "b.u2": -v / 2, "b.u3": v}
    memory = {"left_status": 2, "right_status": 0}
    run = plank().simulate(2e-3, initial=start, parameters={"I": 1.0}, memory=memory, step=1e-3)
    touch = next(event.time for event in run.events if event.name == "right_touch")
    assert 0.5 * gap / v < touch < gap / v


def test_a_foot_just_below_the_floor_sinks_no_deeper_as_the_drift_of_another_is_removed() -> None:
    """The left foot is lowered by 1 µm, which draws the right one down by 0.6 µm; the right one rises."""
    drift, depth, v = 1e-6, -1e-9, 1e-3
    start = {"b.q2": (drift + depth) / 2, "b.q3": drift - depth, "b.u1": 0.1, "b.u2": v / 2, "b.u3": -v}
    memory = {"left_status": 2, "right_status": 0}
    run = plank().simulate(4e-7, initial=start, parameters={"I": 1.0}, memory=memory, step=1e-7)
    assert abs(run["gap_left"][-1]) < ROUNDING
    assert depth <= run["gap_right"][1:].min() < depth + 1e-9 and not run.events


def fly(t: float, t0: float, z0: float, v0: float) -> tuple[float, float]:
    """Place and speed of the hopper in flight, z̈ = 20 sin 7 t − g, since t₀."""
    lost = v0 + 20 / 7 * math.cos(7 * t0)
    speed = lost - 20 / 7 * math.cos(7 * t) - G * (t - t0)
    waves = 20 / 49 * (math.sin(7 * t) - math.sin(7 * t0))
    return z0 + lost * (t - t0) - waves - G / 2 * (t - t0) ** 2, speed


def hop(end: float, e: float) -> float:
    """The hopper's height at the end, by its closed form from one impact to the next."""
    t0, z0, v0 = 0.0, 0.5, 0.0
    while True:
        times = np.linspace(t0, end, 20_000)[1:]
        heights = np.array([fly(t, t0, z0, v0)[0] for t in times])
        below = np.nonzero((heights[1:] < 0) & (heights[:-1] >= 0))[0]
        if not len(below):
            return fly(end, t0, z0, v0)[0]
        a, b = times[below[0]], times[below[0] + 1]
        t1 = brentq(lambda t, *since: fly(t, *since)[0], a, b, (t0, z0, v0), xtol=1e-15)
        t0, z0, v0 = t1, 0.0, -e * fly(t1, t0, z0, v0)[1]


@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [
        ({"method": "rk4", "step": 1e-3}, 1e-10),
        ({"method": "rk4", "step": 1e-2}, 1e-6),
        ({"method": "midpoint", "step": 1e-3}, 1e-4),
        ({}, 1e-8),
    ],
)
def test_a_hopper_is_caught_at_every_return(settings: dict[str, object], tolerance: float) -> None:
    """A single contact that is pushed up and falls again, with fixed steps too; e = 0.9 keeps it flying."""
    run = hopper().simulate(1.6, initial={"b.q1": 0.5}, sample=0.01, **settings)
    assert abs(run.final["b.q1"] - hop(1.6, 0.9)) < tolerance
    long = hopper().simulate(20.0, initial={"b.q1": 0.5}, sample=0.01, parameters={"e": 0.3}, **settings)
    assert long["b.q1"].min() > -ROUNDING and len(long.events) > 50


@functools.cache
def hopper() -> arm.Model:
    s = arm.System("hopper")
    s.parameter("e", 0.9)
    body = s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    s.gravity(G, -s.ground.z)
    s.force("push", "20*sin(7*t)", s.ground.z, at=body)
    s.contact("floor", body, plane=(s.ground, s.ground.z), restitution="e")
    return s.derive().compile()


def test_a_point_that_grazes_the_floor_within_a_step_is_seen() -> None:
    """A mass on a spring goes down to its floor and below it by ``depth``, at 1 Hz: at most (depth/2)**0.5/π
    seconds, where steps may take a thousandth of the run. The floor takes its speed, and it starts again."""
    s = arm.System("swing")
    s.parameter("e", 0.0)
    mass = s.body("m", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    s.force("spring", "-(2*pi)^2*m.q1", s.ground.z, at=mass)
    floor = s.ground.point("floor", (0, 0, -1.0))
    s.contact("c", mass, plane=(floor, s.ground.z), restitution="e")
    model = s.derive().compile()
    for depth in 10.0 ** np.arange(-9, -1):
        for e in (0.0, 0.5):
            run = model.simulate(
                1.0, initial={"m.q1": 1 + depth}, sample=1e-4, parameters={"e": e}, max_steps=3000
            )
            assert run["m.q1"].min() > -1 - ROUNDING, depth
            assert abs(run.events[0].time - (math.pi - math.acos(1 / (1 + depth))) / (2 * math.pi)) < 1e-7
            # Its amplitude afterwards: (2π)² (1 − a²) + e² v² = 0 with v² = (2π)² ((1 + depth)² − 1).
            amplitude = math.sqrt(1 + e * e * ((1 + depth) ** 2 - 1))
            assert abs(math.hypot(run.final["m.q1"], run.final["m.u1"] / (2 * math.pi)) - amplitude) < 1e-9


def test_rebounds_between_two_stops_that_both_touch_are_left_out() -> None:
    """By Newton's law both stops would have to let go of the slide between them, which they cannot."""
    s = arm.System("slide")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.stop("low", "b.q1", lower=0.0, restitution=0.5)
    s.stop("high", "b.q1", upper=0.0, restitution=0.7)
    run = s.derive().compile().simulate(1.0, initial={"b.u1": -2.0})
    assert np.all(run["b.q1"] == 0) and np.all(run["b.u1"] == 0)
    assert "1 impact without rebound" in str(run.info["contacts"])


# ---------------------------------------------------------------- 2: fixed steps keep the contact force


def test_a_rod_that_slides_with_its_tip_on_the_floor_has_fourth_order_in_the_step() -> None:
    """Its mass centre falls on a line: (J + (m/4) cos² θ) θ̈ = (m/4) sin θ cos θ θ̇² − (m g/2) cos θ."""

    def rates(_: float, x: np.ndarray) -> list[float]:
        angle, turn = x
        sine, cosine = math.sin(angle), math.cos(angle)
        return [turn, (sine * cosine * turn**2 / 4 - G / 2 * cosine) / (1 / 12 + cosine**2 / 4)]

    exact = solve_ivp(rates, (0, 0.3), [1.2, 0.0], method="DOP853", rtol=1e-13, atol=1e-14).y[0, -1]
    s = arm.System("rod")
    body = s.body("b", joint=PLANAR, mass=1.0, inertia=(1 / 12,) * 3)
    s.gravity(G, -s.ground.z)
    add_feet(s, body, {"tip": (0.5, 0, 0)})
    model, start = s.derive().compile(), {"b.q2": 0.5 * math.sin(1.2), "b.q3": 1.2}
    errors = []
    for step in (1e-2, 5e-3, 1e-3):
        run = model.simulate(0.3, initial=start, method="rk4", step=step, sample=0.1)
        assert np.abs(run["gap_tip"]).max() < ROUNDING
        errors.append(abs(run.final["b.q3"] - exact))
    assert 14 < errors[0] / errors[1] < 18  # 2⁴
    assert errors[2] < 1e-11
    assert np.ptp(run["energy"]) < 1e-10


def test_a_block_follows_a_floor_that_moves_until_it_cannot() -> None:
    """z = 0.02 sin ω t: with fixed steps the block stays on it while ω² z < g, and leaves it at ω² z = g."""
    s = arm.System("shaker")
    s.parameter("omega", 20.0)
    floor = s.body("floor", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    s.prescribe(floor.u1, "0.02*omega*cos(omega*t)")
    block = s.body("block", joint=arm.Prismatic("z"), mass=2.0, inertia=0)
    s.gravity(G, -s.ground.z)
    s.contact("feet", block, plane=(floor, floor.z))
    model = s.derive().compile()
    run = model.simulate(1.0, initial={"block.u1": 0.4}, method="rk4", step=0.01)
    assert run.events == ()
    assert np.abs(run["block.q1"] - run["floor.q1"]).max() < ROUNDING
    assert np.abs(run["feet"] - 2 * (G - 400 * 0.02 * np.sin(20 * run.time))).max() < 1e-9
    run = model.simulate(0.06, initial={"block.u1": 0.6}, parameters={"omega": 30.0}, method="rk4", step=1e-3)
    leaves = math.asin(G / (900 * 0.02)) / 30
    assert [event.name for event in run.events] == ["feet_touch"]
    assert abs(run.events[0].time - leaves) < 1e-9


# ---------------------------------------------------------------- 3: the start of a run


def test_a_contact_that_slides_at_the_start_slides_in_the_impact_of_another() -> None:
    """P_l + P_r = m 0.1 and friction μ of it: u₁ = 2 − 0.3·0.1, both feet closed afterwards."""
    s = arm.System("two feet")
    body = s.body("b", joint=PLANAR, mass=1.0, inertia=(0.1,) * 3)
    add_feet(s, body, {"left": (-1, 0, -0.2), "right": (1, 0, -0.2)}, friction=0.3)
    s.gravity(G, -s.ground.z)
    start = {"b.q2": 0.2, "b.u1": 2.0, "b.u2": -0.1, "b.u3": 0.1}
    run = s.derive().compile().simulate(0.1, initial=start, sample=0.1)
    assert abs(run["b.u1"][0] - (2 - 0.03)) < ROUNDING
    assert abs(run["b.u2"][0]) < ROUNDING and abs(run["b.u3"][0]) < ROUNDING
    assert abs(run.final["b.u1"] - (2 - 0.03 - 0.3 * G * 0.1)) < 1e-9


# ---------------------------------------------------------------- 4: sizes and units


@pytest.mark.parametrize("size", [1e-14, 1e-6, 1.0, 1e6, 1e17])
def test_a_brake_holds_wheels_of_every_size(size: float) -> None:
    """It stops a turn of 1 rad/s under a load of half its capacity after 2 s and 1 rad, and holds it."""
    run = wheel().simulate(1000.0, initial={"w.u1": 1.0}, parameters={"size": size}, sample=10.0)
    assert [event.name for event in run.events] == ["drum_grip"]
    assert abs(run.events[0].time - 2) < 1e-9
    assert np.ptp(run["w.q1"][1:]) < ROUNDING and abs(run.final["w.q1"] - 1) < 1e-9


@functools.cache
def wheel() -> arm.Model:
    s = arm.System("wheel")
    s.parameter("size", 1.0)
    body = s.body("w", joint=arm.Revolute("z"), mass=0, inertia=("size",) * 3)
    s.moment("load", "0.5*size", s.ground.z, on=body)
    s.brake("drum", body.q1, capacity="size")
    return s.derive().compile()


@pytest.mark.parametrize("mass", [1e-14, 1e-3, 1e12])
def test_bodies_of_every_mass_lift_off_where_the_force_is_their_weight(mass: float) -> None:
    run = lift().simulate(1.0, parameters={"mass": mass}, step=1e-2)
    assert abs(run.events[0].time - 0.5) < 1e-9
    assert abs(run.final["b.q1"] - G * (1 / 3 - 1 / 2 + 1 / 4 - 1 / 24)) < 1e-9  # ∬ g (2 t − 1)
    assert run.final["floor_status"] == 0


@functools.cache
def lift() -> arm.Model:
    s = arm.System("lift")
    s.parameter("mass", 1.0)
    body = s.body("b", joint=arm.Prismatic("z"), mass="mass", inertia=0)
    s.gravity(G, -s.ground.z)
    s.force("up", f"mass*{G}*2*t", s.ground.z, at=body)
    s.contact("floor", body, plane=(s.ground, s.ground.z))
    return s.derive().compile()


def drop(model: arm.Model, length: float = 1.0) -> arm.Run:
    """A plank that bounces, slides and comes to rest; lengths in units of which a metre has ``length``."""
    start = {"b.q2": length, "b.q3": 0.3, "b.u1": 0.5 * length}
    return model.simulate(3.0, initial=start, parameters={"e": 0.4, "mu": 0.5}, sample=0.05)


@pytest.mark.parametrize(("length", "mass"), [(1e3, 1e-3), (1e2, 1e3)], ids=["mm-t-s", "cm-g-s"])
def test_other_units_give_the_same_run(length: float, mass: float) -> None:
    here, there = drop(plank()), drop(plank(length, mass), length)
    assert [event.name for event in here.events] == [event.name for event in there.events]
    for name, size in (("b.q1", length), ("b.q2", length), ("b.q3", 1.0)):
        assert np.abs(here[name] - there[name] / size).max() < 1e-9, name


def test_contacts_in_another_order_give_the_same_run() -> None:
    here, there = drop(plank()), drop(plank(turned=True))
    for name in ("b.q1", "b.q2", "b.q3"):
        assert np.abs(here[name] - there[name]).max() < 1e-9, name


# ---------------------------------------------------------------- 5: overlap and long flights


@functools.cache
def ball() -> arm.Model:
    s = arm.System("ball")
    s.parameter("g", G)
    s.parameter("e", 0.5)
    body = s.body("ball", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    s.gravity("g", -s.ground.z)
    s.contact("floor", body, plane=(s.ground, s.ground.z), restitution="e")
    return s.derive().compile()


def test_an_overlap_at_the_start_is_refused_with_its_name_and_depth() -> None:
    with pytest.raises(
        arm.ArmillaryError, match=r"contact 'floor' of 'ball' overlaps by 1 m where the run starts"
    ):
        ball().simulate(1.0, initial={"ball.q1": -1.0})
    with pytest.raises(arm.ArmillaryError, match=r"overlaps by 0\.5 m .* \(1 more overlap too\)"):
        plank().simulate(1.0, initial={"b.q2": -0.5})


@pytest.mark.parametrize("g", [1e-6, 1e-3, 1.0, 1e3])
def test_bounces_end_at_their_limit_in_every_gravity(g: float) -> None:
    """t₁ (1 + e)/(1 − e) with t₁ the first fall, which is 1414 s long for the smallest g."""
    first = math.sqrt(2 / g)
    for e in (0.0, 0.3, 0.6, 0.9):
        end = first * (1 + e) / (1 - e)
        run = ball().simulate(
            1.2 * end, initial={"ball.q1": 1.0}, parameters={"g": g, "e": e}, sample=end / 50
        )
        assert run.final["floor_status"] == 1 and abs(run.final["ball.q1"]) < ROUNDING
        assert abs(run.events[-1].time - end) < 1e-4 * end


# ---------------------------------------------------------------- 7: two directions of slip


def test_a_puck_stops_on_a_line_after_its_way() -> None:
    """v²/(2 μ g) in the direction of the throw."""
    s = arm.System("puck")
    body = s.body("p", joint=arm.Joint(translate=["x", "y", "z"]), mass=0.3, inertia=0)
    s.gravity(G, -s.ground.z)
    s.contact("ice", body.point("face", (0, 0, -0.01)), plane=(s.ground, s.ground.z), friction=0.2)
    model = s.derive().compile()
    for angle in (0.0, 0.7, 2.5, -1.3):
        along = np.array([math.cos(angle), math.sin(angle)])
        start = {"p.q3": 0.01, "p.u1": 3 * along[0], "p.u2": 3 * along[1]}
        run = model.simulate(3.0, initial=start, sample=0.01)
        place = np.column_stack([run["p.q1"], run["p.q2"]])
        assert np.abs(place @ [-along[1], along[0]]).max() < ROUNDING
        assert abs(place[-1] @ along - 9 / (2 * 0.2 * G)) < 1e-9
        assert abs(run.events[0].time - 3 / (0.2 * G)) < 1e-9
        assert abs(run.final["p.u1"]) < ROUNDING and abs(run.final["p.u2"]) < ROUNDING


RADIUS = 0.1


@functools.cache
def bowl() -> arm.Model:
    s = arm.System("bowl")
    body = s.body("b", joint=arm.Free(), mass=2.0, inertia=(0.4 * 2.0 * RADIUS**2,) * 3)
    s.gravity(G, -s.ground.z)
    s.contact("floor", body, plane=(s.ground, s.ground.z), friction=0.3, radius=RADIUS)
    for axis in "xyz":
        s.output(f"w{axis}", arm.dot(arm.angular_velocity(body), getattr(s.ground, axis)))
    return s.derive().compile()


@pytest.mark.parametrize(
    ("v", "w"),
    [((2.0, 0.0), (0.0, 0.0, 0.0)), ((1.5, -0.7), (3.0, -15.0, 4.0))],
    ids=["thrown", "thrown and spinning"],
)
def test_a_ball_slides_on_a_parabola_until_it_rolls(v: tuple[float, ...], w: tuple[float, ...]) -> None:
    """Friction keeps the direction of the first slip s = v + ω × (−r n), and takes 2/7 of it from v.

    Without spin it rolls at 5/7 v. The turn about the vertical stays.
    """
    speed, turn = np.array([*v, 0.0]), np.array(w)
    slip = speed + np.cross(turn, [0, 0, -RADIUS])
    size = float(np.linalg.norm(slip))
    rolls, ends = 2 * size / (7 * 0.3 * G), speed - 2 / 7 * slip
    start = {"b.q3": RADIUS, "b.u1": v[0], "b.u2": v[1], "b.u4": w[0], "b.u5": w[1], "b.u6": w[2]}
    run = bowl().simulate(2.0, initial=start, sample=0.02)
    assert {event.name for event in run.events} == {"floor_grip"}
    assert all(abs(event.time - rolls) < 1e-9 for event in run.events)
    slides = np.minimum(run.time, rolls)[:, None]
    place = speed * slides - 0.15 * G * slip / size * slides**2 + ends * (run.time[:, None] - slides)
    for k, name in enumerate(("b.q1", "b.q2")):
        assert np.abs(run[name] - place[:, k]).max() < 1e-8
        assert abs(run.final[f"b.u{k + 1}"] - ends[k]) < 1e-9
    assert abs(run.final["b.u1"] - RADIUS * run.final["wy"]) < ROUNDING
    assert abs(run.final["b.u2"] + RADIUS * run.final["wx"]) < ROUNDING
    assert abs(run.final["wz"] - w[2]) < 1e-9


# ---------------------------------------------------------------- 7: many points


HALF = (0.3, 0.2, 0.1)


@functools.cache
def box(law: str = "poisson", turned: bool = False) -> arm.Model:
    """A box whose eight corners touch the floor, with friction in two directions."""
    a, b, c = HALF
    s = arm.System("box")
    inertia = (2 * (b * b + c * c) / 3, 2 * (a * a + c * c) / 3, 2 * (a * a + b * b) / 3)
    body = s.body("box", joint=arm.Free(), mass=2.0, inertia=inertia)
    s.gravity(G, -s.ground.z)
    signs = (-1, 1)
    corners = [(i * a, j * b, k * c) for i in signs for j in signs for k in signs]
    feet = {f"c{n}": corner for n, corner in enumerate(corners)}
    ordered = dict(reversed(feet.items())) if turned else feet
    add_feet(s, body, ordered, friction=0.4, restitution=0.3, law=law)
    return s.derive().compile()


def throw(seed: int) -> dict[str, float]:
    """A box a metre above the floor, at any attitude, with speeds up to 1 m/s and 4 rad/s."""
    random = np.random.default_rng(seed)
    attitude = random.normal(size=4)
    attitude /= np.linalg.norm(attitude)
    speeds = random.uniform(-1, 1, 6) * [1, 1, 1, 4, 4, 4]
    places = dict(zip(("box.q4", "box.q5", "box.q6", "box.q7"), attitude, strict=True))
    return {"box.q3": 1.0, **places, **{f"box.u{i + 1}": x for i, x in enumerate(speeds)}}


def test_thrown_boxes_stay_above_the_floor_and_come_to_rest() -> None:
    """A box rests on a face, of whose corners three are enough, with the energy of its mass centre there."""
    for seed in range(3, 15):
        run = box().simulate(6.0, initial=throw(seed), sample=0.02, max_steps=6000)
        assert least_gap(run) > -ROUNDING
        assert np.diff(run["energy"]).max() < ROUNDING
        assert np.all(np.abs([run.final[f"box.u{i}"] for i in range(1, 7)]) < ROUNDING)
        assert sum(run.final[f"c{n}_status"] != 0 for n in range(8)) in (3, 4)
        assert np.min(np.abs(run.final["energy"] - 2 * G * np.array(HALF))) < 1e-9
        assert abs(sum(run.final[f"c{n}"] for n in range(8)) - 2 * G) < 1e-9


def test_feet_share_friction_as_they_are_loaded() -> None:
    """The left foot bears nine tenths of the weight, and the drag is more than twice what the right one could
    take: both stick, since together they can. How redundant contacts share a force is not for mechanics to
    say; a share above a limit would let a foot slide that nothing moves.
    """
    s = arm.System("plank")
    body = s.body("b", joint=PLANAR, mass=1.0, inertia=(0.1,) * 3, com=(-0.4, 0, 0))
    s.gravity(G, -s.ground.z)
    add_feet(s, body, {"left": (-0.5, 0, 0), "right": (0.5, 0, 0)}, friction=0.5)
    s.force("drag", 0.8 * 0.5 * G, s.ground.x, at=body.point("middle", (0, 0, 0)))
    run = s.derive().compile().simulate(1.0)
    assert run.events == () and abs(run.final["b.u1"]) < ROUNDING
    assert run.final["left_status"] == run.final["right_status"] == 1
    assert abs(run.final["left"] - 0.9 * G) < 1e-6 and abs(run.final["right"] - 0.1 * G) < 1e-6
    for foot in ("left", "right"):
        assert abs(abs(run.final[f"{foot}_friction"]) - 0.8 * 0.5 * run.final[foot]) < 1e-6


def test_a_box_at_rest_stays_where_it_is_for_1000_s() -> None:
    run = box().simulate(1000.0, initial={"box.q3": HALF[2]}, sample=50.0)
    assert run.events == () and run.info["steps"] < 25
    assert max(np.ptp(run[f"box.q{i}"]) for i in range(1, 8)) < 1e-9
    # One force more than the box needs: they are known to ε/SOFT = 2e-9 of their size.
    assert all(abs(run.final[f"c{n}"] - G / 2) < 1e-7 for n in (0, 2, 4, 6))


@pytest.mark.parametrize(("lift", "steps"), [("0", 25), ("20*exp(-(t/tau - 500)**2)", 5000)])
def test_a_body_at_rest_is_seen_to_move(lift: str, steps: int) -> None:
    """Long steps end where a body moves: in a flight of 2 s in 1000 s, or as a ball falls beside a block."""
    s = arm.System("block and ball")
    s.parameter("tau", 1.0, units="s")
    block = s.body("block", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    ball = s.body("ball", joint=arm.Prismatic("z"), mass=1.0, inertia=0)
    s.gravity(10.0, -s.ground.z)
    s.force("lift", lift, s.ground.z, at=block)
    s.contact("floor", block, plane=(s.ground, s.ground.z))
    s.contact("ball_floor", ball, plane=(s.ground, s.ground.z), restitution=0.5)
    model = s.derive().compile()
    at_rest = model.simulate(1000.0, sample=0.1)
    assert at_rest.info["steps"] < steps
    assert (at_rest["block.q1"].max() > 1.0) == (lift != "0")
    falling = model.simulate(1000.0, initial={"ball.q1": 5.0}, sample=0.1)
    assert [e.time for e in falling.events if e.name == "ball_floor_touch"][:2] == pytest.approx([1.0, 2.0])
    assert falling["ball.q1"].min() > -ROUNDING


def test_corners_in_another_order_give_the_same_tumble() -> None:
    here, there = (model.simulate(0.9, initial=throw(5), sample=0.05) for model in (box(), box(turned=True)))
    for i in range(1, 8):
        assert np.max(np.abs(here[f"box.q{i}"] - there[f"box.q{i}"])) < 1e-8


def test_a_run_goes_on_when_all_motion_has_ended_late() -> None:
    """The first step after an event was 1 us where nothing moves, less than the time resolves after 3e8 s."""
    s = arm.System("slow")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.brake("grip", "b.q1", capacity=2e-18)
    run = s.derive().compile().simulate(1e9, initial={"b.u1": 1e-9})
    assert run.info["status"] == "finished"
    assert run["b.q1"][-1] == pytest.approx(0.25, rel=1e-9)


def test_a_brake_slips_under_the_smallest_load_beyond_its_capacity() -> None:
    """Accelerations below 1e-18, in any units, were none, so the brake bore twice its capacity."""
    s = arm.System("weak")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.force("pull", 1e-31, s.ground.x, at=body)
    s.brake("grip", "b.q1", capacity=5e-32)
    run = s.derive().compile().simulate(1e9, atol=1e-24)
    assert abs(run["grip"]).max() <= 5e-32 * (1 + 1e-9)
    assert run["b.q1"][-1] == pytest.approx(0.5 * 5e-32 * 1e18, rel=1e-9)


def test_an_event_that_sets_a_speed_decides_the_contacts_again_and_one_of_a_memory_does_not() -> None:
    status, m = symbol("status", "memory"), symbol("m", "memory")
    u = symbol("u", "speed")
    contacts = SimpleNamespace(changes={}, statuses=[status])
    watched = [SimpleNamespace(direction=0, changes={changed: None}) for changed in (u, m)]
    before = [status, m, u]
    kicked, counted = _with_contacts(
        contacts, watched, [(status, m, number(2)), (status, number(1), u)], before
    )
    assert [as_expr(x) for x in kicked] == [as_expr(UNDECIDED), m, number(2)]
    assert list(counted) == [status, number(1), u]
