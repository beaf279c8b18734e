"""Inputs over time in run files and on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import armillary as arm
from armillary.cli.app import app
from armillary.run_files.run_file import RunFileError

MODEL = """
armillary = 1
name = "follower"
[inputs]
road = { units = "mm", interpolation = "smooth" }
push = { units = "N", default = 0.5 }
[bodies.b]
joint = { prismatic = "z" }
mass = 1.0
inertia = 0
[loads.spring]
force = "-50*(b.q1 - road) - 4*b.u1 + push"
direction = "ground.z"
at = "b.com"
"""
RUN = """
model = "follower.toml"
[inputs.road]
file = "data.csv"
column = "height"
interpolation = "linear"
[inputs.push]
t = [0.0, 0.5, 1.0]
y = [0.0, 2.0, 0.0]
interpolation = "hold"
[run]
duration = 1.0
step = 0.01
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "follower.toml").write_text(MODEL)
    (tmp_path / "run.toml").write_text(RUN)
    (tmp_path / "data.csv").write_text("t [ms],other,height [cm]\n0,1,0\n400,1,1\n800,1,-1\n")
    (tmp_path / "road.csv").write_text("t,road\n0,0\n0.4,10\n0.8,-10\n")
    return tmp_path


def expected(folder: Path, **inputs: object) -> arm.Run:
    model = arm.load(folder / "follower.toml").derive().compile()
    return model.simulate(1.0, step=0.01, inputs=inputs)


def test_a_run_file_names_columns_units_and_points(folder: Path) -> None:
    road = arm.Signal([0.0, 0.4, 0.8], [0.0, 10.0, -10.0], interpolation="linear")
    push = arm.Signal([0.0, 0.5, 1.0], [0.0, 2.0, 0.0], interpolation="hold")
    wanted = expected(folder, road=road, push=push)
    run = arm.run(folder / "run.toml", save=True)
    np.testing.assert_allclose(run["b.q1"], wanted["b.q1"], rtol=1e-10, atol=1e-15)
    echo = folder / "run.echo.toml"
    assert 'file = "data.csv"' in echo.read_text()
    again = arm.run(echo)
    np.testing.assert_array_equal(again["b.q1"], run["b.q1"])


def test_the_command_line_has_data_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    command = ["run", "follower.toml", "--duration", "1", "--step", "0.01", "--input", "road=road.csv"]
    done = CliRunner().invoke(app, [*command, "-o", "out.csv"])
    assert done.exit_code == 0, done.output
    wanted = expected(folder, road=([0.0, 0.4, 0.8], [0.0, 10.0, -10.0]))
    np.testing.assert_allclose(arm.load_run("out.csv")["b.q1"], wanted["b.q1"], rtol=1e-9, atol=1e-12)
    other = arm.run("run.toml", {"inputs.road.column": "other", "inputs.road.units": "m", "inputs.push": 0.0})
    assert np.all(other["road"] == 1000.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"inputs.wind": "data.csv"}, "there is no input 'wind'"),
        ({"inputs.road.colum": "height"}, "unknown key 'colum'; did you mean 'column'?"),
        ({"inputs.road.column": "depth"}, "has no column 'depth'"),
        ({"inputs.road.file": "none.csv"}, "there is no such file"),
        ({"inputs.road.units": "s"}, "but its data are in s"),
        ({"inputs.push.y": [1.0]}, "3 instants but values of shape (1,)"),
        ({"inputs.push.interpolation": "spline"}, "interpolation="),
    ],
)
def test_wrong_entries_are_refused_with_their_place(
    folder: Path, change: dict[str, object], words: str
) -> None:
    with pytest.raises(RunFileError) as told:
        arm.run(folder / "run.toml", change)
    assert words in str(told.value)


@pytest.mark.parametrize(("given", "missing"), [("t", "y"), ("y", "t")])
def test_points_need_times_and_values(folder: Path, given: str, missing: str) -> None:
    text = f'model = "follower.toml"\n[run]\nduration = 1.0\n[inputs.push]\n{given} = [0.0, 1.0]\n'
    (folder / "half.toml").write_text(text)
    with pytest.raises(RunFileError, match=f"points need both t and y, and {missing} is missing"):
        arm.run(folder / "half.toml")


def test_a_study_file_has_data_over_time(folder: Path) -> None:
    """Each run of the study is the one that the run file makes."""
    from armillary.studies.study_file import StudyFile, StudySetup

    text = RUN + '[vary."b.q1"]\nuniform = [0, 1]\n[study]\nruns = 2\n[metrics]\nend = "final(b.q1)"\n'
    (folder / "study.toml").write_text(text)
    study = StudySetup(StudyFile.read(folder / "study.toml")).study().run(progress=False)
    table = study.table()
    for i in range(2):
        run = arm.run(folder / "run.toml", {"initial.b.q1": float(table["b.q1"][i])})
        assert table["end"][i] == pytest.approx(run["b.q1"][-1], rel=1e-12)
