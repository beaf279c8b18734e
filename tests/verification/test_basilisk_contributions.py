"""Back substitution against Allard's equations for a hub with 4 + 3 panels: accelerations and contributions.

The reference has, at six states with large angles, bent springs, dampers and uniform gravity, accelerations
of an independent tree and the matrices of the corrected equations, in hub axes about the hub's origin. A, B,
C and D are compared as they are. The conventions of v_trans and v_rot differ: the reference adds the terms in
ω of the panels as rigid parts of the vehicle outside of its contributions, and does not count from free fall,

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

import armillary as arm
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from examples import spacecraft_1, spacecraft_2, stanford_arm
from tests.verification.common import ACCELERATIONS, accelerations, assert_close, assert_same, reference

STATES = reference("back_substitution")["states"]
SIDES = {1: range(1, 5), -1: range(5, 8)}  # panels along +x and −x, hub side first
MASS, LENGTH, HUB = 50.0, 0.75, 750.0


def system() -> arm.System:
    """Hub and panels by plain bodies; gravity and the springs' rest angles as parameters."""
    s = arm.System("hub with 4 + 3 panels")
    hub = s.body("hub", joint=arm.Free(), mass=HUB, inertia=(900.0, 800.0, 600.0))
    for side, numbers in SIDES.items():
        inner = hub
        for i in numbers:
            at = (0.5 * side, 0, 1.0) if inner is hub else (2 * side * LENGTH, 0, 0)
            panel = s.body(
                f"panel{i}", inner, arm.Revolute((0, -side, 0)), at=at, com=(side * LENGTH, 0, 0), mass=MASS,
                inertia=(50.0, 25.0, 25.0),
            )  # fmt: skip
            law = f"-k*(panel{i}.q1 - rest{i}) - c*panel{i}.u1"
            s.moment(f"hinge{i}", law, -side * hub.y, on=panel, reaction=inner)
            inner = panel
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.gravity(f"g{letter}", axis)
    return s


@cache
def equations(regroup: bool = False) -> Any:
    """The vehicle by back substitution."""
    return system().derive("back_substitution", regroup=regroup)


def place(state: dict[str, Any]) -> tuple[list[float], list[float], dict[str, float]]:
    """Coordinates, speeds and parameters; modified Rodrigues parameters are σ = tan(φ/4) e."""
    sigma = np.array(state["sigma_BN"])
    square = sigma @ sigma
    e = np.array([1 - square, *(2 * sigma)]) / (1 + square)
    parameters = {f"g{letter}": g for letter, g in zip("xyz", state["g_N"], strict=True)}
    parameters |= {f"rest{i}": angle for i, angle in enumerate(state["theta_0"], start=1)}
    return (
        [0.0, 0.0, 0.0, *e, *state["theta"]],
        [0.0, 0.0, 0.0, *state["omega_BN_B"], *state["theta_dot"]],
        parameters | {"k": state["k"], "c": state["c"]},
    )


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


@pytest.mark.parametrize("regroup", [True, False], ids=["regrouped", "as given"])
def test_accelerations(regroup: bool) -> None:
    model = equations(regroup).compile()
    found = []
    for state in STATES:
        q, u, parameters = place(state)
        found.append(accelerations(model, 0.0, q, u, parameters))
    expected = [[*s["rddot_BN_N"], *s["omega_dot_BN_B"], *s["theta_ddot"]] for s in STATES]
    assert_same(found, expected, ACCELERATIONS, "accelerations by back substitution")


@cache
def values_of(number: int) -> list[dict[str, np.ndarray]]:
    """A, B, C, D, v_trans and v_rot of both sides as numbers, at a state of the reference."""
    eom = equations()
    q, u, parameters = place(STATES[number])
    at = {**dict(zip(eom.coordinates, q, strict=True)), **dict(zip(eom.speeds, u, strict=True)), **parameters}
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
