"""Back substitution against Allard's equations for a hub with 4 + 3 panels: what the panels add to the hub.

The reference has, at the states of the case `hub_and_panels`, which compares the accelerations, the matrices
of the corrected equations, in hub axes about the hub's origin. A, B, C and D are compared as they are. The
conventions of v_trans and v_rot differ: the reference adds the terms in ω of the panels as rigid parts of the
vehicle outside of its contributions, and does not count from free fall,

    v_trans = v_trans_ref − A g − Σ m (2 ω × r' + ω × (ω × r))
    v_rot   = v_rot_ref − C g − ω × I ω − I' ω

with r, r' from the hub's origin to the panels' mass centres and I, I' the panels' inertia about that point, a
prime being a rate seen in the hub. Inertia is not regrouped, so that panels keep what is theirs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from armillary.verification.cases.spacecraft import panel_state, with_gravity
from examples import hub_and_panels, spacecraft_1, spacecraft_2, stanford_arm
from examples.hub_and_panels import SIDES
from tests.verification.common import ACCELERATIONS, accelerations, assert_close, reference

STATES = reference("back_substitution")["states"]
MASS, LENGTH, HUB = 50.0, 0.75, 750.0


@cache
def equations() -> Any:
    """The vehicle by back substitution, inertia as it was given."""
    return with_gravity(hub_and_panels.system()).derive("back_substitution", regroup=False)


def cross_matrix(v: Any) -> np.ndarray:
    """ṽ, with ṽ x = v × x."""
    return np.cross(np.eye(3), v)


def gravity_in_hub_axes(state: dict[str, Any]) -> np.ndarray:
    """Rᵀ g, from R = 1 + (8 σ̃² + 4 (1 − σ²) σ̃)/(1 + σ²)²."""
    sigma = np.array(state["sigma_BN"])
    tilde = cross_matrix(sigma)
    square = sigma @ sigma
    R = np.eye(3) + (8 * tilde @ tilde + 4 * (1 - square) * tilde) / (1 + square) ** 2
    return R.T @ state["g_N"]


@cache
def values_of(number: int) -> list[dict[str, np.ndarray]]:
    """A, B, C, D, v_trans and v_rot of both sides as numbers, at a state of the reference."""
    eom = equations()
    q, u, parameters = panel_state(STATES[number])
    at = dict(zip(eom.coordinates, q, strict=True)) | dict(zip(eom.speeds, u, strict=True)) | parameters
    at |= {"m": MASS, "d": LENGTH}
    names = ("A", "B", "C", "D", "v_trans", "v_rot")
    sides = [eom.contributions[branch] for branch in ("panel1", "panel5")]
    parts = [np.array(getattr(side, name)) for side in sides for name in names]
    numbers = iter(evaluate_all([as_expr(x) for part in parts for x in part.ravel()], at))
    found = [np.array([next(numbers) for _ in range(part.size)]).reshape(part.shape) for part in parts]
    return [dict(zip(names, found[i : i + 6], strict=True)) for i in (0, 6)]


def rigid_force(state: dict[str, Any], side: int) -> np.ndarray:
    """Σ m (2 ω × r' + ω × (ω × r)) of the panels on a side."""
    w = np.array(state["omega_BN_B"])
    hinge, velocity = np.array([0.5 * side, 0.0, 1.0]), np.zeros(3)
    angle = rate = 0.0
    total = np.zeros(3)
    for i in SIDES[side]:
        angle += state["theta"][i - 1]
        rate += state["theta_dot"][i - 1]
        along = np.array([side * np.cos(angle), 0.0, np.sin(angle)])
        across = np.array([-side * np.sin(angle), 0.0, np.cos(angle)])
        r, moving = hinge + LENGTH * along, velocity + LENGTH * rate * across
        total += MASS * (2 * np.cross(w, moving) + np.cross(w, np.cross(w, r)))
        hinge, velocity = hinge + 2 * LENGTH * along, velocity + 2 * LENGTH * rate * across
    return total


def test_contributions() -> None:
    eom = equations()
    assert set(eom.contributions) == {"panel1", "panel5"}
    for number, state in enumerate(STATES):
        w, g = np.array(state["omega_BN_B"]), gravity_in_hub_axes(state)
        for side, found, given in zip(SIDES, values_of(number), state["effectors"], strict=True):
            expected = {name: np.array(given[f"{name}_contr"]) for name in found}
            for name in "ABCD":
                scale = np.max(np.abs(expected[name]))
                assert_close(found[name] / scale, expected[name] / scale, 1e-10, f"{name} on side {side}")
            inertia, growth = np.array(given["I_eff_B"]), np.array(given["I_eff_prime_B"])
            force = expected["v_trans"] - expected["A"] @ g - rigid_force(state, side)
            moment = expected["v_rot"] - expected["C"] @ g - np.cross(w, inertia @ w) - growth @ w
            assert_close(found["v_trans"], force, 1e-10, f"v_trans on side {side}")
            assert_close(found["v_rot"], moment, 1e-10, f"v_rot on side {side}")


def test_hub_is_solved_from_its_contributions() -> None:
    """α = (D − C A⁻¹ B)⁻¹ (v_rot − C A⁻¹ v_trans), with the vehicle's mass, mass centre and inertia."""
    mass = HUB + 7 * MASS
    for number, state in enumerate(STATES):
        w, g = np.array(state["omega_BN_B"]), gravity_in_hub_axes(state)
        sums = {name: sum(part[name] for part in values_of(number)) for name in ("A", "B", "C", "D")}
        v = {name: sum(part[name] for part in values_of(number)) for name in ("v_trans", "v_rot")}
        hub = np.diag([900.0, 800.0, 600.0])
        inertia = hub + sum(np.array(e["I_eff_B"]) for e in state["effectors"])
        h = mass * cross_matrix(state["c_B"])
        A, B = mass * np.eye(3) + sums["A"], -h + sums["B"]
        C, D = h + sums["C"], inertia + sums["D"]
        rotational = v["v_rot"] - np.cross(w, hub @ w)
        S = D - C @ np.linalg.solve(A, B)
        alpha = np.linalg.solve(S, rotational - C @ np.linalg.solve(A, v["v_trans"]))
        a = np.linalg.solve(A, v["v_trans"] - B @ alpha) + g
        assert_close(alpha, np.array(state["omega_dot_BN_B"]), ACCELERATIONS, "angular acceleration")
        size = np.linalg.norm(state["rddot_BN_N"])
        assert abs(np.linalg.norm(a) - size) <= ACCELERATIONS * size


@pytest.mark.parametrize("example", [spacecraft_1, spacecraft_2, stanford_arm], ids=lambda m: m.__name__)
def test_examples_agree_with_the_other_formalisms(example: Any) -> None:
    rng = np.random.default_rng(4)
    found = {}
    models = {f: example.system().derive(f).compile() for f in ("kane", "recursive", "back_substitution")}
    some = models["kane"]
    states = [
        (rng.uniform(-1, 1, len(some.coordinate_names)), rng.uniform(-1, 1, len(some.speed_names)))
        for _ in range(5)
    ]
    parameters = {n: float(rng.uniform(0.5, 2)) for n, v in some.parameters.items() if v is None}
    for name, model in models.items():
        found[name] = [accelerations(model, 0.3, q, u, parameters) for q, u in states]
    for other in ("kane", "recursive"):
        assert_close(
            np.array(found["back_substitution"]).T,
            np.array(found[other]).T,
            ACCELERATIONS,
            f"against {other}",
        )
