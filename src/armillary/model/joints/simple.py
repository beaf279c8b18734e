"""Joints made of turns and slides alone: every speed is the rate of its coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import item_count, several
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Matrix, Scalar, Triple, cross_triples, joined, matrix_vector
from armillary.errors import ModelError
from armillary.model.joints.base import (
    PLACES,
    UNIT_AXES,
    Assembly,
    Drift,
    JointType,
    Maker,
    Slide,
    Step,
    Turn,
    axis_name,
    check_axis,
    check_sequence,
    perpendicular_triple,
    principal_rotation,
    unit_axis,
)
from armillary.model.reading.kinds import AXIS, WORDS, AxisLike, Either, Flag, ListOf, choice
from armillary.untyped import Given

GIMBAL = Either((WORDS, ListOf(AXIS)), 'a sequence of axes such as "zx" or ["x", [0, 0.6, 0.8]]')
_Axes = Annotated[Sequence[Given], ListOf(AXIS)]
_Velocity = Annotated[str, choice("parent", "body")]


class Fixed(JointType):
    """A joint without motion: the child is fixed to its parent, at its place and turned by ``orient``."""

    def assemble(self, maker: Maker) -> Assembly:
        return Assembly((), ())


class Joint(JointType):
    """A joint of up to three translations along axes, then up to three successive rotations about axes.

    Axes are letters or three numbers. Translation axes and the first rotation axis are in the parent's frame.
    Each further rotation axis is in the frame after the rotations before it. All speeds are coordinate rates.
    """

    def __init__(self, translate: _Axes = (), rotate: _Axes = (), *, small: Flag = False) -> None:
        super().__init__(small=small)
        self.translate = _axes(translate, "translate")
        self.rotate = _axes(rotate, "rotate")
        if len(self.translate) > 3 or len(self.rotate) > 3:
            raise ModelError("Joint: at most three translations and three rotations fit into one joint")
        _check_independent(self.translate, "Joint(translate=…)")
        for pair in zip(self.rotate, self.rotate[1:], strict=False):
            _check_independent(pair, "Joint(rotate=…)")
        self.coordinate_count = self.speed_count = len(self.translate) + len(self.rotate)

    def assemble(self, maker: Maker) -> Assembly:
        turns = list(zip(self.rotate, PLACES if len(self.rotate) > 1 else ("",), strict=False))
        q = [maker.distance(axis_name(a)) for a in self.translate]
        q += [maker.angle(axis_name(a), place) for a, place in turns]
        u = [maker.distance_rate(axis_name(a)) for a in self.translate]
        u += [maker.angle_rate(axis_name(a), place) for a, place in turns]
        steps: list[Step] = []
        for i, axis in enumerate(self.translate):
            steps.append(Slide(unit_axis(axis, maker), q[i], u[i]))
        for i, axis in enumerate(self.rotate, start=len(self.translate)):
            steps.append(Turn(unit_axis(axis, maker), q[i], u[i]))
        return Assembly(tuple(steps), tuple(u))

    def describe(self) -> str:
        parts = ["translate " + " ".join(axis_name(a) for a in self.translate)] if self.translate else []
        parts += ["rotate " + " ".join(axis_name(a) for a in self.rotate)] if self.rotate else []
        return ", ".join(parts) or "fixed"


class Revolute(Joint):
    """A hinge about an axis of the parent; at angle zero the child's axes are parallel to the parent's."""

    def __init__(self, axis: AxisLike = "z", *, small: Flag = False) -> None:
        super().__init__(rotate=[check_axis(axis, "Revolute")], small=small)

    def describe(self) -> str:
        return f"revolute {axis_name(self.rotate[0])}"


class Prismatic(Joint):
    """A slider along an axis of the parent; the child does not turn."""

    def __init__(self, axis: AxisLike = "z", *, small: Flag = False) -> None:
        super().__init__(translate=[check_axis(axis, "Prismatic")], small=small)

    def describe(self) -> str:
        return f"prismatic {axis_name(self.translate[0])}"


class Cylindrical(Joint):
    """A slider and a hinge along the same axis."""

    def __init__(self, axis: AxisLike = "z", *, small: Flag = False) -> None:
        axis = check_axis(axis, "Cylindrical")
        super().__init__(translate=[axis], rotate=[axis], small=small)

    def describe(self) -> str:
        return f"cylindrical {axis_name(self.rotate[0])}"


class Gimbal(Joint):
    """Two or three successive hinges about body-fixed axes, "zx" or [(1, 0, 0), (0, 0.6, 0.8)]; the speeds
    are the rates of the hinge angles.

    Axes are letters or three numbers, not necessarily at right angles; each is in the frame after the
    rotations before it.
    """

    def __init__(self, sequence: Annotated[str | Sequence[object], GIMBAL], *, small: Flag = False) -> None:
        letters = item_count(sequence) < 0
        # mypy: ``letters`` is true for texts alone.
        axes = check_sequence(sequence, (2, 3), "Gimbal") if letters else sequence  # type: ignore[arg-type]
        if len(axes) not in (2, 3):
            raise ModelError(f"Gimbal: it turns about 2 or 3 axes, not {len(axes)}")
        axes = [check_axis(axis, "Gimbal") for axis in axes]
        for pair in pairwise(axes):
            _check_independent(pair, "Gimbal")
        super().__init__(rotate=axes, small=small)

    def describe(self) -> str:
        names = [axis_name(axis) for axis in self.rotate]
        return "gimbal " + ("" if all(len(name) == 1 for name in names) else " ").join(names)


class Planar(JointType):
    """Motion in a plane of the parent: two translations perpendicular to ``normal`` and a rotation about it.

    The two in-plane axes follow the normal cyclically: for the normal z they are x and y. With
    velocity="parent" all speeds are coordinate rates. With velocity="body" the first two speeds are the
    velocity of the child's origin along the child's own in-plane axes, as is usual in vehicle dynamics.
    """

    coordinate_count = speed_count = 3

    def __init__(
        self, normal: AxisLike = "z", velocity: _Velocity = "parent", *, small: Flag = False
    ) -> None:
        super().__init__(small=small)
        self.normal = check_axis(normal, "Planar")
        if not isinstance(velocity, str) or velocity not in ("parent", "body"):
            raise ModelError(f"Planar: velocity='{velocity}' is neither 'parent' nor 'body'")
        if velocity == "body" and not (isinstance(normal, str) and normal in "xyz"):
            raise ModelError(
                "Planar: velocity='body' needs the normal 'x', 'y' or 'z'; turn the parent with its orient="
            )
        self.velocity = velocity

    def assemble(self, maker: Maker) -> Assembly:
        normal = unit_axis(self.normal, maker)
        first, second = _in_plane(normal)
        names = _plane_names(self.normal)
        q = [maker.distance(names[0]), maker.distance(names[1]), maker.angle(axis_name(self.normal))]
        owner = maker.body + "'s own " if self.velocity == "body" else ""
        u = [maker.distance_rate(owner + names[0]), maker.distance_rate(owner + names[1])]
        u.append(maker.angle_rate(axis_name(self.normal)))
        if self.velocity == "parent":
            return Assembly(
                (Slide(first, q[0], u[0]), Slide(second, q[1], u[1]), Turn(normal, q[2], u[2])), tuple(u)
            )
        if maker.orient is not None:
            raise ModelError(
                f"body '{maker.body}': Planar(velocity='body') has its speeds along the body's own axes and "
                "takes no orient; fix a body with that orient on it instead"
            )
        n = "xyz".index(self.normal)
        i, j = (n + 1) % 3, (n + 2) % 3
        rotation: Matrix = principal_rotation(n, fn.cos(q[2]), fn.sin(q[2]))
        velocity: list[Scalar] = [0, 0, 0]
        velocity[i], velocity[j] = u[0], u[1]
        drift: Triple = matrix_vector(rotation, velocity)
        position: list[Scalar] = [0, 0, 0]
        position[i], position[j] = q[0], q[1]
        step = Drift(joined(position), rotation, {i: u[0], j: u[1]}, {n: u[2]}, "body")
        return Assembly((step,), (as_expr(drift[i]), as_expr(drift[j]), u[2]))

    def describe(self) -> str:
        return f"planar {axis_name(self.normal)}"


def _in_plane(normal: Triple) -> tuple[Triple, Triple]:
    """Return two unit axes (a, b) with which (normal, a, b) is right-handed."""
    if any(isinstance(a, Expr) for a in normal):
        return (first := perpendicular_triple(normal)), cross_triples(normal, first)
    for i, name in enumerate("xyz"):
        if normal == UNIT_AXES[name]:
            return UNIT_AXES["xyz"[(i + 1) % 3]], UNIT_AXES["xyz"[(i + 2) % 3]]
    start = min(range(3), key=lambda i: abs(float(normal[i])))
    raw = cross_triples(normal, UNIT_AXES["xyz"[start]])
    length = math.sqrt(sum(a * a for a in raw))
    first = (raw[0] / length, raw[1] / length, raw[2] / length)
    return first, cross_triples(normal, first)


def _axes(given: Given, name: str) -> tuple[Given, ...]:
    """Return axes, given as a list, as one axis, or as letters in a row ("xy"), as a tuple."""
    letters = isinstance(given, str) and set(given) <= set("xyz")
    found = tuple(given) if letters else several(given, f"Joint: {name}", ModelError)
    return tuple(check_axis(axis, f"Joint({name}=…)") for axis in found)


def _check_independent(axes: Sequence[Given], where: str) -> None:
    """Raise an error if axes given by numbers are dependent, since speeds would make the same motion."""
    known = [UNIT_AXES[a] if isinstance(a, str) else a for a in axes]
    if not all(isinstance(x, int | float) for axis in known for x in axis):
        return
    if known and np.linalg.matrix_rank(np.array(known, float)) < len(known):
        shown = ", ".join(axis_name(a) for a in axes)
        raise ModelError(f"{where}: the axes {shown} do not point in independent directions; leave one out")


def _plane_names(normal: object) -> tuple[str, str]:
    if isinstance(normal, str) and normal in "xyz":
        i = "xyz".index(normal)
        return "xyz"[(i + 1) % 3], "xyz"[(i + 2) % 3]
    return "first in-plane axis", "second in-plane axis"
