"""Contacts without compliance against closed forms: bounces, rocking, impacts at once, Painlevé's rod."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm

G = 9.81


def ball(restitution: float, law: str = "newton") -> arm.System:
    s = arm.System("ball")
    body = s.body("ball", joint=arm.Prismatic("y"), mass=0.2, inertia=0)
    s.gravity(G, -s.ground.y)
    s.contact("floor", body, plane=(s.ground, s.ground.y), restitution=restitution, law=law)
    return s


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_ball_bounces_to_rest_beyond_the_limit_of_its_bounces(law: str) -> None:
    """Bounce k lasts 2 v eᵏ/g; they end at t₁ (1 + e)/(1 − e), with t₁ the time of the first fall."""
    e, first = 0.8, math.sqrt(2 / G)
    run = ball(e, law).derive().compile().simulate(6.0, initial={"ball.q1": 1.0}, rtol=1e-10)
    found = np.array([event.time for event in run.events])
    expected = first + 2 * first * np.cumsum([0.0, *(e ** np.arange(1, len(found)))])
    assert {event.name for event in run.events} == {"floor_touch"}
    assert np.abs(found - expected).max() < 1e-11
    limit = first * (1 + e) / (1 - e)
    assert 0 < limit - found[-1] < 1e-5  # the rest of the bounces is below settle=1e-6
    assert run.final["floor_status"] == 1
    assert abs(run.final["ball.q1"]) < 1e-10
    assert abs(run.final["floor"] - 0.2 * G) < 1e-9  # it bears the weight


def test_an_elastic_ball_keeps_its_energy() -> None:
    run = ball(1.0).derive().compile().simulate(20.0, initial={"ball.q1": 1.0}, rtol=1e-11, atol=1e-13)
    assert len(run.events) == 22  # t₁ (1 + 2 k)
    assert np.abs(run["ball.u1"] ** 2 / 2 + G * run["ball.q1"] - G).max() < 1e-8


def test_a_contact_at_the_start_is_decided_there() -> None:
    model = ball(0.5).derive().compile()
    lying = model.simulate(1.0)
    assert lying.events == () and lying.final["floor_status"] == 1
    assert abs(lying.final["ball.q1"]) < 1e-30  # what steps leave of a correction, metres
    thrown = model.simulate(0.1, initial={"ball.u1": -1.0})  # meets the floor at t = 0
    assert abs(thrown["ball.u1"][0] - 0.5) < 1e-15
    flying = model.simulate(0.1, initial={"ball.q1": 0.5})
    assert flying["floor_status"][0] == 0
    held = model.simulate(0.1, initial={"ball.q1": 0.5}, memory={"floor_status": 1})  # as the user says
    assert held["floor_status"][0] == 1


# ---------------------------------------------------------------- a block on its corners


HALF_WIDTH, HALF_HEIGHT = 0.1, 0.4


@pytest.fixture(scope="module")
def block() -> arm.Model:
    b, h = HALF_WIDTH, HALF_HEIGHT
    s = arm.System("block")
    body = s.body(
        "block",
        joint=arm.Joint(translate=["x", "y"], rotate=["z"]),
        mass=2.0,
        inertia=(2 * (b * b + h * h) / 3,) * 3,
    )
    s.gravity(G, -s.ground.y)
    for name, x in (("left", -b), ("right", b)):
        s.contact(name, body.point(name, (x, -h, 0)), plane=(s.ground, s.ground.y), friction=1.0)
    return s.derive().compile()


def tilted(angle: float) -> dict[str, float]:
    """The block on its right corner."""
    b, h = HALF_WIDTH, HALF_HEIGHT
    return {
        "block.q1": b - b * math.cos(angle) + h * math.sin(angle),
        "block.q2": b * math.sin(angle) + h * math.cos(angle),
        "block.q3": -angle,
    }


def test_a_block_comes_to_rest_on_both_corners(block: arm.Model) -> None:
    """Its impacts accumulate too; at rest both corners stick, which is one force more than it needs."""
    run = block.simulate(8.0, initial=tilted(0.15))
    assert len(run.events) > 100
    assert run.final["left_status"] == run.final["right_status"] == 1
    assert all(abs(run.final[f"block.u{i}"]) < 1e-12 for i in (1, 2, 3))
    assert abs(run.final["left"] - G) < 1e-6 and abs(run.final["right"] - G) < 1e-6
    assert abs(run.final["block.q3"]) < 1e-9


def test_a_flat_fall_strikes_both_corners_at_once(block: arm.Model) -> None:
    run = block.simulate(1.0, initial={"block.q2": 0.5, "block.u1": 0.3})
    assert abs(run.final["block.u3"]) < 1e-12 and abs(run.final["block.q3"]) < 1e-12
    assert run.final["left_status"] == run.final["right_status"] == 1  # friction has stopped it
    fall = math.sqrt(2 * 0.1 / G)
    assert abs(run.events[0].time - fall) < 1e-10
    # P_N = m v takes m μ v from the sliding, which is more than it has.
    assert abs(run.final["block.q1"] - 0.3 * fall) < 1e-9


# ---------------------------------------------------------------- Painlevé's rod


def rod(friction: object, **compliance: float) -> arm.Model:
    s = arm.System("rod")
    body = s.body("rod", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=1.0, inertia=(1 / 3,) * 3)
    s.gravity(G, -s.ground.y)
    tip = body.point("tip", (-1.0, 0, 0))
    s.contact("tip", tip, plane=(s.ground, s.ground.y), friction=friction, **compliance)
    return s.derive().compile()


@pytest.fixture(scope="module")
def rods() -> dict[float, arm.Model]:
    return {mu: rod(mu) for mu in (1.3, 1.33333, 1.4)}


def sliding(angle: float, speed: float, turn: float) -> dict[str, float]:
    """The rod at an angle to the floor, its tip sliding along it."""
    return {
        "rod.q2": math.sin(angle), "rod.q3": angle, "rod.u1": speed - math.sin(angle) * turn,
        "rod.u2": math.cos(angle) * turn, "rod.u3": turn,
    }  # fmt: skip


def test_a_sliding_rod_jams_above_the_known_friction(rods: dict[float, arm.Model]) -> None:
    """1 + 3 cos² θ − 3 μ sin θ cos θ < 0 needs μ > 4/3, first at tan θ = 2 (Painlevé 1895; Génot & Brogliato
    1999): pushed ahead of its tip, the rod can then neither press nor leave the floor, and an impulse stops
    the tip. At tan θ = 2 that impulse is 2 N s along the floor and 1.5 N s across it, by hand."""
    worst = math.atan(2.0)
    assert rods[1.3].simulate(0.01, initial=sliding(worst, -5.0, 0.0))["tip"][0] > 0
    start = sliding(worst, -5.0, 0.0)
    run = rods[1.4].simulate(1e-9, initial=start)
    speeds = [run.final[f"rod.u{i}"] for i in (1, 2, 3)]
    assert np.allclose(speeds, [-3.0, 1.5, 1.5 * math.sqrt(5.0)], atol=1e-7)
    assert [e.name for e in run.events] == ["tip_touch"] and run.events[0].time < 1e-12
    assert "1 impact without collision" in str(run.info["contacts"])
    rods[1.4].simulate(0.01, initial=sliding(worst, 5.0, 0.0))  # dragged behind


def test_a_large_force_that_falls_does_not_jam(rods: dict[float, arm.Model]) -> None:
    """Just below that friction the tip presses with 2.5e6 N, and slides. It turns the rod until
    ω² sin θ = g lifts the tip, which has not stopped: an impact would end at 3.354 rad/s."""
    angle = math.atan(2.0)
    run = rods[1.33333].simulate(1e-5, initial=sliding(angle, -5.0, 0.0))
    assert run["tip"][0] == pytest.approx(G / (1.6 - 1.2 * 1.33333), rel=1e-6)  # 1 + 3 cos² θ = 1.6
    turn = math.sqrt(G / math.sin(angle))
    across = math.cos(angle) * turn
    speeds = [run.final[f"rod.u{i}"] for i in (1, 2, 3)]
    assert np.allclose(speeds, [-5.0 + 4 / 3 * across, across, turn], atol=2e-4)
    assert "contacts" not in run.info and run.final["tip_status"] == 0


def test_jamming_is_the_limit_of_a_stiff_contact() -> None:
    """A contact with a spring, a critical damper and regularised friction has forces whatever it does."""
    start = sliding(math.atan(2.0), -5.0, 0.0)
    wanted = np.array([-3.0, 1.5, 1.5 * math.sqrt(5.0)])
    errors = []
    for stiffness in (1e8, 1e12):
        law = arm.SmoothFriction(1.4, 10.0 / math.sqrt(stiffness))
        soft = rod(law, stiffness=stiffness, damping=2 * math.sqrt(stiffness))
        run = soft.simulate(20 / math.sqrt(stiffness), initial=start)
        errors.append(np.abs([run.final[f"rod.u{i}"] for i in (1, 2, 3)] - wanted).max())
    assert errors[1] < 0.05 * errors[0] and errors[1] < 1e-3


def test_two_admissible_outcomes_are_reported(rods: dict[float, arm.Model]) -> None:
    """Turning fast, the same rod may leave the floor or press on it."""
    run = rods[1.4].simulate(1e-4, initial=sliding(math.atan(2.0), -5.0, -6.0))
    assert "more than one admissible outcome" in str(run.info["contacts"])


def test_a_spinning_triangle_never_falls_through_the_floor() -> None:
    """Any corner may strike; by Poisson's law the energy never grows, and nothing adheres."""
    s = arm.System("triangle")
    body = s.body("b", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=1.0, inertia=(0.08,) * 3)
    s.gravity(G, -s.ground.y)
    for k in range(3):
        angle = 2 * math.pi * k / 3 + 0.3
        corner = body.point(f"p{k}", (0.5 * math.cos(angle), 0.5 * math.sin(angle), 0))
        options = {"restitution": 0.6, "friction": 0.2, "law": "poisson"}
        s.contact(f"c{k}", corner, plane=(s.ground, s.ground.y), **options)
        s.output(f"g{k}", arm.dot(arm.position(corner), s.ground.y))
    s.output("energy", s.total_energy(), units="J")
    model, random = s.derive().compile(), np.random.default_rng(1)
    for _ in range(12):
        start = {"b.q2": 1 + random.random(), "b.q3": random.uniform(-3, 3), "b.u3": random.uniform(-6, 6)}
        run = model.simulate(3.0, initial=start | {"b.u1": random.uniform(-3, 3)}, sample=0.01)
        assert np.max(np.diff(run["energy"])) < 1e-7
        for k in range(3):
            assert np.min(run[f"g{k}"]) > -1e-8 and np.min(run[f"c{k}"]) > -1e-9


