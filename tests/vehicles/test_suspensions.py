"""Kinematics of suspensions against a Newton solution written here, which has nothing of the package's."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.full_car import DOUBLE_WISHBONE_FRONT, FIVE_LINK_REAR, MACPHERSON_FRONT

TRAVELS = np.array([-0.07, -0.03, 0.0, 0.04, 0.08])
KINDS = {
    "double wishbone": (veh.double_wishbone, DOUBLE_WISHBONE_FRONT),
    "macpherson": (veh.macpherson, MACPHERSON_FRONT),
    "five links": (veh.five_link, FIVE_LINK_REAR),
}


@cache
def rig(kind: str) -> veh.SuspensionRig:
    build, places = KINDS[kind]
    return veh.suspension_rig(build, places, vary=(("outer_4",) if kind == "five links" else ("rod_end",)))


def rotation(v: np.ndarray) -> np.ndarray:
    """Rodrigues' formula for the rotation about v by |v|."""
    angle = np.linalg.norm(v)
    if angle < 1e-300:
        return np.eye(3)
    x, y, z = v / angle
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def links_of(kind: str) -> list[tuple[str, str]]:
    if kind == "five links":
        return [(f"inner_{i}", f"outer_{i}") for i in range(1, 6)]
    pairs = [("lower_front", "lower_ball"), ("lower_rear", "lower_ball"), ("rack", "rod_end")]
    if kind == "double wishbone":
        pairs += [("upper_front", "upper_ball"), ("upper_rear", "upper_ball")]
    return pairs


def solve(kind: str, places: dict[str, np.ndarray], travel: float, rack: float = 0.0) -> np.ndarray:
    """Toe, camber, recession and half track of the left wheel by Newton's method on six unknowns.

    Unknown are the displacement of the wheel's centre and a rotation vector; all links keep their lengths.
    """
    wheel = places["wheel"]

    def residual(x: np.ndarray) -> np.ndarray:
        turned = rotation(x[3:])

        def carried(name: str) -> np.ndarray:
            return wheel + x[:3] + turned @ (places[name] - wheel)

        rows = [x[2] - travel]
        for inner, outer in links_of(kind):
            fixed = places[inner] + (np.array([0, rack, 0]) if inner in ("rack", "inner_5") else 0)
            rows.append(np.sum((carried(outer) - fixed) ** 2) - np.sum((places[outer] - places[inner]) ** 2))
        if kind == "macpherson":  # the ball of the top stays on the line of the strut
            line = turned @ (places["strut_top"] - places["strut_foot"])
            rows += list(np.cross(places["strut_top"] - carried("strut_foot"), line)[:2])
        return np.array(rows)

    x = np.zeros(6)
    for _ in range(30):
        here = residual(x)
        slopes = np.array([(residual(x + d) - residual(x - d)) / 2e-6 for d in 1e-6 * np.eye(6)]).T
        step = np.linalg.solve(slopes, here)
        x = x - step
        if np.max(np.abs(step)) < 1e-13:
            break
    assert np.max(np.abs(residual(x))) < 1e-14
    axle = rotation(x[3:])[:, 1]
    toe = -np.arctan2(-axle[0], axle[1])
    return np.array([toe, -np.arcsin(axle[2]), -x[0], wheel[1] + x[1]])


