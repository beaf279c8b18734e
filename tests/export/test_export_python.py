"""Exported Python: the numbers of this process, from a module that needs nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from examples import four_bar
from tests.export.conformance import CASES, equations, expected
from tests.export.python_programs import load


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a case, written when it is first requested."""
    base = tmp_path_factory.mktemp("python")
    return cache(lambda name: equations(name).export("python", base / name.replace(" ", "_")))


def run_python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of the folder, without the packages of this environment."""
    command = [sys.executable, "-I", "-S", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", CASES)
def test_exported_python_gives_the_numbers_of_the_process(name: str, exported: Callable[[str], Path]) -> None:
    wanted, case, module = expected(name), CASES[name], load(exported(name))
    parameters = module.parameters_of(wanted.parameters)
    constants = module.precompute(parameters)
    wanted.constants.check(constants, "constants")
    for point in wanted.points:
        for section in ("derivatives", "outputs", "events", "update"):
            numbers = getattr(point, section)
            if numbers.values.size:
                given = (point.t, point.state.tolist(), constants, point.memory.tolist())
                numbers.check(getattr(module, section)(*given), section)
    found = module.simulate(
        case.duration, case.step, parameters=parameters, initial=case.initial, memory=case.memory
    )
    np.testing.assert_array_equal(found.time[:-1], wanted.run.time[:-1])
    wanted.run.rows.check(found.rows, "rows")
    assert [happened for _, happened in found.events] == [happened for happened, _ in wanted.run.events]
    for (t, _), (_, expected_t) in zip(found.events, wanted.run.events, strict=True):
        assert abs(t - expected_t) <= wanted.run.event_room


def test_rows_between_steps_and_another_method(exported: Callable[[str], Path]) -> None:
    module, model = load(exported("controller")), equations("controller").compile()
    found = module.simulate(0.4, 0.03, method="midpoint", sample=0.007, start=0.5, initial={"bob.q1": -0.1})
    run = model.simulate(0.9, t0=0.5, step=0.03, method="midpoint", sample=0.007, initial={"bob.q1": -0.1})
    np.testing.assert_array_equal(found.time, run.time)
    np.testing.assert_allclose(found.rows, run.values, rtol=0, atol=1e-12)  # 14 steps of values below 60


def test_events_that_come_faster_and_faster_end_the_run_at_the_same_bounce(
    exported: Callable[[str], Path],
) -> None:
    s = arm.System("ball")
    s.parameter("g", 9.81, units="m/s2")
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=0.1, inertia=0)
    s.gravity("g", -s.ground.y)
    s.event("bounce", ball.q1, direction=-1, set={ball.u1: "-0.8*ball.u1"})
    eom = s.derive()
    found = load(eom.export("python", exported("bouncing").parent / "ball")).simulate(
        10.0, 0.01, initial={"ball.q1": 1.0}
    )
    with pytest.raises(arm.SimulationError) as failed:
        eom.compile().simulate(10.0, step=0.01, initial={"ball.q1": 1.0})
    assert found.status == "event 'bounce' accumulates"
    bounces = [e.time for e in failed.value.run.events]
    assert [t for t, _ in found.events] == pytest.approx(bounces, rel=1e-13)


def test_a_run_ends_where_other_dependent_speeds_are_needed(tmp_path: Path) -> None:
    """A bead on a ring, in Cartesian coordinates: in the process x gives way to y where x says little."""
    s = arm.System("ring")
    s.parameter("R", 1.0, units="m", about="radius")
    x = s.body("x", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.body("y", x, arm.Prismatic("y"), mass=1.0, inertia=0)
    s.constrain("x.q1**2 + y.q1**2 - R**2")
    s.start({"x.q1": 0.6, "y.q1": 0.8, "x.u1": 1.0})
    eom = s.derive()
    found = load(eom.export("python", tmp_path / "ring")).simulate(1.0, 0.01)
    assert "other dependent speeds are needed" in found.status
    run = eom.compile().simulate(1.0, step=0.01)
    assert run.info["configurations"].startswith(f"t = {found.t:.6g} s: y.u1 became independent")
    count = len(found.rows) - 1  # the last row is the place of the event
    np.testing.assert_allclose(found.rows[:count], run.values[:count], rtol=0, atol=1e-12)


def test_the_program_runs_alone_and_tests_itself(exported: Callable[[str], Path], tmp_path: Path) -> None:
    folder, model = exported("controller"), equations("controller").compile()
    ran = run_python(folder, "controlled_pendulum.py", "run.toml")
    assert (ran.returncode, ran.stderr) == (0, "")
    names, *rows = (folder / "run.csv").read_text().splitlines()
    assert names.split(",") == ["time", *model.output_names]
    table = np.array([[float(word) for word in row.split(",")] for row in rows])
    run = model.simulate(table[-1, 0], step=table[1, 0])
    np.testing.assert_allclose(table[:, 1:], run.values, rtol=0, atol=1e-11)  # 200 steps of values below 10

    tested = run_python(folder, "test_controlled_pendulum.py")
    assert (tested.returncode, tested.stdout.splitlines()[-1]) == (0, "all as stored")
    lines = (folder / "reference.txt").read_text().splitlines()
    place = lines.index("derivatives 2") + 1
    first, _, others = lines[place].partition(" ")
    lines[place] = f"{float(first) + 1e-6} {others}"
    (tmp_path / "reference.txt").write_text("\n".join(lines))
    for file in folder.glob("*.py"):
        (tmp_path / file.name).write_text(file.read_text())
    assert run_python(tmp_path, "test_controlled_pendulum.py").returncode == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nstep = 0.1\n", "[run] needs duration"),
        ("[run]\nstep = 0.1\nduration = 1.0\nmethod = 'euler'\n", "there is no method 'euler'"),
        ("[run]\nstep = -0.1\nduration = 1.0\n", "not negative"),
        ("[run]\nstep = 0.1\nduration = 1.0\nstop = 2\n", "there is no 'stop' in [run]"),
        ("[run]\nstep = 0.1\nduration = 1.0\n[parameters]\nL = '3 m'\n", "parameters.L must be a number"),
        ("[run]\nstep = 0.1\nduration = 1.0\n[parameters]\nLL = 3\n", "there is no parameter 'LL'"),
        ("[run]\nstep = 0.1\nduration = 1.0\n[initial]\n'bob.q2' = 3\n", "there is no state 'bob.q2'"),
        ("[runs]\n", "there is no 'runs' in a run file"),
        ("run = 3\n", "'run' must be a table"),
        ("[run\n", "is not a TOML file"),
    ],
)
def test_a_wrong_run_file_is_one_sentence(
    exported: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    message: str,
) -> None:
    (tmp_path / "run.toml").write_text(text)
    assert load(exported("controller")).main([str(tmp_path / "run.toml")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ") and message in told and told.count("\n") == 1
    assert not (tmp_path / "run.csv").exists()


def test_no_zero_in_a_file_has_a_sign(exported: Callable[[str], Path], tmp_path: Path) -> None:
    """As in files of runs: the pendulum starts at −0.0."""
    text = "[run]\nstep = 0.1\nduration = 0.1\n[initial]\n'bob.q1' = -0.0\n"
    (tmp_path / "run.toml").write_text(text)
    module = load(exported("controller"))
    assert module.main([str(tmp_path / "run.toml")]) == 0
    names, first, _ = (tmp_path / "run.csv").read_text().splitlines()
    values = dict(zip(names.split(","), first.split(","), strict=True))
    assert values["bob.q1"] == "0.0" and "-0.0" not in values.values()


def test_arithmetic_is_that_of_ieee_754(exported: Callable[[str], Path]) -> None:
    module, inf = load(exported("functions")), float("inf")
    assert module.div(1.0, 0.0) == inf and module.div(1.0, -0.0) == -inf and module.log(0.0) == -inf
    assert module.exp(1000.0) == inf and module.power(0.0, -1.3) == inf
    nothing = [module.div(0.0, 0.0), module.sin(inf), module.sqrt(-1.0), module.log(-1.0), module.asin(2.0)]
    nothing += [module.least(1.0, float("nan")), module.most(float("nan"), 1.0), module.power(-2.0, 0.3)]
    assert all(value != value for value in nothing)


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    s = arm.System("gate")
    A = s.body("A", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.event("latch", A.q1, lock=A.q1)
    with pytest.raises(ArmillaryError, match="event 'latch' locks or unlocks"):
        s.derive().export("python", tmp_path / "gate", configurations=False)
    with pytest.raises(ArmillaryError, match="cannot export to 'pyton'; did you mean 'python'"):
        s.derive().export("pyton", tmp_path / "gate")
    with pytest.raises(ArmillaryError, match="export to python has no option 'fast'"):
        equations("car").export("python", tmp_path / "car", fast=True)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("language", ["python", "jax"])
def test_a_module_defines_each_name_once(language: str, tmp_path: Path) -> None:
    """A later definition would take the place of the first one, whose sizes may be others."""
    folder = four_bar.system().derive().export(language, tmp_path / language, configurations=True)
    module = ast.parse((folder / "four_bar_linkage.py").read_text())
    names = [n.name for n in module.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    values = [target for n in module.body if isinstance(n, ast.Assign) for target in n.targets]
    names += [target.id for target in values if isinstance(target, ast.Name)]
    dictionaries = [n for n in ast.walk(module) if isinstance(n, ast.Dict)]
    keys = [[key.value for key in n.keys if isinstance(key, ast.Constant)] for n in dictionaries]
    for listed in (names, *keys):
        assert len(listed) == len(set(listed))
    assert "turn_rows" in names and "RIGHT_ANGLE" in names


def test_columns_of_an_exported_run_have_the_names_of_the_model(tmp_path: Path) -> None:
    """With tabs and blanks: what reads a file looks its columns up by name."""
    s = arm.System("names")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    for name in ("a\tb", "c  d", 'e, "f"'):
        s.output(name, "b.q1")
    made = s.derive()
    folder = made.export("python", tmp_path / "python")
    assert run_python(folder, "names.py", "run.toml", "out.csv").returncode == 0
    assert arm.load_run(folder / "out.csv").names == made.compile().output_names
    literals = {
        "c": r'"a\011b"',
        "fortran": "'a\tb'",
        "jax": r"'a\tb'",
        "matlab": "'a\tb'",
        "wasm": r'"a\tb"',
    }
    for language, literal in literals.items():
        files = made.export(language, tmp_path / language).rglob("*.*")
        texts = [
            p.read_text(encoding="utf-8") for p in files if p.suffix in (".c", ".f90", ".py", ".m", ".js")
        ]
        assert any(literal in text and "c  d" in text for text in texts), language
