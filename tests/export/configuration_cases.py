"""Systems that change their configuration, run by the exported programs of every language."""

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

import armillary as arm
from armillary.stages.equations import Equations
from tests.export.c_programs import CC
from tests.export.cuda_programs import CXX, library
from tests.export.matlab_programs import OCTAVE
from tests.export.rust_programs import cargo
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
