"""The record of run settings, and all that is made from it."""

from __future__ import annotations

import gc
import inspect
import math
import re
import weakref
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ArmillaryError
from armillary.model.units import BadValueError
from armillary.run_files.run_file import run_schema
from armillary.runtime.integrators.settings import complete_settings
from armillary.settings import FILE_KEYS, SETTINGS, RunSettings, SettingOptions
from armillary.stages.model import Model, RedundantModel
from tests.runtime.compiled_systems import oscillator

DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(RunSettings)}


@pytest.mark.parametrize("verb", [Model.simulate, RedundantModel.simulate, Model.simulate_batch, arm.Study])
def test_signatures_have_all_settings_with_their_defaults(verb: Any) -> None:
    known = inspect.signature(verb).parameters
    for name, default in DEFAULTS.items():
        assert known[name].default == (inspect.Parameter.empty if default is MISSING else default), name


def test_types_for_editors_name_all_settings() -> None:
    assert set(DEFAULTS) - {"t_end"} == set(SettingOptions.__annotations__)


@pytest.mark.parametrize(
    ("verb", "given", "says"),
    [
        ("simulate", {"stepp": 0.1}, r"^simulate\(\) takes no 'stepp'; did you mean 'step'"),
        ("simulate", {"intial": {}, "sample": [0.0, 1.0]}, "takes no 'intial'; did you mean 'initial'"),
        ("simulate_batch", {"xyz": 1}, "takes no 'xyz'; there are t_end, t0, step, method, "),
        ("simulate_batch", {"metric": {}}, "takes no 'metric'; did you mean 'metrics'"),
    ],
)
def test_a_keyword_that_is_no_setting_is_named(verb: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=says):
        getattr(oscillator(), verb)(1.0, **given)


def test_files_have_a_key_with_a_description_for_each_setting() -> None:
    table = run_schema()["properties"]["run"]["properties"]
    assert [*FILE_KEYS.values(), "formalism", "effort", "tier"] == list(table)
    assert all(table[FILE_KEYS[name]]["description"] == setting.help for name, setting in SETTINGS.items())


def test_settings_in_a_file_are_those_of_a_call() -> None:
    made = RunSettings.from_file({"duration": 2.0, "start": 1.0, "step": 0.1, "method": "rk4"})
    assert made.non_defaults() == {"t_end": 3.0, "t0": 1.0, "step": 0.1, "method": "rk4"}


def test_a_record_and_keywords_give_the_same_run() -> None:
    model = oscillator()
    keywords: dict[str, Any] = {"step": 0.01, "method": "midpoint", "sample": 0.1}
    first = model.simulate(0.5, **keywords)
    again = core_of(model).run_with(RunSettings(0.5, **keywords))
    assert (first.values == again.values).all() and first.info["method"] == again.info["method"]


@pytest.mark.parametrize("name", ["step", "rtol", "t0", "max_step", "sample"])
def test_true_is_no_number(name: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=f"{name} must be a number.*True"):
        oscillator().simulate(1.0, **{name: True})


def test_times_in_text_are_seconds(tmp_path: Path) -> None:
    """Wherever a run, a batch or a study takes one, by the reader of all numbers with units."""
    model = oscillator()
    run = model.simulate("500 ms", t0="0.1 s", step="10 ms", sample="0.1 s")
    assert (run.values == model.simulate(0.5, t0=0.1, step=0.01, sample=0.1).values).all()
    at_times = model.simulate("0.01 min", sample=["0 s", 0.3], max_step="50 ms")
    assert (at_times.values == model.simulate(0.6, sample=[0.0, 0.3], max_step=0.05).values).all()
    found, expected = (
        model.simulate_batch(t, step=1e-3, runs=2, watch=w, metrics=["maximum(A.q1)"])["maximum(A.q1)"]
        for t, w in (("0.5 s", "20 ms"), (0.5, 0.02))
    )
    assert (found == expected).all()
    studies = [
        arm.Study(model, tmp_path / "study", t, vary={"A.q1": [0.1, 0.2]}, design="list", watch=w)
        for t, w in (("0.5 s", "20 ms"), (np.str_("0.5 s"), 0.02))
    ]
    first, again = (study._definition.content["run"] for study in studies)
    assert first == again and first["watch"] == 0.02
    for wrong, says in (
        ("5 m", r"t_end has units of \[s\] \(s\), but '5 m' has \[m\]"),
        ("soon", "t_end needs a"),
    ):
        with pytest.raises(arm.ArmillaryError, match=says):
            model.simulate(wrong)


def test_few_settings_are_kept_with_the_times_of_their_rows() -> None:
    made = [weakref.ref(complete_settings(RunSettings(1.0 + k, step=0.5)).row_times) for k in range(100)]
    gc.collect()
    assert made[-1]() is not None and sum(times() is not None for times in made) <= 40


@pytest.mark.parametrize(
    ("former", "new"),
    [
        ("scipy:RK45", "dopri5"),
        ("scipy:DOP853", "dop853"),
        ("scipy:LSODA", "auto"),
        ("scipy:Radau", "rodas5p"),
        ("scipy:BDF", "rodas5p"),
    ],
)
def test_names_of_scipys_solvers_give_the_method_that_took_their_place(former: str, new: str) -> None:
    for _ in range(2):  # kept settings warn as well
        with pytest.warns(FutureWarning, match=f"'{former}'.*write method='{new}'"):
            assert complete_settings(RunSettings(1.0, method=former)).method == new
    with pytest.raises(ArmillaryError, match="no integration method 'scipy:Heun'"):
        complete_settings(RunSettings(1.0, method="scipy:Heun"))


# Values of files: what is read, or the words of the error.
READ: list[tuple[str, Any, Any]] = [
    ("t_end", "2 min", 120.0),
    ("t_end", 0, 0.0),
    ("t_end", -1.0, "must not be negative, not -1"),
    ("t0", -1.5, -1.5),
    ("step", "10 ms", 0.01),
    ("step", 0.0, "must be positive, not 0"),
    ("method", "rk4", "rk4"),
    ("method", 4, "must be a name, not 4"),
    ("sample", "0.1 s", 0.1),
    ("sample", [0, "20 ms"], [0.0, 0.02]),
    ("sample", 0.0, "must be positive, not 0"),
    ("rtol", 0, 0.0),
    ("rtol", -1e-9, "must not be negative, not -1e-09"),
    ("rtol", True, "needs a number, not True"),
    ("atol", [1e-6, 0], [1e-6, 0.0]),
    ("atol", [1e-6, -1e-6], "must not be negative, not -1e-06"),
    ("max_step", math.inf, math.inf),
    ("max_step", "50 ms", 0.05),
    ("max_step", -1.0, "must be positive, not -1"),
    ("max_steps", 1, 1),
    ("max_steps", 0, "needs a whole number, at least 1, not 0"),
    ("max_steps", True, "needs a whole number, at least 1, not True"),
    ("max_steps", 2.0, "needs a whole number, at least 1, not 2.0"),
]


@pytest.mark.parametrize(("name", "value", "expected"), READ)
def test_values_of_files_are_read_or_refused(name: str, value: Any, expected: Any) -> None:
    if isinstance(expected, str) and expected != value:
        with pytest.raises(BadValueError, match=re.escape(expected)):
            SETTINGS[name].read(value)
    else:
        assert SETTINGS[name].read(value) == expected


def test_no_step_is_longer_than_the_longest_of_the_settings() -> None:
    model = oscillator()
    few, many = (model.simulate(0.6, **more).info["steps"] for more in ({}, {"max_step": 0.01}))
    assert few < 60 <= many
