"""Sines by increments within a step of fixed size: text of the derivatives that takes them from those of the
first stage (increments.txt), 12 operations in place of 19.

A warp one of whose angles changes by more than 1/64 in a step takes this step again, and all further ones,
with whole sines, in a second loop: so neither loop holds the other's registers. Whole sines are also taken in
every fourth step, so that rounding does not add up. Measured on an H200 in double precision: arm 8 % and
car 10 % faster, 1 % slower where all runs go to the second loop. In single precision shorter series do up to
1/16, and whole sines are taken in every step: arm 2 to 4 % and car 7 % faster. The card's own sines
(``fast``) take fewer operations than increments.
"""

from __future__ import annotations

import re

# Angles whose sines are kept: each takes six registers in double precision.
MOST = 6
_ONE = re.compile(r"\bsine_cosine\(")
_FOUR = re.compile(r"\bsines_cosines\(([^;]*)\);")


def near_sines(text: str) -> tuple[str, int]:
    """The function of derivatives with its sines near those of the first stage, and the number of angles; 0
    and the text as it is where that is not worth it.
    """
    calls = len(_ONE.findall(text)) + 4 * len(_FOUR.findall(text))
    if not 0 < calls <= MOST or "APART" in text:
        return text, 0
    places = iter(range(calls))

    def four(call: re.Match[str]) -> str:
        *angles, sines, cosines = (word.strip() for word in call[1].split(","))
        given = enumerate(angles)
        lines = [
            f"sine_cosine(near, how, {next(places)}, {x}, &{sines}[{i}], &{cosines}[{i}]);" for i, x in given
        ]
        return "\n    ".join(lines)

    text = _ONE.sub(lambda _: f"sine_cosine(near, how, {next(places)}, ", text)
    text = _FOUR.sub(four, text)
    return text.replace("double *restrict out)", "double *restrict out, turned *near, int how)", 1), calls
