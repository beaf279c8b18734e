"""Exported programs close their loops as the process does, or end with the sentence that it gives.

Two linkages with closed forms: Sayers's four-bar, whose pins must meet, and a slider-crank in millimetres,
whose slider stands at r cos θ + √(l² − r² sin² θ). Each language runs the same starts.
"""

from __future__ import annotations

import csv
import math
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import linalg

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.stages.equations import Equations
from examples import four_bar
from tests.loading import loaded

STEP = 1e-3


@cache
def linkage() -> Equations:
    s = four_bar.system()
    s.start({"A.q1": -0.1})
    return s.derive()


@cache
def slider_crank() -> Equations:
    """In millimetres, so that 0.1 of a unit is nothing."""
    s = arm.System("slider crank", units="mm-kg-s")
    N = s.ground
    s.parameter("crank", 40.0, units="mm")
    s.parameter("rod", 100.0, units="mm")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(100, 100, 100))
    B = s.body("B", A, arm.Revolute("z"), at=("crank", 0, 0), mass=1, inertia=(100, 100, 100))
    C = s.body("C", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(B.point("end", ("rod", 0, 0)), C.origin, [N.x, N.y], name="pin")
    s.start({"A.q1": 0.5, "B.q1": -0.7, "C.q1": 130.0})
    return s.derive()


@dataclass(frozen=True)
class Start:
    """A run of no length: what is given, in the user's units."""

    model: Callable[[], Equations]
    initial: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)


CLOSING = {
    "four-bar from elsewhere": Start(linkage, {"A.q1": -0.4}),
    "four-bar beyond a half turn": Start(linkage, {"A.q1": 1.5}),
    "four-bar of other lengths": Start(linkage, parameters={"L1": 0.6, "L4": 0.25}),
    "longer crank": Start(slider_crank, parameters={"crank": 41.0}),
    "slider given": Start(slider_crank, {"C.q1": 90.0}),
    "all given, as run files list them": Start(slider_crank, {"A.q1": 0.9, "B.q1": -0.7, "C.q1": 120.0}),
    "two angles that contradict, of which one is a guess": Start(linkage, {"A.q1": 2.5, "B.q1": 0.2}),
}
OPEN = {
    "coupler too short": Start(linkage, {"A.q1": 2.5, "B.q1": 1.0}, {"L4": 0.02}),
    "rod too short": Start(slider_crank, {"A.q1": 1.5}, {"rod": 10.0}),
}


@cache
def refusal(name: str) -> str:
    """What the process says about a start whose loops stay open; it tries long before it gives up."""
    start = OPEN[name]
    with pytest.raises(arm.ArmillaryError) as caught:
        compiled(start.model).state(start.initial, start.parameters)
    return str(caught.value)


@cache
def compiled(model: Callable[[], Equations]) -> arm.CompiledModel:
    return model().compile()


def gap(start: Start, found: Mapping[str, float]) -> float:
    """How far apart the pins are, by the geometry of the linkage."""
    given = start.parameters
    if start.model is slider_crank:
        r, rod = given.get("crank", 40.0), given.get("rod", 100.0)
        a, x = found["A.q1"], found["C.q1"]
        reach = math.sqrt(rod**2 - (r * math.sin(a)) ** 2)
        b = a + found["B.q1"]
        side = math.hypot(r * math.cos(a) + rod * math.cos(b) - x, r * math.sin(a) + rod * math.sin(b))
        return max(min(abs(x - r * math.cos(a) - reach), abs(x - r * math.cos(a) + reach)), side)
    L1, L4, L5 = given.get("L1", 0.5), given.get("L4", 0.3), 0.1
    b, c = found["A.q1"] + found["B.q1"], found["C.q1"]
    x = L1 * math.cos(found["A.q1"]) - L4 * math.sin(b) - (L5 + (L1 - L5) * math.cos(c))
    return math.hypot(x, L1 * math.sin(found["A.q1"]) + L4 * math.cos(b) - (L4 + (L1 - L5) * math.sin(c)))


# ---------------------------------------------------------------- coordinates of a start, or its message

Answer = tuple[dict[str, float], str]
FLAGS = ["-O0", "-Wall", "-Wextra", "-Werror"]


def run_file(start: Start) -> str:
    lines = ["[run]", "duration = 0.0", f"step = {STEP}", "[parameters]"]
    lines += [f"{name} = {value!r}" for name, value in start.parameters.items()]
    return "\n".join([*lines, "[initial]", *(f'"{n}" = {v!r}' for n, v in start.initial.items())]) + "\n"


