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

AT = {name: np.array(place) for name, place in POINTS.items()}


@cache
def corner() -> Model:
    s = system()
    watch(s)
    return s.derive().compile()


def turned(point: np.ndarray, start: np.ndarray, end: np.ndarray, angle: float) -> np.ndarray:
    """A point turned about the line from start to end (Rodrigues)."""
    k = (end - start) / np.linalg.norm(end - start)
    r = point - start
    return np.asarray(
        start + r * math.cos(angle) + np.cross(k, r) * math.sin(angle) + k * (k @ r) * (1 - math.cos(angle))
    )


def by_distances(angle: float, rack: float) -> tuple[np.ndarray, np.ndarray]:
    """Wheel centre and axle: the upper ball and the rod's end keep their distances, Newton finds them."""
    lower = turned(AT["lower ball"], AT["lower rear"], AT["lower front"], angle)
    rack_end = AT["rack"] + [0, rack, 0]

    def gaps(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        upper, rod = y[:3], y[3:]
        pairs = [
            (upper, AT["upper front"], length("upper ball", "upper front"), "u"),
            (upper, AT["upper rear"], length("upper ball", "upper rear"), "u"),
            (upper, lower, length("upper ball", "lower ball"), "u"),
            (rod, lower, length("rod end", "lower ball"), "r"),
            (rod, rack_end, length("rod end", "rack"), "r"),
        ]
        found, slopes = [], []
        for p, q, size, which in pairs:
            found.append((p - q) @ (p - q) - size**2)
            slope = np.zeros(6)
            slope[slice(0, 3) if which == "u" else slice(3, 6)] = 2 * (p - q)
            slopes.append(slope)
        found.append((upper - rod) @ (upper - rod) - length("upper ball", "rod end") ** 2)
        slopes.append(np.r_[2 * (upper - rod), 2 * (rod - upper)])
        return np.array(found), np.array(slopes)

    y = np.r_[AT["upper ball"], AT["rod end"]]
    for _ in range(30):
        value, slope = gaps(y)
        y = y - np.linalg.solve(slope, value)
    # The upright is what carries the three points along.
    before = frame(AT["lower ball"], AT["upper ball"], AT["rod end"])
    R = frame(lower, y[:3], y[3:]) @ before.T
    return lower + R @ (AT["wheel"] - AT["lower ball"]), R @ [0.0, 1.0, 0.0]


def frame(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Axes of three points."""
    x = (b - a) / np.linalg.norm(b - a)
    z = np.cross(x, c - a)
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


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
