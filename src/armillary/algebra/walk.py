"""Walks over expression graphs: each node once, after its operands, and without recursion, so that graphs may
have any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeVar, overload

from armillary.algebra import node as printing
from armillary.algebra.expression import (
    Expr,
    _canonical_sum,
    _product,
    as_expr,
    call,
    general_power,
    multiply,
    number,
    power,
    symbol,
    total,
)
from armillary.algebra.expression import multiply as times
from armillary.algebra.functions import Signed, let, rebuild_call, with_definition, with_smallness
from armillary.algebra.node import PRODUCT_OF_TWO, TRUNCATION, negate, truncate_new_nodes, whole
from armillary.algebra.terms import common_dimension, sum_of_two
from armillary.algebra.units import ONE
from armillary.errors import ExpressionError, nearest

if TYPE_CHECKING:
    from armillary.algebra.truncation import Truncation


def operands_first(roots: Iterable[Expr], ends: Container[Expr] = ()) -> list[Expr]:
    """Return every node that the roots hold, each once, after its operands; nodes of ``ends`` are leaves."""
    done: set[Expr] = set()
    order: list[Expr] = []
    for node in roots:
        if node in done:
            continue
        above: list[tuple[Expr, Iterator[Expr]]] = []
        # An iterator continues where it stopped, so that a node with many operands is scanned once.
        rest = iter(() if node in ends else node.args)
        while True:
            for a in rest:
                if a not in done:
                    if a.args and a not in ends:
                        above.append((node, rest))
                        node, rest = a, iter(a.args)
                        break
                    done.add(a)
                    order.append(a)
            else:
                done.add(node)
                order.append(node)
                if not above:
                    break
                node, rest = above.pop()
    return order


def symbols(*roots: Expr) -> list[Expr]:
    """Return the symbols that the expressions hold, in the order of their first occurrence."""
    return [n for n in operands_first(roots) if n.kind == "symbol"]


def held_indices(roots: Sequence[Expr], of: Sequence[Expr]) -> list[list[int]]:
    """Return, for each root, the symbols of the sequence ``of`` that it holds, by their indices there."""
    bit = {s: 1 << i for i, s in enumerate(of)}
    held: dict[Expr, int] = {}  # sets as bits of a number: the union of large sets is one operation
    for node in operands_first(roots):
        bits = bit.get(node, 0)
        for a in node.args:
            bits |= held[a]
        held[node] = bits
    return [[i for i, digit in enumerate(f"{held[root]:b}"[::-1]) if digit == "1"] for root in roots]


def rebuild(node: Expr, args: list[Expr]) -> Expr:
    """Return a node with the same operation and other operands, simplified again."""
    if node.kind == "sum":
        constant, coefficients = node.data
        terms = list(zip(coefficients, args, strict=True))
        return total([*terms, (1, number(constant))] if constant else terms)
    if node.data is PRODUCT_OF_TWO:  # most often
        return times(*args)
    if node.kind == "product":
        coefficient, exponents = node.data
        factors = list(zip(args, exponents, strict=True))
        if node.unit is not ONE:
            return product_of_powers([(number(coefficient, node.unit), 1), *factors])
        return product_of_powers(factors, coefficient)
    if node.kind == "let":
        return with_definition(node, args[0])
    if node.kind == "call":
        if node.data == "pow":
            return general_power(args[0], args[1])
        known = rebuild_call(node, args)
        if known is not None:
            return known
        # Tables and foreign functions build their own calls: they check units and evaluate numbers.
        return node.data(*args) if callable(node.data) else call(node.data, tuple(args), node.dimension)
    return node


def product_of(factors: Iterable[Expr]) -> Expr:
    """Π fᵢ, as repeated multiplication gives it."""
    return product_of_powers([(f, 1) for f in factors])


def product_of_powers(factors: Sequence[tuple[Expr, float]], coefficient: float = 1) -> Expr:
    """c · Π eᵢ^nᵢ, as repeated multiplication gives it, but without a node for each partial product."""
    exponents: dict[Expr, float] = {}
    size = coefficient
    plain = TRUNCATION.get() is None
    for e, n in factors:
        kind = e.kind
        if n != 1 and (kind == "product" or kind == "number"):
            e, n = power(e, n), 1
            kind = e.kind
        if kind == "product":
            plain = plain and e.unit is ONE
            if e.data[0] != 1:
                size = whole(size * e.data[0])
            for base, m in zip(e.args, e.data[1], strict=True):
                exponents[base] = exponents[base] + m if base in exponents else m
        elif kind == "number":
            plain = plain and e.dimension is ONE
            size = whole(size * e.data)
        else:
            exponents[e] = exponents[e] + n if e in exponents else n
        if not plain:  # numbers with dimensions, truncated powers
            return times(number(coefficient), _multiply_in_pairs([power(e, n) for e, n in factors]))
    return _product(size, [(base, n) for base, n in exponents.items() if n != 0]) if size else number(0)


def _multiply_in_pairs(factors: Sequence[Expr]) -> Expr:
    """Π fᵢ; many factors are multiplied in pairs: multiplying one by one would copy the product each time."""
    if len(factors) <= 8:
        return reduce(times, factors)
    middle = len(factors) // 2
    return times(_multiply_in_pairs(factors[:middle]), _multiply_in_pairs(factors[middle:]))


def transform(
    roots: Iterable[Expr], replace: Callable[[Expr], Expr | None], ends: Container[Expr] = ()
) -> list[Expr]:
    """Return the roots with every node replaced by the result of ``replace`` for it, unless that is None.

    It must replace the nodes of ``ends``, and is not called for their operands.
    """
    roots = list(roots)
    new: dict[Expr, Expr] = {}
    for node in operands_first(roots, ends):
        other = replace(node)
        if other is not None:
            new[node] = other
        else:
            args = tuple(map(new.__getitem__, node.args))
            new[node] = node if args == node.args else rebuild(node, list(args))
    return [new[root] for root in roots]


def release_signs(roots: Iterable[Expr]) -> list[Expr]:
    """Return the roots with ordinary names in place of ``Signed`` ones.

    With an ordinary name, a ``let`` of a negative product becomes the negated ``let`` of the positive one.
    """
    roots = list(roots)
    new: dict[Expr, Expr] = {}
    for node in operands_first(roots):
        args = [new[a] for a in node.args]
        if node.kind == "let" and isinstance(node.data, Signed):
            new[node] = let(args[0], str(node.data))
        else:
            new[node] = node if args == [*node.args] else rebuild(node, args)
    return [new[root] for root in roots]


def substitute(expression: Expr, values: Mapping[Any, object]) -> Expr:  # keys are nodes or names
    """Return the expression with symbols (or any nodes) replaced, simplified again.

    A symbol may be given by its name, and its value as a number, which then has the dimension of the symbol.
    """
    root = as_expr(expression)
    if not isinstance(values, Mapping):
        raise ExpressionError(f"substitute: {values!r} is not a table of values, e.g. {{'k': 2.0}}")
    known: dict[Expr, Expr] = {}
    for key, value in values.items():
        for node in [key] if isinstance(key, Expr) else _symbols_by_name(key, root):
            known[node] = value if isinstance(value, Expr) else number(as_expr(value).data, node.dimension)
    return transform([root], known.get)[0]


def _symbols_by_name(name: object, root: Expr) -> list[Expr]:
    """Return the symbols of this name in an expression."""
    held = symbols(root)
    found = [s for s in held if s.data.name == name]
    if not found:
        hint = nearest(str(name), [s.data.name for s in held])
        raise ExpressionError(f"substitute: '{printing.text(root, limit=60)}' holds no symbol {name!r}{hint}")
    return found


Number = TypeVar("Number")


class Undimensioned:
    """A converter that removes dimensions, which the mechanics does not need once the input is checked.

    Without dimensions equal numbers are one node, and nodes are made faster. Converted expressions are
    remembered. ``smallness`` has the declared orders of smallness by expression. ``truncation`` drops
    negligible terms; the converter ``exact`` drops none.
    """

    def __init__(
        self, smallness: Mapping[Expr, int] | None = None, truncation: Truncation | None = None
    ) -> None:
        self._known: dict[Expr, Expr] = {}
        self._given: dict[Expr, Expr] = {}
        self._smallness = smallness or {}
        self.truncation = truncation

    @cached_property
    def exact(self) -> Undimensioned:
        """The converter that drops no terms, for conditions such as events."""
        return self if self.truncation is None else Undimensioned(self._smallness).with_values(self._given)

    def with_values(self, values: Mapping[Expr, Expr]) -> Undimensioned:
        """Return this converter with some nodes replaced by expressions without dimensions."""
        reader = Undimensioned(self._smallness, self.truncation)
        reader._given = {**self._given, **values}
        reader._known = dict(reader._given)
        return reader

    @overload
    def __call__(self, x: Expr) -> Expr: ...
    @overload
    def __call__(self, x: Number) -> Number: ...
    def __call__(self, x: object) -> object:
        if not isinstance(x, Expr):
            return x
        known = self._known
        found = known.get(x)
        if found is not None:
            return found
        with truncate_new_nodes(self.truncation):
            return self._read(x)

    def _read(self, x: Expr) -> Expr:
        known = self._known
        stack = [x]
        while stack:
            node = stack[-1]
            waiting = [a for a in node.args if a not in known]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if node not in known:
                made = self._plain(node, [known[a] for a in node.args])
                order = self._smallness.get(node)
                known[node] = made if order is None or node.kind == "symbol" else with_smallness(made, order)
        return known[x]

    def _plain(self, node: Expr, args: list[Expr]) -> Expr:
        if node.kind == "number":
            return number(node.data)
        if node.kind == "symbol":
            s = node.data
            return symbol(
                s.name,
                s.role,
                owner=s.owner,
                units=s.units,
                about=s.about,
                default=s.default,
                smallness=self._smallness.get(node, s.smallness),
            )
        if node.kind == "call" and not isinstance(node.data, str):
            return call(node.data, tuple(args), None)  # a table or foreign function
        if node.kind == "product":
            coefficient, exponents = node.data
            return product_of_powers(list(zip(args, exponents, strict=True)), coefficient)
        return rebuild(node, args)


def rebuild_simply(node: Expr, args: list[Expr]) -> Expr | None:
    """Rebuild a sum or product whose operands were only renamed or negated; `None` if ``rebuild`` is needed.

    Operands that differed must still differ. Then there are no terms to collect and no factors to take out,
    and only the order of the operands changes.
    """
    if node.data is PRODUCT_OF_TWO:  # most often
        x, y = args
        minus = False
        if x.kind == "product":
            if not is_negative(x):
                return None
            x, minus = x.args[0], True
        if y.kind == "product":
            if not is_negative(y):
                return None
            y, minus = y.args[0], not minus
        made = multiply(x, y)
        return negate(made) if minus else made
    if node.kind == "sum" and TRUNCATION.get() is None:
        constant, coefficients = node.data
        if len(args) == 2 and constant == 0:
            found = sum_of_two(coefficients[0], args[0], coefficients[1], args[1])
            if found is not None:
                return found
        terms = []
        for c, e in zip(coefficients, args, strict=True):
            if e.kind == "product" and e.data[0] != 1:
                e, c = negate(e), -c
            terms.append((e, c))
        return _canonical_sum(terms, constant, common_dimension([e for e, _ in terms], checked=False))
    if node.kind != "product" or node.unit is not ONE:
        return None
    coefficient = node.data[0]
    factors = []
    for base, n in zip(args, node.data[1], strict=True):
        if base.kind == "product":
            if n != int(n) or not is_negative(base):
                return None
            base = base.args[0]
            coefficient = -coefficient if n % 2 else coefficient
        factors.append((base, n))
    return _product(coefficient, factors)


def is_negative(e: Expr) -> bool:
    """Return whether an expression is −x for an x that is not a product."""
    return e.kind == "product" and e.data == (-1, (1,)) and e.unit is ONE
