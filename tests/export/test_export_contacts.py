"""Contacts, brakes and clutches in exported programs, beside runs in the process."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.text.source import blocks_of, make_source
from armillary.export.wasm.module import WasmModule
from tests.ensembles.conftest import card as card
from tests.ensembles.fake_cupy import Module
from tests.export.c_programs import FLAGS
from tests.export.contact_models import (
    CONTACT_CASES,
    contact_equations,
    contact_run,
    largest_difference,
    run_table,
    written_rows,
)
from tests.export.cuda_programs import CXX, library
from tests.export.fmi.host import simulate_fmu
from tests.export.fortran_programs import make
from tests.export.matlab_programs import OCTAVE, octave, package_of
from tests.export.rust_programs import cargo, needs_cargo
from tests.export.wasm_host import FINISHED, Host
from tests.loading import loaded

CLOSE = 1e-9  # of the largest value of each column: other roundings of a run with tens of impacts
needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")


@needs_c
@pytest.mark.parametrize("name", [name for name in CONTACT_CASES if name != "box"])  # browsers have it
def test_c_programs_have_the_same_run(name: str, tmp_path: Path) -> None:
    """The largest is optimised, for the warnings of optimising compilers."""
    level = "-O1" if name == "bench" else "-O0"
    contact_equations(name).export("c", tmp_path)
    (tmp_path / "now.toml").write_text(run_table(name))
    names = sorted(p.name for p in tmp_path.glob("*.c") if p.name != "test.c")
    subprocess.run(["cc", *FLAGS, level, *names, "-o", "program", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["./program", "now.toml", "now.csv"], cwd=tmp_path, check=True)
    assert largest_difference(name, written_rows(tmp_path / "now.csv")) < CLOSE


@needs_c
def test_c_programs_with_fewer_rows_than_speeds_compile_without_warnings(tmp_path: Path) -> None:
    """A method for many rows has indices beyond such arrays, and calls without a problem had no results:
    compilers that optimise, at any level, name both.
    """
    s = arm.System("hopping box")
    body = s.body("box", joint=arm.Free(), mass=0.4, inertia=(1, 1, 1))
    s.gravity(9.81, -s.ground.y)
    s.contact("corner", body.point("p", (0.1, 0.2, 0.3)), plane=(s.ground, s.ground.y), friction=0.3)
    s.derive().export("c", tmp_path)
    subprocess.run(["cc", *FLAGS, "-c", "hopping_box.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", ["ball", "plank", "clutch"])
def test_python_modules_have_the_same_run(name: str, tmp_path: Path) -> None:
    contact_equations(name).export("python", tmp_path)
    (tmp_path / "now.toml").write_text(run_table(name))
    [module] = [p for p in tmp_path.glob("*.py") if not p.name.startswith("test_")]
    subprocess.run([sys.executable, "-I", "-S", module.name, "now.toml"], cwd=tmp_path, check=True)
    assert largest_difference(name, written_rows(tmp_path / "now.csv")) < CLOSE


def test_contacts_that_overlap_as_described_are_exported(tmp_path: Path) -> None:
    """A run may begin elsewhere; one that begins with the overlap has no result."""
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.contact("floor", ball.com, plane=(s.ground, s.ground.y), radius=0.1, restitution=0.5)
    equations = s.derive()
    equations.export("python", tmp_path)
    run = "[run]\nduration = 1.0\nstep = 0.01\nsample = 0.01\n"
    command = [sys.executable, "-I", "-S", "ball.py", "now.toml"]
    (tmp_path / "now.toml").write_text(f'{run}[initial]\n"ball.q1" = 1.0\n')
    subprocess.run(command, cwd=tmp_path, check=True)
    expected = equations.compile().simulate(1.0, step=0.01, sample=0.01, initial={"ball.q1": 1.0})
    assert written_rows(tmp_path / "now.csv")["ball.q1"] == pytest.approx(expected["ball.q1"], abs=CLOSE)
    (tmp_path / "now.toml").write_text(run)
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode != 0


@pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
@pytest.mark.parametrize("name", ["ball", "plank", "clutch"])
def test_kernels_have_the_same_run(name: str, tmp_path: Path) -> None:
    """Exported CUDA, compiled for the CPU."""
    equations, case = contact_equations(name), CONTACT_CASES[name]
    code = library(equations.export("cuda", tmp_path), level="-O0")
    d = make_source(core_of(equations)).description
    numbers = [
        [p.default or 0.0 for p in d.parameters],
        [s.initial for s in d.starts],
        [m.initial for m in d.memory],
    ]
    arrays = [np.array([[*column, 0.0]]).T.copy() for column in numbers]
    steps = round(case.duration / case.step)
    rows, status = np.zeros((steps + 1, len(d.outputs), 1)), np.zeros(1, np.int32)
    reals = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, rows, status)]
    code.all_runs.argtypes = [
        ctypes.c_longlong,
        ctypes.c_double,
        *[ctypes.c_longlong] * 2,
        *[ctypes.c_void_p] * 5,
    ]
    code.all_runs(1, case.step, steps, 1, *reals)
    assert status[0] == 1
    assert largest_difference(name, {o.name: rows[:, i, 0] for i, o in enumerate(d.outputs)}) < CLOSE


def rows_at_grid(name: str, lines: Sequence[str]) -> dict[str, list[float]]:
    """The rows of a program at the times of the run in the process, by the names of its outputs: of several
    at one time the last.
    """
    found = np.array([re.sub(r"[\[\],]", " ", line).split() for line in lines], dtype=float)
    last = [
        np.flatnonzero(np.abs(found[:, 0] - t) <= 0.01 * CONTACT_CASES[name].step)[-1]
        for t in contact_run(name).time
    ]
    return {c: found[last, i + 1].tolist() for i, c in enumerate(contact_run(name).names)}


EMBEDDED = """
#include "{stem}_solver.h"
#include <math.h>
#include <stdio.h>
int main(void)
{{
    static {stem}_run run;
    double out[{upper}_OUTPUTS_ROOM];
    {stem}_setup(&run, {stem}_parameter_values, 0, {duration}, {step});
    for ({stem}_begin(&run); ; {stem}_step(&run)) {{
        {stem}_outputs(run.t, run.state, run.constants, run.memory, out);
        printf("%.17g", run.t);
        for (int i = 0; i < {upper}_OUTPUTS; i++) printf(" %.17g", out[i]);
        printf("\\n");
        if (run.status != {upper}_RUNNING) return 0;
    }}
}}
"""


@needs_c
@pytest.mark.parametrize("name", ["ball", "plank", "clutch"])
def test_programs_for_microcontrollers_have_the_same_run(name: str, tmp_path: Path) -> None:
    case = CONTACT_CASES[name]
    contact_equations(name).export("c", tmp_path, profile="embedded", precision="double", measure=False)
    stem = next(p.name.removesuffix("_solver.c") for p in tmp_path.glob("src/*_solver.c"))
    text = EMBEDDED.format(stem=stem, upper=stem.upper(), duration=case.duration, step=case.step)
    (tmp_path / "driver.c").write_text(text)
    names = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.glob("src/*.c"))
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-pedantic", "-Werror"]
    subprocess.run(
        ["cc", "-std=c99", *warnings, "-Isrc", "driver.c", *names, "-o", "driver", "-lm"],
        cwd=tmp_path,
        check=True,
    )
    done = subprocess.run(["./driver"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert largest_difference(name, rows_at_grid(name, done.stdout.splitlines())) < CLOSE


@needs_c
def test_single_precision_finds_the_same_forces(tmp_path: Path) -> None:
    """The self-test of a program, whose rooms are those of single precision, and warnings of compilers."""
    contact_equations("plank").export("c", tmp_path, profile="embedded", precision="single", measure=False)
    names = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.glob("src/*.c"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-pedantic", "-Werror"]
    subprocess.run(["cc", *flags, "-Isrc", "test/test.c", *names, "-o", "t", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(["./t"], cwd=tmp_path, capture_output=True, text=True)
    assert "all numbers agree" in done.stdout, done.stdout


RUST = """
use {stem}::*;
fn main() {{
    let mut run = Run::new(&PARAMETER_VALUES, 0.0, {duration}, {step});
    run.begin();
    loop {{
        let mut out = [0.0; OUTPUTS];
        outputs(run.t, &run.state, &run.constants, &run.memory, &mut out);
        println!("{{:?}} {{:?}}", run.t, out);
        if run.status != RUNNING {{ break }}
        run.step();
    }}
}}
"""


@needs_cargo
@pytest.mark.parametrize("name", ["plank", "clutch"])
def test_crates_have_the_same_run(name: str, tmp_path: Path) -> None:
    case, folder = CONTACT_CASES[name], tmp_path / name
    contact_equations(name).export("rust", folder)
    (folder / "examples").mkdir()
    stem = contact_equations(name).system.name.replace(" ", "_")
    (folder / "examples" / "rows.rs").write_text(
        RUST.format(stem=stem, duration=case.duration, step=case.step)
    )
    lines = cargo(folder, "run", "--example", "rows").splitlines()
    assert largest_difference(name, rows_at_grid(name, lines)) < CLOSE


@needs_c
@pytest.mark.parametrize(("name", "version"), [("plank", "2.0"), ("clutch", "3.0")])
def test_fmus_have_the_same_run(name: str, version: str, tmp_path: Path) -> None:
    case, run = CONTACT_CASES[name], contact_run(name)
    path = contact_equations(name).export("fmu", tmp_path / "unit.fmu", version=version, step=case.step)
    columns = [c for c in run.names if ".q" in c or ".u" in c or c.endswith("_status")]
    given = {"stop_time": case.duration, "output_interval": case.step, "output": columns}
    assert largest_difference(name, simulate_fmu(path, **given)) < CLOSE


def test_batches_on_a_card_have_the_same_runs(card: Module) -> None:
    """The kernel of an ensemble, compiled for the CPU; no run is left to the process."""
    case, model = CONTACT_CASES["plank"], contact_equations("plank").compile()
    speeds = np.linspace(0.5, 1.5, 3)
    names = ["plank.q1", "plank.q3", "plank.u1", "left_status"]
    given = {"step": case.step, "sample": 0.1}
    batch = model.simulate_batch(
        case.duration, initial={"plank.u1": speeds}, outputs=names, device="gpu", progress=False, **given
    )
    assert batch.info["engine"] == "gpu" and set(batch.status) == {"finished"}
    for i, speed in enumerate(speeds):
        alone = model.simulate(case.duration, initial={"plank.u1": speed}, **given)
        for name in names:
            np.testing.assert_allclose(batch[name][i], alone[name], rtol=0, atol=CLOSE)


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("name", ["plank", "clutch", "puck", "bench"])
def test_fortran_programs_have_the_same_run(name: str, tmp_path: Path) -> None:
    """Indices from 1 on: the puck has a slip in a plane, the bench redundant rows."""
    case = CONTACT_CASES[name]
    contact_equations(name).export("fortran", tmp_path)
    made = make(tmp_path)
    assert made.returncode == 0 and not made.stderr, made.stderr
    [stem] = [p.name.removesuffix("_solver.f90") for p in tmp_path.glob("*_solver.f90")]
    numbers = f"duration = {case.duration}, step = {case.step}, sample = {case.step}"
    (tmp_path / "now.nml").write_text(f"&run method = 'rk4', {numbers} /\n")
    subprocess.run([f"./{stem}", "now.nml", "now.csv"], cwd=tmp_path, check=True)
    assert largest_difference(name, written_rows(tmp_path / "now.csv")) < CLOSE


@pytest.mark.parametrize("name", ["plank", "clutch", "box"])
def test_modules_for_browsers_have_the_same_run(name: str) -> None:
    """The box takes more of the stack than is usual."""
    case, run = CONTACT_CASES[name], contact_run(name)
    made = WasmModule(make_source(core_of(contact_equations(name))), methods=("rk4",))
    host = Host(made.linked.code, json.loads(json.dumps(made.description())))
    about = host.about
    host.set_parameters({})
    state, memory = host.begin([s["initial"] for s in about["starts"]], host.start_memory(0.0, {}))
    host.start(state, memory, method="rk4", t_end=case.duration, step=case.step)
    rows, why = host.run(run.time)
    assert why == FINISHED
    assert largest_difference(name, {o["name"]: rows[:, i] for i, o in enumerate(about["outputs"])}) < CLOSE


@pytest.mark.skipif(OCTAVE is None, reason="octave is not installed")
@pytest.mark.parametrize("name", ["clutch", "puck", "bench"])
def test_matlab_functions_have_the_same_run(name: str, tmp_path: Path) -> None:
    case, run = CONTACT_CASES[name], contact_run(name)
    contact_equations(name).export("matlab", tmp_path)
    call = f"r = {package_of(tmp_path)}.simulate({case.duration}, {case.step}, 'sample', {case.step});"
    done = octave(tmp_path, f"{call} fprintf('%.17g ', r.values');")
    assert done.returncode == 0, done.stderr
    rows = np.array(done.stdout.split(), dtype=float).reshape(len(run.time), -1)
    assert largest_difference(name, dict(zip(run.names, rows.T, strict=True))) < CLOSE


def test_jax_slopes_of_a_brake_that_slips_are_those_of_differences(tmp_path: Path) -> None:
    """One row holds and one slips: speeds, columns and free motions change, in random directions."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    contact_equations("clutch").export("jax", tmp_path)
    module = loaded(next(p for p in tmp_path.glob("*.py") if not p.name.startswith("test_")))
    [block] = [b for b in blocks_of(contact_equations("clutch").program) if b.name == "contact_problem"]
    draws = np.random.default_rng(5)
    rows, half = draws.normal(size=(2, 2)), draws.normal(size=(2, 2))
    ways = {
        "jacobian": rows.ravel(),
        "columns": (rows @ (half @ half.T + np.eye(2))).ravel(),
        "free": np.array([-0.1, -2.0]),
        "direction": np.ones(2),
        **dict.fromkeys(("active", "rests"), np.ones(2)),
        **dict.fromkeys(("capacity", "static_capacity"), np.full(2, 0.3)),
    }
    given = np.concatenate([ways.get(name, np.zeros(block.vectors[name])) for name in block.takes])
    moves = ("jacobian", "columns", "free", "unloaded")
    along = np.concatenate([draws.normal(size=block.vectors[n]) * (n in moves) for n in block.takes])
    found, slope = jax.jvp(module.contact_problem, (jax.numpy.array(given),), (jax.numpy.array(along),))
    assert sorted(found[4:6].tolist()) == [0.0, 1.0]  # which rows hold
    step = 1e-6
    differences = (block.value(*(given + step * along)) - block.value(*(given - step * along))) / (2 * step)
    np.testing.assert_allclose(slope[:4], differences[:4], rtol=1e-7, atol=1e-8)


