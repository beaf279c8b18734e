"""Texts that are the same for all systems except for names and for parts that only some need.

@name@                               a value
{{if events}} … {{else}} … {{end}}   a part for systems that have events; such marks may stand on lines of
                                     their own, which then vanish, and inside each other
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from importlib.resources import files

_MARK = re.compile(r"^[ \t]*\{\{(if \w+|else|end)\}\}[ \t]*\n|\{\{(if \w+|else|end)\}\}", re.MULTILINE)
_VALUE = re.compile(r"@(\w+)@")


def template(package: str, name: str) -> str:
    """A text of a package, in its folder ``templates``."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")


def fill(text: str, values: Mapping[str, str], has: Collection[str] = ()) -> str:
    """A text with its values put in, and only the parts that belong to a system that ``has`` these things."""
    kept: list[str] = []
    shown = [True]
    branches: list[bool] = []
    position = 0
    for mark in _MARK.finditer(text):
        if shown[-1]:
            kept.append(text[position : mark.start()])
        position = mark.end()
        word, _, feature = (mark[1] or mark[2]).partition(" ")
        if word == "if":
            branches.append(feature in has)
            shown.append(shown[-1] and branches[-1])
        elif word == "else":
            shown[-1] = shown[-2] and not branches[-1]
        else:
            shown.pop()
            branches.pop()
    kept.append(text[position:])
    return _VALUE.sub(lambda found: values[found[1]], "".join(kept))
