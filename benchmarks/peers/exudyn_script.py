"""A linkage in Exudyn, answering questions; run by the peers' interpreter, apart from Armillary.

    python exudyn_script.py tree|bodies      then one JSON object per line on standard input and output

The first line is the linkage with its pool of states. Two formulations: `tree` has the joint coordinates of
a kinematic tree (and a rigid body for a free base) with multipliers for the loops alone; `bodies`, for planar
linkages, has three coordinates of each rigid body and multipliers for every joint.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Exudyn talks on standard output
sys.exudynFast = True  # type: ignore[attr-defined]  # its build without range checks

import exudyn as exu  # noqa: E402
from exudyn import utilities as items  # noqa: E402

STEP, SHORT = 1e-3, 200


Canonical = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Made:
    """A system at a state; `canonical` turns its accelerations into those of the benchmark."""

    system: Any
    canonical: Canonical
    places: Canonical  # and its coordinates


# ------------------------------------------------------------ joint coordinates


def angles_of(e: np.ndarray) -> np.ndarray:
    """a, b, c of R = Rx(a) Ry(b) Rz(c), from a quaternion."""
    w, x, y, z = e
    return np.array([
        np.arctan2(2 * (w * x - y * z), 1 - 2 * (x * x + y * y)),
        np.arcsin(2 * (x * z + w * y)),
        np.arctan2(2 * (w * z - x * y), 1 - 2 * (y * y + z * z)),
    ])  # fmt: skip


def quaternion_of(angles: np.ndarray) -> np.ndarray:
    def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.hstack((p[0] * q[0] - p[1:] @ q[1:], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])))

    about_x, about_y, about_z = (
        np.hstack((np.cos(t / 2), np.sin(t / 2) * axis)) for t, axis in zip(angles, np.eye(3), strict=True)
    )
    return product(product(about_x, about_y), about_z)


def rotation(angles: np.ndarray) -> np.ndarray:
    (ca, cb, cc), (sa, sb, sc) = np.cos(angles), np.sin(angles)
    Rx = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    Ry = np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
    return Rx @ Ry @ np.array([[cc, -sc, 0], [sc, cc, 0], [0, 0, 1]])


def turning(angles: np.ndarray) -> np.ndarray:
    """B with ω = B (ȧ, ḃ, ċ), in body axes."""
    (_, cb, cc), (_, sb, sc) = np.cos(angles), np.sin(angles)
    return np.array([[cc * cb, sc, 0], [-sc * cb, cc, 0], [sb, 0, 1]])


def turning_rate(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    (_, cb, cc), (_, sb, sc) = np.cos(angles), np.sin(angles)
    _, b, c = rates
    return np.array([
        [-sc * cb * c - cc * sb * b, cc * c, 0], [-cc * cb * c + sc * sb * b, -sc * c, 0], [cb * b, 0, 0]
    ])  # fmt: skip


def tree(linkage: dict, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Made:
    """A kinematic tree for each link on the ground: measured, one for all triples the time of six legs."""
    mbs = exu.SystemContainer().AddSystem()
    links = linkage["links"]
    canonical: Canonical = np.asarray
    places: Canonical = np.asarray
    owners: dict[int, tuple[Any, int]] = {}  # of each link: its object and its number in there
    free = int(links[0]["joint"] == "free")
    if free:
        base, canonical, places = free_base(mbs, links[0], linkage["gravity"], q, v, tau)
    roots = [i for i, link in enumerate(links) if i >= free and link["parent"] < 0]
    for first, last in zip(roots, [*roots[1:], len(links)], strict=True):
        own, own_speeds = slice(first + 6 * free, last + 6 * free), slice(first + 5 * free, last + 5 * free)
        values = (list(q[own]), list(v[own_speeds]), list(tau[own_speeds]))
        branch = add_branch(mbs, links[first:last], first, linkage["gravity"], *values)
        owners |= {i: (branch, i - first) for i in range(first, last)}

    def marker(link: int, point: list[float]) -> Any:
        if link not in owners:
            return mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=base, localPosition=point))
        branch, number = owners[link]
        return mbs.AddMarker(
            items.MarkerKinematicTreeRigid(objectNumber=branch, linkNumber=number, localPosition=point)
        )

    for closure in linkage["closures"]:
        pair = [marker(closure["link"], closure["point"]), marker(closure["other"], closure["other_point"])]
        held = [int(axis in closure["axes"]) for axis in "xyz"]
        mbs.AddObject(items.SphericalJoint(markerNumbers=pair, constrainedAxes=held))
    mbs.Assemble()
    return Made(mbs, canonical, places)


def add_branch(
    mbs: Any, links: list[dict], first: int, gravity: list[float],
    q: list[float], v: list[float], tau: list[float],
) -> Any:  # fmt: skip
    kinds = {"revolute": "Revolute", "prismatic": "Prismatic"}
    none = [0.0] * len(links)
    node = mbs.AddNode(items.NodeGenericODE2(
        numberOfODE2Coordinates=len(links), referenceCoordinates=none,
        initialCoordinates=q, initialCoordinates_t=v,
    ))  # fmt: skip
    controlled = {
        "jointPControlVector": [x["stiffness"] for x in links], "jointPositionOffsetVector": none,
        "jointDControlVector": [x["damping"] for x in links], "jointVelocityOffsetVector": none,
    }  # fmt: skip
    sprung = any(x["stiffness"] or x["damping"] for x in links)
    return mbs.AddObject(items.ObjectKinematicTree(
        nodeNumber=node, gravity=gravity, jointForceVector=tau,
        jointTypes=[getattr(exu.JointType, kinds[x["joint"]] + "XYZ"[x["axis"].index(1.0)]) for x in links],
        linkParents=[max(x["parent"] - first, -1) for x in links],
        jointTransformations=exu.Matrix3DList([np.eye(3)] * len(links)),
        jointOffsets=exu.Vector3DList([x["at"] for x in links]),
        linkInertiasCOM=exu.Matrix3DList([np.diag(x["inertia"]) for x in links]),
        linkCOMs=exu.Vector3DList([x["com"] for x in links]), linkMasses=[x["mass"] for x in links],
        **(controlled if sprung else {}),
    ))  # fmt: skip


def free_base(
    mbs: Any, link: dict, gravity: list[float], q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[Any, Canonical, Canonical]:
    """A rigid body with three angles, the cheapest of Exudyn's rotations: no constraint comes with them."""
    angles = angles_of(q[3:7])
    R, B = rotation(angles), turning(angles)
    rates = np.linalg.solve(B, v[3:6])
    node = mbs.AddNode(items.NodeRigidBodyRxyz(
        referenceCoordinates=[0.0] * 6, initialCoordinates=[*q[:3], *angles],
        initialVelocities=[*(R @ v[:3]), *rates],
    ))  # fmt: skip
    body = mbs.AddObject(items.ObjectRigidBody(
        nodeNumber=node, physicsMass=link["mass"], physicsInertia=[*link["inertia"], 0.0, 0.0, 0.0],
        physicsCenterOfMass=link["com"],
    ))  # fmt: skip
    mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=gravity))
    origin = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[0.0, 0.0, 0.0]))
    mbs.AddLoad(items.LoadForceVector(markerNumber=origin, loadVector=list(tau[:3]), bodyFixed=True))
    mbs.AddLoad(items.LoadTorqueVector(markerNumber=origin, loadVector=list(tau[3:6]), bodyFixed=True))

    def canonical(a: np.ndarray) -> np.ndarray:
        linear = R.T @ a[:3] - np.cross(v[3:6], v[:3])
        return np.hstack((linear, B @ a[3:6] + turning_rate(angles, rates) @ rates, a[6:]))

    def places(x: np.ndarray) -> np.ndarray:
        return np.hstack((x[:3], quaternion_of(x[3:6]), x[6:]))

    return body, canonical, places


