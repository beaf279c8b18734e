"""Terms of sums and factors of products: their order, common factors, and text in messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from armillary.algebra.nodes.node import Node, settle
from armillary.algebra.notation import printing
from armillary.algebra.units.dimension import Dimension
from armillary.errors import UnitsError

AnyNode = TypeVar("AnyNode", bound=Node)


def short(node: Node) -> str:
    """A node as messages show it."""
    return printing.text(node, limit=60)


def common_dimension(terms: Sequence[Node], *, checked: bool = True) -> Dimension | None:
    """The dimension that all terms of known dimension share; where two differ, an error (unchecked: None)."""
    dimension: Dimension | None = None
    where = terms[0]
    for e in terms:
        d = e.dimension
        if d is not dimension and d is not None:
            if dimension is not None:
                if not checked:
                    return None
                terms_text = f"'{short(where)}' [{dimension}] and '{short(e)}' [{d}]"
                raise UnitsError(f"cannot add {terms_text}: their dimensions differ")
            dimension, where = d, e
    return dimension


def dimension_product(a: Dimension | None, b: Dimension | None) -> Dimension | None:
    """That of a product; None where one is not known."""
    return None if a is None or b is None else a * b


SortKey: TypeAlias = tuple[Any, ...]  # of numbers, texts and such keys


def term_order(term: tuple[Node, float]) -> SortKey:
    e = term[0]
    order = e.order
    if e.kind == "product":
        first = e.args[0].order
        return (first[0], first[1], 1, order)
    return (order[0], order[1], 0, order)


def factors(e: AnyNode) -> Iterable[tuple[AnyNode, float]]:
    return zip(e.args, e.data[1], strict=True) if e.kind == "product" else ((e, 1),)


def unlike(terms: Sequence[tuple[Node, float]]) -> bool:
    """Whether terms differ in more than constant factors, which is almost always; no node is made for it."""
    return len({_variable_factors(e) for e, _ in terms}) == len(terms)


def _variable_factors(e: Node) -> object:
    """The variable bases and exponents of a term, by which terms differ in more than constant factors.

    Constants stand first among the factors.
    """
    if e.kind != "product":
        return e
    if not e.args[0].constant or e.constant:
        return e.args[0] if e.data[1] == (1,) else (e.args, e.data[1])
    first = next(i for i, b in enumerate(e.args) if not b.constant)
    bases, exponents = e.args[first:], e.data[1][first:]
    return bases[0] if exponents == (1,) else (bases, exponents)


def common_factors(nodes: Sequence[AnyNode]) -> dict[AnyNode, float]:
    """The factors that all of some terms have, each with its least exponent."""
    first, last = nodes[0], nodes[-1]
    others = {*last.args} if last.kind == "product" else {last}
    if others.isdisjoint(first.args if first.kind == "product" else (first,)):
        return {}
    common = dict(factors(first))
    for e in nodes[1:]:
        mine = dict(factors(e))
        common = {b: min(n, mine[b]) for b, n in common.items() if b in mine and n * mine[b] > 0 and n > 0}
        if not common:
            break
    return common


def factor_order(factor: tuple[Node, float]) -> SortKey:
    return (not factor[0].constant, settle(factor[0]).order)
