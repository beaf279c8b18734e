"""Loads as the formalisms need them: wrenches on links, and direct contributions to generalised forces.

A balanced load between two bodies does no work on the motion that both share, so it is carried only along the
path between them: the generalised force of each joint on the path. A torque motor costs one addition, however
deep it sits. Loads from the ground, and forces whose reaction is off their line of action, are added to the
wrenches of their links, where the recursions pass anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    ScalarMap,
    Triple,
    add,
    cross_triples,
    joined,
    matrix_vector,
    named,
    plus,
    scaled,
    sum_of_products,
    times,
)
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.tree.tree import LINEAR, Freedom, Tree
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description
from armillary.model.recording.records import Load
from armillary.model.space.attraction import all_loads, modal_forces

Wrench = tuple[Triple, Triple]  # moment about the link's origin, force, in the link's axes


@dataclass(frozen=True, eq=False)
class AppliedLoads:
    """External wrenches by link, and generalised forces by speed index."""

    wrenches: dict[int, Wrench]
    forces: dict[int, Scalar]

    def map(self, f: ScalarMap) -> AppliedLoads:
        """The same loads over other scalars."""
        wrenches = {i: (joined(map(f, n)), joined(map(f, force))) for i, (n, force) in self.wrenches.items()}
        return AppliedLoads(wrenches, {i: f(x) for i, x in self.forces.items()})


def applied_loads(
    system: Description,
    tree: Tree,
    plain: Undimensioned | None = None,
    *,
    whole: bool = False,
    loads: Iterable[Load] | None = None,
) -> AppliedLoads:
    """All loads of a system on its tree, or these in their place; ``whole`` as wrenches on every body that
    they touch.
    """
    plain = plain or Undimensioned()
    found = loads_on_tree(all_loads(system) if loads is None else loads, tree, plain, whole=whole)
    for speed, value in modal_forces(system).items():
        index = system.speeds.index(speed)
        found.forces[index] = plus(found.forces.get(index, 0), plain(value))
    return found


def loads_on_tree(
    loads: Iterable[Load], tree: Tree, plain: Undimensioned, *, whole: bool = False
) -> AppliedLoads:
    """Some loads on a tree."""
    wrenches: dict[int, Wrench] = {}
    forces: dict[int, Scalar] = {}
    for load in loads:
        first = _end(load, load.body, tree, 1, plain)
        if load.reaction_body is None or tree.placements[load.reaction_body.name].link < 0:
            _add_wrench(wrenches, *first)
            continue
        second = _end(load, load.reaction_body, tree, -1, plain)
        if load.balanced and first[0] >= 0 and not whole:
            _along_path(tree, first, second, forces)
        else:
            _add_wrench(wrenches, *first)
            _add_wrench(wrenches, *second)
    return AppliedLoads(wrenches, forces)


def load_wrenches(load: Load, tree: Tree, plain: Undimensioned) -> list[tuple[int, Wrench]]:
    """(link, wrench) of both ends of a load."""
    ends = [_end(load, load.body, tree, 1, plain)]
    if load.reaction_body is not None:
        ends.append(_end(load, load.reaction_body, tree, -1, plain))
    return ends


def _end(load: Load, body: Body, tree: Tree, sign: int, plain: Undimensioned) -> tuple[int, Wrench]:
    """(link, wrench) of one end of a load."""
    placement = tree.placements[body.name]
    own = [plain(x) for x in load.vector.components(body.frame)]
    vector = matrix_vector(placement.rotation, scaled(own, sign))
    if load.kind == "moment":
        return placement.link, (named(vector, load.name), ZEROS)
    vector = named(vector, load.name)
    point = own_point(load, body, sign)
    if point is not None:
        coordinates = point.coordinates
    else:
        assert load.at is not None
        coordinates = motion.position(load.at, body.origin).components(body.frame)
    arm = placement.point(joined(plain(x) for x in coordinates))
    return placement.link, (named(cross_triples(arm, vector), f"{load.name}_m"), vector)


def own_point(load: Load, body: Body, sign: int) -> Point | None:
    """The point of a body at which one end of a force acts; None: at the place of ``load.at``."""
    point = load.at if sign > 0 else load.reaction_at
    return point if point is not None and point.body is body else None


def _add_wrench(wrenches: dict[int, Wrench], link: int, wrench: Wrench) -> None:
    if link >= 0:
        wrenches[link] = wrench_sum(wrenches.get(link, (ZEROS, ZEROS)), wrench)


def wrench_sum(a: Wrench, b: Wrench) -> Wrench:
    """The sum of two wrenches on one link."""
    return add(a[0], b[0]), add(a[1], b[1])


def _along_path(
    tree: Tree, first: tuple[int, Wrench], second: tuple[int, Wrench], forces: dict[int, Scalar]
) -> None:
    above = set(tree.path_to_ground(first[0])) & set(tree.path_to_ground(second[0]))
    for link, wrench in (first, second):
        here, (n, f) = link, wrench
        while here >= 0 and here not in above:
            part = tree.links[here]
            for freedom in part.freedoms:
                value = component_along(freedom, n, f)
                forces[freedom.index] = plus(forces.get(freedom.index, 0), value)
            for mode, value in components_along_modes(tree, here, (n, f)).items():
                forces[mode] = plus(forces.get(mode, 0), value)
            n, f = wrench_at_parent(tree, here, n, f)
            here = part.parent


def component_along(freedom: Freedom, n: Triple, f: Triple) -> Scalar:
    """Component of a wrench along a degree of freedom."""
    return times((f if freedom.direction >= LINEAR else n)[freedom.direction % 3], freedom.sign)


def twist_dot(column: tuple[Triple, Triple], wrench: Wrench) -> Scalar:
    """φ·w = θ·n + ψ·f."""
    turning = sum_of_products(zip(column[0], wrench[0], strict=True))
    return plus(turning, sum_of_products(zip(column[1], wrench[1], strict=True)))


def components_along_modes(tree: Tree, index: int, wrench: Wrench) -> dict[int, Scalar]:
    """Components of a wrench on a flexed link along the modes that move it, by speed index."""
    link = tree.links[index]
    modes = tree.links[link.carrier].modes if link.carrier >= 0 else None
    if modes is None:
        return {}
    return {
        d.index: twist_dot(column, wrench) for d, column in zip(modes.freedoms, link.columns, strict=True)
    }


def wrench_at_parent(tree: Tree, index: int, n: Triple, f: Triple) -> Wrench:
    """A wrench on a link as one on its parent, about the parent's origin and in its axes."""
    link = tree.links[index]
    f = named(link.rotation.to_parent(f), f"f_{link.name}")
    n = add(link.rotation.to_parent(n), cross_triples(link.offset, f))
    return named(n, f"n_{link.name}"), f


def accumulated_wrenches(
    tree: Tree, own: Sequence[Wrench], prefix: str = "", known: Mapping[int, Scalar] | None = None
) -> list[Wrench]:
    """Each link's wrench plus the wrenches of all links beyond it, summed from the leaves.

    Components along freedoms in ``known``, by speed index, take the known value instead of the sum.
    """
    found = list(own)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        six = [*found[i][0], *found[i][1]]
        for d in link.freedoms:
            if known and d.index in known:
                six[d.direction] = times(known[d.index], d.sign)
        n, f = (named(joined(v), f"{prefix}{x}_{link.name}") for v, x in ((six[:3], "n"), (six[3:], "f")))
        found[i] = (n, f)
        if link.parent >= 0:
            found[link.parent] = wrench_sum(found[link.parent], wrench_at_parent(tree, i, n, f))
    return found
