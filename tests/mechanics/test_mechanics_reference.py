"""The reference evaluator itself, against closed forms that every textbook has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.mechanics.reference import BodyData, Joint, TreeData, accelerations, equations, state

DOWN = np.array([0, -9.81, 0])
NONE = np.zeros(3)


def body(
    name: str,
    parent: int,
    joint: Joint,
    com: tuple[float, ...],
    mass: float,
    moments: tuple[float, ...] = NONE,
    at=NONE,
):
    """A body with a diagonal inertia."""
    return BodyData(
        name, parent, joint, np.array(at, float), None, np.array(com, float), mass, np.diag(moments)
    )


def test_compound_pendulum() -> None:
    """(I + m l²) θ̈ = −m g l sin θ."""
    tree = TreeData([body("A", -1, Joint("revolute", ("z",)), (0, -0.7, 0), 2.0, (0.1, 0.2, 0.3))], [], DOWN)
    found = accelerations(tree, np.array([0.4]), np.array([1.1]))
    assert found == pytest.approx([-2 * 9.81 * 0.7 * math.sin(0.4) / (0.3 + 2 * 0.49)], rel=1e-14)


def test_double_pendulum_in_relative_angles() -> None:
    """Point masses m₁, m₂ on l₁, l₂; the classical pair of equations in absolute angles a, b."""
    m1, m2, l1, l2, g = 1.3, 0.8, 0.9, 0.6, 9.81
    hinge = Joint("revolute", ("z",))
    tree = TreeData(
        [body("A", -1, hinge, (0, -l1, 0), m1), body("B", 0, hinge, (0, -l2, 0), m2, at=(0, -l1, 0))],
        [],
        DOWN,
    )
    a, b, da, db = 0.5, 1.2, 0.7, -0.4
    c, s = math.cos(a - b), math.sin(a - b)
    M = [[(m1 + m2) * l1, m2 * l2 * c], [l1 * c, l2]]
    f = [-m2 * l2 * db**2 * s - (m1 + m2) * g * math.sin(a), l1 * da**2 * s - g * math.sin(b)]
    dda, ddb = np.linalg.solve(M, f)
    found = accelerations(tree, np.array([a, b - a]), np.array([da, db - da]))
    assert found == pytest.approx([dda, ddb - dda], rel=1e-13)


@pytest.mark.parametrize("rotation", ["quaternion", "zyx"])
def test_free_body_obeys_euler_and_newton(rotation: str) -> None:
    """I ω̇ = −ω × I ω in body axes, and free fall; velocities in body axes also turn: v̇ = Rᵀ g − ω × v."""
    moments = np.array([1.0, 2.0, 2.5])
    tree = TreeData(
        [body("A", -1, Joint("free", (rotation, "body")), (0, 0, 0), 3.0, tuple(moments))], [], DOWN
    )
    e = np.array([0.5, -0.5, 0.1, 0.7])
    turning = e / np.linalg.norm(e) if rotation == "quaternion" else np.array([0.3, 0.4, -0.9])
    q, u = np.concatenate([[1.0, 2.0, 3.0], turning]), np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.7])
    R, w, v = state(tree, q, u).R[0], u[3:], u[:3]
    expected = np.concatenate([R.T @ DOWN - np.cross(w, v), -np.cross(w, moments * w) / moments])
    np.testing.assert_allclose(accelerations(tree, q, u), expected, rtol=1e-13, atol=1e-13)


def test_coriolis_on_a_turntable() -> None:
    """A mass in a radial groove of a disc: r̈ = r ω², and (I + m r²) ω̇ = −2 m r ṙ ω."""
    disc = body("D", -1, Joint("revolute", ("z",)), (0, 0, 0), 1.0, (0.2, 0.2, 0.4))
    tree = TreeData([disc, body("P", 0, Joint("prismatic", ("x",)), (0, 0, 0), 0.5)])
    r, dr, w = 0.8, 0.3, 2.0
    found = accelerations(tree, np.array([0.9, r]), np.array([w, dr]))
    assert found == pytest.approx([-2 * 0.5 * r * dr * w / (0.4 + 0.5 * r * r), r * w * w], rel=1e-13)


def test_mass_matrix_is_symmetric_and_positive() -> None:
    tree = TreeData(
        [
            body("A", -1, Joint("free", ("zxz", "parent")), (0.1, 0.2, 0.3), 1.0, (1, 1, 1)),
            body("B", 0, Joint("spherical", ("quaternion",)), (0.5, 0, 0), 1.0, (1, 2, 2), at=(1, 0, 0)),
        ]
    )
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.5, 0.5, -0.5, 0.5])
    M, _ = equations(tree, q, np.ones(9))
    np.testing.assert_allclose(M, M.T, atol=1e-15)
    assert np.linalg.eigvalsh(M)[0] > 0
