"""What the published cases share: reference data, the ways to derive, and measures of difference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary import verification
from armillary.verification.rows import ACCELERATIONS as ACCELERATIONS
from armillary.verification.rows import TIGHT as TIGHT
from armillary.verification.rows import TRAJECTORIES as TRAJECTORIES
from armillary.verification.rows import columns as table  # noqa: F401
from armillary.verification.rows import counts as counts

# What the package needs too is there, the rest here.
DATA = (Path(verification.__file__).parent / "data", Path(__file__).parent / "data")

# Every formalism, with inertia regrouped and as the user gave it.
WAYS = pytest.mark.parametrize(
    ("formalism", "regroup"),
    [(formalism, regroup) for formalism in ("kane", "recursive") for regroup in (True, False)],
    ids=lambda value: value if isinstance(value, str) else ("regrouped" if value else "as given"),
)


def reference(name: str) -> dict[str, Any]:
    """The reference data of a case."""
    file = next(folder / f"{name}.json" for folder in DATA if (folder / f"{name}.json").is_file())
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def accelerations(
    model: Any, t: float, q: Any, u: Any, parameters: dict[str, float] | None = None
) -> np.ndarray:
    """Rates of the speeds of a compiled model."""
    return np.asarray(model.accelerations(t, np.asarray(q, float), np.asarray(u, float), parameters))


def assert_same(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Agreement of every number relative to itself; the largest difference found is printed."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape, f"{what}: shapes {found.shape} and {expected.shape}"
    difference = np.max(np.abs(found - expected) / np.where(expected == 0, 1.0, np.abs(expected)))
    print(f"{what}: {difference:.1e} (at most {tolerance:.0e})")
    assert difference <= tolerance, f"{what}: relative difference {difference:.3e} exceeds {tolerance:.0e}"


def assert_close(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Agreement relative to the largest magnitude, per column; the difference found is printed."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape, f"{what}: shapes {found.shape} and {expected.shape}"
    scale = np.max(np.abs(expected), axis=0)
    difference = np.max(np.abs(found - expected) / np.where(scale > 0, scale, 1.0))
    print(f"{what}: {difference:.1e} (at most {tolerance:.0e})")
    assert difference <= tolerance, f"{what}: relative difference {difference:.3e} exceeds {tolerance:.0e}"


def assert_near(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Agreement in absolute terms; the difference found is printed."""
    difference = float(np.max(np.abs(np.asarray(found, float) - np.asarray(expected, float))))
    print(f"{what}: {difference:.1e} (at most {tolerance:.0e})")
    assert difference <= tolerance, f"{what}: difference {difference:.3e} exceeds {tolerance:.0e}"


def assert_constant(run: arm.Run, name: str, tolerance: float, scale: float | None = None) -> None:
    """An output that stays what it was, relative to its first value or a scale."""
    values = run[name]
    size = abs(values[0]) if scale is None else scale
    assert_near(values / size, values[0] / size, tolerance, f"{run.system}, drift of {name}")
