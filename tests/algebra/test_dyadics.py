"""Dyadics by their definition, (a b)·c = a (b·c), in frames that are turned against each other, and beside
matrices of numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import evaluate
from armillary.algebra.vectors import Frame, Vector, dot

ANGLE = 0.7
RNG = np.random.default_rng(8)


def frames() -> tuple[Frame, Frame, np.ndarray]:
    """Two frames and R with v_A = R v_B."""
    s = arm.System("two")
    turned = s.body("turned", joint=arm.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    c, d = np.cos(ANGLE), np.sin(ANGLE)
    return s.ground.frame, turned.frame, np.array([[c, -d, 0], [d, c, 0], [0, 0, 1]])


def numbers(vector: object, frame: Frame) -> np.ndarray:
    assert isinstance(vector, Vector)
    return np.array([float(evaluate(x, {"turned.q1": ANGLE})) for x in vector.components(frame)])


def test_dots_of_dyadics_are_products_of_matrices() -> None:
    A, B, R = frames()
    a, b, c, d = RNG.normal(size=(4, 3))
    left, right = A.vector(a.tolist()), B.vector(b.tolist())
    ab = arm.outer(left, right)  # a in A, b in B
    in_a = np.outer(a, R @ b)
    third, fourth = B.vector(c.tolist()), A.vector(d.tolist())
    np.testing.assert_allclose(numbers(dot(ab, third), A), in_a @ R @ c, atol=1e-14)
    np.testing.assert_allclose(numbers(dot(third, ab), A), R @ c @ in_a, atol=1e-14)
    both = dot(ab, arm.outer(third, fourth))
    expected = in_a @ np.outer(R @ c, d)
    probe = RNG.normal(size=3)
    np.testing.assert_allclose(numbers(dot(both, A.vector(probe.tolist())), A), expected @ probe, atol=1e-13)
    np.testing.assert_allclose(
        numbers(dot(A.vector(probe.tolist()), both + arm.outer(left, left)), A),
        probe @ (expected + np.outer(a, a)),
        atol=1e-13,
    )


def test_only_vectors_make_dyadics_and_are_dotted() -> None:
    A, _, _ = frames()
    with pytest.raises(arm.ArmillaryError, match=r"outer\(\) needs two vectors, not 2"):
        arm.outer(A.axes[0], 2)  # type: ignore[arg-type]
    with pytest.raises(arm.ArmillaryError, match="dot needs vectors or dyadics, not Vector and int"):
        dot(A.axes[0], 2)


def test_python_sums_vectors_and_adds_no_other_number_than_zero() -> None:
    A, B, R = frames()
    whole = sum([2 * A.x, 3 * B.y, A.z - 4 * B.x], 0)
    assert np.allclose(numbers(whole, A), [2, 0, 1] + R @ [-4, 3, 0], atol=1e-15)
    assert np.allclose(numbers(0.0 + A.x, A), [1, 0, 0])
    for other in (1, 1.0, 2, "x"):
        with pytest.raises(TypeError):
            A.x + other  # type: ignore[operator]


def test_vectors_and_dyadics_are_printed_as_sums_over_unit_vectors() -> None:
    A, B, _ = frames()
    a, b = A.name, B.name
    assert repr(A.x) == f"{a}.x"
    assert str(2 * A.x - B.z) == f"(2)*{a}.x + (-1)*{b}.z"
    assert str(arm.outer(A.x, 3 * B.y)) == f"(3)*{a}.x*{b}.y"
    assert str(A.vector([0, 0, 0])) == "0" == str(arm.outer(A.vector([0, 0, 0]), B.y))
