"""Rows of texts as tables that people read, in lines of text or as HTML; counts and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def aligned(
    rows: Sequence[Sequence[str]], sides: str = "", *, width: Callable[[str], int] = len
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
        lines.append("  ".join(cells).rstrip())
    return lines


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 event, 2 events."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], few: int = 6) -> str:
    """Names in a sentence, the first few of many."""
    first = ", ".join(names[:few])
    return f"{first} and {len(names) - few} more" if len(names) > few else first or "none"


class Html(str):
    """A text that is HTML already: a cell of `html_table` that is not escaped."""


def html_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], sides: str = "", *, caption: str = ""
) -> Html:
    """Return an HTML table, for notebooks and pages; empty without rows.

    Every cell, heading and caption is escaped, unless it is `Html`; ``sides`` is as in `aligned`.
    """
    if not rows:
        return Html("")
    styles = [' style="text-align:right"' if side == ">" else "" for side in sides.ljust(len(header), "<")]

    def line(tag: str, cells: Sequence[str]) -> str:
        pairs = zip(cells, styles, strict=True)
        return "<tr>" + "".join(f"<{tag}{style}>{html_text(cell)}</{tag}>" for cell, style in pairs) + "</tr>"

    top = f"<caption>{html_text(caption)}</caption>" if caption else ""
    head = f"<thead>{line('th', header)}</thead>" if any(header) else ""
    body = "".join(line("td", row) for row in rows)
    return Html(f"<table>{top}{head}<tbody>{body}</tbody></table>")


def html_text(text: str) -> Html:
    """Return a text as HTML, with its special characters escaped; `Html` unchanged."""
    from html import escape

    return text if isinstance(text, Html) else Html(escape(text))
