"""Jacobians of points and bodies: how their velocities depend on the speeds."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra.calculus import gradient
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.named_arrays import ExpressionMatrix
from armillary.errors import ModelError, shown
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point

POINT_ROWS = ("vx", "vy", "vz")
BODY_ROWS = (*POINT_ROWS, "wx", "wy", "wz")
# Frames between a body and the ground above which its motion is passed on from body to body: written out, a
# Jacobian at the end of a chain grows with the square of its length.
_LONG = 12


def jacobian(of: Point | Body, axes: Body | None = None) -> ExpressionMatrix:
    """The Jacobian of a point's velocity by all speeds of its system, J with v = J u + v₀.

    Rows are the components vx, vy, vz along the axes of the ground, or of the body ``axes``; of a body they
    are those of its origin, and wx, wy, wz of its angular velocity. v₀ is what given motions add. Columns are
    the speeds of the description; ``Equations.jacobian`` has those that are independent.
    """
    if not isinstance(of, Point | Body):
        raise ModelError(f"jacobian: {shown(of)} is not a point or a body, such as body.com or body")
    system = (of.body if isinstance(of, Point) else of).system
    return jacobian_of_rows(of, velocity_rows(of, axes), system.speeds)


def velocity_rows(of: Point | Body, axes: Body | None = None) -> list[Expr]:
    """Components of a point's velocity; of a body those of its origin and of its angular velocity."""
    body = of.body if isinstance(of, Point) else of
    if axes is not None and not isinstance(axes, Body):
        raise ModelError(f"jacobian: axes={shown(axes)} is not a body")
    if axes is not None and axes.system.identity is not body.system.identity:
        raise ModelError(f"jacobian: body '{axes.name}' belongs to another system than '{body.name}'")
    frame = (axes or body.system.ground).frame
    if body.frame.depth > _LONG:
        vectors = [*motion.motion_along_chain(of, frame)]
    else:
        vectors = [motion.velocity(of), motion.angular_velocity(body)]
    if isinstance(of, Point):
        del vectors[1]
    return [as_expr(x) for vector in vectors for x in vector.components(frame)]


def jacobian_of_rows(of: Point | Body, rows: Sequence[Expr], speeds: Sequence[Expr]) -> ExpressionMatrix:
    """∂rows/∂speeds, of the components of ``velocity_rows``."""
    names = BODY_ROWS if isinstance(of, Body) else POINT_ROWS
    what = of.name if isinstance(of, Body) else f"{of.body.name}.{of.name}"
    elements = tuple(tuple(gradient(row, speeds)) for row in rows)
    return ExpressionMatrix(f"Jacobian of {what}", names, tuple(u.data.name for u in speeds), elements)
