"""The double wishbone against its own points: camber and toe by distances, accelerations by multipliers."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from armillary.stages.model import Model
from examples.double_wishbone import MASSES, MOMENTS, POINTS, between, length, system
from tests.verification.common import ACCELERATIONS, TIGHT, assert_near, counts
from tests.verification.maximal import (
    Rows,
    across,
    apart,
    beside,
    check_accelerations,
    hinge,
    read,
    together,
    watch,
)
from tests.verification.wishbone_geometry import by_distances


@cache
def corner() -> Model:
    s = system()
    watch(s)
    return s.derive().compile()


@pytest.mark.parametrize("rack", [0.0, 0.02, -0.03])
def test_camber_toe_and_track(rack: float) -> None:
    for angle in np.linspace(-0.25, 0.25, 11):
        state = corner().state({"lower.q1": angle}, parameters={"rack": rack})
        found = corner().outputs(0.0, state, {"rack": rack})
        wheel, axle = by_distances(angle, rack)
        expected = [
            1e3 * wheel[2],
            1e3 * wheel[1],
            math.degrees(-math.asin(axle[2])),
            math.degrees(math.atan2(axle[0], axle[1])),
        ]
        assert_near(
            [found[n] for n in ("travel", "track", "camber", "toe")], expected, 1e-10, f"{angle:.2f} rad"
        )


def joints() -> list[Rows]:
    axes = {}
    for name in ("lower", "upper"):
        own = np.array(between(f"{name} rear", f"{name} front"))
        first = np.cross(own, [0, 0, 1.0])
        axes[name] = (own, first, np.cross(own, first))
    return [
        beside("car", (0, 0, 0), "ground", (0, 0, 0), (1, 0, 0)),
        beside("car", (0, 0, 0), "ground", (0, 0, 0), (0, 1, 0)),
        across("car", (1, 0, 0), "ground", (0, 1, 0)),
        across("car", (1, 0, 0), "ground", (0, 0, 1)),
        across("car", (0, 1, 0), "ground", (0, 0, 1)),
        *hinge("lower", (0, 0, 0), "car", POINTS["lower rear"], axes["lower"]),
        *hinge("upper", (0, 0, 0), "car", POINTS["upper rear"], axes["upper"]),
        together("upright", (0, 0, 0), "lower", between("lower rear", "lower ball")),
        together(
            "upright", between("lower ball", "upper ball"), "upper", between("upper rear", "upper ball")
        ),
        apart("upright", between("lower ball", "rod end"), "car", POINTS["rack"], length("rack", "rod end")),
    ]


def test_accelerations() -> None:
    centres = {
        "car": (0, 0, 0),
        "lower": np.array(between("lower rear", "lower ball")) / 2,
        "upper": np.array(between("upper rear", "upper ball")) / 2,
        "upright": between("lower ball", "wheel"),
    }
    bodies = {
        name: (MASSES[name], MOMENTS[name] if name != "car" else (1, 1, 1), centres[name]) for name in MASSES
    }
    weight = 9.81 * np.array([0, 0, -1.0])
    foot = between("lower rear", "strut foot")
    chance = np.random.default_rng(4)
    for _ in range(6):
        heave, angle = chance.uniform(-0.05, 0.05), chance.uniform(-0.2, 0.2)
        speeds = chance.uniform(-2, 2, 2)
        start = {"car.q1": heave, "lower.q1": angle, "car.u1": speeds[0], "lower.u1": speeds[1]}
        outputs = corner().outputs(0.0, corner().state(start))
        parts = read(outputs, bodies)
        for name in MASSES:
            parts[name].push(MASSES[name] * weight)
        car, lower, upright = parts["car"], parts["lower"], parts["upright"]
        reach = lower.r + lower.arm(foot) - car.r - car.arm(POINTS["strut top"])
        rate = lower.v + np.cross(lower.w, lower.arm(foot)) - car.v
        size = float(np.linalg.norm(reach))
        along = reach / size
        strut = 4900.0 - 60e3 * (size - length("strut top", "strut foot")) - 3e3 * float(rate @ along)
        lower.push(strut * along, foot)
        car.push(-strut * along)
        upright.push(np.array([0, 0, -200e3 * upright.r[2] + sum(MASSES.values()) * 9.81]))
        check_accelerations(outputs, parts, joints(), list(MASSES), ACCELERATIONS, closed=(1e-10, 1e-10))


def test_bump_keeps_the_length_of_the_rod() -> None:
    run = corner().simulate(2.0, sample=0.05, **TIGHT)
    assert run["travel"].max() > 30.0
    rod = apart("upright", between("lower ball", "rod end"), "car", POINTS["rack"], length("rack", "rod end"))
    held = {"car": (1.0, (1, 1, 1), (0, 0, 0)), "upright": (1.0, (1, 1, 1), between("lower ball", "wheel"))}
    for i in range(len(run.time)):
        [(_, _, gap)] = rod(read({name: run[name][i] for name in run.names}, held))
        assert abs(gap) < 1e-10


def test_cost_is_the_documented_one() -> None:
    assert counts(system().derive()) == (602, 979, 14)
