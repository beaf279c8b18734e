"""Checks of published cases, rows with the numbers found for the checks, and both as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from types import ModuleType
from typing import NamedTuple

import numpy as np

from armillary.errors import ArmillaryError
from armillary.run_files.resolve import example_module
from armillary.stages import System
from armillary.stages.equations import Equations
from armillary.stages.model import Model
from armillary.untyped import DataMapping, DataTable


class Check(NamedTuple):
    """One number that a case must meet.

    `kind` is the comparison: a "difference" from reference data is at most its tolerance; a "value" is the
    published one within the tolerance; a "count" is at most the published one. If the source "differs" from
    its own equations, `expected` is the printed number, `ours` the right one, and `remark` the reason.
    """

    quantity: str
    kind: str
    expected: float
    tolerance: float
    source: str = ""
    remark: str = ""
    ours: float = math.nan

    def accepts(self, found: float) -> bool:
        """Return whether a number meets the check; a number that is not finite never does."""
        aim = self.ours if self.kind == "differs" else self.expected
        if self.kind == "count":
            return math.isfinite(found) and found <= aim
        return abs(found - aim) <= self.tolerance


def difference(quantity: str, tolerance: float, source: str = "", remark: str = "") -> Check:
    """Return a check that the largest difference from reference data is within the tolerance."""
    return Check(quantity, "difference", 0.0, tolerance, source, remark)


def value(quantity: str, expected: float, tolerance: float, source: str = "", remark: str = "") -> Check:
    """Return a check that a number is a published one within the tolerance."""
    return Check(quantity, "value", expected, tolerance, source, remark)


def at_most(quantity: str, published: float, source: str = "", remark: str = "") -> Check:
    """Return a check that a count does not exceed a published one."""
    return Check(quantity, "count", published, 0.0, source, remark)


def differs(
    quantity: str, published: float, ours: float, tolerance: float, remark: str, source: str = ""
) -> Check:
    """Return a check for a published number that contradicts the source's own equations."""
    return Check(quantity, "differs", published, tolerance, source, remark, ours)


# Ways to derive a tree: the formalism, and whether `derive` regroups inertia between bodies (``regroup``).
TREES = (("kane", True), ("kane", False), ("recursive", True), ("recursive", False))
AS_GIVEN = (("auto", False),)  # for closed loops: the chosen formalism, without regrouping of inertia


class States(NamedTuple):
    """Reference data that the equations of one system must meet, in whichever way they are derived.

    `measure` yields the results of a compiled model, one number for each of the case's first checks. The case
    measures equations as `derive` makes them by default; `ways` are further pairs (formalism, regroup), with
    which tests derive them.
    """

    system: Callable[[], System]
    measure: Callable[[Model], Iterator[float]]
    ways: tuple[tuple[str, bool], ...] = TREES


class Case(NamedTuple):
    """A published system: `measure` yields the measured numbers, one for each check in turn.

    The first of these numbers come from `states`, if the case has reference states.
    """

    name: str
    title: str
    source: str
    checks: tuple[Check, ...]
    measure: Callable[[], Iterator[float]]
    page: str  # in docs/verification, without .md
    states: tuple[States, ...] = ()

    def rows(self) -> list[Row]:
        """Return the rows of the computed case; a check without a number fails, and its remark has the
        reason.
        """
        rows: list[Row] = []
        found = self.measure()
        for check in self.checks:
            try:
                number, remark = float(next(found)), check.remark
            except StopIteration:
                number, remark = math.nan, "not measured"
            except ArmillaryError as error:
                number, remark = math.nan, str(error)
            except Exception as error:  # a fault in one case must not hide the numbers of the others
                number, remark = math.nan, f"{type(error).__name__}: {error}"
            rows.append(_found_row(self, check, number, remark))
        return rows


Measure = Callable[[], Iterator[float]]
PUBLISHED: list[Case] = []  # in the order of their definitions in each file


def published_case(
    name: str, title: str, source: str, *checks: Check, page: str, states: tuple[States, ...] = ()
) -> Callable[[Measure], Measure]:
    """Return a decorator that makes a function the measurement of a published case."""

    def register(measure: Measure) -> Measure:
        PUBLISHED.append(Case(name, title, source, checks, measure, page, states))
        return measure

    return register


class Row(NamedTuple):
    """A line of the table."""

    case: str
    quantity: str
    source: str
    expected: float
    found: float
    tolerance: float
    passed: bool
    kind: str
    remark: str

    def as_dict(self) -> DataTable:
        """Return plain values for JSON, with `None` for a number that is not finite."""
        kept = self._asdict()
        return kept | {"found": self.found if math.isfinite(self.found) else None}

    @property
    def verdict(self) -> str:
        if not self.passed:
            return "FAILS"
        return "differs from the source" if self.kind == "differs" else "ok"


