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
