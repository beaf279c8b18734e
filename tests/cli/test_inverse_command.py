"""armillary inverse: efforts along a saved run, and what it says where they cannot be found."""

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
        return CliRunner().invoke(app, list(args))

    call("run", "push.toml", "-o", "push.csv")
    return call


def test_efforts_of_a_saved_run_are_printed_and_written(command) -> None:
    done = command("inverse", "push.toml", "push.csv", "-o", "efforts.csv", "--plot", "efforts.svg")
    assert done.exit_code == 0, done.stderr
    assert "wrote efforts.csv\nwrote efforts.svg" in done.stdout and Path("efforts.svg").exists()
    efforts = arm.load_run("efforts.csv")
    assert efforts.names == ("effort(bob.u1)",)
    assert np.max(np.abs(efforts.values)) < 1e-9  # a run of the model itself needs none
    found = json.loads(command("inverse", "push.toml", "push.csv", "--set", "m=3", "--json").stdout)
    run = arm.load_run("push.csv")
    assert run.parameters["m"] == 1.5 and found["units"] == {"bob.u1": "N*m"}
    # twice the mass on the same motion: the moments of inertia and weight, which balance the damper's, twice
    damper = np.max(np.abs(run["damper"]))
    assert found["largest"]["bob.u1"] == pytest.approx(damper, rel=1e-9)


def test_mistakes_are_sentences(command) -> None:
    done = command("inverse", "push.toml", "push.csv", "--actuator", "bob.u2")
    assert done.exit_code == 2 and "no speed, load, input or parameter 'bob.u2' to act" in done.stderr
    done = command("inverse", "push.toml", "pull.csv")
    assert done.exit_code == 2 and "no such file" in done.stderr
