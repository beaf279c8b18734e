"""Panel arrays in one line: the same as by hand, folded and deployed until they latch, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm


def test_the_same_as_by_hand() -> None:
    made, hand = arm.System("made"), arm.System("hand")
    for s in (made, hand):
        s.body("hub", joint=arm.Free(), mass=30, inertia=(5, 6, 7))
    turn = ("zx", 0.3, 0.2)
    arm.panels(
        made, made.bodies["hub"], 3, length=[1.0, 1.2, 0.8], com=0.45, mass=[2, 3, 1],
        inertia=(0.1, 0.2, 0.25), at=(0.5, 0, 0.1), orient=turn, axis="z", along=(0, 1, 0),
        stiffness=[9, 8, 7], damping=0.4, rest=[0.1, -0.1, 0.2],
    )  # fmt: skip
    inner, place = hand.bodies["hub"], (0.5, 0, 0.1)
    # The hinge axis z of the panels in the hub's axes: R_z(0.3) R_x(0.2) e_z
    axis: Any = (math.sin(0.3) * math.sin(0.2), -math.cos(0.3) * math.sin(0.2), math.cos(0.2))
    for i, (mass, k, rest, length) in enumerate(
        ((2, 9, 0.1, 1.0), (3, 8, -0.1, 1.2), (1, 7, 0.2, 0.8)), start=1
    ):
        panel = hand.body(
            f"panel{i}", inner, arm.Revolute(axis), at=place, orient=turn if i == 1 else None,
            com=(0, 0.45, 0), mass=mass, inertia=(0.1, 0.2, 0.25),
        )  # fmt: skip
        law = f"-{k}*(panel{i}.q1 - {rest}) - 0.4*panel{i}.u1"
        hand.moment(f"hinge{i}", law, panel.z, on=panel, reaction=inner)
        inner, place, axis = panel, (0, length, 0), "z"
    q = np.random.default_rng(1).uniform(-1, 1, 10)
    q[3:7] /= np.linalg.norm(q[3:7])
    u = np.random.default_rng(2).uniform(-1, 1, 9)
    rates = [s.derive().compile().accelerations(0.0, q, u) for s in (made, hand)]
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-11)


def test_a_folded_array_deploys_and_latches_panel_by_panel() -> None:
    s = arm.System("deployment")
    hub = s.body("hub", joint=arm.Free(), mass=200, inertia=(60, 70, 80))
    panels = arm.panels(
        s, hub, 3, length=1.0, mass=4, inertia=(0.1, 0.35, 0.4), at=(0.5, 0, 0), stiffness=0.3, damping=0.05,
        rest=[-0.1, 0.1, -0.1], start="folded", latch=0.0,
    )  # fmt: skip
    h, p = s.angular_momentum("mass centre"), s.momentum()
    for letter, unit in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"h{letter}", arm.dot(h, unit))
        s.output(f"p{letter}", arm.dot(p, unit))
    run = s.derive().compile().simulate(120.0, method="dop853", sample=0.1)
    start = [run[f"{panel.name}.q1"][0] for panel in panels]
    assert start == pytest.approx([math.pi / 2, -math.pi, math.pi])
    assert sorted(e.name for e in run.events) == ["panel1 latches", "panel2 latches", "panel3 latches"]
    for panel in panels:
        assert abs(run.final[f"{panel.name}.q1"]) < 1e-9
        assert run.final[f"{panel.name}.u1"] == 0.0
    for letter in "xyz":
        np.testing.assert_allclose(run[f"h{letter}"], 0, atol=1e-8)
        np.testing.assert_allclose(run[f"p{letter}"], 0, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n=0 is not a number of panels"),
        ({"n": 2.0}, "not a number of panels"),
        ({"mass": [1, 2]}, "mass= is a list of 2, but there are 3 panels"),
        ({"length": -1.0}, "length of panel 'panel1' is -1"),
        ({"stiffness": -1.0}, "stiffness of hinge of panel 'panel1' is -1"),
        ({"damping": [0, 0, -2]}, "damping of hinge of panel 'panel3' is -2"),
        ({"axis": (0, 0, 0)}, "no direction"),
        ({"parent": "hubb"}, "did you mean 'hub'"),
        ({"mass": [1, 1, -5]}, "body 'panel3': its mass -5 is negative"),
        ({"latch": [0, 0, "hub.q4"], "stiffness": 1}, "latch of panel 'panel3'"),
        ({"start": "flded"}, "start='flded' is neither an angle nor 'folded'; did you mean 'folded'"),
        ({"start": np.array([0.1, 0.2])}, "start= is a list of 2, but there are 3 panels"),
        ({"first": 1, "name": "hub", "n": 1}, None),
    ],
)
def test_bad_panels(options: dict[str, Any], message: str | None) -> None:
    s = arm.System("bad")
    s.body("hub", joint=arm.Free(), mass=30, inertia=(5, 6, 7))
    s.body("hub1", joint=arm.Free(), mass=30, inertia=(5, 6, 7))
    parent, n = options.pop("parent", "hub"), options.pop("n", 3)
    with pytest.raises(arm.ModelError, match=message):
        arm.panels(s, parent, n, **{"length": 1.0, "mass": 1.0, "inertia": (0.1, 0.1, 0.1)} | options)
    assert list(s.bodies) == ["hub", "hub1"] and len(s.speeds) == 12
    assert not s.loads and not s.events and not s.started and not s.parameters


def test_lists_arrays_and_texts() -> None:
    s = arm.System("values")
    hub = s.body("hub", joint=arm.Free(), mass=30, inertia=(5, 6, 7))
    options: dict[str, Any] = {"length": 1.0, "mass": 1.0, "inertia": np.array([0.1, 0.1, 0.1])}
    starts: list[Any] = [[0.1, 0.2, 0.3], (0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3])]
    for k, start in enumerate(starts):
        made = arm.panels(s, hub, 3, **options, start=start, name=f"p{k}_")
        assert [s.initial[panel.q1] for panel in made] == [0.1, 0.2, 0.3]
    made = arm.panels(s, hub, 2, **options, start="pi/4", name="t")
    assert [s.initial[panel.q1] for panel in made] == [math.pi / 4] * 2
