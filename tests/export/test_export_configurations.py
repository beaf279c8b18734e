"""Exported programs that lock and unlock joints and exchange dependent speeds, beside runs in the process."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.solver.language.translator import read_solver
from armillary.solver.methods.method_text import exported_methods
from tests.export import conformance
from tests.export.c_programs import CC
from tests.export.configuration_cases import (
    CASES,
    FIXED,
    FLAGS,
    LANGUAGES,
    TOOLS,
    equations,
    exported,
    held_five_bar,
    latched,
    process,
)
from tests.export.cuda_programs import CXX, NVCC
from tests.loading import loaded

# test_export_reclosing has exchanges, with a lock, in every language; here a run begins with one, too.
PROGRAMS = [
    *((language, "locks") for language in ("c", "cuda", "python", "fortran", "rust")),
    *((language, "exchanges") for language in ("c", "python")),
]


@pytest.mark.parametrize(("language", "name"), PROGRAMS)
def test_programs_change_as_the_process_does(language: str, name: str, tmp_path: Path) -> None:
    """Rows to 1e-9 after fifty events, through the impulses of locks and other choices of dependent speeds;
    times of events to 1e-12.
    """
    if TOOLS.get(language, "") is None:
        pytest.skip(f"no compiler of {language}")
    run = process(name, "rust" if language in FIXED else "matlab" if language == "matlab" else "c")
    folder = exported(equations(name), language, tmp_path / language)
    names, rows = LANGUAGES[language](folder, CASES[name])
    assert len(rows) == len(run.time)
    for output in run.names:
        expected, found = run[output], rows[:, (names or run.names).index(output)]
        size = 1 + np.max(np.abs(expected))
        assert np.max(np.abs(found - expected)) <= (1e-12 if output == "sum of times" else 1e-9) * size


@pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
def test_runs_of_a_kernel_end_with_the_motion_of_all_configurations(tmp_path: Path) -> None:
    """Both runs end with the elbow caught, with fewer states than they began with; nvcc takes the source."""
    folder = latched().derive().export("cuda", tmp_path / "cuda")
    (folder / "runs.csv").write_text("upper.q1\n1.0\n0.9\n")
    flags = "CXXFLAGS=-std=c++11 -O0 -Wall -Wextra -Werror"
    subprocess.run(["make", flags, "cpu"], cwd=folder, check=True, capture_output=True)
    command = ["./latched_pendulum_cpu", "runs.csv", "0.01", "120"]
    told = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    head, *lines = told.splitlines()
    assert head == "status,upper.q1,lower.q1,upper.u1,lower.u1"
    model = latched().derive().compile()
    for line, start in zip(lines, (1.0, 0.9), strict=True):
        run = model.simulate(1.2, step=0.01, method="rk4", initial={"upper.q1": start})
        expected = [run[name][-1] for name in head.split(",")[1:]]
        assert [float(x) for x in line.split(",")] == pytest.approx([1, *expected], rel=1e-11, abs=1e-12)
        assert expected[3] == 0.0
    if NVCC:
        subprocess.run([NVCC, "-ptx", "-arch=sm_80", "main.cu", "-o", "a.ptx"], cwd=folder, check=True)
        assert ".visible .entry latched_pendulum_runs" in (folder / "a.ptx").read_text()


def test_programs_without_locks_hold_nothing_of_them(tmp_path: Path) -> None:
    """The tables of locks are then empty, and not written: `-Wextra` would name a table that is not read."""
    features = {"EVENTS", "ADAPTIVE", "CONFIGURATIONS", "CHOICES", "RATED"}
    solver = read_solver(features, exported_methods(True), ("start_run", "find_row", "choose_start"))
    nodes = [n for f in solver.functions.values() for s in f.body for n in ast.walk(s)]
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    assert not {"LOCKED", "LOCKED_IN", "LOCKS", "UNLOCKS", "N_LOCKABLE"} & names
    assert {"GROUP_SIZE", "MEMBER"} <= names
    bar = conformance.equations("four bar")
    options: dict[str, Any] = {"profile": "embedded", "configurations": True, "measure": False}
    folder = bar.export("c", tmp_path / "bar", **options)
    text = next(folder.glob("src/*_solver.c")).read_text()
    tables = re.findall(r"^static const int (\w+)\[", text, re.M)
    assert "member" in tables and all(len(re.findall(rf"\b{t}\b\[|, {t}\b", text)) > 1 for t in tables)


def test_a_run_that_needs_a_configuration_beyond_the_table_says_so(tmp_path: Path) -> None:
    """As if the table had no configuration with the lock: the run ends where it would close."""
    module = loaded(equations("locks").export("python", tmp_path / "python") / "panels.py")
    module.LOCKED_IN[:] = [False, False]
    run = module.simulate(1.0)
    assert run.t == pytest.approx(0.24088, abs=1e-5)
    assert run.status.startswith("stopped: the run needs a configuration that this program lacks, or")


@pytest.mark.skipif(CC is None, reason="no C compiler (cc)")
def test_a_start_whose_dependent_speeds_do_not_follow_from_the_state_is_refused(tmp_path: Path) -> None:
    """A slider-crank at its dead centre, derived with the slider's speed as the independent one: the process
    starts from all speeds, with another choice.
    """
    s = arm.System("dead centre")
    A = s.body("A", joint=arm.Revolute("z"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    B = s.body("B", A, arm.Revolute("z"), at=(0.4, 0, 0), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    C = s.body("C", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.close_loop(B.point("end", (1.0, 0, 0)), C.origin, [s.ground.x, s.ground.y], name="pin")
    s.event("push", "t - 5", set={"C.u1": 0.0})
    s.start({"A.q1": 0.0, "B.q1": 0.0, "C.q1": 1.4})
    eom = s.derive()
    run = eom.compile().simulate(0.01, initial={"A.u1": 3.0})
    assert "t = 0 s: B.u1 became independent" in str(run.info["configurations"])
    module = loaded(eom.export("python", tmp_path / "python", configurations=True) / "dead_centre.py")
    assert module.simulate(0.01).status.startswith("stopped: the run needs a configuration")


def test_a_c_program_says_the_same(tmp_path: Path) -> None:
    folder = latched().derive().export("c", tmp_path / "c")
    solver = folder / "latched_pendulum_solver.c"
    text = solver.read_text()
    table = "static const int locked_in[] = {\n    0, "
    assert table + "1" in text
    solver.write_text(text.replace(table + "1", table + "0"))
    subprocess.run(["make", "ARCH=", f"CFLAGS={FLAGS}", "latched_pendulum"], cwd=folder, check=True)
    (folder / "own.toml").write_text("[run]\nduration = 1.0\n")
    ran = subprocess.run(["./latched_pendulum", "own.toml"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 1
    assert ": catch: the run needs a configuration that this program lacks, or comes" in ran.stderr


def test_programs_that_begin_with_a_lock_have_more_states_later(tmp_path: Path) -> None:
    """Gimbals can come to a place without mass; programs with several configurations do not look for it."""
    s = arm.System("held")
    upper = s.body("upper", joint=arm.Gimbal("zyx"), mass=1.0, inertia=(1, 2, 3))
    s.body("lower", upper, arm.Revolute("z"), at=(0, -1, 0), com=(0, -1, 0), mass=1.0, inertia=(0, 1, 1))
    s.gravity(9.81, -s.ground.y)
    s.lock("lower.q1")
    s.event("let go", "t - 0.5", direction=1, unlock="lower.q1")
    s.event("kick", "t - 0.75", direction=1, set={"lower.u1": 2.0})  # of a joint that is locked at first
    s.start({"upper.q1": 1.0, "lower.q1": 0.5})
    eom = s.derive()
    run = loaded(eom.export("python", tmp_path / "python") / "held.py").simulate(1.0, 0.01)
    expected = eom.compile().simulate(1.0, step=0.01)
    assert run.status == "finished" and len(run.events) == 2
    assert run.rows[-1] == pytest.approx([expected[name][-1] for name in expected.names], rel=1e-9, abs=1e-9)
    with pytest.raises(arm.ArmillaryError, match=r"'let go' locks.* contain all of them unless"):
        eom.export("c", tmp_path / "c", configurations=False)
    with pytest.raises(arm.ArmillaryError, match="configurations='no': give True or False"):
        eom.export("c", tmp_path / "c", configurations="no")


def test_what_events_cannot_set_while_they_lock_is_refused(tmp_path: Path) -> None:
    """Loops are closed again for it; the states of an FMU are the motion, with nothing beside it."""
    s = held_five_bar()
    s.event("stop", "t - 2", lock="C.q1", set={"B.u1": 0})
    with pytest.raises(arm.ArmillaryError, match=r"'stop' sets 'B\.u1' in a system with constraints"):
        s.derive().export("c", tmp_path / "c")
    assert not list(tmp_path.iterdir())
