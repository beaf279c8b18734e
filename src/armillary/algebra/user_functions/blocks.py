"""Functions of many numbers with many results, such as the solution of linear equations.

A block is a call like any other, of a function that generated code has from elsewhere (in this process by
the address of compiled code, in exported programs as a function of their language). Its value is a vector:
only calls of `BlockPart`, which take one number out of it, use it as an operand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np

from armillary.algebra.expression import ZERO, Expr, as_expr, call
from armillary.untyped import Given


class BlockFunction(ABC):
    """A function of numbers with many results, which works on named vectors.

    ``vectors`` are their lengths by name, ``takes`` those that hold the arguments and ``gives`` the results,
    in order; the first ``smooth`` results have derivatives, the others are piecewise constant. ``sizes`` are
    whole numbers and ``tables`` lists of them that the implementation reads, by their names there.
    """

    dimension = None

    def __init__(
        self,
        name: str,
        vectors: Mapping[str, int],
        takes: Sequence[str],
        gives: Sequence[str],
        smooth: int,
        sizes: Mapping[str, int],
        tables: Mapping[str, tuple[int, ...]],
    ) -> None:
        self.name, self.vectors, self.takes, self.gives = name, vectors, takes, gives
        self.smooth, self.sizes, self.tables = smooth, sizes, tables
        self.arity, self.count = (sum(vectors[v] for v in chosen) for chosen in (takes, gives))
        self.argument_dimensions = (None,) * self.arity
        self._content = (name, tuple(sizes.items()), tuple(tables.items()))
        self.digest = crc32(repr(self._content).encode())

    def split(self, names: Sequence[str], numbers: Sequence[Given]) -> dict[str, list[Given]]:
        """Return vectors by name from their numbers in a row, of any kind."""
        found: dict[str, list[Given]] = {}
        first = 0
        for name in names:
            found[name] = list(numbers[first : first + self.vectors[name]])
            first += self.vectors[name]
        return found

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockFunction) and self._content == other._content

    def __repr__(self) -> str:
        return f"<block '{self.name}': {self.arity} numbers, {self.count} results>"

    def results(self, arguments: Sequence[object]) -> list[Expr]:
        """Return the results at these arguments, each an expression."""
        assert len(arguments) == self.arity, (self, len(arguments))
        return parts(call(self, tuple(as_expr(a) for a in arguments), None))

    @abstractmethod
    def value(self, *arguments: float) -> np.ndarray:
        """Return all results at numbers."""

    @abstractmethod
    def tangent(self, node: Expr, rates: Sequence[Expr]) -> Expr:
        """Return a block whose results are the derivatives of those of ``node``, a call of this function,
        from the derivatives of its arguments.
        """


class BlockPart:
    """The function that takes result ``index`` out of a block."""

    name = "part"
    arity = 1
    dimension = None
    argument_dimensions = (None,)

    def __init__(self, index: int) -> None:
        self.index = index
        self.digest = crc32(f"part {index}".encode())

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockPart) and self.index == other.index

    def __repr__(self) -> str:
        return f"<part {self.index} of a block>"

    def value(self, block: np.ndarray) -> float:
        """Return one number of a block's value."""
        return float(block[self.index])

    def tangent(self, node: Expr, rates: Sequence[Expr]) -> Expr:
        """Return the same part of the block's derivative; zero for what is piecewise constant."""
        return call(self, (rates[0],), None) if self.index < node.args[0].data.smooth else ZERO


def parts(block: Expr) -> list[Expr]:
    """Return all results of a call of a block function."""
    return [call(BlockPart(k), (block,), None) for k in range(block.data.count)]


def is_block(node: Expr) -> bool:
    """Return whether a node is a call of a block function."""
    return node.kind == "call" and isinstance(node.data, BlockFunction)


def is_block_part(node: Expr) -> bool:
    """Return whether a node is a number out of a block."""
    return node.kind == "call" and isinstance(node.data, BlockPart)
