"""Lines of arranged code."""

from __future__ import annotations

from armillary.llvm.arrangement.arrangement import Line, parsed


def lines_of(texts: list[str]) -> list[Line]:
    """Lines from their texts, ``%v… = …``."""
    return [parsed(*text.strip().split(" = ", 1)) for text in texts]
