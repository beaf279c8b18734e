"""The Stewart platform against leg forces carried to the platform, and against bodies held by multipliers."""

from __future__ import annotations

from functools import cache

import numpy as np

from armillary.stages.model import Model
from examples.stewart_platform import CYLINDER, HEIGHT, LEGS, ROD, base_point, system, top_point
from tests.verification.common import ACCELERATIONS, TIGHT, assert_near, counts
from tests.verification.maximal import (
    Rows,
    across,
    beside,
    check_accelerations,
    read,
    together,
    watch,
    watched,
)

MASSLESS = {"m_cylinder": 0.0, "m_rod": 0.0, "J_leg": 0.0}
FORCES = {f"leg{i}": 60.0 + 25.0 * i for i in LEGS}
DOWN = np.array([0, 0, -9.81])


@cache
def platform() -> Model:
    s = system(motors=False)
    watch(s)
    return s.derive().compile()


def places(count: int) -> list[dict[str, float]]:
    """Places and speeds of the platform; all of the legs' are found."""
    chance = np.random.default_rng(6)
    found = []
    for _ in range(count):
        shift, turn = chance.uniform(-0.1, 0.1, 3), np.r_[1.0, chance.uniform(-0.15, 0.15, 3)]
        turn /= np.linalg.norm(turn)
        speeds = chance.uniform(-1, 1, 6)
        named = {f"platform.q{j}": value for j, value in enumerate([*shift, *turn], start=1)}
        found.append(named | {f"platform.u{j}": value for j, value in enumerate(speeds, start=1)})
    return found


def test_six_freedoms_remain_those_of_the_platform() -> None:
    assert platform().speed_names == tuple(f"platform.u{j}" for j in range(1, 7))
    assert len(platform().equations.dependents) == 18
    assert platform().equations.redundant_constraints == ()


def test_massless_legs_push_along_themselves() -> None:
    """m a = Σ f d + m g and I α + ω × I ω = Σ f r × d, with d from the base to the ball of each leg."""
    for place in places(6):
        parameters = FORCES | MASSLESS
        outputs = platform().outputs(0.0, platform().state(place, parameters), parameters)
        R = np.column_stack([[outputs[f"platform:{axis}{j}"] for j in range(3)] for axis in "XYZ"])
        centre = np.array([outputs[f"platform:r{j}"] for j in range(3)])
        w = np.array([outputs[f"platform:w{j}"] for j in range(3)])
        force, torque = 50.0 * DOWN, np.zeros(3)
        for i in LEGS:
            lever = R @ top_point(i)
            leg = centre + lever - base_point(i)
            length = float(np.linalg.norm(leg))
            assert_near(outputs[f"rod{i}.q1"], length, 1e-12, f"length of leg {i}")
            force = force + FORCES[f"leg{i}"] * leg / length
            torque = torque + FORCES[f"leg{i}"] * np.cross(lever, leg / length)
        inertia = R @ np.diag([4.0, 4.0, 7.0]) @ R.T
        expected = np.r_[force / 50.0, np.linalg.solve(inertia, torque - np.cross(w, inertia @ w))]
        found = watched(outputs, ["platform"])["platform"]
        scale = float(np.max(np.abs(expected)))
        assert_near(found / scale, expected / scale, ACCELERATIONS, "accelerations of the platform")


def test_accelerations_of_all_thirteen_bodies() -> None:
    leg = (
        0.2,
        0.2,
        1e-9,
    )  # a rod must have some inertia about its axis here; it never turns about it by itself
    bodies = {"platform": (50.0, (4.0, 4.0, 7.0), (0, 0, 0))}
    joints: list[Rows] = []
    for i in LEGS:
        bodies[f"cylinder{i}"] = (4.0, leg, (0, 0, CYLINDER))
        bodies[f"rod{i}"] = (2.0, leg, (0, 0, ROD))
        joints += [
            together(f"cylinder{i}", (0, 0, 0), "ground", base_point(i)),
            across(f"cylinder{i}", (0, 1, 0), "ground", (1, 0, 0)),
            *(
                beside(f"rod{i}", (0, 0, 0), f"cylinder{i}", (0, 0, 0), axis)
                for axis in ((1, 0, 0), (0, 1, 0))
            ),
            across(f"rod{i}", (0, 0, 1), f"cylinder{i}", (1, 0, 0)),
            across(f"rod{i}", (0, 0, 1), f"cylinder{i}", (0, 1, 0)),
            across(f"rod{i}", (1, 0, 0), f"cylinder{i}", (0, 1, 0)),
            together(f"rod{i}", (0, 0, 0), "platform", top_point(i)),
        ]
    for place in places(2):
        outputs = platform().outputs(0.0, platform().state(place, FORCES), FORCES)
        parts = read(outputs, bodies)
        for name, (mass, _, _) in bodies.items():
            parts[name].push(mass * DOWN)
        for i in LEGS:
            along = FORCES[f"leg{i}"] * parts[f"rod{i}"].R[:, 2]
            parts[f"rod{i}"].push(along)
            parts[f"cylinder{i}"].push(-along)
        moved = ("platform", "cylinder3", "rod3", "rod6")
        check_accelerations(outputs, parts, joints, moved, 1e-8, closed=(1e-10, 1e-10))


def test_legs_without_forces_fall_and_keep_their_energy() -> None:
    start = {"platform.u3": 2.0, "platform.u6": 0.5, "platform.u4": 0.3}
    none = dict.fromkeys(FORCES, 0.0)
    run = platform().simulate(0.4, initial=start, parameters=none, **TIGHT)
    assert_near(run["energy"], run["energy"][0], 1e-9, "energy (J)")
    assert_near(run["platform:r2"][0], HEIGHT, 1e-12, "height at the start")
    for i in LEGS:
        ball = np.array(
            [
                run[f"platform:r{j}"]
                + sum(run[f"platform:{axis}{j}"] * x for axis, x in zip("XYZ", top_point(i), strict=True))
                for j in range(3)
            ]
        )
        foot = np.array([run[f"rod{i}:r{j}"] - ROD * run[f"rod{i}:Z{j}"] for j in range(3)])
        assert_near(ball, foot, 1e-10, f"ball {i}")


def test_cost_is_the_documented_one() -> None:
    assert counts(system().derive()) == (931, 1559, 30)