# ---------------------------------------------------------------- mechanisms and other events


def test_an_impact_in_a_loop_reaches_all_its_joints() -> None:
    """With one degree of freedom all speeds are −e times those before, and the kinetic energy e² times."""
    s = arm.System("four-bar")
    a = s.body("A", joint=arm.Revolute("z"), com=(0.2, 0, 0), mass=1, inertia=(0, 0.1, 0.1))
    b = s.body("B", a, arm.Revolute("z"), at=(0.4, 0, 0), com=(0.2, 0, 0), mass=1, inertia=(0, 0.1, 0.1))
    c = s.body("C", joint=arm.Revolute("z"), at=(0.6, 0, 0), com=(0.1, 0, 0), mass=1, inertia=(0, 0.1, 0.1))
    s.close_joint("revolute", b.point("pin", (0.5, 0, 0)), c.point("pin", (0.3, 0, 0)), axis="z", name="pin")
    s.start({"A.q1": 1.2, "B.q1": -0.6, "C.q1": 1.5})
    s.gravity(G, -s.ground.y)
    s.stop("end", "C.q1", lower=0.9, restitution=0.6)
    s.output("kinetic", s.kinetic_energy(), units="J")
    run = s.derive().compile().simulate(3.0, sample=1e-4)
    k = int(np.searchsorted(run.time, run.events[0].time))
    t, dt = run.events[0].time, 1e-4
    assert run.events[0].name == "end_touch"

    def at(name: str, first: int) -> float:
        """A value at the impact, from two rows on one side of it."""
        return float(
            run[name][first] + (t - run.time[first]) / dt * (run[name][first + 1] - run[name][first])
        )

    for name in ("A.u1", "B.u1", "C.u1"):
        assert abs(at(name, k) / at(name, k - 2) + 0.6) < 1e-6, name
    assert abs(at("kinetic", k) / at("kinetic", k - 2) - 0.36) < 1e-5
    assert run.final["end_status"] == 1 and abs(run.final["C.q1"] - 0.9) < 1e-10  # it comes to rest there


