"""Parts that all blocks share: coefficients with their dimensions, states, and names for outputs."""

from __future__ import annotations

from collections.abc import Callable

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import named
from armillary.algebra.intermediate import measured
from armillary.algebra.units import Dimension, parse_unit
from armillary.errors import ModelError, shown
from armillary.model.description import Description
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.inertia_input import finite_number
from armillary.model.reading.names import check_new_name
from armillary.model.signals.states import rate, state


def dimension_of(units: str | None, otherwise: Dimension | None) -> Dimension | None:
    """The dimension of units, where any are stated."""
    return otherwise if units is None else parse_unit(units).dimension


def quotient(a: Dimension | None, b: Dimension | None) -> Dimension | None:
    """The dimension of a / b; None where either is not known."""
    return None if a is None or b is None else a / b


def units_text(system: Description, dimension: Dimension | None) -> str | None:
    """The model's own units of a dimension; None where that is not known."""
    if dimension is None:
        return None
    return system.units.unit_text(dimension) or "1"


def coefficient(system: Description, value: object, where: str, dimension: Dimension | None) -> Expr:
    """An expression; a plain number has the dimension that is expected, or none that is known."""
    if dimension is None and isinstance(value, int | float) and not isinstance(value, bool):
        return as_expr(finite_number(value, where))
    return read_expression(system, value, where, dimension)


def expressions_of(system: Description, values: object, where: str) -> list[Expr]:
    """A list of expressions."""
    if not isinstance(values, list | tuple):
        raise ModelError(f"{where}: {shown(values)} is not a list of expressions such as ['b.q1', 'b.u1']")
    return [read_expression(system, value, where) for value in values]


def positive(system: Description, value: object, where: str, dimension: Dimension | None) -> Expr:
    """A coefficient that must be positive, where it is a number."""
    node = coefficient(system, value, where, dimension)
    if node.kind == "number" and not node.data > 0:
        raise ModelError(f"{where}: {float(node.data):g} is not positive")
    return node


def block_state(
    system: Description,
    name: str,
    value: Callable[[Expr], Expr],
    initial: float,
    units: str | None,
    about: str,
) -> Expr:
    """A state whose rate is a function of it."""
    node = state(system, name, initial=initial, units=units, about=about)
    rate(system, node, value(node))
    return node


def block_output(system: Description, name: str, value: Expr, dimension: Dimension | None) -> Expr:
    """An expression of a known dimension that texts call by a name, kept whole in the equations."""
    check_new_name(system, name, "block")
    made: Expr = named(value, name)
    if dimension is not None and value.dimension is not dimension:
        made = measured(value, dimension, name)
    system.definitions[name] = made
    return made
