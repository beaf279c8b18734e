"""Contacts, brakes and clutches in exported programs, beside runs in the process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.export.contact_models import (
    CONTACT_CASES,
    contact_equations,
    largest_difference,
    run_table,
    written_rows,
)
from tests.export.test_export_c import FLAGS

CLOSE = 1e-9  # of the largest value of each column: other roundings of a run with tens of impacts
needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")


@needs_c
@pytest.mark.parametrize("name", CONTACT_CASES)
def test_c_programs_have_the_same_run(name: str, tmp_path: Path) -> None:
    contact_equations(name).export("c", tmp_path)
    (tmp_path / "now.toml").write_text(run_table(name))
    names = sorted(p.name for p in tmp_path.glob("*.c") if p.name != "test.c")
    subprocess.run(["cc", *FLAGS, *names, "-o", "program", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["./program", "now.toml", "now.csv"], cwd=tmp_path, check=True)
    assert largest_difference(name, written_rows(tmp_path / "now.csv")) < CLOSE


@pytest.mark.parametrize("name", ["ball", "plank", "clutch"])
def test_python_modules_have_the_same_run(name: str, tmp_path: Path) -> None:
    contact_equations(name).export("python", tmp_path)
    (tmp_path / "now.toml").write_text(run_table(name))
    [module] = [p for p in tmp_path.glob("*.py") if not p.name.startswith("test_")]
    subprocess.run([sys.executable, "-I", "-S", module.name, "now.toml"], cwd=tmp_path, check=True)
    assert largest_difference(name, written_rows(tmp_path / "now.csv")) < CLOSE
