"""`armillary verify`: rows, their table, what fails and how, and the manual's tables made from them."""

from __future__ import annotations

import ast
import json
import math
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary import verification
from armillary.errors import ArmillaryError
from armillary.results.run import Run
from armillary.verification.rows import (
    Case,
    at_most,
    difference,
    differs,
    drift,
    expected_text,
    largest,
    largest_difference,
    relative_difference,
    scaled_difference,
    value,
)

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "src" / "armillary" / "verification" / "data"
MANUAL = ROOT / "docs" / "verification"


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    "measure", [largest_difference, scaled_difference, relative_difference], ids=lambda f: f.__name__
)
def test_a_difference_from_nan_is_nan(measure: Callable[[Any, Any], float], place: int) -> None:
    found = np.array([1.0, 2.0, 3.0])
    assert measure(found + 0.5, found) > 0
    found[place] = np.nan
    assert math.isnan(measure(found, [1.0, 2.0, 3.0]))
    assert math.isnan(largest(*found)) and math.isnan(largest(found)) and math.isnan(largest(0.0, found))


def test_the_drift_of_what_becomes_nan_is_nan() -> None:
    assert drift(np.array([2.0, 2.5, 1.0])) == 0.5
    assert math.isnan(drift(np.array([2.0, np.nan, 2.0]))) and math.isnan(drift(np.array([np.nan, 2.0])))


def test_a_column_of_nan_fails_every_row_that_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last coordinate of the arm is lost in every run: no row of coordinates may pass."""

    def damaged(run: Run, name: str) -> np.ndarray:
        return np.full(len(run), np.nan) if name in ("F.q1", "F.u1", "energy") else whole(run, name)

    whole = Run.__getitem__
    monkeypatch.setattr(Run, "__getitem__", damaged)
    rows = {row.quantity: row.passed for row in verification.run(["stanford_arm"])}
    of_runs = [name for name in rows if "run of 10 s" in name or name.startswith(("the same", "energy"))]
    assert len(of_runs) == 4 and not any(rows[name] for name in of_runs)
    assert all(passed for name, passed in rows.items() if name not in of_runs)


@pytest.mark.parametrize("file", sorted((ROOT / "src" / "armillary" / "verification").rglob("*.py")), ids=str)
def test_measures_do_not_use_functions_that_drop_nan(file: Path) -> None:
    """The built-in `max` and `min` drop NaN unless it comes first; `largest` does not."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    calls = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    keyed = sum(  # a choice by a key is not a measure
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and any(k.arg == "key" for k in n.keywords)
        for n in ast.walk(tree)
    )
    assert sum(name in ("max", "min") for name in calls) <= keyed + (file.name == "rows.py")


def test_some_cases_from_data_to_table() -> None:
    told: list[str] = []
    rows = verification.run(["car_small", "bouncing_ball"], progress=told.append)
    assert told == ["car_small", "bouncing_ball"]
    assert all(row.passed for row in rows) and len(rows) == 13
    counts = {row.quantity: (row.expected, row.found) for row in rows if row.kind == "count"}
    assert counts["additions"] == (15.0, 14.0)  # Sayers, Table 9.1.2; and ours
    assert next(row.found for row in rows if row.quantity == "bounces in 3 s") == 6
    text = verification.table(rows)
    assert re.search(r"additions +at most 15 +14$", text, re.MULTILINE)
    assert "\nCar with small variables. Sayers (1990), section 9.1 and Appendix B\n" in text
    assert json.loads(json.dumps([row.as_dict() for row in rows], allow_nan=False))[0]["case"] == "car_small"


def test_an_unknown_case_is_named_before_anything_runs() -> None:
    with pytest.raises(ArmillaryError, match=r"no case 'four-bar'; did you mean 'four_bar'\?"):
        verification.run(["spacecraft_1", "four-bar"], progress=lambda name: pytest.fail("began to run"))


def made(found: list[float], error: Exception | None = None) -> Case:
    def measure() -> Iterator[float]:
        yield from found
        raise error or ArmillaryError("the loop cannot be closed")

    checks = (
        difference("a difference", 1e-3),
        value("a value", 2.0, 0.1),
        at_most("a count", 10),
        differs("a slip", 1.0, 3.0, 0.1, "printed by mistake"),
    )
    return Case("made", "Made", "nowhere", checks, measure, "index")


def test_what_passes_and_what_fails() -> None:
    assert [row.passed for row in made([1e-3, 1.95, 10.0, 2.95]).rows()] == [True] * 4
    assert [row.passed for row in made([1.1e-3, 2.2, 11.0, 1.0]).rows()] == [False] * 4
    assert [row.passed for row in made([math.nan] * 4).rows()] == [False] * 4
    assert [row.passed for row in made([-math.inf] * 4).rows()] == [False] * 4
    right = made([1e-3, 1.95, 10.0, 2.95]).rows()
    assert [row.verdict for row in right] == ["ok", "ok", "ok", "differs from the source"]


def test_a_case_that_breaks_off_fails_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(verification.CASES, "made", made([0.0]))
    rows = verification.run(["made"])
    assert [row.passed for row in rows] == [True, False, False, False]
    assert rows[1].remark == "the loop cannot be closed" and rows[2].remark == "not measured"
    assert rows[1].as_dict()["found"] is None
    assert re.search(r"a value +2 ± 0.1 +nan +FAILS\n +the loop cannot be closed", verification.table(rows))
    faulty = made([0.0], KeyError("B.q9")).rows()
    assert [row.passed for row in faulty] == [True, False, False, False]
    assert faulty[1].remark == "KeyError: 'B.q9'"


def test_the_data_are_small_and_their_sources_told() -> None:
    files = sorted(DATA.glob("*.json"))
    assert sum(file.stat().st_size for file in files) < 1.5e6
    told = (DATA / "README.md").read_text(encoding="utf-8")
    assert [file.name for file in files if f"`{file.name}`" not in told] == []


# ------------------------------------------------------------------------------------------------- the manual


GENERATOR = runpy.run_path(str(ROOT / "docs" / "make_verification.py"))


def tables(page: Path) -> dict[str, list[list[str]]]:
    """Rows of cells of the generated tables of a page."""
    found: dict[str, list[list[str]]] = GENERATOR["tables"](page.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", verification.CASES)
def test_the_manual_shows_the_case_as_it_is(name: str) -> None:
    """Otherwise: python docs/make_verification.py. What was found may be another machine's, but must pass."""
    case = verification.CASES[name]
    shown = tables(MANUAL / f"{case.page}.md")[name]
    assert [row[1] for row in shown] == [expected_text(check) for check in case.checks]
    for row, check in zip(shown, case.checks, strict=True):
        assert row[0].startswith(check.quantity)
        assert check.remark in (row[3] if len(row) > 3 else "")
        assert check.accepts(float(row[2].replace("−", "-")))


def test_the_summary_names_every_case() -> None:
    shown = tables(MANUAL / "index.md")
    assert [row[1].strip("`") for row in shown["summary"]] == list(verification.CASES)
    first = shown["counts"][0]
    assert first[:3] == ["Stanford arm without controller", "240 and 353", "145 and 228"]
