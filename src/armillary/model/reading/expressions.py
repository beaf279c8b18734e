"""Reading of what users write: texts, numbers and expressions become expressions, each checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from armillary.algebra import functions as fn
from armillary.algebra.arguments import checked_names
from armillary.algebra.deduction import holds_bare_numbers
from armillary.algebra.expression import Expr, number
from armillary.algebra.functions import BY_NAME
from armillary.algebra.intermediate import measured
from armillary.algebra.parsing import parse
from armillary.algebra.units import ONE, Dimension, is_quantity, magnitude_in_si, parse_unit
from armillary.algebra.vectors import Dyadic, Vector
from armillary.algebra.walk import symbols
from armillary.errors import ExpressionError, ModelError, UnitsError, nearest, shown
from armillary.model.bodies.body import Body, Point
from armillary.model.quantities.variables import variables
from armillary.model.reading.inertia_input import dimensioned, finite_number
from armillary.model.reading.names import check_new_name, declare_parameter
from armillary.model.reading.text_functions import MODEL_FUNCTIONS, giving_nodes
from armillary.model.recording.verbs import NoForm, quantities_of, verb
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.model.description import Description

_EQUALS = re.compile(r"(?<![<>=!])=(?!=)")
_PLAIN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


def expression(
    system: Description,
    value: object,
    where: str = "",
    dimension: Dimension | None = None,
    local: Mapping[str, Expr] | None = None,
) -> Expr:
    """A scalar from text, a number or an expression; checked for its dimension where one is given."""
    known = len(system.parameters)
    try:
        return _read_scalar(system, value, where, dimension, local or {})
    except BaseException:
        while len(system.parameters) > known:  # those that a text has made, which is refused
            system.parameters.popitem()
        raise


# For functions with a parameter of that name.
read_expression = expression


def _read_scalar(
    system: Description, value: object, where: str, dimension: Dimension | None, local: Mapping[str, Expr]
) -> Expr:
    if isinstance(value, str):
        node = parse_text(system, value, where, local)
    elif isinstance(value, Expr):
        node = value
        check_owner(system, node, where)
    elif isinstance(value, Vector):
        node = value
    else:
        node = read_number(system, value, where, dimension)
    if not isinstance(node, Expr):
        hint = "; take a component with dot(), or magnitude()" if isinstance(node, Vector) else ""
        raise ExpressionError(
            f"{where}: '{value}' is a {type(node).__name__.lower()}, a scalar is needed here{hint}"
        )
    check_dimension(system, node, dimension, where)
    return node


def read_number(system: Description, value: Given, where: str, dimension: Dimension | None) -> Expr:
    if is_quantity(value):
        size, own = magnitude_in_si(value)
        return number(size / system.units.scale(own), own)
    try:
        plain = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ExpressionError(f"{where}: {shown(value)} is not a number, text or expression") from None
    return dimensioned(finite_number(plain, where), dimension or ONE)


def check_owner(system: Description, node: Expr, where: str) -> None:
    for s in symbols(node):
        if s.data.owner not in (None, system.identity):
            raise ModelError(
                f"{where}: '{s}' belongs to system '{s.data.owner.name}', not to '{system.name}'"
            )


def check_dimension(system: Description, node: Expr, dimension: Dimension | None, where: str) -> None:
    if dimension is None or node.dimension is None or node.dimension is dimension or holds_bare_numbers(node):
        return
    unit = system.units.unit_text(dimension) or "no unit"
    bare = f"1*({node})" if node.kind in ("sum", "product") else f"1*{node}"
    gee = "; 'g' is a gram, 'gee' standard gravity" if where.endswith(" in g") else ""
    amplitude = f", or write its amplitude as a number in {unit}, {bare}" if node.dimension is ONE else ""
    raise UnitsError(
        f"{where}: '{node}' has dimension [{node.dimension}], but [{dimension}] ({unit}) is needed; "
        f"multiply it with a parameter that has the missing units{amplitude}{gee}"
    )


def parse_text(
    system: Description, text: str, where: str, local: Mapping[str, Expr], *, checked: bool = True
) -> Given:
    """The value of a text: a scalar, a vector, a body or a point; ``local`` names go before the model's."""
    own = {**MODEL_FUNCTIONS, **quantities_of(system), **system.functions}
    table = {
        **BY_NAME,
        **{name: (giving_nodes(function), count) for name, (function, count) in own.items()},
    }

    def known(name: str) -> Given:
        try:
            return local[name] if name in local else lookup(system, name)
        except ModelError as error:  # as an ExpressionError it gets the place in the text
            raise ExpressionError(str(error)) from None

    try:
        return parse(text, known, table, checked=checked)
    except ExpressionError as error:
        raise ExpressionError(
            f"{where}: {error.message}" if where else error.message, error.text, error.column
        ) from None
    except UnitsError as error:
        raise UnitsError(f"{where}: {error}" if where else str(error)) from None
    except ModelError as error:
        raise ModelError(f"{where}: {error}" if where else str(error)) from None


