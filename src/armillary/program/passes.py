"""Passes that make a program cheaper. Each is a pure function from roots to roots, exact up to rounding.

A program under improvement is a list of root expressions whose ``let`` nodes are the intermediate values.
Sharing needs no pass of its own for whole expressions: equal ones are the same node. Each pass states what
it saves; ``improve`` in ``derive.py`` keeps it only where the count agrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from armillary.algebra.expression import Expr, let, multiply, number, power, scale, symbol, total
from armillary.algebra.walk import operands_first, product_of, rebuild, transform
from armillary.program.cost import Operations, count_nodes


class Graph:
    """Roots with the order of all nodes below them, walked once and used by every question about them."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = list(roots)
        self.order = operands_first(self.roots)

    @cached_property
    def uses(self) -> Counter[Expr]:
        """How many places use each node: operands of distinct nodes, and roots."""
        found: Counter[Expr] = Counter(self.roots)
        for node in self.order:
            for a in node.args:
                found[a] += 1
        return found

    @cached_property
    def operations(self) -> Operations:
        """Operations of the variable nodes."""
        return count_nodes(self.order)

    def remade(self, make: Callable[[Expr, list[Expr]], Expr]) -> Graph:
        """The graph with every node made anew by ``make(node, new operands)``, operands first."""
        new: dict[Expr, Expr] = {}
        for node in self.order:
            new[node] = make(node, [new[a] for a in node.args]) if node.args else node
        return Graph([new[r] for r in self.roots])


def _same_or_rebuilt(node: Expr, args: list[Expr]) -> Expr:
    for x, y in zip(args, node.args, strict=True):
        if x is not y:
            return rebuild(node, args)
    return node


# ---------------------------------------------------------------- inline


def inline(graph: Graph) -> Graph:
    """Intermediate values that are used once, dissolved into their user: sums and products meet and
    simplify further.

    A product that its user squares stays whole: (a b)² is two multiplications, a² b² three.
    """
    counted = graph.uses
    squared: set[Expr] = set()
    for node in graph.order:
        if node.kind == "product":
            squared.update([b for b, n in zip(node.args, node.data[1], strict=True) if n not in (1, -1)])

    def make(node: Expr, args: list[Expr]) -> Expr:
        if (
            node.kind == "let"
            and counted[node] == 1
            and not (node in squared and node.args[0].kind == "product")
        ):
            return args[0]
        return _same_or_rebuilt(node, args)

    return graph.remade(make)


# ---------------------------------------------------------------- hoist


