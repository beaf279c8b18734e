"""Absolute coordinates and speeds from those of the joints, at the start of a run and after events."""

from __future__ import annotations

from collections.abc import Iterable

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.vectors.matrices import Matrix
from armillary.algebra.vectors.scalars import Scalar, inner
from armillary.algebra.vectors.triples import Triple, add, joined, scaled
from armillary.algebra.vectors.vectors import direction_cosines
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.formalisms.redundant.absolute_bodies import AbsoluteBodies
from armillary.mechanics.formalisms.redundant.joints import duals
from armillary.mechanics.tree.build import GROUND
from armillary.model.bodies import motion
from armillary.model.description import Description
from armillary.model.joints.free import euler_parameters


def absolute_states(system: Description, parts: AbsoluteBodies, plain: Undimensioned) -> dict[Expr, Expr]:
    """Every absolute coordinate and speed as an expression of q and u."""
    ground = system.ground.frame
    found: dict[Expr, Scalar] = {}
    for part in parts.parts:
        frame = part.body.frame
        place = _plain(motion.position(part.body).components(ground), plain)
        speed = _plain(motion.velocity(part.body).components(ground), plain)
        if part.parent == GROUND and part.end is None:
            place = add(place, scaled(part.place, -1))
        for directions, symbols, value in ((part.basis, part.d, place), (part.basis, part.v, speed)):
            along = duals(list(directions))
            found |= {s: inner(g, value) for s, g in zip(symbols, along, strict=True)}
        cosines = direction_cosines(ground, frame)
        R: Matrix = joined(_plain(row, plain) for row in cosines)
        found |= zip(part.e, euler_parameters(R), strict=True)
        found |= zip(part.w, _plain(motion.angular_velocity(part.body).components(frame), plain), strict=True)
        if part.modes is not None:
            own = (*part.modes.eta, *part.modes.xi)
            found |= zip(own, (s for both in part.modes.described for s in both), strict=True)
    return {s: as_expr(x) for s, x in found.items()}


def _plain(values: Iterable[Scalar], plain: Undimensioned) -> Triple:
    return joined(plain(x) for x in values)
