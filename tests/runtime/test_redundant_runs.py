"""Runs in redundant coordinates agree with minimal ones as the step shrinks, with all that runs can do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.verification.rows import largest


def swing() -> arm.System:
    """A hinge, a universal joint and a slider with a point mass: rotations, a massless part, a spring."""
    s = arm.System("swing")
    N = s.ground
    upper = s.body("upper", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=2.0, inertia=(0.3, 0.02, 0.3))
    fork = s.body("fork", upper, arm.Gimbal("xz"), at=(0, -1, 0), com=(0, -0.2, 0.1), mass=1.0,
                  inertia=(0.02, 0.01, 0.02))  # fmt: skip
    bead = s.body("bead", fork, arm.Prismatic("y"), at=(0, -0.3, 0), mass=0.5, inertia=0)
    s.gravity(9.81, -N.y)
    s.force("spring", "-40*bead.q1 - 0.5*bead.u1", fork.y, at=bead.com, reaction=fork)
    s.output("height", arm.dot(arm.position(bead.com), N.y), units="m")
    s.output("pull", arm.dot(arm.acceleration(bead.com), N.y), units="m/s2")
    s.output("energy", s.total_energy(), units="J")
    return s


START = {"upper.q1": 1.0, "fork.q1": 0.3, "fork.u2": 2.0, "bead.q1": 0.1}
COLUMNS = ("upper.q1", "fork.q1", "fork.q2", "bead.q1", "upper.u1", "height", "pull")


@pytest.fixture(scope="module")
def models() -> tuple[Any, Any]:
    return swing().derive(formalism="redundant").compile(), swing().derive().compile()


def errors(models: tuple[Any, Any], steps: tuple[float, ...], **how: Any) -> np.ndarray:
    redundant, minimal = models
    times = [0.0, 0.5, 1.0]
    exact = minimal.simulate(1.0, rtol=1e-12, atol=1e-13, sample=times, initial=START)
    runs = [redundant.simulate(1.0, step=h, sample=times, initial=START, **how) for h in steps]
    return np.array([largest([abs(run[c] - exact[c]).max() for c in COLUMNS]) for run in runs])


@pytest.mark.parametrize(
    ("how", "order"),
    [
        ({"passes": 1}, 2),
        ({"passes": 2}, 2),
        ({"passes": 1, "translation": "explicit"}, 2),
        ({"passes": 0}, 1),
        ({"method": "projected"}, 4),
    ],
    ids=str,
)
def test_orders_of_convergence(models: tuple[Any, Any], how: dict[str, Any], order: int) -> None:
    found = errors(models, (2e-3, 1e-3), **how)
    assert np.log2(found[0] / found[1]) == pytest.approx(order, abs=0.2)
    assert found[1] < {1: 0.2, 2: 1e-3, 4: 1e-8}[order]  # of values of the order of ten


def test_accelerations_at_random_states_are_the_minimal_ones(models: tuple[Any, Any]) -> None:
    redundant, minimal = models
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, u = rng.uniform(-1, 1, 4), rng.uniform(-2, 2, 4)
        y = redundant.state([*q, *u])
        found = redundant.joint_accelerations(0.0, y)
        np.testing.assert_allclose([*found.values()], minimal.accelerations(0.0, q, u), rtol=1e-10)


def test_projection_keeps_every_constraint(models: tuple[Any, Any]) -> None:
    run = models[0].simulate(5.0, step=5e-3, method="projected", initial=START)
    assert run["constraint error"].max() < 1e-13
    assert run["constraint speed error"].max() < 1e-13
    assert run["unit-norm error"].max() < 1e-14


def test_rows_inside_steps_show_the_motion_there(models: tuple[Any, Any]) -> None:
    """Coordinates by cubic interpolation, accelerations by straight lines."""
    redundant, minimal = models
    times = np.linspace(0, 1, 38)
    exact = minimal.simulate(1.0, rtol=1e-12, atol=1e-13, sample=times, initial=START)
    run = redundant.simulate(1.0, step=2e-3, method="projected", sample=times, initial=START)
    assert abs(run["height"] - exact["height"]).max() < 1e-8
    assert abs(run["pull"] - exact["pull"]).max() < 1e-3


def test_tolerances_are_taken_as_other_methods_of_fixed_step_take_them(models: tuple[Any, Any]) -> None:
    redundant = models[0] if models[0].formalism == "redundant" else models[1]
    plain = redundant.simulate(0.02, step=0.01)
    given = redundant.simulate(0.02, step=0.01, rtol=1e-6, atol=1e-8, max_step=0.5)
    assert np.array_equal(plain.values, given.values)
    with pytest.raises(arm.ArmillaryError, match="tolerances must be positive"):
        redundant.simulate(0.02, step=0.01, rtol=-1.0)


def test_angles_are_not_wrapped() -> None:
    s = arm.System("wheel")
    s.body("wheel", joint=arm.Revolute("x"), mass=1, inertia=(1, 1, 1))
    model = s.derive(formalism="redundant").compile()
    for method in ("staggered", "projected"):
        run = model.simulate(10.0, step=0.01, method=method, initial={"wheel.u1": 7.0})
        assert run["wheel.q1"][-1] == pytest.approx(70.0, rel=1e-3)


@pytest.mark.parametrize("method", ["staggered", "projected"])
def test_events_and_memory_follow_the_rules_of_other_models(method: str) -> None:
    """A ball that bounces and counts, and samples its height ten times a second."""
    s = arm.System("bouncing ball")
    ball = s.body("ball", joint=arm.Prismatic("z"), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.z)
    hits = s.memory("hits")
    s.memory("seen", every=0.1, update=ball.q1, units="m")
    s.event("hit", ball.q1, direction=-1, set={ball.u1: -0.8 * ball.u1, hits: hits + 1})
    initial = {"ball.q1": 1.0}
    run = s.derive(formalism="redundant").compile().simulate(2.0, step=0.01, method=method, initial=initial)
    known = s.derive().compile().simulate(2.0, step=0.01, method="rk4", initial=initial)
    assert [e.name for e in run.events] == [e.name for e in known.events]
    np.testing.assert_allclose([e.time for e in run.events], [e.time for e in known.events], rtol=1e-12)
    for name in ("ball.q1", "ball.u1", "hits", "seen"):
        np.testing.assert_allclose(run[name], known[name], rtol=0, atol=1e-12)


def test_given_and_locked_speeds_and_their_efforts() -> None:
    s = arm.System("driven")
    inertia = (0.1, 0.1, 0.2)
    base = s.body("base", joint=arm.Revolute("z"), com=(0.3, 0, 0), mass=2, inertia=inertia)
    side = s.body("side", base, arm.Revolute("x"), at=(1, 0, 0), com=(0, 0.2, 0), mass=1, inertia=inertia)
    s.body("tip", side, arm.Revolute("y"), at=(0, 0.5, 0), com=(0.2, 0, 0), mass=1, inertia=inertia)
    s.gravity(9.81, -s.ground.z)
    s.parameter("w", 3.0, units="rad/s")
    s.prescribe(base.q1, "0.4*sin(w*t)")
    s.lock(side.q1)
    s.output("drive", s.effort(base.u1), units="N*m")
    initial = {"side.q1": 0.3, "tip.u1": 1.0}
    times = np.linspace(0, 1, 11)
    run = (
        s.derive(formalism="redundant")
        .compile()
        .simulate(1.0, step=1e-3, method="projected", sample=times, initial=initial)
    )
    known = s.derive().compile().simulate(1.0, rtol=1e-12, atol=1e-13, sample=times, initial=initial)
    assert abs(run["side.q1"] - 0.3).max() < 1e-12
    assert abs(run["base.q1"] - 0.4 * np.sin(3 * times)).max() < 1e-12
    for name in ("tip.q1", "tip.u1", "drive"):
        np.testing.assert_allclose(run[name], known[name], rtol=0, atol=1e-9)


def parallelogram() -> arm.System:
    """A four-bar closed by a ball in space: its direction across the plane says nothing new."""
    s = arm.System("parallelogram")
    inertia = (0.1, 0.1, 0.1)
    left = s.body("left", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=1, inertia=inertia)
    bar = s.body("bar", left, arm.Revolute("z"), at=(0, -1, 0), com=(0.5, 0, 0), mass=1, inertia=inertia)
    right = s.body("right", joint=arm.Revolute("z"), at=(1, 0, 0), mass=0, inertia=0)
    along, *_ = s.close_loop(bar.point("end", (1, 0, 0)), right.point("foot", (0, -1, 0)), name="loop")
    s.output("pin", along.force, units="N")
    s.gravity(9.81, -s.ground.y)
    return s


def test_loops_with_massless_parts_and_dependent_constraints() -> None:
    s = parallelogram()
    model = s.derive(formalism="redundant").compile()
    initial = {"left.q1": 0.5}  # the other angles are found
    run = model.simulate(1.0, step=2e-3, method="projected", sample=0.1, initial=initial)
    known = s.derive().compile().simulate(1.0, rtol=1e-12, atol=1e-13, sample=0.1, initial=initial)
    assert run.info["dependent constraints"] == "loop along bar.z"
    for name in ("left.q1", "bar.q1", "right.q1", "pin"):
        np.testing.assert_allclose(run[name], known[name], rtol=0, atol=1e-9)
    staggered = model.simulate(1.0, step=2e-3, passes=2, sample=0.1, initial=initial)
    np.testing.assert_allclose(staggered["left.q1"], known["left.q1"], rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"step": 0.01, "method": "rk4"},
            "'rk4' is not for redundant coordinates; use one of: staggered",
        ),
        ({"step": 0.01, "method": "stagered"}, "did you mean 'staggered'"),
        ({}, "takes steps of one size"),
        ({"step": 0.01, "passes": -1}, "whole number of 0 or more, not -1"),
        ({"step": 0.01, "epsilon": 0.0}, "epsilon must be a positive number, not 0"),
        ({"step": 0.01, "translation": "fast"}, "neither 'explicit' nor 'implicit'"),
        ({"step": 0.01, "initial": {"bead.q2": 1.0}}, "no coordinate, speed or state 'bead.q2'"),
        ({"step": 0.01, "initial": {"bead.q1": float("nan")}}, "'bead.q1' is nan; give a finite number"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_bad_input(models: tuple[Any, Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        models[0].simulate(1.0, **settings)


def test_methods_of_redundant_coordinates_are_refused_elsewhere(models: tuple[Any, Any]) -> None:
    with pytest.raises(arm.ArmillaryError, match="is not for equations without redundant coordinates"):
        models[1].simulate(1.0, step=0.01, method="staggered")


def test_a_locked_joint_stays_locked_at_operating_points_and_in_the_list_of_configurations() -> None:
    s = arm.System("bent pendulum")
    s.gravity(9.81, -s.ground.y)
    A = s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    B = s.body("B", A, arm.Revolute("z"), at=(0, -2, 0), com=(0, -1, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.lock(B.u1)
    eom = s.derive(formalism="redundant")
    found = eom.compile().equilibrium(fixed={"B.q1": 0.5})
    # 2 g sin a + g (2 sin a + sin(a + 0.5)) = 0, the moment of both weights about A's joint
    assert found["A.q1"] == pytest.approx(-np.arctan(np.sin(0.5) / (4 + np.cos(0.5))), rel=1e-9)
    assert "B.u1" in str(eom.configurations)


def test_a_start_by_numbers_that_is_slightly_open_is_closed_nearby() -> None:
    """A four-bar linkage whose three angles and rates are given as a list, off by some hundredths: positions
    and velocities of the closed pin agree, Euler parameters have unit length and are those of the angles, and
    nothing has moved further than a few times what was open.
    """
    s = arm.System("four-bar")
    N = s.ground
    crank = s.body("crank", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    bar = s.body(
        "bar", crank, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1.0, inertia=(0.1, 0.2, 0.3)
    )
    rocker = s.body("rocker", joint=arm.Revolute("z"), at=(2, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    end, tip = bar.point("end", (2, 0, 0)), rocker.point("tip", (0, 1.5, 0))
    s.close_loop(end, tip, [N.x, N.y])
    for axis in "xy":
        way = getattr(N, axis)
        s.output(f"gap {axis}", arm.dot(arm.position(end) - arm.position(tip), way), units="m")
        s.output(f"rate {axis}", arm.dot(arm.velocity(end) - arm.velocity(tip), way), units="m/s")
    model = s.derive("redundant").compile()

    def angles(y: np.ndarray) -> np.ndarray:
        return np.array([y[model.coordinate_names.index(f"{b}.q1")] for b in ("crank", "bar", "rocker")])

    closed = model.state({"crank.q1": 1.5, "crank.u1": 0.4})
    given = angles(closed) + np.array([0.02, -0.01, 0.03])
    y = model.state([*given, 0.4, 0.0, 0.0])
    shown = model.outputs(0.0, y)
    assert [shown[f"{what} {axis}"] for what in ("gap", "rate") for axis in "xy"] == pytest.approx(
        [0.0] * 4, abs=1e-11
    )
    found = angles(y)
    assert 1e-3 < np.max(np.abs(found - given)) < 0.1
    absolute = (found[0], found[0] + found[1], found[2])
    for body, angle in zip(("crank", "bar", "rocker"), absolute, strict=True):
        e = [y[model.coordinate_names.index(f"{body}.e{i}")] for i in range(4)]
        assert e == pytest.approx([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)], abs=1e-9)


def test_constraints_that_depend_on_others_but_for_rounding_are_found() -> None:
    """A plane loop held along x, y and a direction across the plane: of this one rounding is left."""
    s = arm.System("three directions")
    bar = {"mass": 1, "inertia": (0.1, 0.1, 0.1)}
    left = s.body("left", joint=arm.Revolute("z"), com=(0, -0.5, 0), **bar)
    middle = s.body("middle", left, arm.Revolute("z"), at=(0, -1, 0), com=(0.5, 0, 0), **bar)
    right = s.body("right", joint=arm.Revolute("z"), at=(1, 0, 0), com=(0, -0.5, 0), **bar)
    x, y, z = s.ground.x, s.ground.y, s.ground.z
    along = s.close_loop(middle.point("end", (1, 0, 0)), right.point("foot", (0, -1, 0)),
                         [x, y, 0.48 * x + 0.64 * y + 0.6 * z], name="loop")  # fmt: skip
    model = s.derive(formalism="redundant").compile()
    for q in (0.3, 1.1):
        initial = {"left.q1": q, "middle.q1": -q, "right.q1": q}
        run = model.simulate(0.01, step=2e-3, method="projected", initial=initial)
        assert run.info["dependent constraints"] == along[2].name
