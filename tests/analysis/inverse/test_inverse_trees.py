"""Efforts by recursive Newton–Euler against equations of motion that share no code with it.

M and f of random trees come from an evaluator in NumPy (tests/mechanics/reference.py): τ = M u̇ − f, along all
speeds of the tree, also where closed loops make some of them dependent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armillary.algebra.walk import Undimensioned
from armillary.analysis.effort_equations import tree_efforts
from armillary.mechanics.constraints.reduction import initial_configuration, reduce_system
from armillary.model.space.attraction import all_loads
from armillary.stages import System
from tests.mechanics import closed_mechanisms, reference
from tests.mechanics.closed_mechanisms import closed_case, describe
from tests.mechanics.random_trees import JOINTS, Case, build, joint_case, tree_case
from tests.mechanics.solving import evaluated

DRIFTING = [j for j in JOINTS if j.kind in ("free", "planar", "spherical", "general")]


def efforts_of(s: System, case: Case, udot: Any) -> Any:
    """τ along all speeds, from the rates of the independent ones."""
    reduction = reduce_system(s, Undimensioned(), initial_configuration(s))
    free = [s.speeds.index(u) for u in reduction.independent(s)]
    rates = {i: reduction.plain(s.accelerations[s.speeds[i]]) for i in free}
    tau = tree_efforts(s, reduction, rates, all_loads(s))
    names = [str(x) for x in (*s.coordinates, *s.speeds)]
    at = dict(zip(names, [*case.q, *case.u], strict=True)) | {str(x): udot[i] for i, x in rates.items()}
    at |= {name: node.data.default for name, node in s.parameters.items()}
    return evaluated([tau[i] for i in range(len(tau))], at | {"t": 0.0})


def check(s: System, case: Case, udot: Any) -> None:
    M, f = reference.equations(case.tree, case.q, case.u)
    expected = M @ udot - f
    np.testing.assert_allclose(
        efforts_of(s, case, udot), expected, rtol=0, atol=1e-12 * np.max(np.abs(expected))
    )


@pytest.mark.parametrize("joint", DRIFTING[::3], ids=str)
def test_efforts_at_a_joint_on_a_moving_parent(joint) -> None:
    case = joint_case(joint, 3, moving_parent=True)
    check(build(case), case, np.random.default_rng(7).normal(size=case.tree.nu))


@pytest.mark.parametrize("seed", range(5))
def test_efforts_of_random_trees(seed: int) -> None:
    case = tree_case(seed)
    check(build(case), case, np.random.default_rng(7).normal(size=case.tree.nu))


@pytest.mark.parametrize("kind", ["spherical", "revolute", "prismatic", "distance"])
def test_efforts_of_closed_loops(kind: str) -> None:
    """Rates that keep the loops closed; those of the dependent speeds are not given but found."""
    closed = closed_case(1, (kind,))
    case = closed.case
    J, gamma = closed_mechanisms.jacobian(closed, case.u)
    udot = np.random.default_rng(7).normal(size=case.tree.nu)
    udot -= np.linalg.pinv(J, rcond=1e-9) @ (J @ udot + gamma)
    check(describe(closed), case, udot)
