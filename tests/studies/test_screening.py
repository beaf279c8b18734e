"""Sensitivities of functions whose indices are known."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from armillary.errors import ArmillaryError, MissingExtraError
from armillary.studies.sampling import Correlated, Design, Normal, Uniform
from armillary.studies.sensitivity import GIVEN, MORRIS, SOBOL, sensitivity
from tests.later import later

later("SALib")

ANGLES = {name: Uniform("-pi", "pi") for name in ("x1", "x2", "x3")}


def ishigami(x):
    """sin x₁ + a sin² x₂ + b x₃⁴ sin x₁, with a = 7 and b = 0.1."""
    return np.sin(x["x1"]) + 7 * np.sin(x["x2"]) ** 2 + 0.1 * x["x3"] ** 4 * np.sin(x["x1"])


# Its partial variances, from integrals of powers and sines over −π … π (Ishigami and Homma 1990).
_A, _B = 7, 0.1
ALONE = np.array([0.5 * (1 + _B * np.pi**4 / 5) ** 2, _A**2 / 8, 0])
TOGETHER = 8 * _B**2 * np.pi**8 / 225  # of x1 and x3
VARIANCE = ALONE.sum() + TOGETHER
FIRST = ALONE / VARIANCE
TOTAL = (ALONE + np.array([TOGETHER, 0, TOGETHER])) / VARIANCE


def of(function, vary, kind, runs=None, **settings):
    design = Design(vary, kind, runs, seed=1, **settings)
    return sensitivity(design, function(design.block(0, design.runs)), metric="peak", units="m")


def assert_within(found, column, exact, widest):
    """The truth lies within three deviations; the interval of 95 % is 1.96 of them, as narrow as said."""
    half = found.confidence[column]
    assert (np.abs(found.values[column] - exact) <= 3 / 1.96 * half + 1e-9).all()
    assert half.max() < widest


def test_sobol_indices_of_ishigamis_function():
    found = of(ishigami, ANGLES, "saltelli", 5 * 8192)
    assert found.method == SOBOL and found.runs == 5 * 8192 and found.left_out == 0
    assert_within(found, "first", FIRST, 0.03)
    assert_within(found, "total", TOTAL, 0.04)


def test_what_two_quantities_cause_only_together():
    found = of(ishigami, ANGLES, "saltelli", 8 * 4096, second_order=True)
    assert found.second[0, 2] == found.second[2, 0] and np.isnan(found.second[0, 0])
    exact = {(0, 1): 0, (0, 2): TOGETHER / VARIANCE, (1, 2): 0}
    for (i, j), part in exact.items():
        assert abs(found.second[i, j] - part) < found.second_confidence[i, j] < 0.06
    assert "x1 with x3" in str(found).partition("only together")[2].split("\n")[1]


def linear(x):
    return 3 * x["a"] + 2 * x["b"] - x["c"]


NORMALS = {"a": Normal(5, 1), "b": Normal(-2, 1), "c": Normal(0, 1)}
SHARES = np.array([9, 4, 1]) / 14


def test_sobol_indices_of_a_linear_model_add_up_to_one():
    found = of(linear, NORMALS, "saltelli", 5 * 4096)
    for column in ("first", "total"):
        assert_within(found, column, SHARES, 0.05)
    assert found.values["total"].sum() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("kind", ["random", "lhs"])
def test_any_runs_tell_the_variance_explained_and_the_direction(kind):
    # Spearman's correlation of two normal quantities of correlation r is (6/π) arcsin(r/2).
    r = np.array([3, 2, -1]) / np.sqrt(14)
    designs = [Design(NORMALS, kind, 1000, seed) for seed in range(30)]
    found = [sensitivity(design, linear(design.block(0, 1000))) for design in designs]
    assert {each.method for each in found} == {GIVEN}
    for column, exact in {"explained": SHARES, "rank": 6 / np.pi * np.arcsin(r / 2)}.items():
        errors = np.array([each.values[column] - exact for each in found])
        halves = np.array([each.confidence[column] for each in found])
        deviation = errors.std(axis=0)
        assert (np.abs(errors.mean(axis=0)) < 3 * deviation / np.sqrt(30)).all()  # right on average
        assert (np.abs(errors) <= halves).mean() >= 0.92  # of 90 intervals of 95 %
        assert (halves.mean(axis=0) < 2 * 1.96 * deviation).all()  # no wider than they need be


def test_the_most_even_runs_tell_the_variance_explained_best():
    found = of(linear, NORMALS, "sobol", 4096)
    assert found.values["explained"] == pytest.approx(SHARES, abs=26 / 4096)  # of 26 coefficients of lines


def test_any_runs_tell_the_first_indices_of_ishigamis_function():
    found = of(ishigami, ANGLES, "random", 20_000)
    assert_within(found, "explained", FIRST, 0.02)


def test_a_full_grid_tells_the_shares_of_an_additive_model_exactly():
    levels = {name: np.linspace(-1, 1, 9) for name in "abc"}
    found = of(linear, levels, "grid")
    # But for the correction by (n − 1)/(n − bins), which expects some chance in the runs: 8 in 728.
    assert found.values["explained"] == pytest.approx(SHARES, abs=8 / 720)


def test_morris_effects_of_a_linear_model_are_its_slopes():
    vary = {"a": Uniform(0, 2), "b": Uniform(-1, 0), "c": Uniform(5, 9)}
    found = of(linear, vary, "morris", 4 * 10)
    assert found.method == MORRIS
    assert found.values["mu"] == pytest.approx([6, 2, -4])  # slope times range
    assert found.values["mu_star"] == pytest.approx([6, 2, 4])
    assert found.values["sigma"] == pytest.approx(0, abs=1e-12)
    assert [found.names[i] for i in found.order] == ["a", "c", "b"]


def test_morris_tells_interactions():
    found = of(lambda x: x["a"] * x["b"], {"a": Uniform(-1, 1), "b": Uniform(-1, 1)}, "morris", 3 * 200)
    # Each effect is 2·(−1, −1/3, 1/3 or 1), all as often: mean size 4/3, deviation √(20/9).
    assert found.values["mu_star"] == pytest.approx(4 / 3, abs=0.15)
    assert found.values["sigma"] == pytest.approx(np.sqrt(20) / 3, abs=0.1)


def test_parts_of_correlated_quantities_overlap_and_that_is_told():
    """y = a + b with correlation 0.8: each alone explains (1 + 0.8)²/(2 + 2·0.8) = 0.9 of the variance."""
    both = Correlated({"a": Normal(0, 1), "b": Normal(0, 1)}, [[1, 0.8], [0.8, 1]])
    found = of(lambda x: x["a"] + x["b"], {"both": both, "c": Normal(0, 1)}, "random", 4000)
    assert found.values["explained"] == pytest.approx([0.9, 0.9, 0], abs=0.02)
    ((one, other, rank),) = found.correlated
    # Spearman's of normal ones is 6/π·asin(0.8/2), by Pearson (1907).
    assert (one, other) == ("a", "b") and rank == pytest.approx(6 / np.pi * np.arcsin(0.4), abs=0.02)
    told = f"correlated: a and b ({rank:.2f}); their parts overlap, and do not add up"
    assert str(found).split("\n")[-1] == told
    listed = Design({"both": both}, runs=100).block(0, 100)  # of lists it is seen, too
    assert of(lambda x: x["a"], listed, "list", None).correlated[0][:2] == ("a", "b")
    assert of(linear, NORMALS, "random", 4000).correlated == ()


# ---------------------------------------------------------------- runs that failed


def test_a_failed_run_takes_its_group_with_it():
    design = Design(NORMALS, "saltelli", 5 * 1024, seed=1)
    y = linear(design.block(0, design.runs))
    rest = sensitivity(Design(NORMALS, "saltelli", 5 * 512, seed=1), y[: 5 * 512])
    y[5 * 512 :: 5] = np.nan
    y[-1] = np.inf
    found = sensitivity(design, y)
    assert (found.runs, found.left_out) == (5 * 512, 5 * 512)
    assert found.values["total"].tolist() == rest.values["total"].tolist()
    assert "2560 runs are left out: their metric, or another in their group" in str(found)


@pytest.mark.parametrize(
    ("kind", "runs", "lost"), [("morris", 4 * 25, 4), ("random", 100, 2), ("lhs", 100, 2), ("list", None, 2)]
)
def test_other_designs_lose_what_failed_and_no_more(kind, runs, lost):
    vary = {name: Uniform(0, 1) for name in "abc"}
    if kind == "list":
        vary = Design(vary, runs=100).block(0, 100)
    design = Design(vary, kind, runs, seed=1)
    y = linear(design.block(0, design.runs))
    y[[0, 2]] = np.nan
    found = sensitivity(design, y)
    assert found.left_out == lost
    assert [found.names[i] for i in found.order] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (np.ones(99), r"'peak' needs a value for each of 100 runs, not shape \(99,\)"),
        (np.ones(100), "'peak' is 1 in all runs"),
        (
            np.where(np.arange(100) < 90, np.nan, 1.0),
            "known in 10 of 100 runs: too few to estimate sensitivities; at least 20 are needed",
        ),
    ],
)
def test_metrics_that_tell_nothing(values, told):
    with pytest.raises(ArmillaryError, match=told):
        sensitivity(Design(NORMALS, "random", 100), values, metric="peak")


def test_too_few_complete_groups_are_refused():
    design = Design(NORMALS, "saltelli", 5 * 32, seed=1)
    y = linear(design.block(0, design.runs))
    y[:100:5] = np.nan
    with pytest.raises(ArmillaryError, match="known in 12 of 32 groups: too few"):
        sensitivity(design, y, metric="peak")


def test_quantities_that_do_not_matter_or_vary_explain_nothing():
    design = Design({"a": Uniform(0, 1), "same": [2.0, 2.0], "rare": Uniform(0, 1)}, "random", 1000, 2)
    y = np.zeros(1000)
    y[17] = 1  # one run alone differs: no share of it can be told
    found = sensitivity(design, y)
    assert found.values["explained"][1] == 0 and np.isfinite(found.confidence["explained"]).all()


# ---------------------------------------------------------------- telling


def test_tables():
    found = of(linear, NORMALS, "saltelli", 5 * 256)
    title, heads, *rows = str(found).split("\n")
    assert title == "peak (m): Sobol' indices from 1280 runs, intervals of 95 %"
    assert heads.split() == ["first", "total"]
    assert [row.split()[0] for row in rows] == ["a", "b", "c"] and "±" in rows[0]
    table = found.to_pandas()
    assert list(table.columns) == ["first", "first ±", "total", "total ±"]
    assert table.loc["b", "total"] == found.values["total"][1]


def test_without_salib_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "SALib.analyze.sobol", None)
    with pytest.raises(MissingExtraError, match=r"Sobol' indices need SALib: pip install 'armillary\[study"):
        of(linear, NORMALS, "saltelli", 5 * 256)
