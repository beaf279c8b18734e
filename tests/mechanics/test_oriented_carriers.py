"""A free body on a body that is fixed to the ground and turned: its speeds are along that body's axes."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm


@pytest.mark.parametrize("formalism", ["kane", "recursive", "back_substitution", "momentum"])
def test_gravity_acts_along_the_axes_of_a_turned_parent(formalism):
    """R from the parent to the ground is a quarter turn about z, so −x of the ground is y of the parent."""
    s = arm.System("turned")
    turned = s.body("turned", orient=("z", "quarter"), mass=0, inertia=0)
    s.body("b", turned, arm.Free(), mass=2, inertia=(1, 2, 3))
    s.gravity(9.81, -s.ground.x)
    model = s.derive(formalism).compile()
    run = model.simulate(0.5, step=0.1, parameters={"quarter": np.pi / 2}, initial={"b.u5": 0.3, "b.u1": 1.0})
    expected = [0.5, 0.5 * 9.81 * 0.25, 0.0, 1.0, 0.5 * 9.81, 0.0]
    found = [run.final[f"b.{name}"] for name in ("q1", "q2", "q3", "u1", "u2", "u3")]
    assert found == pytest.approx(expected, abs=1e-12)
