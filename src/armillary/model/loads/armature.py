"""Armature: the inertia of a drive's rotor behind its gear, as the joint feels it.

A rotor of inertia J behind a gear of ratio n turns n times as fast as the joint, so a = n² J. Its energy is

    ½ a u²

in the joint's own speed u, and its share of the equations of motion a u̇ in the row of that speed: a term on
the diagonal of the mass matrix. Gyroscopic moments of the rotor are not part of it, nor is its mass, which
belongs to the body that carries the drive. The rotor turns relative to the parent: a joint that its parent
carries along, without a speed of its own, feels nothing of it.
"""

from __future__ import annotations

from armillary.algebra.expression import Expr
from armillary.algebra.units import ENERGY
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.model.joints import Drift
from armillary.model.reading.argument_types import ExpressionLike, VariableLike
from armillary.model.reading.references import constant_reader, find_speed
from armillary.model.recording.verbs import PairForm, verb


@verb(PairForm("armature"))
def armature(system: Description, coordinate: VariableLike, value: ExpressionLike) -> None:
    """Reflected rotor inertia of a joint: a term ``value`` on the diagonal of the mass matrix.

    ``coordinate`` is a coordinate of the joint or one of its speeds u; the energy is ½ value u². The
    value is a number, a text or an expression of parameters, in kg m² for a speed that turns and in kg
    for one that slides.
    """
    speed = find_speed(system, coordinate, "armature")
    where = f"armature of '{speed}'"
    if speed in system.armatures:
        raise ModelError(f"{where}: it has one already, {system.armatures[speed]}; give their sum once")
    if any(speed in flex.speeds for flex in system.flexibles.values()):
        raise ModelError(f"{where}: it is the speed of a mode; an armature belongs to a joint's speed")
    _check_velocity_axes(system, speed, where)
    dimension = None if speed.dimension is None else ENERGY / (speed.dimension * speed.dimension)
    inertia = constant_reader(system, where, dimension)(value)
    if inertia.kind == "number" and inertia.data < 0:
        raise ModelError(f"{where}: {inertia.data:g} is negative; an inertia is zero or positive")
    system.armatures[speed] = inertia


def _check_velocity_axes(system: Description, speed: Expr, where: str) -> None:
    """A velocity in body axes turns with the body: its rate is not the acceleration along it."""
    for body in system.bodies.values():
        for step in body.assembly.steps:
            if isinstance(step, Drift) and step.velocity == "body" and speed in step.linear.values():
                raise ModelError(
                    f"{where}: it is a velocity of body '{body.name}' in axes that turn with it, along "
                    "which no drive acts; use Free(velocity='parent'), or add to the body's mass"
                )
