"""The passes: hoist, share, reciprocals, inline, expand, factor, fold, spread and narrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from armillary.algebra.expression import UNIT, Expr, multiply, number, power, scale, symbol, total
from armillary.algebra.functions import KeptName, let
from armillary.algebra.walk import product_of, product_of_powers, rebuild, transform
from armillary.program.passes.graph import Graph, lone_number, numbers_before, same_or_rebuilt

# Hoisting: expressions of parameters alone are named, and computed once per parameter set.


class Constants:
    """Names for expressions of parameters alone, each computed once per parameter set.

    Definitions hold parameters only, never other named constants. ``taken`` are names in use elsewhere.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.definitions: dict[Expr, Expr] = {}
        self._names: dict[Expr, Expr] = {}  # by value; also by values that contain names of constants
        self._taken = set(taken)
        self._count = 0
        self._owner = object()  # not this table itself: its symbols would keep the table alive
        self.finished: set[Expr] = set()  # nodes whose constants all have names

    @classmethod
    def of(cls, definitions: Mapping[Expr, Expr], taken: Iterable[str] = ()) -> Constants:
        """Return a table of the constants of a program, with their definitions."""
        found = cls([*taken, *(name.data.name for name in definitions)])
        named = {name: value for name, value in definitions.items() if value.kind not in ("number", "symbol")}
        found.definitions = named
        found._names = {value: name for name, value in named.items()}
        return found

    def name(self, value: Expr) -> Expr:
        """Return a symbol, times ±1, for a constant; numbers and parameters are returned unchanged."""
        if value.kind == "product" and value.data[0] < 0:
            return scale(self.whole(scale(value, -1)), -1)
        return self.whole(value)

    def whole(self, value: Expr) -> Expr:
        """Return a symbol for a constant including its sign, for results and arguments of functions."""
        if value.kind in ("number", "symbol"):
            return value
        found = self._names.get(value)
        if found is None:
            (written,) = transform([value], self.definitions.get)
            found = written if written.kind in ("number", "symbol") else self._names.get(written)
            if found is None:
                found = self._names[written] = symbol(self._fresh_name(), "parameter", owner=self._owner)
                self.definitions[found] = written
            self._names[value] = found
        return found

    def _fresh_name(self) -> str:
        while True:
            self._count += 1
            if f"c{self._count}" not in self._taken:
                return f"c{self._count}"


def hoist(graph: Graph, constants: Constants) -> Graph:
    """Replace the constant terms of each sum, and the constant factors of each product, by one named operand.

    A rebuilt sum may merge with others and bring more constants together, so the replacement is repeated.
    """
    while not graph.hoisted:
        met = [n for n in graph.order if n not in constants.finished]
        fixed = {n for n in graph.order if n.constant}
        holding = {n for n in met if not fixed.isdisjoint(n.args) and holds_unnamed(n)}
        if not holding and not any([is_unnamed(r) for r in graph.roots]):
            constants.finished.update(met)
            graph.hoisted = True
        else:
            graph = _hoist_constants(graph, constants, holding)
    return graph


def is_unnamed(node: Expr) -> bool:
    """Return whether a node is a constant that has no name yet."""
    return node.constant and node.kind != "number" and node.kind != "symbol"


def holds_unnamed(node: Expr) -> bool:
    """Return whether a variable node has constant operands that one name could replace."""
    if node.constant:
        return False
    fixed = last = 0
    for i, a in enumerate(node.args):
        if a.constant:
            if is_unnamed(a):
                return True
            fixed, last = fixed + 1, i
    if fixed and (node.kind == "sum" or node.kind == "product"):
        plain = (1, -1) if node.kind == "sum" else (1,)
        return fixed + lone_number(node) > 1 or node.data[1][last] not in plain
    return False


def _hoist_constants(graph: Graph, constants: Constants, holding: set[Expr]) -> Graph:
    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.constant:
            return node  # it gets its name in nodes that use it and are not constant
        if node.kind == "sum":
            return _hoist_sum(node, args, constants)
        if node.kind == "product":
            return hoist_product(node, args, constants)
        if not any([is_unnamed(a) for a in args]):
            return None
        return rebuild(node, [constants.whole(a) if a.constant else a for a in args])

    changed = graph.rebuild_nodes(make, holding)
    if any(r.constant for r in changed.roots):
        return Graph([constants.whole(r) if r.constant else r for r in changed.roots], changed.source)
    return changed


def _hoist_sum(node: Expr, args: list[Expr], constants: Constants) -> Expr | None:
    if not any([a.constant for a in args]):
        return None
    offset, coefficients = node.data
    fixed = [(c, a) for c, a in zip(coefficients, args, strict=True) if a.constant]
    moving = [(c, a) for c, a in zip(coefficients, args, strict=True) if not a.constant]
    if len(fixed) == 1 and not offset and _is_name(fixed[0][1], abs(fixed[0][0])):
        return None
    constant = constants.name(total([*fixed, (1, number(offset))]))
    return total([*moving, (1, constant)])


