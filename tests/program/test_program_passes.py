"""Every pass leaves the values as they are, and saves what it promises."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr, number, symbol, total
from armillary.algebra.functions import cos, let, sin, sqrt
from armillary.algebra.node import settle
from armillary.algebra.walk import operands_first, symbols
from armillary.program.passes import (
    Constants,
    Graph,
    factor,
    fold,
    hoist,
    improve,
    inline,
    narrow,
    reciprocals,
    share,
)
from armillary.program.passes.graph import count
from armillary.program.passes.rewrites import MANY
from armillary.stages.equations import Equations
from tests.algebra.random_expressions import NAMES, build, smooth_trees
from tests.mechanics import random_trees

PASSES = ("inline", "hoist", "reciprocals", "factor", "share", "fold", "narrow")
SEEDS = (0, 3, 11)

a, b = (symbol(name, "parameter") for name in "ab")
q, r = (symbol(name, "coordinate") for name in "qr")
u, v, w, x, y = (symbol(name, "speed") for name in "uvwxy")


def applied(name: str, roots: list[Expr], constants: Constants) -> list[Expr]:
    make: dict[str, Callable[[Graph], Graph]] = {
        "inline": inline,
        "hoist": lambda g: hoist(g, constants),
        "reciprocals": reciprocals,
        "factor": factor,
        "share": share,
        "fold": lambda g: fold(g, constants),
        "narrow": narrow,
    }
    return make[name](Graph(roots)).roots


def values_of(roots: list[Expr], constants: Constants, at: dict[Any, Any]) -> tuple[np.ndarray, Any]:
    """Values of the roots, and the largest size of anything on the way there, which scales rounding."""
    names = list(constants.definitions)
    with np.errstate(all="ignore"):
        known = {**at, **dict(zip(names, evaluate_all(constants.definitions.values(), at), strict=True))}
        order = operands_first(roots)
        found = dict(zip(order, evaluate_all(order, known), strict=True))
        sizes = [np.max(np.abs(value)) for value in found.values()]
    return np.array([np.broadcast_to(found[root], 3) for root in roots], dtype=np.longdouble), max(sizes)


def assert_same(before: list[Expr], after: list[Expr], constants: Constants, at: dict[Any, Any]) -> None:
    """Equal to 1e-12 of the largest value involved, in extended precision where the machine has it."""
    expected, size = values_of(before, constants, at)
    assume(np.all(np.isfinite(expected)) and np.isfinite(size) and size < 1e8)
    found, _ = values_of(after, constants, at)
    assert np.max(np.abs(found - expected)) <= 1e-12 * max(1.0, float(size))


# ---------------------------------------------------------------- exactness


@given(
    trees=st.lists(smooth_trees, min_size=1, max_size=4),
    lets=st.lists(st.booleans(), min_size=4, max_size=4),
    order=st.permutations(PASSES),
    numbers=st.lists(st.floats(0.3, 2.5), min_size=3 * len(NAMES), max_size=3 * len(NAMES)),
)
@settings(max_examples=40)
def test_passes_in_any_order_keep_the_values_of_random_expressions(
    trees: list[Any], lets: list[bool], order: list[str], numbers: list[float]
) -> None:
    made = [build(tree) for tree in trees]
    assume(all(e is not None for e in made))
    parts = [let(e, "z") if named else e for e, named in zip(made, lets, strict=False)]  # type: ignore[arg-type]
    roots = [*parts, total((i + 1, e) for i, e in enumerate(parts)), parts[0] * parts[-1]]
    at = {n: np.array(numbers[3 * i : 3 * i + 3], dtype=np.longdouble) for i, n in enumerate(NAMES)}
    constants = Constants()
    now = roots
    for name in order:
        changed = applied(name, now, constants)
        assert_same(now, changed, constants, at)
        now = changed
    fresh = Constants()
    assert_same(roots, improve(roots, fresh)[0].roots, fresh, at)


@cache
def derived(seed: int, formalism: str) -> tuple[Equations, dict[str, Any]]:
    case = random_trees.tree_case(seed)
    system = random_trees.build(case, parameters=True)
    speeds = np.random.default_rng(seed).normal(size=(3, case.tree.nu))
    at = random_trees.values(system, np.broadcast_to(case.q[:, None], (case.tree.nq, 3)), speeds.T)
    return random_trees.derived(seed, formalism), {
        name: np.asarray(value, dtype=np.longdouble) for name, value in at.items()
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_passes_name_all_nodes_that_they_change(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    equations, _ = derived(seed, "recursive")
    quick, gains = improve(core_of(equations).targets.rates, Constants())
    original, changed = Graph.rebuild_nodes, []

    def of_all_nodes(graph: Graph, make: Callable[[Expr, list[Expr]], Expr | None], among: Any) -> Graph:
        made = original(graph, make, set(graph.order))
        changed.append(made is not graph)
        return made

    monkeypatch.setattr(Graph, "rebuild_nodes", of_all_nodes)
    slow, same_gains = improve(core_of(equations).targets.rates, Constants())
    assert sum(changed) >= 3
    assert [settle(r).digest for r in quick.roots] == [settle(r).digest for r in slow.roots]
    assert gains == same_gains


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_pass_keeps_the_accelerations_of_random_systems(seed: int, formalism: str) -> None:
    equations, at = derived(seed, formalism)
    constants = Constants()
    now = list(core_of(equations).targets.rates)
    expected, _ = values_of(now, constants, at)
    order = (
        "inline",
        "hoist",
        "reciprocals",
        "factor",
        "share",
        "inline",
        "factor",
        "fold",
        "hoist",
        "narrow",
    )
    for name in order:
        now = applied(name, now, constants)
        found, _ = values_of(now, constants, at)
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=1e-12 * float(np.max(np.abs(expected))), err_msg=name
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_improve_as_a_whole_keeps_the_accelerations_and_saves_operations(seed: int) -> None:
    equations, at = derived(seed, "recursive")
    constants = Constants()
    roots = list(core_of(equations).targets.rates)
    improved = improve(roots, constants)[0].roots
    expected, _ = values_of(roots, constants, at)
    found, _ = values_of(improved, constants, at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * float(np.max(np.abs(expected))))
    assert count(improved).weight < count(roots).weight


# ---------------------------------------------------------------- what each pass saves


def counted(roots: list[Expr]) -> tuple[int, int, int, int]:
    o = count(roots)
    return o.additions, o.multiplications, o.divisions, o.functions


def test_inline_dissolves_what_is_used_once_and_keeps_what_is_shared() -> None:
    once, shared = let(u * v + w, "once"), let(u + x, "shared")
    (first, second) = inline(Graph([once - w + shared * q, shared * r])).roots
    assert once not in operands_first([first])  # w − w is gone: one addition fewer
    assert shared in operands_first([first]) and shared in operands_first([second])
    assert counted([first, second]) == (2, 3, 0, 0)


def test_inline_keeps_a_squared_product_whole() -> None:
    """(u v)² is two multiplications, u² v² three."""
    (kept,) = inline(Graph([let(u * v, "z") ** 2 + w])).roots
    assert counted([kept]) == (1, 2, 0, 0)


def test_hoist_leaves_one_name_per_sum_and_product() -> None:
    constants = Constants()
    root = total([(1, a * b * cos(q)), (1, a**2), (3, b), (1, number(1))])
    roots = hoist(Graph([root, sin(a * b) * q]), constants).roots
    assert counted(roots) == (1, 2, 0, 1)
    assert {str(d) for d in constants.definitions.values()} == {"a*b", "a^2 + 3*b + 1", "sin(a*b)"}


def test_hoist_keeps_signs_outside_and_shares_equal_constants() -> None:
    constants = Constants()
    hoist(Graph([a * b * q, u - a * b, -a * b * r]), constants)
    assert [str(d) for d in constants.definitions.values()] == ["a*b"]


def test_hoist_names_a_number_times_a_parameter() -> None:
    constants = Constants()
    roots = hoist(Graph([total([(-0.3, a), (1, q)]), 2 * a * q, q / a]), constants).roots
    assert counted(roots) == (1, 2, 0, 0)
    assert {str(d) for d in constants.definitions.values()} == {"0.3*a", "2*a", "1/a"}


def test_hoist_joins_constants_of_sums_that_open_into_each_other() -> None:
    """As an intermediate value is dissolved, the constant of its sum meets that of its user."""
    inner = let(a + q, "inner")
    constants = Constants()
    first = hoist(Graph([inner + b + u]), constants).roots
    opened = inline(Graph([first[0]]))
    roots = hoist(opened, constants).roots
    assert counted(roots) == (2, 0, 0, 0)
    assert [str(constants.definitions[s]) for s in symbols(*roots) if s in constants.definitions] == ["a + b"]


def test_definitions_of_constants_hold_parameters_only() -> None:
    """Also when a constant is made of named ones, which a later round brings together."""
    constants = Constants()
    once = hoist(Graph([a * b * q]), constants).roots[0]
    twice = hoist(Graph([once * (a + b)]), constants).roots[0]
    named = [s for s in symbols(twice) if s.constant]
    assert [str(constants.definitions[s]) for s in named] == ["a*b*(a + b)"]


def test_constants_take_no_name_that_a_parameter_has() -> None:
    c1 = symbol("c1", "parameter")
    constants = Constants(taken=["c1"])
    (root,) = hoist(Graph([c1 * q + 2 * c1 * b]), constants).roots
    assert sorted(s.name for s in symbols(root)) == ["c1", "c2", "q"]


def test_reciprocals_leave_one_division_for_each_divisor() -> None:
    d = let(u * v + w, "d")
    roots = [q / d, r / d, x / d]
    assert counted(roots) == (1, 1, 3, 0)
    assert counted(reciprocals(Graph(roots)).roots) == (1, 4, 1, 0)


def test_factor_saves_a_multiplication_for_each_term_joined() -> None:
    root = total([(1, q * u), (1, r * u), (1, x * u), (1, v * w)])
    assert counted([root]) == (3, 4, 0, 0)
    assert counted(factor(Graph([root])).roots) == (3, 2, 0, 0)


def test_factor_leaves_terms_alone_that_are_needed_elsewhere() -> None:
    term = q * u
    roots = [term + r * u + v * w, term]
    assert counted(factor(Graph(roots)).roots) == counted(roots)


def test_share_names_pairs_that_several_sums_or_products_hold() -> None:
    sums = [u + v + w, u + v + x, 3 * w - u - v]
    assert counted(sums) == (6, 1, 0, 0)
    assert counted(share(Graph(sums)).roots) == (4, 1, 0, 0)
    products = [u * v * w, u * v * x, u * v / y]
    assert counted(products) == (0, 5, 1, 0)
    assert counted(share(Graph(products)).roots) == (0, 3, 1, 0)


def test_share_leaves_pairs_of_opposite_sign_apart() -> None:
    sums = [u + v + w, u - v + x]
    assert counted(share(Graph(sums)).roots) == (4, 0, 0, 0)


def test_fold_multiplies_numbers_into_constants() -> None:
    constants = Constants()
    roots = hoist(Graph([total([(2, a * b * q), (-3, a * r), (1, u)])]), constants).roots
    assert counted(roots) == (2, 4, 0, 0)
    folded = fold(Graph(roots), constants).roots
    assert counted(folded) == (2, 2, 0, 0)
    assert {str(constants.definitions[s]) for s in symbols(*folded) if s.constant} == {"2*a*b", "3*a"}


def test_fold_leaves_terms_alone_that_are_needed_elsewhere() -> None:
    term = a * q * r
    roots = [2 * term + u, term]
    assert fold(Graph(roots), Constants()).roots == roots


@pytest.mark.parametrize("size", [101, 1000, 20_000])
def test_narrow_cuts_wide_sums_and_products_at_no_cost(size: int) -> None:
    many = [symbol(f"x{i}", "speed") for i in range(size)]
    product = many[0]
    for node in many[1:200]:
        product = product * node
    roots = [total([(2 + i % 3, s) for i, s in enumerate(many)]) + 7, -3 * product]
    narrowed = narrow(Graph(roots)).roots
    assert max(len(node.args) for node in operands_first(narrowed)) <= MANY
    assert count(narrowed) == count(roots)
    at = {s: float(i % 5 + 1) / 3 for i, s in enumerate(many)}
    np.testing.assert_allclose(evaluate_all(narrowed, at), evaluate_all(roots, at), rtol=1e-12)


def test_narrow_leaves_ordinary_programs_as_they_are() -> None:
    graph = Graph([u + v * sqrt(w), total([(1, symbol(f"k{i}", "parameter")) for i in range(500)])])
    assert narrow(graph) is graph
