"""`armillary study`: study files read, run, resumed, shown, and single runs made again; errors with lines."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import armillary as arm
from armillary.cli.app import app
from armillary.studies.folder import StudyLock
from armillary.studies.sampling import KINDS
from armillary.studies.study_file import STUDY_KEYS, TABLES
from tests.later import later
from tests.run_files.swing import write_swing

later("zarr", reason="studies need armillary[study]")

Command = Callable[..., Result]
ROOT = Path(__file__).resolve().parents[2]

STUDY = """
model = "swing.toml"
title = "many swings"

[parameters]
L = "20 in"

[run]
duration = "500 ms"
step = 0.01
sample = 0.1

[vary]
m = { normal = ["1.5 kg", "100 g"] }
bob.q1 = { uniform = ["-0.1 rad", "0.1 rad"] }

[metrics]
top = "maximum(height)"
pass = "crossing(bob.q1, 0)"

[output]
select = ["hei*"]

[study]
design = "sobol"
runs = 64
seed = 5
block = 16
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, a study file and its finished study."""
    folder = tmp_path_factory.mktemp("made")
    write_swing(folder)
    (folder / "swings.toml").write_text(STUDY, encoding="utf-8")
    done = CliRunner().invoke(app, ["study", "run", str(folder / "swings.toml"), "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["ok"] and told["complete"], done.stderr
    assert (told["runs"], told["made"], told["failed"], told["blocks"]) == (64, 64, 0, 4)
    return folder


@pytest.fixture
def command(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line in a folder with a copy of all that."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, ["study", *args])

    return call


def test_study_alone_shows_its_help() -> None:
    """It was an error that had the whole help in one line."""
    found = CliRunner().invoke(app, ["study"])
    assert found.exit_code == 0 and found.output.startswith("Usage:") and "\n  rerun " in found.output


def test_a_study_file_says_what_python_says(command: Command) -> None:
    """The same study, written out in Python, is recognised as that of the folder, and is complete."""
    study = arm.Study(
        arm.load("swing.toml").derive().compile(),
        "swings",
        0.5,
        step=0.01,
        sample=0.1,
        parameters={"L": 20 * 0.0254},
        vary={"m": arm.Normal(1.5, 0.1), "bob.q1": arm.Uniform(-0.1, 0.1, units="rad")},
        metrics={"top": "maximum(height)", "pass": "crossing(bob.q1, 0)"},
        outputs=["height"],
        design="sobol",
        runs=64,
        seed=5,
        block=16,
    )
    assert study.status().complete
    masses = study.table()["m"].to_numpy()
    assert masses.mean() == pytest.approx(1.5, abs=0.01) and masses.std() == pytest.approx(0.1, rel=0.1)
    assert np.abs(study.table()["bob.q1"]).max() <= np.rad2deg(0.1)  # the model is in degrees


def test_show_sums_up_and_draws(command: Command) -> None:
    shown = command("show", "swings", "top", "--plot", "charts")
    assert shown.exit_code == 0, shown.output
    assert "top = maximum(height)" in shown.stdout and "64 of 64 runs made" in shown.stdout
    assert "top (mm): variance explained from 64 runs" in shown.stdout
    names = {"fan-height.png", "histogram-top.png", "scatter.png", "sensitivity-top.png"}
    assert {path.name for path in Path("charts").iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in Path("charts").iterdir())
    told = json.loads(command("show", "swings", "--json", "--no-sensitivity").stdout)
    top = arm.open_study("swings").table()["top"]
    assert told["metrics"]["top"]["median"] == pytest.approx(np.median(top), rel=1e-12)
    assert told["metrics"]["top"]["highest"] == top.max() and told["units"]["top"] == "mm"


def test_one_run_again(command: Command) -> None:
    done = command("rerun", "swings", "17", "-o", "seventeen.csv", "--plot", "seventeen.svg", "--json")
    told = json.loads(done.stdout)
    run = arm.load_run("seventeen.csv")
    assert told["files"] == ["seventeen.csv", "seventeen.svg"]
    assert told["metrics"]["top"] == pytest.approx(run["height"].max(), rel=1e-12)
    assert run.parameters["m"] == pytest.approx(told["values"]["m"], rel=1e-15)
    assert run.initial["bob.q1"] == pytest.approx(told["values"]["bob.q1"], rel=1e-15)
    assert "bob.u1" in run.names  # all outputs, not only those of the study
    assert command("rerun", "swings", "3").exit_code == 0 and Path("swings-3.csv").is_file()


def test_a_study_that_was_interrupted_goes_on(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from armillary.studies.runs import BlockMaker

    whole = arm.open_study("swings").table()
    make = BlockMaker.make

    def until_the_third(self: BlockMaker, number: int, values: object) -> object:
        if number == 2:
            raise KeyboardInterrupt
        return make(self, number, values)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(BlockMaker, "make", until_the_third)
        stopped = command("run", "swings.toml", "--folder", "again")
    assert stopped.exit_code == 130 and "32 of 64 runs are kept in 'again'" in stopped.stderr
    assert "Give the same command again to go on" in stopped.stderr
    told = command("status", "again")
    assert "32 of 64 runs made, in 2 of 4 blocks" in told.stdout
    assert "to go on: armillary study run again" in told.stdout
    with StudyLock(Path("again")):
        told = command("status", "again")
    assert f"being run by process {os.getpid()} on" in told.stdout and "to go on" not in told.stdout
    partly = command("show", "again", "--json", "--no-sensitivity")
    assert json.loads(partly.stdout)["metrics"]["top"]["without"] == 0  # of those made
    done = command("run", "again")  # the folder itself will do
    assert done.exit_code == 0 and "64 of 64 runs made" in done.stdout
    assert arm.open_study("again").table().equals(whole)


def test_more_runs_extend_a_study(command: Command) -> None:
    before = arm.open_study("swings").table()
    assert command("run", "swings.toml", "--runs", "128", "--quiet").exit_code == 0
    after = arm.open_study("swings").table()
    assert len(after) == 128 and after.iloc[:64].equals(before)
    fewer = command("run", "swings.toml", "--runs", "8")
    told = "study 'swings' has 128 runs, not 8; nothing is overwritten: pass runs=128, or continue it"
    assert fewer.exit_code == 2 and told in fewer.stderr


def test_another_study_is_not_written_over(command: Command) -> None:
    other = command("run", "swings.toml", "--seed", "6")
    assert other.exit_code == 2 and "design seed: 5 there, 6 here" in other.stderr
    other = command("run", "swings.toml", "--set", "c=0.1")
    assert other.exit_code == 2 and "value of parameter 'c': nothing there, 0.1 here" in other.stderr
    Path("full").mkdir()
    Path("full/mine.txt").write_text("mine")
    other = command("run", "swings.toml", "--folder", "full")
    assert other.exit_code == 2 and "is not a study, but holds mine.txt" in other.stderr
    for name, words in {
        "a": "holds a, mine.txt:",
        "b": "holds a, b, mine.txt:",
        "c": "holds a, b, c, …:",
    }.items():
        Path("full", name).write_text("")
        assert words in " ".join(command("run", "swings.toml", "--folder", "full").stderr.split())


def test_values_that_only_vary_need_no_default(command: Command) -> None:
    model = Path("swing.toml").read_text(encoding="utf-8")
    Path("swing.toml").write_text(model.replace("m = { value = 2.0, units", "m = { units"), encoding="utf-8")
    assert command("run", "swings.toml", "--folder", "new", "--quiet").exit_code == 0
    Path("swing.toml").write_text(model.replace("g = { value = 9.81, about", "g = { about"), encoding="utf-8")
    assert "no value for parameter g" in command("run", "swings.toml", "--folder", "newer").stderr


def test_correlated_lists_and_grids(command: Command) -> None:
    correlated = STUDY[: STUDY.index("[vary]")] + (
        "[vary.together]\ncorrelation = [[1, 0.9], [0.9, 1]]\n"
        "correlated.m = { normal = [1.5, 0.1] }\ncorrelated.bob.q1 = { normal = [0, 1] }\n"
        '[metrics]\ntop = "maximum(height)"\n[study]\nruns = 500\n'
    )
    Path("both.toml").write_text(correlated, encoding="utf-8")
    assert command("run", "both.toml", "--quiet").exit_code == 0
    table = arm.open_study("both").table()
    assert np.corrcoef(table["m"], table["bob.q1"])[0, 1] == pytest.approx(0.9, abs=0.03)
    grid = STUDY[: STUDY.index("[vary]")] + (
        "[vary]\nm = [1, 2, 3]\nbob.q1 = { uniform = [-5, 5] }\n"
        '[metrics]\ntop = "maximum(height)"\n[study]\ndesign = "grid"\nlevels = 5\n'
    )
    Path("grid.toml").write_text(grid, encoding="utf-8")
    assert command("run", "grid.toml", "--quiet").exit_code == 0
    assert arm.open_study("grid").values(14) == {"m": 3.0, "bob.q1": 5.0}
    done = command("run", "grid.toml", "--set", "run.tier=quick")
    assert done.exit_code == 2 and "runs of a study use fully optimised code" in done.stderr


def test_mistakes_are_told_together_with_their_lines(command: Command) -> None:
    Path("bad.toml").write_text(
        'model = "swing.toml"\n[parameters]\nM = 1\nm = 2\n[run]\nduration = 1\nstep = 0.1\n[vary]\n'
        'm = { normla = [1, 2] }\nLL = [1, 2]\nL = { uniform = ["1 kg", "2 kg"] }\nc = 3\n'
        'bob.q1 = { uniform = [2, 1] }\n[metrics]\na = "maximun(height)"\nb = 3\n'
        '[output]\nfile = "x.nc"\n[study]\ndesign = "sobl"\nruns = 1.5\nseeds = 1\n'
        "folder = 'x'\nwatch = 0\n[other]\n",
        encoding="utf-8",
    )
    done = command("run", "bad.toml", "--json")
    told = {error["line"]: error["message"] for error in json.loads(done.stdout)["errors"]}
    assert done.exit_code == 2 and not Path("bad").exists()
    expected = {
        3: "there is no parameter 'M'; did you mean 'm'?",
        9: "a distribution has one of uniform, normal,",
        10: "varied 'LL': there is no such parameter, coordinate, speed, state or memory",
        11: "varied 'L' is given in kg, but is in m",
        12: "varied 'c' is 3, which does not vary",
        13: "low = 2 must be below high = 1",
        15: "'maximun(height)' is not a metric; did you mean 'maximum'?",
        16: "metric 'b' must be text",
        18: "a study's results go to a folder: give [study] folder",
        20: "there is no design 'sobl'; did you mean 'sobol'?",
        21: "runs must be a whole number, at least 1, not 1.5",
        24: "watch must be a positive number of seconds, not 0",
        22: "unknown key 'seeds' in [study]; did you mean 'seed'?",
        25: "unknown key 'other'",
    }
    assert set(told) == set(expected)
    assert not [line for line, message in expected.items() if message not in told[line]], told
    assert "'m' is varied, and has a value at bad.toml:4: leave one out" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("swings.toml", 2, "there is no command 'armillary study swings.toml'; there are run, status,"),
        ("run none.toml", 2, "none.toml: there is no such file"),
        ("run swing.toml", 2, "'swing.toml' is a model; a study file names it, model = \"swing.toml\", and"),
        ("run swings.toml --set study.run=3", 2, "command line: there is no setting 'study.run'; did you"),
        ("run swings.toml --set m=1", 2, "swings.toml:14: 'm' is varied, and has a value at command line"),
        ("run swings --seed 6", 2, "'swings' is the folder of a study, in which seed cannot be changed"),
        ("run swings.toml --folder x --set study.design=morris", 2, "swings.toml:24: varied 'm' is Normal"),
        ("status nothing", 2, "there is no study in 'nothing'"),
        ("show swings tops", 2, "study 'swings' has no metric 'tops'; did you mean 'top'?"),
        ("rerun swings 64", 2, "there is no run 64: the study has runs 0 to 63"),
        ("rerun swings 1 -o x.xls", 2, "'x.xls' has no known format"),
    ],
)
def test_errors_are_sentences_with_exit_codes(words: str, code: int, message: str, command: Command) -> None:
    done = command(*words.split())
    assert done.stderr.startswith(f"armillary: error: {message}"), done.stderr
    assert done.exit_code == code and "Traceback" not in done.stderr


def test_other_commands_know_study_files(command: Command) -> None:
    def other(*args: str) -> Result:
        return CliRunner().invoke(app, list(args))

    assert "is a study file: armillary study run swings.toml" in other("run", "swings.toml").stderr
    assert other("check", "swings.toml").exit_code == 0
    Path("off.toml").write_text(STUDY.replace("maximum(height)", "maximum(heigth)"), encoding="utf-8")
    checked = other("check", "off.toml")
    assert checked.exit_code == 2 and "off.toml:18: metric 'top': no output 'heigth'" in checked.stderr
    schema = json.loads(other("schema", "study").stdout)
    assert set(TABLES) <= set(schema["properties"])
    assert set(schema["properties"]["study"]["properties"]) == set(STUDY_KEYS)
    assert schema["properties"]["study"]["properties"]["design"]["enum"] == list(KINDS)
    jsonschema = pytest.importorskip("jsonschema")
    for text in (STUDY, (ROOT / "examples" / "car_study.toml").read_text(encoding="utf-8")):
        jsonschema.validate(tomllib.loads(text), schema)
