"""Models with contacts, brakes and clutches for exports, and their runs in the process."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import armillary as arm


class ContactCase(NamedTuple):
    """A system, and how long it runs with which step."""

    system: Callable[[], arm.System]
    duration: float
    step: float
    events: int  # at least


def ball() -> arm.System:
    """A ball that bounces until it rests."""
    s = arm.System("hopping ball")
    one = s.body("ball", joint=arm.Prismatic("y"), mass=0.4, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.contact("floor", one.origin, plane=(s.ground, s.ground.y), restitution=0.6)
    s.start({"ball.q1": 0.5})
    return s


def plank() -> arm.System:
    """A plank on two feet, which lands on one of them and slides until it rests."""
    s = arm.System("plank")
    body = s.body("plank", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=2.0, inertia=(0.2,) * 3)
    s.gravity(9.81, -s.ground.y)
    for name, x in (("left", -0.5), ("right", 0.5)):
        foot = body.point(name, (x, -0.1, 0))
        s.contact(name, foot, plane=(s.ground, s.ground.y), friction=0.3, static=0.4, restitution=0.2)
    s.start({"plank.q2": 0.3, "plank.q3": 0.2, "plank.u1": 1.0})
    return s


def coupled() -> arm.System:
    """A motor that turns a load through a clutch; a brake stops both, once the motor is off."""
    s = arm.System("coupled shafts")
    motor = s.body("motor", joint=arm.Revolute("z"), mass=1.0, inertia=(0.1,) * 3)
    load = s.body("load", joint=arm.Revolute("z"), mass=1.0, inertia=(0.3,) * 3)
    s.moment("drive", "select(t < 0.8, 2.0, 0.0)", s.ground.z, on=motor)
    s.clutch("plates", motor.q1, load.q1, capacity=1.0, static=1.2)
    s.brake("drum", load.q1, capacity=0.8)
    s.start({"motor.u1": 3.0})
    return s


def puck() -> arm.System:
    """A puck on a floor, pulled across until it slides, in a direction of the plane that is found then."""
    s = arm.System("puck")
    body = s.body("puck", joint=arm.Joint(translate=["x", "y", "z"]), mass=0.5, inertia=0)
    s.gravity(9.81, -s.ground.z)
    s.force("pull", "4*t", s.ground.x, at=body.com)
    s.force("push", "select(t < 0.6, 2.5*t, 0.0)", s.ground.y, at=body.com)
    s.contact("floor", body.origin, plane=(s.ground, s.ground.z), friction=0.3, static=0.4)
    s.start({"puck.q3": 0.01, "puck.u1": -0.1, "puck.u2": 0.05})
    return s


def bench() -> arm.System:
    """A bench on three feet with redundant rows, pulled until its feet slide."""
    s = arm.System("bench")
    body = s.body("bench", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=2.0, inertia=(0.2,) * 3)
    s.gravity(9.81, -s.ground.y)
    s.force("pull", "20*t", s.ground.x, at=body.com)
    for name, x in (("left", -0.5), ("middle", 0.1), ("right", 0.5)):
        foot = body.point(name, (x, -0.1, 0))
        s.contact(name, foot, plane=(s.ground, s.ground.y), friction=0.3, static=0.4)
    s.start({"bench.q2": 0.1})
    return s


def box() -> arm.System:
    """A box with eight corners, thrown onto a floor."""
    s = arm.System("thrown box")
    body = s.body("box", joint=arm.Free(), mass=1.5, inertia=(0.02, 0.03, 0.025))
    s.gravity(9.81, -s.ground.z)
    for i, (x, y, z) in enumerate(product((-0.2, 0.2), (-0.15, 0.15), (-0.1, 0.1))):
        corner = body.point(f"p{i}", (x, y, z))
        s.contact(f"c{i}", corner, plane=(s.ground, s.ground.z), friction=0.4)
    s.start({"box.q3": 0.4, "box.u1": 0.8, "box.u4": 1.5, "box.u5": -0.7})
    return s


CONTACT_CASES = {
    "ball": ContactCase(ball, 1.6, 0.01, 5),
    "plank": ContactCase(plank, 1.0, 0.01, 20),
    "clutch": ContactCase(coupled, 4.0, 0.02, 2),
    "puck": ContactCase(puck, 1.0, 0.01, 3),
    "bench": ContactCase(bench, 0.6, 0.01, 1),
    "box": ContactCase(box, 0.5, 0.01, 10),
}


@cache
def contact_equations(name: str) -> arm.Equations:
    """The equations of a case."""
    return CONTACT_CASES[name].system().derive()


@cache
def contact_run(name: str) -> arm.Run:
    """The run of a case in the process, by rk4."""
    case = CONTACT_CASES[name]
    run = contact_equations(name).compile().simulate(case.duration, step=case.step, sample=case.step)
    assert len(run.events) >= case.events, len(run.events)
    return run


def run_table(name: str) -> str:
    """The run file of the same run."""
    case = CONTACT_CASES[name]
    numbers = f"duration = {case.duration}\nstep = {case.step}\nsample = {case.step}"
    return f'[run]\nmethod = "rk4"\n{numbers}\n'


def largest_difference(name: str, rows: Mapping[str, Sequence[float]]) -> float:
    """The largest difference of a run from that in the process, by the largest value of each column; forces
    of contacts with redundant rows are left out, which no equation determines.
    """
    run = contact_run(name)
    kept = [c for c in rows if c in run.names and (".q" in c or ".u" in c or c.endswith("_status"))]
    assert len(kept) > 2 and all(len(rows[c]) == len(run.time) for c in kept)
    return max(
        float(np.max(np.abs(np.asarray(rows[c]) - run[c]))) / max(1.0, float(np.max(np.abs(run[c]))))
        for c in kept
    )


def written_rows(path: Path) -> dict[str, list[float]]:
    """The columns of a CSV file by their names, without units."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {c.split(" [")[0]: [float(row[c]) for row in rows] for c in rows[0]}
