"""Origins of links slid to where offsets vanish.

The motion of a turning link is the same for every point of its axis as its origin, and that of a sliding link
for every point at all. A slide d of the origin, constant in the link's axes, changes constants alone:

    offset of the link  + d        of its children, of bodies on it  − d
    h' = h − m d        J' = J − 2 (d·h) 1 + (d hᵀ + h dᵀ) + m (d·d 1 − d dᵀ)

Each d lets the offset of a child, or a component of it, vanish. It is accepted where fewer components of the
offsets around the link are left than before, and as many where the link has one child: then offsets gather
towards the ground, where they have no effect. Leaves come first. With several children a mere exchange is not
accepted, so that branches that are alike stay alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armillary.algebra.vectors.matrices import matrix_sum
from armillary.algebra.vectors.scalars import is_constant, is_zero, minus, plus
from armillary.algebra.vectors.triples import Triple, add, joined, negative, scaled, vanishes
from armillary.mechanics.tree.inertia.rigid_inertia import moment_inertia, point_mass_inertia
from armillary.mechanics.tree.tree import LINEAR, Link, Tree


def slide_origins(tree: Tree) -> Tree:
    """The tree with origins of turning and sliding links where the fewest offsets are left; exact."""
    links, placements = list(tree.links), dict(tree.placements)
    children: list[list[int]] = [[] for _ in links]
    for i, link in enumerate(links):
        if link.parent >= 0:
            children[link.parent].append(i)
    for i in reversed(range(len(links))):
        d = _slide(links[i], [links[j].offset for j in children[i]])
        if d is None:
            continue
        links[i] = _moved(links[i], d)
        for j in children[i]:
            links[j] = replace(links[j], offset=_without(links[j].offset, d))
        for name, p in placements.items():
            if p.link == i:
                placements[name] = replace(p, origin=_without(p.origin, d))
    return replace(tree, links=tuple(links), placements=placements)


def _slide(link: Link, offsets: Sequence[Triple]) -> Triple | None:
    """The slide of a link's origin that leaves the fewest components of offsets; None: it stays."""
    if link.step not in ("turn", "slide") or link.modes is not None or not offsets:
        return None
    k = link.freedoms[0].direction % LINEAR
    free = (k,) if link.step == "turn" else (0, 1, 2)
    found = [joined(r[i] if i in free and is_constant(r[i]) else 0 for i in range(3)) for r in offsets]
    candidates: list[Triple] = [d for d in found if not vanishes(d)]
    if not candidates:
        return None
    before = _count(link.offset, link.parent, offsets)
    counts = [
        _count(_moved(link, d).offset, link.parent, [_without(r, d) for r in offsets]) for d in candidates
    ]
    least = min(counts)
    if least > before or (least == before and len(offsets) > 1):
        return None
    return candidates[counts.index(least)]


def _count(own: Triple, parent: int, offsets: Sequence[Triple]) -> int:
    """Components of offsets that are not zero; that of a link on the ground has no effect."""
    around = offsets if parent < 0 else [own, *offsets]
    return sum(not is_zero(x) for r in around for x in r)


def _moved(link: Link, d: Triple) -> Link:
    """The link with its origin moved by d, in its own axes."""
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