def rows(text: str) -> dict[str, float]:
    table = list(csv.reader(text.splitlines()))
    return {name: float(value) for name, value in zip(table[0], table[1], strict=True)}


def called(command: list[str], folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def in_c(folder: Path, start: Start) -> Answer:
    if not (folder / "program").exists():
        names = [p.name for p in folder.glob("*.c") if p.name != "test.c"]
        subprocess.run(["cc", "-std=c99", *FLAGS, *names, "-o", "program", "-lm"], cwd=folder, check=True)
    (folder / "now.toml").write_text(run_file(start))
    code, out, said = called(["./program", "now.toml"], folder)
    assert (code != 0) == bool(said)
    return ({} if code else rows(out)), said.strip()


def in_cuda(folder: Path, start: Start) -> Answer:
    if not (folder / "program").exists():
        flags = ["-std=c++11", *FLAGS, "-x", "c++"]
        subprocess.run(["c++", *flags, "main.cu", "-o", "program"], cwd=folder, check=True)
    given = {**start.parameters, **start.initial}
    (folder / "runs.csv").write_text(f"{','.join(given)}\n{','.join(map(repr, given.values()))}\n")
    code, out, said = called(["./program", "runs.csv", str(STEP), "0"], folder)
    assert (code != 0) == bool(said) == (out.splitlines()[1].startswith("6,"))
    return ({} if code else rows(out)), said.strip().removeprefix("runs.csv:2: ")


module = cache(loaded)


def in_python(folder: Path, start: Start) -> Answer:
    m = module(folder)
    try:
        parameters = m.parameters_of(dict(start.parameters))
        run = m.simulate(0.0, STEP, parameters=parameters, initial=dict(start.initial))
    except ValueError as error:
        return {}, str(error)
    return {name: float(value) for name, value in zip(m.OUTPUT_NAMES, run.rows[0], strict=True)}, ""


def in_jax(folder: Path, start: Start) -> Answer:
    pytest.importorskip("jax", reason="jax is not installed")
    return in_python(folder, start)


def in_fortran(folder: Path, start: Start) -> Answer:
    stem = next(p.name.removesuffix("_solver.f90") for p in folder.glob("*_solver.f90"))
    if not (folder / stem).exists():
        flags = "FFLAGS=-std=f2008 -O0 -Wall -Wextra -pedantic -Werror"
        subprocess.run(["make", "-s", flags, stem], cwd=folder, check=True)
    text = f"&run duration = 0.0, step = {STEP} /\n&parameters "
    text += ", ".join(f"{name} = {value!r}" for name, value in start.parameters.items()) + " /\n&initial "
    text += ", ".join(f"{n.replace('.', '_')} = {v!r}" for n, v in start.initial.items()) + " /\n"
    (folder / "now.nml").write_text(text)
    code, _, said = called([f"./{stem}", "now.nml", "now.csv"], folder)
    message = said.partition("error: ")[2].partition("\nSTOP")[0].partition("\nNote:")[0].strip()
    return ({} if code else rows((folder / "now.csv").read_text())), message


def in_matlab(folder: Path, start: Start) -> Answer:
    octave = shutil.which("octave-cli") or shutil.which("octave")
    package = next(p.name[1:] for p in folder.glob("+*"))
    named = ", ".join(f"'{n}', {v!r}" for n, v in start.initial.items())
    lines = [f"p = {package}.parameters();", *(f"p.{n} = {v!r};" for n, v in start.parameters.items())]
    lines += ["try", f"r = {package}.simulate(0, {STEP}, 'parameters', p, 'initial', {{{named}}});"]
    lines += ["printf('%s,', r.names{:}); printf('\\n'); printf('%.17g,', r.values(1, :));"]
    lines += ["catch e", "printf('%s', e.message); exit(1);", "end"]
    code, out, _ = called([str(octave), "--norc", "--quiet", "--eval", "\n".join(lines)], folder)
    if code:
        return {}, out.strip()
    names, values = (line.rstrip(",").split(",") for line in out.strip().splitlines())
    return {n: float(v) for n, v in zip(names, values, strict=True)}, ""


@dataclass(frozen=True)
class Language:
    """How a language is run, the program that it needs, and the models that it runs.

    CUDA holds the text of C, JAX that of Python; they and MATLAB, which is slow, take one model. FMUs, which
    hold that of C too, are asked in tests/export/fmi.
    """

    run: Callable[[Path, Start], Answer]
    needs: str = ""
    models: tuple[Any, ...] = (linkage, slider_crank)


LANGUAGES = {
    "c": Language(in_c, "cc"),
    "cuda": Language(in_cuda, "c++", (slider_crank,)),
    "python": Language(in_python),
    "jax": Language(in_jax, "", (slider_crank,)),
    "fortran": Language(in_fortran, "gfortran"),
    "matlab": Language(in_matlab, "octave-cli", (linkage,)),
}


def asked(language: str, starts: Mapping[str, Start]) -> dict[str, Start]:
    return {name: start for name, start in starts.items() if start.model in LANGUAGES[language].models}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Any], Path]:
    base = tmp_path_factory.mktemp("assembly")

    @cache
    def made(language: str, model: Callable[[], Equations]) -> Path:
        needs = LANGUAGES[language].needs
        if needs and shutil.which(needs) is None:
            pytest.skip(f"{needs} is not installed")
        (base / language).mkdir(exist_ok=True)
        return model().export(language, base / language / model.__name__)

    return made


