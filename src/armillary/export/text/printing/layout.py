"""Text laid out for people: long assignments broken at operators, paragraphs filled, items listed."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Places where a line may end: behind a blank, a comma or an opening operator between factors.
_BREAKS = re.compile(r"[^ *]*[ *]|[^ *]+$")


def wrapped(text: str, width: int, indent: str, more: str, continued: str = "") -> list[str]:
    """Lines of one statement: the first after ``indent``, others after ``more``; all but the last end with
    ``continued``. Breaks at blanks and after "*", never inside "**".
    """
    if len(indent) + len(text) <= width:
        return [indent + text]
    lines: list[str] = []
    line = indent
    room = width - len(continued)
    for piece in _pieces(text):
        if len(line) + len(piece.rstrip()) > room and line.strip():
            lines.append(line.rstrip() + continued)
            line = more
        line += piece
    return [*lines, line.rstrip()]


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for piece in _BREAKS.findall(text):
        if pieces and pieces[-1].endswith("*") and piece == "*":
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def one_line(text: str) -> str:
    """Text without line breaks or control characters: what a comment or a string can hold, no more."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def column_name(text: str) -> str:
    """A name with its tabs and blanks, which a string can hold; other control characters are blanks."""
    return "".join(c if c.isprintable() or c == "\t" else " " for c in text)


def bytes_of(text: str) -> int:
    """The length of a text in bytes, as compilers count it."""
    return len(text.encode())


def listed(items: Sequence[str], width: int, indent: str, continued: str = "") -> list[str]:
    """Items with commas between them, as many in a line as fit; all but the last end with ``continued``."""
    lines: list[str] = []
    line = indent
    for place, item in enumerate(items):
        piece = item + (", " if place < len(items) - 1 else "")
        if bytes_of(line) + bytes_of(piece.rstrip()) > width - len(continued) and line.strip():
            lines.append(line.rstrip() + continued)
            line = indent
        line += piece
    return [*lines, line.rstrip()] if items else []


def partial_sums(text: str, longest: int) -> list[str]:
    """A long sum cut at its outer signs: the first part, then parts that begin with " + " or " - "."""
    parts: list[str] = []
    depth = start = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place - start > longest and text[place : place + 3] in (" + ", " - "):
            parts.append(text[start:place])
            start = place
    return [*parts, text[start:]]
