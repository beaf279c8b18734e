"""Numerical pivots of a tree's mass matrix, joint by joint, at one or several places at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.algebra.calculus import Values, evaluator
from armillary.algebra.expression import Expr
from armillary.algebra.triples import Scalar, unit
from armillary.algebra.walk import symbols
from armillary.mechanics.tree.tree import Freedom, Link, Tree, deformed_link

# Inertia and geometry of a tree's links as arrays, at one or several places at once. A place is a set of
# values of all symbols: coordinates, parameters and others.
#
# A twist is (ω, v of the link's origin), in the link's axes. For a flexible link the modal speeds ξ follow
# the twist, and the inertia matrix has rows and columns for them:
#
#     [ J   h̃   H  ]
#     [ h̃ᵀ  m1  P  ]        h̃ v = h × v
#     [ Hᵀ  Pᵀ  M  ]


@dataclass(frozen=True, eq=False)
class LinkArrays:
    """One link's numbers; the first axis of every array runs over places."""

    inertia: np.ndarray  # (6 + modes) × (6 + modes)
    armature: np.ndarray  # of each of the link's degrees of freedom, modes included
    from_parent: np.ndarray  # twist of the link at rest in its joint, per unit twist of its parent
    length: np.ndarray  # of the offset from the parent's origin


class LinkInertias:
    """Inertias and geometry of a tree's links, prepared for evaluation at places."""

    def __init__(self, tree: Tree) -> None:
        self.links = tree.links
        self._own = _Table([_own_entries(link) for link in tree.links])
        self._geometry: _Table | None = None

    @cached_property
    def constant(self) -> bool:
        """Whether all links are rigid and their inertias depend on parameters alone."""
        return all(link.modes is None for link in self.links) and self._own.made_of("parameter")

    @cached_property
    def constant_lengths(self) -> bool:
        """Whether no link slides along another one, so that all offsets depend on parameters alone."""
        return _Table([link.offset for link in self.links if link.parent >= 0]).made_of("parameter")

    def own_inertias(self, values: Values) -> list[np.ndarray]:
        """Return each link's own 6×6 inertia at each place; all links must be rigid."""
        entries = self._own.at(values)
        if not entries:
            return []
        return list(
            _spatial(np.concatenate([own[:, :13] for own in entries])).reshape(len(entries), -1, 6, 6)
        )

    def at(self, values: Values) -> list[LinkArrays]:
        """Return the arrays of all links; ``values`` are numbers or equally long arrays by symbol."""
        if self._geometry is None:
            self._geometry = _Table([_geometry_entries(link) for link in self.links])
        found = zip(self._own.at(values), self._geometry.at(values), strict=True)
        return [self._place(i, own, geometry) for i, (own, geometry) in enumerate(found)]

    def _place(self, i: int, own: np.ndarray, geometry: np.ndarray) -> LinkArrays:
        link = self.links[i]
        rotations, offset = geometry[:, :9].reshape(-1, 3, 3), geometry[:, 9:12]
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
        if held:  # a flexible link that is held at one of its nodes
            moved = np.broadcast_to(np.eye(6 + k), inertia.shape).copy()
            moved[:, :6, 6:] = columns
            inertia = moved.transpose(0, 2, 1) @ inertia @ moved
        parent = self.links[link.parent].modes if link.parent >= 0 else None
        from_parent = np.zeros((len(own), 6, 6 + (len(parent.freedoms) if parent is not None else 0)))
        from_parent[:, :3, :3] = from_parent[:, 3:, 3:6] = rotations
        from_parent[:, 3:, :3] = -rotations @ _tilde(offset)
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
        """Return whether all symbols have this role."""
        return all(s.data.role == role for s in self._symbols)

    def at(self, values: Values) -> list[np.ndarray]:
        """Return, for each row, an array of places × entries; symbols without a value are set to one."""
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
    """Return the numbers m, h, J of a link, then (H, P) and M of its modes, then the armatures."""
    shape = deformed_link(link)
    entries = [shape.mass, *shape.first, *(x for row in shape.inertia for x in row)]
    if link.modes is not None:
        for n, f in zip(link.modes.H, link.modes.P, strict=True):
            entries += [*n, *f]
        entries += [x for row in link.modes.M for x in row]
    return entries + [d.armature for d in link.degrees]


def _geometry_entries(link: Link) -> list[Scalar]:
    """Return the rotation from the parent's to the link's axes, row by row; the offset; the modal columns."""
    turned = [link.rotation.to_parent(unit(i)) for i in range(3)]
    entries = [x for column in turned for x in column]  # rows of the transpose of R, with v_parent = R v_link
    entries += link.offset
    for turning, moving in link.columns:
        entries += [*turning, *moving]
    return entries


def _spatial(entries: np.ndarray) -> np.ndarray:
    """Return [J h̃; h̃ᵀ m1] from m, h, J."""
    out = np.zeros((len(entries), 6, 6))
    out[:, :3, :3] = entries[:, 4:13].reshape(-1, 3, 3)
    out[:, :3, 3:] = _tilde(entries[:, 1:4])
    out[:, 3:, :3] = -out[:, :3, 3:]
    out[:, [3, 4, 5], [3, 4, 5]] = entries[:, :1]
    return out