@pytest.mark.parametrize("language", LANGUAGES)
def test_loops_are_closed_before_the_first_row(language: str, exported: Callable[[str, Any], Path]) -> None:
    """The pins meet to 1e-9 of the linkage, what is given stays, and the branch is that of the process."""
    starts = list(asked(language, CLOSING).items())
    for name, start in starts[:1] if language == "jax" else starts:
        found, said = LANGUAGES[language].run(exported(language, start.model), start)
        assert not said, (name, said)
        size = 100.0 if start.model is slider_crank else 1.0
        assert gap(start, found) < 1e-9 * size, name
        state = compiled(start.model).state(start.initial, start.parameters)
        for coordinate, value in zip(start.model().coordinates, state, strict=False):
            assert found[coordinate] == pytest.approx(value, abs=1e-8 * size), (name, coordinate)


def test_starting_speeds_of_loops_are_those_of_the_process(exported: Callable[[str, Any], Path]) -> None:
    """Independent speeds start as described or given, and the constraints tell the others at the assembled
    place, whatever the parameters.
    """
    for parameters in ({}, {"crank": 55.0, "rod": 120.0}):
        start = Start(slider_crank, {"A.u1": 3.0}, parameters)
        found, _ = in_python(exported("python", slider_crank), start)
        model = compiled(slider_crank)
        state = model.state(start.initial, parameters)
        expected = model.outputs(0.0, state, parameters)
        assert found["C.u1"] == pytest.approx(expected["C.u1"], rel=1e-10)
        assert found["B.u1"] == pytest.approx(expected["B.u1"], rel=1e-10)
        assert abs(found["C.u1"]) > 50.0


@pytest.mark.parametrize(
    "language", [name for name in LANGUAGES if name != "jax"]
)  # the text of Python, slowly
def test_loops_that_cannot_be_closed_end_with_the_words_of_the_process(
    language: str, exported: Callable[[str, Any], Path], tmp_path: Path
) -> None:
    """MATLAB, which is slow, looks for a closed place from fewer scattered starts."""
    starts = list(asked(language, OPEN).items())
    for name, start in starts if language == "c" else starts[-1:]:
        folder = exported(language, start.model)
        if language == "matlab":
            folder = Path(shutil.copytree(folder, tmp_path / "fewer"))
            [code] = folder.rglob("assembled.m")
            text = code.read_text(encoding="utf-8")
            assert text.count("turn < r.rules.scattered") == 1
            code.write_text(text.replace("turn < r.rules.scattered", "turn < 4"), encoding="utf-8")
        found, said = LANGUAGES[language].run(folder, start)
        assert not found, name
        assert _words(said) == _words(refusal(name)), name
        np.testing.assert_allclose(_numbers(said), _numbers(refusal(name)), rtol=1e-4)


def _numbers(text: str) -> list[float]:
    return [float(line.split(": ")[-1].split()[0]) for line in text.splitlines() if " remains" in line]


def _words(text: str) -> list[str]:
    """The message without its numbers."""
    shown = [line.rpartition(": ") for line in text.splitlines()]
    return [f"{a}: {b.partition(' ')[2]}" if " remains" in b else a + b for a, _, b in shown]


IN_C = """\
#include "{stem}_assembly.h"
#include <stdio.h>
static {stem}_run run;
static {stem}_loops room;
static {real} p[{upper}_PARAMETERS];
static int given[{upper}_COORDINATES];
static void begin(void)
{{
    {stem}_default_parameters(p);
    for (int i = 0; i < {upper}_COORDINATES; i++) given[i] = 0;
}}
static void show(void)
{{
    const int found = {stem}_close(&run, &room, given);
    {stem}_begin(&run);
    printf("%d %d", found, run.status);
    for (int i = 0; i < {upper}_COORDINATES; i++)
        printf(" %.17g", (double)(i < {upper}_GAPS && found ? room.numbers[i] : run.state[i]));
    printf("\\n");
}}
int main(void)
{{
{starts}
    return 0;
}}
"""
IN_RUST = """\
use {stem}::*;
fn main() {{
    let mut room = Loops::new();
    let show = |run: &mut Run, room: &mut Loops, given: &[bool; {coordinates}]| {{
        let found = run.close(room, given);
        run.begin();
        let values: Vec<String> = run.state[..{coordinates}].iter().map(|x| format!("{{}}", x)).collect();
        println!("{{}} {{}} {{}}", found, run.status, values.join(" "));
    }};
{starts}
}}
"""