@pytest.mark.parametrize("kind", KINDS)
def test_positions_over_bump_and_steer_are_those_of_an_independent_solution(kind: str) -> None:
    places = {name: np.array(place) for name, place in KINDS[kind][1].items()}
    bump, steer = rig(kind).bump(TRAVELS), rig(kind).steer([-0.02, 0.03])
    cases = [(bump, i, travel, 0.0) for i, travel in enumerate(TRAVELS)]
    cases += [(steer, 0, 0.0, -0.02), (steer, 1, 0.0, 0.03)]
    for table, row, travel, rack in cases:
        names = ("left toe", "left camber", "left recession", "left half track")
        found = [table[name][row] for name in names]
        found = [np.radians(found[0]), np.radians(found[1]), found[2] / 1e3, found[3] / 1e3]
        assert np.allclose(found, solve(kind, places, travel, rack), rtol=0, atol=1e-11)
    for name in ("toe", "camber", "recession", "half track"):
        assert np.allclose(bump[f"left {name}"], bump[f"right {name}"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_hard_points_are_those_of_the_independent_solution(kind: str) -> None:
    """Central differences of the solution above: 1e-9 of the values is what they can give."""
    point = "outer_4" if kind == "five links" else "rod_end"
    travels = [-0.05, 0.08]
    table = rig(kind).bump(travels)
    outputs = ("left toe", "left camber", "left recession", "left half track")
    found = [rig(kind).hard_point_derivatives(table, output) for output in outputs]
    places = {name: np.array(place, dtype=float) for name, place in KINDS[kind][1].items()}
    for i, letter in enumerate("xyz"):
        shift = 1e-5 * np.eye(3)[i]
        for row, travel in enumerate(travels):
            ends = [solve(kind, {**places, point: places[point] + h * shift}, travel) for h in (1, -1)]
            slopes = [each[f"axle_{point}_{letter}"][row] for each in found]
            assert np.allclose(slopes, (ends[0] - ends[1]) / 2e-5, rtol=0, atol=2e-8)


def test_slopes_and_ratios_agree_with_the_table() -> None:
    left = rig("double wishbone").left
    system = rig("double wishbone").system
    table = rig("double wishbone").bump([0.0])
    slope = table["d(left toe)/d(left_upright.q3)"][0] * np.pi / 180
    assert np.isclose(-left.ratios(system, [left.steer()])[0], slope, rtol=1e-10)


def test_roll_moves_the_wheels_against_each_other() -> None:
    table = rig("double wishbone").roll(np.radians([-2.0, 2.0]))
    assert np.allclose(table["left travel"], 760 * np.tan(np.radians([2.0, -2.0])), rtol=1e-12)
    assert np.allclose(table["left camber"], table["right camber"][::-1], rtol=1e-9)


def test_a_trailing_arm_turns_about_its_pivots() -> None:
    """Closed form: the wheel's centre moves on a circle about the line of the pivots."""
    places = {"wheel": (0, 0.7, 0), "pivot_inner": (0.4, 0.3, 0.02), "pivot_outer": (0.45, 0.6, 0.02),
              "spring_top": (0.1, 0.5, 0.3), "spring_foot": (0.1, 0.5, 0)}  # fmt: skip
    s = arm.System("arm")
    with pytest.raises(arm.ModelError, match="rigid pivots; leave out compliance="):
        veh.trailing_arm(s, "left", s.ground, veh.HardPoints(s, "a", places), compliance=veh.Compliance())
    corner = veh.trailing_arm(s, "left", s.ground, veh.HardPoints(s, "rear", places))
    corner.add_outputs(s)
    model = s.derive().compile()
    table = model.sweep({"left_upright.q3": [0.05]})
    pivot, axis = np.array([0.4, 0.3, 0.02]), np.array([0.05, 0.3, 0.0]) / np.hypot(0.05, 0.3)
    low, high = -1.0, 1.0
    for _ in range(100):
        angle = (low + high) / 2
        place = pivot + rotation(axis * angle) @ (np.array([0, 0.7, 0]) - pivot)
        low, high = (angle, high) if place[2] < 0.05 else (low, angle)
    turned = rotation(axis * angle) @ np.array([0, 1.0, 0])
    assert np.isclose(table["left recession"][0], -1e3 * place[0], rtol=1e-10)
    assert np.isclose(np.radians(table["left camber"][0]), -np.arcsin(turned[2]), rtol=1e-10)


def test_faults_of_hard_points_are_named() -> None:
    s = arm.System("faults")
    with pytest.raises(arm.ModelError, match="the hard point 'upper_ball' is missing"):
        veh.double_wishbone(
            s, "left", s.ground, veh.HardPoints(s, "front", {k: v for k, v in DOUBLE_WISHBONE_FRONT.items()
                                                            if k != "upper_ball"}),
        )  # fmt: skip
    with pytest.raises(arm.ModelError, match="there is no hard point 'ball'"):
        veh.HardPoints(s, "front", DOUBLE_WISHBONE_FRONT, vary=["ball"])
    with pytest.raises(arm.ModelError, match="cannot reach row 1"):
        rig("double wishbone").bump([0.0, 0.5])
    with pytest.raises(arm.ModelError, match="is not a parameter of a hard point"):
        rig("double wishbone").hard_point_derivatives(rig("double wishbone").bump([0.0]), "left toe", ["x"])
    with pytest.raises(arm.ModelError, match="are at one place"):
        veh.HardPoints(s, "front", {"p": (0, 0, 0), "q": (0, 0, 0)}).distance("p", "q")
