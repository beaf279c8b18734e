"""Tables as text: rows in columns or as HTML, counts and lists; TOML with numbers that read back exactly."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence

from armillary.untyped import DataMapping, Given


def aligned(
    rows: Sequence[Sequence[str]], sides: str = "", *, width: Callable[[str], int] = len
) -> list[str]:
    """Return rows of cells as lines with aligned columns.

    ``sides`` has "<" (left) or ">" (right) for each column; further columns are aligned to the left.
    ``width`` returns the number of visible characters of a cell; it is needed if cells hold invisible ones.
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
    """Return names joined by commas; of more than ``few``, the first ones and the number of the others."""
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
    """Return a text as HTML, with its special characters escaped; text that is `Html` stays as it is."""
    from html import escape

    return text if isinstance(text, Html) else Html(escape(text))


_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_WIDE = 110


def toml_text(data: DataMapping, sections: Mapping[str, int]) -> str:
    """Return a TOML document.

    ``sections`` gives the depth of the headers of each top-level table: 1 for ``[gravity]`` with a key per
    line, 2 for ``[bodies.A]``.
    """
    lines = [_pair(key, value) for key, value in data.items() if not _has_header(key, value, sections)]
    for key, value in data.items():
        if not _has_header(key, value, sections):
            continue
        if isinstance(value, list):
            for item in value:
                lines += ["", f"[[{toml_key(key)}]]", *(_pair(k, v) for k, v in item.items())]
        elif sections[key] == 1:
            lines += ["", f"[{toml_key(key)}]", *(_pair(k, v) for k, v in value.items())]
        else:
            for name, entry in value.items():
                lines += ["", f"[{toml_key(key)}.{toml_key(name)}]", *(_pair(k, v) for k, v in entry.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _has_header(key: str, value: object, sections: Mapping[str, int]) -> bool:
    return key in sections and (isinstance(value, Mapping) or _tables(value))


def _tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _pair(key: str, value: object) -> str:
    line = f"{toml_key(key)} = {toml_value(value)}"
    if len(line) <= _WIDE or not isinstance(value, list) or not value:
        return line
    inner = "".join(f"\n    {toml_value(item)}," for item in value)
    return (
        f"{toml_key(key)} = [{inner}\n]" if isinstance(value[0], list) else _wrap_list(toml_key(key), value)
    )


def _wrap_list(key: str, values: list[Given]) -> str:
    """Return a long list over several lines."""
    rows: list[str] = [""]
    for item in values:
        shown = f"{toml_value(item)}, "
        if len(rows[-1]) + len(shown) > _WIDE - 6 and rows[-1]:
            rows.append("")
        rows[-1] += shown
    inner = "".join(f"\n    {row.rstrip()}" for row in rows)
    return f"{key} = [{inner}\n]"


def toml_value(value: Given) -> str:
    """Return a value as TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return repr(value)
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_key(str(key))} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return "[" + ", ".join(toml_value(item) for item in value) + "]"


def toml_string(text: str) -> str:
    """Return a text between quotes; every character reads back unchanged."""
    shown = json.dumps(text, ensure_ascii=False)
    return shown.replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """Return a key, between quotes if it is not plain."""
    return key if _BARE.match(key) else toml_string(key)
