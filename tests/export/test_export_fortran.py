"""Exported Fortran: no warning as Fortran 2008, and the numbers of this process."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.export.text.printer import partial_sums
from tests.export.conformance import CASES, DIFFERENT, equations, expected
from tests.export.fortran_programs import make

pytestmark = [
    pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed"),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]

_REALS = ctypes.POINTER(ctypes.c_double)


def stem_of(folder: Path) -> str:
    return next(p.name.removesuffix("_solver.f90") for p in folder.glob("*_solver.f90"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a case with its program, made when it is first requested."""
    base = tmp_path_factory.mktemp("fortran")

    def built(name: str) -> Path:
        folder = equations(name).export("fortran", base / name.replace(" ", "_"))
        made = make(folder)
        assert made.returncode == 0 and not made.stderr, made.stderr
        return folder

    return cache(built)


def call(library: ctypes.CDLL, symbol: str, *arguments: np.ndarray | float, count: int) -> np.ndarray:
    """A subroutine whose arguments are all passed by their addresses, the result last."""
    out = np.zeros(max(count, 1))
    arrays = [np.atleast_1d(np.asarray(a, dtype=float)) for a in arguments]
    kept = [np.append(a, 0.0) for a in arrays]  # so that none is empty
    getattr(library, symbol)(*(a.ctypes.data_as(_REALS) for a in (*kept, out)))
    return out[:count]


@pytest.mark.parametrize("name", DIFFERENT)
def test_exported_fortran_gives_the_numbers_of_the_process(name: str, built: Callable[[str], Path]) -> None:
    wanted, folder = expected(name), built(name)
    stem = stem_of(folder)
    link = ["gfortran", "-shared", "-o", "model.so", f"{stem}_model.o"]
    subprocess.run(link, cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "model.so"))
    prefix = f"__{stem}_model_MOD_"
    values = np.array(list(wanted.parameters.values()))
    constants = call(library, f"{prefix}precompute", values, count=len(wanted.constants.values))
    wanted.constants.check(constants, "constants")
    for point in wanted.points:
        for section in ("derivatives", "outputs", "events", "update"):
            numbers = getattr(point, section)
            if numbers.values.size:
                given = (point.t, point.state, constants, point.memory)
                found = call(library, prefix + section, *given, count=len(numbers.values))
                numbers.check(found, section)


@pytest.mark.parametrize("name", DIFFERENT)
def test_exported_program_runs_as_the_process_does(name: str, built: Callable[[str], Path]) -> None:
    case, wanted, folder = CASES[name], expected(name).run, built(name)
    table, told = rows(folder, run_file(name))
    assert table[:, 0] == pytest.approx(wanted.time, abs=wanted.event_room, rel=0)
    wanted.rows.check(table[:, 1:], "rows")
    happened = [e for e, _ in wanted.events]
    counts = [f"  {e}: {happened.count(e)}, the last time at " for e in dict.fromkeys(happened)]
    assert all(any(line.startswith(c) for line in told) for c in counts), told
    assert case.duration == pytest.approx(wanted.time[-1]) or "stopped by event" in told[0]


def rows(folder: Path, run: str) -> tuple[np.ndarray, list[str]]:
    """The table that the program writes for a run, and what it prints."""
    (folder / "this.nml").write_text(run)
    program = [f"./{stem_of(folder)}", "this.nml", "this.csv"]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    return np.genfromtxt(folder / "this.csv", delimiter=",", skip_header=1), done.stdout.splitlines()


def run_file(name: str) -> str:
    case, memories = CASES[name], equations(name).system.memories

    def group(title: str, values: dict[str, float]) -> str:
        entries = "".join(f"  {key.replace('.', '_')} = {value!r}\n" for key, value in values.items())
        return f"&{title}\n{entries}/\n" if values else ""

    run = group("run", {"duration": case.duration, "step": case.step})
    return (
        run
        + group("parameters", case.parameters)
        + group("initial", case.initial)
        + group("inputs", {key: v for key, v in case.memory.items() if memories[key].input})
        + group("memory", {key: v for key, v in case.memory.items() if not memories[key].input})
    )


def test_rows_between_steps_and_another_method(built: Callable[[str], Path]) -> None:
    timing = "&run start = 0.5, duration = 0.4, step = 0.03, sample = 0.007, method = 'midpoint' /\n"
    folder = built("controller")
    rows(folder, timing + "&initial bob_q1 = -0.0 /\n")
    names, first, *_ = (folder / "this.csv").read_text().splitlines()
    assert not first.split(",")[names.split(",").index("bob.q1")].startswith("-")  # a zero has no sign
    found, _ = rows(folder, timing + "&initial bob_q1 = -0.1 /\n")
    model = equations("controller").compile()
    run = model.simulate(0.9, t0=0.5, step=0.03, method="midpoint", sample=0.007, initial={"bob.q1": -0.1})
    np.testing.assert_array_equal(found[:, 0], run.time)
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=1e-12)  # 14 steps of values below 60


