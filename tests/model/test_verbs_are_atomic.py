"""A verb that fails leaves the system as it was, wherever it failed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import armillary as arm
from armillary.model.description import Flexible


class StoppedError(Exception):
    """Raised somewhere in the middle of a verb."""


def described() -> arm.System:
    s = arm.System("s")
    s.parameter("L", 1.0, units="m")
    A = s.body("A", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=1, inertia=(1, 1, 1))
    s.body("B", A, arm.Prismatic("x"), at=(0, "h", 0), inertia=0)
    s.body("F", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    boom = s.body("boom", s.bodies["F"], arm.Revolute("z"))
    boom.flexible(arm.Beam(1.0, EI=10.0, mass_per_length=1.0), modes=1)
    s.body("bare", s.bodies["F"], arm.Revolute("x"))
    s.memory("m", 1.0)
    s.state("late")
    s.attractor("Earth", mu=3.986e14)
    s.gravity("g", -s.ground.y)
    return s


def contents(s: arm.System) -> dict[str, Any]:
    """All that a description holds, in copies: its tables, its records, and what its bodies hold."""
    found: dict[str, Any] = {k: v.copy() for k, v in vars(s).items() if isinstance(v, dict | list)}
    found["records"] = list(s.recorder.records)
    for body in (s.ground, *s.bodies.values()):
        found[body.name] = {k: v.copy() if isinstance(v, dict) else v for k, v in vars(body).items()}
    for name, flex in s.flexibles.items():
        assert isinstance(flex, Flexible)
        found[f"modes of {name}"] = (dict(flex.nodes), dict(flex.places))
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [k for k in before.keys() | after.keys() if before.get(k) != after.get(k)]


# Calls that succeed, with names of texts that are not known before.
GOOD: dict[str, Callable[[arm.System], Any]] = {
    "parameter": lambda s: s.parameter("p", 1.0, units="mm"),
    "memory": lambda s: s.memory("n", 1.0, update="n + fresh", every=0.1),
    "input": lambda s: s.input("i", 1.0, units="N"),
    "update": lambda s: s.update("m", "m + fresh"),
    "lag": lambda s: s.lag("slow", "fresh*A.q1", "fresh2"),
    "second_order_lag": lambda s: s.second_order_lag("slow", "A.q1", "fresh", "fresh2"),
    "rate_limit": lambda s: s.rate_limit("slow", "A.q1", "fresh", 0.1),
    "pid": lambda s: s.pid("slow", "A.q1", "fresh", "fresh2", "fresh3", low=-1, high=1),
    "transfer_function": lambda s: s.transfer_function("slow", "A.q1", [1, "fresh"], ["fresh2", 1]),
    "delay": lambda s: s.delay("later", "fresh*A.q1", "fresh2"),
    "linear_model": lambda s: s.linear_model("plant", ["fresh*A.q1"], [[-1.0]], [1.0], [1.0]),
    "feedback": lambda s: s.feedback("hold", 0, ["A.q1", "A.u1"], units=["N"], reference=["fresh", 0]),
    "event": lambda s: s.event("e", "A.q1 - fresh", set={"m": "fresh2"}, lock="B.q1"),
    "function": lambda s: s.function("f", lambda x: x),
    "output": lambda s: s.output("o", "fresh*A.q1"),
    "body": lambda s: s.body("C", "A", arm.Gimbal("zx"), at=("fresh", 0, 0), mass="m2"),
    "gravity": lambda s: s.gravity("fresh", s.ground.x),
    "force": lambda s: s.force("push", "fresh*A.q1", "A.x", at="boom.tip", reaction="B"),
    "moment": lambda s: s.moment("turn", "fresh*A.q1", "A.x", on="A", reaction="B"),
    "joint_effort": lambda s: s.joint_effort("servo", "A.q1", "fresh*A.u1"),
    "force_vector": lambda s: s.force_vector("wind", "fresh*A.x", at="boom.tip"),
    "moment_vector": lambda s: s.moment_vector("twist", "fresh*A.x", on="A", reaction="B"),
    "shape": lambda s: s.shape("case", body="A", shape=arm.Box("fresh", 1, 1), at=("fresh2", 0, 0)),
    "strut": lambda s: s.strut("rod", "-fresh*(x - x0)", between=("A.com", "boom.tip")),
    "flexible": lambda s: s.bodies["bare"].flexible(arm.Beam(1.0, EI=1.0, mass_per_length=1.0), modes=1),
    "point": lambda s: s.bodies["A"].point("tip", ("fresh", 0, 0)),
    "constrain": lambda s: s.constrain("A.u1 - fresh*B.u1", name="c"),
    "close_loop": lambda s: s.close_loop("B.origin", "A.com", directions=[s.ground.x]),
    "close_joint": lambda s: s.close_joint("distance", "B.origin", "ground.origin", length="rod"),
    "start": lambda s: s.start({"A.q1": 0.2, "B.q1": 0.1}),
    "prescribe": lambda s: s.prescribe("A.q1", "fresh*sin(w*t)"),
    "lock": lambda s: s.lock("A.q1", "B.q1"),
    "stop": lambda s: s.stop("end", "B.q1", lower="fresh", upper=2.0, stiffness="kk", damping="cc"),
    "brake": lambda s: s.brake("pad", "A.q1", capacity="fresh", stiffness="kk", damping=1),
    "clutch": lambda s: s.clutch("grip", "A.q1", "boom.q1", capacity="fresh", static="fresh2"),
    "unilateral": lambda s: s.unilateral("apart", "A.q1 - fresh", restitution="fresh2"),
    "contact": lambda s: s.contact("touch", "B.origin", plane=("ground.origin", "ground.y"), stiffness="kk"),
    "define": lambda s: s.define("word", "2*fresh"),
    "armature": lambda s: s.armature("A.q1", "fresh"),
    "state": lambda s: s.state("own", "-own/fresh", 0.5),
    "rate": lambda s: s.rate("late", "fresh*A.q1"),
    "attractor": lambda s: s.attractor("Moon", mu="muM", at=("fresh", 0, 0)),
    "small": lambda s: s.small("A.q1", "A.u1"),
    "large": lambda s: s.large("A.u1", "B.u1"),
    "thruster": lambda s: s.thruster("jet", "fresh", "F.x", at="F.com", on="t > later"),
    "reaction_wheel": lambda s: s.reaction_wheel("wheel", on="F", axis="x", inertia="Jw", speed=1.0),
    "control_moment_gyro": lambda s: s.control_moment_gyro(
        "gyro", on="F", gimbal_axis="x", spin_axis="y", wheel_inertia="Jg", wheel_speed=9.0
    ),
    "start_mass_centre": lambda s: s.start_mass_centre("F", position=("fresh", 0, 0)),
    "start_orbit": lambda s: s.start_orbit("F", arm.Orbit(3.986e14, a=7e6), around="Earth"),
    "attitude_output": lambda s: s.attitude_output("attitude", "F"),
    "solar_pressure": lambda s: s.solar_pressure("sun", at="F.com", area="fresh", sun="ground.x"),
}
LEFT_TO_OTHERS = ("fmu", "ssp")  # need files: tests/export/fmi


def verbs() -> set[str]:
    found = {
        n for cls in (arm.System, arm.Body) for n in dir(cls) if getattr(getattr(cls, n), "recorded", False)
    }
    return found


def test_the_table_holds_every_verb() -> None:
    assert verbs() == GOOD.keys() | set(LEFT_TO_OTHERS)


def calls_of(action: Callable[[], Any], stop_at: int | None = None) -> int:
    """How many functions of the model package an action calls; the one with this number raises an error."""
    count = 0

    def seen(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        code = frame.f_code
        if event == "call" and "/armillary/model/" in code.co_filename.replace("\\", "/"):
            # An error in a generator that is closed unread would be lost.
            if code.co_filename.endswith("verbs.py") or code.co_flags & inspect.CO_GENERATOR:
                return
            count += 1
            if count == stop_at:
                raise StoppedError

    sys.setprofile(seen)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("verb", GOOD)
def test_a_verb_that_is_stopped_anywhere_leaves_nothing_behind(verb: str) -> None:
    s = described()
    total = calls_of(lambda: GOOD[verb](s))
    s = described()
    before = contents(s)
    for place in sorted({1 + i * (total - 1) // 7 for i in range(8)}):
        with pytest.raises(StoppedError):
            calls_of(lambda: GOOD[verb](s), place)
        assert differences(before, contents(s)) == []
    GOOD[verb](s)
    assert differences(before, contents(s)) != []


@pytest.mark.parametrize(
    "mistake",
    [
        lambda s: s.force("push", "fresh*other", "nowhere", at="A"),
        lambda s: s.force("push", "fresh*A.q1", "A.x", at="A", reaction="gone.point"),
        lambda s: s.moment("turn", "fresh*other", "A.x + 1", on="A"),
        lambda s: s.gravity("fresh + L*A.q1", s.ground.nothing),
        lambda s: s.gravity("fresh", s.bodies["A"].x),
        lambda s: s.output("o", "fresh*A.q1 +"),
        lambda s: s.output("o", "fresh*A.q1", units="nonsense"),
        lambda s: s.expression("fresh*(A.q1"),
        lambda s: s.expression("fresh*gone.q1"),
        lambda s: s.define("no name", "fresh"),
        lambda s: s.body("C", "A", arm.Revolute("z"), mass="fresh", colour="red"),
        lambda s: arm.panels(s, s.bodies["A"], 2, length="fresh", mass=1, inertia=(1, 1, "A.q1")),
    ],
    ids=range(12),
)
def test_a_refused_text_leaves_no_parameter_behind(
    mistake: Callable[[arm.System], Any], tmp_path: Path
) -> None:
    s = described()
    before = contents(s)
    with pytest.raises(arm.ArmillaryError):
        mistake(s)
    assert differences(before, contents(s)) == []
    s.parameter("fresh", 2.0, units="N")  # so the name is free
    s.rate("late", 0)
    s.save(tmp_path / "s.toml")
