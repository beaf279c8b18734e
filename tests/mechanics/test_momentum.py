"""Momenta as states: the same motion as with speeds, on every joint, and what is conserved exactly."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import ZERO
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import initial_configuration, reduce_system
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.tree import numeric
from armillary.program.formalisms.momentum import momentum_targets
from armillary.program.formalisms.momentum_states import (
    SOLUTIONS,
    composite_momenta,
    conjugate_momenta,
    solved_speeds,
    velocities,
)
from armillary.stages.model import Model
from examples import (
    car,
    momentum_tree,
    spacecraft_1,
    spacecraft_2,
    spinning_top,
    stanford_arm,
)
from tests.mechanics import reference
from tests.mechanics.random_trees import KINDS, build, joint_case, tree_case, values
from tests.mechanics.solving import close

# ---------------------------------------------------------------- agreement


def accelerations(system: arm.System, q: Any, u: Any, *, regrouped: bool, axes: str = "ground") -> np.ndarray:
    """u̇ from the expressions of the program: states from speeds, then the derivative along their rates."""
    configuration = initial_configuration(system)
    reduction = reduce_system(system, Undimensioned(), configuration)
    wanted, _ = momentum_targets(system, reduction, configuration, regrouped=regrouped, axes=axes)
    at = values(system, q, u)
    momenta, rates = wanted.stepping
    p = dict(zip(wanted.speeds, evaluate_all(momenta.results, at), strict=True))
    return np.array(evaluate_all(rates.results, at | p), float)


@pytest.mark.parametrize(
    ("joint", "moving_parent"), [*[(j, True) for j in KINDS], *[(j, False) for j in KINDS[::3]]], ids=str
)
def test_every_kind_of_joint_obeys_first_principles(joint: reference.Joint, moving_parent: bool) -> None:
    case = joint_case(joint, seed=11, moving_parent=moving_parent)
    expected = reference.accelerations(case.tree, case.q, case.u)
    close(accelerations(build(case), case.q, case.u, regrouped=moving_parent), expected)


@pytest.mark.parametrize("seed", [200, 201, 203, 204, 206, 207])
def test_random_trees_obey_first_principles(seed: int) -> None:
    """With loads of every kind, gravity and massless frames; every second one with its data as parameters."""
    case = tree_case(seed)
    expected = reference.accelerations(case.tree, case.q, case.u)
    system = build(case, parameters=seed % 2 == 0)
    axes = "body" if seed % 4 == 3 else "ground"
    close(accelerations(system, case.q, case.u, regrouped=seed % 3 > 0, axes=axes), expected)


@pytest.mark.parametrize("way", SOLUTIONS)
@pytest.mark.parametrize("seed", range(5))
def test_speeds_come_back_from_momenta_on_numbers(seed: int, way: str) -> None:
    case = tree_case(seed)
    system = build(case)
    tree = numeric(build_tree(system, split_free_bodies=True), values(system, case.q, case.u))
    motions = velocities(tree)
    p = conjugate_momenta(tree, motions, composite_momenta(tree, motions))
    found = solved_speeds(tree, p, way)
    close([found[i] for i in range(len(case.u))], case.u)


@pytest.mark.parametrize(
    "module",
    [stanford_arm, spacecraft_1, spacecraft_2, spinning_top, car],
    ids=lambda m: m.__name__.split(".")[-1],
)
def test_examples_agree_with_other_formalisms(module: Any) -> None:
    """Accelerations, and all outputs, some of which hold accelerations."""
    system = module.system()
    model = system.derive(formalism="momentum", small=False).compile()
    rng = np.random.default_rng(5)
    q, u = rng.uniform(-0.6, 0.6, len(model.coordinate_names)), rng.normal(size=len(model.speed_names))
    for start in model.equations.program.quaternions:
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    outputs = model.outputs(0.3, [*q, *model.momenta(0.3, q, u)])
    other = system.derive(small=False).compile()
    close(model.accelerations(0.3, q, u), other.accelerations(0.3, q, u))
    for name, value in other.outputs(0.3, [*q, *u]).items():
        assert outputs[name] == pytest.approx(value, rel=1e-10, abs=1e-10), name


def test_the_matrix_is_symmetric_though_nothing_makes_it_so() -> None:
    eom = momentum_tree.system().derive(formalism="momentum")
    rng = np.random.default_rng(3)
    names = [*eom.coordinates, *eom.speeds]
    at = {n: float(x) for n, x in zip(names, rng.normal(size=len(names)), strict=True)}
    start = eom.coordinates.index("B1.q4")
    e = np.array([at[f"B1.q{i}"] for i in range(4, 8)])
    at |= {f"B1.q{i}": x for i, x in zip(range(4, 8), e / np.linalg.norm(e), strict=True)}
    e = np.array([at[f"G2.q{i}"] for i in range(1, 5)])
    at |= {f"G2.q{i}": x for i, x in zip(range(1, 5), e / np.linalg.norm(e), strict=True)}
    assert start == 3
    A = np.array([evaluate_all(row, at) for row in eom.momentum_matrix], float)
    np.testing.assert_allclose(A, A.T, rtol=0, atol=1e-13 * np.max(np.abs(A)))
    assert np.all(np.linalg.eigvalsh(A) > 0)


# ---------------------------------------------------------------- what is conserved


def tumbling(joint: Any) -> arm.System:
    """A body with two more on it, sprung and damped: nothing from outside acts."""
    s = arm.System("tumbling")
    A = s.body("A", joint=joint, mass=4, com=(0.1, -0.2, 0.05), inertia=(1, 2, 2.5))
    B = s.body("B", A, arm.Gimbal("zx"), at=(0.5, 0, 0.1), com=(0.4, 0, 0), mass=2, inertia=(0.1, 0.3, 0.3))
    C = s.body(
        "C", B, arm.Prismatic("x"), at=(0.8, 0, 0), mass=1, com=(0, 0.1, 0), inertia=(0.05, 0.05, 0.05)
    )
    s.moment("motor", "3*sin(2*t) - 0.2*B.u1", A.z, on=B, reaction=A)
    s.strut("spring", "-50*(x - 0.7) - 0.5*v", between=(A.origin, C.com))
    momentum, angular = s.momentum(), s.angular_momentum("mass centre")
    for letter, unit in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"P{letter}", arm.dot(momentum, unit))
        s.output(f"H{letter}", arm.dot(angular, unit))
    return s


@cache
def tumbling_in_momenta() -> Model:
    """The free tree with its momenta as states."""
    return tumbling(arm.Free()).derive(formalism="momentum").compile()


@cache
def both_ways(change: Callable[[arm.System], None]) -> tuple[Model, Model]:
    """The free tree with this change, in momenta and in speeds."""
    s = tumbling(arm.Free())
    change(s)
    model, kane = (s.derive(formalism=f).compile() for f in ("momentum", "kane"))
    return model, kane


TIGHT: dict[str, Any] = {"method": "dop853", "rtol": 1e-13, "atol": 1e-13, "sample": 0.25}
START = {"A.u1": 0.3, "A.u4": 0.7, "A.u5": -0.4, "A.u6": 1.1, "B.u1": 2.0, "B.u2": -1.0, "C.u1": 0.5}


@pytest.mark.parametrize("velocity", ["parent", "body"])
def test_momenta_of_a_free_tree_stay_to_the_last_bit(velocity: str) -> None:
    """In a thousand revolutions' worth of coarse steps, whose truncation is far from small."""
    if velocity == "parent":
        model = tumbling_in_momenta()
    else:
        model = tumbling(arm.Free(velocity=velocity)).derive(formalism="momentum").compile()
    eom = model.equations
    names = [*eom.coordinates, *eom.momenta]
    at_rest = [n for n, rate in zip(names, core_of(eom).targets.rates, strict=True) if rate is ZERO]
    whole = [f"{of} {a}" for of in ("momentum", "angular momentum") for a in "xyz"]
    assert at_rest == whole
    run = model.simulate(2000.0, step=0.05, sample=10.0, initial=START)
    for name in whole:
        assert np.all(run[name] == run[name][0])
    size = max(np.max(np.abs(run[name])) for name in whole)
    # Computed again, body by body, from speeds that the momenta gave: rounding alone.
    for letter in "xyz":
        P, H = run[f"P{letter}"], run[f"H{letter}"]
        assert np.max(np.abs(P - run[f"momentum {letter}"])) < 1e-14 * size
        assert np.max(np.abs(H - run[f"angular momentum {letter}"])) < 1e-14 * size


