"""The cost of rigid contacts: steps beside those of the same models with closed contacts as constraints.

    python -m benchmarks.contacts

rod     slides on its tip, without friction
table   in a plane, on two feet with friction, one redundant row; a pendulum moves on it
feet    a body in space on eight feet with friction, 18 redundant rows; a pendulum moves on it
box     eight corners, four on the floor, at rest for 1000 s with variable steps, beside the free box

Microseconds per step of RK4 with 0.1 ms, the least of five runs in turns; of the box also how far it moves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import armillary as arm
from benchmarks.timing import least_seconds

STEP, DURATION, RUNS = 1e-4, 2.0, 5
Maker = Callable[[bool], arm.System]


def rod(contact: bool) -> arm.System:
    s, body = _body_in_plane("rod")
    tip = body.point("tip", (0.5, 0, 0))
    if contact:
        s.contact("tip", tip, plane=(s.ground, s.ground.z))
    else:
        s.close_loop(tip, s.ground, directions=[s.ground.z])
    return s


def table(contact: bool) -> arm.System:
    s, body = _body_in_plane("table")
    s.body("pendulum", body, joint=arm.Revolute("y"), mass=0.2, inertia=(0.01,) * 3, com=(0, 0, -0.1))
    for i, x in enumerate((-0.5, 0.5)):
        foot = body.point(f"foot{i}", (x, 0, 0))
        if contact:
            s.contact(f"foot{i}", foot, plane=(s.ground, s.ground.z), friction=0.9)
        else:
            place = s.ground.point(f"place{i}", (x, 0, 0))
            held = [s.ground.z, *(() if i else (s.ground.x,))]
            s.close_loop(foot, place, directions=held)
    return s


def feet(contact: bool) -> arm.System:
    s = arm.System("feet")
    s.gravity(9.81, -s.ground.z)
    N = s.ground
    body = s.body("body", joint=arm.Free(), mass=1.0, inertia=(0.1, 0.2, 0.15))
    s.body("pendulum", body, joint=arm.Revolute("y"), mass=0.05, inertia=(0.001,) * 3, com=(0, 0, -0.05))
    held = {0: [N.x, N.y, N.z], 4: [N.y, N.z], 2: [N.z]}
    for i in range(8):
        angle = 2 * math.pi * i / 8
        place = (0.3 * math.cos(angle), 0.2 * math.sin(angle), 0)
        foot = body.point(f"foot{i}", place)
        if contact:
            s.contact(f"foot{i}", foot, plane=(N, N.z), friction=0.9)
        elif i in held:
            s.close_loop(foot, N.point(f"place{i}", place), directions=held[i])
    return s


def box(contact: bool) -> arm.System:
    s = arm.System("box")
    body = s.body("box", joint=arm.Free(), mass=1.0, inertia=(0.1, 0.2, 0.15))
    if contact:
        s.gravity(9.81, -s.ground.z)
    for i, corner in enumerate(product((-0.3, 0.3), (-0.2, 0.2), (-0.1, 0.1)) if contact else ()):
        foot = body.point(f"corner{i}", corner)
        s.contact(f"corner{i}", foot, plane=(s.ground, s.ground.z), friction=0.5)
    return s


def _body_in_plane(name: str) -> tuple[arm.System, arm.Body]:
    s = arm.System(name)
    s.gravity(9.81, -s.ground.z)
    joint = arm.Joint(translate=["x", "z"], rotate=["y"])
    return s, s.body("body", joint=joint, mass=1.0, inertia=(0.1,) * 3)


def microseconds_per_step(make: Maker, initial: dict[str, float]) -> tuple[float, float]:
    """Return the cost with contacts and with constraints."""
    models = [make(contact).derive().compile() for contact in (True, False)]
    how: dict[str, Any] = {"initial": initial, "method": "rk4", "step": STEP, "sample": DURATION}
    best = least_seconds([partial(model.simulate, DURATION, **how) for model in models], RUNS)
    contacts, constraints = (seconds / DURATION * STEP * 1e6 for seconds in best)
    return contacts, constraints


def main() -> None:
    cases: dict[str, tuple[Maker, dict[str, float]]] = {
        "rod": (rod, {"body.q2": 0.5 * math.sin(0.6), "body.q3": 0.6}),
        "table": (table, {"pendulum.q1": 0.3}),
        "feet": (feet, {"pendulum.q1": 0.3}),
    }
    print(f"{'':8}{'contacts':>10}{'constraints':>13}{'ratio':>8}")
    for name, (make, initial) in cases.items():
        contacts, constraints = microseconds_per_step(make, initial)
        print(f"{name:8}{contacts:10.2f}{constraints:13.2f}{contacts / constraints:8.2f}")
    for contact in (True, False):
        model = box(contact).derive().compile()
        start = time.process_time()
        run = model.simulate(1000.0, initial={"box.q3": 0.1})
        seconds = time.process_time() - start
        moved = max(abs(run[f"box.q{i}"][-1] - run[f"box.q{i}"][0]) for i in (1, 2, 3))
        print(f"box {'on its corners' if contact else 'free'}: {1e3 * seconds:.2f} ms, moves {moved:.1e} m")


if __name__ == "__main__":
    main()