def test_events_of_the_user_are_followed_by_a_decision() -> None:
    s = arm.System("kicked")
    body = s.body("b", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.gravity(G, -s.ground.y)
    s.contact("floor", body, plane=(s.ground, s.ground.y))
    s.memory("on", 0.0)
    s.force("lift", "20*on", s.ground.y, at=body)
    s.event("kick", "t - 0.5", direction=1, set={"b.u1": 2.0})
    s.event("lifts", "t - 1", direction=1, set={"on": 1})
    run = s.derive().compile().simulate(2.0)
    assert [event.name for event in run.events] == ["kick", "floor_touch", "lifts"]
    assert abs(run.events[1].time - (0.5 + 2 * 2.0 / G)) < 1e-10
    assert abs(run.final["b.q1"] - (20 - G) / 2) < 1e-9


def test_sensitivities_go_through_impacts_with_friction() -> None:
    """Against differences of runs; the ball bounces once, and slides."""
    s = arm.System("thrown")
    body = s.body("b", joint=arm.Joint(translate=["x", "y"]), mass=0.2, inertia=0)
    s.gravity(G, -s.ground.y)
    s.parameter("e", 0.8)
    s.contact("floor", body, plane=(s.ground, s.ground.y), restitution="e", friction=0.3)
    model, start = s.derive().compile(), {"b.q2": 1.0, "b.u1": 3.0}
    found = model.sensitivities(1.0, to=["b.q2", "e"], of=["b.q1", "b.q2"], initial=start)

    def ends(height: float, e: float) -> np.ndarray:
        run = model.simulate(
            1.0, initial=start | {"b.q2": height}, parameters={"e": e}, rtol=1e-12, atol=1e-14
        )
        return np.array([run.final["b.q1"], run.final["b.q2"]])

    for name, (dh, de) in {"b.q2": (1e-5, 0.0), "e": (0.0, 1e-5)}.items():
        slope = (ends(1 + dh, 0.8 + de) - ends(1 - dh, 0.8 - de)) / 2e-5
        for value, of in zip(slope, ("b.q1", "b.q2"), strict=True):
            assert found[of, name][-1] == pytest.approx(value, rel=1e-6), (of, name)


# ---------------------------------------------------------------- bad input


def press(restitution: float) -> arm.Model:
    s = arm.System("press")
    body = s.body("b", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.gravity(G, -s.ground.y)
    s.stop("walls", body.q1, lower=0, upper="1 - 0.5*t", restitution=restitution)
    return s.derive().compile()


def test_an_impact_without_outcome_is_named() -> None:
    with pytest.raises(
        arm.SimulationError,
        match=r"no impulses are admissible in the impact at t = 2 s at event 'walls_upper_touch' "
        r"\('walls_lower' sticks, 'walls_upper' is open\)",
    ) as caught:
        press(0.0).simulate(3.0, initial={"b.q1": 0.5}, max_step=0.1)
    assert caught.value.run.time[-1] <= 2.0


def test_a_cascade_without_end_is_named() -> None:
    with pytest.raises(arm.SimulationError, match=r"event 'walls_\w+_touch' accumulates at t = 1\.99"):
        press(1.0).simulate(3.0, initial={"b.q1": 0.5}, max_step=0.1)


def test_rigid_contacts_are_saved_and_loaded(tmp_path: Path) -> None:
    s = arm.System("all")
    one = s.body("one", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=1, inertia=(0.1,) * 3)
    two = s.body("two", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.contact("c", one, plane=(s.ground, s.ground.y), friction=0.2, static=0.3, restitution=0.5, radius=0.1)
    s.stop("s", two.q1, lower=-1, upper=1, restitution="e")
    s.brake("b", one.q3, capacity=0.2, static=0.3)
    s.clutch("k", one.q1, two.q1, capacity="2*c", ratio=2)
    s.unilateral("u", "one.q1 - two.q1 + 3", slip="one.u2", friction=0.1)
    s.save(tmp_path / "all.toml")
    again = arm.load(tmp_path / "all.toml")
    again.save(tmp_path / "again.toml")
    assert (tmp_path / "all.toml").read_text() == (tmp_path / "again.toml").read_text()
    assert list(again.contacts) == ["c", "s_lower", "s_upper", "b", "k", "u"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"restitution": 1.2}, "restitution 1.2 is more than 1"),
        ({"restitution": -0.1}, "the restitution of contact 'c' is -0.1"),
        ({"law": "hertz"}, "law='hertz'"),
        ({"damping": 1.0}, "damping= and exponent= belong to a stiffness="),
        ({"static": 0.3}, "static= needs friction="),
        ({"friction": 0.3, "static": 0.2}, "static friction 0.2 is less than 0.3"),
        ({"friction": arm.SmoothFriction(0.3, 0.01)}, "is not a coefficient"),
        ({"settle": 0.0}, "settle=0 is not a positive number"),
        ({"stiffness": 10.0, "restitution": 0.5}, "restitution= needs rigid surfaces"),
        ({"stiffness": 10.0, "law": "poisson"}, "law= needs rigid surfaces"),
        ({"stiffness": 10.0, "settle": 0.1}, "settle= needs rigid surfaces"),
        (
            {"stiffness": 10.0, "radius": 0.5},
            "radius=, shape= and static= are for contacts without stiffness=",
        ),
    ],
)
def test_wrong_contacts_are_refused(wrong: dict[str, Any], words: str) -> None:
    s = arm.System("wrong")
    body = s.body("b", joint=arm.Joint(translate=["x", "y"]), mass=1, inertia=0)
    with pytest.raises(arm.ModelError, match=re.escape(words)):
        s.contact("c", body, plane=(s.ground, s.ground.y), **wrong)


