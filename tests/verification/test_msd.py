"""Momentum-state dynamics: trees with gimbals, ball joints, slides, locked axes and flexible bodies.

Source: Stoneking (2010), momentum state dynamics; the reference data are of its corrected equations and agree
to 1e-13 with particles whose Jacobians were differentiated automatically.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from armillary.algebra.calculus import evaluate_all, gradient
from armillary.algebra.expression import as_expr
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.program.formalisms.momentum_states import (
    column_rates,
    composite_momenta,
    conjugate_momenta,
    conjugate_rates,
    external_loads,
    velocities,
    weights,
)
from armillary.verification.cases.momentum import MomentumSystem as Case
from armillary.verification.cases.momentum import momentum_equations
from tests.verification.common import TIGHT, assert_close, assert_near

NAMES = pytest.mark.parametrize("name", ["tree5", "sliders_locked", "flexible"])
# Both are integrated to 1e-12 or better; the data repeat themselves to 9e-12, 3e-10 and 9e-10 in speeds.
TRAJECTORY = 1e-8


@cache
def case(name: str, locked: bool = True) -> Case:
    return Case(name, locked=locked)


@cache
def compiled(name: str, locked: bool = True) -> Any:
    return momentum_equations(name, locked=locked).compile()


def with_locked(axes: tuple[int, ...]) -> Any:
    """The model with slides and a lock, where other axes are locked."""
    found = Case("sliders_locked", locked=False)
    if list(axes) == found.data["model"]["locked"]:
        return compiled("sliders_locked")
    for i in axes:
        found.system.lock(found.speeds[i])
    return found.system.derive(formalism="momentum").compile()


def in_order(found: Case, model: Any, values: Any) -> np.ndarray:
    """Values of a model's speeds in the order of the data, zero for speeds that it has not."""
    by_name = dict(zip(model.speed_names, values, strict=True))
    return np.array([by_name.get(name, 0.0) for name in found.speeds])


def split(found: Case, model: Any, state: dict[str, Any]) -> tuple[list[float], list[float]]:
    """q and u as a model takes them."""
    q, u = found.coordinates(state["config"]), dict(zip(found.speeds, state["speeds"], strict=True))
    return [q[n] for n in model.coordinate_names], [u[n] for n in model.speed_names]


@NAMES
def test_momenta_their_matrix_and_their_rates_are_those_of_the_data(name: str) -> None:
    """In projections on every joint's own directions, as the data have them; nothing is locked, as there."""
    found = case(name, False)
    system, plain = found.system, Undimensioned()
    tree = build_tree(system, plain, split_free_bodies=True)
    motions = velocities(tree)
    momenta = composite_momenta(tree, motions)
    places = [[str(u) for u in system.speeds].index(speed) for speed in found.speeds]
    p = conjugate_momenta(tree, motions, momenta)
    u = [plain(system.speeds[i]) for i in places]
    applied = applied_loads(system, tree, plain)
    turning = column_rates(tree, {plain(q): plain(system.rates[q]) for q in system.coordinates})
    external = external_loads(tree, applied)
    rates = conjugate_rates(tree, motions, momenta, weights(tree), external, applied, turning)
    A = [gradient(as_expr(p[i]), u) for i in places]
    wanted = [as_expr(x[i]) for x in (p, rates) for i in places] + [x for row in A for x in row]
    for state in found.data["random_states"]:
        values = found.coordinates(state["config"]) | dict(zip(found.speeds, state["speeds"], strict=True))
        numbers = np.array(evaluate_all(wanted, values | {"t": 0.0}), float)
        n = len(u)
        matrix = numbers[2 * n :].reshape(n, n)
        largest = np.max(np.abs(matrix))
        assert_near(matrix / largest, matrix.T / largest, 1e-14, f"{name}, symmetry")
        assert_near(matrix / largest, np.array(state["momentum_matrix"]) / largest, 1e-13, f"{name}, A")
        assert_close(numbers[:n, None].T, [state["momenta"]], 1e-10, f"{name}, momenta")
        size = np.max(np.abs(state["momentum_rates"]))
        assert_near(numbers[n : 2 * n] / size, np.array(state["momentum_rates"]) / size, 1e-13, f"{name}, p'")


