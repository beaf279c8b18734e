"""What moves a mechanism along a path: driven quantities with their values, and coordinates that are held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armillary.algebra.arguments import several, table
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from armillary.algebra.walk import symbols
from armillary.analysis.kinematics.mechanism import Kinematics, Quantity, slopes
from armillary.columns import counted
from armillary.errors import ArmillaryError, ModelError, nearest, shown
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.initial import initial_memory
from armillary.runtime.start.place import Place

TIME = "time"
_ALIKE = 1e-9  # of a row that others leave: below, it adds nothing to them


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


def read_drive(given: Mapping[str, Any], what: str, time: float, *, grid: bool = False) -> Drive:
    """Values by name: numbers, or arrays of one length along a path; with ``grid`` all combinations."""
    named = table(given, what)
    if not named:
        raise ArmillaryError(f"{what} names nothing; give coordinates or outputs with their values")
    arrays = {str(name): _numbers(values, f"{what} '{name}'") for name, values in named.items()}
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


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArmillaryError(f"{what}: {shown(values)} is neither a number nor an array of them") from None
    if found.ndim > 1 or not found.size:
        raise ArmillaryError(f"{what}: give a number or one row of numbers, not shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArmillaryError(f"{what}: one of the values is not a finite number")
    return found


# ------------------------------------------------------------------------------------ where it starts


@dataclass(frozen=True, eq=False)
class Start:
    """The assembled position from which a mechanism is followed."""

    place: Place
    values: Mapping[Any, Any]  # of all symbols there, by name
    named: frozenset[str]


def start_of(model: CompiledModel, initial: Any, parameters: Mapping[str, Any] | None, time: float) -> Start:
    """The position of the model with initial values, its loops closed."""
    instance = Instance(model, parameters)
    place = model.place_at_start(instance, initial, time, initial_memory(model.equations, None, time))
    named = frozenset(map(str, initial)) if isinstance(initial, Mapping) else frozenset()
    return Start(place, instance.values(place), named)


def freedom(kinematics: Kinematics) -> int:
    """Independent motions of positions: directions less gaps that say something new."""
    kept = kinematics.equations.reduction.elimination.kept
    return len(kinematics.u) - sum(row.gap is not None for row in kept)


def held_quantities(
    kinematics: Kinematics, driven: Sequence[Quantity], start: Start, held: Sequence[str] | None
) -> list[Quantity]:
    """Coordinates that stay where they start because nothing drives them: as many as are free otherwise.

    Named ones come first, then those of the start's values, then those that are least moved by what is
    driven: each adds a row to [J; C; ...] whose part across the others is the largest.
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
            f"held= names {len(wanted)} coordinates, but what is driven leaves {count} free; hold fewer"
        )
    for name in wanted:
        if name not in k.coordinates:
            raise ArmillaryError(f"held=: there is no coordinate '{name}'{nearest(name, k.coordinates)}")
    gaps = [as_expr(k.plain(c.position)) for c in k.system.constraints.values() if c.position is not None]
    fixed = _rows(k, k.rate([*gaps, *(d.value for d in driven)]), start)
    for row, d in zip(fixed[len(gaps) :], driven, strict=True):
        if not np.any(np.abs(row) > 0.0) and not _depends(k, d):
            raise ModelError(
                f"'{d.name}' cannot be driven: no free coordinate moves it; what is prescribed or locked is "
                "moved by time alone"
            )
    candidates = [q for q in k.coordinates if q not in {d.name for d in driven}]
    rows = dict(
        zip(
            candidates,
            _rows(k, k.rate([k.quantities[q].value for q in candidates]), start),
            strict=True,
        )
    )
    basis = _Basis(fixed)
    chosen: list[str] = []
    while len(chosen) < count:
        left = {q: basis.across(rows[q]) for q in candidates if q not in chosen}
        preferred = [q for q in [*wanted, *sorted(start.named)] if left.get(q, 0.0) > _ALIKE]
        name = preferred[0] if preferred else max(left, key=lambda q: left[q])
        if left[name] <= _ALIKE:
            break  # at a singular start fewer directions are seen than elsewhere
        basis.add(rows[name])
        chosen.append(name)
    if lost := [name for name in wanted if name not in chosen]:
        raise ArmillaryError(
            f"held=: '{lost[0]}' cannot be held while {', '.join(d.name for d in driven)} moves, because the "
            "loops connect them; hold another coordinate"
        )
    return [k.quantities[q] for q in k.coordinates if q in chosen]


def _depends(kinematics: Kinematics, d: Quantity) -> bool:
    return bool(set(symbols(*kinematics.rate([d.value]))) & set(kinematics.u))


def _rows(kinematics: Kinematics, rates: Sequence[Any], start: Start) -> np.ndarray:
    """Derivatives of rates by all directions at the start, in terms of sizes."""
    k = kinematics
    parts = [(i, j, a) for i, rate in enumerate(rates) for j, a in slopes(rate, k.u).items()]
    numbers = evaluate_all([*(a for *_, a in parts), *k.sizes()], start.values)
    found = np.zeros((len(rates), len(k.u)))
    for (i, j, _), value in zip(parts, numbers, strict=False):
        found[i, j] = value
    return found * np.array([float(x) for x in numbers[len(parts) :]])


class _Basis:
    """Directions of rows, orthogonal."""

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
        """The share of a row that the others do not hold."""
        return float(np.linalg.norm(self._rest(row)))

    def add(self, row: np.ndarray) -> None:
        rest = self._rest(row)
        size = float(np.linalg.norm(rest))
        if size > _ALIKE:
            self._found.append(rest / size)