def hoist_product(node: Expr, args: list[Expr], constants: Constants) -> Expr | None:
    """Replace the constants of a product by one name; return `None` if it has none, or only one name."""
    if not any([a.constant for a in args]):
        return None
    coefficient, exponents = node.data
    fixed = [(base, n) for base, n in zip(args, exponents, strict=True) if base.constant]
    if len(fixed) == 1 and abs(coefficient) == 1 and _is_name(*fixed[0]):
        return None
    moving = [(base, n) for base, n in zip(args, exponents, strict=True) if not base.constant]
    constant = constants.name(product_of_powers(fixed, coefficient))
    return product_of_powers([*moving, (constant, 1)])


def _is_name(base: Expr, exponent: float) -> bool:
    """Return whether a constant factor is only a name."""
    return base.kind == "symbol" and exponent == 1


# Sharing: pairs of operands that several sums or products have in common.

_ROUNDS = 6

Pair = tuple[str, Expr, Expr, float]  # kind of node, two operands, ratio of coefficients (sums) or 1


def share(graph: Graph) -> Graph:
    """Name pairs of operands that several sums or products share: each further use saves an operation."""
    for _ in range(_ROUNDS):
        chosen = _common_pairs(graph)
        if not chosen:
            break
        changed = graph.rebuild_nodes(partial(_with_pairs, chosen), chosen)
        if changed is graph:
            break
        graph = changed
    return graph


def _operand_pairs(node: Expr, uses: Mapping[Expr, int]) -> list[Pair]:
    """Return the pairs of operands of a sum or product that other nodes may have: no pairs with an operand
    that is used once.
    """
    if node.kind == "sum":
        items = [
            (a, c)
            for a, c in zip(node.args, node.data[1], strict=True)
            if uses[a] > 1 and (c == 1 or c == -1)
        ]
        return [("sum", a, b, cb / ca) for i, (a, ca) in enumerate(items) for b, cb in items[i + 1 :]]
    plain = [b for b, n in zip(node.args, node.data[1], strict=True) if n == 1 and uses[b] > 1]
    if node.data[0] not in (1, -1):
        plain.append(number(abs(node.data[0])))
    return [("product", a, b, 1.0) for i, a in enumerate(plain) for b in plain[i + 1 :]]


def _operand_count(node: Expr) -> int:
    """Return the number of operands of a sum or product, including its constant term or coefficient."""
    return len(node.args) + lone_number(node)


def _common_pairs(graph: Graph) -> dict[Expr, list[Pair]]:
    """Return the pairs to name in this round, by node; each operand of a node is in one pair at most.

    A node that has only the two operands of a pair counts, too: it becomes the named value.
    """
    holders: dict[Pair, list[Expr]] = {}
    short: list[Expr] = []
    uses = graph.uses
    for node in graph.order:
        if (node.kind == "sum" or node.kind == "product") and not node.constant:
            if _operand_count(node) == 2:
                short.append(node)
                continue
            for pair in _operand_pairs(node, uses):
                if not (pair[1].constant and pair[2].constant):
                    if pair in holders:
                        holders[pair].append(node)
                    else:
                        holders[pair] = [node]
    for node in short:
        for pair in _operand_pairs(node, uses):
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
    factors = [(new[b], n) for b, n in zip(node.args, exponents, strict=True) if b not in gone]
    factors += [(value, 1) for _, value in named]
    return product_of_powers(factors, coefficient if size not in gone else 1 if coefficient > 0 else -1)


# Reciprocals: one division in place of several divisions by the same value or its powers.


def reciprocals(graph: Graph) -> Graph:
    """Replace several divisions by the same value, its powers or roots, by one division and products.

    If one of the divisors is a root, all x^(−n/2) and x^(−n) become powers of 1/√x.
    """
    uses: dict[Expr, list[float]] = {}
    for node in graph.special:
        if node.kind == "product" and not node.constant:
            for base, n in _divisors(node):
                uses.setdefault(base, []).append(n)
    unit = {base: _common_exponent(exponents) for base, exponents in uses.items() if len(exponents) > 1}
    if not unit:
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.kind != "product" or node.constant:
            return None
        coefficient, exponents = node.data
        known = {base: n for base, n in _divisors(node) if base in unit}
        if not known or (len(exponents) == 1 and unit[node.args[0]] == exponents[0]):
            return None
        factors = [
            (let(power(base, unit[old]), "reciprocal"), n / unit[old]) if old in known else (base, n)
            for old, base, n in zip(node.args, args, exponents, strict=True)
        ]
        return product_of_powers(factors, coefficient)

    dividing = {n for n in graph.special if n.kind == "product" and min(n.data[1]) < 0}
    return graph.rebuild_nodes(make, dividing)


def _divisors(node: Expr) -> list[tuple[Expr, float]]:
    """Return the variable bases with negative whole or half exponents, and these exponents."""
    if min(node.data[1]) > 0:
        return []
    return [
        (b, n)
        for b, n in zip(node.args, node.data[1], strict=True)
        if n < 0 and 2 * n == int(2 * n) and not b.constant
    ]


