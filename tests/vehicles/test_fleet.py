"""Tractor and semi-trailer against equations by hand; the pickup's solid axle and the Formula-Student car."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.fleet import SOLID_REAR

V, C, SIGMA = 25.0, 1.5e5, 0.5
M, IZZ, A, B, CC, MT, ITZ, E, F = 7500.0, 35e3, 1.4, 2.3, 1.8, 28e3, 4.5e5, 5.5, 7.7


@cache
def truck() -> veh.Car:
    tyre = veh.LinearTyre(C, relaxation_alpha=SIGMA, radius=0.5)
    return veh.tractor_and_trailer(tyre, tyre, tyre, speed=V)


@cache
def pickup() -> veh.Car:
    tyre = veh.BrushTyre(
        slip_stiffness=18.0, friction=1.0, vertical_damping=500.0, radius=0.36, vertical_stiffness=2.5e5
    )
    return veh.pickup(tyre, tyre)


def by_hand() -> tuple[np.ndarray, np.ndarray]:
    """A and B of v, r, θ', θ and the lagged forces of three axles; Y is the force of the fifth wheel.

    m (v̇ + V r) = Ff + Fr + Y                      I ṙ = a Ff − b Fr − c Y
    mt (v̇ + V r − c ṙ − e (ṙ + θ̈)) = Ft − Y        It (ṙ + θ̈) = −e Y − (f − e) Ft
    σ Ḟ + V F = −V C α        αt = (v − c r − f (r + θ̇))/V − θ
    """
    left, right = np.zeros((8, 8)), np.zeros((8, 8))  # of (v, r, θ̇, θ, Ff, Fr, Ft, Y)
    left[0, 0], right[0, [1, 4, 5, 7]] = M, [-M * V, 1, 1, 1]
    left[1, 1], right[1, [4, 5, 7]] = IZZ, [A, -B, -CC]
    left[2, :3], right[2, [1, 6, 7]] = MT * np.array([1, -CC - E, -E]), [-MT * V, 1, -1]
    left[3, 1:3], right[3, [6, 7]] = ITZ, [-(F - E), -E]
    left[4, 3], right[4, 2] = 1, 1
    for row, (count, slip) in enumerate(
        [(2, [1, A, 0, 0]), (4, [1, -B, 0, 0]), (6, [1, -CC - F, -F, -V])], start=5
    ):
        left[row, row - 1] = SIGMA
        right[row, row - 1] = -V
        right[row, :4] = -count * C * np.array(slip)
    # Y has no rate: solve for the rates and Y together.
    whole = np.hstack([left[:, :7], -right[:, 7:]])
    solved = np.linalg.solve(whole, right[:, :7])
    steered = np.zeros(8)
    steered[5] = 2 * C * V
    return solved[:7], np.linalg.solve(whole, steered)[:7]


def test_the_truck_has_the_eigenvalues_of_equations_by_hand() -> None:
    found = np.linalg.eigvals(truck().model.linearize().A)
    for value in np.linalg.eigvals(by_hand()[0]):
        assert np.min(np.abs(found - value)) < 1e-7 * abs(value)


def test_rearward_amplification_is_that_of_the_linear_truck() -> None:
    """One period of steering, so small that sines do not count, stepped by the matrix exponential."""
    from scipy.linalg import expm

    found = veh.rearward_amplification(truck(), speed=V, steer=1e-4)
    a, b = by_hand()
    step = 2e-3
    t = found.run.time
    steer = np.where((t >= 0.5) & (t <= 3.0), 1e-4 * np.sin(2 * np.pi * 0.4 * (t - 0.5)), 0)
    whole = np.zeros((9, 9))  # with the angle and its rate, constant in a step
    whole[:7, :7], whole[:7, 7], whole[7, 8] = a, b, 1
    ahead = expm(whole * step)
    x = np.zeros((len(t), 9))
    for k in range(len(t) - 1):
        x[k, 7], x[k, 8] = steer[k], (steer[k + 1] - steer[k]) / step
        x[k + 1] = ahead @ x[k]
    rates = x[:, :7] @ a.T + np.outer(x[:, 7], b)
    tractor = rates[:, 0] + V * x[:, 1]
    trailer = tractor - (CC + E) * rates[:, 1] - E * rates[:, 2]
    expected = np.max(np.abs(trailer)) / np.max(np.abs(tractor))
    assert np.isclose(found["rearward amplification, lateral acceleration"], expected, rtol=1e-4)
    assert expected > 1.1
    with pytest.raises(arm.ModelError, match="has no trailer"):
        veh.rearward_amplification(pickup(), speed=20.0)


def test_the_truck_as_a_text_model_gives_the_same_figures(tmp_path: Path) -> None:
    truck().system.save(tmp_path / "truck.toml")
    again = veh.rearward_amplification(veh.Car.load(tmp_path / "truck.toml"), speed=V)
    here = veh.rearward_amplification(truck(), speed=V)
    assert np.isclose(again["peak articulation angle"], here["peak articulation angle"], rtol=1e-12)


def test_a_solid_axle_heaves_and_rolls_on_its_links() -> None:
    """Six freedoms less four links; symmetric in heave, and in roll every link keeps its length."""
    s = arm.System("axle")
    axle = veh.solid_axle(s, "rear", s.ground, SOLID_REAR)
    model = s.derive().compile()
    table = model.sweep({"rear.q3": [0.05, 0.0], "rear.q5": [0.0, 0.06]})
    assert np.all(table.found) and len(axle.closures) == 4
    assert abs(table["rear.q2"][0]) < 1e-12 and abs(table["rear.q4"][0]) < 1e-12
    q = np.array([table[f"rear.q{i}"][1] for i in range(1, 7)])
    cz, sz, cx, sx, cy, sy = (f(q[i]) for i in (3, 4, 5) for f in (np.cos, np.sin))
    turned = (
        np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
        @ np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
        @ np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    )
    for link in ("lower", "upper"):
        for side in (1, -1):
            inner, outer = (
                np.array(SOLID_REAR[f"{link}_{end}"]) * [1, side, 1] for end in ("inner", "outer")
            )
            assert np.isclose(
                np.linalg.norm(q[:3] + turned @ outer - inner), np.linalg.norm(outer - inner), rtol=1e-12
            )


def test_springs_are_preloaded_by_the_weight_that_they_carry() -> None:
    """Springs of a solid axle move with the wheels; those of a wishbone have a ratio below one."""
    small = veh.BrushTyre(
        slip_stiffness=22.0, friction=1.5, radius=0.23, vertical_stiffness=1e5, nominal_load=700
    )
    student, truck = veh.formula_student_car(small, small), pickup()
    for car, weight in ((student, 215 * 9.80665), (truck, 1900 * 9.80665)):
        preloads = {name: p.data.default for name, p in car.system.parameters.items() if "_preload" in name}
        assert len(preloads) == 4 and all(weight / 5 < force < weight for force in preloads.values())
    rear = preloads["rear_left_spring_preload"]
    assert np.isclose(rear, 1900 * 9.80665 * 1.45 / 3.3 / 2, rtol=0.02)  # the spring stands nearly upright
    assert student.wheelbase == pytest.approx(1.55) and student.steering_ratio == 4


@pytest.mark.parametrize("name", ["compact", "leaf"])
def test_twist_beams_and_leaf_springs_carry_cars_at_their_hard_points(name: str) -> None:
    """Straight ahead preloads balance the weight: nothing moves by more than a millimetre, and the loads of
    the wheels stay. In a turn the balance of energy closes.
    """
    tyre = veh.BrushTyre(18.0, 1.0, vertical_damping=300.0, radius=0.32)
    car = (
        veh.compact_car(tyre, tyre)
        if name == "compact"
        else veh.pickup(tyre, tyre, leaf=veh.LEAF, energy=True)
    )
    run = car.model.simulate(
        1.2, step=1e-3, sample=0.01, initial=car.start(20.0), parameters={"V": 20.0},
        inputs={"steer": ([0, 0.5, 0.7], [0, 0, 0.3])},
    )  # fmt: skip
    straight = np.asarray(run.time) < 0.5
    assert np.max(np.abs(run["body.q3"][straight])) < 1e-3
    assert np.max(np.abs(run["pitch angle"][straight])) < 0.1
    for wheel in car.wheels:
        assert np.allclose(run[f"{wheel} Fz"][straight], run[f"{wheel} Fz"][0], rtol=0.02)
    assert run["roll angle"][-1] > 0.5
    if name == "leaf":
        assert veh.energy_error(run, car.powers) < 1e-8
