"""Options of commands in run files: a table of the command's name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.cli.app import app

FILE = """
model = "pendulum"
[linearize]
outputs = ["{outputs}"]
output = "lin.json"
{more}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    s = arm.System("pendulum")
    s.parameter("L", 0.5, units="m")
    s.body("P", joint=arm.Revolute("y"), mass=1, com=(0, 0, "-L"), inertia=0)
    s.gravity(9.81, "-ground.z")
    s.output("angle", "P.q1")
    s.output("height", "L*(1 - cos(P.q1))")
    s.save(tmp_path / "pendulum.toml")
    return tmp_path


def _call(folder: Path, *args: str, outputs: str = "angle", more: str = "") -> int:
    path = folder / "point.toml"
    path.write_text(FILE.format(outputs=outputs, more=more).replace('"pendulum"', '"pendulum.toml"'))
    return app.main(["linearize", str(path), *args], standalone_mode=False)


def test_a_table_holds_options_with_files_beside_the_run_file(folder: Path) -> None:
    assert _call(folder, more="[parameters]\nL = 2.0\n") == 0
    found = json.loads((folder / "lin.json").read_text())
    lin = arm.load_linear(folder / "lin.json")
    assert lin.outputs == ("angle",)
    assert np.allclose(lin.A, [[0, 1], [-9.81 / 2.0, 0]], rtol=1e-14)
    assert found["system"] == "pendulum"


def test_the_command_line_comes_first(folder: Path) -> None:
    assert _call(folder, "--outputs", "height", "-o", str(folder / "other.json")) == 0
    assert arm.load_linear(folder / "other.json").outputs == ("height",)
    assert not (folder / "lin.json").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("output_file = 'x'", "unknown key 'output_file' in [linearize]; did you mean 'output'?"),
        ("trust = true", "unknown key 'trust' in [linearize]"),
        ("[sweeps]\nx = 1", "unknown key 'sweeps'; did you mean 'sweep'?"),
    ],
)
def test_unknown_keys_are_named_with_their_line(folder: Path, more: str, message: str, capsys) -> None:
    assert _call(folder, more=more) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "point.toml:6" in said
    assert not (folder / "lin.json").exists()


def test_tables_of_analyses_do_not_disturb_runs(folder: Path) -> None:
    path = folder / "run.toml"
    path.write_text('model = "pendulum.toml"\n[run]\nduration = 0.1\nstep = 0.05\n[modes]\n')
    assert len(arm.run(path)) == 3
