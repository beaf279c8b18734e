"""Ten cases of contact with closed forms: rigid contact here, soft contact in MuJoCo and Drake.

    ARMILLARY_PEERS_PYTHON=… python -m benchmarks.contact_laws

MuJoCo's numbers depend on its settings: `default` has its own, `careful` steps of 0.1 ms, the elliptic cone,
`impratio` 100 and constraints as stiff as such steps allow (`peers/contact_script.py`).
"""

from __future__ import annotations

import json
import math
import subprocess
from typing import Any

import armillary as arm
from benchmarks.build import HERE
from benchmarks.environment import find_environment

G = 9.81
ALPHA = math.atan2(0.1, 0.5)
"""Angle of the block's edge at its base: half width 0.1 m, half height 0.5 m."""


def box(slope: float = 0.0, push: float = 0.0) -> arm.System:
    """Return a box of 2 kg, 0.4 × 0.4 × 0.2 m, on four corners with friction 0.5."""
    s = arm.System("box")
    body = s.body("b", joint=arm.Free(), mass=2.0, inertia=(1 / 30, 1 / 30, 4 / 75))
    s.gravity(G * math.cos(slope), -s.ground.z)
    if slope:
        s.force("along", 2.0 * G * math.sin(slope), s.ground.x, at=body)
    if push:
        s.force("push", push, s.ground.x, at=body.point("low", (0, 0, -0.1)))
    s.contact("base", body, plane=(s.ground, s.ground.z), shape=arm.Box(0.4, 0.4, 0.2), friction=0.5)
    return s


def _end(system: arm.System, seconds: float, initial: dict[str, float], **how: Any) -> arm.Run:
    return system.derive().compile().simulate(seconds, initial=initial, **how)


def rest() -> float:
    """Return how deep the box sinks within 1 s, in m."""
    return abs(0.1 - _end(box(), 1.0, {"b.q3": 0.1}).final["b.q3"])


def slope() -> float:
    """Return how far the box creeps within 10 s on a slope of 20 degrees, in m."""
    return abs(_end(box(slope=math.radians(20)), 10.0, {"b.q3": 0.1}).final["b.q1"])


def push() -> float:
    """Return how far a push of 99 % of the friction that holds moves the box within 10 s, in m."""
    return abs(_end(box(push=0.99 * 0.5 * 2 * G), 10.0, {"b.q3": 0.1}).final["b.q1"])


def slide(direction: float) -> float:
    """Return the distance of a block that begins at 2 m/s along `direction`, in m."""
    s = arm.System("block")
    body = s.body("b", joint=arm.Joint(translate=["x", "y", "z"]), mass=2.0, inertia=0)
    s.gravity(G, -s.ground.z)
    s.contact("base", body, plane=(s.ground, s.ground.z), friction=0.5)
    run = _end(s, 1.0, {"b.u1": 2 * math.cos(direction), "b.u2": 2 * math.sin(direction)})
    return math.hypot(run.final["b.q1"], run.final["b.q2"])


def roll() -> float:
    """Return the speed of a ball that began with 3 m/s without spin, after 2 s, in m/s."""
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Free(), mass=2.0, inertia=(0.008,) * 3)
    s.gravity(G, -s.ground.z)
    s.contact("lane", ball, plane=(s.ground, s.ground.z), friction=0.3, radius=0.1)
    return float(_end(s, 2.0, {"ball.q3": 0.1, "ball.u1": 3.0}).final["ball.u1"])


def drop(restitution: float) -> arm.Run:
    """Return the run of a ball that is dropped 1 m, until the highest point after its first rebound."""
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Prismatic("z"), mass=2.0, inertia=0)
    s.gravity(G, -s.ground.z)
    s.contact("floor", ball, plane=(s.ground, s.ground.z), restitution=restitution)
    return _end(s, math.sqrt(2 / G) * (1 + restitution), {"ball.q1": 1.0})


