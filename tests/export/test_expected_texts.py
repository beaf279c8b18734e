"""Texts of exported programs are those that were read and kept, on machines without compilers as well."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.export.text.files import helpers_called_in
from tests.export.configuration_cases import latched
from tests.export.conformance import equations
from tests.export.contact_models import contact_equations
from tests.export.expected_texts import LANGUAGES, exported_text, kept_file
from tests.export.fortran_reader import find_faults, public_names


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_text_of_a_program_is_the_one_that_was_read(language: str, tmp_path: Path) -> None:
    """After a change of a writer: ``python -m tests.export.expected_texts``, and read the difference."""
    found = exported_text(language, tmp_path / "door").splitlines()
    assert found == kept_file(language).read_text(encoding="utf-8").splitlines()


def test_helpers_are_exported_only_if_something_calls_them() -> None:
    """A word of a comment is no call: compilers warn of functions that nothing calls."""
    known = {"raised": "raised(x) = -floored(-x)", "floored": "floored(x) = …", "modulo": "modulo(x, y) = …"}
    assert helpers_called_in(known, "! each bound is raised, as in modulo arithmetic") == []
    assert helpers_called_in(known, "y = raised(x)") == [known["raised"], known["floored"]]
    assert helpers_called_in(known, "", ["raised"]) == [known["raised"], known["floored"]]


@pytest.mark.parametrize("language", ["c", "cuda", "fortran", "jax", "matlab", "python", "rust"])
def test_numbers_of_a_table_fill_their_lines(language: str, tmp_path: Path) -> None:
    """Coefficients of 40 points are several in each line, but for the last of an array."""
    s = arm.System("ramp")
    body = s.body("body", joint=arm.Prismatic("x"), mass=1, inertia=0)
    table = arm.Table(np.linspace(0, 1, 40), np.sin(np.arange(40)), kind="smooth", name="bump")
    s.force("push", table(body.q1), body.x, at=body.com)
    made = s.derive().export(language, tmp_path / "ramp")
    lines = [line for p in made.rglob("*") if p.is_file() for line in p.read_text("utf-8").splitlines()]
    numbers = [line for line in lines if re.search(r"\d\.\d{12}", line)]
    assert sum(len(re.findall(r"\d\.\d{12}", line)) for line in numbers) > 100
    alone = [line for line in numbers if re.fullmatch(r"\s*-?\d+\.[-+\de]+(_dp)?,?\s*(&|\.\.\.)?", line)]
    assert len(alone) <= 2


FORTRAN: dict[str, Callable[[], arm.Equations]] = {
    **{name: partial(equations, name) for name in ("door", "four bar")},
    "latched": lambda: latched().derive(),
    "puck": partial(contact_equations, "puck"),
}


@pytest.mark.parametrize("name", FORTRAN)
def test_fortran_declares_each_name_and_closes_each_block(name: str, tmp_path: Path) -> None:
    folder = FORTRAN[name]().export("fortran", tmp_path / "program")
    texts = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.f90")}
    known = frozenset[str]().union(*map(public_names, texts.values()))
    assert len(texts) >= 4
    for file, text in texts.items():
        assert find_faults(text, known) == [], file


def test_undeclared_names_and_open_blocks_are_found_in_fortran() -> None:
    sound = (
        "module m\n  integer :: n\ncontains\n  subroutine f(x)\n    real(dp) :: x\n    x = n*sin(x)\n"
        "    if (x > 1.0_dp) then\n      x = 0.0_dp\n    end if\n  end subroutine f\nend module m\n"
    )
    assert find_faults(sound) == []
    assert find_faults(sound.replace("n*sin", "k*sin")) == ["'k' is not declared: x = k*sin(x)"]
    assert find_faults(sound.replace("    end if\n", ""))
    assert find_faults(sound.replace("sin(x)", "sin(x"))
