"""Numbers of the closing of loops after each step, for the templates of all languages."""

from __future__ import annotations

from armillary.mechanics.constraints import closing_thresholds
from armillary.mechanics.constraints.closing_thresholds import CORRECTIONS


def closing(precision: str = "double", attempts: int = CORRECTIONS) -> dict[str, str]:
    """How far loops are closed; of C "either" for single or for double precision its type decides."""

    def number(name: str) -> str:
        double: float = getattr(closing_thresholds, name)
        single = closing_thresholds.SINGLE.get(name, double)
        if precision == "either" and single != double:
            return f"(sizeof(double) == 4 ? {single!r} : {double!r})"
        return repr(single if precision == "single" else double)

    return {
        "attempts": str(attempts),
        "closed": number("SMALL_CORRECTION"),
        "far": number("LARGE_CORRECTION"),
        "part": number("CLOSED_START"),
    }
