"""Linear models of trees through composite bodies: exact, and in so many operations."""

from __future__ import annotations

import numpy as np
import pytest
from complex_steps import ComplexSteps

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from armillary.analysis.linear.matrices import Filled, Linearization
from armillary.analysis.linear.rates import TreeRates, implicit_rates
from armillary.llvm.column_solution import _runs
from armillary.program.formalisms.formalism import derivation
from armillary.runtime.models import compiled_program
from examples import stanford_arm


def walker(velocity: str) -> arm.Model:
    """A free body with an oblique joint, a slide, a ball joint, a rotor, an armature and a spring."""
    s = arm.System("walker")
    trunk = s.body(
        "trunk", joint=arm.Free(velocity=velocity), mass=5, inertia=(0.2, 0.3, 0.4), com=(0.02, 0, 0)
    )
    hip = s.body(
        "hip",
        trunk,
        arm.Revolute((1, 0.2, 0)),
        at=(0.1, 0.2, 0),
        mass=1,
        inertia=(0.1, 0.2, 0.3),
        com=(0, 0.05, 0),
    )
    shin = s.body(
        "shin",
        hip,
        arm.Prismatic("z"),
        at=(0, 0, -0.3),
        mass=0.7,
        inertia=(0.1, 0.2, 0.1),
        com=(0.01, 0, -0.1),
    )
    foot = s.body("foot", shin, arm.Spherical(), mass=0.3, inertia=(0.1, 0.2, 0.2), com=(0.05, 0, 0))
    s.armature(hip.u1, 0.04)
    s.strut("spring", "-40*(x - 0.5) - 2*v", between=(s.ground.point(0.1, 1, -1), foot.com))
    s.body("rotor", trunk, arm.Revolute("y"), mass=0.4, inertia=(0.01, 0.02, 0.01))
    s.moment("drive", s.input("tau", 0.3) - 0.2 * hip.u1, trunk.x, on=hip, reaction=trunk)
    s.gravity(9.81, -s.ground.z)
    return s.derive().compile()


@pytest.mark.parametrize("velocity", ["parent", "body"])
def test_a_free_tree_with_all_kinds_of_joints_agrees_with_complex_steps(velocity: str) -> None:
    model = walker(velocity)
    with derivation():
        assert isinstance(implicit_rates(core_of(model.equations)), TreeRates)
    chance = np.random.default_rng(3)
    at = {name: float(chance.normal(scale=0.5)) for name in (*model.coordinate_names, *model.speed_names)}
    lin = model.linearize(at, inputs=["tau"])
    A, B, *_ = ComplexSteps(model, lin).matrices()
    np.testing.assert_allclose(lin.A, A, rtol=0, atol=1e-12 * np.max(np.abs(A)))
    np.testing.assert_allclose(lin.B, B, rtol=0, atol=1e-12 * np.max(np.abs(B)))


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_free_body_whose_elimination_cancels_agrees_with_complex_steps(axis: str) -> None:
    """Products of inertia about its origin are those of its mass centre alone, so that what an elimination of
    the linear speeds couples cancels: unknowns that a row has left are not on one way to the ground.
    """
    s = arm.System("plate")
    plate = s.body("plate", joint=arm.Free(), com=(0.5, 0.25, 0.125), mass=2, inertia=(0.1, 0.2, 0.3))
    s.moment("drive", s.input("tau", 0.3), getattr(plate, axis), on=plate)
    model = s.derive().compile()
    lin = model.linearize({"plate.u4": 1.0, "plate.u5": 0.4}, inputs=["tau"])
    for found, wanted in zip((lin.A, lin.B), ComplexSteps(model, lin).matrices(), strict=False):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.max(np.abs(wanted)))


def test_the_arm_takes_fewer_operations_than_by_differentiating_its_efforts() -> None:
    """2357 by tangents of the efforts, each direction by itself, and 2955 by those of the solved rates."""
    equations = stanford_arm.system().derive()
    made = Linearization(core_of(equations))
    assert made.operations.total == 1972


def test_columns_solved_in_vectors_are_those_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """L D Lᵀ x = g in compiled code, four columns at once, and as expressions of the same factors."""
    equations = stanford_arm.system(controller=False).derive()
    made = Linearization(core_of(equations), ["MF", "L1"])
    state = np.linspace(-0.7, 1.1, 12)
    A, B, *_ = made.at(0.0, state)
    form = made.form
    assert form.solution is not None
    values = {s.data.name: x for s, x in zip(core_of(equations).targets.integrated, state, strict=True)}
    values |= {name: value for name, value in equations.parameters.items() if value is not None}
    monkeypatch.setattr(compiled_program, "_THREAD", 1)
    monkeypatch.setattr(compiled_program, "processors", lambda: 3)
    many = made.rows(0.0, np.linspace(state, -state, 8), {"MF": np.linspace(0.6, 0.4, 8)})
    single = made.at(0.0, np.linspace(state, -state, 8)[5], {"MF": np.linspace(0.6, 0.4, 8)[5]})
    assert np.array_equal(many.A[5], single.A)  # rows shared by threads
    written_out(made, A, B, values)


