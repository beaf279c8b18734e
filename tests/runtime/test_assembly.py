"""Initial values of constrained models: what is named stays, what follows is found."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError, ParameterError
from armillary.runtime.start import assembly
from armillary.stages.model import Model

CRANK, ROD = 0.1, 0.3


def crank(**prescribed: str) -> arm.System:
    """A slider-crank, with motions prescribed by body; x = a cos q + sqrt(b² − a² sin² q)."""
    s = arm.System("slider-crank")
    s.parameter("a", CRANK, units="m")
    s.parameter("b", ROD, units="m")
    s.parameter("w", 7.0, units="rad/s")
    A = s.body("A", joint=arm.Revolute("z"), com=("a/2", 0, 0), mass=1, inertia=(0.01, 0.01, 0.01))
    B = s.body("B", A, arm.Revolute("z"), at=("a", 0, 0), mass=1, inertia=(0.01, 0.01, 0.01))
    C = s.body("C", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.close_loop(B.point("end", ("b", 0, 0)), C.origin, [s.ground.x, s.ground.y], name="pin")
    for body, motion in prescribed.items():
        s.prescribe(f"{body}.q1", motion)
    return s


@cache
def model() -> Model:
    return crank().derive().compile()


def slider(q: Any) -> Any:
    return CRANK * np.cos(q) + np.sqrt(ROD**2 - (CRANK * np.sin(q)) ** 2)


# ---------------------------------------------------------------- coordinates


def test_dependent_coordinates_follow_the_named_one() -> None:
    q = model().state({"A.q1": 1.2})
    assert q[0] == 1.2
    assert q[2] == pytest.approx(slider(1.2), abs=1e-12)
    assert ROD * math.sin(q[0] + q[1]) == pytest.approx(-CRANK * math.sin(1.2), abs=1e-12)


@pytest.mark.parametrize("place", [0.25, 0.35, 0.21, 0.399])
def test_an_independent_coordinate_follows_a_named_dependent_one(place: float) -> None:
    q = model().state({"C.q1": place})
    assert q[2] == place
    assert slider(q[0]) == pytest.approx(place, abs=1e-10)


def test_nothing_named_closes_the_loop_from_where_it_is_described() -> None:
    assert model().state()[:3] == pytest.approx([0.0, 0.0, CRANK + ROD], abs=1e-12)


def test_values_that_say_too_much_are_first_guesses_and_the_run_says_what_moved() -> None:
    """Two of them tell which way the rod lies: over the slider's line, or back over the crank."""
    for guess, sign in ((-1.0, 1), (3.5, -1)):
        run = model().simulate(0.01, initial={"A.q1": 0.5, "B.q1": guess, "C.q1": 0.3 * sign})
        x = CRANK * math.cos(0.5) + sign * math.sqrt(ROD**2 - (CRANK * math.sin(0.5)) ** 2)
        assert run["A.q1"][0] == 0.5
        assert run["C.q1"][0] == pytest.approx(x, abs=1e-12)
        assert "B.q1" in run.info["assembly"]
        assert "C.q1" in run.info["assembly"]
        assert "A.q1" not in run.info["assembly"]