def test_jax_finds_forces_and_statuses_and_their_slopes(tmp_path: Path) -> None:
    """Rates at the points of the self-test; a ball that strikes, beside the description itself; slopes of the
    impulse beside differences.
    """
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    equations = contact_equations("ball")
    equations.export("jax", tmp_path)
    module = loaded(next(p for p in tmp_path.glob("*.py") if not p.name.startswith("test_")))
    made = make_source(core_of(equations))
    constants = module.precompute(module.Parameters())
    for p in made.reference.points:
        found = module.derivatives(p.t, jax.numpy.array(p.state), constants, jax.numpy.array(p.memory))
        np.testing.assert_allclose(found, p.derivatives, rtol=1e-12, atol=1e-12)
    [block] = [b for b in blocks_of(equations.program) if b.name == "contact_problem"]
    ways = {"jacobian": 1.0, "columns": 2.5, "free": -3.0, "active": 1.0, "rests": 1.0}
    given = np.array([ways.get(name, 0.0) for name in block.takes])
    found = np.array(module.contact_problem(jax.numpy.array(given)))
    np.testing.assert_allclose(found, block.value(*given), atol=1e-14)
    assert found[0] == pytest.approx(1.2)  # 3/2.5
    along = np.array([0.3, 0.2, 0.7, *[0.0] * (len(given) - 3)])
    _, slope = jax.jvp(module.contact_problem, (jax.numpy.array(given),), (jax.numpy.array(along),))
    step = 1e-6
    differences = (block.value(*(given + step * along)) - block.value(*(given - step * along))) / (2 * step)
    assert slope[0] == pytest.approx(differences[0], rel=1e-8)
