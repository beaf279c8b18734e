"""The flexible slider-crank against its published start and against its equations, written down again.

Simeon (1996), problem `crank` of the test set for IVP solvers: coordinates φ₁, φ₂ (angles of crank and rod),
x₃ (place of the block), q₁ to q₄ (rod), in M(p) p̈ = f(p, ṗ) − Gᵀλ with three constraints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armillary.verification.cases.beams import (
    BLOCK,
    CRANK,
    L1,
    L2,
    ROD,
    SPIN,
    START,
    integrals,
    system,
)

SPEEDS = ("rod.u1", "block.u1", "rod.u2", "rod.u3", "rod.u4", "rod.u5")
# φ̈₂, ẍ₃ and q̈₃ of the problem's initial values, made with its own program.
PUBLISHED = {0: -1.344541576008661e-03, 1: -5.062194923138079e03, 4: -4.268463211410861e00}


def by_equations(p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """p̈ of the published equations."""
    given: Any = integrals()
    M, K, B = given["M"], given["K"], given["Q"][2].T
    c1, c2, c21, c12 = given["P"][0], given["P"][1], given["H"][2], -given["R"][:, 2, 2]
    q, rate = p[3:], v[3:]
    c, s = np.cos(p[0] - p[1]), np.sin(p[0] - p[1])
    A = np.zeros((7, 7))
    A[0, 0] = CRANK + ROD[0] * L1**2
    A[0, 1] = L1 * (0.5 * L2 * ROD[0] * c + s * c2 @ q + c * c1 @ q)
    A[1, 1] = ROD[1] + q @ M @ q + 2 * c12 @ q
    A[2, 2] = BLOCK
    A[0, 3:], A[1, 3:], A[3:, 3:] = L1 * (c * c2 - s * c1), c21 + q @ B, M
    A = np.triu(A) + np.triu(A, 1).T
    length, (c_1, c_2), (s_1, s_2) = L2 + q[3], np.cos(p[:2]), np.sin(p[:2])
    G = np.zeros((3, 7))
    G[0, [0, 1, 6]] = L1 * c_1, length * c_2, s_2
    G[1, [0, 1, 2, 6]] = L1 * s_1, length * s_2, 1, -c_2
    G[2, 0] = 1
    f = np.zeros(7)
    f[0] = -0.5 * L1 * L2 * ROD[0] * v[1] ** 2 * s + L1 * v[1] ** 2 * (c * c2 - s * c1) @ q
    f[0] -= 2 * L1 * v[1] * (c * c1 + s * c2) @ rate
    f[1] = 0.5 * L1 * L2 * ROD[0] * v[0] ** 2 * s + L1 * v[0] ** 2 * (s * c1 - c * c2) @ q
    f[1] -= 2 * v[1] * (c12 @ rate + rate @ M @ q) + rate @ B @ rate
    f[3:] = v[1] ** 2 * (M @ q + c12) + L1 * v[0] ** 2 * (c * c1 + s * c2) + 2 * v[1] * B @ rate - K @ q
    gamma = [
        -L1 * s_1 * v[0] ** 2 - length * s_2 * v[1] ** 2 + 2 * v[1] * c_2 * rate[3],
        L1 * c_1 * v[0] ** 2 + length * c_2 * v[1] ** 2 + 2 * v[1] * s_2 * rate[3],
        0.0,
    ]
    whole = np.block([[A, G.T], [G, np.zeros((3, 3))]])
    return np.linalg.solve(whole, np.concatenate([f, np.negative(gamma)]))[:7]


@pytest.fixture(scope="module")
def model() -> Any:
    s = system()
    for u in s.speeds:
        if u.name in SPEEDS:
            s.output(f"rate({u.name})", s.accelerations[u])
    return s.derive("kane").compile()


def both(model: Any, t: float, start: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """(ours, of the equations): accelerations of φ₂, x₃ and the modes at a state on the constraints."""
    shown = model.outputs(t, model.state(start, t=t))
    modes = range(2, 6)
    p = [
        SPIN * t,
        SPIN * t + shown["rod.q1"],
        L1 + L2 + shown["block.q1"],
        *(shown[f"rod.q{i}"] for i in modes),
    ]
    v = [SPIN, SPIN + shown["rod.u1"], shown["block.u1"], *(shown[f"rod.u{i}"] for i in modes)]
    # φ̈₂ is that of the rod in the crank, which turns steadily
    ours = np.array([shown[f"rate({name})"] for name in SPEEDS])
    return ours, by_equations(np.array(p), np.array(v))[1:]


def test_accelerations_at_the_start_are_the_published_ones(model: Any) -> None:
    """To what nine digits of the start leave."""
    ours, theirs = both(model, 0.0, START)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())
    for i, number in PUBLISHED.items():
        assert ours[i] == pytest.approx(number, rel=1e-6), i


@pytest.mark.parametrize("t", [0.004, 0.013, 0.03])
def test_accelerations_are_those_of_the_published_equations(model: Any, t: float) -> None:
    rng = np.random.default_rng(3)
    start = {f"rod.q{i}": 1e-4 * rng.normal() for i in range(2, 6)}
    start |= {f"rod.u{i}": 0.1 * rng.normal() for i in range(2, 6)}
    ours, theirs = both(model, t, start)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())
