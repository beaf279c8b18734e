"""Nodes whose operands only have other names: what renaming makes is what making again would."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.expression import Expr, multiply, number, power, symbol, total
from armillary.algebra.functions import let, own_intermediates
from armillary.algebra.walk import rebuild, rebuild_simply
from armillary.program.passes import Constants, Graph, fold, hoist, inline
from armillary.program.passes.graph import count

graph_module: Any = importlib.import_module("armillary.program.passes.graph")

x, y, z, w = (symbol(name, "coordinate") for name in "xyzw")
k, m = (symbol(name, "parameter") for name in "km")


def value(e: Expr) -> Expr:
    return let(total([(1, e), (1, number(1))]))


def negative(e: Expr) -> Expr:
    return multiply(number(-1), e)


def tree(joints: int) -> arm.System:
    """A branched tree with reflected inertias, whose constants are named in several rounds."""
    s = arm.System("tree")
    bodies: list[Any] = [s.ground]
    for i in range(joints):
        bodies.append(
            s.body(
                f"B{i}", parent=bodies[max(0, i - 1 - i % 2)], joint=arm.Revolute("xyz"[i % 3]),
                at=(0.1, 0.2, 0.3),
                com=(0.05, -0.02, 0.1), mass=1 + i, inertia=(0.1, 0.2, 0.25, 0.01, 0.02, 0.0),
            )
        )  # fmt: skip
        s.armature(f"B{i}.q1", f"J{i}")
    s.gravity(9.81, -s.ground.z)
    return s


@pytest.mark.parametrize("formalism", ["recursive", "kane"])
def test_every_node_that_a_derivation_renames_is_the_one_made_anew(
    formalism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {"sum": 0, "product": 0}

    def checked(node: Expr, args: list[Expr]) -> Expr | None:
        made = rebuild_simply(node, args)
        if made is not None:
            seen[node.kind] += 1
            assert made is rebuild(node, args)
        return made

    monkeypatch.setattr(graph_module, "rebuild_simply", checked)
    tree(5).derive(formalism=formalism)
    assert min(seen.values()) > 10


def test_signs_of_new_operands_move_to_coefficients() -> None:
    a, b = value(x), value(y)
    node = total([(1, multiply(a, x)), (2, multiply(b, power(y, 2)))])
    args = [negative(t) for t in node.args]
    assert rebuild_simply(node, args) is rebuild(node, args)
    product = multiply(power(total([(1, a), (3, b)]), 3), number(5))
    for base in (negative(value(z)), value(z)):
        assert rebuild_simply(product, [base]) is rebuild(product, [base])
    root = power(value(w), 0.5)
    assert rebuild_simply(root, [negative(value(z))]) is None


def test_intermediate_values_that_become_equal_are_collected() -> None:
    """k m x + 1 and (k m) x + 1 apart until constants are named: their users must find one value."""
    one = let(total([(1, multiply(multiply(k, m), x)), (1, number(1))]), "one")
    other = let(total([(1, multiply(let(multiply(k, x)), m)), (1, number(1))]), "other")
    roots = [total([(1, multiply(one, y)), (1, multiply(other, y)), (1, z)]), other, one]
    with own_intermediates():  # as in every derivation
        found = hoist(inline(Graph(roots)), Constants())
    assert found.roots[1] is found.roots[2]
    assert count(found.roots[:1]).multiplications == 2 + 1  # 2 y (c x + 1) + z
    rng = np.random.default_rng(3)
    at = dict(zip((x, y, z, k, m), rng.normal(size=5), strict=True))
    assert arm.evaluate(roots[0], at) == pytest.approx(
        (at[k] * at[m] * at[x] + 1) * 2 * at[y] + at[z], rel=1e-14
    )


def test_passes_that_find_nothing_give_the_graph_back() -> None:
    graph = Graph([total([(1, multiply(x, y)), (-1, z)])])
    assert fold(graph, Constants()) is graph
