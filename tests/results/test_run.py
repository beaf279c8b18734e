"""A run is a read-only record, indexed by name."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from armillary.errors import ArmillaryError
from armillary.results import Event, Run

TIME = np.array([0.0, 1.0, 2.0, 4.0])
VALUES = np.array([[0.0, 10.0], [1.0, 20.0], [4.0, 40.0], [16.0, 80.0]])


def falling(**changes):
    given = {
        "system": "falling stone",
        "time": TIME.copy(),
        "values": VALUES.copy(),
        "names": ("depth", "stone.u1"),
        "units": {"depth": "m"},
        "descriptions": {"depth": "distance fallen"},
        "parameters": {"g": 2},
        "parameter_units": {"g": "m/s^2"},
        "info": {"method": "rk4", "steps": 3, "status": "completed"},
        "events": [(3.5, "splash")],
    }
    return Run(**(given | changes))


def test_outputs_are_found_by_name():
    run = falling()
    assert run["depth"].tolist() == [0.0, 1.0, 4.0, 16.0]
    assert list(run) == ["depth", "stone.u1"] == list(run.names)
    assert "depth" in run and "height" not in run
    assert len(run) == 4


def test_an_unknown_output_names_the_nearest():
    with pytest.raises(ArmillaryError, match=r"has no output 'dpeth'; did you mean 'depth'\?$"):
        falling()["dpeth"]


def test_units_and_descriptions_exist_for_every_output_and_parameter():
    run = falling(parameters={"g": 2, "k": 1})
    assert dict(run.units) == {"depth": "m", "stone.u1": ""}
    assert dict(run.descriptions) == {"depth": "distance fallen", "stone.u1": ""}
    assert dict(run.parameter_units) == {"g": "m/s^2", "k": ""}
    assert run.events == (Event(3.5, "splash"),) and run.events[0].name == "splash"


def test_initial_and_final_values():
    assert falling().initial == {"depth": 0.0, "stone.u1": 10.0}
    assert falling().final == {"depth": 16.0, "stone.u1": 80.0}


def test_nothing_in_a_run_can_be_changed():
    run = falling()
    with pytest.raises(ValueError, match="read-only"):
        run["depth"][0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        run.time[0] = 1.0
    with pytest.raises(TypeError):
        run.parameters["g"] = 9.81
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.system = "other"


def test_samples_are_not_copied():
    values = VALUES.copy()
    run = falling(values=values)
    assert np.shares_memory(run["depth"], values)
    assert values.flags.writeable


def test_interpolation_follows_straight_lines():
    run = falling()
    assert run.interpolate([0.5, 3.0], "depth").tolist() == [0.5, 10.0]
    assert run.interpolate(1.0, "stone.u1") == 20.0


def test_interpolation_in_a_run_backwards_in_time():
    run = falling(time=-TIME)
    assert run.interpolate([-0.5, -3.0], "depth").tolist() == [0.5, 10.0]


@pytest.mark.parametrize("time", [-0.1, 4.1, np.nan])
def test_interpolation_does_not_extrapolate(time):
    with pytest.raises(ArmillaryError, match=f"covers 0 to 4 s: 'depth' at {time:g} s is not known"):
        falling().interpolate([1.0, time], "depth")


def test_interpolation_accepts_a_last_time_off_by_rounding():
    assert falling().interpolate(np.nextafter(4.0, 5.0), "depth") == 16.0


def test_a_run_without_samples_says_so():
    run = falling(time=[], values=np.empty((0, 2)))
    assert len(run) == 0 and run["depth"].size == 0
    assert "empty" in repr(run)
    for ask in (lambda: run.final, lambda: run.initial, lambda: run.interpolate(0.0, "depth")):
        with pytest.raises(ArmillaryError, match="has no samples"):
            ask()


def test_equality_covers_samples_and_metadata():
    assert falling() == falling()
    assert falling(parameters={"a": 1, "b": 2}) == falling(parameters={"b": 2, "a": 1})
    nan = VALUES.copy()
    nan[1, 1] = np.nan
    assert falling(values=nan) == falling(values=nan.copy())
    changes = (
        {"system": "other"},
        {"time": TIME + 1e-15},
        {"values": VALUES * (1 + 1e-15)},
        {"names": ("depth", "u")},
        {"units": {}},
        {"descriptions": {}},
        {"parameters": {"g": 2.1}},
        {"parameter_units": {}},
        {"info": {}},
        {"events": []},
    )
    for change in changes:
        assert falling(**change) != falling(), change
    assert falling() != 1


def test_a_run_is_pickled_and_copied():
    for twin in (pickle.loads(pickle.dumps(falling())), copy.deepcopy(falling())):
        assert twin == falling()
        with pytest.raises(ValueError, match="read-only"):
            twin["depth"][0] = 1.0


def test_numbers_of_numpy_become_plain():
    info = falling(info={"steps": np.int64(3), "step": np.float64(0.1)}).info
    assert type(info["steps"]) is int and type(info["step"]) is float


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ("depth", "depth")}, "two outputs are called 'depth'"),
        ({"names": ("depth",)}, r"values of shape \(4, 2\) do not fit times of shape \(4,\) and 1 names"),
        ({"time": TIME[:3]}, r"do not fit times of shape \(3,\)"),
        ({"info": {"versions": ["1"]}}, "info 'versions' must be a text or a number, not list"),
    ],
)
def test_what_is_not_a_run(change, message):
    with pytest.raises(ArmillaryError, match=message):
        falling(**change)


def test_the_summary_is_a_few_readable_lines():
    assert repr(falling()).split("\n") == [
        "Run of 'falling stone': 4 samples of 2 outputs, t = 0 to 4 s, rk4, completed, 1 events",
        "  depth     0 to 16 m",
        "  stone.u1  10 to 80",
    ]


def test_the_summary_of_many_outputs_shows_the_last():
    names = (*(f"q{i}" for i in range(48)), "reach", "energy")
    first, *lines = repr(Run("chain", [0.0], np.zeros((1, 50)), names)).split("\n")
    assert "50 outputs" in first
    assert [line.split()[0] for line in lines[:-1]] == list(names[-8:])
    assert lines[-1] == "  and 42 more: q0, q1, q2, …"
    nine = Run("chain", [0.0], np.zeros((1, 9)), names[-9:])
    assert repr(nine).split("\n")[-1] == "  and 1 more: q41"


@pytest.mark.parametrize("units", ["", "1", "-"])
def test_the_summary_shows_no_units_where_there_are_none(units):
    assert repr(falling(units={"depth": units})).split("\n")[1] == "  depth     0 to 16"


def test_xarray_has_labels_and_units():
    dataset = falling().to_xarray()
    assert dataset["depth"].dims == ("time",)
    assert dataset["depth"].sel(time=2.0).item() == 4.0
    assert dataset["depth"].attrs == {"long_name": "distance fallen", "units": "m"}
    assert dataset["time"].attrs["units"] == "s"
    assert dataset.attrs["parameters"] == '{"g": 2.0}'


def test_pandas_is_a_table_over_time():
    frame = falling(names=("time", "a/b")).to_pandas()
    assert frame.index.name == "time" and frame.index.tolist() == TIME.tolist()
    assert list(frame.columns) == ["time", "a/b"]
    assert frame.to_numpy().tolist() == VALUES.tolist()
