"""The directive ``docstrings``: every public name with its whole docstring, taken from the code when the site
is built. The one-line tables of reference/api.md are kept in the repository; this exists on the site only.
"""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Docstrings(SphinxDirective):
    """Groups of public names, then the classes whose members are listed."""

    def run(self) -> list[nodes.Node]:
        script = Path(self.env.srcdir) / "make_reference.py"
        self.env.note_dependency(str(script))
        return self.parse_text_to_nodes(_page(runpy.run_path(str(script))), allow_section_headings=True)


def _page(made: dict[str, Any]) -> str:
    import armillary

    detailed = {cls.__name__ for cls, _, _ in made["IN_DETAIL"]}
    parts = []
    for title, names in made["_grouped"]().items():
        parts.append(f"## {title}\n")
        for name in names:
            if name not in detailed:
                parts.append(_entry(made["_call"](name, getattr(armillary, name)), getattr(armillary, name)))
    for cls, origin, _ in made["IN_DETAIL"]:
        parts.append(f"## {cls.__name__}\n\n{_markdown(inspect.getdoc(cls) or '')}\n\n{origin}\n")
        parts += [_entry(shown, member) for shown, member in made["members"](cls)]
    return "\n".join(parts)


def _entry(shown: str, thing: Any) -> str:
    return f"### {shown}\n\n{_markdown(inspect.getdoc(thing) or '')}\n"


def _markdown(docstring: str) -> str:
    """A docstring as Markdown: code in single quotes, and stars and underlines of formulas left alone."""
    lines = [
        line if line.startswith("    ") else re.sub(r"(?<!`)([*_<])", r"\\\1", line).replace("``", "`")
        for line in docstring.splitlines()
    ]
    text = "\n".join(lines)
    return re.sub(r"`[^`\n]*`", lambda code: re.sub(r"\\([*_<])", r"\1", code[0]), text)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_directive("docstrings", Docstrings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
