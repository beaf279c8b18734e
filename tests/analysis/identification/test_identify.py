"""Parameters from efforts: exact ones found again, noise within its intervals, bodies that are possible."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.identification.identify import (
    body_inertia,
    inertia_matrix,
    numbers_of,
    numbers_slopes,
    theta_of,
)

LIMITS = {"A.q1": (-2.0, 2.0), "B.q1": (-1.5, 1.5)}


def two_links(first: str = "y") -> arm.System:
    s = arm.System("two links")
    s.gravity(9.81, -s.ground.z)
    s.parameter("mB", 2.0, units="kg")
    A = s.body("A", joint=arm.Revolute(first), com=(0.2, 0, 0.05), mass=3, inertia=(0.03, 0.05, 0.04))
    s.body(
        "B", A, arm.Revolute("x"), at=(0.4, 0, 0), com=(0.1, 0.15, 0), mass="mB", inertia=(0.02, 0.01, 0.02)
    )
    return s


@pytest.fixture(scope="module")
def model():
    return two_links().derive().compile()


@pytest.fixture(scope="module")
def motion(model):
    return arm.exciting_trajectory(
        model, LIMITS, period=5.0, harmonics=3, speed_limits=4.0, samples=40, starts=1, seed=1
    )


def test_samples_of_a_motion_are_spread_over_its_period_without_the_end(motion):
    """The end of a period is its beginning: it would be counted twice."""
    np.testing.assert_allclose(motion.time, 5.0 * np.arange(40) / 40, rtol=1e-15)


def test_locked_and_mimic_joints_need_no_limits():
    """A finger whose last joint follows the first by −0.5 q + 0.2, on a locked slide: efforts of the motion
    give its parameters back.
    """
    s = arm.System("finger")
    s.gravity(9.81, -s.ground.z)
    s.parameter("ratio", -0.5)
    base = s.body("base", joint=arm.Prismatic("x"), mass=1, inertia=(0.1, 0.1, 0.1))
    one = s.body(
        "one", base, arm.Revolute("y"), at=(0.1, 0, 0), com=(0.2, 0, 0), mass=3, inertia=(0.03, 0.05, 0.04)
    )
    s.body("two", one, arm.Revolute("y"), at=(0.4, 0, 0), com=(0.1, 0, 0), mass=2, inertia=(0.02, 0.01, 0.02))
    s.lock("base.q1")
    s.start({"base.q1": 0.7})
    s.constrain("two.q1 - ratio*one.q1 - 0.2", name="mimic")
    finger = s.derive().compile()
    motion = arm.exciting_trajectory(
        finger, {"one.q1": (-1.0, 2.0)}, period=4.0, harmonics=2, samples=20, starts=1
    )
    assert motion.coordinates == ("one.q1",) and np.isfinite(motion.condition)
    whole = dict(zip(finger.coordinate_names, motion.model_coordinates(motion.time).T, strict=True))
    np.testing.assert_allclose(whole["base.q1"], 0.7, rtol=1e-15)
    np.testing.assert_allclose(whole["one.q1"], motion.q[:, 0], atol=1e-15)
    np.testing.assert_allclose(whole["two.q1"], 0.2 - 0.5 * motion.q[:, 0], atol=1e-12)
    efforts = finger.inverse(motion.model_coordinates(motion.time), motion.u, motion.udot)
    found = arm.identify(finger, motion, efforts.values, consistent=False)
    base = finger.regressor(finger.state()[:3]).parameters
    for name, value in zip(base.names, base.values, strict=True):
        assert found.values[name] == pytest.approx(value, rel=1e-8, abs=1e-10)
    limits = {"one.q1": (-1.0, 2.0)}
    other = arm.exciting_trajectory(finger, limits, harmonics=1, samples=9, starts=1, parameters={"ratio": 2})
    there = dict(zip(finger.coordinate_names, other.model_coordinates(other.time).T, strict=True))
    np.testing.assert_allclose(there["two.q1"], 0.2 + 2 * other.q[:, 0], atol=1e-12)


def test_what_a_locked_joint_hides_does_not_spoil_the_motion_of_the_others():
    """With its mass centre above its axis a locked link has no moment of weight: its height is not shown."""
    s = arm.System("mast")
    s.gravity(9.81, -s.ground.z)
    one = s.body("one", joint=arm.Revolute("x"), com=(0.1, 0.2, 0), mass=3, inertia=(0.03, 0.05, 0.04))
    s.body("two", one, arm.Revolute("z"), at=(0, 0, 0.4), com=(0.1, 0, 0), mass=2, inertia=(0.02, 0.01, 0.02))
    s.lock("one.q1")
    mast = s.derive().compile()
    motion = arm.exciting_trajectory(mast, {"two.q1": (-1, 2)}, harmonics=2, samples=20, starts=1)
    assert motion.condition < 100
    efforts = mast.inverse(motion.model_coordinates(motion.time), motion.u, motion.udot)
    found = arm.identify(mast, motion, efforts.values, consistent=False)
    assert found.warnings == ("the motion does not determine one.hz",)


def test_joints_that_follow_others_out_of_proportion_are_named():
    s = arm.System("lever")
    one = s.body("one", joint=arm.Revolute("y"), com=(0.2, 0, 0), mass=3, inertia=(0.03, 0.05, 0.04))
    s.body("two", one, arm.Revolute("y"), at=(0.4, 0, 0), com=(0.1, 0, 0), mass=2, inertia=(0.02, 0.01, 0.02))
    s.constrain("two.q1 - sin(one.q1)", name="cam")
    with pytest.raises(arm.ArmillaryError, match=r"'two.q1' does not follow the joints in proportion"):
        arm.exciting_trajectory(s.derive().compile(), {"one.q1": (-1, 1)})


def test_limits_may_be_named_by_symbols(model, motion):
    system = model.equations.system
    limits = {q: LIMITS[q.data.name] for q in system.coordinates}
    speeds = dict.fromkeys(system.speeds, 4.0)
    again = arm.exciting_trajectory(
        model, limits, period=5.0, harmonics=3, speed_limits=speeds, samples=40, starts=1, seed=1
    )
    times = np.linspace(0, 5, 11)
    assert np.array_equal(again.at(times)[0], motion.at(times)[0])


def test_the_motion_keeps_its_limits_and_is_periodic(model, motion):
    q, u, udot = motion.at(np.linspace(0, 5, 2001))
    low, high = np.array(list(LIMITS.values())).T
    assert np.all(q >= low) and np.all(q <= high) and np.max(np.abs(u)) <= 4.0
    h = 5 / 2000
    assert np.gradient(q, h, axis=0)[1:-1] == pytest.approx(u[1:-1], abs=1e-2)
    assert np.gradient(u, h, axis=0)[1:-1] == pytest.approx(udot[1:-1], abs=0.2)
    assert motion.at(0.0)[0] == pytest.approx(motion.at(5.0)[0], abs=1e-12)
    value = arm.evaluate(arm.System("t").expression(motion.text("A.q1")), {"t": 1.3})
    assert value == pytest.approx(motion.at(1.3)[0][0], abs=1e-12)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_each_limit_bounds_the_motion_where_it_is_the_tightest(model, kept):
    """Amplitudes, 1 rad about the centre, speeds and accelerations, of which one at a time is 0.1 and the
    others are far away. Limits hold at all times and are reached but for the 2.5 % by which a series may be
    larger between 20 samples per harmonic, 1/cos(π/20), and what it is smaller at them.
    """
    sizes = [0.1 if kind == kept else 1e3 for kind in range(3)]
    found = arm.exciting_trajectory(
        model,
        {name: (1 - sizes[0], 1 + sizes[0]) for name in LIMITS},
        period=5.0,
        harmonics=2,
        speed_limits=sizes[1],
        acceleration_limits={"A.u1": sizes[2], "B.u1": sizes[2]},
        samples=20,
        starts=1,
    )
    q, u, udot = found.at(np.linspace(0, 5, 2001))
    largest = np.abs([q - 1, u, udot][kept]).max(axis=0)
    assert np.all(largest <= 0.1) and largest == pytest.approx(0.1, rel=0.03)


def test_the_motion_shows_the_parameters_better_than_a_random_one(model, motion):
    rng = np.random.default_rng(3)
    k = 2 * np.pi / 5 * np.arange(1, 4)
    t = motion.time[:, None, None]
    a, b = rng.normal(size=(2, 2, 3)) / np.arange(1, 4)
    q = (a * np.sin(k * t) + b * np.cos(k * t)).sum(axis=2)
    u = (k * (a * np.cos(k * t) - b * np.sin(k * t))).sum(axis=2)
    udot = (-(k**2) * (a * np.sin(k * t) + b * np.cos(k * t))).sum(axis=2)
    assert motion.condition < 0.7 * model.regressor(q, u, udot).condition
    assert motion.condition == pytest.approx(
        model.regressor(motion.q, motion.u, motion.udot).condition, rel=1e-9
    )
    assert "condition number" in repr(motion) and motion.as_run().units["rate of A.u1"] == "rad/s/s"


def test_efforts_without_noise_give_the_parameters_again(model, motion):
    q, u, udot = motion.q, motion.u, motion.udot
    efforts = model.inverse(q, u, udot).values + [0.4, 0.1] * u + [0.3, 0.0] * np.sign(u)
    found = arm.identify(
        model, motion, efforts, friction={"A.u1": ("viscous", "coulomb"), "B.u1": "viscous"}, sigma=1e-4
    )
    for name, value in found.described.items():
        assert found.unconstrained[name] == pytest.approx(value, abs=1e-9), name
        assert found.values[name] == pytest.approx(value, abs=1e-4), name
    assert found.friction["A.u1"] == pytest.approx({"viscous": 0.4, "coulomb": 0.3}, abs=1e-4)
    assert found.bodies["B"].mass == pytest.approx(found.parameters["mB"], rel=1e-12)


def test_described_values_are_those_of_parameters_in_any_units():
    """A mass of 2000 g and an arm of 400 mm are those of 2 kg and 0.4 m."""
    found = []
    for mass, length in (((2.0, "kg"), (0.4, "m")), ((2000.0, "g"), (400.0, "mm"))):
        s = arm.System("links")
        s.parameter("mB", mass[0], units=mass[1])
        s.parameter("L", length[0], units=length[1])
        A = s.body("A", joint=arm.Revolute("y"), com=(0.2, 0, 0.05), mass=3, inertia=(0.03, 0.05, 0.04))
        s.body(
            "B", A, arm.Revolute("y"), at=("L", 0, 0), com=(0.1, 0, 0), mass="mB", inertia=(0.02, 0.01, 0.02)
        )
        model = s.derive().compile()
        q, u, udot = np.random.default_rng(3).normal(size=(3, 30, 2))
        efforts = model.inverse(q, u, udot).values
        result = arm.identify(model, (q, u, udot), efforts, sigma=1e-4, consistent=False)
        for name, value in result.described.items():
            assert result.unconstrained[name] == pytest.approx(value, abs=1e-9), name
        found.append(result.described)
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_noise_lies_within_the_intervals(model, motion):
    """Of 200 draws 95 % of the intervals hold the value: 0.92 to 0.975 are three standard errors of that
    count, for intervals of one draw that are not independent.
    """
    t = np.linspace(0, 5, 60, endpoint=False)
    q, u, udot = motion.at(t)
    exact = model.inverse(q, u, udot).values
    rng = np.random.default_rng(2)
    inside, sigma = [], np.array([0.2, 0.05])
    for _ in range(200):
        noisy = exact + sigma * rng.normal(size=exact.shape)
        found = arm.identify(model, (q, u, udot), noisy, consistent=False)
        inside += [low <= found.described[n] <= high for n, (low, high) in found.intervals.items()]
    assert 0.92 < np.mean(inside) < 0.975
    assert list(found.sigma.values()) == pytest.approx(sigma, rel=0.3)


def test_intervals_are_students_with_as_many_degrees_of_freedom_as_efforts_are_left(model, motion):
    """Two efforts in each of 8 rows, less 12 unknowns: 4 degrees of freedom, t₀.₉₇₅ = 2.7764451 by tables."""
    q, u, udot = motion.at(np.linspace(0, 5, 8, endpoint=False))
    noise = 0.1 * np.random.default_rng(5).normal(size=(8, 2))
    efforts = model.inverse(q, u, udot).values + noise
    found = arm.identify(model, (q, u, udot), efforts, consistent=False, friction=("viscous",))
    assert len(found.names) == 12
    for name, (low, high) in found.intervals.items():
        assert (high - low) / 2 == pytest.approx(2.7764451 * found.standard_errors[name], rel=1e-7)


def test_standard_errors_are_what_told_noise_makes_of_the_values(model, motion):
    """Values are linear in the efforts, x = P e, so that noise σ of each spreads them by σ √Σ P²."""
    places = motion.at(np.linspace(0, 5, 7, endpoint=False))
    exact = model.inverse(*places).values

    def found(efforts):
        return arm.identify(model, places, efforts, consistent=False, sigma=0.3)

    start = found(exact)
    steps = [found(exact + np.reshape(one, exact.shape)).values for one in np.eye(exact.size)]
    for name, value in start.values.items():
        spread = 0.3 * np.sqrt(sum((step[name] - value) ** 2 for step in steps))
        assert start.standard_errors[name] == pytest.approx(spread, rel=1e-6)


def test_friction_has_the_units_of_its_joint():
    s = arm.System("slide and hinge")
    slide = s.body("slide", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.body("hinge", slide, arm.Revolute("z"), com=(0.3, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    model = s.derive().compile()
    q, u, udot = np.random.default_rng(1).normal(size=(3, 20, 2))
    found = arm.identify(
        model,
        (q, u, udot),
        model.inverse(q, u, udot).values,
        consistent=False,
        friction=("viscous", "coulomb"),
    )
    units = {name: value for name, value in found.units.items() if "friction" in name}
    assert units == {
        "viscous friction slide.u1": "N*s/m",
        "coulomb friction slide.u1": "N",
        "viscous friction hinge.u1": "N*m*s",
        "coulomb friction hinge.u1": "N*m",
    }


def test_what_was_found_is_saved_as_json(model, motion, tmp_path):
    q = motion.q
    found = arm.identify(model, (q, 0 * q, 0 * q), model.inverse(q).values, consistent=False)
    found.save(tmp_path / "found.json")
    data = json.loads((tmp_path / "found.json").read_text())
    assert data["unknowns"]["B.hy"]["value"] == found.values["B.hy"]
    assert data["unknowns"]["B.Jxx"]["standard_error"] is None  # infinite: at rest it does not show
    again = arm.Identification.load(tmp_path / "found.json")
    assert repr(again) == repr(found) and again.intervals["B.Jxx"] == (-np.inf, np.inf)
    assert np.array_equal(again.covariance, found.covariance)
    assert np.array_equal(again.residuals, found.residuals)


def test_bodies_are_possible_whatever_the_noise(model, motion):
    """Least squares alone gives a moment of inertia that no body has; the bodies found have positive mass and
    principal moments that satisfy the triangle inequality."""
    q, u, udot = motion.at(np.linspace(0, 5, 30, endpoint=False))
    noise = 2.0 * np.random.default_rng(4).normal(size=(30, 2))
    found = arm.identify(model, (q, u, udot), model.inverse(q, u, udot).values + noise)
    for body in found.bodies.values():
        moments = np.linalg.eigvalsh(body.inertia)
        assert body.mass > 0 and moments[0] > 0 and moments[0] + moments[1] > moments[2]
    assert "noise of the efforts" in repr(found) and "<table>" in found._repr_html_()


def test_log_cholesky_parameters_lead_there_and_back():
    """Rucker and Wensing (2022): a bijection of ten numbers and possible inertias."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(3, 10))
    numbers = numbers_of(theta)
    for row, phi in zip(theta, numbers, strict=True):
        assert theta_of(phi) == pytest.approx(row, rel=1e-9)
        J = inertia_matrix(phi)
        P = np.zeros((4, 4))
        P[:3, :3], P[:3, 3], P[3, :3], P[3, 3] = 0.5 * np.trace(J) * np.eye(3) - J, phi[1:4], phi[1:4], phi[0]
        assert np.all(np.linalg.eigvalsh(P) > 0)
        assert body_inertia(phi).mass == phi[0]
    h = 1e-6
    moved = theta.copy()
    moved[:, 4] += h
    slopes = (numbers_of(moved) - numbers) / h
    assert numbers_slopes(theta)[:, :, 4] == pytest.approx(slopes, rel=1e-4, abs=1e-5)


