"""Interned scalar expressions that simplify on construction.

Equal expressions are one object, so common subexpressions exist once and are compared by ``is``.
Six kinds of node, all immutable:

    number   a float or int                                    data = value
    symbol   a named quantity                                  data = Symbol record
    let      a named intermediate value                        args = (definition,)
    sum      c0 + Σ cᵢ·tᵢ                                      args = tᵢ, data = (c0, (cᵢ…))
    product  c · Π bᵢ^nᵢ                                       args = bᵢ, data = (c, (nᵢ…)), unit of c
    call     a function of its arguments                       data = name or a record with .name

The number c of a product has a separate dimension, ``unit``: numbers of the description (a mass of 1) keep
their dimension when they are folded into c. Bare numbers, which may have any units, make the dimension of c
unknown, even if c becomes 1, as 0.1·10 does. So no dimension depends on the values of numbers.

Simplifications at construction follow Sayers (1990), Table 5.3.1 and the rules for ``add`` and ``mul`` of
section 5.3: terms 0 and factors 0 or 1 vanish, numbers are folded, nested sums and products are opened, like
terms and powers are collected, greatest common factors are taken out, order and sign are canonical, and
sin² + cos² = 1. Products of sums stay factored. No rule looks inside a ``let``: the mechanics makes a ``let``
where AUTOSIM introduced a Z variable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from armillary.algebra.node import (
    NUMBERS,
    PRODUCT_OF_TWO,
    TRUNCATION,
    Symbol,
    intern,
    negate,
    number_power,
    whole,
)
from armillary.algebra.terms import (
    apply_numpy,
    common_dimension,
    common_factors,
    dimension_product,
    factor_order,
    pair_node,
    short,
    sum_of_two,
    term_order,
    unlike,
)
from armillary.algebra.typesetting import DisplayedNode
from armillary.algebra.units import ONE, Dimension
from armillary.algebra.units import power as dimension_power
from armillary.errors import ExpressionError, UnitsError

if TYPE_CHECKING:
    import numpy as np


class Expr(DisplayedNode):
    """A scalar expression. Make it with operators and functions, never by its constructor."""

    __slots__ = ()
    args: tuple[Expr, ...]

    def __add__(self, other: object) -> Expr:
        other = _operand(other)
        return NotImplemented if other is None else total(((1, self), (1, other)), checked=True)

    __radd__ = __add__

    def __sub__(self, other: object) -> Expr:
        other = _operand(other)
        return NotImplemented if other is None else total(((1, self), (-1, other)), checked=True)

    def __rsub__(self, other: object) -> Expr:
        other = _operand(other)
        return NotImplemented if other is None else total(((1, other), (-1, self)), checked=True)

    def __mul__(self, other: object) -> Expr:
        other = _operand(other)
        return NotImplemented if other is None else multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Expr:
        other = _operand(other)
        if other is not None and self.kind == "number" and self.data == 1 and self.dimension is None:
            return power(other, -1)  # the 1 of a reciprocal has no unstated units
        return NotImplemented if other is None else multiply(self, power(other, -1))

    def __rtruediv__(self, other: object) -> Expr:
        other = _operand(other)
        return NotImplemented if other is None else other / self

    def __pow__(self, exponent: object) -> Expr:
        if isinstance(exponent, int | float):
            return power(self, exponent)
        other = _operand(exponent)
        if other is None:
            return NotImplemented
        return power(self, other.data) if other.kind == "number" else general_power(self, other)

    def __rpow__(self, base: object) -> Expr:
        other = _operand(base)
        return NotImplemented if other is None else general_power(other, self)

    def __abs__(self) -> Expr:
        if self.kind == "number":
            return number(abs(self.data), self.dimension)
        return _absolute(self)

    def __neg__(self) -> Expr:
        return scale(self, -1)

    def __pos__(self) -> Expr:
        return self

    def __lt__(self, other: object) -> Expr:
        return compare("lt", self, other)

    def __le__(self, other: object) -> Expr:
        return compare("le", self, other)

    def __gt__(self, other: object) -> Expr:
        return compare("gt", self, other)

    def __ge__(self, other: object) -> Expr:
        return compare("ge", self, other)

    def __eq__(self, other: object) -> bool:
        # The result is that of object.__eq__. For two nodes it takes 116 ns instead of 320, since Python need
        # not call the other node's method too. Tuples of nodes are compared often enough for this to matter.
        return self is other if type(other) is Expr else NotImplemented

    __hash__ = DisplayedNode.__hash__

    def __bool__(self) -> bool:
        if self.kind == "number":
            return bool(self.data)
        raise ExpressionError(
            f"'{short(self)}' has no truth value before the model runs; "
            "use arm.select(condition, a, b) in place of if, arm.min and arm.max in place of min and max, "
            "arm.and_ and arm.or_ in place of 'and' and 'or'"
        )

    def __float__(self) -> float:
        if self.kind == "number":
            return float(self.data)
        raise ExpressionError(
            f"'{short(self)}' is not a number: use arm.sin and so on in place of math.sin; "
            "arm.evaluate(expression, values) gives a number"
        )

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: object, **options: object) -> object:
        return apply_numpy(function, method, inputs, f"'{short(self)}'")


def number(value: float, dimension: Dimension | None = ONE) -> Expr:
    """Return a number as a node; model data carry their dimension, plain literals are dimensionless."""
    value = whole(value)
    if value == 0:
        dimension = ONE
    return intern(Expr, "number", (), value, dimension, ("number", value, dimension))


def symbol(
    name: str,
    role: str = "variable",
    *,
    dimension: Dimension | None = None,
    owner: object = None,
    units: str | None = None,
    about: str = "",
    default: float | None = None,
    smallness: int = 0,
    undeclared: bool = False,
) -> Expr:
    """Return a named quantity; equal arguments give the same node.

    ``undeclared`` marks a symbol of a description without a stated dimension; symbols of derivations need no
    dimension. The node holds its owner, so the owner should be a small object without a reference to the
    model. Owners are distinguished by their ids; Python does not reuse an id while a node holds the owner.
    """
    key = ("symbol", name, role, id(owner), dimension, smallness, units, about, default, undeclared)
    record = Symbol(name, role, owner, units, about, default, smallness, undeclared)
    return intern(Expr, "symbol", (), record, dimension, key)


def _operand(value: object) -> Expr | None:
    """Return a user's operand as an expression; `None` if it is not a scalar.

    A bare number has no known dimension: in −3*q − 5*u it is a gain with unstated units, so the dimensions of
    its products are not checked.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, NUMBERS):
        return number(value, None)
    # hasattr is used because isinstance(value, SupportsFloat) takes 15 µs, and vectors are tested here too.
    if hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0:
        return number(float(value), None)
    return None


