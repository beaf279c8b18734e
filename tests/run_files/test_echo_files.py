"""Echo files: complete, and run files that give the same run again, bit by bit."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.model.units import stated_value
from armillary.run_files import RunFile, Simulation
from tests.run_files.swing import write_swing

# A model, what is set, and why it is among them.
RUNS = [
    ("car", {"SPEED": "55 mile/hour", "initial.RB.q1": "1 deg", "run.duration": 0.5, "run.step": 0.025,
             "run.method": "midpoint"}, "inches and pounds, a prescribed speed"),
    ("four_bar", {"initial.A.q1": -0.5, "run.duration": 0.2}, "a closed loop: other values are found"),
    ("bouncing_ball", {"run.duration": 1.0, "run.rtol": 1e-7}, "events, an adaptive method"),
    ("spinning_top", {"run.duration": 0.2, "run.step": 1e-3}, "Euler parameters or angles"),
    ("pendulum", {"run.duration": 0.5, "run.formalism": "momentum", "run.start": 1.0}, "momenta as states"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "settings", "why"), RUNS, ids=[model for model, _, _ in RUNS])
def test_an_echo_gives_the_same_run(
    model: str, settings: dict[str, object], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = Simulation(RunFile.of_model(model).setting(settings))
    run = first.run()
    results, echo = first.save(run)
    assert echo == Path(f"{model}.echo.toml")
    second = Simulation(RunFile.read(echo))
    again = second.run()
    assert run.names == again.names
    assert np.array_equal(run.time, again.time) and np.array_equal(run.values, again.values, equal_nan=True)
    assert second.results != results  # it does not write over the run that it came from


def test_an_echo_tells_every_value_its_unit_meaning_and_source(tmp_path: Path) -> None:
    push = write_swing(tmp_path)
    arm.run(push, {"m": 2.5}, save=True)
    text = push.with_name("push.echo.toml").read_text(encoding="utf-8")
    told = [line.split("# ", 1) for line in text.splitlines() if " = " in line and "  # " in line]
    lines = {assignment.split(" = ")[0]: about for assignment, about in told}
    assert lines["L"] == "m; length of the rod; push.toml:6"
    assert lines["c"] == "N*m*s/rad; damping in moment damper; model default"
    assert lines["m"] == "kg; mass of the bob; settings"
    assert lines["g"] == "m/s^2; gravity; model default"
    assert lines['"bob.q1"'] == "deg; rotation of bob in ground about z; start of the model"
    assert lines['"bob.u1"'] == "deg/s; rotation rate of bob in ground about z; push.toml:10"
    assert lines["push"] == "N*m; drive; push.toml:13"
    assert lines["peak"] == "deg; model default"
    assert lines["duration"] == "s; push.toml:16"
    content = tomllib.loads(text)
    assert content["model"] == "swing.toml" and content["title"] == "a push"
    assert content["parameters"] == {"L": 20 * 0.0254, "c": 0.3, "m": 2.5, "g": 9.81}
    assert content["run"] == {"duration": 0.5, "step": 0.01}


def test_an_echo_elsewhere_finds_its_model(tmp_path: Path) -> None:
    push = write_swing(tmp_path)
    (tmp_path / "out").mkdir()
    arm.run(push, {"output.file": "out/a.csv"}, save=True)
    again = arm.run(tmp_path / "out" / "a.echo.toml")
    assert np.array_equal(again.values, arm.load_run(tmp_path / "out" / "a.csv").values)


def test_odd_names_and_texts_survive(tmp_path: Path) -> None:
    """Comments stay one line, keys are quoted, whatever a description holds."""
    push = write_swing(tmp_path)
    model = push.with_name("swing.toml")
    odd = model.read_text(encoding="utf-8").replace("length of the rod", 'a\\nb # \\"c\\" \\u0007 é')
    model.write_text(odd, encoding="utf-8")
    arm.run(push, save=True)
    text = push.with_name("push.echo.toml").read_text(encoding="utf-8")
    assert '# m; a b # "c" é; push.toml:6' in text
    assert tomllib.loads(text)["parameters"]["L"] == 0.508


def test_exported_programs_read_echo_files(tmp_path: Path) -> None:
    """The same run from generated code that knows nothing of Armillary: degrees, an input, a memory."""
    push = write_swing(tmp_path)
    run = arm.run(push, save=True)
    arm.load(tmp_path / "swing.toml").derive().export("python", tmp_path / "code")
    command = [sys.executable, "swing.py", str(tmp_path / "push.echo.toml"), str(tmp_path / "theirs.csv")]
    done = subprocess.run(command, cwd=tmp_path / "code", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "theirs.csv").read_text(encoding="utf-8").splitlines()
    names, rows = lines[0].split(","), np.loadtxt(lines[1:], delimiter=",")
    assert tuple(names[1:]) == run.names
    np.testing.assert_allclose(rows[:, 1:], run.values, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("factor", [np.pi / 180, 0.0254, 1e-3, 4.4482216152605, 1 / 3.6, 1.0])
def test_numbers_in_stated_units_are_written_as_they_were_given(factor: float) -> None:
    """Of the numbers that are one value inside, the shortest: 30 deg was written as 29.999999999999996."""
    for given in (*(k / 10 for k in range(-3600, 3601, 7)), 30.0, 1e-7, 123.456, 5e20):
        written = stated_value(given * factor, factor)
        assert written * factor == given * factor and len(repr(written)) <= len(repr(given))


def test_a_start_in_degrees_is_written_as_it_was_given(tmp_path: Path) -> None:
    """In echo files, and in the run files and pages of exports."""
    push = write_swing(tmp_path)
    model = tmp_path / "swing.toml"
    text = model.read_text(encoding="utf-8").replace('"bob.q1" = 10', '"bob.q1" = 30')
    model.write_text(text, encoding="utf-8")
    arm.run(push, save=True)
    assert re.search(r'^"bob\.q1" = 30(\.0)? ', push.with_name("push.echo.toml").read_text("utf-8"), re.M)
    arm.load(model).derive().export("python", tmp_path / "python")
    texts = [p.read_text("utf-8") for p in (tmp_path / "python").iterdir() if p.suffix in (".toml", ".md")]
    assert texts and not any("29.99999" in one for one in texts)
