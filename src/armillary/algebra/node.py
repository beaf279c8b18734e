"""Interned nodes: the storage behind expressions.

The same key gives the same node as long as there is a reference to it; nodes without references are freed.
At its creation a node gets a flag for constants, its dimension, its order of smallness, and its sort key in
canonical order, which is the same in every process.

``text`` prints an expression as one line of mathematics, the same in every process, so that tests and people
can compare it. It needs only ``kind``, ``args`` and ``data`` of nodes, and uses an explicit stack, so depth
does not matter. A ``let`` node prints as its definition unless ``names`` gives it a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, Self, TypeAlias, TypeVar
from weakref import ref
from zlib import crc32

from armillary.algebra.units import ONE, Dimension
from armillary.errors import ExpressionError
from armillary.untyped import Given

# Numbers inside expressions are finite; whole numbers are ints if a double represents them exactly.

NUMBERS = (int, float)  # for isinstance; `int | float` would be built anew at every call
# Whole numbers below this are exact as doubles. Larger ones become floats: ints would grow without limit.
_EXACT = 2**53


def whole(value: float) -> float:
    """Return the value, as an int if that is exact, so that 2 and 2.0 are one node and print as 2."""
    if isinstance(value, int) and -_EXACT < value < _EXACT:
        return value
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ExpressionError(f"a number in an expression must be finite, not {value}")
    return int(value) if value.is_integer() and -_EXACT < value < _EXACT else value


def number_power(value: float, exponent: float) -> float:
    """value^exponent; raise ExpressionError if it is not a real, finite number."""
    if value == 0 and exponent < 0:
        raise ExpressionError("division by zero while making an expression")
    exact = isinstance(value, int) and abs(exponent) * value.bit_length() < 64
    try:
        result = value**exponent if exact else float(value) ** exponent
    except OverflowError:
        result = math.inf
    if isinstance(result, complex):
        raise ExpressionError(f"{value:g} to the power {exponent:g} is not a real number")
    return whole(result)


def positive_whole(value: object) -> int | None:
    """Return a user's value as an int if it is a whole number from 1 to 2⁶³ − 1, else None."""
    number = None if isinstance(value, bool) else plain_float(value)
    return int(number) if number is not None and 1 <= number < 2**63 and number == int(number) else None


