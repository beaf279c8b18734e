"""Loops are closed at the same place in metres and in millimetres, in the process and in exported C.

A slider-crank (gaps in lengths) with a follower that a constraint of angles ties to it: both kinds of gaps
are closed together.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm

SYSTEMS = {"SI": 1.0, "mm-kg-s": 1000.0}  # units in a metre

# In metres. The last two give more than the loops leave free, so that the dependent ones are first guesses;
# with the rod of 10 mm the loops stay open, and the smallest gaps are a compromise.
STARTS: list[dict[str, float]] = [
    {},
    {"D.q1": 1.3},
    {"C.q1": 0.09},
    {"D.q1": 0.4, "C.q1": 0.11},
    {"C.q1": -0.1, "B.q1": 3.0},
]


@cache
def equations(units: str) -> arm.Equations:
    s = arm.System("geared crank", units=units)
    N, metre = s.ground, SYSTEMS[units]
    s.parameter("crank", 40.0, units="mm")
    s.parameter("rod", 100.0, units="mm")
    unit = (metre**2,) * 3
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=unit)
    B = s.body("B", A, arm.Revolute("z"), at=("crank", 0, 0), mass=1, inertia=unit)
    C = s.body("C", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.body("D", joint=arm.Revolute("z"), mass=1, inertia=unit)
    s.close_loop(B.point("end", ("rod", 0, 0)), C.origin, [N.x, N.y], name="pin")
    s.constrain("D.q1 - 2*A.q1 - 0.3*sin(B.q1)", name="gear")
    return s.derive()


@cache
def model(units: str) -> arm.CompiledModel:
    return equations(units).compile()


def inside(units: str, values: dict[str, float]) -> dict[str, float]:
    return {name: x * (SYSTEMS[units] if name.startswith("C.") else 1.0) for name, x in values.items()}


def in_metres(units: str, values: dict[str, float]) -> np.ndarray:
    return np.array([x / (SYSTEMS[units] if name.startswith("C.") else 1.0) for name, x in values.items()])


def coordinates(units: str, start: dict[str, float]) -> np.ndarray:
    state = model(units).state(inside(units, start))
    return in_metres(units, dict(zip(equations(units).coordinates, state.tolist(), strict=False)))


def test_the_choice_of_dependent_speeds_does_not_depend_on_units() -> None:
    assert equations("SI").dependents == equations("mm-kg-s").dependents


@pytest.mark.parametrize("start", STARTS, ids=str)
def test_a_model_in_millimetres_is_assembled_where_one_in_metres_is(start: dict[str, float]) -> None:
    metres, millimetres = (coordinates(units, start) for units in SYSTEMS)
    np.testing.assert_allclose(millimetres, metres, atol=1e-10)


def test_what_remains_open_is_the_same_in_metres_and_millimetres() -> None:
    """A rod of 10 mm cannot follow a crank of 40 mm: gaps of lengths and of the gear are left together."""
    left = []
    for units, metre in SYSTEMS.items():
        with pytest.raises(arm.ParameterError, match="cannot be closed") as caught:
            model(units).state({"A.q1": 1.5, "D.q1": 1.0}, {"rod": 10.0})
        lines = [line for line in str(caught.value).splitlines() if " remains" in line]
        gaps = {line.split("'")[1]: float(line.split(": ")[-1].split()[0]) for line in lines}
        left.append([gaps[name] / (metre if name.startswith("pin") else 1.0) for name in gaps])
    np.testing.assert_allclose(left[1], left[0], rtol=1e-4)
    assert [name.split()[0] for name in gaps] == ["pin", "gear"]
    # With D.q1 = 1 and A.q1 = 1.5 as given the gear lacks 2 + 0.3 sin B.q1, whatever B.q1 is.
    assert 1.7 <= abs(left[0][1]) <= 2.3


def test_speeds_at_the_start_do_not_depend_on_units() -> None:
    """Of the speeds only that of the slider is given: the others are the nearest to rest that agree."""
    found = []
    for units in SYSTEMS:
        start = inside(units, {"A.q1": 0.5, "C.u1": 0.1})
        run = model(units).simulate(0.0, initial=start)  # without a step: an adaptive run of no length
        names = [f"{body}.u1" for body in "ABCD"]
        found.append(in_metres(units, {name: float(run[name][0]) for name in names}))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    assert found[0][2] == pytest.approx(0.1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc")
def test_exported_c_assembles_alike_in_metres_and_millimetres(tmp_path: Path) -> None:
    for units in SYSTEMS:
        folder = equations(units).export("c", tmp_path / units)
        sources = [p.name for p in folder.glob("*.c") if p.name != "test.c"]
        subprocess.run(["cc", "-std=c99", "-O0", *sources, "-o", "program", "-lm"], cwd=folder, check=True)
        for start in STARTS:
            lines = ["[run]", "duration = 0.0", "step = 1e-3", "[initial]"]
            lines += [f'"{name}" = {value!r}' for name, value in inside(units, start).items()]
            (folder / "now.toml").write_text("\n".join(lines) + "\n")
            out = subprocess.run(["./program", "now.toml"], cwd=folder, capture_output=True, text=True).stdout
            names, values = list(csv.reader(out.splitlines()))[:2]
            row = dict(zip(names, map(float, values), strict=True))
            found = in_metres(units, {name: row[name] for name in equations(units).coordinates})
            np.testing.assert_allclose(found, coordinates("SI", start), atol=1e-8, err_msg=str(start))
