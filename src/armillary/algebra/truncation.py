"""Small and large quantities: a sum drops its negligible terms when it is made, and records them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.expression import UNIT, ZERO, Expr, multiply, number, power, scale, total
from armillary.algebra.node import number_text, text
from armillary.algebra.units import ONE
from armillary.algebra.walk import operands_first, rebuild

# The record of neglected terms, with their orders and the orders of the leading terms.

_KEPT = 2000  # most distinct terms that a record keeps; further ones are only counted
_SHOWN = 30  # most lines of a printed table
_WIDTH = 72  # most characters of a term


@dataclass(frozen=True)
class Neglected:
    """A term that sums left out: its order, the order of the leading terms, the number of occurrences."""

    term: str
    order: float
    leading: float
    count: int

    def __str__(self) -> str:
        times = f", {self.count} times" if self.count > 1 else ""
        return (
            f"{self.term}  (order {number_text(self.order)} beside order {number_text(self.leading)}{times})"
        )


class NeglectedTerms:
    """All terms that a derivation neglected: prints as a table, iterates over `Neglected` records."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Expr, float, float], int] = {}
        self.by_order: dict[float, int] = {}  # number of terms left out, by their order above the leading one

    def add(self, term: Expr, leading: float, count: int = 1, order: float | None = None) -> None:
        """Record a term that was left out of a sum whose leading terms have the order ``leading``."""
        own = term.smallness if order is None else order
        key = (term, own, leading)
        if key in self._counts or len(self._counts) < _KEPT:
            self._counts[key] = self._counts.get(key, 0) + count
        above = own - leading
        self.by_order[above] = self.by_order.get(above, 0) + count

    def join(self, other: NeglectedTerms) -> NeglectedTerms:
        """Return this record joined with the record of another part of the derivation."""
        result = NeglectedTerms()
        for part in (self, other):
            for (term, order, leading), count in part._counts.items():
                result.add(term, leading, count, order)
        result.by_order = {
            above: self.by_order.get(above, 0) + other.by_order.get(above, 0)
            for above in sorted({*self.by_order, *other.by_order})
        }
        return result

    @property
    def total(self) -> int:
        """Number of terms left out, all occurrences counted."""
        return sum(self.by_order.values())

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[Neglected]:
        """Iterate over distinct terms; terms of the lowest order above the leading one come first."""
        ranked = sorted(self._counts.items(), key=lambda item: item[0][1] - item[0][2])
        for (term, order, leading), count in ranked:
            yield Neglected(text(term, limit=_WIDTH), order, leading, count)

    def summary(self) -> str:
        """Return one line with the numbers of terms by order."""
        if not self.by_order:
            return "none"
        terms = f"{self.total} term{'s' if self.total > 1 else ''}"
        parts = [
            f"{count} {'is' if count == 1 else 'are'} {number_text(above)}"
            for above, count in sorted(self.by_order.items())
        ]
        if len(parts) == 1:
            return f"{terms}, {number_text(next(iter(self.by_order)))} orders above the leading"
        return f"{terms}, of which {', '.join(parts[:-1])} and {parts[-1]} orders above the leading"

    def __str__(self) -> str:
        lines = [f"neglected: {self.summary()}"]
        for shown, record in enumerate(self):
            if shown == _SHOWN:
                lines.append(f"  ... and {len(self) - _SHOWN} more")
                break
            lines.append(f"  {record}")
        return "\n".join(lines)

    __repr__ = __str__


# Small and large quantities: negligible terms are dropped while expressions are made.
#
# Every expression has an order of smallness: a symbol's is declared (1 small, −1 large, else 0), a product's
# is the total of its factors' orders, a sum's the lowest of its terms' orders. In a sum, terms that are more
# than ``keep`` orders above the lowest are dropped; functions of small arguments become series, cut by the
# same rule (Sayers 1990, section 5.3). The order of an intermediate value is the lowest order of its terms,
# so a sum that uses the value does not drop its terms of higher order. ``drop_small_terms`` removes these
# terms later: it walks backwards from the results, so that it finds the highest order to which each value is
# needed.

Terms = list[tuple[Expr, float]]


