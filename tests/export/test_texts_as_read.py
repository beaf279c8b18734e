"""Fortran and MATLAB that no compiler is needed for: straight-line sections are read and computed here.

Assignments of a section are translated to Python one by one, with indices from 1, and give the numbers of the
process; names that modules share exist, arrays have their lengths, and blocks end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.export.c.printer import CPrinter
from armillary.export.fortran.printer import FortranPrinter
from armillary.export.jax import JaxPrinter
from armillary.export.matlab import WIDTH, MatlabPrinter, _assignment
from armillary.export.python.module import PythonPrinter
from armillary.export.rust.model import RustPrinter
from armillary.export.text.printer import Printer
from tests.export import conformance
from tests.export.configuration_cases import latched

CASES = ("four bar", "controller", "momenta", "bouncing")
FUNCTIONS: dict[str, Any] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "atan2", "floor")},
    **{"atan": math.atan, "asin": math.asin, "acos": math.acos, "abs": abs, "min": min, "max": max},
    **{
        "least": min,
        "most": max,
        "smaller_of": min,
        "larger_of": max,
        "choose": lambda c, a, b: a if c else b,
    },
    "merge": lambda a, b, c: a if c else b,
    "sign": lambda x, y=None: (x > 0) - (x < 0) if y is None else math.copysign(x, y),
    **{
        "signum": lambda x: (x > 0) - (x < 0),
        "nonzero": lambda x: x != 0,
        "double": float,
        "root": math.sqrt,
    },
}


class Cells:
    """An array of which texts take one element, counted from 1."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, dtype=float)

    def __call__(self, i: int) -> float:
        assert 1 <= i <= len(self.values)
        return float(self.values[i - 1])


class Fields:
    def __init__(self, values: Mapping[str, float]) -> None:
        self.__dict__.update(dict(values))


def _compute(lines: list[str], given: dict[str, Any], result: str, count: int) -> np.ndarray:
    """The elements of a result after all assignments; each must be assigned."""
    found, names = np.full(count, np.nan), {**FUNCTIONS, **given}
    for line in lines:
        left, _, right = line.partition(" = ")
        value = eval(right, {"__builtins__": {}}, names)  # texts of our own
        if at := re.fullmatch(rf"{result}\((\d+)\)", left):
            found[int(at[1]) - 1] = value
        elif left != result:
            names[left] = value
    return found


@cache
def _folder(language: str, name: str, base: Path) -> Path:
    return conformance.equations(name).export(language, base / f"{language} {name}".replace(" ", "_"))


def _fortran(folder: Path, section: str) -> list[str]:
    (path,) = folder.glob("*_model.f90")
    text = re.sub(r"&\s*\n\s*", "", re.sub(r"\s+!.*", "", path.read_text(encoding="utf-8")))
    body = re.search(rf"pure subroutine {section}\(.*?\n(.*?)end subroutine {section}\b", text, re.S)
    assert body is not None
    lines = [line.strip() for line in body[1].splitlines() if " = " in line and "::" not in line]
    for old, new in (("_dp", ""), ("%", "."), (".and.", " and "), (".or.", " or "), (".not.", " not "),
                     ("/=", "!="), (".true.", "True"), (".false.", "False")):  # fmt: skip
        lines = [line.replace(old, new) for line in lines]
    return lines


