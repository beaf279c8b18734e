"""armillary trim: operating points on the command line, their files, and sentences for wrong options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import armillary as arm
from armillary.cli.app import app
from tests.run_files.swing import write_swing

Call = Callable[..., Result]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    write_swing(Path())
    return lambda *args: CliRunner().invoke(app, ["trim", *args])


def test_a_point_is_printed_and_written_as_a_run_file(command: Call) -> None:
    done = command("push.toml", "--rest", "--start", "bob.q1=1 rad", "--settle", "-o", "rest.toml")
    assert done.exit_code == 0, done.output
    assert "asymptotically stable" in done.stdout and "wrote rest.toml" in done.stdout
    run = CliRunner().invoke(app, ["run", "rest.toml", "--duration", "1", "-o", "rest.csv", "--quiet"])
    assert run.exit_code == 0, run.output
    motion = arm.load_run("rest.csv")["bob.q1"]
    assert abs(motion - motion[0]).max() < 1e-9


def test_json_has_values_stability_and_solutions(command: Call) -> None:
    done = command("push.toml", "--rest", "--starts", "12", "-o", "rest.json", "--json")
    found = json.loads(done.stdout)
    assert found["ok"] and found["roles"]["bob.q1"] == "found" and len(found["solutions"]) >= 2
    op = arm.load_point("rest.json")
    assert op.initial == found["initial"] and op.stable is found["stable"]
    assert [[x.real, x.imag] for x in op.eigenvalues.tolist()] == found["eigenvalues"]


def test_a_branch_is_followed_and_drawn(command: Call) -> None:
    done = command("push.toml", "--rest", "--trace", "m=1:3", "--plot", "branch.svg", "--json")
    found = json.loads(done.stdout)
    assert found["branch"]["m"][0] == 1 and found["branch"]["m"][-1] == pytest.approx(3)
    assert Path("branch.svg").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--fixed", "x"], "--fixed NAME=VALUE"),
        (["--bound", "bob.q1=3"], "two values with a colon"),
        (["--plot", "x.png"], "give --trace too"),
        (["--rest", "--rate", "bob.q1=3"], "leave out --rest or --rate"),
        (["--rest", "--fixed", "bob.u1=2"], "but --fixed gives 'bob.u1' a value; leave out --rest"),
        (
            ["--fixed", "bob.u1=2"],
            "give --rate bob.q1=… ('any' for any), or look for --inputs that change it",
        ),
        (["--fixed", "bob.q=3"], "did you mean 'bob.q1'?"),
        (["--rest", "--inputs", "m,mm"], "not a parameter or input of 'swing'; did you mean 'm'?"),
        (["--rest", "--input", "mm"], "not a parameter or input of 'swing'; did you mean 'm'?"),
        (["--rest", "-o", "x.txt"], "cannot be saved as 'x.txt': use .json, or .toml for a run file"),
        (["--rest", "--trace", "m=1:3", "-o", "x.toml"], "a branch cannot be saved as 'x.toml': use .json"),
    ],
)
def test_wrong_options_get_sentences(command: Call, args: list[str], words: str) -> None:
    done = command("push.toml", *args)
    assert done.exit_code == 2 and words in " ".join(done.stderr.split())
