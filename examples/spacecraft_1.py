"""Spacecraft 1: a bus with a clock platform, a camera, a boom on a flexible root, and thrusters.

Source: Sayers (1990), section 9.4 and Appendix D, the full nonlinear version. Clock and camera follow
commanded ramps; thrusters with a dead band hold the attitude. As in the source, the bus's speeds are those of
B*, the mass centre of bus and clock, which is why B's origin is placed there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

PARAMETERS = {
    "L1": (1.5, "m", "clock joint below the bus's mass centre"),
    "L2": (0.75, "m", "clock's mass centre above its joint"),
    "L3": (0.1, "m", "camera joint on the clock"),
    "L5": (0.22, "m", "camera's mass centre along its y"),
    "L6": (0.2, "m", "camera's mass centre along its z"),
    "L7": (1.2, "m", "boom joint on the bus"),
    "L8": (3.3, "m", "boom's mass centre from its joint"),
    "BM": (410.0, "kg", "mass of the bus"),
    "CM": (6.8, "kg", "mass of the clock"),
    "DM": (57.5, "kg", "mass of the camera"),
    "FM": (10.7, "kg", "mass of the boom"),
    "BI11": (115.0, "kg*m2", "inertia of the bus"),
    "BI12": (-14.0, "kg*m2", "inertia of the bus"),
    "BI13": (14.0, "kg*m2", "inertia of the bus"),
    "BI22": (316.0, "kg*m2", "inertia of the bus"),
    "BI23": (-34.6, "kg*m2", "inertia of the bus"),
    "BI33": (440.0, "kg*m2", "inertia of the bus"),
    "CI": (0.35, "kg*m2", "inertia of the clock across its axis"),
    "DI11": (4.85, "kg*m2", "inertia of the camera"),
    "DI12": (-0.41, "kg*m2", "inertia of the camera"),
    "DI13": (-0.07, "kg*m2", "inertia of the camera"),
    "DI22": (2.2, "kg*m2", "inertia of the camera"),
    "DI23": (-0.54, "kg*m2", "inertia of the camera"),
    "DI33": (5.5, "kg*m2", "inertia of the camera"),
    "FI1": (27.2, "kg*m2", "inertia of the boom across it"),
    "FI2": (0.2, "kg*m2", "inertia of the boom along it"),
    "KCLOCK": (3500.0, "N*m/rad", "servo stiffness of clock and camera"),
    "BCLOCK": (20.0, "N*m*s/rad", "servo damping of clock and camera"),
    "KB": (2000.0, "N*m/rad", "boom stiffness"),
    "BB": (10.0, "N*m*s/rad", "boom damping"),
    "CLOCK0": (4.0, "rad", "first command of the clock"),
    "CLOCKRATE": (-0.025, "rad/s", "rate of its ramp"),
    "CAMERA0": (-0.5, "rad", "first command of the camera"),
    "CAMERARATE": (0.01, "rad/s", "rate of its ramp"),
    "TSTART": (1.0, "s", "start of both ramps"),
    "TRAMP": (10.0, "s", "their duration"),
}
THRUSTERS = {
    "LTT1": (0.23, "N*m", "thruster couple about x"),
    "LTT2": (0.21, "N*m", "thruster couple about y"),
    "LTT3": (0.31, "N*m", "thruster couple about z"),
    "GYRO": (2.0, "s", "gain of the rate in the thrusters' error"),
    "BAND": (0.0025, "rad", "dead band of the error"),
    "ONTIME": (0.02, "s", "least time that a thruster stays on"),
}
START = {"C.q1": 4.0, "D.q1": -0.5}
NEVER = 1e9  # a time after the end of every run


def system(thrusters: bool | str = True, *, arranged: bool = True) -> arm.System:
    """The spacecraft; thrusters switch once per step (True), when due ("events"), or are left out (False).

    ``arranged`` as in the source, for cheap equations; else the bus's origin is at its own mass centre, and
    the choice of speeds is left to the program.
    """
    s = arm.System("Spacecraft 1")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)

    # The published inertia of the bus breaks the triangle inequality. Its own mass centre is off the origin.
    up, velocity = ("(L1 - L2)*CM/(BM + CM)", "body") if arranged else ("0", "auto")
    B = s.body(
        "B", joint=arm.Free(rotation="xyz", velocity=velocity), com=(0, 0, up), mass="BM",
        inertia=("BI11", "BI22", "BI33", "BI12", "BI13", "BI23"), check_inertia=False,
    )  # fmt: skip
    C = s.body(
        "C", B, arm.Revolute("z"), at=(0, 0, f"{up} - L1"), com=(0, 0, "L2"), mass="CM",
        inertia=("CI", "CI", 0),
    )  # fmt: skip
    D = s.body(
        "D", C, arm.Revolute((-1, 0, 0)), at=(0, "-L3", 0), orient=((-1, 0, 0), (0, 1, 0), (0, 0, -1)),
        com=(0, "L5", "L6"), mass="DM", inertia=("DI11", "DI22", "DI33", "DI12", "DI13", "DI23"),
    )  # fmt: skip
    E = s.body("E", B, arm.Revolute("z"), at=(0, "-L7", up), mass=0, inertia=0)
    F = s.body("F", E, arm.Revolute("x"), com=(0, "-L8", 0), mass="FM", inertia=("FI1", "FI2", "FI1"))

    ramp = "min(max(t - TSTART, 0), TRAMP)"
    s.moment("BT1", "-KB*E.q1 - BB*E.u1", E.z, on=F, reaction=B)
    s.moment("BT2", "-KB*F.q1 - BB*F.u1", F.x, on=F, reaction=B)
    s.moment("CLOCKT", f"KCLOCK*(CLOCK0 + CLOCKRATE*{ramp} - C.q1) - BCLOCK*C.u1", C.z, on=C, reaction=B)
    s.moment("CAMT", f"KCLOCK*(CAMERA0 + CAMERARATE*{ramp} - D.q1) - BCLOCK*D.u1", D.x, on=D, reaction=C)
    if thrusters:
        for name, (value, units, about) in THRUSTERS.items():
            s.parameter(name, value, units=units, about=about)
        for i, axis in enumerate((B.x, B.y, B.z), start=1):
            (_switch_by_events if thrusters == "events" else _switch_once_per_step)(s, i)
            s.moment(f"TT{i}", f"LTT{i}*fire{i}", axis, on=B)
    momentum, angular = s.momentum(), s.angular_momentum("mass centre")
    for name, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"B0{name}", arm.dot(arm.position(B.com), axis), units="m", about="bus's own mass centre")
        s.output(f"p{name}", arm.dot(momentum, axis), units="N*s", about="momentum")
        s.output(f"h{name}", arm.dot(angular, axis), units="N*m*s", about="angular momentum")
    return s


def _switch_once_per_step(s: arm.System, i: int) -> None:
    """A thruster that looks at its error at the start of every step, as a sampled controller does."""
    error = f"(B.q{i + 3} + GYRO*B.u{i + 3})"
    fire = s.memory(f"fire{i}", about=f"command of thruster {i}: -1, 0 or 1")
    off = s.memory(f"off{i}", units="s", about=f"time until which thruster {i} stays on at least")
    s.update(fire, f"select({error} < -BAND, 1, select({error} > BAND, -1, select(t >= off{i}, 0, fire{i})))")
    s.update(off, f"select(abs({error}) > BAND, t + ONTIME, off{i})")


def _switch_by_events(s: arm.System, i: int) -> None:
    """A thruster that looks all the time: on when the error leaves the band, off ONTIME after it is back.

    Firing may turn the error round at once, so that it only touches the band and never is outside. Therefore
    the on-time is counted from the way out, and again from the way back; when it is over, a thruster whose
    error is still outside stays on.
    """
    error = f"(B.q{i + 3} + GYRO*B.u{i + 3})"
    fire = s.memory(f"fire{i}", about=f"command of thruster {i}: -1, 0 or 1")
    off = s.memory(f"off{i}", NEVER, units="s", about=f"time at which thruster {i} goes off")
    for side, sign in (("low", 1), ("high", -1)):
        inside = f"{sign}*{error} + BAND"
        leave, enter = f"thruster {i} {side}", f"thruster {i} back from {side}"
        s.event(leave, inside, direction=-1, set={fire: sign, off: "t + ONTIME"}, about="out of the band")
        s.event(enter, inside, direction=1, set={off: "t + ONTIME"}, about="back in the band")
    over = {fire: f"select(abs({error}) > BAND, fire{i}, 0)", off: NEVER}
    s.event(f"thruster {i} off", f"t - off{i}", direction=1, set=over, about="the least on-time is over")


def main(folder: str = "out") -> None:
    """The published scenario: 30 s at steps of 0.02 s with the midpoint method."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    run = eom.compile().simulate(30.0, step=0.02, method="midpoint", initial=START)
    for i, axis in enumerate("xyz", start=4):
        error = run[f"B.q{i}"] + 2.0 * run[f"B.u{i}"]
        print(f"attitude error about {axis}: at most {abs(error).max():.4f} rad, dead band 0.0025 rad")
    print(f"clock at {run.final['C.q1']:.5f} rad, camera at {run.final['D.q1']:.5f} rad")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("B.q4", "B.q5", "B.q6", path=Path(folder) / "spacecraft_1.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
