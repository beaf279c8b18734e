"""Similar mechanisms move alike: a watch, a crane and a bridge of the same proportions.

With all lengths and gravity times L, moments of inertia times L² and the same masses, angles and times stay
the same and lengths are L times as long (similar systems: Landau & Lifshitz, Mechanics, § 10).
So runs take the same steps, whatever the unit of length.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import armillary as arm

SCALES = (1e-6, 1e6)
Initial = dict[str, float]


class Motion(NamedTuple):
    system: arm.System
    initial: Initial
    lengths: tuple[str, ...]  # coordinates that are lengths, or bodies whose coordinates all are
    t_end: float


def slider_crank(length: float) -> Motion:
    """With arms of equal length: where they lie upon each other, the slider may stand still while they turn,
    so that the constraints lose rank there twice in each turn.
    """
    s = arm.System("slider crank")
    J = [0.1 * length**2] * 3
    A = s.body("A", joint=arm.Revolute("z"), com=(length / 2, 0, 0), mass=1, inertia=J)
    B = s.body("B", A, arm.Revolute("z"), at=(length, 0, 0), com=(length / 2, 0, 0), mass=1, inertia=J)
    C = s.body("C", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(B.point("end", (length, 0, 0)), C.origin, [s.ground.x, s.ground.y])
    s.gravity(9.81 * length, -s.ground.y)
    return Motion(s, {"A.q1": 0.3, "A.u1": 6.0}, ("C",), 1.5)


def geared_crank(length: float) -> Motion:
    """The same with a follower: gaps of lengths and of angles."""
    motion = slider_crank(length)
    motion.system.body("D", joint=arm.Revolute("z"), mass=1, inertia=[0.1 * length**2] * 3)
    motion.system.constrain("D.q1 - 2*A.q1 - 0.3*sin(B.q1)", name="gear")
    return motion


def four_bar(length: float) -> Motion:
    """A parallelogram, which loses rank where it is flat."""
    s = arm.System("four bar")
    J = [0.1 * length**2] * 3
    A = s.body("A", joint=arm.Revolute("z"), com=(length / 2, 0, 0), mass=1, inertia=J)
    B = s.body("B", A, arm.Revolute("z"), at=(length, 0, 0), com=(length, 0, 0), mass=1, inertia=J)
    C = s.body("C", joint=arm.Revolute("z"), at=(2 * length, 0, 0), mass=1, inertia=J)
    ends = B.point("end", (2 * length, 0, 0)), C.point("end", (length, 0, 0))
    s.close_loop(*ends, [s.ground.x, s.ground.y])
    s.gravity(9.81 * length, -s.ground.y)
    return Motion(s, {"A.q1": 1.0, "B.q1": -1.0, "C.q1": 1.0, "A.u1": 5.0}, (), 1.5)


def pendulum_with_stop(length: float) -> Motion:
    s = arm.System("pendulum on a slider with a stop")
    B = s.body("B", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.body("A", B, arm.Revolute("z"), com=(length, 0, 0), mass=1, inertia=[0.1 * length**2] * 3)
    s.unilateral("stop", B.q1 + length, restitution=0.5)
    s.gravity(9.81 * length, -s.ground.y)
    return Motion(s, {}, ("B",), 1.0)


def rolling_disc(length: float) -> Motion:
    s = arm.System("rolling disc")
    heading = s.body("heading", joint=arm.Planar("z", velocity="body"), mass=0, inertia=0)
    lean = s.body("lean", heading, arm.Revolute("x"), mass=0, inertia=0)
    J = [share * length**2 for share in (0.25, 0.5, 0.25)]
    disc = s.body("disc", lean, arm.Revolute("y"), at=(0, 0, length), mass=1, inertia=J)
    s.gravity(9.81 * length, -s.ground.z)
    s.constrain(heading.u2, name="no slip sideways")
    s.constrain(heading.u1 - length * disc.u1, name="rolling")
    initial = {"lean.q1": 0.3, "heading.u3": -2.0, "disc.u1": 8.0}
    return Motion(s, initial, ("heading.q1", "heading.q2", "heading.u1", "heading.u2"), 1.0)


def hexapod(length: float) -> Motion:
    """A platform on six legs of variable length, of the proportions of examples/stewart_platform.py."""
    s = arm.System("hexapod")
    top = s.body(
        "top",
        joint=arm.Free(),
        at=(0, 0, 1.1 * length),
        mass=50,
        inertia=[4 * length**2] * 2 + [7 * length**2],
    )
    for i in range(6):
        turn = np.radians(120 * (i // 2) + np.array([10.0, 50.0]) * (1 if i % 2 else -1))
        foot, ball = (
            (r * length * np.cos(a), r * length * np.sin(a), 0) for r, a in zip((1.0, 0.6), turn, strict=True)
        )
        strut = f"200*{length} - 5e3*(x - {1.2 * length}) - 2e2*v"
        s.strut(f"leg{i}", strut, between=(s.ground.point(f"foot{i}", foot), top.point(f"ball{i}", ball)))
    s.gravity(9.81 * length, -s.ground.z)
    moving = {f"top.q{i}" for i in (1, 2, 3)} | {f"top.u{i}" for i in (1, 2, 3)}
    return Motion(s, {"top.q1": 0.1 * length, "top.u5": 0.2}, tuple(moving), 0.5)


MODELS = [slider_crank, geared_crank, four_bar, pendulum_with_stop, rolling_disc, hexapod]


@cache
def simulated(model: Callable[[float], Motion], length: float) -> tuple[np.ndarray, int, list[str]]:
    """Coordinates in terms of L, a row per time; steps; names of events."""
    motion = model(length)
    compiled = motion.system.derive().compile()
    states = [*compiled.coordinate_names, *compiled.speed_names]
    sizes = np.array([length if {name, name.split(".")[0]} & {*motion.lengths} else 1.0 for name in states])
    run = compiled.simulate(
        motion.t_end, sample=0.05, initial=motion.initial, rtol=1e-9, atol=list(1e-11 * sizes)
    )
    coordinates = compiled.coordinate_names
    rows = np.array([run[name] for name in coordinates]).T / sizes[: len(coordinates)]
    return rows, run.info["steps"], [event.name for event in run.events]


@pytest.mark.parametrize("length", SCALES)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_similar_mechanisms_move_alike_and_take_the_same_steps(
    model: Callable[[float], Motion], length: float
) -> None:
    """Places where rank is lost magnify rounding: 1e-8 there."""
    (expected, steps, events), (found, taken, happened) = simulated(model, 1.0), simulated(model, length)
    assert abs(taken - steps) <= 1
    assert happened == events
    assert found == pytest.approx(expected, abs=2e-8)


def test_a_run_with_other_lengths_than_the_defaults_takes_the_steps_of_its_own() -> None:
    """Arms of a kilometre, in a model whose default is a metre."""
    s = arm.System("slider crank")
    L = s.parameter("L", 1.0, units="m")
    J = [0.1 * L * L] * 3
    A = s.body("A", joint=arm.Revolute("z"), com=(L / 2, 0, 0), mass=1, inertia=J)
    B = s.body("B", A, arm.Revolute("z"), at=(L, 0, 0), com=(L / 2, 0, 0), mass=1, inertia=J)
    C = s.body("C", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(B.point("end", (L, 0, 0)), C.origin, [s.ground.x, s.ground.y])
    s.gravity(9.81 * L, -s.ground.y)
    model = s.derive().compile()
    steps = []
    for length in (1.0, 1e3):
        atol = [1e-11, 1e-11, 1e-11 * length, 1e-11]
        start = {"A.q1": 0.3, "A.u1": 6.0}
        run = model.simulate(1.5, sample=0.05, initial=start, parameters={"L": length}, rtol=1e-9, atol=atol)
        steps.append(run.info["steps"])
    assert abs(steps[1] - steps[0]) <= 1
