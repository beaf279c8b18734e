"""Modal integrals of a part from its mass matrix: one Gram matrix of rigid and deforming motions.

Every node s has six displacements, translation and rotation. In axes that turn with the node, the body's
motion v, ω and the modal rates ξ move it with

    translation   v + ω × (r + ψη + ½ηGη) + (ψ + Gη)ξ
    rotation      Rᵀω + J_r θξ,      Rᵀ = 1 − b̃ + ½ b̃b̃,   J_r = 1 − ½ b̃,   b = θη

with ψ, θ the node's shapes and G its foreshortening. Half the square of that in the mass matrix is the
kinetic energy of `part.FlexiblePart`; every array there is a coefficient of it. For lumped nodes (m 1, I)
these are the sums over particles and small bodies of Stoneking (2010), with the inertia of each node turned
by RIRᵀ. For a consistent mass matrix they are exact wherever its interpolation carries ω × u(x) as it carries
u(x): always with m ⊗ 1₃ (solids), and for bending of beam elements; otherwise second-order terms hold as well
as the mesh does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armillary.model.flexible.part import Array
from armillary.untyped import DataTable

# A mass matrix at work: it maps motions of all nodes (n × 6 × k) to their momenta (n × 6 × k).
MassTimes = Callable[[Array], Array]

_PERMUTATION = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _PERMUTATION[_i, _j, _k], _PERMUTATION[_i, _k, _j] = 1.0, -1.0


def cross_matrix(vectors: Array) -> Array:
    """ṽ with ṽw = v × w, for vectors along the last axis."""
    found: Array = -np.einsum("abc,...c->...ab", _PERMUTATION, vectors)
    return found


def lumped(masses: Array, inertias: Array) -> MassTimes:
    """The mass matrix of separate nodes with masses (n) and inertias (n × 3 × 3)."""

    def apply(motion: Array) -> Array:
        linear, angular = masses[:, None, None] * motion[:, :3], inertias @ motion[:, 3:]
        return np.concatenate([linear, angular], axis=1)

    return apply


def rigid_motions(positions: Array) -> Array:
    """Translations and rotations about the origin as motions of the nodes, n × 6 × 6."""
    motions = np.zeros((len(positions), 6, 6))
    motions[:, :3, :3] = motions[:, 3:, 3:] = np.eye(3)
    motions[:, :3, 3:] = -cross_matrix(positions)
    return motions


def modal_integrals(
    apply: MassTimes,
    positions: Array,
    shapes: Array,
    *,
    second_order: bool = True,
    shortening: Array | None = None,
) -> DataTable:
    """Fields mass, first, inertia, P, H, M, J1 (and J2, H1, g where requested) of a `FlexiblePart`.

    ``positions`` n × 3, ``shapes`` n × 6 × N, ``shortening`` n × 3 × N × N.
    """
    rigid = rigid_motions(positions)
    momentum = apply(rigid)
    gram = np.tensordot(rigid, momentum, ([0, 1], [0, 1]))
    coupling = np.tensordot(momentum, shapes, ([0, 1], [0, 1]))
    modal = np.tensordot(shapes, apply(shapes), ([0, 1], [0, 1]))
    turning = momentum[:, :, 3:]  # momenta of a rotation of the whole
    found: DataTable = {
        "mass": float(np.trace(gram[:3, :3]) / 3),
        "first": 0.5 * np.einsum("abc,bc->a", _PERMUTATION, gram[:3, 3:]),  # there stands −c̃
        "inertia": _twin(gram[3:, 3:]),
        "P": coupling[:3],
        "H": coupling[3:],
        "M": _twin(modal),
        "J1": 2 * _twin(_against_turned(turning, shapes)),
    }
    if second_order or shortening is not None:
        found["J2"], found["H1"] = _second_order(apply, turning, shapes)
    if shortening is not None:
        found["g"] = np.einsum("sai,sapq->pqi", momentum[:, :3, :3], shortening, optimize=True)
        found["H1"] = found["H1"] + np.einsum("sai,sapq->qip", turning[:, :3], shortening, optimize=True)
        moved = np.einsum("sai,sbpq->pqiab", turning[:, :3], shortening, optimize=True)
        found["J2"] = found["J2"] + 2 * _twin(np.einsum("pqiab,acb->pqic", moved, _PERMUTATION))
    return found


def _twin(matrices: Array) -> Array:
    """The symmetric part in the last two axes."""
    found: Array = 0.5 * (matrices + np.swapaxes(matrices, -1, -2))
    return found


def _against_turned(momentum: Array, shapes: Array) -> Array:
    """Σ momentumᵀ S_p, N × 3 × 3, where S_p = (−ψ̃_p, −θ̃_p) is the motion of the deflection p when turned."""
    halves = ((momentum[:, half], shapes[:, half]) for half in (slice(3), slice(3, 6)))
    moved = sum(np.tensordot(p, psi, ([0], [0])) for p, psi in halves)
    found: Array = np.einsum("aibp,acb->pic", moved, _PERMUTATION)
    return found


def _second_order(apply: MassTimes, turning: Array, shapes: Array) -> tuple[Array, Array]:
    """J2 (N × N × 3 × 3) and H1 (N × 3 × N) without foreshortening."""
    count = shapes.shape[2]
    second, rates = np.zeros((count, count, 3, 3)), np.zeros((count, 3, count))
    angles, spin = shapes[:, 3:], turning[:, 3:]
    turns = bool(np.any(angles)) and bool(np.any(spin))
    for p in range(count):
        turned = np.concatenate([-cross_matrix(shapes[:, :3, p]), -cross_matrix(angles[:, :, p])], axis=1)
        momentum = apply(turned)
        second[p] = 2 * _twin(_against_turned(momentum, shapes))
        rates[p] = np.tensordot(momentum, shapes, ([0, 1], [0, 1]))
        if turns:
            own = angles[:, :, p]
            between = np.einsum("abc,sb,scq->saq", _PERMUTATION, own, angles, optimize=True)
            rates[p] -= 0.5 * np.tensordot(spin, between, ([0, 1], [0, 1]))
            # b̃b̃ = bbᵀ − b·b 1, polarised: ½(θ_p θ_qᵀ + θ_q θ_pᵀ) − θ_p·θ_q 1
            outer = np.einsum("sai,sa,scq->qic", spin, own, angles, optimize=True)
            outer += np.einsum("sai,saq,sc->qic", spin, angles, own, optimize=True)
            inner = np.einsum("sci,sa,saq->qic", spin, own, angles, optimize=True)
            second[p] += 2 * _twin(0.5 * outer - inner)
    return 0.5 * (second + np.swapaxes(second, 0, 1)), rates
