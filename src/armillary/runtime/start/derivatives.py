"""Derivatives of a run's start by parameters and initial values.

A value that the user gives depends only on itself. Values that the start computes depend on other values:
normalised Euler parameters, coordinates and speeds that close loops (by the implicit function theorem, with
the speeds that assembly.py lets move), joints that place mass centres, and memories that begin with the value
of an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from armillary.algebra.calculus import NumericValue, Values, evaluator, tangents
from armillary.algebra.expression import Expr, as_expr, symbol
from armillary.algebra.walk import Undimensioned, symbols
from armillary.errors import ParameterError
from armillary.mechanics.constraints.loop_closing import Geometry, GeometryLayout, GeometryValues
from armillary.mechanics.constraints.loop_motion import movable_speeds
from armillary.model.space.orbit import mass_centre_starts
from armillary.program.equations import DerivedEquations
from armillary.program.sensitivities import Direction
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.initial import Place, given_values, initial_values
from armillary.settings import Initial

_MOVED = 1e-9  # least change of a value that counts as a correction by the start
_RANK = 1e-9  # relative singular value that counts as zero
_MISFIT = 1e-7  # relative residual that is allowed


class StartDerivatives:
    """Derivatives of a system's starts by parameters and initial values: one row for each, multiplied by the
    size of that parameter or value.
    """

    def __init__(self, equations: DerivedEquations, directions: Sequence[Direction]) -> None:
        self.equations, self.directions = equations, directions
        self.coordinates = list(equations.coordinates)
        self.speeds = [u.data.name for u in equations.system.speeds]
        self.states = list(equations.states)
        self.memories = list(equations.system.memories)
        self._rows = {d.name: i for i, d in enumerate(directions) if d.role != "parameter"}

    def at_start(
        self, instance: Instance, place: Place, initial: Initial, given: np.ndarray
    ) -> DerivativesOfStart:
        """Return the derivatives at a place that was computed from initial values and given memory."""
        return DerivativesOfStart(self, instance, place, initial, given)

    def seed(self, places: Sequence[str]) -> np.ndarray:
        """Return derivatives of named values that nothing computes: a row per direction, a column per name.

        A value that is varied itself has the derivative 1, all others 0.
        """
        moved = np.zeros((len(self.directions), len(places)))
        for column, name in enumerate(places):
            if name in self._rows:
                moved[self._rows[name], column] = 1.0  # the size of an initial value
        return moved

    def by_name(
        self, values: Mapping[str, float], q: np.ndarray, u: np.ndarray, *others: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return the derivatives of parameters, coordinates and speeds by name.

        ``values`` are the values of the parameters; ``others`` the derivatives of states and of memories.
        """
        sizes = np.diag(np.array(self._sizes(values), dtype=float))
        found = {d.name: row for d, row in zip(self.directions, sizes, strict=True) if d.role == "parameter"}
        found |= dict(zip([*self.coordinates, *self.speeds], np.hstack([q, u]).T, strict=True))
        names = (self.states, self.memories)
        for these, columns in zip(names, others, strict=False):
            found |= dict(zip(these, columns.T, strict=True))
        return found

    # ------------------------------------------------------------ expressions

    @cached_property
    def _sizes(self) -> Callable[[Values], Sequence[NumericValue]]:
        return evaluator([d.size for d in self.directions])

    @cached_property
    def geometry(self) -> ExpressionDerivatives:
        return ExpressionDerivatives(self.equations.reduction.geometry)

    @cached_property
    def _plain(self) -> Undimensioned:
        return self.equations.reduction.given_converter()

    @cached_property
    def centres(self) -> list[tuple[list[str], ExpressionDerivatives]]:
        """Names of the coordinates and speeds that place mass centres at the start, with derivatives of their
        values.
        """
        found = []
        for start in mass_centre_starts(self.equations.system):
            names = [s.data.name for s in (*start.coordinates, *start.speeds)]
            values = [self._plain(as_expr(x)) for x in (*start.places, *start.rates)]
            found.append((names, ExpressionDerivatives(values)))
        return found

    @cached_property
    def memory_starts(self) -> dict[int, ExpressionDerivatives]:
        """Derivatives of memories that begin with the value of an expression, by index."""
        memories = enumerate(self.equations.system.memories.values())
        return {i: ExpressionDerivatives([self._plain(m.start)]) for i, m in memories if m.start is not None}