def written_out(made: Linearization, A: np.ndarray, B: np.ndarray, values: dict[str, float]) -> None:
    """Compares with the same elements as expressions."""
    for entries, found in ((made.form.A, A), (made.form.B, B)):
        places, expressions = zip(*entries.items(), strict=True)
        written = np.zeros(found.shape)
        written[tuple(np.array(places).T)] = evaluate_all(expressions, values)
        np.testing.assert_allclose(found, written, rtol=0, atol=1e-12 * np.max(np.abs(found)))


def test_branches_follow_their_hub_and_half_of_the_inverse_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARMILLARY_COMPILE", "full")
    s = arm.System("legs")
    hub = s.body("hub", joint=arm.Free("zyx"), mass=5, inertia=(0.2, 0.3, 0.4), com=(0.02, 0, 0))
    for k in range(4):
        upper = s.body(f"upper{k}", hub, arm.Revolute("x"), at=(0.1 * k, 0.2, 0), mass=1, com=(0, 0.1, 0.2),
                       inertia=(0.1, 0.2, 0.3))  # fmt: skip
        lower = s.body(f"lower{k}", upper, arm.Revolute("y"), at=(0, 0.3, 0), mass=0.5, com=(0.1, 0, -0.2),
                       inertia=(0.1, 0.2, 0.1))  # fmt: skip
        s.moment(f"hip{k}", s.input(f"a{k}", 0.1), hub.x, on=upper, reaction=hub)
        s.body(f"toe{k}", lower, arm.Prismatic("z"), mass=0.1, inertia=0)
        s.moment(f"knee{k}", s.input(f"b{k}", 0.2), upper.y, on=lower, reaction=upper)
    equations = s.derive()
    made = Linearization(core_of(equations), [f"{name}{k}" for k in range(4) for name in "ab"])
    solution, code = made.form.solution, made._code
    assert solution is not None and code is not None
    assert len(solution.mirrored) == 28
    assert sorted(abs(x) for x in code.given if x) == [1.0] * 8  # right sides of the inverse are not stored
    assert [(len(b.near), len(b.unknowns)) for b in code._branches.values()] == [(6, 12)]
    state = np.linspace(-0.7, 1.1, 36)
    A, B, *_ = made.at(0.0, state)
    values = {s.data.name: x for s, x in zip(core_of(equations).targets.integrated, state, strict=True)}
    values |= {f"{name}{k}": 0.1 if name == "a" else 0.2 for k in range(4) for name in "ab"}
    written_out(made, A, B, values)


def test_matrices_are_filled_with_results_and_numbers_and_zeros_have_no_sign() -> None:
    pendulum = arm.System("pendulum")
    body = pendulum.body("P", joint=arm.Revolute("z"), com=(1, 0, 0), mass=2, inertia=(0, 0, 0))
    pendulum.gravity(9.81, -pendulum.ground.y)
    equations = core_of(pendulum.derive())
    q = equations.reduction.plain(body.q1)
    filled = Filled({"a": ((1, 2), {(0, 0): -q, (0, 1): as_expr(3)}), "none": ((2, 0), {})}, dense=False)
    a, none = filled(filled.functions(equations).rows("dense", 0.0, np.array([[0.0, 0.0], [0.5, 0.0]])))
    assert a.tolist() == [[[0.0, 3.0]], [[-0.5, 3.0]]] and none.shape == (2, 2, 0)
    assert not np.signbit(a[0, 0, 0])
    empty = Filled({"none": ((2, 0), {})})
    assert empty(empty.functions(equations).rows("dense", 0.0, np.zeros((3, 2))))[0].shape == (3, 2, 0)


def test_a_circular_orbit_has_its_closed_form() -> None:
    """r̈ = r θ̇² − μ/r², (r² θ̇)˙ = 0: eigenvalues 0, 0, ±i n, n² = μ/r³. The field that acts on all bodies
    alike changes with the place of the mass centre.
    """
    s = arm.System("orbit")
    boom = s.body("boom", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.body("probe", boom, arm.Prismatic("x"), mass=2, inertia=0)
    s.attractor("planet", 4.0)
    n = (4.0 / 1.6**3) ** 0.5
    A = s.derive().compile(tier="quick").linearize({"probe.q1": 1.6, "boom.u1": n}).A
    expected = [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, -2 * n / 1.6], [0, 3 * n * n, 2 * n * 1.6, 0]]
    np.testing.assert_allclose(A, expected, rtol=0, atol=1e-14)


