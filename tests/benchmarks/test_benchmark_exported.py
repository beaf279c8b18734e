"""Exported C is measured beside the code in the process, and agrees with it."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.exported import measure_exported
from benchmarks.report import exported_table
from benchmarks.targets import exported_targets
from benchmarks.timing import Effort


@pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("make") is None, reason="no C compiler (cc, make)"
)
def test_exported_c_is_timed_beside_the_process() -> None:
    """Shown and judged; the times themselves are the benchmark's business, not this test's."""
    (record,) = measure_exported(("stanford_arm",), Effort(rounds=2))
    assert record["error"] < 1e-12  # of one evaluation, relative
    assert record["nanoseconds"] > 0
    assert record["exported_step_nanoseconds"] > 4 * 0.5 * record["exported_nanoseconds"]  # four evaluations
    assert "Stanford arm" in exported_table([record])
    assert "not measured" in exported_table([])
    met, missed = exported_targets([record | {"ratio": 1.0, "step_ratio": 1.2}])
    assert (met.verdict, missed.verdict) == ("met", "MISSED")
