"""Workspaces of an arm against its circles, and of a wishbone against its own points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanisms import arm_2r, slider_crank

import armillary as arm


def test_an_arm_ends_where_its_links_are_in_line() -> None:
    """Circles of radius l₁ + l₂ = 1.7 m at q₂ = 0 and l₁ − l₂ = 0.3 m at q₂ = π."""
    space = arm_2r().workspace({"upper.q1": (-1.0, 2.0), "lower.q1": (-0.8, 3.9)}, ["x", "y"], points=12)
    singular = space.singular
    radius, elbow = np.hypot(singular["x"], singular["y"]), singular["lower.q1"]
    outer = np.abs(elbow) < 1
    assert outer.sum() == (~outer).sum() == 12
    assert radius[outer] == pytest.approx(1.7, rel=1e-12) and elbow[outer] == pytest.approx(0.0, abs=1e-9)
    assert radius[~outer] == pytest.approx(0.3, rel=1e-10) and elbow[~outer] == pytest.approx(np.pi, abs=1e-9)
    assert space.sweep.shape == (12, 12) and space.edges.sum() == 44
    low, high = space.extent["y"]
    assert high == pytest.approx(1.7, rel=0.02) and low < 0
    assert repr(space).startswith("Workspace of 'two-link arm' over upper.q1 -1 to 2, lower.q1 -0.8 to 3.9")


def test_workspaces_end_at_limits_of_reach_too(tmp_path: Path) -> None:
    space = slider_crank().workspace({"slider.q1": (1.0, 1.3)}, ["crank.q1"], points=7)
    assert space.edges.tolist() == [True, False, False, False, True, False, False]
    assert len(space.singular) == 0
    arm_2r().workspace({"upper.q1": (0, 1), "lower.q1": (-1, 1)}, ["x", "y"], points=5).plot(
        path=tmp_path / "space.svg"
    )
    assert (tmp_path / "space.svg").stat().st_size > 1000
    assert "<table>" in space._repr_html_()


@pytest.mark.parametrize(
    ("ranges", "outputs", "words"),
    [
        ({"upper.q1": (0, 1)}, ["x", "y"], "as many outputs as ranges"),
        ({"upper.q1": 1, "lower.q1": (0, 1)}, ["x", "y"], "needs \\(low, high\\)"),
        ({"upper.q1": (1, 0), "lower.q1": (0, 1)}, ["x", "y"], "is not below"),
        ({"upper.q1": (0, 1), "lower.q1": (0, 1)}, ["x", "z"], "no coordinate or output 'z'"),
        ({"upper.q1": (0, 1), "lower.q1": (0, 1)}, ["x", "upper.q1"], "is driven itself"),
        ({"upper.q1": (0, 1), "lower.q1": (0, 1)}, ["x", "x"], "output 'x' is given twice"),
        ({"upper.q1": (0, 1), "time": (0, 1)}, ["x", "y"], "'time' cannot have a range"),
        ({"upper.q1": "12", "lower.q1": (0, 1)}, ["x", "y"], "needs \\(low, high\\)"),
    ],
)
def test_wrong_workspaces_are_refused_by_a_sentence(ranges: Any, outputs: Any, words: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=words):
        arm_2r().workspace(ranges, outputs)


def test_a_range_of_one_point_is_refused() -> None:
    with pytest.raises(arm.ArmillaryError, match="two points at least"):
        arm_2r().workspace({"upper.q1": (0, 1), "lower.q1": (0, 1)}, ["x", "y"], points=1)
