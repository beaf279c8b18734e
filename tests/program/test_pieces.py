"""M u̇ = f in pieces: mass matrices, forcing by causes, input maps and Jacobians, by every formalism."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.walk import operands_first
from armillary.analysis import places as piece_functions
from armillary.errors import ArmillaryError, ModelError
from armillary.program import pieces
from armillary.program.pieces import shared_part
from examples import chain
from tests.mechanics.closed_mechanisms import accelerations, closed_case, describe
from tests.mechanics.random_trees import build, derived, tree_case
from tests.mechanics.reference import equations

TREES = ("kane", "recursive", "back_substitution")


def values(s: Any, eom: Any, q: Any, u: Any) -> dict[str, Any]:
    named = dict(zip(map(str, s.coordinates), q, strict=True)) | dict(zip(map(str, s.speeds), u, strict=True))
    return eom.parameters | named | {"t": 0.0}


def close(found: Any, expected: Any, tolerance: float = 1e-13) -> None:
    """Equal to so many parts of the largest element: rounding of sums of this length."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.max(np.abs(expected)))


# ------------------------------------------------------------------ independent solutions in NumPy


@pytest.mark.parametrize("seed", [0, 3])
def test_mass_matrix_and_forcing_of_random_trees(seed: int) -> None:
    """Sums over bodies by numbers, tests/mechanics/reference.py; f also as the sum of its causes."""
    case = tree_case(seed)
    s = build(case)
    eom = derived(seed, "recursive", parameters=False)
    M, f = equations(case.tree, case.q, case.u)
    given = values(s, eom, case.q, case.u)
    close(eom.mass_matrix.evaluate(given), M)
    close(eom.forcing.evaluate(given), f)
    parts = [eom.gravity_forces, eom.elastic_forces, *eom.load_forces.values()]
    close(sum(p.evaluate(given) for p in parts) - eom.coriolis.evaluate(given), f)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_mass_matrix_of_large_trees_comes_by_columns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of inverse dynamics; against sums over bodies by numbers, tests/mechanics/reference.py."""
    monkeypatch.setattr(pieces, "_PAIRS", 0)
    case = tree_case(seed)
    model = build(case).derive("recursive").compile()
    found = model.mass_matrix(0.0, case.q)
    close(found, equations(case.tree, case.q, case.u)[0])
    assert np.array_equal(found, found.T)
    q = np.array([case.q, np.array(case.q) * 0.5])
    rows = model.mass_matrix(0.0, q)
    assert np.array_equal(rows[0], found) and np.array_equal(rows[1], model.mass_matrix(0.0, q[1]))
    assert np.array_equal(model.mass_matrix(np.zeros(3), case.q), [found] * 3)
    monkeypatch.setattr(piece_functions, "_WRITTEN_OUT", 3)
    close(model.mass_matrix(np.zeros(3), case.q), [found] * 3)  # of many places written out


def test_columns_of_the_mass_matrix_share_sines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_PAIRS", 0)
    model = chain.system(6).derive("recursive").compile()
    found = pieces.pieces_of(core_of(model.equations)).mass_product
    assert found is not None
    parts = shared_part(found.product, found.x, model.equations.system.identity)
    assert sorted(str(x) for x in parts.values()) == sorted(
        f"{f}(link{i}.q1)" for i in range(2, 7) for f in ("sin", "cos")
    )


def test_a_column_of_the_mass_matrix_of_a_chain_grows_with_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A written out M has n²/2 elements: of 64 links 29,590 operations, a column 2,581."""
    monkeypatch.setattr(pieces, "_PAIRS", 0)
    counts = []
    for n in (6, 12, 18):
        found = pieces.pieces_of(core_of(chain.system(n).derive("recursive"))).mass_product
        assert found is not None and len(found.x) == n
        counts.append(len(operands_first(found.product)))
    # 50 nodes a link, of the first ones fewer: what is added per link does not grow
    assert counts[2] - counts[1] <= 52 * 6 and counts[1] - counts[0] <= 52 * 6


