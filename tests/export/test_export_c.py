"""Exported C: no warning, the in-process numbers, run files, errors with line numbers."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.c import program_files
from armillary.export.text.source import make_source
from armillary.model.units import state_factor
from tests.export.c_programs import CC, FLAGS, Library, compiled, stem_of
from tests.export.conformance import CASES, DIFFERENT, equations, expected

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler (cc)")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a case, written when it is first requested."""
    base = tmp_path_factory.mktemp("c")
    return cache(lambda name: equations(name).export("c", base / name.replace(" ", "_")))


def test_headers_list_the_bodies_with_what_they_hang_on(tmp_path: Path) -> None:
    s = arm.System("cart")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", cart, arm.Revolute("y"), com=(0, 0, 0.5), mass=1.0, inertia=(0.1, 0.1, 0))
    s.derive().export("c", tmp_path / "c")
    for name in ("cart.h", "cart.c"):
        rows = [line.split()[1:] for line in (tmp_path / "c" / name).read_text().splitlines()[:12]]
        assert ["cart", "ground", "prismatic", "x", "cart.q1"] in rows
        assert ["pole", "cart", "revolute", "y", "pole.q1"] in rows


def sources(folder: Path) -> list[str]:
    """The model and its solver."""
    return sorted(p.name for p in folder.glob(f"{stem_of(folder)}*.c"))


@pytest.mark.parametrize("name", CASES)
def test_exported_c_gives_the_numbers_of_the_process(name: str, exported: Callable[[str], Path]) -> None:
    wanted, library = expected(name), Library(exported(name))
    constants = library.constants(np.array(list(wanted.parameters.values())), len(wanted.constants.values))
    wanted.constants.check(constants, "constants")
    for point in wanted.points:
        for section in ("derivatives", "outputs", "events", "update"):
            numbers = getattr(point, section)
            numbers.check(library.call(section, point, constants, len(numbers.values)), f"{name}: {section}")