def _common_exponent(exponents: list[float]) -> float:
    """Return the exponent of which all exponents are multiples: −1, or −½ if there are roots."""
    return -1 if all(n == int(n) for n in exponents) else -0.5


# Inlining: intermediate values that are used once are replaced by their definitions.

_PLAIN = frozenset((1, -1))  # exponents of products and divisions


def inline(graph: Graph) -> Graph:
    """Replace intermediate values with a single use by their definitions, so that sums and products merge.

    Squared products are kept, since (a b)² takes two multiplications and a² b² three; values with a KeptName
    are kept, too.
    """
    counted = graph.uses
    squared: set[Expr] = set()
    for node in graph.special:
        if node.kind == "product" and not _PLAIN.issuperset(node.data[1]):
            squared.update([b for b, n in zip(node.args, node.data[1], strict=True) if n not in _PLAIN])

    dissolved = {
        node
        for node in graph.order
        if node.kind == "let"
        and counted[node] == 1
        and not isinstance(node.data, KeptName)
        and not (node in squared and node.args[0].kind == "product")
    }
    if not dissolved:
        return graph
    return graph.rebuild_nodes(lambda node, args: args[0] if node in dissolved else None, dissolved)


# Expanding: results that are linear in the same values are written as linear combinations of these values.

Form = dict[Expr, Expr]  # constant factors by variable value; the factor of UNIT is the constant term

LONG = 24  # most terms of a form; a longer sum is kept as one value


def expand(graph: Graph, constants: Constants) -> Graph:
    """Write every sum as Σ kᵢ xᵢ + k₀ with constant k and values x that are not sums.

    Then a result that is linear in a few values takes one product per value. This saves operations in small
    linear systems only; the caller compares the counts.
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
    """Return the linear form of a sum, a constant multiple or an intermediate value; None for other nodes."""
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
    """a x + b x + c = (a + b) x + c within sums, the most frequent factor first.

    Each term but one saves a multiplication. Terms with other users are not changed, since they are computed
    anyway.
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
    return graph.rebuild_nodes(make, long)


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


# Folding: coefficients of a sum's terms are multiplied into a constant factor of the term.


def fold(graph: Graph, constants: Constants) -> Graph:
    """Multiply coefficients of a sum's terms into a constant factor of the term: 2·(c₁ x) = c₂ x.

    This pass comes after ``share``, since terms with the same constant may have a pair to share.
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
                named = hoist_product(scaled, list(scaled.args), constants)
                c, term = (1 if c > 0 else -1), scaled if named is None else named
                changed = True
            terms.append((c, term))
        return total(terms) if changed else None

    return graph.rebuild_nodes(make, set(scaled_sums))


def _terms(node: Expr) -> Iterable[tuple[float, Expr]]:
    return zip(node.data[1], node.args, strict=True)


def _folds(c: float, term: Expr) -> bool:
    """Return whether a term has a coefficient other than ±1 and a constant factor."""
    return c not in (1, -1) and term.kind == "product" and term.args[0].constant


def _plain(node: Expr) -> bool:
    """Return whether a node has nothing to fold: no sum, a constant one, or only coefficients ±1."""
    return node.kind != "sum" or node.constant or not numbers_before(node.data[1])


# Spreading: constant factors are multiplied into sums within sums.


def spread(graph: Graph) -> Graph:
    """x + k (a + b y) = x + k a + k b y for constants k, a, b, whose products are precomputed.

    This pass alone saves nothing. But x + k a may occur in other sums, too; then ``share`` saves operations.
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

    return graph.rebuild_nodes(make, {n for n in graph.order if n.kind == "sum"})


def _open_product(term: Expr) -> list[tuple[float, Expr]] | None:
    """Return the terms of k (a + b y + …) multiplied out, for constant k and a; None for other products."""
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


# Narrowing: very long sums and products are divided into parts.

MANY = 100  # most operands of a sum or product in a program


def narrow(graph: Graph) -> Graph:
    """Divide sums and products of very many operands into parts, repeatedly; operations stay the same.

    Compilers are slow on an expression with thousands of operands: LLVM's time grows with their square.
    """
    if not any([len(n.args) > MANY and not n.constant for n in graph.special]):
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr:
        made = same_or_rebuilt(node, args)
        while made.kind in ("sum", "product") and len(made.args) > MANY and not made.constant:
            made = _with_parts(made)
        return made

    return graph.rebuild_nodes(make, set(graph.order))


def _with_parts(node: Expr) -> Expr:
    offset, factors = node.data
    items = list(zip(factors, node.args, strict=True))
    parts = [items[i : i + MANY] for i in range(0, len(items), MANY)]
    if node.kind == "sum":
        return total([*((1, let(total(part), "part")) for part in parts), (1, number(offset))])
    made = [let(product_of_powers([(b, n) for n, b in part]), "part") for part in parts]
    return product_of([number(offset), *made])
