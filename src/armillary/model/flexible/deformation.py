"""A flexible part in its present shape: first moment, inertia and couplings as functions of its modes.

The symbols are those of ``part.py``; ∂J/∂η_p = J1_p + Σ η_q J2_pq. With A and B the parts of ∂H_p/∂η_q that
do and do not change sign when p and q are exchanged, 2 Σ ξ_q A_qp makes Coriolis forces on the modes, and Σ
ξ_p ξ_q B_qp is Ḣξ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    add,
    combination,
    combined,
    joined,
    named,
    plus,
    times,
)
from armillary.model.flexible.part import FlexiblePart
from armillary.untyped import DataTable


@dataclass(frozen=True, eq=False)
class Deformation:
    """The properties of a part's shape and its rate of change in the equations of motion."""

    first: Triple  # what the deformation adds to the first moment c
    inertia: Matrix  # and to J
    P: tuple[Triple, ...]
    H: tuple[Triple, ...]
    M: tuple[tuple[Scalar, ...], ...]
    slopes: tuple[Matrix, ...]  # ∂J/∂η_p
    coriolis: tuple[Triple, ...]  # 2 Σ ξ_q A_qp
    bending: Triple  # Σ g_pq ξ_p ξ_q, a force
    twisting: Triple  # Ḣξ, a moment
    restoring: tuple[Scalar, ...]  # Kη + Cξ
    turn_slopes: tuple[Triple, ...]  # (∂H/∂η_p) ξ
    shift_slopes: tuple[Triple, ...]  # (∂P/∂η_p) ξ

    def fields(self, f: ScalarMap) -> DataTable:
        """All of it by name, every scalar passed through a function."""

        def deep(x: Any) -> Any:  # a scalar, or tuples of them of any depth
            return tuple(map(deep, x)) if isinstance(x, tuple) else f(x)

        return {name: deep(getattr(self, name)) for name in Deformation.__dataclass_fields__}


def deformation(name: str, part: FlexiblePart, eta: Sequence[Expr], xi: Sequence[Expr]) -> Deformation:
    """The present shape of a part."""
    shortening = None if part.g is None else np.transpose(part.g, (0, 2, 1))
    P = _deformed(part.P, shortening, eta, f"P_{name}")
    odd, even = _parts(part.H1)
    slopes = _slopes(part.J1, part.J2, eta, name)
    halves = [e * 0.5 for e in eta]
    mean = [
        tuple(add(a, b) for a, b in zip(x, y, strict=True))
        for x, y in zip(part.J1.tolist(), slopes, strict=True)
    ]
    both = [add(x, y) for x, y in zip(part.P.T.tolist(), P, strict=True)]
    shift_slopes = _applied(shortening, xi)
    return Deformation(
        first=named(combined(both, halves), f"dc_{name}"),
        inertia=weighted(mean, halves, f"dJ_{name}"),
        P=P,
        H=_deformed(part.H, part.H1, eta, f"H_{name}"),
        M=tuple(tuple(_plain(x) for x in row) for row in part.M.tolist()),
        slopes=slopes,
        coriolis=tuple(named(tuple(times(2, x) for x in v), f"cor_{name}") for v in _applied(odd, xi)),
        bending=named(combined(shift_slopes, xi), f"bend_{name}"),
        twisting=named(combined(_applied(even, xi), xi), f"tw_{name}"),
        restoring=tuple(
            fn.named(
                plus(combination(part.K[p].tolist(), eta), combination(part.C[p].tolist(), xi)), f"s_{name}"
            )
            for p in range(part.modes)
        ),
        turn_slopes=_applied(None if part.H1 is None else np.transpose(part.H1, (2, 1, 0)), xi),
        shift_slopes=shift_slopes,
    )


def _plain(x: float) -> Scalar:
    return x if x else 0


def _parts(H1: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(odd, even) under exchange of the two modes; None where nothing is there."""
    if H1 is None:
        return None, None
    other = np.transpose(H1, (2, 1, 0))
    odd, even = (H1 - other) / 2, (H1 + other) / 2
    scale = np.abs(H1).max(initial=0.0) * 1e-13

    def kept(a: np.ndarray) -> np.ndarray | None:
        return None if np.abs(a).max(initial=0.0) <= scale else a

    return kept(odd), kept(even)


def _deformed(
    base: np.ndarray, change: np.ndarray | None, eta: Sequence[Scalar], name: str
) -> tuple[Triple, ...]:
    """base_p + Σ η_q change_q,p as triples, ``change`` by [q][:, p]."""
    columns = [joined(_plain(x) for x in column) for column in base.T.tolist()]
    if change is None:
        return tuple(columns)
    moved = _applied(change, eta)
    return tuple(
        named(add(c, m), f"{name}_{p + 1}") for p, (c, m) in enumerate(zip(columns, moved, strict=True))
    )


def _applied(array: np.ndarray | None, values: Sequence[Scalar]) -> tuple[Triple, ...]:
    """Σ_q array[q][:, p] value_q for each p."""
    count = len(values)
    if array is None:
        return (ZEROS,) * count
    return tuple(joined(combination(array[:, i, p].tolist(), values) for i in range(3)) for p in range(count))


def _slopes(J1: np.ndarray, J2: np.ndarray | None, eta: Sequence[Scalar], name: str) -> tuple[Matrix, ...]:
    found: list[Matrix] = []
    for p in range(len(J1)):
        rows: list[list[Scalar]] = [[0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(i, 3):
                value = _plain(float(J1[p, i, j]))
                if J2 is not None:
                    value = plus(value, combination(J2[p, :, i, j].tolist(), eta))
                rows[i][j] = rows[j][i] = fn.named(value, f"J_{name}_{p + 1}_{i + 1}{j + 1}")
        found.append(joined(joined(row) for row in rows))
    return tuple(found)


def weighted(
    matrices: Sequence[Sequence[Sequence[Scalar]]] | np.ndarray, weights: Sequence[Scalar], name: str
) -> Matrix:
    """Σ weight·matrix of symmetric matrices."""
    rows: list[list[Scalar]] = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i, 3):
            value = combination([m[i][j] for m in matrices], weights)
            rows[i][j] = rows[j][i] = fn.named(value, f"{name}_{i + 1}{j + 1}")
    return joined(joined(row) for row in rows)
