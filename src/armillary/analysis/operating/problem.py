"""The equations of one operating point: which states and inputs are unknown, and which conditions hold.

Unknowns are the states that are neither fixed nor cyclic, and the inputs that are looked for; locked and
prescribed coordinates stay where runs start them, unless ``free=`` names them. Conditions are
the rates of all states but the cyclic ones (of these only where they are given), the gaps of loops, the
lengths of Euler parameters and the prescribed outputs, except conditions that no unknown changes; and the
conditions of closed contacts (`conditions.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from armillary.analysis.operating.conditions import (
    CLOSED,
    Conditions,
    ConditionValues,
    HeldRows,
    conditions,
    held_rows,
    scatter,
)
from armillary.analysis.operating.newton import RootProblem
from armillary.analysis.operating.request import Request
from armillary.columns import counted, listed
from armillary.errors import ArmillaryError

_NO_CHANGE = 1e-9  # of what an input changes a condition by: what is below is rounding
_NEARER = np.geomspace(1e-13, 1.0, 14)  # distances, in sizes, over which slopes are compared
_BENDS = 10.0  # distances over which slopes stay alike, in a size
_NO_PART = 1e-3  # of the largest slope of a condition: others do not count
_HELD_SHARE = 1e-3
_SAMPLES, _NEAR = 6, 0.3  # places near a start, and how far they lie, in sizes, to find sizes of conditions


@dataclass(frozen=True, eq=False)
class Problem:
    """Unknown columns and conditions by row, over the compiled conditions of a model."""

    request: Request
    conditions: Conditions
    values: ConditionValues
    cyclic: frozenset[int]
    unknown: np.ndarray  # columns
    rows: np.ndarray
    wanted: np.ndarray  # of all rows
    undecided: tuple[str, ...] = ()  # states that no condition depends on, besides cyclic coordinates
    constant: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))  # rows no unknown changes
    held: HeldRows = field(default_factory=HeldRows)  # of closed contacts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The unknowns."""
        return tuple([self.conditions.names[j] for j in self.unknown.tolist()])

    @property
    def labels(self) -> tuple[str, ...]:
        """The conditions."""
        return tuple(self.conditions.labels[i] for i in self.rows)

    def shown(self, row: int, value: float) -> str:
        """A value of a condition with its units."""
        factor, units = self.conditions.row_units[row]
        return f"{value / factor:.6g}{f' {units}' if units else ''}"

    def remedy(self, row: int) -> str:
        """The remedy for a condition that cannot be met."""
        if row >= len(self.conditions.states):
            return "free more states, or look for inputs=[…] that change it"
        name = self.conditions.states[row]
        rates = "" if self.request.at_rest else f"give rates={{'{name}': …}} (None for any), or "
        return f"{rates}look for inputs=[…] that change it"

    def equations(self, x: np.ndarray, *, idle: bool = False) -> RootProblem:
        """The conditions as functions of the unknowns, the other columns as in x."""
        rows, unknown = self.rows, self.unknown
        sizes, weights = self.sizes(x, idle=idle)
        low, high = self._bounds
        return RootProblem(
            self.values, x, rows, unknown, self.wanted[rows], sizes[unknown], weights[rows], low, high,
            self.conditions.angles[unknown],
        )  # fmt: skip

    @cached_property
    def _bounds(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        if not self.request.bounds:
            return None, None
        none = (-np.inf, np.inf)
        pairs = np.array([self.request.bounds.get(name, none) for name in self.names]).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def sizes(self, x: np.ndarray, *, idle: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes of all columns, and one over the sizes of all rows.

        angle                        a radian
        other coordinate or speed    the size of its kind (``Conditions.kind_sizes``) or its start if larger;
                                     less in models so small that their equations change within it (``_bend``)
        condition                    its change by these sizes, the median of a few places near the start
        user's state, input          the change that moves a condition by its size

        An input without effect is an error, unless ``idle``.
        """
        n = self.conditions.speeds.stop
        sizes = np.where(self.conditions.angles, 1.0, np.maximum(self.conditions.kind_sizes, np.abs(x)))
        moved = np.sort(self.unknown)
        # Speeds of a branch may be far from zero, where their equations bend without being small.
        lengths = moved[(moved < self.conditions.speeds.start) & ~self.conditions.angles[moved]]
        if len(lengths) and not self.conditions.by_columns:
            sizes[lengths] *= self._bend(x, sizes, lengths)
        places = np.tile(x, (_SAMPLES + 1, 1))
        places[1:, moved] += sizes[moved] * scatter(_NEAR, _SAMPLES, len(moved))
        changes, slopes = self.values.changes(places, sizes, n)
        rows = np.sort(changes, axis=0)[len(changes) // 2]  # near singular places some are far too large
        rows = np.where(rows > 0, rows, np.max(changes, axis=0))
        if self.held:
            rows = self._loaded_sizes(x, sizes, rows)
        for j in range(n, len(x)):
            effect = np.max(slopes[:, :, j - n], axis=0)
            own = effect * abs(x[j])  # its size where the states change a condition by rounding alone
            rows = np.where(rows < _NO_CHANGE * own, own, rows)
            if not idle and j >= len(self.conditions.states) and not effect[self.rows].any():
                raise _idle_input(self, self.conditions.names[j])
            with np.errstate(divide="ignore", invalid="ignore"):
                enough = np.where((effect > 0) & (rows > 0), rows / effect, np.inf)
            least = float(np.min(enough, initial=np.inf))
            sizes[j] = max(abs(x[j]), least if np.isfinite(least) else 1.0)
            rows = np.maximum(rows, np.where(rows > 0, 0.0, effect * sizes[j]))
        return sizes, 1.0 / np.where(rows > 0, rows, 1.0)

    def _loaded_sizes(self, x: np.ndarray, sizes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Sizes of conditions where contacts hold: of rates, which are rounding where they are held, those
        without contacts and with one of them at a time, at least _HELD_SHARE of the largest in sizes.
        """
        own = np.arange(self.conditions.speeds.start, self.conditions.speeds.stop)
        free = self.values.without_contacts()
        sources = [free, *(free.with_contact(c.status) for c in self.conditions.contacts)]
        found = np.abs([values.values(x)[own] for values in sources])
        found = np.max(np.where(np.isfinite(found), found, 0.0), axis=0)
        found = np.max([found, rows[own], free.changes(x[None, :], sizes, own[-1] + 1)[0][0, own]], axis=0)
        rows = rows.copy()
        rows[own] = np.maximum(found, _HELD_SHARE * sizes[own] * np.max(found / sizes[own], initial=0.0))
        return rows

    def _bend(self, x: np.ndarray, sizes: np.ndarray, moved: np.ndarray) -> float:
        """The part of the sizes of coordinates over which the slopes of the conditions stay alike, 1 at most.

        Slopes are compared at places nearer and nearer to x, on both sides of it: one side may be beyond a
        kink, such as a stop that is just not touched.
        """
        chance = scatter(0.5, 1, len(moved))[0]
        aside = chance + np.copysign(0.5, chance)  # a half to one
        places = np.tile(x, (2 * len(_NEARER) + 1, 1))
        for side, first in ((1.0, 1), (-1.0, 1 + len(_NEARER))):
            places[first : first + len(_NEARER), moved] += side * np.outer(_NEARER, aside * sizes[moved])
        slopes = self.values.slopes(places)[:, self.rows][:, :, moved] * sizes[moved]
        here, there = slopes[0], slopes[1:]
        with np.errstate(invalid="ignore"):
            larger = np.maximum(np.abs(here), np.abs(there))
            most = np.max(larger, axis=2, keepdims=True)
            alike = (np.abs(there - here) <= 0.5 * larger) | (larger <= _NO_PART * most)
        within = np.all(alike, axis=(1, 2)).reshape(2, -1)
        reach = [_NEARER[np.logical_and.accumulate(side)] for side in within]
        return min(1.0, _BENDS * max(float(np.max(side, initial=0.0)) for side in reach) or 1.0)


def problem(request: Request, start: np.ndarray) -> Problem:
    """The equations that a request means; ``start`` has values for what stays fixed."""
    found = conditions(request.model, tuple(request.outputs), tuple(request.inputs))
    n = len(found.states)
    place = {name: i for i, name in enumerate(found.states)}
    shown = range(found.shown.start, found.shown.stop)
    still = request.at_rest and found.at_rest
    for name in found.states[found.speeds] if still else ():
        if request.fixed.get(name):
            raise ArmillaryError(f"at rest all speeds are zero, but fixed= gives '{name}' a value; use trim")
    moving = found.coordinates if still else 0  # rates of coordinates are zero at rest, whatever they are
    given = {place[name] for name, rate in request.rates.items() if rate is not None}
    dropped = {place[name] for name, rate in request.rates.items() if rate is None}
    rates = given | (set(range(moving, n)) - dropped if request.at_rest else set())
    touching = _held_rows(request, found, {*shown, *rates})
    held = found.cyclic({*shown, *rates, *touching.positions})
    unknown = _unknown(request, found, held, still)
    rows = sorted(rates if request.at_rest else {i for i in range(n) if i not in held} - dropped | given)
    rows += range(n, n + len(found.gaps))
    lengths = zip(
        found.equations.targets.quaternions, range(n + len(found.gaps), found.closed.stop), strict=True
    )
    rows += [row for first, row in lengths if first not in held]
    rows += [*touching.positions, *(() if still else touching.velocities)]
    rows += shown
    wanted = np.zeros(len(found.labels))
    for name, rate in request.rates.items():
        wanted[place[name]] = 0.0 if rate is None else rate
    wanted[found.shown] = list(request.outputs.values())
    values = found.instance(request.t, request.parameters, request.memory, still)
    places = [row for c in found.contacts for row in c.place]
    if places:
        wanted[places] = values.values(start)[places]
    made = Problem(
        request, found, values, held, np.array(unknown, dtype=int), np.array(sorted(rows), dtype=int), wanted,
        held=touching,
    )  # fmt: skip
    made = _without_idle(made)
    return _check_counts(_without_constant(made, start))


def _held_rows(request: Request, found: Conditions, conditions: set[int]) -> HeldRows:
    """Return the conditions of closed contacts; in steady motion, slip places only without cyclic states."""
    if not found.contacts:
        return HeldRows()
    gaps = {c.gap for c in found.contacts if c.gap is not None and request.memory[c.status] in CLOSED}
    moving = frozenset() if request.at_rest else found.cyclic(conditions | gaps)
    return held_rows(found.contacts, request.memory, found.depends, moving)


def _unknown(request: Request, found: Conditions, held: frozenset[int], still: bool) -> list[int]:
    """Columns of the unknowns."""
    n, speeds = len(found.states), range(found.speeds.start, found.speeds.stop)
    for name in request.free or ():
        i = found.states.index(name)
        if i in held:
            raise ArmillaryError(
                f"'{name}' is cyclic: no rate, gap or output that is requested depends on it, so it cannot "
                "be found; leave it out of free=, or give its value with fixed="
            )
    chosen = [
        i
        for i, name in enumerate(found.states)
        if i not in held
        and name not in request.fixed
        and (i not in found.held if request.free is None else name in request.free)
        and not (still and i in speeds)
    ]
    return [*chosen, *range(n, len(found.names))]


def _without_idle(made: Problem) -> Problem:
    """The problem without unknown states that no condition contains; such an input is an error."""
    acts = made.conditions.depends[made.rows].any(axis=0)[made.unknown]
    if acts.all():
        return made
    idle = [made.conditions.names[j] for j in made.unknown[~acts]]
    for name in idle:
        if name in made.request.inputs:
            raise _idle_input(made, name)
    return replace(made, unknown=made.unknown[acts], undecided=tuple(idle))


def _idle_input(made: Problem, name: str) -> ArmillaryError:
    return ArmillaryError(
        f"input '{name}' acts on none of the conditions of this operating point of "
        f"'{made.conditions.equations.system.name}'; leave it out of inputs="
    )


def _without_constant(made: Problem, start: np.ndarray) -> Problem:
    """The problem without conditions that no unknown changes, which must hold already."""
    depends = made.conditions.depends[made.rows][:, made.unknown].any(axis=1)
    if depends.all():
        return made
    here = made.values.values(start)
    for i in made.rows[~depends]:
        off = here[i] - made.wanted[i]
        if not abs(off) <= 1e-9 * (1.0 + abs(made.wanted[i])):
            value, want = made.shown(i, here[i]), made.shown(i, made.wanted[i])
            raise ArmillaryError(
                f"'{made.conditions.equations.system.name}' has no such operating point: "
                f"{made.conditions.labels[i]} is {value}, not {want}, whatever the unknowns are "
                f"({listed(made.names)}); {made.remedy(i)}"
            )
    return replace(made, rows=made.rows[depends], constant=made.rows[~depends])


def _check_counts(made: Problem) -> Problem:
    """The problem, if there are enough conditions for its unknowns."""
    request, n = made.request, len(made.conditions.states)
    states = {*range(n)} - made.cyclic - made.conditions.held - {j for j in made.unknown.tolist() if j < n}
    decided = [j for j in states if made.conditions.names[j] not in made.undecided]
    if request.at_rest and made.conditions.at_rest:
        speeds = range(made.conditions.speeds.start, made.conditions.speeds.stop)
        decided = [j for j in decided if j not in speeds]
    # Without inputs, what the conditions leave open is a symmetry, and the solution nearest to the start is
    # taken.
    more = min(len(made.unknown) - len(made.rows), len(request.inputs) - len(decided) - len(request.outputs))
    if more > 0:
        raise ArmillaryError(
            f"this operating point of '{made.conditions.equations.system.name}' has "
            f"{counted(len(made.unknown), 'unknown')} ({listed(made.names)}) and only "
            f"{counted(len(made.rows), 'condition')} ({listed(made.labels)}): give {more} more, by fixed=, "
            "rates= or outputs=, or look for fewer inputs"
        )
    return made
