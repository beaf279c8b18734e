"""Hoisting: expressions of parameters alone are named, and computed once per parameter set."""

from __future__ import annotations

from collections.abc import Iterable

from armillary.algebra.expression import Expr, multiply, number, power, scale, symbol, total
from armillary.algebra.walk import rebuild, transform
from armillary.program.passes.graph import Graph, lone_number


class Constants:
    """Names for expressions of parameters alone, each computed once per parameter set.

    Definitions hold parameters only, never other named constants. ``taken`` are names already in use.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.definitions: dict[Expr, Expr] = {}
        self._names: dict[Expr, Expr] = {}  # of values, also as written with names of others in them
        self._taken = set(taken)
        self._count = 0
        self._owner = object()  # not this table, which its own symbols would keep alive
        self.finished: set[Expr] = set()  # nodes in which nothing is left to name

    def name(self, value: Expr) -> Expr:
        """A symbol for a constant expression, without its sign; numbers and parameters stay themselves."""
        if value.kind == "product" and value.data[0] < 0:
            return scale(self.whole(scale(value, -1)), -1)
        return self.whole(value)

    def whole(self, value: Expr) -> Expr:
        """A symbol for a constant with its sign: for results and arguments of functions."""
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
    """Constant terms and factors gathered and replaced by names: one operand where there were several.

    Sums that merge into others when they are rebuilt bring further constants, so this is repeated.
    """
    while not graph.hoisted:
        met = [n for n in graph.order if n not in constants.finished]
        fixed = {n for n in graph.order if n.constant}
        holding = {n for n in met if not fixed.isdisjoint(n.args) and holds_unnamed(n)}
        if not holding and not any([is_unnamed(r) for r in graph.roots]):
            constants.finished.update(met)
            graph.hoisted = True
        else:
            graph = _hoisted(graph, constants, holding)
    return graph


def is_unnamed(node: Expr) -> bool:
    """Whether a node is a constant that has no name yet."""
    return node.constant and node.kind != "number" and node.kind != "symbol"


def holds_unnamed(node: Expr) -> bool:
    """Whether a variable node holds constants that one name could replace."""
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


def _hoisted(graph: Graph, constants: Constants, holding: set[Expr]) -> Graph:
    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.constant:
            return node  # named where a variable node meets it
        if node.kind == "sum":
            return _hoisted_sum(node, args, constants)
        if node.kind == "product":
            return hoisted_product(node, args, constants)
        if not any([is_unnamed(a) for a in args]):
            return None
        return rebuild(node, [constants.whole(a) if a.constant else a for a in args])

    changed = graph.remade(make, holding)
    if any(r.constant for r in changed.roots):
        return Graph([constants.whole(r) if r.constant else r for r in changed.roots])
    return changed


def _hoisted_sum(node: Expr, args: list[Expr], constants: Constants) -> Expr | None:
    if not any([a.constant for a in args]):
        return None
    offset, coefficients = node.data
    fixed = [(c, a) for c, a in zip(coefficients, args, strict=True) if a.constant]
    moving = [(c, a) for c, a in zip(coefficients, args, strict=True) if not a.constant]
    if len(fixed) == 1 and not offset and _is_name(fixed[0][1], abs(fixed[0][0])):
        return None
    constant = constants.name(total([*fixed, (1, number(offset))]))
    return total([*moving, (1, constant)])


def hoisted_product(node: Expr, args: list[Expr], constants: Constants) -> Expr | None:
    """The product with its constants in one name; None where they are."""
    if not any([a.constant for a in args]):
        return None
    coefficient, exponents = node.data
    fixed = [(base, n) for base, n in zip(args, exponents, strict=True) if base.constant]
    if len(fixed) == 1 and abs(coefficient) == 1 and _is_name(*fixed[0]):
        return None
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