def rock() -> float:
    """Return the share of energy that a slender block keeps as it rocks through its upright position."""
    s = arm.System("block")
    inertia = 2.0 * (0.2**2 + 1.0**2) / 12
    body = s.body("b", joint=arm.Joint(translate=["x", "z"], rotate=["y"]), mass=2.0, inertia=(inertia,) * 3)
    s.gravity(G, -s.ground.z)
    for name, x in (("left", -0.1), ("right", 0.1)):
        s.contact(name, body.point(name, (x, 0, -0.5)), plane=(s.ground, s.ground.z), friction=2.0)
    s.output("energy", s.kinetic_energy() + 2.0 * G * (body.q2 - 0.5), units="J")
    turn, radius = 0.1, math.hypot(0.1, 0.5)
    height = radius * math.cos(ALPHA - turn)
    run = _end(
        s, 1.0, {"b.q1": 0.1 - radius * math.sin(ALPHA - turn), "b.q2": height, "b.q3": turn}, sample=0.01
    )
    first = next(event.time for event in run.events)
    after = next(i for i, t in enumerate(run.time) if t > first)
    return float(run["energy"][after] / run["energy"][0])


def cradle() -> float:
    """Return the speed of the last of three equal balls in a row, elastic; the first comes with 1 m/s."""
    s = arm.System("cradle")
    balls = [
        s.body(f"b{i}", joint=arm.Prismatic("x"), at=(x, 0, 0), mass=1.0, inertia=0)
        for i, x in enumerate((-0.5, 0.0, 0.2))
    ]
    for i in (0, 1):
        gap = arm.magnitude(arm.position(balls[i + 1], balls[i])) - 0.2
        s.unilateral(f"gap{i}", gap, restitution=1)
    return float(_end(s, 1.0, {"b0.u1": 1.0}).final["b2.u1"])


def our_numbers() -> dict[str, float]:
    """Return a number per case."""
    ball = drop(0.8)
    return {
        "rest": rest(), "slope": slope(), "push": push(), "slide": slide(0.0), "diagonal": slide(math.pi / 4),
        "roll": roll(), "bounce": float(ball.final["ball.q1"]), "time": ball.events[0].time, "rock": rock(),
        "cradle": cradle(),
    }  # fmt: skip


STOP = 2.0**2 / (2 * 0.5 * G)
CASES: dict[str, tuple[str, float]] = {
    "rest": ("box at rest: depth after 1 s, m", 0.0),
    "slope": ("box on a slope of 20°, friction 0.5: creep in 10 s, m", 0.0),
    "push": ("box pushed with 99 % of its friction: creep in 10 s, m", 0.0),
    "slide": ("block slides from 2 m/s along x: distance, m", STOP),
    "diagonal": ("the same along x + y: distance, m", STOP),
    "roll": ("ball without spin slides from 3 m/s until it rolls: speed, m/s", 15 / 7),
    "bounce": ("ball dropped 1 m, restitution 0.8: height of its rebound, m", 0.64),
    "time": ("the same: time of its impact, s", math.sqrt(2 / G)),
    "rock": (
        "rocking block: share of energy after an impact (Housner)",
        (1 - 1.5 * math.sin(ALPHA) ** 2) ** 2,
    ),
    "cradle": ("ball strikes two that touch, elastic: speed of the last, m/s", math.nan),
}
"""What each number is, and its closed form (`nan`: laws of multiple impact differ)."""
PEERS = (
    ("MuJoCo, default", "mujoco", "contact_script.py", "default"),
    ("MuJoCo, careful", "mujoco", "contact_script.py", "careful"),
    ("Drake SAP, default", "drake", "contact_drake.py", "sap", "default"),
    ("Drake SAP, careful", "drake", "contact_drake.py", "sap", "careful"),
    ("Drake TAMSI, default", "drake", "contact_drake.py", "tamsi", "default"),
    ("Drake TAMSI, careful", "drake", "contact_drake.py", "tamsi", "careful"),
)
"""Column, package, script and arguments; columns whose package is not installed are left out."""


def main() -> None:
    """Print a table of the ten cases."""
    environment = find_environment()
    environment.need("mujoco")
    columns = {"Armillary": our_numbers()}
    for title, package, script, *settings in PEERS:
        if package in environment.packages:
            command = [environment.python, str(HERE / "peers" / script), *settings]
            text = subprocess.run(command, capture_output=True, text=True, check=True)
            columns[title] = json.loads(text.stdout)
    print("| case | exact |", " | ".join(columns), "|")
    print("| --- |", " ---: |" * (1 + len(columns)))
    for case, (title, exact) in CASES.items():
        numbers = " | ".join(f"{column[case]:.7g}" for column in columns.values())
        print(f"| {title} | {'by law' if math.isnan(exact) else f'{exact:.7g}'} | {numbers} |")


if __name__ == "__main__":
    main()
