"""Contacts without compliance against closed forms: bounces, rocking, impacts at once, Painlevé's rod."""

from __future__ import annotations

import math
from itertools import pairwise

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
    assert run.final["floor_mode"] == 1
    assert abs(run.final["ball.q1"]) < 1e-10
    assert abs(run.final["floor"] - 0.2 * G) < 1e-9  # it bears the weight


def test_an_elastic_ball_keeps_its_energy() -> None:
    run = ball(1.0).derive().compile().simulate(20.0, initial={"ball.q1": 1.0}, rtol=1e-11, atol=1e-13)
    assert len(run.events) == 22  # t₁ (1 + 2 k)
    assert np.abs(run["ball.u1"] ** 2 / 2 + G * run["ball.q1"] - G).max() < 1e-8


def test_a_contact_at_the_start_is_decided_there() -> None:
    model = ball(0.5).derive().compile()
    lying = model.simulate(1.0)
    assert lying.events == () and lying.final["floor_mode"] == 1 and lying.final["ball.q1"] == 0.0
    thrown = model.simulate(0.1, initial={"ball.u1": -1.0})  # meets the floor at t = 0
    assert abs(thrown["ball.u1"][0] - 0.5) < 1e-15
    flying = model.simulate(0.1, initial={"ball.q1": 0.5})
    assert flying["floor_mode"][0] == 0
    held = model.simulate(0.1, initial={"ball.q1": 0.5}, memory={"floor_mode": 1})  # as the user says
    assert held["floor_mode"][0] == 1


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


def test_a_block_rocks_as_housner_found(block: arm.Model) -> None:
    """θ̇⁺/θ̇⁻ = 1 − (3/2) sin² α for a block that neither bounces nor slips (Housner 1963)."""
    run = block.simulate(2.0, initial=tilted(0.1), sample=1e-4, rtol=1e-12, atol=1e-14)
    alpha = math.atan(HALF_WIDTH / HALF_HEIGHT)
    ratio = 1 - 1.5 * math.sin(alpha) ** 2
    energy = G * (run["block.q2"] - HALF_HEIGHT) + run["block.u1"] ** 2 / 2 + run["block.u2"] ** 2 / 2
    energy += (HALF_WIDTH**2 + HALF_HEIGHT**2) / 6 * run["block.u3"] ** 2
    times = [event.time for event in run.events]
    starts = [0.0, *times]
    levels = [
        energy[(run.time > a) & (run.time < b)]
        for a, b in zip(starts, [*times, 2.0], strict=True)
        if b - a > 1e-3
    ]
    assert len(levels) >= 4
    for level in levels:
        assert np.ptp(level) < 1e-9 * levels[0][0]
    for before, after in pairwise(levels):
        assert abs(after[0] / before[0] - ratio**2) < 1e-8


def test_a_block_comes_to_rest_on_both_corners(block: arm.Model) -> None:
    """Its impacts accumulate too; at rest both corners stick, which is one force more than it needs."""
    run = block.simulate(8.0, initial=tilted(0.15))
    assert len(run.events) > 100
    assert run.final["left_mode"] == run.final["right_mode"] == 1
    assert all(abs(run.final[f"block.u{i}"]) < 1e-12 for i in (1, 2, 3))
    assert abs(run.final["left"] - G) < 1e-6 and abs(run.final["right"] - G) < 1e-6
    assert abs(run.final["block.q3"]) < 1e-9


def test_a_flat_fall_strikes_both_corners_at_once(block: arm.Model) -> None:
    run = block.simulate(1.0, initial={"block.q2": 0.5, "block.u1": 0.3})
    assert abs(run.final["block.u3"]) < 1e-12 and abs(run.final["block.q3"]) < 1e-12
    assert run.final["left_mode"] == run.final["right_mode"] == 1  # friction has stopped it
    fall = math.sqrt(2 * 0.1 / G)
    assert abs(run.events[0].time - fall) < 1e-10
    # P_N = m v takes m μ v from the sliding, which is more than it has.
    assert abs(run.final["block.q1"] - 0.3 * fall) < 1e-9


# ---------------------------------------------------------------- Painlevé's rod


def rod(friction: float) -> arm.Model:
    s = arm.System("rod")
    body = s.body("rod", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=1.0, inertia=(1 / 3,) * 3)
    s.gravity(G, -s.ground.y)
    tip = body.point("tip", (-1.0, 0, 0))
    s.contact("tip", tip, plane=(s.ground, s.ground.y), friction=friction)
    return s.derive().compile()


@pytest.fixture(scope="module")
def rods() -> dict[float, arm.Model]:
    return {mu: rod(mu) for mu in (1.3, 1.4)}


def sliding(angle: float, speed: float, turn: float) -> dict[str, float]:
    """The rod at an angle to the floor, its tip sliding along it."""
    return {
        "rod.q2": math.sin(angle), "rod.q3": angle, "rod.u1": speed - math.sin(angle) * turn,
        "rod.u2": math.cos(angle) * turn, "rod.u3": turn,
    }  # fmt: skip


def test_a_sliding_rod_is_refused_above_the_known_friction(rods: dict[float, arm.Model]) -> None:
    """1 + 3 cos² θ − 3 μ sin θ cos θ < 0 needs μ > 4/3, first at tan θ = 2 (Painlevé 1895; Génot & Brogliato
    1999): pushed ahead of its tip, the rod can then neither press nor leave the floor."""
    worst = math.atan(2.0)
    assert rods[1.3].simulate(0.01, initial=sliding(worst, -5.0, 0.0))["tip"][0] > 0
    with pytest.raises(
        arm.SimulationError, match=r"no forces are admissible at t = 0 s .*Painlevé"
    ) as caught:
        rods[1.4].simulate(0.01, initial=sliding(worst, -5.0, 0.0))
    assert "stiffness=" in str(caught.value)
    rods[1.4].simulate(0.01, initial=sliding(worst, 5.0, 0.0))  # dragged behind


def test_two_admissible_outcomes_are_reported(rods: dict[float, arm.Model]) -> None:
    """Turning fast, the same rod may leave the floor or press on it."""
    run = rods[1.4].simulate(1e-4, initial=sliding(math.atan(2.0), -5.0, -6.0))
    assert "more than one admissible outcome" in str(run.info["contacts"])


# ---------------------------------------------------------------- bad input


def test_too_many_combinations_are_named_with_their_number() -> None:
    s = arm.System("many")
    for k in range(6):
        body = s.body(f"b{k}", joint=arm.Joint(translate=["x", "y"]), mass=1, inertia=0)
        s.contact(f"c{k}", body, plane=(s.ground, s.ground.y), friction=0.3)
    with pytest.raises(arm.ModelError, match=r"6 contacts .*'c0', .*4096 combinations .* at most 1024"):
        s.derive()


def test_other_formalisms_refuse_rigid_contacts() -> None:
    with pytest.raises(arm.ModelError, match="'floor' is a contact or brake without compliance"):
        ball(0.5).derive("momentum")
