"""Modes of closed loops: the four-bar linkage with a strut, against Taylor series of its one freedom."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.verification.rows import equations

# Sayers (1990), section 9.3: lengths of the example four_bar, mass, inertia, stiffness, damping, gravity.
L1, L2, L3, L4, L5, L6, L7 = 0.5, 0.1, 0.2, 0.3, 0.1, 0.3, 0.5
MASS, INERTIA, K, D, G = 10.0, 1.0, 1e4, 100.0, 9.80665

Series = np.ndarray  # of t, to t²


def times(a: Series, b: Series) -> Series:
    return np.convolve(a, b)[:3]


def turned(angle: Series) -> tuple[Series, Series]:
    """cos and sin."""
    c, s = np.cos(angle[0]), np.sin(angle[0])
    x, y = angle[1], angle[2]
    return np.array([c, -s * x, -s * y - c * x * x / 2]), np.array([s, c * x, c * y - s * x * x / 2])


def root(a: Series) -> Series:
    r = np.sqrt(a[0])
    first = a[1] / (2 * r)
    return np.array([r, first, (a[2] - first * first) / (2 * r)])


def linkage(crank: float) -> tuple[Series, Series, Series, Series]:
    """Coupler's angle, its mass centre's x and y, and the length of the strut, over the crank's angle."""
    a = np.array([crank, 1.0, 0.0])
    beta, c = np.zeros(3), np.zeros(3)
    cos_a, sin_a = turned(a)
    for _ in range(12):  # Newton's method, order by order
        (cos_b, sin_b), (cos_c, sin_c) = turned(beta), turned(c)
        gap = np.array([
            L1 * cos_a - L4 * sin_b - (L1 - L5) * cos_c,
            L1 * sin_a + L4 * cos_b - (L1 - L5) * sin_c,
        ])  # fmt: skip
        gap[0, 0] -= L5
        gap[1, 0] -= L4
        J = [[-L4 * cos_b[0], (L1 - L5) * sin_c[0]], [-L4 * sin_b[0], -(L1 - L5) * cos_c[0]]]
        step = np.linalg.solve(J, gap)
        beta, c = beta - step[0], c - step[1]
    cos_b, sin_b = turned(beta)
    x, y = L1 * cos_a - L3 * sin_b, L1 * sin_a + L3 * cos_b
    dx, dy = L1 * cos_a - L2 * sin_b, L1 * sin_a + L2 * cos_b
    dx[0] -= L6
    dy[0] -= L7
    return beta, x, y, root(times(dx, dx) + times(dy, dy))


def test_a_four_bar_linkage_vibrates_as_its_one_freedom_does() -> None:
    """M λ² + D ℓ'² λ + V'' = 0 at V' = 0, with V, M and ℓ over the crank's angle."""
    rest, crank = np.hypot(L1 - L6, L2 - L7), 0.0
    for _ in range(20):
        beta, x, y, length = linkage(crank)
        stretch = length - np.array([rest, 0.0, 0.0])
        V = MASS * G * y + K / 2 * times(stretch, stretch)
        crank -= V[1] / (2 * V[2])
    M = MASS * (x[1] ** 2 + y[1] ** 2) + INERTIA * beta[1] ** 2
    (expected,) = (z for z in np.roots([M, D * length[1] ** 2, 2 * V[2]]) if z.imag > 0)
    model = equations("four_bar").compile()
    op = model.equilibrium()
    assert op["A.q1"] == pytest.approx(crank, rel=1e-11)
    modes = model.linearize(op).modes()
    assert len(modes) == 1 and abs(modes[0].eigenvalue - expected) < 1e-11 * abs(expected)
    moved = dict(zip(modes.bodies.coordinates, modes.bodies.displacements[0], strict=True))
    assert moved["B.q1"] / moved["A.q1"] == pytest.approx(beta[1] - 1.0, rel=1e-11)
    undamped = model.undamped_modes(op)
    assert undamped.mass[0, 0] == pytest.approx(M, rel=1e-12)
    assert undamped.stiffness[0, 0] == pytest.approx(2 * V[2], rel=1e-11)
    assert undamped[0].omega == pytest.approx(np.sqrt(2 * V[2] / M), rel=1e-11)