def as_expr(value: object) -> Expr:
    """Return a number or expression as an expression; raise ExpressionError for anything else."""
    node = _operand(value)
    if node is None:
        raise ExpressionError(f"{value!r} is not a scalar: expected a number or an expression")
    return node


ZERO = number(0)
UNIT = number(1)
TWO = number(2)
HALF = number(0.5)


def total(pairs: Iterable[tuple[float, Expr]], *, checked: bool = False) -> Expr:
    """Σ c·e with nested sums opened, terms collected, common factors taken out, canonical order and sign.

    If ``checked``, terms of different dimensions are an error. Sums that users write are checked, derived
    sums are not.
    """
    terms = list(pairs)
    if len(terms) == 2 and (made := sum_of_two(*terms[0], *terms[1])) is not None:
        return made
    return collect_terms(terms, checked=checked)


def collect_terms(stack: list[tuple[float, Expr]], *, checked: bool = False) -> Expr:
    """Σ c·e as by ``total``, for terms that ``sum_of_two`` does not handle; the list is emptied."""
    if len(stack) == 2 and stack[0][1].kind == stack[1][1].kind == "number" and TRUNCATION.get() is None:
        (c, a), (d, b) = stack
        return number(c * a.data + d * b.data, b.dimension if b.data else a.dimension if a.data else ONE)
    constant: float = 0
    collected: dict[Expr, float] = {}
    constant_dimension: Dimension | None = ONE
    stack.reverse()
    while stack:
        c, e = stack.pop()
        kind = e.kind
        if kind == "product" and (size := e.data[0]) != 1:
            c, e = c * size, e.opposite if size == -1 else _without_coefficient(e)
            kind = e.kind
        if kind == "number":
            constant += c * e.data
            if e.data:
                constant_dimension = e.dimension
        elif kind == "sum" and (c == 1 or c == -1):
            offset, coefficients = e.data
            if offset:
                constant += c * offset
                constant_dimension = e.dimension
            stack += zip(coefficients if c == 1 else [-ci for ci in coefficients], e.args, strict=True)
        elif e in collected:
            collected[e] += c
        else:
            collected[e] = c
    terms: list[tuple[Expr, float]] = []
    measured = False  # whether the dimension of a term is known
    merges = squares = False  # whether a term has a constant factor; whether one has a squared sine or cosine
    for e, c in collected.items():
        if c == 0:
            continue
        terms.append((e, c))
        measured = measured or e.dimension is not None
        if e.kind == "product":
            merges = merges or e.args[0].constant or e.unit is not ONE
            squares = squares or e.squares
    truncation = TRUNCATION.get()
    if truncation is not None:
        terms, constant = truncation.sum(terms, constant)
    if not terms:
        return number(constant, constant_dimension)
    nodes = [e for e, _ in terms]
    dimension = common_dimension(nodes, checked=checked) if measured or truncation else None
    if len(terms) == 1:
        if constant == 0:
            return scale(terms[0][0], terms[0][1])
    elif merges:
        merged = _merge_constant_multiples(terms)
        if merged is not None:
            return total([*merged, (1, number(constant))])
    if squares:
        simpler = _pythagoras(terms, constant)
        if simpler is not None:
            return simpler
    if constant == 0 and (nodes[0].kind == "product" or nodes[-1].kind == "product"):
        factor = common_factor(nodes)
        if factor is not None:
            return multiply(factor, total([(c, divide_exactly(e, factor)) for e, c in terms]))
    return _canonical_sum(terms, constant, dimension)


