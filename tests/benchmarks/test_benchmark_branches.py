"""The benchmark of branches that are alike: both kinds of code agree, and the table has a line per model."""

from __future__ import annotations

import pytest

from benchmarks.branches import AGREEMENT, BRANCHES, branches_table, measure
from benchmarks.build import NotAvailable
from benchmarks.timing import Effort


def test_a_car_with_four_suspensions_runs_in_lanes() -> None:
    try:
        record = measure("car", Effort(rounds=1, chunk=1e-5))
    except NotAvailable as reason:
        pytest.skip(str(reason))
    assert record["difference"] < AGREEMENT
    assert record["paired"] > record["operations"] / 2
    assert "car" in branches_table([record]).splitlines()[1]


def test_wings_of_the_hub_correspond() -> None:
    alike = BRANCHES["hub"]().derive().program.alike
    assert {(a.data.name, b.data.name) for a, b in alike} == {
        (f"panel0{i}.{x}1", f"panel1{i}.{x}1") for i in range(3) for x in "qu"
    }
