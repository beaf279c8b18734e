"""Reaction wheels and control moment gyros: momentum exchanged, gyroscopic torque, cost, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm

TIGHT: dict[str, Any] = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13}


def craft() -> tuple[arm.System, arm.Body]:
    s = arm.System("craft")
    return s, s.body("hub", joint=arm.Spherical(), mass=10, inertia=(30, 40, 50))


@pytest.mark.parametrize("axis", ["z", (0, 0, -2), (0.6, 0, 0.8)])
def test_a_motor_turns_wheel_and_hub_against_each_other(axis: Any) -> None:
    s, hub = craft()
    wheel = s.reaction_wheel("wheel", on=hub, axis=axis, inertia=0.5, mass=3, torque="0.2", speed=10.0)
    h = s.angular_momentum()
    for letter, unit in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"h{letter}", arm.dot(h, unit))
    run = s.derive().compile().simulate(20.0, initial={"hub.u1": 0.01}, **TIGHT)
    for letter in "xyz":
        np.testing.assert_allclose(run[f"h{letter}"], run[f"h{letter}"][0], atol=1e-11)
    unit = np.array({"z": (0, 0, 1)}.get(axis, axis), dtype=float)
    unit /= np.linalg.norm(unit)
    spin = np.column_stack([run[f"hub.u{i}"] for i in (1, 2, 3)]) @ unit + run["wheel.u1"]
    # The motor's is the only moment about the wheel's own axis: I (ω·a + u)' = τ.
    np.testing.assert_allclose(spin - spin[0], 0.2 / 0.5 * run.time, atol=1e-10)
    assert wheel.mass.data == 3


def test_a_wheel_of_constant_speed_is_a_gyrostat() -> None:
    """I·ω̇ + ω × (I·ω + h a) = 0 with the wheel's inertia across its axis in I, and all of it along."""
    s, hub = craft()
    s.reaction_wheel("wheel", on=hub, axis="x", inertia=2.0, transverse=1.5, drive="constant", speed="rate")
    model = s.derive().compile()
    w = np.array([0.1, -0.2, 0.3])
    state = model.state({"hub.u1": 0.1, "hub.u2": -0.2, "hub.u3": 0.3}, {"rate": 50.0})
    found = model.derivatives(0.0, state, {"rate": 50.0})[-3:]
    inertia = np.diag([32.0, 41.5, 51.5])
    wanted = -np.linalg.solve(inertia, np.cross(w, inertia @ w + [100.0, 0, 0]))
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_a_thin_disc_is_the_default_and_costs_little() -> None:
    s, hub = craft()
    bare = s.derive().operations
    wheels = [
        s.reaction_wheel(f"w{a}", on=hub, axis=a, inertia=0.5, torque=f"tau_{a}", at=(0.1, 0.2, 0))
        for a in "xyz"
    ]
    assert [[float(wheels[0].inertia[i][i]) for i in range(3)]] == [[0.5, 0.25, 0.25]]
    full = s.derive().operations
    # Their mass and transverse inertia are the hub's: 9 additions and 14 products each are left.
    assert full.additions - bare.additions <= 27
    assert full.multiplications - bare.multiplications <= 42


def test_a_gyro_gives_its_gimbal_torque() -> None:
    """Torque on the carrier −h γ̇ g × s, at rest: a hub held still feels it in its joint's reaction."""
    s = arm.System("bench")
    bench = s.body("bench", joint=arm.Revolute("y"), mass=1, inertia=(4, 7, 4))
    gyro = s.control_moment_gyro(
        "cmg", on=bench, gimbal_axis="x", spin_axis="z", wheel_inertia=0.4, wheel_speed=300.0,
        gimbal_inertia=(0.1, 0.1, 0.1), gimbal_rate="0.5", mass=2, wheel_transverse=0.25,
    )  # fmt: skip
    assert [b.name for b in gyro.gimbals] == ["cmg_gimbal"] and gyro.wheel.name == "cmg_wheel"
    model = s.derive().compile()
    # h = 120 along z, turned about x at 0.5: dh/dt = x × z · 60 = −60 y on the wheel, +60 y on the bench.
    inertia = 7 + 0.1 + 0.25  # bench, gimbal, wheel across
    np.testing.assert_allclose(model.derivatives(0.0, model.state())[-1], 60 / inertia, rtol=1e-12)


