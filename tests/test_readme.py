"""The README's tables are measured: operation counts by deriving, ratios of speed by the benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import armillary as arm
from armillary.verification import CASES
from armillary.verification.cases.spacecraft import declare_small
from armillary.verification.cases.vehicles import small_car
from examples import car, cart, four_bar, spacecraft_1, spacecraft_2, stanford_arm

pytestmark = pytest.mark.optimised

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("row", "case", "system"),
    [
        ("Stanford arm", "stanford_arm", lambda: stanford_arm.system(controller=False)),
        ("Spacecraft 1", "spacecraft_1", spacecraft_1.system),
        ("Spacecraft 2", "spacecraft_2", spacecraft_2.system),
        ("car", "car", car.system),
        ("four-wheeled cart", "cart", cart.system),
        ("four-bar linkage", "four_bar", four_bar.system),
        ("car, small variables", "car_small", small_car),
        ("Spacecraft 1, small variables", "spacecraft_1_small", lambda: declare_small(spacecraft_1.system())),
    ],
)
def test_operation_counts_in_the_readme_are_published_and_measured(
    row: str, case: str, system: Callable[[], arm.System]
) -> None:
    found = re.search(rf"\| {row}\b[^|]*((?:\| *\d+ *)+)\|", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    shown = [int(number) for number in re.findall(r"\d+", found[1])]
    published = [check.expected for check in CASES[case].checks if check.kind == "count"]
    assert shown[:2] == published[:2]
    made = system().derive().operations
    assert shown[-3:] == [made.additions, made.multiplications + made.divisions, made.functions]


def test_speed_ratios_in_the_readme_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([^|]+?) \|((?: [\d.–]+ \|){4})$", readme, flags=re.MULTILINE)
    assert len(shown) == 5
    models = {model["title"]: model["candidates"] for model in results["models"]}
    for title, cells in shown:
        times = {c["name"]: c["nanoseconds"] for c in models[title]}
        ours = min(ns for name, ns in times.items() if name.startswith("Armillary"))
        for cell, peer in zip(cells.split("|"), ("Pinocchio", "MuJoCo", "SymPy", "CasADi"), strict=False):
            theirs = [ns for name, ns in times.items() if name.startswith(peer)]
            assert cell.strip() == (f"{min(theirs) / ours:.1f}" if theirs else "–")


def test_times_in_the_report_of_the_benchmarks_are_those_of_the_results() -> None:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    report = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([^|]+?) \| (\d+) \|((?: [\d,–]+ \|){5})$", report, flags=re.MULTILINE)
    assert len(shown) == 7
    models = {model["title"]: model for model in results["models"] + results["linkages"]}
    for title, speeds, cells in shown:
        assert int(speeds) == models[title]["speeds"]
        times = {c["name"]: c["nanoseconds"] for c in models[title]["candidates"]}
        peers = ("Armillary", "CasADi", "SymPy", "MuJoCo", "Pinocchio")
        for cell, peer in zip(cells.split("|"), peers, strict=False):
            found = [ns for name, ns in times.items() if name.startswith(peer)]
            assert cell.strip() == (f"{min(found):,.0f}" if found else "–")