def test_kane_drifts_where_momenta_do_not() -> None:
    """The same coarse run: speeds as states lose angular momentum to truncation."""
    system = tumbling(arm.Free())
    run = system.derive(formalism="kane").compile().simulate(100.0, step=0.05, sample=1.0, initial=START)
    assert np.ptp(run["Hz"]) > 1e-8


def test_a_top_keeps_its_vertical_angular_momentum() -> None:
    """About the point that is held; gravity has no moment about the vertical."""
    s = arm.System("top")
    A = s.body("A", joint=arm.Spherical(), com=(0, 0, 0.3), mass=2, inertia=(0.2, 0.25, 0.1))
    s.body("B", A, arm.Revolute("z"), at=(0, 0, 0.6), com=(0.1, 0, 0), mass=0.5, inertia=(0.01, 0.01, 0.01))
    s.gravity(9.81, -s.ground.z)
    model = s.derive(formalism="momentum").compile()
    run = model.simulate(20.0, step=0.02, initial={"A.u1": 0.4, "A.u3": 20.0, "B.u1": -3.0})
    assert model.momentum_names[:3] == tuple(f"angular momentum {a}" for a in "xyz")
    assert np.all(run["angular momentum z"] == run["angular momentum z"][0])
    assert np.ptp(run["angular momentum x"]) > 0.1