@pytest.mark.parametrize(
    ("seed", "kinds"), [(11, ("spherical",)), (14, ("prismatic",)), (19, ("spherical", "distance"))]
)
def test_equations_of_closed_loops_hold_for_accelerations_by_multipliers(seed: int, kinds: Any) -> None:
    closed = closed_case(seed, kinds)
    s = describe(closed)
    eom = s.derive("recursive")
    given = values(s, eom, closed.case.q, closed.case.u)
    rates = dict(zip(map(str, s.speeds), accelerations(closed), strict=True))
    f = eom.forcing.evaluate(given)
    close(eom.mass_matrix.evaluate(given) @ [rates[name] for name in eom.speeds], f, 1e-11)
    parts = [eom.gravity_forces, eom.elastic_forces, *eom.load_forces.values()]
    close(sum(p.evaluate(given) for p in parts) - eom.coriolis.evaluate(given), f, 1e-12)


# ------------------------------------------------------------------ every formalism, compiled


def arm_with_everything() -> arm.System:
    """Motors with armature, a damper, an input, a state of the user's own, a given joint, a free load."""
    s = arm.System("arm with everything")
    s.gravity(9.81, "-ground.z")
    drive, pull = s.input("drive", 0.7, units="N*m"), s.input("pull", -2.0, units="N")
    lag = s.state("lag", initial=0.3)
    s.rate(lag, "drive - lag")
    A = s.body("A", joint=arm.Revolute("z"), com=(0.1, 0, 0.2), mass=3, inertia=(0.1, 0.2, 0.3))
    B = s.body(
        "B", A, joint=arm.Gimbal("xy"), at=(0.4, 0, 0), com=(0, 0.1, 0), mass=2, inertia=(0.1, 0.1, 0.2)
    )
    C = s.body("C", B, joint=arm.Prismatic((0, 0.6, 0.8)), com=(0, 0, 0.3), mass=1, inertia=(0.1, 0.2, 0.1))
    D = s.body(
        "D", B, joint=arm.Revolute("y"), at=(0, 0.3, 0), com=(0.2, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1)
    )
    s.prescribe(D.q1, "0.3*sin(2*t)")
    s.armature(A.q1, 0.25)
    s.moment("motor", drive + lag, A.z, on=A)
    s.moment("friction", "-0.2*B.u1", B.x, on=B, reaction=A)
    s.force("cable", pull, s.ground.x, at=C.com)
    return s


def free_pair() -> arm.System:
    s = arm.System("free pair")
    s.gravity(9.81, "-ground.z")
    A = s.body("A", joint=arm.Free(velocity="auto"), com=(0.1, 0, 0.2), mass=3, inertia=(0.1, 0.2, 0.3))
    s.body("B", A, joint=arm.Revolute("x"), at=(0.4, 0, 0), com=(0, 0.1, 0), mass=2, inertia=(0.1, 0.1, 0.2))
    s.moment("spin", 0.3, A.z, on=A)
    return s


def body_axes() -> arm.System:
    s = free_pair()
    s.body("C", s.bodies["B"], joint=arm.Free("zyx", velocity="body"), mass=1, inertia=(0.1, 0.2, 0.3))
    s.body("E", joint=arm.Free("zyx", velocity="body"), com=(0, 0, 0.1), mass=1, inertia=(0.1, 0.2, 0.3))
    return s


def beam_on_a_hinge() -> arm.System:
    s = arm.System("beam")
    s.gravity(9.81, "-ground.y")
    B = s.body("B", joint=arm.Revolute("z"), mass=0.5, inertia=(0.1, 0.1, 0.2))
    B.flexible(arm.Beam(1.0, EI=40.0, mass_per_length=0.5), modes=2, damping=0.01)
    s.moment("motor", 0.4, B.z, on=B)
    return s


SYSTEMS = {
    "everything": (arm_with_everything, (*TREES, "momentum")),
    "free": (free_pair, (*TREES, "momentum", "auto")),
    "body axes": (body_axes, TREES[:2]),
    "beam": (beam_on_a_hinge, (*TREES, "momentum")),
}


