"""The pose of every body in its parent, as expressions: what pictures of a motion are made of.

The displacement d of a body's origin, in the parent's axes, and the rotation R with v_parent = R v_body.
"""

from __future__ import annotations

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.vectors.vectors import direction_cosines
from armillary.model.bodies.body import Body
from armillary.program.equations import DerivedEquations

LENGTH = 12  # expressions of a pose: d, then R row by row


def moving_bodies(equations: DerivedEquations) -> list[Body]:
    """All bodies but the ground, parents before children."""
    return [body for body in equations.system.bodies.values() if body.parent is not None]


def pose_expressions(equations: DerivedEquations) -> list[Expr]:
    """The poses of all moving bodies in their parents, twelve expressions each."""
    plain = equations.reduction.plain
    found: list[Expr] = []
    for body in moving_bodies(equations):
        assert body.parent is not None
        parent = body.parent.frame
        turned = (x for row in direction_cosines(parent, body.frame) for x in row)
        found += [plain(as_expr(e)) for e in (*body.displacement.components(parent), *turned)]
    return found
