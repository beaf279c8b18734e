"""Appendages of MBDYFN and MBDYFL from the flexible parts of a description.

They take a part's modes as they are, in the axes of their group and about its o. What makes them JPL's is the
reduced modal mass M − PᵀP/M_total: a unit matrix for modes that were normalised so (``total_mass=``), and as
good for any other basis of the same shapes. Second-order terms of the part are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.vectors.matrices import matrix_vector
from armillary.algebra.vectors.scalars import Scalar, minus, times
from armillary.algebra.vectors.triples import Triple, add, cross_triples, negative
from armillary.mechanics.formalisms.jpl.conversion.substructures import HingedGroup, numbers
from armillary.mechanics.formalisms.jpl.vehicle import Appendage, NodeLoad, Square
from armillary.mechanics.tree.build import Reader
from armillary.mechanics.tree.tree import Placement
from armillary.model.bodies.body import Body
from armillary.model.flexible.part import FlexiblePart

Pairs = Mapping[str, tuple[Triple, Triple]]  # force and torque on nodes by their keys, in group axes

# Elements of a reduced mass matrix this much smaller than its diagonal are rounding of M − PᵀP/M_total.
_ROUNDING = 1e-13


def columns(matrix: np.ndarray, place: Placement) -> list[Triple]:
    """The columns of a 3 × N array in a body's axes, in those of its group; zeros exactly zero."""
    return [matrix_vector(place.rotation, numbers(column)) for column in np.asarray(matrix).T]


def appendage(
    body: Body, place: Placement, group: HingedGroup, total_mass: Scalar, pairs: Pairs, read: Reader
) -> Appendage:
    """The appendage of a flexible body."""
    assert body.flex is not None
    part = body.flex.part
    P, H = columns(part.P, place), columns(part.H, place)
    arm = add(place.origin, negative(group.centre))
    loads = tuple(
        NodeLoad(
            add(place.point(numbers(node.position)), negative(group.centre)),
            columns(node.shape, place),
            columns(node.rotation, place),
            *pair,
        )
        for node, pair in ((part.node(key), pair) for key, pair in pairs.items())
    )
    return Appendage(
        P,
        [add(h, cross_triples(arm, p)) for h, p in zip(H, P, strict=True)],
        reduced_modal_mass(part, total_mass),
        _plain(part.K),
        _plain(part.C),
        [read(q) for q in body.flex.coordinates],
        [read(u) for u in body.flex.speeds],
        loads,
    )


def reduced_modal_mass(part: FlexiblePart, total_mass: Scalar) -> Square:
    """M − PᵀP/M_total."""
    shared = part.P.T @ part.P
    if isinstance(total_mass, Expr):
        return [
            [minus(m, times(s, 1 / total_mass)) for m, s in zip(row, other, strict=True)]
            for row, other in zip(_plain(part.M), _plain(shared), strict=True)
        ]
    found = part.M - shared / total_mass
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    return _plain(np.where(np.abs(found) < _ROUNDING * scale, 0.0, found))


def _plain(matrix: np.ndarray) -> list[list[Scalar]]:
    return [[float(x) if x else 0 for x in row] for row in matrix]
