"""The parser of text that means expressions and vectors, without ``eval`` and without recursion.

    loosest   or
              and
              not x
              <  <=  >  >=  ==  !=            do not chain
              +  -
              *  /
              -x  +x
    tightest  ^  **                           from the right; -x^2 is -(x^2), and x^-2 is allowed

Operands are numbers, names, calls ``f(a, b)`` and parentheses. Names may have dots, as ``A.q1`` and ``N.x``;
a name with other characters is written between back quotes. Operator precedence parsing with two explicit
stacks reads any depth in linear time. Long sums and products are collected and made at once, since adding
one term after another would copy the sum each time.

The caller provides the objects behind names, and the functions. Values are combined by Python's own
operators, so the same code handles scalars and vectors. Every error names its column in the text.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from armillary.algebra.expression import Expr, number, power, total
from armillary.algebra.functions import BY_NAME, RESERVED, and_, equal, not_, not_equal, or_
from armillary.algebra.walk import product_of
from armillary.errors import ArmillaryError, ExpressionError, UnitsError, nearest
from armillary.untyped import AnyFunction, DataTable

# A parsed value: an expression, number, vector or body; operators check their operands.
Parsed: TypeAlias = Any
Functions = Mapping[str, tuple[AnyFunction, Parsed]]

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
    | `(?P<quoted>[^`]+)`
    | (?P<operator>\*\*|<=|>=|==|!=|[-+*/^<>])
    | (?P<mark>[(),])
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_CALL = re.compile(r"\s*\(")
_WORDS = ("and", "or", "not")

# Binding strength. A prefix operator is pushed at once and waits for operators that bind tighter.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _POWER = range(1, 9)
_BINARY = {
    "or": _OR, "and": _AND, "<": _COMPARISON, "<=": _COMPARISON, ">": _COMPARISON, ">=": _COMPARISON,
    "==": _COMPARISON, "!=": _COMPARISON, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "^": _POWER,
}  # fmt: skip
_RELATIONS: dict[str, Callable[[Parsed, Parsed], Parsed]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": equal, "!=": not_equal,
    "and": and_, "or": or_,
}  # fmt: skip
_ARITHMETIC: dict[str, tuple[Callable[[Parsed, Parsed], Parsed], str]] = {
    "+": (operator.add, "add {0} and {1}"),
    "-": (operator.sub, "subtract {1} from {0}"),
    "*": (operator.mul, "multiply {0} and {1}"),
    "/": (operator.truediv, "divide {0} by {1}"),
    "^": (operator.pow, "raise {0} to the power of {1}"),
}
_HINTS = {"=": "; write == to compare", "&": "; write and", "|": "; write or", "!": "; write not or !="}

LONGEST = 2_000_000  # most characters of one text: reading them takes seconds and a gigabyte of nodes

# Sums and products of up to this many operands are combined one by one, so that an error names its column.
_SHORT = 8


def parse(
    text: str, names: Callable[[str], object], functions: Functions = BY_NAME, *, checked: bool = True
) -> Parsed:
    """Return the expression, vector or other object that a text means.

    ``names`` returns the object for a name, or raises LookupError; ``functions`` has, by name, a callable and
    the number of its arguments, or the least and the greatest number. If ``checked``, sums of different
    dimensions are an error.
    """
    if not isinstance(text, str):
        raise ExpressionError(f"{text!r} is not a text")
    if len(text) > LONGEST:
        raise ExpressionError(
            f"the expression has {len(text):,} characters; at most {LONGEST:,} are read: split it into "
            f"named parts"
        )
    found = _Parser(text, names, functions, checked).run()
    return number(found.data) if isinstance(found, Expr) and found.kind == "number" else found


@dataclass(slots=True)
class _Chain:
    """A sum or product under construction: (operator, operand, column of the operator)."""

    level: int
    items: list[tuple[str, Parsed, int]]


@dataclass(slots=True)
class _Open:
    """An open parenthesis; if ``function`` is not empty, it encloses the arguments of that function."""

    column: int
    function: str = ""
    name_column: int = 0
    arguments: list[Parsed] = field(default_factory=list)


@dataclass(slots=True)
class _Waiting:
    """An operator whose right operand is not complete yet."""

    symbol: str
    level: int
    column: int
    prefix: bool


class _Parser:
    def __init__(
        self, text: str, names: Callable[[str], object], functions: Functions, checked: bool
    ) -> None:
        self.checked = checked
        self.text = text
        self.names = names
        self.functions = functions
        self.known: DataTable = {}
        self.operands: list[Parsed] = []
        self.stack: list[_Open | _Waiting] = []

    def run(self) -> Parsed:
        operand_next = True
        tokens = _tokens(self.text)
        for kind, word, column in tokens:
            if operand_next:
                operand_next = self._operand(kind, word, column)
            elif kind == "end":
                break
            else:
                operand_next = self._after_operand(kind, word, column)
        self._reduce(0)
        if self.stack:
            assert isinstance(self.stack[-1], _Open)
            self._fail("'(' is never closed", self.stack[-1].column)
        return self._finish_chain(self.operands.pop())

    # ------------------------------------------------------------ reading

    def _operand(self, kind: str, word: str, column: int) -> bool:
        """Take a token where an operand should begin; return whether an operand is still expected."""
        if kind == "number":
            self.operands.append(self._number(word, column))
            return False
        if kind == "call":
            if word not in self.functions:
                product = f"; for a product write {word}*(…)"
                dotted = "; functions have names without dots, such as dot(a, b)"
                remedy = dotted if "." in word else nearest(word, self.functions) or product
                self._fail(f"unknown function '{word}'{remedy}", column)
            self.stack.append(_Open(column + len(word), word, column))
            return True
        if kind == "name":
            self.operands.append(self._read_name(word, column))
            return False
        if word == "(":
            self.stack.append(_Open(column))
            return True
        top = self.stack[-1] if self.stack else None
        if word in ("-", "+", "not"):
            level = _NOT if word == "not" else _SIGN
            if level == _NOT and isinstance(top, _Waiting) and top.level > _NOT:
                self._fail(f"'not' after '{top.symbol}' needs parentheses", column)
            self.stack.append(_Waiting(word, level, column, True))
            return True
        if word == ")" and isinstance(top, _Open) and top.function and not top.arguments:
            self.stack.pop()
            self.operands.append(self._call(top))
            return False
        if kind == "end":
            if not self.text.strip():
                self._fail("the expression is empty", column)
            self._fail("the expression ends where a value should follow", column)
        self._fail(f"a value should stand before '{word}'", column)

    def _after_operand(self, kind: str, word: str, column: int) -> bool:
        """Take a token after a complete operand; return whether an operand must follow."""
        if word in _BINARY:
            level = _BINARY[word]
            # ^ groups from the right, so a waiting ^ is not applied yet; all others group from the left.
            self._reduce(level + 1 if level == _POWER else level)
            top = self.stack[-1] if self.stack else None
            if level == _COMPARISON and isinstance(top, _Waiting) and top.level == _COMPARISON:
                self._fail("comparisons do not chain: write a < b and b < c", column)
            self.stack.append(_Waiting(word, level, column, False))
            return True
        if word == ",":
            opened = self._enclosing()
            if opened is None or not opened.function:
                self._fail("',' is outside the arguments of a function", column)
            opened.arguments.append(self._finish_chain(self.operands.pop()))
            return True
        if word == ")":
            opened = self._enclosing()
            if opened is None:
                self._fail("')' has no matching '('", column)
            self.stack.pop()
            value = self._finish_chain(self.operands.pop())
            if opened.function:
                opened.arguments.append(value)
                value = self._call(opened)
            self.operands.append(value)
            return False
        self._fail(f"an operator is missing before '{word if kind != 'mark' else '('}'", column)

    def _enclosing(self) -> _Open | None:
        """Reduce everything after the innermost open parenthesis to one operand; return the parenthesis."""
        self._reduce(0)
        top = self.stack[-1] if self.stack else None
        return top if isinstance(top, _Open) else None

    def _number(self, word: str, column: int) -> Expr:
        value = float(word)
        if not math.isfinite(value):
            self._fail(f"the number {word[:20]} is too large", column)
        return number(value, None)  # the dimension is unknown: the user may mean any units

    def _read_name(self, word: str, column: int) -> Parsed:
        if word not in self.known:
            if word in RESERVED and word in self.functions:
                self._fail(f"'{word}' is a function: write {word}(…)", column)
            try:
                self.known[word] = self._call_foreign_code(column, "", self.names, word)
            except LookupError as error:
                raise ExpressionError(f"unknown name '{word}'", self.text, column) from error
        return self.known[word]

    def _call(self, opened: _Open) -> Parsed:
        function, arity = self.functions[opened.function]
        least, most = (arity, arity) if isinstance(arity, int) else arity
        count = len(opened.arguments)
        if not least <= count <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            noun = "argument" if most == 1 else "arguments"
            self._fail(f"{opened.function} takes {wanted} {noun}, but has {count}", opened.name_column)
        shown = ", ".join([_describe_kind(v) for v in opened.arguments])
        what = f"take {opened.function} of {shown}"
        return self._call_foreign_code(opened.name_column, what, function, *opened.arguments)

    # ------------------------------------------------------------ combining

    def _reduce(self, level: int) -> None:
        """Apply the waiting operators that bind at least as tightly as ``level``, up to a parenthesis."""
        while self.stack:
            top = self.stack[-1]
            if isinstance(top, _Open) or top.level < level or (level == _COMPARISON == top.level):
                return
            self.stack.pop()
            right = self.operands.pop()
            if top.prefix:
                self.operands.append(self._apply_prefix(top, self._finish_chain(right)))
            else:
                self.operands[-1] = self._combine(top, self.operands[-1], right)

    def _apply_prefix(self, sign: _Waiting, value: object) -> Parsed:
        if sign.symbol == "not":
            self._require_scalar(value, sign)
            return not_(value)
        if sign.symbol == "+":
            return value
        return self._call_foreign_code(sign.column, f"negate {_describe_kind(value)}", operator.neg, value)

    def _combine(self, waiting: _Waiting, left: object, right: object) -> Parsed:
        symbol, column = waiting.symbol, waiting.column
        right = self._finish_chain(right)
        if waiting.level in (_SUM, _PRODUCT):
            if isinstance(left, _Chain) and left.level == waiting.level:
                left.items.append((symbol, right, column))
                return left
            first = "+" if waiting.level == _SUM else "*"
            return _Chain(waiting.level, [(first, self._finish_chain(left), column), (symbol, right, column)])
        left = self._finish_chain(left)
        if waiting.level != _POWER:
            self._require_scalar(left, waiting)
            self._require_scalar(right, waiting)
            return self._call_foreign_code(column, "", _RELATIONS[symbol], left, right)
        return self._apply_operator(symbol, left, right, column)

    def _require_scalar(self, value: object, waiting: _Waiting) -> None:
        if not isinstance(value, Expr):
            self._fail(f"'{waiting.symbol}' needs scalars, not {_describe_kind(value)}", waiting.column)

    def _finish_chain(self, value: object) -> Parsed:
        """Return the value of a chain; any other value unchanged."""
        if not isinstance(value, _Chain):
            return value
        scalars = all([isinstance(v, Expr) for _, v, _ in value.items])
        if scalars and value.level == _SUM:
            return self._scalar_sum(value.items)
        if len(value.items) > _SHORT and (scalars or value.level == _SUM):
            return self._balance_chain(value)
        result = value.items[0][1]
        for symbol, operand, column in value.items[1:]:
            result = self._apply_operator(symbol, result, operand, column)
        return result

    def _scalar_sum(self, items: list[tuple[str, Parsed, int]]) -> Expr:
        try:
            return total([(1 if symbol == "+" else -1, v) for symbol, v, _ in items], checked=self.checked)
        except UnitsError as error:
            known = [(v.dimension, column) for _, v, column in items if v.dimension and v.kind != "number"]
            odd = [column for dimension, column in known if dimension is not known[0][0]]
            raise self._locate_error(error, odd[0] if odd else items[0][2]) from error

    def _balance_chain(self, chain: _Chain) -> Parsed:
        """Combine a long product of scalars or sum of vectors in pairs, at a cost of n log n, not n²."""
        parts: list[tuple[Parsed, int]] = []
        for symbol, v, column in chain.items:
            if symbol == "-":
                v = self._call_foreign_code(column, f"negate {_describe_kind(v)}", operator.neg, v)
            elif symbol == "/":
                v = self._call_foreign_code(column, "", power, v, -1)
            parts.append((v, column))
        if chain.level == _PRODUCT:
            return self._call_foreign_code(
                chain.items[0][2], "multiply these", product_of, [v for v, _ in parts]
            )
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            joined = [(self._apply_operator("+", a, b, column), column) for (a, _), (b, column) in pairs]
            parts = joined + (parts[-1:] if len(parts) % 2 else [])
        return parts[0][0]

    def _apply_operator(self, symbol: str, left: object, right: object, column: int) -> Parsed:
        function, phrase = _ARITHMETIC[symbol]
        return self._call_foreign_code(
            column, phrase.format(_describe_kind(left), _describe_kind(right)), function, left, right
        )

    # ------------------------------------------------------------ errors

    def _call_foreign_code(
        self, column: int, what: str, function: Callable[..., object], *arguments: object
    ) -> Parsed:
        """Call a function from outside the parser; raise its errors with the column in the text.

        ``what`` says in the error what was attempted, e.g. "negate a vector".
        """
        try:
            return function(*arguments)
        except ArmillaryError as error:
            raise self._locate_error(error, column) from error
        except (TypeError, ArithmeticError) as error:
            message = f"cannot {what}" if what else "this has no value"
            detail = "" if isinstance(error, TypeError) else f": {error}"
            raise ExpressionError(message + detail, self.text, column) from error

    def _locate_error(self, error: ArmillaryError, column: int) -> ArmillaryError:
        """Return the error with the text and column added, unless it has them already."""
        if isinstance(error, ExpressionError):
            return error if error.text else ExpressionError(error.message, self.text, column)
        if type(error) is UnitsError:
            return UnitsError(str(ExpressionError(str(error), self.text, column)))
        return error

    def _fail(self, message: str, column: int) -> NoReturn:
        raise ExpressionError(message, self.text, column)


def _describe_kind(value: object) -> str:
    return "a scalar" if isinstance(value, Expr) else f"a {type(value).__name__.lower()}"


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (kind, text, column) of each token; a name and the parenthesis after it are one token, a call."""
    position = 0
    while True:
        found = _TOKEN.match(text, position)
        if found is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            character = text[position]
            message = f"unexpected character {character!r}{_HINTS.get(character, '')}"
            raise ExpressionError(message, text, position)
        kind = str(found.lastgroup)
        word, column, position = found.group(kind), found.start(kind), found.end()
        if kind == "operator" and word == "**":
            word = "^"
        elif kind == "quoted":
            kind = "name"
        elif kind == "name" and word in _WORDS:
            kind = "operator"
        elif kind == "name":
            after = _CALL.match(text, position)
            if after:
                kind, position = "call", after.end()
        yield kind, word, column
        if kind == "end":
            return
