"""Derivatives of runs by central differences, for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armillary.analysis.sensitivities import Sensitivities
from armillary.stages.model import Model

TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-14}
# Central differences with δ = 1e-5 leave y''' δ²/6 ≈ 1e-10 and rounding of runs over δ, 1e-14/1e-5 ≈ 1e-9.
NEAR = 1e-7


def differences(
    model: Model,
    t_end: float,
    to: Sequence[str],
    of: Sequence[str],
    *,
    h: float = 1e-5,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    **how: Any,
) -> dict[tuple[str, str], np.ndarray]:
    """(y(p + δ) − y(p − δ)) / 2δ with δ = h |p|, or h where p is an initial value."""
    found = {}
    for name in to:
        sides = []
        own = name in model.parameters
        value = {**model.parameters, **(parameters or {})}[name] if own else (initial or {}).get(name, 0.0)
        assert value is not None
        delta = h * abs(value) if own else h
        for sign in (1, -1):
            moved = {name: value + sign * delta}
            sides.append(
                model.simulate(
                    t_end,
                    parameters={**(parameters or {}), **(moved if own else {})},
                    initial={**(initial or {}), **({} if own else moved)},
                    **how,
                )
            )
        for output in of:
            found[output, name] = (sides[0][output] - sides[1][output]) / (2 * delta)
    return found


def assert_derivatives(
    model: Model,
    t_end: float,
    to: Sequence[str],
    of: Sequence[str],
    tolerance: float,
    also: Sequence[str] = (),
    **how: Any,
) -> Sensitivities:
    """Sensitivities of outputs, within a tolerance of differences relative to the largest of each; and of
    others, not compared.
    """
    expected = differences(model, t_end, to, of, **how)
    how.pop("h", None)
    found = model.sensitivities(t_end, to, [*of, *also], **how)
    for (output, name), values in expected.items():
        size = max(float(np.max(np.abs(values))), 1e-6)
        error = float(np.max(np.abs(found[output, name] - values)))
        assert error <= tolerance * size, f"d({output})/d({name}): {error / size:.2g} of {size:.3g}"
    return found
