"""Checks of the numbers that are given to tyres, parts and manoeuvres."""

from __future__ import annotations

import math
from collections.abc import Mapping

import armillary as arm


def require_numbers(
    where: str,
    *,
    positive: Mapping[str, object] | None = None,
    not_negative: Mapping[str, object] | None = None,
    signed: Mapping[str, object] | None = None,
    not_zero: Mapping[str, object] | None = None,
) -> None:
    """Raise an error unless all values are finite numbers of the given sign; expressions are not checked."""
    rules = (
        (positive, "a positive, finite number", lambda x: x > 0),
        (not_negative, "zero or a positive, finite number", lambda x: x >= 0),
        (signed, "a finite number", lambda x: True),
        (not_zero, "a finite number and not zero", lambda x: x != 0),
    )
    for values, words, right in rules:
        for name, value in (values or {}).items():
            if isinstance(value, arm.Expr):
                continue
            number = float(value) if is_number(value) else math.nan  # type: ignore[arg-type]  # is_number
            if not math.isfinite(number) or not right(number):
                raise arm.ModelError(f"{where}: {name}={value!r} must be {words}")


def is_number(value: object) -> bool:
    """Return whether a value is a single number, not text or a truth value."""
    if isinstance(value, str | bytes | bool):
        return False
    try:
        float(value)  # type: ignore[arg-type]  # raises for anything but a number
    except (TypeError, ValueError):
        return False
    return True
