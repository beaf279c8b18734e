"""Inverse kinematics against closed forms: both branches of an arm, legs of a Stewart platform."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanisms import LINKS, arm_2r, four_bar

import armillary as arm
from armillary.analysis.kinematics.solve import ReachError
from tests.loading import loaded

REACH = 1.7


def elbow(x: float, y: float) -> float:
    """q₂ of two links of 1 m and 0.7 m, up to its sign: cos q₂ = (x² + y² − l₁² − l₂²)/(2 l₁ l₂)."""
    return float(np.arccos((x**2 + y**2 - 1.49) / 1.4))


def test_both_branches_of_an_arm_are_found_the_nearer_first() -> None:
    found = arm_2r().solve({"x": 1.2, "y": 0.5})
    assert found["lower.q1"] == pytest.approx([elbow(1.2, 0.5), -elbow(1.2, 0.5)], rel=1e-12)
    for upper, lower in zip(found["upper.q1"], found["lower.q1"], strict=True):
        assert np.cos(upper) + 0.7 * np.cos(upper + lower) == pytest.approx(1.2, abs=1e-13)
        assert np.sin(upper) + 0.7 * np.sin(upper + lower) == pytest.approx(0.5, abs=1e-13)
    assert repr(found).startswith("2 solutions of 'two-link arm' for x = 1.2 m, y = 0.5 m")
    other = arm_2r().solve({"x": 1.2, "y": 0.5}, start={"upper.q1": 1.0, "lower.q1": -0.5})
    assert other["lower.q1"][0] == pytest.approx(-elbow(1.2, 0.5), rel=1e-12)


def test_limits_leave_the_solutions_inside_them() -> None:
    found = arm_2r().solve({"x": 1.2, "y": 0.5}, limits={"lower.q1": (-3.0, 0.0)})
    assert found["lower.q1"] == pytest.approx([-elbow(1.2, 0.5)], rel=1e-12)
    one_sided = arm_2r().solve({"x": 1.2, "y": 0.5}, limits={"upper.q1": (None, 0.0)})
    assert one_sided["lower.q1"] == pytest.approx([elbow(1.2, 0.5)], rel=1e-12)


def test_what_is_out_of_reach_is_named_with_the_nearest_values() -> None:
    """The nearest point of a circle of radius 1.7 m is on the ray to the point."""
    with pytest.raises(ReachError, match=r"x = 1\.6 \(nearest 1\.40087\) m, y = 1\.1") as error:
        arm_2r().solve({"x": 1.6, "y": 1.1})
    scale = REACH / np.hypot(1.6, 1.1)
    assert error.value.nearest == {"x": pytest.approx(1.6 * scale), "y": pytest.approx(1.1 * scale)}


def test_limits_that_hold_an_arm_back_are_named() -> None:
    with pytest.raises(ReachError, match=r"limits hold back lower\.q1 at 0\.5"):
        arm_2r().solve({"x": 1.65, "y": 0.3}, limits={"lower.q1": (0.5, 1.0)})


def test_more_freedoms_than_outputs_give_one_solution_near_the_start() -> None:
    found = arm_2r().solve({"x": 1.2})
    assert len(found) == 1
    assert np.cos(found["upper.q1"]) + 0.7 * np.cos(found["upper.q1"] + found["lower.q1"]) == pytest.approx(
        1.2
    )
    held = arm_2r().solve({"x": 1.2}, held=["upper.q1"], start={"upper.q1": 0.3})
    assert held["upper.q1"] == pytest.approx(0.3, abs=1e-13)


def test_paths_stay_on_their_branch_and_mark_what_is_out_of_reach() -> None:
    x, y = np.array([1.2, 1.3, 2.0, 1.4]), np.array([0.5, 0.4, 0.3, 0.2])
    found = arm_2r().solve({"x": x, "y": y})
    assert found.found.tolist() == [True, True, False, True]
    for i in (0, 1, 3):
        assert found["lower.q1"][i] == pytest.approx(elbow(x[i], y[i]), rel=1e-12)


def test_all_crossings_of_a_coupler_curve_are_found() -> None:
    """Those of a fine scan of both branches of the four-bar, with the rocker's pin on two circles."""
    a, b, c, d = LINKS
    crossings = 0
    q = np.linspace(0, 2 * np.pi, 7201)
    pin = a * np.exp(1j * q)
    across = d - pin  # from the crank's pin to the rocker's
    cosine = (b**2 + np.abs(across) ** 2 - c**2) / (2 * b * np.abs(across))
    for branch in (1, -1):
        coupler = across / np.abs(across) * np.exp(1j * branch * np.arccos(cosine))
        height = (pin + coupler * (b / 2 + 0.2j)).imag - 0.4
        crossings += int(np.sum(np.diff(np.sign(height)) != 0))
    found = four_bar().solve({"height": 0.4}, starts=40)
    assert len(found) == crossings
    assert found["height"] == pytest.approx(0.4)
    for i in range(len(found)):
        again = four_bar().sweep({"crank.q1": [found["crank.q1"][i]]}, start=found.initial(i))
        assert again["height"] == pytest.approx(0.4, rel=1e-12)