def test_a_double_gimbal_keeps_angular_momentum_and_energy() -> None:
    s, hub = craft()
    gyro = s.control_moment_gyro(
        "cmg", on=hub, gimbal_axis=["x", "y"], spin_axis="z", wheel_inertia=0.4, wheel_speed=100.0,
        gimbal_inertia=[(0.3, 0.2, 0.2), (0.1, 0.1, 0.15)], gimbal_torque=["0.1*sin(w*t)", None],
        at=(0.2, 0, 0),
    )  # fmt: skip
    assert [b.name for b in gyro.gimbals] == ["cmg_outer", "cmg_inner"]
    h = s.angular_momentum()
    for letter, unit in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"h{letter}", arm.dot(h, unit))
    run = (
        s.derive()
        .compile()
        .simulate(10.0, initial={"hub.u2": 0.02, "cmg_inner.q1": 0.3}, parameters={"w": 1.0}, **TIGHT)
    )
    assert np.ptp(run["cmg_outer.q1"]) > 1e-3
    for letter in "xyz":
        np.testing.assert_allclose(run[f"h{letter}"], run[f"h{letter}"][0], atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drive": "motor"}, "no drive 'motor'"),
        ({"drive": "constnt"}, "did you mean 'constant'"),
        ({"drive": "torque"}, "go together"),
        ({"drive": "free", "torque": 1}, "go together"),
        ({"inertia": 0.0}, "inertia of wheel 'w' is 0"),
        ({"transverse": -1.0}, "transverse inertia of wheel 'w' is -1"),
        ({"axis": "w"}, "not one of 'x', 'y', 'z'"),
        ({"on": "hubb"}, "did you mean 'hub'"),
        ({"transverse": 0.1}, "no body has the principal moments"),
        ({"torque": "hub.q99"}, "no hub.q99"),
        ({"torque": "k", "speed": "k"}, "must be a number"),
        ({"drive": "constant", "speed": "hub.u1"}, "time, parameters and inputs only"),
    ],
)
def test_bad_wheels(options: dict[str, Any], message: str) -> None:
    s, hub = craft()
    with pytest.raises(arm.ArmillaryError, match=message):
        s.reaction_wheel("w", **{"on": hub, "axis": "z", "inertia": 1.0} | options)
    assert list(s.bodies) == ["hub"] and not s.parameters and len(s.speeds) == 3
    s.reaction_wheel("w", on=hub, axis="z", inertia=1.0, torque="0.1")
    assert s.derive().speeds == ("hub.u1", "hub.u2", "hub.u3", "w.u1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spin_axis": (0, 0.1, 1), "gimbal_axis": "y"}, "not at right angles"),
        ({"gimbal_axis": ["x", "y", "z"]}, "a list of two, not of 3"),
        ({"gimbal_rate": 1, "gimbal_torque": 1}, "both a rate and a torque"),
        ({"gimbal_axis": ["x", "y"], "gimbal_rate": 0.1}, "a list of 2, one for each gimbal"),
        ({"gimbal_axis": ["x", "y"], "gimbal_inertia": np.ones(3)}, "a list of 2, one for each gimbal"),
        ({"gimbal_rate": "0.1", "wheel_inertia": -1.0}, "inertia of wheel 'g_wheel' is -1"),
        ({"gimbal_torque": "0.1", "wheel_speed": "hub.u1"}, "time, parameters and inputs only"),
    ],
)
def test_bad_gyros(options: dict[str, Any], message: str) -> None:
    s, hub = craft()
    plain = {"on": hub, "gimbal_axis": "x", "spin_axis": "z", "wheel_inertia": 1.0, "wheel_speed": 10.0}
    with pytest.raises(arm.ModelError, match=message):
        s.control_moment_gyro("g", **plain | options)
    assert list(s.bodies) == ["hub"] and not s.loads and not s.prescriptions and len(s.speeds) == 3


def test_a_reversed_axis_changes_signs_only() -> None:
    found = []
    for axis, sign in (("x", 1.0), ("-x", -1.0)):
        s = arm.System("satellite")
        hub = s.body("hub", joint=arm.Free(), mass=10, inertia=(2, 3, 4))
        s.reaction_wheel("wheel", on=hub, axis=axis, inertia=0.5, transverse=0.3)
        model = s.derive().compile()
        u = np.array([0, 0, 0, 0.1, 0.2, 0.3, sign * 7.0])
        q = np.array([0, 0, 0, 1, 0, 0, 0, sign * 0.4])
        rates = model.accelerations(0.0, q, u)
        found.append([*rates[:6], sign * rates[6]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
    assert np.abs(found[0][3:6]).max() > 0.1
