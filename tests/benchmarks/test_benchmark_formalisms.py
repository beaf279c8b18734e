"""Formalisms side by side in the benchmarks: no example is left out, what is timed agrees, tables tell."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from benchmarks import build
from benchmarks.candidate import timer
from benchmarks.formalisms import EXAMPLES, compare, compare_examples
from benchmarks.published import example_system
from benchmarks.report import count_table, formalism_table
from benchmarks.timing import Effort

FOLDER = Path(__file__).resolve().parents[2] / "examples"
BRIEF = Effort(rounds=1, chunk=1e-4)


def describes_a_system(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == "system" for node in tree.body)


def test_every_example_that_describes_a_system_is_compared() -> None:
    files = {path.stem for path in FOLDER.glob("*.py") if describes_a_system(path)}
    assert files <= {options.get("example", title) for title, options in EXAMPLES.items()}


@pytest.fixture(scope="module", autouse=True)
def stopwatch() -> None:
    try:
        timer()
    except build.NotAvailable as reason:
        pytest.skip(str(reason))


def test_counts_are_those_of_the_interface_and_what_is_timed_agrees() -> None:
    record = compare("jpl_two_bodies", BRIEF)
    costs = example_system("jpl_two_bodies").compare_formalisms()
    assert set(costs) == {*record["operations"], *record["refused"]}
    for name, counts in record["operations"].items():
        assert sum(counts.values()) == costs[name].total
    assert "redundant" in record["operations"] and record["refused"]
    assert set(record["nanoseconds"]) == {"kane", "recursive", "back_substitution", "momentum"}
    assert np.max([*record["differences"].values()]) < 1e-12 and not record["wrong"]
    assert "example" in count_table([record]) and "jpl_two_bodies" in formalism_table([record])


def test_closed_loops_and_small_variables_are_compared_too() -> None:
    loop, small = (compare(title, BRIEF, **EXAMPLES[title]) for title in ("slider_crank", "car_small"))
    assert "momentum" in loop["refused"] and loop["auto"] == "kane"
    assert loop["differences"]["recursive"] < 1e-12
    assert sum(small["operations"]["kane"].values()) < 40  # the whole car takes 135


def test_an_example_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXAMPLES, "no_such_file", {})
    (record,) = compare_examples(["no_such_file"], BRIEF)
    assert "no_such_file" in record["missing"]
    assert "no_such_file: not available" in count_table([record])
    assert formalism_table([record]).splitlines()[-1].split() == ["no_such_file", "-", "-", "-", "-", "-"]
