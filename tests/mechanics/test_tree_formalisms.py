"""Formalisms agree with each other and with an independent evaluator, on every joint and on random trees."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.mass_matrix import ORDERS
from armillary.mechanics.tree.regroup import regroup
from tests.mechanics import reference
from tests.mechanics.random_trees import JOINTS, KINDS, build, joint_case, tree_case, values
from tests.mechanics.solving import (
    REGROUPINGS,
    close,
    evaluated,
    planted_on_numbers,
    rates,
    rates_by_every_formalism,
    regrouped,
)


@pytest.mark.parametrize(
    ("joint", "moving_parent"), [*[(j, True) for j in JOINTS], *[(j, False) for j in KINDS[::3]]], ids=str
)
def test_every_joint_obeys_first_principles(joint: reference.Joint, moving_parent: bool) -> None:
    """On a moving parent, of every third kind on the ground, too. On numbers without regrouping; of every
    kind on a moving parent, on symbols with every datum a parameter and regrouped.
    """
    case = joint_case(joint, seed=7, moving_parent=moving_parent)
    expected = reference.accelerations(case.tree, case.q, case.u)
    system = build(case, parameters=True)
    at = values(system, case.q, case.u)
    for found in rates_by_every_formalism(*planted_on_numbers(system, at)).values():
        close(found, expected)
    if joint in KINDS and moving_parent:
        tree = regroup(build_tree(system))
        close(evaluated(rates(tree, applied_loads(system, tree), "recursive"), at), expected)


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_on_numbers_obey_first_principles(seed: int) -> None:
    """Every formalism with every regrouping, run on plain floats."""
    case = tree_case(seed)
    expected = reference.accelerations(case.tree, case.q, case.u)
    system = build(case)
    tree, applied = planted_on_numbers(system, values(system, case.q, case.u))
    for choice in REGROUPINGS:
        for found in rates_by_every_formalism(regrouped(tree, choice), applied).values():
            close(found, expected)


@pytest.mark.parametrize("seed", range(100, 115))
def test_random_trees_on_symbols_obey_first_principles(seed: int) -> None:
    """Each seed takes another regrouping and order of elimination, so that every pair is met once."""
    case = tree_case(seed)
    expected = reference.accelerations(case.tree, case.q, case.u)
    system = build(case, parameters=seed % 4 == 0)
    at = values(system, case.q, case.u)
    tree = regrouped(build_tree(system), REGROUPINGS[seed % 5])
    applied = applied_loads(system, tree)
    for formalism in ("recursive", ORDERS[seed % 3]):
        close(evaluated(rates(tree, applied, formalism), at), expected)


@pytest.mark.parametrize("formalism", ["recursive", "leaves first"])
@pytest.mark.parametrize("seed", [200, 201, 202])
def test_arrays_as_scalars_give_many_answers_at_once(seed: int, formalism: str) -> None:
    case = tree_case(seed)
    speeds = np.random.default_rng(seed).normal(size=(5, case.tree.nu))
    expected = np.array([reference.accelerations(case.tree, case.q, u) for u in speeds])
    system = build(case)
    at = values(system, np.broadcast_to(case.q[:, None], (case.tree.nq, 5)), speeds.T)
    tree, applied = planted_on_numbers(system, at)
    found = rates(regroup(tree, "flat"), applied, formalism)
    close(np.array([np.broadcast_to(x, 5) for x in found]).T, expected)
