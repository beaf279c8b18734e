"""Random closed mechanisms by all formalisms, beside multipliers by numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.mechanics.closed_mechanisms import accelerations, closed_case, describe, outputs_at

LOOPS: list[tuple[str, ...]] = [
    ("spherical",),
    ("revolute",),
    ("universal",),
    ("prismatic",),
    ("cylindrical",),
    ("fixed",),
    ("distance",),
    ("distance", "distance", "distance"),
    ("spherical", "distance"),
    ("universal", "distance", "distance"),
    ("cylindrical", "spherical"),
]


def check(seed: int, kinds: tuple[str, ...], formalism: str, **how: Any) -> None:
    """Dependent speeds and all accelerations are those of the reference, to 1e-10 of the largest."""
    closed = closed_case(seed, kinds)
    case = closed.case
    expected = accelerations(closed)
    s = describe(closed)
    out = outputs_at(s, case.q, case.u, formalism, **how)
    speeds = np.array([out[str(u)] for u in s.speeds])
    np.testing.assert_allclose(speeds, case.u, rtol=0, atol=1e-10 * np.max(np.abs(case.u)))
    found = np.array([out[f"rate of {u}"] for u in s.speeds])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))
