"""The pieces of the equations of motion as compiled functions of time, coordinates and speeds.

Each function is compiled when it is first called. Coordinates, speeds and states are those of Kane's
equations, in the model's own units, whatever the states of the formalism: one place each, or rows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from armillary.algebra.arguments import reals, table
from armillary.algebra.expression import Expr
from armillary.algebra.vectors.named_arrays import ExpressionMatrix, ExpressionVector
from armillary.algebra.walk import transform
from armillary.errors import ArmillaryError
from armillary.model.bodies.body import Body, Point
from armillary.model.quantities import energy, mass_properties
from armillary.program.equations import DerivedEquations
from armillary.program.functions import shared_part
from armillary.program.pieces.pieces import MassProduct, Pieces, kane_states
from armillary.runtime.models.functions import ModelFunctions
from armillary.runtime.start.initial import initial_states

# What a description gives as expressions: energies, and vectors along the ground's axes.
QUANTITIES: dict[str, Callable[..., Any]] = {
    "kinetic_energy": energy.kinetic_energy,
    "potential_energy": energy.potential_energy,
    "strain_energy": energy.strain_energy,
    "total_energy": energy.total_energy,
    "momentum": energy.momentum,
    "angular_momentum": energy.angular_momentum,
    "mass_centre": mass_properties.mass_centre,
}


# Places of one call from which on the mass matrix of a large tree is written out. Of 64 links that takes 2 s
# more at the first call than columns of inverse dynamics, and then 0.05 instead of 0.4 ms a place.
_WRITTEN_OUT = 5000


class PiecePlace(NamedTuple):
    """Where pieces are evaluated: one place, or arrays with a leading axis."""

    t: Any
    q: Any
    u: Any = None  # at rest where left out
    parameters: Mapping[str, Any] | None = None
    memory: Any = None
    states: Any = None  # of the user's own; their initial values where left out


class _PieceNumbers(NamedTuple):
    """A place in numbers; so many ``places`` with a leading axis, or one if that is 0."""

    t: np.ndarray
    state: np.ndarray
    memory: np.ndarray | None
    parameters: Mapping[str, Any]
    places: int


class PieceFunctions:
    """Functions of the pieces of one model's equations, compiled one by one."""

    def __init__(self, equations: DerivedEquations, pieces: Pieces) -> None:
        self.pieces = pieces
        self._base = kane_states(equations, pieces)
        self._functions: dict[Any, tuple[ModelFunctions, tuple[int, ...]]] = {}
        self._own_states = initial_states(self._base, None)
        self._without_memory = np.empty(0) if not self._base.targets.memory else None

    def matrix(self, name: str, at: PiecePlace) -> np.ndarray:
        """A piece that is a vector or matrix, by its name among those of the equations."""
        large = self.pieces.mass_product if name == "mass_matrix" else None
        if large is not None and self._read(at).places < _WRITTEN_OUT:
            return self._mass_by_columns(large, at)
        return self._values(name, lambda: _flat(getattr(self.pieces, name)), at)

    def jacobian(self, of: Any, axes: Any, at: PiecePlace) -> np.ndarray:
        """The Jacobian of a point or body."""
        key = _identity(of), _identity(axes)
        return self._values(key, lambda: _flat(self.pieces.jacobian(of, axes)), at)

    def loads(self, at: PiecePlace) -> dict[str, np.ndarray]:
        """Generalised forces of each load by name."""
        forces = self.pieces.load_forces
        shape = (len(forces), len(self.pieces.speeds))
        rows = self._values("loads", lambda: ([e for v in forces.values() for e in v], shape), at)
        return {name: rows[..., i, :] for i, name in enumerate(forces)}

    def quantity(self, name: str, at: PiecePlace) -> Any:
        """An energy, or a vector along the ground's axes, of ``QUANTITIES``."""

        def made() -> tuple[list[Expr], tuple[int, ...]]:
            parts = self.pieces.quantity(QUANTITIES[name](self.pieces.system))
            return parts, (3,) if len(parts) == 3 else ()

        found = self._values(name, made, at)
        return found if found.ndim else float(found)

    def _values(
        self, key: Any, made: Callable[[], tuple[list[Expr], tuple[int, ...]]], at: PiecePlace
    ) -> np.ndarray:
        if key not in self._functions:
            expressions, shape = made()
            self._functions[key] = ModelFunctions(self._base, {"piece": expressions}), shape
        compiled, shape = self._functions[key]
        place = self._read(at)
        times, state, given, memory = place.t, place.state, place.parameters, place.memory
        if place.places:
            found = compiled.rows("piece", times, state, given, memory=memory)
        else:
            found = compiled("piece", float(times), state, given, memory=memory)
        return found.reshape((*found.shape[:-1], *shape))

    def _mass_by_columns(self, large: MassProduct, at: PiecePlace) -> np.ndarray:
        if large not in self._functions:
            parts = shared_part(large.product, large.x, self.pieces.system.identity)
            column = transform(large.product, {x: s for s, x in parts.items()}.get)
            functions = {"column": column, "shared": tuple(parts.values())}
            made = ModelFunctions(self._base, functions, (*large.x, *parts), search=False)
            self._functions[large] = made, ()
        compiled, _ = self._functions[large]
        place = self._read(at)
        constants = compiled.constants(place.parameters)
        found = compiled.columns("column", place.t, place.state, place.memory, constants, "shared")
        lower = np.tril_indices(len(large.x), -1)
        found[:, lower[0], lower[1]] = found[:, lower[1], lower[0]]  # the same to rounding
        return found if place.places else found[0]

    def _read(self, at: PiecePlace) -> _PieceNumbers:
        state, memory = self._state(at), self._memory(at)
        times = reals(at.t, "t")
        given = {} if at.parameters is None else table(at.parameters, "parameters")
        rows = [x for x in (state, memory) if x is not None and x.ndim > 1]
        rows += [x for x in (times, *given.values()) if np.ndim(x)]
        return _PieceNumbers(times, state, memory, given, max(map(len, rows), default=0))

    def _memory(self, at: PiecePlace) -> np.ndarray | None:
        if at.memory is None:
            return self._without_memory
        return _rows(at.memory, len(self._base.targets.memory), "memories")

    def _state(self, at: PiecePlace) -> np.ndarray:
        targets = self._base.targets
        q = _rows(at.q, len(targets.coordinates), "coordinates")
        u = np.zeros(len(targets.speeds)) if at.u is None else _rows(at.u, len(targets.speeds), "speeds")
        z = self._own_states if at.states is None else _rows(at.states, len(targets.states), "states")
        parts = [q, u, z]
        counts = {len(part) for part in parts if part.ndim == 2}
        if not counts:
            return np.concatenate(parts)
        if len(counts) > 1:
            raise ArmillaryError(f"arrays of {sorted(counts)} rows were given together; give each as many")
        n = counts.pop()
        return np.concatenate([np.broadcast_to(x, (n, x.shape[-1])) for x in parts], axis=-1)


def _identity(thing: Any) -> Any:
    """The identity of a point or body: a point that is made twice is the same point."""
    if isinstance(thing, Point):
        return thing.body.name, thing.coordinates
    return thing.name if isinstance(thing, Body) else repr(thing)


def _rows(values: Any, length: int, what: str) -> np.ndarray:
    """So many numbers, or rows of them."""
    found = reals(values, what)
    if found.ndim not in (1, 2) or found.shape[-1] != length:
        raise ArmillaryError(
            f"{length} {what} are needed, or rows of so many, not an array of shape {found.shape}"
        )
    return found


def _flat(array: ExpressionVector | ExpressionMatrix) -> tuple[list[Expr], tuple[int, ...]]:
    """All elements in order, and the shape."""
    if isinstance(array, ExpressionVector):
        return list(array), (len(array),)
    return [e for row in array for e in row], array.shape
