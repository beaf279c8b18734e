"""A car with four wheels that roll without slip, steered as a function of time and driven by its rear wheels.

The front wheels stand on their own kingpins at the angles of Ackermann, so that the axes of all four meet in
one point. For a path of curvature κ at the middle of the rear axle, with wheelbase L and track T,

    tan δ = κ L / (1 ∓ κ T/2)        left and right wheel; one wheel amid them would have tan δ = κ L

Axes: x forward, y to the left, z up. Of eight conditions of rolling two then say nothing new, and one degree
of freedom remains: the speed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

PARAMETERS = {
    "L": (2.6, "m", "wheelbase"),
    "T": (1.5, "m", "track"),
    "R": (0.3, "m", "radius of the wheels"),
    "m": (1200.0, "kg", "mass of the car without wheels"),
    "ahead": (1.4, "m", "mass centre ahead of the rear axle"),
    "Iz": (1500.0, "kg*m2", "yaw inertia of the car without wheels"),
    "mw": (20.0, "kg", "mass of a wheel"),
    "Ia": (0.9, "kg*m2", "inertia of a wheel about its axle"),
    "It": (0.5, "kg*m2", "inertia of a wheel across its axle"),
    "drive": (300.0, "N*m", "torque on each rear wheel"),
    "tightest": (0.1, "1/m", "largest curvature of the path"),
    "pace": (0.5, "rad/s", "of the steering to and fro"),
}


def system(curvature: str = "tightest*sin(pace*t)") -> arm.System:
    """The car with its origin amid the rear axle; the curvature is given as a text in t."""
    s = arm.System("steered car")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)
    R = s.parameters["R"]
    car = s.body(
        "car",
        joint=arm.Planar("z", velocity="body"),
        com=("ahead", 0, 0),
        mass="m",
        inertia=("Iz", "Iz", "Iz"),
    )
    car.shape(arm.Box("L + 0.9", "T - 0.3", 0.3), at=("L/2", 0, 0.1))
    wheels = []
    for side, sign in (("left", ""), ("right", "-")):
        kingpin = s.body(
            f"{side}_kingpin", car, arm.Revolute("z"), at=("L", f"{sign}T/2", 0), mass=0, inertia=0
        )
        s.prescribe(kingpin.q1, f"atan2({curvature}*L, 1 - {sign}{curvature}*T/2)")
        for name, carrier, place in (("front", kingpin, (0, 0, 0)), ("rear", car, (0, f"{sign}T/2", 0))):
            wheel = s.body(
                f"{name}_{side}", carrier, arm.Revolute("y"), at=place, mass="mw", inertia=("It", "Ia", "It")
            )
            wheels.append(wheel)
            wheel.shape(arm.Wheel("R", "R/2"))
            if name == "rear":
                s.moment(f"drive_{side}", "drive", car.y, on=wheel, reaction=car)

    for wheel in wheels:
        along, across = wheel.parent.x, wheel.parent.y
        s.constrain(arm.dot(arm.velocity(wheel), along) - R * wheel.u1, name=f"{wheel.name} rolls")
        s.constrain(arm.dot(arm.velocity(wheel), across), name=f"{wheel.name} keeps its track")

    s.output("speed", car.u1, units="m/s")
    s.output("yaw rate", car.u3, units="rad/s")
    s.output("energy", s.kinetic_energy(), units="J")
    s.output("work", "drive*(rear_left.q1 + rear_right.q1)", units="J", about="of the torques on the wheels")
    s.output("path", "R*(rear_left.q1 + rear_right.q1)/2", units="m", about="length of the path so far")
    return s


def main(folder: str = "out") -> None:
    """Twelve seconds from a walking pace, to the left and to the right."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    print(f"say nothing new: {', '.join(eom.redundant_constraints)}")
    run = eom.compile().simulate(12.0, sample=0.02, initial={"car.u1": 1.0}, rtol=1e-10, atol=1e-12)
    print(f"speed at the end: {run.final['speed']:.2f} m/s")
    print(f"length of the path: {run.final['path']:.1f} m")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("car.q2", x="car.q1", path=Path(folder) / "steered_car.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
