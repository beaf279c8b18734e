"""Figures of many runs show the numbers they are given, with names and units."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from armillary.errors import ArmillaryError
from armillary.results.plots import distributions
from armillary.studies.sampling import Design, Uniform
from armillary.studies.sensitivity import sensitivity
from tests.later import later

later("matplotlib")

TIME = np.linspace(0, 2, 41)
VALUES = np.random.default_rng(1).normal(size=(200, 1)) * np.exp(TIME)


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


class Stored:
    """An array that is only read in slices, and remembers the largest."""

    def __init__(self, values):
        self.values, self.shape, self.largest = values, values.shape, 0

    def __getitem__(self, place):
        part = self.values[place]
        self.largest = max(self.largest, part.size)
        return part


def lines(axes, label):
    return [line for line in axes.lines if line.get_label() == label]


def test_a_fan_shows_quantiles_and_single_runs():
    (axes,) = distributions.fan(TIME, VALUES, name="yaw rate", units="deg/s", bands=(0.9, 0.5)).axes
    (median,) = lines(axes, "median")
    assert median.get_ydata() == pytest.approx(np.median(VALUES, axis=0))
    for band, label in zip(axes.collections, ("90 % of runs", "50 % of runs"), strict=True):
        assert band.get_label() == label
        part = float(label[:2]) / 100
        low, high = np.quantile(VALUES[:, -1], (0.5 - part / 2, 0.5 + part / 2))
        at_end = band.get_paths()[0].vertices
        at_end = at_end[at_end[:, 0] == TIME[-1], 1]
        assert (at_end.min(), at_end.max()) == pytest.approx((low, high))
    assert len(axes.lines) == 1 + 5 and any((line.get_ydata() == VALUES[0]).all() for line in axes.lines)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "yaw rate (deg/s)")
    assert axes.get_title(loc="right") == "200 runs"


def test_a_fan_reads_a_few_samples_at_a_time(monkeypatch):
    monkeypatch.setattr(distributions, "_AT_ONCE", 1000)
    stored = Stored(VALUES)
    (axes,) = distributions.fan(TIME, stored, name="x", singles=0).axes
    assert stored.largest == 1000
    assert lines(axes, "median")[0].get_ydata() == pytest.approx(np.median(VALUES, axis=0))


def test_runs_that_failed_do_not_count_from_then_on():
    broken = VALUES.copy()
    broken[:50, 20:] = np.nan
    broken[:, 39] = np.inf
    broken[7] = np.nan
    (axes,) = distributions.fan(TIME, broken, name="x").axes
    shown = lines(axes, "median")[0].get_ydata()
    rest = np.delete(VALUES, 7, axis=0)
    assert shown[19:21] == pytest.approx([np.median(rest[:, 19]), np.median(VALUES[50:, 20])])
    assert np.isnan(shown[39])
    told = f"200 runs, 1 of them without a value, 49 of them end before {TIME[-1]:g} s"
    assert axes.get_title(loc="right") == told


def test_a_histogram_counts_every_finite_value():
    values = np.append(np.random.default_rng(2).normal(10, 2, 1000), [np.nan, np.inf])
    (axes,) = distributions.histogram(values, name="peak $", units="m").axes
    assert sum(bar.get_height() for bar in axes.patches[:-1]) == 1000  # the last patch is the range of 90 %
    assert axes.get_xlabel() == r"peak \$ (m)" and axes.get_ylabel() == "runs"
    (median,) = [line for line in axes.lines if line.get_label().startswith("median")]
    assert median.get_xdata()[0] == np.median(values[:1000])
    assert axes.get_title(loc="right") == "1,002 runs, 2 of them without a value"


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        (np.linspace(0, 1, 10_000), 21),  # Freedman and Diaconis: 1/(2·0.5/10000^⅓) = 21.5
        (np.linspace(0, 1, 27), 8),  # no fewer
        (np.append(np.linspace(0, 1, 1000), 50.0), 80),  # no more
        (np.append(np.zeros(99), 1.0), 30),  # quartiles without distance
    ],
)
def test_histograms_have_bins_as_wide_as_the_scatter_of_the_quartiles_asks_for(values, bins):
    (axes,) = distributions.histogram(values, name="x").axes
    edges = [bar.get_x() for bar in axes.patches[:-1]]
    assert np.allclose(edges, np.linspace(values.min(), values.max(), bins + 1)[:-1])


def test_histograms_of_runs_are_shown_by_their_mean():
    counts = np.array([[10, 0, 0], [8, 2, 0], [np.nan] * 3])
    (axes,) = distributions.mean_histogram(counts, [0, 1, 2, 4], name="h", output="x", units="m").axes
    assert [bar.get_height() for bar in axes.patches] == [9, 1, 0]
    assert [bar.get_width() for bar in axes.patches] == [1, 1, 2]
    assert axes.get_xlabel() == "x (m)" and axes.get_ylabel() == "samples of a run"
    assert axes.get_title(loc="right") == "3 runs, 1 of them without a value"


def test_a_metric_that_never_varies_has_a_histogram():
    (axes,) = distributions.histogram(np.full(30, 7.0), name="x").axes
    assert max(bar.get_height() for bar in axes.patches[:-1]) == 30


@pytest.mark.parametrize(("columns", "rows", "size"), [(1, 1, (4.5, 3.4)), (3, 2, (8.1, 4.9))])
def test_a_panel_of_a_scatter_has_the_same_room_however_many_there_are(columns, rows, size):
    rng = np.random.default_rng(4)
    x, y = ({f"{name}{i}": rng.random(9) for i in range(n)} for name, n in (("x", columns), ("y", rows)))
    assert distributions.scatter(x, y).get_size_inches() == pytest.approx(size)


@pytest.mark.parametrize("runs", [40, 5000])
def test_every_metric_stands_over_every_quantity(runs):
    rng = np.random.default_rng(3)
    x = {"m": rng.normal(1000, 50, runs), "mu": rng.random(runs)}
    y = {"peak": x["mu"] ** 2, "rms": x["m"] * x["mu"]}
    figure = distributions.scatter(x, y, units={"m": "kg", "peak": "m"}, title="car")
    assert len(figure.axes) == 4
    assert [axes.get_ylabel() for axes in figure.axes] == ["peak (m)", "", "rms", ""]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "m (kg)", "mu"]
    cloud = figure.axes[1].collections[0]
    if runs == 40:
        assert cloud.get_offsets().data == pytest.approx(np.column_stack([x["mu"], y["peak"]]))
    else:  # a density; its median follows the square
        (line,) = figure.axes[1].lines
        assert line.get_ydata() == pytest.approx(line.get_xdata() ** 2, rel=1e-3)
        assert cloud.get_array().sum() == runs


def test_bars_stand_in_the_order_of_importance():
    design = Design({name: Uniform(0, 1) for name in "abc"}, "morris", 4 * 20)
    x = design.block(0, design.runs)
    found = sensitivity(design, 2 * x["b"] - 5 * x["c"], metric="peak", units="m")
    (axes,) = found.plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]  # upwards
    assert [bar.get_width() for bar in axes.patches[:3]] == pytest.approx([0, 2, 5])
    assert axes.get_xlabel() == "effect over the whole range (m)"
    assert axes.get_title(loc="left") == "peak: Morris screening"
    (axes,) = replace(found, correlated=(("a", "b", 0.8),)).plot().axes
    assert axes.texts[0].get_text() == "correlated: a and b (0.80); their parts overlap, and do not add up"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_figures_are_saved_whole_and_nothing_beside_them(tmp_path, suffix):
    distributions.histogram(VALUES[:, -1], name="x", path=tmp_path / f"x{suffix}")
    assert os.listdir(tmp_path) == [f"x{suffix}"]
    assert (tmp_path / f"x{suffix}").stat().st_size > 3000


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (
            lambda: distributions.fan(TIME, VALUES[:, :5], name="x"),
            r"'x' has shape \(200, 5\).*\(runs, 41 times\)",
        ),
        (lambda: distributions.fan(TIME, VALUES[:0], name="x"), "'x' has 0 runs of 41 samples"),
        (
            lambda: distributions.fan(TIME, VALUES, name="x", bands=[90]),
            "between 0 and 1, such as 0.9, not 90",
        ),
        (lambda: distributions.histogram([np.nan] * 3, name="x"), "'x' has no finite value in 3 runs"),
        (lambda: distributions.histogram([1.0], name="x", path="x.doc"), "cannot be saved as 'x.doc'"),
        (lambda: distributions.scatter({"a": [1, 2]}, {"y": [1]}), "'a' has 2 runs and 'y' 1"),
        (lambda: distributions.scatter({"a": [1, 2]}, {}), "there are no metrics"),
    ],
)
def test_what_cannot_be_drawn(draw, told):
    with pytest.raises(ArmillaryError, match=told):
        draw()
