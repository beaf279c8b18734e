"""armillary modes: modes, root loci and Campbell diagrams from the command line, and mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import armillary as arm
from armillary.cli.app import app


def rotor() -> arm.System:
    """A rotor on a fixed point, upright by springs."""
    s = arm.System("rotor")
    s.parameter("k", 50.0, units="N*m")
    frame = s.body("frame", joint=arm.Gimbal("xy"), mass=0, inertia=0)
    s.body("rotor", frame, arm.Revolute("z"), mass=0, inertia=(2, 2, 1))
    s.moment("spring_x", "-k*frame.q1", s.ground.x, on=frame)
    s.moment("spring_y", "-k*frame.q2", frame.y, on=frame)
    return s


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    rotor().save("rotor.toml")
    return lambda *args: CliRunner().invoke(app, ["modes", "rotor.toml", *args])


def succeeded(done: Result) -> str:
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_modes_are_printed_and_kept(command: Callable[..., Result]) -> None:
    text = succeeded(command("--energies", "--set", "k=200", "-o", "modes.json"))
    assert "0 ± 10i" in text and "100 % rotor" in text and "wrote modes.json" in text
    assert arm.Modes.load("modes.json")[1].omega == pytest.approx(10.0)
    assert "kinetic energy" not in succeeded(command("--undamped", "-o", "modes.html"))
    assert "<table>" in Path("modes.html").read_text(encoding="utf-8")
    data = json.loads(succeeded(command("--at", "rotor.u1=60 rpm", "--json")))
    assert data["stable"] and data["modes"][0]["kind"] == "rigid" and len(data["modes"]) == 3


def test_sweeps_and_spins_are_ranges(command: Callable[..., Result]) -> None:
    data = json.loads(succeeded(command("--spin", "rotor.u1=10:120:12 rpm", "--json")))
    assert [c["spin"] for c in data["critical_speeds"]] == pytest.approx([sqrt(50 / 3), sqrt(50)])
    text = succeeded(command("--sweep", "k=-10:10:3", "-o", "locus.txt"))
    assert "becomes stable" in text and Path("locus.txt").read_text(encoding="utf-8") in text + "\n"
    pytest.importorskip("matplotlib")
    assert "wrote c.svg" in succeeded(
        command("--spin", "rotor.u1=0:12:7", "--orders", "1,2", "--plot", "c.svg")
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--sweep", "k=1:2"), "k: '1:2' is neither FROM:TO:COUNT nor numbers with commas"),
        (("--sweep", "kk=1:2:3"), "has no parameter, input, coordinate or speed 'kk'"),
        (("--sweep", "k=1:2:3", "--spin", "rotor.u1=1:2:3"), "give only one of --sweep, --spin"),
        (("--spin", "rotor.u1=1:2:3", "--orders", "a"), "--orders: 'a' is not a list of numbers"),
        (("--orders", "nonsense"), "--orders: 'nonsense' is not a list of numbers"),
        (("-o", "modes.nc"), "cannot be saved as 'modes.nc'"),
    ],
)
def test_mistakes_are_sentences(command: Callable[..., Result], asked: tuple[str, ...], told: str) -> None:
    done = command(*asked)
    assert done.exit_code == 2 and told in done.stderr
