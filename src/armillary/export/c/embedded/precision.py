"""C text in single or double precision: types, literals and library functions that match."""

from __future__ import annotations

import re

import numpy as np

from armillary.export.c.text import COMMENT, NUMBER

# Functions of math.h that generated code calls; in single precision their names end in "f".
LIBRARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "pow", "sqrt", "fabs", "fma"),
    *("tanh", "floor", "ceil", "fmod", "hypot"),
)
_CALL = re.compile(rf"\b({'|'.join(LIBRARY)})(?=\()")


def in_precision(code: str, precision: str) -> str:
    """C text of doubles in "single" or "double" precision; comments stay."""
    change = _single if precision == "single" else _double
    parts = COMMENT.split(code)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def _single(code: str) -> str:
    text = _CALL.sub(r"\1f", re.sub(r"\bdouble\b", "float", code))
    return NUMBER.sub(lambda m: _literal(float(m[1])), text)


def _double(code: str) -> str:
    """The constants of math.h are floats, of whose promotion Clang warns."""
    return re.sub(r"(?<!\(double\))\b(INFINITY|NAN)\b", r"(double)\1", code)


def _literal(value: float) -> str:
    """The shortest literal of the nearest float."""
    with np.errstate(over="ignore"):
        text = str(np.float32(value))
    if text == "inf":
        return "INFINITY"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