@pytest.mark.parametrize(("name", "formalism"), [(n, f) for n, (_, fs) in SYSTEMS.items() for f in fs])
def test_mass_matrix_times_accelerations_is_the_forcing_by_every_formalism(name: str, formalism: str) -> None:
    model = SYSTEMS[name][0]().derive(formalism).compile()
    rng = np.random.default_rng(1)
    start = {n: rng.normal(scale=0.3) for n in (*model.coordinate_names, *model.speed_names)}
    q = model.state(start)[: len(model.coordinate_names)]
    u = [start[n] for n in model.speed_names]
    M, f = model.mass_matrix(0.4, q), model.forcing(0.4, q, u)
    close(M @ model.accelerations(0.4, q, u), f, 1e-12)
    close(M, M.T, 1e-15)
    assert np.all(np.linalg.eigvalsh(M) > 0)


def test_causes_on_the_modes_of_a_flexible_body_add_up_to_the_forcing() -> None:
    """Gravity, elasticity and velocity terms of a beam, each found by itself, against f in one pass."""
    eom = beam_on_a_hinge().derive("recursive")
    rng = np.random.default_rng(4)
    at = {name: rng.normal() for name in (*eom.coordinates, *eom.speeds)}
    parts = [p.evaluate(at) for p in (eom.gravity_forces, eom.elastic_forces, *eom.load_forces.values())]
    close(sum(parts) - eom.coriolis.evaluate(at), eom.forcing.evaluate(at))
    assert np.all(np.abs(parts[0][:2]) > 0.1) and np.all(np.abs(parts[1][1:]) > 0.1)


def test_locked_speeds_have_no_rows() -> None:
    free, locked = free_pair(), free_pair()
    locked.lock("B.q1")
    one, other = free.derive("kane"), locked.derive("recursive")
    at = {str(q): 0.3 + 0.1 * i for i, q in enumerate(free.coordinates)}
    assert other.mass_matrix.rows == one.mass_matrix.rows[:-1]
    close(other.mass_matrix.evaluate(at), one.mass_matrix.evaluate(at)[:-1, :-1])


