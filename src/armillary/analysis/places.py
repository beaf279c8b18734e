"""Pieces of the equations of motion at places that a user gives, and the check for smooth models.

Places are coordinates, speeds and their rates: one of each, or many in rows. Coordinates, speeds and states
are those of Kane's equations, whichever formalism the model has, in the model's own units. Pieces are
functions of time, coordinates and speeds, each compiled when it is first called.

A smooth model has rates that are smooth functions of states and inputs, as optimisers and regulators need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armillary.algebra.arguments import checked_names, reals, table
from armillary.algebra.calculus import Values
from armillary.algebra.expression import Expr
from armillary.algebra.textbook_form import ExpressionMatrix, ExpressionVector
from armillary.algebra.walk import transform
from armillary.errors import ArmillaryError, ParameterError
from armillary.model import quantities
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body, Point
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.pieces import MassProduct, Pieces, kane_states, shared_part
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.start.initial import initial_memory, initial_states, vector
from armillary.untyped import AnyFunction, DataMapping, Given


@dataclass(frozen=True, eq=False)
class Places:
    """Rows of times, states [q, u, own states], rates u̇ and memory; ``shape`` has their leading axes,
    () for a single place.
    """

    t: np.ndarray
    states: np.ndarray
    rates: np.ndarray
    memory: np.ndarray
    shape: tuple[int, ...]


def _repeat_for_parameters(places: Places, parameters: Mapping[str, object] | None) -> Places:
    """Return a single place, repeated for each value of the parameters if some of them are arrays."""
    given = table(parameters, "parameters=", ParameterError)
    counts = {len(value) for value in given.values() if np.ndim(value) == 1}
    if len(counts) != 1:
        return places
    n = counts.pop()
    t, states = np.repeat(places.t, n), np.repeat(places.states, n, axis=0)
    return Places(t, states, np.repeat(places.rates, n, axis=0), np.repeat(places.memory, n, axis=0), (n,))


class PlaceReader:
    """Reads places of a system: arrays with any leading axes, or values by name in stated units.

    ``verb`` begins the messages of errors.
    """

    def __init__(self, equations: DerivedEquations, verb: str = "inverse()") -> None:
        system = equations.system
        self.equations, self.verb = equations, verb
        self.coordinates, self.speeds, self.states = equations.coordinates, equations.speeds, equations.states
        self.symbols = {s.data.name: s for s in system.initial}
        self.start = {s.data.name: float(value) for s, value in system.initial.items()}
        self._own = initial_states(equations, None)
        self._still = np.zeros(len(self.speeds))

    def read(
        self,
        model: CompiledModel,
        q: object,
        u: object,
        udot: object,
        t: object,
        memory: object,
        states: object,
        parameters: Mapping[str, object] | None = None,
    ) -> Places:
        """Return places; a single one is repeated for each value of the parameters if some are arrays.

        Speeds and rates that are left out are zero; states and memory are as at the start of a run.
        """
        equations, times = self.equations, self._numbers(t, "t")
        if isinstance(q, Mapping) and equations.reduction.rows and (u is None or isinstance(u, Mapping)):
            q, u = self._assemble(model, q, u, times, parameters)
        read = [
            self.rows(q, self.coordinates, "q", "coordinate"),
            self._still if u is None else self.rows(u, self.speeds, "u", "speed", {}),
            self._still if udot is None else self.rows(udot, self.speeds, "udot", "speed", {}),
            self._own if states is None else self.rows(states, self.states, "states", "state"),
            self._memory_of(memory, times),
        ]
        if times.ndim == 0 and all(a.ndim == 1 for a in read):
            whole = np.concatenate([read[0], read[1], read[3]])
            single = Places(times[None], whole[None], read[2][None], read[4][None], ())
            return _repeat_for_parameters(single, parameters)
        try:
            shape = np.broadcast_shapes(times.shape, *(a.shape[:-1] for a in read))
        except ValueError:
            words = ", ".join(f"{name} {a.shape}" for name, a in zip(("q", "u", "udot"), read, strict=False))
            raise ArmillaryError(
                f"{self.verb}: the leading axes of {words} do not fit together; give each as many "
                "rows, or one"
            ) from None
        count = math.prod(shape)
        rows = [np.broadcast_to(a, (*shape, a.shape[-1])).reshape(count, a.shape[-1]) for a in read]
        whole = np.concatenate([rows[0], rows[1], rows[3]], axis=1)
        return Places(np.broadcast_to(times, shape).reshape(count), whole, rows[2], rows[4], shape)

    def rows(
        self,
        value: object,
        names: Sequence[str],
        what: str,
        noun: str,
        start: Mapping[str, float] | None = None,
    ) -> np.ndarray:
        """Return values along the last axis, in the order of the names.

        Names that are left out keep their start values.
        """
        start = self.start if start is None else start
        if isinstance(value, Mapping):
            return self._by_name(value, names, start, what, noun)
        if value is None:
            return np.array([start.get(name, 0.0) for name in names])
        found = self._numbers(value, what)
        if found.ndim == 0 or found.shape[-1] != len(names):
            listed = f": {', '.join(names)}" if names else ""
            raise ArmillaryError(
                f"{self.verb}: {what} has the shape {found.shape}, but there are {len(names)} {noun}s{listed}"
            )
        return found

    def _numbers(self, value: object, what: str) -> np.ndarray:
        return reals(value, f"{self.verb}: {what}")

    def _by_name(
        self,
        value: Values,
        names: Sequence[str],
        start: Mapping[str, float],
        what: str,
        noun: str,
    ) -> np.ndarray:
        missing, after = f"{self.verb}: {what} names", f", which is not an independent {noun}"
        given = checked_names(value, names, missing, ParameterError, after=after, listed=True)
        own = {
            name: self._numbers(x, f"{what}[{name!r}]") * state_factor(self.symbols[name])
            for name, x in given.items()
        }
        columns = [own[name] if name in own else np.array(start.get(name, 0.0)) for name in names]
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    def _memory_of(self, memory: object, times: np.ndarray) -> np.ndarray:
        if memory is None and not self.equations.system.memories:
            return np.empty(0)
        if memory is None or isinstance(memory, Mapping):
            return initial_memory(self.equations, memory, float(np.min(times)) if times.size else 0.0)
        found = self._numbers(memory, "memory")
        length = len(self.equations.system.memories)
        return found if found.ndim > 1 and found.shape[-1] == length else vector(memory, length, "memory")

    def _assemble(
        self,
        model: CompiledModel,
        q: Values,
        u: Values | None,
        times: np.ndarray,
        parameters: DataMapping | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates that close the loops, near the named ones, and speeds that agree with them.

        Independent speeds that are left out are zero unless a dependent speed is named.
        """
        equations, own = self.equations, {str(name): value for name, value in (u or {}).items()}
        if {*own} <= {*self.speeds}:
            own = dict.fromkeys(self.speeds, 0.0) | own
        given = table(parameters, "parameters=", ParameterError)
        if times.ndim or any(np.ndim(value) for value in (*q.values(), *own.values(), *given.values())):
            raise ArmillaryError(
                f"{self.verb}: arrays by name leave open how loops are closed; give q as an array of all "
                f"coordinates, {', '.join(equations.coordinates)}, e.g. from a run"
            )
        if model.speed_names != equations.speeds:
            raise ArmillaryError(f"{self.verb}: give q and u of this model as arrays of closed positions")
        whole = model.state({**q, **own}, given, float(times))
        n = len(equations.coordinates)
        return whole[:n], whole[n : n + len(equations.speeds)]


