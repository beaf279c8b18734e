"""Differences between formulations of appendages."""

from __future__ import annotations

from typing import Any

import numpy as np

from armillary.program.formalisms.jpl_formulations import VehicleSolution
from armillary.verification.rows import largest


def of_scale(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest magnitude."""
    found, expected = np.array(found, float), np.array(expected, float)
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / largest(np.abs(expected), 1e-12))


def differences(solution: VehicleSolution, expected: dict[str, Any]) -> list[float]:
    """Of accelerations, momentum and torques."""
    modes: list[Any] = []
    if "delta_dot" in expected:
        modes = [d + e for d, e in zip(expected["delta_dot"], expected["eta_dot"], strict=True)]
    elif "eta_dd" in expected:
        modes = expected["eta_dd"]
        modes = modes if isinstance(modes[0], list) else [modes]
    found = [of_scale(solution.spin, expected["wdot"]), of_scale(solution.hinges, expected["gamma_dd"])]
    found += [of_scale(a, b) for a, b in zip(solution.modes, modes, strict=False)]
    found.append(of_scale(solution.momentum, expected["H_b0"]))
    found.append(of_scale(solution.hinge_torques, expected["hinge_torque"]))
    return found
