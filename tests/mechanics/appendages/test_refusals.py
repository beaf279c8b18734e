"""What JPL's formulations cannot describe is refused, with the offender's name and a way out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError

BOOM = {"nodes": {"tip": (1, 0, 0)}, "masses": [1.0], "shapes": [[[0], [0], [1]]], "stiffness": [[100.0]]}


def vehicle() -> tuple[arm.System, arm.Body, arm.Body]:
    s = arm.System("vehicle")
    hub = s.body("hub", joint=arm.Free(), mass=10.0, inertia=(1, 2, 2.5))
    panel = s.body(
        "panel", hub, arm.Revolute("y"), at=(1, 0, 0), com=(1, 0, 0), mass=2.0, inertia=(1, 2, 2.5)
    )
    return s, hub, panel


def gravity() -> arm.System:
    s, *_ = vehicle()
    s.gravity(9.81, -s.ground.z)
    return s


def slider() -> arm.System:
    s, hub, _ = vehicle()
    s.body("piston", hub, arm.Prismatic("x"), mass=1.0, inertia=0)
    return s


def second() -> arm.System:
    s, *_ = vehicle()
    s.body("other", joint=arm.Free(), mass=1.0, inertia=(1, 1, 1))
    return s


def pinned() -> arm.System:
    s = arm.System("pinned")
    s.body("hub", joint=arm.Spherical(), mass=10.0, inertia=(1, 2, 2.5))
    return s


def loop() -> arm.System:
    s, _, panel = vehicle()
    s.constrain(f"{panel.name}.u1 - hub.u4")
    return s


def on_node() -> arm.System:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.body("camera", hub.node("tip"), arm.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    return s


def held() -> arm.System:
    s, hub, _ = vehicle()
    boom = s.body("boom", hub, arm.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    boom.flexible(held="tip", **BOOM)
    return s


def massless() -> arm.System:
    s, hub, _ = vehicle()
    ring = s.body("ring", hub, arm.Revolute("z"), mass=0, inertia=0)
    s.body("dish", ring, arm.Revolute("x"), mass=1.0, inertia=(1, 1, 1))
    return s


def given_root() -> arm.System:
    s, *_ = vehicle()
    s.prescribe("hub.u4", 0.1)
    return s


def given_mode() -> arm.System:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.prescribe("hub.u7", 0.1)
    return s


def small() -> arm.System:
    s, *_ = vehicle()
    s.small("panel.q1")
    return s


@pytest.mark.parametrize("formulation", ["mbdyfr", "mbdyfn", "mbdyfl"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (gravity, "gravity acts.*kane"),
        (slider, "body 'piston' \\(prismatic x\\) is not made of one to three hinges.*Revolute"),
        (second, "body 'other'.*one reference body"),
        (pinned, "body 'hub'.*spherical.*Free"),
        (loop, "constraint '.*tree is needed"),
        (on_node, "body 'camera' hangs on a node"),
        (held, "body 'boom' is held at its node 'tip'"),
        (massless, "body 'ring' has no mass of its own"),
        (given_root, "'hub.u4' is given"),
        (given_mode, "'hub.u7' is given"),
        (small, "'panel.q1' is declared small"),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_refused(make: Callable[[], arm.System], words: str, formulation: str) -> None:
    with pytest.raises(ModelError, match=words):
        make().derive(formulation)


def test_complex_modes_need_masses() -> None:
    s, hub, _ = vehicle()
    hub.flexible(coupling=(np.ones((3, 1)), np.ones((3, 1))), frequencies=[1.0], total_mass=12.0)
    with pytest.raises(ModelError, match=r"body 'hub'.*masses of its nodes.*nodes="):
        s.derive("mbdyfr")


def test_complex_modes_need_numbers() -> None:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.body("load", hub, arm.Revolute("z"), mass="payload", inertia=(1, 2, 2.5))
    with pytest.raises(ModelError, match=r"total mass as a number.*payload"):
        s.derive("mbdyfr")
    assert s.derive("mbdyfn").formalism == "mbdyfn"  # where only the reduced modal mass holds it


def test_events_leave_complex_modes_alone() -> None:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.event("kick", "t - 0.1", set={"hub.q8": 0.01})
    with pytest.raises(ModelError, match=r"event 'kick' sets 'hub.q8'"):
        s.derive("mbdyfr")


def test_locking_would_change_complex_modes() -> None:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.event("latch", "panel.q1 - 0.1", lock="panel.u1")
    with pytest.raises(ModelError, match=r"event 'latch' locks 'panel\.u1'.*mbdyfn"):
        s.derive("mbdyfr")
    run = s.derive("mbdyfn").compile().simulate(0.5, step=0.01, initial={"panel.u1": 1.0})
    assert run.final["panel.u1"] == 0.0


def test_unknown_formalism_names_them() -> None:
    s, *_ = vehicle()
    with pytest.raises(ModelError, match="mbdyfn"):
        s.derive("mbdyf")