# Quantities that a description gives as expressions: energies, and vectors along the ground's axes.
QUANTITIES: dict[str, AnyFunction] = {
    "kinetic_energy": quantities.kinetic_energy,
    "potential_energy": quantities.potential_energy,
    "strain_energy": quantities.strain_energy,
    "total_energy": quantities.total_energy,
    "momentum": quantities.momentum,
    "angular_momentum": quantities.angular_momentum,
    "mass_centre": motion.mass_centre,
}


# A call with at least this many places writes out the mass matrix of a large tree. For 64 links the first
# call then takes 2 s longer than with columns of inverse dynamics, but each place takes 0.05 ms instead of
# 0.4.
_WRITTEN_OUT = 5000


class PiecePlace(NamedTuple):
    """Where pieces are evaluated: one place, or arrays with a leading axis."""

    t: Given
    q: Given
    u: Given = None  # None: at rest
    parameters: DataMapping | None = None
    memory: Given = None
    states: Given = None  # the user's own states; None: their initial values


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
        """Return the Jacobian of a point or body."""
        key = _identity(of), _identity(axes)
        return self._values(key, lambda: _flat(self.pieces.jacobian(of, axes)), at)

    def loads(self, at: PiecePlace) -> dict[str, np.ndarray]:
        """Return the generalised forces of each load by name."""
        forces = self.pieces.load_forces
        shape = (len(forces), len(self.pieces.speeds))
        rows = self._values("loads", lambda: ([e for v in forces.values() for e in v], shape), at)
        return {name: rows[..., i, :] for i, name in enumerate(forces)}

    def quantity(self, name: str, at: PiecePlace) -> Given:
        """Return an energy, or a vector along the ground's axes, of ``QUANTITIES``."""

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
        found[:, lower[0], lower[1]] = found[:, lower[1], lower[0]]  # equal up to rounding
        return found.reshape((*places.shape, *found.shape[1:]))

    def _read(self, at: PiecePlace) -> Places:
        if at.q is None:
            raise ArmillaryError("pieces of the equations: q is None; give the coordinates")
        return self._reader.read(self.model, at.q, at.u, None, at.t, at.memory, at.states, at.parameters)