def _canonical_sum(terms: list[tuple[Expr, float]], constant: float, dimension: Dimension | None) -> Expr:
    terms.sort(key=term_order)
    args, coefficients = tuple([e for e, _ in terms]), tuple([c for _, c in terms])
    content = coefficients[0]
    if content != 1 and content != -1:
        size = abs(content)
        alike = constant in (0, size, -size) and all([abs(c) == size for c in coefficients])
        content = content if alike else 1 if content > 0 else -1
    if content == -1:
        coefficients = tuple([-c if type(c) is int else whole(-c) for c in coefficients])
        constant = whole(-constant) if constant else 0
    elif content != 1:
        coefficients = tuple([whole(c / content) for c in coefficients])
        constant = whole(constant / content)
        if any([e.kind == "sum" for e in args]):  # 2·(a + b) + 2·c: the inner sum opens
            parts = zip(coefficients, args, strict=True)
            return scale(total([*parts, (1, number(constant))]), content)
    if constant == 0 and (coefficients == (1, 1) or coefficients == (1, -1)):
        made = pair_node((args[0], args[1]), int(coefficients[1]), dimension)
    else:
        key = ("sum", args, constant, coefficients, dimension)
        made = intern(Expr, "sum", args, (constant, coefficients), dimension, key)
    return made if content == 1 else negate(made) if content == -1 else scale(made, content)