def _tilde(a: np.ndarray) -> np.ndarray:
    """Return ã for each a, with ã v = a × v."""
    out = np.zeros((len(a), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -a[:, 2], a[:, 1], -a[:, 0]
    return out - out.transpose(0, 2, 1)


# Numerical pivots of a tree's mass matrix, joint by joint, and the motions that move no mass.
#
# Leaves first, the degrees of freedom of a link (its joint's and its modes') are eliminated from its
# articulated inertia E as one block, with S the columns of their directions:
#
#     G = SᵀE S + A    E − E S G⁻¹ SᵀE goes to the parent
#
# with A the armatures of the joint.
#
# M is singular where one of the G is. Null directions of G are not eliminated, since they carry no momentum.
# So one sweep finds all singular joints of a tree, at a cost linear in the number of links. A null direction,
# with the motion of the links beyond it that keeps all mass at rest, is a null vector of M.
#
# G counts as singular if an eigenvalue is within the rounding errors of its computation: SINGULAR times the
# sum of the inertias that were added and subtracted to compute it (``made_of``). The criterion is independent
# of units.
#
# Source: Featherstone (1983) for the recursion.

SINGULAR = 1e-13  # share of the inertias in a pivot, below which the pivot counts as zero


@dataclass(frozen=True, eq=False)
class Pivot:
    """The pivot of a link's eliminated freedoms; the first axis of the arrays runs over places."""

    freedoms: tuple[Freedom, ...]
    indices: list[int]  # of the freedoms' directions in the link's twist
    signs: np.ndarray
    sizes: np.ndarray  # square roots of the sums of inertias (``made_of``) in the diagonal elements of G
    eigenvalues: np.ndarray  # of G in units of these sizes: small where G is singular
    vectors: np.ndarray
    coupling: np.ndarray  # SᵀE
    from_parent: np.ndarray

    @property
    def share(self) -> np.ndarray:
        """The inertia of the weakest direction at each place, as a share of the inertias in the pivot."""
        found: np.ndarray = np.min(np.abs(self.eigenvalues), axis=1, initial=1.0)
        return found

    def response(self, place: int, twist: np.ndarray) -> np.ndarray:
        """Return the rates of the freedoms that make the momentum along them zero, for a parent's twist."""
        values, vectors = self.eigenvalues[place], self.vectors[place]
        inverse = np.divide(1.0, values, where=np.abs(values) >= SINGULAR, out=np.zeros_like(values))
        right = -(self.coupling[place][:, :6] @ twist) / self.sizes[place]
        found: np.ndarray = (vectors @ (inverse * (vectors.T @ right))) / self.sizes[place]
        return found

    def null_directions(self, place: int) -> list[np.ndarray]:
        """Return an array of rates of the freedoms for each motion without inertia."""
        loose = self.vectors[place][:, np.abs(self.eigenvalues[place]) < SINGULAR].T
        return [v / self.sizes[place] for v in sparse_basis(loose)]

    def move_link(self, twist: np.ndarray, rates: np.ndarray, width: int) -> np.ndarray:
        """Return the link's twist and modal speeds with these rates of its freedoms."""
        out = np.zeros(width)
        out[:6] = twist
        out[self.indices] += self.signs * rates
        return out


def sparse_basis(vectors: np.ndarray) -> np.ndarray:
    """Return rows that span the same space, each with a 1 where the other rows have 0 (Gauss–Jordan)."""
    rows = np.array(vectors)
    for k in range(len(rows)):
        left = np.abs(rows[k:])
        i, j = divmod(int(np.argmax(left)), left.shape[1])
        rows[[k, k + i]] = rows[[k + i, k]]
        rows[k] /= rows[k, j]
        for other in range(len(rows)):
            if other != k:
                rows[other] -= rows[other, j] * rows[k]
    return rows


def active(link: Link) -> tuple[list[Freedom], list[int], np.ndarray]:
    """Return the unknown degrees of freedom of a link, their indices in its twist, and their signs."""
    found = [(d, d.direction, d.sign) for d in link.freedoms if not d.prescribed]
    if link.modes is not None:
        found += [(d, 6 + p, 1) for p, d in enumerate(link.modes.freedoms) if not d.prescribed]
    return [d for d, _, _ in found], [i for _, i, _ in found], np.array([s for *_, s in found], dtype=float)


def sweep(links: LinkInertias, values: Values) -> list[Pivot]:
    """Return the pivots of all links at places; NaN at places where the links' geometry is not finite."""
    places = links.at(values)
    felt = [p.inertia.copy() for p in places]
    made_of = [_diagonal(p.inertia) for p in places]
    found: list[Pivot] = []
    for i in reversed(range(len(places))):
        pivot, rest = _eliminate_freedoms(links.links[i], felt[i], made_of[i], places[i])
        found.append(pivot)
        parent = links.links[i].parent
        if parent >= 0:
            X = places[i].from_parent
            felt[parent] += X.transpose(0, 2, 1) @ rest @ X
            made_of[parent] += _sizes_at_parent(made_of[i], places[i], made_of[parent].shape[1])
    return found[::-1]


def least_share(links: LinkInertias, values: Values) -> float:
    """Return the least share of all pivots at one place, from each link's own inertia alone.

    Return 0 if an inertia is not positive, since links further from the ground may then reduce a pivot.
    """
    places = links.at(values)
    made_of = [_diagonal(p.inertia) for p in places]
    least = np.inf
    for i in reversed(range(len(places))):
        place, link = places[i], links.links[i]
        size = np.sqrt(np.diagonal(place.inertia, axis1=1, axis2=2))
        scaled = place.inertia / np.where(size > 0.0, size, 1.0)[:, :, None] / np.where(size > 0.0, size, 1.0)
        if not np.isfinite(scaled).all() or np.min(np.linalg.eigvalsh(scaled)) < -SINGULAR:
            return 0.0
        pivot, _ = _eliminate_freedoms(link, place.inertia, made_of[i], place)
        if pivot.freedoms:
            least = min(least, float(np.min(pivot.eigenvalues)))
        if link.parent >= 0:
            made_of[link.parent] += _sizes_at_parent(made_of[i], place, made_of[link.parent].shape[1])
    return least if least > 0.0 else 0.0


def _eliminate_freedoms(
    link: Link, E: np.ndarray, made_of: np.ndarray, place: LinkArrays
) -> tuple[Pivot, np.ndarray]:
    freedoms, indices, signs = active(link)
    armature = place.armature[:, [k for k, d in enumerate(link.degrees) if not d.prescribed]]
    coupling = E[:, indices, :] * signs[None, :, None]
    G = coupling[:, :, indices] * signs + armature[:, :, None] * np.eye(len(indices))
    size = np.sqrt(made_of[:, indices] + armature)
    size = np.where(size > 0.0, size, 1.0)
    scaled = G / size[:, :, None] / size[:, None, :]
    finite = np.isfinite(scaled).all(axis=(1, 2))
    values, vectors = np.linalg.eigh(np.where(finite[:, None, None], scaled, 0.0))
    solid = np.abs(values) >= SINGULAR
    along = vectors.transpose(0, 2, 1) @ (coupling[:, :, :6] / size[:, :, None])
    weight = np.divide(1.0, values, where=solid, out=np.zeros_like(values))
    rest = E[:, :6, :6] - along.transpose(0, 2, 1) @ (weight[:, :, None] * along)
    values = np.where(finite[:, None], values, np.nan)
    pivot = Pivot(tuple(freedoms), indices, signs, size, values, vectors, coupling, place.from_parent)
    return pivot, rest


def _diagonal(E: np.ndarray) -> np.ndarray:
    """Return the magnitudes of the diagonal elements, with sums of three in place of single elements.

    Angular and linear elements are summed over the axes, since rotations mix the axes.
    """
    out: np.ndarray = np.abs(np.diagonal(E, axis1=1, axis2=2)).copy()
    out[:, :3], out[:, 3:6] = out[:, :3].sum(axis=1, keepdims=True), out[:, 3:6].sum(axis=1, keepdims=True)
    return out


def _sizes_at_parent(made_of: np.ndarray, place: LinkArrays, width: int) -> np.ndarray:
    """Return the sizes of a link's inertias at its parent: J + m r², m, and for the parent's modes."""
    turning, moving = made_of[:, 0], made_of[:, 3]
    out = np.zeros((len(made_of), width))
    out[:, :3] = (turning + moving * place.length**2)[:, None]
    out[:, 3:6] = moving[:, None]
    squares = place.from_parent[:, :, 6:] ** 2
    angular, linear = squares[:, :3].sum(axis=1), squares[:, 3:].sum(axis=1)
    out[:, 6:] = angular * turning[:, None] + linear * moving[:, None]
    return out


def null_motion(
    links: LinkInertias, pivots: list[Pivot], first: int, rates: np.ndarray, place: int
) -> tuple[dict[int, float], dict[int, np.ndarray]]:
    """Return (speeds by index, twists by link) of a motion with these rates of link ``first``'s freedoms.

    All links before this link rest, and links beyond it move so that the momentum along their freedoms is 0.
    """
    speeds: dict[int, float] = {}
    twists: dict[int, np.ndarray] = {}
    for i in range(first, len(links.links)):
        pivot, parent = pivots[i], links.links[i].parent
        if i != first and parent not in twists:
            continue
        arrived = np.zeros(6) if i == first else pivot.from_parent[place] @ twists[parent]
        own = rates if i == first else pivot.response(place, arrived)
        modes = links.links[i].modes
        twists[i] = pivot.move_link(arrived, own, 6 + (len(modes.freedoms) if modes is not None else 0))
        speeds |= {d.index: float(x) for d, x in zip(pivot.freedoms, own, strict=True)}
    return speeds, twists
