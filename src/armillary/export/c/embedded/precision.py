"""C text in single precision: float for double, literals and library functions to match."""

from __future__ import annotations

import re

import numpy as np

# Functions of math.h that generated code calls; in single precision their names end in "f".
LIBRARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "pow", "sqrt", "fabs", "fma"),
    *("tanh", "floor", "ceil", "fmod", "hypot"),
)
_NUMBER = re.compile(r"(?<![\w.])((?:\d+\.\d*|\d+(?=e))(?:e[+-]?\d+)?)(?![\w.])")
_CALL = re.compile(rf"\b({'|'.join(LIBRARY)})(?=\()")
_COMMENT = re.compile(r"(/\*.*?\*/)", re.S)


def in_single_precision(code: str) -> str:
    """The code with floats for all doubles; comments stay."""
    parts = _COMMENT.split(code)
    for i in range(0, len(parts), 2):
        text = _CALL.sub(r"\1f", re.sub(r"\bdouble\b", "float", parts[i]))
        parts[i] = _NUMBER.sub(lambda m: _literal(float(m[1])), text)
    return "".join(parts)


def _literal(value: float) -> str:
    """The shortest literal of the nearest float."""
    with np.errstate(over="ignore"):
        text = str(np.float32(value))
    if text == "inf":
        return "INFINITY"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
