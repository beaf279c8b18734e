"""Basilisk's scenario in the benchmarks: timed without Basilisk, whose absence is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import panels
from benchmarks.environment import Environment
from benchmarks.report import panels_table


def test_an_absent_basilisk_is_reported_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "STEPS", 200)
    records = panels.measure_panels(Environment(sys.executable, Path(), {}), with_peer=True, repeats=1)
    assert [r["title"] for r in records] == ["without gravity", "on its orbit"]
    for record in records:
        assert "bsk not installed" in record["missing"]
        assert "basilisk_microseconds" not in record
        assert record["microseconds"] > 0
    text = panels_table(records)
    assert "Basilisk on its orbit: not available: bsk not installed" in text


def test_a_basilisk_that_ends_elsewhere_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "STEPS", 200)
    monkeypatch.setattr(panels, "FIELDS", {"without gravity": None})
    monkeypatch.setattr(panels, "_basilisk", lambda *_, **__: {"seconds": 1.0, "angles": [0.0] * 7})
    environment = Environment(sys.executable, Path(), {"bsk": "2.12.1"})
    (record,) = panels.measure_panels(environment, with_peer=True, repeats=1)
    assert record["missing"].startswith("ends elsewhere") and "basilisk_microseconds" not in record
