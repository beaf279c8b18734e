"""Contacts, brakes and clutches in exported programs, beside runs in the process."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from armillary.export.text.source import source
from tests.export.contact_models import (
    CONTACT_CASES,
    contact_equations,
    largest_difference,
    run_table,
    written_rows,
)
from tests.export.test_export_c import FLAGS
from tests.export.test_export_cuda import CXX, library

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


@pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
@pytest.mark.parametrize("name", ["ball", "plank", "clutch"])
def test_kernels_have_the_same_run(name: str, tmp_path: Path) -> None:
    """Exported CUDA, compiled for the CPU."""
    equations, case = contact_equations(name), CONTACT_CASES[name]
    code = library(equations.export("cuda", tmp_path), level="-O0")
    d = source(equations).description
    numbers = [[p.default or 0.0 for p in d.parameters], [s.initial for s in d.starts], [m.initial for m in d.memory]]
    arrays = [np.array([[*column, 0.0]]).T.copy() for column in numbers]
    steps = round(case.duration / case.step)
    rows, status = np.zeros((steps + 1, len(d.outputs), 1)), np.zeros(1, np.int32)
    reals = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, rows, status)]
    code.all_runs.argtypes = [ctypes.c_longlong, ctypes.c_double, *[ctypes.c_longlong] * 2, *[ctypes.c_void_p] * 5]
    code.all_runs(1, case.step, steps, 1, *reals)
    assert status[0] == 1
    assert largest_difference(name, {o.name: rows[:, i, 0] for i, o in enumerate(d.outputs)}) < CLOSE
