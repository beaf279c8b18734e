"""Solids that a body can show: each has sizes, numbers or expressions of parameters, about its own centre.

In text models a solid is a table with one key, its sizes in order:

    shape = { box = [0.4, 0.2, 0.1] }          shape = { wheel = ["R", 0.1], axis = "y" }
"""

from __future__ import annotations

from armillary.algebra.arguments import records_arguments
from armillary.model.bodies.shapes.figure import Figure
from armillary.model.reading.argument_types import AxisLike, ExpressionLike
from armillary.model.reading.kinds import ObjectForm


@records_arguments
class Box(Figure):
    """A box with these edges."""

    kind, names = "box", ("x", "y", "z")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, z: ExpressionLike) -> None:
        super().__init__(x, y, z)


@records_arguments
class Ellipsoid(Figure):
    """An ellipsoid with these half axes."""

    kind, names = "ellipsoid", ("x", "y", "z")

    def __init__(self, x: ExpressionLike, y: ExpressionLike, z: ExpressionLike) -> None:
        super().__init__(x, y, z)


@records_arguments
class Sphere(Figure):
    """A ball."""

    kind, names = "sphere", ("radius",)

    def __init__(self, radius: ExpressionLike) -> None:
        super().__init__(radius)


@records_arguments
class Cylinder(Figure):
    """A cylinder along ``axis``."""

    kind, names = "cylinder", ("radius", "length")

    def __init__(self, radius: ExpressionLike, length: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(radius, length, axis=axis)


@records_arguments
class Capsule(Figure):
    """A cylinder along ``axis`` with half a ball on each end; ``length`` is that of the cylinder alone."""

    kind, names = "capsule", ("radius", "length")

    def __init__(self, radius: ExpressionLike, length: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(radius, length, axis=axis)


@records_arguments
class Cone(Figure):
    """A cone with its tip along ``axis``, centred at half its length."""

    kind, names = "cone", ("radius", "length")

    def __init__(self, radius: ExpressionLike, length: ExpressionLike, axis: AxisLike = "z") -> None:
        super().__init__(radius, length, axis=axis)


@records_arguments
class Wheel(Figure):
    """A wheel with tyre, spokes and hub, which turns about ``axis``."""

    kind, names = "wheel", ("radius", "width")

    def __init__(self, radius: ExpressionLike, width: ExpressionLike, axis: AxisLike = "y") -> None:
        super().__init__(radius, width, axis=axis)


SOLIDS = tuple(
    ObjectForm(made.kind, made, spread=True)
    for made in (Box, Ellipsoid, Sphere, Cylinder, Capsule, Cone, Wheel)
)
