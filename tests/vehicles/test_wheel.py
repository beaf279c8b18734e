"""A wheel on a rig: contact geometry, relaxation in closed form, lock, standstill, lift-off and landing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

DATA = Path(__file__).parent / "data"
WHEEL = {"mass": 20, "inertia": (0.5, 0.9, 0.5)}


def rig(tyre: veh.Tyre, *, driven: bool = True, lean: float = 0.0, **options: object) -> arm.System:
    """A wheel on a fork at a steer angle, below a mass that slides vertically on a sled; the sled moves at V,
    or as it will.
    """
    s = arm.System("rig")
    s.parameter("V", 20.0, units="m/s")
    s.parameter("delta", 0.0, units="rad")
    s.parameter("torque", 0.0, units="N*m")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=1, inertia=0)
    if driven:
        s.prescribe(sled.u1, "V")
    slide = s.body("slide", sled, arm.Prismatic("z"), mass=380, inertia=0)
    column = s.body("column", slide, arm.Revolute("z"), mass=0, inertia=0)
    s.prescribe(column.q1, "delta")
    fork = s.body("fork", column, arm.Revolute("x"), mass=0, inertia=0)
    s.prescribe(fork.q1, lean)
    wheel = veh.add_wheel(s, "wheel", fork, tyre, **WHEEL, **options)  # type: ignore[arg-type]
    s.gravity(9.81, -s.ground.z)
    s.moment("drive", "torque", fork.y, on=wheel.body, reaction=fork)
    s.output("lever z", arm.dot(wheel.lever, s.ground.z))
    s.output("lever y", arm.dot(wheel.lever, s.ground.y))
    s.output("deflection", wheel.deflection)
    s.output("loss", wheel.slip_power())
    return s


@cache
def linear_rig() -> object:
    tyre = veh.LinearTyre(8e4, slip_stiffness=1e5, trail=0.03, vertical_damping=8000.0)
    return rig(tyre).derive().compile()


@cache
def free_rig() -> object:
    """The Magic Formula on a wheel whose sled moves as it will."""
    return rig(veh.read_tyre(DATA / "mf_185_80R14.tir"), driven=False).derive().compile()


def test_a_wheel_whose_hub_cannot_rise_has_the_load_of_its_deflection() -> None:
    """A hub at 0.29 m on a sled, a tyre of 0.3 m and 200 N/mm: 2 kN less the first millimetre of contact, in
    which the force is smoothed, and moments with their units.
    """
    s = arm.System("sled on a wheel")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=1000, inertia=0)
    tyre = veh.LinearTyre(5e4, slip_stiffness=5e4)
    wheel = veh.add_wheel(s, "wheel", sled, tyre, at=(0, 0.7, 0.29), **WHEEL)  # type: ignore[arg-type]
    s.output("lever z", arm.dot(wheel.lever, s.ground.z), units="mm")
    run = s.derive().compile().simulate(0.1, step=1e-3, initial={"sled.u1": 5.0, "wheel.u1": 17.0})
    assert np.allclose(run["wheel Fz"], 2000, rtol=1e-12)
    assert np.allclose(run["lever z"], -290, rtol=1e-12)


def test_a_step_of_steer_builds_up_as_the_closed_form() -> None:
    """tan α = −tan δ (1 − exp(−V cos δ t/σ)); RK4 with steps of 1 ms and a lag of 25 ms: 2e-9."""
    run = linear_rig().simulate(0.3, step=1e-3, initial={"slide.q1": 0.28, "wheel.u1": 68.2},
                                parameters={"delta": 0.03})  # fmt: skip
    expected = -np.tan(0.03) * (1 - np.exp(-20 * np.cos(0.03) * run.time / 0.5))
    assert np.max(np.abs(run["wheel_slip"] - expected)) < 3e-9
    assert np.allclose(run["wheel Fy"], -8e4 * np.arctan(expected), atol=1e-3)
    assert np.allclose(run["wheel Mz"], -0.03 * run["wheel Fy"], atol=1e-6)


def test_a_wheel_carries_its_load_and_rolls_with_the_effective_radius() -> None:
    """k ρ = m g; the belt that does not stretch has R − ρ/3."""
    run = linear_rig().simulate(3.0, step=1e-3, initial={"slide.q1": 0.28, "wheel.u1": 60.0})
    assert np.isclose(run["wheel Fz"][-1], 400 * 9.81, rtol=1e-6)
    assert np.isclose(run["deflection"][-1], 400 * 9.81 / 2e5, rtol=1e-6)
    assert np.isclose(20 / run["wheel.u1"][-1], 0.3 - 400 * 9.81 / 2e5 / 3, rtol=1e-6)


def test_slip_under_a_torque_is_that_of_the_linear_tyre() -> None:
    """Steady: κ = M/(Rl Cκ), where the lever of Fx is the loaded radius; Ω = V (1 + κ)/Re."""
    run = linear_rig().simulate(3.0, step=1e-3, initial={"slide.q1": 0.28, "wheel.u1": 68.2},
                                parameters={"torque": 300.0})  # fmt: skip
    loaded, effective = 0.3 - 400 * 9.81 / 2e5, 0.3 - 400 * 9.81 / 2e5 / 3
    kappa = 300 / loaded / 1e5
    assert np.isclose(run["wheel kappa"][-1], kappa, rtol=1e-6)
    assert np.isclose(run["wheel.u1"][-1], 20 * (1 + kappa) / effective, rtol=1e-6)
    assert np.isclose(run["loss"][-1], 1e5 * kappa * 20 * kappa, rtol=1e-5)


@pytest.mark.parametrize("crown", [0.0, 0.06])
def test_the_contact_of_a_torus_is_its_lowest_point(crown: float) -> None:
    """Against 10⁶ points of the torus of radius 0.3 m whose axle leans by 0.4 rad."""
    tyre = veh.LinearTyre(8e4, vertical_stiffness=2e5)
    model = rig(tyre, lean=0.4, crown_radius=crown).derive().compile()
    run = model.simulate(1e-3, step=1e-3, initial={"slide.q1": 0.27, "wheel.u1": 66.0})
    u, v = np.meshgrid(np.linspace(-0.2, 0.2, 1001), np.linspace(-1.0, 1.0, 1001))
    radial = 0.3 - crown + crown * np.cos(v)
    y, z = crown * np.sin(v), -radial * np.cos(u)
    turned_y, turned_z = y * np.cos(0.4) - z * np.sin(0.4), y * np.sin(0.4) + z * np.cos(0.4)
    lowest = np.argmin(turned_z)
    assert np.isclose(run["deflection"][0], -(0.27 + turned_z.flat[lowest]), atol=1e-6)
    assert np.isclose(run["lever y"][0], turned_y.flat[lowest], atol=1e-3)
    assert np.isclose(run["lever z"][0], -0.27, atol=1e-12)
    assert np.isclose(run["wheel gamma"][0], np.degrees(0.4))


def test_a_locked_wheel_stops_and_stands() -> None:
    """From 10 m/s with the brake on: it slides at κ = −1, stops, and the tyre rocks to rest. The rebound is
    that of the tyre's spring: 3.3 kN on K/σ = 106 kN/m hold 51 J, which give 400 kg 0.5 m/s; the way to
    sliding adds some.
    """
    s = rig(veh.read_tyre(DATA / "mf_185_80R14.tir"), driven=False)
    s.lock("wheel.q1")
    run = s.derive().compile().simulate(4.0, step=1e-3, initial={"sled.u1": 10.0, "slide.q1": 0.354})
    assert np.isclose(np.min(run["wheel_kappa"]), -1.0, atol=0.01)
    assert np.all(run["sled.u1"] < 10.01) and np.min(run["sled.u1"]) > -0.8
    assert np.max(np.abs(run["sled.u1"][-200:])) < 5e-3
    assert np.max(np.abs(np.diff(run["wheel Fx"][100:]))) < 400  # nothing jumps: 3 kN over some 20 ms
    assert np.all(np.isfinite(run["wheel Mz"]))


def test_a_vehicle_stands_on_a_slope_without_creeping() -> None:
    """On 5 % with a locked wheel: the tyre's deflection holds it, where smooth friction would creep."""
    s = rig(veh.BrushTyre(20.0, 1.0, vertical_damping=2000.0), driven=False,
            road=veh.Road(lambda x, y: 0.05 * x))  # fmt: skip
    s.lock("wheel.q1")
    run = s.derive().compile().simulate(10.0, step=1e-3, initial={"slide.q1": 0.281})
    assert np.max(np.abs(run["sled.u1"][-500:])) < 1e-6
    assert abs(run["sled.q1"][-1] - run["sled.q1"][-3000]) < 1e-6