def _found_row(case: Case, check: Check, found: float, remark: str) -> Row:
    source = check.source or case.source
    passed = check.accepts(found)
    return Row(
        case.name, check.quantity, source, check.expected, found, check.tolerance, passed, check.kind, remark
    )


def expected_text(check: Check | Row) -> str:
    """Return the expected value: a number with its tolerance, or a bound."""
    if check.kind == "count":
        return f"at most {check.expected:.0f}"
    if check.kind == "differs" or not check.tolerance:
        return _long(check.expected)
    return f"{_long(check.expected)} ± {_short_exponent(f'{check.tolerance:.2g}')}"


def found_text(row: Row) -> str:
    """Return the computed value: a number with the digits of its tolerance, a difference with one digit."""
    if not math.isfinite(row.found):
        return str(row.found)
    if row.kind == "count":
        return f"{row.found:.0f}"
    if row.kind == "difference":
        return _short_exponent(f"{row.found:.0e}") if row.found else "0"
    return _long(float(f"{row.found:.12g}")) if not row.tolerance else _to_tolerance(row.found, row.tolerance)


def agrees(row: Row, text: str) -> bool:
    """Return whether a text, perhaps from another machine, still shows the row's number.

    Rounding changes a difference by a factor below ten, and a value by less than half of its tolerance.
    """
    if row.kind == "count" or not row.tolerance or not row.found or not text:
        return text == found_text(row)
    shown = float(text.replace("−", "-"))
    if row.kind == "difference":
        return row.passed and 0.1 <= shown / row.found <= 10.0
    return abs(shown - row.found) <= 0.5 * row.tolerance


def _to_tolerance(found: float, tolerance: float) -> str:
    """Return a number with one digit beyond its tolerance."""
    digits = max(0, 1 - math.floor(math.log10(tolerance)))
    text = f"{found:.{digits}f}" if digits <= 13 and abs(found) >= 1e-4 else f"{found:.6g}"
    return text.replace("-", "−")


def _short_exponent(text: str) -> str:
    """Return a number's text with 1e-8 in place of 1e-08."""
    return re.sub(r"e([+-])0", r"e\1", text).replace("e+", "e")


def _long(number: float) -> str:
    return f"{number:.14g}".replace("-", "−")


# Reference data, models and measures of difference that the cases share.

# References were integrated with a tolerance of 1e-12 and repeat themselves to 1e-11. Runs use TIGHT.
TIGHT: DataTable = {"method": "dop853", "rtol": 1e-13, "atol": 1e-14}
# Tolerance of accelerations: rounding of one evaluation, if the condition number of the mass matrix is below
# about 1e5.
ACCELERATIONS = 1e-10
TRAJECTORIES = 1e-8


def reference(name: str) -> DataTable:
    """Return the reference data of a case; `data/README.md` lists their sources."""
    file = resources.files("armillary.verification").joinpath("data", f"{name}.json")
    found: DataTable = json.loads(file.read_text(encoding="utf-8"))
    return found


def example(name: str) -> ModuleType:
    """Return the module of an example."""
    return example_module(name)


@cache
def equations(name: str, **options: object) -> Equations:
    """Return the equations of an example by the formalism that `derive` chooses, derived once."""
    found: Equations = example(name).system(**options).derive()
    return found


def columns(record: DataMapping, rows: str = "data") -> dict[str, np.ndarray]:
    """Return a recorded trajectory as columns by name."""
    data = np.array(record[rows])
    return {name: data[:, i] for i, name in enumerate(record["columns"])}


def largest(*numbers: object) -> float:
    """Return the largest of numbers or arrays; NaN if any number is NaN, unlike the built-in `max`."""
    return float(np.max(np.concatenate([np.atleast_1d(np.asarray(x, float)).ravel() for x in numbers])))


def relative_difference(found: object, expected: object) -> float:
    """Return the largest difference, each relative to the expected number unless that is zero."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    return largest(np.abs(found - expected) / np.where(expected == 0, 1.0, np.abs(expected)))


def largest_difference(found: object, expected: object) -> float:
    """Return the largest difference."""
    return largest(np.abs(np.asarray(found, float) - np.asarray(expected, float)))


def scaled_difference(found: object, expected: object) -> float:
    """Return the largest difference relative to the largest magnitude, per column."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    scale = np.max(np.abs(expected), axis=0)
    return largest(np.abs(found - expected) / np.where(scale > 0, scale, 1.0))


def drift(values: np.ndarray, scale: float | None = None) -> float:
    """Return the largest change of a constant from its first value, relative to that value or to a scale."""
    return largest(np.abs(values - values[0])) / float(abs(values[0]) if scale is None else scale)


def counts(eom: Equations) -> tuple[int, int, int]:
    """Return (additions, multiplications and divisions, functions) of one derivative evaluation."""
    made = eom.operations
    return made.additions, made.multiplications + made.divisions, made.functions
