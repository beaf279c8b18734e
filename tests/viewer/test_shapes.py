"""Shapes of bodies: in pages with sizes from a run, in text models, and refused where they are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.viewer.appearance import Appearance


def _cart() -> arm.System:
    s = arm.System("cart", units="SI")
    s.parameter("R", 300.0, units="mm")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=10, inertia=(1, 1, 1))
    wheel = s.body(
        "wheel", parent=cart, joint=arm.Revolute("y"), at=(0.5, 0, 0), mass=1, inertia=(0.1, 0.2, 0.1)
    )
    cart.shape(arm.Box(1.2, 0.6, 0.3), at=(0, 0, "R"), colour="#0072b2", opacity=0.4, name="case")
    wheel.shape(arm.Wheel("R", 0.1))
    wheel.shape(arm.Cone(0.05, "R/2", axis=(1, 1, 0)), orient=("z", 0.5))
    wheel.shape(arm.Ellipsoid(0.1, 0.2, 0.3))
    s.ground.shape(arm.Sphere(0.02))
    return s


def test_pages_show_shapes_in_place_of_what_is_described() -> None:
    model = _cart().derive().compile()
    look = Appearance(model.equations, {"R": 500.0})
    case, (wheel, cone, ball) = look.parts(look.bodies[0])[0], look.parts(look.bodies[1])
    assert case == {
        "kind": "box", "size": [1.2, 0.6, 0.3], "at": [0.0, 0.0, 0.5], "colour": "#0072b2", "opacity": 0.4,
    }  # fmt: skip
    assert (wheel["radius"], wheel["width"], wheel["axis"]) == (0.5, 0.1, [0.0, 1.0, 0.0])
    assert cone["length"] == 0.25
    assert cone["axis"] == pytest.approx([0.5**0.5, 0.5**0.5, 0])
    turned = np.array(cone["axes"]).reshape(3, 3)
    assert np.allclose(turned @ [1, 0, 0], [np.cos(0.5), np.sin(0.5), 0])
    assert ball["radii"] == [0.1, 0.2, 0.3]
    assert [p["kind"] for p in look.parts(model.equations.system.ground)] == ["sphere"]


def test_shapes_do_not_change_the_motion() -> None:
    plain = _cart()
    plain.shapes.clear()
    assert plain.derive().show() == _cart().derive().show()


def test_text_models_hold_shapes(tmp_path: Path) -> None:
    _cart().save(tmp_path / "cart.toml")
    again = arm.load(tmp_path / "cart.toml")
    again.save(tmp_path / "again.toml")
    assert (tmp_path / "cart.toml").read_text() == (tmp_path / "again.toml").read_text()
    one, other = (Appearance(s.derive(), {}) for s in (_cart(), again))
    assert [one.parts(b) for b in one.bodies] == [other.parts(b) for b in other.bodies]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda b: b.shape(arm.Sphere(0)), "radius is 0; give a positive length"),
        (lambda b: b.shape(arm.Sphere("2 kg")), "kg"),
        (lambda b: b.shape(arm.Sphere("cart.q1")), "varies with the motion"),
        (lambda b: b.shape(arm.Sphere(1), colour="blue"), "'#0072b2'"),
        (lambda b: b.shape(arm.Sphere(1), opacity=2), "between 0 and 1"),
        (lambda b: b.shape(arm.Sphere(1), name="case"), "'case' already"),
        (lambda b: b.shape(arm.Cone(1, 1, axis=(0, 0, 0))), "axis"),
        (lambda b: b.shape("box"), "not a solid"),
    ],
)
def test_wrong_shapes_are_refused_and_leave_nothing(wrong, message: str) -> None:
    s = _cart()
    before = dict(s.shapes)
    with pytest.raises(arm.ArmillaryError, match=message):
        wrong(s.bodies["wheel"])
    assert s.shapes == before
