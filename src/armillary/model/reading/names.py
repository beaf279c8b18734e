"""Names of a description: parameters and functions, and whether a new name is free."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from armillary.algebra.arguments import text
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.functions import RESERVED
from armillary.algebra.units import Dimension, is_quantity, magnitude_in_si, parse_unit
from armillary.errors import ModelError, UnitsError
from armillary.model.reading.inertia_input import finite_number
from armillary.model.reading.text_functions import MODEL_FUNCTIONS, stated_arguments
from armillary.model.recording.verbs import NoForm, verb
from armillary.untyped import AnyFunction, DataMapping

if TYPE_CHECKING:
    from armillary.model.description import Description

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")


def check_new_name(system: Description, name: str, kind: str) -> None:
    """An error for a name that is not a name, reserved or taken."""
    if not isinstance(name, str) or not _NAME.match(name):
        near = re.sub(r"\W+", "_", name.strip(), flags=re.ASCII).strip("_") if isinstance(name, str) else ""
        hint = f"; write '{near}'" if _NAME.match(near) else ""
        raise ModelError(
            f"{kind} name {name!r} is not a name: letters, digits and underscores, a digit not first{hint}"
        )
    taken: dict[str, DataMapping] = {
        "parameter": system.parameters,
        "body": system.bodies,
        "memory": system.memories,
        "state": system.states,
        "load": system.loads,
        "function": system.functions,
        "named expression": system.definitions,
    }
    for what, table in taken.items():
        if name in table:
            late = what == "parameter" and kind in ("parameter", "memory", "state")
            hint = "declare it before the first text that uses it, or " if late else ""
            raise ModelError(f"{kind} '{name}': the name is taken by a {what} already; {hint}choose another")
    if name in {"t", "pi", "ground", *RESERVED, *MODEL_FUNCTIONS} or keyword.iskeyword(name):
        raise ModelError(f"{kind} '{name}': the name is reserved; choose another")
    if name in system.attractors:
        raise ModelError(f"{kind} '{name}': an attractor of that name exists already; choose another name")


@verb(NoForm("[parameters] holds all parameters, those that texts made too"))
def parameter(
    system: Description, name: str, default: float | None = None, *, units: str | None = None, about: str = ""
) -> Expr:
    """A constant that each run may set. ``default`` is in ``units`` (a Pint quantity brings its own)."""
    check_new_name(system, name, "parameter")
    text(about, f"the description of parameter '{name}'", ModelError)
    dimension = parse_unit(units).dimension if units is not None else None
    where = f"the default of parameter '{name}'"
    if is_quantity(default):
        value, own = magnitude_in_si(default)
        if dimension not in (None, own):
            raise UnitsError(f"{where} has dimension [{own}], but its units {units} have [{dimension}]")
        dimension, units = own, system.units.unit_text(own)
        default = value / system.units.scale(own)
    if default is not None:
        default = finite_number(default, where)
    return declare_parameter(system, name, dimension, about, default, units)


def declare_parameter(
    system: Description,
    name: str,
    dimension: Dimension | None,
    about: str,
    default: float | None = None,
    units: str | None = None,
) -> Expr:
    """A new parameter; its dimension is None if none is stated."""
    node = symbol(
        name,
        "parameter",
        dimension=dimension,
        owner=system.identity,
        units=units,
        about=about,
        default=default,
        undeclared=dimension is None,
    )
    system.parameters[name] = node
    return node


def make_parameter(system: Description, name: str, dimension: Dimension, about: str) -> Expr:
    """A new parameter in the units of the model."""
    return declare_parameter(system, name, dimension, about, units=system.units.unit_text(dimension))


@verb(NoForm("a table is in [tables], a function of expressions in [functions], by its value"))
def function(
    system: Description, name: str, function: Callable[..., object], arity: int | None = None
) -> AnyFunction:
    """A function for use in text expressions: a Python function of expressions (traced, so that it
    becomes part of the program), a lookup table or a foreign compiled function. Returned as it is, for
    use in Python."""
    check_new_name(system, name, "function")
    if not callable(function):
        raise ModelError(f"function '{name}': {function!r} cannot be called")
    system.functions[name] = (function, stated_arguments(function, arity, name))
    return function
