"""Flexible bodies as impatient users describe them: nodes used twice, names taken, units of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ModelError, UnitsError


def beam(**more: Any) -> arm.Beam:
    return arm.Beam(2.0, EI=50.0, mass_per_length=0.5, GJ=20.0, polar=0.01, stations={"middle": 1.0}, **more)


def satellite() -> tuple[arm.System, arm.Body]:
    s = arm.System("satellite")
    hub = s.body("hub", joint=arm.Free(), mass=5, inertia=(2, 3, 4))
    boom = s.body("boom", parent=hub, joint=arm.Revolute("z"))
    boom.flexible(beam(), modes=3)
    return s, boom


# ---------------------------------------------------------------- nodes


def test_a_place_asked_for_twice_is_one_node_and_its_neighbour_is_another() -> None:
    s, boom = satellite()
    assert boom.node(1.5) is boom.node(1.5)
    assert boom.node(1) is boom.node(1.0)
    assert boom.node("tip") is boom.node("tip")
    assert boom.node(1 / 3) is not boom.node(0.333333)
    assert len(s.bodies) == 2 + 5


def test_two_joints_on_one_place_share_its_motion() -> None:
    s, boom = satellite()
    load = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    one = s.body("one", parent=boom.node(1.5), joint=arm.Revolute("x"), **load)
    two = s.body("two", parent=boom.node(1.5), joint=arm.Prismatic("z"), **load)
    s.output("gap", arm.dot(arm.position(two, one), boom.node(1.5).y), units="m")
    run = s.derive().compile().simulate(0.5, initial={"one.u1": 1.0, "two.u1": 0.1, "boom.q2": 0.05})
    assert np.abs(run["gap"]).max() < 1e-14


def test_texts_name_nodes_and_modes() -> None:
    s, boom = satellite()
    boom.node("tip")
    s.force("push", "-3*boom.q2 - 0.1*boom.u2", "boom_tip.y", at="boom.tip")
    by_text = s.derive("kane").compile()
    s, boom = satellite()
    tip = boom.node("tip")
    s.force("push", -3 * boom.q2 - 0.1 * boom.u2, tip.y, at=tip)
    by_hand = s.derive("kane").compile()
    start = {"boom.q2": 0.1, "boom.u3": 0.2, "hub.u4": 0.3}
    state = by_text.state(start)
    np.testing.assert_array_equal(by_text.derivatives(0, state), by_hand.derivatives(0, state))


def test_a_text_names_a_node_as_parent() -> None:
    s, boom = satellite()
    load = s.body("load", parent="boom.tip", joint=arm.Revolute("x"), mass=1, inertia=(1, 1, 1))
    assert load.parent is boom.node("tip")


def test_contact_on_a_node_carries_half_of_a_beam_that_leans_on_it() -> None:
    """The tip rests on the floor: N x_tip = W x_centre about the hinge, in the bent shape."""
    s = arm.System("leaning")
    boom = s.body("boom", joint=arm.Revolute("y"), at=(0, 0, 0.5))
    boom.flexible(beam(), modes=3, damping=0.1)
    s.gravity(9.81, -s.ground.z)
    s.contact("floor", boom.node("tip"), plane=(s.ground.origin, s.ground.z), stiffness=1e4, damping=50.0)
    s.output("tip", arm.dot(arm.position(boom.node("tip")), s.ground.x), units="m")
    s.output("centre", arm.dot(s.mass_centre(), s.ground.x), units="m")
    run = s.derive().compile().simulate(15.0, initial={"boom.q1": 0.2})
    assert run["floor"][-1] == pytest.approx(9.81 * run["centre"][-1] / run["tip"][-1], rel=1e-6)


# ---------------------------------------------------------------- units


def test_outputs_on_nodes_come_in_the_units_asked_for() -> None:
    s, boom = satellite()
    tip = boom.node("tip")
    s.output("bend", arm.dot(boom.deflection("tip"), boom.y), units="mm")
    s.output("bend in metres", arm.dot(boom.deflection("tip"), boom.y), units="m")
    s.output("slope", arm.angle(tip.x, boom.x), units="deg")
    s.output("slope in radians", arm.angle(tip.x, boom.x), units="rad")
    s.output("strain", s.strain_energy(), units="mJ")
    model = s.derive().compile()
    found = model.outputs(0.0, model.state({"boom.q2": 0.1}))
    assert found["bend"] == pytest.approx(1000 * found["bend in metres"], rel=1e-14)
    assert found["slope"] == pytest.approx(np.degrees(found["slope in radians"]), rel=1e-14)
    assert found["bend in metres"] == pytest.approx(0.2, rel=1e-12)  # a mode of mass 1 on a beam of 1 kg: 2 η
    stiffness = boom.flex.part.K[0, 0]  # type: ignore[union-attr]
    assert found["strain"] == pytest.approx(500 * stiffness * 0.01, rel=1e-12)
    with pytest.raises(UnitsError, match="output 'wrong' in deg"):
        s.output("wrong", arm.dot(boom.deflection("tip"), boom.y), units="deg")
    with pytest.raises(UnitsError, match="output 'wrong' in m"):
        s.output("wrong", s.strain_energy(), units="m")


def test_units_of_a_nodes_angular_velocity_are_checked() -> None:
    s, boom = satellite()
    with pytest.raises(UnitsError, match="output 'wrong' in m/s"):
        s.output("wrong", arm.dot(arm.angular_velocity(boom.node("tip")), boom.y), units="m/s")


def test_a_boom_in_inches_and_pounds_moves_as_in_si() -> None:
    inch, pound = 0.0254, 4.4482216152605
    runs = []
    for units, length, force in (("SI", 1.0, 1.0), ("in-lb-s", inch, pound)):
        mass = force / length
        s = arm.System("boom", units=units)
        inertia = tuple(x / (mass * length**2) for x in (2, 3, 4))
        hub = s.body("hub", joint=arm.Revolute("z"), mass=5 / mass, inertia=inertia)
        boom = s.body("boom", parent=hub, at=(0.5 / length, 0, 0))
        bar = arm.Beam(2.0 / length, EI=50.0 / (force * length**2), mass_per_length=0.5 / (mass / length))
        boom.flexible(bar, modes=2, stiffening=True)
        s.gravity(9.81 / length, -s.ground.y)
        s.output("tip", arm.dot(boom.deflection("tip"), boom.y), units="mm")
        s.output("E", s.kinetic_energy() + s.potential_energy() + s.strain_energy(), units="J")
        runs.append(s.derive().compile().simulate(1.0, rtol=1e-11, initial={"hub.u1": 1.0}))
    for name in ("tip", "E"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=1e-7, atol=1e-6)


# ---------------------------------------------------------------- mistakes


def held(s: arm.System, node: Any) -> None:
    s.body("other", joint=arm.Free()).flexible(beam(root="free"), modes=3, held=node)


def used_before_held(s: arm.System) -> None:
    other = s.body("other", joint=arm.Revolute("z"))
    s.output("place", arm.dot(arm.position(other), s.ground.x))
    other.flexible(beam(root="free"), modes=3, held="tip")


def carried_before_held(s: arm.System) -> None:
    other = s.body("other", joint=arm.Revolute("z"))
    s.body("load", parent=other, mass=1, inertia=0)
    other.flexible(beam(root="free"), modes=3, held="tip")


def name_taken(s: arm.System, take: Callable[[str], Any]) -> None:
    take("boom_tip")
    s.bodies["boom"].node("tip")


MISTAKES: dict[str, tuple[Callable[[arm.System], Any], str]] = {
    "flexible twice": (lambda s: s.bodies["boom"].flexible(beam(), modes=1), "'boom' is flexible already"),
    "ground": (lambda s: s.ground.flexible(beam(), modes=1), "the ground is rigid"),
    "node of a node": (
        lambda s: s.bodies["boom"].node("tip").flexible(beam(), modes=1),
        "'boom_tip' is a node",
    ),
    "rigid body's node": (lambda s: s.bodies["hub"].node("tip"), "'hub' is rigid and has no nodes"),
    "unknown node": (lambda s: s.bodies["boom"].node("tipp"), "'boom'.*no node 'tipp'; did you mean 'tip'"),
    "beyond the end": (lambda s: s.bodies["boom"].node(3.0), "'boom': node at 3.*outside the beam, 0 to 2"),
    "no number": (lambda s: s.bodies["boom"].node(float("nan")), "'boom': node at nan.*finite"),
    "two numbers": (lambda s: s.bodies["boom"].node((1.0, 0.0)), r"'boom': node at \(1.0, 0.0\)"),
    "nothing": (lambda s: s.bodies["boom"].node(None), "'boom': node at None"),
    "held at nothing": (lambda s: held(s, "rot"), "'other': held='rot'.*did you mean 'root'"),
    "held at a number": (lambda s: held(s, 1.0), "'other': held=1.0 is not"),
    "held too late": (used_before_held, "'other': held= moves its origin"),
    "held with a load": (carried_before_held, "'other'.*held= moves its origin"),
    "node named like a body": (
        lambda s: name_taken(s, lambda n: s.body(n, joint=arm.Revolute("x"))),
        "node 'tip' of body 'boom' would be body 'boom_tip'",
    ),
    "node named like a parameter": (
        lambda s: name_taken(s, s.parameter),
        "node 'tip' of body 'boom' would be body 'boom_tip'",
    ),
    "no such mode": (lambda s: s.event("stop", "t - 1", lock="boom.u9"), "'boom'.*has 4 speeds.*boom.u9"),
    "no inertia about the beam": (
        lambda s: (
            s.body("bar", joint=arm.Free()).flexible(arm.Beam(1.0, EI=1.0, mass_per_length=1.0), modes=2),
            s.derive(),
        ),
        "'bar.u4'.*moves no mass.*polar=",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_explained(name: str) -> None:
    make, words = MISTAKES[name]
    s, _ = satellite()
    with pytest.raises(ArmillaryError, match=words):
        make(s)


def test_a_refused_part_leaves_the_body_as_it_was() -> None:
    s = arm.System("again")
    boom = s.body("boom", joint=arm.Revolute("z"))
    parameters = list(s.parameters)
    with pytest.raises(ModelError, match=r"no option mode=.*'modes'"):
        boom.flexible(beam(), mode=2)
    assert boom.flex is None and len(s.coordinates) == 1 and list(s.parameters) == parameters
    boom.flexible(beam(), modes=2)
    assert [q.name for q in s.coordinates] == ["boom.q1", "boom.q2", "boom.q3"]
    assert not s.parameters  # the mass and inertia are the beam's
