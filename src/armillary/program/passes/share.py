"""Sharing: pairs of operands that several sums or products have in common."""

from __future__ import annotations

from functools import partial

from armillary.algebra.expression import Expr, multiply, number, power, total
from armillary.algebra.intermediate import let
from armillary.program.passes.graph import Graph, lone_number

_ROUNDS = 6

Pair = tuple[str, Expr, Expr, float]  # kind of node, two operands, ratio of coefficients (sums) or 1


def share(graph: Graph, pairs: dict[Expr, list[Pair]] | None = None) -> Graph:
    """Pairs of operands that several sums or several products have in common, named: one operation saved
    per further use. ``pairs`` are those of nodes met so far, most of which stay from round to round.
    """
    pairs = {} if pairs is None else pairs
    for _ in range(_ROUNDS):
        chosen = _common_pairs(graph, pairs)
        if not chosen:
            break
        changed = graph.remade(partial(_with_pairs, chosen), chosen)
        if changed is graph:
            break
        graph = changed
    return graph


def _operand_pairs(node: Expr) -> list[Pair]:
    if node.kind == "sum":
        items = [(a, c) for a, c in zip(node.args, node.data[1], strict=True) if c == 1 or c == -1]
        return [("sum", a, b, cb / ca) for i, (a, ca) in enumerate(items) for b, cb in items[i + 1 :]]
    plain = [b for b, n in zip(node.args, node.data[1], strict=True) if n == 1]
    if node.data[0] not in (1, -1):
        plain.append(number(abs(node.data[0])))
    return [("product", a, b, 1.0) for i, a in enumerate(plain) for b in plain[i + 1 :]]


def _operand_count(node: Expr) -> int:
    """Operands of a sum or product, its number included."""
    return len(node.args) + lone_number(node)


def _common_pairs(graph: Graph, known: dict[Expr, list[Pair]]) -> dict[Expr, list[Pair]]:
    """Pairs to name in this round, by the nodes that hold them; no operand of a node is taken twice.

    A node that is such a pair and nothing else holds it too: it becomes the named value itself.
    """
    holders: dict[Pair, list[Expr]] = {}
    short: list[Expr] = []
    for node in graph.order:
        if (node.kind == "sum" or node.kind == "product") and not node.constant:
            pairs = known.get(node)
            if pairs is None:
                pairs = known[node] = _operand_pairs(node)
            if _operand_count(node) == 2:
                short.append(node)
                continue
            for pair in pairs:
                if not (pair[1].constant and pair[2].constant):
                    if pair in holders:
                        holders[pair].append(node)
                    else:
                        holders[pair] = [node]
    for node in short:
        for pair in known[node]:
            if pair in holders:
                holders[pair].append(node)
    ranked = sorted((p for p, h in holders.items() if len(h) > 1), key=lambda p: -len(holders[p]))
    taken: dict[Expr, set[Expr]] = {}
    chosen: dict[Expr, list[Pair]] = {}
    for pair in ranked:
        free = [n for n in holders[pair] if n not in taken or not taken[n] & {pair[1], pair[2]}]
        if len(free) < 2:
            continue
        for node in free:
            taken.setdefault(node, set()).update((pair[1], pair[2]))
            chosen.setdefault(node, []).append(pair)
    return chosen


def _pair_value(pair: Pair) -> Expr:
    kind, a, b, ratio = pair
    return let(multiply(a, b), "p") if kind == "product" else let(total(((1, a), (ratio, b))), "s")


def _with_pairs(chosen: dict[Expr, list[Pair]], node: Expr, args: list[Expr]) -> Expr | None:
    pairs = chosen.get(node)
    if not pairs:
        return None
    new = dict(zip(node.args, args, strict=True))
    named = [(p, _pair_value((p[0], new.get(p[1], p[1]), new.get(p[2], p[2]), p[3]))) for p in pairs]
    gone = {x for p in pairs for x in p[1:3]}
    if node.kind == "sum":
        offset, coefficients = node.data
        rest = [(c, new[a]) for c, a in zip(coefficients, node.args, strict=True) if a not in gone]
        of = dict(zip(node.args, coefficients, strict=True))
        return total([*rest, *((of[p[1]], value) for p, value in named), (1, number(offset))])
    coefficient, exponents = node.data
    size = number(abs(coefficient))
    result = number(coefficient) if size not in gone else number(1 if coefficient > 0 else -1)
    for base, n in zip(node.args, exponents, strict=True):
        if base not in gone:
            result = multiply(result, power(new[base], n))
    for _, value in named:
        result = multiply(result, value)
    return result
