"""Readers of the user's names, numbers, texts and expressions, and of the mass and inertia of bodies.

Texts may call mathematical functions and ``MODEL_FUNCTIONS``.
"""

from __future__ import annotations

import inspect
import keyword
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.arguments import checked_names, item_count, text
from armillary.algebra.deduction import holds_bare_numbers
from armillary.algebra.expression import ZERO, Expr, number, symbol
from armillary.algebra.functions import BY_NAME, RESERVED, with_stated_dimension
from armillary.algebra.node import plain_float
from armillary.algebra.parsing import parse
from armillary.algebra.tables import Piecewise, derivatives_in
from armillary.algebra.triples import SIX, ExprMatrix
from armillary.algebra.units import INERTIA, MASS, ONE, Dimension, is_quantity, magnitude_in_si, parse_unit
from armillary.algebra.vectors import Dyadic, Vector
from armillary.algebra.walk import symbols
from armillary.errors import ExpressionError, ModelError, UnitsError, nearest, shown
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.description import variables
from armillary.model.loads import laws
from armillary.model.verbs import NoForm, quantities_of, verb
from armillary.untyped import AnyFunction, DataMapping, Given

if TYPE_CHECKING:
    from armillary.model.description import Description


Reader = Callable[[Given, Given], Expr]
Maker = Callable[[str, Given, str], Expr]


def read_mass(value: object, body: str, read: Reader, make: Maker) -> Expr:
    """Return the mass; if it is not given, a parameter named after the body."""
    if value is None:
        return make(f"{body}.mass", MASS, f"mass of {body}")
    mass = read(value, MASS)
    known = _numeric_value(mass)
    if known is not None and known < 0:
        raise ModelError(f"body '{body}': its mass {known:g} is negative; a mass is zero or more")
    return mass


def read_inertia(value: Given, body: str, read: Reader, make: Maker, *, check: bool) -> ExprMatrix:
    """Return the inertia matrix about the mass centre, in body axes.

    ``value`` is 0, three moments, six elements or a 3×3 matrix; if it is not given, three moments are
    parameters named after the body.
    """
    if value is None:
        moments = [
            make(f"{body}.I{i}{i}", INERTIA, f"moment of inertia of {body} about its own {a}")
            for i, a in _AXES
        ]
        return _symmetric_matrix([*moments, ZERO, ZERO, ZERO])
    if _is_scalar(value):
        if isinstance(value, int | float) and value == 0:
            return _symmetric_matrix([ZERO] * 6)
        raise ModelError(
            f"body '{body}': inertia={value!r} is not an inertia; give 0, three moments, six elements "
            "(11, 22, 33, 12, 13, 23) or a 3×3"
        )
    entries = list(value)
    if len(entries) == 3 and not any(_is_scalar(e) for e in entries):
        matrix = [[read(e, INERTIA) for e in row] for row in entries]
        if any(len(row) != 3 for row in matrix):
            raise ModelError(
                f"body '{body}': an inertia matrix is 3×3; its rows have {[len(r) for r in matrix]} elements"
            )
        _check_symmetric(matrix, body)
        six = [matrix[i][j] for i, j in SIX]
    elif len(entries) in (3, 6):
        six = [read(e, INERTIA) for e in entries] + [ZERO] * (6 - len(entries))
    else:
        raise ModelError(
            f"body '{body}': an inertia has three moments, six elements (11, 22, 33, 12, 13, 23) or is 3×3; "
            f"this one has {len(entries)} elements"
        )
    if check:
        _check_possible(six, body)
    return _symmetric_matrix(six)


_AXES = ((1, "x"), (2, "y"), (3, "z"))


def _is_scalar(value: object) -> bool:
    return item_count(value) < 0


def _symmetric_matrix(six: list[Expr]) -> ExprMatrix:
    i11, i22, i33, i12, i13, i23 = six
    return ((i11, i12, i13), (i12, i22, i23), (i13, i23, i33))


