"""Exported programs start from the values that a run gives, whatever the process integrates in their place.

With Free(velocity="auto") the process integrates velocities of its own choice, which depend on the mass
centre and the attitude. Truth for the ends of runs: the process, with those velocities as states and tight
tolerances, so that exported code and truth share neither states nor counts.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import armillary as arm
from tests.free_bodies import thrown

CC = shutil.which("cc")
SPEEDS = {"B.u1": 1.0, "B.u2": -0.5, "B.u3": 0.0, "B.u4": 0.7, "B.u5": -0.4, "B.u6": 1.1, "C.u1": 1.0}
TURNED = {"B.q4": 0.8, "B.q5": 0.0, "B.q6": 0.6, "B.q7": 0.0}
CHANGES = {
    "another mass": ({"m": 6.0}, {}),
    "another attitude": ({}, TURNED),
    "both, and another speed": ({"m": 6.0}, {**TURNED, "B.u1": 3.0}),
}
DURATION, STEP = 0.2, 2e-3


def kicked(velocity: str) -> arm.System:
    """A thrown body with a kick to a speed that it names."""
    s = thrown(velocity)
    s.event("kick", "t - 0.1003", set={"B.u1": "B.u1 + 1"})
    s.start(SPEEDS)
    return s


@pytest.fixture(scope="module")
def eom() -> arm.Equations:
    found = kicked("auto").derive()
    assert "state of B.u1" in [s.data.name for s in found.program.state]  # else nothing is tested here
    return found


@pytest.fixture(scope="module")
def model(eom: arm.Equations) -> arm.CompiledModel:
    return eom.compile()


def written(path: Path, example: Path, change: str) -> None:
    """The exported example of a run file with other values in it."""
    parameters, initial = CHANGES[change]
    text = example.read_text(encoding="utf-8")
    quoted = {f'"{name}"': value for name, value in initial.items()}
    for name, value in {**parameters, **quoted, "duration": DURATION, "step": STEP}.items():
        text, count = re.subn(rf"(?m)^{re.escape(name)} = [^ \n]+", f"{name} = {value!r}", text)
        assert count == 1, name
    path.write_text(text, encoding="utf-8")


def check(table: Path, model: arm.CompiledModel, change: str) -> None:
    """The first row of a table holds what was given, and the last what the process finds."""
    parameters, initial = CHANGES[change]
    with table.open(encoding="utf-8") as file:
        first, *_, last = list(csv.DictReader(file))
    column = {name: next(c for c in first if c.split(" [")[0] == name) for name in [*SPEEDS, "B.q1", "C.q1"]}
    given = SPEEDS | initial
    for name in SPEEDS:
        assert float(first[column[name]]) == given[name], name
    run = model.simulate(DURATION, parameters=parameters, initial=initial, rtol=1e-11, atol=1e-13)
    assert [e.name for e in run.events] == ["kick"]
    for name, label in column.items():
        assert float(last[label]) == pytest.approx(run[name][-1], abs=1e-8), name


@pytest.mark.parametrize("change", CHANGES)
def test_exported_python_starts_from_named_speeds(
    change: str, eom: arm.Equations, model: arm.CompiledModel, tmp_path: Path
) -> None:
    folder = eom.export("python", tmp_path / "python")
    written(folder / "other.toml", folder / "run.toml", change)
    command = [sys.executable, "-I", "-S", "thrown.py", "other.toml"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    check(folder / "other.csv", model, change)


@pytest.fixture(scope="module")
def in_c(eom: arm.Equations, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if CC is None:
        pytest.skip("no C compiler (cc)")
    folder = eom.export("c", tmp_path_factory.mktemp("c") / "thrown")
    names = ["main.c", "thrown.c", "thrown_solver.c"]
    command = [CC, "-std=c99", "-O0", *names, "-o", "thrown", "-lm"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return folder


@pytest.mark.parametrize("change", CHANGES)
def test_exported_c_starts_from_named_speeds(change: str, in_c: Path, model: arm.CompiledModel) -> None:
    written(in_c / "other.toml", in_c / "run.toml", change)
    subprocess.run(["./thrown", "other.toml", "other.csv"], cwd=in_c, check=True, timeout=300)
    check(in_c / "other.csv", model, change)


def test_an_export_names_its_states_and_costs_what_velocity_parent_does(
    eom: arm.Equations, tmp_path: Path
) -> None:
    """Functions and initial values are the same text; the heading counts what is exported."""
    plain = kicked("parent").derive(eom.formalism)
    texts = [e.export("python", tmp_path / str(i)) for i, e in enumerate((eom, plain))]
    runs = [
        re.sub("(?m)^# States.*\n# Free.*\n", "", (t / "run.toml").read_text(encoding="utf-8")) for t in texts
    ]
    assert runs[0] == runs[1]
    heads = [(t / "thrown.py").read_text(encoding="utf-8") for t in texts]
    codes = [head[head.index("def derivatives") :] for head in heads]
    assert codes[0] == codes[1]
    o = plain.operations
    assert o != eom.operations
    assert f"{o.additions} +, {o.multiplications} *, {o.divisions} /" in heads[0]
    assert "Only runs in the process" in heads[0] and "Only runs" not in heads[1]
    assert all("free quaternion, velocity in parent axes  B.q1" in head for head in heads)


def test_an_fmu_offers_named_speeds(eom: arm.Equations, tmp_path: Path) -> None:
    path = eom.export("fmu", tmp_path / "t.fmu", binary=False, parameters={"m": 6.0}, initial=TURNED)
    text = zipfile.ZipFile(path).read("modelDescription.xml").decode()
    assert "state of" not in text
    for name, value in (SPEEDS | TURNED).items():
        variable = re.search(rf'<ScalarVariable name="{re.escape(name)}".*?</ScalarVariable>', text, re.S)
        assert variable is not None
        start = re.search(r'start="([^"]+)"', variable[0])
        assert start is not None and float(start[1]) == pytest.approx(value, abs=1e-15), name
