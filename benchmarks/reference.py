"""Kane's equations by brute force in NumPy: the arbiter between Armillary and its peers.

Partial velocities and acceleration remainders of every link are written in ground axes, without regrouping,
recursion or sparsity, so that it shares no idea with any of the candidates:

    M = Σ m Jᵀ J + Wᵀ I W,     M a = tau − Σ Jᵀ m (a₀ − g) + Wᵀ (I α₀ + ω × I ω)

with J and W the partial velocities of the mass centre and partial angular velocities, a₀ and α₀ the
accelerations that remain with a = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.models import Link, Model, Pool, Vector


class Motion(NamedTuple):
    """A link's orientation R, its origin's place p and Jacobian J, angular Jacobian W, ω, v, α₀ and a₀.

    All in ground axes.
    """

    R: np.ndarray
    p: np.ndarray
    J: np.ndarray
    W: np.ndarray
    w: np.ndarray
    v: np.ndarray
    alpha: np.ndarray
    acceleration: np.ndarray


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def quaternion_matrix(e: np.ndarray) -> np.ndarray:
    """R with v_ground = R v_body, from a unit quaternion, scalar first."""
    w, x, y, z = e
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _ground(nv: int) -> Motion:
    zero, none = np.zeros(3), np.zeros((3, nv))
    return Motion(np.eye(3), zero, none, none, zero, zero, zero, zero)


def _base(q: np.ndarray, v: np.ndarray) -> Motion:
    """A free link; its speeds are body components, so ω × v remains when they are constant."""
    R = quaternion_matrix(q[3:7])
    J, W = np.zeros((3, len(v))), np.zeros((3, len(v)))
    J[:, :3], W[:, 3:6] = R, R
    velocity, w = R @ v[:3], R @ v[3:6]
    return Motion(R, np.array(q[:3]), J, W, w, velocity, np.zeros(3), np.cross(w, velocity))


def _child(link: Link, parent: Motion, coordinate: float, rate: float, column: int) -> Motion:
    R, w, alpha = parent.R, parent.w, parent.alpha
    axis = R @ np.array(link.axis)
    r = R @ np.array(link.at) + (axis * coordinate if link.joint == "prismatic" else 0.0)
    p, J, W = parent.p + r, parent.J - skew(r) @ parent.W, parent.W.copy()
    velocity = parent.v + np.cross(w, r)
    acceleration = parent.acceleration + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
    if link.joint == "prismatic":
        J[:, column] += axis
        acceleration = acceleration + 2.0 * np.cross(w, axis) * rate
        return Motion(R, p, J, W, w, velocity + axis * rate, alpha, acceleration)
    W[:, column] += axis
    R_child = R @ rotation(np.array(link.axis), coordinate)
    return Motion(R_child, p, J, W, w + axis * rate, velocity, alpha + np.cross(w, axis) * rate, acceleration)


def motions(model: Model, q: np.ndarray, v: np.ndarray) -> list[Motion]:
    """The motion of every link."""
    made: list[Motion] = []
    for i, link in enumerate(model.links):
        iq, iv = model.place(i)
        if link.joint == "free":
            made.append(_base(q, v))
        else:
            parent = made[link.parent] if link.parent >= 0 else _ground(model.nv)
            made.append(_child(link, parent, q[iq], v[iv], iv))
    return made


def carried(motion: Motion, point: Vector) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place, Jacobian and remaining acceleration of a point of a link."""
    c = motion.R @ np.array(point)
    acceleration = motion.acceleration + np.cross(motion.alpha, c) + np.cross(motion.w, np.cross(motion.w, c))
    return motion.p + c, motion.J - skew(c) @ motion.W, acceleration


def equations(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix M and right-hand side f of M a = f."""
    M, f = np.zeros((model.nv, model.nv)), np.array(tau, dtype=float)
    for i, (link, motion) in enumerate(zip(model.links, motions(model, q, v), strict=True)):
        if link.joint != "free":
            iq, iv = model.place(i)
            f[iv] -= link.stiffness * q[iq] + link.damping * v[iv]
        _, J, acceleration = carried(motion, link.com)
        W, w, alpha = motion.W, motion.w, motion.alpha
        inertia = motion.R @ np.diag(link.inertia) @ motion.R.T
        M += link.mass * J.T @ J + W.T @ inertia @ W
        f -= J.T @ (link.mass * (acceleration - np.array(model.gravity)))
        f -= W.T @ (inertia @ alpha + np.cross(w, inertia @ w))
    return M, f


def accelerations(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    return np.linalg.solve(*equations(model, q, v, tau))


def accelerations_of(model: Model, states: Pool) -> np.ndarray:
    """Reference accelerations of a whole pool, one row per state."""
    return np.array(
        [accelerations(model, *state) for state in zip(states.q, states.v, states.tau, strict=True)]
    )