def _check_symmetric(matrix: list[list[Expr]], body: str) -> None:
    """Raise an error if a matrix is not symmetric; numbers may differ by rounding, as in a rotated tensor."""
    rounding = 1e-12 * max([abs(e.data) for row in matrix for e in row if e.kind == "number"], default=0)
    for i in range(3):
        for j in range(i):
            a, b = matrix[i][j], matrix[j][i]
            if a.kind == b.kind == "number" and abs(a.data - b.data) <= rounding:
                continue
            if a is not b:
                raise ModelError(
                    f"body '{body}': its inertia matrix is not symmetric: "
                    f"element {j + 1}{i + 1} is {matrix[j][i]}, element {i + 1}{j + 1} is {matrix[i][j]}"
                )


def _check_possible(six: list[Expr], body: str) -> None:
    """Raise an error if principal moments are negative or violate the triangle inequality."""
    known = [_numeric_value(e) for e in six]
    if any(v is None for v in known):
        return
    i11, i22, i33, i12, i13, i23 = (float(v) for v in known if v is not None)
    moments = sorted(_principal_values(i11, i22, i33, i12, i13, i23))
    slack = 1e-9 * max(moments[-1], 0.0)
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        shown = ", ".join(f"{m:.6g}" for m in moments)
        raise ModelError(
            f"body '{body}': no body has the principal moments of inertia {shown}: each must be at most the "
            "sum of the other two and none negative; correct it, or pass check_inertia=False to allow it"
        )


def _principal_values(a: float, b: float, c: float, d: float, e: float, f: float) -> list[float]:
    import numpy as np

    return [float(v) for v in np.linalg.eigvalsh([[a, d, e], [d, b, f], [e, f, c]])]


def _numeric_value(value: Expr) -> float | None:
    if value.kind == "number":
        return float(value.data)
    if value.kind == "symbol" and value.data.default is not None:
        found: float | None = value.data.default * (
            parse_unit(value.data.units).scale if value.data.units else 1.0
        )
        return found
    return None


def finite_number(value: object, what: str) -> float:
    """Return a finite plain number; raise an error for NaN, infinity and anything else."""
    found = plain_float(value)
    if found is None:
        raise ModelError(f"{what} is {value!r}; give a number")
    if not math.isfinite(found):
        raise ModelError(f"{what} is {found}; give a finite number")
    return found


def with_dimension(value: float, dimension: Given) -> Expr:
    """Return a number as an expression with a dimension. Zero becomes ZERO, so that its terms vanish."""
    return number(value, dimension) if value else ZERO


_MOST_ARGUMENTS = 255

MODEL_FUNCTIONS: dict[str, tuple[AnyFunction, Given]] = {
    "dot": (vec.dot, 2),
    "cross": (vec.cross, 2),
    "magnitude": (vec.magnitude, 1),
    "direction": (vec.direction, 1),
    "project": (vec.project, 2),
    "angle": (vec.angle, (2, 3)),
    "position": (motion.position, (1, 2)),
    "velocity": (motion.velocity, (1, 2)),
    "acceleration": (motion.acceleration, 1),
    "angular_velocity": (motion.angular_velocity, (1, 2)),
    "angular_acceleration": (motion.angular_acceleration, 1),
    "time_derivative": (motion.time_derivative, 1),
    "contact_force": (laws.contact_force, (3, 5)),
    "friction_force": (laws.friction_force, (4, 6)),
}


def giving_nodes(function: Callable[..., object]) -> AnyFunction:
    """Return a function whose result is converted to an expression if it is a number, such as the dot product
    0 or 1 of two axes of one body.
    """

    def call_with_nodes(*arguments: object) -> Given:
        found = function(*arguments)
        return number(found) if isinstance(found, int | float) else found

    return call_with_nodes


