"""A spinning top on a quaternion joint against closed forms: cusped nutation and steady precession."""

from __future__ import annotations

import math

import numpy as np
import pytest

from examples.spinning_top import ACROSS, ALONG, GRAVITY, LENGTH, MASS, height, system, tilted
from tests.verification.common import TIGHT, WAYS, assert_constant, assert_near

ANGLE = math.radians(30.0)


@WAYS
@pytest.mark.parametrize("spin", [60.0, 125.0, 400.0])
def test_nutation_of_a_released_top(spin: float, formalism: str, regroup: bool) -> None:
    """Elliptic functions, from slow tops that swing deep to fast ones that tremble."""
    model = system().derive(formalism, regroup=regroup).compile()
    run = model.simulate(2.0, sample=0.005, initial=tilted(ANGLE) | {"top.u3": spin}, **TIGHT)
    assert_near(run["z"], height(run.time, ANGLE, spin), 1e-9, f"height at {spin} rad/s over 2 s")
    for name in ("energy", "hz", "norm"):
        assert_constant(run, name, 1e-10)


def test_steady_precession() -> None:
    """I₁ Ω² cos θ − I₃ ω₃ Ω + m g l = 0: the axis goes round at Ω without nodding."""
    spin = 125.0
    across = ACROSS + MASS * LENGTH**2
    slow, fast = sorted(np.roots([across * math.cos(ANGLE), -ALONG * spin, MASS * GRAVITY * LENGTH]).real)
    model = system().derive().compile()
    for rate in (slow, fast):
        # The vertical in the body's axes is (0, sin θ, cos θ) for a tilt about x.
        start = tilted(ANGLE) | {"top.u2": rate * math.sin(ANGLE), "top.u3": spin}
        run = model.simulate(1.0, sample=0.005, initial=start, **TIGHT)
        # Tilted about x the axis points to (0, −sin θ, cos θ).
        turned = rate * run.time
        assert_near(run["z"], math.cos(ANGLE), 1e-10, f"height of the axis at {rate:.2f} rad/s")
        assert_near(run["x"], math.sin(ANGLE) * np.sin(turned), 1e-9, "x of the axis")
        assert_near(run["y"], -math.sin(ANGLE) * np.cos(turned), 1e-9, "y of the axis")
