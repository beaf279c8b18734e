"""A, B, C and D of systems by chance against complex steps of their programs, to 1e-12.

Five of them in every run of the tests; ``ARMILLARY_RANDOM_SYSTEMS=300`` takes three hundred.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from complex_steps import ComplexSteps
from random_systems import random_case

COUNT = int(os.environ.get("ARMILLARY_RANDOM_SYSTEMS", "5"))


@pytest.mark.parametrize("seed", range(COUNT))
def test_matrices_of_a_random_system_are_those_of_complex_steps(seed: int) -> None:
    case = random_case(seed)
    model = case.system.derive(case.formalism).compile()
    lin = model.linearize(case.at, inputs=case.inputs, outputs=case.outputs)
    expected = ComplexSteps(model, lin, t=case.at.get("t", 0.0)).matrices()
    for name, found, wanted in zip("ABCD", (lin.A, lin.B, lin.C, lin.D), expected, strict=True):
        error = np.max(np.abs(found - wanted), initial=0.0)
        assert error <= 1e-12 * (1.0 + np.max(np.abs(wanted), initial=0.0)), name
