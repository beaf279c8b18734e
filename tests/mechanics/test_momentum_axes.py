"""Angular momentum as a state in the ground's or in the body's axes, near spin about the middle axis.

Truth is the closed form of the torque-free body (Euler and Poinsot) in Jacobi's elliptic functions: with
2T = Σ I_i ω_i², L² = Σ I_i² ω_i² > 2T I₂ and I₁ < I₂ < I₃,

    ω₁ = a cn(λt + τ)    ω₂ = b sn(λt + τ)    ω₃ = c dn(λt + τ)    λ² = (I₃ − I₂)(L² − 2T I₁)/(I₁ I₂ I₃)

Source: Landau and Lifshitz, Mechanics, section 37.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj, ellipkinc

import armillary as arm

INERTIA = np.array([1.0, 2.0, 3.0])
SPIN = np.array([0.01, 5.0, 0.01])  # L² > 2T I₂
TIMES = np.linspace(0.0, 40.0, 401)
SPEEDS = ("B.u1", "B.u2", "B.u3")


def closed_form(times: np.ndarray) -> np.ndarray:
    twice_energy, square = np.sum(INERTIA * SPIN**2), np.sum((INERTIA * SPIN) ** 2)
    A, B, C = INERTIA
    assert square > twice_energy * B
    a = np.sqrt((twice_energy * C - square) / (A * (C - A)))
    b = np.sqrt((twice_energy * C - square) / (B * (C - B)))
    c = np.sqrt((square - twice_energy * A) / (C * (C - A)))
    rate = np.sqrt((C - B) * (square - twice_energy * A) / (A * B * C))
    m = (B - A) * (twice_energy * C - square) / ((C - B) * (square - twice_energy * A))
    start = ellipkinc(np.arctan2(SPIN[1] / b, SPIN[0] / a), m)
    sn, cn, dn, _ = ellipj(rate * times + start, m)
    return np.array([a * cn, b * sn, c * dn])


@pytest.fixture(scope="module")
def models() -> dict[str, arm.CompiledModel]:
    s = arm.System("tumbling")
    s.body("B", joint=arm.Spherical(), mass=1, inertia=tuple(INERTIA))
    return {
        "kane": s.derive("kane").compile(),
        "ground": s.derive("momentum").compile(),
        "body": s.derive("momentum", axes="body").compile(),
    }


@pytest.fixture(scope="module")
def runs(models: dict[str, arm.CompiledModel]) -> dict[str, arm.Run]:
    start = dict(zip(SPEEDS, SPIN, strict=True))
    return {
        name: model.simulate(40.0, initial=start, rtol=1e-10, sample=TIMES) for name, model in models.items()
    }


def error(run: arm.Run) -> float:
    return float(np.max(np.abs(np.array([run[u] for u in SPEEDS]) - closed_form(TIMES))))


def test_the_closed_form_satisfies_eulers_equations() -> None:
    w, h = closed_form(TIMES), 1e-4
    rates = (closed_form(TIMES + h) - closed_form(TIMES - h)) / (2 * h)
    torque = INERTIA[:, None] * rates + np.cross(w, INERTIA[:, None] * w, axis=0)
    np.testing.assert_allclose(torque, 0.0, atol=1e-4)
    np.testing.assert_allclose(closed_form(np.zeros(1))[:, 0], SPIN, rtol=1e-10)


def test_body_axes_keep_the_flips_of_the_middle_axis_as_speeds_do(runs: dict[str, arm.Run]) -> None:
    assert error(runs["kane"]) < 1e-7
    assert error(runs["body"]) < 1e-7


def test_ground_axes_keep_the_momentum_and_lose_the_flips(runs: dict[str, arm.Run]) -> None:
    """The limit that the manual states: small spins are the difference of the attitude's large numbers."""
    assert 1e-6 < error(runs["ground"]) < 1e-1
    for axis in "xyz":
        assert np.ptp(runs["ground"][f"angular momentum {axis}"]) == 0.0


def test_momenta_in_body_axes_are_those_of_the_joints(models: dict[str, arm.CompiledModel]) -> None:
    model = models["body"]
    assert model.momentum_names == ("p(B.u1)", "p(B.u2)", "p(B.u3)")
    p = model.momenta(0.0, [0.5, 0.5, 0.5, 0.5], SPIN)
    np.testing.assert_allclose(p, INERTIA * SPIN, rtol=1e-15)


def test_momentum_of_a_free_body_in_body_axes_agrees_with_kane_and_stays() -> None:
    s = arm.System("hub and arm")
    hub = s.body("hub", joint=arm.Free(), com=(0.1, 0, 0), mass=10, inertia=(4, 5, 6))
    s.body("arm", hub, arm.Revolute("z"), at=(1, 0, 0), com=(0.5, 0, 0.1), mass=2, inertia=(0.1, 0.3, 0.3))
    kane, body = s.derive("kane").compile(), s.derive("momentum", axes="body").compile()
    rng = np.random.default_rng(25)
    q, u = rng.normal(size=8), rng.normal(size=7)
    q[3:7] /= np.linalg.norm(q[3:7])
    found, expected = body.accelerations(0.0, q, u), kane.accelerations(0.0, q, u)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.max(np.abs(expected)))


def test_other_axes_and_other_formalisms_are_refused() -> None:
    s = arm.System("B")
    s.body("B", joint=arm.Spherical(), mass=1, inertia=(1, 2, 3))
    with pytest.raises(arm.ModelError, match="neither 'ground' nor 'body'"):
        s.derive("momentum", axes="x")
    with pytest.raises(arm.ModelError, match="axes='body' is for formalism='momentum'"):
        s.derive("kane", axes="body")
