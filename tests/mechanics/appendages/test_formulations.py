"""JPL's three formulations on plain numbers, at every reference state.

Reference: corrected equations of JPL TR 32-1598, verified there against an independent nonlinear model of
rigid bodies and nodal bodies on springs; results carry 12 to 14 digits, matrices 12.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from armillary.model.flexible.modal_data import complex_modes, spinning_matrices
from armillary.program.formalisms.jpl_formulations import FORMULATIONS, solve
from armillary.verification.rows import largest
from tests.mechanics.appendages.comparison import differences, of_scale
from tests.mechanics.appendages.vehicles import full, spinning, triple, vehicle, with_rotors
from tests.verification.common import ACCELERATIONS, assert_near, reference

SAMPLES = {
    "jpl_spinning_rotor": "mbdyfr",
    "jpl_mbdyfn": "mbdyfn",
    "jpl_mbdyfl": "mbdyfl",
    "jpl_frozen": "mbdyfn",
}
GENERIC = reference("jpl_generic_tree")
# Printed to 12 digits.
MATRICES = 1e-11


@pytest.mark.parametrize(("name", "formulation"), SAMPLES.items())
def test_sample_problems(name: str, formulation: str) -> None:
    """The report's vehicles, with free and prescribed hinges and loads everywhere."""
    data = reference(name)
    worst = 0.0
    for state in data["random_states"]["cases"]:
        expected = state["result"].get("corrected", state["result"])
        at = vehicle(data["inputs"], data["inputs"]["appendages"], state)
        worst = largest(worst, *differences(solve(at, formulation), expected))
    assert_near(worst, 0.0, ACCELERATIONS, name)


def appendages(formulation: str) -> list[dict[str, Any]]:
    return GENERIC["appendages_MBDYFR" if formulation == "MBDYFR" else "appendages_MBDYFN_MBDYFL"]


@pytest.mark.parametrize("formulation", ["MBDYFR", "MBDYFN", "MBDYFL"])
def test_generic_tree(formulation: str) -> None:
    """Five bodies, seven hinges, two appendages with nodal inertia: every term matters."""
    worst = 0.0
    for state in GENERIC["random_states"][formulation]:
        at = vehicle(GENERIC["inputs"], appendages(formulation), state)
        worst = largest(worst, *differences(solve(at, formulation.lower()), state["result"]))
    assert_near(worst, 0.0, ACCELERATIONS, formulation)


@pytest.mark.parametrize("formulation", ["MBDYFR", "MBDYFN", "MBDYFL"])
def test_system_matrix(formulation: str) -> None:
    state = GENERIC["random_states"][formulation][0]
    at = vehicle(GENERIC["inputs"], appendages(formulation), state)
    matrix, right = full(FORMULATIONS[formulation.lower()].assembled(at))
    if formulation == "MBDYFR":  # the data have δ of all appendages before η
        order = [*range(14), *range(18, 22), *range(14, 18), *range(22, 26)]
        matrix, right = matrix[np.ix_(order, order)], right[order]
    assert of_scale(matrix, state["system_matrix"]) < MATRICES
    assert of_scale(right, state["right_hand_side"]) < MATRICES


def test_undeformed_appendages_on_still_bodies_are_exact() -> None:
    """MBDYFN has no approximation there: the nonlinear model agrees."""
    states = GENERIC["exact_regime"]["MBDYFN_undeformed_appendage_bodies_not_rotating"]
    for state in states:
        at = vehicle(GENERIC["inputs"], appendages("MBDYFN"), state)
        assert largest(*differences(solve(at, "mbdyfn"), state["result_independent"])) < ACCELERATIONS


def test_undeformed_spinning_appendages_are_exact() -> None:
    """MBDYFR with all complex modes, computed here, has no approximation without deformation at any rates:
    the nonlinear model agrees, in the nodes' accelerations too.
    """
    records = appendages("MBDYFR")
    found = []
    for record in records:
        nodes = record["nodes"]
        matrices = spinning_matrices(
            [n["mass"] for n in nodes], [np.array(n["inertia"]) for n in nodes],
            np.array(record["stiffness_6n"]), record["Omega"], sum(GENERIC["inputs"]["mass"]),
        )  # fmt: skip
        found.append(complex_modes(matrices, "appendage"))
    for state in GENERIC["exact_regime"]["MBDYFR_undeformed_full_modal_set_any_rates"]:
        at = vehicle(GENERIC["inputs"], records, state)
        parts = list(at.substructures)
        for m, (record, modes) in enumerate(zip(records, found, strict=True)):
            loads = [
                (triple(f), triple(t))
                for f, t in zip(state["node_force"][m], state["node_torque"][m], strict=True)
            ]
            at_rest = [0.0] * len(modes.frequencies)
            made = spinning(record, modes, at_rest, at_rest, at_rest, loads)
            parts[record["body"]] = replace(parts[record["body"]], appendages=(made,))
        solution = solve(type(at)(tuple(parts), at.spin), "mbdyfr")
        expected = state["result_independent"]
        assert largest(*differences(solution, expected)) < ACCELERATIONS
        for modes, rates, q in zip(found, solution.modes, expected["q_dd"], strict=True):
            count = len(modes.frequencies)
            delta, eta = (np.array(r) * modes.frequencies for r in (rates[:count], rates[count:]))
            assert of_scale(-2 * (modes.gamma @ delta + modes.psi @ eta), q) < ACCELERATIONS


def test_rotors() -> None:
    """Torques given, against a model with rotors as bodies; then its accelerations given, for the same."""
    data = reference("jpl_rotor_terms")
    for state in data["cases"]:
        expected = state["result"]
        for given in (None, expected["rotor_relative_accel"]):
            for formulation in ("mbdyfn", "mbdyfr"):  # one equation where nothing is flexible
                solution = solve(with_rotors(data["inputs"], state, given), formulation)
                assert of_scale(solution.spin, expected["wdot"]) < ACCELERATIONS
                assert of_scale(solution.hinges, [expected["gamma_dd"]]) < ACCELERATIONS
                assert of_scale(solution.rotors, expected["rotor_relative_accel"]) < ACCELERATIONS
                assert of_scale(solution.momentum, expected["H_total_b0"]) < ACCELERATIONS
