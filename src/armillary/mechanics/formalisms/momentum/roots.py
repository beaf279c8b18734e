"""Bodies that the ground holds nowhere, or at one point: momenta of all that hangs on them, in ground axes.

For a body that turns freely on the ground the states are not the projections on its axes, but

    P        the momentum of everything that hangs on it, where it is free to move
    H        its angular momentum about the common mass centre, or about the point that is held

both in the ground's axes. Their rates are the external force and torque alone, so that without such they stay
what they are to the last bit, whatever the method and the step. With R the body's rotation, n its composite
angular momentum about its origin, in its axes, and c from there to the mass centre,

    H = R n − c × P

About the mass centre uniform gravity has no torque.

All other momenta of a body that is free to move are those relative to its mass centre: with the velocity P/m
of that taken from every other, the whole has no momentum, and A u = p has zeros for the three that move it
and Rᵀ H for those that turn it. On an orbit a hinge's momentum would else be the small difference of terms
with 7 km/s in them. Seen from the mass centre, which falls with g + F/m, gravity is −F/m (F: applied force).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from armillary.algebra.expression import Expr
from armillary.algebra.vectors.scalars import Scalar, is_zero, sum_of_products
from armillary.algebra.vectors.triples import ZEROS, Triple, add, cross_triples, joined, named, scaled, unit
from armillary.mechanics.formalisms.momentum.momentum import Weight
from armillary.mechanics.tree.loads import AppliedLoads, Wrench, component_along
from armillary.mechanics.tree.tree import LINEAR, Tree

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class FreeRoot:
    """A body that turns freely on the ground: its link, and the links whose slides carry it; ``held`` where
    its origin does not move.
    """

    name: str
    link: int
    slides: tuple[int, ...]
    held: bool

    def indices(self, tree: Tree) -> list[int]:
        """Indices of the speeds in place of whose momenta P and H are states: in the same order."""
        return sorted(d.index for i in (*self.slides, self.link) for d in tree.links[i].freedoms)

    def numbered(self, tree: Tree, P: Sequence[Item], H: Sequence[Item]) -> dict[int, Item]:
        """P and H by those indices."""
        return dict(zip(self.indices(tree), H if self.held else (*P, *H), strict=True))

    def vectors(self, tree: Tree, values: Mapping[int, Scalar]) -> tuple[Triple, Triple]:
        """P and H from values by those indices."""
        found = [values[i] for i in self.indices(tree)]
        return (ZEROS if self.held else joined(found[:3])), joined(found[-3:])

    def states(
        self, tree: Tree, masses: Sequence[Weight], momenta: Sequence[Wrench]
    ) -> tuple[Triple, Triple]:
        """(P, H) from composite momenta."""
        P = to_ground(tree, self.base, momenta[self.base][1])
        n = to_ground(tree, self.link, momenta[self.link][0])
        return P, n if self.held else add(n, scaled(cross_triples(self._centre(tree, masses), P), -1))

    def conjugate(self, tree: Tree, H: Triple) -> dict[int, Scalar]:
        """Conjugate momenta of this body's own speeds relative to the mass centre, by index."""
        n = from_ground(tree, self.link, H)
        found = {d.index: component_along(d, n, ZEROS) for d in tree.links[self.link].freedoms}
        for i in self.slides:
            found |= {d.index: 0 for d in tree.links[i].freedoms}
        return found

    def drifting(self, tree: Tree, masses: Sequence[Weight], P: Triple) -> dict[int, Scalar]:
        """The velocity P/m of the mass centre in this body's own speeds, by index."""
        if self.held:
            return {}
        v = named(scaled(P, 1 / masses[self.base].mass), f"vc_{self.name}")
        links = self.slides or (self.link,)
        return {
            d.index: component_along(d, ZEROS, from_ground(tree, i, v))
            for i in links
            for d in tree.links[i].freedoms
            if d.direction >= LINEAR
        }

    def fall(self, tree: Tree, masses: Sequence[Weight], force: Triple) -> dict[int, Triple]:
        """Gravity relative to the mass centre, by the link on the ground; ``force`` is P' with weight."""
        if self.held:
            return {}
        mass = masses[self.base].mass
        first = self.slides[0] if self.slides else self.link
        return {first: named(add(tree.gravity, scaled(force, -1 / mass)), f"fall_{self.name}")}

    def rates(
        self, tree: Tree, masses: Sequence[Weight], external: Sequence[Wrench], applied: AppliedLoads
    ) -> tuple[Triple, Triple]:
        """(P', H') from the loads."""
        N, F = external[self.link]
        own = _along_freedoms(tree, self.link, applied.forces)
        N, F = to_ground(tree, self.link, add(N, own[0])), to_ground(tree, self.link, add(F, own[1]))
        for i in self.slides:
            F = add(F, to_ground(tree, i, _along_freedoms(tree, i, applied.forces)[1]))
        if self.held:
            first = to_ground(tree, self.link, masses[self.link].first)
            return ZEROS, add(N, cross_triples(first, tree.gravity))
        torque = add(N, scaled(cross_triples(self._centre(tree, masses), F), -1))
        return add(F, scaled(tree.gravity, masses[self.base].mass)), torque

    @property
    def base(self) -> int:
        """The link that carries all of the mass: regrouping moves it as far as the last slide."""
        return self.slides[-1] if self.slides else self.link

    def _centre(self, tree: Tree, masses: Sequence[Weight]) -> Triple:
        """From the body's origin to the common mass centre, in the ground's axes."""
        first = to_ground(tree, self.link, masses[self.link].first)
        return named(scaled(first, 1 / masses[self.base].mass), f"c_{self.name}")


