"""Inertia and geometry of a tree's links as arrays, at one or several places at once.

A twist is (ω, v of the link's origin), in the link's axes. A flexible link's twist goes on with its modal
speeds ξ, and its inertia matrix has rows and columns for them:

    [ J   h̃   H  ]
    [ h̃ᵀ  m1  P  ]        h̃ v = h × v
    [ Hᵀ  Pᵀ  M  ]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.algebra.derivatives.calculus import Values, evaluator
from armillary.algebra.expression import Expr
from armillary.algebra.vectors.scalars import Scalar
from armillary.algebra.vectors.triples import unit
from armillary.algebra.walk import symbols
from armillary.mechanics.tree.tree import Link, Tree, deformed


@dataclass(frozen=True, eq=False)
class LinkArrays:
    """One link's numbers; the first axis of every array is that of the places."""

    inertia: np.ndarray  # 6 + modes by 6 + modes
    armature: np.ndarray  # of each of the link's degrees of freedom, modes included
    from_parent: np.ndarray  # twist of the link at rest in its joint, per unit twist of its parent
    length: np.ndarray  # of the offset from the parent's origin


class LinkInertias:
    """A tree's links, ready to be evaluated."""

    def __init__(self, tree: Tree) -> None:
        self.links = tree.links
        self._own = _Table([_own_entries(link) for link in tree.links])
        self._geometry: _Table | None = None

    @cached_property
    def constant(self) -> bool:
        """Whether all links are rigid and their inertias made of parameters alone."""
        return all(link.modes is None for link in self.links) and self._own.made_of("parameter")

    @cached_property
    def constant_lengths(self) -> bool:
        """Whether no link slides along another one: all offsets are made of parameters alone."""
        return _Table([link.offset for link in self.links if link.parent >= 0]).made_of("parameter")

    def own_inertias(self, values: Values) -> list[np.ndarray]:
        """Each link's own 6×6 inertia, for rigid links."""
        entries = self._own.at(values)
        if not entries:
            return []
        return list(
            _spatial(np.concatenate([own[:, :13] for own in entries])).reshape(len(entries), -1, 6, 6)
        )

    def at(self, values: Values) -> list[LinkArrays]:
        """All links' numbers, with scalars or equally long arrays for the symbols."""
        if self._geometry is None:
            self._geometry = _Table([_geometry_entries(link) for link in self.links])
        found = zip(self._own.at(values), self._geometry.at(values), strict=True)
        return [self._place(i, own, geometry) for i, (own, geometry) in enumerate(found)]

    def _place(self, i: int, own: np.ndarray, geometry: np.ndarray) -> LinkArrays:
        link = self.links[i]
        turned, offset = geometry[:, :9].reshape(-1, 3, 3), geometry[:, 9:12]
        k = 0 if link.modes is None else len(link.modes.freedoms)
        inertia = _spatial(own)
        if k:
            inertia = np.zeros((len(own), 6 + k, 6 + k))
            inertia[:, :6, :6] = _spatial(own)
            wrenches = own[:, 13 : 13 + 6 * k].reshape(-1, k, 6)
            inertia[:, 6:, :6], inertia[:, :6, 6:] = wrenches, wrenches.transpose(0, 2, 1)
            upper = np.triu(own[:, 13 + 6 * k : 13 + 6 * k + k * k].reshape(-1, k, k))
            inertia[:, 6:, 6:] = upper + np.triu(upper, 1).transpose(0, 2, 1)
        columns = geometry[:, 12:].reshape(len(own), -1, 6).transpose(0, 2, 1)
        held = link.carrier == i
        if held:  # its own modes move it
            moved = np.broadcast_to(np.eye(6 + k), inertia.shape).copy()
            moved[:, :6, 6:] = columns
            inertia = moved.transpose(0, 2, 1) @ inertia @ moved
        parent = self.links[link.parent].modes if link.parent >= 0 else None
        from_parent = np.zeros((len(own), 6, 6 + (len(parent.freedoms) if parent is not None else 0)))
        from_parent[:, :3, :3] = from_parent[:, 3:, 3:6] = turned
        from_parent[:, 3:, :3] = -turned @ _tilde(offset)
        if link.carrier >= 0 and not held:
            from_parent[:, :, 6:] = columns
        armature = own[:, 13 + 6 * k + k * k :]
        return LinkArrays(inertia, armature, from_parent, np.linalg.norm(offset, axis=1))


class _Table:
    """Rows of scalars, one per link, evaluated together."""

    def __init__(self, rows: Sequence[Sequence[Scalar]]) -> None:
        self._rows = rows
        nodes = list(dict.fromkeys(x for row in rows for x in row if isinstance(x, Expr)))
        self._nodes = nodes
        self._evaluate = evaluator(nodes)
        self._symbols = symbols(*nodes)

    def made_of(self, role: str) -> bool:
        """Whether all symbols have a role."""
        return all(s.data.role == role for s in self._symbols)

    def at(self, values: Values) -> list[np.ndarray]:
        """An array of places by entries for each row; symbols without a value count as one."""
        missing = {s: 1.0 for s in self._symbols if s not in values and s.data.name not in values}
        with np.errstate(all="ignore"):
            found = dict(zip(self._nodes, self._evaluate({**values, **missing}), strict=True))
        count = max((len(x) for x in values.values() if np.ndim(x)), default=1)
        return [self._array(row, found, count) for row in self._rows]

    @staticmethod
    def _array(row: Sequence[Scalar], found: Mapping[Expr, Scalar], count: int) -> np.ndarray:
        out = np.empty((count, len(row)))
        for j, x in enumerate(row):
            out[:, j] = found[x] if isinstance(x, Expr) else x
        return out


def _own_entries(link: Link) -> list[Scalar]:
    """m, h, J; then (H, P) and M of the modes; then the armatures."""
    shape = deformed(link)
    entries = [shape.mass, *shape.first, *(x for row in shape.inertia for x in row)]
    if link.modes is not None:
        for n, f in zip(link.modes.H, link.modes.P, strict=True):
            entries += [*n, *f]
        entries += [x for row in link.modes.M for x in row]
    return entries + [d.armature for d in link.degrees]


def _geometry_entries(link: Link) -> list[Scalar]:
    """The parent's axes in the link's, row by row; the offset; the columns of the modes that move it."""
    turned = [link.rotation.to_parent(unit(i)) for i in range(3)]
    entries = [x for column in turned for x in column]  # the transpose of v_parent = R v_link
    entries += link.offset
    for turning, moving in link.columns:
        entries += [*turning, *moving]
    return entries


def _spatial(entries: np.ndarray) -> np.ndarray:
    """[J h̃; h̃ᵀ m1] from m, h, J."""
    out = np.zeros((len(entries), 6, 6))
    out[:, :3, :3] = entries[:, 4:13].reshape(-1, 3, 3)
    out[:, :3, 3:] = _tilde(entries[:, 1:4])
    out[:, 3:, :3] = -out[:, :3, 3:]
    out[:, [3, 4, 5], [3, 4, 5]] = entries[:, :1]
    return out


def _tilde(a: np.ndarray) -> np.ndarray:
    """The matrices of a ×."""
    out = np.zeros((len(a), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -a[:, 2], a[:, 1], -a[:, 0]
    return out - out.transpose(0, 2, 1)
