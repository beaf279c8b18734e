"""Messages that point at the fault, and survive a trip to another process."""

from __future__ import annotations

import pickle
import sys

import pytest

from armillary import errors
from armillary.errors import ExpressionError, MissingExtraError, SimulationError, nearest, require


def test_every_error_is_a_value_error():
    kinds = (
        errors.ModelError,
        errors.ExpressionError,
        errors.UnitsError,
        errors.ParameterError,
        errors.SimulationError,
        errors.MissingExtraError,
    )
    for kind in kinds:
        assert issubclass(kind, errors.ArmillaryError)
    assert issubclass(errors.ArmillaryError, ValueError)


@pytest.mark.parametrize(
    ("text", "column", "shown"),
    [
        ("k*(x - x0", 9, ["    k*(x - x0", "             ^"]),
        ("k ** ** x", 5, ["    k ** ** x", "         ^"]),
        ("first\nsecnd + 1\nthird", 6, ["    secnd + 1", "    ^"]),
        ("a\tb ? c", 4, ["    a\tb ? c", "     \t  ^"]),
        ("x +", 99, ["    x +", "       ^"]),
    ],
)
def test_a_caret_stands_below_the_culprit(text, column, shown):
    assert str(ExpressionError("unexpected text", text, column)).split("\n") == ["unexpected text", *shown]


def test_a_long_expression_is_shown_only_around_the_culprit():
    text = "a + " * 1000 + "? + " + "b + " * 1000
    _, line, caret = str(ExpressionError("what is '?'", text, text.index("?"))).split("\n")
    assert len(line) < 110
    assert line[caret.index("^")] == "?"
    assert line.strip().startswith("…") and line.strip().endswith("…")


def test_an_expression_without_text_has_only_its_message():
    assert str(ExpressionError("sin takes 1 argument, not 2")) == "sin takes 1 argument, not 2"


def test_an_expression_error_survives_pickling():
    error = pickle.loads(pickle.dumps(ExpressionError("unexpected text", "a b", 2)))
    assert (error.text, error.column) == ("a b", 2)
    assert str(error) == "unexpected text\n    a b\n      ^"


def test_a_simulation_error_keeps_the_data_through_pickling():
    error = pickle.loads(pickle.dumps(SimulationError("A.q1 is NaN at t = 0.3", run=[1.0, 2.0])))
    assert str(error) == "A.q1 is NaN at t = 0.3"
    assert error.run == [1.0, 2.0]
    assert SimulationError("stopped").run is None


@pytest.mark.parametrize(
    ("purpose", "sentence"),
    [
        ("NetCDF files", "NetCDF files need xarray: pip install 'armillary[data]'"),
        ("to save NetCDF", "xarray is needed to save NetCDF: pip install 'armillary[data]'"),
    ],
)
def test_a_missing_extra_is_one_sentence_with_the_remedy(monkeypatch, purpose, sentence):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MissingExtraError) as caught:
        require("xarray", extra="data", purpose=purpose)
    assert str(caught.value) == sentence


def test_a_submodule_of_a_missing_package_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "armillary_absent", None)
    with pytest.raises(MissingExtraError, match=r"^Plots need armillary_absent: "):
        require("armillary_absent.pyplot", extra="plot", purpose="Plots")


def test_an_installed_module_is_returned():
    assert require("json", extra="data", purpose="Files").loads("1") == 1


def test_an_installed_module_that_is_broken_keeps_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_extra.py").write_text("raise ImportError('libhdf5.so: wrong version')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"libhdf5\.so: wrong version"):
        require("broken_extra", extra="data", purpose="Files")


@pytest.mark.parametrize(
    ("name", "known", "ending"),
    [
        ("tip hieght", ["tip height", "tip speed"], "; did you mean 'tip height'?"),
        ("a.Q1", ["A.q1", "B.q1"], "; did you mean 'A.q1'?"),
        ("mass", ["x", "y"], ""),
        ("mass", [], ""),
    ],
)
def test_the_nearest_known_name_ends_the_sentence(name, known, ending):
    assert nearest(name, known) == ending