@cache
def stewart() -> Any:
    """The example with its geometry."""
    module = loaded(Path(__file__).parents[3] / "examples" / "stewart_platform.py")
    return module, module.system().derive().compile()


def rotation(e: np.ndarray) -> np.ndarray:
    """The matrix of Euler parameters, scalar first."""
    e0, g = e[0], e[1:]
    cross = np.array([[0, -g[2], g[1]], [g[2], 0, -g[0]], [-g[1], g[0], 0]])
    return np.eye(3) + 2 * e0 * cross + 2 * cross @ cross


def leg_lengths(p: np.ndarray, e: np.ndarray) -> np.ndarray:
    """|p + R b_i − a_i|: the inverse kinematics of a Stewart platform."""
    module, _ = stewart()
    home = np.array([0, 0, module.HEIGHT])
    top = np.array([module.top_point(i) for i in module.LEGS]) @ rotation(e).T
    return np.linalg.norm(home + p + top - np.array([module.base_point(i) for i in module.LEGS]), axis=1)


def test_a_stewart_platforms_legs_follow_from_its_pose_and_its_pose_from_its_legs() -> None:
    _, model = stewart()
    coordinates = [f"platform.q{i}" for i in range(1, 8)]
    e = np.array([0.98, 0.1, -0.12, 0.05])
    e /= np.linalg.norm(e)
    p = np.array([0.05, -0.1, 0.08])
    pose = dict(zip(coordinates, [*p, *e], strict=True))
    six = {name: pose[name] for name in coordinates if name != "platform.q4"}
    legs = model.solve(six, starts=1)
    lengths = [legs[f"rod{i}.q1"][0] for i in range(1, 7)]
    assert lengths == pytest.approx(leg_lengths(p, e), rel=1e-12)
    forward = model.solve({f"rod{i}.q1": x for i, x in enumerate(leg_lengths(p, e), 1)}, starts=8)
    assert [forward[name][0] for name in coordinates] == pytest.approx([*p, *e], abs=1e-11)
    for row in range(len(forward)):
        found = np.array([forward[name][row] for name in coordinates])
        assert leg_lengths(found[:3], found[3:]) == pytest.approx(leg_lengths(p, e), rel=1e-12)


@pytest.mark.parametrize(
    ("outputs", "how", "words"),
    [
        ({"z": 1}, {}, "there is no coordinate or output 'z'"),
        ({}, {}, "names nothing"),
        ({"x": 1, "y": 0, "upper.q1": 0}, {}, "3 outputs are given"),
        ({"x": 1}, {"limits": {"lower.q1": 3}}, "give \\(low, high\\)"),
        ({"x": 1}, {"limits": {"lower.q1": (1, 0)}}, "is not below"),
        ({"x": 1}, {"starts": 0}, "positive whole number"),
        ({"x": 1}, {"held": ["uper.q1"]}, "did you mean 'upper.q1'"),
    ],
)
def test_wrong_questions_are_refused_by_a_sentence(outputs: Any, how: dict[str, Any], words: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=words):
        arm_2r().solve(outputs, **how)
