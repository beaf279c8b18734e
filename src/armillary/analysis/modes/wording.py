"""Eigenvalues and participation as people read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armillary.analysis.modes.shapes.participation import by_share

_ENOUGH = 0.8  # of a mode: so much of it is named in words
_FEW = 0.1  # coordinates with less of a mode are not named after the first
_MOST = 3  # coordinates that are named
ROUNDING = 1e-12  # real parts below this part of |λ| count as none


def in_words(shares: np.ndarray, names: Sequence[str]) -> str:
    """The coordinates that make up most of a mode: 62 % lean.q1, 30 % fork.q1."""
    parts: list[str] = []
    reached = 0.0
    for k in by_share(shares)[:_MOST]:
        if parts and (reached >= _ENOUGH or shares[k] < _FEW):
            break
        parts.append(f"{100 * shares[k]:.0f} % {names[k]}")
        reached += float(shares[k])
    return ", ".join(parts)


def eigenvalue_text(value: complex, *, pair: bool = False) -> str:
    """An eigenvalue, or a pair of them, without a real part that is rounding."""
    growth = value.real if abs(value.real) > ROUNDING * abs(value) else 0.0
    if not value.imag:
        return f"{growth:.6g}"
    sign = "±" if pair else "+" if value.imag > 0 else "-"
    return f"{growth:.6g} {sign} {abs(value.imag):.6g}i"
