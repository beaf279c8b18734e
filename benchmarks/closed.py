"""The arbiter for closed loops, in NumPy: multipliers beside the tree's equations, nothing eliminated.

    ⎡ M  Jᵀ ⎤ ⎡  a ⎤   ⎡  f ⎤
    ⎣ J  0  ⎦ ⎣ −λ ⎦ = ⎣ −γ ⎦

with J the partial velocities of all gaps between points that stay together, and γ what remains of their
acceleration with a = 0. The same rows bring random states onto the loops' closed configurations.
"""

from __future__ import annotations

import numpy as np

from benchmarks.linkages import Linkage
from benchmarks.models import Pool
from benchmarks.reference import carried, equations, motions, quaternion_matrix

ITERATIONS, CLOSED = 20, 1e-14


def gaps(linkage: Linkage, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaps, their Jacobian J and their remaining acceleration γ."""
    moving = motions(linkage, q, v)
    rows = []
    for closure in linkage.closures:
        held = ["xyz".index(axis) for axis in closure.axes]
        here = carried(moving[closure.link], closure.point)
        there = carried(moving[closure.other], closure.other_point)
        rows.append([(a - b)[held] for a, b in zip(here, there, strict=True)])
    gap, J, remainder = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return gap, J, remainder


def rates(linkage: Linkage, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """q̇ of canonical coordinates."""
    if not linkage.floating:
        return v
    e, w = q[3:7], v[3:6]
    turning = 0.5 * np.hstack((-e[1:] @ w, e[0] * w + np.cross(e[1:], w)))
    return np.hstack((quaternion_matrix(e) @ v[:3], turning, v[6:]))


def closed(linkage: Linkage, q: np.ndarray) -> np.ndarray:
    """The configuration with closed loops that Newton's method finds from q by its least changes."""
    for _ in range(ITERATIONS):
        gap, J, _ = gaps(linkage, q, np.zeros(linkage.nv))
        if np.abs(gap).max() < CLOSED:
            break
        q = q - rates(linkage, q, np.linalg.lstsq(J, gap, rcond=None)[0])
        if linkage.floating:
            q[3:7] /= np.linalg.norm(q[3:7])
    return q


def closed_pool(linkage: Linkage, size: int = 16, seed: int = 7) -> Pool:
    """Random states with closed loops, and random efforts."""
    rng = np.random.default_rng(seed)
    start = np.array(linkage.start)
    q = np.array([
        closed(linkage, start + linkage.spread * rng.uniform(-1.0, 1.0, linkage.nq)) for _ in range(size)
    ])  # fmt: skip
    v = rng.uniform(-1.0, 1.0, (size, linkage.nv))
    for place, speed in zip(q, v, strict=True):
        _, J, _ = gaps(linkage, place, speed)
        speed -= np.linalg.lstsq(J, J @ speed, rcond=None)[0]
    tau = np.array(linkage.efforts) + rng.uniform(-1.0, 1.0, (size, linkage.nv))
    return Pool(q, v, tau)


def accelerations(linkage: Linkage, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    M, f = equations(linkage, q, v, tau)
    _, J, remainder = gaps(linkage, q, v)
    none = np.zeros((len(J), len(J)))
    return np.linalg.solve(np.block([[M, J.T], [J, none]]), np.hstack((f, -remainder)))[: linkage.nv]


def accelerations_of(linkage: Linkage, states: Pool) -> np.ndarray:
    """Reference accelerations of a whole pool, one row per state."""
    return np.array([
        accelerations(linkage, *state) for state in zip(states.q, states.v, states.tau, strict=True)
    ])  # fmt: skip


def final_coordinates(linkage: Linkage, states: Pool, duration: float) -> np.ndarray:
    """Coordinates at the end of a run from the pool's first state under the linkage's constant efforts."""
    from scipy.integrate import solve_ivp

    tau = np.array(linkage.efforts)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        q, v = np.split(state, [linkage.nq])
        return np.hstack((rates(linkage, q, v), accelerations(linkage, q, v, tau)))

    first = np.hstack((states.q[0], states.v[0]))
    return solve_ivp(slope, (0.0, duration), first, "DOP853", rtol=1e-11, atol=1e-11).y[: linkage.nq, -1]
