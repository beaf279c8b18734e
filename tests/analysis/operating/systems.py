"""Small systems whose operating points have closed forms; each is derived and compiled once."""

from __future__ import annotations

from functools import cache

import armillary as arm
from armillary.stages.model import Model

G = 9.81


@cache
def pendulum(formalism: str = "auto") -> Model:
    """A pendulum of 2 kg and 0.5 m with a motor, angles in degrees."""
    s = arm.System("pendulum", units="SI-deg")
    s.parameter("torque", 0.0, units="N*m", about="moment of the motor")
    s.parameter("c", 0.3, units="N*m*s/rad")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=2, inertia=0)
    s.gravity(G, -s.ground.y)
    s.moment("motor", "torque - c*bob.u1", s.ground.z, on=bob)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.y), units="mm")
    return s.derive(formalism).compile()


@cache
def column() -> Model:
    """An upright rod of length 1 m and mass m on a torsion spring: it buckles where m g l = k."""
    s = arm.System("column")
    s.parameter("m", 1.0, units="kg")
    s.parameter("k", 20.0, units="N*m/rad")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, 1, 0), mass="m", inertia=0)
    s.gravity(G, -s.ground.y)
    s.moment("spring", "-k*rod.q1 - 0.5*rod.u1", s.ground.z, on=rod)
    return s.derive().compile()


@cache
def hoop() -> Model:
    """A bead on a hoop of radius R that turns about a vertical diameter at W."""
    s = arm.System("bead on a hoop")
    s.parameter("W", 3.0, units="rad/s")
    s.parameter("R", 0.4, units="m")
    ring = s.body("ring", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.prescribe(ring.u1, "W")
    bead = s.body("bead", ring, arm.Revolute("y"), com=(0, 0, "-R"), mass=0.1, inertia=0)
    s.gravity(G, -s.ground.z)
    s.parameter("c", 0.01, units="N*m*s")
    s.moment("friction", "-c*bead.u1", ring.y, on=bead)
    return s.derive().compile()


@cache
def top() -> Model:
    """A heavy symmetric top in Euler's angles: precession, tilt, spin."""
    s = arm.System("top")
    body = s.body("top", joint=arm.Gimbal("zxz"), com=(0, 0, 0.06), mass=0.5, inertia=(4e-4, 4e-4, 6e-4))
    s.gravity(G, -s.ground.z)
    s.output("tilt", body.q2, units="deg")
    return s.derive().compile()


@cache
def parallelogram() -> Model:
    """Two cranks of length 0.3 m under a coupler of mass 2 kg, held by a torsion spring."""
    s = arm.System("parallelogram")
    s.parameter("k", 12.0, units="N*m/rad")
    s.gravity(G, -s.ground.y)
    left = s.body("left", joint=arm.Revolute("z"), mass=0, inertia=0)
    coupler = s.body("coupler", left, arm.Revolute("z"), at=(0.3, 0, 0), com=(0.5, 0, 0), mass=2, inertia=0)
    right = s.body("right", joint=arm.Revolute("z"), at=(1, 0, 0), mass=0, inertia=0)
    s.close_loop(coupler.point("pin", (1, 0, 0)), right.point("pin", (0.3, 0, 0)), (s.ground.x, s.ground.y))
    s.moment("spring", "-k*left.q1 - 0.5*left.u1", s.ground.z, on=left)
    s.start({"left.q1": 0.6, "coupler.q1": -0.6, "right.q1": 0.6})
    return s.derive().compile()


@cache
def watt() -> Model:
    """Watt's governor with an engine, in the scaled variables of Sotomayor, Mello and Braga (2007).

    φ̈ = z² sin φ cos φ − sin φ − ε φ̇,  ż = α (cos φ − β); a Hopf point at ε = 2 α β^(3/2).
    """
    s = arm.System("Watt governor")
    s.parameter("alpha", 0.6)
    s.parameter("beta", 0.8)
    s.parameter("eps", 1.5)
    ball = s.body("ball", joint=arm.Revolute("y"), com=(0, 0, -1), mass=1, inertia=0)
    s.gravity(1, -s.ground.z)
    s.state("z", "alpha*(cos(ball.q1) - beta)", initial=1.0, units="-")
    s.moment("spin", "z^2*sin(ball.q1)*cos(ball.q1) - eps*ball.u1", s.ground.y, on=ball)
    return s.derive().compile()


@cache
def truss() -> Model:
    """A shallow truss of two bars, half span 1 m, rise 0.3 m: it snaps through under a load P."""
    s = arm.System("truss")
    s.parameter("P", 0.0, units="N")
    tip = s.body("tip", joint=arm.Prismatic("y"), mass=1, inertia=0)
    h, free = 0.3, 1.09**0.5
    s.start({"tip.q1": h})
    s.force("bars", f"-2*1000*(sqrt(1 + tip.q1^2) - {free!r})*tip.q1/sqrt(1 + tip.q1^2) - P - 5*tip.u1",
            s.ground.y, at=tip.com)  # fmt: skip
    return s.derive().compile()