def count_arguments(function: Callable[..., object]) -> Given:
    """Return the number of arguments of a function, or (least, greatest) if the number may vary."""
    known = getattr(function, "arity", None)
    if known is not None:
        return known
    try:
        kinds = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (0, math.inf)
    if any(p.kind is p.VAR_POSITIONAL for p in kinds):
        return (0, math.inf)
    places = [p for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    return len(places) if len(needed) == len(places) else (len(needed), len(places))


def stated_arguments(function: Callable[..., object], arity: object, name: str) -> Given:
    """Return the number of arguments that a user states, else the number in the function's signature."""
    if arity is None:
        return count_arguments(function)
    if isinstance(arity, bool) or not isinstance(arity, int) or not 0 <= arity <= _MOST_ARGUMENTS:
        raise ModelError(f"function '{name}': arity={shown(arity)} is not a number of arguments")
    return arity


def argument_range(function: Callable[..., object]) -> tuple[float, float]:
    """Return the least and the greatest number of arguments of a function."""
    count = count_arguments(function)
    return (count, count) if isinstance(count, int) else count


_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")


def check_new_name(system: Description, name: str, kind: str) -> None:
    """Raise an error if a name is not an identifier, or is reserved or in use."""
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


@verb(NoForm("[parameters] holds all parameters, also parameters from texts"))
def parameter(
    system: Description, name: str, default: float | None = None, *, units: str | None = None, about: str = ""
) -> Expr:
    """Add a parameter: a constant that each run may set. ``default`` is in ``units``, or a Pint quantity."""
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
    """Add a parameter; ``dimension`` is None if none is stated."""
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
    """Add a parameter in the units of the model."""
    return declare_parameter(system, name, dimension, about, units=system.units.unit_text(dimension))


@verb(NoForm("a table is in [tables], a function of expressions in [functions], by its value"))
def function(
    system: Description, name: str, function: Callable[..., object], arity: int | None = None
) -> AnyFunction:
    """Name a function for use in texts; return it unchanged, for use in Python.

    It is a lookup table, a foreign compiled function, or a Python function of expressions. A Python function
    is called with expressions when a text is read, and the expression that it returns becomes part of the
    program.
    """
    check_new_name(system, name, "function")
    if not callable(function):
        raise ModelError(f"function '{name}': {function!r} cannot be called")
    system.functions[name] = (function, stated_arguments(function, arity, name))
    return function


_EQUALS = re.compile(r"(?<![<>=!])=(?!=)")
_PLAIN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


def expression(
    system: Description,
    value: object,
    where: str = "",
    dimension: Dimension | None = None,
    local: Mapping[str, Expr] | None = None,
) -> Expr:
    """Return a scalar expression from a text, a number or an expression, and check its dimension, if given.

    Errors begin with ``where``. ``local`` has further names that a text may use.
    """
    known = len(system.parameters)
    try:
        return _read_scalar(system, value, where, dimension, local or {})
    except BaseException:
        while len(system.parameters) > known:  # remove parameters that the faulty text has declared
            system.parameters.popitem()
        raise


# A second name, for functions with a parameter ``expression``.
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
    return with_dimension(finite_number(plain, where), dimension or ONE)


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


def _slopes_of_tables(system: Description, text: str) -> dict[str, tuple[AnyFunction, Given]]:
    """Return, by name, the derivatives of tables that occur in a text, NAME_dx and NAME_dy."""
    if "_d" not in text:
        return {}

    def table(name: str) -> Piecewise | None:
        found = system.functions.get(name, (None,))[0]
        return found if isinstance(found, Piecewise) else None

    return {name: (made, made.arity) for name, made in derivatives_in(text, table).items()}


def parse_text(
    system: Description, text: str, where: str, local: Mapping[str, Expr], *, checked: bool = True
) -> Given:
    """Return the value of a text: a scalar, a vector, a body or a point.

    Names in ``local`` take precedence over those of the model.
    """
    own = {**MODEL_FUNCTIONS, **quantities_of(system), **_slopes_of_tables(system, text), **system.functions}
    table = {
        **BY_NAME,
        **{name: (giving_nodes(function), count) for name, (function, count) in own.items()},
    }

    def is_known(name: str) -> Given:
        try:
            return local[name] if name in local else lookup(system, name)
        except ModelError as error:  # an ExpressionError gets the column in the text
            raise ExpressionError(str(error)) from None

    try:
        return parse(text, is_known, table, checked=checked)
    except ExpressionError as error:
        raise ExpressionError(
            f"{where}: {error.message}" if where else error.message, error.text, error.column
        ) from None
    except UnitsError as error:
        raise UnitsError(f"{where}: {error}" if where else str(error)) from None
    except ModelError as error:
        raise ModelError(f"{where}: {error}" if where else str(error)) from None


def lookup(system: Description, name: str) -> Given:
    """Return what a name in a text stands for; an unknown name without dots becomes a new parameter."""
    if not _PLAIN.match(name):
        return _find_quoted(system, name)
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
            return _find_definition(system, name)
        if name == "t":
            return system.time
        if name == "pi":
            return number(math.pi)
        if name in ("ground", "world"):
            return system.ground
        owner = name.removesuffix("_mode")  # in older texts the status of the contact "floor" is floor_mode
        touches = owner != name and (owner in system.loads or owner in system.contacts)
        if touches and f"{owner}_status" in system.memories:
            return system.memories[f"{owner}_status"].symbol
        if system.declared_only:
            named = [*system.parameters, *system.bodies, *system.memories, *system.states]
            named += [*system.loads, *system.definitions]
            hint = nearest(name, named) or "; declare it as a parameter ([parameters] of a text model)"
            raise ModelError(f"there is nothing called '{name}'{hint}")
        return declare_parameter(system, name, None, "")
    if name in system.parameters:
        return system.parameters[name]
    body = system.bodies.get(head, system.ground if head in ("ground", "world") else None)
    if body is None:
        raise ModelError(f"there is no body '{head}'{nearest(head, [*system.bodies, 'ground'])}")
    return body.part(tail)


def _find_quoted(system: Description, name: str) -> Given:
    """Return the variable with a name in back quotes, such as the rate A.u1' or the force of a constraint."""
    if name == "mass centre":  # a point about which energy and momentum may be taken
        return name
    known = {s.data.name: s for s in variables(system)}
    [name] = checked_names([name], known, "there is no variable", ModelError)
    return known[name]


@verb(NoForm("[expressions] holds the definitions"))
def define(
    system: Description, name: str, value: object, *, label: str = "", units: str | None = None
) -> None:
    """Name an expression or vector for use in texts; it is read at its first use.

    Text models need this; in Python a variable does the same. With a ``label`` the value appears in the
    equations as an intermediate value of this name. ``units`` are needed for an expression whose numbers have
    units that are not written; they are the units of the whole expression, or "" if unknown.
    """
    check_new_name(system, name, "expression")
    if not isinstance(value, str | Expr | Vector | Dyadic | Body | Point):
        read_number(system, value, f"expression '{name}'", None)
    dimension = parse_unit(units).dimension if units else None
    system.definitions[name] = (value, label, dimension, units is None)


def _find_definition(system: Description, name: str) -> Given:
    definition = system.definitions[name]
    if not isinstance(definition, tuple):
        return definition
    value, label, dimension, checked = definition
    if value is None:
        raise ModelError(f"expression '{name}' refers to itself")
    system.definitions[name] = (None, label, dimension, checked)
    try:
        where = f"expression '{name}'"
        read = value
        if isinstance(value, str):  # with stated units, its numbers have none, so sums cannot be checked
            read = parse_text(system, value, where, {}, checked=checked)
        made = (
            _intermediate(read_expression(system, read, where), label, dimension)
            if label or dimension
            else read
        )
    except BaseException:
        system.definitions[name] = definition
        raise
    system.definitions[name] = made
    return made


def _intermediate(node: Expr, label: str, dimension: Dimension | None) -> Expr:
    if dimension in (None, node.dimension):
        return fn.named(node, label) if label else node
    if label:
        return with_stated_dimension(node, dimension, label)
    return node * number(1, dimension if node.dimension is None else dimension / node.dimension)


def refuse_equation(expression: object, where: str, remedy: str) -> None:
    """Raise an error for a text with an equals sign where an expression that becomes zero is needed."""
    if isinstance(expression, str) and _EQUALS.search(expression):
        left, right = _EQUALS.split(expression, maxsplit=1)
        raise ModelError(
            f"{where}: '{expression}' is an equation; {remedy}: '{left.strip()} - ({right.strip()})'"
        )
