"""The modes of a flexible link: what they add to its inertia, and their own equations.

With the kinetic energy of ``model/flexible/part.py`` in the link's axes, Boltzmann and Hamel's equations are

    f = m a + α × c + ω × (ω × c) + 2 ω × Pξ + Σ g_pq ξ_p ξ_q + P ξ̇
    n = J α + ω × Jω + c × a + J̇ω + ω × Hξ + Ḣξ + H ξ̇
    P_p·a + H_p·α + Σ M_pq ξ̇_q + 2 ω·Σ ξ_q A_qp − ½ ω·(∂J/∂η_p) ω + (Kη + Cξ)_p = applied

A is the part of ∂H_p/∂η_q that changes sign with p and q: Coriolis forces. The other part makes Ḣξ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.vectors import Matrix, Triple, combination, combined, matrix_vector, sum_of_products
from armillary.mechanics.triples import ZEROS, add, cross_triples, minus, named, plus, scaled, times
from armillary.model.flexible.hooking import Flexible

if TYPE_CHECKING:
    from armillary.mechanics.kinematics import Motion
    from armillary.mechanics.tree import Freedom

Wrench = tuple[Triple, Triple]


@dataclass(frozen=True, eq=False)
class Modal:
    """Modes of a link, with all that depends on their amplitudes worked in."""

    freedoms: tuple[Freedom, ...]
    first: Triple  # what the deformation adds to the first moment c
    inertia: Matrix  # and to J
    P: tuple[Triple, ...]
    H: tuple[Triple, ...]
    M: tuple[tuple[Any, ...], ...]
    slopes: tuple[Matrix, ...]  # ∂J/∂η_p
    coriolis: tuple[Triple, ...]  # 2 Σ ξ_q A_qp
    bending: Triple  # Σ g_pq ξ_p ξ_q, a force
    twisting: Triple  # Ḣξ, a moment
    restoring: tuple[Any, ...]  # Kη + Cξ
    turn_slopes: tuple[Triple, ...]  # (∂H/∂η_p) ξ
    shift_slopes: tuple[Triple, ...]  # (∂P/∂η_p) ξ

    def map(self, f: Callable[[Any], Any]) -> Modal:
        """The same over other scalars."""

        def triple(v: Triple) -> Triple:
            return tuple(f(x) for x in v)

        def matrix(a: Matrix) -> Matrix:
            return tuple(triple(row) for row in a)  # type: ignore[return-value]

        return Modal(
            tuple(
                replace(d, speed=f(d.speed), rate=None if d.rate is None else f(d.rate))
                for d in self.freedoms
            ),
            triple(self.first),
            matrix(self.inertia),
            tuple(map(triple, self.P)),
            tuple(map(triple, self.H)),
            tuple(tuple(f(x) for x in row) for row in self.M),
            tuple(map(matrix, self.slopes)),
            tuple(map(triple, self.coriolis)),
            triple(self.bending),
            triple(self.twisting),
            tuple(f(x) for x in self.restoring),
            tuple(map(triple, self.turn_slopes)),
            tuple(map(triple, self.shift_slopes)),
        )

    @property
    def speeds(self) -> list[Any]:
        """ξ."""
        return [d.speed for d in self.freedoms]

    @property
    def known_rates(self) -> list[Any]:
        """Rates of modal speeds that are given, and known parts of dependent ones."""
        return [0 if d.rate is None else d.rate for d in self.freedoms]


def modal(name: str, flex: Flexible, freedoms: tuple[Freedom, ...], total_mass: Any) -> Modal:
    """The modes of a body's flexible part; ``total_mass`` of the system, for parts normalised with it."""
    part = flex.part
    eta, xi = flex.coordinates, flex.speeds
    shortening = None if part.g is None else np.transpose(part.g, (0, 2, 1))
    P = _deformed(part.P, shortening, eta, f"P_{name}")
    odd, even = _parts(part.H1)
    H = _deformed(part.H, part.H1, eta, f"H_{name}")
    slopes = _slopes(part.J1, part.J2, eta, name)
    halves = [e * 0.5 for e in eta]
    mean = [
        tuple(add(a, b) for a, b in zip(x, y, strict=True))
        for x, y in zip(part.J1.tolist(), slopes, strict=True)
    ]
    inertia = _weighted(mean, halves, f"dJ_{name}")
    both = [add(x, y) for x, y in zip(part.P.T.tolist(), P, strict=True)]
    first = named(combined(both, halves), f"dc_{name}")
    coriolis = tuple(named(scaled(v, 2), f"cor_{name}") for v in _applied(odd, xi))
    twisting = named(combined(_applied(even, xi), xi), f"tw_{name}")
    pull = _applied(shortening, xi)
    bending = named(combined(pull, xi), f"bend_{name}")
    across = _applied(None if part.H1 is None else np.transpose(part.H1, (2, 1, 0)), xi)
    restoring = tuple(
        fn.named(plus(combination(part.K[p].tolist(), eta), combination(part.C[p].tolist(), xi)), f"s_{name}")
        for p in range(part.modes)
    )
    return Modal(
        freedoms, first, inertia, P, H, _masses(part, total_mass), slopes, coriolis, bending, twisting,
        restoring, across, pull,
    )  # fmt: skip


