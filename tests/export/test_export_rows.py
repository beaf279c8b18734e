"""Rows that fall on grid points, in exported solvers with fixed steps.

Three steps of 0.1 s end at 0.30000000000000004, while a row is due at 0.3: the solver takes such a grid point
for the time of the row, so that the row shows the state and memory with which the next step begins.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.program.equations import DerivedEquations

STEP, SAMPLE, DURATION = 0.1, 0.3, 3.0


@cache
def swinging() -> DerivedEquations:
    """A pendulum, and a memory that counts the steps begun."""
    s = arm.System("swinging")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.memory("begun", 0.0, update="begun + 1")
    s.output("count", "begun")
    s.output("height", arm.dot(arm.position(bob.com), s.ground.y), units="m")
    return s.derive()


def built(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def table(file: Path) -> dict[str, np.ndarray]:
    found = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
    return {name: found[name] for name in found.dtype.names}


def in_c(folder: Path) -> dict[str, np.ndarray]:
    names = [p.name for p in folder.glob("*.c") if p.name != "test.c"]
    built(["cc", "-std=c99", "-O0", *names, "-o", "program", "-lm"], folder)
    text = f'[run]\nduration = {DURATION}\nstep = {STEP}\nsample = {SAMPLE}\n[initial]\n"bob.q1" = 1.0\n'
    (folder / "now.toml").write_text(text)
    built(["./program", "now.toml", "now.csv"], folder)
    return table(folder / "now.csv")


def in_fortran(folder: Path) -> dict[str, np.ndarray]:
    built(["make", "-s", "FFLAGS=-std=f2008 -O0", "swinging"], folder)
    text = f"&run duration = {DURATION}, step = {STEP}, sample = {SAMPLE} /\n&initial bob_q1 = 1.0 /\n"
    (folder / "now.nml").write_text(text)
    built(["./swinging", "now.nml", "now.csv"], folder)
    return table(folder / "now.csv")


def in_python(folder: Path) -> dict[str, np.ndarray]:
    spec = importlib.util.spec_from_file_location("swinging_rows", folder / "swinging.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    run = module.simulate(DURATION, STEP, initial={"bob.q1": 1.0}, sample=SAMPLE)
    rows = np.array(run.rows).T
    return {"time": np.array(run.time), **dict(zip(module.OUTPUT_NAMES, rows, strict=True))}


@pytest.mark.parametrize(
    ("language", "run", "needs"),
    [("c", in_c, "cc"), ("fortran", in_fortran, "gfortran"), ("python", in_python, "")],
)
def test_rows_on_grid_points_are_those_of_the_steps(
    language: str, run: Callable[[Path], dict[str, np.ndarray]], needs: str, tmp_path: Path
) -> None:
    if needs and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    found = run(swinging().export(language, tmp_path / language))
    rows = round(DURATION / SAMPLE) + 1
    assert found["time"].tolist() == [SAMPLE * k for k in range(rows)]
    # Before row k there were 3k steps, and the next one has begun.
    assert found["count"].tolist() == [3.0 * k + 1 for k in range(rows)]
    every = swinging().compile().simulate(DURATION, step=STEP, method="rk4", initial={"bob.q1": 1.0})
    np.testing.assert_allclose(found["height"], every["height"][::3], rtol=0, atol=1e-12)