def _split_constant(e: Expr) -> tuple[Expr, Expr] | None:
    """Return (constant part, variable part) of a product; None if it lacks one of them."""
    if e.kind != "product" or e.constant:
        return None
    fixed = [(b, n) for b, n in zip(e.args, e.data[1], strict=True) if b.constant]
    if not fixed:
        return None
    moving = _product(1, [(b, n) for b, n in zip(e.args, e.data[1], strict=True) if not b.constant])
    return _product(1, fixed, e.unit), moving


def _merge_constant_multiples(terms: list[tuple[Expr, float]]) -> list[tuple[float, Expr]] | None:
    """Merge terms that differ in constant factors only: k₁·x + k₂·x = (k₁ + k₂)·x. `None` if none do."""
    if unlike(terms):
        return None
    groups: dict[Expr, list[tuple[float, Expr]]] = {}
    for e, c in terms:
        split = _split_constant(e)
        groups.setdefault(split[1] if split else e, []).append((c, split[0] if split else UNIT))
    if len(groups) == len(terms):
        return None
    result: list[tuple[float, Expr]] = []
    for variable, parts in groups.items():
        if variable.constant:
            result += [(c, multiply(k, variable)) for c, k in parts]
        else:
            result.append((1, multiply(total(parts), variable)))
    # The caller sums the result again; this ends because the result has fewer terms.
    return result if len(result) < len(terms) else None


def _pythagoras(terms: list[tuple[Expr, float]], constant: float) -> Expr | None:
    """c·r·sin²x + c·r·cos²x = c·r, and c·r − c·r·sin²x = c·r·cos²x (and the same for cos²)."""
    remaining = dict(terms)
    replaced: list[tuple[float, Expr]] = []
    for e, c in terms:
        if not e.squares or e not in remaining:
            continue
        for base, exponent in zip(e.args, e.data[1], strict=True):
            if exponent != 2 or base.kind != "call" or base.data not in ("sin", "cos"):
                continue
            other = call("cos" if base.data == "sin" else "sin", base.args, ONE)
            rest = divide_exactly(e, power(base, 2))
            partner = multiply(rest, power(other, 2))
            if remaining.get(partner) == c:
                del remaining[e], remaining[partner]
                replaced.append((c, rest))
            elif rest.kind == "number" and constant == -c:
                del remaining[e]
                replaced.append((-c, partner))
                constant = 0
            elif remaining.get(rest) == -c:
                del remaining[e], remaining[rest]
                replaced.append((-c, partner))
            else:
                continue
            break
    if not replaced:
        return None
    return total([*[(c, e) for e, c in remaining.items()], *replaced, (1, number(constant))])


def common_factor(nodes: list[Expr]) -> Expr | None:
    """Return the greatest common factor of a sum's terms, or None (Sayers 1990, section 5.3, ``gcf``)."""
    common = common_factors(nodes)
    return _product(1, list(common.items())) if common else None


def divide_exactly(e: Expr, factor: Expr) -> Expr:
    """e / factor where factor is known to divide e."""
    return multiply(e, power(factor, -1))


def multiply(a: Expr, b: Expr) -> Expr:
    """Return the product a·b with numbers folded and equal bases collected into powers."""
    if a.kind == "number":
        return _times_number(b, a)
    if b.kind == "number":
        return _times_number(a, b)
    if a.kind != "product" and b.kind != "product" and a is not b:  # most often
        # The order of `factor_order`, without making its keys.
        args = (b, a) if (b.order < a.order if b.constant is a.constant else b.constant) else (a, b)
        p, q = a.dimension, b.dimension
        dimension = None if p is None or q is None else p if q is ONE else p * q
        return intern(Expr, "product", args, PRODUCT_OF_TWO, dimension, args)
    minus = False
    if a.kind == "product" and a.data[0] < 0:
        a, minus = a.opposite, True
    if b.kind == "product" and b.data[0] < 0:
        b, minus = b.opposite, not minus
    if minus:
        return scale(multiply(a, b), -1)
    coefficient: float = 1
    exponents: dict[Expr, float] = {}
    unit: Dimension | None = ONE
    for e in (a, b):
        if e.kind == "product":
            coefficient = coefficient * e.data[0]
            if e.unit is not ONE:
                unit = e.unit if unit is ONE else dimension_product(unit, e.unit)
            for base, n in zip(e.args, e.data[1], strict=True):
                exponents[base] = exponents[base] + n if base in exponents else n
        else:
            exponents[e] = exponents[e] + 1 if e in exponents else 1
    return _product(coefficient, [(base, n) for base, n in exponents.items() if n != 0], unit)


