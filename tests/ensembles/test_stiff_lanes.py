"""Linearly implicit methods on lanes: closed forms, the numbers of single runs, and runs that end early."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles.engines import lane_engines
from armillary.ensembles.engines.lane_engines import _stiff_refusal as stiff_refusal
from armillary.ensembles.plan import plan
from armillary.settings import RunSettings
from armillary.stages.model import Model
from tests.ensembles.batch_systems import worst_difference

RUNS = 11


@pytest.fixture(autouse=True)
def always_on_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few the runs and the lanes of this machine."""
    monkeypatch.setattr(lane_engines, "_stiff_refusal", lambda plan, lanes: "")


@cache
def damped() -> Model:
    """A mass on a spring and a damper, and two states that grow without bound."""
    s = arm.System("damped")
    s.parameter("c", 1.0, units="N*s/m")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1.0)
    s.force("hold", "-100*b.q1 - c*b.u1", s.ground.x, at=b.com)
    s.state("z", initial=0.1)
    s.rate("z", "z^2")
    s.state("y")
    s.rate("y", "800*y")
    return s.derive().compile()


@cache
def held_top() -> Model:
    """A top with Euler parameters and a stiff joint to a light disc."""
    s = arm.System("held top")
    top = s.body("top", joint=arm.Spherical(), com=(0, 0, 0.3), mass=2, inertia=(0.02, 0.02, 0.03))
    disc = s.body("disc", top, arm.Revolute("x"), at=(0, 0, 0.6), mass=0.01, inertia=(1e-5, 1e-5, 1e-5))
    s.moment("stiff", "-20*disc.q1 - 2*disc.u1", top.x, on=disc, reaction=top)
    s.gravity(9.81, -s.ground.z)
    return s.derive().compile()


@pytest.mark.parametrize("how, error", [({"method": "rodas5p", "rtol": 1e-8, "atol": 1e-10}, 3e-7),
                                        ({"method": "rodas3", "step": 2e-3}, 1e-5)])  # fmt: skip
def test_dampers_of_all_strengths_have_their_closed_form(how: dict[str, Any], error: float) -> None:
    """x'' + c x' + 100 x = 0 from x = 1 at rest: x = (b e^(at) - a e^(bt))/(b - a), a and b the roots."""
    c = np.geomspace(1.0, 1e5, RUNS)
    batch = damped().simulate_batch(
        1.0, parameters={"c": c}, initial={"b.q1": 1.0}, sample=0.1, progress=False, **how
    )
    assert batch.info["engine"].startswith("lanes of")
    a, b = (-0.5 * c + sign * np.sqrt(0.25 * c**2 - 100.0 + 0j) for sign in (1, -1))
    a = np.where(c > 20.0, 100.0 / b, a)  # without cancellation
    t = batch.time[None, :]
    a, b = a[:, None], b[:, None]
    exact = ((b * np.exp(a * t) - a * np.exp(b * t)) / (b - a)).real
    np.testing.assert_allclose(batch["b.q1"], exact, atol=error)


def test_lanes_make_the_steps_of_single_runs() -> None:
    """Single runs of so few states solve dense equations; stiffness magnifies the difference of rounding."""
    model, how = held_top(), {"method": "rodas5p"}
    given = {"initial": {"top.u1": np.linspace(0.0, 3.0, RUNS), "top.u3": np.linspace(80.0, 0.0, RUNS)}}
    assert worst_difference(model, 0.3, given, [0, 4, RUNS - 1], sample=0.05, **how) < 1e-8
    batch, part = (
        model.simulate_batch(0.3, sample=0.05, progress=False, initial=starts, **how)
        for starts in (given["initial"], {name: x[3:6] for name, x in given["initial"].items()})
    )
    assert batch.info["engine"].startswith("lanes of")
    np.testing.assert_array_equal(batch["top.q1"][3:6], part["top.q1"])  # whatever the neighbours


@pytest.mark.parametrize("how, state, start, end", [
    ({"method": "rodas5p"}, "z", 4.0, (0.249, 0.251)),  # z' = z²
    # y' = 800 y reaches 1.8e308 at 0.168, and a stage, which is divided by the step, 9.2 / 800 before
    ({"method": "rodas3", "step": 1e-4}, "y", 1e250, (0.155, 0.169)),
])  # fmt: skip
def test_a_run_without_end_leaves_its_neighbours_alone(
    how: dict[str, Any], state: str, start: float, end: tuple[float, float]
) -> None:
    ends = np.arange(RUNS) == 4
    starts = {"z": 0.1, "y": 0.0} | {state: np.where(ends, start, {"z": 0.1, "y": 0.0}[state])}
    batch = damped().simulate_batch(0.3, sample=0.1, initial=starts, progress=False, **how)
    assert batch.info["engine"].startswith("lanes of")
    assert [status == "finished" for status in batch.status] == list(~ends)
    np.testing.assert_allclose(batch["z"][~ends, -1], 0.1 / (1 - 0.1 * 0.3), rtol=1e-6)
    assert end[0] < batch.t_stop[4] < end[1]


def test_lanes_are_taken_where_they_save_time() -> None:
    """Few runs do not pay for the preparation, and the top's equations have many products, for few lanes."""
    rod, top = (
        [plan(core_of(model), RunSettings(1.0, method="rodas5p"), runs=runs) for runs in (999, 1000)]
        for model in (damped(), held_top())
    )
    assert stiff_refusal(rod[0], 8) == "fewer than 1000 runs"
    assert stiff_refusal(rod[1], 2) == ""
    assert stiff_refusal(top[1], 2) == "sparse equations take too long on 2 lanes"
    assert stiff_refusal(top[1], 16) == ""
