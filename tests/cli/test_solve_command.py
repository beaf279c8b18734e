"""armillary solve: inverse kinematics on the command line and in run files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import armillary as arm
from armillary.cli.app import app

FILE = 'model = "arm.toml"\n[solve]\nwanted = { x = "50 cm", y = 0.3 }\nlimit = { "b.q1" = "0:3.2" }\n'


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two links of 0.4 m in a plane."""
    monkeypatch.chdir(tmp_path)
    s = arm.System("arm")
    a = s.body("a", joint=arm.Revolute("z"), mass=1, com=(0.2, 0, 0), inertia=0)
    b = s.body("b", a, arm.Revolute("z"), at=(0.4, 0, 0), mass=1, com=(0.2, 0, 0), inertia=0)
    tip = arm.position(b.point("tip", (0.4, 0, 0)))
    s.output("x", arm.dot(tip, s.ground.x), units="m")
    s.output("y", arm.dot(tip, s.ground.y), units="m")
    s.save("arm.toml")
    Path("reach.toml").write_text(FILE)

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, ["solve", *args])

    return call


def elbow(x: float, y: float) -> float:
    """The law of cosines."""
    return math.acos((x * x + y * y - 2 * 0.4**2) / (2 * 0.4**2))


def test_all_positions_are_found(command) -> None:
    found = json.loads(command("arm.toml", "x=50 cm", "y=0.3", "--json").stdout)
    assert found["rows"] == found["reached"] == 2
    assert sorted(found["solutions"]["b.q1"]) == pytest.approx([-elbow(0.5, 0.3), elbow(0.5, 0.3)], rel=1e-12)


def test_limits_and_paths(command) -> None:
    up = json.loads(command("arm.toml", "x=0.5", "y=0.3", "--limit", "b.q1=0:3.2", "--json").stdout)
    assert up["solutions"]["b.q1"] == pytest.approx([elbow(0.5, 0.3)], rel=1e-12)
    done = command("arm.toml", "x=0.5:0.7:3", "y=0.1,0.2,0.3", "--set", "initial.b.q1=1", "-o", "path.csv")
    assert done.exit_code == 0 and "wrote path.csv" in done.stdout
    path = arm.load_sweep("path.csv")
    wanted = [elbow(*p) for p in ((0.5, 0.1), (0.6, 0.2), (0.7, 0.3))]
    assert np.abs(path["b.q1"]) == pytest.approx(wanted, rel=1e-12)


def test_a_run_file_holds_the_request(command) -> None:
    found = json.loads(command("reach.toml", "--json").stdout)
    assert found["solutions"]["b.q1"] == pytest.approx([elbow(0.5, 0.3)], rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["arm.toml", "x=2", "y=0"], "nearest 0.8"),
        (["arm.toml", "z=0.1"], "'z'"),
        (["arm.toml", "x=0.1", "y=0.1", "--limit", "b.q1"], "--limit NAME=VALUE"),
        (["arm.toml", "x=0.1", "y=0.1", "--limit", "b.q1=1"], "two values with a colon"),
        (["arm.toml", "x=0.5 kg"], "kg"),
        (["arm.toml"], "OUTPUT=VALUE"),
    ],
)
def test_mistakes_are_sentences(command, arguments: list[str], words: str) -> None:
    done = command(*arguments)
    assert done.exit_code != 0 and words in done.stderr
