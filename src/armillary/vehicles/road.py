"""Roads: a height over the ground plane, and how slippery the surface is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


@dataclass(frozen=True)
class SplitRoad(Road):
    """A flat road of two frictions, to the right and the left of a line along x; see `split_road`."""

    right: float = 1.0
    left: float = 1.0
    edge: float = 0.0
    width: float = 0.2

    def below_wheel(self, system: arm.System, name: str, x: Scalar, y: Scalar) -> Surface:
        """Return the surface below a wheel; the frictions become parameters of the model."""
        known = system.parameters
        right, left = (
            known[label] if label in known else system.parameter(label, value, about=about)
            for label, value, about in (
                ("mu_right", self.right, "scale of friction to the right of the edge"),
                ("mu_left", self.left, "scale of friction to its left"),
            )
        )
        return Surface(0.0, 0.0, 0.0, self._blend(y, right, left))

    def below(self, x: Scalar, y: Scalar) -> Surface:
        """Return the surface at a place."""
        return Surface(0.0, 0.0, 0.0, self._blend(y, self.right, self.left))

    def _blend(self, y: Scalar, right: Scalar, left: Scalar) -> Scalar:
        return right + (left - right) * smooth_step((y - self.edge) / self.width)


def split_road(right: float, left: float = 1.0, *, edge: float = 0.0, width: float = 0.2) -> SplitRoad:
    """Return a flat road of two frictions, to the right and the left of y = edge, blended over a width in m.

    A model on it has the parameters ``mu_right`` and ``mu_left``, which runs may change.
    """
    if not (right > 0 and left > 0 and width > 0):
        raise arm.ModelError("split_road: both frictions and the width must be positive")
    return SplitRoad(0.0, 1.0, right, left, edge, width)


class Patch(NamedTuple):
    """A rectangle of another friction: x and y from and to, m, and its scale of friction."""

    x: tuple[float, float]
    y: tuple[float, float]
    friction: float


def friction_patches(
    patches: Sequence[Patch], *, elsewhere: float = 1.0, width: float = 0.1
) -> Callable[[Scalar, Scalar], Scalar]:
    """Return the friction of a road with patches of ice or water, for ``Road(height, friction)``.

    Where patches overlap the last one holds. At their edges friction is blended over a width in m.
    """
    for patch in patches:
        if not (patch.x[0] < patch.x[1] and patch.y[0] < patch.y[1] and patch.friction > 0 and width > 0):
            raise arm.ModelError(
                f"friction_patches: the patch x={patch.x}, y={patch.y}, friction={patch.friction:g} must "
                "have rising limits and a friction above zero"
            )

    def friction(x: Scalar, y: Scalar) -> Scalar:
        value: Scalar = elsewhere
        for patch in patches:
            share: Scalar = 1.0
            for place, (low, high) in ((x, patch.x), (y, patch.y)):
                share = share * smooth_step((place - low) / width) * smooth_step((high - place) / width)
            value = value + (patch.friction - value) * share
        return value

    return friction


def smooth_step(s: Scalar) -> Scalar:
    """Return a step from 0 to 1 over −½ < s < ½, with continuous slope."""
    share = arm.min(arm.max(s + 0.5, 0.0), 1.0)
    return share * share * (3 - 2 * share)
