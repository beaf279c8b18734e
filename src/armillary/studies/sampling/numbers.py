"""Numbers that a distribution is given: plain, as text, or with units; all brought to one unit."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from armillary.algebra.nodes.arithmetic import plain_float
from armillary.algebra.units.units import is_quantity, magnitude_in_si, parse_unit, si_text
from armillary.errors import ArmillaryError, ParameterError, UnitsError, shortened
from armillary.model.units import about_value, arithmetic, number_and_unit
from armillary.untyped import DataTable, Given


def in_one_unit(given: Mapping[str, object], units: str, where: str) -> tuple[DataTable, str]:
    """Floats and arrays of floats by name, and the unit they are in.

    A number may be plain, a text ("pi/2", "55 mile/hour") or a Pint quantity. Either all bring units or none
    does; plain ones are in `units`, or where that is empty in those of what they are given for.
    """
    read = {name: _read(value, f"{where}: {name}") for name, value in given.items()}
    own = [unit for _, unit in read.values() if unit is not None]
    if not own:
        return {name: number for name, (number, _) in read.items()}, units
    plain = [name for name, (_, unit) in read.items() if unit is None]
    if plain and not units:
        raise UnitsError(f"{where}: {', '.join(plain)} has no units and the rest has; give all or none")
    target = units or own[0]
    return {
        name: number * factor(unit, target, f"{where}: {name}") if unit is not None else number
        for name, (number, unit) in read.items()
    }, target


def factor(source: str, target: str, where: str) -> float:
    """The factor from one unit to another."""
    one, other = parse_unit(source), parse_unit(target)
    if one.dimension is not other.dimension:
        raise UnitsError(f"{where} is given in {source}, but is in {target or 'no units'}")
    return 1.0 if source == target else one.scale / other.scale


def _read(value: object, where: str) -> tuple[Given, str | None]:
    """A float or an array of floats, and the unit if there is one."""
    number: Given
    unit: str | None
    if is_quantity(value):
        number, unit = _quantity(value, where)
    elif isinstance(value, str):
        number, unit = _text(value, where)
    elif isinstance(value, list | tuple):
        return _list(value, where)
    elif isinstance(value, np.ndarray):
        number, unit = value, None
    else:
        number, unit = plain_float(value), None
    if isinstance(number, np.ndarray) and number.ndim:
        return _array(number, where), unit
    plain = None if isinstance(value, bool) else plain_float(number)
    if plain is None:
        raise ParameterError(f"{where} needs a number, not {value!r}")
    if math.isnan(plain):
        raise ParameterError(f"{where} is not a number (NaN)")
    return plain, unit


def _quantity(value: Given, where: str) -> tuple[Given, str]:
    if type(value)(0.0, value.units).to_base_units().magnitude != 0:
        raise UnitsError(f"{where} is in {value.units}, whose zero is not zero: give it in kelvin")
    number, dimension = magnitude_in_si(value)
    return number, si_text(dimension)


def _text(value: str, where: str) -> tuple[float, str | None]:
    number, unit = number_and_unit(value)
    try:
        parse_unit(unit)
        return arithmetic(number, unit), unit or None
    except ArmillaryError as error:
        raise ParameterError(about_value(where, error)) from None


def _list(values: list[Given] | tuple[object, ...], where: str) -> tuple[np.ndarray, str | None]:
    if all(type(value) is float or type(value) is int for value in values):  # a million of them are quick
        return _array(np.asarray(values), where), None
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        raise ParameterError(f"{where} needs a plain list of numbers, not lists in a list")
    numbers, unit = in_one_unit({f"number {i}": value for i, value in enumerate(values, 1)}, "", where)
    return _array(np.asarray(list(numbers.values())), where), unit or None


def _array(values: np.ndarray, where: str) -> np.ndarray:
    if values.ndim != 1:
        raise ParameterError(f"{where} needs a plain list of numbers, not an array of shape {values.shape}")
    try:
        numbers = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(shortened(f"{where} needs numbers, not {values!r}")) from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ParameterError(f"{where}: number {bad[0] + 1} is {numbers[bad[0]]}; give finite numbers")
    numbers.flags.writeable = False
    return numbers
