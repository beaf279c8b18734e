"""3 × 3 matrices of cross products and sums of them, over any scalar, known zeros left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.triples import ZEROS, add, minus, plus, scaled, times
from armillary.algebra.vectors import Matrix, Triple, cross_triples

NONE: Matrix = (ZEROS, ZEROS, ZEROS)


def centripetal(w: Triple, r: Triple) -> Triple:
    """w × (w × r)."""
    return cross_triples(w, cross_triples(w, r))


def crosses(a: Triple, b: Triple) -> Matrix:
    """[a][b] = b aᵀ − (a·b) 1."""
    return tuple(
        tuple(minus(0, total_but(a, b, i)) if i == j else times(b[i], a[j]) for j in range(3))
        for i in range(3)
    )  # type: ignore[return-value]


def total_but(a: Triple, b: Triple, i: int) -> Any:
    """a·b without the products of component i."""
    j, k = (i + 1) % 3, (i + 2) % 3
    return plus(times(a[j], b[j]), times(a[k], b[k]))


def summed(matrices: Iterable[Matrix]) -> Matrix:
    """Σ of matrices."""
    rows: list[Triple] = [ZEROS, ZEROS, ZEROS]
    for m in matrices:
        rows = [add(a, b) for a, b in zip(rows, m, strict=True)]
    return (rows[0], rows[1], rows[2])


def scaled_matrix(m: Matrix, factor: Any) -> Matrix:
    """m × factor."""
    return tuple(scaled(row, factor) for row in m)  # type: ignore[return-value]


def named_matrix(m: Matrix, name: str) -> Matrix:
    """The matrix with its elements as intermediate values."""
    return tuple(
        tuple(fn.named(x, f"{name}_{i}{j}") for j, x in enumerate(row, start=1))
        for i, row in enumerate(m, start=1)
    )  # type: ignore[return-value]
