"""Loads in the joints of an imported mechanism: springs, dampers, armatures, limits, drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import checked_names
from armillary.algebra.expression import Expr
from armillary.algebra.units import SPEED
from armillary.columns import listed
from armillary.errors import ModelError
from armillary.files.robots.building import SINGLE, Builder, triple
from armillary.files.robots.tree import BALL, FREE, HINGE, SLIDE, RobotFreedom
from armillary.model.loads.armature import armature
from armillary.model.loads.contact import stop
from armillary.model.loads.forces import force, moment
from armillary.untyped import DataMapping, DataTable, Given

_STOPS = ("stiffness", "damping", "exponent")


def finish_joints(builder: Builder, stops: Mapping[str, float] | None) -> None:
    """Springs, dampers, armatures and limits of all joints."""
    limited: list[str] = []
    if stops is not None:
        stops = _known_stops(stops)
    for name, joint in builder.freedoms.items():
        with joint.element.located():
            if joint.damping or joint.stiffness:
                _passive(builder, name, joint)
            if joint.armature:
                _armature(builder, name, joint)
            if joint.limits is None:
                continue
            low, high = joint.limits
            if joint.kind not in SINGLE:
                limited.append(name)
            elif stops is None or low >= high:
                limited.append(f"{name} [{low + joint.offset:.4g}, {high + joint.offset:.4g}]")
            else:
                _stop(builder, name, low, high, stops)
    if limited:
        hint = " (stops= makes them)" if stops is None else ""
        builder.record.note(f"limits of joints are left out{hint}: {listed(limited, 10)}")


def units_of(joint: RobotFreedom) -> tuple[str, str]:
    """Units of the effort and of the coordinate of a joint with one of each, or that turns."""
    return ("N", "m") if joint.kind == SLIDE else ("N*m", "rad")


def load_joint(
    builder: Builder, name: str, joint: str, values: Sequence[Given], *, in_parent: bool = False
) -> None:
    """A load in a joint for each of its speeds: a force along, or a moment about, the axis of that speed.

    A free body's translations are along its parent's axes; all else is along its own, or for a ball along
    its parent's with ``in_parent``.
    """
    freedom, body = builder.freedoms[joint], builder.moved[joint]
    assert body.parent is not None
    triad = list(np.eye(3))
    turning = {HINGE: [freedom.axis], BALL: triad, FREE: triad}.get(freedom.kind, [])
    sliding = {SLIDE: [freedom.axis], FREE: triad}.get(freedom.kind, [])
    axes = [(False, axis) for axis in sliding] + [(True, axis) for axis in turning]
    for i, ((turns, axis), value) in enumerate(zip(axes, values, strict=True), start=1):
        if isinstance(value, int | float) and value == 0:
            continue
        label = builder.name(f"{name}{i if len(axes) > 1 else ''}")
        outer = in_parent or (freedom.kind == FREE and not turns)
        direction = (body.parent if outer else body).frame.vector(triple(axis))
        if turns:
            moment(builder.system, label, value, direction, on=body, reaction=body.parent)
        else:
            force(builder.system, label, value, direction, at=body.origin, reaction=body.parent)


def _passive(builder: Builder, name: str, joint: RobotFreedom) -> None:
    """−k (q − rest) − d u: a load of this size on each speed."""
    body = builder.moved[name]
    values: list[Given] = [0] * len(body.speeds)
    effort, unit = units_of(joint)
    if joint.damping and joint.kind == FREE:
        builder.record.note(f"damping of the free joint '{name}' is left out")
    elif joint.damping:
        about = f"damping in joint {name}"
        d = builder.parameter(f"damping_{name}", joint.damping, f"{effort}*s/{unit}", about)
        values = [-d * speed for speed in body.speeds]
    if joint.stiffness and joint.kind == FREE:
        builder.record.note(f"the spring of the free joint '{name}' is left out")
    elif joint.stiffness:
        about = f"spring in joint {name}"
        k = builder.parameter(f"stiffness_{name}", joint.stiffness, f"{effort}/{unit}", about)
        if joint.kind == BALL:
            stretch = rotation_vector(body.coordinates)
        elif joint.rest:
            rest = builder.parameter(f"rest_{name}", joint.rest, unit, f"rest of the {about}")
            stretch = [body.coordinates[0] - rest]
        else:
            stretch = [body.coordinates[0]]
        values = [value - k * x for value, x in zip(values, stretch, strict=True)]
    load_joint(builder, f"passive_{name}", name, values)


def rotation_vector(e: Sequence[Expr]) -> list[Expr]:
    """Angle times axis of a rotation by Euler parameters, the shorter way round."""
    e0, *rest = e
    sine = fn.named(fn.sqrt(sum(x * x for x in rest)), "half_sine")
    angle = 2 * fn.atan2(sine, fn.absolute(e0))
    factor = fn.select(sine > 1e-9, angle / fn.maximum(sine, 1e-9), 2)
    signed = fn.named(fn.select(e0 >= 0, factor, -factor), "per_half_sine")
    return [x * signed for x in rest]


def _armature(builder: Builder, name: str, joint: RobotFreedom) -> None:
    """The same inertia for each speed of the joint: kg for those that slide, kg m² for those that turn."""
    about = f"armature of joint {name}"
    made: dict[str, Expr] = {}
    for speed in builder.moved[name].speeds:
        units = "kg" if speed.dimension is SPEED else "kg*m^2"
        if units not in made:
            label = f"armature_{name}" + ("_turning" if made else "")
            made[units] = builder.parameter(label, joint.armature, units, about)
        armature(builder.system, speed, made[units])


def _known_stops(stops: Mapping[str, float]) -> DataTable:
    if not isinstance(stops, Mapping) or "stiffness" not in stops:
        raise ModelError(f"stops={stops!r} is not a table such as {{'stiffness': 1e4, 'damping': 0.1}}")
    return checked_names(stops, _STOPS, "stops: there is no", ModelError, listed=True)


def _stop(builder: Builder, name: str, low: float, high: float, stops: DataMapping) -> None:
    q = builder.moved[name].coordinates[0]
    stop(builder.system, builder.name(f"stop_{name}"), q, lower=low, upper=high, **stops)