# ------------------------------------------------------------ planar rigid bodies


def bodies(linkage: dict, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Made:
    """Revolute joints about z on any link, prismatic joints along x on the ground."""
    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    still = mbs.AddMarker(items.MarkerNodeCoordinate(
        nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0
    ))  # fmt: skip
    links = linkage["links"]
    centres = [link["com"] for link in links]
    origins: list[tuple[np.ndarray, np.ndarray, float, float]] = []
    numbers: list[Any] = []

    def point(link: int, place: list[float]) -> Any:
        """A marker; a body's own origin is its mass centre."""
        number = numbers[link] if link >= 0 else ground
        local = np.array(place) - (np.array(centres[link]) if link >= 0 else 0.0)
        return mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=number, localPosition=list(local)))

    def torque(link: int, value: float) -> None:
        if link >= 0 and value:
            own = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=numbers[link]))
            mbs.AddLoad(items.LoadTorqueVector(markerNumber=own, loadVector=[0.0, 0.0, value]))

    def across(p: np.ndarray) -> np.ndarray:
        return np.array([-p[1], p[0]])

    for i, link in enumerate(links):
        parent = link["parent"]
        at, velocity, angle, rate = origins[parent] if parent >= 0 else (np.zeros(2), np.zeros(2), 0.0, 0.0)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        arm = turn @ np.array(link["at"][:2])
        at, velocity = at + arm, velocity + rate * across(arm)
        if link["joint"] == "revolute":
            angle, rate = angle + q[i], rate + v[i]
        else:
            at, velocity = at + np.array([q[i], 0.0]), velocity + np.array([v[i], 0.0])
        origins.append((at, velocity, angle, rate))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        com = turn @ np.array(link["com"][:2])
        node = mbs.AddNode(items.NodeRigidBody2D(
            referenceCoordinates=[0.0] * 3, initialCoordinates=[*(at + com), angle],
            initialVelocities=[*(velocity + rate * across(com)), rate],
        ))  # fmt: skip
        numbers.append(mbs.AddObject(items.ObjectRigidBody2D(
            nodeNumber=node, physicsMass=link["mass"], physicsInertia=link["inertia"][2]
        )))  # fmt: skip
        force = link["mass"] * np.array(linkage["gravity"])
        if link["joint"] == "revolute":
            pair = [point(parent, link["at"]), point(i, [0.0, 0.0, 0.0])]
            mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=pair))
            torque(i, tau[i])
            torque(parent, -tau[i])
        else:
            force[0] += tau[i]
            for coordinate in (1, 2):
                own = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=coordinate))
                mbs.AddObject(items.CoordinateConstraint(markerNumbers=[still, own]))
        mbs.AddLoad(items.LoadForceVector(markerNumber=point(i, link["com"]), loadVector=list(force)))
    for closure in linkage["closures"]:
        pair = [point(closure["link"], closure["point"]), point(closure["other"], closure["other_point"])]
        mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=pair))
    mbs.Assemble()

    def joint_values(x: np.ndarray) -> np.ndarray:
        """Relative angles and slides from bodies' x, y, angle; the same holds for their accelerations."""
        angle = x[2::3]
        return np.array([
            x[3 * i] if link["joint"] == "prismatic"
            else angle[i] - (angle[link["parent"]] if link["parent"] >= 0 else 0.0)
            for i, link in enumerate(links)
        ])  # fmt: skip

    return Made(mbs, joint_values, joint_values)


