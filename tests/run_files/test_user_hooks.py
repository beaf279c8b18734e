"""Functions of the user's at the start of a run, where a run file is read and where its echo is written."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ParameterError

MODEL = """
name = "swing"
units = "SI-deg"
[parameters]
L = { value = 80, units = "cm" }
[memory.held]
initial = 2
units = "mm"
[states.z]
rate = "bob.u1 - z/0.5"
[bodies.bob]
joint = { revolute = "z" }
com = [0, "-L", 0]
mass = 1
inertia = 0
[gravity]
magnitude = 9.81
direction = "-ground.y"
"""
RUN = """model = "swing.toml"
[initial]
"bob.u1" = 3
[user]
rope = "long"
how.often = 2
[run]
duration = 0.5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "swing.toml").write_text(MODEL, encoding="utf-8")
    (tmp_path / "run.toml").write_text(RUN, encoding="utf-8")
    return tmp_path / "run.toml"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, arm.CompiledModel]:
    path = tmp_path_factory.mktemp("hooks") / "swing.toml"
    path.write_text(MODEL, encoding="utf-8")
    return {name: arm.load(path).derive(name).compile() for name in ("kane", "momentum", "redundant")}


def above(values: dict[str, float]) -> dict[str, float]:
    """Released at rest 0.1 m above the lowest place."""
    return {"bob.q1": math.degrees(math.acos(1 - 10 / values["L"])), "bob.u1": 0.0, "z": 0.25}


@pytest.mark.parametrize("formalism", ["kane", "momentum", "redundant"])
@pytest.mark.parametrize("initial", [None, {"bob.u1": 5.0}, [0.1, 0.2, 0.3]])
def test_on_start_sees_all_values_in_stated_units_and_sets_initial_ones(formalism, initial, models) -> None:
    seen: dict[str, float] = {}

    def start(values: dict[str, float]) -> dict[str, Any]:
        seen.update(values)
        return {**above(values), "held": 7.0}

    how = {"step": 1e-3} if formalism == "redundant" else {}
    run = models[formalism].simulate(0.3, initial=initial, parameters={"L": 125}, on_start=start, **how)
    speed = {None: 0.0, dict: 5.0, list: math.degrees(0.2)}[None if initial is None else type(initial)]
    assert seen["L"] == 125 and seen["held"] == pytest.approx(2.0) and seen["bob.u1"] == pytest.approx(speed)
    assert run["bob.q1"][0] == pytest.approx(math.degrees(math.acos(0.92)), rel=1e-12)
    assert (run["bob.u1"][0], run["z"][0], run["held"][0]) == pytest.approx((0.0, 0.25, 7.0))


def test_on_start_that_returns_nothing_changes_nothing(models) -> None:
    run = models["kane"].simulate(0.3, initial={"bob.u1": 3.0}, on_start=lambda values: None)
    np.testing.assert_array_equal(run.values, models["kane"].simulate(0.3, initial={"bob.u1": 3.0}).values)


@pytest.mark.parametrize(
    ("returned", "kind", "message"),
    [
        ({"bob.q2": 1}, ParameterError, r"on_start sets 'bob.q2', which has no initial value; did you mean"),
        ({"L": 1}, ParameterError, r"'L', which has no initial value; it is a parameter: give it in"),
        (3, ArmillaryError, r"on_start must return initial values by name, or None, not int"),
        ({"bob.q1": math.inf}, ParameterError, r"is inf; give a finite number"),
    ],
)  # fmt: skip
def test_wrong_answers_are_refused(returned, kind, message, models) -> None:
    with pytest.raises(kind, match=message):
        models["kane"].simulate(0.3, on_start=lambda values: returned)


def test_sensitivities_refuse_a_function_without_derivatives(models) -> None:
    made = models["kane"].with_sensitivities(["L"])
    with pytest.raises(ArmillaryError, match="on_start is a function of Python, which has no derivatives"):
        made.simulate(0.3, on_start=above)


def test_input_start_and_echo_take_part_and_the_echo_gives_the_same_run(file: Path) -> None:
    given: dict[str, Any] = {}

    def read(user: dict[str, Any]) -> dict[str, Any]:
        given.update(user)
        return {"L": "1.25 m", "initial.bob.u1": 99.0, "run.step": 0.01}  # the file has a speed of its own

    run = arm.run(
        file,
        save=True,
        on_input=read,
        on_start=lambda v: {"bob.q1": v["L"] / 10},
        on_echo=lambda r: ["so\nit", 2],
    )
    assert given == {"rope": "long", "how.often": 2}
    assert (run.parameters["L"], run.initial["bob.u1"], run.initial["bob.q1"]) == pytest.approx(
        (125, 3, 12.5)
    )
    assert len(run) == 51
    echo = file.with_name("run.echo.toml").read_text(encoding="utf-8")
    assert echo.endswith("\n# so\n# it\n# 2\n") and '[user]\nrope = "long"' in echo and "on_start" in echo
    again = arm.run(file.with_name("run.echo.toml"), on_input=lambda user: None)
    np.testing.assert_array_equal(again.values, run.values)


def test_a_user_table_that_nothing_reads_is_told(file: Path) -> None:
    with pytest.raises(ArmillaryError, match=r"run.toml:5: nothing reads \[user\] here; run it from Python"):
        arm.run(file)
    with pytest.raises(ArmillaryError, match=r"on_input must return settings by name"):
        arm.run(file, on_input=lambda user: [1])
