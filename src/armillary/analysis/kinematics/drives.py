"""The drives of a mechanism along a path: driven quantities with their values, and the start of the path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import checked_names, several, table
from armillary.algebra.calculus import Values, evaluator
from armillary.algebra.expression import as_expr
from armillary.algebra.units import is_quantity, magnitude_in_si, parse_unit
from armillary.algebra.walk import symbols
from armillary.analysis.kinematics.mechanism import KinematicQuantity, Kinematics, slopes
from armillary.errors import ArmillaryError, ModelError, UnitsError, shown
from armillary.model.units import SYSTEMS, seconds, text_number
from armillary.results.record import conversion
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.initial import Place, initial_memory
from armillary.text_tables import counted
from armillary.untyped import Given

TIME = "time"


@dataclass(frozen=True, eq=False)
class Drive:
    """Names and values of the driven quantities, one row per position, and the shape of the grid."""

    names: tuple[str, ...]  # without time
    values: np.ndarray
    times: np.ndarray
    timed: bool  # whether time is driven
    shape: tuple[int, ...]
    axes: tuple[str, ...]  # names of all driven quantities, time included: the axes of a grid

    def __len__(self) -> int:
        return len(self.times)

    @property
    def origins(self) -> np.ndarray:
        """For each row, the row from which it is reached; −1 for the first row.

        On a path, this is the previous row. On a grid, it is the neighbour one step back along the last axis
        on which the row is not the first.
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
    """Read the values of driven quantities by name: numbers, or arrays of one length along a path.

    With ``grid``, arrays may differ in length, and each combination of their values is a row. A pair (values,
    units) gives values in other units than the units of the quantity in runs.
    """
    named, time = table(given, what), seconds(time, "time=")
    if not np.isfinite(time):
        raise ArmillaryError(f"time= must be a finite number, not {time}")
    if not named:
        raise ArmillaryError(f"{what} names nothing; give coordinates or outputs with their values")
    arrays = {str(name): _column_values(kinematics, name, values, what) for name, values in named.items()}
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


def _column_values(kinematics: Kinematics, name: object, values: Given, what: str) -> np.ndarray:
    """Return the values of a driven quantity as numbers, in the units of the quantity in runs."""
    units = "s" if name == TIME else kinematics.position(name, what).units
    where = f"{what} '{name}'"
    text = [isinstance(value, str) for value in values] if isinstance(values, list | tuple) else []
    if isinstance(values, tuple) and text == [False, True]:
        return _path_numbers(values[0], where) * conversion(str(name), values[1], units)
    if isinstance(values, str) or any(text):
        listed = [values] if isinstance(values, str) else values
        values = [
            text_number(value, where, units or "1", SYSTEMS["SI"]) if isinstance(value, str) else value
            for value in listed
        ]
    return _path_numbers(values, where, units)


def _path_numbers(values: object, what: str, units: str | None = None) -> np.ndarray:
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


# ------------------------------------------------------------------------------------ start of the path


@dataclass(frozen=True, eq=False)
class PathStart:
    """The position with closed loops from which the first row of a path is reached."""

    place: Place
    values: Values  # values of all symbols at this position, by name
    named: frozenset[str]  # coordinates with a given start value


def start_of(
    model: CompiledModel, initial: Given, parameters: Mapping[str, object] | None, time: float
) -> PathStart:
    """Return the position that the model has with these initial values and closed loops."""
    instance = Instance(model, parameters)
    place = model.place_at_start(instance, initial, time, initial_memory(model.equations, None, time))
    named = frozenset(map(str, initial)) if isinstance(initial, Mapping) else frozenset()
    return PathStart(place, instance.values(place), named)


# Coordinates that are held because nothing drives them.

_ALIKE = 1e-9  # a row depends on others if less than this share of it is orthogonal to them


def freedom(kinematics: Kinematics) -> int:
    """Return the number of degrees of freedom: free speeds minus independent constraints of positions."""
    kept = kinematics.equations.reduction.elimination.kept
    return len(kinematics.u) - sum(row.gap is not None for row in kept)


