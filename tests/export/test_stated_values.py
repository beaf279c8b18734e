"""Values in run files are those that were stated, in the stated units, whatever the units inside are."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

import armillary as arm
from armillary.export.text.files import example_timing

if TYPE_CHECKING:
    from armillary.export.text.source import Source

# None of these units is one of the system's own but that of angles.
STATED: dict[str, dict[str, tuple[float, str]]] = {
    "parameters": {
        "k": (3.0, "N/mm; stiffness"),
        "reach": (250.0, "mm; x coordinate of the mass centre of body arm"),
        "mass": (1500.0, "g; mass of body arm"),
        "tau": (400.0, "ms; divisor in rate of state warm"),
    },
    "initial": {
        "arm.q1": (30.0, "deg; rotation of arm in ground about z"),
        "arm.u1": (12.0, "deg/s; rotation rate of arm in ground about z"),
        "warm": (0.25, "kN"),
    },
    "inputs": {"push": (2.5, "kN")},
    "memory": {"offset": (7.0, "mm; a length"), "turns": (45.0, "deg")},
}


@cache
def _equations() -> Any:
    s = arm.System("stated", units="in-lb-s-deg")
    s.parameter("k", 3.0, units="N/mm", about="stiffness")
    for name, value, units in (("reach", 250.0, "mm"), ("mass", 1500.0, "g"), ("tau", 400.0, "ms")):
        s.parameter(name, value, units=units)
    body = s.body("arm", joint=arm.Revolute("z"), com=("reach", 0, 0), mass="mass", inertia=0)
    s.input("push", 2.5, units="kN")
    s.memory("offset", 7.0, units="mm", about="a length")
    s.memory("turns", 45.0, units="deg")
    s.state("warm", "(push - warm)/tau", 0.25, units="kN")
    s.moment("drive", "(push + warm - k*reach*sin(arm.q1 - turns))*offset", s.ground.z, on=body)
    s.start({"arm.q1": 30, "arm.u1": 12})
    return s.derive()


@pytest.mark.parametrize("language", ["c", "python"])
def test_run_files_hold_what_was_stated(language: str, tmp_path: Path) -> None:
    text = (_equations().export(language, tmp_path / "stated") / "run.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    assert list(found) == ["run", *STATED]
    assert (found["run"]["method"], found["run"]["duration"]) == ("rk4", 2.0)
    for group, entries in STATED.items():
        assert list(found[group]) == list(entries)
        for name, (value, about) in entries.items():
            assert found[group][name] == pytest.approx(value, rel=1e-14)
            assert any(line.endswith(f"  # {about}") for line in text.splitlines()), about


def test_examples_have_whole_steps_in_the_periods_of_clocks() -> None:
    """At most the usual step and more than a half of it, but for periods without a common part."""

    def timing(*periods: float, usual: float | None = None) -> tuple[float, float]:
        memory = [SimpleNamespace(period=p) for p in (None, *periods)]
        run = None if usual is None else SimpleNamespace(step=usual)
        parts = {"reference": SimpleNamespace(trajectory=run), "description": SimpleNamespace(memory=memory)}
        return example_timing(cast("Source", SimpleNamespace(**parts)))

    assert timing() == (200 * 1e-3, 1e-3) and timing(usual=0.02) == (4.0, 0.02)
    for periods, usual in (((0.01,), 1e-3), ((0.0025,), 1e-3), ((0.03, 0.02), 0.004), ((0.7, 0.5), 0.03)):
        duration, step = timing(*periods, usual=usual)
        assert duration == 200 * step and usual / 2 < step <= usual * (1 + 1e-12)
        for period in periods:
            assert period / step == pytest.approx(round(period / step), rel=1e-12)
    assert timing(0.1, 0.1000001) == timing()
