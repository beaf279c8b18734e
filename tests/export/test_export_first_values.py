"""Exports compute what the process computes at the start of a run from the values that it is given.

Momenta from speeds, joints from the place of a mass centre, a memory that begins at an expression, each with
parameters and coordinates that are not those of the export. Truth: the process.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import Host
from tests.loading import loaded

PARAMETERS = {"panel": 5.0, "L": 200.0}
INITIAL = {"arm.u1": 1.5, "arm.q1": 0.4, "B.u4": 0.3}
DURATION, STEP = 0.1, 0.01


@cache
def equations() -> arm.Equations:
    """A hub with a panel, whose mass centre is placed."""
    s = arm.System("sat")
    s.parameter("panel", 3.0, units="kg")
    s.parameter("L", 100.0, units="mm")
    hub = s.body("B", joint=arm.Free(), mass=10, inertia=(1, 2, 3))
    s.body("arm", hub, arm.Revolute("x"), at=(1, 0, 0), com=(0, "L", 0), mass="panel", inertia=(1, 1, 1))
    s.start({"arm.u1": 3.0})
    s.start_mass_centre("B", position=(1, 2, 3), velocity=(0.1, 0, 0))
    return s.derive("momentum")


@cache
def rows() -> np.ndarray:
    run = equations().compile().simulate(DURATION, step=STEP, parameters=PARAMETERS, initial=INITIAL)
    return run.values


def table(text: str) -> np.ndarray:
    return np.array([[float(x) for x in row[1:]] for row in list(csv.reader(text.splitlines()))[1:]])


def run_file() -> str:
    lines = ["[run]", f"duration = {DURATION}", f"step = {STEP}", "[parameters]"]
    lines += [f"{name} = {value}" for name, value in PARAMETERS.items()]
    return "\n".join([*lines, "[initial]", *(f'"{n}" = {v}' for n, v in INITIAL.items())]) + "\n"


def ran(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_python(folder: Path) -> np.ndarray:
    (folder / "now.toml").write_text(run_file())
    ran([sys.executable, "-I", "-S", "sat.py", "now.toml"], folder)
    return table((folder / "now.csv").read_text())


def in_c(folder: Path) -> np.ndarray:
    (folder / "now.toml").write_text(run_file())
    ran(["make", "-s", "CFLAGS=-std=c99 -O0 -Wall -Wextra -Werror", "sat", "test"], folder)
    return table(ran(["./sat", "now.toml"], folder))


def in_cuda(folder: Path) -> np.ndarray:
    """The states at the end, which are coordinates and momenta."""
    flags = ["-std=c++11", "-O0", "-Wall", "-Wextra", "-Werror", "-x", "c++"]
    ran(["c++", *flags, "main.cu", "-o", "program"], folder)
    given = {**PARAMETERS, **INITIAL}
    (folder / "runs.csv").write_text(f"{','.join(given)}\n{','.join(map(str, given.values()))}\n")
    out = ran(["./program", "runs.csv", str(STEP), str(round(DURATION / STEP))], folder)
    names, values = list(csv.reader(out.splitlines()))
    found = dict(zip(names, map(float, values), strict=True))
    columns = equations().compile().output_names
    return np.array([[found.get(name, np.nan) for name in columns]])


def in_fortran(folder: Path) -> np.ndarray:
    ran(["make", "-s", "FFLAGS=-std=f2008 -O0 -Wall -Wextra -pedantic -Werror", "sat", "test"], folder)
    groups = {"run": {"duration": DURATION, "step": STEP}, "parameters": PARAMETERS, "initial": INITIAL}
    text = "".join(
        f"&{group} {', '.join(f'{n.replace(chr(46), chr(95))} = {v}' for n, v in values.items())} /\n"
        for group, values in groups.items()
    )
    (folder / "now.nml").write_text(text)
    ran(["./sat", "now.nml", "now.csv"], folder)
    return table((folder / "now.csv").read_text())


def in_matlab(folder: Path) -> np.ndarray:
    lines = ["p = sat.parameters();", *(f"p.{n} = {v};" for n, v in PARAMETERS.items())]
    named = ", ".join(f"'{n}', {v}" for n, v in INITIAL.items())
    lines.append(f"r = sat.simulate({DURATION}, {STEP}, 'parameters', p, 'initial', {{{named}}});")
    lines.append("for i = 1:rows(r.values) printf('0'); printf(',%.17g', r.values(i, :)); printf('\\n'); end")
    octave = str(shutil.which("octave-cli"))
    return table("names\n" + ran([octave, "--norc", "--quiet", "--eval", "\n".join(lines)], folder))


LANGUAGES: dict[str, tuple[Callable[[Path], np.ndarray], str]] = {
    "python": (in_python, ""), "c": (in_c, "cc"), "cuda": (in_cuda, "c++"),
    "fortran": (in_fortran, "gfortran"), "matlab": (in_matlab, "octave-cli"),
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_momenta_and_placed_joints_follow_what_a_run_gives(language: str, tmp_path: Path) -> None:
    run, needs = LANGUAGES[language]
    if needs and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    found = run(equations().export(language, tmp_path / language))
    expected = rows() if language != "cuda" else rows()[-1:]
    known = np.isfinite(found)
    assert known.all() or language == "cuda"
    assert known[0].sum() >= 12
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-9, atol=1e-12)
    assert abs(expected[0, 0] - 1.0) > 0.1  # the hub is not where its mass centre is


def test_an_fmu_computes_momenta_anew_unless_they_are_set(tmp_path: Path) -> None:
    """Speeds are those of the description; the importer gives another mass and angle, or the momentum."""
    need_compiler()
    path = Path(equations().export("fmu", tmp_path / "sat.fmu", version="2.0"))
    model = equations().compile()
    one = Host(path)
    one.initialize(0.0, {**PARAMETERS, "arm.q1": 0.4})
    names = ["B.q1", "B.q2", "B.u2", "arm.u1", "p(arm.u1)"]
    run = model.simulate(0.0, step=STEP, parameters=PARAMETERS, initial={"arm.q1": 0.4})
    np.testing.assert_allclose(one.get(names), [run[name][0] for name in names], rtol=1e-12, atol=1e-14)
    one.close()
    one = Host(path)
    one.initialize(0.0, {**PARAMETERS, "p(arm.u1)": 7.0})
    assert one.get(["p(arm.u1)"])[0] == 7.0
    one.close()


def test_values_that_a_mass_centre_decides_are_refused(tmp_path: Path) -> None:
    folder = equations().export("python", tmp_path / "sat")
    (folder / "now.toml").write_text(run_file() + '"B.q1" = 0.0\n')
    done = subprocess.run(
        [sys.executable, "-I", "-S", "sat.py", "now.toml"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "start_mass_centre places the mass centre of 'B'; leave 'B.q1' out" in done.stderr
    assert '"B.q1" =' not in (folder / "run.toml").read_text()


@cache
def wheel() -> arm.Equations:
    s = arm.System("wheel")
    s.parameter("J", 2.0, units="kg*m2")
    s.body("wheel", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, "J"))
    s.start({"wheel.u1": 3.0})
    return s.derive("momentum")


def test_rollouts_in_jax_start_from_speeds(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    m = loaded(wheel().export("jax", tmp_path / "wheel") / "wheel.py")
    found = m.simulate(DURATION, STEP, parameters=m.Parameters(J=5.0), initial={"wheel.u1": 4.0})
    assert found.column("wheel.u1")[-1] == pytest.approx(4.0)
    assert found.column("p(wheel.u1)")[-1] == pytest.approx(20.0)


def test_momenta_follow_other_parameters(tmp_path: Path) -> None:
    """p = J u: 3 rad/s stay 3 rad/s whatever J is; the heads of the files say where momenta come from."""
    folder = wheel().export("python", tmp_path / "wheel")
    for name in ("wheel.py", "run.toml", "README.md"):
        assert "follow from the speeds that a run has at its start" in (folder / name).read_text(
            encoding="utf-8"
        ), name
    text = (folder / "run.toml").read_text(encoding="utf-8")
    assert '"wheel.u1" = 3.0' in text and "p(wheel.u1)" not in text
    (folder / "other.toml").write_text(text.replace("J = 2.0", "J = 5.0"), encoding="utf-8")
    ran([sys.executable, "-I", "-S", "wheel.py", "other.toml"], folder)
    with (folder / "other.csv").open(encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert float(row["wheel.u1"]) == pytest.approx(3.0)
    assert float(row["p(wheel.u1)"]) == pytest.approx(15.0)


def test_exported_python_calls_a_function_at_the_start(tmp_path: Path) -> None:
    """As simulate(on_start=…) of the process does: it sees all values, and those that it gives are taken."""
    m = loaded(equations().export("python", tmp_path / "sat") / "sat.py")
    seen: list[dict[str, float]] = []

    def twice_the_panel(values: dict[str, float]) -> dict[str, float]:
        seen.append(values)
        return {"arm.u1": 2.0 * values["panel"]}

    how: dict[str, Any] = {"initial": INITIAL, "on_start": twice_the_panel}
    found = m.simulate(DURATION, STEP, parameters=m.parameters_of(PARAMETERS), **how)
    run = equations().compile().simulate(DURATION, step=STEP, parameters=PARAMETERS, **how)
    np.testing.assert_allclose(found.rows, run.values, rtol=1e-9, atol=1e-12)
    ours, theirs = seen
    assert ours["arm.q1"] == theirs["arm.q1"] == 0.4 and ours["panel"] == theirs["panel"] == 5.0
    with pytest.raises(ValueError, match="on_start sets 'panel', which has no initial value"):
        m.simulate(DURATION, STEP, on_start=lambda values: {"panel": 1.0})


@pytest.mark.parametrize(
    ("language", "remedy"),
    [("c", "between setup and begin"), ("fmu", "importer"), ("python", "on_start=… of the exported module")],
)
def test_functions_of_python_do_not_travel(language: str, remedy: str, tmp_path: Path) -> None:
    remedy = remedy.replace("on_start=…", r"simulate\(on_start=…\)")
    with pytest.raises(arm.ArmillaryError, match=f"on_echo is a Python function.*{remedy}"):
        equations().export(language, tmp_path / "x", on_echo=print)


@pytest.mark.parametrize("language", ["python", "c", "fortran", "matlab"])
def test_negative_masses_are_refused_in_the_words_of_the_process(language: str, tmp_path: Path) -> None:
    needs = {"c": "cc", "fortran": "gfortran", "matlab": "octave-cli"}.get(language, "")
    if needs and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    folder = wheel().export(language, tmp_path / language)
    (folder / "now.toml").write_text("[run]\nduration = 0.1\nstep = 0.01\n[parameters]\nJ = -2.0\n")
    (folder / "now.nml").write_text("&run duration = 0.1, step = 0.01 /\n&parameters J = -2.0 /\n")
    commands = {
        "python": f"{sys.executable} -I -S wheel.py now.toml",
        "c": "cc -std=c99 -Wall -Wextra -Werror main.c wheel.c wheel_solver.c -o w -lm && ./w now.toml",
        "fortran": "make -s FFLAGS='-std=f2008 -O0 -Wall -Wextra -pedantic -Werror' wheel && ./wheel now.nml",
        "matlab": 'octave-cli --norc --quiet --eval "p = wheel.parameters(); p.J = -2; '
        "wheel.simulate(0.1, 0.01, 'parameters', p)\"",
    }
    done = subprocess.run(commands[language], shell=True, cwd=folder, capture_output=True, text=True)
    with pytest.raises(arm.ParameterError) as caught:
        wheel().compile().simulate(0.1, parameters={"J": -2.0})
    before, after = str(caught.value).split("-2")
    assert done.returncode != 0
    assert f"{before}-2" in done.stderr and after in done.stderr


@pytest.mark.parametrize("dark", [False, True], ids=["starts lit", "starts dark"])
def test_a_memory_begins_at_the_value_of_its_expression(dark: bool, tmp_path: Path) -> None:
    """Past a planet's night side, from light or from shadow: the impulse is that of the time in the light."""
    s = arm.System("block")
    body = s.body("block", joint=arm.Free(), mass=4.0, inertia=(1, 1, 1))
    s.attractor("planet", 0.0, radius=50.0)
    s.solar_pressure("light", at=body, area=1e-3, sun=s.ground.x, shadow="planet", pressure=1.0)
    m = loaded(s.derive().export("python", tmp_path / f"block_{dark}") / "block.py")
    start = {"block.q1": -300.0, "block.q2": 0.0 if dark else -100.0, "block.u2": 1.0}
    run = m.simulate(100.0 if dark else 200.0, 7.0, initial=start)
    assert run.column("block.u1")[-1] == pytest.approx(-1e-3 * (50.0 if dark else 100.0) / 4, rel=1e-9)