class Truncation:
    """The rule that drops terms more than ``keep`` orders above the leading ones, and its record."""

    def __init__(self, keep: int = 1) -> None:
        self.keep = keep
        self.neglected = NeglectedTerms()

    def sum(self, terms: Terms, constant: float) -> tuple[Terms, float]:
        """Return the terms and the constant of a sum without those that are negligible."""
        orders = [e.smallness for e, _ in terms]
        if not any(orders):
            return terms, constant
        leading = min(0, *orders) if constant else min(orders)
        last = leading + self.keep
        if max(orders) <= last and (constant == 0 or last >= 0):
            return terms, constant
        for e, c in terms:
            if e.smallness > last:
                self.neglected.add(scale(e, c), leading)
        if constant and last < 0:
            self.neglected.add(number(constant), leading)
            constant = 0
        return [(e, c) for e, c in terms if e.smallness <= last], constant

    def power(self, base: Expr, exponent: float) -> Expr | None:
        """(L + x)^p = L^p Σ C(p, k) (x/L)^k for constant L and small x; `None` if the rule does not apply."""
        if exponent > 0 and exponent == int(exponent):
            return None
        parts = _constant_and_rest(base)
        if parts is None or parts[0] is ZERO:
            return None
        leading, rest = parts
        binomials = [UNIT]
        for k in range(1, self._length(rest.smallness - leading.smallness)):
            binomials.append(scale(binomials[-1], (exponent - k + 1) / k))
        ratio = multiply(rest, power(leading, -1))
        return multiply(power(leading, exponent), self._series(binomials, ratio))

    def function(self, name: str, x: Expr) -> Expr | None:
        """f(a + x) = Σ cₖ xᵏ for constant a and small x; `None` if the rule does not apply."""
        if name not in _COEFFICIENTS:
            return None
        parts = _constant_and_rest(x)
        if parts is None or parts[0].smallness < 0:
            return None
        constant, rest = parts
        try:
            found = _COEFFICIENTS[name](constant, self._length(rest.smallness))
        except ZeroDivisionError:  # no series about this point: log 0, asin 1
            return None
        return self._series(found, rest)

    def is_small_angle(self, y: Expr, x: Expr) -> bool:
        """Return whether atan2(y, x) is a small angle: y is of higher order than x, and x is positive."""
        return y.smallness > x.smallness and _positive(x)

    def is_below(self, x: Expr, limit: Expr) -> bool:
        """Return whether x < limit holds by declaration: a small dimensionless quantity is below 1."""
        return x.smallness > 0 and x.dimension is ONE and limit.kind == "number" and limit.data >= 1

    def _length(self, order: float) -> int:
        """Return a sufficient number of terms for a series in a quantity of this order."""
        return int(self.keep / order) + 4

    def _series(self, coefficients: list[Expr], x: Expr) -> Expr:
        """Σ cₖ xᵏ up to the first negligible term, which the sum drops and records."""
        terms: list[tuple[float, Expr]] = []
        for k, c in enumerate(coefficients):
            if c is ZERO:
                continue
            term = multiply(c, power(x, k))
            terms.append((1, term))
            if term.smallness > terms[0][1].smallness + self.keep:
                break
        return total(terms)

    def drop_small_terms(self, roots: Sequence[Expr]) -> list[Expr]:
        """Return the roots without terms that no root needs.

        The order to which a value is needed determines the orders to which its operands are needed. A sum
        needs its terms to the same order. A product needed to n orders above its leading order needs each
        factor to n orders above the factor's leading order. Other functions need their arguments to ``keep``
        orders above the arguments' leading orders. A value with several users is kept to the highest order
        that one of them needs.
        """
        while True:
            order = operands_first(roots)
            need = self._needs(roots, order)
            new: dict[Expr, Expr] = {}
            for node in order:
                new[node] = self._within(node, [new[a] for a in node.args], need[node])
            result = [new[root] for root in roots]
            if all([x is y for x, y in zip(result, roots, strict=True)]):
                return result
            roots = result

    def _needs(self, roots: Sequence[Expr], order: list[Expr]) -> dict[Expr, float]:
        """Return, for every node, the highest order to which the roots need it."""
        need = {node: -math.inf for node in order}
        for root in roots:
            need[root] = root.smallness + self.keep
        for node in reversed(order):
            slack = need[node] - node.smallness
            if slack < 0:
                continue  # all users of this node drop it
            inherits = node.kind == "product" or (
                node.kind == "let" and node.smallness == node.args[0].smallness
            )
            for a in node.args:
                asked = a.smallness + (slack if inherits else self.keep)
                if node.kind == "sum":
                    asked = need[node]
                need[a] = max(need[a], asked)
        return need

    def _within(self, node: Expr, args: list[Expr], last: float) -> Expr:
        """Return a node with new operands; terms of a sum with orders above ``last`` are dropped."""
        if last < node.smallness:
            return node
        if node.kind == "sum" and not node.constant and any([a.smallness > last for a in node.args]):
            for a, c in zip(node.args, node.data[1], strict=True):
                if a.smallness > last:
                    self.neglected.add(scale(a, c), last - self.keep)
            kept = [
                (c, new)
                for c, new, a in zip(node.data[1], args, node.args, strict=True)
                if a.smallness <= last
            ]
            return total([*kept, (1, number(node.data[0]))])
        same = all([x is y for x, y in zip(args, node.args, strict=True)])
        return node if same else rebuild(node, args)


