"""armillary linearize and armillary bode: linear models from the command line, and their mistakes."""

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
    return lambda *args: CliRunner().invoke(app, list(args))


def succeeded(done: Result) -> str:
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_matrices_are_printed_saved_and_reported(command) -> None:
    asked = (
        "linearize",
        "push.toml",
        "--inputs",
        "m",
        "--outputs",
        "bob.q1,bob.u1",
        "--at",
        "bob.q1=0.3 rad",
    )
    text = succeeded(command(*asked))
    assert "rates of states" in text and "poles" in text and "bob.q1" in text
    data = json.loads(succeeded(command(*asked, "--json")))
    assert data["operating_point"]["bob.q1"] == pytest.approx(np.degrees(0.3)) and len(data["poles"]) == 2
    assert data["outputs"] == ["bob.q1", "bob.u1"]
    for name in ("lin.json", "lin.txt", "lin.html"):
        assert f"wrote {name}" in succeeded(command(*asked, "-o", name)) and Path(name).stat().st_size > 500
    lin = arm.load_linear("lin.json")
    np.testing.assert_array_equal(lin.A, data["A"])
    np.testing.assert_array_equal(lin.B, data["B"])


def test_a_bode_plot_is_drawn_and_its_numbers_are_printed(command) -> None:
    asked = ("bode", "push.toml", "--inputs", "m", "--outputs", "bob.q1", "--at", "bob.q1=0.3")
    assert "bob.q1 by m" in succeeded(command(*asked))
    data = json.loads(succeeded(command(*asked, "--from", "0.1", "--to", "10", "--json")))
    assert data["omega"][0] == pytest.approx(0.1) and data["omega"][-1] == pytest.approx(10)
    assert np.shape(data["magnitude"]) == (400, 1, 1)
    in_hz = succeeded(command(*asked, "--from", "0.1", "--to", "10", "--hz", "--decibels"))
    assert "Hz" in in_hz and "dB" in in_hz
    data = json.loads(succeeded(command(*asked, "--from", "0.1", "--to", "10", "--hz", "--json")))
    assert data["omega"][0] == pytest.approx(0.2 * np.pi)
    pytest.importorskip("matplotlib")
    for more in ((), ("--nyquist",), ("--hz", "--decibels")):
        assert "wrote b.svg" in succeeded(command(*asked, *more, "-o", "b.svg"))


def test_mistakes_are_sentences(command) -> None:
    done = command("linearize", "push.toml", "--inputs", "mm")
    assert done.exit_code == 2 and "there is no parameter, input or memory 'mm'" in done.stderr
    done = command("linearize", "push.toml", "--at", "bob.q7=1")
    assert done.exit_code == 2 and "'bob.q7'; did you mean 'bob.q1'?" in done.stderr
    done = command("bode", "push.toml", "--outputs", "bob.q1")
    assert done.exit_code == 2 and "name them: linearize(inputs=[…]), or --inputs on" in done.stderr
    done = command("bode", "push.toml", "--inputs", "m", "--outputs", "bob.q1", "--from", "9", "--to", "1")
    assert done.exit_code == 2 and "not go from 9 to 1" in done.stderr