def test_bodies_tied_by_a_spring_exchange_momentum() -> None:
    """Two trees: each has its own momenta, whose sum stays as far as the method makes it."""
    s = arm.System("two bodies")
    for i, name in enumerate(("A", "B")):
        s.body(name, joint=arm.Free(), mass=1 + i, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.25))
    s.strut("spring", "-20*(x - 1)", between=(s.bodies["A"].point(0.2, 0, 0), s.bodies["B"].point(0, 0, 0.3)))
    model = s.derive(formalism="momentum").compile()
    kane = s.derive(formalism="kane").compile()
    start = {"B.q1": 1.5, "A.u2": 0.3, "B.u4": 2.0}
    run, other = (m.simulate(5.0, initial=start, **TIGHT) for m in (model, kane))
    for axis in "xyz":
        total = run[f"momentum {axis} of A"] + run[f"momentum {axis} of B"]
        assert np.ptp(total) < 1e-11
        assert np.ptp(run[f"momentum {axis} of A"]) > 0.01
    for name in ("A.q1", "B.q5", "A.u6"):
        assert run[name] == pytest.approx(other[name], abs=1e-9)


def loaded_and_kicked(s: arm.System) -> None:
    s.gravity(2.0, -s.ground.y)
    s.force("thrust", 3.0, s.bodies["A"].x, at=s.bodies["B"].point(0.1, 0.2, 0.3))
    s.event("kick", "t - 0.5", set={"B.u1": "-B.u1 + 0.3", "C.q1": "C.q1 + 0.01"})


def test_external_loads_change_the_momenta_of_the_whole_and_events_set_them() -> None:
    """P' is the force and H' its torque about the mass centre; gravity has none.

    A kick on one joint changes all momenta that its speed is part of.
    """
    run, other = (m.simulate(1.0, initial=START, **TIGHT) for m in both_ways(loaded_and_kicked))
    for letter in "xyz":
        assert run[f"momentum {letter}"] == pytest.approx(other[f"P{letter}"], abs=1e-9)
        assert run[f"angular momentum {letter}"] == pytest.approx(other[f"H{letter}"], abs=1e-9)
    for name in other.names:
        assert run[name] == pytest.approx(other[name], abs=1e-9), name
    [kick], [same] = run.events, other.events
    assert (kick.name, same.name) == ("kick", "kick")


# ---------------------------------------------------------------- given and locked speeds, events


def driven() -> arm.System:
    s = arm.System("driven")
    A = s.body("A", joint=arm.Free(), mass=3, inertia=(0.5, 0.6, 0.7))
    B = s.body("B", A, arm.Revolute("y"), at=(0.4, 0, 0), com=(0.3, 0, 0.1), mass=1, inertia=(0.1, 0.1, 0.1))
    C = s.body("C", B, arm.Prismatic("x"), at=(0.5, 0, 0), mass=0.5, inertia=(0.02, 0.02, 0.02))
    s.strut("spring", "-30*(x - 0.5)", between=(B.origin, C.origin))
    s.prescribe(B.q1, "0.5*sin(3*t)")
    s.output("effort", s.effort(B.q1))
    return s


def test_prescribed_motion_moves_the_rest() -> None:
    """Its part of the momentum is known; the momenta of the whole stay, for what drives it is inside."""
    s = driven()
    model, kane = (s.derive(formalism=f).compile() for f in ("momentum", "kane"))
    start = {"C.q1": 0.4, "A.u5": 0.3}
    run, other = (m.simulate(4.0, initial=start, **TIGHT) for m in (model, kane))
    for name in other.names:
        assert run[name] == pytest.approx(other[name], abs=1e-9), name
    assert np.all(run["angular momentum y"] == run["angular momentum y"][0])
    assert "p(B.u1)" not in model.momentum_names
    assert "p(B.u1)" in run.names


