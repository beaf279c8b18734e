"""Exact operation counts of expression graphs.

Each binary + or − is an addition; each × a multiplication; each ÷ and each square root a division; a power
n is what its squarings take; unary minus is free; functions (sin, select, a power like x^0.3, …) are counted
apart. A node that several others use counts once: the generated code computes it once. Constants (functions
of parameters alone) cost nothing once precomputed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from armillary.algebra.expression import Expr
from armillary.algebra.node import DIFFERENCE, PRODUCT_OF_TWO, SUM_OF_TWO
from armillary.algebra.walk import operands_first


@dataclass(frozen=True)
class Operations:
    """Numbers of operations of one evaluation."""

    additions: int = 0
    multiplications: int = 0
    divisions: int = 0
    functions: int = 0

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.additions + other.additions,
            self.multiplications + other.multiplications,
            self.divisions + other.divisions,
            self.functions + other.functions,
        )

    @property
    def total(self) -> int:
        """All operations, functions included."""
        return self.additions + self.multiplications + self.divisions + self.functions

    @property
    def weight(self) -> float:
        """A measure of time: an addition or multiplication 1, a division or root 4, a function 12.

        From latencies and throughputs of current 64-bit cores; used to choose between formalisms, never
        reported.
        """
        return self.additions + self.multiplications + 4 * self.divisions + 12 * self.functions

    def __str__(self) -> str:
        return f"{self.additions} +, {self.multiplications} ×, {self.divisions} ÷, {self.functions} functions"


def node_operations(node: Expr) -> Operations:
    """Operations of one node, its operands given."""
    return sum_operations([node])


@lru_cache(1024)
def product_operations(exponents: tuple[float, ...], scaled: bool) -> tuple[int, int, int]:
    """Multiplications, divisions and functions of a product with these exponents, and a number or none."""
    multiplications = divisions = functions = above = below = 0
    for exponent in exponents:
        size = abs(exponent)
        whole = int(size)
        if size - whole not in (0, 0.5):
            functions += 1
        else:
            if size != whole:
                divisions += 1  # a square root
                multiplications += 1 if whole else 0
            if whole:
                multiplications += _power_multiplications(whole)
        if exponent > 0:
            above += 1
        else:
            below += 1
    multiplications += max(above - 1, 0) + max(below - 1, 0)
    if below:
        divisions += 1
    if scaled and above:
        multiplications += 1
    return multiplications, divisions, functions


@lru_cache(1024)
def numbers_before(coefficients: tuple[float, ...]) -> int:
    """The number of terms of a sum with a number before them."""
    return len([c for c in coefficients if c not in (1, -1)])


def _power_multiplications(n: int) -> int:
    """Multiplications of x^n by squaring."""
    return n.bit_length() - 1 + bin(n).count("1") - 1


def count(roots: Iterable[Expr]) -> Operations:
    """Operations to compute the roots, constants excluded."""
    return count_nodes(operands_first(roots))


def count_nodes(nodes: Iterable[Expr]) -> Operations:
    """Operations of these nodes, constants excluded, their operands given."""
    return sum_operations([node for node in nodes if not node.constant])


def sum_operations(nodes: Iterable[Expr]) -> Operations:
    """Operations of these nodes, constants included, their operands given."""
    additions = multiplications = divisions = functions = 0
    for node in nodes:
        data = node.data
        if data is PRODUCT_OF_TWO:  # most often
            multiplications += 1
        elif data is SUM_OF_TWO or data is DIFFERENCE:
            additions += 1
        elif node.kind == "sum":
            constant, coefficients = data
            additions += len(coefficients) - (0 if constant else 1)
            multiplications += numbers_before(coefficients)
        elif node.kind == "product":
            coefficient, exponents = data
            more = product_operations(exponents, coefficient not in (1, -1))
            multiplications += more[0]
            divisions += more[1]
            functions += more[2]
        elif node.kind == "call":
            functions += 1
    return Operations(additions, multiplications, divisions, functions)
