"""Rows of the table of published cases: what a check accepts, how numbers are written, and measures of
difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan

import numpy as np
import pytest

from armillary.errors import ModelError
from armillary.verification.rows import (
    Case,
    Check,
    agrees,
    at_most,
    difference,
    differs,
    drift,
    expected_text,
    found_text,
    largest,
    largest_difference,
    relative_difference,
    scaled_difference,
    value,
)

LENGTH = value("length", 2.0, 1e-3)
COUNT = at_most("operations", 100)
GAP = difference("gap", 1e-6)
PRINTED = differs("printed", 5.0, 5.25, 1e-2, "a misprint")


def row(check: Check, found: float) -> object:
    return Case("c", "a case", "a source", (check,), lambda: iter([found]), "page").rows()[0]


@pytest.mark.parametrize(
    ("check", "accepted", "refused"),
    [
        (LENGTH, (2.0, 1.9991, 2.0009), (1.9989, 2.0011, nan, inf)),
        (COUNT, (0.0, 100.0), (101.0, nan, inf)),
        (GAP, (0.0, 1e-6, -1e-6), (1.1e-6, -1.1e-6, nan)),
        (PRINTED, (5.25, 5.259), (5.0, 5.261, nan)),
    ],
)
def test_a_check_accepts_numbers_within_its_tolerance(
    check: Check, accepted: tuple[float, ...], refused: tuple[float, ...]
) -> None:
    assert all(check.accepts(x) for x in accepted) and not any(check.accepts(x) for x in refused)
    made = [row(check, x) for x in (accepted[0], refused[0])]
    assert [r.verdict for r in made] == ["differs from the source" if check is PRINTED else "ok", "FAILS"]
    assert (made[0].source, made[0].found, made[0].as_dict()["found"]) == ("a source", *2 * (accepted[0],))
    assert row(check, nan).as_dict()["found"] is None


def test_numbers_that_a_case_does_not_measure_fail_with_the_reason() -> None:
    def measure() -> Iterator[float]:
        yield 2.0
        raise ModelError("no such body")

    found = Case("c", "a case", "a source", (LENGTH, GAP, COUNT), measure, "page").rows()
    assert [r.passed for r in found] == [True, False, False]
    assert [r.remark for r in found] == ["", "no such body", "not measured"]
    [fault] = Case("c", "a case", "a source", (LENGTH,), lambda: (1 / x for x in [0.0]), "page").rows()
    assert not fault.passed and fault.remark == "ZeroDivisionError: float division by zero"


@pytest.mark.parametrize(
    ("check", "found", "expected", "written"),
    [
        (LENGTH, -1.99951234, "2 ± 0.001", "−1.9995"),
        (value("far", 1234.5, 20.0), 1239.87, "1234.5 ± 20", "1240"),
        (value("exact", -0.25, 0.0), -0.25, "−0.25", "−0.25"),
        (value("sharp", 1.0, 2.5e-8), 1.00000001234, "1 ± 2.5e-8", "1.000000012"),
        (COUNT, 97.0, "at most 100", "97"),
        (GAP, 3.4e-8, "0 ± 1e-6", "3e-8"),
        (GAP, 0.0, "0 ± 1e-6", "0"),
        (GAP, nan, "0 ± 1e-6", "nan"),
        (PRINTED, 5.2512, "5", "5.251"),
    ],
)
def test_numbers_are_written_to_their_tolerance(
    check: Check, found: float, expected: str, written: str
) -> None:
    assert (expected_text(check), found_text(row(check, found))) == (expected, written)
    assert agrees(row(check, found), written) or not np.isfinite(found)


@pytest.mark.parametrize(
    ("check", "found", "same", "other"),
    [
        (LENGTH, 2.0, ("2.0004", "1.9996"), ("2.0006", "1.9994", "")),
        (value("below", -2.0, 1e-3), -2.0, ("−2.0004",), ("2.0",)),
        (COUNT, 97.0, ("97",), ("96", "97.0")),
        (GAP, 2e-8, ("2e-7", "2e-9"), ("3e-7", "1e-9")),
        (GAP, 2e-5, (), ("2e-5",)),  # which fails
        (GAP, 0.0, ("0",), ("1e-20",)),
    ],
)
def test_texts_of_other_machines_agree_within_rounding(
    check: Check, found: float, same: tuple[str, ...], other: tuple[str, ...]
) -> None:
    made = row(check, found)
    assert all(agrees(made, text) for text in same) and not any(agrees(made, text) for text in other)


def test_measures_of_difference() -> None:
    ours, theirs = np.array([[1.0, 20.0], [3.0, 40.0]]), np.array([[1.5, 20.0], [2.0, 50.0]])
    assert largest_difference(ours, theirs) == 10.0
    assert relative_difference(ours, theirs) == 0.5
    assert relative_difference([0.25], [0.0]) == 0.25
    assert scaled_difference(ours, theirs) == 0.5
    assert scaled_difference([[0.0, 3.0]], [[0.0, 4.0]]) == 0.25
    assert drift(np.array([-4.0, -5.0, -3.5])) == 0.25 and drift(np.array([4.0, 5.0]), 2.0) == 0.5
    assert largest(1.0, [2.0, 3.0], np.array([[0.5]])) == 3.0 and np.isnan(largest(1.0, nan))
