"""Units of rates."""

from __future__ import annotations


def rate_units(units: str) -> str:
    """Units of a rate, from those of its state."""
    if not units or units in ("-", "1"):
        return "1/s"
    if units.endswith("/s"):
        return f"{units}2"
    if units.endswith("/s2"):
        return f"{units[:-1]}3"
    return f"{units}/s" if "/" not in units else f"({units})/s"