def lookup(system: Description, name: str) -> Given:
    """The value of a name in a text; an undeclared plain one becomes a parameter without a default."""
    if not _PLAIN.match(name):
        return _quoted(system, name)
    head, _, tail = name.partition(".")
    if not tail:
        for table in (system.parameters, system.bodies):
            if name in table:
                return table[name]
        if name in system.memories:
            return system.memories[name].symbol
        if name in system.states:
            return system.states[name].symbol
        if name in system.loads:
            return system.loads[name].magnitude
        if name in system.definitions:
            return _defined(system, name)
        if name == "t":
            return system.time
        if name == "pi":
            return number(math.pi)
        if name in ("ground", "world"):
            return system.ground
        owner = name.removesuffix("_mode")  # in older texts floor_mode is the memory of the contact floor
        touches = owner != name and (owner in system.loads or owner in system.contacts)
        if touches and f"{owner}_status" in system.memories:
            return system.memories[f"{owner}_status"].symbol
        if system.declared_only:
            named = [*system.parameters, *system.bodies, *system.memories, *system.states]
            named += [*system.loads, *system.definitions]
            hint = nearest(name, named) or "; declare it in [parameters]"
            raise ModelError(f"there is nothing called '{name}'{hint}")
        return declare_parameter(system, name, None, "")
    if name in system.parameters:
        return system.parameters[name]
    body = system.bodies.get(head, system.ground if head in ("ground", "world") else None)
    if body is None:
        raise ModelError(f"there is no body '{head}'{nearest(head, [*system.bodies, 'ground'])}")
    return body.part(tail)


def _quoted(system: Description, name: str) -> Given:
    """A variable by a name that is no plain one: a rate such as A.u1', the force of a constraint."""
    if name == "mass centre":  # what energy and momentum may be taken about
        return name
    known = {s.data.name: s for s in variables(system)}
    [name] = checked_names([name], known, "there is no variable", ModelError)
    return known[name]


@verb(NoForm("[expressions] holds what was defined"))
def define(
    system: Description, name: str, value: object, *, label: str = "", units: str | None = None
) -> None:
    """A name for an expression or vector in texts, read when a text first uses it. Text models need it;
    in Python a variable does the same. ``label`` keeps the value whole in the equations, under that name;
    ``units`` are those of an expression whose numbers hide them, "" where they are not known."""
    check_new_name(system, name, "expression")
    if not isinstance(value, str | Expr | Vector | Dyadic | Body | Point):
        read_number(system, value, f"expression '{name}'", None)
    dimension = parse_unit(units).dimension if units else None
    system.definitions[name] = (value, label, dimension, units is None)


def _defined(system: Description, name: str) -> Given:
    found = system.definitions[name]
    if not isinstance(found, tuple):
        return found
    value, label, dimension, checked = found
    if value is None:
        raise ModelError(f"expression '{name}' refers to itself")
    system.definitions[name] = (None, label, dimension, checked)
    try:
        where = f"expression '{name}'"
        read = value
        if isinstance(value, str):  # where units are stated, numbers hide them, and sums cannot be checked
            read = parse_text(system, value, where, {}, checked=checked)
        made = (
            _intermediate(read_expression(system, read, where), label, dimension)
            if label or dimension
            else read
        )
    except BaseException:
        system.definitions[name] = found
        raise
    system.definitions[name] = made
    return made


def _intermediate(node: Expr, label: str, dimension: Dimension | None) -> Expr:
    if dimension in (None, node.dimension):
        return fn.named(node, label) if label else node
    if label:
        return measured(node, dimension, label)
    return node * number(1, dimension if node.dimension is None else dimension / node.dimension)


def refuse_equation(expression: object, where: str, remedy: str) -> None:
    """An error for a text with an equals sign where an expression is needed whose zero matters."""
    if isinstance(expression, str) and _EQUALS.search(expression):
        left, right = _EQUALS.split(expression, maxsplit=1)
        raise ModelError(
            f"{where}: '{expression}' is an equation; {remedy}: '{left.strip()} - ({right.strip()})'"
        )
