"""Ten cases of contact in Drake, under the peers' interpreter: prints a JSON object, a number per case.

    python contact_drake.py sap|tamsi default|careful

`default` has Drake's own settings: steps of 1 ms, stiffness from its penetration allowance. `careful` has
steps of 0.1 ms and a stiffness of 1e8 N/m. Point contact has one point per pair of shapes, so a box has
a sphere of 1 µm in each corner that touches. Cases and closed forms are those of `benchmarks.contact_laws`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialForce
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    ExternallyAppliedSpatialForce,
)
from pydrake.multibody.tree import PrismaticJoint, RevoluteJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

SAP, CAREFUL = sys.argv[1] == "sap", sys.argv[2] == "careful"
STEP = 1e-4 if CAREFUL else 1e-3
GRAVITY, RESTITUTION, TINY = 9.81, 0.8, 1e-6
CORNERS = tuple((x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.2, 0.2))


class Scene:
    """A plant with a floor at z = 0, and its simulator once it is finished."""

    def __init__(
        self,
        mu: float,
        gravity: Sequence[float] = (0, 0, -GRAVITY),
        relaxation: float | None = None,
        **compliance: float,
    ) -> None:
        self.builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(self.builder, STEP)
        kind = DiscreteContactApproximation
        self.plant.set_discrete_contact_approximation(kind.kSap if SAP else kind.kTamsi)
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(gravity, float))
        self.material = ProximityProperties()
        if CAREFUL and not compliance:
            compliance = {"point_stiffness": 1e8}
        AddContactMaterial(self.material, friction=CoulombFriction(mu, mu), **compliance)
        if relaxation is not None:  # of the linear damping that SAP has; those of two shapes are added
            self.material.AddProperty("material", "relaxation_time", relaxation)
        self.plant.RegisterCollisionGeometry(
            self.plant.world_body(), RigidTransform(), HalfSpace(), "floor", self.material
        )

    def body(self, name: str, mass: float, inertia: Sequence[float]) -> Any:
        """Return a body with its mass centre at its origin."""
        return self.plant.AddRigidBody(
            name, SpatialInertia(mass, np.zeros(3), UnitInertia(*(x / mass for x in inertia)))
        )

    def spheres(self, body: Any, radius: float, places: Sequence[Sequence[float]] = ((0, 0, 0),)) -> None:
        """Put spheres on a body, above the places where they touch if they are tiny."""
        for k, place in enumerate(places):
            lift = np.array([0, 0, TINY if radius == TINY else 0.0])
            at = RigidTransform(np.array(place, float) + lift)
            self.plant.RegisterCollisionGeometry(body, at, Sphere(radius), f"sphere{k}", self.material)

    def chain(self, steps: str, last: Any) -> list[Any]:
        """Connect a body to the world by joints: x, y, z slide, r turns about y."""
        axes = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1], "r": [0, 1, 0]}
        parent, joints = self.plant.world_body(), []
        for k, step in enumerate(steps):
            child = last if k == len(steps) - 1 else self.body(f"{last.name()}{k}", 1e-9, (1e-12,) * 3)
            kind = RevoluteJoint if step == "r" else PrismaticJoint
            frames = parent.body_frame(), child.body_frame()
            joints.append(self.plant.AddJoint(kind(f"{last.name()}_{step}", *frames, axes[step])))
            parent = child
        return joints

    def start(self) -> Any:
        """Finish the scene; return its plant's context."""
        self.plant.Finalize()
        self.simulator = Simulator(self.builder.Build())
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        return self.context

    def run(self, seconds: float) -> None:
        """Advance to a time."""
        self.simulator.AdvanceTo(seconds)

    @property
    def steps(self) -> int:
        """The number of steps of a second."""
        return round(1 / STEP)


def box(seconds: float, gravity: Sequence[float] = (0, 0, -GRAVITY), push: float = 0.0) -> np.ndarray:
    """Return where the box on four corners is after a time."""
    scene = Scene(0.5, gravity)
    body = scene.body("box", 2.0, (1 / 30, 1 / 30, 4 / 75))
    scene.spheres(body, TINY, CORNERS)
    context = scene.start()
    scene.plant.SetFreeBodyPose(context, body, RigidTransform([0, 0, 0.1]))
    if push:
        force = ExternallyAppliedSpatialForce()
        force.body_index, force.p_BoBq_B = body.index(), np.array([0, 0, -0.1])
        force.F_Bq_W = SpatialForce(np.zeros(3), np.array([push, 0, 0]))
        scene.plant.get_applied_spatial_force_input_port().FixValue(context, [force])
    scene.run(seconds)
    return np.array(scene.plant.EvalBodyPoseInWorld(context, body).translation())


def slope() -> float:
    """Return how far the box creeps within 10 s on a slope of 20 degrees, in m."""
    angle = math.radians(20)
    return float(box(10.0, (GRAVITY * math.sin(angle), 0, -GRAVITY * math.cos(angle)))[0])


def slide(direction: float) -> float:
    """Return the distance of a block that begins at 2 m/s along `direction`, in m."""
    scene = Scene(0.5)
    body = scene.body("block", 2.0, (0.01,) * 3)
    x, y, _ = scene.chain("xyz", body)
    scene.spheres(body, TINY)
    context = scene.start()
    x.set_translation_rate(context, 2 * math.cos(direction))
    y.set_translation_rate(context, 2 * math.sin(direction))
    scene.run(1.0)
    return math.hypot(x.get_translation(context), y.get_translation(context))