def _matlab(folder: Path, section: str) -> list[str]:
    (path,) = folder.glob(f"+*/{section}.m")
    text = re.sub(r"\.\.\.\s*\n\s*", "", path.read_text(encoding="utf-8"))
    own = re.split(r"\nend\n+function ", text)[0]  # without functions that several sections have
    lines = [re.sub(r"\s*%.*", "", line).strip() for line in own.splitlines()[1:]]
    lines = [line.removesuffix(";") for line in lines if " = " in line and "zeros(" not in line]
    # What names the parameters that are missing comes before.
    lines = [line for line in lines if not re.search(r"setdiff|fieldnames|isfield|'", line)]
    for old, new in (("^", "**"), ("~=", "!="), ("&&", " and "), ("||", " or "), ("~", " not ")):
        lines = [line.replace(old, new) for line in lines]
    return lines


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("language", ["fortran", "matlab"])
def test_sections_have_the_numbers_of_the_process(
    language: str, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = _folder(language, name, tmp_path_factory.getbasetemp())
    lines_of = _fortran if language == "fortran" else _matlab
    expected = conformance.expected(name)
    given: dict[str, Any] = {"p": Fields(expected.parameters)}
    count = len(expected.constants.values)
    constants = _compute(lines_of(folder, "precompute"), given, "constants", count)
    expected.constants.check(constants, "constants")
    for point in expected.points:
        given = {"t": point.t, "state": Cells(point.state), "memory": Cells(point.memory),
                 "constants": Cells(constants)}  # fmt: skip
        for section, result in (("derivatives", "rates"), ("outputs", "out"), ("events", "out")):
            numbers = getattr(point, section)
            if len(numbers.values):
                lines = lines_of(folder, section)
                numbers.check(_compute(lines, given, result, len(numbers.values)), section)


def test_modules_use_names_that_are_there_and_arrays_have_their_lengths(tmp_path: Path) -> None:
    """Modules of two configurations of a latched pendulum, and the one that calls them."""
    folder = latched().derive().export("fortran", tmp_path / "latched")
    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.f90")))
    assert max(map(len, text.splitlines())) <= 132
    text = re.sub(r"&\s*\n\s*", "", re.sub(r"\s+!.*", "", text))
    modules = dict(re.findall(r"^module (\w+)\n(.*?)^end module \1", text, re.S | re.M))
    assert {"latched_pendulum_model", "latched_pendulum_model_1", "latched_pendulum_changes"} <= set(modules)
    sizes = dict(re.findall(r"\b(n_\w+|most_\w+) = (\d+)", text))
    for name, body in modules.items():
        public = set(re.findall(r"\w+", " ".join(re.findall(r"public :: (.*)", body))))
        public |= set(re.findall(r"public(?:, parameter)? :: (\w+)", body))
        for names in re.findall(rf"use {name}, only: (.*)", text):
            wanted = {one.split("=>")[-1].strip() for one in names.split(",")}
            assert wanted <= public, (name, wanted - public)
        for kind in ("subroutine", "function"):
            begun = re.findall(rf"^ *(?!end )(?:[\w(),=*]+ )*{kind} (\w+)\(", body, re.M)
            assert sorted(begun) == sorted(re.findall(rf"^ *end {kind} (\w+)", body, re.M))
        assert body.count("select case (") == body.count("end select")
    for name, length, values in re.findall(r":: (\w+)\((\w+)\) = \[(.*?)\]", text):
        count = int(sizes.get(length, length)) if length in sizes or length.isdigit() else None
        listed = [v for v in re.sub(r"^[^:]*::", "", values).split(",") if v.strip()]
        assert count is None or len(listed) == count, name


def test_matlab_labels_stand_behind_their_statement_where_the_line_has_room() -> None:
    statement = "a = b;"
    room = WIDTH - len(f"{statement}  % ")
    for length, lines in ((room, 1), (room + 1, 2), (1, 1)):
        label = "x" * length
        found = _assignment("a", "b", label)
        assert found == ([f"{statement}  % {label}"] if lines == 1 else [f"% {label}", statement])
    assert _assignment("a", "b") == [statement]


@pytest.mark.parametrize(
    ("printer", "texts"),
    [
        (CPrinter, ("NAN", "INFINITY", "(-INFINITY)")),
        (PythonPrinter, ('float("nan")', 'float("inf")', 'float("-inf")')),
        (MatlabPrinter, ("NaN", "Inf", "(-Inf)")),
        (RustPrinter, ("Real::NAN", "Real::INFINITY", "(-Real::INFINITY)")),
        (JaxPrinter, ("jnp.nan", "jnp.inf", "(-jnp.inf)")),
        (
            FortranPrinter,
            tuple(f"ieee_value(1.0_dp, ieee_{x})" for x in ("quiet_nan", "positive_inf", "negative_inf")),
        ),
    ],
)
def test_every_language_has_words_for_infinities_and_nan(printer: Any, texts: tuple[str, ...]) -> None:
    made = printer.__new__(printer)
    assert tuple(Printer.special(made, x) for x in (math.nan, math.inf, -math.inf)) == texts
