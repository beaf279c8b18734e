"""The double wishbone's camber and toe over its travel, against distances of its own points."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from armillary.stages.model import Model
from examples.double_wishbone import POINTS, between, system
from tests.verification.wishbone_geometry import by_distances, turned

TRAVEL = np.linspace(-60, 60, 7)


@cache
def corner() -> Model:
    return system().derive().compile()


def angles(q: float, rack: float = 0.0) -> tuple[float, float, float]:
    """Travel in mm, camber and toe in degrees, from the wheel's centre and axle."""
    wheel, axle = by_distances(q, rack)
    return 1e3 * wheel[2], -np.degrees(np.arcsin(axle[2])), np.degrees(np.arctan2(axle[0], axle[1]))


@pytest.mark.parametrize("rack", [0.0, 0.02])
def test_camber_and_toe_over_travel_are_those_of_the_points(rack: float) -> None:
    found = corner().sweep({"travel": TRAVEL}, ["camber", "toe"], parameters={"rack": rack})
    assert found.held == {"car.q1": 0.0}
    expected = np.array([angles(q, rack) for q in found["lower.q1"]]).T
    columns = [found[name] for name in ("travel", "camber", "toe")]
    assert np.max(np.abs(np.array(columns) - expected)) < 1e-9  # mm and degrees


def test_gradients_are_those_of_the_points() -> None:
    """Central differences of the points by travel; δ = 1e-4 rad leaves about 1e-8 of a gradient."""
    found = corner().sweep({"travel": TRAVEL}, ["camber", "toe"], derivatives=True)
    for i, q in enumerate(found["lower.q1"]):
        before, after = np.array(angles(q - 1e-4)), np.array(angles(q + 1e-4))
        slope = (after - before)[1:] / (after - before)[0]
        own = [found[f"d({name})/d(travel)"][i] for name in ("camber", "toe")]
        assert own == pytest.approx(slope.tolist(), abs=1e-8)


def test_the_wheel_carries_the_strut_by_its_motion_ratio() -> None:
    """Without masses the effort along the travel is −F dL/dz, of the strut's force F and length L."""
    found = corner().sweep({"travel": TRAVEL}, ["strut"], static=True, parameters={"g": 0.0})
    top = np.array(POINTS["strut top"])
    rear, front = (np.array(POINTS[f"lower {end}"]) for end in ("rear", "front"))
    foot = rear + np.array(between("lower rear", "strut foot"))

    def length(q: float) -> float:
        return float(np.linalg.norm(turned(foot, rear, front, q) - top))

    for i, q in enumerate(found["lower.q1"]):
        dL = length(q + 1e-5) - length(q - 1e-5)
        dz = 1e-3 * (angles(q + 1e-5)[0] - angles(q - 1e-5)[0])
        assert found["effort of travel"][i] == pytest.approx(-found["strut"][i] * dL / dz, rel=1e-7)