def test_many_contacts_compile_and_run() -> None:
    """Eight blocks slide to rest after v²/(2 μ g), each on its own: 4⁸ combinations of statuses."""
    s = arm.System("many")
    speeds = np.linspace(0.5, 2.0, 8)
    for k, speed in enumerate(speeds):
        body = s.body(f"b{k}", joint=arm.Joint(translate=["x", "y"]), mass=1 + k, inertia=0)
        foot = body.point("foot", (0, -0.1, 0))
        s.contact(f"c{k}", foot, plane=(s.ground, s.ground.y), friction=0.3)
        s.start({f"b{k}.q2": 0.1, f"b{k}.u1": speed})
    s.gravity(G, -s.ground.y)
    run = s.derive().compile().simulate(1.0)
    assert len(run.events) == 8
    for k, speed in enumerate(speeds):
        assert run.final[f"c{k}_status"] == 1
        assert abs(run.final[f"b{k}.q1"] - speed**2 / (2 * 0.3 * G)) < 1e-9
        assert abs(run.final[f"c{k}"] - (1 + k) * G) < 1e-9


def test_other_formalisms_refuse_rigid_contacts() -> None:
    with pytest.raises(arm.ModelError, match="'floor' is a contact or brake without compliance"):
        ball(0.5).derive("momentum")


