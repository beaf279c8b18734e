"""Single formulas of parts and manoeuvres by hand: air, banked roads, steering, verdicts, tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.manoeuvres import open_loop
from armillary.vehicles.suspensions.rig import MEASURED, PULLS

TYRE = veh.BrushTyre(slip_stiffness=18.0, friction=1.0, vertical_damping=0.0, radius=0.32)


class FakeRun(dict[str, np.ndarray]):
    """Columns of a run without events."""

    events = ()


def test_air_pushes_by_its_areas() -> None:
    """Accelerations of a body at a velocity with all components, and its yaw."""
    s = arm.System("body")
    body = s.body("body", joint=arm.Free(), mass=2.0, inertia=(3.0, 3.0, 4.0))
    veh.add_air(s, "air", body, body, drag=0.6, side=1.7, lift=-0.3, yaw=0.9, density=1.2)
    v = np.array([30.0, 4.0, -2.0])
    model = s.derive().compile()
    state = model.state({f"body.u{i + 1}": float(x) for i, x in enumerate(v)})
    names = [*model.coordinate_names, *model.speed_names]
    rates = dict(zip(names, model.derivatives(0.0, state), strict=True))
    size = np.linalg.norm(v)
    force = -0.6 * size * np.array([0.6 * v[0], 1.7 * v[1], 0.3 * size])
    found = np.array([float(rates[f"body.u{i}"]) for i in (1, 2, 3)])
    assert np.allclose(found, force / 2.0, rtol=1e-12)
    assert np.isclose(float(rates["body.u6"]), -0.6 * size * 0.9 * v[1] / 4.0, rtol=1e-12)


@pytest.mark.parametrize(("along", "across"), [(0.0, 0.0), (0.2, 0.0), (0.0, -0.3), (0.2, -0.3)])
def test_a_wheel_on_a_tilted_road_is_pressed_by_its_depth_along_the_normal(
    along: float, across: float
) -> None:
    """The deflection of an upright disc is that of its lowest point below a plane with two slopes."""
    s = arm.System("rig")
    hub = s.body("hub", joint=arm.Joint(translate=["x", "y", "z"]), mass=300.0, inertia=(10.0,) * 3)
    road = veh.Road(height=lambda x, y: along * x + across * y)
    wheel = veh.add_wheel(s, "wheel", hub, TYRE, mass=20.0, inertia=(0.5, 0.9, 0.5), road=road)
    s.output("deflection", wheel.deflection, units="m")
    x, y, z = 0.7, -0.4, 0.3 + along * 0.7 - across * 0.4
    normal = np.array([-along, -across, 1.0]) / np.sqrt(1 + along**2 + across**2)
    height = 0.3 * normal[2]
    cosine = np.sqrt(1 - normal[1] ** 2)  # the axle is along y
    model = s.derive().compile()
    found = model.outputs(0.0, model.state({"hub.q1": x, "hub.q2": y, "hub.q3": z}))
    assert np.isclose(float(found["deflection"]), 0.32 * cosine - height, rtol=1e-12)


def test_random_steering_has_the_deviation_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def keep(car: object, duration: float, speed: float, steer: tuple[Any, Any], **_: object) -> arm.Run:
        seen.append(np.asarray(steer[1]))
        raise KeyboardInterrupt

    monkeypatch.setattr(open_loop, "drive", keep)
    with pytest.raises(KeyboardInterrupt):
        veh.random_steer(SimpleNamespace(), steer=0.02, speed=20.0, duration=40.0)  # type: ignore[arg-type]
    second = seen[0][2000:4000]  # whole periods of each sine
    assert np.isclose(np.sqrt(np.mean(second**2)), 0.02, rtol=1e-9)
    assert abs(np.mean(second)) < 1e-12


@pytest.mark.parametrize(
    ("gone", "safe"),
    [
        ((), True),
        (("front_left",), True),
        (("front_left", "rear_right"), True),
        (("front_left", "rear_left"), False),
    ],
)
def test_a_car_is_unsafe_if_both_wheels_of_a_side_lift_off(gone: tuple[str, ...], safe: bool) -> None:
    columns: dict[str, np.ndarray] = {
        f"{wheel} Fz": np.array([3000.0, 0.0 if wheel in gone else 2000.0, 3000.0])
        for wheel in ("front_left", "front_right", "rear_left", "rear_right")
    }
    for name in ("lateral acceleration", "roll angle", "sideslip angle"):
        columns[name] = np.zeros(3)
    found = open_loop._rollover("J-turn", FakeRun(columns))  # type: ignore[arg-type]
    assert found.passed is safe
    assert found["least load of a wheel"] == (0.0 if gone else 2000.0)


def test_tables_of_compliance_have_degrees_and_millimetres_per_kilonewton() -> None:
    rig = object.__new__(veh.ComplianceRig)
    rig.__dict__["compliances"] = {(pull, name): 1e-6 for pull in PULLS for name in MEASURED}
    shown = {line[:34].strip(): line[34:].split(maxsplit=1) for line in rig.table().splitlines()}
    assert len(shown) == len(PULLS) * len(MEASURED)
    for pull, (unit, _, _) in PULLS.items():
        many = 1000.0 if unit == "N" else 100.0
        for name in MEASURED:
            value, units = shown[f"{name} by {pull.replace('_', ' ')}"]
            factor = 180 / np.pi if name in ("toe", "camber") else 1000.0
            assert np.isclose(float(value), 1e-6 * many * factor, atol=5e-5)
            assert units == f"{'deg' if factor < 100 else 'mm'}/{'kN' if unit == 'N' else '100 N*m'}"


def test_the_peak_of_a_response_is_that_of_the_parabola_through_its_samples() -> None:
    """A hump of 1.3 at 1.234 s between samples of 0.1 s, then one; the run's end is steady."""
    t = np.arange(0.0, 10.001, 0.1)
    y = np.where(t < 1.6, 1.3 - 2.0 * (t - 1.234) ** 2, 1.0)
    run = FakeRun(yaw=2.0 * y)
    run.time = t  # type: ignore[attr-defined]
    found = open_loop._measure(run, "yaw", 0.5, 0.2, 0.1)  # type: ignore[arg-type]
    assert found.peak_time == pytest.approx(1.034, rel=1e-9) and found.overshoot == pytest.approx(
        0.3, rel=1e-9
    )
    assert found.steady == pytest.approx(1.0) and found.gain == pytest.approx(10.0)


def test_sliding_begins_at_three_times_the_grip_over_the_stiffness() -> None:
    tyre = veh.FialaTyre(1e5, 8e4)
    grip = 3 * 1.0 * 4000.0
    assert [float(x) for x in tyre.sliding_slips(4000.0)] == pytest.approx([grip / 1e5, grip / 8e4])  # type: ignore[arg-type]
    assert [float(x) for x in tyre.sliding_slips(0.0)] == [1e-3, 1e-3]  # type: ignore[arg-type]