def microcontroller_starts(eom: Equations, starts: list[Start], rust: bool) -> str:
    """Statements that close the loops of each start, in C or in Rust."""
    stem = eom.system.name.replace("-", "_").replace(" ", "_")
    lines = []
    for start in starts:
        own = {list(eom.parameters).index(n): v for n, v in start.parameters.items()}
        state = {eom.coordinates.index(n): v for n, v in start.initial.items()}
        if rust:
            flags = ", ".join(str(i in state).lower() for i in range(len(eom.coordinates)))
            lines += ["{ let mut p = PARAMETER_VALUES;", *(f"p[{i}] = {v!r};" for i, v in own.items())]
            lines += ["let mut run = Run::new(&p, 0.0, 1.0, 1e-3);"]
            lines += [f"run.state[{i}] = FIRST_GUESS[{i}];" for i in range(len(eom.coordinates))]
            lines += [f"run.state[{i}] = {v!r};" for i, v in state.items()]
            lines += [f"show(&mut run, &mut room, &[{flags}]); }}"]
        else:
            lines += ["begin();", *(f"p[{i}] = {v!r};" for i, v in own.items())]
            lines += [f"{stem}_setup(&run, p, 0, 1, 1);"]
            lines += [f"run.state[{i}] = {stem}_first_guess[{i}];" for i in range(len(eom.coordinates))]
            lines += [f"run.state[{i}] = {v!r}; given[{i}] = 1;" for i, v in state.items()]
            lines += ["show();"]
    return "\n".join(lines)


