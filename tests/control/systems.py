"""Systems that several tests of control share, compiled once."""

from functools import cache

import numpy as np

import armillary as arm


@cache
def cart_pole():
    """Cart and pole of Kelly (2017), section 6: masses of 1 and 0.3 kg, a rod of 0.5 m; hanging at zero."""
    s = arm.System("cart and pole")
    s.parameter("L", 0.5, units="m")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, "-L", 0), mass=0.3, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.input("F", units="N")
    s.force("motor", "F", s.ground.x, at=cart.com)
    s.output("tip", "cart.q1 + L*sin(pole.q1)", units="m")
    return s.derive().compile()


@cache
def slider():
    """A mass of 1 kg on a line: the double integrator."""
    s = arm.System("slider")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.input("F", units="N")
    s.force("push", "F", s.ground.x, at=body.com)
    return s.derive().compile()


@cache
def bead():
    """A bead that slides at an angle that an input sets: the brachistochrone."""
    s = arm.System("bead")
    bead = s.body("bead", joint=arm.Prismatic("x"), mass=1.0, inertia=0)  # its way along the track
    s.input("slope")
    s.force("weight", "9.81*sin(slope)", s.ground.x, at=bead.com)
    s.state("x", rate="bead.u1*cos(slope)")
    s.state("y", rate="bead.u1*sin(slope)")
    return s.derive().compile()


def slider_riccati():
    """The gain of the first of ten steps of 0.1 s of the slider, and the cost to go before it."""
    F, G = np.array([[1, 0.1], [0, 1]]), np.array([[0.005], [0.1]])
    Q, R, P = 0.1 * np.diag([1.0, 0.5]), 0.1 * np.array([[0.2]]), np.diag([3.0, 4.0])
    for _ in range(10):
        K = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
        P = Q + F.T @ P @ (F - G @ K)
    return K, P
