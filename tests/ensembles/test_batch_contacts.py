"""Batches of models with rigid contacts: on lanes between events, each run as it is alone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.ensembles.engines import lane_engines
from armillary.export.cuda.device_functions import SectionWriter


@pytest.fixture(scope="module")
def plank() -> arm.Model:
    """A plank in a plane that falls on its two feet and slides."""
    s = arm.System("plank")
    N = s.ground
    s.gravity(9.81, -N.z)
    joint = arm.Joint(translate=["x", "z"], rotate=["y"])
    plank = s.body("plank", joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    for name, x in (("left", -0.3), ("right", 0.3)):
        foot = plank.point(name, (x, 0.0, -0.05))
        s.contact(f"{name}_contact", foot, plane=(N, N.z), friction=0.4, restitution=0.3)
    return s.derive().compile()


@pytest.mark.parametrize(
    "settings", [{"method": "rk4", "step": 1e-3}, {"rtol": 1e-8}], ids=["rk4", "adaptive"]
)
def test_each_run_of_a_batch_is_the_run_alone(
    plank: arm.Model, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for least in ("LEAST_STEPS", "LEAST_RUNS", "LEAST_LANES"):
        monkeypatch.setattr(lane_engines, least, 1)
    n = 64
    rng = np.random.default_rng(3)
    initial = {
        "plank.q2": rng.uniform(0.2, 0.3, n),
        "plank.q3": rng.uniform(-0.2, 0.2, n),
        "plank.u1": rng.uniform(-1.0, 1.0, n),
    }
    batch = plank.simulate_batch(0.6, initial=initial, **settings)
    assert batch.info["engine"].startswith("lanes")
    assert batch.failed.size == 0
    for j in range(0, n, 9):
        alone = plank.simulate(0.6, initial={name: x[j] for name, x in initial.items()}, **settings)
        assert len(alone.events) > 2
        for name in ("plank.q1", "plank.q2", "plank.q3", "plank.u1"):
            assert batch[name][j][-1] == pytest.approx(alone.final[name], rel=1e-9, abs=1e-11), (name, j)


def test_kernels_call_effects_that_events_share_in_one_place(plank: arm.Model) -> None:
    """NVRTC inlines each call: with a call for each event, seven contacts took it two and a half minutes."""
    text = "\n".join(SectionWriter(plank.equations.program, frozenset(), "plank").fire())
    defined = re.findall(r"^void plank_fire_(\d+)\(", text, re.M)
    called = re.findall(r"^ +plank_fire_(\d+)\(", text, re.M)
    assert sorted(called) == sorted(defined)
    assert text.count("    case ") == len(plank.equations.program.fire) > len(called)
