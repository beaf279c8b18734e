"""Cleats, potholes and patches: the tandem cams against a disc over a step and against brute force."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.obstacles import _flat_stretches

TYRE = veh.BrushTyre(slip_stiffness=18.0, friction=1.0, vertical_stiffness=2e5, radius=0.3)


def test_a_round_cam_follows_a_step_as_a_disc_does() -> None:
    """The centre of a disc of radius r goes round the edge: z = h − r + √(r² − d²)."""
    cams = veh.TandemCams(0.3, 0.1, order=2.0)
    pieces = [(-np.inf, 1.0, 0.0), (1.0, np.inf, 0.05)]
    x = np.linspace(0.5, 1.2, 701)
    distance = np.maximum(1.0 - x, 0.0)
    inside = distance < 0.3
    disc = np.where(inside, 0.05 - 0.3 + np.sqrt(np.where(inside, 0.09 - distance**2, 0.0)), -1.0)
    assert np.allclose(cams.follow(x, pieces), np.maximum(disc, 0.0), atol=1e-15)


@pytest.mark.parametrize("height", [0.03, -0.06])
def test_cams_over_an_obstacle_with_ramps_are_those_of_brute_force(height: float) -> None:
    """The largest lift over points of the profile, 0.2 mm apart; ramps are 40 steps of 0.75 or 1.5 mm."""
    cams = veh.TandemCams(0.31, 0.12)
    obstacle = veh.Obstacle(at=1.0, length=0.4, height=height, ramp=0.1)
    grid = np.arange(0.0, 2.6, 2e-4)
    profile = np.interp(grid, [0.9, 1.0, 1.4, 1.5], [0, height, height, 0])
    x = np.linspace(0.6, 1.8, 61)
    height_found, slope = cams.envelop(x, _flat_stretches([obstacle]))
    lifted = []
    for shift in (0.048, -0.048):
        away = np.abs(grid[None] - (x + shift)[:, None]) / 0.31
        with np.errstate(invalid="ignore"):
            drop = 0.31 * (1 - (1 - away**1.8) ** (1 / 1.8))
        lifted.append(np.max(np.where(away < 1, profile[None] - drop, -np.inf), axis=1))
    assert np.allclose(height_found, (lifted[0] + lifted[1]) / 2, atol=8e-4)
    assert np.allclose(slope, (lifted[0] - lifted[1]) / 0.096, atol=1.2e-2)
    assert np.ptp(height_found) > 0.5 * abs(height)


def test_a_wheel_rolls_over_a_cleat_and_through_a_pothole_of_its_side() -> None:
    """A wheel at a fixed height: the deflection is that of the plane of the cams, and a wheel of the right
    side does not feel the pothole of the left one.
    """
    obstacles = [
        veh.Obstacle(at=1.0, length=0.05, height=0.015),
        veh.Obstacle(at=3.0, length=0.5, height=-0.05, side="left"),
    ]
    road = veh.obstacle_road(obstacles, TYRE, 4000.0)
    assert road.cams is not None
    assert np.isclose(road.cams.contact_length, 0.6 * (0.5 * np.sqrt(0.02 / 0.3) + 0.02 / 0.3))
    own = veh.TandemCams(0.3, 0.1, order=2.0)  # circles
    assert veh.obstacle_road(obstacles, TYRE, 4000.0, cams=own).cams is own
    assert np.isclose(own.drop(np.array([0.18]))[0], 0.3 - 0.24)
    s = arm.System("wheels")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.prescribe(sled.u1, 2.0)
    for name, y in (("left", 0.7), ("right", -0.7)):
        wheel = veh.add_wheel(
            s, name, sled, TYRE, at=(0, y, 0.28), mass=20, inertia=(0.5, 0.9, 0.5), road=road, outputs=False
        )
        s.output(f"{name} sink", wheel.deflection, units="m")
    run = s.derive().compile().simulate(2.2, step=2e-3, initial={"left.u1": 7.0, "right.u1": 7.0})
    x = np.asarray(run["sled.q1"])
    for name, chosen in (("left", obstacles), ("right", obstacles[:1])):
        height, slope = road.cams.envelop(x, _flat_stretches(chosen))
        expected = 0.3 - (0.28 - height) / np.sqrt(1 + slope**2)
        assert np.allclose(run[f"{name} sink"], expected, atol=4e-4)
    assert np.ptp(run["left sink"]) > 1.5 * np.ptp(run["right sink"]) > 0.01


def test_patches_have_their_friction_and_blend_at_their_edges() -> None:
    friction = veh.friction_patches(
        [veh.Patch((10, 20), (-2, 0), 0.3), veh.Patch((15, 30), (-2, 2), 0.1)], elsewhere=0.9, width=0.2
    )
    for x, y, expected in [
        (5, 0, 0.9), (12, -1, 0.3), (12, 1, 0.9), (17, -1, 0.1), (25, 1, 0.1), (10, -1, 0.6), (30, 1, 0.5)
    ]:  # fmt: skip
        assert np.isclose(friction(float(x), float(y)), expected)
    with pytest.raises(arm.ModelError, match="rising limits"):
        veh.friction_patches([veh.Patch((20, 10), (0, 1), 0.5)])


@pytest.mark.parametrize(
    ("obstacles", "sentence"),
    [
        ([], "at least one Obstacle"),
        ([{"at": 1, "length": 0.0, "height": 0.1}], "length above zero"),
        ([{"at": 1, "length": 0.1, "height": 0.1, "side": "middle"}], "side='middle' is not known"),
        ([{"at": 1, "length": 0.5, "height": 0.1}, {"at": 1.2, "length": 1, "height": 0.1}], "overlap"),
    ],
)
def test_wrong_obstacles_are_refused(obstacles: list[dict[str, object]], sentence: str) -> None:
    with pytest.raises(arm.ModelError, match=sentence):
        veh.obstacle_road([veh.Obstacle(**o) for o in obstacles], TYRE, 4000.0)  # type: ignore[arg-type]
