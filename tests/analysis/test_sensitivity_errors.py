"""What has no sensitivities says so by name, with a remedy."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ArmillaryError, ParameterError
from armillary.program.sensitivities import sensitive_equations
from examples import array_deployment, pendulum, slider_crank
from tests.analysis.differences import NEAR, assert_derivatives


def pushed(force: Any) -> arm.System:
    s = arm.System("cart")
    for name, value, units in (("k", 4.0, "N/m"), ("T", 1.0, "s"), ("F", 1.0, "N"), ("c", 1.0, "N*s/m")):
        s.parameter(name, value, units=units)
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("push", force(b) if callable(force) else force, s.ground.x, at=b.com)
    return s


@pytest.mark.parametrize(
    ("to", "of", "said"),
    [
        (["kk"], None, r"no parameter, coordinate, speed, state or memory 'kk'; did you mean 'k'"),
        (["b.q2"], None, r"'b.q2'; did you mean 'b.q1'"),
        (["k", "k"], None, r"'k' occurs twice"),
        ([], None, r"sensitivities: to= is empty"),
        (["k"], ["b.q"], r"no output 'b.q'; did you mean 'b.q1'"),
    ],
)
def test_names_are_checked(to: list[str], of: list[str] | None, said: str) -> None:
    with pytest.raises(ArmillaryError, match=said):
        sensitive_equations(core_of(pushed("-k*b.q1").derive()), to, of)


JUMPING = [
    "select(t < T, F, 0)",
    "-F*sign(b.u1)",
    "select(b.q1 > 0, -k*b.q1 - c*b.u1, 0)",
    "select(b.q1 >= 0, F, 0)",
    "select(b.q1 > 0 and b.q1 < 1, -k*b.q1, 0)",  # at 1, not at 0
    "select(sin(b.q1*k/F/20000) > 0.9, F, 0)",  # far from where it starts
    "select(sin(250*b.q1*k/F) > 0.9, F, 0)",  # at every turn
    "F*atan2(b.q1, T*b.u1)",  # from π to −π
]


@pytest.mark.parametrize("force", JUMPING)
def test_forces_that_jump_are_refused(force: str) -> None:
    equations = pushed(force).derive()
    with pytest.raises(ArmillaryError, match=r"rates of 'cart' jump with '.*', and .*make it an event"):
        sensitive_equations(core_of(equations), ["T"])
    assert sensitive_equations(core_of(equations), ["T"], ignore_jumps=True).directions[0].name == "T"


CONTINUOUS = [
    "select(b.q1 > 0, -k*b.q1, 0)",
    "-k*max(b.q1, 0)",
    "select(t < 0.5, F, 0) - k*abs(b.q1)",  # by the clock
    "select(b.q1 > 0.3, -1e6*k*(b.q1 - 0.3), 0)",  # a stiff stop that acts alone, to rounding
    "select(b.q1 > 0.1, F, select(b.q1 < 0.1, F, 0))",
    "select(k > 4, F, 0)",  # no instant of it moves
    "F*atan2(b.q1, T*abs(b.u1) + F/k)",
]


@pytest.mark.parametrize("force", CONTINUOUS)
def test_kinks_and_switches_by_the_clock_are_not(force: str) -> None:
    """Their derivatives are those of differences, but for a step across a kink; 4.1 is off one switch."""
    model = pushed(force).derive().compile()
    start = {"b.q1": 0.05, "b.u1": 0.7}
    assert_derivatives(
        model, 0.9, ["k"], ["b.q1", "b.u1"], 1e-5, parameters={"k": 4.1}, initial=start, step=1e-3
    )


def test_jumps_that_only_the_parameters_of_a_run_have_are_refused() -> None:
    """By default the stop's force begins at zero, F/k = 0.25 m; a larger F lets it come on with a jump."""
    model = pushed("select(b.q1 > F/k, -k*(b.q1 - 0.25), 0)").derive().compile()
    how: dict[str, Any] = {"step": 0.05}
    model.sensitivities(0.1, ["k"], ["b.q1"], **how)
    model.sensitivities(0.1, ["k"], ["b.q1"], parameters={"F": 2.0, "k": 8.0}, **how)
    with pytest.raises(ParameterError, match=r"with these parameters, the rates of 'cart' jump with"):
        model.sensitivities(0.1, ["k"], ["b.q1"], parameters={"F": 2.0}, **how)
    model.sensitivities(0.1, ["k"], ["b.q1"], parameters={"F": 2.0}, ignore_jumps=True, **how)
    made = model.with_sensitivities(["k"], ["b.q1"])
    batch = made.simulate_batch(0.1, parameters={"F": np.array([1.0, 2.0])}, **how)
    assert list(batch.status) == ["finished", "failed"]
    assert "jump with" in batch.messages[1]