class ExpressionDerivatives:
    """Directional derivatives of expressions, as functions of numbers."""

    def __init__(self, expressions: Sequence[Expr]) -> None:
        held = [s for s in symbols(*expressions) if s.data.role != "time"]
        owner = object()
        rates = {s: symbol(f"d({s.data.name})", owner=owner) for s in held}
        self._evaluate = evaluator(tangents(expressions, rates))

    def __call__(self, values: Mapping[str, float], moved: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return a row per expression, a column per direction; symbols not in ``moved`` are constant."""
        shape = np.shape(next(iter(moved.values())))
        rates = {f"d({name})": moved.get(name, np.zeros(shape)) for name in values}
        with np.errstate(all="ignore"):
            found = self._evaluate({**values, **rates})
        return np.array([np.broadcast_to(x, shape) for x in found])


class DerivativesOfStart:
    """The derivatives at one start: of coordinates, of all speeds, of states and of memory."""

    def __init__(
        self, starts: StartDerivatives, instance: Instance, place: Place, initial: Initial, given: np.ndarray
    ) -> None:
        self._starts, self._instance, self._place = starts, instance, place
        self.values = instance.values(place)
        self.q, self.u = starts.seed(starts.coordinates), starts.seed(starts.speeds)
        self.states, self.memory = starts.seed(starts.states), starts.seed(starts.memories)
        self._unit_quaternions(initial)
        if starts.equations.reduction.rows:
            self._close(initial)
        if initial is None or isinstance(initial, Mapping):
            self._place_centres()
        self._start_memory(given)

    def _move(self) -> dict[str, np.ndarray]:
        return self._starts.by_name(self.values, self.q, self.u, self.states, self.memory)

    def _unit_quaternions(self, initial: Initial) -> None:
        """Correct derivatives of Euler parameters e = v/|v|, where v is given: de = (dv − e (e·dv)) / |v|."""
        values, _ = given_values(self._starts.equations, initial)
        for start in self._starts.equations.program.quaternions:
            four = slice(start, start + 4)
            v = np.array([values[name] for name in self._starts.coordinates[four]])
            length = float(np.linalg.norm(v))
            e, dv = v / length, self.q[:, four]
            self.q[:, four] = (dv - np.outer(dv @ e, e)) / length

    # ------------------------------------------------------------ closed loops

    def _close(self, initial: Initial) -> None:
        """Correct the derivatives of coordinates, then of speeds, so that the loops remain closed."""
        equations, place = self._starts.equations, self._place
        geometry = self._instance.geometry(place.memory)
        here = geometry.at(place.t, place.q)
        q, u, named = initial_values(equations, initial)
        self._close_positions(geometry, here, np.abs(place.q - q) > _MOVED, named)
        self._on_sphere()
        held = np.array([name in named for name in self._starts.speeds])
        changed = np.abs(place.u - u) > _MOVED
        right = [
            -(here.jacobian @ du + r.jacobian @ place.u + r.known)
            for r, du in zip(self._rates(geometry), self.u, strict=True)
        ]
        options = [
            m for m in movable_speeds(geometry.layout, equations.reduction, held) if not np.any(changed & ~m)
        ]
        moving, steps = self._choose([(m, here.jacobian, right) for m in options], "speeds")
        self.u[:, moving] += steps

    def _close_positions(
        self, geometry: Geometry, here: GeometryValues, changed: np.ndarray, named: set[str]
    ) -> None:
        """Correct the derivatives of coordinates so that the loops remain closed. Only the coordinates that
        assembly may have moved get corrections; named values keep their derivatives. If more values are named
        than the loops leave free, named dependent coordinates are only first guesses and are corrected, too.
        """
        reduction, names = self._starts.equations.reduction, self._starts.coordinates
        varied = {d.name for d in self._starts.directions}
        guessed = {q.data.name for q in reduction.corrections} - varied
        wanted = self.q.copy()
        self._on_sphere()  # afterwards, named values are brought back to ``wanted``
        gaps, rates = list(geometry.layout.gaps), self._rates(geometry)
        seeded = np.any(wanted != 0, axis=0)
        cases = []
        for known in (named, named - guessed):
            kept = [i for i, name in enumerate(names) if name in known]
            matrix = np.vstack([here.jacobian[gaps], here.rates[kept]])
            back = (wanted - self.q)[:, kept]
            right = [np.concatenate([-r.gap, b]) for r, b in zip(rates, back, strict=True)]
            free = np.zeros(geometry.layout.speeds, dtype=bool)
            for moving in movable_speeds(geometry.layout, reduction, free, positions=True):
                reached = np.zeros(len(names), dtype=bool)
                reached[[i for i, j in geometry.layout.rates if moving[j]]] = True
                if not np.any(changed & ~reached):
                    cases.append(
                        (_free_turned_joints(geometry.layout, moving, changed, seeded), matrix, right)
                    )
        moving, steps = self._choose(cases, "coordinates")
        along = here.rates[:, moving]
        self.q += steps @ along.T

    def _on_sphere(self) -> None:
        """Remove changes of the length of Euler parameters, which rounding may leave."""
        for start in self._starts.equations.program.quaternions:
            four = slice(start, start + 4)
            e = self._place.q[four]
            outwards = self.q[:, four] @ e
            self.q[:, four] -= np.outer(outwards, e)

    def _rates(self, geometry: Geometry) -> list[GeometryValues]:
        """Return derivatives of the constraints' numbers (gaps, J, known parts), one set per direction."""
        numbers = self._starts.geometry(self.values, self._move())
        return [geometry.layout.figures(column) for column in numbers.T]

    def _choose(
        self, cases: Sequence[tuple[np.ndarray, np.ndarray, list[np.ndarray]]], what: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the solution of the first case whose equations determine the motions of its speeds.

        The result is the flags of the speeds that may move, and a row of motions per direction.
        """
        system, problem = self._starts.equations.system.name, ""
        for moving, whole, right in cases:
            matrix = whole[:, moving]
            wanted = np.array(right).T
            rank = (
                np.linalg.matrix_rank(matrix, _RANK * np.max(np.abs(matrix), initial=1.0))
                if matrix.size
                else 0
            )
            if rank < matrix.shape[1]:
                free = [name for name, may in zip(self._starts.speeds, moving, strict=True) if may]
                problem = problem or (
                    f"the initial {what} do not determine how the loops of '{system}' are closed "
                    f"(any of the joints of {', '.join(free)} may move), so the start has no derivatives; "
                    "name as many values in initial= as the system has degrees of freedom, or values that "
                    "close the loops"
                )
                continue
            steps = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
            size = 1 + np.max(np.abs(wanted), initial=0.0)  # ``wanted`` is empty if no position is held
            if np.max(np.abs(matrix @ steps - wanted), initial=0.0) <= _MISFIT * size:
                return moving, steps.T
        raise ParameterError(
            problem
            or f"the named initial {what} of '{system}' cannot be varied independently, because its loops do "
            "not leave all of them free; name fewer, in to= and in initial="
        )

    # ------------------------------------------------------------ values that depend on the others

    def _place_centres(self) -> None:
        """Set the derivatives of coordinates and speeds by which the start places mass centres."""
        for names, expressions in self._starts.centres:
            for name, moved in zip(names, expressions(self.values, self._move()), strict=True):
                if name in self._starts.coordinates:
                    self.q[:, self._starts.coordinates.index(name)] = moved
                else:
                    self.u[:, self._starts.speeds.index(name)] = moved

    def _start_memory(self, given: np.ndarray) -> None:
        """Set the derivatives of memories that begin with the value of an expression."""
        memories = list(self._starts.equations.system.memories.values())
        for i, expression in self._starts.memory_starts.items():
            if given[i] == memories[i].initial:
                self.memory[:, i] = expression(self.values, self._move())[0]


def _free_turned_joints(
    layout: GeometryLayout, moving: np.ndarray, changed: np.ndarray, varied: np.ndarray
) -> np.ndarray:
    """Return the flags of the speeds that may move, extended in two cases to all speeds of a joint.

    Both cases concern a joint with q̇ = N(q) u that assembly has turned. If it turned the joint about several
    axes in many small steps, the final angles depend on the order of the steps. If some of the joint's
    coordinates are varied, turning about a single axis changes the other coordinates too. Derivatives then
    exist only if the equations determine the joint's angles with all its speeds free.
    """
    matrix = np.zeros((layout.coordinates, layout.speeds), dtype=bool)
    matrix[tuple(np.array(layout.rates, dtype=int).reshape(-1, 2).T)] = True
    found = moving.copy()
    for row in matrix:
        joint = matrix[matrix[:, row].any(axis=1)].any(axis=0)  # speeds of the same coordinates
        places = matrix[:, joint].any(axis=1)
        if np.any(changed & places) and (np.sum(moving & joint) > 1 or np.any(varied & places)):
            found |= joint
    return found
