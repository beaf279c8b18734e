"""Integrals of complex modes over an appendage's nodal bodies, and its deformed inertia.

For a shape of displacements φ and rotations θ, in the axes of the body and with r from o,

    p = Σ m φ        h = Σ (m r × φ + I θ)        J' = Σ (m (2 r·φ 1 − r φᵀ − φ rᵀ) + [θ] I − I [θ])

are constants. The deformation needs no more than these, however many nodes there are: J' is the change of
inertia by the shape, and ½ w·J' w is the work on it of the inertia forces −m w × (w × r) and −w × I w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.vectors.matrices import (
    SIX,
    Matrix,
    matrix_product,
    matrix_sum,
    matrix_vector,
    scaled_matrix,
    skew,
)
from armillary.algebra.vectors.scalars import Scalar, inner, minus, times
from armillary.algebra.vectors.triples import Triple, add, combined, cross_triples, named, negative, scaled
from armillary.mechanics.formalisms.jpl.formulations.modal import ModalColumns
from armillary.mechanics.formalisms.jpl.vehicle import SpinningAppendage
from armillary.mechanics.tree.inertia.rigid_inertia import moment_inertia
from armillary.model.flexible.deformation import weighted_sum


@dataclass(frozen=True, eq=False)
class ShapeIntegrals:
    """p, h and J' of each shape."""

    momenta: list[Triple]
    moments: list[Triple]
    slopes: list[Matrix]


@dataclass(frozen=True, eq=False)
class AppendageDeformation:
    """An appendage at its states: M_k c, M_k ċ, the change of inertia and its rate, angular momentum."""

    shift: Triple
    shift_rate: Triple
    inertia: Matrix
    inertia_rate: Matrix
    spin: Triple


def shape_integrals(part: SpinningAppendage) -> tuple[ShapeIntegrals, ShapeIntegrals]:
    """Those of Γ, whose mode drives δ, then those of Ψ, whose mode drives η."""
    count = range(len(part.frequencies))
    sides = []
    for shapes in (
        [(s, s.gamma, s.gamma_turn) for s in part.particles],
        [(s, s.psi, s.psi_turn) for s in part.particles],
    ):
        found = ShapeIntegrals([], [], [])
        for n in count:
            own = [scaled(moved[n], s.mass) for s, moved, _ in shapes]
            spins = [matrix_vector(s.inertia, turned[n]) for s, _, turned in shapes]
            spins += [cross_triples(s.place, p) for (s, _, _), p in zip(shapes, own, strict=True)]
            slopes = [moment_inertia(p, s.place) for (s, _, _), p in zip(shapes, own, strict=True)]
            slopes += [_commuted(turned[n], s.inertia) for s, _, turned in shapes]
            found.momenta.append(add(*own))
            found.moments.append(add(*spins))
            found.slopes.append(matrix_sum(*slopes))
        sides.append(found)
    return sides[0], sides[1]


def coupling(k: int, part: SpinningAppendage) -> ModalColumns:
    """The modal columns of an appendage: −2σ p and −2σ h of Γ for δ, of Ψ for η."""
    momenta: list[Triple] = []
    moments: list[Triple] = []
    for side in shape_integrals(part):
        momenta += [scaled(p, times(-2, s)) for p, s in zip(side.momenta, part.frequencies, strict=True)]
        moments += [scaled(h, times(-2, s)) for h, s in zip(side.moments, part.frequencies, strict=True)]
    count = len(momenta)
    twice = [[2 if i == j else 0 for j in range(count)] for i in range(count)]
    return ModalColumns(k, momenta, moments, twice, (*part.delta, *part.eta))


def appendage_deformation(part: SpinningAppendage, columns: ModalColumns, name: str) -> AppendageDeformation:
    """The deformation q = 2 (Ψ δ − Γ η), q̇ = −2 (Γ σ δ + Ψ σ η) of an appendage."""
    gamma, psi = shape_integrals(part)
    moved = add(combined(psi.momenta, part.delta), negative(combined(gamma.momenta, part.eta)))
    states = (*part.delta, *part.eta)
    rates = [times(s, x) for s, x in zip((*part.frequencies, *part.frequencies), states, strict=True)]
    bent = [*psi.slopes, *(scaled_matrix(m, -1) for m in gamma.slopes)]
    return AppendageDeformation(
        scaled(moved, -2),
        negative(combined(columns.momenta, states)),
        weighted_sum(bent, [times(2, x) for x in states], f"dJ_{name}"),
        weighted_sum([*gamma.slopes, *psi.slopes], [times(-2, x) for x in rates], f"Jd_{name}"),
        named(combined(columns.moments, states), f"h_{name}"),
    )


def inertia_work(slope: Matrix, squares: Sequence[Scalar], nominal: Triple) -> Scalar:
    """½ (w·J' w − Ω·J' Ω): the work of the inertia forces beyond the nominal ones; ``squares`` of w."""
    half = [slope[i][j] if i != j else times(0.5, slope[i][i]) for i, j in SIX]
    return inner(half, [minus(x, y) for x, y in zip(squares, squares_of(nominal), strict=True)])


def squares_of(w: Triple) -> list[Scalar]:
    """w_i w_j, in the order of SIX."""
    return [times(w[i], w[j]) for i, j in SIX]


def _commuted(b: Triple, inertia: Matrix) -> Matrix:
    """[b] I − I [b]."""
    turn = skew(b)
    return matrix_sum(matrix_product(turn, inertia), scaled_matrix(matrix_product(inertia, turn), -1))
