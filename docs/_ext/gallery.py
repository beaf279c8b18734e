"""Motions in the pages of the gallery: made when the site is built, and shown below the text of each page."""

from __future__ import annotations

import html
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_FRAME = """

```{{raw}} html
<p><iframe src="{name}/motion.html" title="motion" loading="lazy"
  style="width:100%;aspect-ratio:16/10;border:1px solid #8884;border-radius:8px"></iframe></p>
<p><a href="{name}/index.html">the live model beside its equations</a>, <a href="{name}/sheet.html">sheet to
print</a></p>
```
"""
_CARD = (
    '<a href="{name}/index.html" style="text-decoration:none">'
    '<img src="{name}/picture.png" alt="" loading="lazy" style="width:100%;border-radius:8px"><br>{title}</a>'
)


def _make(app: Sphinx) -> None:
    app.config.gallery_pages = {}
    if app.builder.name != "html" or app.tags.has("plain"):
        return
    sys.path.insert(0, str(Path(app.srcdir)))
    from make_gallery import make

    app.config.gallery_pages = make(Path(app.outdir) / "gallery")


def _add(app: Sphinx, page: str, source: list[str]) -> None:
    made: dict[str, str] = app.config.gallery_pages
    folder, _, name = page.partition("/")
    if folder != "gallery" or not made:
        return
    if name in made:
        source[0] += _FRAME.format(name=name)
    elif name == "examples":
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
