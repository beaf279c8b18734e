"""The gallery: classics in at most 25 lines, each with a check; their blocks are run by test_docs.py."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
CLASSICS = sorted(page for page in (DOCS / "gallery").glob("*.md") if "```python" in page.read_text("utf-8"))


@pytest.mark.parametrize("page", CLASSICS, ids=lambda page: page.stem)
def test_a_classic_has_25_lines_a_check_of_what_is_constant_and_a_motion(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    assert len(blocks[0].splitlines()) <= 25
    assert "assert abs(" in blocks[0]
    assert 'run.animate("motion.html"' in "".join(blocks)
    assert f"]({page.name})" in (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")


def test_all_classics_are_there() -> None:
    assert len(CLASSICS) == 11


def test_tutorials_show_the_motions_that_were_made_for_the_gallery() -> None:
    pytest.importorskip("sphinx", reason="the site needs armillary[docs]")
    site = runpy.run_path(str(DOCS / "_ext" / "gallery.py"))
    names = {name for _, name, *_ in runpy.run_path(str(DOCS / "make_gallery.py"))["_entries"]()}
    for tutorial, system in site["TUTORIALS"].items():
        assert (DOCS / "tutorial" / f"{tutorial}.md").exists() and system in names
    text = ["# A cart"]
    for made in ({}, {"bicycle": "The bicycle"}):  # a site without a gallery, or without this system
        site["_add"](SimpleNamespace(config=SimpleNamespace(gallery_pages=made)), "tutorial/cart-pole", text)
        assert text == ["# A cart"]
    made = SimpleNamespace(gallery_pages={"cart-pole": "A <cart>"})
    site["_add"](SimpleNamespace(config=made), "tutorial/cart-pole", text)
    assert 'src="../gallery/cart-pole/motion.html" title="A &lt;cart&gt;"' in text[0]


def test_the_moving_picture_of_the_readme_is_small() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert "docs/_static/pendulum.webp" in readme
    assert (DOCS / "_static" / "pendulum.webp").stat().st_size < 300_000


def test_a_page_of_the_gallery_is_made_with_motion_model_and_sheet(tmp_path: Path) -> None:
    maker = runpy.run_path(str(DOCS / "make_gallery.py"))
    text = "# A pendulum\n\n```python\n" + _PENDULUM + "```\n"
    system, run, options = maker["_classic"](text)
    assert options == {"view": "front", "paths": ["bob"]}
    maker["_write"](tmp_path / "pendulum", system, run, options, "A <pendulum>")
    names = {"index.html", "live.html", "motion.html", "picture.png", "sheet.html"}
    assert {path.name for path in (tmp_path / "pendulum").iterdir()} == names
    index = (tmp_path / "pendulum" / "index.html").read_text(encoding="utf-8")
    assert 'src="live.html"' in index and "A &lt;pendulum&gt;" in index


_PENDULUM = """import armillary as arm

s = arm.System("pendulum")
s.gravity(9.81, "-ground.z")
s.body("bob", joint=arm.Revolute("y"), com=(0, 0, -1), mass=1, inertia=0)
s.state("heat", rate="-0.1*heat", initial=1.0)
run = s.derive().compile().simulate(0.2, sample=0.1, initial={"bob.q1": 1.0})
run.animate("motion.html", view="front", paths=["bob"])
"""