def test_reversal_passes_standstill_smoothly() -> None:
    """A torque backward turns a wheel that rolls ahead: speeds and slips pass zero, forces do not jump."""
    run = free_rig().simulate(6.0, step=1e-3, initial={"sled.u1": 2.0, "slide.q1": 0.354, "wheel.u1": 5.4},
                              parameters={"torque": -300.0})  # fmt: skip
    assert run["sled.u1"][0] > 1.9 and run["sled.u1"][-1] < -1.0
    assert np.max(np.abs(np.diff(run["wheel Fx"][1000:]))) < 20
    assert np.max(np.abs(run["wheel kappa"])) < 0.5


def test_a_wheel_that_jumps_lands_without_a_step_of_force() -> None:
    """Dropped from 10 cm above the road: no force in the air, then a load that grows from zero."""
    run = free_rig().simulate(0.6, step=2e-4, initial={"sled.u1": 15.0, "slide.q1": 0.476, "wheel.u1": 41.0})
    air = run["deflection"] <= 0
    assert air[0] and not np.all(air)
    assert np.all(run["wheel Fz"][air] == 0) and np.all(run["wheel Fx"][air] == 0)
    assert np.max(np.abs(np.diff(run["wheel Fz"]))) < 100  # 175 kN/m at 1.4 m/s is 49 N in 0.2 ms
    assert np.all(np.isfinite(run["wheel Mz"]))


