"""Computed modes without rounding: what is zero, one or equal in exact arithmetic becomes so.

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

from dataclasses import replace

import numpy as np

from armillary.model.flexible.part import ORTHOGONAL, Array, FlexibleNode, FlexiblePart

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