def test_tables_that_jump_are_refused() -> None:
    """A table of straight lines has kinks, its slope jumps."""
    table = arm.Table([-1.0, 0.5, 2.0], [3.0, 1.0, 2.0], name="drop")
    sensitive_equations(core_of(pushed(lambda b: 1.0 * table(b.q1)).derive()), ["k"])
    with pytest.raises(ArmillaryError, match=r"jump with 'drop_dx\(b.q1\)'"):
        sensitive_equations(core_of(pushed(lambda b: 1.0 * table.derivative()(b.q1)).derive()), ["k"])


def test_sampled_switches_are_not_refused() -> None:
    """A thruster that a sampled command opens switches by the clock, whatever the parameters."""
    s = pushed("-k*b.q1")
    s.memory("command", 0.0, update="b.q1*k/F", every=0.25)
    s.force("thrust", "F*select(command > 0.1, 1, 0)", s.ground.x, at=s.bodies["b"].com)
    model = s.derive().compile()
    assert_derivatives(model, 1.9, ["F"], ["b.q1"], NEAR, initial={"b.q1": 0.5}, step=0.01)


def test_foreign_code_without_derivatives_is_named() -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    wave = arm.ForeignFunction("wave", kind(math.sin), 1)
    equations = pushed(lambda b: 1.0 * wave(b.q1)).derive()
    with pytest.raises(
        ArmillaryError, match=r"'cart' has no sensitivities: foreign function 'wave'.*partials"
    ):
        sensitive_equations(core_of(equations), ["k"])


def test_locks_and_redundant_coordinates_are_refused() -> None:
    with pytest.raises(ArmillaryError, match=r"event 'panel1 latches' locks or unlocks joints"):
        sensitive_equations(core_of(array_deployment.system().derive()), ["k"])
    with pytest.raises(ArmillaryError, match=r"redundant coordinates.*formalism='kane'"):
        sensitive_equations(core_of(pendulum.system().derive("redundant")), ["L"])


def test_a_start_that_loops_leave_open_is_refused() -> None:
    """The slider starts out of reach, and nothing is named: which joints move to close the loop is open."""
    s = slider_crank.system(True)
    s.start({"C.q1": 5.0})
    model = s.derive().compile()
    with pytest.raises(ParameterError, match=r"do not determine how the loops.*values in initial="):
        model.sensitivities(0.1, ["a"], ["A.q1"])
    closed = {"A.q1": 0.5, "B.q1": -0.6604966697462795}
    with pytest.raises(ParameterError, match=r"cannot be varied independently.*name fewer"):
        model.sensitivities(0.1, ["A.q1", "B.q1"], ["A.q1"], initial=closed)
    with pytest.raises(ParameterError, match=r"in a whole initial state 'B.q1' is only a first guess"):
        model.sensitivities(0.1, ["B.q1"], ["A.q1"], initial=[0.0, 0.0, 0.4, 0.0])


def test_what_is_prescribed_has_no_start_to_vary() -> None:
    s = pushed("-k*b.q1")
    s.body("d", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.prescribe("d.q1", "0.1*sin(2*t)")
    with pytest.raises(ParameterError, match=r"'d.q1' is prescribed or locked"):
        sensitive_equations(core_of(s.derive()), ["d.q1"])


def test_events_that_set_a_locked_speed_are_refused() -> None:
    s = arm.System("held")
    first = s.body("first", joint=arm.Prismatic("x"), mass=1, inertia=0)
    second = s.body("second", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.parameter("k", 2.0)
    s.force("spring", "-k*first.q1", s.ground.x, at=first.com)
    s.lock(second.q1)
    s.event("hit", first.q1, set={"second.u1": "0.0"})
    s.event("free", first.q1 - 0.5, unlock="second.q1")
    with pytest.raises(arm.ArmillaryError, match="event 'hit' locks or unlocks joints"):
        s.derive().compile().sensitivities(1.0, to=["k"], initial={"first.q1": 1.0})
