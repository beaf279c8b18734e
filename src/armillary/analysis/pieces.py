"""The pieces of the equations of motion as compiled functions of time, coordinates and speeds.

Each function is compiled when it is first called. Coordinates, speeds and states are as in Kane's equations,
in the model's own units, whatever the states of the formalism: one place each, or rows of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.named_arrays import ExpressionMatrix, ExpressionVector
from armillary.algebra.walk import transform
from armillary.analysis.places import PlaceReader, Places
from armillary.errors import ArmillaryError
from armillary.model import mass_properties, quantities
from armillary.model.bodies.body import Body, Point
from armillary.program.functions import shared_part
from armillary.program.pieces import MassProduct, Pieces, kane_states
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.programs.functions import ModelFunctions
from armillary.untyped import AnyFunction, DataMapping, Given

# What a description gives as expressions: energies, and vectors along the ground's axes.
QUANTITIES: dict[str, AnyFunction] = {
    "kinetic_energy": quantities.kinetic_energy,
    "potential_energy": quantities.potential_energy,
    "strain_energy": quantities.strain_energy,
    "total_energy": quantities.total_energy,
    "momentum": quantities.momentum,
    "angular_momentum": quantities.angular_momentum,
    "mass_centre": mass_properties.mass_centre,
}


# Places of one call from which on the mass matrix of a large tree is written out. Of 64 links that takes 2 s
# more at the first call than columns of inverse dynamics, and then 0.05 instead of 0.4 ms a place.
_WRITTEN_OUT = 5000


class PiecePlace(NamedTuple):
    """Where pieces are evaluated: one place, or arrays with a leading axis."""

    t: Given
    q: Given
    u: Given = None  # at rest where left out
    parameters: DataMapping | None = None
    memory: Given = None
    states: Given = None  # of the user's own; their initial values where left out


class PieceFunctions:
    """Functions of the pieces of one model's equations, compiled one by one."""

    def __init__(self, model: CompiledModel, pieces: Pieces) -> None:
        self.model, self.pieces = model, pieces
        self._base = kane_states(model.equations, pieces)
        self._functions: dict[Given, tuple[ModelFunctions, tuple[int, ...]]] = {}
        self._reader = PlaceReader(self._base, "pieces of the equations")

    def matrix(self, name: str, at: PiecePlace) -> np.ndarray:
        """Return a piece that is a vector or matrix, by its name in the equations."""
        large = self.pieces.mass_product if name == "mass_matrix" else None
        if large is not None and len(self._read(at).t) < _WRITTEN_OUT:
            return self._mass_by_columns(large, at)
        return self._values(name, lambda: _flat(getattr(self.pieces, name)), at)

    def jacobian(self, of: object, axes: object, at: PiecePlace) -> np.ndarray:
        """The Jacobian of a point or body."""
        key = _identity(of), _identity(axes)
        return self._values(key, lambda: _flat(self.pieces.jacobian(of, axes)), at)

    def loads(self, at: PiecePlace) -> dict[str, np.ndarray]:
        """Generalised forces of each load by name."""
        forces = self.pieces.load_forces
        shape = (len(forces), len(self.pieces.speeds))
        rows = self._values("loads", lambda: ([e for v in forces.values() for e in v], shape), at)
        return {name: rows[..., i, :] for i, name in enumerate(forces)}

    def quantity(self, name: str, at: PiecePlace) -> Given:
        """An energy, or a vector along the ground's axes, of ``QUANTITIES``."""

        def make_parts() -> tuple[list[Expr], tuple[int, ...]]:
            parts = self.pieces.quantity(QUANTITIES[name](self.pieces.system))
            return parts, (3,) if len(parts) == 3 else ()

        found = self._values(name, make_parts, at)
        return found if found.ndim else float(found)

    def _values(
        self, key: object, made: Callable[[], tuple[list[Expr], tuple[int, ...]]], at: PiecePlace
    ) -> np.ndarray:
        if key not in self._functions:
            expressions, shape = made()
            self._functions[key] = ModelFunctions(self._base, {"piece": expressions}), shape
        compiled, shape = self._functions[key]
        places = self._read(at)
        if places.shape:
            found = compiled.rows("piece", places.t, places.states, at.parameters, memory=places.memory)
            return found.reshape((*places.shape, *shape))
        t, state, memory = float(places.t[0]), places.states[0], places.memory[0]
        return compiled("piece", t, state, at.parameters, memory=memory).reshape(shape)

    def _mass_by_columns(self, large: MassProduct, at: PiecePlace) -> np.ndarray:
        if large not in self._functions:
            parts = shared_part(large.product, large.x, self.pieces.system.identity)
            column = transform(large.product, {x: s for s, x in parts.items()}.get)
            functions = {"column": column, "shared": tuple(parts.values())}
            made = ModelFunctions(self._base, functions, (*large.x, *parts), search=False)
            self._functions[large] = made, ()
        compiled, _ = self._functions[large]
        places = self._read(at)
        constants = compiled.constants(at.parameters)
        found = compiled.columns("column", places.t, places.states, places.memory, constants, "shared")
        lower = np.tril_indices(len(large.x), -1)
        found[:, lower[0], lower[1]] = found[:, lower[1], lower[0]]  # the same to rounding
        return found.reshape((*places.shape, *found.shape[1:]))

    def _read(self, at: PiecePlace) -> Places:
        if at.q is None:
            raise ArmillaryError("pieces of the equations: q is None; give the coordinates")
        return self._reader.read(self.model, at.q, at.u, None, at.t, at.memory, at.states, at.parameters)


def _identity(thing: object) -> Given:
    """The identity of a point or body: a point that is made twice is the same point."""
    if isinstance(thing, Point):
        return thing.body.name, thing.coordinates
    return thing.name if isinstance(thing, Body) else repr(thing)


def _flat(array: ExpressionVector | ExpressionMatrix) -> tuple[list[Expr], tuple[int, ...]]:
    """All elements in order, and the shape."""
    if isinstance(array, ExpressionVector):
        return list(array), (len(array),)
    return [e for row in array for e in row], array.shape
