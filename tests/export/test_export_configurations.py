"""Exported programs that lock and unlock joints and exchange dependent speeds, beside runs in the process."""

from __future__ import annotations

import ast
import csv
import ctypes
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import armillary as arm
from armillary.runtime.solver.language.translator import read_solver
from armillary.runtime.solver.methods import exported_methods
from armillary.stages.equations import Equations
from tests.export import conformance
from tests.export.test_export_c import CC
from tests.export.test_export_cuda import CXX, NVCC, library
from tests.export.test_export_matlab import OCTAVE
from tests.export.test_export_rust import cargo
from tests.loading import loaded

FLAGS = "-std=c99 -O0 -Wall -Wextra -Wshadow -Wdouble-promotion -Werror -pedantic -ffp-contract=off"


def double_pendulum(name: str) -> tuple[arm.System, arm.Body, arm.Body]:
    s = arm.System(name)
    s.gravity(9.81, -s.ground.z)
    upper = s.body("upper", joint=arm.Revolute("y"), mass=2.0, com=(0, 0, -0.5), inertia=(0.2, 0.2, 0.01))
    lower = s.body(
        "lower", upper, at=(0, 0, -1.0), joint=arm.Revolute("y"), mass=1.0, com=(0, 0, -0.4),
        inertia=(0.1, 0.1, 0.01),
    )  # fmt: skip
    return s, upper, lower


def latched(thrown: dict[str, str] | None = None) -> arm.System:
    """A double pendulum whose elbow is caught on its way, and let go, with speeds that are set then."""
    s, _, lower = double_pendulum("latched pendulum")
    s.event("catch", lower.q1 + 0.3, direction=1, lock="lower.q1")
    s.event("let go", "t - 1.5", direction=1, unlock="lower.q1", set=thrown)
    s.output("energy", s.kinetic_energy())
    s.start({"upper.q1": 1.0, "lower.q1": -0.6})
    return s


def panels() -> arm.System:
    """A panel that is latched to another, which is slowed, and thrown off, over and over; the other is kicked
    where it passes; a wheel that a brake stops and a motor turns. A memory adds up the times of the events of
    the user's own.
    """
    s, upper, lower = double_pendulum("panels")
    wheel = s.body("wheel", joint=arm.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.2))
    s.brake("drum", wheel.q1, capacity=0.05)
    s.moment("motor", "0.1*sin(6*t)", s.ground.z, on=wheel)
    s.memory("times", 0.0)
    slowed = {"upper.u1": 0.98 * upper.u1, "times": "times + t"}
    thrown = {"lower.u1": 0.1 - 0.2 * upper.u1, "times": "times + t"}
    s.event("catch", lower.q1, direction=1, lock="lower.q1", set=slowed)
    s.event("let go", upper.q1, direction=-1, unlock="lower.q1", set=thrown)
    kicked = {"upper.u1": upper.u1 + 0.4, "times": "times + t"}
    s.event("kick", upper.q1 - 0.05, direction=1, set=kicked)
    s.output("energy", s.kinetic_energy())
    s.output("sum of times", "times")
    s.start({"upper.q1": 1.0, "lower.q1": -0.6})
    return s


def linked_bars(name: str) -> arm.System:
    """Cranks A and C, links B and D on them, joined."""
    s = arm.System(name)
    bar: dict[str, Any] = {"com": (0.2, 0, 0), "mass": 1.0, "inertia": (0, 0.1, 0.1)}
    A = s.body("A", joint=arm.Revolute("z"), **bar)
    B = s.body("B", A, arm.Revolute("z"), at=(0.4, 0, 0), **bar)
    C = s.body("C", joint=arm.Revolute("z"), at=(0.6, 0, 0), **bar)
    D = s.body("D", C, arm.Revolute("z"), at=(0.4, 0, 0), **bar)
    s.close_joint("revolute", B.point("pin", (0.4, 0, 0)), D.point("pin", (0.4, 0, 0)), axis="z", name="pin")
    s.gravity(9.81, -s.ground.y)
    return s


