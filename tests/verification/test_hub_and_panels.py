"""Conservation of a hub with hinged panels; its numbers are the case `hub_and_panels`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from examples.hub_and_panels import START, system
from tests.verification.common import (
    TIGHT,
    assert_constant,
)


@cache
def compiled() -> Any:
    """The example's vehicle in free space."""
    return system().derive().compile()


def test_energy_and_momenta_are_kept() -> None:
    """Without dampers all of them; with dampers the momenta only."""
    model = compiled()
    start = START | {"panel3.q1": 0.8, "panel6.u1": -0.5, "hub.u1": 0.3, "hub.u2": -0.4}
    for damping in (0.0, 40.0):
        run = model.simulate(10.0, sample=0.05, initial=start, parameters={"c": damping}, **TIGHT)
        for letter in "xyz":
            assert_constant(run, f"p{letter}", 1e-10, scale=500.0)
            assert_constant(run, f"h{letter}", 1e-10, scale=500.0)
        if damping == 0.0:
            assert_constant(run, "energy", 1e-10)
        else:
            assert np.all(np.diff(run["energy"]) < 0)
