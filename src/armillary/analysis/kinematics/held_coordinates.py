"""Coordinates that are held because nothing drives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armillary.algebra.arguments import checked_names, several
from armillary.algebra.calculus import evaluator
from armillary.algebra.expression import as_expr
from armillary.algebra.walk import symbols
from armillary.analysis.kinematics.drives import PathStart
from armillary.analysis.kinematics.mechanism.kinematics import KinematicQuantity, Kinematics, slopes
from armillary.columns import counted
from armillary.errors import ArmillaryError, ModelError

_ALIKE = 1e-9  # of a row that others leave: below, it adds nothing to them


def freedom(kinematics: Kinematics) -> int:
    """Independent motions of positions: directions less independent gaps."""
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
    """Coordinates that stay where they start because nothing drives them: as many as are free otherwise.

    Named ones come first, then those of the start's values, then those that are least moved by what is
    driven: each adds a row to [J; C; ...] whose part across the others is the largest. With ``only_named``
    the others find their own positions.
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
    for d in driven:
        if not set(symbols(*k.rate([d.value]))) & set(k.u):
            raise ModelError(
                f"'{d.name}' cannot be driven: no free coordinate moves it; what is prescribed or locked is "
                "moved by time alone"
            )
    checked_names(wanted, k.coordinates, "held=: there is no coordinate")
    if not wanted and (only_named or count == 0):
        return []
    rows = _matrix(k, driven)(start)
    fixed, others = rows[: len(rows) - len(k.coordinates)], rows[len(rows) - len(k.coordinates) :]
    free = {q: row for q, row in zip(k.coordinates, others, strict=True) if q not in {d.name for d in driven}}
    basis = _Basis(fixed)
    chosen: list[str] = []
    while len(chosen) < (len(wanted) if only_named else count):
        left = {q: basis.across(row) for q, row in free.items() if q not in chosen}
        preferred = [q for q in [*wanted, *sorted(start.named)] if left.get(q, 0.0) > _ALIKE]
        name = preferred[0] if preferred else max(left, key=lambda q: left[q])
        if left[name] <= _ALIKE:
            break  # at a singular start fewer directions are seen than elsewhere
        basis.add(free[name])
        chosen.append(name)
    if lost := [name for name in wanted if name not in chosen]:
        raise ArmillaryError(
            f"held=: '{lost[0]}' cannot be held while {', '.join(d.name for d in driven)} moves, because the "
            "loops connect them; hold another coordinate"
        )
    return [k.quantities[q] for q in k.coordinates if q in chosen]


class _Matrix:
    """Derivatives of gaps, driven quantities and all coordinates by the directions, in terms of sizes."""

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


def _matrix(kinematics: Kinematics, driven: Sequence[KinematicQuantity]) -> _Matrix:
    key = ("held", *(d.name for d in driven))
    if key not in kinematics.mechanisms:
        kinematics.mechanisms[key] = _Matrix(kinematics, driven)
    found = kinematics.mechanisms[key]
    assert isinstance(found, _Matrix)
    return found


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
