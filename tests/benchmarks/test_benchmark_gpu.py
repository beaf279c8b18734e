"""The stored results of a GPU: they are of today's programs, follow from their raw counts and read well."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu_report import markdown
from benchmarks.gpu_sass import counted
from examples import stanford_arm

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return json.loads((ROOT / "benchmarks" / "gpu_results.json").read_text())


def test_the_arm_of_today_costs_no_more_than_the_one_measured(stored: dict[str, Any]) -> None:
    """Otherwise the stored speed is that of another program: measure again with `benchmarks/gpu.py`."""
    (measured,) = (r for r in stored["models"] if (r["model"], r["precision"]) == ("Stanford arm", "double"))
    counts = [int(number) for number in re.findall(r"\d+", measured["operations"])]
    assert stanford_arm.system().derive(measured["formalism"]).operations.total <= sum(counts)


def test_shares_follow_from_instructions_and_rates(stored: dict[str, Any]) -> None:
    """An fma is two operations; no pipe does more than it can, and no operation is counted twice."""
    for row in (r for r in stored["models"] if "instructions" in r):
        counted_now = row["instructions"]
        flops = 2 * counted_now["fma"] + counted_now["mul"] + counted_now["add"]
        assert row["flops"] == pytest.approx(flops)
        assert row["flops_per_second"] == pytest.approx(flops * row["evaluations_per_second"])
        assert row["peak_share"] < row["pipe_share"] <= 1
        assert row["peak_share"] > 0.4 or row["local_bytes"] > 800  # where local memory is the bound
        assert row["operations_share"] < row["peak_share"]
        assert flops > sum(int(number) for number in re.findall(r"\d+", row["operations"])[:2])


def test_the_tables_of_the_documentation_are_those_of_the_results(stored: dict[str, Any]) -> None:
    assert markdown(stored) in (ROOT / "benchmarks" / "NOTES.md").read_text(encoding="utf-8")
    rows = {(r["model"], r["precision"]): r for r in stored["models"]}
    arm, fast = rows["Stanford arm", "double"], rows["Stanford arm, momenta", "fast"]
    peer = stored["mujoco"]["MuJoCo MJX double"]["evaluations_per_second"]
    times = stored["mujoco"]["Armillary double"]["evaluations_per_second"] / peer
    told = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{arm['evaluations_per_second'] / 1e10:.1f}e10 evaluations per second in double" in told
    assert f"{100 * arm['peak_share']:.0f} % of the card's peak" in told
    assert f"{fast['evaluations_per_second'] / 1e10:.1f}e10 in single" in told
    assert f"{times:.0f} times MuJoCo's MJX" in told


def test_tables(stored: dict[str, Any]) -> None:
    text = markdown(stored)
    assert "| Stanford arm | double | 3." in text and "| MuJoCo Batch |" in text
    assert "A million runs of the car" in text
    missing = stored["mujoco"] | {"MuJoCo Batch": {"reason": "no mujoco"}}
    assert "| MuJoCo Batch | no mujoco |" in markdown(stored | {"mujoco": missing})


LISTING = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   DMUL R2, R4, R6 ;
        /*0020*/                   DFMA R2, R4, R6, R8 ;
        /*0030*/                   DADD R2, R4, R6 ;
        /*0040*/                   DADD R2, R4, R6 ;
        /*0050*/              @!P0 BRA 0x20 ;
        /*0060*/                   DMUL R2, R4, R6 ;
        /*0070*/               @P1 BRA 0x10 ;
        /*0080*/                   EXIT ;
"""


def test_instructions_of_a_loop_over_stages_count_four_times() -> None:
    assert counted(LISTING) == {
        "fma": 1,
        "mul": 0.5,
        "add": 2,
        "special": 0,
        "local": 0,
        "all": 19 / 4,
    }
