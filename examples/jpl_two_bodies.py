"""A spacecraft with a seven-mode appendage and a platform on two hinges, pushed and turned by pulses.

The appendage is known by its rigid-elastic coupling coefficients alone. The same description runs by MBDYFN
(a nonlinear tree), by MBDYFL (all small), and with the platform's hinges held.

Source: Fleischer and Likins (1975), JPL TR 32-1598, section IV.C: the sample problems of MBDYFN and MBDYFL.
The report labels its units so; the ratio of inertia to mass suggests that others were meant.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import armillary as arm

PI = 3.14159265  # as in the report's program
FREQUENCIES = [2 * PI * f for f in (0.5756, 0.61337, 0.61337, 0.63071, 2.723, 2.963, 3.047)]
DAMPING = [0.2, 0.2, 0.2, 0.2, 0.05, 0.05, 0.01]
MOMENTUM = [
    [0.03375, 0.01055, 0.002335, 0.003244, -0.6055, -0.305, -0.02762],
    [0.001654, 0.001104, -0.01818, 0.001014, -0.5381, 1.753, 0.1051],
    [-0.8678, -4.608e-05, -4.731e-06, 2.234, 1.962, 0.5585, 0.3919],
]
ANGULAR_MOMENTUM = [
    [0.08135, 0.4236, 21.3, -0.4081, 7.577, -4.32, 2.032],
    [17.17, 12.3, -0.2386, 5.93, 0.402, -0.1589, -2.061],
    [0.007955, 0.001859, 0.000918, -0.05211, 2.52, -0.9205, 0.2761],
]
# What acts, on what axis of the base, how strongly, from when to when.
PULSES = (("thrust", "z", 300.0, 0.5, 2.5), ("roll", "x", 10.0, 3.5, 4.5), ("pitch", "y", 10.0, 6.5, 7.5))


def system(frozen: bool = False) -> arm.System:
    """Base and platform; ``frozen`` prescribes both hinges at zero."""
    s = arm.System("JPL two bodies")
    base = s.body("base", joint=arm.Free(), mass=79.0, inertia=(1230.0, 1290.0, 1650.0, 16.29, 43.45, -61.75))
    base.flexible(
        coupling=(MOMENTUM, ANGULAR_MOMENTUM), frequencies=FREQUENCIES, damping=DAMPING, total_mass=80.93
    )
    platform = s.body("platform", base, arm.Gimbal("zx"), mass=1.93, inertia=(4.75, 5.53, 1.32))
    for i, (axis, k) in enumerate((("base.z", 900.0), ("platform.x", 850.0)), start=1):
        if frozen:
            s.prescribe(f"platform.q{i}", 0.0)
            continue
        s.parameter(f"k{i}", k, units="N*m/rad")
        s.parameter(f"c{i}", 100.0, units="N*m*s/rad")
        s.moment(f"hinge{i}", f"-k{i}*platform.q{i} - c{i}*platform.u{i}", axis, on=platform, reaction=base)
    for name, axis, size, begin, end in PULSES:
        along, units = getattr(base, axis), "N" if name == "thrust" else "N*m"
        now = s.memory(f"{name}_now", 0.0, units=units)
        s.parameter(f"{name}_size", size, units=units)
        if name == "thrust":
            s.force(name, now, along, at=base.com)
        else:
            s.moment(name, now, along, on=base)
        for edge, at, value in (("on", begin, f"{name}_size"), ("off", end, 0.0)):
            s.parameter(f"{name}_{edge}", at, units="s")
            s.event(f"{name} {edge}", f"t - {name}_{edge}", direction=1, set={now: value})
    return s


def main(folder: str = "out") -> None:
    """The report's ten seconds by both formulations, and with the hinges held."""
    tight: dict[str, Any] = {"method": "dop853", "sample": 0.02, "rtol": 1e-10, "atol": 1e-13}
    runs = {}
    for title, formalism, frozen in (
        ("nonlinear", "mbdyfn", False), ("all small", "mbdyfl", False), ("hinges held", "mbdyfn", True)
    ):  # fmt: skip
        eom = system(frozen).derive(formalism)
        runs[title] = eom.compile().simulate(10.0, **tight)
        final = runs[title].final["angular momentum"]
        print(f"{title:12} {formalism}: {eom.operations}; final angular momentum {final:.4f} N m s")
    Path(folder).mkdir(parents=True, exist_ok=True)
    names = ("base.u4", "base.u5", "base.u6", "base.q8", "base.q11", "base.q12", "platform.q1")
    runs["nonlinear"].plot(*names, path=Path(folder) / "jpl_two_bodies.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
