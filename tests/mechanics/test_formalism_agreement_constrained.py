"""Formalisms agree with multipliers by numbers, and so with each other, on random closed mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


@pytest.mark.parametrize("seed", range(11, 11 + len(LOOPS)))
@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_closed_trees(seed: int, formalism: str) -> None:
    """Each kind of closure on another tree."""
    check(seed, LOOPS[seed - 11], formalism)


@pytest.mark.parametrize("seed", range(31, 34))
@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_closed_trees_as_described(seed: int, formalism: str) -> None:
    """Without regrouping of inertia."""
    check(seed, LOOPS[seed % len(LOOPS)], formalism, regroup=False)
