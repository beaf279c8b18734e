"""Forces on parts in absolute coordinates: gravity and loads, less inertia that the speeds alone decide."""

from __future__ import annotations

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.vectors.matrices import matrix_vector, transposed
from armillary.algebra.vectors.scalars import Scalar, inner, minus, plus, sum_of_products
from armillary.algebra.vectors.triples import ZEROS, Triple, add, cross_triples, joined, named, scaled
from armillary.algebra.walk import Undimensioned, transform
from armillary.mechanics.formalisms.redundant.absolute_bodies import AbsoluteBodies, inertia_remainder
from armillary.mechanics.formalisms.redundant.modes import node_load
from armillary.mechanics.tree.build import GROUND
from armillary.mechanics.tree.loads import own_point
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.recording.records import Load
from armillary.model.space.attraction import all_gravities, all_loads


def forces(
    system: Description, parts: AbsoluteBodies, u: dict[Expr, Expr], plain: Undimensioned
) -> dict[Expr, Scalar]:
    """f by absolute speed: gravity and loads less inertia remainders."""
    gravity: Triple = ZEROS
    for g in all_gravities(system):
        own = g.direction.components(system.ground.frame)
        gravity = add(gravity, scaled([plain(x) for x in own], plain(g.magnitude)))
    force = [ZEROS] * len(parts.parts)  # ground axes
    moment = [ZEROS] * len(parts.parts)  # body axes, about the origin
    modal: list[list[Scalar]] = []  # of each part's modes
    for i, part in enumerate(parts.parts):
        weight = matrix_vector(transposed(part.R), gravity)
        reversed_force, reversed_moment, remainders = inertia_remainder(part)
        force[i] = add(scaled(gravity, part.mass), scaled(reversed_force, -1))
        moment[i] = add(cross_triples(part.deformed_first, named(weight, "g")), scaled(reversed_moment, -1))
        columns = () if part.modes is None else part.modes.shape.P
        modal.append([minus(inner(P, weight), x) for P, x in zip(columns, remainders, strict=True)])
    for load in all_loads(system):
        for body, sign in ((load.body, 1), (load.reaction_body, -1)):
            home = GROUND if body is None else parts.placements[body.name].link
            if body is None or home == GROUND:
                continue
            n, f = _wrench(load, body, sign, parts, plain)
            if home < GROUND:
                node = parts.nodes[home]
                home = node.part
                n, bent = node_load(node, parts.parts[home], n, f)
                modal[home] = [plus(a, b) for a, b in zip(modal[home], bent, strict=True)]
            moment[home], force[home] = add(moment[home], n), add(force[home], f)
    found: dict[Expr, Scalar] = {}
    for part, n, f, bending in zip(parts.parts, moment, force, modal, strict=True):
        found |= {
            v: sum_of_products(zip(axis, f, strict=True)) for v, axis in zip(part.v, part.basis, strict=True)
        }
        found |= dict(zip(part.modes.xi if part.modes else (), bending, strict=True))
        found |= dict(zip(part.w, n, strict=True))
    values = transform([as_expr(x) for x in found.values()], u.get)
    return {v: fn.named(x, f"f_{v.data.name}") for v, x in zip(found, values, strict=True)}


def _wrench(
    load: Load, body: Body, sign: int, parts: AbsoluteBodies, plain: Undimensioned
) -> tuple[Triple, Triple]:
    """(moment about the origin in the part's axes, force in ground axes) of one end of a load."""
    placement = parts.placements[body.name]
    own = named(scaled(parts.components(load.vector, placement.link, plain), sign), load.name)
    if load.kind == "moment":
        return own, ZEROS
    point = own_point(load, body, sign)
    if point is not None:
        arm = placement.point(joined(plain(x) for x in point.coordinates))
    else:
        assert load.at is not None
        line = motion.position(load.at, body.origin)
        arm = add(placement.origin, parts.components(line, placement.link, plain))
    ground = scaled(parts.components(load.vector, GROUND, plain), sign)
    return cross_triples(arm, own), named(ground, f"{load.name}_ground")
