"""Metrics as texts and from histories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.ensembles.engines.gpu_runs import metric_text
from armillary.ensembles.metrics import (
    KINDS,
    LARGEST,
    SMALLEST,
    Crossing,
    Histogram,
    Maximum,
    Mean,
    Metric,
    MetricRow,
    Minimum,
    Slot,
    read_metric,
    read_metrics,
)
from armillary.ensembles.plan import BatchMetric
from tests.ensembles.batch_systems import everything

pytestmark = pytest.mark.optimised

TIME = np.array([0.0, 0.5, 2.0, 3.0])
VALUES = np.array([1.0, 3.0, -1.0, 0.0])


@pytest.mark.parametrize(
    "text, expected",
    [
        ("final(x)", 0.0),
        ("minimum(x)", -1.0),
        ("max(x)", 3.0),
        ("mean(x)", (1.0 + 1.5 - 0.5) / 3.0),
        ("rms(x)", np.sqrt((2.5 + 7.5 + 0.5) / 3.0)),
        ("crossing(x, 2)", 0.25),
        ("crossing(x, 2, falling)", 0.5 + 1.5 / 4.0),
        ("crossing(x, 5)", np.nan),
    ],
)
def test_metrics_of_a_short_history(text: str, expected: float) -> None:
    assert read_metric(text).of(TIME, VALUES) == pytest.approx(expected, rel=1e-15, nan_ok=True)


def test_histograms_close_their_last_bin() -> None:
    assert read_metric("histogram(x, -1, 3, 2)").of(TIME, VALUES).tolist() == [2.0, 2.0]
    assert read_metric("histogram(x, 0, 3, 1)").of(TIME, VALUES).tolist() == [3.0]


def test_a_value_that_starts_on_the_level_has_not_crossed_it() -> None:
    assert Crossing("x", 1.0).of(TIME, VALUES) == 0.5 + 1.5 * 0.5  # on the way down
    assert np.isnan(Crossing("x", 1.0, "rising").of(TIME, VALUES))


def test_one_row_and_none() -> None:
    for kind in KINDS.values():
        found = kind("x").of([1.0], [0.5])
        assert np.all(np.isfinite(found)) or kind is Crossing
    assert np.isnan(Maximum("x").of([], []))


@pytest.mark.parametrize(
    "metric", [Crossing("a (b), c", 0.2, "falling"), Histogram("h", 0.0, 1.0, 7), Maximum("tip, height")]
)
def test_texts_say_metrics(metric: Metric) -> None:
    assert read_metric(str(metric)) == metric


def test_names_of_metrics() -> None:
    found = read_metrics(["max(x)", Maximum("y")])
    assert found == {"max(x)": Maximum("x"), "maximum(y)": Maximum("y")}
    assert read_metrics("max(x)") == {"max(x)": Maximum("x")}


@pytest.mark.parametrize(
    "text, message",
    [
        ("top(x)", "is not a metric"),
        ("maximum()", "names no output"),
        ("crossing(x)", "write crossing"),
        ("crossing(x, high)", "'high' is not a number"),
        ("crossing(x, 4, up)", "a crossing is rising, falling, either, not 'up'"),
        ("crossing(x, 40 mm)", "'40 mm' is not a number; give a number without units, in the output's units"),
        ("maximum(x).", "without further text"),
        ("maximum x", r"write maximum\(output\)"),
        ("histogram(x, 0, 1)", "write histogram"),
        ("histogram(x, 1, 0, 5)", "bounds low < high"),
        ("histogram(x, 0, 1, 0)", "whole number of bins"),
        ("histogram(x, 0, 1, 2.5)", "whole number of bins"),
        ("crossing(x, nan)", "finite number"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        read_metric(text)


class Swing(Metric):
    """A metric of its own: the largest value less the smallest."""

    kind = "swing"

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        return Slot(SMALLEST, row.y), Slot(LARGEST, row.y)

    def result(self, slots: Any, t_first: float) -> Any:
        return slots[1] - slots[0]


@pytest.mark.parametrize(
    "how, engine",
    [
        ({"step": 0.01}, "lanes"),
        ({}, "scalar"),
        ({"method": "rodas5p"}, "scalar"),
        ({"method": "auto"}, "scalar"),
    ],
)
def test_a_metric_is_one_class_for_every_engine(how: dict[str, Any], engine: str) -> None:
    metrics = {"swing": Swing("A.u1"), "low": Minimum("A.u1"), "high": Maximum("A.u1")}
    starts = {"A.q1": np.linspace(0.1, 0.5, 3)}
    batch = everything().simulate_batch(1.0, initial=starts, metrics=metrics, progress=False, **how)
    assert batch.info["engine"].startswith(engine)
    np.testing.assert_array_equal(batch["swing"], batch["high"] - batch["low"])


def test_a_metric_is_one_class_for_cuda_too() -> None:
    text = metric_text([BatchMetric("swing", Swing("A.u1"), 3), BatchMetric("mean", Mean("A.u1"), 3)]).text
    assert "slot[1] = (y > slot[1] || " in text
    assert "if (slot[3] == slot[3])" in text and "slot[3] = t;" in text  # the mean: not at the first row
