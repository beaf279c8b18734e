"""A, B, C and D of systems by chance against complex steps of their programs, to 1e-12.

Five of them in every run of the tests; ``ARMILLARY_RANDOM_SYSTEMS=300`` takes three hundred.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from complex_steps import ComplexSteps
from random_systems import Case, random_case

from armillary.errors import ParameterError

COUNT = int(os.environ.get("ARMILLARY_RANDOM_SYSTEMS", "5"))


def _linearized(model: Any, case: Case) -> Any:
    """With the inputs that act in this system: a damping does not where its joint is prescribed."""
    names = list(case.inputs)
    while True:
        try:
            return model.linearize(case.at, inputs=names, outputs=case.outputs)
        except ParameterError as error:
            idle = [name for name in names if f"input '{name}' acts on no state" in str(error)]
            if not idle:
                raise
            names.remove(idle[0])


@pytest.mark.parametrize("seed", range(COUNT))
def test_matrices_of_a_random_system_are_those_of_complex_steps(seed: int) -> None:
    case = random_case(seed)
    model = case.system.derive(case.formalism).compile()
    lin = _linearized(model, case)
    expected = ComplexSteps(model, lin, t=case.at.get("t", 0.0)).matrices()
    for name, found, wanted in zip("ABCD", (lin.A, lin.B, lin.C, lin.D), expected, strict=True):
        error = np.max(np.abs(found - wanted), initial=0.0)
        assert error <= 1e-12 * (1.0 + np.max(np.abs(wanted), initial=0.0)), name
