"""Poses of bodies in runs, from compiled code, beside positions that the model itself puts out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.viewer.appearance import Appearance
from armillary.viewer.figures import channels, quaternions
from armillary.viewer.page_data import PoseFunction


def _with_places(s: arm.System, *names: str) -> arm.System:
    """The system with the place of a point off the axes of each body as outputs."""
    for name in names:
        tip = s.bodies[name].point((0.3, -0.2, 0.5), name="seen")
        for letter, axis in zip("xyz", s.ground.frame.axes, strict=True):
            s.output(f"{name}_{letter}", arm.dot(arm.position(tip), axis))
    return s


def _tree() -> arm.System:
    s = arm.System("tree")
    s.gravity(9.81, "-ground.z")
    hub = s.body("hub", joint=arm.Free(), mass=3, inertia=(1, 2, 2.5), com=(0.1, 0, 0.2))
    turned = s.body(
        "turned", parent=hub, joint=arm.Revolute((1, 2, 2)), at=(0, 0.4, 0), mass=1, inertia=(0.1, 0.1, 0.1)
    )
    s.body(
        "rod", parent=turned, joint=arm.Prismatic("x"), at=(0.2, 0, 0), mass=0.5, inertia=(0.01, 0.01, 0.01)
    )
    s.body("ball", parent=hub, joint=arm.Spherical(), at=(0, -0.4, 0.1), mass=1, inertia=(0.1, 0.2, 0.25))
    s.start({"turned.u1": 2.0, "ball.u1": 1.0, "ball.u3": -3.0, "rod.u1": 0.3, "hub.u5": 1.5})
    return _with_places(s, "hub", "turned", "rod", "ball")


def _driven() -> arm.System:
    """A body whose motion is prescribed, in degrees and millimetres, with another on it."""
    s = arm.System("driven")
    s.parameter("L", 250.0, units="mm")
    arm_ = s.body("arm", joint=arm.Revolute("y"), mass=1, inertia=(0.1, 0.1, 0.1))
    s.body(
        "bob",
        parent=arm_,
        joint=arm.Revolute("y"),
        at=("L", 0, 0),
        mass=1,
        com=(0, 0, -0.2),
        inertia=(0.01, 0.01, 0.01),
    )
    s.gravity(9.81, "-ground.z")
    s.prescribe("arm.q1", "0.2*sin(3*t)")
    return _with_places(s, "arm", "bob")


@pytest.mark.parametrize(
    ("make", "formalism"),
    [(_tree, "auto"), (_tree, "momentum"), (_tree, "redundant"), (_driven, "kane")],
)
def test_poses_are_those_of_the_model(make, formalism: str) -> None:
    model = make().derive(formalism).compile()
    run = model.simulate(0.5, step=0.01, **({"parameters": {"L": 300.0}} if make is _driven else {}))
    poses = PoseFunction(core_of(model.equations)).of_run(run)
    tip = np.array([0.3, -0.2, 0.5])
    for b, name in enumerate(poses.names):
        found = poses.positions[:, b] + poses.rotations[:, b] @ tip
        stated = np.stack([run[f"{name}_{letter}"] for letter in "xyz"], axis=1)
        assert np.max(np.abs(found - stated)) < 1e-12
    assert len(poses.names) == len(model.equations.system.bodies) - (
        "ground" in model.equations.system.bodies
    )


def test_quaternions_do_not_jump_and_mean_the_rotations() -> None:
    s = arm.System("wheel")
    s.body("wheel", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.start({"wheel.u1": 10.0})
    model = s.derive().compile()
    run = model.simulate(3.0, step=0.01)
    found = channels(PoseFunction(core_of(model.equations)).of_run(run))
    assert np.max(np.abs(np.diff(found, axis=0))) < 0.06  # ten radians per second, half of it each row
    angle = run["wheel.q1"]
    assert np.allclose(np.abs(found[:, 5]), np.abs(np.sin(angle / 2)), atol=1e-12)
    assert np.allclose(np.abs(found[:, 6]), np.abs(np.cos(angle / 2)), atol=1e-12)


def test_a_run_without_coordinates_is_refused() -> None:
    model = _driven().derive().compile()
    run = model.simulate(0.1, step=0.05)
    kept = [name for name in run.names if name != "bob.q1"]
    short = arm.Run(run.system, run.time, np.stack([run[n] for n in kept], axis=1), tuple(kept))
    with pytest.raises(arm.ArmillaryError, match=r"no coordinate 'bob\.q1'"):
        PoseFunction(core_of(model.equations)).of_run(short)


def test_flexible_bodies_bend_as_their_nodes_do() -> None:
    """The last point of a beam's chain, moved by the amplitudes, is where the model has its tip."""
    s = arm.System("boom")
    hub = s.body("hub", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    boom = s.body("boom", hub, at=(0.2, 0, 0))
    boom.flexible(arm.Beam(2.0, EI=5.0, mass_per_length=0.3, along="x", motions="y"), modes=2)
    for letter, axis in zip("xyz", boom.frame.axes, strict=True):
        s.output(f"tip_{letter}", arm.dot(boom.deflection("tip"), axis))
    s.start({"hub.u1": 1.0, "boom.q1": 0.05})
    model = s.derive().compile()
    run = model.simulate(1.0, step=0.01)
    eta = PoseFunction(core_of(model.equations)).amplitudes(run)
    (bent,) = Appearance(core_of(model.equations), run.parameters).bending()
    assert bent["chain"]
    assert np.allclose(bent["places"], np.outer(np.linspace(0, 2, 17), [1, 0, 0]), atol=1e-12)
    tip = eta @ np.array(bent["shapes"][-1])
    stated = np.stack([run[f"tip_{letter}"] for letter in "xyz"], axis=1)
    assert np.max(np.abs(stated)) > 1e-3
    assert np.max(np.abs(tip - stated)) < 1e-12


def test_quaternions_are_those_of_scipy() -> None:
    """At random, and at half turns about every axis, where all but one column vanish."""
    axes = np.vstack([np.eye(3), -np.eye(3), np.random.default_rng(1).normal(size=(50, 3))])
    units = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    turns = [
        Rotation.from_rotvec(angle * unit) for angle in (0, 1, math.pi - 1e-9, math.pi) for unit in units
    ]
    R = np.array([turn.as_matrix() for turn in turns]).reshape(2, -1, 3, 3)
    found, wanted = quaternions(R), np.array([turn.as_quat() for turn in turns]).reshape(2, -1, 4)
    same = np.abs(np.sum(found * wanted, axis=2))
    np.testing.assert_allclose(same, 1.0, rtol=0, atol=4e-16)