def test_where_all_coordinates_are_given_none_are_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scattered starts would all be the same one: 7 looks at the geometry close the loop, 1,604 did."""
    monkeypatch.setattr(assembly, "_FEW", 30)
    monkeypatch.setattr(assembly.Bench, "_close_patiently", None)
    place = model().state({"A.q1": 0.5, "B.q1": -0.7, "C.q1": 0.38})
    assert place[[0, 2]] == pytest.approx([0.5, slider(0.5)], abs=1e-12)


def test_values_that_fit_are_left_alone_without_a_word() -> None:
    p = -math.asin(CRANK * math.sin(0.5) / ROD)
    run = model().simulate(0.01, initial={"A.q1": 0.5, "B.q1": p - 0.5, "C.q1": float(slider(0.5))})
    assert "assembly" not in run.info
    assert run["C.q1"][0] == pytest.approx(slider(0.5), abs=1e-15)


def test_a_loop_that_cannot_close_names_constraint_gap_and_parameters() -> None:
    with pytest.raises(ParameterError) as refused:
        model().simulate(1.0, initial={"C.q1": 0.45})
    message = str(refused.value)
    assert "cannot be closed with C.q1 as given" in message
    assert (
        "'pin along ground.x': B.end stays on C.origin along ground.x: -0.05 remains, set by a, b" in message
    )
    assert "change the parameters that set them, or give other initial coordinates" in message


def test_parameters_of_a_run_count_for_its_assembly() -> None:
    assert model().state({"A.q1": 0.0}, parameters={"b": 0.5})[2] == pytest.approx(0.6, abs=1e-12)
    with pytest.raises(ParameterError, match="cannot be closed"):
        model().state({"A.q1": math.pi / 2}, parameters={"b": 0.05})


def test_start_of_the_description_holds_where_a_run_says_nothing() -> None:
    s = crank()
    s.start({"A.q1": 2.0, "B.q1": -2.3, "A.u1": 3.0})
    found = s.derive().compile()
    assert found.state()[2] == pytest.approx(slider(2.0), abs=1e-12)
    assert found.state()[3] == 3.0
    assert found.state({"A.q1": 1.8})[2] == pytest.approx(slider(1.8), abs=1e-12)


# ---------------------------------------------------------------- speeds


def rate(q: float, u: float) -> float:
    return (
        -CRANK * math.sin(q) * u * (1 + CRANK * math.cos(q) / math.sqrt(ROD**2 - (CRANK * math.sin(q)) ** 2))
    )


def test_dependent_speeds_follow_the_named_one() -> None:
    run = model().simulate(0.01, initial={"A.q1": 1.2, "A.u1": 5.0})
    assert run["A.u1"][0] == 5.0
    assert run["C.u1"][0] == pytest.approx(rate(1.2, 5.0), abs=1e-12)


def test_an_independent_speed_follows_a_named_dependent_one() -> None:
    run = model().simulate(0.01, initial={"A.q1": 1.2, "C.u1": -1.0})
    assert run["C.u1"][0] == pytest.approx(-1.0, abs=1e-12)
    assert rate(1.2, run["A.u1"][0]) == pytest.approx(-1.0, abs=1e-12)


def test_consistent_speeds_may_all_be_named() -> None:
    run = model().simulate(0.01, initial={"A.q1": 1.2, "A.u1": 5.0, "C.u1": rate(1.2, 5.0)})
    assert run["A.u1"][0] == 5.0


def test_contradictory_speeds_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"initial speeds A\.u1, C\.u1 contradict constraint 'pin along"):
        model().simulate(0.01, initial={"A.q1": 1.2, "A.u1": 5.0, "C.u1": 1.0})


def test_a_slider_in_its_dead_centre_has_no_speed() -> None:
    with pytest.raises(ParameterError, match=r"initial speeds C\.u1 contradict .* whose residual is"):
        model().simulate(0.01, initial={"A.q1": 0.0, "C.u1": 1.0})


# ---------------------------------------------------------------- prescribed motion in a loop


def test_a_prescribed_crank_moves_all_the_rest() -> None:
    """No freedom remains, so the run is kinematics alone."""
    found = crank(A="0.3 + w*t").derive().compile()
    assert found.speed_names == ()
    for how in ({"step": 1e-3}, {"sample": 0.01}):
        run = found.simulate(2.0, **how)
        q = 0.3 + 7 * run.time
        assert run["A.q1"] == pytest.approx(q, abs=1e-12)
        assert run["C.q1"] == pytest.approx(slider(q), abs=1e-10)
        assert run["C.u1"] == pytest.approx([rate(x, 7.0) for x in q], abs=1e-10)


def test_a_prescribed_motion_that_contradicts_a_loop_is_refused() -> None:
    with pytest.raises(ModelError) as refused:
        crank(A="w*t", C="0.3 + 0.05*sin(w*t)").derive()
    assert "pin along" in str(refused.value)
    assert "contradicts" in str(refused.value)


def test_prescribed_coordinates_take_no_initial_value() -> None:
    with pytest.raises(ParameterError, match=r"'A\.q1' is prescribed, so it has no initial value"):
        crank(A="w*t").derive().compile().simulate(1.0, step=0.1, initial={"A.q1": 1.0})


# ---------------------------------------------------------------- lots of named things at once


def test_over_constrained_systems_are_refused_with_their_constraints() -> None:
    s = crank()
    s.constrain("A.q1 - 0.5", name="stuck")
    with pytest.raises(ModelError, match=r"over-constrained.*nothing moves") as refused:
        s.derive()
    assert "'stuck'" in str(refused.value)


def test_a_started_speed_that_depends_on_others_is_not_overridden_silently() -> None:
    s = crank()
    s.start({"A.q1": 1.2, "A.u1": 3.0, "C.u1": 2.0})
    compiled = s.derive().compile()
    found = rate(1.2, 3.0)
    with pytest.warns(UserWarning, match=f"'slider-crank': .* C.u1 from 2 to {found:.6g}; they depend on"):
        run = compiled.simulate(0.01, step=0.01)
    assert run["C.u1"][0] == pytest.approx(found, abs=1e-12)
    assert compiled.simulate(0.01, step=0.01, initial={"C.u1": 2.0})["C.u1"][0] == pytest.approx(2.0)
    s.start({"C.u1": found})  # which agrees
    assert s.derive().compile().simulate(0.01, step=0.01)["C.u1"][0] == pytest.approx(found, abs=1e-12)


def test_speeds_that_have_a_start_are_independent_where_that_is_a_good_choice() -> None:
    """By hand: the rod's end stays on the line, a cos(A) A' + b cos(A + B) (A' + B') = 0. In a dead centre
    the slider does not turn the crank, so a start of its speed is overridden there, with a warning.
    """

    def pushed(**start: float) -> arm.System:
        s = crank()
        s.event("push", "t - 5", set={"C.u1": 0.0})
        s.start({name.replace("_", "."): value for name, value in start.items()})
        return s

    angle = math.asin(CRANK / ROD * math.sin(0.5))
    place = {"A_q1": 0.5, "B_q1": -0.5 - angle, "C_q1": slider(0.5)}
    assert "C.u1" not in pushed(**place).derive().dependents
    eom = pushed(**place, A_u1=9.0).derive()
    assert set(eom.dependents) == {"B.u1", "C.u1"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = eom.compile().simulate(0.01)
    assert run["A.u1"][0] == 9.0
    expected = -9.0 - CRANK * math.cos(0.5) * 9.0 / (ROD * math.cos(angle))
    assert run["B.u1"][0] == pytest.approx(expected, rel=1e-12)
    with pytest.warns(UserWarning, match=r"changing C\.u1 from 1 to 0"):
        run = pushed(C_q1=0.4, C_u1=1.0).derive().compile().simulate(0.01)
    assert abs(run["C.u1"][0]) < 1e-12