def roll() -> float:
    """Return the speed of a ball that began with 3 m/s without spin, after 2 s, in m/s."""
    scene = Scene(0.3)
    ball = scene.body("ball", 2.0, (0.008,) * 3)
    scene.spheres(ball, 0.1)
    context = scene.start()
    scene.plant.SetFreeBodyPose(context, ball, RigidTransform([0, 0, 0.1]))
    speeds = scene.plant.GetVelocities(context)
    speeds[3] = 3.0
    scene.plant.SetVelocities(context, speeds)
    scene.run(2.0)
    return float(scene.plant.GetVelocities(context)[3])


def compliance(mass: float, restitution: float) -> tuple[float, float, float]:
    """Return stiffness, time of relaxation and dissipation for a contact of 20 steps.

    A linear spring and damper has e = exp(-π ζ/√(1 - ζ²)); Hunt and Crossley's dissipation d for an impact at
    v has e ≈ 1 - 2/3 d v, here for the speed of a drop of 1 m.
    """
    root = math.pi / (20 * STEP)
    zeta = -math.log(restitution) / math.hypot(math.pi, math.log(restitution))
    return mass * root**2, 2 * zeta / root, 1.5 * (1 - restitution) / math.sqrt(2 * GRAVITY)


def dropped(restitution: float | None) -> tuple[Scene, Any]:
    """Return a ball 1 m above the floor and its joint; ball and floor have half of the compliance each."""
    if restitution is None:
        scene = Scene(0.0)
    else:
        stiffness, relaxation, dissipation = compliance(2.0, restitution)
        scene = Scene(0.0, relaxation=relaxation / 2, point_stiffness=2 * stiffness, dissipation=dissipation)
    ball = scene.body("ball", 2.0, (0.008,) * 3)
    (joint,) = scene.chain("z", ball)
    scene.spheres(ball, 0.1)
    joint.set_translation(scene.start(), 1.1)
    return scene, joint


def bounce() -> float:
    """Return the height after the first rebound of a ball dropped 1 m, restitution 0.8, in m."""
    scene, joint = dropped(RESTITUTION)
    highest, rising = 0.0, False
    for k in range(round(1.1 * scene.steps)):
        scene.run((k + 1) * STEP)
        rising |= joint.get_translation_rate(scene.context) > 0
        if rising:
            highest = max(highest, joint.get_translation(scene.context) - 0.1)
    return highest


def impact_time() -> float:
    """Return the time at which a ball dropped 1 m is first pushed back, in s."""
    scene, joint = dropped(None)
    k, before = 0, 0.0
    while joint.get_translation_rate(scene.context) <= before:
        before = joint.get_translation_rate(scene.context)
        k += 1
        scene.run(k * STEP)
    return k * STEP


def rock() -> float:
    """Return the share of energy that a slender block keeps as it rocks through its upright position."""
    half, high, angle = 0.1, 0.5, 0.1
    scene = Scene(2.0)
    inertia = 2 * (4 * half**2 + 4 * high**2) / 12
    body = scene.body("block", 2.0, (inertia,) * 3)
    x, z, turn = scene.chain("xzr", body)
    scene.spheres(body, TINY, ((-half, 0, -high), (half, 0, -high)))
    context = scene.start()
    radius, alpha = math.hypot(half, high), math.atan2(half, high)
    x.set_translation(context, half - radius * math.sin(alpha - angle))
    z.set_translation(context, radius * math.cos(alpha - angle))
    turn.set_angle(context, angle)
    potential = radius * math.cos(alpha - angle) - high
    lowest, reached = angle, 0.0
    for k in range(2 * scene.steps):
        scene.run((k + 1) * STEP)
        if turn.get_angle(context) < lowest:
            lowest, reached = turn.get_angle(context), z.get_translation(context) - high
    return max(reached, 0.0) / potential if lowest < 0 else 0.0


def cradle() -> float:
    """Return the speed of the last of three equal balls in a row, elastic; the first comes with 1 m/s."""
    stiffness = (math.pi / (20 * STEP)) ** 2
    scene = Scene(0.0, relaxation=0.0, point_stiffness=2 * stiffness, dissipation=0.0)
    joints = []
    for k in range(3):
        ball = scene.body(f"ball{k}", 1.0, (0.004,) * 3)
        joints += scene.chain("x", ball)
        scene.spheres(ball, 0.1, ((0, 0, 1),))
    context = scene.start()
    for joint, place in zip(joints, (-0.5, 0.0, 0.2), strict=True):
        joint.set_translation(context, place)
    joints[0].set_translation_rate(context, 1.0)
    scene.run(1.0)
    return float(joints[2].get_translation_rate(context))


def main() -> None:
    """Print all cases."""
    cases = {
        "rest": lambda: 0.1 - box(1.0)[2], "slope": slope,
        "push": lambda: box(10.0, push=0.99 * 0.5 * 2 * GRAVITY)[0], "slide": lambda: slide(0.0),
        "diagonal": lambda: slide(math.pi / 4), "roll": roll, "bounce": bounce, "time": impact_time,
        "rock": rock, "cradle": cradle,
    }  # fmt: skip
    print(json.dumps({name: float(case()) for name, case in cases.items()}))


main()
