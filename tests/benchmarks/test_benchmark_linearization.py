"""The benchmark of linear models: what its verdict counts."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.linearization import _difference, linearization_table
from benchmarks.robots import wrong


def test_only_robots_that_agree_with_the_peer_count() -> None:
    def record(name: str, nanoseconds: float, **more: float) -> dict:
        return {
            "name": name, "speeds": 6, "operations": 1000, "rates_operations": 400, "compile_seconds": 0.1,
            "nanoseconds": nanoseconds, "rates_nanoseconds": 100.0, "peer_nanoseconds": 1500.0, **more,
        }  # fmt: skip

    text = linearization_table(
        [
            record("quick", 240.0, error=1e-14),
            record("middling", 290.0),
            record("slow", 400.0, error=1e-14),
            record("wrong", 100.0, error=1e-3),
            record("no numbers", 100.0, error=math.nan),
            {"name": "a", "missing": "no file"},
        ]
    )
    assert "of 6 robots 1 within 2.5 times the derivatives, 2 at least 5 times as fast as the peer" in text
    assert "wrong: WRONG by 1.0e-03" in text and "no numbers: WRONG by nan" in text and "a: no file" in text


def test_results_that_are_no_numbers_agree_with_nothing() -> None:
    """The built-in `max` drops NaN unless it comes first, and no comparison with NaN holds."""
    told: dict[str, Any] = {"nv": 1}
    theirs: Any = SimpleNamespace(at=lambda k, count: np.ones(count))
    found = np.ones((3, 1, 3))
    assert _difference(found, theirs, told) == 0.0
    found[1, 0, 2] = math.nan
    assert math.isnan(_difference(found, theirs, told))
    assert wrong([{"name": "a", "error": 1e-15}, {"name": "b", "error": math.nan}, {"name": "c"}]) == ["b"]
