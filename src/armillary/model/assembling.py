"""The frames of a body and its place in its parent, from the steps of its joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.algebra.vectors import Frame, Matrix, Triple, Vector, cross, matrix_product
from armillary.model.joints import Drift, Slide, Step, Tumble, Turn
from armillary.model.joints.base import axis_rotation


def build_frames(
    name: str, parent: Frame, place: Triple, steps: Sequence[Step], orient: Matrix | None
) -> tuple[Frame, Vector, Vector]:
    """(frame of the body, displacement of its origin from the parent's, velocity of its origin in the
    parent).

    Each turn gets a frame of its own, so that mixed-frame vectors stay short; the last one is also turned by
    ``orient``: v_parent = R_joint(q) R_orient v_child.
    """
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
        turned = turned + frame.rate
    if not steps or isinstance(steps[-1], Slide):
        frame = Frame(name, frame) if orient is None else Frame(name, frame, orient)
    return frame, displacement, drift


def _rate(step: Turn | Tumble | Drift, before: Frame) -> Any:
    """Angular velocity of the new frame in the one before; a joint's speeds are in the child's axes."""
    if isinstance(step, Turn):
        return lambda frame: before.vector(step.axis) * step.speed
    if isinstance(step, Tumble):
        return lambda frame: frame.vector(step.speeds)
    return lambda frame: frame.vector([step.angular.get(i, 0) for i in range(3)])
