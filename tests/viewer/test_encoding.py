"""Motions packed for the page, unpacked here by other means."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.viewer.figures import ARROW_LEVELS
from armillary.viewer.page_data import LEVELS, pack_channels
from tests.viewer.page_data import unpack


@pytest.mark.parametrize("rows", [1, 2, 3, 500])
def test_values_come_back_to_half_a_step(rows: int) -> None:
    t = np.linspace(0, 5, rows)
    values = np.stack(
        [np.sin(3 * t), 1e6 + t, np.full(rows, 7.0), np.random.default_rng(1).normal(size=rows)], 1
    )
    found = unpack(pack_channels(values))
    width = np.maximum(np.ptp(values, axis=0) / LEVELS, 1e-9)
    assert np.all(np.abs(found - values) <= 0.51 * width + 1e-9)


def test_values_that_are_not_finite_do_not_spoil_the_others() -> None:
    values = np.array([[1.0], [np.nan], [3.0], [np.inf]])
    found = unpack(pack_channels(values))
    assert found[[0, 2], 0] == pytest.approx([1.0, 3.0], abs=1e-4)
    assert np.isfinite(found).all() and "gaps" not in pack_channels(values)


def test_the_largest_number_of_single_precision_is_a_value() -> None:
    largest = float(np.finfo(np.float32).max)
    coded = pack_channels(np.array([[0.0], [largest], [-largest]]), gaps=True)
    assert "gaps" not in coded
    assert unpack(coded)[:, 0] / largest == pytest.approx([0.0, 1.0, -1.0], abs=1e-4)


def test_plots_have_gaps_where_values_are_not_finite() -> None:
    """They were at the lowest value of their curve, and those beyond single precision infinite."""
    values = np.array(
        [[1.0, 1.0, np.nan], [np.nan, 2.0, np.nan], [3.0, 1e188, np.nan], [np.inf, 4.0, np.nan]]
    )
    coded = pack_channels(values, gaps=True)
    assert coded["gaps"] == [[0, 1, 2], [0, 3, 4], [1, 2, 3], [2, 0, 4]]
    assert unpack(coded)[[0, 1, 3], 1] == pytest.approx([1.0, 2.0, 4.0], abs=1e-4)
    assert "gaps" not in pack_channels(values[:1, :2], gaps=True)


def test_a_minute_of_31_bodies_takes_less_than_a_megabyte() -> None:
    t = np.arange(3600) / 60
    phases = np.random.default_rng(2).uniform(0, 6, 31 * 7)
    values = np.sin(t[:, None] * np.linspace(0.5, 8, 31 * 7) + phases)
    arrows = values[:, :93]  # of the velocities
    assert len(pack_channels(values)["data"]) + len(pack_channels(arrows, ARROW_LEVELS)["data"]) < 1e6
