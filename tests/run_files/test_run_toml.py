"""Run files: what they say is what runs, in the user's units; what is wrong is told with its line."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.units import parse_unit
from armillary.model.units import SYSTEMS, read_number
from armillary.run_files import RunFile, RunFileError, Simulation
from armillary.run_files.run_file import parse_setting
from tests.run_files.swing import RUN, write_swing


@pytest.fixture
def push(tmp_path: Path) -> Path:
    return write_swing(tmp_path)


def test_a_run_file_is_the_same_run_as_in_python(push: Path) -> None:
    """Every kind of value at once, against plain numbers converted by hand."""
    run = arm.run(push)
    system = arm.load(push.with_name("swing.toml"))
    torque = 2 * 4.4482216152605 * 0.0254  # pound-force by its definition
    direct = system.derive().compile().simulate(
        0.5, step=0.01, parameters={"L": 20 * 0.0254, "m": 1.5}, initial={"bob.u1": 36.0},
        memory={"push": torque},
    )  # fmt: skip
    assert run.units["bob.q1"] == "deg" and run.initial["bob.q1"] == 10.0
    assert run.initial["bob.u1"] == pytest.approx(36.0, rel=1e-15)
    np.testing.assert_allclose(run.values, direct.values, rtol=1e-12, atol=1e-12)


def test_angles_in_degrees_are_those_of_radians(tmp_path: Path) -> None:
    """The same model with and without degrees at its border: one motion, two units."""
    run = arm.run(write_swing(tmp_path))
    text = (tmp_path / "swing.toml").read_text(encoding="utf-8")
    radians = text.replace('"SI-deg"', '"SI"').replace('"bob.q1" = 10', f'"bob.q1" = {10 * pi / 180!r}')
    (tmp_path / "swing.toml").write_text(radians, encoding="utf-8")
    other = arm.run(tmp_path / "push.toml")
    assert (run.units["bob.u1"], other.units["bob.u1"]) == ("deg/s", "rad/s")
    np.testing.assert_allclose(run["bob.q1"], np.degrees(other["bob.q1"]), rtol=1e-12)
    np.testing.assert_allclose(run["bob.u1"], np.degrees(other["bob.u1"]), rtol=1e-12)
    np.testing.assert_allclose(run["peak"], other["peak"], rtol=1e-12)  # stated in degrees in both
    np.testing.assert_allclose(run["height"], other["height"], rtol=1e-12)


@pytest.mark.parametrize(
    ("value", "units", "number"),
    [
        (3, "m", 3.0),
        ("3", "m", 3.0),
        ("3 ft", "m", 0.9144),
        ("55 mile/hour", "in/s", 968.0),
        ("-1.5e-3 deg", "rad", -1.5e-3 * pi / 180),
        (".5 rev", "deg", 180.0),
        ("pi/2", "rad", pi / 2),
        ("2*pi", "", 2 * pi),
        ("5 in", "", 0.127),
        ("1_000 mm", "m", 1.0),
        ("3 - 2", "m", 1.0),
        ("pi/18 rad", "deg", 10.0),
        ("(1 + 2)*3 ft", "in", 108.0),
        ("10 %", "", 0.1),
        ("2 1/s", "1/s", 2.0),
    ],
)
def test_values_with_units(value: object, units: str, number: float) -> None:
    dimension = parse_unit(units).dimension if units else None
    assert read_number(value, units, SYSTEMS["SI"], dimension) == pytest.approx(number, rel=1e-15)


def test_settings_override_the_file(push: Path) -> None:
    """All kinds of values by their addresses; the file stays as it is."""
    pairs = ["m=2.5", "initial.bob.q1=0.1 rad", "input.push=0", "memory.peak=45", "run.duration=20 ms"]
    settings = dict(parse_setting(pair) for pair in pairs)
    file = RunFile.read(push)
    run = Simulation(file.setting(settings)).run()
    assert run.parameters["m"] == 2.5 and Simulation(file).run().parameters["m"] == 1.5
    assert run.initial["bob.q1"] == pytest.approx(18 / pi, rel=1e-15)
    assert (run.initial["push"], run.initial["peak"], run.time[-1]) == (0.0, pytest.approx(45.0), 0.02)
    assert np.array_equal(arm.run(push, settings).values, run.values)


def test_outputs_are_selected_by_name_and_pattern(push: Path) -> None:
    chosen = RunFile.read(push).setting({"output.select": "height, bob.*", "output.file": "some.csv"})
    simulation = Simulation(chosen)
    simulation.save(simulation.run())
    saved = arm.load_run(push.with_name("some.csv"))
    assert saved.names == ("height", "bob.q1", "bob.u1")
    assert not push.with_name("push.csv").exists()


PUSH = "push.toml"
BAD = [
    ("", f'{PUSH}: which model? begin with a line such as model = "car.toml"'),
    ('modle = "x"', f"{PUSH}:1: unknown key 'modle'; did you mean 'model'?"),
    ("model = 3", f"{PUSH}:1: model must be text, not 3"),
    ('model = "sving.toml"', f"{PUSH}:1: there is no model file 'sving.toml'"),
    ('model = "swing.py"', f"{PUSH}:1: 'swing.py' is a program, which is not executed here"),
    ("model = [", f"{PUSH}:1: this is not TOML"),
    ("title = 5", f"{PUSH}:2: title must be text, not 5"),
    ("run = 3", f"{PUSH}:2: run must be a table, [run], not 3"),
    ("[run]\ndurration = 1", f"{PUSH}:3: unknown key 'durration' in [run]; did you mean 'duration'?"),
    ("[parameters]\nM = 1", f"{PUSH}:3: there is no parameter 'M'; did you mean 'm'?"),
    ("[parameters]\nm = true", f"{PUSH}:3: parameter 'm' needs a number, or text such as '2.5 kg', not True"),
    ("[parameters]\nm = nan", f"{PUSH}:3: parameter 'm' is nan; give a finite number"),
    ('[parameters]\nm = "3 ft"', f"{PUSH}:3: parameter 'm' has units of [kg] (kg), but '3 ft' has [m]"),
    ('[parameters]\nm = "3 kgg"', f"{PUSH}:3: parameter 'm': unknown unit 'kgg'; did you mean 'kg'?"),
    ('[parameters]\nm = "2 3"', f"{PUSH}:3: parameter 'm' needs a number, or text such as '2.5 kg', not"),
    ('[parameters]\nm = "2 e"', f"{PUSH}:3: parameter 'm': unknown unit 'e'"),
    ('[parameters]\nm = "heavy"', f"{PUSH}:3: parameter 'm' needs a number, or text such as '2.5 kg', not"),
    ('[parameters]\n"bob.q1" = 1', f"{PUSH}:3: there is no parameter 'bob.q1'; it is a coordinate, speed"),
    ("[parameters]\npush = 1", f"{PUSH}:3: there is no parameter 'push'; it is in [inputs]"),
    ("[initial]\nbob.q2 = 1", f"{PUSH}:3: there is no coordinate, speed or state 'bob.q2'; did you mean"),
    ("[inputs]\npuhs = 1", f"{PUSH}:3: there is no input 'puhs'; did you mean 'push'?"),
    ("[memory]\npush = 1", f"{PUSH}:3: there is no memory 'push'; there are peak"),
    ("[run]\nstep = -1", f"{PUSH}:3: step must be positive, not -1"),
    ('[run]\nstep = "1 kg"', f"{PUSH}:3: step has units of [s] (s), but '1 kg' has [kg]"),
    ('[run]\nmethod = "rk5"', f"{PUSH}:3: method: there is no method 'rk5'; did you mean 'rk4'?"),
    ('[run]\nformalism = "cane"', f"{PUSH}:3: formalism: there is no formalism 'cane'; did you mean 'kane'?"),
    ("[output]\nselect = 5", f"{PUSH}:3: select must be a list of outputs"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[text or "empty" for text, _ in BAD])
def test_what_is_wrong_is_a_sentence_with_its_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = text if text.startswith("mod") or not text else f'model = "swing.toml"\n{text}'
    with pytest.raises(arm.ArmillaryError) as caught:
        Simulation(RunFile.read(write_swing(Path(), whole)))
    assert str(caught.value).startswith(message)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = f"{RUN}method = 5\nstpe = 3\n[parameters.x]\ny = 1\n[output]\nselect = []\n[outptu]\n"
    with pytest.raises(RunFileError) as caught:
        Simulation(RunFile.read(write_swing(tmp_path, text)))
    assert [int(problem.split(":")[1]) for problem in caught.value.problems] == [24, 19, 21, 18, 23]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"run.duratoin": 1}, "settings: there is no setting 'run.duratoin'; did you mean 'duration'?"),
        ({"output.select": ["hight"]}, "settings: no output 'hight'; did you mean 'height'?"),
        ({"m": 1e400}, "settings: parameter 'm' is inf; give a finite number"),
    ],
)
def test_wrong_settings(push: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(arm.ArmillaryError) as caught:
        arm.run(push, settings)
    assert str(caught.value).startswith(message)


def test_a_run_without_an_end_and_results_without_a_place(push: Path) -> None:
    with pytest.raises(RunFileError, match="how long is the run"):
        Simulation(RunFile.of_model(push.with_name("swing.toml"))).run()
    for name, message in (("no/where.csv", "there is no folder"), ("run.xls", "no known format")):
        with pytest.raises(arm.ArmillaryError, match=message):
            arm.run(push, {"output.file": name}, save=True)
    assert sorted(p.name for p in push.parent.iterdir()) == ["push.toml", "swing.toml"]
