"""Linearly implicit methods of exported programs: the rows of the process."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.program.derivatives import rate_columns as partial_rates
from tests.export import adaptive_programs as adaptive
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import simulate_fmu
from tests.systems.cable import cable

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror"]


def _rows(folder: Path, settings: str) -> np.ndarray:
    """Rows of a program in C, built from all its files but that of tests."""
    if not (folder / "program").exists():
        files = sorted(f.name for f in folder.glob("*.c") if f.name != "test.c")
        adaptive.ran(["cc", *FLAGS, *files, "-o", "program", "-lm"], folder)
    (folder / "now.toml").write_text(settings)
    return adaptive.table(adaptive.ran(["./program", "now.toml"], folder))


@needs_cc
def test_rows_in_c_are_those_of_the_process(tmp_path: Path) -> None:
    """With Euler parameters, a memory and an event that sets it; with exact partial derivatives."""
    folder = adaptive.equations().export("c", tmp_path / "toy", stiff=True)
    assert "toy_partial_rates" in (folder / "toy.h").read_text()
    found, run = _rows(folder, adaptive.run_file("rodas5p")), adaptive.process("rodas5p")
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=adaptive.ROOM)
    assert len(run.events) > 2
    fixed = '[run]\nmethod = "rodas3"\nduration = 1.0\nstep = 0.01\n'
    wanted = adaptive.model().simulate(1.0, method="rodas3", step=0.01)
    np.testing.assert_allclose(_rows(folder, fixed)[:, 1:], wanted.values, rtol=0, atol=1e-10)


@needs_cc
def test_locks_and_stiff_reactions_in_c_and_python_are_those_of_the_process(tmp_path: Path) -> None:
    """A clutch that grips at 0.3 s and lets go at 0.6 s, and a decay of 1 ms beside it."""
    s = arm.System("toy")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 0.5))
    B = s.body("B", A, arm.Revolute("z"), mass=1, inertia=(1, 1, 0.3))
    s.state("heat", "1000*(A.u1*A.u1 - heat)")
    s.moment("motor", "2 - 0.1*B.u1 + 0.01*heat", s.ground.z, on=B, reaction=A)
    s.event("grip", "t - 0.3", lock=B.q1)
    s.event("release", "t - 0.6", unlock=B.q1)
    s.start({"A.u1": 3.0, "B.u1": -1.0})
    equations = s.derive()
    folder = equations.export("c", tmp_path / "toy", stiff=True)
    settings = '[run]\nmethod = "rodas5p"\nduration = 1.0\nsample = 0.05\nrtol = 1e-7\natol = 1e-9\n'
    run = equations.compile().simulate(1.0, method="rodas5p", rtol=1e-7, atol=1e-9, sample=0.05)
    found = _rows(folder, settings)
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=1e-9)
    module = equations.export("python", tmp_path / "module", stiff=True)
    (module / "now.toml").write_text(settings)
    adaptive.ran([sys.executable, "-I", "-S", "toy.py", "now.toml"], module)
    found = adaptive.table((module / "now.csv").read_text())
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=1e-9)
    assert run.info["steps"] < 400 and [e.name for e in run.events] == ["grip", "release"]


def test_programs_have_stiff_methods_where_they_are_wanted(tmp_path: Path) -> None:
    folder = adaptive.equations().export("c", tmp_path / "plain")
    assert "rodas" not in "".join(f.read_text() for f in folder.iterdir() if f.is_file())
    with pytest.raises(ArmillaryError, match="embedded"):
        adaptive.equations().export("c", tmp_path / "small", profile="embedded", stiff=True)


def test_rows_in_python_are_those_of_the_process(tmp_path: Path) -> None:
    folder = adaptive.equations().export("python", tmp_path / "toy", stiff=True)
    found, run = adaptive.in_python(folder, "rodas5p"), adaptive.process("rodas5p")
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=adaptive.ROOM)


def test_methods_that_change_over_are_not_exported(tmp_path: Path) -> None:
    """The watch of stiffness is part of the process alone: "auto" would be rodas5p by another name."""
    folder = adaptive.equations().export("python", tmp_path / "toy", stiff=True)
    assert '"auto"' not in (folder / "toy.py").read_text()


@pytest.mark.parametrize("language", ["python", pytest.param("c", marks=needs_cc)])
def test_rows_with_sparse_equations_are_those_of_the_process(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process takes dense equations here."""
    run = cable(3).derive().compile().simulate(0.2, method="rodas5p", rtol=1e-7, atol=1e-9, sample=0.05)
    monkeypatch.setattr(partial_rates, "_SMALL", 0)
    monkeypatch.setattr(partial_rates, "_is_quicker", lambda *_: True)
    folder = cable(3).derive().export(language, tmp_path / "toy", stiff=True)
    settings = '[run]\nmethod = "rodas5p"\nduration = 0.2\nsample = 0.05\nrtol = 1e-7\natol = 1e-9\n'
    if language == "c":
        found = _rows(folder, settings)
    else:
        (folder / "now.toml").write_text(settings)
        adaptive.ran([sys.executable, "-I", "-S", "cable.py", "now.toml"], folder)
        found = adaptive.table((folder / "now.csv").read_text())
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["rodas5p", "rodas3"])
def test_fmus_step_by_stiff_methods(method: str, tmp_path: Path) -> None:
    """A decay of 10 µs to cos t, in communication steps of 0.1 s: y = cos t but for a part of 1e-5."""
    need_compiler()
    s = arm.System("decay")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.state("y", "1e5*(cos(t) - y)", initial=1.0)
    s.output("found", "y")
    path = s.derive().export("fmu", tmp_path / "decay.fmu", method=method, step=0.01, rtol=1e-6, atol=1e-8)
    found = simulate_fmu(path, stop_time=1.0, output_interval=0.1, output=["found"])
    np.testing.assert_allclose(found["found"], np.cos(found["time"]), rtol=0, atol=2e-5)
