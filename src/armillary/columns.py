"""Rows of texts as lines whose columns stand in line, for every table that people read; and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def aligned(
    rows: Sequence[Sequence[str]], sides: str = "", *, gap: int = 2, width: Callable[[str], int] = len
) -> list[str]:
    """Lines of cells; ``sides`` has "<" or ">" for each column, to the left where it ends early.

    ``width`` counts the characters that are seen of a cell, where it holds others.
    """
    if not rows:
        return []
    sides = sides.ljust(len(rows[0]), "<")
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        spaces = [" " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)]
        cells = [s + c if side == ">" else c + s for c, s, side in zip(row, spaces, sides, strict=True)]
        lines.append((" " * gap).join(cells).rstrip())
    return lines


def counted(number: int, noun: str) -> str:
    """How many there are, in words: 1 event, 2 events."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
