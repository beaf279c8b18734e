"""An independent evaluator of trees of rigid bodies, from first principles in NumPy.

It shares no line with the package. Bodies are plain records; positions and velocities are composed body by
body in the ground's axes, and everything else follows from them. Partial velocities V, W are velocities for
one unit speed at a time: exact, since velocities are linear in u. Acceleration remainders a₀, α₀ are
derivatives along q̇ = N(q) u with u held fixed, by a complex step: exact to rounding. Then

    M = Σ m Vᵀ V + Wᵀ I W        f = Σ Vᵀ (F + m g − m a₀) + Wᵀ (T − I α₀ − ω × I ω)

(Kane and Levinson 1985, chapters 4 to 6). The complex step needs functions that are analytic, so nothing here
takes an absolute value or a conjugate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any
GROUND = -1
STEP = 1e-30  # of the complex step: far below rounding, so the derivative has no truncation error


@dataclass(frozen=True)
class Joint:
    """A joint's kind and settings, in words: ("revolute", axis), ("free", rotation, velocity), …"""

    kind: str
    settings: tuple[Any, ...] = ()

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        if self.kind in ("spherical", "free"):
            turning = 4 if self.settings[0] == "quaternion" else 3
            return turning + (3 if self.kind == "free" else 0)
        return self.nu

    @property
    def nu(self) -> int:
        """Number of speeds."""
        fixed = {
            "fixed": 0,
            "revolute": 1,
            "prismatic": 1,
            "cylindrical": 2,
            "planar": 3,
            "spherical": 3,
            "free": 6,
        }
        if self.kind == "gimbal":
            return len(self.settings[0])
        if self.kind == "general":
            return len(self.settings[0]) + len(self.settings[1])
        return fixed[self.kind]


@dataclass(frozen=True)
class BodyData:
    """A body as plain numbers; ``parent`` is an index, −1 for the ground."""

    name: str
    parent: int
    joint: Joint
    at: Array
    orient: Array | None
    com: Array
    mass: float
    inertia: Array


@dataclass(frozen=True)
class LoadData:
    """A force, moment or strut. Points are (body, coordinates); ``axes`` is the body in whose axes ``vector``
    is given.

    ``reaction`` is None, a body index (a force then keeps its line of action) or a point. A strut has the law
    −stiffness (x − length) − damping v between its two points.
    """

    kind: str
    name: str
    vector: Array | None = None
    axes: int = GROUND
    at: tuple[int, Array] | None = None
    on: int = GROUND
    reaction: Any = None
    law: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class TreeData:
    """Bodies, parents first, loads, and gravity as an acceleration in the ground's axes."""

    bodies: list[BodyData]
    loads: list[LoadData] = field(default_factory=list)
    gravity: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(b.joint.nq for b in self.bodies)

    @property
    def nu(self) -> int:
        """Number of speeds."""
        return sum(b.joint.nu for b in self.bodies)


# ---------------------------------------------------------------- rotations


def axis_vector(axis: Any) -> Array:
    """A unit vector from a letter or three numbers."""
    if isinstance(axis, str):
        return np.eye(3)["xyz".index(axis)]
    return np.asarray(axis, float) / np.linalg.norm(axis)


def cross(a: Array, b: Array) -> Array:
    """a × b of two vectors; np.cross, made for arrays of them, takes eight times as long."""
    (a1, a2, a3), (b1, b2, b3) = a, b
    return np.array([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])


def tilde(v: Array) -> Array:
    """The matrix of v ×."""
    x, y, z = v
    return np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])


