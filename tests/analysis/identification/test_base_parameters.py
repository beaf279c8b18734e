"""Base parameters and the regressor: their number, what they are made of, and the efforts that they give."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.analysis.identification.inertial_parameters import grouping, linear_efforts, random_regressor
from examples import four_bar, stanford_arm
from tests.free_bodies import thrown


def test_two_links_in_a_plane_have_the_groups_of_the_textbook():
    """Khalil and Dombre (2002), section 9.4: with one axis direction, m_B L joins A's first moment and m_B L²
    its moment of inertia; a rotor on the first joint cannot be told from the link's own inertia.
    """
    s = arm.System("two links")
    s.gravity(9.81, -s.ground.y)
    A = s.body("A", joint=arm.Revolute("z"), com=("a", 0, 0))
    B = s.body("B", A, arm.Revolute("z"), at=("L", 0, 0), com=("b", 0, 0))
    s.armature(A.q1, "rotor_A")
    s.armature(B.q1, "rotor_B")
    base = s.derive().base_parameters()
    assert {p.name: str(p) for p in base} == {
        "A.hx": "A.mass*a + B.mass*L",
        "A.Jzz": "A.I33 + A.mass*a^2 + B.mass*L^2 + rotor_A",
        "B.hx": "B.mass*b",
        "B.Jzz": "B.I33 + B.mass*b^2",
        "B.u1.armature": "rotor_B",
    }
    assert base.without_effect == ("A.Jyy", "B.Jyy")
    assert base["A.hx"].units == "kg*m" and np.isnan(base["A.hx"].value)
    assert "A.mass*a + B.mass*L" in repr(base) and "<table>" in base._repr_html_()
    with pytest.raises(arm.ArmillaryError, match=r"no 'A.hz'"):
        base["A.hz"]


def six_axes(upright: bool, puma: bool) -> arm.System:
    s = arm.System("six axes")
    s.gravity(9.81, -s.ground.z if upright else -s.ground.x)
    twists = (0, -90, 0, -90, 90, -90) if puma else (0, 40, -70, 55, 100, -35)
    last = None
    rng = np.random.default_rng(1)
    for i in range(len(twists)):
        last = s.body(
            f"link{i + 1}", last, arm.Revolute("z"), at=rng.uniform(0.1, 0.5, 3) if i else (0, 0, 0),
            orient=None, com=[f"c{i}{k}" for k in "xyz"], inertia=[f"J{i}{k}" for k in range(6)],
        )  # fmt: skip
        angle = np.radians(twists[i + 1]) if i < 5 else 0.0
        c, si = np.cos(angle), np.sin(angle)
        if puma:
            c, si = round(c), round(si)
        last = s.body(f"frame{i + 1}", last, orient=((1, 0, 0), (0, c, -si), (0, si, c)), mass=0, inertia=0)
    return s


@pytest.mark.parametrize(
    ("upright", "puma", "count"),
    [(True, False, 36), (False, False, 38), (True, True, 36)],
)
def test_six_turning_joints_have_as_many_as_mayeda_counted(upright, puma, count):
    """Mayeda, Yoshida and Osuka (1990): 7 n − 4 for n turning joints, two fewer where the first axis is
    upright; 36 for the PUMA 560, whose second and third axes are parallel.
    """
    assert len(six_axes(upright, puma).derive(formalism="recursive").base_parameters()) == count


@pytest.fixture(scope="module")
def arm_model():
    return stanford_arm.system().derive().compile()


def test_the_regressor_gives_the_efforts(arm_model):
    """Of the Stanford arm with its drives: e = Y π + e₀ against recursive Newton–Euler."""
    rng = np.random.default_rng(0)
    q, u, udot = rng.normal(size=(3, 5, 6))
    y = arm_model.regressor(q, u, udot)
    assert y.values.shape == (5, 6, 12) and y.rest.shape == (5, 6)
    assert y.efforts() == pytest.approx(arm_model.inverse(q, u, udot).values, rel=1e-12)
    assert y.condition < 1e4
    single = arm_model.regressor(q[2], u[2], udot[2])
    assert np.array_equal(single.values, y.values[2])
    assert repr(single).startswith("Regressor of 'Stanford arm' at 1 place: 6 speeds, 12 base parameters")
    assert single.condition == np.inf  # six efforts do not determine twelve parameters


def test_fewer_base_parameters_cannot_give_the_efforts(arm_model):
    """No column depends on the others, at places that the grouping has not seen."""
    rng = np.random.default_rng(9)
    q, u, udot = rng.normal(size=(3, 30, 6))
    rows = arm_model.regressor(q, u, udot).values.reshape(-1, 12)
    sizes = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
    assert sizes[-1] > 1e-3


def test_values_are_those_of_the_expressions(arm_model):
    base = arm_model.equations.base_parameters()
    found = base["A.Jyy"]
    assert str(found) == "A2 + B2 + C2 + L1^2*MB"
    assert found.value == pytest.approx(0.02 + 0.01 + 0.01 + 0.1**2 * 6.0, rel=1e-14)
    known = {name: p.data.default for name, p in arm_model.equations.system.parameters.items()}
    again = evaluate_all([p.expression for p in base], known)
    assert base.values == pytest.approx(again, rel=1e-14)


def test_a_free_body_shows_all_its_numbers():
    """Ten of the body, and of a part on a hinge seven more (docs/theory/regrouping.md), four of which are not
    zero in the description: the part has a plane of symmetry.
    """
    equations = thrown("body").derive()
    assert len(equations.base_parameters()) == 14
    every = linear_efforts(core_of(equations), every=True)
    assert len(grouping(random_regressor(every)).independent) == 17


def test_dependent_columns_join_the_first_of_them():
    a, b = np.random.default_rng(0).normal(size=(2, 20))
    found = grouping(np.column_stack([a, 2 * a, np.zeros(20), b, a - b]))
    assert found.independent == (0, 3) and found.without_effect == (2,)
    assert found.shares == pytest.approx(np.array([[2, 1], [0, -1]]))


def test_a_closed_loop_has_fewer_than_its_tree():
    """Three links in a plane show nine numbers as a tree; the linkage has one freedom, and mass on its
    coupler alone. Efforts are those of recursive Newton–Euler.
    """
    model = four_bar.system().derive().compile()
    n = len(model.coordinate_names)
    with pytest.raises(arm.ArmillaryError, match=r"use the compiled model"):
        model.equations.base_parameters()
    y = model.state()
    q, u, udot = y[:n], [1.3], [-0.7]
    found = model.regressor(q, u, udot)
    assert 0 < len(found.parameters) < 9
    assert found.efforts() == pytest.approx(model.inverse(q, u, udot).values, rel=1e-10)


def test_parameters_that_prescribed_motion_shows_later_are_among_the_base_parameters() -> None:
    """A pendulum on a cart that is moved by x = a sin w t, so ẍ = 0 where runs start: I α + m l cos q ẍ, and
    (M + m) ẍ + m l (cos q α − sin q u²) on the cart.
    """
    s = arm.System("shaken pendulum")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.body("rod", cart, arm.Revolute("z"), com=(0, -0.5, 0), mass=2, inertia=(0.1, 0.1, 0.1))
    s.prescribe(cart.q1, "0.2*sin(3*t)")
    y = s.derive().compile(tier="quick").regressor([0.3], [0.7], [1.1], t=0.4)
    moved = -0.2 * 9 * np.sin(1.2)
    expected = {
        "rod.u1": (0.1 + 2 * 0.25) * 1.1 + 2 * 0.5 * np.cos(0.3) * moved,
        "cart.u1": 3 * moved + 2 * 0.5 * (np.cos(0.3) * 1.1 - np.sin(0.3) * 0.7**2),
    }
    np.testing.assert_allclose(y.efforts(), [expected[name] for name in y.names], rtol=1e-13)


def _with_gimbals(*sequences: object) -> arm.System:
    """Bodies with all of their numbers as parameters, each on a gimbal of its own."""
    s = arm.System("gimbals")
    s.gravity(9.81, -s.ground.z)
    last = None
    for i, axes in enumerate(sequences):
        s.parameter(f"m{i}", 1.0, units="kg")
        com, inertia = [f"c{i}{k}" for k in "xyz"], [f"J{i}{k}" for k in range(6)]
        for name in com:
            s.parameter(name, 0.1, units="m")
        for k, name in enumerate(inertia):
            s.parameter(name, float(k < 3), units="kg*m^2")
        at = (0.3, 0.2 * i, -0.1)
        last = s.body(f"b{i}", last, arm.Gimbal(axes), at=at, com=com, mass=f"m{i}", inertia=inertia)
    return s


@pytest.mark.parametrize(
    "axes",
    [("xyz",), ("zx",), ([(1, 0, 0), (0, 0.6, 0.8), (0, 0, 1)],), ([(0.6, 0, 0.8), (0, 0.6, 0.8)], "zyx")],
    ids=str,
)
def test_base_parameters_of_gimbals_are_the_fewest(axes):
    """Efforts are linear in ten numbers of each body; their rank at random places is the number."""
    s = _with_gimbals(*axes)
    equations = s.derive("recursive")
    model, rng = equations.compile(), np.random.default_rng(0)
    q, u, udot = rng.uniform(-1.5, 1.5, (3, 40, len(model.coordinate_names)))
    columns = []
    for i in range(len(axes)):
        for name in [f"m{i}", *(f"c{i}{k}" for k in "xyz"), *(f"J{i}{k}" for k in range(6))]:
            single = {p: 0.0 for p in s.parameters} | {name: 1.0}
            if name.startswith("c"):
                single[f"m{i}"] = 1.0  # a first moment, with the mass and the inertia of it
            columns.append(model.inverse(q, u, udot, single).values.ravel())
    rank = np.linalg.matrix_rank(np.array(columns).T, 1e-9 * np.linalg.norm(columns))
    base = equations.base_parameters()
    assert len(base) == rank
    row = model.regressor(q, u, udot)
    np.testing.assert_allclose(row.efforts(), model.inverse(q, u, udot).values, atol=1e-9)
    assert np.linalg.matrix_rank(row.values.reshape(-1, len(base))) == rank