def on_microcontroller(eom: Equations, folder: Path, starts: list[Start], precision: str) -> np.ndarray:
    """Rows of code, status of the run and coordinates, of C."""
    stem = eom.system.name.replace("-", "_").replace(" ", "_")
    eom.export("c", folder, profile="embedded", precision=precision, measure=False)
    text = IN_C.format(
        stem=stem, upper=stem.upper(), real="float" if precision == "single" else "double",
        starts=microcontroller_starts(eom, starts, False),
    )  # fmt: skip
    (folder / "driver.c").write_text(text)
    strict = ["-std=c99", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Isrc"]
    names = [str(p.relative_to(folder)) for p in folder.glob("src/*.c")]
    subprocess.run(["cc", *strict, "driver.c", *names, "-o", "driver", "-lm"], cwd=folder, check=True)
    return np.array([line.split() for line in called(["./driver"], folder)[1].splitlines()], dtype=float)


@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("model", [linkage, slider_crank])
def test_microcontrollers_close_loops_from_rough_values(model: Any, precision: str, tmp_path: Path) -> None:
    """On the branch of the process and to the precision; where it cannot be, the code and what remains."""
    opening = [(n, s) for n, s in OPEN.items() if s.model is model]
    starts = [*((n, s) for n, s in CLOSING.items() if s.model is model), *opening]
    rows = on_microcontroller(model(), tmp_path / "c", [s for _, s in starts], precision)
    size = 100.0 if model is slider_crank else 1.0
    room = (2e-6 if precision == "single" else 1e-9) * size
    for (name, start), (code, status, *values) in zip(starts, rows, strict=True):
        if name in OPEN:
            assert (code, status) == (1, 6), name
            left = [v for v in values[: len(core_of(model()).reduction.layout.gaps)] if v != 0.0]
            flat = 1e-3 if precision == "single" else 1e-4  # the root of rounding: gaps are smallest there
            np.testing.assert_allclose(left, _numbers(refusal(name)), rtol=flat)
        else:
            assert (code, status) == (0, 0), name
            assert gap(start, dict(zip(model().coordinates, values, strict=True))) < room, name
            state = compiled(model).state(start.initial, start.parameters)
            np.testing.assert_allclose(values, state[: len(values)], atol=room, rtol=0, err_msg=name)
    header = next((tmp_path / "c" / "src").glob("*_assembly.h")).read_text()
    assert "the loops cannot be closed" in header and "remains, set by" in header


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust compiler (cargo)")
def test_rust_closes_loops_from_rough_values(tmp_path: Path) -> None:
    starts = [s for s in (*CLOSING.values(), *OPEN.values()) if s.model is slider_crank]
    eom = slider_crank()
    folder = eom.export("rust", tmp_path / "rust")
    text = IN_RUST.format(
        stem="slider_crank", coordinates=3, starts=microcontroller_starts(eom, starts, True)
    )
    (folder / "examples").mkdir()
    (folder / "examples" / "closed.rs").write_text(text)
    code, out, said = called(["cargo", "run", "--offline", "--quiet", "--example", "closed"], folder)
    assert code == 0, said
    rows = np.array([line.split() for line in out.splitlines()], dtype=float)
    assert rows[:, :2].tolist() == [*[[0, 0]] * (len(starts) - 1), [1, 6]]
    for start, (_, _, *values) in zip(starts[:-1], rows, strict=False):
        state = compiled(slider_crank).state(start.initial, start.parameters)
        np.testing.assert_allclose(values, state[:3], atol=1e-7, rtol=0)


def test_what_is_left_open_is_as_small_as_it_can_be() -> None:
    """A rod of 10 mm on a crank of 40 mm at 1.5 rad leaves 40 sin 1.5 − 10 at least, straight down. The pin
    of the coupler, whose place both given angles decide, is beyond the crank C of 0.4 m.
    """
    pin = 0.5 * np.exp(2.5j) + 0.02j * np.exp(3.5j)
    assert np.linalg.norm(_numbers(refusal("coupler too short"))) == pytest.approx(
        abs(pin - (0.1 + 0.02j)) - 0.4, rel=1e-5
    )
    assert "pin along ground.y" in refusal("rod too short")
    assert np.linalg.norm(_numbers(refusal("rod too short"))) == pytest.approx(
        40 * math.sin(1.5) - 10, rel=1e-5
    )


def test_a_differentiable_start_of_open_loops_is_nan(exported: Callable[[str, Any], Path]) -> None:
    """What a rollout begins with cannot raise: a crank of 40 mm at 1.5 rad is beyond a rod of 10 mm."""
    pytest.importorskip("jax", reason="jax is not installed")
    m = module(exported("jax", slider_crank))
    for rod, closed in ((100.0, True), (10.0, False)):
        start, constants = m.initial_state({"A.q1": 1.5}), m.precompute(m.parameters_of({"rod": rod}))
        found = m.assembled(0.0, np.array(start), constants, np.array(m.initial_memory()))
        assert bool(np.all(np.isfinite(found))) is closed
        assert bool(np.all(np.isnan(found))) is not closed


@pytest.mark.parametrize(
    ("rows", "weak"),
    [
        ([[2.0, 0.5, 0.0], [0.3, 1.0, -1.0]], 1e-3),  # independent
        ([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, -1.0], [1.0, 3.0, 2.0]], 1e-6),  # of rank two
        ([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-4, 0.0], [0.0, 0.0, 1.0]], 1e-3),  # one value is left out
        ([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-4, 0.0], [0.0, 0.0, 1.0]], 1e-6),  # and is not
        ([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]], 1e-3),
    ],
)
def test_steps_are_the_shortest_least_squares(
    rows: list[list[float]], weak: float, exported: Callable[[str, Any], Path]
) -> None:
    """The described solution beside LAPACK's singular values. Where a weak direction is left out, the factors
    leave out the last part of a column (QR with exchange of columns): the solution is the shortest one of the
    equations without that part, which is as small as the direction is weak.
    """
    m = module(exported("python", linkage))
    run = m.Loops(0.0, [0.0] * 3, [], [], [False] * 3)
    right = [0.7, -0.4, 0.2, 0.1][: len(rows)]
    run.rows, run.columns, run.cut = len(rows), 3, weak
    run.matrix[: 3 * len(rows)] = np.ravel(rows, order="F").tolist()
    run.residual[: len(rows)] = [-x for x in right]
    m.factorise_matrix(run)
    m.set_step(run)
    matrix, kept = np.array(rows), np.empty((len(rows), 3))
    basis, factors, order = linalg.qr(matrix, pivoting=True)
    for i, pivot in enumerate(np.diag(factors)):
        if abs(pivot) <= weak * abs(factors[0, 0]):
            factors[i] = 0.0
    kept[:, order] = basis @ factors
    assert np.linalg.norm(matrix - kept) <= weak * np.linalg.norm(matrix)
    expected = np.linalg.lstsq(kept, np.array(right), rcond=1e-12)[0]
    np.testing.assert_allclose(run.step, expected, rtol=1e-10, atol=1e-12)
