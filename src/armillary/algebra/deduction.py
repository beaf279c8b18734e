"""Unknown dimensions, deduced from the terms and functions in which quantities occur.

Example: ``-k*(x - x0) - c*v`` is a force, x a length and v a speed. The difference makes x0 a length, and
both terms must be forces. So k is a force per length, and c a force per speed. AUTOSIM deduces dimensions in
the same way (Sayers 1990, section 9.1).

The dimension of a node is a product of a known dimension and powers of unknown ones, one unknown per symbol
without a dimension. Each sum, comparison or dimensionless argument gives an equation between two such
products. For the exponents of the base dimensions (mass, length, time, …) these equations are linear systems
with the same coefficients, so one sparse elimination over exact fractions solves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from armillary.algebra import node as printing
from armillary.algebra.expression import Expr
from armillary.algebra.units import ONE, Dimension
from armillary.algebra.walk import operands_first
from armillary.errors import UnitsError

_DIMENSIONLESS = ("sin", "cos", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "pow", "floor", "ceil")
_EQUATE_ALL = ("min", "max", "mod", "atan2", "lt", "le", "gt", "ge", "eq", "ne")


@dataclass(frozen=True)
class Monomial:
    """known · Π unknown^exponent."""

    known: Dimension
    unknowns: dict[Expr, int | Fraction]

    def times(self, other: Monomial, exponent: int | Fraction) -> Monomial:
        """self · other^exponent."""
        known = self.known * (other.known if exponent == 1 else other.known**exponent)
        if not other.unknowns:
            return Monomial(known, self.unknowns)
        unknowns = dict(self.unknowns)
        for symbol, n in other.unknowns.items():
            left = unknowns.get(symbol, 0) + n * exponent
            if left:
                unknowns[symbol] = left
            else:
                unknowns.pop(symbol, None)
        return Monomial(known, unknowns)


@dataclass(frozen=True)
class Demand:
    """The demand that ``left`` has the dimension of ``right``; ``where`` names its origin in errors."""

    left: Expr
    right: Expr | Dimension
    where: str


_NUMBER = Monomial(ONE, {})


def deduce(equations: Sequence[tuple[Expr, Dimension | None, str]]) -> dict[Expr, Dimension]:
    """Return the dimensions of symbols without a stated dimension, as far as the expressions determine them.

    Each entry of ``equations`` is an expression, its required dimension (None if not known) and a text that
    names its origin in errors. Symbols whose dimension remains unknown are left out. A contradiction is an
    error that names both terms. A number may be a term of any dimension: ``x + 1`` does not determine x. A
    coefficient that is a bare number may have unstated units (``-3*q - 5*u``): such a term determines only
    dimensions that nothing else determines, and never raises an error.
    """
    system = _System()
    forms: dict[Expr, Monomial] = {}
    reached = 0  # index of the equation to whose expression the visited nodes belong
    opaque: set[Expr] = set()
    for node in operands_first([expression for expression, _, _ in equations]):
        if _is_amplitude(node) or any([a in opaque for a in node.args]):
            opaque.add(node)
            forms[node] = _bare(node)
        else:
            forms[node] = _form(node, forms, system, equations[reached][2])
        while reached < len(equations) and equations[reached][0] in forms:
            reached += 1
    for expression, required, where in equations:
        if required is not None and expression.kind != "number":
            demand = Demand(expression, required, where)
            bare = expression.kind == "product" and abs(expression.data[0]) != 1
            if bare or holds_bare_numbers(expression):
                system.guesses.append((forms[expression], Monomial(required, {}), demand))
            else:
                system.equate(forms[expression], Monomial(required, {}), demand, forms)
    system.take_guesses(forms)
    return {
        node: solution.known
        for node in forms
        if node.kind == "symbol" and node.dimension is None
        for solution in [system.reduce_form(forms[node])]
        if not solution.unknowns
    }


def _is_amplitude(node: Expr) -> bool:
    """Return whether a symbol is a modal coordinate or its rate.

    The units of modal coordinates depend on the scale of the mode shapes, so no expression that holds one
    determines a dimension.
    """
    moving = ("coordinate", "speed", "acceleration")
    return node.kind == "symbol" and node.dimension is None and node.data.role in moving


def holds_bare_numbers(node: Expr) -> bool:
    """Return whether a bare number in a node may be a quantity with unstated units.

    Examples: 9.81, 1 + t, and −5*x − v, where v has an unwritten gain of one.
    """
    if node.kind == "number":
        return node.dimension is ONE
    if node.kind == "product":  # a sum with a sign or coefficient, such as −(x + 1)
        return node.data[1] == (1,) and node.args[0].kind == "sum" and holds_bare_numbers(node.args[0])
    return node.kind == "sum" and (node.data[0] != 0 or any([a.dimension is None for a in node.args]))


def _form(node: Expr, forms: dict[Expr, Monomial], system: _System, where: str) -> Monomial:
    """Return a node's dimension from its operands' dimensions; add the conditions on them to the system."""
    if node.kind in ("symbol", "number"):
        return Monomial(node.dimension, {}) if node.dimension is not None else Monomial(ONE, {node: 1})
    if node.kind == "let":
        return forms[node.args[0]]
    if node.kind == "product":
        unit = None if _may_be_bare_number(node) else node.unit
        result = _NUMBER if unit is None else Monomial(unit, {})
        for base, exponent in zip(node.args, node.data[1], strict=True):
            whole = isinstance(exponent, int)  # a tenth of a fraction's time
            power = exponent if whole else Fraction(exponent).limit_denominator(64)
            result = result.times(forms[base], power)
        if unit is not None:
            return result
        if result.unknowns:  # a bare number probably has no dimension, but this is not certain
            system.guesses.append((_bare(node), result, Demand(node, node, where)))
        return _bare(node)
    if node.kind == "sum":
        return _sum_form(node, forms, system, where)
    return _call_form(node, forms, system, where)


def _may_be_bare_number(node: Expr) -> bool:
    """Return whether the number of a product may have unstated units.

    If the dimension of the product is unknown and no factor holds an undeclared symbol, a product with a bare
    number and one with a dimensionless number are the same node, and the number may be either.
    """
    bare = node.unit is ONE and node.dimension is None and abs(node.data[0]) != 1
    return bare and not any([base.undeclared for base in node.args])


def _sum_form(node: Expr, forms: dict[Expr, Monomial], system: _System, where: str) -> Monomial:
    terms = list(zip(node.data[1], node.args, strict=True))
    result = _equal_terms([e for c, e in terms if abs(c) == 1], forms, system, where, node)
    if node.dimension is not None:
        result = Monomial(node.dimension, {})
    elif all([abs(c) != 1 for c, _ in terms]):
        result = Monomial(ONE, {node: 1})
    system.guesses += [(forms[e], result, Demand(e, node, where)) for c, e in terms if abs(c) != 1]
    return result


def _call_form(node: Expr, forms: dict[Expr, Monomial], system: _System, where: str) -> Monomial:
    name = node.data
    if not isinstance(name, str):  # a table or foreign function, which may state dimensions
        wanted = getattr(name, "argument_dimensions", (None,) * len(node.args))
        for argument, dimension in zip(node.args, wanted, strict=True):
            if dimension is not None and argument.kind != "number":
                system.equate(
                    forms[argument], Monomial(dimension, {}), Demand(argument, dimension, where), forms
                )
        return _bare(node) if node.dimension is None else Monomial(node.dimension, {})
    if name in _DIMENSIONLESS:
        for argument in node.args:
            system.equate(forms[argument], _NUMBER, Demand(argument, ONE, f"{name}(…) in {where}"), forms)
        return _NUMBER
    if name == "abs":
        return forms[node.args[0]]
    if name == "select":
        return _equal_terms(node.args[1:], forms, system, where, node)
    if name in _EQUATE_ALL:
        shared = _equal_terms(node.args, forms, system, where, node)
        return shared if name in ("min", "max", "mod") else _NUMBER if name == "atan2" else _bare(node)
    return _bare(node)  # 'sign', 'and', 'or' and 'not' give bare numbers, which may have any dimension


def _bare(node: Expr) -> Monomial:
    """Return an unknown of its own as the dimension of a node that is made of bare numbers."""
    return Monomial(ONE, {node: 1})


def _equal_terms(
    terms: Sequence[Expr], forms: dict[Expr, Monomial], system: _System, where: str, node: Expr
) -> Monomial:
    """Return the dimension that all terms of a node share, except bare numbers and products with them.

    A product with a bare number is excepted because all uses of it share one node, though the number may be a
    length in one use and a weight in another.
    """
    quantities = [
        term
        for term in terms
        if term.kind != "number" and not (term.kind == "product" and term in forms[term].unknowns)
    ]
    if not quantities:
        return _bare(node)
    # A term of known dimension is compared with the others if there is one: error messages are clearer then.
    known = next((term for term in quantities if not forms[term].unknowns), quantities[0])
    for term in quantities:
        # Two known dimensions have been compared where the expression was made.
        if term is not known and (forms[term].unknowns or forms[known].unknowns):
            system.equate(forms[known], forms[term], Demand(known, term, where), forms)
    return forms[known]


def _replace_unknown(form: Monomial, symbol: Expr, value: Monomial) -> Monomial:
    exponent = form.unknowns[symbol]
    rest = Monomial(form.known, {s: n for s, n in form.unknowns.items() if s is not symbol})
    return rest.times(value, exponent)


class _System:
    """Solved equations: each solved unknown is a product of powers of free unknowns.

    A new equation is solved for the unknown on which the fewest others depend. So a sum of n unknown terms
    takes n steps: each new term is expressed by the first, and no earlier solution changes.
    """

    def __init__(self) -> None:
        self.solved: dict[Expr, Monomial] = {}
        self.users: dict[Expr, set[Expr]] = {}  # by free unknown: the solved unknowns whose form holds it
        self.origin: dict[Expr, Demand] = {}
        self.guesses: list[tuple[Monomial, Monomial, Demand]] = []

    def reduce_form(self, form: Monomial) -> Monomial:
        """Return the form with solved unknowns replaced by products of free ones."""
        for symbol in [s for s in form.unknowns if s in self.solved]:
            form = _replace_unknown(form, symbol, self.solved[symbol])
        return form

    def equate(self, a: Monomial, b: Monomial, demand: Demand, forms: dict[Expr, Monomial]) -> None:
        """Add the equation a = b."""
        if a is b or (not a.unknowns and not b.unknowns and a.known is b.known):
            return
        ratio = self.reduce_form(a.times(b, -1))
        if not ratio.unknowns:
            if ratio.known is not ONE:
                raise UnitsError(self._contradiction(demand, a, b, ratio.known, forms))
            return
        pivot = min(ratio.unknowns, key=lambda s: len(self.users.get(s, ())))
        # ratio = known · pivot^n · rest = 1 gives pivot = (known · rest)^(−1/n).
        n = ratio.unknowns[pivot]
        rest = Monomial(ratio.known, {s: e for s, e in ratio.unknowns.items() if s is not pivot})
        value = _NUMBER.times(rest, -n if abs(n) == 1 else Fraction(-1) / n)
        self.origin[pivot] = demand
        for user in self.users.pop(pivot, set()):
            self._store(user, _replace_unknown(self.solved[user], pivot, value))
        self._store(pivot, value)

    def take_guesses(self, forms: dict[Expr, Monomial]) -> None:
        """Apply the likely but uncertain equations that still determine an unknown."""
        for a, b, demand in self.guesses:
            if self.reduce_form(a.times(b, -1)).unknowns:
                self.equate(a, b, demand, forms)

    def _store(self, symbol: Expr, form: Monomial) -> None:
        for s in self.solved.get(symbol, _NUMBER).unknowns:
            if s in self.users and s not in form.unknowns:
                self.users[s].discard(symbol)
        self.solved[symbol] = form
        for s in form.unknowns:
            self.users.setdefault(s, set()).add(symbol)

    def _contradiction(
        self, demand: Demand, a: Monomial, b: Monomial, ratio: Dimension, forms: dict[Expr, Monomial]
    ) -> str:
        left, right = self.reduce_form(a), self.reduce_form(b)
        one, other = _quote(demand.left), _quote(demand.right)
        if not left.unknowns and not right.unknowns:
            needed = isinstance(demand.right, Dimension)
            wanted = f"{other} is needed" if needed else f"{other} has [{right.known}]"
            lines = [f"dimensions do not fit in {demand.where}: {one} has [{left.known}], {wanted}"]
        else:
            lines = [f"dimensions do not fit in {demand.where}: {one} and {other} differ by [{ratio}]"]
        for symbol in dict.fromkeys([*a.unknowns, *b.unknowns]):
            known, reason = self.reduce_form(forms[symbol]), self.origin.get(symbol)
            if not known.unknowns and reason is not None:
                source = f"{_quote(reason.left)} must match {_quote(reason.right)} in {reason.where}"
                lines.append(f"  {_quote(symbol)} has [{known.known}] because {source}")
        lines.append("  remedy: correct the term, or the units of a symbol in it")
        return "\n".join(lines)


def _quote(what: Expr | Dimension) -> str:
    return f"[{what}]" if isinstance(what, Dimension) else f"'{printing.text(what, limit=60)}'"
