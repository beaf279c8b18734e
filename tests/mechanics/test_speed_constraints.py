"""Constraints on speeds: random ones on random trees against multipliers in NumPy, and what is refused.

The truth is the tree without constraints, M u̇ = f from first principles (reference.py), with multipliers for
the rows J u + b = 0:

    [ M  −Jᵀ ] [ u̇ ]   [ f         ]
    [ J   0  ] [ λ ] = [ −J̇ u − ḃ  ]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from armillary.algebra.vectors import dot
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError, ParameterError
from armillary.mechanics.constraints.constrained_equations import dependent_rates, reduced_equations
from armillary.mechanics.constraints.reduction import Reduction, initial_configuration, reduce_system
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.mass_matrix import ORDERS, speed_rates, uncouple
from armillary.model.bodies.body import Body
from armillary.model.bodies.motion import velocity
from armillary.model.joints import Planar, Prismatic, Revolute
from armillary.program.formalisms.tree_formalisms import implicit_equations
from armillary.stages import System
from tests.mechanics import reference
from tests.mechanics.random_trees import JOINTS, Case, build, joint_case, tree_case, values
from tests.mechanics.reference import Array, Joint
from tests.mechanics.solving import REGROUPINGS, close, evaluated, regrouped

TIME = 0.4


@dataclass(frozen=True)
class Row:
    """Σ_j (c + d cos 0.9 q_k) u_j + b sin 2t = 0, by speed j: (c, d, k)."""

    factors: dict[int, tuple[float, float, int]]
    size: float

    def text(self, system: System) -> str:
        """As a user would write it."""
        q, u = [c.data.name for c in system.coordinates], [s.data.name for s in system.speeds]
        terms = [f"({c!r} + {d!r}*cos(0.9*{q[k]}))*{u[j]}" for j, (c, d, k) in self.factors.items()]
        return " + ".join([*terms, f"{self.size!r}*sin(w*t)"])

    def jacobian(self, q: Array, nu: int) -> Array:
        """J of this row."""
        row = np.zeros(nu)
        for j, (c, d, k) in self.factors.items():
            row[j] = c + d * math.cos(0.9 * q[k])
        return row

    def known(self) -> float:
        """b at the time of the tests."""
        return self.size * math.sin(2 * TIME)

    def remainder(self, q: Array, qdot: Array, u: Array) -> float:
        """J̇ u + ḃ."""
        turned = [-0.9 * d * math.sin(0.9 * q[k]) * qdot[k] * u[j] for j, (_, d, k) in self.factors.items()]
        return sum(turned) + 2 * self.size * math.cos(2 * TIME)


def random_rows(case: Case, count: int, rng: np.random.Generator) -> list[Row]:
    """Some factors constant, some not; some rows driven by time."""

    def some() -> float:
        return float(rng.normal())

    def sometimes() -> float:
        return some() * int(rng.integers(2))

    found = []
    for _ in range(count):
        chosen = rng.choice(case.tree.nu, size=min(case.tree.nu, int(rng.integers(2, 5))), replace=False)
        factors = {int(j): (some(), sometimes(), int(rng.integers(case.tree.nq))) for j in chosen}
        found.append(Row(factors, sometimes()))
    return found


def constrained_truth(case: Case, rows: list[Row]) -> tuple[Array, Array]:
    """(u that satisfies the rows, its u̇ by multipliers)."""
    q, nu, m = case.q, case.tree.nu, len(rows)
    J = np.array([row.jacobian(q, nu) for row in rows])
    u = case.u - np.linalg.lstsq(J, J @ case.u + [row.known() for row in rows], rcond=None)[0]
    M, f = reference.equations(case.tree, q, u)
    qdot = reference.state(case.tree, q, u).rates
    right = [-row.remainder(q, qdot, u) for row in rows]
    return u, np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((m, m))]]), [*f, *right])[:nu]


def described(case: Case, rows: list[Row], **options: Any) -> System:
    """The system of a case with its rows as constraints."""
    system = build(case)
    system.parameter("w", 2.0, units="rad/s")
    for i, row in enumerate(rows):
        system.constrain(row.text(system), name=f"row {i}", **options)
    return system


def rates(system: System, reduction: Reduction, regrouping: str, order: str) -> list[Any]:
    """u̇ of all speeds as expressions of the independent ones."""
    tree = regrouped(reduction.tree, regrouping)
    loads = applied_loads(system, tree, reduction.plain)
    factors = reduction.elimination.factors
    equations = reduced_equations(implicit_equations(tree, loads), factors)
    found = speed_rates(tree, dependent_rates(tree, uncouple(equations, order), factors))
    return [found[i] for i in range(len(found))]


def check(case: Case, rows: list[Row], regrouping: str = "first", order: str = ORDERS[0]) -> None:
    """All accelerations from independent speeds alone; dependent ones are not even given."""
    u, expected = constrained_truth(case, rows)
    system = described(case, rows)
    reduction = reduce_system(system, Undimensioned(), initial_configuration(system))
    dependents = set(reduction.elimination.factors)
    assert len(dependents) == len(rows)
    given = [math.nan if j in dependents else value for j, value in enumerate(u)]
    close(
        evaluated(rates(system, reduction, regrouping, order), values(system, case.q, np.array(given), TIME)),
        expected,
    )


@pytest.mark.parametrize("seed", range(600, 612))
def test_random_rows_on_random_trees(seed: int) -> None:
    """Later rows hold speeds that earlier ones gave up: substitution is repeated."""
    case = tree_case(seed)
    count = min(1 + seed % 4, case.tree.nu - 1)
    if count < 1:
        case, count = joint_case(Joint("planar", ("z", "parent")), seed, moving_parent=True), 3
    rows = random_rows(case, count, np.random.default_rng(seed))
    check(case, rows, REGROUPINGS[seed % 5], ORDERS[seed % 3])


DRIFTING = [j for j in JOINTS if j.kind in ("free", "spherical") or "body" in j.settings]


@pytest.mark.parametrize(
    ("joint", "moving_parent"), [(j, i % 2 == 1) for i, j in enumerate(DRIFTING)], ids=str
)
def test_joints_whose_speeds_are_not_coordinate_rates(joint: Joint, moving_parent: bool) -> None:
    """Velocities in the parent's axes or the body's, Euler parameters, angles; on the ground and on a moving
    parent in turn.
    """
    case = joint_case(joint, 31, moving_parent=moving_parent)
    check(case, random_rows(case, 2, np.random.default_rng(31)))


def test_compiled_model_agrees() -> None:
    """The whole way: initial speeds made consistent, coordinate rates and accelerations."""
    case = joint_case(Joint("free", ("quaternion", "body")), 41, moving_parent=True)
    rows = random_rows(case, 3, np.random.default_rng(41))
    u, expected = constrained_truth(case, rows)
    system = described(case, rows)
    model = system.derive().compile()
    names = [s.data.name for s in system.speeds]
    free = [names.index(name) for name in model.speed_names]
    found = model.derivatives(TIME, [*case.q, *u[free]])
    close(found[: case.tree.nq], reference.state(case.tree, case.q, u).rates)
    close(found[case.tree.nq :], expected[free])
    start = {c.data.name: value for c, value in zip(system.coordinates, case.q, strict=True)}
    start |= {names[j]: u[j] for j in free}
    close(model.state(start, t=TIME), [*case.q, *u[free]])


# ---------------------------------------------------------------- which speed is given up


def train(count: int = 4) -> tuple[System, list[Body]]:
    """Carriages on one rail, each with its own coordinate."""
    s = System("train")
    cars = [s.body(f"c{i}", joint=Prismatic("x"), mass=1.0 + i, inertia=0) for i in range(count)]
    s.force("pull", 1.0, s.ground.x, at=cars[0].origin)
    return s, cars


def test_the_outermost_of_equal_choices_is_given_up() -> None:
    s, _ = train()
    s.constrain("c0.u1 - c1.u1", name="coupling")
    assert s.derive().dependents == {"c1.u1": "coupling"}


def test_a_constant_factor_comes_before_a_varying_one() -> None:
    s = System("arm")
    a = s.body("a", joint=Revolute("z"), com=(1, 0, 0), mass=1, inertia=0)
    s.body("b", a, Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1, inertia=0)
    s.constrain("a.u1 + (2 + cos(a.q1))*b.u1", name="gear")
    assert s.derive().dependents == {"a.u1": "gear"}


@pytest.mark.parametrize("speed", ["c0.u1", "c1.u1", "c2.u1"])
def test_the_users_choice_is_honoured(speed: str) -> None:
    """And nothing else changes: 1 N on carriages of 1, 2 and 3 kg with a lever between them, and a fourth."""
    s, _ = train()
    s.constrain("c0.u1 - 2*c1.u1 + c2.u1", name="lever", eliminate=speed)
    eom = s.derive()
    assert eom.dependents == {speed: "lever"}
    model = eom.compile()
    found = dict(zip(model.speed_names, model.accelerations(0.0, [0.0] * 4, [0.0] * 3), strict=True))
    # M u̇ = f + Jᵀ λ with J = (1, −2, 1, 0): λ = −(1/1)/(1/1 + 4/2 + 1/3)
    force = -1.0 / (1 + 4 / 2 + 1 / 3)
    expected = {"c0.u1": 1 + force, "c1.u1": -2 * force / 2, "c2.u1": force / 3, "c3.u1": 0.0}
    assert found == pytest.approx({name: expected[name] for name in found}, abs=1e-14)


def test_a_coordinate_names_its_rate() -> None:
    s, cars = train()
    s.constrain("c0.u1 - c1.u1", name="coupling", eliminate=cars[0].q1)
    assert s.derive().dependents == {"c0.u1": "coupling"}


def test_a_speed_that_an_earlier_row_gave_up_is_substituted() -> None:
    """Couplings in a row: all move as one, 1 N on 10 kg."""
    s, _ = train()
    for i in range(3):
        s.constrain(f"c{i}.u1 - c{i + 1}.u1", name=f"coupling {i}", eliminate=f"c{i + 1}.u1")
    eom = s.derive()
    assert eom.speeds == ("c0.u1",)
    assert eom.compile().accelerations(0.0, [0.0] * 4, [0.3]) == pytest.approx([0.1], rel=1e-14)


def test_a_choice_that_is_gone_already_is_refused() -> None:
    s, _ = train()
    s.constrain("c0.u1 - c1.u1", name="first", eliminate="c1.u1")
    s.constrain("c1.u1 - c2.u1", name="second", eliminate="c1.u1")
    with pytest.raises(ModelError, match=r"'second' cannot eliminate 'c1.u1'.*could eliminate 'c[02].u1'"):
        s.derive()


def test_a_choice_that_is_not_in_the_constraint_is_refused() -> None:
    s, _ = train()
    with pytest.raises(ModelError, match=r"'coupling' does not hold 'c2.u1'"):
        s.constrain("c0.u1 - c1.u1", name="coupling", eliminate="c2.u1")


# ---------------------------------------------------------------- redundant, contradictory, senseless


def test_a_constraint_that_follows_from_others_is_named() -> None:
    s, _ = train()
    s.constrain("c0.u1 - c1.u1", name="a")
    s.constrain("c1.u1 - c2.u1", name="b")
    s.constrain("2*c0.u1 - 2*c2.u1", name="c")
    eom = s.derive()
    assert eom.redundant_constraints == ("c",)
    assert len(eom.speeds) == 2


def test_redundancy_that_only_numbers_show_is_named() -> None:
    """An axle seen from both ends, with angles that no simplification relates."""
    s = System("axle")
    body = s.body("axle", joint=Planar("z"), mass=1, inertia=(1, 1, 1))
    for name, y in (("left", "1.0"), ("right", "-1.0")):
        s.constrain(f"cos(axle.q3)*axle.u2 - sin(axle.q3)*axle.u1 + 0*{y}*axle.u3", name=name)
    s.constrain("(1 - 2*sin(axle.q3/2)^2)*axle.u2 - 2*sin(axle.q3/2)*cos(axle.q3/2)*axle.u1", name="again")
    eom = s.derive()
    assert eom.redundant_constraints == ("right", "again")
    assert len(body.speeds) - len(eom.speeds) == 1


def test_contradictory_constraints_are_refused_with_both() -> None:
    s, _ = train()
    s.constrain("c0.u1 - c1.u1 - 1", name="ahead")
    s.constrain("c0.u1 - c1.u1 - 2", name="further")
    with pytest.raises(ModelError, match=r"(?s)'further'.*contradicts.*'ahead': .*c1.u1.*leave 1 = 0"):
        s.derive()


def test_over_constrained_system_is_refused() -> None:
    s, _ = train(2)
    s.constrain("c0.u1 - c1.u1", name="a")
    s.constrain("c0.u1 + c1.u1", name="b")
    with pytest.raises(ModelError, match=r"(?s)'train' is over-constrained: 2 constraints.*'a'.*'b'"):
        s.derive()


@pytest.mark.parametrize("steer", ["0.1", "0.1*sin(w*t)"])
def test_wheels_whose_axes_do_not_meet_are_refused(steer: str) -> None:
    """Steered in parallel, not by Ackermann: at the start of the second the clash does not show yet."""
    s = System("car")
    s.parameter("w", 2.0, units="rad/s")
    car = s.body("car", joint=Planar("z", velocity="body"), mass=1, inertia=(1, 1, 1))
    s.constrain(car.u2, name="rear")
    for name, y in (("left", 0.7), ("right", -0.7)):
        wheel = s.body(name, car, Revolute("z"), at=(2.6, y, 0), mass=1, inertia=(1, 1, 1))
        s.prescribe(wheel.q1, steer)
        s.constrain(dot(velocity(wheel), wheel.y), name=name)
    with pytest.raises(ModelError, match=r"(?s)'car' is over-constrained.*'rear'.*'left'.*'right'"):
        s.derive()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2*sin(w*t)", "holds no coordinate and no speed"),
        ("0.5*c0.u1^2 - c1.u1", "is not linear in the speeds: the factor of 'c0.u1' holds 'c0.u1'"),
        ("c0.u1*c1.u1", "is not linear in the speeds"),
        ("c0.q1*sin(0.5*c1.u1)", "is not linear in the speeds"),
        ("abs(c0.u1) - c1.u1", "is not linear in the speeds"),
    ],
)
def test_what_is_no_constraint_on_speeds_is_refused(text: str, message: str) -> None:
    s, _ = train()
    s.parameter("w", 2.0, units="rad/s")
    with pytest.raises(ModelError, match=r"constraint 'odd'.*" + message):
        s.constrain(text, name="odd")


# ---------------------------------------------------------------- given speeds


@pytest.mark.parametrize("seed", range(700, 704))
def test_random_rows_beside_a_prescribed_speed(seed: int) -> None:
    """For the multipliers a prescribed speed is one more row, u + b sin 2t = 0."""
    case = joint_case(Joint("planar", ("z", "parent")), seed, moving_parent=True)
    rng = np.random.default_rng(seed)
    i = int(rng.integers(case.tree.nu))
    given = Row({i: (1.0, 0.0, 0)}, 0.8)
    rows = random_rows(case, 2, rng)
    u, expected = constrained_truth(case, [*rows, given])
    system = described(case, rows)
    system.prescribe(system.speeds[i], "-0.8*sin(w*t)")
    reduction = reduce_system(system, Undimensioned(), initial_configuration(system))
    close(
        evaluated(rates(system, reduction, "first", ORDERS[0]), values(system, case.q, u, TIME)),
        expected,
    )


def test_prescribed_speeds_enter_constraints_with_their_rates() -> None:
    """A winch pulls a carriage through a lever: u₁ = ½ (u₀ + u₂), where u₀ is a given function of time."""
    s, _ = train(3)
    s.parameter("w", 2.0, units="rad/s")
    s.prescribe("c0.u1", "0.5*sin(w*t)")
    s.constrain("c0.u1 - 2*c1.u1 + c2.u1", name="lever", eliminate="c1.u1")
    model = s.derive().compile()
    assert model.speed_names == ("c2.u1",)
    # Of T = m₁ u₁²/2 + m₂ u₂²/2: ½ m₁ ½ (u̇₀ + u̇₂) + m₂ u̇₂ = 0 with masses 2 and 3
    given, t = 0.5 * 2 * math.cos(2 * TIME), TIME
    found = model.derivatives(t, [0.0, 0.0, 0.0, 0.7])
    assert found == pytest.approx(
        [0.5 * math.sin(2 * t), 0.5 * (0.7 + 0.5 * math.sin(2 * t)), 0.7, -0.5 * given / (0.5 + 3)], rel=1e-13
    )


def test_prescribed_motion_that_contradicts_a_constraint_is_refused() -> None:
    s, _ = train(3)
    s.prescribe("c0.u1", "1.5")
    s.prescribe("c1.u1", "0.5")
    s.constrain("c0.u1 - c1.u1", name="coupling")
    with pytest.raises(ModelError, match=r"(?s)'coupling'.*contradicts.*'c0.u1' = 1.5.*'c1.u1' = 0.5"):
        s.derive()


def test_initial_speeds_that_clash_are_refused() -> None:
    s, _ = train()
    s.constrain("c0.u1 - c1.u1", name="coupling")
    model = s.derive().compile()
    with pytest.raises(ParameterError, match=r"c0.u1, c1.u1 contradict constraint 'coupling'"):
        model.state({"c0.u1": 1.0, "c1.u1": 2.0})
    state = dict(zip((*model.coordinate_names, *model.speed_names), model.state({"c1.u1": 2.0}), strict=True))
    assert state["c0.u1"] == pytest.approx(2.0, rel=1e-15)
