"""Modal integrals against published ones, and against direct sums over displaced particles and bodies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.model.flexible.beam import Beam, Section
from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.part import FlexiblePart
from armillary.model.flexible.plate import Plate
from tests.model.flexible.structures import chain

DATA = Path(__file__).parents[3] / "src/armillary/verification/data/momentum_flexible.json"
REFERENCE = json.loads(DATA.read_text(encoding="utf-8"))
BODIES = {
    body["name"]: {**body, "integrals": REFERENCE["modal_integrals"][body["name"]]}
    for body in REFERENCE["model"]["bodies"]
    if "particles" in body
}


def exact_rotation(vector: np.ndarray) -> np.ndarray:
    """Exp(ṽ) by Rodrigues' formula."""
    angle = float(np.linalg.norm(vector))
    tilde = skew(vector)
    if angle == 0:
        return np.eye(3)
    return np.eye(3) + np.sin(angle) / angle * tilde + (1 - np.cos(angle)) / angle**2 * tilde @ tilde


def skew(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def left_jacobian(vector: np.ndarray) -> np.ndarray:
    """ω = J_l(b) ḃ for R = Exp(b̃)."""
    angle = float(np.linalg.norm(vector))
    tilde = skew(vector)
    return (
        np.eye(3)
        + (1 - np.cos(angle)) / angle**2 * tilde
        + (angle - np.sin(angle)) / angle**3 * tilde @ tilde
    )


def particles(body: dict[str, Any], **options: Any) -> FlexiblePart:
    """The part of a reference body, from its particles."""
    own = body["particles"]
    return flexible_part(
        "body 'B'",
        nodes=[p["r"] for p in own],
        masses=[p["m"] for p in own],
        shapes=[p["Psi"] for p in own],
        stiffness=body["K"],
        damping_matrix=body["C"],
        **options,
    )


def deformed(part: FlexiblePart, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """c, J and H of a part at some amplitudes."""
    c = part.first + part.P @ eta
    J = part.inertia + np.einsum("p,pij->ij", eta, part.J1)
    H = part.H.copy()
    if part.g is not None:
        c = c + 0.5 * np.einsum("p,q,pqi->i", eta, eta, part.g)
    if part.J2 is not None:
        J = J + 0.5 * np.einsum("p,q,pqij->ij", eta, eta, part.J2)
    if part.H1 is not None:
        H = H + np.einsum("q,qip->ip", eta, part.H1)
    return c, J, H


@pytest.mark.parametrize("name", ["B2", "B4"])
def test_all_integrals_of_the_momentum_state_reference(name: str) -> None:
    """Every integral of the reference (its own program, from the same particles), in our arrangement."""
    part, ours = particles(BODIES[name]), BODIES[name]["integrals"]
    R, S, Q = (np.array(ours[key]) for key in "RSQ")
    expected = {
        "mass": ours["m"],
        "first": ours["c"],
        "inertia": ours["J"],
        "P": ours["P"],
        "H": ours["H"],
        "M": ours["M"],
        "J1": -(R + np.swapaxes(R, 1, 2)),
        "J2": -(S + np.swapaxes(S, 2, 3)),
        "H1": np.transpose(Q, (2, 0, 1)),
        "K": BODIES[name]["K"],
        "C": BODIES[name]["C"],
    }
    for key, value in expected.items():
        np.testing.assert_allclose(getattr(part, key), value, rtol=1e-13, atol=1e-13, err_msg=key)


@pytest.mark.parametrize("name", ["B2", "B4"])
def test_given_integrals_make_the_same_part_as_the_particles(name: str) -> None:
    body = BODIES[name]
    part = flexible_part("body 'B'", **body["integrals"], K=body["K"], C=body["C"])
    same = particles(body)
    for key in ("mass", "first", "inertia", "P", "H", "M", "K", "C", "J1", "J2", "H1"):
        np.testing.assert_allclose(
            getattr(part, key), getattr(same, key), rtol=1e-13, atol=1e-13, err_msg=key
        )


def described(way: str, **options: Any) -> FlexiblePart:
    """A small part from one of the descriptions that are read."""
    places, mass, stiffness = chain(3)
    body = BODIES["B2"]
    section = Section(area=1e-3, Iy=2e-7, Iz=1e-7, J=3e-7)
    sources: dict[str, tuple[object, dict[str, Any]]] = {
        "beam": (Beam(length=2.0, section=section, E=70e9, density=2700.0), {"modes": 2}),
        "plate": (Plate(1.0, 0.5, 0.01, E=70e9, nu=0.3, density=2700.0), {"modes": 2}),
        "integrals": (None, {**body["integrals"], "K": body["K"]}),
        "matrices": (
            None,
            {"mass_matrix": mass, "stiffness_matrix": stiffness, "positions": places, "modes": 2},
        ),
    }
    if way == "particles":
        return particles(body, **options)
    source, given = sources[way]
    return flexible_part("body 'B'", source, **given, **options)


@pytest.mark.parametrize("way", ["beam", "plate", "integrals", "matrices", "particles"])
def test_terms_of_second_order_are_there_unless_they_are_declined(way: str) -> None:
    usual, asked = described(way), described(way, second_order=True)
    plain = described(way, second_order=False)
    assert plain.J2 is None and plain.H1 is None
    assert np.any(usual.J2)
    for key in ("J2", "H1"):
        assert getattr(usual, key) is not None, key
        np.testing.assert_allclose(getattr(usual, key), getattr(asked, key), rtol=1e-12, atol=1e-13)
    for key in ("mass", "first", "inertia", "P", "H", "M", "K", "J1"):
        np.testing.assert_allclose(getattr(usual, key), getattr(plain, key), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_particles_without_rotations_are_exact_at_any_amplitude(seed: int) -> None:
    """c, J and H at amplitudes of order one equal sums over the displaced particles, to rounding."""
    rng = np.random.default_rng(seed)
    n, modes = 6, 3
    r, m, psi = rng.normal(size=(n, 3)), rng.uniform(0.5, 2, n), rng.normal(size=(n, 3, modes))
    bend = rng.normal(size=(n, 3, modes, modes))
    bend = bend + np.swapaxes(bend, 2, 3)
    for shortening in (None, bend):
        part = flexible_part(
            "body 'B'",
            nodes=r,
            masses=m,
            shapes=psi.reshape(3 * n, modes),
            stiffness=np.eye(modes),
            shortening=shortening,
            stiffening=shortening is not None,
        )
        eta = rng.normal(size=modes) * (1.0 if shortening is None else 1e-4)
        second = np.zeros((n, 3)) if shortening is None else 0.5 * np.einsum("p,q,sapq->sa", eta, eta, bend)
        x = r + psi @ eta + second
        rate = psi if shortening is None else psi + np.einsum("sapq,q->sap", bend, eta)
        c, J, H = deformed(part, eta)
        # with foreshortening J and H are exact to second and first order only
        slack = 1e-12 if shortening is None else 1e-9
        first_order = 1e-12 if shortening is None else 1e-6
        np.testing.assert_allclose(c, m @ x, atol=1e-12)
        np.testing.assert_allclose(J, sum(-m[s] * skew(x[s]) @ skew(x[s]) for s in range(n)), atol=slack)
        np.testing.assert_allclose(H, sum(m[s] * skew(x[s]) @ rate[s] for s in range(n)), atol=first_order)


def test_nodal_inertias_turn_with_their_nodes_to_second_order() -> None:
    """J(η) = ΣRIRᵀ and H(η) = ΣRIRᵀJ_lθ: the errors left are of third and second order in the amplitude."""
    rng = np.random.default_rng(7)
    n, modes = 4, 3
    r, psi, theta = rng.normal(size=(n, 3)), np.zeros((n, 3, modes)), rng.normal(size=(n, 3, modes))
    roots = rng.normal(size=(n, 3, 3))
    tensors = roots @ np.swapaxes(roots, 1, 2)
    part = flexible_part(
        "body 'B'",
        nodes=r,
        masses=0.0,
        inertias=tensors,
        shapes=psi,
        rotations=theta,
        stiffness=np.eye(modes),
    )
    direction = rng.normal(size=modes)
    errors = []
    for size in (1e-2, 1e-3):
        eta = size * direction
        turned = [exact_rotation(theta[s] @ eta) for s in range(n)]
        tensor = [turned[s] @ tensors[s] @ turned[s].T for s in range(n)]
        _, J, H = deformed(part, eta)
        spins = [left_jacobian(theta[s] @ eta) @ theta[s] for s in range(n)]
        errors.append(
            (
                np.max(np.abs(J - sum(tensor))),
                np.max(np.abs(H - sum(a @ b for a, b in zip(tensor, spins, strict=True)))),
            )
        )
    inertia, momentum = np.log10(np.array(errors[0]) / np.array(errors[1]))
    assert inertia == pytest.approx(3.0, abs=0.1)
    assert momentum == pytest.approx(2.0, abs=0.1)
    np.testing.assert_allclose(
        part.M, sum(theta[s].T @ tensors[s] @ theta[s] for s in range(n)), rtol=1e-12, atol=1e-12
    )
