"""The benchmarks' arbiter against closed forms and conservation, laid out as in benchmarks/models.py."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.models import MODELS, ORIGIN, Link, Model, X, Z, pool
from benchmarks.reference import accelerations, equations, quaternion_matrix

G = 9.81


def test_pendulum() -> None:
    """(I + m c²) q̈ = tau + m g c sin q, the mass centre above the hinge at q = 0."""
    model = MODELS["chain4"]
    pendulum = Model("pendulum", "pendulum", model.gravity, model.links[:1])
    q, tau, c = 0.7, 0.3, 0.15
    expected = (tau + 1.0 * G * c * np.sin(q)) / (0.01 + 1.0 * c**2)
    found = accelerations(pendulum, np.array([q]), np.array([2.0]), np.array([tau]))
    assert found == pytest.approx([expected], rel=1e-14)


def test_planar_double_pendulum() -> None:
    """The textbook equations, with h = m₂ l c₂ sin q₂ and heights l cos q₁, ... above the hinge."""
    m, c, length, inertia = 1.0, 0.15, 0.3, 0.01
    rod = (m, (0.0, 0.0, c), (inertia, 0.02, 0.02))
    links = (Link(-1, "revolute", X, ORIGIN, *rod), Link(0, "revolute", X, (0.0, 0.0, length), *rod))
    model = Model("double", "double pendulum", (0.0, 0.0, -G), links)
    (q1, q2), (u1, u2), tau = (0.4, -1.1), (0.9, -1.7), np.array([0.2, -0.6])
    m22 = inertia + m * c**2
    m12 = m22 + m * length * c * np.cos(q2)
    m11 = inertia + m * c**2 + m22 + m * length**2 + 2 * m * length * c * np.cos(q2)
    h = m * length * c * np.sin(q2)
    gravity = G * np.array([m * (c + length) * np.sin(q1) + m * c * np.sin(q1 + q2), m * c * np.sin(q1 + q2)])
    velocity = np.array([h * (2 * u1 * u2 + u2**2), -h * u1**2])
    expected = np.linalg.solve([[m11, m12], [m12, m22]], tau + gravity + velocity)
    found = accelerations(model, np.array([q1, q2]), np.array([u1, u2]), tau)
    assert found == pytest.approx(expected, rel=1e-13)


def test_slider_on_a_turntable() -> None:
    """(I + m r²) ω̇ = tau₁ − 2 m r ṙ ω and m (r̈ − r ω²) = tau₂."""
    table = Link(-1, "revolute", Z, ORIGIN, 1.0, ORIGIN, (1.0, 1.0, 0.4))
    slider = Link(0, "prismatic", X, ORIGIN, 3.0, ORIGIN, (0.1, 0.1, 0.2))
    model = Model("turntable", "slider on a turntable", ORIGIN, (table, slider))
    r, w, rate, tau = 0.8, 1.3, -0.4, np.array([0.5, -0.9])
    expected = [(tau[0] - 2 * 3.0 * r * rate * w) / (0.6 + 3.0 * r**2), tau[1] / 3.0 + r * w**2]
    assert accelerations(model, np.array([2.0, r]), np.array([w, rate]), tau) == pytest.approx(
        expected, rel=1e-14
    )


def test_free_body_obeys_euler() -> None:
    """v̇ = F/m + Rᵀ g − ω × v and I ω̇ = T − ω × I ω, in body axes."""
    gravity = (0.0, 0.0, -G)
    base = MODELS["tree31"].links[0]
    model = Model("body", "free body", gravity, (base,))
    states = pool(model, size=3)
    inertia = np.array(base.inertia)
    for q, v, tau in zip(states.q, states.v, states.tau, strict=True):
        w = v[3:]
        linear = tau[:3] / base.mass + quaternion_matrix(q[3:]).T @ np.array(gravity) - np.cross(w, v[:3])
        angular = (tau[3:] - np.cross(w, inertia * w)) / inertia
        assert accelerations(model, q, v, tau) == pytest.approx(
            np.hstack((linear, angular)), rel=1e-13, abs=1e-13
        )


def test_spacecraft_2_keeps_its_momentum() -> None:
    """Linear and angular momentum about the ground's origin stay constant without a base wrench.

    Both follow from the base's rows of M v: P = R M_F v, H = R M_T v + p × P. Their rates are taken by
    central differences along the motion, which leaves errors of step² (1e-10) and of rounding/step (1e-11).
    """
    model = MODELS["spacecraft2"]
    states = pool(model, size=4)
    step = 1e-5

    def momenta(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q = np.hstack((q[:3], q[3:7] / np.linalg.norm(q[3:7]), q[7:]))
        R = quaternion_matrix(q[3:7])
        M, _ = equations(model, q, v, np.zeros(model.nv))
        linear = R @ M[:3] @ v
        return np.hstack((linear, R @ M[3:6] @ v + np.cross(q[:3], linear)))

    for q, v, tau in zip(states.q, states.v, states.tau, strict=True):
        tau[:6] = 0.0
        a = accelerations(model, q, v, tau)
        e0, e = q[3], q[4:7]
        w = v[3:6]
        rate = np.hstack((
            quaternion_matrix(q[3:7]) @ v[:3], -0.5 * e @ w, 0.5 * (e0 * w + np.cross(e, w)), v[6:],
        ))  # fmt: skip

        before, now, after = (momenta(q + t * rate, v + t * a) for t in (-step, 0.0, step))
        drift = (after - before) / (2 * step)
        assert np.abs(drift).max() < 1e-8 * np.abs(now).max()


@pytest.mark.parametrize("key", MODELS)
def test_mass_matrices_are_symmetric_and_positive(key: str) -> None:
    model = MODELS[key]
    states = pool(model, size=2)
    for q, v, tau in zip(states.q, states.v, states.tau, strict=True):
        M, _ = equations(model, q, v, tau)
        assert np.abs(M - M.T).max() < 1e-12 * np.abs(M).max()
        assert np.linalg.eigvalsh(M).min() > 0.0