def turn(axis: Array, angle: Any) -> Array:
    """Rodrigues' rotation: 1 + sin θ k̃ + (1 − cos θ) k̃ k̃."""
    k = tilde(axis)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def quaternion_matrix(e: Array) -> Array:
    """R of unit Euler parameters, scalar first: (e₀² − e·e) 1 + 2 e eᵀ + 2 e₀ ẽ."""
    e0, v = e[0], e[1:]
    return (e0 * e0 - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * e0 * tilde(v)


# ---------------------------------------------------------------- joints


@dataclass(frozen=True)
class Relative:
    """A joint's motion in the parent's axes: place p, rotation R, velocity v, angular velocity w, and q̇."""

    p: Array
    R: Array
    v: Array
    w: Array
    rates: Array


def joint_motion(body: BodyData, q: Array, u: Array) -> Relative:
    """Motion of the child on its parent; v and w are linear in u."""
    C = np.eye(3) if body.orient is None else body.orient
    kind, settings = body.joint.kind, body.joint.settings
    if kind in ("spherical", "free"):
        return _ball(C, q, u, settings, free=kind == "free")
    if kind == "planar" and settings[1] == "body":
        return _car(C, q, u, settings[0])
    slides, turns = _axes(body.joint)
    p, v = np.zeros(3), np.zeros(3)
    for k, axis in enumerate(slides):
        p, v = p + axis * q[k], v + axis * u[k]
    R, w = np.eye(3), np.zeros(3)
    for k, axis in enumerate(turns, start=len(slides)):
        w = w + R @ axis * u[k]
        R = R @ turn(axis, q[k])
    return Relative(p, R @ C, v, w, u)


def _axes(joint: Joint) -> tuple[list[Array], list[Array]]:
    """Slides in the parent's axes, then turns, each about an axis of the frame left by the turns before."""
    if joint.kind == "gimbal":
        return [], [axis_vector(a) for a in joint.settings[0]]
    if joint.kind == "general":
        return [axis_vector(a) for a in joint.settings[0]], [axis_vector(a) for a in joint.settings[1]]
    if joint.kind == "fixed":
        return [], []
    axis = axis_vector(joint.settings[0])
    if joint.kind == "planar":
        return list(in_plane(joint.settings[0])), [axis]
    return {
        "revolute": ([], [axis]),
        "prismatic": ([axis], []),
        "cylindrical": ([axis], [axis]),
    }[joint.kind]


def in_plane(normal: Any) -> tuple[Array, Array]:
    """In-plane axes of a planar joint: cyclic for a letter, else first normal × the axis least along it."""
    if isinstance(normal, str):
        i = "xyz".index(normal)
        return np.eye(3)[(i + 1) % 3], np.eye(3)[(i + 2) % 3]
    n = axis_vector(normal)
    first = cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    first = first / np.linalg.norm(first)
    return first, cross(n, first)


def _ball(C: Array, q: Array, u: Array, settings: tuple[Any, ...], *, free: bool) -> Relative:
    rotation = settings[0]
    angles = q[3:] if free else q
    w_child = u[3:] if free else u
    w_joint = C @ w_child  # in the axes before ``orient``
    if rotation == "quaternion":
        R = quaternion_matrix(angles)
        e0, e = angles[0], angles[1:]
        turning = 0.5 * np.concatenate([[-(e @ w_joint)], e0 * w_joint + cross(e, w_joint)])
    else:
        R, columns = np.eye(3), []
        for letter, angle in zip(rotation, angles, strict=True):
            columns.append(R @ axis_vector(letter))
            R = R @ turn(axis_vector(letter), angle)
        turning = np.linalg.solve(np.array(columns).T, R @ w_joint)
    if not free:
        return Relative(np.zeros(3), R @ C, np.zeros(3), R @ w_joint, turning)
    v = u[:3] if settings[1] == "parent" else R @ C @ u[:3]
    return Relative(q[:3], R @ C, v, R @ w_joint, np.concatenate([v, turning]))


def _car(C: Array, q: Array, u: Array, normal: str) -> Relative:
    first, second = in_plane(normal)
    axis = axis_vector(normal)
    R = turn(axis, q[2])
    v = R @ (first * u[0] + second * u[1])
    return Relative(
        first * q[0] + second * q[1], R @ C, v, axis * u[2], np.array([first @ v, second @ v, u[2]])
    )


# ---------------------------------------------------------------- the whole tree


@dataclass(frozen=True)
class State:
    """Origin p, rotation R, velocity v and angular velocity w of each body in ground axes; and all q̇."""

    p: list[Array]
    R: list[Array]
    v: list[Array]
    w: list[Array]
    rates: Array

    def point(self, place: tuple[int, Array]) -> Array:
        """Position of a point."""
        b, r = place
        return np.asarray(r) if b == GROUND else self.p[b] + self.R[b] @ r

    def velocity(self, place: tuple[int, Array]) -> Array:
        """Velocity of a point."""
        b, r = place
        return np.zeros(3) if b == GROUND else self.v[b] + cross(self.w[b], self.R[b] @ r)

    def axes(self, b: int) -> Array:
        """Rotation of a body or the ground."""
        return np.eye(3) if b == GROUND else self.R[b]


def state(tree: TreeData, q: Array, u: Array) -> State:
    """Positions and velocities of all bodies."""
    p: list[Array] = []
    R: list[Array] = []
    v: list[Array] = []
    w: list[Array] = []
    rates: list[Array] = []
    iq = iu = 0
    for body in tree.bodies:
        nq, nu = body.joint.nq, body.joint.nu
        moved = joint_motion(body, q[iq : iq + nq], u[iu : iu + nu])
        iq, iu = iq + nq, iu + nu
        b = body.parent
        base = (np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)) if b == GROUND else (p[b], R[b], v[b], w[b])
        arm = base[1] @ (body.at + moved.p)
        p.append(base[0] + arm)
        R.append(base[1] @ moved.R)
        v.append(base[2] + cross(base[3], arm) + base[1] @ moved.v)
        w.append(base[3] + base[1] @ moved.w)
        rates.append(np.asarray(moved.rates))
    return State(p, R, v, w, np.concatenate(rates) if rates else np.zeros(0))


