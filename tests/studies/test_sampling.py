"""What a study varies: distributions are what they say, and a run's values depend on its number alone."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest

from armillary.errors import ArmillaryError, ParameterError, UnitsError
from armillary.studies.sampling import (
    Choice,
    Correlated,
    Design,
    LogNormal,
    Normal,
    Triangular,
    Uniform,
)
from armillary.studies.sampling import points as sampled_points
from armillary.studies.sampling.distributions import UserDistribution
from armillary.studies.sampling.points import LatinHypercube, permute_range, uniform
from tests.later import later, unit_registry

stats = later("scipy.stats")

U = np.linspace(1e-6, 1 - 1e-6, 501)
UNIT = Uniform(0, 1)
HALF = [[1, 0.5], [0.5, 1]]


# ---------------------------------------------------------------- distributions


@pytest.mark.parametrize(
    ("ours", "name", "arguments"),
    [
        (Uniform(-2, 5), "uniform", (-2, 7)),
        (Normal(3, 2), "norm", (3, 2)),
        (Normal(3, 2, low=2, high=7), "truncnorm", (-0.5, 2, 3, 2)),
        (Normal(0, 1, low=9), "truncnorm", (9, np.inf)),
        (Normal(0, 1, low=40, high=41), "truncnorm", (40, 41)),  # beyond what 1 − Φ(40) could hold
        (LogNormal(3, 0.5), "lognorm", (0.5, 0, 3)),
        (Triangular(1, 2, 5), "triang", (0.25, 1, 4)),
        (Triangular(1, 1, 5), "triang", (0, 1, 4)),
    ],
)
def test_distributions_are_those_of_scipy(ours, name, arguments):
    scipys = getattr(stats, name)(*arguments)
    # Both round; a few units in the last place of the largest value.
    np.testing.assert_allclose(ours.ppf(U), scipys.ppf(U), rtol=3e-15, atol=3e-15)
    assert (ours.low, ours.high) == tuple(scipys.support())


def test_the_logarithm_of_a_truncated_lognormal_is_a_truncated_normal():
    ours = LogNormal(3, 0.5, low=2, high=5)
    scipys = stats.truncnorm(*np.log([2 / 3, 5 / 3]) / 0.5, np.log(3), 0.5)
    np.testing.assert_allclose(np.log(ours.ppf(U)), scipys.ppf(U), rtol=3e-15)
    assert (ours.low, ours.high) == (2, 5)


def test_bounds_are_met_and_kept():
    for bounded in (
        Uniform(0.1, 0.7),
        Normal(1, 3, low=0.1, high=0.7),
        LogNormal(0.2, 3, low=0.1, high=0.7),
        Triangular(0.1, 0.1, 0.7),
    ):
        ends = bounded.ppf([0.0, 1.0])
        assert ends == pytest.approx([0.1, 0.7], rel=1e-14)
        assert ends[0] >= 0.1 and ends[1] <= 0.7


def test_a_choice_gives_each_value_its_share():
    assert Choice([5, 1, 3]).ppf([0.1, 0.34, 0.7, 1.0]).tolist() == [5, 1, 3, 3]
    weighted = Choice([5, 1, 3, 9], weights=[1, 0, 3, 0])
    assert weighted.ppf([0, 0.249, 0.25, 0.99, 1]).tolist() == [5, 5, 3, 3, 3]
    assert (weighted.low, weighted.high) == (3, 5)


@pytest.mark.parametrize(
    ("distribution", "data"),
    [
        (Uniform(0.4, 1.0), {"uniform": [0.4, 1.0]}),
        (Normal(1000, 50, low=900), {"normal": [1000.0, 50.0], "low": 900.0}),
        (LogNormal("2 t", 0.1), {"lognormal": [2.0, 0.1], "units": "t"}),
        (LogNormal("2 t", 0.1, high="3 t"), {"lognormal": [2.0, 0.1], "high": 3.0, "units": "t"}),
        (Triangular(1, 2, 3), {"triangular": [1.0, 2.0, 3.0]}),
        (Choice([1, 2], [3, 1]), {"choice": [1.0, 2.0], "weights": [3.0, 1.0]}),
    ],
    ids=str,
)
def test_distributions_are_data(distribution, data):
    assert distribution.as_data() == data
    units = {"x": "t"} if distribution.units else {}
    again = Design({"x": json.loads(json.dumps(data))}, runs=4, units=units).distributions["x"]
    assert again.ppf(U).tolist() == distribution.ppf(U).tolist()


def test_numbers_may_be_text():
    assert Uniform("-pi/2", "pi / 2").high == np.pi / 2
    half = Design({"m": Normal("1 t", "50 kg", low="900 kg")}, runs=1, units={"m": "kg"}).distributions["m"]
    assert half == Normal(1000, 50, low=900)


def test_numbers_may_be_quantities():
    unit = unit_registry()
    speed = Normal(36 * unit.km / unit.hour, 1 * unit.m / unit.s)
    assert Design({"v": speed}, runs=1, units={"v": "mm/s"}).distributions["v"].mean == pytest.approx(10_000)
    lengths = Design({"l": np.array([1.0, 20.0]) * unit.cm}, "list", units={"l": "m"}).block(0, 2)["l"]
    assert lengths == pytest.approx([0.01, 0.2])
    with pytest.raises(UnitsError, match="kelvin"):
        Normal(unit.Quantity(20, "degC"), 1 * unit.kelvin)


# ---------------------------------------------------------------- one's own


def test_own_functions_may_take_arrays_or_numbers():
    def step(u):
        return 1.0 if u < 0.25 else 2.0

    design = Design({"a": stats.gamma(2), "b": lambda u: u * u, "c": step}, "lhs", 400, 3)
    values = design.block(0, 400)
    assert np.all(stats.kstest(values["a"], stats.gamma(2).cdf).pvalue > 0.99)  # more even than random
    assert values["b"].mean() == pytest.approx(1 / 3, abs=1e-3)
    assert np.unique(values["c"], return_counts=True)[1].tolist() == [100, 300]
    assert (design.distributions["b"].low, design.distributions["b"].high) == (0, 1)


def test_own_functions_are_no_data_but_have_an_identity():
    design = Design({"a": lambda u: u * u}, runs=3)
    assert not design.portable
    with pytest.raises(ParameterError, match=r"varied 'a'.*code and cannot be written as data"):
        design.as_data()
    assert design.identity() == Design({"a": lambda v: v**2}, runs=3).identity()
    assert design.identity() != Design({"a": lambda u: u * u * 1.001}, runs=3).identity()


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda u: 1 / 0, "fails at 0.03: ZeroDivisionError"),
        (lambda u: np.nan, "is nan at 0.03"),
        (lambda u: np.random.random(), "gives other values when evaluated again"),
    ],
)
def test_own_functions_that_are_no_distributions(function, told):
    with pytest.raises(ParameterError, match=told):
        UserDistribution(function)


# ---------------------------------------------------------------- designs

MIXED = {
    "m": Normal(1000, 50),
    "tyres": Correlated({"a": Normal(1, 0.1), "b": UNIT}, [[1, 0.8], [0.8, 1]]),
    "k": LogNormal(3, 0.5),
    "n": [1, 2, 3],
}
BOUNDED = {"m": Uniform(900, 1100), "k": Triangular(1, 2, 3), "n": [1, 2, 3]}
DESIGNS = {
    "random": dict(vary=MIXED, runs=300),
    "lhs": dict(vary=MIXED, runs=300),
    "sobol": dict(vary=MIXED, runs=256),
    "grid": dict(vary=BOUNDED, levels={"m": 4, "k": 5}),
    "list": dict(vary={"m": np.arange(100.0), "k": np.arange(100.0) ** 2}),
    "morris": dict(vary=BOUNDED, runs=100),
    "saltelli": dict(vary=BOUNDED, runs=160, second_order=False),
}


@pytest.mark.parametrize("kind", DESIGNS)
def test_a_run_has_its_values_whatever_the_block_and_the_machine(kind):
    design = Design(kind=kind, seed=7, **DESIGNS[kind])
    whole = design.block(0, design.runs)
    data = json.loads(json.dumps(design.as_data()))
    for other in (design, pickle.loads(pickle.dumps(design)), Design.from_data(data)):
        assert other.names == design.names and other.identity() == design.identity()
        for i0, i1 in ((9, 14), (0, 1), (1, 3), (design.runs - 1, design.runs), (0, design.runs)):
            block = other.block(i0, i1)
            assert all((block[name] == whole[name][i0:i1]).all() for name in design.names)
    assert design.values(11) == {name: values[11] for name, values in whole.items()}


@pytest.mark.parametrize("kind", ["random", "lhs", "sobol", "morris", "saltelli"])
def test_another_seed_gives_other_values(kind):
    one, other = (Design(kind=kind, seed=seed, **DESIGNS[kind]) for seed in (1, 2))
    assert one.identity() != other.identity()
    assert (one.block(0, 20)["m"] != other.block(0, 20)["m"]).any()


def test_values_stay_with_their_seed_from_release_to_release():
    # A study that was begun goes on with the same numbers: these must never change.
    design = Design({"m": UNIT, "k": UNIT}, "random", 10, seed=1)
    assert design.values(0) == {"m": 0.9062890623941796, "k": 0.6202495509222262}
    assert design.values(6) == {"m": 0.7873816178021754, "k": 0.4251139594535137}
    assert permute_range(1, "m", 10, 0, 10).tolist() == [8, 7, 2, 0, 3, 5, 6, 1, 4, 9]


@pytest.mark.parametrize("kind", ["random", "lhs"])
def test_a_name_keeps_its_values_whatever_else_varies(kind):
    alone = Design({"m": Normal(0, 1)}, kind, 50, 1).block(0, 50)["m"]
    among = Design({"k": UNIT, "m": Normal(0, 1)}, kind, 50, 1).block(0, 50)["m"]
    assert (alone == among).all()


def test_random_numbers_are_uniform_and_independent():
    u = np.array([uniform(5, name, 0, 20_000) for name in "abc"])
    assert u.min() > 0 and u.max() < 1
    for row in u:
        assert stats.kstest(row, "uniform").pvalue > 0.01
        assert abs(np.corrcoef(row[1:], row[:-1])[0, 1]) < 3 / np.sqrt(20_000)
    assert np.abs(np.corrcoef(u) - np.eye(3)).max() < 3 / np.sqrt(20_000)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 100, 1000, 4096])
def test_permutations_hold_every_number_once(size):
    assert sorted(permute_range(3, "x", size, 0, size)) == list(range(size))


@pytest.mark.parametrize("size", [5, 16])
def test_permutations_favour_no_place(size):
    many = np.array([permute_range(seed, "x", size, 0, size) for seed in range(2000)])
    places = np.array([np.bincount(many[:, i], minlength=size) for i in range(size)])
    pairs = np.bincount(many[:, 0] * size + many[:, 1], minlength=size * size).reshape(size, size)
    apart = pairs[~np.eye(size, dtype=bool)]
    assert stats.chi2((size - 1) ** 2).sf(stats.chisquare(places.ravel()).statistic) > 0.01
    assert stats.chisquare(apart).pvalue > 0.01


def test_latin_hypercubes_meet_every_slice_once():
    design = Design({"a": UNIT, "b": Normal(0, 1)}, "lhs", 97, 2)
    values = design.block(0, 97)
    for u in (values["a"], stats.norm.cdf(values["b"])):
        assert sorted((u * 97).astype(int)) == list(range(97))
    assert abs(stats.spearmanr(values["a"], values["b"]).statistic) < 3 / np.sqrt(97)


def test_latin_hypercubes_place_their_points_anywhere_in_a_slice():
    """McKay, Beckman and Conover (1979): uniform inside the slice, independently for each name."""
    points = Design({"a": UNIT, "b": UNIT}, "lhs", 5000, 2).points(0, 5000)
    a, b = (points * 5000) % 1.0
    for inside in (a, b):
        assert stats.kstest(inside, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(5000)  # four deviations


def test_latin_hypercubes_stay_below_one(monkeypatch):
    """(2 + (1 − 2⁻⁵³))/3 is rounded to 1, where quantiles of many distributions are infinite."""
    monkeypatch.setattr(sampled_points, "uniform", lambda seed, name, i0, i1: np.full(i1 - i0, 1 - 2.0**-53))
    [found] = LatinHypercube(("a",), 3, 1)(0, 3)
    assert sorted(found) == [1 / 3, 2 / 3, 1 - 2.0**-53]


def test_sobol_points_are_scipys_and_as_even_as_they_should_be():
    names = {name: UNIT for name in "abcd"}
    points = np.array(list(Design(names, "sobol", 64, 5).block(0, 64).values()))
    assert (stats.qmc.Sobol(4, seed=np.random.default_rng(5)).random_base2(6) == points.T).all()
    assert all(sorted((row * 64).astype(int)) == list(range(64)) for row in points)


def test_correlated_quantities_keep_their_own_distributions():
    vary = {"pair": Correlated({"a": Normal(3, 2), "b": Normal(1, 5)}, [[1, -0.7], [-0.7, 1]]), "c": UNIT}
    values = Design(vary, "random", 20_000, 1).block(0, 20_000)
    # The deviation of a correlation coefficient r of n values is (1 − r²)/√n.
    assert np.corrcoef(values["a"], values["b"])[0, 1] == pytest.approx(-0.7, abs=3 * 0.51 / np.sqrt(20_000))
    assert stats.kstest(values["a"], stats.norm(3, 2).cdf).pvalue > 0.01
    assert stats.kstest(values["b"], stats.norm(1, 5).cdf).pvalue > 0.01
    assert abs(np.corrcoef(values["a"], values["c"])[0, 1]) < 3 / np.sqrt(20_000)


def test_grids_hold_every_combination_the_last_name_fastest():
    design = Design({"a": [7, 5], "b": Uniform(0, 1)}, "grid", levels=3)
    values = design.block(0, design.runs)
    assert values["a"].tolist() == [7, 7, 7, 5, 5, 5] and values["b"].tolist() == [0, 0.5, 1] * 2


def test_morris_trajectories_step_once_in_each_coordinate():
    design = Design({name: UNIT for name in "abc"}, "morris", 4 * 500, 1, levels=6)
    steps = np.diff(design.points(0, design.runs).reshape(3, 500, 4), axis=2)
    assert np.isin(np.round(design.points(0, 200) * 5, 12), np.arange(6)).all()
    assert (np.count_nonzero(steps, axis=0) == 1).all() and (np.count_nonzero(steps, axis=2) == 1).all()
    assert np.abs(steps[steps != 0]) == pytest.approx(6 / (2 * 5))
    assert (steps > 0).sum() == pytest.approx(750, abs=3 * np.sqrt(1500 / 4))  # as often up as down
    first = np.bincount(np.argmax(steps[:, :, 0] != 0, axis=0))
    assert stats.chisquare(first).pvalue > 0.01  # no name goes first more often


@pytest.mark.parametrize("second_order", [False, True])
def test_saltelli_points_are_those_of_salib(second_order):
    sampler = pytest.importorskip("SALib.sample.sobol")
    problem = {"num_vars": 3, "names": list("abc"), "bounds": [[0, 1]] * 3}
    theirs = sampler.sample(problem, 16, calc_second_order=second_order, seed=np.random.default_rng(3))
    design = Design({n: UNIT for n in "abc"}, "saltelli", len(theirs), 3, second_order=second_order)
    assert (theirs == np.array(list(design.block(0, design.runs).values())).T).all()


def test_sobol_designs_off_a_power_of_two_are_warned_of():
    with pytest.warns(UserWarning, match=r"100 runs of a sobol design .* 64 or 128") as told:
        Design({"a": UNIT}, "sobol", 100)
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=r"24 runs of a saltelli design .* times 4: 16 or 32"):
        Design({"a": UNIT, "b": UNIT}, "saltelli", 24)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Design({"a": UNIT}, "sobol", 64).block(0, 3)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Uniform(5, 1), r"Uniform\(5, 1\): low = 5 must be below high = 1"),
        (lambda: Uniform(np.nan, 1), r"low is not a number"),
        (lambda: Uniform(0, np.inf), "high must be finite"),
        (lambda: Uniform([1, 2], 3), "low must be one number"),
        (lambda: Normal(1, 0), "sd must be positive"),
        (lambda: Normal(1, 1, low=3, high=2), "low = 3 must be below high = 2"),
        (lambda: Normal(None, 1), "mean needs a number, not None"),
        (lambda: Normal("heavy", 1), "mean needs a number, or text such as '2.5 deg', not 'heavy'"),
        (lambda: Normal("50 kg", 1), "sd has no units and the rest has"),
        (lambda: Normal("50 kg", "1 m"), "sd is given in m, but is in kg"),
        (lambda: Normal("50 kgg", "1 kg"), "did you mean 'kg'"),
        (lambda: LogNormal(-1, 1), "median must be positive"),
        (lambda: LogNormal(1, 1, low=-1), "low must not be negative"),
        (lambda: LogNormal(1, 1, high=0), "low = 0 must be below high = 0"),
        (lambda: Triangular(1, 5, 3), "mode must lie between"),
        (lambda: Choice([]), "at least one value"),
        (lambda: Choice([1, np.nan]), "number 2 is nan"),
        (lambda: Choice([1, 2], [1]), "2 values need as many weights, not 1"),
        (lambda: Choice([1, 2], [1, -1]), "weights must be positive"),
        (lambda: Correlated({"a": UNIT}, [[1]]), "two names at least"),
        (lambda: Correlated({"a": UNIT, "b": UNIT}, np.eye(3)), r"must be 2×2, not of shape \(3, 3\)"),
        (lambda: Correlated({"a": UNIT, "b": UNIT}, [[1, 0.2], [0.1, 1]]), "it must be symmetric"),
        (lambda: Correlated({"a": UNIT, "b": UNIT}, [[1, 1], [1, 1]]), "between -1 and 1"),
        (lambda: Correlated({"a": UNIT, "b": UNIT}, [[2, 0], [0, 1]]), "'a' has correlation 2 with itself"),
        (
            lambda: Correlated(dict.fromkeys("abc", UNIT), [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]),
            "not positive definite",
        ),
    ],
)
def test_impossible_distributions(make, told):
    with pytest.raises(ArmillaryError, match=told):
        make()


@pytest.mark.parametrize(
    ("vary", "settings", "told"),
    [
        ({}, dict(runs=5), "nothing varies"),
        ({"a": UNIT}, dict(runs=0), "runs must be a whole number of 1 or more, not 0"),
        ({"a": UNIT}, dict(runs=-3), "not -3"),
        ({"a": UNIT}, dict(runs=2.5), "not 2.5"),
        ({"a": UNIT}, {}, "needs runs="),
        ({"a": UNIT}, dict(runs=2**31), "too many"),
        ({"a": UNIT}, dict(runs=5, seed=-1), "the seed must be"),
        ({"a": UNIT}, dict(kind="soboll", runs=5), "did you mean 'sobol'"),
        ({"a": 3.0}, dict(runs=5), "varied 'a' is 3.0, which does not vary"),
        ({"a": object()}, dict(runs=5), "varied 'a' needs a distribution"),
        ({"a": {"nromal": [1, 2]}}, dict(runs=5), "did you mean 'normal'"),
        ({"a": {"normal": [1]}}, dict(runs=5), r"normal needs \[mean, sd\]"),
        ({"a": {"normal": [1, 2], "hihg": 3}}, dict(runs=5), "did you mean 'high'"),
        ({"a": UNIT, "t": Correlated({"a": UNIT, "b": UNIT}, HALF)}, dict(runs=5), "'a' is varied twice"),
        ({"t": Correlated({"a": UNIT, "b": UNIT}, HALF)}, dict(kind="morris", runs=6), "each quantity alone"),
        (
            {"m": Normal(1, 1)},
            dict(kind="grid", levels=3),
            r"Normal\(1, 1\), without bounds.*; give it low and high",
        ),
        ({"m": Normal(1, 1)}, dict(kind="morris", runs=10), r"Normal\(1, 1\), without bounds"),
        ({"m": LogNormal(1, 1)}, dict(kind="morris", runs=10), "without bounds.*; give it low and high"),
        ({"m": (300, 340)}, dict(runs=10), r"may be bounds or two values: give Uniform\(300, 340\), or the"),
        ({"a": UNIT}, dict(kind="grid"), "needs levels="),
        ({"a": UNIT}, dict(kind="grid", levels=1), "levels of 'a' must be a whole number of 2 or more"),
        ({"a": UNIT}, dict(kind="grid", levels={"b": 3}), "levels for 'b', which does not vary"),
        ({"a": UNIT}, dict(kind="random", runs=5, levels=3), "levels are for the designs grid and morris"),
        ({"a": UNIT}, dict(kind="morris", runs=10, levels=5), "even number of levels"),
        (
            {"a": UNIT, "b": UNIT},
            dict(kind="morris", runs=10),
            "groups of 3: 10 is not a multiple; use 9 or 12",
        ),
        ({"a": UNIT}, dict(kind="saltelli", runs=2), "groups of 3, .*: 2 is not a multiple; use 3$"),
        (
            dict.fromkeys("abc", UNIT),
            dict(kind="saltelli", runs=4096),
            "groups of 5, best with a power of two of groups: 4096 is not a multiple; use 2560 or 5120",
        ),
        ({"a": [1, 2, 3], "b": [1, 2]}, dict(kind="list"), "'a' has 3 values, 'b' 2"),
        ({"a": [1, 2, 3]}, dict(kind="list", runs=4), "the list has 3 runs, not 4"),
        ({"a": UNIT}, dict(kind="list"), "a list design needs"),
        ({"a": Normal("1 kg", "1 g")}, dict(runs=4, units={"a": "m"}), "given in kg, but is in m"),
        ({"a": Normal("1 kg", "1 g")}, dict(runs=4), "given in kg, but is in no units"),
    ],
)
def test_impossible_designs(vary, settings, told):
    with pytest.raises(ArmillaryError, match=told):
        Design(vary, **settings)


def test_a_design_of_levels_needs_a_bounded_distribution_of_scipy():
    with pytest.raises(ArmillaryError, match=r"norm', without bounds.*; use a distribution with bounds"):
        Design({"m": stats.norm()}, kind="morris", runs=10)


def test_runs_that_there_are_not():
    design = Design({"a": UNIT}, runs=5)
    with pytest.raises(ParameterError, match="there is no run 5: the design has runs 0 to 4"):
        design.values(5)
    with pytest.raises(ParameterError, match="there are no runs 3 to 6"):
        design.block(3, 6)