def plain_float(value: Given) -> float | None:
    """Return a number that a user gave, as a float; None for text, a bool or any other value."""
    if isinstance(value, str | bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


_Expression = TypeVar("_Expression")


class TruncationRule(Protocol[_Expression]):
    """A rule that drops negligible terms as expressions are made; see ``truncation.py``."""

    def sum(
        self, terms: list[tuple[_Expression, float]], constant: float
    ) -> tuple[list[tuple[_Expression, float]], float]: ...
    def power(self, base: _Expression, exponent: float) -> _Expression | None: ...
    def function(self, name: str, x: _Expression) -> _Expression | None: ...
    def is_small_angle(self, y: _Expression, x: _Expression) -> bool: ...
    def is_below(self, x: _Expression, limit: _Expression) -> bool: ...


# The rule in force; None except in derivations with small variables. Its type argument is Any because
# expressions are defined in a module that imports this one.
TRUNCATION: ContextVar[TruncationRule[Any] | None] = ContextVar("truncation", default=None)


@contextmanager
def truncate_new_nodes(truncation: TruncationRule[Any] | None) -> Iterator[None]:  # as for TRUNCATION
    """Truncate by this rule all expressions that are made in the context; `None` truncates nothing."""
    token = TRUNCATION.set(truncation)
    try:
        yield
    finally:
        TRUNCATION.reset(token)


# Order of roles in sorted sums and products: constants first, so that they are adjacent.
ROLES = ("parameter", "time", "coordinate", "speed", "acceleration", "memory", "state", "variable")


@dataclass(frozen=True, eq=False)
class Symbol:
    """The meaning of a symbol node. The owner distinguishes equal names of different systems."""

    name: str
    role: str = "variable"
    owner: object = None  # stands for the symbol's system, but has no reference to the system
    units: str | None = None
    about: str = ""
    default: float | None = field(default=None)
    smallness: int = 0
    undeclared: bool = False  # a quantity of a description, without a stated dimension


class Node:
    """An immutable node of an expression graph."""

    __slots__ = (
        "__weakref__", "args", "constant", "data", "digest", "dimension", "kind", "opposite", "order",
        "rough", "smallness", "squares", "traits", "unit",
    )  # fmt: skip

    kind: str
    args: tuple[Any, ...]  # of nodes of the same class
    data: Any  # depends on the kind: a number, a Symbol, coefficients, a function; see expression.py
    dimension: Dimension | None
    constant: bool  # a function of parameters alone
    digest: int  # structural hash, the same in every process; ``settle`` sets it for results of ``negate``
    opposite: Any  # for a result of ``negate``, its operand; for others, a weak reference to −node, or None
    order: tuple[int, str, int, int]  # sort key in sums and products; ``settle`` sets it like ``digest``
    rough: int  # structural hash with coefficients rounded to nine digits
    squares: bool  # holds sin² or cos² of something as a factor
    unit: Dimension | None  # of the coefficient of a product, None if unknown; ONE for other nodes
    smallness: float  # declared order: 1 for a small symbol, −1 for a large one, 0 for most
    traits: int  # traits that a node inherits from any operand, one bit each

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    @property
    def undeclared(self) -> bool:
        """Whether the node holds a symbol without a stated dimension."""
        return bool(self.traits & _UNDECLARED)


NodeType = TypeVar("NodeType", bound=Node)


class _Entry(ref[Any]):  # refers to a node of the class that `intern` returns
    """A weak reference to a node with its key, by which a freed node is removed from the table."""

    __slots__ = ("key",)
    key: tuple[object, ...]


# Traits: is not constant, holds an undeclared symbol, has an order of smallness, holds a coefficient of more
# than nine digits.
_VARIABLE, _UNDECLARED, _JUDGED, _INEXACT = 1, 2, 4, 8

_table: dict[tuple[object, ...], _Entry] = {}
_new = object.__new__
_PRODUCT = 22
_MINUS = (-1, (1,))  # data of −x for an x that is not a product
_KIND_ORDER = {"symbol": 0, "let": 20, "call": 21, "product": _PRODUCT, "sum": 23, "number": 24}
# Most nodes are a·b, a + b or a − b. Each of the three has one shared data object, by which it is recognised.
# Their keys are short, since a key is hashed twice for each node: (a, b), (a, b, 1) and (a, b, −1).
PRODUCT_OF_TWO, SUM_OF_TWO, DIFFERENCE = (1, (1, 1)), (0, (1, 1)), (0, (1, -1))


def intern(
    make: type[NodeType],
    kind: str,
    args: tuple[Node, ...],
    data: Any,  # depends on the kind, as in a node
    dimension: Dimension | None,
    key: tuple[object, ...],
    smallness: float | None = None,
    unit: Dimension | None = ONE,
) -> NodeType:
    """Return the one node for this key; make it if there is none.

    ``smallness`` is a declared order of smallness; without one the order follows from the operands.
    """
    known = _table.get(key)
    if known is not None:
        found: NodeType | None = known()
        if found is not None:
            return found
    node = _new(make)
    node.kind = kind
    node.args = args
    node.data = data
    node.dimension = dimension
    node.unit = unit
    node.squares = False
    node.opposite = None
    if kind == "symbol":
        node.constant = data.role == "parameter"
        node.smallness = data.smallness
        node.traits = (
            (0 if node.constant else _VARIABLE)
            | (_UNDECLARED if data.undeclared else 0)
            | (_JUDGED if data.smallness else 0)
        )
        node.digest = node.rough = crc32(data.name.encode())
        node.order = (ROLES.index(data.role), _natural(data.name), 0, 0)
    else:
        kind_order = _KIND_ORDER[kind]
        stable = rounded = data
        readable = "~"
        if data is PRODUCT_OF_TWO or data is SUM_OF_TWO or data is DIFFERENCE:  # most often
            pass
        elif kind == "let":
            stable = rounded = _checksum(data)
            if args[0].kind == "product":
                settle(args[0])
        elif kind == "product":
            coefficient, exponents = data
            if type(coefficient) is float:
                rounded = (_NINE_DIGITS[coefficient], exponents)
            if float in map(type, exponents):  # the base of a root may be a result of `negate`
                for a in args:
                    settle(a)
            if 2 in exponents:
                squared = [b for b, n in zip(args, exponents, strict=True) if n == 2 and b.kind == "call"]
                node.squares = any([b.data in ("sin", "cos") for b in squared])
        elif kind == "sum":
            if type(data[0]) is float or float in map(type, data[1]):
                rounded = (_nine_digits(data[0]), tuple([_nine_digits(c) for c in data[1]]))
        elif kind == "number":
            rounded = _nine_digits(data)
        else:
            stable = rounded = _stable(data)
            readable = _readable_order(args)
            for a in args:
                if a.kind == "product":
                    settle(a)
        inexact = rounded is not stable and rounded != stable
        if len(args) == 2:
            first, second = args
            traits = first.traits | second.traits
            digest = rough = hash((kind_order, first.rough, second.rough, rounded))
            if inexact or traits & _INEXACT:
                digest = hash((kind_order, first.digest, second.digest, stable))
                traits |= _INEXACT
        elif len(args) == 1:
            first = args[0]
            traits = first.traits
            digest = rough = hash((kind_order, first.rough, rounded))
            if inexact or traits & _INEXACT:
                digest = hash((kind_order, first.digest, stable))
                traits |= _INEXACT
        else:
            traits = 0
            for a in args:
                traits |= a.traits
            digest = rough = hash((kind_order, *[a.rough for a in args], rounded))
            if inexact or traits & _INEXACT:
                digest = hash((kind_order, *[a.digest for a in args], stable))
                traits |= _INEXACT
        node.digest, node.rough = digest, rough
        node.order = (kind_order, readable, rough, digest)
        node.constant = not traits & _VARIABLE
        node.smallness = 0
        if traits & _JUDGED or smallness:
            node.smallness = _smallness(node) if smallness is None else smallness
            traits = traits | _JUDGED if node.smallness else traits & ~_JUDGED
        node.traits = traits
    entry = _Entry(node, _forget)
    entry.key = key
    _table[key] = entry
    return node


def negate(node: NodeType) -> NodeType:
    """Return −node, a product whose ``opposite`` is the node; the node must not be a number.

    The product is not in the table of interned nodes, and ``settle`` computes its digest and order when they
    are needed: most results become terms or factors of other nodes, which take the sign into their
    coefficients.
    """
    other = node.opposite
    if other is not None:
        found: NodeType | None = other() if type(other) is ref else other
        if found is not None:
            return found
    made = _new(type(node))
    made.kind = "product"
    if node.kind == "product":
        made.args = node.args
        coefficient, exponents = node.data
        made.data = (-coefficient, exponents)
        made.unit, made.squares = node.unit, node.squares
    else:
        made.args = (node,)
        made.data = _MINUS
        made.unit, made.squares = ONE, False
    made.dimension, made.constant = node.dimension, node.constant
    made.smallness, made.traits = node.smallness, node.traits
    made.opposite = node
    node.opposite = ref(made)
    return made


def settle(node: NodeType) -> NodeType:
    """Return the node after setting its digest and order, which ``negate`` leaves out."""
    try:
        node.order  # noqa: B018
    except AttributeError:
        coefficient, exponents = data = rounded = node.data
        if type(coefficient) is float:
            rounded = (_NINE_DIGITS[coefficient], exponents)
        digest = rough = hash((_PRODUCT, *[a.rough for a in node.args], rounded))
        if node.traits & _INEXACT:
            digest = hash((_PRODUCT, *[a.digest for a in node.args], data))
        node.digest, node.rough = digest, rough
        node.order = (_PRODUCT, "~", rough, digest)
    return node


def _smallness(node: Node) -> float:
    """Return a node's order of smallness: the lowest order of a sum's terms, the total of a product's."""
    orders: list[float] = [a.smallness for a in node.args]
    if node.kind == "sum":
        return min(orders) if node.data[0] == 0 else min(0, *orders)
    if node.kind == "product":
        total: float = sum(n * order for n, order in zip(node.data[1], orders, strict=True))
        return total
    if node.kind == "let" or node.data == "abs":
        return orders[0]
    if node.data in ("min", "max"):
        return min(orders)
    if node.data == "select":
        return min(orders[1:])
    return max(orders[0], 0) if node.data in ("sin", "tan", "tanh", "asin", "atan") else 0


def _forget(entry: _Entry, table: dict[tuple[object, ...], _Entry] = _table) -> None:
    """Remove a freed node from the table.

    The table is a default argument because globals may be gone when the process ends.
    """
    found = table.pop(entry.key, entry)
    if found is not entry:
        table[entry.key] = found  # the node was made again before the old node was removed


def _stable(data: object) -> object:
    """Return the data of a node as its digest uses them: equal in every process, unlike hashes of strings."""
    if isinstance(data, str):
        return _checksum(data)
    if isinstance(data, tuple | int | float):
        return data
    return getattr(data, "digest", 0) or _checksum(str(getattr(data, "name", "")))


def _checksum(name: str) -> int:
    return crc32(name.encode())


class _Rounding(dict[float, float]):
    """Numbers rounded to nine digits, kept because the same coefficients occur again and again.

    The order of terms must not depend on the last bits of a coefficient: they differ between
    processors, versions of LAPACK and of Python (whose ``sum`` is compensated from 3.12 on).
    """

    def __missing__(self, value: float) -> float:
        if len(self) > 100_000:
            self.clear()
        found = self[value] = float(f"{value:.9g}")
        return found


_NINE_DIGITS = _Rounding()


def _nine_digits(value: object) -> object:
    return _NINE_DIGITS[value] if type(value) is float else value


def _readable_order(args: tuple[Node, ...]) -> str:
    """Return the first sort key of a call: the name of its argument if that is one symbol, else "~"."""
    simple = len(args) == 1 and args[0].kind == "symbol"
    return _natural(args[0].data.name) if simple else "~"


@lru_cache(4096)
def _natural(name: str) -> str:
    """Return the name with its numbers padded to six digits, so that 2 comes before 10."""
    return re.sub(r"\d+", lambda m: m.group().zfill(6), name)


# Binding strengths of operators: an expression whose operator binds less strongly than the operator around it
# gets parentheses.
SUM, PRODUCT, UNARY, POWER, ATOM = range(5)

OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or"}


Pieces: TypeAlias = list[Any]  # finished texts, and (expression, binding strength) still to be written


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same double; whole numbers have no point."""
    if isinstance(value, int) or (value == value and abs(value) < 1e16 and float(value).is_integer()):
        return str(int(value))
    return repr(float(value))


Names: TypeAlias = Mapping[Any, str]  # names by node


def text(expression: Node, names: Names | None = None, limit: int | None = None) -> str:
    """Return the expression as one line, e.g. ``m*(L*cos(q) - x)^2``.

    The text repeats every shared node, so it may become exponentially long: it is cut with dots after
    ``limit`` characters.
    """
    out: list[str] = []
    length = 0
    stack: Pieces = [(expression, SUM)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            length += len(item)
            if limit is not None and length > limit:
                return "".join(out)[: limit - 3] + "..."
        else:
            stack.extend(reversed(_pieces(item[0], item[1], names or {})))
    return "".join(out)


def _pieces(node: Node, binding: int, names: Names) -> Pieces:
    if node in names:
        return [names[node]]
    kind = node.kind
    if kind == "number":
        shown = number_text(node.data)
        return [f"({shown})"] if node.data < 0 and binding > SUM else [shown]
    if kind == "symbol":
        return [node.data.name]
    if kind == "let":
        return [(node.args[0], binding)]
    if kind == "sum":
        return _add_parentheses(_sum_pieces(node), binding > SUM)
    if kind == "product":
        return _product_pieces(node, binding)
    return _call_pieces(node, binding)


def _add_parentheses(pieces: Pieces, needed: bool) -> Pieces:
    return ["(", *pieces, ")"] if needed else pieces


def _sum_pieces(node: Node) -> Pieces:
    constant, coefficients = node.data
    pieces: Pieces = []
    for coefficient, term in zip(coefficients, node.args, strict=True):
        if pieces:
            pieces.append(" - " if coefficient < 0 else " + ")
        elif coefficient < 0:
            pieces.append("-")
        if abs(coefficient) != 1:
            pieces.append(number_text(abs(coefficient)) + "*")
        pieces.append((term, PRODUCT))
    if constant:
        pieces.append(f" - {number_text(-constant)}" if constant < 0 else f" + {number_text(constant)}")
    return pieces


def _product_pieces(node: Node, binding: int) -> Pieces:
    coefficient, exponents = node.data
    above: list[Pieces] = []
    below: list[Pieces] = []
    for base, exponent in zip(node.args, exponents, strict=True):
        (below if exponent < 0 else above).append(_power_pieces(base, abs(exponent)))
    pieces: Pieces = ["-"] if coefficient < 0 else []
    size = abs(coefficient)
    if size != 1 or not above:
        above.insert(0, [number_text(size)])
    for i, factor in enumerate(above):
        pieces += (["*"] if i else []) + factor
    if below:
        pieces.append("/")
        inside: Pieces = []
        for i, factor in enumerate(below):
            inside += (["*"] if i else []) + factor
        pieces += _add_parentheses(inside, len(below) > 1)
    return _add_parentheses(pieces, binding > PRODUCT or (coefficient < 0 and binding == PRODUCT))


def _power_pieces(base: Node, exponent: float) -> Pieces:
    if exponent == 0.5:
        return ["sqrt(", (base, SUM), ")"]
    if exponent == 1:
        return [(base, UNARY)]
    shown = number_text(exponent)
    return [(base, ATOM), "^" + (shown if float(exponent).is_integer() else f"({shown})")]


def _call_pieces(node: Node, binding: int) -> Pieces:
    name = node.data if isinstance(node.data, str) else node.data.name
    if name in OPERATORS:
        left, right = node.args
        pieces: Pieces = [(left, UNARY), f" {OPERATORS[name]} ", (right, UNARY)]
        return _add_parentheses(pieces, binding > SUM or name in ("and", "or"))
    if name == "not":
        return _add_parentheses(["not ", (node.args[0], UNARY)], binding > SUM)
    if name == "pow":
        return _add_parentheses([(node.args[0], ATOM), "^", (node.args[1], ATOM)], binding == ATOM)
    pieces = [name + "("]
    for i, argument in enumerate(node.args):
        pieces += ([", "] if i else []) + [(argument, SUM)]
    return [*pieces, ")"]