def test_the_energy_balance_of_braking_to_reversal_closes() -> None:
    """Kinetic and potential energy change by the work of road and torque; RK4 with steps of 0.2 ms."""
    s = arm.System("wheel")
    s.parameter("torque", -200.0, units="N*m")
    frame = s.body("frame", joint=arm.Planar("y"), mass=380, inertia=(9, 9, 9))
    s.lock(frame.q3)
    wheel = veh.add_wheel(s, "wheel", frame, veh.read_tyre(DATA / "mf_185_80R14.tir"), **WHEEL)  # type: ignore[arg-type]
    s.gravity(9.81, -s.ground.z)
    s.moment("drive", "torque", frame.y, on=wheel.body, reaction=frame)
    s.state("work", rate=wheel.power() + s.parameters["torque"] * wheel.body.u1)
    s.output("energy", s.total_energy())
    model = s.derive().compile()
    run = model.simulate(4.0, step=2e-4, initial={"frame.u2": 3.0, "frame.q1": 0.36, "wheel.u1": 8.2})
    balance = run["energy"] - run["work"]
    assert run["frame.u2"][-1] < -0.5
    assert np.max(np.abs(balance - balance[0])) < 1e-8 * np.ptp(run["work"])


def test_friction_of_the_road_scales_the_tyres() -> None:
    """On ice to the right of x = 0 the sliding force is 0.2 of that before."""
    s = rig(veh.BrushTyre(20.0, 1.0, vertical_damping=2000.0),
            road=veh.Road(friction=lambda x, y: arm.select(x > 0, 0.2, 1.0)))  # fmt: skip
    s.lock("wheel.q1")
    run = s.derive().compile().simulate(1.0, step=1e-3, initial={"slide.q1": 0.281, "sled.q1": -10.0})
    assert np.isclose(run["wheel Fx"][400], -run["wheel Fz"][400], rtol=1e-3)
    assert np.isclose(run["wheel Fx"][-1], -0.2 * run["wheel Fz"][-1], rtol=1e-3)
    with pytest.raises(arm.ModelError, match="LinearTyre has no friction to scale"):
        veh.LinearTyre(8e4).with_friction(0.5)


def test_numbers_of_the_tyre_may_be_parameters_of_the_model() -> None:
    changes = {"VERTICAL_STIFFNESS": 2e5, "LATERAL_STIFFNESS": 1e5, "LONGITUDINAL_STIFFNESS": 3e5}
    s = rig(veh.read_tyre(DATA / "made_up_61.tir", changes=changes), parameters=["LMUY"])
    assert {"wheel_LMUY", "wheel_FNOMIN"} <= set(s.parameters)
    with pytest.raises(arm.ModelError, match="there is no number 'grip'"):
        rig(veh.BrushTyre(20.0, 1.0), parameters=["grip"])


@pytest.mark.parametrize("kind", ["rolling", "spinning"])
def test_a_wheel_of_short_relaxation_has_a_slip_that_lags_by_the_quickest_time(kind: str) -> None:
    """1 mm at 33 m/s would be a time constant of 30 µs, at which RK4 with steps of 1 ms diverges."""
    tyre = veh.LinearTyre(5e4, slip_stiffness=5e4, relaxation_alpha=1e-3)
    s = arm.System("wheel on a sled")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=1000, inertia=0)
    s.prescribe(sled.u1, 33.0)
    fork = s.body("fork", sled, arm.Revolute("z"), mass=0, inertia=0)
    s.prescribe(fork.q1, 0.02)
    if kind == "rolling":
        veh.add_rolling_wheel(s, "wheel", fork, tyre, load=4e3, speed=33.0, at=(0, 0, 0.3))
    else:
        veh.add_wheel(s, "wheel", fork, tyre, at=(0, 0, 0.29), **WHEEL)  # type: ignore[arg-type]
    run = s.derive().compile().simulate(0.02, step=1e-3)
    state, end = ("wheel_fy", 5e4 * 0.02) if kind == "rolling" else ("wheel_slip", -np.tan(0.02))
    expected = end * (1 - np.exp(-np.asarray(run.time) / 0.002))
    assert run[state] == pytest.approx(expected, abs=2e-3 * abs(end))
