"""Mathematical functions of any scalar: expressions, numbers or arrays.

The functions simplify expressions (Sayers 1990, Table 5.3.1): numbers are evaluated, sin(−x) = −sin x,
f(f⁻¹(x)) becomes x, and common factors of the arguments of atan2 cancel. For numbers and arrays they call
NumPy's functions.

This file also makes intermediate values (``let`` and others), which have a name, are computed once and are
opaque to simplification.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

from armillary.algebra.expression import (
    UNIT,
    ZERO,
    Expr,
    as_expr,
    call,
    common_factor,
    compare,
    divide_exactly,
    general_power,
    number,
    power,
    scale,
    with_unit,
)
from armillary.algebra.node import TRUNCATION, intern, negate, settle
from armillary.algebra.terms import common_dimension
from armillary.algebra.units import ONE, TIME, Dimension
from armillary.errors import ArmillaryError, ExpressionError, UnitsError
from armillary.errors import shown as shown_value

_LONG = 24  # constant sums of more terms become intermediate values
_TRIVIAL = frozenset(("number", "symbol", "let", "call"))


class Signed(str):
    """A user's name for an intermediate value, whose sign the generated program must keep."""


def let(definition: Expr, name: str = "z") -> Expr:
    """Return an intermediate value, which is opaque to simplification and computed once. Trivial definitions
    are returned unchanged.

    A negative product becomes the negated value of the positive product, unless its name is ``Signed``.
    """
    kind = definition.kind
    if definition.constant or kind in _TRIVIAL:
        return definition
    if kind == "product":
        coefficient, exponents = definition.data
        if coefficient < 0 and not isinstance(name, Signed):
            return negate(let(negate(definition), name))
        if coefficient == 1 and exponents == (1,) and definition.unit is ONE:
            return let(definition.args[0], name)
        if len(exponents) == 1 and exponents[0] == 1 and definition.args[0].kind != "sum":
            return definition  # a number times a node other than a sum: later products can absorb the number
    return _intermediate(definition, name, None)


def with_smallness(definition: Expr, smallness: float, name: str = "z") -> Expr:
    """Return an intermediate value of a declared order of smallness, whatever the order of its definition."""
    return _intermediate(definition, name, smallness)


# Within one derivation a value keeps the first name that it is given. Names of other derivations are not
# used: a result must not depend on earlier derivations.
_Names = dict[Any, "Expr"]  # by definition, or by (definition, declared order of smallness)
_INTERMEDIATES: ContextVar[_Names | None] = ContextVar("intermediates", default=None)


@contextmanager
def own_intermediates(known: _Names | None = None) -> Iterator[None]:
    """Keep the first name of every intermediate value while this context lasts."""
    before = _INTERMEDIATES.set(known or {})
    try:
        yield
    finally:
        _INTERMEDIATES.reset(before)


def trial_intermediates() -> AbstractContextManager[None]:
    """Begin ``own_intermediates`` with the names given so far; forget names given within the context."""
    return own_intermediates(dict(_INTERMEDIATES.get() or {}))


def _intermediate(definition: Expr, name: str, smallness: float | None) -> Expr:
    known = _INTERMEDIATES.get()
    value = definition if smallness is None else (definition, smallness)
    found = None if known is None else known.get(value)
    if found is None:
        key = (definition, name, smallness)
        found = intern(Expr, "let", (definition,), name, definition.dimension, key, smallness)
        if known is not None:
            known[value] = found
    return found


class KeptName(str):
    """The name of an intermediate value that passes must not inline."""


class RareCondition(KeptName):
    """The name of a condition that hardly ever holds; see llvm/usual_sections.py."""


def keep_visible(definition: Expr, name: str) -> Expr:
    """Return an intermediate value with a separate line in the generated program, however often it
    is used.
    """
    if definition.constant:
        return definition
    kept = name if isinstance(name, KeptName) else KeptName(name)
    return intern(Expr, "let", (definition,), kept, definition.dimension, ("let", definition, name))


def rarely(condition: Operand, name: str) -> Operand:
    """Return a condition with a name that marks it as hardly ever true in a run."""
    return keep_visible(condition, RareCondition(name)) if isinstance(condition, Expr) else condition


