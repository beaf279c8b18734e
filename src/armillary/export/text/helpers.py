"""Small functions that generated code calls: only those are written that something needs.

They lie beside a language's modules in ``helpers.txt``, each after a line "=== name".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from armillary.export.text.files.template import template

_TITLE = re.compile(r"^=== (\w+)\n", re.MULTILINE)


def helpers(package: str) -> dict[str, str]:
    """The helpers of a language, by name."""
    _, *parts = _TITLE.split(template(package, "helpers.txt"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def needed(known: Mapping[str, str], text: str) -> list[str]:
    """Texts of the helpers that are called in a text, or by one another, in the order of ``known``."""
    chosen: set[str] = set()
    todo = [text]
    while todo:
        words = set(re.findall(r"[A-Za-z]\w*", todo.pop()))
        found = (words & known.keys()) - chosen
        chosen |= found
        todo += [known[name] for name in found]
    return [known[name] for name in known if name in chosen]
