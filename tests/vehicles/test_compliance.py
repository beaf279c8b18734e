"""Elastic suspensions against assembled stiffness; twist beam and leaf spring against closed forms."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.full_car import DOUBLE_WISHBONE_FRONT, FIVE_LINK_REAR, FULL, REAR
from armillary.vehicles.suspensions.corner import motion_ratios

RATE, RADIUS = 8e6, 0.31


def cubic(x: object) -> object:
    """A link that stiffens: twice the rate at 0.1 mm."""
    return RATE * (x + 1e8 * x * x * x)  # type: ignore[operator]


@cache
def rig() -> veh.ComplianceRig:
    return veh.compliance_rig(
        veh.five_link, FIVE_LINK_REAR, veh.Compliance(link=cubic, link_damping=1e4), radius=RADIUS
    )


def pulls_at_wheel() -> dict[str, np.ndarray]:
    """Force and moment at the wheel's centre by one unit of each pull."""
    down = np.array([0, 0, -RADIUS])
    lateral, braking = np.array([0.0, 1, 0]), np.array([-1.0, 0, 0])
    return {
        "lateral_force": np.concatenate([lateral, np.cross(down, lateral)]),
        "braking_force": np.concatenate([braking, np.cross(down, braking)]),
        "longitudinal_force": np.array([-1.0, 0, 0, 0, 0, 0]),
        "aligning_moment": np.array([0, 0, 0, 0, 0, 1.0]),
    }


def test_five_elastic_links_have_the_compliance_of_their_assembled_stiffness() -> None:
    """K = Σ k w wᵀ with w = (e, r × e) of each link at the wheel's centre, whose height is held. Toe and
    camber of the left wheel are the rotations about −z and −x.
    """
    wheel = np.array(FIVE_LINK_REAR["wheel"])
    stiffness = np.zeros((6, 6))
    for i in range(1, 6):
        inner, outer = (np.array(FIVE_LINK_REAR[f"{end}_{i}"]) for end in ("inner", "outer"))
        along = (outer - inner) / np.linalg.norm(outer - inner)
        wrench = np.concatenate([along, np.cross(outer - wheel, along)])
        stiffness += RATE * np.outer(wrench, wrench)
    free = [0, 1, 3, 4, 5]
    for pull, load in pulls_at_wheel().items():
        moved = np.zeros(6)
        moved[free] = np.linalg.solve(stiffness[np.ix_(free, free)], load[free])
        expected = {"toe": -moved[5], "camber": -moved[3], "recession": -moved[0], "half track": moved[1]}
        for name, value in expected.items():
            assert np.isclose(rig().compliances[pull, name], value, rtol=1e-6, atol=1e-13), (pull, name)
    assert "toe by lateral force" in rig().table()


def test_compliances_under_load_are_the_slopes_of_the_table() -> None:
    """Central differences of the balance about 3 kN, where the links have stiffened, to their error."""
    table = rig().sweep("lateral_force", [2990.0, 3000.0, 3010.0])
    at = rig().compliances_at({"lateral_force": 3000.0})
    slope = np.radians(table["toe"][2] - table["toe"][0]) / 20
    assert np.isclose(at["lateral_force", "toe"], slope, rtol=1e-5)
    assert abs(slope) < 0.9 * abs(rig().compliances["lateral_force", "toe"])
    with pytest.raises(arm.ModelError, match="there is no pull 'tug'"):
        rig().sweep("tug", [1.0])


def test_a_car_with_bushings_has_the_preloads_of_one_with_joints() -> None:
    """And with its hard points moved forwards together, the same preloads and steering arms."""
    ahead = {name: (x + 0.02, y, z) for name, (x, y, z) in DOUBLE_WISHBONE_FRONT.items()}
    design = veh.AxleDesign(veh.double_wishbone, ahead, compliance=veh.Compliance())
    tyre = veh.BrushTyre(18.0, 1.0, vertical_damping=300.0, radius=0.32)
    soft = veh.full_car(tyre, tyre, front=design).system
    stiff = veh.full_car(tyre, tyre, rear=replace(REAR, bar=7e3), steering_ratio=12.0).system
    for side in ("left", "right"):
        name = f"front_{side}_spring_preload"
        assert np.isclose(soft.parameters[name].data.default, stiff.parameters[name].data.default, rtol=1e-12)
    for name, one, other in (("rear_bar_rate", 5e3, 7e3), ("steering_ratio", 16.0, 12.0)):
        assert [x.parameters[name].data.default for x in (soft, stiff)] == [one, other]
    pinions = [x.parameters["rack_pinion"].data.default for x in (soft, stiff)]
    assert np.isclose(pinions[0] * 16.0, pinions[1] * 12.0, rtol=1e-15)
    assert len(soft.constraints) == len(stiff.constraints) - 6  # two links and a tie rod per side
    assert "front_left_lower_rear_bushing_force" in soft.loads and FULL["m"][0] == 1350


