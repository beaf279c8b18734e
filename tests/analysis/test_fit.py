"""Fits: what made the data is found again, standard errors are those of repeated experiments, and certified
values of others are met.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.fitting.measurements import Unknown
from armillary.analysis.fitting.outcome import _is_at_bound
from armillary.analysis.fitting.outcome import rounded_to_error as rounded
from armillary.errors import ArmillaryError
from armillary.stages.model import Model

TRUE = {"k": 5.3, "c": 0.23, "b.q1": 0.4, "b.u1": -0.2}
PARAMETERS, INITIAL = {"k": 5.3, "c": 0.23}, {"b.q1": 0.4, "b.u1": -0.2}
NEARBY = {"k": 5.2, "c": 0.2}  # starts
TIMES = np.linspace(0.0, 6.0, 61)


@cache
def model() -> Model:
    s = arm.System("oscillator")
    for name, value, units in (("k", 4.0, "N/m"), ("m", 1.0, "kg"), ("c", 0.1, "N*s/m")):
        s.parameter(name, value, units=units)
    b = s.body("b", joint=arm.Prismatic("x"), mass="m", inertia=0)
    s.force("spring", "-k*b.q1 - c*b.u1", s.ground.x, at=b.com)
    s.output("x", b.q1, units="mm")
    s.output("v", b.u1, units="m/s")
    return s.derive().compile()


@cache
def clean() -> arm.Run:
    return model().simulate(6.0, sample=TIMES, parameters=PARAMETERS, initial=INITIAL)


def noisy(seed: int, x: float = 20.0, v: float = 0.05) -> dict[str, Any]:
    chance = np.random.default_rng(seed)
    return {
        "time": TIMES,
        "x": clean()["x"] + chance.normal(0, x, len(TIMES)),
        "v": clean()["v"] + chance.normal(0, v, len(TIMES)),
    }


def test_a_search_that_starts_at_its_solution_has_converged() -> None:
    """The gradient is nearly zero there, the first of the reasons for which a search ends."""
    data = model().simulate(6.0, sample=TIMES, initial=INITIAL)
    fit = arm.fit(model(), arm.Experiment(data, initial=INITIAL), ["k", "c"])
    assert fit.converged and fit.values == pytest.approx({"k": 4.0, "c": 0.1}, rel=1e-8)


def test_clean_data_give_back_what_made_them() -> None:
    fit = arm.fit(model(), clean(), ["k", "c"], ["b.q1", "b.u1"])
    assert fit.values == pytest.approx(TRUE, rel=1e-8)
    assert fit.converged and not fit.warnings
    assert fit.parameters == {"k": fit.values["k"], "c": fit.values["c"]}
    again = model().simulate(6.0, sample=TIMES, parameters=fit.parameters, initial=fit.initial)
    assert again["x"] == pytest.approx(clean()["x"], abs=1e-5)
    assert fit.run.interpolate([3.0], "x") == pytest.approx(clean().interpolate([3.0], "x"), abs=1e-5)


def test_certified_values_of_misra1a() -> None:
    """y = b1 (1 − exp(−b2 t)) as the speed of a mass that is pushed towards b1: ẏ = b2 (b1 − y), y(0) = 0.

    Source: NIST Statistical Reference Datasets, Nonlinear Regression, Misra1a (1978); certified to 11 digits,
    from its first start. The least squares here stop where the sum of squares is settled to 1e-12.
    """
    t = [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0]
    y = [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78]
    s = arm.System("Misra1a")
    s.parameter("b1", 500.0, units="m/s")
    s.parameter("b2", 0.0001, units="1/s")
    s.parameter("m", 1.0, units="kg")
    b = s.body("b", joint=arm.Prismatic("x"), mass="m", inertia=0)
    s.force("push", "m*b2*(b1 - b.u1)", s.ground.x, at=b.com)
    fit = arm.fit(s.derive().compile(), {"t": t, "b.u1": y}, ["b1", "b2"], rtol=1e-12, atol=1e-12)
    assert fit.values["b1"] == pytest.approx(2.3894212918e2, rel=1e-7)
    assert fit.values["b2"] == pytest.approx(5.5015643181e-4, rel=1e-7)
    assert fit.standard_errors["b1"] == pytest.approx(2.7070075241, rel=1e-6)
    assert fit.standard_errors["b2"] == pytest.approx(7.2668688436e-6, rel=1e-6)
    assert fit.sigma["b.u1"] == pytest.approx(1.0187876330e-1, rel=1e-8)
    assert (fit.dof, float(np.sum(fit.residuals[0]["b.u1"] ** 2))) == pytest.approx(
        (12, 1.2455138894e-1), rel=1e-8
    )
    # The derivatives of y by b1 and b2 are nearly parallel here, (JᵀJ)⁻¹ of the closed form gives −0.99878.
    assert fit.warnings == ("the data hardly separate 'b1' and 'b2': their correlation is -0.9988",)


def test_standard_errors_are_those_of_200_experiments() -> None:
    """The spread of 200 fits is known to 5 %, so three times that is allowed; and 95 % of the intervals hold
    the truth, give or take three times 1.5 %.
    """
    fits = [arm.fit(model(), noisy(seed), PARAMETERS, INITIAL, outputs=["x"]) for seed in range(200)]
    for name in TRUE:
        spread = np.std([fit.values[name] for fit in fits], ddof=1)
        told = np.sqrt(np.mean([fit.standard_errors[name] ** 2 for fit in fits]))
        assert told == pytest.approx(spread, rel=0.15), name
        held = np.mean([fit.intervals[name][0] <= TRUE[name] <= fit.intervals[name][1] for fit in fits])
        assert 0.905 <= held <= 0.99, name
    assert np.mean([fit.sigma["x"] for fit in fits]) == pytest.approx(20.0, rel=0.03)


def test_told_sigma_gives_chi2_and_weighs() -> None:
    fit = arm.fit(model(), noisy(1), ["k", "c"], ["b.q1", "b.u1"], sigma={"x": 20.0, "v": np.full(61, 0.05)})
    assert fit.dof == 118 and 0.7 < fit.chi2 / fit.dof < 1.3
    worse = arm.fit(model(), noisy(1), ["k", "c"], ["b.q1", "b.u1"], sigma={"x": 40.0, "v": 0.1})
    assert worse.values == pytest.approx(fit.values, rel=1e-6)
    ratio = {name: worse.standard_errors[name] / fit.standard_errors[name] for name in fit.names}
    assert ratio == pytest.approx(dict.fromkeys(fit.names, 2.0), rel=1e-4)
    assert "chi2 / degrees of freedom" in fit.report() and "N*s/m" in fit.report()
    untold = arm.fit(model(), noisy(1), ["k", "c"], ["b.q1", "b.u1"])  # both columns' noise is found, to 10 %
    assert untold.sigma == pytest.approx({"x": 20.0, "v": 0.05}, rel=0.25)
    assert untold.chi2 == pytest.approx(untold.dof, rel=1e-9)  # in terms of the noise that is found
    assert untold.standard_errors == pytest.approx(fit.standard_errors, rel=0.25)


def place_of_a_resting_mass(millimetres: np.ndarray, **how: Any) -> Any:
    """The start of a mass that nothing moves, from measurements of it: their mean, or one of its kind."""
    data = {"time": np.arange(len(millimetres)), "x": millimetres}
    circumstances = {"parameters": {"k": 0.0, "c": 0.0}, "initial": {"b.u1": 0.0}}
    return arm.fit(model(), arm.Experiment(data, **circumstances), (), ["b.q1"], **how)


def test_intervals_of_few_measurements_are_students() -> None:
    """Textbook: mean ± t₀.₉₇₅ s/√n with n − 1 = 3 degrees of freedom, and ± 1.96 σ/√n where σ is told; both
    quantiles are from tables.
    """
    x = np.array([401.0, 398.0, 404.0, 399.0])
    for how, sigma, quantile in (
        ({}, np.std(x, ddof=1), 3.1824463),
        ({"sigma": 5.0}, 5.0, 1.9599640),
    ):
        fit = place_of_a_resting_mass(x, **how)
        error = 1e-3 * sigma / 2
        assert fit.standard_errors["b.q1"] == pytest.approx(error, rel=1e-5)
        expected = 1e-3 * np.mean(x) + np.array([-1, 1]) * quantile * error
        assert fit.intervals["b.q1"] == pytest.approx(expected, rel=1e-8)


def test_standard_errors_of_a_robust_loss_are_hubers_where_sigma_is_told_too() -> None:
    """Huber (1981), section 7.6, with ψ(r) = r up to |r| = 1: σ²/n · Σψ²/(n − 1) / (Σψ'/n)²."""
    x = np.array([400.0, 400.5, 399.6, 400.3, 399.8, 400.2, 407.0, 396.0])
    fit = place_of_a_resting_mass(x, sigma=1.0, loss="huber")
    r = x - 1e3 * fit.values["b.q1"]
    psi, slope, n = np.clip(r, -1, 1), np.abs(r) <= 1, len(x)
    assert np.sum(psi) == pytest.approx(0.0, abs=1e-5)
    error = 1e-3 / np.sqrt(n) * np.sqrt(np.sum(psi**2) / (n - 1)) / np.mean(slope)
    assert fit.standard_errors["b.q1"] == pytest.approx(error, rel=1e-5)


def test_experiments_share_parameters_and_start_each_on_its_own() -> None:
    """A second one with twice the mass, from elsewhere; NaN where a sample is missing; other units."""
    heavy = model().simulate(4.0, sample=0.1, parameters={**PARAMETERS, "m": 2.0}, initial={"b.q1": -0.3})
    gaps = np.array(heavy["x"])
    gaps[5:20] = np.nan
    second = arm.Experiment(
        {"time": heavy.time, "x": gaps}, parameters={"m": 2.0}, initial={"b.u1": 0.0}, name="heavy"
    )
    fit = arm.fit(model(), [arm.Experiment(clean(), name="light"), second], ["k", "c"], ["b.q1", "b.u1"])
    assert fit.values["k"] == pytest.approx(5.3, rel=1e-7)
    assert fit.values["b.q1 of light"] == pytest.approx(0.4, rel=1e-7)
    assert fit.values["b.q1 of heavy"] == pytest.approx(-0.3, rel=1e-7)
    assert fit.values["b.u1 of heavy"] == pytest.approx(0.0, abs=1e-7)
    assert [m.count for m in fit.experiments] == [122, 26] and len(fit.runs) == 2


def test_tables_of_every_make(tmp_path: Path) -> None:
    pytest.importorskip("xarray", reason="needs armillary[data]")
    run = clean()
    run.save(tmp_path / "run.csv")
    run.save(tmp_path / "run.nc")
    frame = run.to_pandas()
    sources = [
        run,
        run.to_xarray(),
        frame,
        frame.reset_index(),
        tmp_path / "run.csv",
        str(tmp_path / "run.nc"),
    ]
    for source in sources:
        fit = arm.fit(model(), source, NEARBY, ["b.q1", "b.u1"], outputs=["x"])
        assert fit.values == pytest.approx(TRUE, rel=1e-7)
        assert fit.experiments[0].count == 61
    metres = run.to_xarray()[["x"]] / 1000
    metres["x"].attrs["units"] = "m"
    fit = arm.fit(model(), metres, ["k", "c"], ["b.q1", "b.u1"])
    assert fit.values == pytest.approx(TRUE, rel=1e-7)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_and_durations_are_seconds(zone: str | None) -> None:
    pd = pytest.importorskip("pandas", reason="needs armillary[data]")
    since = pd.to_timedelta(TIMES, unit="s")
    dates = pd.Timestamp("2026-03-29 01:59:58", tz=zone) + since  # an hour is left out there in Berlin
    tables = [
        pd.DataFrame({"x": clean()["x"]}, index=dates),
        {"time": dates.to_pydatetime(), "x": clean()["x"]},
        {"time": since.to_numpy(), "x": clean()["x"]},
    ]
    for table in tables:
        fit = arm.fit(model(), table, NEARBY, ["b.q1", "b.u1"])
        assert fit.experiments[0].time == pytest.approx(TIMES, abs=1e-8)
        assert fit.values["k"] == pytest.approx(5.3, rel=1e-6)


def test_what_the_data_do_not_determine_is_named() -> None:
    fit = arm.fit(model(), clean(), ["k", "m", "c"], ["b.q1", "b.u1"], outputs=["x"])
    assert any("only combinations of 'k', 'm', 'c'" in note for note in fit.warnings)
    assert fit.standard_errors["m"] == np.inf and fit.standard_errors["b.q1"] < 1e-6
    assert fit.values["k"] / fit.values["m"] == pytest.approx(5.3, rel=1e-6)
    still = arm.fit(model(), {"time": range(5), "x": np.zeros(5)}, ["k", "c"], ["b.q1", "b.u1"])
    assert any("do not determine 'k'" in note for note in still.warnings)


def test_bounds_hold_and_are_told() -> None:
    fit = arm.fit(model(), clean(), {"k": (None, None, 5.0), "c": 0.5}, ["b.q1", "b.u1"], outputs=["x"])
    assert fit.values["k"] == pytest.approx(5.0, rel=1e-6) and np.isnan(fit.standard_errors["k"])
    assert any("'k' is held by its bound" in note for note in fit.warnings)


@pytest.mark.parametrize(
    ("low", "high", "value", "held"),
    [
        (-1.0, 1.0, 1.0 - 1e-8, True),  # 1e-8 of the distance between bounds
        (-1.0, 1.0, 1.0 - 3e-8, False),
        (1e6, 1e6 + 1.0, 1e6 + 1e-4, False),
        (-np.inf, 100.0, 100.0 - 5e-7, True),  # of the value where there is one bound
        (0.0, np.inf, 1e-12, False),
        (0.0, np.inf, 0.0, True),
    ],
)
def test_bounds_hold_what_is_as_close_as_rounding(low: float, high: float, value: float, held: bool) -> None:
    unknown = Unknown("k", "k", True, None, "", value, low, high)
    assert _is_at_bound(unknown, value) == held


def test_outliers_count_little_with_another_loss() -> None:
    data = {key: np.array(value) for key, value in noisy(3, x=2.0).items() if key != "v"}
    data["x"][::12] += 300.0
    plain = arm.fit(model(), data, ["k", "c"], ["b.q1", "b.u1"])
    robust = arm.fit(model(), data, ["k", "c"], ["b.q1", "b.u1"], loss="soft_l1")
    errors = [abs(fit.values["k"] - TRUE["k"]) for fit in (plain, robust)]
    assert errors[1] < 0.1 * errors[0]
    assert robust.sigma["x"] < 6.0 < plain.sigma["x"]


def test_progress_and_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs armillary[plot]")
    said: list[int] = []
    fit = arm.fit(model(), noisy(2), ["k", "c"], ["b.q1", "b.u1"], progress=lambda n, size: said.append(n))
    assert said and said[-1] <= fit.evaluations
    figure = fit.plot("x", path=tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 1000
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["model", "data"]


def test_reports_show_as_many_digits_as_are_known() -> None:
    assert [
        rounded(24790.3, 320.0),
        rounded(24160.0, 320.0),
        rounded(2.294, 0.00277),
    ] == [
        "24790",
        "24160",
        "2.2940",
    ]
    assert [rounded(5.3, 3e-16), rounded(5.3, np.inf), rounded(-7.46e9, 1e8)] == [
        "5.3",
        "5.3",
        "-7.46e+09",
    ]
    fit = arm.fit(model(), noisy(2), ["k", "c"], ["b.q1", "b.u1"], sigma={"x": 20.0, "v": 0.05})
    ratio = float(fit.report().split("degrees of freedom:")[1].split("=")[1])
    assert ratio == pytest.approx(fit.chi2 / fit.dof, rel=1e-4) and ratio != 1


def test_a_model_that_explains_nothing_says_so() -> None:
    """Metres where the output is in millimetres: no stiffness makes that of a motion that starts at 0.4 m."""
    metres = {"time": TIMES, "x": clean()["x"] / 1000}
    fit = arm.fit(model(), arm.Experiment(metres, initial=INITIAL), {"k": (5, 4, 6), "c": (0.2, 0, 1)})
    assert any("explains nothing of 'x'" in note and "in mm" in note for note in fit.warnings)


@pytest.mark.parametrize(
    ("data", "how", "said"),
    [
        ({"time": [0, 1], "y": [0, 1]}, {}, r"column 'y' of data is not an output of 'oscillator'.*outputs="),
        ({"time": [0, 1], "X": [0, 1]}, {}, r"column 'X' of data.*did you mean 'x'"),
        ({"time": [0, 1], "x": [0, 1]}, {"outputs": ["xx"]}, r"no output 'xx'; did you mean 'x'"),
        ({"x": [0, 1]}, {}, r"data has no column 'time'"),
        ({"time": [-1, 1], "x": [0, 1]}, {}, r"begins at -1 s, but its run starts at 0 s; give Experiment"),
        ({"time": [0, 1, 1], "x": [0, 1, 2]}, {}, r"does not increase in row 2"),
        ({"time": [0, np.nan], "x": [0, 1]}, {}, r"time of data is not finite in row 1"),
        ({"time": [0, 1], "x": [0, 1, 2]}, {}, r"'x' of data must be 2 numbers"),
        ({"time": [0, 1], "x": ["a", "b"]}, {}, r"contains an entry that is not a number"),
        ({"time": [0, 1], "x": [np.nan, np.nan]}, {}, r"'x' of data holds no number"),
        ({"time": [0, 1], "x": [np.inf, 0]}, {}, r"holds infinity; write missing values as NaN"),
        ({"time": [], "x": []}, {}, r"data has no rows"),
        ([], {}, r"no data to fit to"),
        (3, {}, r"int is not data"),
        ({"time": [0.0], "x": [1.0]}, {}, r"1 measurement cannot determine 2 unknowns \(k, c\)"),
        ({"time": [0, 1], "x": [0, 1]}, {"parameters": ["kk"]}, r"no parameter 'kk' to be fitted; did you"),
        ({"time": [0, 1], "x": [0, 1]}, {"parameters": []}, r"nothing is to be fitted"),
        ({"time": [0, 1], "x": [0, 1]}, {"parameters": ["b.q1"]}, r"a coordinate, speed or state: name it"),
        ({"time": [0, 1], "x": [0, 1]}, {"initial": ["k"]}, r"'k' to be fitted; it is a parameter:"),
        ({"time": [0, 1], "x": [0, 1]}, {"max_evaluations": 0}, r"must be a positive whole number, not 0"),
        ({"time": [0, 1], "x": [0, 1]}, {"initial": ["b.q"]}, r"no coordinate, speed or state 'b.q'"),
        ({"time": [0, 1], "x": [0, 1]}, {"parameters": {"k": (9, 0, 5)}}, r"start 9 lies outside .* 0 to 5"),
        ({"time": [0, 1], "x": [0, 1]}, {"parameters": {"k": (1, 5, 0)}}, r"lowest value 5 is not below"),
        ({"time": [0, 1], "x": [0, 1]}, {"parameters": {"k": (1, 5)}}, r"give a start or \(start, lowest"),
        ({"time": [0, 1], "x": [0, 1]}, {"sigma": 0.0}, r"sigma of 'x' of data must be positive"),
        ({"time": [0, 1], "x": [0, 1]}, {"sigma": {"v": 1.0}}, r"sigma: data has no column 'v'"),
        ({"time": [0, 1], "x": [0, 1]}, {"parameters": 3}, r"unknowns are given by name.*not 3"),
        ({"time": [0, 1], "x": [0, 1]}, {"output": ["x"]}, r"takes no 'output'; did you mean 'outputs'"),
        ({"time": [0, 1], "x": [0, 1]}, {"sample": 0.1}, r"takes no 'sample'; "),
        ({"time": [0, 1], "x": [0, 1j]}, {}, r"column 'x' of data contains an entry that is not a number"),
        ({"time": [0, 1], "x": np.array([0, 1], "M8[s]")}, {}, r"'x' of data contains an entry that is not"),
        ({"time": [0, 1], "x": [0, 1]}, {"sigma": 1e-300}, r"sum of squares overflows; are data"),
        ({"time": [0, 1, 2], "x": [0, 0, 1e-200]}, {"initial": {"b.q1": 1}}, r"sum of squares overflows"),
        ({"time": [0, 1], "x": [0, 1]}, {"loss": "hubert"}, r"no loss 'hubert'; did you mean 'huber'"),
        (
            {"time": [0, 1], "x": [0, 1]},
            {"parameters": {"m": -1.0}},
            r"at the start of the fit: .*mass \(by m\) is -1",
        ),
        (
            arm.Experiment({"time": [0, 1], "x": [0, 1]}, parameters={"k": 2.0}),
            {},
            r"'k' is to be fitted, but data gives it a value",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_named(data: Any, how: dict[str, Any], said: str) -> None:
    with pytest.raises(ArmillaryError, match=said):
        arm.fit(model(), data, **({"parameters": ["k", "c"]} | how))


def test_a_model_that_is_none() -> None:
    with pytest.raises(ArmillaryError, match=r"needs a compiled model.*derive\(\)\.compile\(\)"):
        arm.fit(arm.System("s"), clean(), ["k"])  # type: ignore[arg-type]
