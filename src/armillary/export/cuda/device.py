"""C text made into text for a GPU: functions of the device, numbers of the type real."""

from __future__ import annotations

import re

from armillary.export.c.text import COMMENT, NUMBER
from armillary.export.text.contacts import SINGLE as CONTACTS_IN_SINGLE
from armillary.runtime.solver.precision import SINGLE

_HEAD = re.compile(r"^(?:APART )?(static inline |static |)((?:void|int|double|const \w+ \*) ?\w+\()", re.M)


def on_device(code: str, apart: bool = False) -> str:
    """C text with its functions for the device, its doubles and literals of the type real.

    ``apart``: functions are called, not put in where they are needed. A solver calls those of the model in so
    many places that NVRTC took half a minute for a four-bar linkage.
    """
    heads = {"": "DEVICE static inline ", "static ": "DEVICE static "}
    if apart:
        heads = dict.fromkeys(heads, "DEVICE static APART ")

    def head(m: re.Match[str]) -> str:
        called = m[0].startswith("APART ") or m[1] not in heads
        return f"DEVICE {m[0]}" if called else heads[m[1]] + m[2]

    parts = COMMENT.split(code)
    for i in range(0, len(parts), 2):
        text = _HEAD.sub(head, parts[i])
        text = re.sub(r"^static const (?=\w+ \w+\[)", "DEVICE static const ", text, flags=re.M)
        text = re.sub(r"\bdouble\b(?! x, double)", "real", text)
        parts[i] = NUMBER.sub(r"real(\1)", text)
    return "".join(parts)


def in_both_precisions(code: str) -> str:
    """C text whose thresholds are those of the type real."""
    for threshold, single in {**SINGLE, **CONTACTS_IN_SINGLE}.items():
        known = rf"(static const double {threshold.lower()} =) ([^;]+);"
        code = re.sub(known, rf"\1 sizeof(real) == 4 ? {single!r} : \2;", code)
    return code
