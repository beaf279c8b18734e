"""Numbers of the conditions of an operating point and of their derivatives, from compiled functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.mechanics.constraints.loop_closing import ScatterNumbers
from armillary.runtime.models.programs.functions import ModelFunctions
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.analysis.operating.conditions import Conditions

VALUES, SLOPES = "conditions", "slopes"
_SIGNS = 3  # directions of chance along which conditions are differentiated to find their sizes


@cache
def scatter(reach: float, rows: int, columns: int) -> np.ndarray:
    """Numbers between −reach and reach, the same in every call."""
    found = ScatterNumbers().spread(reach, rows * columns).reshape(rows, columns)
    found.setflags(write=False)
    return found


class Directions(NamedTuple):
    """Directions d that give columns of C: those of direction k are ``columns`` up to ``ends[k]``, and C d
    holds the elements of C up to ``element_ends[k]``, by their rows and their places in C.
    """

    columns: np.ndarray
    ends: np.ndarray
    rows: np.ndarray
    places: np.ndarray
    element_ends: np.ndarray


@dataclass(frozen=True, eq=False)
class ConditionCode:
    """Compiled functions of c, and of the entries of C at ``flat``; where that is None, of C d."""

    functions: ModelFunctions
    pattern: np.ndarray  # where C is not always zero
    flat: np.ndarray | None = None
    _known: dict[bytes, Directions] = field(default_factory=dict)

    @cached_property
    def addresses(self) -> tuple[int, int]:
        """The functions of c and of its derivatives, for compiled loops."""
        return self.functions.address(VALUES), self.functions.address(SLOPES)

    def directions(self, columns: np.ndarray) -> Directions:
        """Directions that give these columns, each that of all columns which share no row."""
        key = columns.tobytes()
        if key not in self._known:
            self._known[key] = _directions(self.pattern, columns.tolist())
        return self._known[key]


def _directions(pattern: np.ndarray, columns: Sequence[int]) -> Directions:
    taken: list[np.ndarray] = []  # rows, by direction
    members: list[list[int]] = []
    for j in columns:
        own = pattern[:, j]
        k = next((k for k, rows in enumerate(taken) if not (rows & own).any()), len(taken))
        if k == len(taken):
            taken.append(own.copy())
            members.append([])
        taken[k] |= own
        members[k].append(j)
    found = [np.nonzero(pattern[:, group]) for group in members]
    places = [
        rows * pattern.shape[1] + np.array(group)[at]
        for group, (rows, at) in zip(members, found, strict=True)
    ]
    return Directions(
        *(
            np.array(x, dtype=np.int64)
            for x in (
                [j for group in members for j in group],
                np.cumsum([len(group) for group in members]),
                np.concatenate([rows for rows, _ in found]),
                np.concatenate(places),
                np.cumsum([len(rows) for rows, _ in found]),
            )
        )
    )


@dataclass(frozen=True, eq=False)
class ConditionValues:
    """The conditions of a model at one time, with one set of parameters."""

    of: Conditions
    code: ConditionCode
    t: float
    constants: np.ndarray
    memory: np.ndarray
    still: bool = False  # whether all speeds are zero

    @property
    def _given(self) -> DataTable:
        return {"memory": self.memory, "constants": self.constants}

    def without_contacts(self) -> ConditionValues:
        """The same with all contacts open."""
        memory = self.memory.copy()
        memory[[c.status for c in self.of.contacts]] = 0.0
        return replace(self, memory=memory)

    def with_contact(self, status: int) -> ConditionValues:
        """The same with one more contact that holds, by the place of its status in the memory."""
        memory = self.memory.copy()
        memory[status] = 1.0
        return replace(self, memory=memory)

    def values(self, x: np.ndarray) -> np.ndarray:
        """c at x = [state, inputs], in the model's units; outputs in their stated units."""
        y = np.concatenate([x, np.zeros(len(x))]) if self.of.by_columns else x
        return self.code.functions(VALUES, self.t, y, **self._given)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """∂c/∂x."""
        if self.of.by_columns:
            d = self.code.directions(np.arange(len(x)))
            along = np.zeros((len(d.ends), len(x)))
            along[np.repeat(np.arange(len(d.ends)), np.diff(d.ends, prepend=0)), d.columns] = 1.0
            owner = np.repeat(np.arange(len(d.ends)), np.diff(d.element_ends, prepend=0))
            found = np.zeros(self.code.pattern.shape)
            found.reshape(-1)[d.places] = self._along(x, along)[owner, d.rows]
            return found
        return self._dense(self.code.functions(SLOPES, self.t, x, **self._given))

    def _along(self, x: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """C d for the rows d of a matrix, at one place or at as many."""
        return self.code.functions.rows(SLOPES, self.t, x, inputs=directions, **self._given)

    def changes(self, xs: np.ndarray, sizes: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """The change of each condition with the columns before ``first``, each by its size, at the rows of
        xs; and the magnitudes of the columns of C from there on. Elements that are not finite are zero.

        Changes are Σ_j |C_ij| s_j; of large systems (Σ_j (C_ij s_j)²)½, from a few directions with signs by
        chance.
        """
        if self.of.by_columns:
            return self._changes_by_chance(xs, sizes, first)
        slopes = _magnitudes(self.slopes(xs))
        by_unknowns = slopes[:, :, :first] * sizes[:first]
        return np.sum(by_unknowns, axis=2), slopes[:, :, first:]

    def slopes(self, xs: np.ndarray) -> np.ndarray:
        """C at the rows of xs, where it is written out."""
        n, given = len(self.of.states), self._given
        if xs.shape[1] > n:
            given["inputs"] = xs[:, n:]
        entries = self.code.functions.rows(SLOPES, self.t, xs[:, :n], **given)
        found = np.zeros((len(xs), *self.code.pattern.shape))
        found.reshape(len(xs), -1)[:, self.code.flat] = entries
        return found

    def _changes_by_chance(
        self, xs: np.ndarray, sizes: np.ndarray, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        count, m = xs.shape
        signs = np.sign(scatter(1.0, _SIGNS, first))
        each = _SIGNS + m - first
        directions = np.zeros((count, each, m))
        directions[:, :_SIGNS, :first] = signs * sizes[:first]
        directions[:, np.arange(_SIGNS, each), np.arange(first, m)] = 1.0
        found = self._along(np.repeat(xs, each, axis=0), directions.reshape(-1, m))
        found = _magnitudes(found).reshape(count, each, -1)
        changes = np.sqrt(np.mean(found[:, :_SIGNS] ** 2, axis=1))
        return changes, found[:, _SIGNS:].transpose(0, 2, 1)

    def _dense(self, entries: np.ndarray) -> np.ndarray:
        found = np.zeros(self.code.pattern.shape)
        found.reshape(-1)[self.code.flat] = entries
        return found


def _magnitudes(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), np.abs(values), 0.0)