def _identity(thing: object) -> Given:
    """Return the identity of a point or body; two points at one place of a body are the same point."""
    if isinstance(thing, Point):
        return thing.body.name, thing.coordinates
    return thing.name if isinstance(thing, Body) else repr(thing)


def _flat(array: ExpressionVector | ExpressionMatrix) -> tuple[list[Expr], tuple[int, ...]]:
    """Return all elements in order, and the shape."""
    if isinstance(array, ExpressionVector):
        return list(array), (len(array),)
    return [e for row in array for e in row], array.shape


def check_smooth(equations: DerivedEquations, *, may_stop: bool = True) -> None:
    """Raise an error if the motion jumps or the states differ from the described coordinates and speeds.

    ``may_stop``: events that only end a run are allowed.
    """
    equations.check_use("linear model")
    system = equations.system
    if not equations.described_states:
        raise ArmillaryError(
            f"'{system.name}' was derived with states of its own ({equations.formalism}); control needs "
            "coordinates and speeds as they were described: s.derive('kane') or s.derive('recursive')"
        )
    if system.contacts:
        raise ArmillaryError(
            f"'{system.name}' has contacts that come and go (such as '{next(iter(system.contacts))}'), so "
            "its motion jumps; control needs rates that are smooth: describe contact by a spring and damper"
        )
    acting = [
        e.name
        for e in equations.targets.watched
        if e.name not in INTERNAL_EVENTS
        and not (may_stop and e.stop and not (e.changes or e.lock or e.unlock))
    ]
    if acting:
        raise ArmillaryError(
            f"event '{acting[0]}' of '{system.name}' may change the motion while it is being steered; take "
            "it out of the description, or state its condition as a constraint"
        )
    renewed = [name for name, m in system.memories.items() if m.update is not None]
    if renewed:
        raise ArmillaryError(
            f"memory '{renewed[0]}' of '{system.name}' changes from step to step; control needs rates that "
            "are smooth: make it a state, s.state(…)"
        )
