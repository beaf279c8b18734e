"""Motions in the pages of the gallery: made when the site is built, and shown below the text of each page.

The tutorials about the same systems show them, too. `-t still` builds a site without them: they take minutes.
"""

from __future__ import annotations

import html
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_FRAME = """

```{{raw}} html
<p><iframe src="{name}/motion.html" title="{title}" loading="lazy"
  style="width:100%;aspect-ratio:16/10;border:1px solid #8884;border-radius:8px"></iframe></p>
<p><a href="{name}/index.html">the live model beside its equations</a>, <a href="{name}/sheet.html">sheet to
print</a></p>
```
"""
# Tutorials, and the systems of the gallery that they are about.
TUTORIALS = {
    "bicycle": "bicycle",
    "boom": "examples/spinning_boom",
    "car": "examples/car",
    "cart-pole": "cart-pole",
    "export-c": "examples/car",
    "five-minutes": "examples/pendulum",
    "four-bar": "examples/four_bar",
    "linear-car": "examples/car",
    "pendulum": "examples/pendulum",
    "stanford-arm": "examples/stanford_arm",
    "thrusters-and-events": "examples/spacecraft_1",
    "wishbone-kinematics": "examples/double_wishbone",
}
_IN_MOTION = "\n\n## In motion\n\n{title}, from the [gallery](../gallery/{page}.md):\n"
_CARD = (
    '<a href="{name}/index.html" style="text-decoration:none">'
    '<img src="{name}/picture.png" alt="" loading="lazy" style="width:100%;border-radius:8px"><br>{title}</a>'
)


def _make(app: Sphinx) -> None:
    app.config.gallery_pages = {}
    if app.builder.name != "html" or app.tags.has("still"):
        return
    sys.path.insert(0, str(Path(app.srcdir)))
    from make_gallery import make

    app.config.gallery_pages = make(Path(app.outdir) / "gallery")


def _add(app: Sphinx, page: str, source: list[str]) -> None:
    made: dict[str, str] = app.config.gallery_pages
    folder, _, name = page.partition("/")
    if folder == "tutorial" and TUTORIALS.get(name) in made:
        system = TUTORIALS[name]
        title, about = made[system], "examples" if system.startswith("examples/") else system
        source[0] += _IN_MOTION.format(page=about, title=title)
        source[0] += _FRAME.format(name=f"../gallery/{system}", title=html.escape(title))
    if folder != "gallery":
        return
    if name in made:
        source[0] += _FRAME.format(name=name, title=html.escape(made[name]))
    elif name == "examples" and made:
        cards = [
            f"<div>{_CARD.format(name=n, title=html.escape(t))}</div>"
            for n, t in made.items()
            if n.startswith("examples/")
        ]
        grid = "display:grid;grid-template-columns:repeat(auto-fill,minmax(220px,1fr));gap:16px"
        source[0] += f'\n\n```{{raw}} html\n<div style="{grid}">{"".join(cards)}</div>\n```\n'


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("gallery_pages", {}, "")
    app.connect("builder-inited", _make)
    app.connect("source-read", _add)
    return {"parallel_read_safe": True}
