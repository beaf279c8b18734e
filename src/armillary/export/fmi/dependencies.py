"""What each result of a section depends on, from its expression graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first


def dependencies(results: Sequence[Expr], references: Mapping[Expr, int]) -> list[tuple[int, ...]]:
    """For each result the value references of the symbols that it holds, in order."""
    order = sorted(references, key=references.__getitem__)
    bit = {symbol: 1 << i for i, symbol in enumerate(order)}
    held: dict[Expr, int] = {}  # as the bits of a number: unions of large sets are one operation
    for node in operands_first(results):
        bits = bit.get(node, 0)
        for a in node.args:
            bits |= held[a]
        held[node] = bits
    return [_references(held[r], order, references) for r in results]


def _references(bits: int, order: list[Expr], references: Mapping[Expr, int]) -> tuple[int, ...]:
    found = []
    while bits:
        low = bits & -bits
        found.append(references[order[low.bit_length() - 1]])
        bits ^= low
    return tuple(found)
