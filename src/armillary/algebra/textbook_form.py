"""Expressions written out as in a textbook: multiplied out, in the form with the fewest terms.

An expression becomes a polynomial, Σ c Π a^n, whose atoms a are symbols, sines and cosines of single angles
and other factors that cannot be multiplied out. These identities give other forms of the polynomial, and the
form with the fewest terms is kept:

    sin² x = 1 − cos² x,     cos² x = 1 − sin² x,
    cos x cos y = ½ cos(x + y) + ½ cos(x − y), and the same for the other products of sines and cosines

Terms with the same sines and cosines are then collected. This is for small systems: expressions with many
terms are refused.

``ExpressionVector`` and ``ExpressionMatrix`` hold expressions by the names of rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import overload

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import Values, evaluate_all
from armillary.algebra.expression import ZERO, Expr, number, power, total
from armillary.algebra.walk import operands_first, product_of_powers, rebuild
from armillary.errors import ArmillaryError
from armillary.text_tables import Html, aligned, html_table

Monomial = frozenset[tuple[Expr, float]]
Polynomial = dict[Monomial, float]

_ONE: Monomial = frozenset()
_NOISE = 1e-13  # smaller coefficients, relative to the largest, are rounding errors of terms that cancel
_DIGITS = 12  # significant digits of printed numbers: 0.3, not 0.30000000000000004
MOST_TERMS = 120  # most terms of an expression that people can read
# Most terms of an expression whose other forms are tried. For the form with products as sums, this is the
# number of terms in that form.
_MOST_WAVES = 800
_MOST_PRODUCTS = 20_000  # most products of two terms for all expressions together; they take 0.1 s


class TooLong(Exception):
    """Raised for a polynomial that has more terms than people can read."""


def collect_textbook_terms(roots: Iterable[Expr]) -> list[Expr] | None:
    """Return the roots multiplied out, each in its shortest form; `None` if one has too many terms."""
    try:
        return [_shortest(p) for p in _Expansion().polynomials(list(roots))]
    except TooLong:
        return None


def _shortest(p: Polynomial) -> Expr:
    forms = [p]
    if len(p) <= _MOST_WAVES:
        forms += [_without_squares(p, "sin"), _without_squares(p, "cos")]
    if sum(2 ** sum(n for a, n in m if _is_trig(a)) for m in p) <= _MOST_WAVES:
        forms.append(_trig_products_as_sums(p))
    best = min(forms, key=_length)
    return _group_by_trig({monomial: float(f"{c:.{_DIGITS}g}") for monomial, c in best.items()})


def _length(p: Polynomial) -> tuple[int, int]:
    return len(p), sum(len(m) for m in p)


# ------------------------------------------------------------------------ from expressions to polynomials


class _Expansion:
    """A converter of expressions to polynomials; too many products of terms raise ``TooLong``."""

    def __init__(self) -> None:
        self._products = 0

    def polynomials(self, roots: list[Expr]) -> list[Polynomial]:
        found: dict[Expr, Polynomial] = {}
        for node in operands_first(roots):
            found[node] = self._polynomial(node, found)
        return [found[root] for root in roots]

    def _polynomial(self, node: Expr, known: Mapping[Expr, Polynomial]) -> Polynomial:
        if node.kind == "number":
            return {_ONE: float(node.data)} if node.data else {}
        if node.kind == "let":
            return known[node.args[0]]
        if node.kind == "sum":
            constant, coefficients = node.data
            result: Polynomial = {_ONE: float(constant)} if constant else {}
            for c, argument in zip(coefficients, node.args, strict=True):
                _add(result, known[argument], c)
            return _clean(result)
        if node.kind == "product":
            coefficient, exponents = node.data
            result = {_ONE: float(coefficient)}
            for argument, n in zip(node.args, exponents, strict=True):
                result = self._multiply(result, self._power(known[argument], argument, n))
            return result
        if node.kind == "call" and node.data in ("sin", "cos"):
            return self._trig_of_sum(node.data, node.args[0])
        if node.kind == "call":
            return _atom(rebuild(node, [_group_by_trig(known[a]) for a in node.args]))
        return _atom(node)

    def _power(self, p: Polynomial, base: Expr, n: float) -> Polynomial:
        if n == int(n) and n > 0:
            result = p
            for _ in range(int(n) - 1):
                result = self._multiply(result, p)
            return result
        if len(p) == 1:
            ((monomial, c),) = p.items()
            if c > 0 and n == int(n):
                return {frozenset((atom, m * n) for atom, m in monomial): c**n}
        return _atom(_group_by_trig(p), n)

    def _trig_of_sum(self, function: str, angle: Expr) -> Polynomial:
        """Return the sine or cosine of an angle c + Σ n x as a polynomial in sin x and cos x.

        The sine and cosine are the imaginary and the real part of e^(i c) Π e^(i n x). If an n is not whole
        or its magnitude is above 4, the angle is not expanded.
        """
        constant, parts = _angles(angle)
        if not all(n == int(n) and abs(n) <= 4 for n in parts.values()):
            constant, parts = 0.0, {angle: 1}
        cosine: Polynomial = {_ONE: float(fn.cos(number(constant)).data)}
        sine: Polynomial = {_ONE: float(fn.sin(number(constant)).data)} if constant else {}
        for x, n in parts.items():
            c, s = _atom(fn.cos(x)), _atom(fn.sin(x))
            if n < 0:
                s = {m: -k for m, k in s.items()}
            for _ in range(int(abs(n))):
                turned = _sum(self._multiply(cosine, c), self._multiply(sine, s), -1)
                cosine, sine = turned, _sum(self._multiply(sine, c), self._multiply(cosine, s))
        return cosine if function == "cos" else sine

    def _multiply(self, p: Polynomial, q: Polynomial) -> Polynomial:
        self._products += len(p) * len(q)
        if self._products > _MOST_PRODUCTS:
            raise TooLong
        result: Polynomial = {}
        for (a, x), (b, y) in product(p.items(), q.items()):
            monomial = _multiply_monomials(a, b)
            result[monomial] = result.get(monomial, 0.0) + x * y
        return _clean(result)


def _atom(node: Expr, n: float = 1) -> Polynomial:
    if node.kind == "number":
        return {_ONE: float(power(node, n).data)}
    return {frozenset([(node, n)]): 1.0}


def _angles(angle: Expr) -> tuple[float, dict[Expr, float]]:
    """Return (c, {x: n}) of an angle c + Σ n x."""
    if angle.kind == "let":
        return _angles(angle.args[0])
    if angle.kind == "sum":
        constant, coefficients = angle.data
        return constant, dict(zip(angle.args, coefficients, strict=True))
    if angle.kind == "product" and angle.data[1] == (1,):
        return 0.0, {angle.args[0]: angle.data[0]}
    return 0.0, {angle: 1}


def _add(into: Polynomial, p: Polynomial, factor: float = 1.0) -> None:
    for monomial, c in p.items():
        into[monomial] = into.get(monomial, 0.0) + factor * c


def _sum(p: Polynomial, q: Polynomial, factor: float = 1.0) -> Polynomial:
    result = dict(p)
    _add(result, q, factor)
    return _clean(result)


def _multiply_monomials(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, n in b:
        powers[atom] = powers.get(atom, 0) + n
    return frozenset((atom, n) for atom, n in powers.items() if n)


def _clean(p: Polynomial) -> Polynomial:
    least = _NOISE * max(map(abs, p.values()), default=0.0)
    return {monomial: c for monomial, c in p.items() if abs(c) > least}


# ------------------------------------------------------------------------------ sines and cosines


def _is_trig(atom: Expr) -> bool:
    return atom.kind == "call" and atom.data in ("sin", "cos")


def _without_squares(p: Polynomial, function: str) -> Polynomial:
    """Return the polynomial with sin² replaced by 1 − cos² (``function`` "sin"), or cos² by 1 − sin²."""
    other = fn.cos if function == "sin" else fn.sin
    result = p
    while True:
        found: Polynomial = {}
        changed = False
        for monomial, c in result.items():
            high = [(a, n) for a, n in monomial if a.kind == "call" and a.data == function and n >= 2]
            if not high:
                found[monomial] = found.get(monomial, 0.0) + c
                continue
            changed = True
            atom, n = high[0]
            rest = _multiply_monomials(monomial - {(atom, n)}, frozenset([(atom, n - 2)]) if n > 2 else _ONE)
            found[rest] = found.get(rest, 0.0) + c
            less = _multiply_monomials(rest, frozenset([(other(atom.args[0]), 2)]))
            found[less] = found.get(less, 0.0) - c
        result = _clean(found)
        if not changed:
            return result


def _trig_products_as_sums(p: Polynomial) -> Polynomial:
    """Replace products of sines and cosines by sums of sines and cosines, such as cos(x + y)."""
    result: Polynomial = {}
    for monomial, c in p.items():
        trig = [(a, int(n)) for a, n in monomial if _is_trig(a) and n == int(n) and n > 0]
        rest = frozenset((a, n) for a, n in monomial if (a, n) not in trig)
        waves: dict[tuple[str, frozenset[tuple[Expr, float]]], float] = {("cos", frozenset()): 1.0}
        for atom, n in sorted(trig, key=lambda pair: str(pair[0])):
            for _ in range(n):
                waves = _multiply_waves(waves, atom)
        for (function, angles), k in waves.items():
            if not angles:
                if function == "cos":
                    result[rest] = result.get(rest, 0.0) + c * k
                continue
            sign, angle = _signed_angle(angles)
            node = fn.cos(angle) if function == "cos" else fn.sin(angle)
            whole = _multiply_monomials(rest, frozenset([(node, 1)]))
            result[whole] = result.get(whole, 0.0) + c * k * (sign if function == "sin" else 1)
    return _clean(result)


def _multiply_waves(
    waves: Mapping[tuple[str, frozenset[tuple[Expr, float]]], float], atom: Expr
) -> dict[tuple[str, frozenset[tuple[Expr, float]]], float]:
    """Return a sum of sines and cosines times ``atom``, which is sin x or cos x.

    Every sine and cosine has an angle Σ n x. ``waves`` has its coefficient by (function, {(x, n), …}).

    cos A cos x = ½ cos(A+x) + ½ cos(A−x)        sin A cos x = ½ sin(A+x) + ½ sin(A−x)
    cos A sin x = ½ sin(A+x) − ½ sin(A−x)        sin A sin x = ½ cos(A−x) − ½ cos(A+x)
    """
    result: dict[tuple[str, frozenset[tuple[Expr, float]]], float] = {}
    by_sine = atom.data == "sin"
    for (function, angles), k in waves.items():
        new = {"cos": "sin", "sin": "cos"}[function] if by_sine else function
        for direction in (1, -1):
            sign = 1.0
            if by_sine:
                sign = direction if function == "cos" else -direction
            moved = dict(angles)
            x = atom.args[0]
            moved[x] = moved.get(x, 0) + direction
            key = new, frozenset((a, n) for a, n in moved.items() if n)
            result[key] = result.get(key, 0.0) + 0.5 * k * sign
    return result


def _signed_angle(angles: frozenset[tuple[Expr, float]]) -> tuple[float, Expr]:
    """Return (sign, angle) with sign · angle = Σ n x; the first term n x of the angle, by the names of x, has
    a positive n.
    """
    ordered = sorted(angles, key=lambda pair: str(pair[0]))
    sign = 1.0 if ordered[0][1] > 0 else -1.0
    return sign, total([(sign * n, x) for x, n in ordered])


# ------------------------------------------------------------------------------ back to expressions


def _group_by_trig(p: Polynomial) -> Expr:
    """Return the sum with terms grouped by their sines and cosines."""
    if len(p) > MOST_TERMS:
        raise TooLong
    groups: dict[Monomial, list[tuple[float, Expr]]] = {}
    for monomial, c in p.items():
        trig = frozenset((a, n) for a, n in monomial if _is_trig(a))
        groups.setdefault(trig, []).append((c, _monomial_product(monomial - trig)))
    return (
        total([(1, total(terms) * _monomial_product(trig)) for trig, terms in groups.items()]) if p else ZERO
    )


def _monomial_product(monomial: Monomial) -> Expr:
    return product_of_powers(sorted(monomial, key=lambda pair: str(pair[0])))


_SHOWN = 2000  # most characters of an element in a table


@dataclass(frozen=True, eq=False, repr=False)
class ExpressionVector:
    """Expressions by name: `v["A.u1"]`, `v[0]`."""

    what: str
    names: tuple[str, ...]
    elements: tuple[Expr, ...]

    def __getitem__(self, key: int | str) -> Expr:
        return self.elements[_index_of(key, self.names, self.what)]

    def __len__(self) -> int:
        return len(self.elements)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.elements)

    def evaluate(self, values: Values) -> np.ndarray:
        """Return the elements as an array, for values by symbol or name in the model's units.

        If values are arrays, their axes come before the axis of the elements.
        """
        return _evaluate_elements(self.elements, values, (len(self.names),))

    def collected(self) -> ExpressionVector:
        """Return the vector with every element multiplied out and collected; unchanged if too long."""
        found = collect_textbook_terms(self.elements)
        return self if found is None else replace(self, elements=tuple(found))

    def __repr__(self) -> str:
        rows = [[f"  {name}", _short(e)] for name, e in zip(self.names, self, strict=True)]
        return "\n".join([self.what, *aligned(rows)])

    def _repr_html_(self) -> str:
        rows = [[name, typeset(e)] for name, e in zip(self.names, self, strict=True)]
        return html_table(["", ""], rows, caption=self.what)


@dataclass(frozen=True, eq=False, repr=False)
class ExpressionMatrix:
    """Expressions by names of row and column: `M["A.u1", "B.u1"]`, `M[0, 1]`, `M[0][1]`."""

    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    elements: tuple[tuple[Expr, ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.rows), len(self.columns)

    @overload
    def __getitem__(self, key: tuple[str | int, str | int]) -> Expr: ...
    @overload
    def __getitem__(self, key: str | int) -> tuple[Expr, ...]: ...
    def __getitem__(self, key: object) -> Expr | tuple[Expr, ...]:
        if isinstance(key, tuple) and len(key) == 2:
            row = self.elements[_index_of(key[0], self.rows, f"rows of {self.what}")]
            return row[_index_of(key[1], self.columns, f"columns of {self.what}")]
        return self.elements[_index_of(key, self.rows, f"rows of {self.what}")]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Expr, ...]]:
        return iter(self.elements)

    def evaluate(self, values: Values) -> np.ndarray:
        """Return the elements as an array, for values by symbol or name in the model's units.

        If values are arrays, their axes come before those of rows and columns.
        """
        return _evaluate_elements([e for row in self.elements for e in row], values, self.shape)

    def collected(self) -> ExpressionMatrix:
        """Return the matrix with every element multiplied out and collected; unchanged if too long."""
        found = collect_textbook_terms([e for row in self.elements for e in row])
        if found is None:
            return self
        n = len(self.columns)
        rows = tuple(tuple(found[i * n : (i + 1) * n]) for i in range(len(self.rows)))
        return replace(self, elements=rows)

    def __repr__(self) -> str:
        lines = [
            [f"  {row}, {column}", _short(self[row, column])]
            for row in self.rows
            for column in self.columns
            if self[row, column] is not ZERO
        ]
        return "\n".join([self.what, *aligned(lines)])

    def _repr_html_(self) -> str:
        rows = [[name, *map(typeset, row)] for name, row in zip(self.rows, self, strict=True)]
        return html_table(["", *self.columns], rows, caption=self.what)


def typeset(expression: Expr) -> str:
    """Return an expression as MathML for a table cell, or as shortened text if it is long."""
    from armillary.algebra.typesetting import mathml

    shown = mathml(expression, limit=20 * _SHOWN)
    return Html(f"<math>{shown}</math>") if shown else _short(expression)


def _short(expression: Expr) -> str:
    from armillary.algebra.node import text

    return text(expression, limit=_SHOWN)


def _evaluate_elements(elements: Sequence[Expr], values: Values, shape: tuple[int, ...]) -> np.ndarray:
    if not elements:
        return np.zeros(shape)
    found = np.broadcast_arrays(*evaluate_all(elements, values))
    return np.stack(found, axis=-1, dtype=float).reshape(*found[0].shape, *shape)


def _index_of(key: object, names: tuple[str, ...], what: str) -> int:
    if isinstance(key, str):
        [name] = checked_names([key], names, f"{what}: there is no", listed=True)
        return names.index(name)
    if isinstance(key, int | np.integer) and -len(names) <= key < len(names):
        return int(key)
    raise ArmillaryError(f"{what}: {key!r} is neither a name nor an index from 0 to {len(names) - 1}")