def _times_number(e: Expr, value: Expr) -> Expr:
    if value.dimension is ONE:
        return scale(e, value.data)
    if e.kind == "number":
        return number(e.data * value.data, dimension_product(e.dimension, value.dimension))
    if value.data == 0:
        return ZERO
    return with_unit(scale(e, value.data), value.dimension)


def with_unit(e: Expr, unit: Dimension | None) -> Expr:
    """Return the expression times the number 1, whose dimension is ``unit``; `None` means unknown."""
    if e.kind == "number":
        return number(e.data, dimension_product(e.dimension, unit))
    if e.kind != "product":
        return _coefficient_node((e,), 1, (1,), unit)
    return _coefficient_node(e.args, e.data[0], e.data[1], dimension_product(e.unit, unit))


def _coefficient_node(
    args: tuple[Expr, ...], coefficient: float, exponents: tuple[float, ...], unit: Dimension | None
) -> Expr:
    """c · Π bᵢ^nᵢ in canonical order, where ``unit`` is the dimension of c."""
    dimension = unit
    for base, n in zip(args, exponents, strict=True):
        d = base.dimension
        if d is None:
            dimension = None
            if unit is None and not any([b.undeclared for b in args]):
                unit = ONE  # derivations have no dimensions: the units None and ONE must give one node there
            break
        if d is not ONE and dimension is not None:
            dimension = dimension * (d if n == 1 else dimension_power(d, n))
    return _product_node(args, coefficient, exponents, dimension, unit)


def _product_node(
    args: tuple[Expr, ...],
    coefficient: float,
    exponents: tuple[float, ...],
    dimension: Dimension | None,
    unit: Dimension | None,
) -> Expr:
    """Return a product node; for a negative coefficient, the negation of the positive product."""
    size = abs(coefficient)
    if size == 1 and exponents == (1,) and unit is ONE:
        made = args[0]
    elif size == 1 and exponents == (1, 1) and unit is ONE:
        made = intern(Expr, "product", args, PRODUCT_OF_TWO, dimension, args)
    else:
        key = ("product", args, size, exponents, unit)
        made = intern(Expr, "product", args, (size, exponents), dimension, key, unit=unit)
    return negate(made) if coefficient < 0 else made


def scale(e: Expr, c: float) -> Expr:
    """Return the expression times a plain number."""
    if c == 1:
        return e
    if c == 0:
        return ZERO
    if e.kind == "number":
        return number(e.data * c, e.dimension)
    if c == -1:
        return negate(e)
    if e.kind != "product":
        return _product_node((e,), whole(c), (1,), e.dimension, ONE)
    return _product_node(e.args, whole(e.data[0] * c), e.data[1], e.dimension, e.unit)


def _without_coefficient(e: Expr) -> Expr:
    """Return a product with the coefficient 1 in place of its own."""
    return _product_node(e.args, 1, e.data[1], e.dimension, e.unit)


def _product(coefficient: float, factors: list[tuple[Expr, float]], unit: Dimension | None = ONE) -> Expr:
    """c · Π bᵢ^nᵢ for distinct bases and nonzero exponents; ``unit`` is the dimension of c."""
    opened = [f for f in factors if (f[0].kind == "product" and f[1] == int(f[1])) or f[0].kind == "number"]
    if opened:  # such as (x·y)^½ squared, which is the product x·y
        result = number(coefficient, unit)
        for base, n in factors:
            result = multiply(result, power(base, n))
        return result
    if not factors:
        return number(coefficient, unit)
    if len(factors) == 1 and factors[0][1] == 1 and unit is ONE:
        return scale(factors[0][0], coefficient)
    factors.sort(key=factor_order)
    args, exponents = zip(*factors, strict=True)
    if float in map(type, exponents):
        exponents = tuple(map(whole, exponents))
    return _coefficient_node(args, whole(coefficient), exponents, unit)


