"""A satellite with two flexible wings of 50 modes each, as plain data, in Armillary and by brute force.

A wing is particles (mass, place, shape of each mode) on a hinge about the hub's y axis. Two kinds:

    plates   solar arrays, `Plate` clamped at its hinge: modes move it along its normal alone
    dense    120 particles whose orthonormal modes are random in all directions: no coefficient is zero

The arbiter takes every particle by itself, in ground axes, without modal integrals:

    M = Σ m Jᵀ J,     M u̇ = −Kη − Cξ − springs − Σ m Jᵀ a₀

with J a particle's partial velocities and a₀ its acceleration where u̇ = 0. Second-order terms in the
deformation are kept, so both describe the same motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import armillary as arm
from benchmarks.reference import quaternion_matrix, rotation, skew

MODES = 50
POINTS = 30  # Gauss points each way; exact up to degree 59, where products of a plate's shapes have 50
HUB_MASS, HUB_INERTIA = 500.0, (300.0, 400.0, 500.0)
HINGE, SPRING, DAMPER = 1.0, 200.0, 5.0  # its distance from the hub's centre, and what drives it
LENGTH, WIDTH, THICKNESS, DENSITY = 6.0, 2.0, 0.02, 100.0
Y = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class Wing:
    """Particles in the wing's axes, from its hinge: masses n, places n × 3, shapes n × 3 × N; K and C."""

    masses: np.ndarray
    places: np.ndarray
    shapes: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


@dataclass(frozen=True)
class Satellite:
    """A hub, free in space, with a wing along +x and one along −x."""

    key: str
    title: str
    modes: int = MODES

    @property
    def nq(self) -> int:
        return 7 + 2 * (1 + self.modes)

    @property
    def nv(self) -> int:
        return 6 + 2 * (1 + self.modes)

    @cached_property
    def system(self) -> arm.System:
        s = arm.System(self.title)
        hub = s.body("hub", joint=arm.Free(), mass=HUB_MASS, inertia=HUB_INERTIA)
        for name, side in SIDES.items():
            body = s.body(name, hub, arm.Revolute("y"), at=(side * HINGE, 0, 0))
            if self.key == "plates":
                body.flexible(plate(side), modes=self.modes, damping=0.005)
            else:
                wing = random_wing(side, self.modes)
                body.flexible(
                    nodes=wing.places, masses=wing.masses, shapes=wing.shapes, stiffness=wing.stiffness,
                    damping_matrix=wing.damping,
                )  # fmt: skip
            effort = -SPRING * body.q1 - DAMPER * body.u1
            s.moment(f"{name}_drive", effort, hub.y, on=body, reaction=hub)
        return s

    @cached_property
    def wings(self) -> tuple[Wing, ...]:
        if self.key == "plates":
            return tuple(sampled(self.system.bodies[name], side) for name, side in SIDES.items())
        return tuple(random_wing(side, self.modes) for side in SIDES.values())

    def pool(self, size: int = 16) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds: any attitude, deflections of millimetres and less in high modes."""
        rng = np.random.default_rng(50)
        q, u = rng.uniform(-0.5, 0.5, (size, self.nq)), rng.uniform(-0.3, 0.3, (size, self.nv))
        attitude = rng.normal(size=(size, 4))
        q[:, 3:7] = attitude / np.linalg.norm(attitude, axis=1, keepdims=True)
        for k, wing in enumerate(self.wings):
            first = k * (1 + self.modes)
            largest = np.abs(wing.shapes).max(axis=(0, 1))
            frequencies = np.sqrt(np.diag(wing.stiffness))  # of modes of mass 1
            q[:, 8 + first : 8 + first + self.modes] *= 0.01 / largest * frequencies[0] / frequencies
            u[:, 7 + first : 7 + first + self.modes] *= 0.1 / largest
        return q, u

    def equations(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M and the right-hand side, by brute force."""
        M, f = np.zeros((self.nv, self.nv)), np.zeros(self.nv)
        R, w = quaternion_matrix(q[3:7]), u[3:6]
        inertia = np.array(HUB_INERTIA)
        M[:3, :3], M[3:6, 3:6] = HUB_MASS * np.eye(3), np.diag(inertia)
        f[3:6] = -np.cross(w, inertia * w)
        for k, (wing, side) in enumerate(zip(self.wings, SIDES.values(), strict=True)):
            first = k * (1 + self.modes)
            angle, eta = q[7 + first], q[8 + first : 8 + first + self.modes]
            rate, xi = u[6 + first], u[7 + first : 7 + first + self.modes]
            S, hinge, axis = R @ rotation(Y, angle), R @ [side * HINGE, 0.0, 0.0], R @ Y
            place, motion = (wing.places + wing.shapes @ eta) @ S.T, wing.shapes @ xi @ S.T
            J = np.zeros((len(wing.masses), 3, self.nv))
            J[:, :, :3] = np.eye(3)
            J[:, :, 3:6] = [-skew(hinge + p) @ R for p in place]
            J[:, :, 6 + first] = np.cross(axis, place)
            J[:, :, 7 + first : 7 + first + self.modes] = S @ wing.shapes
            hub = R @ w
            turning = hub + axis * rate
            a = np.cross(hub, np.cross(hub, hinge)) + np.cross(np.cross(hub, axis * rate), place)
            a = a + np.cross(turning, np.cross(turning, place)) + 2 * np.cross(turning, motion)
            flat = J.reshape(-1, self.nv)
            weighted = np.repeat(wing.masses, 3)[:, None] * flat
            M += flat.T @ weighted
            f -= weighted.T @ a.ravel()
            f[6 + first] -= SPRING * angle + DAMPER * rate
            f[7 + first : 7 + first + self.modes] -= wing.stiffness @ eta + wing.damping @ xi
        return M, f


SIDES = {"right": 1.0, "left": -1.0}
SATELLITES = {
    "plates": Satellite("plates", "two plates of 50 modes"),
    "dense": Satellite("dense", "two dense bodies of 50 modes"),
}


def plate(side: float) -> arm.Plate:
    return arm.Plate(LENGTH, WIDTH, THICKNESS, E=2e9, nu=0.3, density=DENSITY, along=(side, 0, 0), across="y")


def sampled(body: arm.Body, side: float) -> Wing:
    """A plate's shapes at Gauss points, each with its share of the mass."""
    assert body.flex is not None
    part = body.flex.part
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    grid = [(0.5 * LENGTH * (1 + x), 0.5 * WIDTH * y) for x in points for y in points]
    nodes = [part.node(place) for place in grid]
    mass = DENSITY * THICKNESS * LENGTH * WIDTH
    return Wing(
        masses=mass * np.outer(weights, weights).ravel() / 4,
        places=np.array([(side * x, y, 0.0) for x, y in grid]),
        shapes=np.array([node.shape for node in nodes]),
        stiffness=part.K,
        damping=part.C,
    )


def random_wing(side: float, modes: int, count: int = 120) -> Wing:
    rng = np.random.default_rng(2 + int(side))
    masses = rng.uniform(0.1, 0.5, count)
    root = np.sqrt(masses)[:, None, None]
    orthonormal, _ = np.linalg.qr((root * rng.normal(size=(count, 3, modes))).reshape(3 * count, modes))
    frequencies = np.linspace(5.0, 200.0, modes)
    return Wing(
        masses=masses,
        places=rng.uniform(-1, 1, (count, 3)) + np.array([2 * side, 0, 0]),
        shapes=orthonormal.reshape(count, 3, modes) / root,
        stiffness=np.diag(frequencies**2),
        damping=np.diag(0.02 * frequencies),
    )
