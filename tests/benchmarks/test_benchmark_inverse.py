"""The benchmark of inverse dynamics: the file that both programs load, and what its verdict counts."""

from __future__ import annotations

import pytest

import armillary as arm
from benchmarks.inverse import inverse_table, urdf
from benchmarks.models import MODELS


def test_the_stanford_arm_as_a_file_has_its_joints_and_masses(tmp_path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(urdf(MODELS["arm"]))
    with pytest.warns(arm.ImportedWarning, match="limits of joints"):
        s = arm.load(path, torques="none", gravity=(0.0, -9.81, 0.0))
    assert len(s.speeds) == 6
    masses = [s.bodies[f"link{i}"].mass for i in range(6)]
    assert [float(arm.nominal(m)) for m in masses] == [9.0, 6.0, 4.0, 1.0, 0.6, 0.5]


def test_only_robots_that_agree_with_the_peer_count() -> None:
    def record(name: str, ratio: float, error: float) -> dict:
        return {
            "name": name, "speeds": 6, "operations": 100, "compile_seconds": 0.1, "nanoseconds": 100 * ratio,
            "peer_nanoseconds": 100.0, "error": error,
        }  # fmt: skip

    text = inverse_table(
        [
            record("quick", 0.2, 1e-14),
            record("slow", 0.4, 1e-14),
            record("wrong", 0.1, 1e-3),
            {"name": "a", "missing": "no file"},
        ]
    )
    assert "1 of 4 robots in at most 0.3" in text
    assert "wrong: WRONG by 1.0e-03" in text and "a: no file" in text
