"""Wheels about reversed axes turn the other way, with the same inertia."""

from __future__ import annotations

import numpy as np

import armillary as arm


def test_a_reversed_axis_changes_signs_only() -> None:
    found = []
    for axis, sign in (("x", 1.0), ("-x", -1.0)):
        s = arm.System("satellite")
        hub = s.body("hub", joint=arm.Free(), mass=10, inertia=(2, 3, 4))
        s.reaction_wheel("wheel", on=hub, axis=axis, inertia=0.5, transverse=0.3)
        model = s.derive().compile()
        u = np.array([0, 0, 0, 0.1, 0.2, 0.3, sign * 7.0])
        q = np.array([0, 0, 0, 1, 0, 0, 0, sign * 0.4])
        rates = model.accelerations(0.0, q, u)
        found.append([*rates[:6], sign * rates[6]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
    assert np.abs(found[0][3:6]).max() > 0.1
