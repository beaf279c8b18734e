"""armillary sweep: positions of a model along a path, and what it says where the path is not a path."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import armillary as arm
from armillary.cli.app import app
from tests.run_files.swing import write_swing


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_swing(Path())

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, ["sweep", "push.toml", *args])

    return call


def test_a_sweep_is_printed_and_written(command) -> None:
    done = command("bob.q1=-0.5:0.5:13 rad", "--speed", "bob.q1=2", "-o", "sweep.csv", "--plot", "sweep.svg")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Sweep of 'swing' over bob.q1 -28.6479 to 28.6479 deg: 13 rows")
    assert "wrote sweep.csv\nwrote sweep.svg" in done.stdout and Path("sweep.svg").exists()
    swept = arm.load_sweep("sweep.csv")
    q = np.linspace(-0.5, 0.5, 13)
    assert swept["bob.q1"] == pytest.approx(np.degrees(q))
    length = -swept["height"][6]
    assert swept["d(height)/dt"] == pytest.approx(length * np.sin(q) * np.radians(2.0), abs=1e-12)
    found = json.loads(command("bob.q1=0, pi/6, 1 rad", "--static", "--json").stdout)
    assert found["rows"] == found["reached"] == 3 and "effort of bob.q1" in found["names"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bob.q1"], "not of the form NAME=FROM:TO:COUNT"),
        (["bob.q1=1:2"], "neither FROM:TO:COUNT nor numbers"),
        (["bob.q1=1:2:3 kg"], "cannot be compared"),
        (["bob.q2=1:2:3"], "did you mean 'bob.q1'"),
        (["bob.q1=1:2:3", "--speed", "bob.q1=fast"], "is not a number"),
    ],
)
def test_mistakes_are_sentences(command, arguments: list[str], words: str) -> None:
    done = command(*arguments)
    assert done.exit_code == 2 and words in done.stderr