@pytest.mark.parametrize("name", ("car", *DIFFERENT))
def test_exported_program_runs_as_the_process_does(name: str, exported: Callable[[str], Path]) -> None:
    """The same rows and events from a run file, events located to the same place."""
    case, wanted, folder = CASES[name], expected(name).run, exported(name)
    stem = stem_of(folder)
    program = compiled(folder, "main.c", *sources(folder), output=stem)
    (folder / "this.toml").write_text(run_file(name))
    done = subprocess.run([program, "this.toml", "run.csv"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (folder / "run.csv").open() as file:
        head, *rows = csv.reader(file)
    table = np.array(rows, dtype=float)
    assert tuple(head[1:]) == tuple(c.name for c in core_of(equations(name)).targets.columns)
    assert table[:, 0] == pytest.approx(wanted.time, abs=wanted.event_room, rel=0)
    wanted.rows.check(table[:, 1:], f"{name}: rows")
    told = [line.split(": event ") for line in done.stderr.splitlines()]
    assert [event.strip("'") for _, event in told] == [e for e, _ in wanted.events]
    times = [float(t.removeprefix("t = ")) for t, _ in told]
    assert times == pytest.approx(
        [t for _, t in wanted.events], rel=1e-8, abs=wanted.event_room
    )  # 9 digits told
    assert case.duration == pytest.approx(wanted.time[-1]) or wanted.events


def run_file(name: str) -> str:
    case = CASES[name]
    factors = {s.data.name: state_factor(s) for s in equations(name).system.moving()}
    start = {key: x / factors[key] for key, x in expected(name).start.items()}
    lines = ['model = "elsewhere.toml"  # of another program', "[parameters]"]
    lines += [f"{key} = {value!r}  # given" for key, value in case.parameters.items()]
    lines += ["[initial]", *(f'"{key}" = {float(value)!r}' for key, value in start.items())]
    lines += ["[inputs]", *(f"{key} = {value!r}" for key, value in case.memory.items())]
    lines += ["[run]", f"duration = {case.duration!r}", f"step = {case.step!r}", 'method = "rk4"']
    return "\n".join([*lines, "[output]", 'select = ["x"]', ""])


def test_self_tests_pass_and_notice_a_wrong_number(exported: Callable[[str], Path]) -> None:
    folder = exported("controller")
    flags = f"CFLAGS={' '.join(FLAGS)} -O0"
    done = subprocess.run(["make", flags, "test"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all numbers agree" in done.stdout
    subprocess.run(["make", flags], cwd=folder, capture_output=True, check=True)
    example = subprocess.run(
        ["./controlled_pendulum", "run.toml"], cwd=folder, capture_output=True, text=True
    )
    assert example.returncode == 0 and len(example.stdout.splitlines()) == 202, example.stderr
    code = (folder / "test.c").read_text()
    start = code.index("{", code.index("= {", code.index("double expected_outputs[")) + 3)
    (folder / "test.c").write_text(code[: start + 1] + "1.0 + " + code[start + 1 :])
    done = subprocess.run(["make", flags, "test"], cwd=folder, capture_output=True, text=True)
    assert done.returncode != 0
    assert "outputs[0] is" in done.stdout


def test_rows_between_steps_of_a_run_that_starts_later(exported: Callable[[str], Path]) -> None:
    folder, stem = exported("controller"), stem_of(exported("controller"))
    program = compiled(folder, "main.c", f"{stem}_solver.c", f"{stem}.c", output=stem)
    timing = "start = 0.5\nduration = 0.4\nstep = 0.03\nsample = 0.007\n"
    (folder / "later.toml").write_text(f'[initial]\n"bob.q1" = -0.1\n[run]\nmethod = "midpoint"\n{timing}')
    done = subprocess.run([program, "later.toml"], cwd=folder, capture_output=True, text=True, check=True)
    table = np.array([line.split(",") for line in done.stdout.splitlines()[1:]], dtype=float)
    model = equations("controller").compile()
    run = model.simulate(0.9, t0=0.5, step=0.03, method="midpoint", sample=0.007, initial={"bob.q1": -0.1})
    np.testing.assert_array_equal(table[:, 0], run.time)
    np.testing.assert_allclose(table[:, 1:], run.values, rtol=0, atol=1e-12)  # 14 steps of values below 60


def test_rates_of_the_step_before_are_kept(exported: Callable[[str], Path]) -> None:
    """Adams–Bashforth in C and in the process: the same steps."""
    name = "tumbler"
    folder, stem = exported(name), stem_of(exported(name))
    program = compiled(folder, "main.c", f"{stem}_solver.c", f"{stem}.c", output=stem)
    (folder / "ab2.toml").write_text(run_file(name).replace('method = "rk4"', 'method = "ab2"'))
    done = subprocess.run([program, "ab2.toml"], cwd=folder, capture_output=True, text=True, check=True)
    table = np.array([line.split(",") for line in done.stdout.splitlines()[1:]], dtype=float)
    case = CASES[name]
    run = equations(name).compile().simulate(case.duration, step=0.01, method="ab2", initial=case.initial)
    np.testing.assert_allclose(table[:, 1:], run.values, rtol=0, atol=1e-11 * np.max(np.abs(run.values)))


def test_adaptive_runs_keep_their_tolerance(exported: Callable[[str], Path]) -> None:
    """dopri5 in C against dopri5 in the process: the same method and the same control of its steps."""
    name = "tumbler"
    folder, stem = exported(name), stem_of(exported(name))
    program = compiled(folder, "main.c", f"{stem}_solver.c", f"{stem}.c", output=stem)
    text = run_file(name).replace('method = "rk4"', 'method = "dopri5"\nsample = 0.05\nrtol = 1e-8')
    (folder / "adaptive.toml").write_text(text.replace("step = 0.01\n", ""))
    done = subprocess.run([program, "adaptive.toml"], cwd=folder, capture_output=True, text=True, check=True)
    table = np.array([line.split(",") for line in done.stdout.splitlines()[1:]], dtype=float)
    case = CASES[name]
    run = (
        equations(name)
        .compile()
        .simulate(
            case.duration, method="dopri5", sample=0.05, rtol=1e-8, initial=case.initial, progress=False
        )
    )
    assert table[:, 0] == pytest.approx(run.time, abs=1e-15)
    assert table[:, 1:] == pytest.approx(run.values, rel=1e-11, abs=1e-11)  # rounding decides no step here


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("[parameters]\n\nSTER = 1.0\n", "run.toml:3: unknown parameter 'STER'"),
        ('[parameters]\nSTEER = "1 deg"\n', "run.toml:2: no plain number for 'STEER'"),
        ("[parameters]\nSTEER = nan\n", "run.toml:2: no plain number for 'STEER'"),
        ("[parameters]\nSTEER 1.0\n", "run.toml:2: not a line of the form"),
        ('[initial]\n"RB.q9" = 1.0\n', "run.toml:2: unknown state 'RB.q9'"),
        ('[run]\nmethod = "euler"\n', "run.toml:2: unknown method 'euler'"),
        ('[run]\nmethod = "rk4"\n', "rk4, midpoint and ab2 take steps of one size; give step"),
        ("[run]\nsteps = 1\n", "run.toml:2: unknown setting 'steps'"),
    ],
)
def test_errors_of_run_files_name_the_line(lines: str, message: str, exported: Callable[[str], Path]) -> None:
    folder = exported("car")
    if not (folder / "car").exists():
        compiled(folder, "main.c", "car_solver.c", "car.c", output="car")
    (folder / "run.toml").write_text(lines)
    done = subprocess.run(["./car", "run.toml"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr


def test_what_cannot_be_exported_is_refused_by_name(tmp_path: Path) -> None:
    s = arm.System("latch")
    door = s.body("door", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.event("shut", door.q1, direction=-1, lock=door.u1)
    with pytest.raises(arm.ArmillaryError, match="event 'shut' locks or unlocks joints"):
        s.derive().export("cuda", tmp_path / "latch", configurations=False)
    with pytest.raises(arm.ArmillaryError, match="did you mean 'fortran'"):
        s.derive().export("fotran", tmp_path / "latch")
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_behind_where_a_folder_cannot_be_written(tmp_path: Path) -> None:
    eom = equations("bouncing")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(arm.ArmillaryError, match="a file"):
        eom.export("c", tmp_path / "file")
    with pytest.raises(arm.ArmillaryError, match="there is no folder"):
        eom.export("c", tmp_path / "none" / "there")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "notes.txt").write_text("mine")
    with pytest.raises(arm.ArmillaryError, match=r"not written by an export \(notes\.txt\)"):
        eom.export("c", tmp_path / "kept")
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["notes.txt"]
    eom.export("c", tmp_path / "kept", force=True)
    assert (tmp_path / "kept" / "notes.txt").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_long_sections_are_cut_into_pieces_with_the_same_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("armillary.export.c.printer.PIECE", 5)
    for name, text in program_files(make_source(core_of(equations("tumbler")))).items():
        (tmp_path / name).write_text(text)
    assert "tumbler_derivatives_3(" in (tmp_path / "tumbler.c").read_text()
    wanted, library = expected("tumbler"), Library(tmp_path)
    constants = library.constants(np.array(list(wanted.parameters.values())), len(wanted.constants.values))
    point = wanted.points[0]
    point.derivatives.check(library.call("derivatives", point, constants, len(point.state)), "derivatives")


def test_generated_names_come_from_the_model(exported: Callable[[str], Path]) -> None:
    """No globals that change, names and units from the description, hostile texts made harmless."""
    header = (exported("controller") / "controlled_pendulum.h").read_text()
    assert "CONTROLLED_PENDULUM_P_gain" in header
    assert "/* N*m/rad; gain of the controller */" in header
    code = (exported("controller") / "controlled_pendulum.c").read_text()
    assert "const double bob_q1 = state[0];" in code
    assert "malloc" not in code
    assert "hostile description" in (exported("functions") / "functions_of_everything.h").read_text()