class Constants:
    """Names for expressions of parameters alone, each computed once per parameter set.

    Definitions hold parameters only, never other named constants. ``taken`` are names already in use.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.definitions: dict[Expr, Expr] = {}
        self._names: dict[Expr, Expr] = {}
        self._taken = set(taken)
        self._count = 0

    def name(self, value: Expr) -> Expr:
        """A symbol for a constant expression; numbers and parameters are their own names, signs stay
        outside.
        """
        if value.kind == "product" and value.data[0] < 0:
            return scale(self.whole(scale(value, -1)), -1)
        return self.whole(value)

    def whole(self, value: Expr) -> Expr:
        """A symbol for a constant with its sign: for results and arguments of functions, which have no
        place for one.
        """
        if value.kind in ("number", "symbol"):
            return value
        (value,) = transform([value], self.definitions.get)
        if value.kind in ("number", "symbol"):
            return value
        if value not in self._names:
            made = symbol(self._fresh_name(), "parameter", owner=self)
            self._names[value] = made
            self.definitions[made] = value
        return self._names[value]

    def _fresh_name(self) -> str:
        while True:
            self._count += 1
            if f"c{self._count}" not in self._taken:
                return f"c{self._count}"


def hoist(graph: Graph, constants: Constants) -> Graph:
    """Constant terms and factors gathered and replaced by names: one operand where there were several.

    Sums that open into others as they are made anew bring constants of their own: then it goes round again.
    """
    while any([_is_unnamed(r) for r in graph.roots]) or any([_holds_unnamed(n) for n in graph.order]):
        graph = _hoisted(graph, constants)
    return graph


def _is_unnamed(node: Expr) -> bool:
    return node.constant and node.kind != "number" and node.kind != "symbol"


def _holds_unnamed(node: Expr) -> bool:
    """Whether a variable node holds constants that one name could replace."""
    if node.constant:
        return False
    fixed = [i for i, a in enumerate(node.args) if a.constant]
    if not fixed:
        return False
    if any([_is_unnamed(node.args[i]) for i in fixed]):
        return True
    if node.kind == "sum" or node.kind == "product":
        factors = node.data[1]
        plain = (1, -1) if node.kind == "sum" else (1,)
        return len(fixed) + _lone_number(node) > 1 or factors[fixed[0]] not in plain
    return False


def _hoisted(graph: Graph, constants: Constants) -> Graph:
    def make(node: Expr, args: list[Expr]) -> Expr:
        if node.constant:
            return node  # named where a variable node meets it
        if node.kind == "sum":
            return _hoisted_sum(node, args, constants)
        if node.kind == "product":
            return _hoisted_product(node, args, constants)
        return _same_or_rebuilt(node, [constants.whole(a) if a.constant else a for a in args])

    changed = graph.remade(make)
    if any(r.constant for r in changed.roots):
        return Graph([constants.whole(r) if r.constant else r for r in changed.roots])
    return changed


def _hoisted_sum(node: Expr, args: list[Expr], constants: Constants) -> Expr:
    offset, coefficients = node.data
    fixed = [(c, a) for c, a in zip(coefficients, args, strict=True) if a.constant]
    moving = [(c, a) for c, a in zip(coefficients, args, strict=True) if not a.constant]
    if not fixed or (len(fixed) == 1 and not offset and _is_name(fixed[0][1], abs(fixed[0][0]))):
        return _same_or_rebuilt(node, args)
    constant = constants.name(total([*fixed, (1, number(offset))]))
    return total([*moving, (1, constant)])


def _hoisted_product(node: Expr, args: list[Expr], constants: Constants) -> Expr:
    coefficient, exponents = node.data
    fixed = [(base, n) for base, n in zip(args, exponents, strict=True) if base.constant]
    if not fixed or (len(fixed) == 1 and abs(coefficient) == 1 and _is_name(*fixed[0])):
        return _same_or_rebuilt(node, args)
    constant, moving = number(coefficient), number(1)
    for base, n in zip(args, exponents, strict=True):
        if base.constant:
            constant = multiply(constant, power(base, n))
        else:
            moving = multiply(moving, power(base, n))
    return multiply(constants.name(constant), moving)


def _is_name(base: Expr, exponent: float) -> bool:
    """Whether a constant is one operand already."""
    return base.kind == "symbol" and exponent == 1


# ---------------------------------------------------------------- fold


def fold(graph: Graph, constants: Constants) -> Graph:
    """Numbers before the terms of a sum, multiplied into a constant factor of the term: 2·(c₁ x) = c₂ x.

    Last of all, because terms with the same constant may still have a pair to share.
    """
    counted = graph.uses

    def make(node: Expr, args: list[Expr]) -> Expr:
        if node.kind != "sum" or node.constant or all([c in (1, -1) for c in node.data[1]]):
            return _same_or_rebuilt(node, args)
        terms: list[tuple[float, Expr]] = [(1, number(node.data[0]))]
        for c, old, term in zip(node.data[1], node.args, args, strict=True):
            if c not in (1, -1) and counted[old] == 1 and term.kind == "product" and term.args[0].constant:
                scaled = scale(term, abs(c))
                c, term = (1 if c > 0 else -1), _hoisted_product(scaled, list(scaled.args), constants)
            terms.append((c, term))
        return total(terms)

    return graph.remade(make)


# ---------------------------------------------------------------- reciprocals


def reciprocals(graph: Graph) -> Graph:
    """One division and products in place of several divisions by the same value."""
    counted: Counter[Expr] = Counter()
    for node in graph.order:
        if node.kind == "product" and not node.constant:
            counted.update(
                [b for b, n in zip(node.args, node.data[1], strict=True) if n == -1 and not b.constant]
            )

    def make(node: Expr, args: list[Expr]) -> Expr:
        if node.kind != "product" or node.constant:
            return _same_or_rebuilt(node, args)
        coefficient, exponents = node.data
        divided = [b for b, n in zip(node.args, exponents, strict=True) if n == -1 and counted[b] > 1]
        if not divided or len(exponents) == 1:
            return _same_or_rebuilt(node, args)
        result = number(coefficient)
        for old, base, n in zip(node.args, args, exponents, strict=True):
            factor = let(power(base, -1), "reciprocal") if n == -1 and counted[old] > 1 else power(base, n)
            result = multiply(result, factor)
        return result

    return graph.remade(make)


# ---------------------------------------------------------------- factor


def factor(graph: Graph) -> Graph:
    """a x + b x + c = (a + b) x + c within sums, most frequent factor first: one multiplication saved per
    term joined.

    Terms that others use too are left alone: they are computed anyway.
    """
    counted = graph.uses

    def make(node: Expr, args: list[Expr]) -> Expr:
        if node.kind != "sum" or node.constant:
            return _same_or_rebuilt(node, args)
        offset, coefficients = node.data
        terms = list(zip(coefficients, args, [counted[a] == 1 for a in node.args], strict=True))
        grouped = _grouped(terms)
        return _same_or_rebuilt(node, args) if grouped is None else total([*grouped, (1, number(offset))])

    return graph.remade(make)


def _grouped(terms: list[tuple[float, Expr, bool]]) -> list[tuple[float, Expr]] | None:
    """Terms with common factors taken out, or None where there are none worth taking."""
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


# ---------------------------------------------------------------- share


def share(graph: Graph, rounds: int = 6) -> Graph:
    """Pairs of operands that several sums or several products have in common, named: one operation saved
    per further use.
    """
    for _ in range(rounds):
        chosen = _common_pairs(graph)
        if not chosen:
            break
        graph = graph.remade(lambda node, args, chosen=chosen: _with_pairs(node, args, chosen))  # type: ignore[misc]
    return graph


Pair = tuple[str, Expr, Expr, float]  # kind of node, two operands, ratio of coefficients (sums) or 1


def _operand_pairs(node: Expr) -> list[Pair]:
    if node.kind == "sum":
        items = [(a, c) for a, c in zip(node.args, node.data[1], strict=True) if c == 1 or c == -1]
        return [("sum", a, b, cb / ca) for i, (a, ca) in enumerate(items) for b, cb in items[i + 1 :]]
    plain = [b for b, n in zip(node.args, node.data[1], strict=True) if n == 1]
    if node.data[0] not in (1, -1):
        plain.append(number(abs(node.data[0])))
    return [("product", a, b, 1.0) for i, a in enumerate(plain) for b in plain[i + 1 :]]


def _lone_number(node: Expr) -> bool:
    """Whether a sum has a number as a term, or a product one as a factor."""
    return node.data[0] != 0 if node.kind == "sum" else node.data[0] not in (1, -1)


def _operand_count(node: Expr) -> int:
    """Operands of a sum or product, its number included."""
    return len(node.args) + _lone_number(node)


def _common_pairs(graph: Graph) -> dict[Expr, list[Pair]]:
    """Pairs to name in this round, by the nodes that hold them; no operand of a node is taken twice.

    A node that is such a pair and nothing else holds it too: it becomes the named value itself.
    """
    holders: dict[Pair, list[Expr]] = {}
    short: list[Expr] = []
    for node in graph.order:
        if (node.kind == "sum" or node.kind == "product") and not node.constant:
            if _operand_count(node) == 2:
                short.append(node)
                continue
            for pair in _operand_pairs(node):
                if not (pair[1].constant and pair[2].constant):
                    holders.setdefault(pair, []).append(node)
    for node in short:
        for pair in _operand_pairs(node):
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


def _with_pairs(node: Expr, args: list[Expr], chosen: dict[Expr, list[Pair]]) -> Expr:
    pairs = chosen.get(node)
    if not pairs:
        return _same_or_rebuilt(node, args)
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


# ---------------------------------------------------------------- narrow

MANY = 100  # operands of a sum or product from which on it is cut: a program's line stays a line


def narrow(graph: Graph) -> Graph:
    """Sums and products of very many operands in parts, and these in parts again: no operation more or less.

    A target takes long over one expression of thousands of operands; LLVM's time grows with their square.
    """
    if not any([len(n.args) > MANY and not n.constant for n in graph.order]):
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr:
        made = _same_or_rebuilt(node, args)
        while made.kind in ("sum", "product") and len(made.args) > MANY and not made.constant:
            made = _with_parts(made)
        return made

    return graph.remade(make)


def _with_parts(node: Expr) -> Expr:
    offset, factors = node.data
    items = list(zip(factors, node.args, strict=True))
    parts = [items[i : i + MANY] for i in range(0, len(items), MANY)]
    if node.kind == "sum":
        return total([*((1, let(total(part), "part")) for part in parts), (1, number(offset))])
    made = [let(product_of([power(b, n) for n, b in part]), "part") for part in parts]
    return product_of([number(offset), *made])
