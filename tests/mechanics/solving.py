"""Accelerations by each formalism, for tests: on symbols, numbers or arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import AppliedLoads, applied_loads
from armillary.mechanics.tree.mass_matrix import ORDERS, speed_rates, uncouple
from armillary.mechanics.tree.regroup import CHOICES, regroup
from armillary.mechanics.tree.tree import Tree, numeric
from armillary.program.formalisms import back_substitution, recursive
from armillary.program.formalisms.tree_formalisms import implicit_equations
from armillary.stages import System

TREE_FORMALISMS = {
    "recursive": recursive.accelerations,
    "back_substitution": back_substitution.accelerations,
}
FORMALISMS = (*TREE_FORMALISMS, *ORDERS)
REGROUPINGS = ("none", *CHOICES)


def rates(tree: Tree, applied: AppliedLoads, formalism: str) -> list[Any]:
    """u̇ in the order of the speeds, by a formalism or by Kane's equations uncoupled in the named order."""
    if formalism in TREE_FORMALISMS:
        return in_order(tree, TREE_FORMALISMS[formalism](tree, applied))
    return in_order(tree, uncouple(implicit_equations(tree, applied), formalism))


def rates_by_every_formalism(tree: Tree, applied: AppliedLoads) -> dict[str, list[Any]]:
    """u̇ by recursion, by back substitution and by every order of elimination."""
    equations = implicit_equations(tree, applied)
    found = {order: in_order(tree, uncouple(equations, order)) for order in ORDERS}
    return {name: rates(tree, applied, name) for name in TREE_FORMALISMS} | found


def in_order(tree: Tree, x: dict[int, Any]) -> list[Any]:
    """The rates of the user's speeds, from the formalism's unknowns."""
    found = speed_rates(tree, x)
    return [found[i] for i in range(len(found))]


def regrouped(tree: Tree, choice: str) -> Tree:
    """The tree with its inertia regrouped, or as it is."""
    return tree if choice == "none" else regroup(tree, choice)


def planted_on_numbers(system: System, at: dict[str, Any]) -> tuple[Tree, AppliedLoads]:
    """Tree and loads with numbers or arrays in place of symbols."""
    planted = build_tree(system)
    applied = applied_loads(system, planted)
    found: list[Expr] = []
    applied.map(lambda x: found.append(x) if isinstance(x, Expr) else None)
    table = dict(zip(found, evaluate_all(found, at), strict=True))
    return numeric(planted, at), applied.map(lambda x: table[x] if isinstance(x, Expr) else x)


def evaluated(found: list[Any], at: dict[str, Any]) -> Any:
    """Expressions as numbers; numbers as they are."""
    nodes = [x for x in found if isinstance(x, Expr)]
    table = dict(zip(nodes, evaluate_all(nodes, at), strict=True))
    return np.array([table[x] if isinstance(x, Expr) else x for x in found], float)


def close(found: Any, expected: Any) -> None:
    """Equal to 1e-10 of the largest: what is asked of formalisms on random trees."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))
