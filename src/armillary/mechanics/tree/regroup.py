"""Equivalent trees that need fewer operations: origins of links are moved, and inertia is regrouped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    is_constant,
    is_zero,
    joined,
    matrix_sum,
    minus,
    negative,
    plus,
    scaled,
    times,
    unit,
    vanishes,
)
from armillary.mechanics.tree.tree import (
    LINEAR,
    Link,
    NoRotation,
    RotationChain,
    Tree,
    moment_inertia,
    point_mass_inertia,
    with_inertia,
)

# Moving origins of links so that offsets vanish.
#
# The origin of a turning link may be any point on its axis, and the origin of a sliding link may be any
# point. A shift d of the origin, constant in the link's axes, changes only constants:
#
#     the offset of the link by + d,     offsets of its children, and origins of bodies on it, by − d
#     h' = h − m d        J' = J − 2 (d·h) 1 + (d hᵀ + h dᵀ) + m (d·d 1 − d dᵀ)
#
# Each candidate d makes the offset of a child, or components of it, vanish. A shift is accepted if it leaves
# fewer nonzero components in the offsets of the link and its children. If the link has one child, an equal
# number is accepted too, since it moves offsets towards the ground, where they have no effect. With several
# children an equal number is not accepted, so that branches that are alike stay alike. Leaves are processed
# first.


def slide_origins(tree: Tree) -> Tree:
    """Return an equivalent tree with origins of turning and sliding links moved so that offsets vanish."""
    links, placements = list(tree.links), dict(tree.placements)
    children: list[list[int]] = [[] for _ in links]
    for i, link in enumerate(links):
        if link.parent >= 0:
            children[link.parent].append(i)
    for i in reversed(range(len(links))):
        d = _find_shift(links[i], [links[j].offset for j in children[i]])
        if d is None:
            continue
        links[i] = _move_origin(links[i], d)
        for j in children[i]:
            links[j] = replace(links[j], offset=_without(links[j].offset, d))
        for name, p in placements.items():
            if p.link == i:
                placements[name] = replace(p, origin=_without(p.origin, d))
    return replace(tree, links=tuple(links), placements=placements)


def _find_shift(link: Link, offsets: Sequence[Triple]) -> Triple | None:
    """Return the shift of a link's origin that leaves the fewest nonzero components of offsets, or `None` if
    no shift is accepted.
    """
    if link.step not in ("turn", "slide") or link.modes is not None or not offsets:
        return None
    k = link.freedoms[0].direction % LINEAR
    free = (k,) if link.step == "turn" else (0, 1, 2)
    found = [joined(r[i] if i in free and is_constant(r[i]) else 0 for i in range(3)) for r in offsets]
    candidates: list[Triple] = [d for d in found if not vanishes(d)]
    if not candidates:
        return None
    before = _count_nonzero(link.offset, link.parent, offsets)
    counts = [
        _count_nonzero(_move_origin(link, d).offset, link.parent, [_without(r, d) for r in offsets])
        for d in candidates
    ]
    least = min(counts)
    if least > before or (least == before and len(offsets) > 1):
        return None
    return candidates[counts.index(least)]


def _count_nonzero(own: Triple, parent: int, offsets: Sequence[Triple]) -> int:
    """Return the number of nonzero components of offsets, without the offset of a link on the ground."""
    around = offsets if parent < 0 else [own, *offsets]
    return sum(not is_zero(x) for r in around for x in r)


def _move_origin(link: Link, d: Triple) -> Link:
    """Return the link with its origin moved by d, in its own axes."""
    m, h = link.mass, link.first
    moments = matrix_sum(moment_inertia(negative(h), d), point_mass_inertia(m, d))
    return replace(
        link,
        offset=add(link.offset, link.constant_rotation.to_parent(d)),
        first=add(h, scaled(d, minus(0, m))),
        inertia=matrix_sum(link.inertia, moments),
    )


def _without(r: Triple, d: Triple) -> Triple:
    return joined(plus(a, minus(0, b)) for a, b in zip(r, d, strict=True))


# Regrouping of inertial parameters: parts of a child's inertia are moved to its parent.
#
# Some parts of a child's inertia have the same effect on the motion if they are fixed to the parent instead.
# From the leaves to the ground, these parts are moved to the parent. With mass m, first moment h and inertia
# J about the joint's point, and k the joint's axis, they are:
#
#     turn      m,  h_k k,  λ (1 − k kᵀ)  for any λ        the child keeps h ⟂ k and J − λ (1 − k kᵀ)
#     slide     J                                            since the child does not turn in its parent
#     tumble    m                                            since the point is fixed in both
#     fixed     all of it
#
# For a turn λ is free; a and b are the axes perpendicular to k. λ = J_aa or J_bb makes a diagonal element
# vanish. λ = (J_aa + J_bb − J_kk)/2, the second moment of mass along the axis, leaves the inertia of a flat
# plate perpendicular to the axis. Parts that reach the ground have no effect and are dropped. Regrouping
# changes only constants, before equations are derived; AUTOSIM's rotors, fixed masses and composite bodies
# (Sayers 1990, section 8.2) are special cases.

CHOICES = ("sparsest", "first", "second", "flat")


def simplify_tree(tree: Tree) -> Tree:
    """Return the equivalent tree that ``slide_origins``, then ``regroup`` make."""
    return regroup(slide_origins(tree))


def regroup(tree: Tree, choice: str = "sparsest") -> Tree:
    """Return an equivalent tree with inertia moved towards the ground as far as its joints allow.

    ``choice`` selects λ: J_aa ("first"), J_bb ("second"), the second moment along the axis ("flat"), or, for
    each turn separately, whichever of these leaves the fewest elements ("sparsest").
    """
    links = list(tree.links)
    for i in reversed(range(len(links))):
        child = links[i]
        if child.step in ("drift", "flexed"):
            continue
        kept, mass, first, inertia = _split_inertia(child, choice)
        links[i] = kept
        if child.parent >= 0:
            links[child.parent] = _add_to_parent(links[child.parent], child, mass, first, inertia)
    return _stop_rotor_axes(replace(tree, links=tuple(links)))


def _stop_rotor_axes(tree: Tree) -> Tree:
    """Return an equivalent tree in which the axes of rotors do not rotate.

    A rotor is a turning link without children whose only remaining inertia is the moment of inertia about its
    axis. Its equations are the same in axes that do not rotate with it, and these need no sine or cosine.
    """
    links, placements = list(tree.links), dict(tree.placements)
    carrying_others = {link.parent for link in links}
    for i, link in enumerate(links):
        if i in carrying_others or not _is_rotor(link):
            continue
        turning = link.rotation.second if isinstance(link.rotation, RotationChain) else link.rotation
        at_rest = link.rotation.first if isinstance(link.rotation, RotationChain) else NoRotation()
        links[i] = replace(link, rotation=at_rest)
        for name, p in placements.items():
            if p.link == i:
                columns = [turning.to_parent(column) for column in zip(*p.rotation, strict=True)]
                rotation: Matrix = joined(zip(*columns, strict=True))
                placements[name] = replace(p, rotation=rotation, origin=turning.to_parent(p.origin))
    return replace(tree, links=tuple(links), placements=placements)


def _is_rotor(link: Link) -> bool:
    if link.step != "turn" or link.modes is not None or isinstance(link.rotation, NoRotation):
        return False
    k = link.freedoms[0].direction
    J = link.inertia
    rest = [J[i][j] for i in range(3) for j in range(i, 3) if not i == j == k]
    return all(is_zero(x) for x in (link.mass, *link.first, *rest))


def _split_inertia(child: Link, choice: str) -> tuple[Link, Scalar, Triple, Matrix]:
    """Return (child after the split, mass, first moment, inertia); the last three move to the parent, and are
    given in the child's axes.
    """
    none: Matrix = (ZEROS, ZEROS, ZEROS)
    if child.step == "slide":
        return replace(child, inertia=none), 0, ZEROS, child.inertia
    if child.step == "tumble":
        return replace(child, mass=0), child.mass, ZEROS, none
    if child.step == "fixed":
        return replace(child, mass=0, first=ZEROS, inertia=none), child.mass, child.first, child.inertia
    k = child.freedoms[0].direction
    a, b = (k + 1) % 3, (k + 2) % 3
    J = child.inertia
    candidates = {
        "first": J[a][a],
        "second": J[b][b],
        "flat": times(0.5, minus(plus(J[a][a], J[b][b]), J[k][k])),
    }
    moved = candidates[choice] if choice != "sparsest" else _sparsest(candidates.values(), J[a][a], J[b][b])
    across = _across(k, moved)
    along = scaled(unit(k), child.first[k])
    first: Triple = joined(0 if i == k else child.first[i] for i in range(3))
    rest = matrix_sum(J, _across(k, minus(0, moved)))
    return replace(child, mass=0, first=first, inertia=rest), child.mass, along, across


def _sparsest(candidates: Iterable[Scalar], J_aa: Scalar, J_bb: Scalar) -> Scalar:
    """Return the λ that leaves the fewest diagonal elements in the child; among equals prefer zero."""
    return min(
        candidates,
        key=lambda moved: (
            sum(not is_zero(minus(J, moved)) for J in (J_aa, J_bb)),
            not is_zero(moved),
        ),
    )


def _across(k: int, value: Scalar) -> Matrix:
    """Return the matrix value (1 − k kᵀ) for coordinate axis k."""
    return joined(joined(value if i == j and i != k else 0 for j in range(3)) for i in range(3))


def _add_to_parent(parent: Link, child: Link, mass: Scalar, first: Triple, inertia: Matrix) -> Link:
    """Return the parent with a part of a child's inertia, given about the child's origin in its axes."""
    r = child.offset
    constant = child.constant_rotation
    h = constant.to_parent(first)
    J = constant.symmetric_to_parent(inertia, "")
    if child.step == "slide":
        return with_inertia(parent, 0, ZEROS, J)  # an inertia without mass is the same about any point
    shifted = matrix_sum(point_mass_inertia(mass, r), moment_inertia(h, r))
    return with_inertia(parent, mass, add(h, scaled(r, mass)), matrix_sum(J, shifted))