def test_small_quantities_leave_the_orders_that_the_derivation_keeps() -> None:
    """A cart-pole with a small angle: cos q is 1 and sin q is q in M and f."""
    s = arm.System("cart-pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass="mc", inertia=0)
    s.body("pole", cart, joint=arm.Revolute("z"), com=(0, "-l", 0), mass="mp", inertia=0)
    s.gravity("g", -s.ground.y)
    s.small("pole.q1", "pole.u1")
    eom = s.derive()
    assert str(eom.mass_matrix["cart.u1", "pole.u1"]) == "l*mp"
    assert str(eom.gravity_forces.collected()["pole.u1"]) == "-g*l*mp*pole.q1"


def test_redundant_coordinates_have_the_same_pieces_in_the_speeds_of_the_joints() -> None:
    s = free_pair()
    redundant, tree = (s.derive(f).compile() for f in ("redundant", "kane"))
    q = tree.state({"B.q1": 0.4, "A.q2": 0.3})[: len(tree.coordinate_names)]
    u = np.linspace(-1, 1, len(tree.speed_names))
    assert redundant.equations.mass_matrix.rows == tree.speed_names
    close(redundant.mass_matrix(0, q), tree.mass_matrix(0, q), 1e-15)
    close(redundant.forcing(0, q, u), tree.forcing(0, q, u), 1e-15)


@cache
def everything() -> Any:
    return arm_with_everything().derive("recursive").compile()


PLACE = [0.3, -0.4, 0.5, 0.1]
SPEEDS = [0.7, -0.2, 0.4, 1.1]


def test_kinetic_energy_is_quadratic_in_the_speeds_with_the_mass_matrix() -> None:
    """½ uᵀ M u + pᵀ u + T₀, with p and T₀ of the given joint: second differences of T are exact for it."""
    model = everything()
    n = len(SPEEDS)

    def T(u: Any) -> float:
        return float(model.kinetic_energy(0.4, PLACE, u))

    e, zero = np.eye(n), np.zeros(n)
    hessian = [[T(a + b) - T(a) - T(b) + T(zero) for b in e] for a in e]
    close(model.mass_matrix(0.4, PLACE), hessian)


def test_gravity_forces_are_slopes_of_the_potential_energy_where_speeds_are_rates() -> None:
    model, h = everything(), 1e-5
    slopes = [
        (model.potential_energy(0.4, PLACE + h * e) - model.potential_energy(0.4, PLACE - h * e)) / (2 * h)
        for e in np.eye(4)
    ]
    close(model.gravity_forces(0.4, PLACE), np.negative(slopes), 1e-9)  # of central differences


def test_forcing_is_the_sum_of_its_causes_and_the_input_map_is_its_slope() -> None:
    model = everything()
    loads = model.load_forces(0.4, PLACE, SPEEDS)
    assert list(loads) == ["motor", "friction", "cable"]
    total = sum(loads.values()) + model.gravity_forces(0.4, PLACE) - model.coriolis(0.4, PLACE, SPEEDS)
    f = model.forcing(0.4, PLACE, SPEEDS)
    close(total, f)
    assert loads["motor"].tolist() == pytest.approx([1, 0, 0, 0])  # drive 0.7 and lag 0.3, on A alone
    assert loads["friction"].tolist() == pytest.approx([0, 0.04 * np.cos(0.5), 0, 0])  # about B.x
    B = model.input_map(0.4, PLACE)
    assert model.equations.input_map.columns == ("drive", "pull") and B.shape == (4, 2)
    more = model.forcing(0.4, PLACE, SPEEDS, memory=[1.7, 3.0], states=[0.3])
    close(more - f, B @ [1.0, 5.0])


def test_rows_of_places_and_parameters_are_single_places() -> None:
    s = arm.System("pendulum")
    s.gravity("g", "-ground.y")
    s.body("P", joint=arm.Revolute("z"), com=(s.parameter("L", 0.5), 0, 0), mass="m", inertia=0)
    model = s.derive().compile()
    given = {"g": 9.81, "m": 2.0}
    found = model.mass_matrix(0, [0.3], given | {"L": np.array([1.0, 2.0, 3.0])})
    assert found.shape == (3, 1, 1) and found[:, 0, 0] == pytest.approx([2.0, 8.0, 18.0])
    assert model.kinetic_energy(0, {"P.q1": 0.3}, {"P.u1": 2.0}, given) == pytest.approx(0.5 * 0.5 * 4)
    forces = model.gravity_forces(0, [[0.0], [1.0]], given)
    assert forces[:, 0] == pytest.approx([-9.81, -9.81 * np.cos(1.0)], rel=1e-14)
    assert model.total_energy(0, [[0.0], [0.3]], [2.0], given).shape == (2,)
    assert model.total_energy(0, [np.pi / 2], [2.0], given) == pytest.approx(2 * 9.81 * 0.5 + 0.25 * 4)
    with pytest.raises(ArmillaryError, match="the memory must be 0 numbers"):
        model.forcing(0, [0.1], [0.2], given, memory=[1.0])
    with pytest.raises(ArmillaryError, match=r"but there are 1 coordinates: P\.q1"):
        model.mass_matrix(0, [0.1, 0.2], given)
    with pytest.raises(ArmillaryError, match=r"q \(2, 1\), u \(3, 1\), .* do not fit together"):
        model.forcing(0, np.zeros((2, 1)), np.zeros((3, 1)), given)


def test_momenta_and_the_mass_centre_are_along_the_ground() -> None:
    s = arm.System("slider")
    A = s.body("A", joint=arm.Prismatic("y"), com=(0.5, 0, 0), mass=4, inertia=0)
    s.body("B", A, joint=arm.Prismatic("x"), com=(0, 0, 1), mass=1, inertia=0)
    model = s.derive().compile()
    assert model.momentum(0, [0.2, 0.1], [3.0, 2.0]).tolist() == pytest.approx([2.0, 15.0, 0.0])
    assert model.mass_centre(0, [0.2, 0.1]).tolist() == pytest.approx([0.42, 0.2, 0.2])
    # Σ m r × v with r = (0.5, 0.2, 0), v = (0, 3, 0) and r = (0.1, 0.2, 1), v = (2, 3, 0)
    assert model.angular_momentum(0, [0.2, 0.1], [3.0, 2.0]).tolist() == pytest.approx([-3.0, 2.0, 5.9])


# ------------------------------------------------------------------ textbooks


def two_link_arm() -> arm.System:
    s = arm.System("two-link arm")
    A = s.body("A", joint=arm.Revolute("z"), com=("r1", 0, 0), mass="m1", inertia=(0, 0, "I1"))
    B = s.body(
        "B", A, joint=arm.Revolute("z"), at=("l1", 0, 0), com=("r2", 0, 0), mass="m2", inertia=(0, 0, "I2")
    )
    s.gravity("g", -s.ground.y)
    s.moment("tau1", s.input("command1", units="N*m"), s.ground.z, on=A)
    s.moment("tau2", s.input("command2", units="N*m"), B.z, on=B, reaction=A)
    return s


def test_the_two_link_arm_is_that_of_the_textbooks() -> None:
    """Murray, Li and Sastry (1994), section 4.2.3, whose α, β, δ these are; gravity as in Spong, Hutchinson
    and Vidyasagar (2006), section 7.4.
    """
    eom = two_link_arm().derive()
    p = {"m1": 3.0, "m2": 2.0, "l1": 0.8, "r1": 0.3, "r2": 0.45, "I1": 0.2, "I2": 0.1, "g": 9.81}
    q, u = np.array([0.4, -1.1]), np.array([0.7, 1.3])
    at = p | {"A.q1": q[0], "B.q1": q[1], "A.u1": u[0], "B.u1": u[1]}
    alpha = p["I1"] + p["I2"] + p["m1"] * p["r1"] ** 2 + p["m2"] * (p["l1"] ** 2 + p["r2"] ** 2)
    beta, delta = p["m2"] * p["l1"] * p["r2"], p["I2"] + p["m2"] * p["r2"] ** 2
    c, s = np.cos(q[1]), np.sin(q[1])
    close(eom.mass_matrix.evaluate(at), [[alpha + 2 * beta * c, delta + beta * c], [delta + beta * c, delta]])
    C = np.array([[-beta * s * u[1], -beta * s * (u[0] + u[1])], [beta * s * u[0], 0]])
    close(eom.coriolis.evaluate(at), C @ u)
    close(eom.coriolis_matrix.evaluate(at), C)
    second = -p["m2"] * p["r2"] * p["g"] * np.cos(q[0] + q[1])
    first = -(p["m1"] * p["r1"] + p["m2"] * p["l1"]) * p["g"] * np.cos(q[0]) + second
    close(eom.gravity_forces.evaluate(at), [first, second])
    assert [[float(x) for x in row] for row in eom.input_map] == [[1, 0], [0, 1]]


def test_the_cart_pole_is_that_of_the_textbooks() -> None:
    """Tedrake, Underactuated Robotics, section 3.2: the pole's angle from hanging, a point mass at l."""
    s = arm.System("cart-pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass="mc", inertia=0)
    s.body("pole", cart, joint=arm.Revolute("z"), com=(0, "-l", 0), mass="mp", inertia=0)
    s.gravity("g", -s.ground.y)
    s.force("push", s.input("command", units="N"), s.ground.x, at=cart.com)
    eom = s.derive()
    at = {"mc": 10.0, "mp": 1.5, "l": 0.5, "g": 9.81, "pole.q1": 0.7, "cart.u1": 0.2, "pole.u1": 1.3}
    c, k = np.cos(0.7), np.sin(0.7)
    close(eom.mass_matrix.evaluate(at), [[11.5, 0.75 * c], [0.75 * c, 0.375]])
    close(eom.coriolis.evaluate(at), [-0.75 * 1.69 * k, 0])
    close(eom.gravity_forces.evaluate(at), [0, -1.5 * 9.81 * 0.5 * k])
    assert [[float(x) for x in row] for row in eom.input_map] == [[1], [0]]


def test_the_double_pendulum_in_absolute_angles_is_that_of_the_textbooks() -> None:
    """Goldstein, Poole and Safko, Classical Mechanics, problem 1.22: point masses, both angles from the
    vertical, which are q1 and q1 + q2 here.
    """
    s = arm.System("double pendulum")
    A = s.body("A", joint=arm.Revolute("z"), com=(0, "-l1", 0), mass="m1", inertia=0)
    s.body("B", A, joint=arm.Revolute("z"), at=(0, "-l1", 0), com=(0, "-l2", 0), mass="m2", inertia=0)
    s.gravity("g", -s.ground.y)
    eom = s.derive()
    p = {"m1": 1.2, "m2": 0.7, "l1": 0.8, "l2": 0.5, "g": 9.81}
    theta, rate = np.array([0.9, -0.4]), np.array([1.3, 0.6])
    at = p | {"A.q1": theta[0], "B.q1": theta[1] - theta[0], "A.u1": rate[0], "B.u1": rate[1] - rate[0]}
    N = np.array([[1.0, 0.0], [-1.0, 1.0]])  # relative rates from absolute ones
    m, k = p["m1"] + p["m2"], p["m2"] * p["l1"] * p["l2"]
    apart = theta[0] - theta[1]
    M = [[m * p["l1"] ** 2, k * np.cos(apart)], [k * np.cos(apart), p["m2"] * p["l2"] ** 2]]
    close(N.T @ eom.mass_matrix.evaluate(at) @ N, M)
    close(
        N.T @ eom.coriolis.evaluate(at), [k * np.sin(apart) * rate[1] ** 2, -k * np.sin(apart) * rate[0] ** 2]
    )
    g = [-m * p["g"] * p["l1"] * np.sin(theta[0]), -p["m2"] * p["g"] * p["l2"] * np.sin(theta[1])]
    close(N.T @ eom.gravity_forces.evaluate(at), g)


def test_the_matrix_of_christoffel_symbols_leaves_a_skew_matrix() -> None:
    """Of a gimballed slider: C u = c, and Ṁ − 2 C is skew (Murray, Li and Sastry 1994, lemma 4.2)."""
    s = arm.System("slider")
    A = s.body("A", joint=arm.Gimbal("zx"), com=(0.1, 0.2, 0), mass=2, inertia=(0.3, 0.2, 0.4))
    s.body(
        "B", A, joint=arm.Prismatic("y"), at=(0.3, 0, 0.1), com=(0, 0, 0.2), mass=1, inertia=(0.1, 0.2, 0.1)
    )
    model = s.derive().compile()
    q, u, h = np.array([0.3, -0.5, 0.7]), np.array([1.1, 0.4, -0.8]), 1e-5
    C = model.coriolis_matrix(0, q, u)
    close(C @ u, model.coriolis(0, q, u))
    rate = (model.mass_matrix(0, q + h * u) - model.mass_matrix(0, q - h * u)) / (2 * h)
    assert np.abs(rate - C - C.T).max() < 1e-9  # of central differences
    with pytest.raises(ModelError, match="coriolis has the vector"):
        _ = free_pair().derive().coriolis_matrix


# ------------------------------------------------------------------ Jacobians


def test_the_jacobian_of_a_tip_is_that_of_the_textbooks() -> None:
    """Spong, Hutchinson and Vidyasagar (2006), example 4.5: J of a planar arm's tip and of its last link."""
    s = two_link_arm()
    B = s.bodies["B"]
    tip = B.point(("l2", 0, 0))
    at = {"l1": 0.8, "l2": 0.5, "A.q1": 0.4, "B.q1": -1.1}
    c1, s1, c12, s12 = np.cos(0.4), np.sin(0.4), np.cos(-0.7), np.sin(-0.7)
    expected = [[-0.8 * s1 - 0.5 * s12, -0.5 * s12], [0.8 * c1 + 0.5 * c12, 0.5 * c12], [0, 0]]
    J = arm.jacobian(tip)
    assert (J.rows, J.columns) == (("vx", "vy", "vz"), ("A.u1", "B.u1"))
    close(J.evaluate(at), expected, 1e-15)
    whole = arm.jacobian(B, axes=B)
    close(
        whole.evaluate(at), [[0.8 * np.sin(-1.1), 0], [0.8 * np.cos(-1.1), 0], [0, 0], [0, 0], [0, 0], [1, 1]]
    )
    eom = s.derive()
    close(eom.jacobian(tip).evaluate(at), expected, 1e-15)
    given = {"m1": 1, "m2": 1, "I1": 1, "I2": 1, "r1": 1, "r2": 1, "g": 1, "l1": 0.8, "l2": 0.5}
    model = eom.compile()
    close(model.jacobian(tip, 0, [0.4, -1.1], given), expected, 1e-15)
    assert model.jacobian("B", 0, np.zeros((4, 2)), given).shape == (4, 6, 2)


def test_the_jacobian_of_a_long_chain_grows_with_its_length_and_is_that_of_the_textbooks() -> None:
    counts = []
    for n in (16, 32):
        s = arm.System("chain")
        link = s.ground
        for i in range(n):
            link = s.body(f"L{i}", link, arm.Revolute("xyz"[i % 3]), at=(0, 0.1, 0.3), mass=1.0)
        J = arm.jacobian(link)
        counts.append(len(operands_first([x for row in J.elements for x in row])))
    assert counts[1] < 2.2 * counts[0]
    values = dict(zip([q.name for q in s.coordinates], np.linspace(-1, 2, n), strict=True))
    found = np.array([[arm.evaluate(x, values) for x in row] for row in J.elements])
    R, p = np.eye(3), np.zeros(3)
    axes, origins = [], []
    for i, angle in enumerate(values.values()):  # Rodrigues' formula, link by link
        p = p + R @ [0, 0.1, 0.3]
        k = np.cross(np.eye(3), np.eye(3)[i % 3])
        axes.append(R[:, i % 3])
        origins.append(p)
        R = R @ (np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k)
    expected = [np.cross(axes, p - np.array(origins)).T, np.array(axes).T]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)


def test_a_jacobian_by_independent_speeds_goes_through_closed_loops() -> None:
    """The tip of a scissors lift: the second joint turns back twice as fast as the first."""
    s = arm.System("scissors")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1), com=(0.5, 0, 0))
    B = s.body("B", A, joint=arm.Revolute("z"), at=(1, 0, 0), mass=1, inertia=(1, 1, 1), com=(0.5, 0, 0))
    s.constrain("B.u1 + 2*A.u1", eliminate="B.u1")
    eom = s.derive()
    J = eom.jacobian(B.point((1, 0, 0)))
    assert J.columns == ("A.u1",)
    # x = cos q1 + cos(q1 + q2) with q2 = −2 q1 is 2 cos q1, and y is 0
    close(J.evaluate({"A.q1": 0.3, "B.q1": -0.6}), [[-2 * np.sin(0.3)], [0], [0]])


