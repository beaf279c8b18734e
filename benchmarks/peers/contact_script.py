"""Ten cases of contact in MuJoCo, under the peers' interpreter: prints a JSON object, a number per case.

    python contact_script.py default|careful

`default` has MuJoCo's own settings. `careful` has steps of 0.1 ms, the elliptic cone, `impratio` 100 and
constraints as stiff as such steps allow. Cases and closed forms are those of `benchmarks.contact_laws`.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import mujoco
import numpy as np

CAREFUL = sys.argv[1:] == ["careful"]
GRAVITY, RESTITUTION = 9.81, 0.8
OPTION = (
    '<option timestep="1e-4" cone="elliptic" impratio="100" tolerance="1e-14" iterations="200"/>'
    '<default><geom solref="2e-4 1" solimp="0.999 0.9999 1e-6"/></default>'
    if CAREFUL
    else ""
)
FLOOR = '<geom name="floor" type="plane" size="50 50 1" friction="{mu} 0.0 0.0" condim="3" {more}/>'
BOX = '<geom type="box" size="0.2 0.2 0.1" mass="2" friction="{mu} 0.0 0.0" condim="3"/>'


def load(bodies: str, mu: float = 0.5, more: str = "", option: str = OPTION) -> tuple[Any, Any]:
    """Return MuJoCo's model and data of some bodies on a floor."""
    floor = FLOOR.format(mu=mu, more=more)
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{floor}{bodies}</worldbody></mujoco>")
    model.opt.gravity[:] = (0, 0, -GRAVITY)
    return model, mujoco.MjData(model)


def run(model: Any, data: Any, seconds: float) -> None:
    """Advance by some seconds."""
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)


def box(mu: float = 0.5) -> tuple[Any, Any]:
    """Return a box of 2 kg that stands on the floor."""
    return load(f'<body name="b" pos="0 0 0.1"><freejoint/>{BOX.format(mu=mu)}</body>', mu)


def rest() -> float:
    """Return how deep the box sinks, in m."""
    model, data = box()
    run(model, data, 1.0)
    return float(0.1 - data.qpos[2])


def slope() -> float:
    """Return how far the box creeps within 10 s on a slope of 20 degrees, in m."""
    model, data = box()
    angle = math.radians(20)
    model.opt.gravity[:] = (GRAVITY * math.sin(angle), 0, -GRAVITY * math.cos(angle))
    run(model, data, 10.0)
    return float(data.qpos[0])


def push() -> float:
    """Return how far a push of 99 % of the friction that holds moves the box within 10 s, in m."""
    model, data = box()
    data.xfrc_applied[1][:6] = (0.99 * 0.5 * 2 * GRAVITY, 0, 0, 0, 0.99 * 0.5 * 2 * GRAVITY * -0.1, 0)
    run(model, data, 10.0)
    return float(data.qpos[0])


def slide(direction: float) -> float:
    """Return the distance of a box that begins at 2 m/s along `direction`, in m."""
    model, data = load(
        '<body pos="0 0 0.1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
        f'<joint type="slide" axis="0 0 1"/>{BOX.format(mu=0.5)}</body>'
    )
    data.qvel[:2] = (2 * math.cos(direction), 2 * math.sin(direction))
    run(model, data, 1.0)
    return float(np.hypot(data.qpos[0], data.qpos[1]))


def roll() -> float:
    """Return the speed of a ball that began with 3 m/s without spin, after 2 s, in m/s."""
    model, data = load(
        '<body pos="0 0 0.1"><freejoint/>'
        '<geom type="sphere" size="0.1" mass="2" friction="0.3 0 0" condim="3"/></body>',
        mu=0.3,
    )
    data.qvel[0] = 3.0
    run(model, data, 2.0)
    return float(data.qvel[0])


def bounce() -> float:
    """Return the height after the first rebound of a ball dropped 1 m, restitution 0.8, in m.

    A constraint of stiffness k and damping b = 2 ζ √k (its negative `solref`) gives e = exp(-π ζ/√(1 - ζ²)).
    """
    step = 1e-4 if CAREFUL else 2e-3
    root = math.pi / (20 * step)
    zeta = -math.log(RESTITUTION) / math.hypot(math.pi, math.log(RESTITUTION))
    reference = f'solref="{-(root**2)} {-2 * zeta * root}" solimp="0.9999 0.9999 1e-6"'
    model, data = load(
        '<body pos="0 0 1.1"><joint type="slide" axis="0 0 1"/>'
        f'<geom type="sphere" size="0.1" mass="2" {reference}/></body>',
        more=reference,
    )
    model.opt.timestep = step
    highest, rising = 0.0, False
    for _ in range(round(1.1 / step)):
        mujoco.mj_step(model, data)
        rising |= bool(data.qvel[0] > 0)
        if rising:
            highest = max(highest, float(data.qpos[0]) + 1.0)
    return highest


def impact_time() -> float:
    """Return the time at which a ball dropped 1 m is first pushed back, in s."""
    model, data = load(
        '<body pos="0 0 1.1"><joint type="slide" axis="0 0 1"/>'
        '<geom type="sphere" size="0.1" mass="2"/></body>'
    )
    while data.ncon == 0 or data.efc_force[0] == 0:
        mujoco.mj_step(model, data)
    return float(data.time)


def rock() -> float:
    """Return the share of energy that a slender block keeps as it rocks through its upright position."""
    half, high = 0.1, 0.5
    model, data = load(
        f'<body pos="0 0 {high}"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'
        '<joint type="hinge" axis="0 1 0"/>'
        f'<geom type="box" size="{half} 0.3 {high}" mass="2" friction="2 0 0"/></body>',
        mu=2.0,
    )
    angle = 0.1
    radius, alpha = math.hypot(half, high), math.atan2(half, high)
    # Turned about its lower edge at x = +half.
    data.qpos[:] = (half - radius * math.sin(alpha - angle), radius * math.cos(alpha - angle) - high, angle)
    potential = 2 * GRAVITY * (radius * math.cos(alpha - angle) - high)
    lowest, reached = angle, 0.0
    for _ in range(round(2.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
        if data.qpos[2] < lowest:
            lowest = data.qpos[2]
            reached = float(data.qpos[1])
    return 2 * GRAVITY * max(reached, 0.0) / potential if lowest < 0 else 0.0


def cradle() -> float:
    """Return the speed of the last of three equal balls in a row, elastic; the first comes with 1 m/s."""
    step = 1e-4 if CAREFUL else 2e-3
    root = math.pi / (20 * step)
    reference = f'solref="{-(root**2)} 0" solimp="0.9999 0.9999 1e-6"'
    balls = "".join(
        f'<body pos="{x} 0 1"><joint type="slide" axis="1 0 0"/>'
        f'<geom type="sphere" size="0.1" mass="1" {reference}/></body>'
        for x in (-0.5, 0.0, 0.2)
    )
    model, data = load(balls)
    model.opt.timestep = step
    data.qvel[0] = 1.0
    run(model, data, 1.0)
    return float(data.qvel[2])


def main() -> None:
    """Print all cases."""
    cases = {
        "rest": rest, "slope": slope, "push": push, "slide": lambda: slide(0.0),
        "diagonal": lambda: slide(math.pi / 4), "roll": roll, "bounce": bounce, "time": impact_time,
        "rock": rock, "cradle": cradle,
    }  # fmt: skip
    print(json.dumps({name: case() for name, case in cases.items()}))


main()
