"""JPL's formulations from a description: the constructed tree in which every term matters, and its relatives.

The same bodies, hinges, nodes and loads as in the numbers-only tests, now through System, derive and compiled
code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armillary.program.formalisms.jpl_appendages import complex_appendage
from tests.verification.common import ACCELERATIONS, assert_close, assert_near
from tests.verification.jpl_tree import GENERIC, compiled, parameters, tree


def turns(system: Any) -> list[np.ndarray]:
    """Per appendage, e^{−iθ} from the data's complex modes to the computed ones."""
    found = []
    for record in GENERIC["appendages_MBDYFR"]:
        modes = complex_appendage(system.bodies[f"b{record['body']}"], sum(GENERIC["inputs"]["mass"])).modes
        ours, theirs = modes.psi + 1j * modes.gamma, np.array(record["Psi"]) + 1j * np.array(record["Gamma"])
        overlap = (ours.conj() * theirs).sum(axis=0)
        found.append(overlap / np.abs(overlap))
    return found


def arranged(
    system: Any, formulation: str, state: dict[str, Any]
) -> tuple[dict[str, float], dict[str, float]]:
    """Values by name, and expected rates by name."""
    result = state["result"]
    values: dict[str, float] = {"b0.q4": 1.0}
    rates: dict[str, float] = {}
    for i in range(3):
        values[f"b0.u{i + 4}"], rates[f"b0.u{i + 4}"] = state["w0"][i], result["wdot"][i]
    hinge = 0
    counts = {0: 7}
    for k in range(1, 5):
        body = system.bodies[f"b{k}"]
        counts[k] = len(body.joint_coordinates)
        for i in range(counts[k]):
            values[f"b{k}.q{i + 1}"], values[f"b{k}.u{i + 1}"] = (
                state["gamma"][hinge],
                state["gamma_dot"][hinge],
            )
            rates[f"b{k}.u{i + 1}"] = result["gamma_dd"][hinge]
            hinge += 1
    records = GENERIC["appendages_MBDYFR" if formulation == "mbdyfr" else "appendages_MBDYFN_MBDYFL"]
    turned = turns(system) if formulation == "mbdyfr" else []
    for m, record in enumerate(records):
        k = record["body"]
        q, u = counts[k], 6 if k == 0 else counts[k]
        if formulation == "mbdyfr":
            z = (np.array(state["delta"][m]) + 1j * np.array(state["eta"][m])) * turned[m]
            dz = (np.array(result["delta_dot"][m]) + 1j * np.array(result["eta_dot"][m])) * turned[m]
            pairs = [(z.real, dz.real), (z.imag, dz.imag)]
        else:
            pairs = [(state["eta"][m], state["eta_dot"][m]), (state["eta_dot"][m], result["eta_dd"][m])]
        for (x, dx), letter, first in zip(pairs, "qu", (q, u), strict=True):
            values |= {f"b{k}.{letter}{first + n + 1}": v for n, v in enumerate(x)}
            rates |= {f"b{k}.{letter}{first + n + 1}": v for n, v in enumerate(dx)}
    return values, rates


def evaluated(
    model: Any, formulation: str, state: dict[str, Any], loads: dict[str, float]
) -> dict[str, float]:
    """Outputs at a state, after its rates and momentum were found right."""
    values, expected = arranged(model.equations.system, formulation, state)
    names = [*model.coordinate_names, *model.speed_names]
    x = np.array([values.get(n, 0.0) for n in names])
    rates = model.derivatives(0.0, x, loads)
    compared = [(rate, expected[n]) for n, rate in zip(names, rates, strict=True) if n in expected]
    found, wanted = np.array(compared).T
    scale = np.abs(wanted).max()
    assert_near(found / scale, wanted / scale, ACCELERATIONS, formulation)
    shown: dict[str, float] = model.outputs(0.0, x, loads)
    H = [shown[f"angular momentum {axis}"] for axis in "xyz"]
    assert_close(H, state["result"]["H_b0"], ACCELERATIONS, "angular momentum, axes of b0")
    return shown


FORMULATIONS = pytest.mark.parametrize("formulation", ["mbdyfn", "mbdyfl", "mbdyfr"])


@FORMULATIONS
def test_accelerations(formulation: str) -> None:
    model = compiled(formulation)
    states = GENERIC["random_states"][formulation.upper()]
    assert len(states) == 6
    for state in states:
        evaluated(model, formulation, state, parameters(GENERIC, state))


@FORMULATIONS
def test_prescribed_hinges_need_the_torques_that_give_the_same_motion(formulation: str) -> None:
    """Three hinges prescribed at their free accelerations, without their torques: all else moves as before,
    and what they need is the torque that was left out.
    """
    given = [i in (1, 3, 6) for i in range(7)]
    speeds = {1: "b1.u2", 3: "b3.u1", 6: "b4.u1"}
    model = tree(GENERIC, formulation, given).derive(formulation).compile()
    for state in GENERIC["random_states"][formulation.upper()]:
        torques = [0.0 if g else t for g, t in zip(given, state["hinge_torque"], strict=True)]
        loads = parameters(GENERIC, state | {"hinge_torque": torques})
        for i in speeds:
            motion = state["gamma"][i], state["gamma_dot"][i], state["result"]["gamma_dd"][i]
            loads |= {f"{letter}{i}": x for letter, x in zip("avw", motion, strict=True)}
        shown = evaluated(model, formulation, state, loads)
        needed = [shown[f"torque({speed})"] for speed in speeds.values()]
        wanted = [state["hinge_torque"][i] for i in speeds]
        # A difference of terms up to a hundred times as large as the torques.
        assert_near(needed, wanted, 1e-10, "torques of prescribed hinges")