# ------------------------------------------------------------ questions


def settings(steps: int, step: float) -> Any:
    """The index-2 trapezoidal rule, the more accurate of Exudyn's implicit ones on these linkages."""
    made = exu.SimulationSettings()
    made.timeIntegration.numberOfSteps = steps
    made.timeIntegration.endTime = steps * step
    made.timeIntegration.verboseMode = 0
    made.timeIntegration.generalizedAlpha.useNewmark = True
    made.timeIntegration.generalizedAlpha.useIndex2Constraints = True
    made.solutionSettings.writeSolutionToFile = False
    made.parallel.numberOfThreads = 1
    return made


class Answers:
    """One method per question."""

    def __init__(self, linkage: dict, formulation: Callable[..., Made]) -> None:
        self.linkage, self.formulation = linkage, formulation
        self.started = self.make(0, linkage["efforts"])
        self.evaluations, self.steps = 16, SHORT

    def make(self, state: int, efforts: list[float]) -> Made:
        q, v = (np.array(self.linkage[name][state]) for name in ("q", "v"))
        return self.formulation(self.linkage, q, v, np.array(efforts))

    def accelerations(self, state: int) -> list[float]:
        """Those Exudyn starts from: M a + Jᵀ λ = f with J a = −J̇ v, the latter by numerical differences."""
        made = self.make(state, self.linkage["tau"][state])
        exu.MainSolverImplicitSecondOrder().InitializeSolver(made.system, settings(1, 1e-6))
        return list(map(float, made.canonical(np.array(made.system.systemData.GetODE2Coordinates_tt()))))

    def starting(self, chunk: float) -> float:
        """Seconds of one evaluation of the accelerations that Exudyn starts from."""
        solver, options = exu.MainSolverImplicitSecondOrder(), settings(1, 1e-6)
        solver.InitializeSolver(self.started.system, options)
        while True:
            start = time.thread_time()
            for _ in range(self.evaluations):
                solver.InitializeSolverInitialConditions(self.started.system, options)
            seconds = time.thread_time() - start
            if seconds > 0.5 * chunk:
                return seconds / self.evaluations
            self.evaluations *= 2

    def newton(self, chunk: float) -> float:
        """Seconds of one iteration of Newton's method in a step, its share of Jacobians included."""
        while True:
            seconds, iterations = self.solve(self.steps, STEP)
            if seconds > 0.5 * chunk:
                return seconds / iterations
            self.steps *= 2

    def simulate(self, steps: int, step: float) -> dict[str, Any]:
        seconds, iterations = self.solve(steps, step)
        end = self.started.places(np.array(self.started.system.systemData.GetODE2Coordinates()))
        return {"seconds": seconds, "evaluations": iterations, "q": list(map(float, end))}

    def solve(self, steps: int, step: float) -> tuple[float, int]:
        solver, options = exu.MainSolverImplicitSecondOrder(), settings(steps, step)
        start = time.thread_time()
        if not solver.SolveSystem(self.started.system, options):
            raise RuntimeError("Exudyn's solver did not converge")
        return time.thread_time() - start, int(solver.it.newtonStepsCount)


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    made: Answers | None = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if made is None:
                made, answer = Answers(question, {"tree": tree, "bodies": bodies}[sys.argv[1]]), None
            else:
                answer = getattr(made, question["ask"])(*question["values"])
            reply = {"answer": answer}
        except Exception as error:
            reply = {"failure": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
