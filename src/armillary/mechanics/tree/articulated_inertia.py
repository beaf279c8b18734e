"""Articulated inertia: a general symmetric 6×6 matrix at a link's origin, and its transfer to the parent.

About a link's origin, in its own axes, with angular and linear acceleration (α, a) counted beyond the
remainders:

    n = J α + H a + p_n        f = Hᵀ α + M a + p_f

Moved to the parent, turned and then shifted by the offset r,

    M' = M     H' = H + r̃ M     J' = J − H r̃ + r̃ H'ᵀ.

Source: Featherstone (1983).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    joined,
    matrix_sum,
    matrix_vector,
    named,
    named_matrix,
    named_symmetric,
    plus,
    scaled,
    skew,
    transposed,
)
from armillary.mechanics.tree.link_inertia import moment_inertia, point_mass_inertia
from armillary.mechanics.tree.loads import Wrench, wrench_at_parent
from armillary.mechanics.tree.tree import LINEAR, Freedom, Link, Tree


@dataclass(frozen=True, eq=False)
class Articulated:
    """Articulated inertia at a link's origin, and the wrench p at zero acceleration.

    ``rigid`` is the mass and first moment of a rigid body, if all of the inertia is rigid: H = h̃ and M = m 1
    are then turned and moved at less cost.
    """

    J: Matrix
    H: Matrix
    M: Matrix
    n: Triple
    f: Triple
    rigid: tuple[Scalar, Triple] | None = None

    def with_names(self, name: str) -> Articulated:
        """The same as intermediate values."""
        if self.rigid is not None:
            mass, first = self.rigid
            J = named_symmetric(self.J, f"J_{name}")
            n, f = named(self.n, f"n_{name}"), named(self.f, f"f_{name}")
            return rigid_body(mass, named(first, f"h_{name}"), J, n, f)
        return Articulated(
            named_symmetric(self.J, f"J_{name}"),
            named_matrix(self.H, f"H_{name}"),
            named_symmetric(self.M, f"M_{name}"),
            named(self.n, f"n_{name}"),
            named(self.f, f"f_{name}"),
        )

    def answer(self, alpha: Triple, a: Triple) -> Wrench:
        """(n, f) for an acceleration (α, a)."""
        n = add(matrix_vector(self.J, alpha), matrix_vector(self.H, a))
        return n, add(matrix_vector(transposed(self.H), alpha), matrix_vector(self.M, a))

    def column(self, d: Freedom) -> Wrench:
        """(n, f) for a unit acceleration along a degree of freedom."""
        k = d.direction % 3
        if d.direction >= LINEAR:
            return scaled([row[k] for row in self.H], d.sign), scaled(self.M[k], d.sign)
        return scaled(self.J[k], d.sign), scaled(self.H[k], d.sign)


def rigid_body(mass: Scalar, first: Triple, inertia: Matrix, n: Triple, f: Triple) -> Articulated:
    """The inertia of a rigid body about a point, with first moment h and inertia J there."""
    M: Matrix = ((mass, 0, 0), (0, mass, 0), (0, 0, mass))
    return Articulated(inertia, skew(first), M, n, f, (mass, first))


def inertia_at_parent(tree: Tree, index: int, body: Articulated) -> Articulated:
    """A link's articulated inertia at its parent's origin, in the parent's axes."""
    link = tree.links[index]
    if body.rigid is not None:
        return _carried_rigid(tree, index, body)
    M = link.rotation.symmetric_to_parent(body.M, f"Mp_{link.name}")
    H = link.rotation.general_to_parent(body.H, f"Hp_{link.name}")
    J = link.rotation.symmetric_to_parent(body.J, f"Jp_{link.name}")
    n, f = wrench_at_parent(tree, index, body.n, body.f)
    r = link.offset
    shifted = named_matrix(matrix_sum(H, _tilde_times(r, M)), f"Hs_{link.name}")
    moved = matrix_sum(matrix_sum(J, _minus_times_tilde(H, r)), _tilde_times(r, transposed(shifted)))
    return Articulated(upper(moved), shifted, M, n, f)


def _carried_rigid(tree: Tree, index: int, body: Articulated) -> Articulated:
    link = tree.links[index]
    assert body.rigid is not None
    mass, first = body.rigid
    h = named(link.rotation.to_parent(first), f"hp_{link.name}")
    J = link.rotation.symmetric_to_parent(body.J, f"Jp_{link.name}")
    r = link.offset
    shift = matrix_sum(moment_inertia(h, r), point_mass_inertia(mass, r))
    n, f = wrench_at_parent(tree, index, body.n, body.f)
    return rigid_body(mass, add(h, scaled(r, mass)), matrix_sum(J, shift), n, f)


def inertia_sum(a: Articulated, b: Articulated) -> Articulated:
    """The sum of two, about the same point."""
    if a.rigid is not None and b.rigid is not None:
        mass, first = plus(a.rigid[0], b.rigid[0]), add(a.rigid[1], b.rigid[1])
        return rigid_body(mass, first, matrix_sum(a.J, b.J), add(a.n, b.n), add(a.f, b.f))
    return Articulated(
        matrix_sum(a.J, b.J), matrix_sum(a.H, b.H), matrix_sum(a.M, b.M), add(a.n, b.n), add(a.f, b.f)
    )


def acceleration_from_parent(
    link: Link, reached: Sequence[Wrench] | Mapping[int, Wrench]
) -> tuple[Triple, Triple]:
    """(α, a) that the parent's acceleration gives a link."""
    if link.parent < 0:
        return ZEROS, ZEROS
    alpha, a = reached[link.parent]
    place = named(add(a, cross_triples(alpha, link.offset)), f"ap_{link.name}")
    turned, moved = link.rotation.to_child(alpha), link.rotation.to_child(place)
    return named(turned, f"al_{link.name}"), named(moved, f"al_{link.name}")


def _tilde_times(r: Triple, a: Matrix) -> Matrix:
    """r̃ a: the cross product of r with each column."""
    columns = [cross_triples(r, column) for column in transposed(a)]
    return transposed(joined(columns))


def _minus_times_tilde(a: Matrix, r: Triple) -> Matrix:
    """−a r̃: r × each row, since a r̃ = −(r̃ aᵀ)ᵀ."""
    return joined(cross_triples(r, row) for row in a)


def upper(a: Matrix) -> Matrix:
    """A symmetric matrix from its upper half, whose elements may be written differently below."""
    return joined(joined(a[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))