@NAMES
def test_speeds_come_back_from_momenta(name: str) -> None:
    found, model = case(name), compiled(name)
    for state in found.data["random_states"]:
        q, u = split(found, model, state)
        outputs = model.outputs(0.0, [*q, *model.momenta(0.0, q, u)])
        assert_near([outputs[n] for n in model.speed_names], u, 1e-12, f"{name}, u to p to u")


@NAMES
def test_momentum_of_the_whole(name: str) -> None:
    """Against the data's total momentum, and angular momentum moved from the ground's origin."""
    found, model = case(name), compiled(name)
    for state in found.data["random_states"]:
        q, u = split(found, model, state)
        p = dict(zip(model.momentum_names, model.momenta(0.0, q, u), strict=True))
        P = np.array([p[f"momentum {a}"] for a in "xyz"])
        H = np.array([p[f"angular momentum {a}"] for a in "xyz"])
        c = found.mass_centre(state)
        assert_close(P[None], [state["total_P"]], 1e-12, f"{name}, P")
        assert_close((H + np.cross(c, P))[None], [state["total_H_about_origin"]], 1e-12, f"{name}, H")


def test_locking_keeps_all_other_momenta() -> None:
    """The state of the free model without the locked momenta is that of the locked one after the impulse."""
    free, model = case("sliders_locked", False), compiled("sliders_locked", False)
    record = free.data["lock_events"]
    before = {"config": record["config"], "speeds": record["speeds_before"]}
    q, u = split(free, model, before)
    momenta = dict(zip(model.momentum_names, model.momenta(0.0, q, u), strict=True))
    for event in record["events"][::2] + record["events"][3:]:  # of those that lock one axis, one
        after = with_locked(tuple(event["locked"]))
        kept = [momenta[name] for name in after.momentum_names]
        outputs = after.outputs(0.0, [*q, *kept])
        assert_near([outputs[n] for n in free.speeds], event["speeds_after"], 1e-12, "speeds after locking")
        # The reference counts momenta from the ground, a run from the mass centre: from the same speeds here.
        u_after = split(free, model, before | {"speeds": event["speeds_after"]})[1]
        seen = dict(zip(model.momentum_names, model.momenta(0.0, q, u_after), strict=True))
        locked = [f"p({free.speeds[i]})" for i in event["locked"]]
        assert_near([outputs[n] for n in locked], [seen[n] for n in locked], 1e-10, "momentum while locked")


def test_run_with_an_axis_locked_and_released() -> None:
    """By Kane's equations; the same run in momenta is a row of the case `momentum_sliders`."""
    found = Case("sliders_locked", locked=False)
    axis = found.speeds[found.data["model"]["locked"][0]]
    found.system.event("lock", "t - 1", lock=[axis])
    found.system.event("release", "t - 2", unlock=[axis])
    record = found.data["lock_unlock_trajectory"]
    start = record["initial"]
    times = np.linspace(0.0, 3.0, 31)
    run = (
        found.system.derive(formalism="kane")
        .compile()
        .simulate(3.0, initial=found.state(start["config"], start["speeds"]), sample=times, **TIGHT)
    )
    for k, segment in enumerate(record["segments"]):
        # A row at the time of an event shows what comes after it, the data what comes before as well.
        rows = slice(10 * k, 10 * k + 10)
        check_run(found, run, rows, segment["configs"][:-1], segment["speeds"][:-1], f"segment {k}")


def check_run(found: Case, run: Any, rows: slice, configs: Any, speeds: Any, what: str) -> None:
    q = {name: run[name][rows] for name in found.coordinates(configs[0])}
    u = np.array([run[name][rows] for name in found.speeds]).T
    assert_near(u, speeds, TRAJECTORY, f"{what}, speeds")
    expected = [found.coordinates(config) for config in configs]
    assert_near(
        np.array(list(q.values())).T, [[e[name] for name in q] for e in expected], TRAJECTORY, f"{what}, q"
    )
