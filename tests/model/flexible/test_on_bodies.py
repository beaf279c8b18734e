"""Flexible parts on bodies: nodes by name and by place, ready parts, and the frames that hold them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError
from armillary.model.flexible.part_input import place_name

COUPLING = {"coupling": (np.array([[0], [1.0], [0]]), np.array([[0], [0], [1.0]])), "frequencies": [3.0]}


def boom(**options: Any) -> tuple[arm.System, arm.Body]:
    s = arm.System("boom")
    hub = s.body("hub", joint=arm.Free(), mass=10.0, inertia=(1, 2, 3))
    found = s.body("boom", hub)
    found.flexible(arm.Beam(2.0, EI=10.0, mass_per_length=1.0, **options), modes=2)
    return s, found


def place(body: arm.Body) -> list[float]:
    assert body.parent is not None and body.parent.flex is not None
    return body.parent.flex.places[body.name].position.tolist()


def test_on_a_beam_a_number_is_a_place_and_a_text_a_name() -> None:
    _, body = boom(stations=[0.5, 1.5])
    assert [place(body.node(x))[0] for x in (1, "1", 1.0, "2", 2, "tip")] == [1.0, 0.5, 1.0, 1.5, 2.0, 2.0]
    assert body.node(1) is body.node(1.0) and body.node(1) is not body.node("1")
    assert body.node(0.0) is body.node(-0.0)


def test_places_are_told_apart_to_the_last_digit() -> None:
    _, body = boom()
    places = [1.234567, 1.234574, np.nextafter(1.234567, 2)]
    nodes = [body.node(x) for x in places]
    assert [place(node)[0] for node in nodes] == places
    assert len({node.name for node in nodes}) == 3
    s = arm.System("plate")
    panel = s.body("panel")
    panel.flexible(arm.Plate(3.0, 2.0, 0.01, E=7e10, nu=0.3, density=2700), modes=1)
    assert place(panel.node((1.2345671, -0.5))) == [1.2345671, -0.5, 0]
    assert place(panel.node((1.2345674, -0.5))) == [1.2345674, -0.5, 0]
    assert panel.node((1, 0.5)).name == "panel_at_1_0_0_5"


def test_names_of_places_are_words_and_never_the_same() -> None:
    values = [0.0, 1.0, 12.0, 1.2, 2.3, -2.3, 3.0, 1e-5, 2.3e-5, 1e16, 2.5e20, 1 / 3]
    pairs = list(itertools.product(values, values))
    names = [place_name(*pair) for pair in pairs] + [place_name(x) for x in values]
    assert len(set(names)) == len(names) and all(name.isidentifier() for name in names)


def test_a_text_may_name_nodes() -> None:
    s, body = boom()
    assert body.node(0.5).name == "boom_at_0_5"
    by_text = s.expression("dot(velocity(boom_at_0_5), boom.y)")
    assert by_text is arm.dot(arm.velocity(body.node(0.5).origin), body.y)
    tip = s.expression("dot(velocity(boom.tip), boom.y)")
    assert tip is arm.dot(arm.velocity(body.node("tip").origin), body.y)


def test_looking_for_a_node_makes_none() -> None:
    s, body = boom()
    before = list(s.bodies)
    assert not hasattr(body, "tip") and list(s.bodies) == before
    with pytest.raises(AttributeError, match=r"'tip' is a node of body 'boom'; say boom\.node\('tip'\)"):
        _ = body.tip
    body.point("end", (2, 0, 0))
    assert body.end is body.points["end"]


def test_a_place_that_is_not_there_is_told_once() -> None:
    _, body = boom()
    with pytest.raises(ModelError) as caught:
        body.node(2.5)
    assert str(caught.value) == "body 'boom': node at 2.5: 2.5 lies outside the beam, 0 to 2"


def test_nodes_without_names_are_counted() -> None:
    s = arm.System("bar")
    bar = s.body("bar")
    bar.flexible(nodes=[(1, 0, 0)], masses=[1.0], shapes=[[[0], [1], [0]]], frequencies=[1.0])
    assert bar.node(1) is bar.node("1")
    with pytest.raises(ModelError, match="only beams and plates have nodes by place"):
        bar.node(1.0)


def test_forces_at_places_move_jpl_vehicles_as_they_move_others() -> None:
    """From rest, where terms of second order are nothing; tolerance: rounding of sums of about ten terms."""
    found = []
    for formalism in ("kane", "mbdyfn"):
        s, body = boom()
        s.force("push", 2.0, s.ground.y, at=body.node(1.3))
        model = s.derive(formalism).compile()
        rest = np.r_[np.zeros(3), 1.0, np.zeros(5)]
        found.append(model.accelerations(0, rest, np.zeros(8)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-13)


def test_coupling_is_about_the_mass_centre() -> None:
    """H = Δ + r × P with r = (0.7, 0, 0): 1 + 0.7; a mass centre that is a parameter has no value to use."""
    s = arm.System("bus")
    part = s.body("a", joint=arm.Free(), mass=1.0, com=(0.7, 0, 0)).flexible(**COUPLING)
    np.testing.assert_allclose(part.H[:, 0], [0, 0, 1.7])
    loose = s.body("b", joint=arm.Free(), mass=1.0, com=(s.parameter("cx", 0.7), 0, 0))
    with pytest.raises(ModelError, match=r"body 'b': without about=, coupling= .* com holds cx; give about="):
        loose.flexible(**COUPLING)
    np.testing.assert_allclose(loose.flexible(**COUPLING, about=(0.7, 0, 0)).H, part.H)


@pytest.mark.parametrize("held", [["tip"], 1, 0.5, "tp"])
def test_held_is_the_name_of_a_node(held: Any) -> None:
    s = arm.System("boom")
    body = s.body("boom")
    with pytest.raises(ModelError, match=r"body 'boom': held=.* is not the name of one of its nodes"):
        body.flexible(arm.Beam(1.0, EI=1.0, mass_per_length=1.0), modes=1, held=held)
    assert body.flex is None


def test_a_part_may_be_used_again() -> None:
    """Truncated, it gives the equations of a part with as many modes."""
    beam = arm.Beam(2.0, EI=10.0, mass_per_length=1.0)
    many = arm.System("many").body("boom").flexible(beam, modes=5, damping=0.01)
    found = []
    for source, options in ((many.truncated(2), {}), (beam, {"modes": 2, "damping": 0.01})):
        s = arm.System("boom")
        body = s.body("boom", joint=arm.Revolute("z"))
        body.flexible(source, **options)
        s.force("push", 2.0, s.ground.y, at=body.node(1.3))
        model = s.derive().compile()
        found.append(model.accelerations(0, [0.1, 0.02, 0.03], [1.0, 0.2, 0.3]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    with pytest.raises(ModelError, match=r"modes= does not go with a FlexiblePart"):
        s.body("other").flexible(many, modes=2)
    assert s.body("spun").flexible(many, spin=(0, 0, 1)).spin is not None


def test_parts_print_in_one_line() -> None:
    part = arm.System("s").body("b").flexible(arm.Beam(2.0, EI=10.0, mass_per_length=1.0), modes=2)
    hertz = f"{3.51601527 / 4 * np.sqrt(10) / (2 * np.pi):.4g}"  # both planes: k L = 1.8751
    assert repr(part) == f"FlexiblePart(modes=2 of {hertz} to {hertz} Hz, mass=2, nodes=2)"
    assert repr(part.node("tip")) == "Node('tip' at (2, 0, 0))"
