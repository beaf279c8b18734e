"""Reciprocals: one division in place of several divisions by the same value or its powers."""

from __future__ import annotations

from armillary.algebra.expression import Expr, multiply, number, power
from armillary.algebra.intermediate import let
from armillary.program.passes.graph import Graph


def reciprocals(graph: Graph) -> Graph:
    """One division and products in place of several divisions by the same value, its powers or roots.

    Where a root divides, x^(−n/2) are powers of 1/√x, and x^(−n) too.
    """
    uses: dict[Expr, list[float]] = {}
    for node in graph.special:
        if node.kind == "product" and not node.constant:
            for base, n in _divisors(node):
                uses.setdefault(base, []).append(n)
    unit = {base: _unit(exponents) for base, exponents in uses.items() if len(exponents) > 1}
    if not unit:
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.kind != "product" or node.constant:
            return None
        coefficient, exponents = node.data
        known = {base: n for base, n in _divisors(node) if base in unit}
        if not known or (len(exponents) == 1 and unit[node.args[0]] == exponents[0]):
            return None
        result = number(coefficient)
        for old, base, n in zip(node.args, args, exponents, strict=True):
            if old in known:
                result = multiply(result, power(let(power(base, unit[old]), "reciprocal"), n / unit[old]))
            else:
                result = multiply(result, power(base, n))
        return result

    dividing = {n for n in graph.special if n.kind == "product" and min(n.data[1]) < 0}
    return graph.remade(make, dividing)


def _divisors(node: Expr) -> list[tuple[Expr, float]]:
    """Bases that a product divides by, with their exponents; whole and half ones."""
    if min(node.data[1]) > 0:
        return []
    return [
        (b, n)
        for b, n in zip(node.args, node.data[1], strict=True)
        if n < 0 and 2 * n == int(2 * n) and not b.constant
    ]


def _unit(exponents: list[float]) -> float:
    """The power of which all are powers: −1, or −½ where there are roots."""
    return -1 if all(n == int(n) for n in exponents) else -0.5
