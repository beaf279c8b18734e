"""Operating points against closed forms, for rest and for steady motion."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import armillary as arm
from armillary.analysis.operating import curve
from armillary.stages.model import Model
from armillary.verification.cases.mechanisms import governor
from examples import integral_control, rolling_disc
from tests.analysis.operating.systems import G, column, hoop, parallelogram, pendulum, top

TIGHT: dict[str, Any] = {"rel": 1e-12, "abs": 1e-13}  # a few roundings of numbers of order one


def test_the_moment_that_holds_a_pendulum() -> None:
    """torque = m g l sin θ; angles in degrees."""
    op = pendulum().equilibrium(fixed={"bob.q1": 30}, inputs=["torque"])
    assert op.inputs["torque"] == pytest.approx(2 * G * 0.5 * 0.5, **TIGHT)
    assert op["bob.q1"] == pytest.approx(30.0, **TIGHT) and op.roles["bob.q1"] == "fixed"
    assert op.parameters == {"torque": op.inputs["torque"]}
    assert op.stable and op.residual < 1e-10
    here = pendulum().derivatives(0.0, op.state, op.parameters)
    assert np.max(np.abs(here)) < 1e-13


def test_a_rate_of_a_state_without_units_is_prescribed() -> None:
    """ż = 3 − 2 z is 1 at z = 1, and not zero elsewhere; with units the rate may be given in others."""
    s = arm.System("tank")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.state("level")
    s.rate("level", "3 - 2*level")
    s.state("depth", units="m")
    s.rate("depth", "(3 - 2*depth)*1")
    model = s.derive().compile()
    op = model.trim(rates={"level": 1.0, "depth": "500 mm/s"})
    assert (op["level"], op["depth"]) == pytest.approx((1.0, 1.25), **TIGHT)
    with pytest.raises(arm.ArmillaryError, match="unit"):
        model.trim(rates={"depth": "5 kg"})


def test_an_output_is_prescribed() -> None:
    """The bob is 0.3 m below the pivot where cos θ = 0.6; the height is stated in mm."""
    op = pendulum().equilibrium(outputs={"height": "-0.3 m"}, inputs=["torque"], starts={"bob.q1": 10})
    assert math.cos(math.radians(op["bob.q1"])) == pytest.approx(0.6, **TIGHT)
    assert op.outputs["height"] == pytest.approx(-300.0, **TIGHT)


def test_all_equilibria_of_a_pendulum_and_their_stability() -> None:
    found = pendulum().equilibrium(starts=12).solutions
    turns = {round(op["bob.q1"], 9) % 360.0: op.stable for op in found}
    assert turns == {0.0: True, 180.0: False}
    w2, c = G / 0.5, 0.3 / (2 * 0.25)
    up = next(op for op in found if not op.stable)
    assert up.eigenvalues[0].real == pytest.approx(-c / 2 + math.sqrt(c * c / 4 + w2), rel=1e-12)


def test_an_input_from_outside_is_found_and_varied() -> None:
    """An input is a memory of the model; stated in N*mm here."""
    s = arm.System("driven")
    s.input("torque", units="N*mm")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=2, inertia=0)
    s.gravity(G, -s.ground.y)
    s.moment("motor", "torque", s.ground.z, on=bob)
    model = s.derive().compile()
    op = model.equilibrium(fixed={"bob.q1": 0.5}, inputs=["torque"])
    assert op.memory == op.inputs and op.inputs["torque"] == pytest.approx(1e3 * G * math.sin(0.5), rel=1e-12)
    run = model.simulate(0.5, initial=op, memory=op.memory, sample=0.25)
    assert np.allclose(run["bob.q1"], 0.5, rtol=1e-10)
    branch = model.trace(model.equilibrium(), "torque", 0, 20000)
    assert branch.marks[0].kind == "fold" and branch.marks[0].value == pytest.approx(1e3 * G, rel=1e-12)


def test_inputs_have_starts_too() -> None:
    for starts, inputs in (({"torque": "5 N*m"}, ["torque"]), ({}, {"torque": "5000 mN*m"})):
        op = pendulum().equilibrium(fixed={"bob.q1": 30}, inputs=inputs, starts=starts)
        assert op.inputs["torque"] == pytest.approx(G / 2, **TIGHT)


def test_at_rest_the_speeds_of_a_start_do_not_count() -> None:
    op = pendulum().equilibrium(starts={"bob.q1": 20, "bob.u1": 50})
    assert op["bob.u1"] == 0.0 and op.stable


def test_settling_finds_a_stable_equilibrium() -> None:
    assert pendulum().equilibrium(starts={"bob.q1": 175}).stable is False
    rested = pendulum().equilibrium(starts={"bob.q1": 175}, settle=True)
    assert rested.stable and rested["bob.q1"] == pytest.approx(0.0, abs=1e-12)
    fallen = pendulum().equilibrium(starts={"bob.q1": 180}, settle=True)  # from the top itself
    assert fallen.stable


@pytest.mark.parametrize("formalism", ["momentum", "redundant", "recursive"])
def test_every_formalism_has_the_same_operating_points(formalism: str) -> None:
    model = pendulum(formalism)
    op = model.equilibrium(fixed={"bob.q1": 30}, inputs=["torque"])
    assert op.inputs["torque"] == pytest.approx(G / 2, **TIGHT)
    run = model.simulate(0.2, initial=op, parameters=op.parameters, step=0.01, method=None)
    assert run["bob.q1"][-1] == pytest.approx(30.0, rel=1e-9)
    assert len(op.state) == len(model.state())


def test_a_buckled_column() -> None:
    """k θ = m g l sin θ beyond m g l = k; upright it is unstable there."""
    bent = column().equilibrium(parameters={"m": 4}, starts={"rod.q1": 0.5}, settle=True)
    angle = brentq(lambda q: 20.0 * q - 4 * G * math.sin(q), 0.1, 3.0, xtol=1e-15, rtol=1e-15)
    assert bent["rod.q1"] == pytest.approx(angle, rel=1e-12) and bent.stable
    upright = column().equilibrium(parameters={"m": 4})
    assert upright["rod.q1"] == 0.0 and upright.stable is False


def test_a_bead_on_a_turning_hoop() -> None:
    """cos θ = g/(Ω² R); the hoop's angle is cyclic, and turns."""
    op = hoop().trim(parameters={"W": 8.0}, starts={"bead.q1": 1.0})
    assert math.cos(op["bead.q1"]) == pytest.approx(G / (64 * 0.4), rel=1e-12)
    assert op.cyclic == {"ring.q1": 8.0} and op.stable


