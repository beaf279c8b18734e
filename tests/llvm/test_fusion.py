"""The choice of products that are fused into sums."""

from __future__ import annotations

import re
from collections import Counter

from armillary.algebra.expression import Expr, symbol
from armillary.llvm.instructions import fused_products
from armillary.llvm.sections import llvm_text
from armillary.program.branch_packs import strip_lets
from armillary.program.program import section
from tests.mechanics import random_trees

A, B, C, D, X, Y = (symbol(name) for name in "abcdxy")


def fused(*results: Expr) -> set[str]:
    found = section("test", [f"r{i}" for i in range(len(results))], results)
    return {str(p) for p in fused_products(found.nodes, found.results, found.arrival)}


def test_a_product_that_only_sums_use_is_fused_into_each() -> None:
    assert fused(A * B + X, A * B - Y) == {"a*b"}


def test_a_product_that_is_a_result_or_a_factor_is_computed() -> None:
    assert fused(A * B + X, A * B) == set()
    p = A * B
    assert fused(p + X, (p + Y) * D) == {"a*b"}
    assert fused(p + X, 1 / (p * C + 1)) == {"a*b", "a*b*c"}


def test_sums_of_products_alone_begin_with_one_that_they_share() -> None:
    assert fused(A * B + C * D, A * B + C * X, A * B + D * Y) == {"c*d", "c*x", "d*y"}


def test_each_sum_has_a_beginning_and_operations_are_as_few_as_promised() -> None:
    """Additions and fused operations: one less than terms in each sum; products: all but the fused ones."""
    program = random_trees.build(random_trees.tree_case(11), parameters=True).derive().program
    nodes = program.derivatives.nodes
    found = fused_products(nodes, program.derivatives.results, program.derivatives.arrival)
    assert len(found) > 50
    additions = 0
    for node in nodes:
        if node.kind == "sum":
            constant, numbers = node.data
            plain = [c in (1, -1) and strip_lets(t) in found for c, t in zip(numbers, node.args, strict=True)]
            assert constant or not all(plain)
            additions += len(numbers) - (0 if constant else 1)
    text = llvm_text(program)
    body = re.search(r"define void @derivatives\(.*?^}", text, re.M | re.S)
    assert body is not None
    written = Counter(re.findall(r"= (fadd|fsub|call double @llvm.fmuladd)", body[0]))
    assert sum(written.values()) == additions
    assert written["call double @llvm.fmuladd"] > 0.7 * additions
