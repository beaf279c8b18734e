"""Exported runs that come to a place without mass end there, and name the joint, as runs in the process do.

The string of tests/runtime/test_weak_masses.py: a mass on a massless rod that hangs on another. The mass
falls freely until the rods are in line, where the inner one moves no mass.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from tests.loading import loaded

START = {"bob.q1": 1.0}
STEPS: tuple[float | None, ...] = (None, 1e-3, 1e-2)


@cache
def equations(latched: bool = False) -> arm.Equations:
    """The string; ``latched``: with a rod that is held at first."""
    s = arm.System("string")
    s.parameter("m", 1.0, units="kg")
    rod = s.body("rod", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.body("bob", rod, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass="m", inertia=0)
    s.gravity(9.81, -s.ground.y)
    if latched:
        s.lock("rod.q1")
        s.event("let go", "t - 0.1", direction=1, unlock="rod.q1")
    s.start(START)
    return s.derive()


def said_by_process(step: float | None, latched: bool = False) -> str:
    with pytest.raises(arm.SimulationError) as caught:
        equations(latched).compile().simulate(3.0, step=step)
    return str(caught.value)


def time_of(text: str) -> float:
    found = re.search(r"near t = ([\d.]+) s", text)
    assert found, text
    return float(found[1])


def called(command: list[str], folder: Path) -> tuple[int, str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def in_c(folder: Path, step: float | None, m: float = 1.0) -> tuple[int, str]:
    if not (folder / "program").exists():
        names = [p.name for p in folder.glob("*.c") if p.name != "test.c"]
        command = ["cc", "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", *names, "-o", "program", "-lm"]
        subprocess.run(command, cwd=folder, check=True, timeout=120)
    lines = ["[run]", "duration = 3.0", *([f"step = {step}"] if step else []), "[parameters]", f"m = {m}"]
    (folder / "now.toml").write_text("\n".join(lines) + "\n")
    return called(["./program", "now.toml", "now.csv"], folder)


def in_fortran(folder: Path, step: float | None, m: float = 1.0) -> tuple[int, str]:
    if not (folder / "string").exists():
        flags = "FFLAGS=-std=f2008 -O0 -Wall -Wextra -pedantic -Werror"
        subprocess.run(["make", "-s", flags, "string"], cwd=folder, check=True, timeout=120)
    (folder / "now.nml").write_text(f"&run duration = 3.0, step = {step or 0.0} /\n&parameters m = {m} /\n")
    return called(["./string", "now.nml", "now.csv"], folder)


def in_matlab(folder: Path, step: float | None, m: float = 1.0) -> tuple[int, str]:
    package = next(p.name[1:] for p in folder.glob("+*"))
    run = f"p = {package}.parameters(); p.m = {m}; r = {package}.simulate(3, {step or 0}, 'parameters', p);"
    code, text = called(["octave-cli", "--norc", "--quiet", "--eval", f"{run} disp(r.status)"], folder)
    return int("finished" not in text or code), text


def in_python(folder: Path, step: float | None, m: float = 1.0) -> tuple[int, str]:
    module = loaded(folder)
    found = module.simulate(3.0, step, parameters=module.Parameters(m=m))
    assert all(np.isfinite(found.column("rod.u1")))
    return int(found.status != "finished"), found.status


LANGUAGES: dict[str, tuple[Callable[..., tuple[int, str]], str]] = {
    "python": (in_python, ""), "c": (in_c, "cc"), "fortran": (in_fortran, "gfortran"),
    "matlab": (in_matlab, "octave-cli"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "latched"),
    [("c", False), ("c", True), ("fortran", True), ("matlab", True), ("python", False)],
    ids=["c-free", "c-latched", "fortran-latched", "matlab-latched", "python-free"],
)
def test_an_exported_run_into_a_place_without_mass_names_the_joint(
    language: str, latched: bool, tmp_path: Path
) -> None:
    run, needs = LANGUAGES[language]
    if needs and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    folder = equations(latched).export(language, tmp_path / language)
    for step in STEPS if language != "matlab" and not latched else STEPS[-1:]:
        code, said = run(folder, step)
        assert code == 1 and "speed 'rod.u1' moves no mass (body 'rod')" in said, (step, said)
        assert "the mass matrix becomes singular there" in said
        assert time_of(said) == pytest.approx(time_of(said_by_process(step, latched)), abs=2e-3)
    if language != "matlab" and not latched:
        code, said = run(folder, 1e-3, 0.0)
        assert code == 1 and "moves no mass" in said and time_of(said) == 0.0


@pytest.mark.parametrize("language", ["matlab", "python", "c", "fortran"])
def test_programs_hold_the_names_of_speeds_that_may_move_no_mass(language: str, tmp_path: Path) -> None:
    folder = equations().export(language, tmp_path / language)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    whole = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert re.search(r"speed '+rod\.u1'+ moves no mass \(body '+rod'+\)", whole)


def test_programs_of_systems_that_cannot_come_to_such_a_place_do_not_look_for_it(tmp_path: Path) -> None:
    s = arm.System("pendulum")
    s.body("b", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=(1, 1, 1))
    folder = s.derive().export("c", tmp_path / "c")
    assert not any("pivot" in p.read_text() for p in folder.glob("*.[ch]"))


def test_a_run_that_passes_near_such_a_place_goes_on(tmp_path: Path) -> None:
    """A gimbal that comes near its lock: with short steps the motion is sound, with long ones it is not."""
    s = arm.System("gimbal")
    s.body("B", joint=arm.Gimbal("zyx"), mass=1, inertia=(1, 2, 3))
    s.start({"B.u2": 1.0, "B.u1": 0.05})
    eom = s.derive()
    folder = eom.export("python", tmp_path / "gimbal")
    module = loaded(folder)
    fine = module.simulate(2.0, rtol=1e-9)
    assert fine.status == "finished"
    locked = module.simulate(1.0, initial={"B.q2": np.pi / 2}, max_steps=1000)
    assert "moves no mass" in locked.status and locked.time[-1] == 0.0
    expected = eom.compile().simulate(2.0, rtol=1e-9)["B.u1"][-1]
    assert fine.column("B.u1")[-1] == pytest.approx(expected, rel=1e-5)
