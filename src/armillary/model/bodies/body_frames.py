"""The frames of a body and its place in its parent, from the steps of its joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.algebra.intermediate import measured
from armillary.algebra.triples import Matrix, Scalar, Triple, combined, is_zero, matrix_product
from armillary.algebra.units import RATE, SPEED, Dimension
from armillary.algebra.vectors import Frame, Vector, cross
from armillary.model.joints import Drift, Flexed, Slide, Step, Tumble, Turn
from armillary.model.joints.base import axis_rotation


def build_frames(
    name: str, parent: Frame, place: Triple, steps: Sequence[Step], orient: Matrix | None
) -> tuple[Frame, Vector, Vector]:
    """(frame of the body, displacement of its origin from the parent's, velocity of its origin in the
    parent).

    Each turn gets a frame of its own, so that mixed-frame vectors stay short; the last one is also turned by
    ``orient``: v_parent = R_joint(q) R_orient v_child. A flexible body held at one of its nodes moves in
    that node's axes last of all.
    """
    if steps and isinstance(steps[-1], Flexed) and (len(steps) > 1 or orient is not None):
        held, displacement, drift = build_frames(f"{name}'", parent, place, steps[:-1], orient)
        frame, moved, moving = build_frames(name, held, (0, 0, 0), steps[-1:], None)
        turning = sum((f.rate for f in _between(held, parent)), Vector({}))
        return frame, displacement + moved, drift + moving + cross(turning, moved)
    frame = parent
    displacement = parent.vector(place)
    drift = Vector({})
    turned = Vector({})  # angular velocity of the present frame in the parent
    for count, step in enumerate(steps, start=1):
        if isinstance(step, Slide):
            moved = frame.vector(step.axis) * step.distance
            displacement = displacement + moved
            drift = drift + frame.vector(step.axis) * step.speed + cross(turned, moved)
            continue
        last = count == len(steps)
        rotation = axis_rotation(step.axis, step.angle) if isinstance(step, Turn) else step.rotation
        if last and orient is not None:
            rotation = matrix_product(rotation, orient, f"R_{name}")
        before = frame
        frame = Frame(name if last else name + "'" * count, before, rotation, _rate(step, before))
        if isinstance(step, Drift):
            moved = before.vector(step.position)
            axes = frame if step.velocity == "body" else before
            displacement = displacement + moved
            drift = drift + axes.vector([step.linear.get(i, 0) for i in range(3)]) + cross(turned, moved)
        elif isinstance(step, Flexed):
            moved = before.vector(step.position)
            displacement = displacement + moved
            drift = drift + frame.vector(_modal(step.moving, step, SPEED)) + cross(turned, moved)
        turned = turned + frame.rate
    if not steps or isinstance(steps[-1], Slide):
        frame = Frame(name, frame) if orient is None else Frame(name, frame, orient)
    return frame, displacement, drift


def _modal(columns: Sequence[Triple], step: Flexed, dimension: Dimension) -> list[Scalar]:
    """A velocity by modes, Σ column·speed, with the dimension that its numbers hide."""
    values = combined(columns, step.speeds)
    return [0 if is_zero(x) else measured(x, dimension, "modal") for x in values]


def _between(frame: Frame, parent: Frame) -> list[Frame]:
    """The frames of a joint, without the parent's."""
    found = []
    while frame is not parent:
        found.append(frame)
        assert frame.parent is not None
        frame = frame.parent
    return found


def _rate(step: Turn | Tumble | Drift | Flexed, before: Frame) -> Callable[[Frame], Vector]:
    """Angular velocity of the new frame in the one before; a joint's speeds are in the child's axes."""
    if isinstance(step, Turn):
        return lambda frame: before.vector(step.axis) * step.speed
    if isinstance(step, Tumble):
        return lambda frame: frame.vector(step.speeds)
    if isinstance(step, Flexed):
        return lambda frame: frame.vector(_modal(step.turning, step, RATE))
    return lambda frame: frame.vector([step.angular.get(i, 0) for i in range(3)])
