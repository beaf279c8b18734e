"""Spacecraft 1 with small variables, Sayers (1990), section 9.4, beside the full model as motions shrink.

Only the operation counts of this version are printed. The reference's accelerations are those of a mass
matrix and forces to first order, solved exactly: any consistent first-order model agrees with them to second
order.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from armillary.verification.cases.spacecraft import (
    declare_small,
    fire_parameters,
    small_equations,
    spacecraft_with_commands,
)
from examples.spacecraft_1 import PARAMETERS, START, system
from tests.verification.common import TIGHT, reference

REFERENCE = reference("spacecraft_1_small")
STATES = pytest.mark.parametrize("state", REFERENCE["states"][:6], ids=range(6))
FORMALISMS = pytest.mark.parametrize("formalism", ["kane", "recursive"])


@cache
def models(formalism: str) -> tuple[Any, Any]:
    s = declare_small(spacecraft_with_commands())
    return s.derive(formalism).compile(), s.derive(formalism, small=False).compile()


def scaled(state: dict[str, Any], factor: float) -> tuple[np.ndarray, dict[str, float]]:
    """The state with its small part scaled, and parameters with which the boom's torques stay the same."""
    small = np.array([1] * 6 + [0] * 2 + [1] * 2, float)
    mask = np.concatenate([small, small])
    y = np.array([*state["q"], *state["u"]])
    stiff = {name: PARAMETERS[name][0] / factor for name in ("KB", "BB")}
    return np.where(mask == 1, factor * y, y), fire_parameters(state["thruster_fire"]) | stiff


@FORMALISMS
@STATES
def test_accelerations_differ_from_the_full_ones_in_second_order(
    state: dict[str, Any], formalism: str
) -> None:
    small, full = models(formalism)
    defects = []
    for factor in (1.0, 0.5, 0.25):
        y, parameters = scaled(state, factor)
        rates = [m.derivatives(state["t"], y, parameters)[10:] for m in (small, full)]
        defects.append(np.max(np.abs(rates[0] - rates[1])))
    assert 3.8 < defects[0] / defects[1] < 4.2
    assert 3.8 < defects[1] / defects[2] < 4.2


@FORMALISMS
@STATES
def test_accelerations_agree_with_the_reference_to_second_order(
    state: dict[str, Any], formalism: str
) -> None:
    """Both are off the full model by terms of second order; so is their difference, of the same size."""
    small, _ = models(formalism)
    y, parameters = scaled(state, 1.0)
    found = small.derivatives(state["t"], y, parameters)[10:]
    second_order = np.max(np.abs(np.array(state["udot"]) - state["udot_full_model"]))
    assert np.max(np.abs(found - state["udot"])) <= 2 * second_order


def test_the_full_response_differs_in_second_order() -> None:
    """Halve the ramps of clock and camera: the difference of every coordinate and speed falls to a quarter.

    Where the second-order part is itself small, as for q2 and u2, the next order shows and it falls faster.
    """
    s = declare_small(system(thrusters=False))
    small, full = s.derive().compile(), s.derive(small=False).compile()
    names = [*small.coordinate_names, *small.speed_names]
    times = np.linspace(0, 15, 31)
    defects = []
    for factor in (0.25, 0.125):
        rates = {name: factor * PARAMETERS[name][0] for name in ("CLOCKRATE", "CAMERARATE")}
        options: dict[str, Any] = {"sample": times, "initial": START, "parameters": rates, **TIGHT}
        runs = [m.simulate(15.0, **options) for m in (small, full)]
        defects.append(np.array([np.max(np.abs(runs[0][n] - runs[1][n])) for n in names]))
    ratios = defects[0] / defects[1]
    print({name: round(float(ratio), 2) for name, ratio in zip(names, ratios, strict=True)})
    assert np.all(ratios > 3.6)
    assert np.median(ratios) == pytest.approx(4.0, abs=0.05)


def test_thrusters_decide_on_the_whole_error() -> None:
    """Their laws are decisions: they are the same expressions in both models, nothing is neglected there."""
    full_equations = declare_small(system()).derive(small=False)
    small, full = (eom.show("update").splitlines() for eom in (small_equations(), full_equations))
    numbered = re.compile(r"\bc\d+\b")  # names of precomputed constants
    laws = [numbered.sub("c", line) for line in small if not line.startswith("#")]
    assert sorted(laws) == sorted(numbered.sub("c", line) for line in full)
