"""Shapes of bodies: in pages with sizes from a run, in text models, and refused where they are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.viewer.appearance import Appearance
from armillary.viewer.figures import figure_of
from armillary.viewer.picture import FilmFigure


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
    look = Appearance(core_of(model.equations), {"R": 500.0})
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


def _workshop() -> arm.System:
    """One of each line and surface, with sizes of parameters."""
    s = _cart()
    s.parameter("h", 0.2, units="m")
    s.function(
        "bump", arm.Table2([0, 1, 2], [0, 1], [[0, 0], [1, 2], [0, 1]], x_units="m", y_units="m", z_units="m")
    )
    cart, wheel, ground = s.bodies["cart"], s.bodies["wheel"], s.ground
    top, hook = cart.point((0, 0, "R"), name="top"), ground.point((1, 0, 2), name="hook")
    s.strut("pull", "-3*x", between=(top, hook))
    s.strut("other", "-3*x", between=(wheel.origin, hook))
    s.shape("coil", arm.Spring("h", coils=4), between=(hook, top), colour="#111111", opacity=0.5)
    s.shape("damping", arm.Damper(), between=("cart.top", "ground.hook"))
    s.shape("rod", arm.Rod(0.01), between=(top, hook, wheel.com))
    s.shape("rope", arm.Cable(0.01, length="2*h"), between=(top, hook))
    wheel.shape(arm.Polyline([(0, 0, 0), ("h", 0, 0), (0, 1, 0)], closed=True), name="outline")
    ground.shape(arm.Plane(4, "h"), name="floor")
    ground.shape(arm.Grid(4, 2, "h"), at=(0, 0, 1), name="mesh")
    ground.shape(arm.HeightProfile("h*x/y", x=(0, 2), y=(1, 3), points=(3, 2)), name="hill")
    ground.shape(arm.HeightProfile("bump(x, y)", x=(0, 2), y=(0, 1), points=(3, 2)), name="table")
    ground.shape(arm.HeightProfile([[0, 1], [2, 3]], x=(0, 2), y=(0, 1)), name="numbers")
    ground.shape(arm.Earth(orbit=arm.Orbit(3.986e14, a=7e6, e=0.1)), name="earth")
    return s


def test_lines_and_surfaces_have_the_values_of_a_run() -> None:
    equations = _workshop().derive()
    look = Appearance(core_of(equations), {"h": 0.5})
    links = {link["name"]: link for link in look.springs()}
    assert set(links) == {"coil", "damping", "rod", "rope", "other"}  # "pull" is drawn as what was given
    assert (links["coil"]["radius"], links["coil"]["coils"], links["coil"]["opacity"]) == (0.5, 4, 0.5)
    assert [e["body"] for e in links["rod"]["ends"]] == ["cart", "ground", "wheel"]
    assert links["rope"]["length"] == 1.0 and links["damping"]["radius"] > 0
    parts = {p["kind"]: p for p in look.parts(equations.system.bodies["wheel"])}
    assert parts["polyline"]["points"] == [[0, 0, 0], [0.5, 0, 0], [0, 1, 0], [0, 0, 0]]
    floor, grid, hill, table, numbers, earth = look.parts(equations.system.ground)[1:7]
    assert (floor["x"], floor["y"], grid["spacing"], grid["at"]) == (4.0, 0.5, 0.5, [0.0, 0.0, 1.0])
    assert hill["z"] == [[0.0, 0.0], [0.5, 0.166667], [1.0, 0.333333]]
    assert table["z"] == [[0, 0], [1, 2], [0, 1]] and numbers["z"] == [[0, 1], [2, 3]]
    assert earth["radius"] == 6378137.0
    away = np.linalg.norm(earth["orbit"], axis=1)
    assert (away.min(), away.max()) == pytest.approx((6.3e6, 7.7e6))


def test_surroundings_do_not_hide_a_body() -> None:
    s = arm.System("tower")
    s.body("a", joint=arm.Revolute("y"), at=(0, 0, 2), mass=1, inertia=(1, 1, 1))
    s.ground.shape(arm.Plane(1, 1))
    look = Appearance(core_of(s.derive()), {})
    assert [p["kind"] for p in look.parts(look.ground)] == ["plane", "rod"]


def test_where_others_have_shapes_only_bodies_that_move_and_have_a_mass_are_described() -> None:
    s = arm.System("robot")
    s.body("a", joint=arm.Revolute("y"), mass=1, inertia=(1, 1, 1)).shape(arm.Box(1, 1, 1))
    s.body("sensor", parent=s.bodies["a"], mass=0.1, inertia=(1, 1, 1))
    s.body("frame", parent=s.bodies["a"], joint=arm.Revolute("x"), mass=0, inertia=0)
    s.body("flap", parent=s.bodies["frame"], joint=arm.Revolute("z"), mass=1, inertia=(1, 2, 2.5))
    look = Appearance(core_of(s.derive()), {})
    kinds = {body.name: [p["kind"] for p in look.parts(body)] for body in look.bodies}
    assert kinds == {"a": ["box"], "sensor": [], "frame": [], "flap": ["box", "pin"]}


def test_films_fit_the_mechanism_not_its_surroundings() -> None:
    s = arm.System("on a floor")
    s.body("a", joint=arm.Revolute("y"), mass=1, inertia=(1, 1, 1)).shape(arm.Box(1, 1, 1))
    s.ground.shape(arm.Plane(500, 500), at=(0, 0, -1))
    run = s.derive().compile().simulate(0.1, step=0.05)
    figure = figure_of(run, run.picture.equations)
    film = FilmFigure(figure.content, figure.channels, figure.amplitudes, meshes=figure.meshes)
    assert np.max(np.abs(film.points(0))) == 0.5
    assert np.max(np.abs(film.paint_frame(0).surface.vertices)) == 250


def test_shapes_do_not_change_the_motion() -> None:
    plain = _cart()
    plain.shapes.clear()
    assert plain.derive().show() == _cart().derive().show()


def test_text_models_hold_shapes(tmp_path: Path) -> None:
    _workshop().save(tmp_path / "cart.toml")
    again = arm.load(tmp_path / "cart.toml")
    again.save(tmp_path / "again.toml")
    assert (tmp_path / "cart.toml").read_text() == (tmp_path / "again.toml").read_text()
    one, other = (Appearance(core_of(s.derive()), {}) for s in (_workshop(), again))
    assert one.springs() == other.springs() and one.parts(one.ground) == other.parts(other.ground)
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
        (lambda b: b.shape("box"), "not a shape"),
        (lambda b: b.shape(arm.Spring()), r"give between=\(p, q\) and no body"),
        (lambda b: b.system.shape("x", arm.Spring(), between=("wheel.com",)), "two points or more"),
        (lambda b: b.system.shape("x", arm.Box(1, 1, 1), between=("wheel.com", "cart.com")), "on a body"),
        (lambda b: b.system.shape("x", arm.Rod(-1), between=("wheel.com", "cart.com")), "positive length"),
        (lambda b: b.shape(arm.Polyline([(0, 0, 0)])), "two points or more"),
        (lambda b: b.shape(arm.HeightProfile("cart.q1", x=(0, 1), y=(0, 1))), "stands still"),
        (lambda b: b.shape(arm.HeightProfile("x", x=(1, 0), y=(0, 1))), "before it begins"),
        (lambda b: b.shape(arm.HeightProfile("x", x=(0, 1), y=(0, 1), points=(1, 9))), "2 to 2000"),
        (lambda b: b.shape(arm.HeightProfile([[1, 2]], x=(0, 1), y=(0, 1))), "at least 2 × 2"),
        (lambda b: b.shape(arm.Earth(orbit=arm.Orbit(1, p=1, e=1))), "not closed"),
        (lambda b: b.shape(arm.Mesh("")), "name of a file"),
        (lambda b: b.shape(arm.Mesh("a.stl", scale=0)), "nothing to show"),
        (lambda b: b.shape(arm.Mesh("a.stl", up="w")), "not one of x, y, z"),
    ],
)
def test_wrong_shapes_are_refused_and_leave_nothing(wrong, message: str) -> None:
    s = _cart()
    before = dict(s.shapes)
    with pytest.raises(arm.ArmillaryError, match=message):
        wrong(s.bodies["wheel"])
    assert s.shapes == before


def test_the_earth_has_its_radius_in_any_unit_of_length() -> None:
    """Pages show numbers in the model's own unit: an inch is 0.0254 m, the equator's radius 6378137 m."""
    s = arm.System("orbit", units="in-lb-s")
    s.body("a", joint=arm.Revolute("y"), mass=1, inertia=(1, 1, 1))
    s.ground.shape(arm.Earth())
    look = Appearance(core_of(s.derive()), {})
    assert look.parts(look.ground)[0]["radius"] == pytest.approx(6378137.0 / 0.0254)
