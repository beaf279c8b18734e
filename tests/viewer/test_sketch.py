"""Sketches of mechanisms: places to scale, symbols by kind, names escaped."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import armillary as arm


def _slider_crank() -> arm.System:
    s = arm.System("slider <crank>")
    s.gravity(9.81, "-ground.y")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, com=(0.1, 0, 0), inertia=(0, 0.1, 0.1))
    rod = s.body(
        "rod", crank, arm.Revolute("z"), at=(0.2, 0, 0), mass=1, com=(0.3, 0, 0), inertia=(0, 0.1, 0.1)
    )
    block = s.body("block", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_joint("revolute", rod.point((0.6, 0, 0), name="end"), block, axis="z")
    s.start({"crank.q1": np.pi / 2, "rod.q1": -2.0, "block.q1": 0.5})
    return s


@pytest.fixture(scope="module")
def model():
    return _slider_crank().derive().compile()


def test_links_are_to_scale_and_joints_have_their_symbols(model, tmp_path: Path) -> None:
    """The crank upright, the rod to the block at √(0.6² − 0.2²): a triangle of known sides."""
    text = model.draw(tmp_path / "sketch.svg")
    assert (tmp_path / "sketch.svg").read_text(encoding="utf-8") == text
    root = ElementTree.fromstring(text)
    assert root.find("{*}title").text == "slider <crank>"
    lines = [p.attrib for p in root.findall(".//{*}polyline") if p.attrib["stroke-width"] == "4.5"]
    ends = [np.array([float(x) for x in re.split("[ ,]", p["points"])]).reshape(2, 2) for p in lines]
    lengths = [np.linalg.norm(b - a) for a, b in ends]
    assert lengths[1] / lengths[0] == pytest.approx(3.0, rel=1e-3)
    assert ends[0][1][1] < ends[0][0][1]  # upwards on the paper
    across = abs(ends[1][1] - ends[1][0])
    assert across[0] / across[1] == pytest.approx(np.sqrt(8.0), rel=1e-3)
    assert len(list(root.findall(".//{*}circle"))) >= 3  # two hinges and the closed one
    words = [t.text for t in root.findall(".//{*}text")]
    assert {"crank", "rod", "block", "crank.q1", "rod.q1", "block.q1", "x", "y", "g"} <= set(words)


def test_views_are_chosen_or_refused(model, tmp_path: Path) -> None:
    assert model.draw("svg") == model.draw()  # the format alone names no file
    assert model.draw(view="z") == model.draw()
    assert model.draw(view="oblique") != model.draw()
    with pytest.raises(arm.ArmillaryError, match="did you mean 'oblique'"):
        model.draw(view="obliqe")
    with pytest.raises(arm.ArmillaryError, match=r"not as 'sketch\.png'"):
        model.draw(tmp_path / "sketch.png")
    with pytest.raises(arm.ArmillaryError):
        model.draw(view=3)


def test_notebooks_show_a_sketch_as_its_picture(model) -> None:
    """IPython takes ``_repr_svg_`` for image/svg+xml, and the repr for terminals."""
    sketch = model.draw()
    assert ElementTree.fromstring(sketch._repr_svg_()).tag.endswith("svg")
    assert "<" not in repr(sketch) and str(sketch).startswith("<svg")


def test_given_shapes_are_drawn_with_their_outlines_to_scale() -> None:
    """A box of 0.4 × 0.12 m on a cart and a pole of 1 m: their hulls have these sizes on one scale."""
    s = arm.System("cart and pole")
    s.gravity(9.81, "-ground.z")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    pole = s.body("pole", cart, arm.Revolute("y"), com=(0, 0, 0.5), mass=1, inertia=0)
    cart.shape(arm.Box(0.4, 0.2, 0.12))
    pole.shape(arm.Cylinder(0.02, 1.0), at=(0, 0, 0.5), colour="#123456")
    s.ground.shape(arm.Plane(5, 5), at=(0, 0, -0.1))  # surroundings, which would hide the mechanism
    root = ElementTree.fromstring(s.draw(view="y"))
    outlines = {}
    for p in root.findall(".//{*}polygon"):
        if p.attrib.get("fill-opacity") == "0.22":
            points = np.array([float(x) for x in re.split("[ ,]", p.attrib["points"])]).reshape(-1, 2)
            outlines[p.attrib["fill"]] = np.ptp(points, axis=0)
    assert len(outlines) == 2 and outlines["#123456"][1] > 0
    box = next(size for colour, size in outlines.items() if colour != "#123456")
    assert box[0] / box[1] == pytest.approx(0.4 / 0.12, rel=1e-3)
    assert outlines["#123456"][1] / box[1] == pytest.approx(1.0 / 0.12, rel=1e-3)
    assert outlines["#123456"][0] / box[1] == pytest.approx(0.04 / 0.12, rel=0.01)  # of a round prism


def test_any_system_can_be_drawn() -> None:
    s = arm.System("loose")
    s.body("ball", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    s.body("wheel", joint=arm.Spherical(), mass=1, inertia=(1, 1, 1))
    assert s.draw().startswith("<svg")


@pytest.mark.parametrize("down", ["-ground.x", "-ground.y", "-ground.z"])
@pytest.mark.parametrize("view", ["x", "y", "z"])
def test_arrows_of_axes_and_gravity_point_as_seen(view: str, down: str) -> None:
    """The picture is seen from the tip of the axis of the view: the two others are a right-handed pair on the
    paper. Gravity's arrow points down, and along the view there is none.
    """
    s = arm.System("ball")
    s.gravity(9.81, down)
    s.body("ball", joint=arm.Prismatic("x"), mass=1, inertia=0)
    arrows = _arrows(s.draw(view=view))
    first, second = "yzx"["xyz".index(view)], "zxy"["xyz".index(view)]
    up = down[-1]
    assert set(arrows) == {first, second} | ({"g"} if up != view else set())
    a, b = arrows[first], arrows[second]
    assert a[0] * b[1] - a[1] * b[0] == pytest.approx(22.0**2, rel=1e-2)
    assert np.linalg.norm(a) == pytest.approx(22.0, rel=1e-2)
    if up != view:
        assert arrows["g"] == pytest.approx([0.0, -26.0], abs=0.1)
        assert arrows[up] == pytest.approx([0.0, 22.0], abs=0.1)
    else:
        assert arrows["y" if view != "y" else "x"] == pytest.approx([0.0, 22.0], abs=0.1)


@pytest.mark.parametrize(("place", "height"), [((0, 0, 9), 620.0), ((9, 0, 0), None), ((9, 0, 7.5), None)])
def test_sketches_fit_the_width_and_the_most_height(place: tuple[float, ...], height: float | None) -> None:
    """720 units wide with margins of 60, at most 620 high: the longer way fits between the margins."""
    s = arm.System("post")
    base = s.body("base", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.body("top", base, joint=arm.Prismatic("y"), at=place, mass=1, inertia=0)
    _, _, width, tall = map(float, ElementTree.fromstring(s.draw(view="y")).attrib["viewBox"].split())
    assert width == 720.0
    assert tall == pytest.approx(height or 120 + 600 * max(place[2] / place[0], 0.05), abs=0.6)


def test_oblique_arrows_are_all_there_and_short_ones_too() -> None:
    """Seen obliquely no axis vanishes, and gravity is along minus z."""
    s = arm.System("ball")
    s.gravity(9.81, "-ground.z")
    s.body("ball", joint=arm.Prismatic("x"), mass=1, inertia=0)
    text = s.draw(view="oblique")
    arrows = _arrows(text)
    assert set(arrows) == {"x", "y", "z", "g"}
    assert sum(np.square(arrows[letter]).sum() for letter in "xyz") == pytest.approx(2 * 22.0**2, rel=1e-2)
    assert arrows["z"][0] == pytest.approx(0.0, abs=0.1) and arrows["z"][1] > 10.0 > -10.0 > arrows["g"][1]
    heads = [
        np.array([float(x) for x in re.split("[ ,]", p.attrib["points"])]).reshape(3, 2) * (1, -1)
        for p in ElementTree.fromstring(text).findall(".//{*}polygon[@fill='#777']")
    ]
    for arrow, (tip, left, right) in zip(arrows.values(), heads, strict=True):  # 6 long and 6 wide
        assert 0.5 * (left + right) - tip == pytest.approx(-6 * arrow / np.linalg.norm(arrow), abs=0.2)
        assert np.linalg.norm(left - right) == pytest.approx(6.0, abs=0.2)


def _arrows(text: str) -> dict[str, np.ndarray]:
    """Each arrow by its label: to the right and upwards on the paper."""
    root = ElementTree.fromstring(text)
    lines = [p.attrib for p in root.findall(".//{*}polyline") if p.attrib["stroke-width"] == "1.3"]
    words = [t.text for t in root.findall(".//{*}text") if t.attrib["fill"] == "#777" and len(t.text) == 1]
    found = {}
    for line, word in zip(lines, words, strict=True):
        x0, y0, x1, y1 = (float(x) for x in re.split("[ ,]", line["points"]))
        found[word] = np.array([x1 - x0, y0 - y1])
    return found