def held_five_bar() -> arm.System:
    """Linked bars: D is held, let go, and C is caught while A is slowed. With both held the loop cannot be
    closed where the description has them, which no run needs.
    """
    s = linked_bars("held five-bar")
    s.lock("D.q1")
    s.event("let go", "t - 0.3", direction=1, unlock="D.q1")
    s.event("catch", "t - 0.7", direction=1, lock="C.q1", set={"A.u1": "0.9*A.u1"})
    s.output("energy", s.total_energy())
    s.start({"A.q1": 1.8, "B.q1": -0.8, "C.q1": 1.2, "D.q1": 0.9})
    return s


class Case(NamedTuple):
    """A system, its run, and what happens in it."""

    system: Callable[[], arm.System]
    span: float
    initial: dict[str, float]
    tolerance: float
    changes: tuple[str, ...]
    events: int
    steps: int  # of programs with steps of one size


LONGEST = 0.1  # step of programs that are slow
FIXED = ("cuda", "embedded", "rust")  # languages with steps of one size
CASES = {
    "locks": Case(panels, 19.0, {}, 1e-8, ("catch", "let go"), 50, 4000),
    "exchanges": Case(
        held_five_bar, 1.0, {"A.u1": -6.0}, 1e-10, ("became independent", "catch", "let go"), 2, 80
    ),
}


@cache
def equations(name: str) -> Equations:
    return CASES[name].system().derive()


@cache
def process(name: str, language: str = "c") -> arm.Run:
    """The run in the process as a program runs; where there are contacts, adaptive steps are short unless the
    longest is given.
    """
    case = CASES[name]
    how: dict[str, Any] = {"method": "dop853", "rtol": case.tolerance, "atol": 0.01 * case.tolerance}
    how |= {"max_step": LONGEST} if language == "matlab" else {}
    how = {"method": "rk4", "step": case.span / case.steps} if language == "rust" else how
    run = equations(name).compile().simulate(case.span, sample=case.span / 8, initial=case.initial, **how)
    assert all(word in run.info["configurations"] for word in case.changes)
    assert len(run.events) >= case.events
    return run


Found = tuple[list[str], np.ndarray]


