"""Optimal motions with known answers: what a solver of optimal control problems should find.

    swing-up of a cart-pole              Kelly (2017), An introduction to trajectory optimization, SIAM Review
                                         59, 849-904, section 6
    swing-up of a double pendulum        two rods, a motor at the upper one
    brachistochrone                      Bernoulli (1696): a cycloid
    time-optimal slew                    Bilimoria and Wie (1993), Time-optimal three-axis reorientation of a
                                         rigid spacecraft, Journal of Guidance 16, 446-452; here by wheels
    time-optimal two-link arm            PROPT and PSOPT, "Two-link robotic arm": rods of 1 m and 1 kg with a
                                         load of 1 kg; one switch at the shoulder, two at the elbow
    gait of a five-link walker           Kelly (2017), section 7, with the data of RABBIT: Westervelt, Grizzle
                                         and Koditschek (2003), IEEE Transactions on Automatic Control 48
    lap of a single-track car            a closed road in curvilinear coordinates, circles of friction; a
                                         small price of steering and driving keeps inputs from chattering

Each problem has its model and the arguments of ``model.optimize`` from a documented start.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import armillary as arm
import armillary.vehicles as veh


@dataclass(frozen=True)
class Problem:
    """A model, made at its first use, and what ``model.optimize`` is to do with it."""

    make: Callable[[], Any]
    cost: object
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> Any:
        """The compiled model."""
        return compiled(self.make)

    def solve(self, **changes: Any) -> Any:
        """Return the optimum; ``changes`` are arguments in place of the documented ones."""
        return self.model.optimize(self.cost, **{**self.arguments, **changes})


@cache
def compiled(make: Callable[[], arm.System]) -> Any:
    """The compiled model of a system, made once."""
    return make().derive().compile()


# ---------------------------------------------------------------------------------------- swing-ups


def cart_pole() -> arm.System:
    """A cart of 1 kg, and a point of 0.3 kg on a rod of 0.5 m."""
    s = arm.System("cart and pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=0.3, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.input("F", units="N")
    s.force("motor", "F", s.ground.x, at=cart.com)
    return s


def double_pendulum() -> arm.System:
    """Two uniform rods of 1 m and 1 kg; a motor turns the upper one."""
    s = arm.System("double pendulum")
    rod = {"joint": arm.Revolute("z"), "com": (0, -0.5, 0), "mass": 1.0, "inertia": (1 / 12, 0, 1 / 12)}
    upper = s.body("upper", **rod)
    s.body("lower", parent=upper, at=(0, -1, 0), **rod)
    s.gravity(9.81, -s.ground.y)
    s.input("M", units="N*m")
    s.moment("motor", "M", s.ground.z, on=upper)
    return s


# ---------------------------------------------------------------------------------------- bead, wheels, arm


def bead() -> arm.System:
    """A bead that slides at an angle that an input sets."""
    s = arm.System("bead")
    moved = s.body("bead", joint=arm.Prismatic("x"), mass=1.0, inertia=0)  # its way along the track
    s.input("slope")
    s.force("weight", "9.81*sin(slope)", s.ground.x, at=moved.com)
    s.state("x", rate="bead.u1*cos(slope)")
    s.state("y", rate="bead.u1*sin(slope)")
    return s


def spacecraft() -> arm.System:
    """A hub of 1 kg·m² about every axis, turned by three wheels that take up the momentum.

    All together have none, so I ω' = −torque, whatever the wheels' inertia: a torque from outside in
    Bilimoria and Wie's equations. The gimbal's middle angle stays away from 90°.
    """
    s = arm.System("spacecraft with wheels")
    hub = s.body("hub", joint=arm.Gimbal("xyz"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    for axis, vector in zip("xyz", (hub.x, hub.y, hub.z), strict=True):
        spin = tuple(0.01 if letter == axis else 0.0 for letter in "xyz")
        wheel = s.body(
            f"wheel_{axis}", parent=hub, joint=arm.Revolute(axis), mass=0.0, inertia=spin, check_inertia=False
        )
        s.input(f"M{axis}", units="N*m")
        s.moment(f"motor_{axis}", f"M{axis}", vector, on=wheel, reaction=hub)
    return s


def two_link_arm() -> arm.System:
    """Two rods of 1 m and 1 kg in a horizontal plane, 1 kg at the tip, motors at both joints."""
    s = arm.System("two-link arm")
    upper = s.body("upper", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1.0, inertia=(0, 1 / 12, 1 / 12))
    across = 1 / 12 + 2 * 0.25**2  # of the lower rod and the load about their mass centre
    lower = s.body(
        "lower", parent=upper, at=(1, 0, 0), joint=arm.Revolute("z"), com=(0.75, 0, 0), mass=2.0,
        inertia=(0, across, across),
    )  # fmt: skip
    s.input("shoulder", units="N*m")
    s.input("elbow", units="N*m")
    s.moment("shoulder_motor", "shoulder", s.ground.z, on=upper)
    s.moment("elbow_motor", "elbow", s.ground.z, on=lower, reaction=upper)
    return s


# ---------------------------------------------------------------------------------------- walker

RABBIT = {  # mass, inertia about the mass centre, length, mass centre from the knee or the hip
    "tibia": (3.2, 0.93, 0.4, 0.128),
    "femur": (6.8, 1.08, 0.4, 0.163),
    "torso": (20.0, 2.22, 0.625, 0.2),
}
JOINTS = ("ankle", "stance_knee", "stance_hip", "swing_hip", "swing_knee")
STEP = 0.5  # m


def walker() -> arm.System:
    """RABBIT on one leg, whose foot does not move; motors at the ankle, the knees and the hips.

    Angles of links are from the vertical, positive forwards. At the end of a step the other foot strikes the
    ground and stays there. The impulse acts at that foot, so what lies beyond a joint, as seen from it, keeps
    its angular momentum about that joint: outputs "before 1" to "before 5", and for the next step, in which
    the legs have changed names, "after 1" to "after 5".
    """
    s = arm.System("walker")
    N = s.ground

    def link(name: str, kind: str, parent: arm.Body, up: bool, at: float) -> arm.Body:
        mass, inertia, length, centre = RABBIT[kind]
        com = (length - centre if up and kind != "torso" else centre) * (1 if up else -1)
        return s.body(
            name, parent=parent, joint=arm.Revolute("-z"), at=(0, at, 0), com=(0, com, 0), mass=mass,
            inertia=(inertia, 0, inertia),
        )  # fmt: skip

    long = {kind: values[2] for kind, values in RABBIT.items()}
    stance_tibia = link("stance_tibia", "tibia", N, True, 0.0)
    stance_femur = link("stance_femur", "femur", stance_tibia, True, long["tibia"])
    torso = link("torso", "torso", stance_femur, True, long["femur"])
    swing_femur = link("swing_femur", "femur", torso, False, 0.0)
    swing_tibia = link("swing_tibia", "tibia", swing_femur, False, -long["femur"])
    links = [stance_tibia, stance_femur, torso, swing_femur, swing_tibia]
    s.gravity(9.81, -N.y)
    for joint, body, parent in zip(JOINTS, links, [None, *links[:-1]], strict=True):
        s.input(joint, units="N*m")
        s.moment(f"{joint}_motor", joint, -N.z, on=body, reaction=parent)
    hip, knee, other = torso.point(0, 0, 0), stance_femur.point(0, 0, 0), swing_tibia.point(0, 0, 0)
    foot = swing_tibia.point(0, -long["tibia"], 0)
    s.output("foot x", arm.dot(arm.position(foot), N.x), units="m")
    s.output("foot y", arm.dot(arm.position(foot), N.y), units="m")
    s.output("foot speed", arm.dot(arm.velocity(foot), N.y), units="m/s")
    for body in links:
        s.output(f"{body.name} angle", sum(b.q1 for b in links[: links.index(body) + 1]), units="rad")

    def momentum(bodies: list[arm.Body], about: arm.Point) -> Any:
        whole: Any = 0
        for body in bodies:
            mass, inertia = RABBIT[body.name.split("_")[-1]][:2]
            lever = arm.position(body.com) - arm.position(about)
            whole += arm.dot(arm.cross(lever, mass * arm.velocity(body.com)), N.z)
            whole += inertia * arm.dot(arm.angular_velocity(body), N.z)
        return whole

    base = stance_tibia.point(0, 0, 0)
    before = [(links, foot), (links[:4], other), ([torso], hip), (links[:2], hip), (links[:1], knee)]
    after = [(links, base), (links[1:], knee), ([torso], hip), (links[3:], hip), (links[4:], other)]
    for when, parts in (("before", before), ("after", after)):
        for i, (bodies, about) in enumerate(parts):
            s.output(f"{when} {i + 1}", momentum(bodies, about), units="N*m*s")
    return s


NAMES = ("stance_tibia", "stance_femur", "torso", "swing_femur", "swing_tibia")
GAIT = {f"{a} angle": f"{b} angle" for a, b in zip(NAMES, NAMES[::-1], strict=True)}
GAIT |= {f"after {i}": f"before {i}" for i in range(1, 6)}
_POSE = (0.3, -0.1, 0.05, -0.05, -0.4)  # absolute angles at the end of a step


def _relative(angles: tuple[float, ...]) -> list[float]:
    return [b - a for a, b in zip((0.0, *angles), angles, strict=False)]


# ---------------------------------------------------------------------------------------- lap

ROAD = 600.0  # m, the length of the middle line
BEND = 0.8  # of the mean curvature: two narrow and two wide bends
SIDE = 4.0  # m, of the middle line within which the mass centre stays
GRIP = 1.1


def single_track_car() -> arm.System:
    """A car with one wheel per axle that drives, brakes and steers on a closed road.

    ``way`` and ``side`` are the distance along the middle line and from it, to the left. The road turns
    by 2π once around; its curvature is κ = 2π/L (1 + b cos 4πs/L).
    """
    s = arm.System("single-track car")
    mass, inertia, a, b = (veh.cars.SINGLE_TRACK[name][0] for name in ("m", "Izz", "a", "b"))
    body = s.body(
        "body", joint=arm.Planar("z", velocity="body"), mass=mass, inertia=(0, 0, inertia),
        check_inertia=False,
    )  # fmt: skip
    steering, drive = s.input("steering", units="rad/s"), s.input("drive", units="N")
    steer = s.state("steer", units="rad")
    s.rate("steer", steering)
    tyre = veh.LinearTyre(cornering_stiffness=80e3)
    weight = mass * 9.81 / (a + b)
    forward, sideways, turning = body.u1, body.u2, body.u3
    pushed = {"front": 0.4, "rear": 0.6}  # shares of the drive, and of the brakes
    for name, place, load, angle in (("front", a, weight * b, steer), ("rear", -b, weight * a, 0.0)):
        across = sideways + place * turning
        slip = arm.atan2(across, forward) - angle
        fy = 2 * tyre.forces(load / 2, 0.0, slip).fy
        fx = pushed[name] * drive
        along, left = arm.cos(angle), arm.sin(angle)
        force = (fx * along - fy * left) * body.x + (fx * left + fy * along) * body.y
        s.force_vector(f"{name}_tyre", force, at=body.point(place, 0, 0))
        s.output(f"{name} grip", (fx * fx + fy * fy) / (GRIP * load) ** 2)
    s.force("air", -0.8 * forward * forward, body.x, at=body.com)
    way, side = s.state("way", units="m"), s.state("side", units="m")
    turn = 2 * math.pi / ROAD
    heading = turn * (way + BEND * ROAD / (4 * math.pi) * arm.sin(4 * math.pi / ROAD * way))
    curvature = turn * (1 + BEND * arm.cos(4 * math.pi / ROAD * way))
    off = body.q3 - heading
    s.rate("way", (forward * arm.cos(off) - sideways * arm.sin(off)) / (1 - side * curvature))
    s.rate("side", forward * arm.sin(off) + sideways * arm.cos(off))
    s.output("off", off, units="rad")
    return s


# ---------------------------------------------------------------------------------------- problems

_UPRIGHT = {"cart.q1": 1.0, "pole.q1": math.pi, "cart.u1": 0.0, "pole.u1": 0.0}
_BOTH_UP = {"upper.q1": math.pi, "lower.q1": 0.0, "upper.u1": 0.0, "lower.u1": 0.0}
_CART = {"inputs": {"F": (-20, 20)}, "bounds": {"cart.q1": (-2, 2)}, "final": _UPRIGHT}
_DOUBLE = {"inputs": {"M": (-25, 25)}, "final": _BOTH_UP}
_TURNED = {"hub.q1": 0, "hub.q2": 0, "hub.q3": math.pi, "hub.u1": 0, "hub.u2": 0, "hub.u3": 0}
_WHEELS = {"inputs": dict.fromkeys(("Mx", "My", "Mz"), (-1, 1)), "final": _TURNED}
_SPEED = 22.0  # m/s, of the first guess of the lap

PROBLEMS: dict[str, Problem] = {
    "cart-pole, effort": Problem(cart_pole, "F^2", {**_CART, "duration": 2.0, "intervals": 30}),
    "cart-pole, time": Problem(
        cart_pole, 1, {**_CART, "duration": (0.5, 4), "guess": {"duration": 2.0}, "intervals": 30}
    ),
    "double pendulum, effort": Problem(
        double_pendulum, "M^2", {**_DOUBLE, "duration": 1.8, "intervals": 60}
    ),
    "double pendulum, time": Problem(
        double_pendulum, 1, {**_DOUBLE, "duration": (0.5, 5), "guess": {"duration": 2.0}, "intervals": 40}
    ),
    "brachistochrone": Problem(
        bead, 1,
        {"duration": (0.1, 3.0), "inputs": {"slope": (0.0, math.pi / 2)}, "final": {"x": 2.0, "y": 2.0},
         "guess": {"slope": [1.2, 0.3], "bead.u1": [0, 6], "duration": 1.0}, "intervals": 10},
    ),
    "slew, effort": Problem(
        spacecraft, "Mx^2 + My^2 + Mz^2", {**_WHEELS, "duration": 4.0, "intervals": 20}
    ),
    "slew, time": Problem(
        spacecraft, 1,
        {**_WHEELS, "duration": (1, 10),
         "guess": {"hub.q1": [0, 0.5, 0], "hub.q2": [0, 0.3, 0], "duration": 3.5}, "intervals": 40},
    ),
    "two-link arm": Problem(
        two_link_arm, 1,
        {"duration": (0.5, 10), "inputs": {"shoulder": (-1, 1), "elbow": (-1, 1)},
         "initial": {"lower.q1": 0.5},
         "final": {"upper.q1": 0.522, "lower.q1": 0.5, "upper.u1": 0, "lower.u1": 0},
         "guess": {"duration": 3.0}, "intervals": 40},
    ),
    "walker": Problem(
        walker, " + ".join(f"{joint}^2" for joint in JOINTS),
        {"duration": 0.7, "inputs": list(JOINTS), "periodic": GAIT,
         "final": {"foot x": STEP, "foot y": 0.0, "foot speed": (None, 0.0)},
         "initial": {"foot speed": (0.0, None)}, "path": {"foot y": (0.0, None)},
         "guess": {f"{n}.q1": [a, b] for n, a, b in zip(
             NAMES, _relative(_POSE[::-1]), _relative(_POSE), strict=True)},
         "intervals": 20},
    ),
    "lap": Problem(
        single_track_car, "1 + 0.1*steering^2 + 1e-10*drive^2",
        {"duration": (10, 100), "inputs": {"steering": (-1, 1), "drive": (-15e3, 6e3)},
         "initial": {"way": 0.0, "body.q1": 0.0, "body.q2": None, "body.q2 - side": 0.0},
         "final": {"way": ROAD}, "bounds": {"side": (-SIDE, SIDE), "body.u1": (5, 60)},
         "path": {"front grip": (None, 1.0), "rear grip": (None, 1.0)},
         "periodic": {**{n: n for n in ("body.u1", "body.u2", "body.u3", "side", "steer")},
                      "body.q3": f"body.q3 - {2 * math.pi!r}"},
         "guess": {"way": [0, ROAD], "body.q3": [0, 2 * math.pi], "body.u1": _SPEED,
                   "body.u3": 2 * math.pi * _SPEED / ROAD, "duration": ROAD / _SPEED},
         "intervals": 60},
    ),
}  # fmt: skip


def main(folder: str = "out") -> None:
    """The least time of the two-link arm, with its torques as a figure."""
    problem = PROBLEMS["two-link arm"]
    print(f"derivatives: {problem.model.equations.operations}")
    found = problem.solve(accuracy=1e-3).check()
    print(f"least time {found.duration:.4f} s; {found.iterations} iterations, {found.intervals} intervals")
    Path(folder).mkdir(parents=True, exist_ok=True)
    found.run.plot("shoulder", "elbow", path=Path(folder) / "optimal_motions.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