def along_motion(
    tree: TreeData, q: Array, u: Array, what: Callable[[State], Array], udot: Array | None = None
) -> Array:
    """d(what)/dt along q̇ = N(q) u and the given u̇ (zero where left out), by a complex step."""
    qdot = state(tree, q, u).rates
    du = np.zeros(tree.nu) if udot is None else udot
    return np.imag(what(state(tree, q + 1j * STEP * qdot, u + 1j * STEP * du))) / STEP


def centre_velocities(tree: TreeData, at: State) -> Array:
    """(velocity of the mass centre, angular velocity) of each body, ground axes: an array (bodies, 2, 3)."""
    return np.array([[at.velocity((b, body.com)), at.w[b]] for b, body in enumerate(tree.bodies)])


def equations(tree: TreeData, q: Array, u: Array) -> tuple[Array, Array]:
    """(M, f) with M u̇ = f."""
    now = state(tree, q, u)
    partials = np.array([centre_velocities(tree, state(tree, q, e)) for e in np.eye(tree.nu)])
    remainder = along_motion(tree, q, u, lambda s: centre_velocities(tree, s))
    applied = _wrenches(tree, now)
    M, f = np.zeros((tree.nu, tree.nu)), np.zeros(tree.nu)
    for b, body in enumerate(tree.bodies):
        V, W = partials[:, b, 0], partials[:, b, 1]
        inertia = now.R[b] @ body.inertia @ now.R[b].T
        M += body.mass * V @ V.T + W @ inertia @ W.T
        F = applied[b, 0] + body.mass * (tree.gravity - remainder[b, 0])
        T = applied[b, 1] - inertia @ remainder[b, 1] - cross(now.w[b], inertia @ now.w[b])
        f += V @ F + W @ T
    return M, f


