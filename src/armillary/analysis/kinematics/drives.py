"""The drives of a mechanism along a path: driven quantities with their values, and where it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import table
from armillary.algebra.derivatives.calculus import Values
from armillary.algebra.units.units import is_quantity, magnitude_in_si, parse_unit
from armillary.analysis.kinematics.mechanism.kinematics import Kinematics
from armillary.errors import ArmillaryError, UnitsError, shown
from armillary.model.units import SYSTEMS, seconds, text_number
from armillary.results.record import conversion
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.initial import initial_memory
from armillary.runtime.start.place import Place
from armillary.untyped import Given

TIME = "time"


@dataclass(frozen=True, eq=False)
class Drive:
    """Names and values of what is driven, a row of values per position, and the shape of the grid."""

    names: tuple[str, ...]  # without time
    values: np.ndarray
    times: np.ndarray
    timed: bool
    shape: tuple[int, ...]
    axes: tuple[str, ...]  # names of the grid's axes, or of all that is driven along a path

    def __len__(self) -> int:
        return len(self.times)

    @property
    def origins(self) -> np.ndarray:
        """The row from which each row is reached: its predecessor, in a grid that along the last axis that
        has one; −1 for the first.
        """
        index = np.arange(len(self)).reshape(self.shape)
        found = np.full(self.shape, -1)
        for axis in range(len(self.shape)):
            later, before = np.moveaxis(found, axis, 0), np.moveaxis(index, axis, 0)
            later[1:] = before[:-1]
        return found.reshape(-1)


def read_drive(
    kinematics: Kinematics, given: Mapping[str, object], what: str, time: float | str, *, grid: bool = False
) -> Drive:
    """Values by name: numbers, or arrays of one length along a path; with ``grid`` all combinations.

    A pair (values, units) has other units than the column.
    """
    named, time = table(given, what), seconds(time, "time=")
    if not np.isfinite(time):
        raise ArmillaryError(f"time= must be a finite number, not {time}")
    if not named:
        raise ArmillaryError(f"{what} names nothing; give coordinates or outputs with their values")
    arrays = {str(name): _values(kinematics, name, values, what) for name, values in named.items()}
    if grid:
        shape = tuple(max(a.size, 1) for a in arrays.values())
        mesh = np.meshgrid(*arrays.values(), indexing="ij")
        arrays = {name: m.reshape(-1) for name, m in zip(arrays, mesh, strict=True)}
    else:
        lengths = {name: a.size for name, a in arrays.items() if a.ndim}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"'{name}' {n}" for name, n in lengths.items())
            raise ArmillaryError(
                f"{what} has arrays of different lengths ({listed}); give as many values of each, or "
                "grid=True for all combinations"
            )
        count = next(iter(lengths.values()), 1)
        arrays = {name: np.broadcast_to(a, (count,)) for name, a in arrays.items()}
        shape = (count,)
    names = tuple(name for name in arrays if name != TIME)
    rows = len(next(iter(arrays.values())))
    values = np.column_stack([arrays[name] for name in names]) if names else np.empty((rows, 0))
    times = np.array(arrays.get(TIME, np.full(rows, time)), dtype=float)
    return Drive(names, values, times, TIME in arrays, shape, tuple(arrays))


def _values(kinematics: Kinematics, name: object, values: Given, what: str) -> np.ndarray:
    """Numbers in the units of the column."""
    units = "s" if name == TIME else kinematics.position(name, what).units
    where = f"{what} '{name}'"
    text = [isinstance(value, str) for value in values] if isinstance(values, list | tuple) else []
    if isinstance(values, tuple) and text == [False, True]:
        return _numbers(values[0], where) * conversion(str(name), values[1], units)
    if isinstance(values, str) or any(text):
        listed = [values] if isinstance(values, str) else values
        values = [
            text_number(value, where, units or "1", SYSTEMS["SI"]) if isinstance(value, str) else value
            for value in listed
        ]
    return _numbers(values, where, units)


def _numbers(values: object, what: str, units: str | None = None) -> np.ndarray:
    if units is not None and is_quantity(values):
        values, dimension = magnitude_in_si(values)
        unit = parse_unit(units)
        if dimension is not unit.dimension:
            raise UnitsError(f"{what} is in [{units}], but its values have [{dimension}]")
        values = np.asarray(values) / unit.scale
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArmillaryError(f"{what}: {shown(values)} is neither a number nor an array of them") from None
    if found.ndim > 1 or not found.size:
        raise ArmillaryError(f"{what}: give a number or one row of numbers, not shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArmillaryError(f"{what}: one of the values is not a finite number")
    return found


# ------------------------------------------------------------------------------------ where it starts


@dataclass(frozen=True, eq=False)
class PathStart:
    """The assembled position from which a mechanism is followed."""

    place: Place
    values: Values  # of all symbols there, by name
    named: frozenset[str]


def start_of(
    model: CompiledModel, initial: Given, parameters: Mapping[str, object] | None, time: float
) -> PathStart:
    """The position of the model with initial values, its loops closed."""
    instance = Instance(model, parameters)
    place = model.place_at_start(instance, initial, time, initial_memory(model.equations, None, time))
    named = frozenset(map(str, initial)) if isinstance(initial, Mapping) else frozenset()
    return PathStart(place, instance.values(place), named)