def power(base: Expr, exponent: float) -> Expr:
    """base^exponent for a number as the exponent. Square roots are exponents of one half."""
    if exponent == 1:
        return base
    if exponent == 0:
        return UNIT
    if base.kind == "number":
        dimension = None if base.dimension is None else dimension_power(base.dimension, exponent)
        return number(number_power(base.data, exponent), dimension)
    if base.kind == "product":
        if base.unit is ONE:
            return _product_power(base, exponent)
        unit = None if base.unit is None else dimension_power(base.unit, exponent)
        plain = _coefficient_node(base.args, base.data[0], base.data[1], ONE)
        return with_unit(power(plain, exponent), unit)
    truncation = TRUNCATION.get()
    series = None if truncation is None else truncation.power(base, exponent)
    return _product(1, [(base, exponent)]) if series is None else series


def _product_power(base: Expr, exponent: float) -> Expr:
    coefficient, exponents = base.data
    if exponent == int(exponent):
        powered = [(b, n * exponent) for b, n in zip(base.args, exponents, strict=True)]
        return _product(number_power(coefficient, exponent), powered)
    if exponent == 0.5 and coefficient > 0 and all([n % 2 == 0 for n in exponents]):
        halves = _product(1, [(b, n / 2) for b, n in zip(base.args, exponents, strict=True)])
        return scale(_absolute(halves), coefficient**0.5)
    if coefficient != 1 and coefficient > 0:
        return scale(power(_without_coefficient(base), exponent), coefficient**exponent)
    if len(exponents) == 1 and coefficient == 1:
        inner = _absolute(base.args[0]) if exponents[0] % 2 == 0 else base.args[0]
        return _product(1, [(inner, exponents[0] * exponent)])
    return _product(1, [(base, exponent)])


def _absolute(e: Expr) -> Expr:
    """|e|, also written √(e²)."""
    if e.kind == "product" and e.data[0] < 0:
        e = scale(e, -1)
    return e if e.kind == "call" and e.data == "abs" else call("abs", (e,), e.dimension)


def general_power(base: Expr, exponent: Expr) -> Expr:
    """base^exponent for an expression as the exponent; both must be dimensionless."""
    if exponent.kind == "number":
        return power(base, exponent.data)
    if base is UNIT:
        return UNIT
    for e, what in ((base, "base"), (exponent, "exponent")):
        if e.dimension is not None and e.dimension is not ONE:
            raise UnitsError(
                f"'{short(base)}' to the power '{short(exponent)}' needs a dimensionless {what}, "
                f"but it has dimension [{e.dimension}]"
            )
    return call("pow", (base, exponent), ONE)


def call(function: object, args: tuple[Expr, ...], dimension: Dimension | None = ONE) -> Expr:
    """Return the node of a function call, not simplified; the functions of ``functions.py`` simplify."""
    args = tuple([number(a.data) if a.kind == "number" and a.dimension is None else a for a in args])
    return intern(Expr, "call", args, function, dimension, ("call", function, args, dimension))


def compare(relation: str, a: object, b: object) -> Expr:
    """Return a comparison of a and b; its value is 1 if the relation holds, else 0."""
    left, right = as_expr(a), as_expr(b)
    if left.kind == "number" and right.kind == "number":
        x, y = left.data, right.data
        holds = {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y, "ne": x != y}[relation]
        return number(int(holds))
    if left.kind != "number" and right.kind != "number":
        common_dimension([left, right])
    truncation = TRUNCATION.get()
    if truncation is not None and relation == "lt" and truncation.is_below(left, right):
        return number(1)
    return call(relation, (left, right), None)
