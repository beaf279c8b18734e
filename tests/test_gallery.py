"""The gallery: classics in at most 25 lines, each with a check; their blocks are run by test_docs.py."""

from __future__ import annotations

import re
from pathlib import Path

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
    assert len(CLASSICS) == 10


def test_the_moving_picture_of_the_readme_is_small() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert "docs/_static/pendulum.webp" in readme
    assert (DOCS / "_static" / "pendulum.webp").stat().st_size < 300_000
