"""A flexible boom that is spun up, with geometric stiffening and without it.

As the boom turns faster its lag first grows with the angular acceleration; then the centrifugal force, which
pulls along the bent boom, straightens it. A model that is linear in the deflection from the start has only
the part of that force that pushes outwards, and diverges once the spin exceeds the boom's first frequency,
3.8 rad/s. What it lacks is the shortening of the boom as it bends: of second order, but times the spin's
square.

Source: Kane, Ryan & Banerjee (1987), Dynamics of a cantilever beam attached to a moving base, J. Guidance
10(2), spin-up law and effect; the boom is that of Simo & Vu-Quoc (1987), J. Sound and Vibration 119(3). The
satellite that carries two such booms is ours.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import armillary as arm

LENGTH, RIGIDITY, DENSITY = 10.0, 1.4e4, 1.2  # m, EI in N m², kg/m
SPIN = "select(t < T, W/T*(t - T/(2*pi)*sin(2*pi*t/T)), W)"  # no jump in the angular acceleration
FORMALISMS = ("kane", "recursive", "back_substitution", "momentum")
THROWN = {"satellite.u4": 0.4, "satellite.u6": 5.0, "left.q1": 0.3, "left.q2": 0.4, "right.q2": -0.2}


def boom(s: arm.System, name: str, hub: arm.Body, stiffening: bool, modes: int, **how: Any) -> arm.Body:
    """A boom clamped to a hub, with the deflection of its tip in the plane of rotation as an output."""
    made = s.body(name, hub)
    beam = arm.Beam(LENGTH, EI=RIGIDITY, mass_per_length=DENSITY, **how)
    made.flexible(beam, modes=modes, stiffening=stiffening)
    s.output(f"{name} tip", arm.dot(made.deflection("tip"), hub.y), units="m", about="deflection, in plane")
    return made


def system(stiffening: bool = True, modes: int = 4) -> arm.System:
    """One boom, bending in the plane of rotation, on a hub whose spin is given."""
    s = arm.System("spinning boom")
    s.parameter("W", 6.0, units="rad/s", about="spin at the end")
    s.parameter("T", 15.0, units="s", about="time to spin up")
    hub = s.body("hub", joint=arm.Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(hub.u1, SPIN)
    made = boom(s, "boom", hub, stiffening, modes, motions="y")
    shortening = arm.dot(made.deflection("tip"), hub.x)
    s.output("shortening", -shortening, units="mm", about="of the boom's projection on its undeformed line")
    s.output("motor", s.effort(hub.u1), units="N*m", about="moment that makes the hub follow")
    return s


def satellite(stiffening: bool = True, modes: int = 4) -> arm.System:
    """A free satellite with two booms that bend in both planes, spun up by its thrusters.

    Their moment M (1 − cos 2πt/T) gives an angular momentum M T.
    """
    s = arm.System("satellite with booms")
    s.parameter("M", 420.0, units="N*m", about="mean moment of the thrusters")
    s.parameter("T", 15.0, units="s", about="burning time")
    hub = s.body("satellite", joint=arm.Free(), mass=200.0, inertia=(150.0, 180.0, 250.0))
    boom(s, "left", hub, stiffening, modes, origin=(-0.5, 0, 0), along="-x")
    boom(s, "right", hub, stiffening, modes, origin=(0.5, 0, 0), along="x")
    s.moment("thrusters", "select(t < T, M*(1 - cos(2*pi*t/T)), 0)", hub.z, on=hub)
    s.output("spin", arm.dot(arm.angular_velocity(hub), hub.z), units="rad/s")
    s.output("energy", s.kinetic_energy() + s.strain_energy(), units="J")
    momentum, angular = s.momentum(), s.angular_momentum()
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"p{letter}", arm.dot(momentum, axis), units="N*s", about="momentum")
        s.output(f"h{letter}", arm.dot(angular, axis), units="N*m*s", about="angular momentum")
    return s


def main(folder: str = "out") -> None:
    """The spin-up of the boom until it diverges or is straight again; then that of the satellite."""
    for stiffening in (False, True):
        eom = system(stiffening).derive()
        print(f"boom {'with' if stiffening else 'without'} stiffening: {eom.formalism}, {eom.operations}")
        run = eom.compile().simulate(20.0 if stiffening else 12.0, sample=0.01)
        tip = run["boom tip"]
        print(f"  tip at most {abs(tip).max():.4g} m, at {run.time[abs(tip).argmax()]:.2f} s, "
              f"{abs(tip[-400:]).max():.3g} m in the last 4 s")  # fmt: skip
    ways = {formalism: satellite().derive(formalism) for formalism in FORMALISMS}
    for formalism, eom in ways.items():
        print(f"satellite by {formalism}: {eom.operations}")
    flight = ways["recursive"].compile().simulate(30.0, sample=0.02)
    bent = abs(flight["left tip"]).max()
    print(f"the satellite spins at {flight.final['spin']:.4f} rad/s after its thrusters gave "
          f"{flight.final['hz']:.3f} N·m·s; its booms bent by up to {bent:.3f} m")  # fmt: skip
    Path(folder).mkdir(parents=True, exist_ok=True)
    names = ("hub.u1", "boom tip", "shortening", "motor")
    run.plot(*names, path=Path(folder) / "spinning_boom.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
