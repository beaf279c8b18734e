"""Small systems for tests of compiled models, each with known answers."""

from __future__ import annotations

from functools import cache

import armillary as arm
from armillary.stages.model import Model


def pendulum() -> arm.System:
    """A point mass on a rod: q̈ = −(g/L) sin q − torque/(m L²)."""
    s = arm.System("pendulum")
    s.parameter("m", 2.0, units="kg", about="mass of the bob")
    s.parameter("L", 0.5, units="m")
    s.parameter("g", 9.81, units="m/s^2")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass="m", inertia=0)
    s.gravity("g", -s.ground.y)
    s.moment("friction", "-c*bob.u1", "ground.z", on=bob)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.y), units="cm", about="of the bob")
    s.output("energy", arm.dot(arm.velocity(bob.com), arm.velocity(bob.com)) * s.parameters["m"] / 2)
    return s


@cache
def pendulum_model() -> Model:
    return pendulum().derive().compile()


@cache
def oscillator() -> Model:
    """ẍ = −ω² x, x = cos ωt from x = 1."""
    s = arm.System("oscillator")
    s.parameter("m", 1.0, units="kg")
    s.parameter("w", 2.0, units="1/s")
    body = s.body("A", joint=arm.Prismatic("x"), mass="m")
    s.force("spring", "-m*w^2*A.q1", "ground.x", at=body.com)
    return s.derive().compile()


@cache
def escaping() -> Model:
    """ẍ = k x³ from x = 1: infinite after a finite time."""
    s = arm.System("escaping")
    body = s.body("A", joint=arm.Prismatic("x"), mass=1)
    s.body("B", joint=arm.Prismatic("y"), mass=1)
    s.parameter("k", 2.0)
    s.force("push", "k*A.q1^3", "ground.x", at=body.com)
    return s.derive().compile()


@cache
def spinning() -> Model:
    """A free body with three different moments of inertia, tumbling."""
    s = arm.System("tumbling")
    s.body("A", joint=arm.Free(), mass=1, inertia=(1.0, 2.0, 2.5))
    return s.derive().compile()
