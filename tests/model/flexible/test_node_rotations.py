"""Functions of a node's rotation vector b against their power series in fractions, from 0 to 40 rad."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import evaluate_all


def _exact(b: list[Fraction]) -> np.ndarray:
    """Exp(b) = 1 + A b̃ + B b̃b̃, its two series summed exactly."""
    x = sum((c * c for c in b), Fraction(0))
    A, B = (sum((-x) ** k / factorial(2 * k + n) for k in range(90)) for n in (1, 2))
    tilde = np.array([[0, -b[2], b[1]], [b[2], 0, -b[0]], [-b[1], b[0], 0]], dtype=object)
    return (np.eye(3, dtype=int) + A * tilde + B * tilde @ tilde).astype(float)


@pytest.fixture(scope="module")
def node() -> arm.Body:
    """A node that three modes turn about three axes."""
    s = arm.System("turning node")
    body = s.body("b", joint=arm.Fixed())
    body.flexible(
        nodes={"n": (0, 0, 0)},
        masses=[1.0],
        shapes=np.eye(3)[None],
        rotations=np.eye(3)[None],
        frequencies=[1.0, 1.0, 1.0],
    )
    return body.node("n")


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.03, 0.999, 1.001, 3.0, 6.0, 40.0])
def test_a_node_turns_by_the_exponential_of_its_rotation_vector_at_any_angle(
    node: arm.Body, angle: float
) -> None:
    eta = angle * np.array([0.36, -0.48, 0.8])
    assert node.parent is not None and node.parent.flex is not None
    values = dict(zip(node.parent.flex.coordinates, eta.tolist(), strict=True))
    found = evaluate_all([x for row in node.assembly.steps[0].rotation for x in row], values)
    # rounding of b in sin|b|, and of products x D, x E with x = b·b
    tolerance = 2e-16 * (2 + angle + angle**2)
    expected = _exact([Fraction(c) for c in eta.tolist()]).ravel()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_angular_velocity_of_a_node_is_that_of_its_axes_beyond_a_turn(node: arm.Body) -> None:
    """Both branches of the same functions: R(b + b' h) R(b)ᵀ, by central differences."""
    assert node.parent is not None and node.parent.flex is not None
    step = node.assembly.steps[0]
    xi = np.array([0.3, 0.5, -0.2])
    for angle in (0.4, 2.0, 7.0):
        eta = angle * np.array([0.6, 0.0, 0.8])

        def rotation(h: float, eta: np.ndarray = eta) -> np.ndarray:
            return _exact([Fraction(c) for c in (eta + h * xi).tolist()])

        h = 1e-3
        slope = 8 * (rotation(h) - rotation(-h)) - (rotation(2 * h) - rotation(-2 * h))
        spin = rotation(0.0).T @ slope / (12 * h)
        values = dict(zip(node.parent.flex.coordinates, eta.tolist(), strict=True))
        columns = evaluate_all([x for column in step.turning for x in column], values)
        found = np.reshape(columns, (3, 3)).T @ xi
        np.testing.assert_allclose(found, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-11)
