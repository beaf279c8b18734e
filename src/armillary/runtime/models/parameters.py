"""Parameter values for a compiled model: checked, complete, and converted from stated units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import table
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.algebra.node import plain_float
from armillary.algebra.units import Dimension, is_quantity, magnitude_in_si, parse_unit
from armillary.algebra.walk import symbols
from armillary.errors import ParameterError, UnitsError, nearest
from armillary.mechanics.massless import RunMasses
from armillary.model.description import Description
from armillary.model.units import UnitSystem, text_number
from armillary.program.equations import DerivedEquations
from armillary.untyped import DataMapping, DataTable, Given


@dataclass(frozen=True)
class ParameterTable:
    """Names, defaults and factors to the model's units, in the order in which the program reads them."""

    names: tuple[str, ...]
    defaults: tuple[float | None, ...]
    units: tuple[str, ...]
    factors: tuple[float, ...]
    needed: frozenset[str]
    system: UnitSystem
    place: Callable[[str], str]  # returns where a parameter is used, for messages
    masses: RunMasses

    def values(self, given: DataMapping | None) -> dict[str, float]:
        """Return all values in stated units: given ones, else defaults.

        Unknown, missing and impossible values raise errors.
        """
        known = self.check_given(given)
        result = self._default_values | known
        absent = [name for name in self._without_default if name not in known]
        if missing := [name for name in absent if name in self.needed]:
            others = [name for name in self.names if name not in missing]
            # A name with a dot is a mass or inertia that a body lacks, so no other name is proposed for it.
            meant = {name: "" if "." in name else nearest(name, others) for name in missing}
            lines = [f"\n  {name}: {self.place(name)}{meant[name]}" for name in missing]
            raise ParameterError(
                f"no value for parameter{'s' if len(missing) > 1 else ''} {', '.join(missing)}: "
                f"give defaults in the description or parameters={{…}} in the call{''.join(lines)}"
            )
        for name in absent:
            del result[name]
        return result

    def check_given(self, given: DataMapping | None) -> dict[str, float]:
        """Return the given values in stated units; unknown and impossible ones raise errors.

        A value None, as ``model.parameters`` has it for a parameter without default, is left out.
        """
        named, number = table(given, "parameters=", ParameterError), self._number
        for name, value in named.items():
            if name not in number:
                raise ParameterError(f"there is no parameter '{name}'{nearest(name, self.names)}")
            default = self.defaults[number[name]]
            if value is None and default is not None:
                raise ParameterError(
                    f"parameter '{name}' needs a number, not None; leave it out for its default, {default:g}"
                )
        return {
            name: float(value)
            if isinstance(value, float) and math.isfinite(value)
            else self._plain(number[name], value)
            for name, value in named.items()
            if value is not None
        }

    def columns(self, given: DataMapping | None) -> tuple[DataTable, dict[str, np.ndarray]]:
        """Return the single values as given, and arrays (of numbers or texts) as numbers in stated units."""
        named = table(given, "parameters=", ParameterError)
        arrays = {}
        for name, value in named.items():
            if isinstance(value, str) or np.ndim(value) != 1:
                continue
            if not len(value):
                raise ParameterError(f"parameter '{name}' has no values; give a number, or one for each row")
            column = np.empty(0, dtype=object) if is_quantity(value) else np.asarray(value)
            if column.dtype.kind not in "fiu" or not np.isfinite(column).all():
                column = np.array([self.check_given({name: item})[name] for item in value])
            arrays[name] = column.astype(float)
        return {name: value for name, value in named.items() if name not in arrays}, arrays

    @cached_property
    def _number(self) -> dict[str, int]:
        """The index of each parameter in the order of the program."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _default_values(self) -> dict[str, float]:
        """Defaults in stated units; NaN for a parameter without default."""
        known = (
            math.nan if value is None else self._plain(i, value) for i, value in enumerate(self.defaults)
        )
        return dict(zip(self.names, known, strict=True))

    @cached_property
    def _without_default(self) -> tuple[str, ...]:
        return tuple(name for name, value in zip(self.names, self.defaults, strict=True) if value is None)

    def _plain(self, i: int, value: Given) -> float:
        where = f"parameter '{self.names[i]}'"
        if isinstance(value, str):
            return text_number(value, where, self.units[i], self.system, None)
        if not is_quantity(value):
            return plain_number(value, where, self.system, None)
        known = parse_unit(self.units[i]).dimension if self.units[i] else None
        return plain_number(value, where, self.system, known) / self.factors[i]

    def inside(self, values: Mapping[str, float]) -> np.ndarray:
        """Return values in the model's own units, for precompute; values that are not used may be absent."""
        return np.array(
            [values.get(name, 0.0) * f for name, f in zip(self.names, self.factors, strict=True)], dtype=float
        )

    def inside_columns(self, given: DataMapping | None) -> DataTable:
        """Return all values in the model's own units, in the order of the names; arrays stay arrays."""
        single, many = self.columns(given)
        first = single | {name: float(column[0]) for name, column in many.items()}
        found: DataTable = dict(zip(self.names, self.inside(self.values(first)).tolist(), strict=True))
        lengths = {len(column) for column in many.values()}
        if len(lengths) > 1:
            raise ParameterError(
                f"parameters have {sorted(lengths)} values; give equally many of each, or one"
            )
        return found | {name: column * self.factors[self._number[name]] for name, column in many.items()}