def test_locked_root_speeds_fall_back_on_projections() -> None:
    s = tumbling(arm.Free())
    s.lock("A.u2")
    model, kane = (s.derive(formalism=f).compile() for f in ("momentum", "kane"))
    assert model.momentum_names[:2] == ("p(A.u1)", "p(A.u3)")
    rng = np.random.default_rng(2)
    q, u = rng.normal(size=len(model.coordinate_names)), rng.normal(size=len(model.speed_names))
    q[3:7] /= np.linalg.norm(q[3:7])
    close(model.accelerations(0.2, q, u), kane.accelerations(0.2, q, u))


def locked_and_released(s: arm.System) -> None:
    s.event("lock", "t - 0.5", lock=["B.u1"])
    s.event("release", "t - 1", unlock=["B.u1"])


@pytest.mark.parametrize("how", [{"step": 0.002}, {"sample": 0.05}], ids=["rk4", "dop853"])
def test_locking_and_releasing_keeps_the_other_momenta(how: dict[str, Any]) -> None:
    run, other = (m.simulate(1.5, initial=START, **how) for m in both_ways(locked_and_released))
    for name in ("A.u4", "B.u1", "B.u2", "C.q1"):
        assert run[name] == pytest.approx(other[name], abs=1e-7), name  # of rk4: 1e-8
    between = (run.time > 0.5) & (run.time < 1.0)
    assert np.all(run["B.u1"][between] == 0.0)
    for axis in "xyz":
        assert (
            np.ptp(run[f"angular momentum {axis}"]) < 1e-14 * np.max(np.abs(run["angular momentum z"])) * 10
        )


# ---------------------------------------------------------------- what a user meets


def test_a_state_is_made_from_speeds() -> None:
    model = tumbling_in_momenta()
    y = model.state(START)
    q = y[: len(model.coordinate_names)]
    u = [START.get(name, 0.0) for name in model.speed_names]
    assert y[len(q) :] == pytest.approx(model.momenta(0.0, q, u), abs=0)
    outputs = model.outputs(0.0, y)
    assert [outputs[n] for n in model.speed_names] == pytest.approx(u, abs=1e-14)
    assert len(model.derivatives(0.0, y)) == len(y)


def test_closed_loops_are_refused_with_a_remedy() -> None:
    s = arm.System("loop")
    A = s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=0)
    B = s.body("B", A, arm.Revolute("z"), at=(2, 0, 0), com=(1, 0, 0), mass=1, inertia=0)
    s.close_loop(B.point(1, 0, 0), s.ground.point(2, 0, 0), [s.ground.y], name="pin")
    with pytest.raises(ModelError, match=r"pin.*use formalism='kane', 'recursive' or 'redundant'"):
        s.derive(formalism="momentum")


def test_small_quantities_are_refused_with_a_remedy() -> None:
    s = tumbling(arm.Free())
    s.small("B.q1")
    with pytest.raises(ModelError, match=r"'B.q1' is declared small.*small=False"):
        s.derive(formalism="momentum")
    s.derive(formalism="momentum", small=False)


def test_a_massless_joint_is_named() -> None:
    s = arm.System("nothing")
    s.body("A", joint=arm.Revolute("z"), mass=0, inertia=0)
    with pytest.raises(ModelError, match=r"A\.u1.*moves no mass"):
        s.derive(formalism="momentum")


def test_clocks_stand_at_the_time_of_the_momenta(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in all other values of a model: a pulse that began before t is on."""
    s = arm.System("pulse")
    body = s.body("body", joint=arm.Free(), mass=2, inertia=(1, 1, 1))
    s.thruster("jet", 2.0, body.x, at=body.com, on=[(2, 10)])
    model = s.derive(formalism="momentum").compile()
    seen = []
    core = core_of(model)
    plain = core.second_half
    monkeypatch.setattr(core, "second_half", lambda *args: (seen.append(args[-1].copy()), plain(*args))[1])
    q, u = [0, 0, 0, 1, 0, 0, 0], [3, 0, 0, 0, 0, 0]
    assert model.momenta(5.0, q, u)[0] == 6.0
    assert model.accelerations(5.0, q, u)[0] == 1.0
    assert [list(memory) for memory in seen] == [[5.0], [5.0]]
