"""Inertia of one link: second moments of mass, and the modes of a flexible link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    ZERO_MATRIX,
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    add,
    combination,
    combined,
    cross_triples,
    is_zero,
    joined,
    matrix_vector,
    minus,
    named,
    plus,
    scaled,
    sum_of_products,
    times,
)
from armillary.model.flexible.deformation import Deformation, deformation, weighted
from armillary.model.recording.records import Flexible

if TYPE_CHECKING:
    from armillary.mechanics.tree.kinematics import Motion
    from armillary.mechanics.tree.tree import Freedom


# Second moments of mass: of mass points, and of first moments whose point of reference moves.


def point_mass_inertia(mass: Scalar, r: Triple) -> Matrix:
    """m (r·r 1 − r rᵀ)."""
    return moment_inertia(scaled(r, times(mass, 0.5)), r) if not is_zero(mass) else ZERO_MATRIX


def moment_inertia(h: Triple, r: Triple) -> Matrix:
    """2 (r·h) 1 − (r hᵀ + h rᵀ): the change of inertia when the point of a first moment h moves by r."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            if i == j:
                a, b = (k for k in range(3) if k != i)
                row.append(times(2, plus(times(r[a], h[a]), times(r[b], h[b]))))
            else:
                row.append(minus(0, plus(times(r[i], h[j]), times(h[i], r[j]))))
        rows.append(joined(row))
    return joined(rows)


# The modes of a flexible link: their part of its inertia wrench, and their own equations.
#
# With the kinetic energy of ``model/flexible/part.py`` in the link's axes, Boltzmann and Hamel's equations
# are
#
#     f = m a + α × c + ω × (ω × c) + 2 ω × Pξ + Σ g_pq ξ_p ξ_q + P ξ̇
#     n = J α + ω × Jω + c × a + J̇ω + ω × Hξ + Ḣξ + H ξ̇
#     P_p·a + H_p·α + Σ M_pq ξ̇_q + 2 ω·Σ ξ_q A_qp − ½ ω·(∂J/∂η_p) ω + (Kη + Cξ)_p = applied

Wrench = tuple[Triple, Triple]


@dataclass(frozen=True, eq=False)
class LinkModes(Deformation):
    """Modes of a link: its shape, and their degrees of freedom."""

    freedoms: tuple[Freedom, ...] = ()

    def map(self, f: ScalarMap) -> LinkModes:
        """The same over other scalars."""
        return LinkModes(**self.fields(f), freedoms=tuple(d.map(f) for d in self.freedoms))

    @property
    def speeds(self) -> list[Scalar]:
        """ξ."""
        return [d.speed for d in self.freedoms]

    @property
    def known_rates(self) -> list[Scalar]:
        """Rates of modal speeds that are given, and known parts of dependent ones."""
        return [0 if d.rate is None else d.rate for d in self.freedoms]


def link_modes(name: str, flex: Flexible, freedoms: tuple[Freedom, ...]) -> LinkModes:
    """The modes of a body's flexible part."""
    shape = deformation(name, flex.part, flex.coordinates, flex.speeds)
    return LinkModes(**shape.fields(lambda x: x), freedoms=freedoms)


def modal_wrench(modes: LinkModes, motion: Motion, name: str) -> Wrench:
    """The part of a link's inertia wrench (n, f) from modal speeds and known modal accelerations."""
    n, f = deformation_wrench(modes, modes.speeds, motion.w, name)
    return add(n, combined(modes.H, modes.known_rates)), add(f, combined(modes.P, modes.known_rates))


def deformation_wrench(shape: Deformation, xi: Sequence[Scalar], w: Triple, name: str) -> Wrench:
    """(J̇ω + ω × Hξ + Ḣξ, 2 ω × Pξ + Σ g ξξ): the inertia wrench of modal speeds at steady ξ."""
    drift = named(combined(shape.P, xi), f"Pxi_{name}")
    spin = named(combined(shape.H, xi), f"Hxi_{name}")
    growth = weighted(shape.slopes, xi, f"Jd_{name}")
    f = add(scaled(cross_triples(w, drift), 2), shape.bending)
    return add(matrix_vector(growth, w), cross_triples(w, spin), shape.twisting), f


def modal_remainder(modes: LinkModes, motion: Motion, p: int) -> Scalar:
    """The rest of mode p's equation without unknown accelerations and applied forces."""
    ww, S = motion.products, modes.slopes[p]
    diagonal = sum_of_products((S[i][i], ww[i][i]) for i in range(3))
    rest = sum_of_products((S[i][j], ww[i][j]) for i in range(3) for j in range(i + 1, 3))
    value = sum_of_products(zip(modes.P[p], motion.a, strict=True))
    value = plus(value, sum_of_products(zip(modes.H[p], motion.alpha, strict=True)))
    value = plus(value, sum_of_products(zip(modes.coriolis[p], motion.w, strict=True)))
    value = minus(minus(value, times(0.5, diagonal)), rest)
    value = plus(value, combination(modes.M[p], modes.known_rates))
    return fn.named(plus(value, modes.restoring[p]), f"r_{modes.freedoms[p].index + 1}")
