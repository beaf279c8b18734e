"""Lines of arranged code."""

from __future__ import annotations

from armillary.llvm.arrangement.arrangement import Line, parse_line


def lines_of(texts: list[str]) -> list[Line]:
    """Lines from their texts, ``%v… = …``."""
    return [parse_line(*text.strip().split(" = ", 1)) for text in texts]
