"""Systems that nobody holds any more are freed, with their equations and machine code."""

from __future__ import annotations

import gc
import weakref

import pytest

import armillary as arm
from armillary.algebra.node import _table


def described(stage: str) -> weakref.ref[arm.System]:
    s = arm.System("pendulum")
    bob = s.body("bob", joint=arm.Gimbal("zx"), com=(0, -0.5, 0), mass=1, inertia=(1, 1, 2))
    s.gravity(9.81, -s.ground.y)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.y))
    s.output("energy", s.total_energy())
    if stage == "run":  # of which a start keeps expressions
        hub = s.body("hub", joint=arm.Free(), com=(0.5, 0, 0), mass=1, inertia=(1, 1, 2))
        s.start_mass_centre(hub, position=(0, 0, 1))
    if stage != "described":
        eom = s.derive()
        if stage == "run":
            eom.compile().simulate(0.01, step=1e-3)
    return weakref.ref(s)


@pytest.mark.parametrize("stage", ["described", "derived", "run"])
def test_a_system_is_freed(stage):
    described(stage)  # what the first one leaves in caches stays
    gc.collect()
    before = len(_table)
    made = [described(stage) for _ in range(5)]
    gc.collect()
    assert [system() for system in made] == [None] * 5
    assert len(_table) <= before + 5


def test_a_new_system_never_gets_the_symbols_of_one_that_is_gone():
    """Its id may be the same; an expression that outlived the first stays what it was."""
    kept = []
    for i in range(8):
        s = arm.System(f"number {i}")
        kept.append(s.parameter("k", float(i), units="N/m"))
        del s
        gc.collect()
    assert [p.data.default for p in kept] == [float(i) for i in range(8)]
    assert len(set(kept)) == 8
