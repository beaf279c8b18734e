"""Rows of exported solvers with fixed steps: those that fall on grid points, and the end between rows.

Three steps of 0.1 s end at 0.30000000000000004, while a row is due at 0.3: the solver takes such a grid point
for the time of the row, so that the row shows the state and memory with which the next step begins. An event
that ends the run between rows has one more.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.stages.equations import Equations
from tests.export.matlab_programs import OCTAVE
from tests.loading import loaded

STEP, SAMPLE, DURATION, STOP = 0.1, 0.3, 3.0, 2.57


@cache
def swinging() -> Equations:
    """A pendulum, a memory that counts the steps begun, and an end between rows and grid points."""
    s = arm.System("swinging")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.memory("begun", 0.0, update="begun + 1")
    s.event("end", f"t - {STOP}", direction=1, stop=True)
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
    module = loaded(folder)
    run = module.simulate(DURATION, STEP, initial={"bob.q1": 1.0}, sample=SAMPLE)
    rows = np.array(run.rows).T
    return {"time": np.array(run.time), **dict(zip(module.OUTPUT_NAMES, rows, strict=True))}


def in_matlab(folder: Path) -> dict[str, np.ndarray]:
    (folder / "own.m").write_text(
        f"""r = swinging.simulate({DURATION}, {STEP}, 'initial', {{'bob.q1', 1.0}}, 'sample', {SAMPLE});
dlmwrite('now.csv', [r.time(:), r.values], 'precision', '%.17g');
printf('%s\\n', strjoin(r.names(:)', ','));
"""
    )
    command = [str(OCTAVE), "--norc", "--quiet", "--eval", "own"]
    names = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    values = np.loadtxt(folder / "now.csv", delimiter=",").T
    return dict(zip(["time", *names.strip().split(",")], values, strict=True))


def in_node(folder: Path) -> dict[str, np.ndarray]:
    """A run, and the same with a duration that ends before the row after the event."""
    runs = [
        f"m.simulate({duration}, {{ step: {STEP}, sample: {SAMPLE}, initial: {{ 'bob.q1': 1.0 }} }})"
        for duration in (DURATION, STOP + 0.05)
    ]
    text = "import { load } from './swinging.js';\nconst m = await load();\n"
    text += "const plain = ([k, v]) => [k, Array.from(v)];\n"
    text += "const all = (r) => Object.entries({ time: r.time, ...r.values });\n"
    text += "const shown = (r) => Object.fromEntries(all(r).map(plain));\n"
    text += f"console.log(JSON.stringify([{', '.join(runs)}].map(shown)));\n"
    (folder / "now.mjs").write_text(text)
    told = subprocess.run(["node", "now.mjs"], cwd=folder, check=True, capture_output=True, text=True).stdout
    whole, short = json.loads(told)
    assert whole == short
    return {name: np.array(values) for name, values in whole.items()}


@pytest.mark.parametrize(
    ("language", "run", "needs"),
    [
        ("c", in_c, "cc"),
        ("fortran", in_fortran, "gfortran"),
        ("python", in_python, ""),
        ("matlab", in_matlab, OCTAVE or "octave"),
        ("wasm", in_node, "node"),
    ],
)
def test_rows_are_those_of_the_process(
    language: str, run: Callable[[Path], dict[str, np.ndarray]], needs: str, tmp_path: Path
) -> None:
    if needs and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    found = run(swinging().export(language, tmp_path / language))
    rows = round(STOP // SAMPLE) + 1
    assert found["time"].tolist() == [*(SAMPLE * k for k in range(rows)), pytest.approx(STOP, abs=1e-14)]
    # Before row k there were 3k steps, and the next one has begun; none begins where the run ends.
    assert found["count"].tolist() == [*(3.0 * k + 1 for k in range(rows)), STOP // STEP + 1]
    how: dict[str, Any] = {"step": STEP, "method": "rk4", "initial": {"bob.q1": 1.0}}
    own = swinging().compile().simulate(DURATION, sample=SAMPLE, **how)
    np.testing.assert_allclose(found["time"], own.time, rtol=0, atol=1e-14)
    for name in ("count", "height"):
        np.testing.assert_allclose(found[name], own[name], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        own["height"][:-1],
        swinging().compile().simulate(DURATION, **how)["height"][:-1:3],
        rtol=0,
        atol=1e-12,
    )
