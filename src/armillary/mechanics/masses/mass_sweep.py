"""Pivots of a tree's mass matrix by numbers, joint by joint, and the motions that move no mass.

Leaves first, the degrees of freedom of a link (its joint's and its modes') are taken out of its articulated
inertia E as one block, with S the columns of their directions:

    G = SᵀE S + A    E − E S G⁻¹ SᵀE goes to the parent

with A the armatures of the joint.

M is singular where some G is. Along the null directions of G nothing is taken out (they carry no momentum),
so that all singular joints of a tree are found in one sweep, at a cost linear in the number of links. A null
direction, with the motion of the links beyond it that keeps all mass at rest, is a null vector of M.

What counts as zero: G is compared with the rounding errors that its computation leaves, SINGULAR times the
inertias that were added and subtracted on the way. No units or sizes enter.

Source: Featherstone (1983) for the recursion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.algebra.derivatives.calculus import Values
from armillary.mechanics.masses.link_inertia import LinkArrays, LinkInertias
from armillary.mechanics.tree.tree import Freedom, Link

SINGULAR = 1e-13  # of the inertias that a pivot was made of: below this nothing is left


@dataclass(frozen=True, eq=False)
class Pivot:
    """A link's freedoms taken out; the first axis of the arrays is that of the places."""

    freedoms: tuple[Freedom, ...]
    indices: list[int]  # of their directions in the link's twist
    signs: np.ndarray
    sizes: np.ndarray  # square roots of what each diagonal element of G was made of
    eigenvalues: np.ndarray  # of G, with these sizes as units: small where it is singular
    vectors: np.ndarray
    coupling: np.ndarray  # SᵀE
    from_parent: np.ndarray

    @property
    def share(self) -> np.ndarray:
        """The remaining share of the weakest direction, of the inertias it was made of, at each place."""
        found: np.ndarray = np.min(np.abs(self.eigenvalues), axis=1, initial=1.0)
        return found

    def response(self, place: int, twist: np.ndarray) -> np.ndarray:
        """Rates of the freedoms with which the link's momentum along them stays zero."""
        values, vectors = self.eigenvalues[place], self.vectors[place]
        inverse = np.divide(1.0, values, where=np.abs(values) >= SINGULAR, out=np.zeros_like(values))
        right = -(self.coupling[place][:, :6] @ twist) / self.sizes[place]
        found: np.ndarray = (vectors @ (inverse * (vectors.T @ right))) / self.sizes[place]
        return found

    def null_directions(self, place: int) -> list[np.ndarray]:
        """Rates of the freedoms that meet no inertia."""
        loose = self.vectors[place][:, np.abs(self.eigenvalues[place]) < SINGULAR].T
        return [v / self.sizes[place] for v in sparse_basis(loose)]

    def moved(self, twist: np.ndarray, rates: np.ndarray, width: int) -> np.ndarray:
        """The link's twist and modal speeds with these rates of its freedoms."""
        out = np.zeros(width)
        out[:6] = twist
        out[self.indices] += self.signs * rates
        return out


def sparse_basis(vectors: np.ndarray) -> np.ndarray:
    """Rows that span the same space, each with a one where the others have zeros (Gauss and Jordan)."""
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
    """The unknown degrees of freedom of a link, their places in its twist, and their signs."""
    found = [(d, d.direction, d.sign) for d in link.freedoms if not d.prescribed]
    if link.modes is not None:
        found += [(d, 6 + p, 1) for p, d in enumerate(link.modes.freedoms) if not d.prescribed]
    return [d for d, _, _ in found], [i for _, i, _ in found], np.array([s for *_, s in found], dtype=float)


def sweep(links: LinkInertias, values: Values) -> list[Pivot]:
    """The pivots of all links at places; not a number at a place where the links' geometry is not."""
    places = links.at(values)
    felt = [p.inertia.copy() for p in places]
    made_of = [_diagonal(p.inertia) for p in places]
    found: list[Pivot] = []
    for i in reversed(range(len(places))):
        pivot, rest = _taken_out(links.links[i], felt[i], made_of[i], places[i])
        found.append(pivot)
        parent = links.links[i].parent
        if parent >= 0:
            X = places[i].from_parent
            felt[parent] += X.transpose(0, 2, 1) @ rest @ X
            made_of[parent] += _handed_on(made_of[i], places[i], made_of[parent].shape[1])
    return found[::-1]


def least_share(links: LinkInertias, values: Values) -> float:
    """The least share of all pivots at one place if what hangs on a link added nothing to them; 0 where an
    inertia is not positive, so that something might be taken away.
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
        pivot, _ = _taken_out(link, place.inertia, made_of[i], place)
        if pivot.freedoms:
            least = min(least, float(np.min(pivot.eigenvalues)))
        if link.parent >= 0:
            made_of[link.parent] += _handed_on(made_of[i], place, made_of[link.parent].shape[1])
    return least if least > 0.0 else 0.0


def _taken_out(link: Link, E: np.ndarray, made_of: np.ndarray, place: LinkArrays) -> tuple[Pivot, np.ndarray]:
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
    """Sizes of the elements: each angular one by all three, since axes are turned into one another."""
    out: np.ndarray = np.abs(np.diagonal(E, axis1=1, axis2=2)).copy()
    out[:, :3], out[:, 3:6] = out[:, :3].sum(axis=1, keepdims=True), out[:, 3:6].sum(axis=1, keepdims=True)
    return out


def _handed_on(made_of: np.ndarray, place: LinkArrays, width: int) -> np.ndarray:
    """The sum of a link's inertias, at its parent: J + m r² about the origin, m, and through modes."""
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
    """(speeds by index, twists by link) of the motion in which a link's freedoms have these rates, all links
    before it rest, and those beyond it move such that no momentum arises.
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
        twists[i] = pivot.moved(arrived, own, 6 + (len(modes.freedoms) if modes is not None else 0))
        speeds |= {d.index: float(x) for d, x in zip(pivot.freedoms, own, strict=True)}
    return speeds, twists