def with_definition(value: Expr, definition: Expr) -> Expr:
    """Return an intermediate value with another definition."""
    name = value.data
    if value.smallness != value.args[0].smallness:
        return with_smallness(definition, value.smallness, name)
    if definition.kind == "sum" and type(name) is str and not definition.constant:  # most often
        return _intermediate(definition, name, None)
    return keep_visible(definition, name) if isinstance(name, KeptName) else let(definition, name)


def with_stated_dimension(x: Expr | float, dimension: Dimension, name: str) -> Expr:
    """Return an intermediate value of this dimension, for a definition with numbers of unstated units."""
    if not isinstance(x, Expr) or x.kind == "number":
        return number(x.data if isinstance(x, Expr) else x, dimension)
    return intern(Expr, "let", (x,), name, dimension, ("let", x, name, dimension))


def freeze_long_sum(definition: Expr, name: str = "k") -> Expr:
    """Return a long constant sum as an intermediate value, so that later sums do not copy its terms; return
    any other expression unchanged.
    """
    if definition.kind != "sum" or len(definition.args) <= _LONG:
        return definition
    return _intermediate(definition, name, None)


# An expression, a number, an array or a quantity with units; the result has the type of the arguments.
Operand: TypeAlias = Any
Numeric = TypeVar("Numeric")

# name: (numeric function, sign rule, inverse): odd f(−x) = −f(x), even f(−x) = f(x).
_UNARY: dict[str, tuple[Callable[[Operand], Operand], str, str]] = {
    "sin": (np.sin, "odd", "asin"),
    "cos": (np.cos, "even", "acos"),
    "tan": (np.tan, "odd", "atan"),
    "asin": (np.arcsin, "odd", ""),
    "acos": (np.arccos, "", ""),
    "atan": (np.arctan, "odd", ""),
    "tanh": (np.tanh, "odd", ""),
    "exp": (np.exp, "", "log"),
    "log": (np.log, "", "exp"),
    "abs": (np.abs, "even", ""),
    "sign": (np.sign, "odd", ""),
    "floor": (np.floor, "", ""),
    "ceil": (np.ceil, "", ""),
}
_NUMBERS = "an expression, a number or an array of numbers"
_ANY_DIMENSION = ("abs", "sign")


def _require_dimensionless(name: str, x: Expr) -> Expr:
    """Return a function's argument if it is dimensionless; raise UnitsError if it is not.

    A function of time alone is allowed: sin(t) means sin(1 rad/s · t), as the 2 of sin(2*t) means 2 rad/s.
    """
    if x.dimension is None or x.dimension is ONE:
        return x
    if x.dimension is TIME and _depends_on_time_alone(x):
        return with_unit(x, None)
    hint = f"; write {name}(w*({x})) with w in rad/s" if x.dimension is TIME else ""
    raise UnitsError(
        f"{name}({x}) needs a dimensionless argument, but it has dimension [{x.dimension}]{hint}"
    )


def _depends_on_time_alone(x: Expr) -> bool:
    """Return whether the time is the only symbol of an expression."""
    stack, seen = [x], {x}
    while stack:
        node = stack.pop()
        if node.kind == "symbol" and node.data.role != "time":
            return False
        stack += [a for a in node.args if a not in seen]
        seen.update(node.args)
    return True


def _of_numbers(name: str, numeric: Callable[..., Operand], *given: Operand) -> Operand:
    """Call NumPy's function on numbers and arrays; raise ExpressionError for anything else."""
    try:
        if not all([_numeric(x) for x in given]):
            raise TypeError
        return numeric(*given)
    except ArmillaryError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError):
        what = ", ".join(shown_value(x) for x in given)
        raise ExpressionError(f"{name}() needs {_NUMBERS}, not {what}") from None


def _numeric(x: Operand) -> bool:
    """Return whether NumPy's functions accept a value: numbers, arrays of numbers or objects, quantities."""
    if type(x) is float:
        return True
    if isinstance(x, complex | float | int | np.ndarray | np.generic | list | tuple):
        found = np.asarray(x)
        return found.dtype.kind in "biufc" or (found.dtype.kind == "O" and found.ndim > 0)
    return getattr(x, "__array_ufunc__", None) is not None