def test_steady_precession_of_a_top() -> None:
    """A cos θ Ω² − C ω₃ Ω + m g l = 0 about the pivot, with ω₃ = spin + Ω cos θ (Goldstein, section 5.7)."""
    tilt, spin = 0.5, 200.0
    across, along, weight = 4e-4 + 0.5 * 0.06**2, 6e-4, 0.5 * G * 0.06
    slow, fast = np.sort(np.roots([(along - across) * math.cos(tilt), along * spin, -weight]))
    for root, start in ((slow, 1.0), (fast, 100.0)):
        op = top().trim(fixed={"top.q2": tilt}, rates={"top.q3": spin}, starts={"top.u1": start})
        assert op.cyclic["top.q1"] == pytest.approx(root, rel=1e-10)
        assert op.cyclic["top.q3"] == pytest.approx(spin, rel=1e-14)
        assert set(op.cyclic) == {"top.q1", "top.q3"} and op.stable


@cache
def disc() -> Model:
    return rolling_disc.system().derive().compile()


def test_a_disc_rolls_in_a_circle() -> None:
    """Spin by the balance of moments about the contact point; and a run stays there."""
    op = disc().trim(fixed={"lean.q1": 0.3, "heading.u3": -2.0}, starts={"disc.u1": 5.0})
    assert op["disc.u1"] == pytest.approx(rolling_disc.steady_spin(0.3, -2.0), rel=1e-12)
    assert set(op.cyclic) == {"heading.q1", "heading.q2", "heading.q3", "disc.q1"}
    run = disc().simulate(2.0, initial=op, sample=0.1)
    assert np.max(np.abs(run["lean.q1"] - 0.3)) < 1e-9


def test_a_dependent_speed_is_prescribed() -> None:
    """heading.u1 = R spin follows from rolling."""
    op = disc().trim(fixed={"lean.q1": 0.3, "heading.u1": 1.0}, starts={"heading.u3": -2.0, "disc.u1": 8.0})
    assert op["disc.u1"] == pytest.approx(10.0, rel=1e-12)
    assert rolling_disc.steady_spin(0.3, op["heading.u3"]) == pytest.approx(10.0, rel=1e-11)


def test_an_upright_disc_is_steady_at_any_speed() -> None:
    op = disc().trim(fixed={"lean.q1": 0.0, "heading.u3": 0.0}, starts={"disc.u1": 30.0})
    assert op["disc.u1"] == 30.0 and op.stable
    assert any("disc.u1" in note for note in op.notes)


