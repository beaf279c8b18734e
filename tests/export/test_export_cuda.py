"""Exported CUDA: compiled as C++ for the CPU it gives the in-process numbers; nvcc takes it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from armillary.algebra.arguments import core_of
from tests.export.conformance import CASES, DIFFERENT, equations, expected
from tests.export.cuda_programs import CXX, FLAGS, NVCC, library

needs_compiler = pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    base = tmp_path_factory.mktemp("cuda")
    return cache(lambda name: equations(name).export("cuda", base / name.replace(" ", "_")))


def at(values: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.ctypes.data)


def runs_of(
    name: str, code: ctypes.CDLL, copies: int, kind: type[np.floating]
) -> tuple[np.ndarray, np.ndarray]:
    """Rows [row, output] of the last of so many equal runs, and the statuses of all."""
    case, wanted = CASES[name], expected(name)
    steps = round(case.duration / case.step)
    columns = [list(wanted.parameters.values()), list(wanted.start.values()), wanted.memory]
    arrays = [np.repeat(np.append(c, 0.0)[:, None], copies, axis=1).astype(kind) for c in columns]
    outputs = len(core_of(wanted.equations).targets.columns)
    rows, status = np.zeros((steps + 1, outputs, copies), kind), np.full(copies, -1, np.int32)
    real = ctypes.c_double if kind is np.float64 else ctypes.c_float
    code.all_runs.argtypes = [
        ctypes.c_longlong,
        real,
        ctypes.c_longlong,
        ctypes.c_longlong,
        *[ctypes.c_void_p] * 5,
    ]
    code.all_runs(copies, case.step, steps, 1, *map(at, (*arrays, rows, status)))
    return rows[:, :, -1], status


@needs_compiler
@pytest.mark.parametrize("name", DIFFERENT)
def test_kernel_runs_as_the_process_does(name: str, exported: Callable[[str], Path]) -> None:
    wanted = expected(name)
    code = library(exported(name))
    code.rates.argtypes = [ctypes.c_double, *[ctypes.c_void_p] * 4]
    parameters = np.array([*wanted.parameters.values(), 0.0])
    for point in wanted.points:
        out = np.zeros(len(point.state))
        code.rates(point.t, at(parameters), at(point.state), at(np.append(point.memory, 0.0)), at(out))
        point.derivatives.check(out, f"{name}: derivatives")
    rows, status = runs_of(name, code, 3, np.float64)
    grid = CASES[name].step * np.arange(len(rows))
    reached = grid <= wanted.run.time[-1] + 1e-12
    common = np.isclose(wanted.run.time[:, None], grid[reached][None, :], rtol=0, atol=1e-12).any(axis=1)
    rows = rows[reached]
    values, room = wanted.run.rows.values[common], wanted.run.rows.room[common]
    assert rows.shape == values.shape
    # The kernel sums its stages in another order: an ulp per step more, as the size of a column's values.
    room = room + 4 * 2.0**-52 * np.arange(len(rows))[:, None] * np.max(np.abs(values), axis=0)
    assert np.all(np.abs(rows - values) <= room), np.max(np.abs(rows - values) / room)
    assert set(status) == ({2} if "enough" in dict(wanted.run.events) else {1})
    assert np.isnan(rows).sum() == 0


@needs_compiler
def test_single_precision_is_close(exported: Callable[[str], Path]) -> None:
    """With float, some ten steps of the car agree to what single precision holds."""
    rows, _ = runs_of("car", library(exported("car"), "float"), 2, np.float32)
    values = expected("car").run.rows.values
    scale = np.max(np.abs(values), axis=0) + 1e-3
    assert np.max(np.abs(rows - values) / scale) < 1e-4
    assert np.max(np.abs(rows - values) / scale) > 1e-9  # it is not double after all


@needs_compiler
def test_single_precision_closes_loops_by_one_correction_a_step(
    exported: Callable[[str], Path], tmp_path: Path
) -> None:
    """A correction of 3e-4 leaves 1e-7, which is rounding; towards 1e-9 each step took five of them."""
    folder = shutil.copytree(exported("four bar"), tmp_path / "counted")
    header = next(folder.glob("*.cuh"))
    body = "real change = real(0.0);"
    text = header.read_text()
    assert text.count(body) == 1
    counted = text.replace(body, f"{body} extern int corrections; corrections++;")
    header.write_text(f"{counted}\nint corrections = 0;\n")
    code = library(folder, "float", "-O0")
    rows, _ = runs_of("four bar", code, 1, np.float32)
    assert ctypes.c_int.in_dll(code, "corrections").value <= len(rows)
    assert np.max(np.abs(rows - expected("four bar").run.rows.values)[:, :3]) < 1e-6


@needs_compiler
def test_self_test_and_main_program_on_the_cpu(exported: Callable[[str], Path]) -> None:
    folder = exported("bouncing")
    flags = f"CXXFLAGS={' '.join(FLAGS)} -O0"  # test_kernel_runs_as_the_process_does optimises
    done = subprocess.run(["make", flags, "test", "cpu"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all numbers agree" in done.stdout
    (folder / "runs.csv").write_text("e,ball.q1\n0.5,0.0\n0.8,1.0\n")
    done = subprocess.run(
        ["./bouncing_ball_cpu", "runs.csv", "0.01", "20"], cwd=folder, capture_output=True, text=True
    )
    table = np.array([line.split(",") for line in done.stdout.splitlines()[1:]], dtype=float)
    fallen = 9.81 * 0.2**2 / 2  # no floor met yet; the state "path" in its stated units, cm
    assert table[1] == pytest.approx([1, 1 - fallen, -9.81 * 0.2, 100 * fallen], rel=1e-12)
    (folder / "runs.csv").write_text("f\n0.5\n")
    done = subprocess.run(
        ["./bouncing_ball_cpu", "runs.csv", "0.01", "20"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "nothing is called 'f'" in done.stderr


@pytest.mark.skipif(NVCC is None, reason="no CUDA compiler (nvcc)")
@pytest.mark.parametrize(("name", "real"), [("tables", "float")])
def test_nvcc_takes_the_source(name: str, real: str, exported: Callable[[str], Path]) -> None:
    command = [str(NVCC), "-ptx", "-arch=sm_80", f"-DREAL={real}", "main.cu", "-o", f"{real}.ptx"]
    subprocess.run(command, cwd=exported(name), check=True)
    assert ".visible .entry" in (exported(name) / f"{real}.ptx").read_text()
