"""Modal integrals of computed modes, and the removal of their rounding.

Modal integrals of a part from its mass matrix: one Gram matrix of rigid and deforming motions.

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

Computed modes without rounding: what is zero, one or equal in exact arithmetic becomes so.

Integrals and shapes of computed modes carry rounding errors that differ between processors and libraries of
linear algebra. A coupling of 1e-17 in place of 0 costs a multiplication and an addition, and two moments that
differ in their last bit cannot share a product; so the generated program, and its count of operations, would
differ too. The rule, for every coefficient x with its natural size s:

    |x| ≤ 1e-9 s              becomes 0
    ||x| − |y|| ≤ 1e-12 s     in one array, in H and J1, or in M, ½ J2 and H1: both get the same size
    ||x| − 1| ≤ 1e-12 s       becomes ±1

The natural size is the bound of Cauchy and Schwarz for the integral, with m the mass, J_s = ½ tr J = ∫r·r and
a_p = √M_pp:

    c: √(m J_s)    J: J_s    P_p: √m a_p    H_p, J1_p: √J_s a_p    ½ J2_pq, H1_qp: a_p a_q
    M, K, C: √(A_pp A_qq)    displacements of nodes: a_p/√m    rotations of nodes: a_p/√J_s

With foreshortening G, b_pq² = ∫G_pq·G_pq (at least b_pp b_qq) adds √J_s b_pq to J2 and H1, and g has √m b_pq.
Numbers that the user gives (modal integrals, coupling, shapes) are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from armillary.model.flexible.part import ORTHOGONAL, Array, FlexibleNode, FlexiblePart
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


EQUAL = 1e-12


def rounded(values: Array, size: Array | float) -> Array:
    """An array with the rule applied to its elements, which have these natural sizes."""
    return rounded_together((values, size))[0]


def rounded_together(*arrays: tuple[Array, Array | float]) -> list[Array]:
    """Arrays with the rule applied to all their elements, each array with its natural sizes."""
    sizes = [np.broadcast_to(np.asarray(size, dtype=float), values.shape) for values, size in arrays]
    whole = np.concatenate([values.ravel() for values, _ in arrays])
    size = np.concatenate([each.ravel() for each in sizes])
    whole[np.abs(whole) <= ORTHOGONAL * size] = 0.0
    there = np.flatnonzero(whole)
    if len(there):
        there = there[np.argsort(np.abs(whole[there]), kind="stable")]
        whole[there] = np.copysign(_common(np.abs(whole[there]), size[there]), whole[there])
    ends = np.cumsum([values.size for values, _ in arrays])
    return [
        part.reshape(values.shape)
        for part, (values, _) in zip(np.split(whole, ends[:-1]), arrays, strict=True)
    ]


def _common(magnitudes: Array, size: Array) -> Array:
    """Rising magnitudes: those that differ by rounding are made equal, those that are nearly 1 become 1."""
    below, above = size[:-1], size[1:]
    apart = np.diff(magnitudes) > EQUAL * np.minimum(above, below)
    group = np.concatenate([[0], np.cumsum(apart)])
    middle = np.searchsorted(group, np.arange(group[-1] + 1)) + (np.bincount(group) - 1) // 2
    common = magnitudes[middle]
    found: Array = np.where(np.abs(common - 1.0) <= EQUAL * size[middle], 1.0, common)[group]
    return found


def settle(part: FlexiblePart, shortening: Array | None = None, *, given: bool = False) -> FlexiblePart:
    """A part with the rule applied to its arrays and nodes; ``shortening`` is b_pq.

    ``given``: the modes are the user's, so only their integrals are computed numbers.
    """
    mass, polar = part.mass, 0.5 * float(np.trace(part.inertia))
    own = np.sqrt(np.diag(part.M))
    pairs = np.outer(own, own)
    drawn = np.zeros_like(pairs)
    if shortening is not None:
        diagonal = np.sqrt(np.diag(shortening))
        drawn = np.maximum(shortening, np.outer(diagonal, diagonal))
    second = pairs + np.sqrt(polar) * drawn
    H, J1 = rounded_together((part.H, np.sqrt(polar) * own), (part.J1, np.sqrt(polar) * own[:, None, None]))
    zero = np.zeros((0,))
    M, J2, H1 = rounded_together(
        (part.M, pairs),
        (zero, 0.0) if part.J2 is None else (0.5 * part.J2, second[:, :, None, None]),
        (zero, 0.0) if part.H1 is None else (part.H1, second[:, None, :]),
    )
    found = replace(
        part,
        mass=float(rounded(np.array([mass]), mass)[0]),
        first=rounded(part.first, np.sqrt(mass * polar)),
        inertia=rounded(part.inertia, polar),
        P=rounded(part.P, np.sqrt(mass) * own),
        H=H,
        M=M,
        J1=J1,
        J2=None if part.J2 is None else 2 * J2,
        H1=None if part.H1 is None else H1,
        g=None if part.g is None else rounded(part.g, np.sqrt(mass) * drawn[:, :, None]),
    )
    if given:
        return found
    anywhere, lumps = part.anywhere, part.lumps

    def node(known: FlexibleNode) -> FlexibleNode:
        shapes = _shapes(np.concatenate([known.shape, known.rotation])[None], mass, polar, own)[0]
        bent = known.shortening
        if bent is not None and mass > 0:
            bent = rounded(bent, drawn / np.sqrt(mass))
        return replace(known, shape=shapes[:3], rotation=shapes[3:], shortening=bent)

    if lumps is not None:
        moved = _shapes(lumps.shapes.reshape(-1, 6, part.modes), mass, polar, own)
        lumps = replace(lumps, shapes=moved.reshape(lumps.shapes.shape))
    return replace(
        found,
        K=rounded(part.K, _own_pairs(part.K)),
        C=rounded(part.C, _own_pairs(part.C)),
        nodes={name: node(known) for name, known in part.nodes.items()},
        lumps=lumps,
        anywhere=anywhere and (lambda place: node(anywhere(place))),
    )


def shortening_size(masses: Array, shortening: Array | None) -> Array | None:
    """b_pq = √∫G_pq·G_pq of foreshortening G (n × 3 × N × N) of separate masses."""
    if shortening is None:
        return None
    found: Array | None = np.sqrt(np.einsum("s,sapq->pq", masses, shortening**2))
    return found


def _own_pairs(matrix: Array) -> Array:
    own = np.sqrt(np.abs(np.diag(matrix)))
    return np.outer(own, own)


def _shapes(shapes: Array, mass: float, polar: float, own: Array) -> Array:
    """Shapes n × 6 × N: displacements and rotations have sizes of their own."""
    found = shapes.copy()
    for half, weight in ((slice(3), mass), (slice(3, 6), polar)):
        if weight > 0:
            found[:, half] = rounded(shapes[:, half], own / np.sqrt(weight))
    return found
