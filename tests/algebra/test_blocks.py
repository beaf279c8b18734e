"""Functions with many results: the same block at the same arguments is one node, and so are its parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from armillary.algebra.block_functions import BlockFunction, BlockPart
from armillary.algebra.calculus import evaluate
from armillary.algebra.expression import Expr, symbol


class Sums(BlockFunction):
    """(a1 + b1, a2 + b2, 2) of a, b in the plane."""

    def __init__(self, size: int = 2) -> None:
        vectors = {"a": size, "b": size, "sum": size, "count": 1}
        super().__init__("sums", vectors, ("a", "b"), ("sum", "count"), size, {"n": size}, {"order": (0, 1)})

    def value(self, *arguments: float) -> np.ndarray:
        n = self.sizes["n"]
        return np.array([*(np.array(arguments[:n]) + arguments[n:]), n])

    def tangent(self, node: Expr, rates: Sequence[Expr]) -> Expr:
        raise NotImplementedError


def test_results_are_the_parts_of_one_node() -> None:
    x, y = symbol("x"), symbol("y")
    first, second = Sums().results([x, y, 1, 2]), Sums().results([x, y, 1, 2])
    assert len(first) == 3 and all(a is b for a, b in zip(first, second, strict=True))
    assert len({id(node) for node in first}) == 3 and len({id(node.args[0]) for node in first}) == 1
    assert Sums().results([y, x, 1, 2])[0] is not first[0]
    found = [float(evaluate(node, {"x": 3.0, "y": 5.0})) for node in first]
    assert found == [4.0, 7.0, 2.0]


def test_functions_and_parts_are_equal_by_their_content() -> None:
    assert Sums() == Sums() and hash(Sums()) == hash(Sums())
    assert Sums() != Sums(3) and Sums() != BlockPart(0)
    assert BlockPart(1) == BlockPart(1) and hash(BlockPart(1)) == hash(BlockPart(1))
    assert BlockPart(1) != BlockPart(2) and BlockPart(1) != 1
    assert (Sums(3).arity, Sums(3).count) == (6, 4)


def test_vectors_are_taken_from_numbers_in_a_row() -> None:
    assert Sums().split(("a", "count", "b"), [1, 2, 3, 4, 5]) == {"a": [1, 2], "count": [3], "b": [4, 5]}
    with pytest.raises(AssertionError):
        Sums().results([1.0])