def test_the_energetic_law_returns_the_square_of_its_coefficient_of_work() -> None:
    """A rod strikes with one end: without friction all laws agree. With friction the energy after the impact
    is T_c + e² W, of the end of compression and of the work of its normal impulse; the tip sticks here.
    """

    def speeds(law: str, mu: float) -> tuple[np.ndarray, np.ndarray]:
        s = arm.System("rod")
        rod = s.body("rod", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=2.0, inertia=(0.3,) * 3)
        tip = rod.point("tip", (0.4, -0.3, 0))
        s.contact("c", tip, plane=(s.ground, s.ground.y), restitution=0.6, friction=mu, law=law)
        start = {"rod.q2": 0.301, "rod.u1": 0.4, "rod.u2": -1.0}
        run = s.derive().compile().simulate(0.01, initial=start)
        return np.array([0.4, -1.0, 0.0]), np.array([run.final[f"rod.u{i}"] for i in (1, 2, 3)])

    M = np.diag([2.0, 2.0, 0.3])
    found = {law: speeds(law, 0.0)[1] for law in ("newton", "poisson", "energetic")}
    np.testing.assert_allclose(found["energetic"], found["newton"], rtol=1e-9)
    np.testing.assert_allclose(found["poisson"], found["newton"], rtol=1e-9)
    before, after = speeds("energetic", 2.0)
    J = np.array([[0, 1, 0.4], [1, 0, 0.3]])
    P = np.linalg.solve(J @ np.linalg.inv(M) @ J.T, -J @ before)
    assert abs(P[1]) < 2.0 * P[0]
    middle = before + np.linalg.inv(M) @ J.T @ P
    work = 0.5 * P[0] * -(J @ before)[0]
    wanted = 0.5 * middle @ M @ middle + 0.6**2 * work
    assert abs(0.5 * after @ M @ after - wanted) < 1e-9
