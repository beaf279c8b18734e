"""C text in which every body of an if, else or loop has braces (MISRA C:2012, rule 15.6)."""

from __future__ import annotations

import re

_HEAD = re.compile(r"^( *)(?:if|for|while) \(.*\)( /\*.*\*/)?$")


def braced(code: str) -> str:
    """The code with braces about single statements; heads stand in one line."""
    lines = code.split("\n")
    found: list[str] = []
    at = 0
    while at < len(lines):
        if _HEAD.match(lines[at]):
            written, at = _statement(lines, at)
            found += written
        else:
            found.append(lines[at])
            at += 1
    return "\n".join(found)


def _statement(lines: list[str], at: int) -> tuple[list[str], int]:
    """The lines of the statement that begins at one, with braces, and the place after it."""
    head = _HEAD.match(lines[at])
    if head is None:
        first = at
        while not re.search(r";( /\*.*\*/)?$", lines[at]):
            at += 1
        return lines[first : at + 1], at + 1
    indent, remark = head[1], head[2] or ""
    body, at = _statement(lines, at + 1)
    found = [f"{head[0].removesuffix(remark)} {{{remark}", *body]
    if lines[at : at + 1] == [f"{indent}else"]:
        body, at = _statement(lines, at + 1)
        found += [f"{indent}}} else {{", *body]
    return [*found, f"{indent}}}"], at
