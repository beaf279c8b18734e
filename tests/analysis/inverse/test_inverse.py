"""model.inverse: efforts by name, at one place and at many, in the units that users state."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.effort_equations import inverse_equations
from armillary.program.pieces import with_functions
from tests.free_bodies import thrown
from tests.mechanics.flexible_trees import accelerations as particle_accelerations
from tests.mechanics.flexible_trees import build, random_state, random_tree


@pytest.fixture(scope="module")
def arm_model():
    """Two links in a plane, with point masses at their ends, and a rotor on the second joint."""
    s = arm.System("two links")
    s.gravity(9.81, -s.ground.y)
    A = s.body("A", joint=arm.Revolute("z"), com=(0.9, 0, 0), mass=1.3, inertia=0)
    s.parameter("mB", 0.8, units="kg")
    B = s.body("B", A, arm.Revolute("z"), at=(0.9, 0, 0), com=(0.6, 0, 0), mass="mB", inertia=0)
    s.armature(B.q1, 0.05)
    return s.derive().compile()


def planar_arm(q, u, a, m2=0.8, m1=1.3, l1=0.9, l2=0.6, rotor=0.05, g=9.81):
    """Craig, Introduction to Robotics (3rd ed. 2005), eq. 6.58, with a rotor on the second joint."""
    c1, c2, s2, c12 = math.cos(q[0]), math.cos(q[1]), math.sin(q[1]), math.cos(q[0] + q[1])
    first = (
        m2 * l2**2 * (a[0] + a[1])
        + m2 * l1 * l2 * c2 * (2 * a[0] + a[1])
        + (m1 + m2) * l1**2 * a[0]
        - m2 * l1 * l2 * s2 * u[1] ** 2
        - 2 * m2 * l1 * l2 * s2 * u[0] * u[1]
        + m2 * l2 * g * c12
        + (m1 + m2) * l1 * g * c1
    )
    second = (
        m2 * l1 * l2 * c2 * a[0]
        + m2 * l1 * l2 * s2 * u[0] ** 2
        + m2 * l2 * g * c12
        + m2 * l2**2 * (a[0] + a[1])
    )
    return [first, second + rotor * a[1]]


def test_two_links_need_the_torques_of_the_textbook(arm_model):
    q, u, a = [0.4, -1.1], [0.7, 1.9], [2.0, -3.0]
    found = arm_model.inverse(q, u, a)
    assert found.values == pytest.approx(planar_arm(q, u, a), rel=1e-13)
    assert found["B.u1"] == found.values[1]
    assert dict(found)["A.u1"] == found.values[0]
    assert found.units == {"A.u1": "N*m", "B.u1": "N*m"}


def test_left_out_speeds_and_rates_are_zero(arm_model):
    assert arm_model.inverse([0.4, -1.1]).values == pytest.approx(
        planar_arm([0.4, -1.1], [0, 0], [0, 0]), rel=1e-13
    )
    by_name = arm_model.inverse({"A.q1": 0.4, "B.q1": -1.1}, udot={"B.u1": 2.0})
    assert by_name.values == pytest.approx(planar_arm([0.4, -1.1], [0, 0], [0, 2.0]), rel=1e-13)


def test_rows_are_single_places_with_parameters_of_their_own(arm_model):
    rng = np.random.default_rng(0)
    q, u, a = rng.normal(size=(3, 2, 4, 2))
    many = arm_model.inverse(q, u, a)
    assert many.values.shape == (2, 4, 2)
    assert np.array_equal(many["B.u1"][1, 2], arm_model.inverse(q[1, 2], u[1, 2], a[1, 2])["B.u1"])
    masses = np.array([0.8, 1.7])
    heavier = arm_model.inverse(q[0, 0], u[0, 0], a[0, 0], {"mB": masses})
    assert heavier.values == pytest.approx(
        np.array([planar_arm(q[0, 0], u[0, 0], a[0, 0], m) for m in masses]), rel=1e-13
    )


def test_stated_units_are_those_of_values_by_name():
    s = arm.System("crane", units="mm-kg-s-deg")
    s.gravity(9810, -s.ground.y)
    s.body("jib", joint=arm.Revolute("z"), com=(400, 0, 0), mass=2, inertia=0)
    model = s.derive().compile()
    efforts = model.inverse({"jib.q1": 60.0})
    assert efforts["jib.u1"] == pytest.approx(2 * 9810 * 400 * 0.5, rel=1e-13)
    assert efforts.units["jib.u1"] == "mN*mm"


@pytest.mark.parametrize("formalism", ["auto", "momentum", "redundant"])
def test_efforts_do_not_depend_on_the_formalism_of_the_model(formalism):
    """A thrown body with a hinged part; its states are other velocities, momenta or absolute coordinates."""
    model = thrown("auto").derive(formalism=formalism).compile()
    plain = thrown("parent").derive(formalism="kane").compile()
    rng = np.random.default_rng(4)
    q, u, a = rng.normal(size=8), rng.normal(size=7), rng.normal(size=7)
    q[3:7] /= np.linalg.norm(q[3:7])
    assert model.inverse(q, u, a).values == pytest.approx(plain.inverse(q, u, a).values, rel=1e-12)
    free = plain.accelerations(0.0, q, u)
    assert model.inverse(q, u, free).values == pytest.approx(np.zeros(7), abs=1e-12)


def test_modes_have_efforts_too():
    """At the accelerations of the particles of flexible bodies, nothing has to act: tests/mechanics has them
    from Newton's law alone, to eight digits of their differences."""
    tree = random_tree(11)
    q, u = random_state(tree, 11)
    model = build(tree).derive().compile()
    free = particle_accelerations(tree, q, u)
    efforts = model.inverse(q, u, free)
    assert len(efforts.names) == len(u)
    assert np.max(np.abs(efforts.values)) < 1e-7 * np.max(np.abs(model.inverse(q, u).values))


