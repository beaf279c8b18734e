"""Rows of values with units, as texts or quantities, enter many points and sweeps like plain numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.later import unit_registry

ANGLES = np.radians([10.0, 20.0])


@cache
def model() -> arm.CompiledModel:
    s = arm.System("pendulum")
    b = s.body("b", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=(1, 1, 1))
    s.gravity(9.81, -s.ground.y)
    s.parameter("k", 2.0, units="N*m")
    offset = s.memory("offset", 0.0, units="mm")
    s.moment("spring", "-k*sin(2*b.q1 + 3*t)", s.ground.z, on=b)
    length = s.parameter("d", 1.0, units="m")
    s.output("reach", arm.dot(arm.position(b.com), s.ground.x) * (1 + offset / length))
    return s.derive().compile()


def quantities(values: Any, units: str) -> Any:
    return unit_registry().Quantity(np.array(values), units)


def rows(form: str, values: list[float], units: str) -> Any:
    return [f"{x} {units}" for x in values] if form == "texts" else quantities(values, units)


@pytest.mark.parametrize("form", ["texts", "quantities"])
def test_many_points_take_rows_with_units(form: str) -> None:
    """Of quantities the unit was dropped: angles in degrees were taken for radians."""

    def slopes(**at: Any) -> np.ndarray:
        found = model().linearize(at={"b.q1": at.pop("q", 0.1), **at}, outputs=["reach"])
        return np.concatenate([found.A[:, 1, 0], found.C[:, 0, 0]])

    np.testing.assert_allclose(slopes(q=rows(form, [10, 20], "deg")), slopes(q=ANGLES), rtol=1e-14)
    memory = slopes(offset=rows(form, [0.1, 0.2], "m"))
    np.testing.assert_allclose(memory, slopes(offset=[100.0, 200.0]), rtol=1e-14)
    np.testing.assert_allclose(slopes(t=rows(form, [100, 200], "ms")), slopes(t=[0.1, 0.2]), rtol=1e-14)
    stiff = [
        model().linearize(at={"b.q1": 0.1}, parameters={"k": k}).A[:, 1, 0]
        for k in (rows(form, [1, 2], "kN*m"), [1000.0, 2000.0])
    ]
    np.testing.assert_allclose(stiff[0], stiff[1], rtol=1e-14)


@pytest.mark.parametrize("form", ["texts", "quantities"])
def test_sweeps_take_rows_with_units(form: str) -> None:
    swept = model().sweep({"b.q1": rows(form, [10, 20], "deg")}, outputs=["reach"])["reach"]
    np.testing.assert_allclose(swept, np.sin(ANGLES), rtol=1e-12)
    with pytest.raises(arm.ArmillaryError, match=r"sweep 'b\.q1'.* .*\[kg\]"):
        model().sweep({"b.q1": rows(form, [10, 20], "kg")}, outputs=["reach"])