def test_what_the_motion_does_not_show_is_named(model):
    """At rest only what gravity pulls at shows."""
    q = np.random.default_rng(0).uniform(-1, 1, size=(40, 2))
    found = arm.identify(model, (q, 0 * q, 0 * q), model.inverse(q).values, consistent=False)
    assert "the motion does not determine B.Jxx" in found.warnings
    assert np.isinf(found.standard_errors["B.Jxx"])


def test_mistakes_are_sentences(model, motion):
    with pytest.raises(arm.ArmillaryError, match=r"shape \(3, 2\), but the motion has 40 rows"):
        arm.identify(model, motion, np.zeros((3, 2)))
    with pytest.raises(arm.ArmillaryError, match="no friction 'dry'; there are viscous"):
        arm.identify(model, motion, np.zeros((40, 2)), friction=("dry",))
    with pytest.raises(arm.ArmillaryError, match=r"has no column for 'B\.u1'"):
        arm.identify(model, motion, {"A.u1": np.zeros(40)})
    with pytest.raises(arm.ArmillaryError, match=r"has no 'B\.q1'"):
        arm.exciting_trajectory(model, {"A.q1": (-1, 1)})
    with pytest.raises(arm.ArmillaryError, match=r"limits= of 'A\.q1' are not"):
        arm.exciting_trajectory(model, {"A.q1": (1, -1), "B.q1": (0, 1)})
    for limits in ((1, 2, 3), 3, (0, np.inf), (np.nan, 1), "ab"):
        with pytest.raises(arm.ArmillaryError, match=r"limits= of 'A\.q1' are not a lowest and a higher"):
            arm.exciting_trajectory(model, LIMITS | {"A.q1": limits})
    with pytest.raises(arm.ArmillaryError, match="harmonics must be a positive"):
        arm.exciting_trajectory(model, LIMITS, harmonics=0)
    for bound, words in ((-1.0, "number, not -1"), (np.nan, "number"), ("x", "number, not 'x'")):
        with pytest.raises(arm.ArmillaryError, match=rf"speed_limits= of 'A\.u1' must be a positive {words}"):
            arm.exciting_trajectory(model, LIMITS, speed_limits=bound)
        with pytest.raises(
            arm.ArmillaryError, match=rf"acceleration_limits= of 'B\.u1' must be a positive {words}"
        ):
            arm.exciting_trajectory(model, LIMITS, acceleration_limits={"B.u1": bound})


def test_bodies_found_do_not_depend_on_others_that_share_nothing_with_them():
    """A link that moves by itself, beside another one or not; noise that only a prior for bodies settles."""
    q, u, udot = np.random.default_rng(3).normal(size=(3, 12, 2))
    noise = 0.5 * np.random.default_rng(4).normal(size=(12, 2))
    found = []
    for count in (1, 2):
        s = arm.System("links")
        for i in range(count):
            s.body(
                f"L{i}", joint=arm.Revolute("y"), com=(0.2, 0, 0.1), mass=9.0**i, inertia=(0.03, 0.05, 0.04)
            )
        s.gravity(9.81, -s.ground.z)
        model = s.derive().compile()
        given = [x[:, :count] for x in (q, u, udot)]
        efforts = model.inverse(*given).values + noise[:, :count]
        found.append(arm.identify(model, tuple(given), efforts, sigma=0.5).bodies["L0"])
    alone, beside = found
    assert beside.mass == pytest.approx(alone.mass, rel=1e-5)
    assert beside.inertia == pytest.approx(alone.inertia, rel=1e-4, abs=1e-6)