def test_a_linkage_that_a_lock_holds_has_a_linear_model_without_states() -> None:
    """Output = input remains, and is the whole response."""
    s = arm.System("held")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(0.1, 0.1, 0.1))
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    C = s.body("C", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(B.point("end", (0.9, 0, 0)), C.origin, [s.ground.x, s.ground.y], name="pin")
    s.start({"A.q1": 0.5, "B.q1": -0.7, "C.q1": 1.1})
    s.lock(A.u1)
    s.input("push")
    s.output("twice", "2*push")
    model = s.derive().compile(tier="quick")
    found = model.linearize(inputs=["push"], outputs=["twice"])
    assert found.A.shape == (0, 0) and found.B.shape == (0, 1) and found.D.tolist() == [[2.0]]
    assert len(found.modes()) == 0 and found.frequency_response([1.0])["twice", "push"] == 2.0
    with pytest.raises(arm.ArmillaryError, match="nothing in 'held' can move"):
        model.undamped_modes()


def test_inputs_that_act_alike_have_the_same_columns() -> None:
    """A motor and a disturbance at each joint: columns of one inverse matrix, each of them twice."""
    s = arm.System("arm")
    body = None
    for i in range(3):
        above = body
        place = {"at": (0, 0, -0.5), "com": (0.1, 0, -0.25)} if above else {"com": (0.1, 0, -0.25)}
        body = s.body(f"b{i}", above, arm.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1), **place)
        for name in (f"motor{i}", f"wind{i}"):
            s.moment(f"of_{name}", s.input(name), s.ground.y, on=body, reaction=above)
    model = s.derive().compile()
    lin = model.linearize(
        {"b0.q1": 0.3, "b1.u1": 0.2}, [f"{w}{i}" for w in ("motor", "wind") for i in range(3)]
    )
    A, B, *_ = ComplexSteps(model, lin).matrices()
    np.testing.assert_allclose(lin.A, A, rtol=0, atol=1e-12 * np.max(np.abs(A)))
    np.testing.assert_allclose(lin.B, B, rtol=0, atol=1e-12 * np.max(np.abs(B)))
    assert np.all(np.diag(lin.B[3:]) > 1.0)
    np.testing.assert_allclose(lin.B[:, :3], lin.B[:, 3:], rtol=1e-12, atol=1e-13)


def test_a_spring_and_a_damper_of_equal_numbers_both_act() -> None:
    s = arm.System("masses")
    for name in "ab":
        body = s.body(name, joint=arm.Prismatic("x"), mass=1.0)
        s.force(f"of_{name}", -4 * body.q1 - 4 * body.u1, s.ground.x, at=body.com)
    lin = s.derive().compile().linearize()
    assert lin.A[2:].tolist() == [[-4.0, 0.0, -4.0, 0.0], [0.0, -4.0, 0.0, -4.0]]


def test_branches_whose_couplings_cancel_agree_with_complex_steps() -> None:
    """On a free body the slide depends on a linear speed that the moment does not reach, though not by way of
    the speeds that it reaches.
    """
    s = arm.System("free")
    base = s.body("base", joint=arm.Free(), com=(0, 0, 1), mass=1, inertia=(1, 1, 1))
    s.body("gimbal", base, arm.Gimbal("xyz"), mass=1, inertia=(1, 1, 1))
    slide = s.body("slide", base, arm.Prismatic("y"), at=(1, 0, 0), com=(0, 0, 2), mass=1, inertia=(1, 1, 1))
    s.moment("drive", s.input("v"), s.ground.z, on=base)
    s.force("brake", -1 * slide.q1 - 1 * slide.u1, s.ground.x, at=slide.com)
    model = s.derive().compile()
    chance = np.random.default_rng(1)
    names = [*model.coordinate_names[7:], *model.speed_names]
    lin = model.linearize({name: float(chance.normal(scale=0.5)) for name in names}, inputs=["v"])
    A, B, *_ = ComplexSteps(model, lin).matrices()
    np.testing.assert_allclose(lin.A, A, rtol=0, atol=1e-12 * np.max(np.abs(A)))
    np.testing.assert_allclose(lin.B, B, rtol=0, atol=1e-12)


def test_rows_of_a_branch_are_solved_together_where_rows_and_places_are_adjacent() -> None:
    places = {1: 0, 2: 4, 5: 8, 6: 12, 7: 20}
    rows = {1: 0, 2: 1, 5: 3, 6: 4, 7: 5}
    assert _runs([1, 2, 5, 6, 7], places, rows, 4) == [[1, 2], [5, 6], [7]]
