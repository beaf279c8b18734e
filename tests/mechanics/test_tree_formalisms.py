"""Formalisms agree with each other and with an independent evaluator, on every joint and on random trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.mechanics import recursive
from armillary.mechanics.explicit import speed_rates
from armillary.mechanics.kane import implicit_equations
from armillary.mechanics.loads import Applied, applied_loads
from armillary.mechanics.regroup import CHOICES, regroup
from armillary.mechanics.tree import Tree, numeric, plant
from armillary.mechanics.uncouple import ORDERS, uncouple
from tests.mechanics import reference
from tests.mechanics.random_trees import JOINTS, Case, build, joint_case, tree_case, values

FORMALISMS = ("recursive", *ORDERS)
REGROUPINGS = ("none", *CHOICES)


def rates(tree: Tree, applied: Applied, formalism: str) -> list[Any]:
    """u̇ in the order of the speeds, by recursion or by Kane's equations uncoupled in the named order."""
    if formalism == "recursive":
        x = recursive.accelerations(tree, applied)
    else:
        x = uncouple(implicit_equations(tree, applied), formalism)
    found = speed_rates(tree, x)
    return [found[i] for i in range(len(found))]


def regrouped(tree: Tree, choice: str) -> Tree:
    """The tree with its inertia regrouped, or as it is."""
    return tree if choice == "none" else regroup(tree, choice)


def evaluated(found: list[Any], at: dict[str, Any]) -> Any:
    """Expressions as numbers; numbers as they are."""
    nodes = [x for x in found if isinstance(x, Expr)]
    table = dict(zip(nodes, evaluate_all(nodes, at), strict=True))
    return np.array([table[x] if isinstance(x, Expr) else x for x in found])


def on_numbers(applied: Applied, at: dict[str, Any]) -> Applied:
    """Loads as numbers or arrays."""
    return applied.map(lambda x: evaluate_all([x], at)[0] if isinstance(x, Expr) else x)


def close(found: Any, expected: Any) -> None:
    """Equal to 1e-10 of the largest: what the issue asks of formalisms on random trees."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))


def check_numbers(case: Case) -> Any:
    """Every formalism with every regrouping, run on plain floats, gives the reference's accelerations."""
    expected = reference.accelerations(case.tree, case.q, case.u)
    system = build(case)
    at = values(system, case.q, case.u)
    planted = plant(system)
    applied = on_numbers(applied_loads(system, planted), at)
    tree = numeric(planted, at)
    for choice in REGROUPINGS:
        for formalism in FORMALISMS:
            close(rates(regrouped(tree, choice), applied, formalism), expected)
    return expected


@pytest.mark.parametrize("moving_parent", [False, True], ids=["on ground", "on a moving parent"])
@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: f"{j.kind} {j.settings}")
def test_every_joint_gives_the_accelerations_of_first_principles(joint: reference.Joint, moving_parent: bool) -> None:
    case = joint_case(joint, seed=7, moving_parent=moving_parent)
    expected = check_numbers(case)
    system = build(case, parameters=True)
    tree = regroup(plant(system))
    found = rates(tree, applied_loads(system, tree), "recursive")
    close(evaluated(found, values(system, case.q, case.u)), expected)


@pytest.mark.parametrize("seed", range(60))
def test_random_trees_on_numbers_give_the_accelerations_of_first_principles(seed: int) -> None:
    check_numbers(tree_case(seed))


@pytest.mark.parametrize("seed", range(100, 116))
def test_random_trees_on_symbols_give_the_accelerations_of_first_principles(seed: int) -> None:
    """Each seed takes another regrouping and order of elimination, so that all pairs are met."""
    case = tree_case(seed)
    expected = reference.accelerations(case.tree, case.q, case.u)
    system = build(case, parameters=seed % 2 == 0)
    at = values(system, case.q, case.u)
    tree = regrouped(plant(system), REGROUPINGS[seed % 4])
    applied = applied_loads(system, tree)
    for formalism in ("recursive", ORDERS[seed % 3]):
        close(evaluated(rates(tree, applied, formalism), at), expected)


@pytest.mark.parametrize("seed", range(200, 206))
@pytest.mark.parametrize("formalism", ["recursive", "leaves first"])
def test_arrays_as_scalars_give_many_answers_at_once(seed: int, formalism: str) -> None:
    case = tree_case(seed)
    rng = np.random.default_rng(seed)
    speeds = rng.normal(size=(5, case.tree.nu))
    expected = np.array([reference.accelerations(case.tree, case.q, u) for u in speeds])
    system = build(case)
    at = values(system, np.broadcast_to(case.q[:, None], (case.tree.nq, 5)), speeds.T)
    planted = plant(system)
    applied = on_numbers(applied_loads(system, planted), at)
    found = rates(regroup(numeric(planted, at), "flat"), applied, formalism)
    close(np.array([np.broadcast_to(x, 5) for x in found]).T, expected)
