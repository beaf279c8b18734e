"""Sensitivities from any runs do not depend on the mean of a metric, however large it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

from armillary.studies.sensitivity import _from_any_runs


@dataclass
class Drawn:
    """What is asked of a design: its quantities."""

    x: np.ndarray

    @property
    def runs(self) -> int:
        return len(self.x)

    def block(self, first: int, last: int) -> dict[str, np.ndarray]:
        return {"a": self.x[first:last, 0], "b": self.x[first:last, 1]}


@pytest.mark.parametrize("mean", [0.0, -3.0, 1e6, 1e8])
def test_parts_of_the_variance_are_those_of_the_metric_without_its_mean(mean: float) -> None:
    """y = 2 a + b of independent a and b with variance 1: 4/5 and 1/5; squares of 1e8 have no digits left."""
    x = np.random.default_rng(3).standard_normal((2000, 2))
    y, kept = 2 * x[:, 0] + x[:, 1], np.ones(2000, dtype=bool)
    design = cast(Any, Drawn(x))
    plain, moved = (_from_any_runs(design, one, kept, 0.95)["values"]["explained"] for one in (y, y + mean))
    assert plain == pytest.approx([0.8, 0.2], abs=0.04)
    assert moved == pytest.approx(plain, abs=1e-6)