def test_a_circular_orbit() -> None:
    """φ̇² r³ = μ, in polar coordinates and kilometres of a real orbit."""
    s = arm.System("orbit")
    mu = 3.986004418e14
    turn = s.body("turn", joint=arm.Revolute("z"), mass=0, inertia=0)
    craft = s.body("craft", turn, arm.Prismatic("x"), mass=1000, inertia=0)
    s.force("gravity", f"-{mu}*1000/craft.q1^2", turn.x, at=craft.com)
    op = s.derive().compile().trim(fixed={"craft.q1": 7e6}, starts={"turn.u1": 1e-4})
    assert op["turn.u1"] == pytest.approx(math.sqrt(mu / 7e6**3), rel=1e-12)
    assert op.cyclic["turn.q1"] == op["turn.u1"] and op["craft.u1"] == pytest.approx(0.0, abs=1e-20)
    assert op.stable  # marginally: epicycles at the orbital rate
    assert abs(op.eigenvalues.imag).max() == pytest.approx(op["turn.u1"], rel=1e-9)


def test_a_loop_at_rest() -> None:
    """−k θ = m g a cos θ of a parallelogram, whose coupler keeps level."""
    op = parallelogram().equilibrium()
    angle = brentq(lambda q: 12.0 * q + 2 * G * 0.3 * math.cos(q), -1.5, 0.0, xtol=1e-15, rtol=1e-15)
    assert op["left.q1"] == pytest.approx(angle, rel=1e-12)
    assert op["coupler.q1"] == pytest.approx(-angle, rel=1e-12)
    assert op["right.q1"] == pytest.approx(angle, rel=1e-12)
    w2 = (12.0 - 2 * G * 0.3 * math.sin(angle)) / (2 * 0.3**2)
    assert len(op.eigenvalues) == 2  # of one freedom, whatever the number of coordinates
    assert abs(op.eigenvalues[0]) == pytest.approx(math.sqrt(w2), rel=1e-10)


@cache
def steered(how: str) -> Model:
    """A lever under gravity and a torsion spring whose moment a rack raises; the rack does not move."""
    s = arm.System("steered")
    rack = s.body("rack", joint=arm.Prismatic("x"), mass=2, inertia=0)
    lever = s.body("lever", rack, arm.Revolute("z"), com=(0.1, 0, 0), mass=1, inertia=(0, 0.01, 0.01))
    s.parameter("lift", 0.0, units="N*m")
    s.gravity(G, -s.ground.y)
    s.force("spring", "-1e4*(rack.q1 - 0.01)", s.ground.x, at=rack.com)
    s.moment("twist", "lift - 50*lever.q1 - 0.3*lever.u1 + 300*rack.q1", s.ground.z, on=lever)
    s.parameter("v", 0.0, units="m/s")
    if how == "locked":
        s.lock("rack.q1")
    else:
        s.prescribe("rack.u1", {"prescribed to rest": 0, "prescribed": "v"}[how])
    return s.derive().compile()


@pytest.mark.parametrize("how", ["locked", "prescribed to rest", "prescribed"])
@pytest.mark.parametrize("place", [0.0, 0.02])
def test_a_coordinate_that_no_load_moves_stays_where_it_starts(how: str, place: float) -> None:
    """50 θ = 300 x − m g c cos θ for the x of the start, by another root finder."""
    model = steered(how)
    for op in (model.equilibrium(starts={"rack.q1": place}), model.trim(starts={"rack.q1": place})):
        wanted = brentq(lambda a: 300 * place - 50 * a - G * 0.1 * math.cos(a), -1, 1, xtol=1e-15)
        assert op["rack.q1"] == place and op.roles["rack.q1"] == "held"
        assert op["lever.q1"] == pytest.approx(wanted, abs=1e-12)
        poles = model.linearize(op).poles()
        assert np.sort_complex(op.eigenvalues) == pytest.approx(np.sort_complex(poles), abs=1e-9)
        assert op.stable
    branch = model.trace(model.equilibrium(starts={"rack.q1": place}), "lift", 0, 2)
    assert np.all(branch["rack.q1"] == place) and len(branch.eigenvalues[0]) == len(poles)


def test_a_locked_coordinate_is_found_where_it_is_named_free() -> None:
    op = steered("locked").equilibrium(fixed={"lever.q1": 0.1}, free=["rack.q1"])
    assert op["rack.q1"] == pytest.approx((5 + G * 0.1 * math.cos(0.1)) / 300, rel=1e-12)