def operand(value: Operand, what: str) -> Operand:
    """Return the value if it is an expression, a real number or an array; ``what`` begins errors.

    A list or tuple becomes an array.
    """
    if isinstance(value, Expr):
        return value
    if not _numeric(value) or np.iscomplexobj(value):
        raise ExpressionError(f"{what} must be {_NUMBERS}, not {shown_value(value)}")
    return np.asarray(value) if isinstance(value, list | tuple) else value


def _unary(name: str, x: Operand) -> Operand:
    numeric, parity, inverse = _UNARY[name]
    if not isinstance(x, Expr):
        return _of_numbers(name, numeric, x)
    if name not in _ANY_DIMENSION:
        x = _require_dimensionless(name, x)
    if x.kind == "number":
        with np.errstate(all="ignore"):
            value = float(numeric(float(x.data)))
        if not math.isfinite(value):
            raise ExpressionError(f"{name}({x}) is not a finite number")
        return number(value, _result_dimension(name, x))
    if parity and x.kind == "product" and x.data[0] < 0:
        flipped = _unary(name, scale(x, -1))
        return scale(flipped, -1) if parity == "odd" else flipped
    if inverse and x.kind == "call" and x.data == inverse:
        return x.args[0]
    if name == "abs" and ((x.kind == "call" and x.data in ("abs", "exp")) or _even_powers(x)):
        return x
    truncation = TRUNCATION.get()
    series = None if truncation is None else truncation.function(name, x)
    return call(name, (x,), _result_dimension(name, x)) if series is None else series


def _result_dimension(name: str, x: Expr) -> Dimension | None:
    """Return the dimension of a function of one argument; unknown for the bare ±1 of a sign."""
    return x.dimension if name == "abs" else None if name == "sign" else ONE


def _even_powers(x: Expr) -> bool:
    return x.kind == "product" and x.data[0] > 0 and all([n % 2 == 0 for n in x.data[1]])


def sin(x: Operand) -> Operand:
    """Return the sine; the argument is in radians."""
    return _unary("sin", x)


def cos(x: Operand) -> Operand:
    """Return the cosine; the argument is in radians."""
    return _unary("cos", x)


def tan(x: Operand) -> Operand:
    """Return the tangent; the argument is in radians."""
    return _unary("tan", x)


def tanh(x: Operand) -> Operand:
    """Return the hyperbolic tangent."""
    return _unary("tanh", x)


def asin(x: Operand) -> Operand:
    """Return the inverse sine, in radians."""
    return _unary("asin", x)


def acos(x: Operand) -> Operand:
    """Return the inverse cosine, in radians."""
    return _unary("acos", x)


def atan(x: Operand) -> Operand:
    """Return the inverse tangent, in radians."""
    return _unary("atan", x)


def exp(x: Operand) -> Operand:
    """Return the exponential."""
    return _unary("exp", x)


def log(x: Operand) -> Operand:
    """Return the natural logarithm."""
    return _unary("log", x)


def absolute(x: Operand) -> Operand:
    """Return the absolute value."""
    return _unary("abs", x)


def sign(x: Operand) -> Operand:
    """Return −1, 0 or 1 by the sign of the argument."""
    return _unary("sign", x)


def floor(x: Operand) -> Operand:
    """Return the largest whole number that is not above the argument."""
    return _unary("floor", x)


def ceil(x: Operand) -> Operand:
    """Return the smallest whole number that is not below the argument."""
    return _unary("ceil", x)


def mod(x: Operand, y: Operand) -> Operand:
    """x − y·⌊x/y⌋: the remainder of x divided by y, with the sign of y."""
    if not isinstance(x, Expr) and not isinstance(y, Expr):
        return _of_numbers("mod", np.mod, x, y)
    x, y = as_expr(x), as_expr(y)
    if x.kind == "number" and y.kind == "number":
        if y.data == 0:
            raise ExpressionError(f"mod({x}, {y}) divides by zero")
        return number(float(np.mod(x.data, y.data)), _stated_dimension(x, y))
    return call("mod", (x, y), _shared_dimension(x, y))