def plain_number(value: Given, where: str, system: UnitSystem, dimension: Dimension | None) -> float:
    """Return a value as a finite float; convert a quantity to the units of the system.

    A quantity must have the ``dimension``, if one is given.
    """
    if is_quantity(value):
        size, own = magnitude_in_si(value)
        if dimension is not None and own is not dimension:
            raise UnitsError(f"{where} has dimension [{dimension}], but {value} has [{own}]")
        value = size / system.scale(own)
    number = plain_float(value)
    if number is None:
        raise ParameterError(f"{where} needs a number, not {value!r}")
    if not math.isfinite(number):
        raise ParameterError(f"{where} is {number}; give a finite number")
    return number


def model_number(
    value: Given, where: str, units: str, factor: float, system: UnitSystem, dimension: Dimension | None
) -> float:
    """Return a value in the model's own units.

    The value is a quantity, or a number or text in stated ``units``, which ``factor`` converts.
    """
    if isinstance(value, str):
        return text_number(value, where, units, system, dimension) * factor
    number = plain_number(value, where, system, dimension)
    return number if is_quantity(value) else number * factor


def parameter_table(equations: DerivedEquations) -> ParameterTable:
    """Return the table of a system's parameters."""
    system, program = equations.system, equations.program
    used = {s.data.name for s in symbols(*program.precompute.results)}
    names, defaults, units, factors = [], [], [], []
    for name, node in system.parameters.items():
        stated = node.data.units
        names.append(name)
        defaults.append(node.data.default)
        units.append(equations.parameter_units[name])
        factors.append(system.units.factor(parse_unit(stated)) if stated else 1.0)
    return ParameterTable(
        tuple(names),
        tuple(defaults),
        tuple(units),
        tuple(factors),
        frozenset(used & set(names)),
        system.units,
        lambda name: _first_use(system, name),
        RunMasses(system),
    )


def _first_use(system: Description, name: str) -> str:
    """Return where a parameter is first used, with the user's names."""
    node = system.parameters[name]
    for body in system.bodies.values():
        own = [body.mass, *body.com_coordinates, *body.at, *(e for row in body.inertia for e in row)]
        if node in symbols(*own):
            left_out = {f"{body.name}.mass": "mass"} | {f"{body.name}.I{i}{i}": "inertia" for i in (1, 2, 3)}
            why = f", described without {left_out[name]}=" if name in left_out else ""
            return f"in body '{body.name}'{why}"
    for load in system.loads.values():
        if node in symbols(load.magnitude):
            return f"in {load.kind} '{load.name}'"
    for output in system.outputs.values():
        if node in symbols(output.expression):
            return f"in output '{output.name}'"
    return "in the model"


def physical_quantities(system: Description) -> Iterator[tuple[str, dict[str, Expr]]]:
    """Yield quantities of bodies and contacts that cannot be negative, by name.

    These are mass and moments of inertia, coefficients of restitution and friction, and radii of contacts.
    """
    for body in system.bodies.values():
        moments = {f"moment of inertia about {axis}": body.inertia[i][i] for i, axis in enumerate("xyz")}
        yield f"body '{body.name}'", {"mass": body.mass, **moments}
    for contact in system.contacts.values():
        kind, what = ("brake", "capacity") if contact.gap is None else ("contact", "friction")
        e, sliding, held = contact.restitution, contact.friction, contact.held
        found: dict[str, Expr] = {}
        if e is not None:
            found |= {"restitution": e, "restitution must be at most 1; 1 - restitution": 1 - e}
        if sliding is not None and held is not None:
            apart = f"static {what} must be at least the sliding {what}; static - sliding {what}"
            found |= {what: sliding, apart: held - sliding}
        if contact.radius is not None:
            found["radius"] = contact.radius
        yield f"{kind} '{contact.name}'", {name: x for name, x in found.items() if x.constant}


def check_physical(system: Description, table: ParameterTable, values: Mapping[str, float]) -> None:
    """Raise an error for parameters that are physically impossible: a negative mass or moment of inertia,
    impossible coefficients of a contact, or a joint that moves no mass.
    """
    inside = dict(zip(table.names, table.inside(values), strict=True))
    for where, quantities in physical_quantities(system):
        for value, what in zip(evaluate_all(quantities.values(), inside), quantities, strict=True):
            if value < 0:
                raise ParameterError(negative_quantity(f"{where}: its {what}", value, quantities[what]))
    for speed, value in zip(system.armatures, evaluate_all(system.armatures.values(), inside), strict=True):
        if value < 0:
            raise ParameterError(
                negative_quantity(f"the armature of '{speed}'", value, system.armatures[speed])
            )
    if why := table.masses.why_singular({name: float(inside[name]) for name in values}):
        raise ParameterError(with_these(why))


def negative_quantity(words: str, value: float, expression: Expr) -> str:
    """Return the message about a quantity that parameters make negative; exports have the same words."""
    return f"{name_parameters(words, expression)} is {value:g} with these parameters; it must be 0 or more"


def name_parameters(words: str, expression: Expr) -> str:
    """Return ``words``, which name a quantity, followed by the parameters on which it depends."""
    names = sorted(s.data.name for s in symbols(expression) if s.data.role == "parameter")
    return f"{words} (by {' and '.join(names)})" if names else words


def with_these(why: str) -> str:
    """Return the message about parameters with which no run can be made."""
    return f"with these parameters, {why}"