def _masses(part: Any, total_mass: Any) -> tuple[tuple[Any, ...], ...]:
    """M; modes normalised without the motion of the system's mass centre regain it, Mₚ = M − PᵀP/m."""
    masses = [[_plain(x) for x in row] for row in part.M.tolist()]
    if getattr(part, "barycentric", False):
        inverse = 1 / total_mass
        shared = part.P.T @ part.P
        masses = [
            [plus(x, times(inverse, _plain(shared[p, q]))) for q, x in enumerate(row)]
            for p, row in enumerate(masses)
        ]
    return tuple(tuple(row) for row in masses)


def _plain(x: float) -> Any:
    return x if x else 0


def _parts(H1: Any) -> tuple[Any, Any]:
    """(odd, even) under exchange of the two modes; None where nothing is there."""
    if H1 is None:
        return None, None
    other = np.transpose(H1, (2, 1, 0))
    odd, even = (H1 - other) / 2, (H1 + other) / 2
    scale = np.abs(H1).max(initial=0.0) * 1e-13
    return tuple(None if np.abs(a).max(initial=0.0) <= scale else a for a in (odd, even))  # type: ignore[return-value]


def _deformed(base: Any, change: Any, eta: Any, name: str) -> tuple[Triple, ...]:
    """base_p + Σ η_q change_q,p as triples, ``change`` by [q][:, p]."""
    columns = [tuple(_plain(x) for x in column) for column in base.T.tolist()]
    if change is None:
        return tuple(columns)
    moved = _applied(change, eta)
    return tuple(
        named(add(c, m), f"{name}_{p + 1}") for p, (c, m) in enumerate(zip(columns, moved, strict=True))
    )


def _applied(array: Any, values: Any) -> tuple[Triple, ...]:
    """Σ_q array[q][:, p] value_q for each p."""
    count = len(values)
    if array is None:
        return (ZEROS,) * count
    return tuple(
        tuple(combination(array[:, i, p].tolist(), values) for i in range(3))  # type: ignore[misc]
        for p in range(count)
    )


def _slopes(J1: Any, J2: Any, eta: Any, name: str) -> tuple[Matrix, ...]:
    found = []
    for p in range(len(J1)):
        rows: list[list[Any]] = [[0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(i, 3):
                value: Any = _plain(float(J1[p, i, j]))
                if J2 is not None:
                    value = plus(value, combination(J2[p, :, i, j].tolist(), eta))
                rows[i][j] = rows[j][i] = fn.named(value, f"J_{name}_{p + 1}_{i + 1}{j + 1}")
        found.append(tuple(tuple(row) for row in rows))
    return tuple(found)  # type: ignore[return-value]


def _weighted(matrices: Any, weights: Any, name: str) -> Matrix:
    """Σ weight·matrix of symmetric matrices."""
    rows: list[list[Any]] = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i, 3):
            value = combination([m[i][j] for m in matrices], weights)
            rows[i][j] = rows[j][i] = fn.named(value, f"{name}_{i + 1}{j + 1}")
    return tuple(tuple(row) for row in rows)  # type: ignore[return-value]


def added_wrench(modes: Modal, motion: Motion, name: str) -> Wrench:
    """What modal speeds and known modal accelerations add to a link's inertia wrench (n, f)."""
    xi, rates, w = modes.speeds, modes.known_rates, motion.w
    drift = named(combined(modes.P, xi), f"Pxi_{name}")
    spin = named(combined(modes.H, xi), f"Hxi_{name}")
    growth = _weighted(modes.slopes, xi, f"Jd_{name}")
    f = add(scaled(cross_triples(w, drift), 2), modes.bending, combined(modes.P, rates))
    n = add(matrix_vector(growth, w), cross_triples(w, spin), modes.twisting, combined(modes.H, rates))
    return n, f


def remainder(modes: Modal, motion: Motion, p: int) -> Any:
    """What is left of mode p's equation without unknown accelerations and applied forces."""
    ww, S = motion.products, modes.slopes[p]
    diagonal = sum_of_products((S[i][i], ww[i][i]) for i in range(3))
    rest = sum_of_products((S[i][j], ww[i][j]) for i in range(3) for j in range(i + 1, 3))
    value = sum_of_products(zip(modes.P[p], motion.a, strict=True))
    value = plus(value, sum_of_products(zip(modes.H[p], motion.alpha, strict=True)))
    value = plus(value, sum_of_products(zip(modes.coriolis[p], motion.w, strict=True)))
    value = minus(minus(value, times(0.5, diagonal)), rest)
    value = plus(value, combination(modes.M[p], modes.known_rates))
    return fn.named(plus(value, modes.restoring[p]), f"r_{modes.freedoms[p].index + 1}")