def test_a_prescribed_joint_has_the_effort_that_keeps_its_motion():
    """A turntable at a given speed with a free slider: the moment is d/dt(m r² ω), that of the
    bead is along the slide."""
    s = arm.System("turntable")
    table = s.body("table", joint=arm.Revolute("z"), mass=1, inertia=(0.2, 0.2, 0.3))
    s.body("bead", table, arm.Prismatic("x"), mass=0.5, inertia=0)
    s.prescribe("table.q1", "0.25*t^2")
    model = s.derive().compile()
    t, r, rate, acceleration = 2.0, 0.7, 0.4, 1.5
    efforts = model.inverse([r], [rate], [acceleration], t=t)
    assert efforts.names == ("bead.u1", "table.u1") and efforts.prescribed == ("table.u1",)
    assert efforts["bead.u1"] == pytest.approx(0.5 * (acceleration - r * 1.0**2), rel=1e-14)
    assert efforts["table.u1"] == pytest.approx((0.3 + 0.5 * r**2) * 0.5 + 2 * 0.5 * r * rate, rel=1e-14)
    assert "prescribed" in repr(efforts)


def test_a_general_arm_costs_less_than_the_textbooks_count():
    """Six turning joints, all geometric and inertial parameters general. Luh, Walker and Paul (1980) need
    150 n − 48 products and 131 n − 48 sums; with regrouped parameters Khalil and Kleinfinger (1987) need
    92 n − 127 and 81 n − 117.
    """
    n = 6
    s = arm.System("six axes")
    s.gravity(9.81, -s.ground.z)
    last = None
    for i in range(1, n + 1):
        if last is not None:
            alpha, d, r = (
                s.parameter(f"{name}{i}", 0.3, units=unit)
                for name, unit in (("alpha", "rad"), ("d", "m"), ("r", "m"))
            )
            c, si = arm.cos(alpha), arm.sin(alpha)
            last = s.body(
                f"frame{i}", last, at=(d, -si * r, c * r), orient=((1, 0, 0), (0, c, -si), (0, si, c)),
                mass=0, inertia=0,
            )  # fmt: skip
        com = [s.parameter(f"{x}{i}", 0.1, units="m") for x in "xyz"]
        last = s.body(f"link{i}", last, arm.Revolute("z"), com=com, inertia=[f"J{k}_{i}" for k in range(6)])
    made = inverse_equations(core_of(s.derive(formalism="recursive")))
    efforts = {"efforts": made.along_independent}
    found = with_functions(core_of(made.equations), efforts, made.rates).program.stepping[0].operations
    assert found.multiplications <= 92 * n - 127 and found.additions <= 81 * n - 117


