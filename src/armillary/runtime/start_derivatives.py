"""Derivatives of the place where a run starts, by parameters and initial values.

What the user gives moves with itself alone. What the start finds moves along: Euler parameters that are made
unit, coordinates and speeds that close loops (by the implicit function theorem, with the same speeds moving
as in assembly.py), joints that mass centres are placed by, memories that begin at an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from armillary.algebra.calculus import evaluator
from armillary.algebra.expression import Expr, as_expr, symbol
from armillary.algebra.tangents import tangents
from armillary.algebra.walk import Undimensioned, symbols
from armillary.errors import ParameterError
from armillary.mechanics.assembly import Figures, Geometry
from armillary.program.directions import Direction
from armillary.program.equations import Equations
from armillary.runtime.assembly import movable
from armillary.runtime.initial import given_values, initial_values
from armillary.runtime.instance import Instance
from armillary.runtime.place import Place

Initial = Mapping[str, float] | Sequence[float] | None
_MOVED = 1e-9
_RANK = 1e-9


class StartDerivatives:
    """Derivatives of starts of one system, a row per parameter or initial value, each times its size."""

    def __init__(self, equations: Equations, directions: Sequence[Direction]) -> None:
        self.equations, self.directions = equations, directions
        self.coordinates = list(equations.coordinates)
        self.speeds = [u.data.name for u in equations.system.speeds]
        self.memories = list(equations.system.memories)

    def of(self, instance: Instance, place: Place, initial: Initial, given: np.ndarray) -> Derived:
        """Those at a place that was found from initial values and given memory."""
        return Derived(self, instance, place, initial, given)

    def seeded(self, places: Sequence[str]) -> np.ndarray:
        """What moves by itself: a row per direction, a column per name."""
        moved = np.zeros((len(self.directions), len(places)))
        for row, direction in zip(moved, self.directions, strict=True):
            if direction.role != "parameter" and direction.name in places:
                row[places.index(direction.name)] = direction.size
        return moved

    def moved(self, q: np.ndarray, u: np.ndarray, memory: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """How parameters, coordinates, speeds and memories move, by name."""
        sizes = np.diag([d.size for d in self.directions])
        found = {d.name: row for d, row in zip(self.directions, sizes, strict=True) if d.role == "parameter"}
        found |= dict(zip([*self.coordinates, *self.speeds], np.hstack([q, u]).T, strict=True))
        return found | ({} if memory is None else dict(zip(self.memories, memory.T, strict=True)))

    # ------------------------------------------------------------ expressions

    @cached_property
    def geometry(self) -> Along:
        return Along(self.equations.setting.geometry)

    @cached_property
    def _plain(self) -> Undimensioned:
        """The reader of the description: what is prescribed or locked as what it follows from."""
        plain, known = Undimensioned(), {}
        for p in self.equations.setting.given.values():
            known[p.speed] = plain(p.value)
            if p.coordinate is not None and p.position is not None:
                known[p.coordinate] = plain(p.position)
        return plain.knowing(known)

    @cached_property
    def centres(self) -> list[tuple[list[str], Along]]:
        """Names that starts of mass centres set, with what they set them to."""
        found = []
        for start in self.equations.system.mass_centre_starts():
            names = [s.data.name for s in (*start.coordinates, *start.speeds)]
            values = [self._plain(as_expr(x)) for x in (*start.places, *start.rates)]
            found.append((names, Along(values)))
        return found

    @cached_property
    def started(self) -> dict[int, Along]:
        """Memories that begin at an expression, by place."""
        memories = enumerate(self.equations.system.memories.values())
        return {i: Along([self._plain(m.start)]) for i, m in memories if m.start is not None}


class Along:
    """Derivatives of expressions by all that they hold, to be asked for numbers."""

    def __init__(self, expressions: Sequence[Expr]) -> None:
        held = [s for s in symbols(*expressions) if s.data.role != "time"]
        rates = {s: symbol(f"d({s.data.name})", owner=self) for s in held}
        self._evaluate = evaluator(tangents(expressions, rates))

    def __call__(self, values: Mapping[str, float], moved: Mapping[str, np.ndarray]) -> np.ndarray:
        """A row per expression, a column per direction, where symbols move as told and others not at all."""
        shape = np.shape(next(iter(moved.values())))
        rates = {f"d({name})": moved.get(name, np.zeros(shape)) for name in values}
        with np.errstate(all="ignore"):
            found = self._evaluate({**values, **rates})
        return np.array([np.broadcast_to(x, shape) for x in found])


class Derived:
    """The derivatives at one start: of coordinates, of all speeds and of memory."""

    def __init__(
        self, starts: StartDerivatives, instance: Instance, place: Place, initial: Initial, given: np.ndarray
    ) -> None:
        self._starts, self._instance, self._place = starts, instance, place
        self._values = instance.values(place)
        self.q, self.u = starts.seeded(starts.coordinates), starts.seeded(starts.speeds)
        self.memory = starts.seeded(starts.memories)
        self._unit_quaternions(initial)
        if starts.equations.setting.rows:
            self._close(initial)
        if initial is None or isinstance(initial, Mapping):
            self._place_centres()
        self._start_memory(given)

    def _moved(self) -> dict[str, np.ndarray]:
        return self._starts.moved(self.q, self.u, self.memory)

    def _unit_quaternions(self, initial: Initial) -> None:
        """e = v/|v| with v as it was given: de = (dv − e (e·dv)) / |v|."""
        values, _ = given_values(self._starts.equations, initial)
        for start in self._starts.equations.program.quaternions:
            four = slice(start, start + 4)
            v = np.array([values[name] for name in self._starts.coordinates[four]])
            length = float(np.linalg.norm(v))
            e, dv = v / length, self.q[:, four]
            self.q[:, four] = (dv - np.outer(dv @ e, e)) / length

    # ------------------------------------------------------------ closed loops

    def _close(self, initial: Initial) -> None:
        setting, place = self._starts.equations.setting, self._place
        geometry = self._instance.geometry(place.memory)
        layout, here = geometry.layout, geometry.at(place.t, place.q)
        q, u, named = initial_values(self._starts.equations, initial)
        kept = [i for i, name in enumerate(self._starts.coordinates) if name in named]
        moving = _moving(
            geometry, movable(geometry, setting, np.zeros(layout.speeds, bool), positions=True), q, place.q
        )
        rates = self._rates(geometry)
        gaps = list(layout.gaps)
        matrix = np.vstack([here.jacobian[gaps], here.rates[kept]])[:, moving]
        right = [np.concatenate([-r.gap, np.zeros(len(kept))]) for r in rates]
        steps = self._solved(matrix, right, "coordinates", moving)
        self.q += steps @ here.rates[:, moving].T
        self._on_sphere()
        held = np.array([name in named for name in self._starts.speeds])
        options = movable(geometry, setting, held)
        unchanged = [m for m in options if not np.any(np.abs(place.u - u)[~m] > _MOVED)]
        moving = (unchanged or options)[0]
        right = [
            -(here.jacobian @ du + r.jacobian @ place.u + r.known)
            for r, du in zip(self._rates(geometry), self.u, strict=True)
        ]
        self.u[:, moving] += self._solved(here.jacobian[:, moving], right, "speeds", moving)

    def _on_sphere(self) -> None:
        """Without what leads off unit Euler parameters, which rounding may leave."""
        for start in self._starts.equations.program.quaternions:
            four = slice(start, start + 4)
            e = self._place.q[four]
            self.q[:, four] -= np.outer(self.q[:, four] @ e, e)

    def _rates(self, geometry: Geometry) -> list[Figures]:
        """How the figures of the constraints move, direction by direction."""
        numbers = self._starts.geometry(self._values, self._moved())
        return [geometry.figures(column) for column in numbers.T]

    def _solved(
        self, matrix: np.ndarray, right: list[np.ndarray], what: str, moving: np.ndarray
    ) -> np.ndarray:
        """A row of motions per direction; an error where the constraints leave them open."""
        if not matrix.shape[1]:
            return np.zeros((len(right), 0))
        if np.linalg.matrix_rank(matrix, _RANK * np.max(np.abs(matrix), initial=1.0)) < matrix.shape[1]:
            free = [name for name, may in zip(self._starts.speeds, moving, strict=True) if may]
            system = self._starts.equations.system.name
            raise ParameterError(
                f"the initial {what} do not tell in what way the loops of '{system}' "
                f"are closed (any of the joints of {', '.join(free)} may move), so the start has no "
                "derivatives; name in initial= as many as the system has degrees of freedom"
            )
        return np.linalg.lstsq(matrix, np.array(right).T, rcond=None)[0].T

    # ------------------------------------------------------------ what follows from all else

    def _place_centres(self) -> None:
        for names, expressions in self._starts.centres:
            for name, moved in zip(names, expressions(self._values, self._moved()), strict=True):
                if name in self._starts.coordinates:
                    self.q[:, self._starts.coordinates.index(name)] = moved
                else:
                    self.u[:, self._starts.speeds.index(name)] = moved

    def _start_memory(self, given: np.ndarray) -> None:
        memories = list(self._starts.equations.system.memories.values())
        for i, expression in self._starts.started.items():
            if given[i] == memories[i].initial:
                self.memory[:, i] = expression(self._values, self._moved())[0]


def _moving(
    geometry: Geometry, options: list[np.ndarray], before: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """The first of several sets of speeds that explains how coordinates moved in assembly."""
    changed = np.abs(after - before) > _MOVED
    for moving in options:
        within = np.zeros(len(after), dtype=bool)
        within[[i for i, j in geometry.layout.rates if moving[j]]] = True
        if not np.any(changed & ~within):
            return moving
    return options[-1]
