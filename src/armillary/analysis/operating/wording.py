"""Names and units in tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence

_FEW = 6  # names that a sentence lists


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of many."""
    shown = ", ".join(names[:_FEW])
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown or "none"


def rate_units(units: str) -> str:
    """Units of a rate, from those of its state."""
    if not units or units in ("-", "1"):
        return "1/s"
    if units.endswith("/s"):
        return f"{units}2"
    if units.endswith("/s2"):
        return f"{units[:-1]}3"
    return f"{units}/s" if "/" not in units else f"({units})/s"
