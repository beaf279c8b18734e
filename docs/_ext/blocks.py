"""Fenced blocks as the tests read them, shown by Sphinx, and links to files of the project.

The word behind a fence may be followed by what concerns the tests only: ``python no-run``, ``output
roughly``, ``toml car.toml``. The first word is the language; ``output`` is plain text in its own box, and
a block with the name of a file gets that name as its caption.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class Captions(SphinxTransform):
    """Names of files above the blocks that the reader shall write into them."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        lines = Path(self.document["source"]).read_text(encoding="utf-8").splitlines()
        for block in list(self.document.findall(nodes.literal_block)):
            fence = lines[block.line - 1] if 0 < (block.line or 0) <= len(lines) else ""
            file = re.fullmatch(r"`{3,}\w+ ([\w-]+\.\w+)", fence)
            if file:
                box = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
                block.replace_self(box)
                box += [nodes.caption("", file[1]), block]


class Outside(SphinxTransform):
    """Links to Markdown outside the documentation (a folder's README), which is no page of the site."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        for link in list(self.document.findall(addnodes.pending_xref)):
            target = link["reftarget"]
            if link["refdomain"] == "doc" and Path(target).is_absolute() and Path(f"{target}.md").exists():
                file = addnodes.download_reference(
                    "",
                    "",
                    *link.children,
                    refdoc=link["refdoc"],
                    reftarget=f"{os.path.relpath(target, self._folder)}.md",
                )
                link.replace_self(file)

    @property
    def _folder(self) -> Path:
        return Path(self.env.doc2path(self.env.docname)).parent


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_lexer("output", TextLexer)
    app.add_transform(Captions)
    app.add_transform(Outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
