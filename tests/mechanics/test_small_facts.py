"""Single facts of derivation, each against a closed form: rotors, order of elimination, known modal rates."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armillary as arm
from armillary.algebra import functions as fn
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate
from armillary.algebra.expression import as_expr, symbol
from armillary.algebra.triples import joined
from armillary.mechanics.constraints.closing_thresholds import LEAST_SIZE
from armillary.mechanics.constraints.loop_closing import Geometry
from armillary.mechanics.constraints.reduction import Configuration
from armillary.mechanics.contact.state import term_sizes
from armillary.mechanics.tree.tree import AxisRotation, MatrixRotation, NoRotation, RotationChain


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_a_force_off_the_axis_of_a_rotor_turns_with_it(formalism: str) -> None:
    """q̈ = F r cos q / J: what is welded to a rotor turns, though the rotor's own axes need not."""
    s = arm.System("rotor")
    rotor = s.body("rotor", joint=arm.Revolute("z"), mass=2, inertia=(0.3, 0.3, 0.5))
    mark = s.body("mark", rotor, arm.Fixed(), at=(0.4, 0, 0), mass=0, inertia=0)
    s.force("push", 3.0, s.ground.y, at=mark.origin)
    model = s.derive(formalism=formalism).compile()
    for q in (0.0, 0.7, 2.5):
        found = model.accelerations(0.0, [q], [1.3])
        assert found == pytest.approx([3.0 * 0.4 * math.cos(q) / 0.5], rel=1e-13)


def test_constraints_are_eliminated_in_the_order_of_a_mode() -> None:
    """Only when 'second' has given up b.u2 does 'first' hold b.u3, which it is to give up."""
    s = arm.System("chain of slides")
    b = s.body("b", joint=arm.Joint(translate=["x", "y", "z"]), mass=1, inertia=0)
    s.constrain("b.u1 - b.u2", name="first")
    s.constrain("b.u2 - 2*b.u3", name="second")
    configuration = Configuration(frozenset(), (("second", "b.u2"), ("first", "b.u3")))
    equations = core_of(s.derive().compile()).in_configuration(configuration).equations
    assert dict(equations.dependents) == {"b.u2": "second", "b.u3": "first"}
    assert list(equations.speeds) == ["b.u1"]
    assert b.mass is not None


def test_a_prescribed_mode_shakes_another_that_shares_its_mass() -> None:
    """M₂₂ η̈₂ + K₂₂ η₂ = −M₁₂ η̈₁, with modes of two masses on a line whose shapes are not orthogonal."""
    masses, shapes = np.array([2.0, 3.0]), np.zeros((2, 3, 2))
    shapes[:, 1, :] = [[1.0, 0.5], [0.2, 1.0]]
    M = np.einsum("s,sip,siq->pq", masses, shapes, shapes)
    K = np.diag([40.0, 90.0])
    s = arm.System("shaken")
    body = s.body("body", joint=arm.Fixed())
    body.flexible(nodes=[(0.0, 0, 0), (1.0, 0, 0)], masses=masses, shapes=shapes, stiffness=K)
    s.prescribe("body.q1", "a*sin(w*t)")
    model = s.derive().compile()
    a, w, t, q2 = 0.1, 3.0, 0.4, 0.05
    found = model.accelerations(t, [q2], [0.0], parameters={"a": a, "w": w})
    push = a * w * w * math.sin(w * t)  # −η̈₁
    stiff = K[1, 1] * q2
    assert found[-1] == pytest.approx((M[0, 1] * push - stiff) / M[1, 1], rel=1e-12)


def test_sizes_of_terms_are_those_that_they_would_have_if_nothing_cancelled() -> None:
    x, y = symbol("x"), symbol("y")
    at = {"x": 3.0, "y": -2.0}
    for expression, size in (
        (x - 2 * y - 10, 17.0),
        (-3 * x * (x + y), 45.0),
        (fn.sqrt(x + y + 3) / (x + y), 2.0),
        (fn.maximum(x + y, y - 4), 6.0),
        (fn.minimum(x + y, 4 - x), 7.0),
        (fn.select(x - 1, x + y, y - 9), 5.0),
        (fn.select(y + 2, x + y, y - 9), 11.0),
        (fn.named(x + y, "both") - 1, 6.0),
    ):
        assert evaluate(as_expr(term_sizes(expression)), at) == pytest.approx(size, rel=1e-15), str(
            expression
        )


@pytest.mark.parametrize("kind", ["none", "x", "y", "z", "matrix", "chain", "two chains"])
def test_rotations_turn_vectors_and_matrices(kind: str) -> None:
    """v → R v and back, A → R A Rᵀ, with R of SciPy: numbers here, expressions in a tree."""
    rng = np.random.default_rng(4)

    def axis(i: int, angle: float) -> tuple[AxisRotation, np.ndarray]:
        turn = Rotation.from_rotvec(angle * np.eye(3)[i]).as_matrix()
        return AxisRotation(i, math.cos(angle), math.sin(angle)), turn

    about, R1 = axis(1, 0.7)
    whole = Rotation.from_rotvec([0.3, -0.5, 0.9]).as_matrix()
    matrix = MatrixRotation(joined(joined(row) for row in whole.tolist()))
    made: dict[str, tuple[Any, np.ndarray]] = {
        "none": (NoRotation(), np.eye(3)), **{name: axis(i, 0.4 + i) for i, name in enumerate("xyz")},
        "matrix": (matrix, whole), "chain": (RotationChain(matrix, about), whole @ R1),
        "two chains": (RotationChain(RotationChain(matrix, about), axis(2, -1.1)[0]),
                       whole @ R1 @ axis(2, -1.1)[1]),
    }  # fmt: skip
    rotation, R = made[kind]
    v, A = rng.normal(size=3), rng.normal(size=(3, 3))

    def numbers(found: Any) -> np.ndarray:
        return np.array([arm.evaluate(as_expr(x), {}) for x in np.ravel(np.array(found, dtype=object))])

    assert numbers(rotation.to_parent(joined(v.tolist()))) == pytest.approx(R @ v)
    assert numbers(rotation.to_child(joined(v.tolist()))) == pytest.approx(R.T @ v)
    for whole_matrix, turn in ((A, rotation.general_to_parent), (A + A.T, rotation.symmetric_to_parent)):
        rows = joined(joined(row) for row in whole_matrix.tolist())
        assert numbers(turn(rows, "turned")) == pytest.approx((R @ whole_matrix @ R.T).ravel())


def test_the_gap_of_a_row_that_vanishes_is_measured_by_the_other_rows() -> None:
    """By LEAST_SIZE of the largest element of J, so that rounding errors are no gap."""
    layout: Any = SimpleNamespace(gaps=(0, 1, 2))
    here: Any = SimpleNamespace(
        jacobian=np.array([[2.0, -4.0], [1e-30, 0.0], [0.0, 0.5]]), gap=np.array([4e-9, -2e-12, 1e-10])
    )
    largest = Geometry(layout, lambda t, q: q).largest_gap(here)
    assert largest == pytest.approx(max(4e-9 / 4.0, 2e-12 / (LEAST_SIZE * 4.0), 1e-10 / 0.5))
    here.jacobian[:] = 0.0
    assert Geometry(layout, lambda t, q: q).largest_gap(here) == 4e-9