def accelerations(tree: TreeData, q: Array, u: Array, prescribed: dict[int, float] | None = None) -> Array:
    """u̇; prescribed speeds have rates given by index, unknown forces, and so no rows of their own."""
    M, f = equations(tree, q, u)
    known = prescribed or {}
    free = [i for i in range(tree.nu) if i not in known]
    rates = np.zeros(tree.nu)
    rates[list(known)] = list(known.values())
    rates[free] = np.linalg.solve(M[np.ix_(free, free)], f[free] - M[free] @ rates)
    return rates


# ---------------------------------------------------------------- loads


def _wrenches(tree: TreeData, now: State) -> Array:
    """(force, moment about the mass centre) on each body."""
    total = np.zeros((len(tree.bodies), 2, 3))

    def push(b: int, force: Array, place: Array) -> None:
        if b != GROUND:
            total[b, 0] += force
            total[b, 1] += cross(place - now.point((b, tree.bodies[b].com)), force)

    def twist(b: int, moment: Array) -> None:
        if b != GROUND:
            total[b, 1] += moment

    for load in tree.loads:
        if load.kind == "strut":
            force, p, q = strut_force(load, now)
            push(q[0], force, now.point(q))
            push(p[0], -force, now.point(p))
            continue
        vector = now.axes(load.axes) @ load.vector
        if load.kind == "moment":
            twist(load.on, vector)
            if load.reaction is not None:
                twist(load.reaction, -vector)
            continue
        assert load.at is not None
        place = now.point(load.at)
        push(load.at[0], vector, place)
        if isinstance(load.reaction, tuple):
            push(load.reaction[0], -vector, now.point(load.reaction))
        elif load.reaction is not None:
            push(load.reaction, -vector, place)
    return total


def strut_force(load: LoadData, now: State) -> tuple[Array, tuple[int, Array], tuple[int, Array]]:
    """(force on the second point, first point, second point) of a strut."""
    p, q = load.reaction, load.at
    assert q is not None
    line = now.point(q) - now.point(p)
    length = np.sqrt(line @ line)
    rate = (now.velocity(q) - now.velocity(p)) @ line / length
    stiffness, damping, rest = load.law
    return (-stiffness * (length - rest) - damping * rate) * line / length, p, q


def power_of_loads(tree: TreeData, q: Array, u: Array) -> float:
    """Power of all loads but gravity."""
    now = state(tree, q, u)
    velocities = centre_velocities(tree, now)
    return float(np.sum(_wrenches(tree, now) * velocities))


# ---------------------------------------------------------------- energies and momenta


def kinetic_energy(tree: TreeData, now: State) -> Any:
    """Σ ½ m v·v + ½ ω·I·ω."""
    total = 0.0
    for b, body in enumerate(tree.bodies):
        v, w = now.velocity((b, body.com)), now.R[b].T @ now.w[b]
        total = total + 0.5 * body.mass * v @ v + 0.5 * w @ body.inertia @ w
    return total


def potential_energy(tree: TreeData, now: State) -> Any:
    """−Σ m g·r."""
    return -sum(body.mass * tree.gravity @ now.point((b, body.com)) for b, body in enumerate(tree.bodies))


def momentum(tree: TreeData, now: State) -> Array:
    """Σ m v."""
    return sum((body.mass * now.velocity((b, body.com)) for b, body in enumerate(tree.bodies)), np.zeros(3))


def mass_centre(tree: TreeData, now: State) -> Array:
    """Σ m r / Σ m."""
    moment = sum((body.mass * now.point((b, body.com)) for b, body in enumerate(tree.bodies)), np.zeros(3))
    return moment / sum(body.mass for body in tree.bodies)


def angular_momentum(tree: TreeData, now: State, about: Array) -> Array:
    """Σ I·ω + m (r − about) × v."""
    total = np.zeros(3)
    for b, body in enumerate(tree.bodies):
        place = (b, body.com)
        total = total + now.R[b] @ body.inertia @ now.R[b].T @ now.w[b]
        total = total + body.mass * cross(now.point(place) - about, now.velocity(place))
    return total
