"""Constraints that seem weak where a choice of dependent speeds is poor, and are not."""

from __future__ import annotations

import numpy as np

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.runtime.models.programs.instance import Instance


def four_bar(s: arm.System | None = None) -> arm.System:
    """Every link with mass, moved by its weight through two changes of its dependent speeds."""
    s = s or arm.System("four-bar linkage")
    s.gravity(9.81, -s.ground.y)
    a = s.body("A", joint=arm.Revolute("z"), com=(0.25, 0, 0), mass=2.0, inertia=(0.01, 0.05, 0.05))
    b = s.body("B", parent=a, joint=arm.Revolute("z"), at=(0.5, 0, 0), com=(0, 0.2, 0), mass=10.0,
               inertia=(1.0, 0.1, 1.0))  # fmt: skip
    c = s.body("C", joint=arm.Revolute("z"), at=(0.1, 0.3, 0), com=(0.2, 0, 0), mass=1.6,
               inertia=(0.01, 0.03, 0.03))  # fmt: skip
    s.close_loop(b.point("pin", (0, 0.3, 0)), c.point("pin", (0.4, 0, 0)), [s.ground.x, s.ground.y])
    return s


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
