"""The choice of products that are fused into the sums that they are terms of.

A fused operation ±a·b ± c is one operation on every machine that has it. A product that is used only by sums
then needs no separate operation, however many the sums are: each takes the product's factors. But a sum of
such products alone begins with a computed product. Together

    operations = Σ (terms − 1) over sums + products that are computed,

so the fewest products are computed that leave no sum without a beginning: a hitting set, found greedily.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain

from armillary.algebra.expression import Expr
from armillary.algebra.node import PRODUCT_OF_TWO
from armillary.program.branch_packs import strip_lets

_PLAIN = frozenset((1, -1))  # what stands before terms without a number


def fused_products(
    nodes: Sequence[Expr],
    results: Iterable[Expr],
    arrival: Mapping[Expr, int],
    vectors: Set[Expr] = frozenset(),
) -> set[Expr]:
    """Products of a section that its sums take factor by factor; ``arrival``: when each node is known.
    ``vectors``: nodes that are computed several at a time, and take values.
    """
    found = _terms_alone(nodes, results, vectors)
    hits: dict[Expr, set[int]] = {}  # products, to the sums that could begin with them
    waiting: dict[int, Sequence[Expr]] = {}  # sums without a beginning, and their products
    scaled: set[int] = set()  # those that can begin with a term that has a number before it
    for k, node in enumerate(nodes):
        if node.kind != "sum" or node.data[0] or node in vectors:
            continue
        terms: Sequence[Expr] = node.args
        if not _PLAIN.issuperset(node.data[1]):
            terms = [term for c, term in zip(node.data[1], terms, strict=True) if c in _PLAIN]
        if not found.issuperset(terms):
            terms = [strip_lets(term) for term in terms]
        if terms and found.issuperset(terms):
            waiting[k] = terms
            if len(terms) < len(node.args):
                scaled.add(k)
            for term in terms:
                hits.setdefault(term, set()).add(k)
    shared = [(-len(users), arrival.get(p, 0), i, p) for i, (p, users) in enumerate(hits.items())]
    heapq.heapify(shared)
    while shared:
        count, known, i, product = heapq.heappop(shared)
        users = hits[product]
        if not users:
            continue
        if len(users) < -count:  # others have begun meanwhile
            heapq.heappush(shared, (-len(users), known, i, product))
            continue
        if count == -1 and users <= scaled:
            continue
        found.discard(product)
        for k in list(users):
            for term in waiting.pop(k):
                hits[term].discard(k)
    return found


def _terms_alone(nodes: Sequence[Expr], results: Iterable[Expr], vectors: Set[Expr]) -> set[Expr]:
    """Products of at least two factors whose users are sums, as terms without a number before them."""
    used: set[Expr] = set(results)
    others = []  # operands of nodes that take values
    for node in nodes:
        kind = node.kind
        if kind == "sum" and node not in vectors:
            if not _PLAIN.issuperset(node.data[1]):
                used.update([t for c, t in zip(node.data[1], node.args, strict=True) if c not in _PLAIN])
        elif kind != "let":
            others.append(node.args)
    used.update(chain.from_iterable(others))
    used.update([strip_lets(a) for a in used if a.kind == "let"])
    products = [n for n in nodes if n.kind == "product" and n not in used and n not in vectors]
    return {n for n in products if n.data is PRODUCT_OF_TWO or is_plain(n)}


def is_plain(node: Expr) -> bool:
    """Return whether a product is one of two or more factors, without powers but squares and without
    divisions.
    """
    coefficient, exponents = node.data
    if len(exponents) == 1:
        found: bool = exponents[0] == 2 or (exponents[0] == 1 and coefficient != 1 and coefficient != -1)
        return found
    return all([n == 1 for n in exponents])