def test_a_locked_coordinate_does_not_replace_a_condition() -> None:
    with pytest.raises(arm.ArmillaryError, match=r"2 unknowns \(lever.q1, lift\) and only 1 condition"):
        steered("locked").equilibrium(fixed={"rack.q1": 0.01}, inputs=["lift"])


def test_a_locked_ball_joint_is_no_state_of_the_motion_near_a_point() -> None:
    """A pendulum on a body whose ball joint is locked: ω² = g c / (c² + k²) = 9.81·0.2/0.05."""
    s = arm.System("locked ball")
    ball = s.body("ball", joint=arm.Spherical(), mass=1, inertia=(1, 2, 3))
    s.body("rod", ball, arm.Revolute("z"), com=(0, -0.2, 0), mass=1, inertia=(0, 0.01, 0.01))
    s.gravity(G, -s.ground.y)
    s.lock("ball.u1", "ball.u2", "ball.u3")
    model = s.derive().compile()
    op = model.equilibrium(starts={"rod.q1": 0.3})
    assert op.found == {"rod.q1": pytest.approx(0.0, abs=1e-12)}
    for roots in (op.eigenvalues, model.linearize(op).poles()):
        assert np.sort(roots.imag) == pytest.approx([-math.sqrt(G * 4), math.sqrt(G * 4)], rel=1e-12)


@cache
def delayed() -> Model:
    """An inverted pendulum of 1 kg, 1 m and I = 1.1 kg m² under a spring k that acts with a lag T."""
    s = arm.System("delayed spring")
    s.parameter("T", 1e-8, units="s")
    s.parameter("k", 1.0, units="N*m/rad")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, 1, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    z = s.state("z", rate="(-k*rod.q1 - z)/T", initial=0.0, units="N*m")
    s.moment("spring", z, s.ground.z, on=rod)
    s.gravity(G, -s.ground.y)
    return s.derive().compile()


@pytest.mark.parametrize("lag", [1e-8, 1e-5, 1e-2])
def test_a_fast_lag_does_not_hide_the_growth_of_a_slow_motion(lag: float) -> None:
    """(I λ² − m g l)(1 + T λ) + k = 0; for a small T one root grows with √((m g l − k)/I)."""
    model, given = delayed(), {"T": lag}
    op = model.equilibrium(parameters=given)
    expected = np.roots([1.1 * lag, 1.1, -G * lag, 1.0 - G])
    grows = float(np.max(expected.real))
    assert op.stable is False and op.stability.growing == 1
    assert op.eigenvalues[0] == pytest.approx(grows, rel=1e-7)
    modes = model.linearize(op).modes()
    assert not modes.stable and len(modes) == 3 and not any(modes.chains)
    assert np.sort(modes.eigenvalues.real) == pytest.approx(np.sort(expected.real), rel=1e-7)
    locus = arm.root_locus(model, "k", [0.5, 4.0, 7.5], parameters=given)
    assert len(locus) == 3 and locus.stable_ranges == () and not locus.crossings


def test_the_onset_of_stability_is_found_beside_a_fast_lag() -> None:
    """k = m g l; beyond it the lag makes the oscillation grow by k T/(2 I), 3e-8 of its frequency."""
    locus = arm.root_locus(delayed(), "k", np.linspace(0.5, 20, 8))
    assert [c.value for c in locus.crossings] == [pytest.approx(G, rel=1e-7)]
    assert locus.stable_ranges == ((pytest.approx(G, rel=1e-7), 20.0),)


def test_a_governor_turns_steadily() -> None:
    """cos θ = (1 + M/m) g/(L Ω²) for two balls with links of one length."""
    model = governor().derive().compile()
    op = model.trim(parameters={"W": 12.0}, settle=True)
    assert op["left.q1"] == pytest.approx(math.acos(2.5 * 9.81 / (0.3 * 144)), rel=1e-9)
    assert op.cyclic == {"spindle.q1": 12.0} and op.stable


def test_an_integral_controller_holds_its_target() -> None:
    """States of the user's own: the motor carries the weight, the integral what the gain does not."""
    op = integral_control.system().derive().compile().equilibrium()
    weight = (2 * 0.4 + 3 * 0.8) * 9.81 * math.cos(math.radians(30))
    assert op["beam.q1"] == pytest.approx(math.radians(30), **TIGHT)
    assert op["motor"] == pytest.approx(weight, rel=1e-12)
    assert op["error"] == pytest.approx(weight / 300, rel=1e-12) and op.stable