def test_the_self_test_passes_and_notices_a_wrong_number(built: Callable[[str], Path]) -> None:
    folder = built("controller")
    made = make(folder, "test")
    assert (made.returncode, made.stderr, made.stdout.splitlines()[-1]) == (0, "", "all as stored")
    lines = (folder / "reference.txt").read_text().splitlines()
    place = lines.index("derivatives 2") + 1
    first, _, others = lines[place].partition(" ")
    (folder / "reference.txt").write_text(
        "\n".join([*lines[:place], f"{float(first) + 1e-6} {others}", *lines[place + 1 :]])
    )
    assert make(folder, "test").returncode != 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("&run step = 0.1 /\n", "&run needs duration"),
        ("[run]\nduration = 1.0\nstep = 0.1\n", "this is a TOML file; this program reads namelists"),
        (
            "&run step = 0.1, duration = 1.0, method = 'euler' /\n",
            "method must be 'rk4', 'midpoint', 'dopri5', 'dop853' or 'ab2'",
        ),
        (
            "&run step = 0.1, duration = 1.0 /\n&parameters LL = 3 /\n",
            "&parameters: Cannot match namelist object name ll",
        ),
        ("&run step = 0.1, duration = 1.0 /\n&parameter L = 3 /\n", "there is no group 'parameter'"),
        ("&run step = 0.1, duration = 1.0 /\n&parameters L = 'a' /\n", "&parameters: "),
    ],
)
def test_a_wrong_run_file_is_one_sentence(built: Callable[[str], Path], text: str, message: str) -> None:
    folder = built("controller")
    (folder / "wrong.nml").write_text(text)
    program = f"./{stem_of(folder)}"
    done = subprocess.run([program, "wrong.nml"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"error: {message}" in done.stderr
    done = subprocess.run([program, "none.nml"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "none.nml" in done.stderr


def test_a_sum_too_long_for_a_statement_is_cut_at_its_outer_signs() -> None:
    """A statement has at most 255 continuation lines."""
    terms = [f"c{i}*(x{i} - y{i})" for i in range(20)]
    first, *others = partial_sums(" + ".join(terms), 60)
    assert len(others) > 2 and all(part.startswith(" + c") for part in others)
    assert "".join([first, *others]) == " + ".join(terms)


def test_a_system_is_not_called_as_a_variable_is(tmp_path: Path) -> None:
    s = arm.System("step")
    s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    made = make(s.derive().export("fortran", tmp_path / "step"), "step", "test")
    assert (made.returncode, made.stderr, made.stdout.splitlines()[-1]) == (0, "", "all as stored")


def test_names_that_differ_in_case_and_a_parameter_without_default(tmp_path: Path) -> None:
    s = arm.System("a spring with a name that is longer than a file's")
    s.parameter("k", 3.0, units="N/m")
    s.parameter("K", units="N")
    s.parameter("state", 2.0, units="kg")
    a = s.body("a", joint=arm.Prismatic("x"), mass="state", inertia=0)
    for name in ("r", "p", "message", "unit"):  # names that a program might have for itself
        s.parameter(name, 0.5, units="N")
    s.force("pull", "-k*a.q1 + K + r + 2*p + 3*message + 4*unit", a.x, at=a.com)
    eom = s.derive()
    folder = eom.export("fortran", tmp_path / "spring")
    made = make(folder)
    assert (made.returncode, made.stderr) == (0, "")
    values = "k = 4.0, k_1 = 0.5, state = 1.5, r = 0.1, p = 0.2, message = 0.3, unit = 0.4"
    found, _ = rows(folder, f"&run duration = 1.0, step = 0.1 /\n&parameters {values} /\n")
    others = {"r": 0.1, "p": 0.2, "message": 0.3, "unit": 0.4}
    run = eom.compile().simulate(1.0, step=0.1, parameters={"k": 4.0, "K": 0.5, "state": 1.5, **others})
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=1e-14)
    (folder / "none.nml").write_text("&run duration = 1.0, step = 0.1 /\n")
    done = subprocess.run(
        [f"./{stem_of(folder)}", "none.nml"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "&parameters needs K_1: it has no default" in done.stderr


def test_lines_are_short_enough_for_compilers_that_count_bytes(tmp_path: Path) -> None:
    """A line has at most 132 bytes, in which "ö" is two: gfortran takes off the rest of a longer one."""
    s = arm.System("höher")
    s.parameter("length", 1.0, units="m", about="Länge über alles, größer als nötig; " * 5)
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    for i in range(8):
        s.output(f"Höhe {'ö' * 35} {i}", f"{i}*length + a.q1", units="m", about="Höhe über Grund " * 9)
    s.force("pull", 1.0, a.x, at=a.com)
    folder = s.derive().export("fortran", tmp_path / "bytes")
    for file in folder.glob("*.f90"):
        assert max(len(line) for line in file.read_bytes().splitlines()) <= 132, file.name
    made = make(folder)
    assert (made.returncode, made.stderr) == (0, "")
    rows(folder, "&run duration = 1.0, step = 0.5 /\n")
    assert f"Höhe {'ö' * 35} 7" in (folder / "this.csv").read_text()
