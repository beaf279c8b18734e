"""Branches of operating points: folds, Hopf points and branch points where they are known to be."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.stages.model import Model
from examples import bicycle
from tests.analysis.operating.systems import G, column, hoop, pendulum, top, truss, watt


def kinds(branch: Any) -> list[str]:
    return [mark.kind for mark in branch.marks]


@pytest.mark.parametrize("friction", [0.01, 0.0])
def test_a_bead_leaves_the_bottom_of_its_hoop(friction: float) -> None:
    """A pitchfork at Ω² = g/R, with friction and without, where eigenvalues leave the imaginary axis."""
    op = hoop().trim(parameters={"W": 3.0, "c": friction})
    branch = hoop().trace(op, "W", 1, 8)
    assert kinds(branch) == ["branch point"]
    assert branch.marks[0].value == pytest.approx(math.sqrt(G / 0.4), rel=1e-9)
    stable = branch.stable[np.abs(branch["W"] - branch.marks[0].value) > 1e-6]
    assert np.array_equal(stable, branch["W"][np.abs(branch["W"] - branch.marks[0].value) > 1e-6] < 4.95)


def test_the_other_branch_of_the_bead_turns_at_the_pitchfork() -> None:
    op = hoop().trim(parameters={"W": 8.0}, starts={"bead.q1": 1.0})
    branch = hoop().trace(op, "W", 1, 8)
    assert kinds(branch) == ["branch point"]
    assert branch.marks[0].value == pytest.approx(math.sqrt(G / 0.4), rel=1e-8)
    assert branch["bead.q1"][0] == pytest.approx(-branch["bead.q1"][-1], rel=1e-9)
    inner = np.abs(branch["bead.q1"]) > 1e-3
    assert np.allclose(np.cos(branch["bead.q1"][inner]), G / (0.4 * branch["W"][inner] ** 2), rtol=1e-9)


def test_a_column_buckles() -> None:
    """m g l = k."""
    branch = column().trace(column().equilibrium(), "m", 0.5, 4)
    assert kinds(branch) == ["branch point"]
    assert branch.marks[0].value == pytest.approx(20 / G, rel=1e-9)


def test_a_pendulum_turns_over_where_its_moment_is_largest() -> None:
    """A fold at torque = m g l, θ = 90 degrees; beyond it the branch goes back, unstable."""
    branch = pendulum().trace(pendulum().equilibrium(), "torque", 0, 20)
    assert kinds(branch) == ["fold"]
    assert branch.marks[0].value == pytest.approx(G, rel=1e-12)
    at = branch.marks[0].index
    assert branch["bob.q1"][at] == pytest.approx(90.0, abs=1e-5)
    assert branch["torque"][-1] == pytest.approx(0.0, abs=1e-9) and branch["bob.q1"][-1] == pytest.approx(180)
    assert branch.stable[:at].all() and not branch.stable[at + 1 :].any()


def test_a_truss_snaps_through() -> None:
    """P = −2 k (l − l₀) y/l has its extremes where l³ = l₀ (half span 1): both folds, one branch."""
    branch = truss().trace(truss().equilibrium(), "P", 0, 40)
    branch = truss().trace(branch.point(0), "P", -40, 40)
    assert kinds(branch) == ["fold", "fold"]
    l0 = math.sqrt(1.09)
    length = l0 ** (1 / 3)
    height = math.sqrt(length**2 - 1)
    load = 2000 * (l0 - length) * height / length
    values = sorted(mark.value for mark in branch.marks)
    assert values == pytest.approx([-load, load], rel=1e-10)
    assert abs(branch["tip.q1"][branch.marks[0].index]) == pytest.approx(height, rel=1e-6)


@cache
def small_truss() -> Model:
    """The truss with half span L and rise 0.3 L."""
    s = arm.System("truss of any size")
    s.parameter("P", 0.0, units="N")
    s.parameter("L", 1.0, units="m")
    tip = s.body("tip", joint=arm.Prismatic("y"), mass=1, inertia=0)
    bar = "sqrt(L^2 + tip.q1^2)"
    s.force("bars", f"-2*1000*({bar} - L*sqrt(1.09))*tip.q1/{bar} - P - 5*tip.u1", s.ground.y, at=tip.com)
    return s.derive().compile()


@cache
def small_toggle(L: float) -> Model:
    """Two links of length L that a slider on a spring keeps bent, under a load P at their joint."""
    s = arm.System("toggle")
    s.parameter("P", 0.0, units="N")
    inertia = (1e-3 * L * L,) * 3
    left = s.body("left", joint=arm.Revolute("z"), com=(L / 2, 0, 0), mass=0.1, inertia=inertia)
    right = s.body(
        "right", left, arm.Revolute("z"), at=(L, 0, 0), com=(L / 2, 0, 0), mass=0.1, inertia=inertia
    )
    slider = s.body("slider", joint=arm.Prismatic("x"), at=(1.9 * L, 0, 0), mass=0.2, inertia=0)
    s.close_loop(right.point("p", (L, 0, 0)), slider.point("p", (0, 0, 0)), (s.ground.x, s.ground.y))
    s.force("spring", "-1000*slider.q1 - 5*slider.u1", s.ground.x, at=slider.com)
    s.force("load", "-P", s.ground.y, at=right.origin)
    s.start({"left.q1": math.acos(0.95), "right.q1": -2 * math.acos(0.95)})
    return s.derive().compile()


@pytest.mark.parametrize("L", [1e3, 1.0, 1e-2, 1e-3, 1e-4, 1e-6])
def test_branches_are_the_same_in_small_models(L: float) -> None:
    """P = 2 k (l₀ − l) q/l of the truss has folds at l = (L² l₀)^(1/3), ± the same load."""
    l = (1.09**0.5) ** (1 / 3)  # noqa: E741
    fold = 2 * 1000 * L * (1.09**0.5 - l) * math.sqrt(l * l - 1) / l
    model, given = small_truss(), {"L": L}
    op = model.equilibrium(starts={"tip.q1": 0.3 * L}, parameters=given)
    branch = model.trace(op, "P", -100 * L, 100 * L)
    assert kinds(branch) == ["fold", "fold"]
    assert [m.value for m in branch.marks] == pytest.approx([fold, -fold], rel=1e-9)
    assert branch["P"][[0, -1]] == pytest.approx([-100 * L, 100 * L], rel=1e-9)
    if L <= 1:  # starts lie within a unit of the SI where nothing gives the size of a larger model
        found = model.equilibrium(starts=12, parameters=given).solutions
        assert {round(p["tip.q1"] / L, 9) for p in found} == {-0.3, 0.0, 0.3}


@pytest.mark.parametrize("L", [1e3, 1e-6])
def test_branches_of_loops_are_the_same_in_small_models(L: float) -> None:
    """P cos q = 2 sin q · 2 k L (cos q − 0.95) by virtual work; the folds are its extremes."""
    q = np.linspace(0, 0.6, 200001)
    fold = float(np.max(4000 * L * (np.cos(q) - 0.95) * np.tan(q)))
    model = small_toggle(L)
    branch = model.trace(model.equilibrium(), "P", -300 * L, 300 * L)
    assert kinds(branch) == ["fold", "fold"]
    assert [m.value for m in branch.marks] == pytest.approx([fold, -fold], rel=1e-6)
    settled = model.equilibrium(starts={"left.q1": 0.2, "right.q1": -0.5}, settle=True)
    assert settled["left.q1"] == pytest.approx(math.acos(0.95), rel=1e-9)


def test_watts_governor_hunts() -> None:
    """A Hopf point at ε = 2 α β^(3/2) with frequency √((1 − β²)/β) (Sotomayor, Mello & Braga 2007)."""
    op = watt().equilibrium(starts={"ball.q1": 0.6})
    assert op["ball.q1"] == pytest.approx(math.acos(0.8), rel=1e-12)
    assert op["z"] ** 2 == pytest.approx(1 / 0.8, rel=1e-12)
    branch = watt().trace(op, "eps", 0.1, 2)
    assert kinds(branch) == ["Hopf point"]
    assert branch.marks[0].value == pytest.approx(2 * 0.6 * 0.8**1.5, rel=1e-9)
    assert branch.marks[0].frequency == pytest.approx(math.sqrt(0.36 / 0.8), rel=1e-9)
    assert not branch.stable[0] and branch.stable[-1]


@cache
def rider() -> Model:
    return bicycle.system().derive().compile()


def test_the_bicycle_weaves_and_capsizes_at_its_published_speeds() -> None:
    """4.29238253634111 and 6.02426201538837 m/s (Meijaard, Papadopoulos, Ruina & Schwab 2007, section 7),
    from the nonlinear model. The steady turns that begin at the second cross there.
    """
    op = rider().trim(fixed={"heading.u1": 5.0})
    branch = rider().trace(op, "heading.u1", 1, 10)
    assert kinds(branch) == ["Hopf point", "branch point"]
    weave, capsize = branch.marks
    assert weave.value == pytest.approx(4.29238253634111, rel=1e-11)
    assert weave.frequency == pytest.approx(3.43503, rel=1e-5)
    assert capsize.value == pytest.approx(6.02426201538837, rel=1e-9)


def test_eigenvalues_are_those_of_the_linear_model() -> None:
    """Those of the cyclic coordinates, all zero, come on top."""
    op = rider().trim(fixed={"heading.u1": 5.0})
    lin = rider().linearize(at=op)
    whole = np.linalg.eigvals(lin.A)
    kept = whole[np.abs(whole) > 1e-5]
    own = op.eigenvalues[np.abs(op.eigenvalues) > 1e-5]
    assert len(kept) == len(own) == 4
    assert np.allclose(np.sort_complex(kept), np.sort_complex(own), rtol=1e-9)
    held = pendulum().equilibrium(fixed={"bob.q1": 30}, inputs=["torque"])  # with the torque that was found
    assert np.allclose(
        np.sort_complex(np.linalg.eigvals(pendulum().linearize(at=held).A)), np.sort_complex(held.eigenvalues)
    )


def test_a_fixed_state_an_output_and_a_rate_are_varied() -> None:
    held = pendulum().equilibrium(fixed={"bob.q1": 10}, inputs=["torque"])
    branch = pendulum().trace(held, "bob.q1", 0, 80)
    assert np.allclose(branch["torque"], G * np.sin(np.radians(branch["bob.q1"])), rtol=1e-10, atol=1e-10)
    high = pendulum().equilibrium(outputs={"height": -400}, inputs=["torque"], starts={"bob.q1": 10})
    branch = pendulum().trace(high, "height", -490, -100)
    assert np.allclose(np.cos(np.radians(branch["bob.q1"])), -branch["height"] / 500, rtol=1e-10)
    spun = top().trim(fixed={"top.q2": 0.5}, rates={"top.q3": 200.0}, starts={"top.u1": 1.0})
    branch = top().trace(spun, "top.q3", 100, 300)
    assert branch.name == "rate of top.q3" and branch.units[branch.name] == "rad/s"
    across, along, weight = 4e-4 + 0.5 * 0.06**2, 6e-4, 0.5 * G * 0.06
    W, spin = branch["top.u1"], branch["rate of top.q3"]
    assert np.allclose((along - across) * math.cos(0.5) * W**2 + along * spin * W, weight, rtol=1e-9)


def test_points_of_a_branch_are_operating_points() -> None:
    branch = pendulum().trace(pendulum().equilibrium(), "torque", 0, 9)
    op = branch.point(5)
    assert op.parameters["torque"] == pytest.approx(branch["torque"][5], rel=1e-14)
    run = pendulum().simulate(0.5, initial=op, parameters=op.parameters, sample=0.25)
    assert np.allclose(run["bob.q1"], op["bob.q1"], rtol=1e-9)
    again = pendulum().trace(op, "torque", 0, 9)
    assert again["bob.q1"][-1] == pytest.approx(branch["bob.q1"][-1], rel=1e-10)


def test_branches_go_on_from_their_points_whatever_is_varied() -> None:
    """A point has the varied value as what was asked for, so that the same branch is traced from it."""
    held = pendulum().equilibrium(fixed={"bob.q1": 10}, inputs=["torque"])
    high = pendulum().equilibrium(outputs={"height": -400}, inputs=["torque"], starts={"bob.q1": 10})
    spun = top().trim(fixed={"top.q2": 0.5}, rates={"top.q3": 200.0}, starts={"top.u1": 1.0})
    cases = (
        (pendulum(), held, "bob.q1", (0, 80), "torque"),
        (pendulum(), high, "height", (-490, -100), "torque"),
        (top(), spun, "top.q3", (100, 300), "top.u1"),
    )
    for model, op, name, ends, found in cases:
        branch = model.trace(op, name, *ends)
        middle = branch.point(len(branch) // 2)
        again = model.trace(middle, name, *ends)
        assert again[found][[0, -1]] == pytest.approx(branch[found][[0, -1]], rel=1e-8, abs=1e-8)
        assert middle.error < 1e-9  # of the conditions, which have the varied value, too


def test_branches_are_shown_drawn_and_saved(tmp_path: Path) -> None:
    branch = pendulum().trace(pendulum().equilibrium(), "torque", 0, 20)
    for words in ("over torque from 0 to 0 N*m", "fold", "stable", "unstable, 1 growing eigenvalue"):
        assert words in str(branch)
    assert "<table>" in branch._repr_html_()
    assert list(branch.to_pandas()["growing"]) == branch.growing.tolist()
    branch.save(tmp_path / "branch.json")
    kept = json.loads((tmp_path / "branch.json").read_text(encoding="utf-8"))
    assert kept["columns"]["torque"] == branch["torque"].tolist() and kept["marks"][0]["kind"] == "fold"
    again = arm.Branch.load(tmp_path / "branch.json")
    assert str(again) == str(branch) and again.marks == branch.marks
    assert np.array_equal(again.eigenvalues, branch.eigenvalues, equal_nan=True)
    with pytest.raises(arm.ArmillaryError, match="from another process or a file"):
        again.point(0)
    branch.save(tmp_path / "branch.txt")
    assert (tmp_path / "branch.txt").read_text(encoding="utf-8") == f"{branch}\n"
    branch.plot("bob.q1", path=tmp_path / "branch.png")
    assert (tmp_path / "branch.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, op: m.trace(op, "tork", 0, 1), "did you mean 'torque'?"),
        (lambda m, op: m.trace(op, "bob.q1", 0, 1), "is found at this operating point"),
        (lambda m, op: m.trace({}, "torque", 0, 1), "an operating point"),
        (lambda m, op: m.trace(op, "torque", 1, 1), "give two values"),
        (lambda m, op: m.trace(op, "torque", "1 kg", 2), "kg"),
        (lambda m, op: m.trace(op, 3, 1, 2), "must be a text"),
        (lambda m, op: m.trace(op, "torque", 15, 20), "no solution with torque = 15"),
        (lambda m, op: hoop().trace(op, "W", 1, 2), "belongs to another model"),
        (
            lambda m, op: m.trace(op, "torque", 0, 9).point(1000),
            "there is no point 1000; they are numbered 0 to",
        ),
        (lambda m, op: m.trace(op, "torque", 0, 9)["bob"], "has no 'bob'"),
    ],
)
def test_branches_that_cannot_be(call: Any, words: str) -> None:
    with pytest.raises(ArmillaryError) as error:
        call(pendulum(), pendulum().equilibrium())
    assert words in str(error.value)


def test_branches_of_small_mechanisms_have_the_stability_of_large_ones() -> None:
    """A lever with a moment that snaps through, everything in proportion: of one of 1 µm the points were said
    not to be steady, because rounding leaves 2e-5 rad/s² of 2e7.
    """
    found = []
    for L in (1.0, 1e-3, 1e-6):
        s = arm.System("lever")
        a = s.body("a", joint=arm.Revolute("z"), com=(L, 0, 0), mass=1.0, inertia=(0.1 * L**2,) * 3)
        s.parameter("P", 0.0, units="N")
        s.force("load", "-P", s.ground.y, at=a.point("tip", (L, 0, 0)))
        s.moment("hold", f"-{L}*(20*sin(a.q1 - 0.3) - 12*sin(2*(a.q1 - 0.3)))", s.ground.z, on=a)
        model = s.derive().compile()
        branch = model.trace(model.equilibrium(starts={"a.q1": 1.3}), "P", 0.0, 8.0)
        found.append((branch["a.q1"], branch.growing))
    for angles, growing in found[1:]:
        np.testing.assert_allclose(angles, found[0][0], rtol=1e-9)
        assert np.array_equal(growing, found[0][1])
    assert set(found[0][1].tolist()) == {0, 1}