BEAM = {
    "wheel": (0.0, 0.74, 0.0), "pivot": (0.40, 0.55, 0.05), "beam": (0.15, 0.0, 0.09),
    "spring_top": (0.02, 0.55, 0.3), "spring_foot": (0.02, 0.55, -0.05),
}  # fmt: skip


def test_a_twist_beam_turns_each_half_about_the_line_from_pivot_to_shear_centre() -> None:
    """Wheels in opposite motion turn about e = (M − P)/|M − P| through the pivot P; together about y."""
    s = arm.System("axle")
    axle = veh.twist_beam(s, "beam", s.ground, BEAM)
    coordinates = [*axle.left.coordinates, *axle.right.coordinates]
    wheel, pivot, centre = (np.array(BEAM[name]) for name in ("wheel", "pivot", "beam"))
    for right, axis in ((-1.0, centre - pivot), (1.0, np.array([0.0, 1.0, 0.0]))):
        arc = np.cross(axis, wheel - pivot)
        driven = {axle.left.travel: 1.0, axle.right.travel: right}
        measured = [axle.left.steer(), axle.left.camber(), axle.left.upright.q1, axle.left.upright.q2]
        found = motion_ratios(s, "beam", coordinates, axle.closures, driven, measured)
        turn = axis / arc[2]
        assert np.allclose(found, [turn[2], -turn[0], arc[0] / arc[2], arc[1] / arc[2]], atol=1e-12)
    values = {"beam_left_upright.q6": 0.2, "beam_right_upright.q6": -0.1}
    rest = {x.data.name: 0.0 for body in s.bodies.values() for x in (*body.coordinates, *body.speeds)}
    assert np.isclose(arm.evaluate(axle.twist, {**rest, **values}), 0.3)
    with pytest.raises(arm.ModelError, match="its y must be 0"):
        veh.twist_beam(arm.System("b"), "beam", arm.System("b").ground, {**BEAM, "beam": (0.1, 0.1, 0)})


def test_a_leaf_spring_carries_an_axle_with_the_rates_of_its_leaves() -> None:
    """The rate of a cantilever of constant stress, n leaves of half the length."""
    leaf = veh.LeafSpring(length=1.2, width=0.06, thickness=0.008, leaves=4)
    inertia = 4 * 0.06 * 0.008**3 / 12
    assert np.isclose(leaf.vertical, 2 * 2 * 206e9 * inertia / 0.6**3)  # δ = P l³/(2 E I) of a triangle
    assert np.isclose(leaf.wind_up, leaf.vertical * 0.36)
    on_edge = 0.008 * 0.06**3 / 12  # of the main leaf: two cantilevers of half the length
    assert np.isclose(leaf.lateral, 2 * 3 * 206e9 * on_edge / 0.6**3)
    s = arm.System("axle")
    axle = s.body("axle", joint=arm.Free(rotation="zxy"), mass=100, inertia=(20, 2, 20))
    for side, y in (("left", 0.5), ("right", -0.5)):
        leaf.add(s, f"{side}_leaf", axle.point(side, (0, y, 0)), s.ground.point(side, (0, y, 0)), 0.0)
    s.gravity(9.81, -s.ground.z)
    model = s.derive().compile()
    A = np.asarray(model.linearize().A)
    inertias = np.array([100, 100, 100, 20, 2, 20])
    # Angles are about z, x and y, speeds about x, y and z; packs are 0.5 m from the middle.
    stiffness, damping = -A[6:, :6][:, [0, 1, 2, 4, 5, 3]] * inertias[:, None], -A[6:, 6:] * inertias[:, None]
    slides = np.array([leaf.longitudinal, leaf.lateral, leaf.vertical])
    turns = np.array([0.05, 1.0, 0.05]) * leaf.wind_up + [0.25 * leaf.vertical, 0, 0.25 * leaf.longitudinal]
    assert np.allclose(stiffness, 2 * np.diag([*slides, *turns]))
    assert np.allclose(damping, 2 * np.diag([1500, 1500, 1500, 20 + 375, 20, 20 + 375]))
    preloads = {f"{side}_leaf_preload": value for side, value in (("left", 500.0), ("right", 300.0))}
    rates = model.derivatives(0.0, model.state(), preloads)
    assert np.allclose(rates[6:] * inertias, [0, 0, -981 - 800, -100, 0, 0])  # packs push the axle down
    with pytest.raises(arm.ModelError, match="above zero"):
        veh.LeafSpring(length=1.2, width=0.0, thickness=0.008, leaves=4)
