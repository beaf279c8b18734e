"""Constraints that seem weak where a choice of dependent speeds is poor, and are not."""

from __future__ import annotations

import numpy as np

from armillary.algebra.arguments import core_of
from armillary.runtime.models.instance import Instance
from tests.systems.weak_four_bar import four_bar


def test_after_an_exchange_the_constraints_have_their_usual_size() -> None:
    """What is left of a row after a pivot near zero at the start is no measure of the row elsewhere."""
    model = four_bar().derive().compile()
    run = model.simulate(1.0, step=1e-3, sample=0.25)
    assert str(run.info["configurations"]).count("became independent") == 2
    for configuration, other in core_of(model).configuration_models.items():
        if configuration.dependents:
            values = {n: run[n][-1] for n in (*other.coordinate_names, *other.speed_names)}
            strength = Instance(core_of(other)).strength(1.0, other.state(values), np.empty(0))
            assert 0.1 < strength < 10.0