def free_roots(tree: Tree, masses: Sequence[Weight], locked: Collection[str] = ()) -> list[FreeRoot]:
    """The bodies that turn freely on the ground, or would if the named speeds were not locked."""

    def unknown(i: int) -> bool:
        return all(
            is_zero(d.armature) and (not d.prescribed or d.name in locked) for d in tree.links[i].freedoms
        )

    found = []
    for i, link in enumerate(tree.links):
        slides = _slides_below(tree, i)
        if slides is None or not all(unknown(k) for k in (i, *slides)):
            continue
        spins = {d.direction for d in link.freedoms}
        held = link.step == "tumble" and not slides
        carried = link.step == "tumble" and len(slides) == 3 and _orthogonal(tree, slides)
        adrift = link.step == "drift" and link.velocity == "body" and len(spins) == 6 and not slides
        root = FreeRoot(link.name, i, slides, held)
        if held or ((carried or adrift) and not is_zero(masses[root.base].mass)):
            found.append(root)
    return found


def _slides_below(tree: Tree, index: int) -> tuple[int, ...] | None:
    """The slides between a link and the ground, from there outwards; None where there is anything else."""
    found = tree.path_to_ground(tree.links[index].parent)[::-1]
    return tuple(found) if all(tree.links[i].step == "slide" for i in found) else None


def _orthogonal(tree: Tree, slides: Sequence[int]) -> bool:
    """Whether the slides' axes are numbers and at right angles."""
    axes = [to_ground(tree, i, unit(tree.links[i].freedoms[0].direction % 3)) for i in slides]
    products = [sum_of_products(zip(axes[i], axes[j], strict=True)) for i, j in ((0, 1), (0, 2), (1, 2))]
    if any(isinstance(x, Expr) and x.kind != "number" for x in products):
        return False
    return all(abs(float(x)) < 1e-12 for x in products)


def _along_freedoms(tree: Tree, index: int, forces: Mapping[int, Scalar]) -> Wrench:
    """Generalised forces of a link's freedoms as a wrench in its axes."""
    n, f = ZEROS, ZEROS
    for d in tree.links[index].freedoms:
        part = scaled(scaled(unit(d.direction % 3), d.sign), forces.get(d.index, 0))
        n, f = (n, add(f, part)) if d.direction >= LINEAR else (add(n, part), f)
    return n, f


def to_ground(tree: Tree, index: int, v: Triple) -> Triple:
    """A vector in a link's axes, in those of the ground."""
    for i in tree.path_to_ground(index):
        v = tree.links[i].rotation.to_parent(v)
    return v


def from_ground(tree: Tree, index: int, v: Triple) -> Triple:
    """A vector in the ground's axes, in those of a link."""
    for i in reversed(tree.path_to_ground(index)):
        v = tree.links[i].rotation.to_child(v)
    return v
