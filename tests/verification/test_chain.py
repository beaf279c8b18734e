"""A chain of 64 links against inverse dynamics written out below, and its energy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from armillary.stages.model import Model
from examples.chain import system
from tests.verification.common import ACCELERATIONS, TIGHT, WAYS, accelerations, assert_constant, assert_near

MASS, CENTRE, LENGTH = 1.0, np.array([0, 0, 0.15]), np.array([0, 0, 0.3])
INERTIA = np.diag([0.01, 0.012, 0.005])
AXES = np.eye(3)


def joint_torques(q: Any, u: Any, a: Any) -> np.ndarray:
    """Torques about the hinges that a motion needs: Newton and Euler for each link, in ground axes.

    Shares nothing with Armillary but the description of the chain.
    """
    n = len(q)
    R, w, alpha = np.eye(3), np.zeros(3), np.zeros(3)
    place, speedup = np.zeros(3), np.zeros(3)
    axes, hinges, forces, moments, centres = [], [], [], [], []
    for i in range(n):
        if i:
            arm = R @ LENGTH
            speedup = speedup + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
            place = place + arm
        axis = R @ AXES[i % 3]
        c, s, k = np.cos(q[i]), np.sin(q[i]), AXES[i % 3]
        skew = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        R = R @ (np.eye(3) + s * skew + (1 - c) * skew @ skew)
        alpha = alpha + axis * a[i] + np.cross(w, axis * u[i])
        w = w + axis * u[i]
        arm = R @ CENTRE
        force = MASS * (speedup + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm)) + [0, 0, 9.81])
        inertia = R @ INERTIA @ R.T
        axes.append(axis)
        hinges.append(place)
        centres.append(place + arm)
        forces.append(force)
        moments.append(inertia @ alpha + np.cross(w, inertia @ w))
    torques = np.zeros(n)
    for i in range(n):
        total = sum(moments[j] + np.cross(centres[j] - hinges[i], forces[j]) for j in range(i, n))
        torques[i] = axes[i] @ total
    return torques


@cache
def chain(n: int) -> Model:
    """A passive chain with its energy as an output."""
    return system(n).derive().compile()


def random_state(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.uniform(-0.5, 0.5, n), random.uniform(-1.0, 1.0, n)


def test_free_hinges_carry_no_torque() -> None:
    """The accelerations of a passive chain of 32, put into the inverse dynamics above."""
    model = chain(32)
    for seed in range(3):
        q, u = random_state(32, seed)
        a = accelerations(model, 0.0, q, u)
        # The weight of the chain alone needs torques of this size.
        size = np.max(np.abs(joint_torques(q, u, np.zeros(32))))
        assert_near(joint_torques(q, u, a) / size, np.zeros(32), ACCELERATIONS, "torque at free hinges")


@WAYS
def test_formalisms_agree(formalism: str, regroup: bool) -> None:
    """On 12 links, where the mass matrix is still cheap enough for a test."""
    model = system(12, energy=False).derive(formalism, regroup=regroup).compile()
    q, u = random_state(12, seed=7)
    a = accelerations(model, 0.0, q, u)
    size = np.max(np.abs(joint_torques(q, u, np.zeros(12))))
    assert_near(
        joint_torques(q, u, a) / size, np.zeros(12), ACCELERATIONS, f"torque at free hinges, {formalism}"
    )


@pytest.mark.parametrize("n", [1, 2, 5, 32])
def test_energy_is_kept(n: int) -> None:
    """A swing from a bent shape; the energy that is exchanged is of the order of the energy itself."""
    start = {f"link{i + 1}.q1": 0.02 for i in range(n)} | {"link1.q1": 2.5}
    run = chain(n).simulate(1.0, sample=0.05, initial=start, **TIGHT)
    assert_constant(run, "energy", 1e-10)
