"""Five-bar and Bricard linkages against bodies held by multipliers, and against closed forms."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from armillary.stages.model import Model
from examples import bricard, five_bar
from tests.verification.common import ACCELERATIONS, TIGHT, assert_near, counts
from tests.verification.maximal import check_accelerations, hinge, read, watch

HALF, CRANK, LINK, GRAVITY = 0.15, 0.25, 0.35, 9.81
PLANAR = ((0, 0, 1), (1, 0, 0), (0, 1, 0))
DOWN = np.array([0.0, -GRAVITY, 0.0])


@cache
def five() -> Model:
    """The linkage without motors, its bodies watched."""
    s = five_bar.system(motors=False)
    watch(s)
    return s.derive().compile()


def test_five_bar_keeps_its_cranks() -> None:
    assert five().speed_names == ("A.u1", "C.u1")
    assert five().equations.redundant_constraints == ()


def tool_position(left: float, right: float) -> np.ndarray:
    """The upper of two points a link's length away from both cranks' ends."""
    ends = [
        np.array([x + CRANK * math.cos(q), CRANK * math.sin(q)]) for x, q in ((-HALF, left), (HALF, right))
    ]
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    up = np.array([-along[1], along[0]]) / length
    return np.asarray((ends[0] + ends[1]) / 2 + up * math.sqrt(LINK**2 - length**2 / 4))


def test_five_bar_follows_its_closed_form() -> None:
    run = five_bar.system().derive().compile().simulate(4.0, sample=0.1)
    expected = np.array([tool_position(a, c) for a, c in zip(run["A.q1"], run["C.q1"], strict=True)])
    assert_near(np.column_stack([run["x"], run["y"]]), expected, 1e-10, "tool")


def test_five_bar_accelerations() -> None:
    bodies = {
        name: (mass, (0, mass * length**2 / 12, mass * length**2 / 12), (length / 2, 0, 0))
        for (name, mass), length in zip(five_bar.MASSES.items(), (CRANK, LINK) * 2, strict=True)
    }
    joints = [
        *hinge("A", (0, 0, 0), "ground", (-HALF, 0, 0), PLANAR),
        *hinge("B", (0, 0, 0), "A", (CRANK, 0, 0), PLANAR),
        *hinge("C", (0, 0, 0), "ground", (HALF, 0, 0), PLANAR),
        *hinge("D", (0, 0, 0), "C", (CRANK, 0, 0), PLANAR),
        *hinge("D", (LINK, 0, 0), "B", (LINK, 0, 0), PLANAR),
    ]
    chance = np.random.default_rng(5)
    for _ in range(8):
        angles = np.array([2.0, 1.1]) + chance.uniform(-0.3, 0.3, 2)
        speeds = chance.uniform(-5, 5, 2)
        start = dict(zip(("A.q1", "C.q1", "A.u1", "C.u1"), [*angles, *speeds], strict=True))
        outputs = five().outputs(0.0, five().state(start))
        parts = read(outputs, bodies)
        for name, (mass, _, _) in bodies.items():
            parts[name].push(mass * DOWN)
        check_accelerations(outputs, parts, joints, list(bodies), ACCELERATIONS, closed=(1e-12, 1e-11))


def test_five_bar_keeps_its_energy() -> None:
    run = five().simulate(2.0, initial={"A.u1": 2.0}, **TIGHT)
    assert_near(run["energy"], run["energy"][0], 1e-9, "energy")


# ---------------------------------------------------------------- Bricard's linkage


@cache
def ring() -> Model:
    """Bricard's linkage, its bodies watched."""
    s = bricard.system()
    watch(s)
    return s.derive().compile()


def test_bricard_has_one_freedom_and_one_redundant_condition() -> None:
    eom = ring().equations
    assert len(eom.speeds) == 1
    assert len(eom.dependents) == 4
    [redundant] = eom.redundant_constraints
    assert redundant.startswith("hinge 6")


@pytest.mark.parametrize("speed", [1.0, 12.0], ids=["swinging", "inside out"])
@pytest.mark.parametrize("how", [{}, {"step": 1e-3}], ids=["adaptive", "rk4"])
def test_bricard_angles_follow_their_relation(speed: float, how: dict[str, Any]) -> None:
    run = ring().simulate(2.0, initial={"L2.u1": speed}, **how)
    assert_near(run["relation"], 0.0, 1e-10, "relation of the angles")
    for i in (3, 4, 5):
        assert_near(run[f"L{i}.q1"], run[f"L{i - 2}.q1"], 1e-10, f"angle {i}")
    assert_near(run["energy"], run["energy"][0], 1e-4, "energy (J)")
    if speed > 10:  # each angle runs between −120° and 120°, where no speed of its kind can be kept
        assert run.info["configurations"].count("became independent") >= 6
        for i in (1, 2):
            assert_near(
                [run[f"L{i}.q1"].min(), run[f"L{i}.q1"].max()], np.radians([-120, 120]), 1e-3, "range"
            )


@pytest.mark.parametrize("theta", [1.5, 0.4, -1.0, 2.0])
def test_bricard_is_assembled_from_three_equal_angles(theta: float) -> None:
    """One or two of them would leave other ways to close it, with links folded onto each other."""
    state = ring().state({"L1.q1": theta, "L3.q1": theta, "L5.q1": theta})
    expected = -math.cos(theta) / (1 + math.cos(theta))
    assert_near(np.cos(state[[1, 3]]), expected, 1e-10, "cosine of the other angles")


def test_bricard_accelerations() -> None:
    size = 0.5**2 / 12
    bodies = {f"L{i}": (1.0, (0.001, size, size), (0.25, 0, 0)) for i in range(1, 6)}
    joints = []
    before = "ground"
    for i in range(1, 7):
        name = f"L{i}" if i < 6 else "ground"
        place = (0.5, 0, 0)
        across_axis = ((0, 0, 1), (1, 0, 0), (0, 0, 1))  # the hinge lies along y of the link before
        joints += hinge(name, (0, 0, 0), before, place, across_axis)
        before = name
    for theta, speed in ((1.2, 3.0), (0.3, -2.0), (-1.0, 5.0)):
        phi = math.acos(-math.cos(theta) / (1 + math.cos(theta)))
        start = {f"L{i}.q1": theta if i % 2 else phi for i in range(1, 6)} | {"L1.u1": speed}
        outputs = ring().outputs(0.0, ring().state(start))
        parts = read(outputs, bodies)
        for name in bodies:
            parts[name].push(DOWN)
        check_accelerations(outputs, parts, joints, list(bodies), ACCELERATIONS, closed=(1e-12, 1e-11))


def test_cost_is_the_documented_one() -> None:
    assert counts(five().equations) == (57, 113, 8)
    assert counts(ring().equations) == (577, 756, 10)