def hypot(x: Operand, y: Operand) -> Operand:
    """√(x² + y²); for expressions, |x| and |y| must be within 1.5e-154 and 9e153, the range of squares."""
    if not isinstance(x, Expr) and not isinstance(y, Expr):
        return _of_numbers("hypot", np.hypot, x, y)
    x, y = as_expr(x), as_expr(y)
    if x.kind == "number" and y.kind == "number":
        return number(math.hypot(x.data, y.data), _stated_dimension(x, y))
    return sqrt(x * x + y * y)


def sqrt(x: Operand) -> Operand:
    """Return the square root."""
    return power(x, 0.5) if isinstance(x, Expr) else _of_numbers("sqrt", np.sqrt, x)


def atan2(y: Operand, x: Operand) -> Operand:
    """Return the angle of the point (x, y), from −π to π; common factors that cannot be negative are divided
    out.
    """
    if not isinstance(y, Expr) and not isinstance(x, Expr):
        return _of_numbers("atan2", np.arctan2, y, x)
    y, x = as_expr(y), as_expr(x)
    if y.kind == "number" and x.kind == "number":
        return number(math.atan2(y.data, x.data))
    if y is ZERO or x is ZERO:
        return call("atan2", (y, x), ONE)
    if y.kind != "number" and x.kind != "number":
        common_dimension([y, x])
        factor = common_factor([y, x])
        if factor is not None and _positive(factor):
            return atan2(divide_exactly(y, factor), divide_exactly(x, factor))
    truncation = TRUNCATION.get()
    if truncation is not None and truncation.is_small_angle(y, x):
        return atan(y / x)
    return call("atan2", (y, x), ONE)


def _positive(x: Expr) -> bool:
    """Return whether x is certainly not negative: an absolute value, exponential, root or even power."""
    if x.kind == "call":
        return x.data in ("abs", "exp")
    if x.kind == "product":
        return x.data[0] > 0 and all([n % 2 == 0 or n % 1 == 0.5 for n in x.data[1]])
    return False


def minimum(a: Operand, b: Operand) -> Operand:
    """Return the smaller of two values."""
    return _extreme("min", np.minimum, a, b)


def maximum(a: Operand, b: Operand) -> Operand:
    """Return the larger of two values."""
    return _extreme("max", np.maximum, a, b)


def _extreme(name: str, numeric: Callable[[Operand, Operand], Operand], a: Operand, b: Operand) -> Operand:
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return _of_numbers(name, numeric, a, b)
    a, b = as_expr(a), as_expr(b)
    if a.kind == "number" and b.kind == "number":
        return number(float(numeric(a.data, b.data)), _stated_dimension(a, b))
    if a is b:
        return a
    if settle(b).order < settle(a).order:
        a, b = b, a
    return call(name, (a, b), _shared_dimension(a, b))


def _shared_dimension(a: Expr, b: Expr) -> Dimension | None:
    """Return the dimension that two values share; a number takes the dimension of the other value."""
    if a.kind == "number" and b.kind == "number":
        return None
    if a.kind == "number":
        return b.dimension
    if b.kind == "number":
        return a.dimension
    return common_dimension([a, b])


def _stated_dimension(a: Expr, b: Expr) -> Dimension | None:
    """Return the common dimension of the numbers that have one; ``ONE`` if both are dimensionless."""
    stated = [x for x in (a, b) if x.dimension is not ONE]
    return common_dimension(stated) if stated else ONE


def select(condition: Operand, then: Operand, otherwise: Operand) -> Operand:
    """Return ``then`` where the condition holds (is not zero), else ``otherwise``."""
    if not any(isinstance(v, Expr) for v in (condition, then, otherwise)):
        return _of_numbers("select", np.where, condition, then, otherwise)
    condition, then, otherwise = as_expr(condition), as_expr(then), as_expr(otherwise)
    if condition.kind == "number":
        return then if condition.data else otherwise
    if then is otherwise:
        return then
    return call("select", (condition, then, otherwise), _shared_dimension(then, otherwise))