def test_loops_are_closed_by_the_parameters_that_are_given_and_speeds_left_out_are_zero():
    """A slider-crank without loads: x = r cos φ + w with w² = L² − r² sin² φ, so τ = m x′ x″ φ̇² at φ̈ = 0."""
    s = arm.System("slider-crank")
    r, J, m, phi = 0.2, 0.3, 2.0, 0.7
    rod = s.parameter("L", 0.6, units="m")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, inertia=(J, J, J))
    piston = s.body("piston", joint=arm.Prismatic("x"), mass=m, inertia=0)
    s.close_joint("distance", crank.point("pin", (r, 0, 0)), piston.com, length=rod)
    s.start({"piston.q1": 0.8, "crank.u1": 2.0})
    model = s.derive().compile()
    for given in ({}, {"L": 0.4}):
        y, dy, ddy = r * np.sin(phi), r * np.cos(phi), -r * np.sin(phi)
        w = np.sqrt(given.get("L", 0.6) ** 2 - y**2)
        dw = -y * dy / w
        slope, bend = -y + dw, -dy - (dy**2 + y * ddy + dw**2) / w
        q = {"crank.q1": phi}
        assert model.mass_matrix(0, q, given) == pytest.approx(J + m * slope**2)
        assert model.inverse(q, parameters=given)["crank.u1"] == pytest.approx(0, abs=1e-14)
        for u in ({"crank.u1": 1.5}, {"piston.u1": slope * 1.5}):
            found = model.inverse(q, u, parameters=given)["crank.u1"]
            assert found == pytest.approx(m * slope * bend * 1.5**2)
    with pytest.raises(arm.ArmillaryError, match="arrays by name leave open how loops are closed"):
        model.mass_matrix(0, q, {"L": [0.4, 0.5]})


def test_wrong_arguments_are_named(arm_model):
    with pytest.raises(
        arm.ArmillaryError, match=r"u has the shape \(3,\), but there are 2 speeds: A.u1, B.u1"
    ):
        arm_model.inverse([0, 0], [1, 2, 3])
    with pytest.raises(arm.ArmillaryError, match="q must be a number or an array of numbers"):
        arm_model.inverse("upright")
    with pytest.raises(arm.ArmillaryError, match=r"'B.u2', which is not an independent speed.*B.u1"):
        arm_model.inverse([0, 0], {"B.u2": 1.0})
    with pytest.raises(arm.ArmillaryError, match=r"leading axes of q \(3, 2\), u \(2, 2\)"):
        arm_model.inverse(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(arm.ArmillaryError, match=r"no 'A.u2'"):
        arm_model.inverse([0, 0])["A.u2"]
    with pytest.raises(arm.ParameterError, match="no parameter 'mass'"):
        arm_model.inverse([0, 0], parameters={"mass": 1})


@pytest.mark.parametrize("name", ["stanford_arm", "bicycle", "spinning_boom", "steered_car", "slosh"])
def test_examples_need_no_efforts_at_the_rates_that_they_have(name):
    """Drives, rolling without slip, modes under prescribed spin, a closed steering linkage, sloshing fuel."""
    model = importlib.import_module(f"examples.{name}").system().derive().compile()
    n = len(model.coordinate_names)
    y = model.state()
    u = np.random.default_rng(5).normal(size=len(model.speed_names))
    free = model.accelerations(0.3, y[:n], u)
    scale = np.max(np.abs(model.inverse(y[:n], u, t=0.3).values))
    left = model.inverse(y[:n], u, free, t=0.3).values[: len(u)]
    assert np.max(np.abs(left)) < 1e-12 * scale