def held_quantities(
    kinematics: Kinematics,
    driven: Sequence[KinematicQuantity],
    start: PathStart,
    held: Sequence[str] | None,
    *,
    only_named: bool = False,
) -> list[KinematicQuantity]:
    """Return the coordinates to hold at their start values: as many as the driven quantities leave free.

    Coordinates in ``held`` come first, then coordinates with a start value, then the coordinates that driven
    quantities move least. To find these, the matrix [J; C] of derivatives of gaps and of driven quantities is
    extended row by row, each time by the row of the coordinate with the largest part orthogonal to the rows
    before. With ``only_named``, only the coordinates in ``held`` are held.
    """
    k = kinematics
    count = freedom(k) - len(driven)
    wanted = [] if held is None else [str(name) for name in several(held, "held=")]
    if count < 0:
        names = ", ".join(f"'{d.name}'" for d in driven)
        raise ArmillaryError(
            f"{names} are driven, {len(driven)} quantities, but '{k.system.name}' has "
            f"{counted(freedom(k), 'degree')} of freedom; drive fewer of them"
        )
    if len(wanted) > count:
        raise ArmillaryError(
            f"held= names {len(wanted)} coordinates, but the driven quantities leave {count} free; hold fewer"
        )
    for d in driven:
        if not set(symbols(*k.rate([d.value]))) & set(k.u):
            raise ModelError(
                f"'{d.name}' cannot be driven: no free coordinate moves it; prescribed and locked ones are "
                "moved by time alone"
            )
    checked_names(wanted, k.coordinates, "held=: there is no coordinate")
    if not wanted and (only_named or count == 0):
        return []
    rows = _drive_matrix(k, driven)(start)
    fixed, others = rows[: len(rows) - len(k.coordinates)], rows[len(rows) - len(k.coordinates) :]
    free = {q: row for q, row in zip(k.coordinates, others, strict=True) if q not in {d.name for d in driven}}
    basis = _Basis(fixed)
    chosen: list[str] = []
    while len(chosen) < (len(wanted) if only_named else count):
        left = {q: basis.across(row) for q, row in free.items() if q not in chosen}
        preferred = [q for q in [*wanted, *sorted(start.named)] if left.get(q, 0.0) > _ALIKE]
        name = preferred[0] if preferred else max(left, key=lambda q: left[q])
        if left[name] <= _ALIKE:
            break  # a singular start has fewer independent rows than other positions
        basis.add(free[name])
        chosen.append(name)
    if lost := [name for name in wanted if name not in chosen]:
        raise ArmillaryError(
            f"held=: '{lost[0]}' cannot be held while {', '.join(d.name for d in driven)} moves, because the "
            "loops connect them; hold another coordinate"
        )
    return [k.quantities[q] for q in k.coordinates if q in chosen]


class _Matrix:
    """Derivatives of gaps, driven quantities and all coordinates by motions along the speeds.

    The unit of each motion is its size (`Kinematics.sizes`), so that columns can be compared.
    """

    def __init__(self, kinematics: Kinematics, driven: Sequence[KinematicQuantity]) -> None:
        k = kinematics
        gaps = [as_expr(k.plain(c.position)) for c in k.system.constraints.values() if c.position is not None]
        values = [*gaps, *(d.value for d in driven), *(k.quantities[q].value for q in k.coordinates)]
        parts = [(i, j, a) for i, rate in enumerate(k.rate(values)) for j, a in slopes(rate, k.u).items()]
        self.places = [(i, j) for i, j, _ in parts]
        self.shape = (len(values), len(k.u))
        self.evaluate = evaluator([*(a for *_, a in parts), *k.sizes()])

    def __call__(self, start: PathStart) -> np.ndarray:
        numbers = [float(x) for x in self.evaluate(start.values)]
        found = np.zeros(self.shape)
        for place, value in zip(self.places, numbers, strict=False):
            found[place] = value
        result: np.ndarray = found * np.array(numbers[len(self.places) :])
        return result


def _drive_matrix(kinematics: Kinematics, driven: Sequence[KinematicQuantity]) -> _Matrix:
    key = ("held", *(d.name for d in driven))
    if key not in kinematics.mechanisms:
        kinematics.mechanisms[key] = _Matrix(kinematics, driven)
    found = kinematics.mechanisms[key]
    assert isinstance(found, _Matrix)
    return found


class _Basis:
    """An orthonormal basis of rows."""

    def __init__(self, rows: np.ndarray) -> None:
        self._found: list[np.ndarray] = []
        for row in rows:
            self.add(row)

    def _rest(self, row: np.ndarray) -> np.ndarray:
        size = float(np.linalg.norm(row))
        rest = row / size if size > 0.0 else np.zeros_like(row)
        for _ in range(2):
            for b in self._found:
                rest = rest - b * (b @ rest)
        return rest

    def across(self, row: np.ndarray) -> float:
        """Return the share of a row that is orthogonal to the basis."""
        return float(np.linalg.norm(self._rest(row)))

    def add(self, row: np.ndarray) -> None:
        rest = self._rest(row)
        size = float(np.linalg.norm(rest))
        if size > _ALIKE:
            self._found.append(rest / size)