def equal(a: Operand, b: Operand) -> Operand:
    """Return 1 where the values are equal, else 0."""
    symbolic = isinstance(a, Expr) or isinstance(b, Expr)
    return compare("eq", a, b) if symbolic else _of_numbers("equal", np.equal, a, b)


def not_equal(a: Operand, b: Operand) -> Operand:
    """Return 1 where the values differ, else 0."""
    symbolic = isinstance(a, Expr) or isinstance(b, Expr)
    return compare("ne", a, b) if symbolic else _of_numbers("not_equal", np.not_equal, a, b)


def and_(a: Operand, b: Operand) -> Operand:
    """Return 1 where both conditions hold, else 0."""
    return _logical("and", a, b)


def or_(a: Operand, b: Operand) -> Operand:
    """Return 1 where at least one condition holds, else 0."""
    return _logical("or", a, b)


def _logical(name: str, a: Operand, b: Operand) -> Operand:
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return _of_numbers(f"{name}_", np.logical_and if name == "and" else np.logical_or, a, b)
    a, b = as_expr(a), as_expr(b)
    for x, y in ((a, b), (b, a)):
        if x.kind == "number":
            decided = bool(x.data) == (name == "or")
            return number(int(name == "or")) if decided else compare("ne", y, ZERO)
    return call(name, (a, b), None)


def not_(a: Operand) -> Operand:
    """Return 1 where the condition does not hold, else 0."""
    if not isinstance(a, Expr):
        return _of_numbers("not_", np.logical_not, a)
    return number(int(not a.data)) if a.kind == "number" else call("not", (a,), None)


@overload
def named(x: Expr, name: str) -> Expr: ...
@overload
def named(x: Numeric, name: str) -> Numeric: ...
def named(x: Operand, name: str) -> Operand:
    """Return an intermediate value: a ``let`` for expressions, the value itself for numbers and arrays."""
    return let(x, name) if isinstance(x, Expr) else x


@overload
def display_value(x: Expr, name: str) -> Expr: ...
@overload
def display_value(x: Numeric, name: str) -> Numeric: ...
def display_value(x: Operand, name: str) -> Operand:
    """Return an intermediate value that the generated program shows; the value itself for numbers
    and arrays.
    """
    return keep_visible(x, name) if isinstance(x, Expr) else x


_BUILDERS: dict[str, Callable[..., Operand]] = {
    "atan2": atan2,
    "min": minimum,
    "max": maximum,
    "mod": mod,
    "select": select,
    "and": and_,
    "or": or_,
    "not": not_,
    "pow": general_power,
    **{name: (lambda x, name=name: _unary(name, x)) for name in _UNARY},
    **{name: (lambda a, b, name=name: compare(name, a, b)) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
}


def rebuild_call(node: Expr, args: Sequence[Expr]) -> Expr | None:
    """Return a call with other arguments, simplified; None if its function is not one of this file."""
    builder = _BUILDERS.get(node.data) if isinstance(node.data, str) else None
    return builder(*args) if builder else None


# Calls whose value is 1 or 0.
CONDITIONS = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")

# Functions that text expressions may call, with the number of their arguments.
BY_NAME: dict[str, tuple[Callable[..., Operand], int]] = {
    **{name: (_BUILDERS[name], 1) for name in _UNARY},
    "sqrt": (sqrt, 1),
    "atan2": (atan2, 2),
    "min": (minimum, 2),
    "max": (maximum, 2),
    "mod": (mod, 2),
    "hypot": (hypot, 2),
    "select": (select, 3),
    "not": (not_, 1),
}

# Names of functions that objects of a model may not have. The subtracted names belong to newer functions;
# older models may use them, for example for a load called "floor". Such a name means the function if a
# parenthesis follows, else the model's object.
RESERVED = frozenset(BY_NAME) - {"tanh", "hypot", "floor", "ceil", "mod"}

__all__ = [
    "BY_NAME", "RESERVED", "UNIT", "absolute", "acos", "and_", "asin", "atan", "atan2", "ceil", "cos",
    "equal", "exp", "floor", "hypot", "log", "maximum", "minimum", "mod", "named", "not_", "not_equal",
    "or_", "rebuild_call", "select", "sign", "sin", "sqrt", "tan", "tanh",
]  # fmt: skip
