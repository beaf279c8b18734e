"""Roads: a height over the ground plane, and how slippery the surface is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar


class Surface(NamedTuple):
    """The road below a point: height, the slopes ∂z/∂x and ∂z/∂y, and the scale of friction."""

    height: Scalar
    slope_x: Scalar
    slope_y: Scalar
    friction: Scalar


@dataclass(frozen=True)
class Road:
    """A road z(x, y) in the axes of the ground, z up.

    height    a number or a function of (x, y), in metres; functions take and give expressions: a slope is
              ``lambda x, y: 0.05*x``, a bank ``lambda x, y: 0.03*y``, a profile ``lambda x, y: table(x)``
              with an `arm.Table`, a surface ``arm.Table2``
    friction  scale of the tyre's friction, a number or a function of (x, y): 0.3 on ice
    """

    height: float | Callable[[Scalar, Scalar], Scalar] = 0.0
    friction: float | Callable[[Scalar, Scalar], Scalar] = 1.0

    def below_wheel(self, system: arm.System, name: str, x: Scalar, y: Scalar) -> Surface:
        """Return the surface below a wheel of a system; roads that need memories add them under its name."""
        return self.below(x, y)

    def below(self, x: Scalar, y: Scalar) -> Surface:
        """Return the surface at a place, with exact slopes."""
        friction = self.friction(x, y) if callable(self.friction) else self.friction
        if not callable(self.height):
            return Surface(self.height, 0.0, 0.0, friction)
        scratch = arm.System("road")
        along, across = scratch.parameter("x", 0.0, units="m"), scratch.parameter("y", 0.0, units="m")
        height = self.height(along, across)
        if not isinstance(height, arm.Expr):
            return Surface(height, 0.0, 0.0, friction)
        place = {along: x, across: y}
        slope_x, slope_y = (arm.substitute(arm.derivative(height, by), place) for by in (along, across))
        return Surface(arm.substitute(height, place), slope_x, slope_y, friction)


def split_road(right: float, left: float = 1.0, *, width: float = 0.2) -> Road:
    """Return a flat road of two frictions, to the right and the left of y = 0, blended over a width in m."""
    if not (right > 0 and left > 0 and width > 0):
        raise arm.ModelError("split_road: both frictions and the width must be positive")

    def friction(x: Scalar, y: Scalar) -> Scalar:
        share = arm.min(arm.max(y / width + 0.5, 0.0), 1.0)
        return right + (left - right) * share * share * (3 - 2 * share)

    return Road(0.0, friction)