def _constant_and_rest(x: Expr) -> tuple[Expr, Expr] | None:
    """Return (L, r) with x = L + r for a constant L and an r of higher order; `None` if there are none.

    A small x has L = 0. An intermediate value is split by its definition.
    """
    if x.smallness > 0:
        return ZERO, x
    sign: float = 1
    if x.kind == "let" and x.smallness == x.args[0].smallness:
        x = x.args[0]
    if x.kind == "product" and x.data[1] == (1,):
        sign, x = x.data[0], x.args[0]
    if x.kind != "sum":
        return None
    terms = [*zip(x.data[1], x.args, strict=True), (x.data[0], UNIT)]
    leading = [(sign * c, e) for c, e in terms if e.smallness <= x.smallness]
    rest = [(sign * c, e) for c, e in terms if e.smallness > x.smallness]
    if all([c == 0 for c, _ in rest]) or not all([e.constant for _, e in leading]):
        return None
    return total(leading), total(rest)


# ---------------------------------------------------------------- Taylor coefficients about a constant


def _sine(a: Expr, n: int, shift: int = 0) -> list[Expr]:
    s, c = fn.sin(a), fn.cos(a)
    cycle = (s, c, scale(s, -1), scale(c, -1))
    return [scale(cycle[(k + shift) % 4], 1 / math.factorial(k)) for k in range(n)]


def _exponential(a: Expr, n: int) -> list[Expr]:
    return [scale(fn.exp(a), 1 / math.factorial(k)) for k in range(n)]


def _logarithm(a: Expr, n: int) -> list[Expr]:
    return _integrate_series(_power_series([_nonzero(a), UNIT], -1, n), fn.log(a))


def _tangent(a: Expr, n: int, sign: int = 1) -> list[Expr]:
    """Return the coefficients of tan, from t' = 1 + t²; with ``sign`` −1 those of tanh, from t' = 1 − t²."""
    t = [fn.tan(a) if sign > 0 else fn.tanh(a)]
    for k in range(n - 1):
        square = total([(sign, multiply(t[i], t[k - i])) for i in range(k + 1)])
        t.append(scale(square + UNIT if k == 0 else square, 1 / (k + 1)))
    return t


def _arctangent(a: Expr, n: int) -> list[Expr]:
    """Return the coefficients of the integral of 1/(1 + (a + x)²)."""
    return _integrate_series(_power_series([UNIT + a * a, scale(a, 2), UNIT], -1, n), fn.atan(a))


def _arcsine(a: Expr, n: int) -> list[Expr]:
    """Return the coefficients of the integral of 1/√(1 − (a + x)²)."""
    slope = _power_series([_nonzero(UNIT - a * a), scale(a, -2), scale(UNIT, -1)], -0.5, n)
    return _integrate_series(slope, fn.asin(a))


def _arccosine(a: Expr, n: int) -> list[Expr]:
    return [fn.acos(a), *(scale(c, -1) for c in _arcsine(a, n)[1:])]


def _power_series(p: list[Expr], exponent: float, n: int) -> list[Expr]:
    """Return coefficients of (p₀ + p₁ x + …)^exponent by Euler's recurrence (Knuth, vol. 2, section 4.7)."""
    c = [power(p[0], exponent)]
    for k in range(1, n):
        parts = [
            ((exponent * j - (k - j)) / k, multiply(p[j], c[k - j])) for j in range(1, min(k, len(p) - 1) + 1)
        ]
        c.append(multiply(total(parts), power(p[0], -1)))
    return c


def _integrate_series(slope: list[Expr], start: Expr) -> list[Expr]:
    return [start, *(scale(c, 1 / (k + 1)) for k, c in enumerate(slope[:-1]))]


def _nonzero(a: Expr) -> Expr:
    if a.kind == "number" and a.data == 0:
        raise ZeroDivisionError
    return a


_COEFFICIENTS: dict[str, Callable[[Expr, int], list[Expr]]] = {
    "sin": _sine,
    "cos": lambda a, n: _sine(a, n, shift=1),
    "tan": _tangent,
    "tanh": lambda a, n: _tangent(a, n, sign=-1),
    "asin": _arcsine,
    "acos": _arccosine,
    "atan": _arctangent,
    "exp": _exponential,
    "log": _logarithm,
}


def _positive(x: Expr) -> bool:
    """Return whether a product of numbers and parameters is positive.

    A parameter counts as positive if its default is positive or not given.
    """
    if x.kind == "number":
        found: bool = x.data > 0
        return found
    if x.kind == "symbol":
        return x.constant and (x.data.default is None or x.data.default > 0)
    return x.kind == "product" and x.data[0] > 0 and all(_positive(a) for a in x.args)