def run_c(folder: Path, case: Case) -> Found:
    start = "".join(f'"{name}" = {value}\n' for name, value in case.initial.items())
    settings = f"rtol = {case.tolerance}\natol = {0.01 * case.tolerance}\n"
    timing = f'duration = {case.span}\nsample = {case.span / 8}\nmethod = "dop853"\n'
    (folder / "own.toml").write_text(f"[initial]\n{start}[run]\n{timing}{settings}")
    program = next(p.name.removesuffix("_solver.c") for p in folder.glob("*_solver.c"))
    made = ["make", "ARCH=", f"CFLAGS={FLAGS}", program, "self_test"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    subprocess.run(["./self_test"], cwd=folder, check=True, capture_output=True)
    subprocess.run([f"./{program}", "own.toml", "own.csv"], cwd=folder, check=True, capture_output=True)
    return read_csv(folder / "own.csv")


def read_csv(path: Path) -> Found:
    with path.open() as stream:
        names, *rows = list(csv.reader(stream))
    return names, np.array(rows, dtype=float)


def run_python(folder: Path, case: Case) -> Found:
    path = next(p for p in folder.glob("*.py") if not p.name.startswith("test_"))
    subprocess.run([sys.executable, f"test_{path.name}"], cwd=folder, check=True, capture_output=True)
    module = loaded(path)
    run = module.simulate(
        case.span, sample=case.span / 8, initial=case.initial, method="dop853", rtol=case.tolerance,
        atol=0.01 * case.tolerance,
    )  # fmt: skip
    assert run.status == "finished"
    return ["time", *module.OUTPUTS], np.column_stack([run.time, run.rows])


def run_fortran(folder: Path, case: Case) -> Found:
    start = "".join(f"  {name.replace('.', '_')} = {value}\n" for name, value in case.initial.items())
    settings = f"  rtol = {case.tolerance}, atol = {0.01 * case.tolerance}\n"
    timing = f"  duration = {case.span}, sample = {case.span / 8}, method = 'dop853'\n"
    (folder / "own.nml").write_text(f"&run\n{timing}{settings}/\n&initial\n{start}/\n")
    flags = "FFLAGS=-std=f2008 -O0 -fcheck=all -Wall -Wextra -pedantic -Werror"
    program = next(p.name.removesuffix("_solver.f90") for p in folder.glob("*_solver.f90"))
    subprocess.run(["make", flags, program, "test"], cwd=folder, check=True, capture_output=True)
    subprocess.run([f"./{program}", "own.nml", "own.csv"], cwd=folder, check=True, capture_output=True)
    return read_csv(folder / "own.csv")


def run_matlab(folder: Path, case: Case) -> Found:
    package = next(p.name[1:] for p in folder.glob("+*"))
    initial = ", ".join(f"'{name}', {value}" for name, value in case.initial.items())
    settings = f"'sample', {case.span / 8}, 'rtol', {case.tolerance}, 'atol', {0.01 * case.tolerance}"
    settings += f", 'max_step', {LONGEST}"
    program = f"""test_{package}
r = {package}.simulate({case.span}, [], 'initial', {{{initial}}}, {settings});
file = fopen('own.csv', 'w');
fprintf(file, '%s\\n', strjoin(r.names, ','));
fprintf(file, [repmat('%.17g,', 1, columns(r.values) - 1) '%.17g\\n'], r.values');
fclose(file);
"""
    (folder / "own.m").write_text(program)
    command = [str(OCTAVE), "--norc", "--quiet", "--eval", "own"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return read_csv(folder / "own.csv")


RUST = """\
use {stem}::*;
fn main() {{
    let mut run = Run::new(&PARAMETER_VALUES, 0.0, {span}, {step});
    {start}
    run.begin();
    let mut row = 0.0;
    loop {{
        if run.t >= row * {span} / 8.0 - 1e-9 {{
            let mut out = [0.0; OUTPUTS];
            {outputs}
            println!("{{:?}}", out);
            row += 1.0;
        }}
        if run.status != RUNNING {{ break }}
        run.step();
    }}
}}
"""


def run_rust(folder: Path, case: Case) -> Found:
    """Without names, in the order of the outputs."""
    start = "".join(f"run.state[state::{n.replace('.', '_')}] = {v:.17e};" for n, v in case.initial.items())
    (folder / "examples").mkdir()
    stem = re.findall(r'name = "(\w+)"', (folder / "Cargo.toml").read_text())[0]
    outputs = "outputs_of(run.configuration, run.t, &run.state, &run.constants, &run.memory, &mut out);"
    if "fn present_outputs" in (folder / "src" / "solver.rs").read_text():
        outputs = "run.present_outputs(&mut out);"
    text = RUST.format(stem=stem, span=case.span, step=case.span / case.steps, start=start, outputs=outputs)
    (folder / "examples" / "rows.rs").write_text(text)
    told = cargo(folder, "run", "--example", "rows")
    rows = [re.sub(r"[\[\],]", " ", line).split() for line in told.splitlines()]
    return [], np.array(rows, dtype=float)


EMBEDDED = """\
#include "{stem}_solver.h"
#include <stdio.h>
#include <string.h>
int main(void)
{{
    static {stem}_run run;
    double out[{upper}_OUTPUTS_ROOM];
    int row = 0;
    memset(&run, 0x55, sizeof run);
    {stem}_setup(&run, {stem}_parameter_values, 0.0, {span}, {step});
    {start}
    {stem}_begin(&run);
    for (;;) {{
        if (run.t >= row * {span} / 8.0 - 1e-9) {{
            {stem}_present_outputs(&run, run.memory, out);
            for (int i = 0; i < {upper}_OUTPUTS; i++) printf("%.17g ", out[i]);
            printf("\\n");
            row++;
        }}
        if (run.status != {upper}_RUNNING) return run.status != {upper}_FINISHED;
        {stem}_step(&run);
    }}
}}
"""


def run_embedded(folder: Path, case: Case) -> Found:
    """A run whose memory holds something else before; without names, in the order of the outputs."""
    stem = next(folder.glob("src/*_solver.c")).name.removesuffix("_solver.c")
    upper = stem.upper()
    start = "".join(f"run.state[{upper}_X_{n.replace('.', '_')}] = {v};" for n, v in case.initial.items())
    text = EMBEDDED.format(stem=stem, upper=upper, span=case.span, step=case.span / case.steps, start=start)
    (folder / "rows.c").write_text(text)
    sources = [str(p.relative_to(folder)) for p in sorted(folder.glob("src/*.c"))]
    strict = [*FLAGS.split(), "-Wconversion", "-fstack-usage", "-Isrc"]
    subprocess.run([str(CC), *strict, "-o", "rows", "rows.c", *sources, "-lm"], cwd=folder, check=True)
    frames = [line.split("\t") for p in folder.glob("*.su") for line in p.read_text().splitlines()]
    assert frames and all(kind == "static" for *_, kind in frames)
    code = "".join((folder / name).read_text() for name in sources)
    loops = re.findall(r"\b(?:for|while) \(.*", code)
    assert len(loops) > 10 and all(re.search(r"\w+ < \(?[\w*> -]+\)? ?[;&]", loop) for loop in loops), loops
    told = subprocess.run(["./rows"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return [], np.array([line.split() for line in told.splitlines()], dtype=float)


def run_cuda(folder: Path, case: Case, kind: type[np.floating] = np.float64) -> Found:
    """The kernel as C++, three runs of which the last is taken; without names. Runs without rows, step by
    step, end with the same motion.
    """
    text = (folder / "main.cu").read_text()
    tables = {
        kind: re.findall(
            r'\{("[^"]*"), ([^,]+), ([^}]+)\}', re.split(rf"quantity {kind}\[", text)[1].split(";")[0]
        )
        for kind in ("parameters", "states", "memory", "ends")
    }
    numbers = {kind: [float(v) * float(f) for _, v, f in rows] for kind, rows in tables.items()}
    names = [ast.literal_eval(name) for name, *_ in tables["states"]]
    for name, value in case.initial.items():
        numbers["states"][names.index(name)] = value
    states = np.zeros((max(map(len, numbers.values())), 3), kind)
    arrays = [np.repeat(np.array(numbers[k], kind)[:, None], 3, axis=1) for k in ("parameters", "memory")]
    states[: len(numbers["states"])] = np.array(numbers["states"])[:, None]
    header = next(folder.glob("*.cuh")).read_text()
    outputs = int(re.findall(r"_OUTPUTS = (\d+)", header)[0])
    rows, status = np.zeros((9, outputs, 3), kind), np.full(3, -1, np.int32)
    single = kind is np.float32
    code = library(folder, "float" if single else "double", "-O0")  # test_export_cuda optimises
    code.all_runs.argtypes = [
        ctypes.c_longlong,
        ctypes.c_float if single else ctypes.c_double,
        *[ctypes.c_longlong] * 2,
        *[ctypes.c_void_p] * 5,
    ]
    ends = []
    for kept in (0, rows.ctypes.data):
        own = [a.copy() for a in (arrays[0], states, arrays[1])]
        parameters, state, memory = (a.ctypes.data for a in own)
        count = case.steps // 8
        code.all_runs(
            3, case.span / case.steps, case.steps, count, parameters, state, memory, kept, status.ctypes.data
        )
        assert set(status) == {1}
        ends.append(np.concatenate(own[1:]))
    np.testing.assert_array_equal(*ends)
    return [], rows[:, :, -1]


LANGUAGES = {
    "c": run_c, "cuda": run_cuda, "embedded": run_embedded, "python": run_python, "fortran": run_fortran,
    "matlab": run_matlab, "rust": run_rust,
}  # fmt: skip
TOOLS = {
    "c": CC, "cuda": CXX, "embedded": CC, "fortran": shutil.which("gfortran"), "matlab": OCTAVE,
    "rust": shutil.which("cargo"),
}  # fmt: skip


def exported(eom: Equations, language: str, folder: Path) -> Path:
    """The program of a language with all configurations, in double precision."""
    options: dict[str, Any] = {"configurations": True}
    if language == "embedded":
        options |= {"profile": "embedded", "precision": "double", "measure": False}
    return eom.export("c" if language == "embedded" else language, folder, **options)


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
    assert run.status.startswith("stopped: the run needs a configuration that this program does not hold, or")


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
    assert ": catch: the run needs a configuration that this program does not hold, or comes" in ran.stderr


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
    with pytest.raises(arm.ArmillaryError, match=r"'let go' locks.* hold all of them unless"):
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
