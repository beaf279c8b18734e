"""Passes over sums: expanded, factored, folded, spread and narrowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from armillary.algebra.expression import UNIT, Expr, multiply, number, power, scale, total
from armillary.algebra.functions import let
from armillary.algebra.walk import product_of
from armillary.program.passes.graph import Graph, numbers_before, same_or_rebuilt
from armillary.program.passes.sharing import Constants, hoisted_product

# Expanding: results that are linear in the same values, written out over them.

Form = dict[Expr, Expr]  # constant factors by variable value; that of UNIT is the constant term

LONG = 24  # terms from which on a form is computed and used as one value


def expand(graph: Graph, constants: Constants) -> Graph:
    """Return every sum as Σ kᵢ xᵢ + k₀ over values that are not sums themselves, with constant k: a result
    that is linear in a few values costs one product per value.

    This pays off for small linear systems only; the caller compares costs.
    """
    forms: dict[Expr, Form] = {}
    written: dict[Expr, Expr] = {}

    def value(node: Expr) -> Expr:
        if node not in written:
            parts = [(1, multiply(constants.name(k), x)) for x, k in forms[node].items()]
            written[node] = node if node.constant else total(parts)
        return written[node]

    for node in graph.order:
        form = _linear(node, forms)
        if form is None or len(form) > LONG:
            form = (
                {node: UNIT}
                if not node.args
                else {same_or_rebuilt(node, [value(a) for a in node.args]): UNIT}
            )
        forms[node] = {UNIT: node} if node.constant else form
    return Graph([value(r) for r in graph.roots])


def _linear(node: Expr, forms: dict[Expr, Form]) -> Form | None:
    """Return the form of a sum, a multiple or a named one of these; None for anything else."""
    if node.constant:
        return None
    if node.kind == "let":
        return forms[node.args[0]]
    if node.kind == "sum":
        offset, coefficients = node.data
        result: Form = {UNIT: number(offset)} if offset else {}
        for c, a in zip(coefficients, node.args, strict=True):
            for value, k in forms[a].items():
                part = scale(k, c)
                result[value] = total([(1, result[value]), (1, part)]) if value in result else part
        return result
    if node.kind == "product":
        coefficient, exponents = node.data
        moving = [(b, n) for b, n in zip(node.args, exponents, strict=True) if not b.constant]
        if len(moving) == 1 and moving[0][1] == 1:
            factor = number(coefficient)
            for b, n in zip(node.args, exponents, strict=True):
                if b.constant:
                    factor = multiply(factor, b**n)
            return {value: multiply(factor, k) for value, k in forms[moving[0][0]].items()}
    return None


# Factoring: common factors taken out within sums.


def factor(graph: Graph) -> Graph:
    """a x + b x + c = (a + b) x + c within sums, most frequent factor first: one multiplication saved per
    term joined.

    Terms with other uses are left alone, since they are computed anyway.
    """
    counted = graph.uses

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.kind != "sum" or node.constant:
            return None
        offset, coefficients = node.data
        terms = list(zip(coefficients, args, [counted[a] == 1 for a in node.args], strict=True))
        grouped = _take_out_factors(terms)
        return None if grouped is None else total([*grouped, (1, number(offset))])

    long = {n for n in graph.order if n.kind == "sum" and len(n.args) > 1}
    return graph.remade(make, long)


def _take_out_factors(terms: list[tuple[float, Expr, bool]]) -> list[tuple[float, Expr]] | None:
    """Return the terms with common factors taken out; `None` if no factor is worth taking."""
    loose = [(c, t) for c, t, own in terms if own and t.kind == "product"]
    rest = [(c, t) for c, t, own in terms if not (own and t.kind == "product")]
    if len(loose) < 2:
        return None
    changed = False
    while True:
        counted: Counter[Expr] = Counter()
        for _, term in loose:
            counted.update(_single_factors(term))
        best = max(counted, key=lambda b: (counted[b], not b.constant, b.order), default=None)
        if best is None or counted[best] < 2:
            return [*rest, *loose] if changed else None
        changed = True
        inside = [(c, multiply(t, power(best, -1))) for c, t in loose if best in _single_factors(t)]
        loose = [(c, t) for c, t in loose if best not in _single_factors(t)]
        rest.append((1, multiply(best, total(inside))))


def _single_factors(term: Expr) -> list[Expr]:
    return [b for b, n in zip(term.args, term.data[1], strict=True) if n == 1]


# Folding: numbers before the terms of a sum go into a constant factor of the term.


def fold(graph: Graph, constants: Constants) -> Graph:
    """Numbers before the terms of a sum, multiplied into a constant factor of the term: 2·(c₁ x) = c₂ x.

    It comes last, because terms with the same constant may still have a pair to share.
    """
    scaled_sums = [node for node in graph.special if node.kind == "sum" and not _plain(node)]
    folding = [a for node in scaled_sums for c, a in _terms(node) if _folds(c, a)]
    if not folding:
        return graph
    counted = graph.uses
    if not any([counted[a] == 1 for a in folding]):
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if _plain(node):
            return None
        terms: list[tuple[float, Expr]] = [(1, number(node.data[0]))]
        changed = False
        for c, old, term in zip(node.data[1], node.args, args, strict=True):
            if _folds(c, term) and counted[old] == 1:
                scaled = scale(term, abs(c))
                named = hoisted_product(scaled, list(scaled.args), constants)
                c, term = (1 if c > 0 else -1), scaled if named is None else named
                changed = True
            terms.append((c, term))
        return total(terms) if changed else None

    return graph.remade(make, set(scaled_sums))


def _terms(node: Expr) -> Iterable[tuple[float, Expr]]:
    return zip(node.data[1], node.args, strict=True)


def _folds(c: float, term: Expr) -> bool:
    """Return whether a number before a term goes into a constant factor of it."""
    return c not in (1, -1) and term.kind == "product" and term.args[0].constant


def _plain(node: Expr) -> bool:
    """Return whether no number stands before a term."""
    return node.kind != "sum" or node.constant or not numbers_before(node.data[1])


# Spreading: constant factors multiplied into sums that stand within sums, where terms may meet others.


def spread(graph: Graph) -> Graph:
    """x + k (a + b y) = x + k a + k b y for constants k, a, b, whose products are computed beforehand.

    This alone saves nothing; but x + k a may occur in other sums, which ``share`` finds.
    """
    counted = graph.uses

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.kind != "sum" or node.constant:
            return None
        offset, coefficients = node.data
        terms: list[tuple[float, Expr]] = [(1, number(offset))]
        changed = False
        for c, old, new in zip(coefficients, node.args, args, strict=True):
            opened = _open_product(new) if counted[old] == 1 else None
            changed = changed or opened is not None
            terms += [(c, new)] if opened is None else [(c * k, t) for k, t in opened]
        return total(terms) if changed else None

    return graph.remade(make, {n for n in graph.order if n.kind == "sum"})


def _open_product(term: Expr) -> list[tuple[float, Expr]] | None:
    """Return the terms of a constant times a sum of constants and their multiples; None for anything else."""
    if term.kind != "product":
        return None
    moving = [(b, n) for b, n in zip(term.args, term.data[1], strict=True) if not b.constant]
    if len(moving) != 1 or moving[0][1] != 1 or moving[0][0].kind != "sum":
        return None
    inner = moving[0][0]
    if not inner.data[0] and not any(t.constant for t in inner.args):
        return None
    factor = multiply(term, power(inner, -1))
    offset, coefficients = inner.data
    parts = [(c, multiply(t, factor)) for c, t in zip(coefficients, inner.args, strict=True)]
    return [*parts, (offset, factor)] if offset else parts


# Narrowing: very long sums and products in parts.

MANY = 100  # operands of a sum or product from which on it is cut: a program's line stays a line


def narrow(graph: Graph) -> Graph:
    """Sums and products of very many operands in parts, and these in parts again: no operation more or less.

    Compilers are slow on one expression with thousands of operands; LLVM's time grows with their square.
    """
    if not any([len(n.args) > MANY and not n.constant for n in graph.special]):
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr:
        made = same_or_rebuilt(node, args)
        while made.kind in ("sum", "product") and len(made.args) > MANY and not made.constant:
            made = _with_parts(made)
        return made

    return graph.remade(make, set(graph.order))


def _with_parts(node: Expr) -> Expr:
    offset, factors = node.data
    items = list(zip(factors, node.args, strict=True))
    parts = [items[i : i + MANY] for i in range(0, len(items), MANY)]
    if node.kind == "sum":
        return total([*((1, let(total(part), "part")) for part in parts), (1, number(offset))])
    made = [let(product_of([power(b, n) for n, b in part]), "part") for part in parts]
    return product_of([number(offset), *made])
