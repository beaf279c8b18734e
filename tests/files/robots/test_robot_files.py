"""Imported robots accelerate as in the programs that their files were made for, to the last few digits.

Reference: ``data/*.json``, made by ``make_reference.py`` with Pinocchio (URDF) and MuJoCo (MJCF); the program
and its version stand in each file. Random states, velocities and drives; contact and limits switched off.
"""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.files import robots
from armillary.stages import System

load_mjcf = partial(robots.load_mjcf, make=System)
load_urdf = partial(robots.load_urdf, make=System)

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
CASES: dict[str, Any] = {
    "six_axis_arm": lambda: load_urdf(EXAMPLES / "six_axis_arm.urdf"),
    "six_axis_arm_floating": lambda: load_urdf(EXAMPLES / "six_axis_arm.urdf", floating=True),
    "platform": lambda: load_urdf(HERE / "data" / "platform.urdf"),
    "pendulum": lambda: load_mjcf(HERE / "data" / "pendulum.xml"),
    "humanoid": lambda: load_mjcf(EXAMPLES / "humanoid.xml"),
    "workshop": lambda: load_mjcf(HERE / "data" / "workshop.xml"),
    "linkage": lambda: load_mjcf(HERE / "data" / "linkage.xml"),
}


def quietly(load: Any) -> arm.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load()


def state_of(system: arm.System, state: dict[str, Any]) -> tuple[dict[str, float], list[str], list[float]]:
    """(initial values by name, names of speeds, their expected rates) of a stored state."""
    imported = system.imported
    assert imported is not None
    values: dict[str, float] = {}
    names: list[str] = []
    rates: list[float] = []
    for joint, coordinates in imported.joints.items():
        values |= dict(zip(coordinates, state["q"][joint], strict=True))
        body = coordinates[0].partition(".")[0]
        speeds = [str(u) for u in system.bodies[body].speeds]
        values |= dict(zip(speeds, state["u"][joint], strict=True))
        names += speeds
        rates += state["udot"][joint]
    return values, names, rates


@pytest.mark.parametrize("case", CASES)
def test_accelerations_are_those_of_the_peer(case: str) -> None:
    reference = json.loads((HERE / "data" / f"{case}.json").read_text(encoding="utf-8"))
    system = quietly(CASES[case])
    imported = system.imported
    assert imported is not None
    for name, mass in reference.get("masses", {}).items():
        assert float(system.bodies[imported.bodies[name]].mass.data) == pytest.approx(mass, rel=1e-13)
    for speed in system.speeds:  # dependent ones too, which are no states
        system.output(f"rate of {speed}", arm.time_derivative(speed))
    model = system.derive("kane").compile()  # as cheap here as any, and quickly derived
    for state in reference["states"]:
        values, names, rates = state_of(system, state)
        start = {str(s): v for s, v in system.initial.items()} | values
        q = [start[name] for name in model.coordinate_names]
        u = [start[name] for name in model.speed_names]
        drives = {imported.inputs[name]: tau for name, tau in state["tau"].items() if name in imported.inputs}
        memory = [drives[name] for name in system.memories]
        found = model.outputs(0.0, [*q, *u], memory=memory)
        own = [found[f"rate of {name}"] for name in names]
        assert own == pytest.approx(rates, rel=1e-10, abs=1e-10 * np.abs(rates).max())