# ------------------------------------------------------------------ bad input


def test_errors_name_what_is_wrong() -> None:
    s = two_link_arm()
    eom = s.derive()
    with pytest.raises(ArmillaryError, match=r"there is no 'A.u2'; did you mean 'A.u1'\?"):
        eom.mass_matrix["A.u2", "B.u1"]
    with pytest.raises(ArmillaryError, match="neither a name nor an index from 0 to 1"):
        eom.forcing[2]
    with pytest.raises(ModelError, match="is not a point or a body"):
        arm.jacobian(3)
    with pytest.raises(ModelError, match="is not a point or a body"):
        eom.jacobian("A.q1")
    with pytest.raises(ModelError, match="belongs to system"):
        eom.jacobian(two_link_arm().bodies["A"])
    s = arm.System("no inputs")
    s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match=r"has no inputs to map; declare one with s.input"):
        _ = s.derive().input_map
    s.moment("m", s.input("w") * s.lookup("w"), s.ground.z, on="A")
    with pytest.raises(ModelError, match="input 'w' does not enter the forcing linearly"):
        _ = s.derive().input_map


def test_pieces_print_as_tables() -> None:
    eom = two_link_arm().derive()
    assert str(eom.mass_matrix).splitlines()[0] == "mass matrix"
    assert len(str(eom.mass_matrix).splitlines()) == 5
    assert str(eom.load_forces["tau2"]).split() == ["tau2", "A.u1", "0", "B.u1", "command2"]
    assert "<math>" in eom.mass_matrix._repr_html_() and "B.u1" in eom.forcing._repr_html_()
    assert eom.mass_matrix[0, 1] is eom.mass_matrix["A.u1", "B.u1"] is eom.mass_matrix["A.u1"][1]
