"""Published models in redundant coordinates: accelerations of the minimal equations at random states, and
their motion as the step shrinks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from examples import car, four_bar, spacecraft_2, spinning_top, stanford_arm

MODELS: dict[str, tuple[Any, dict[str, float], float, float]] = {  # system, start, seconds, step
    "Stanford arm": (stanford_arm.system, {"B.q1": math.pi / 2}, 0.5, 2e-3),
    "Spacecraft 2": (spacecraft_2.system, spacecraft_2.START, 2.0, 0.02),
    "car": (car.system, {}, 0.5, 5e-3),
    "spinning top": (spinning_top.system, spinning_top.tilted(0.5) | {"top.u3": 60.0}, 0.5, 1e-3),
    "four-bar": (four_bar.system, {"A.q1": -0.5}, 0.3, 1e-3),
}


@pytest.mark.parametrize("name", MODELS)
def test_published_models_in_redundant_coordinates(name: str) -> None:
    """Massless links, given speeds and closed loops are among them. The car has a body of 37,000 times its
    chassis' inertia, for which the staggered scheme needs a second pass.
    """
    make, start, seconds, step = MODELS[name]
    system = make()
    redundant, minimal = system.derive(formalism="redundant").compile(), system.derive().compile()
    _check_accelerations(redundant, minimal)
    times = [0.0, seconds / 2, seconds]
    exact = minimal.simulate(seconds, rtol=1e-12, atol=1e-14, sample=times, initial=start)
    for how, order in (({"passes": 2}, 2), ({"method": "projected"}, 4)):
        errors = []
        for h in (step, step / 2):
            run = redundant.simulate(seconds, step=h, sample=times, initial=start, **how)
            found = [run[c] - exact[c] for c in minimal.coordinate_names]
            errors.append(np.max(np.abs(found)))
        # Third-order terms still show in some; at 1e-13 rounding has its say.
        assert errors[1] < max(errors[0] / 2 ** (order - 0.3), 1e-13), how
        assert errors[1] < 1e-3


def _check_accelerations(redundant: Any, minimal: Any) -> None:
    rng = np.random.default_rng(2)
    names = [*minimal.coordinate_names, *minimal.speed_names]
    for _ in range(3):
        initial = dict(zip(names, rng.uniform(-0.5, 0.5, len(names)).tolist(), strict=True))
        state = minimal.state(initial)
        expected = minimal.derivatives(0.0, state)[len(minimal.coordinate_names) :]
        start = dict(zip(names, state.tolist(), strict=True))
        found = redundant.joint_accelerations(0.0, redundant.state(start))
        found = [found[u] for u in minimal.speed_names]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * abs(expected).max())