def test_euler_parameters_at_rest() -> None:
    """A body on a ball joint hangs down from wherever it starts; about the vertical nothing decides."""
    s = arm.System("bell")
    bell = s.body("bell", joint=arm.Spherical(), com=(0, 0, -0.4), mass=3, inertia=(0.1, 0.1, 0.05))
    s.gravity(G, -s.ground.z)
    s.output("cosine", arm.dot(bell.z, s.ground.z))
    model = s.derive().compile()
    op = model.equilibrium(starts={"bell.q1": 0.8, "bell.q2": 0.4, "bell.q3": -0.2}, settle=True)
    assert op.outputs["cosine"] == pytest.approx(1.0, abs=1e-14)
    assert sum(op[f"bell.q{i}"] ** 2 for i in range(1, 5)) == pytest.approx(1.0, **TIGHT)
    assert len(op.eigenvalues) == 6 and op.stable


def test_points_start_runs_and_batches() -> None:
    op = pendulum().equilibrium(fixed={"bob.q1": 30}, inputs=["torque"])
    run = pendulum().simulate(1.0, initial=op, parameters=op.parameters, sample=0.5)
    assert np.allclose(run["bob.q1"], 30.0, rtol=1e-10, atol=0)
    torques = {"torque": np.array([op.inputs["torque"], 0.0])}
    batch = pendulum().simulate_batch(
        1.0, step=0.01, initial=op, parameters=torques, metrics=["final(bob.q1)"]
    )
    final = batch["final(bob.q1)"]
    assert final[0] == pytest.approx(30.0, rel=1e-9) and abs(final[1]) < 29


def test_the_table_names_what_was_fixed_and_found() -> None:
    op = disc().trim(fixed={"lean.q1": 0.3, "heading.u3": -2.0}, starts={"disc.u1": 5.0})
    text = str(op)
    for words in ("marginally stable", "fixed", "found", "cyclic, rate", "rate of lean.u1", "rad/s2"):
        assert words in text
    assert "<table>" in op._repr_html_() and "rate of lean.u1" in op._repr_html_()


def test_eigenvalues_at_rest_without_damping_are_roots_of_half_the_matrix() -> None:
    """Two springs and two masses: ω² of the textbook, exactly on the imaginary axis; damped, of the whole."""
    F = np.zeros((4, 4))
    F[:2, 2:] = np.eye(2)
    F[2:, :2] = [[-2.0, 1.0], [1.0, -2.0]]
    found, _ = curve._eigenvalues_and_zeros(F)
    assert not found.real.any()
    np.testing.assert_allclose(np.sort(found.imag), [-(3**0.5), -1, 1, 3**0.5], rtol=1e-14)
    F[2, 2] = -0.1
    np.testing.assert_array_equal(curve._eigenvalues_and_zeros(F)[0], np.linalg.eigvals(F))


def test_an_input_that_a_fixed_coordinate_decides_is_found_beside_a_symmetry() -> None:
    """A spherical pendulum hangs with any turn about the vertical; F = 3 N/m · 0.5 m holds the slider."""
    s = arm.System("pendulum and slider")
    s.body("bob", joint=arm.Spherical(), com=(0, 0, -1), mass=1, inertia=(1, 1, 1))
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", s.input("F", units="N") - 3 * slider.q1, s.ground.x, at=slider.com)
    s.gravity(9.81, -s.ground.z)
    op = s.derive().compile().equilibrium(fixed={"slider.q1": 0.5}, inputs=["F"])
    assert op.inputs["F"] == pytest.approx(1.5, rel=1e-12) and op.error < 1e-12


@pytest.mark.parametrize(
    ("K", "decided"), [(1e-6, True), (1e-7, True), (1e-8, True), (1e-10, False), (0.0, False)]
)
def test_a_coordinate_that_the_conditions_hardly_decide_is_noted(K: float, decided: bool) -> None:
    """Stiffnesses of two coordinates, nearly multiples of each other: the share K decides the second one."""
    point = nearly_dependent().equilibrium(parameters={"K": K})
    assert any("do not decide" in note and "c.q1" in note for note in point.notes) is not decided


@cache
def nearly_dependent() -> arm.CompiledModel:
    s = arm.System("nearly dependent")
    b, c = (
        s.body(n, joint=arm.Prismatic(axis), mass=1, inertia=0) for n, axis in zip("bc", "xy", strict=True)
    )
    K = s.parameter("K", 0.0, units="N/m")
    s.force("one", -b.q1 - 1e-4 * c.q1, s.ground.x, at=b)
    s.force("two", -2 * b.q1 - (2e-4 + K) * c.q1, s.ground.y, at=c)
    return s.derive().compile()
