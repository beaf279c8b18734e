"""Sizes and counts that cannot be: each is refused by a sentence that names it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import armillary as arm


@cache
def _model() -> Any:
    s = arm.System("mass")
    s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    return s.derive().compile()


@pytest.mark.parametrize("count", [True, 0, -1, 2.5, "7"])
def test_a_number_of_steps_is_a_whole_number_of_at_least_one(count: Any) -> None:
    with pytest.raises(arm.ArmillaryError, match=r"max_steps must be a positive whole number"):
        _model().simulate(0.1, max_steps=count)


@pytest.mark.parametrize("radius", [0, 0.0, -0.1])
def test_the_radius_of_a_contact_is_positive(radius: float) -> None:
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=1, inertia=0)
    with pytest.raises(arm.ArmillaryError, match=r"radius of contact 'floor'"):
        s.contact("floor", ball.origin, plane=(s.ground, s.ground.y), radius=radius)
