"""The robots' benchmark: which files it takes, and what its verdict counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.build import NotAvailable, run
from benchmarks.command import write
from benchmarks.environment import Environment
from benchmarks.robots import robot_files, robots_table, wrong


def record(name: str, ratio: float, seconds: float, error: float) -> dict[str, Any]:
    return {
        "name": name, "peer": "mujoco", "speeds": 3, "error": error, "formalism": "recursive",
        "operations": 10, "derive_seconds": seconds / 2, "compile_seconds": seconds / 2,
        "nanoseconds": 100 * ratio, "peer_nanoseconds": 100.0,
    }  # fmt: skip


def test_robots_of_both_packages_are_found_and_test_models_are_not(tmp_path: Path) -> None:
    urdf = tmp_path / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / "a" / "arm.urdf"
    mjcf = tmp_path / "dm_control" / "suite" / "dog.xml"
    for path in (urdf, mjcf, tmp_path / "dm_control" / "mjcf" / "test_assets" / "part.xml"):
        path.parent.mkdir(parents=True)
        path.write_text("")
    assert robot_files(Environment("python", tmp_path, {})) == [("pinocchio", urdf), ("mujoco", mjcf)]
    assert "neither" in robots_table([])


def test_only_robots_that_agree_with_the_peer_count() -> None:
    records = [
        record("quick", 0.3, 2.0, 1e-12),
        record("slow", 0.5, 2.0, 1e-12),
        record("late", 0.3, 6.0, 1e-12),
        record("wrong", 0.1, 1.0, 1e-3),
        {"name": "absent", "peer": "mujoco", "missing": "no such file"},
    ]
    text = robots_table(records)
    assert "3 robots agree to 1e-06: 2 of them in at most 0.4 of the peer's time, 2 derived" in text
    assert "absent: no such file" in text
    assert wrong(records) == ["wrong"]


def model(key: str, nanoseconds: float) -> dict:
    return {"key": key, "title": key, "candidates": [{"name": "Armillary", "nanoseconds": nanoseconds}]}


def test_a_partial_run_takes_its_place_in_results_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    rest = ("linkages", "derivation", "published", "panels", "flexible", "formalisms")
    whole = {**{key: [] for key in rest}, "sympy_chain8": {}, "robots": [], "batches": {}}
    before, later = [model("arm", 70.0), model("chain8", 140.0)], [model("arm", 60.0), model("tree31", 900.0)]
    write(path, {**whole, "date": "Sunday", "models": before}, None)
    new = [record("new", 0.3, 2.0, 1e-12)]
    write(path, {**whole, "date": "Monday", "models": later, "robots": new}, ["arm", "tree31", "robots"])
    found = json.loads(path.read_text())
    assert [r["name"] for r in found["robots"]] == ["new"]
    assert found["models"] == [model("arm", 60.0), model("chain8", 140.0), model("tree31", 900.0)]
    assert found["date"] == "Sunday"
    assert found["runs"] == {key: {"date": "Monday"} for key in ["arm", "tree31", "robots"]}
    assert "tree31: time / better CasADi C" in [target["text"] for target in found["targets"]]


def test_complaints_of_a_peer_that_end_with_an_empty_line_are_told() -> None:
    with pytest.raises(NotAvailable, match="no such mesh"):
        run([sys.executable, "-c", "raise SystemExit('no such mesh\\n\\n')"])
