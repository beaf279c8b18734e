"""Texts of exported programs are those that were read and kept, on machines without compilers as well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import armillary as arm
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
