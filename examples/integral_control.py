"""An arm that carries an unknown load, held at an angle by a motor with a lag: states of the user's own.

A proportional and derivative controller leaves an error where the load is not known. The integral of the
error, a state with the rate ė = target − q, takes it away; the motor's moment follows its command with a time
constant, a second state.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm


def system(integral: bool = True) -> arm.System:
    """An arm on a motor; without ``integral`` the controller has two terms."""
    s = arm.System("arm with integral control")
    s.parameter("kp", 150.0, units="N*m/rad", about="gain on the angle")
    s.parameter("ki", 300.0 if integral else 0.0, units="N*m/(rad*s)", about="gain on its integral")
    s.parameter("kd", 25.0, units="N*m*s/rad", about="gain on the speed")
    s.parameter("lag", 0.02, units="s", about="time constant of the motor")
    s.parameter("load", 3.0, units="kg", about="what the arm carries")
    s.parameter("target", 30.0, units="deg", about="angle asked for")
    beam = s.body("beam", joint=arm.Revolute("z"), com=(0.4, 0, 0), mass=2.0, inertia=(0.01, 0.1, 0.1))
    s.body("weight", beam, at=(0.8, 0, 0), mass="load", inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.state("error", "target - beam.q1", units="rad*s", about="integral of the error")
    motor = s.state("motor", units="N*m", about="moment of the motor")
    s.rate(motor, "(kp*(target - beam.q1) + ki*error - kd*beam.u1 - motor)/lag")
    s.moment("drive", motor, s.ground.z, on=beam)
    s.output("angle", beam.q1, units="deg")
    return s


def main(folder: str = "out") -> None:
    """The arm from rest, with and without the integral."""
    eom = system().derive()
    print(f"{eom.freedom}; {eom.formalism}: {eom.operations}")
    for integral in (False, True):
        run = system(integral).derive().compile().simulate(5.0, sample=0.005)
        print(
            f"{'with' if integral else 'no  '} integral: {run['angle'][-1]:.3f} deg after 5 s, "
            f"at most {run['motor'].max():.1f} N*m"
        )
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("angle", "motor", "error", path=Path(folder) / "integral_control.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
