"""Operating points as users give them in the argument ``at``.

at=None                         the start of runs
at={"A.q1": 0.1, "F": 3}        coordinates, speeds, states, inputs, memories, parameters and t by name
at=state                        a whole state, as model.derivatives takes it
at=op                           an object with .state and, if known, .parameters, .inputs, .memory, .time
at=(run, 2.5)                   a time of a run, interpolated linearly between samples
at=[…], arrays of values        many operating points
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from armillary.algebra.arguments import table
from armillary.algebra.units import is_quantity
from armillary.errors import ArmillaryError, ParameterError, nearest, shown
from armillary.model.units import seconds, state_factor
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.parameters import check_physical
from armillary.runtime.start.initial import (
    initial_memory,
    initial_values,
    memory_number,
    state_number,
    vector,
)
from armillary.untyped import DataMapping, DataTable, Given

# Largest gap, relative to its row's size, and largest error of the length of Euler parameters, for whole
# states. The errors that runs leave are smaller.
_OPEN = 1e-6
_BROKEN = 1e-3  # largest relative gap for values by name, which may be rounded as printed


@runtime_checkable
class HasState(Protocol):
    """An operating point with the whole state: an `OperatingPoint`, or an object of a user."""

    state: np.ndarray


@dataclass(frozen=True, eq=False)
class OperatingPoints:
    """One operating point of a model, or several: ``states`` and ``memory`` have a row for each.

    ``parameters`` are in stated units, each one number for all points or an array with a number for each.
    """

    t: np.ndarray
    states: np.ndarray
    memory: np.ndarray
    parameters: DataMapping
    single: bool
    note: str = ""  # on given values that were changed to close loops

    def __len__(self) -> int:
        return len(self.states)

    def parameters_of(self, i: int) -> DataTable:
        """Return the parameters of one of the points."""
        return {name: value[i] if np.ndim(value) else value for name, value in self.parameters.items()}


def operating_points(
    model: CompiledModel, at: Given = None, parameters: DataMapping | None = None
) -> OperatingPoints:
    """Return operating points of a model; ``parameters`` replace those of an operating point or a run."""
    given = table(parameters, "parameters=", ParameterError)
    lengths = _lengths(given, "parameter")
    if _is_many(at):
        points = [
            _one_point(model, single, given if not lengths else _pick(given, i))
            for i, single in enumerate(at)
        ]
        return _stack_points(model, points)
    if isinstance(at, tuple) and len(at) == 2 and isinstance(at[0], Run) and np.ndim(at[1]) == 1:
        return _stack_points(model, [_one_point(model, (at[0], t), given) for t in at[1]])
    if isinstance(at, np.ndarray) and at.ndim == 2:
        return _states(model, at, given)
    if isinstance(at, Mapping) and not isinstance(at, HasState):
        lengths |= _lengths(at, "value")
    if not lengths:
        return _one_point(model, at, given)
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"'{name}' has {n}" for name, n in lengths.items())
        raise ParameterError(f"arrays of one length are needed for several operating points: {counts}")
    return _arrays(model, at, given, next(iter(lengths.values())))


def _is_many(at: object) -> bool:
    """Return whether ``at`` is a list of operating points, rather than one."""
    if isinstance(at, str) or not isinstance(at, Sequence) or not len(at):
        return False
    return not isinstance(at[0], Run) and not all(np.ndim(x) == 0 and not _is_point(x) for x in at)


def _is_point(x: object) -> bool:
    return x is None or isinstance(x, Mapping | HasState)


def _lengths(values: DataMapping, what: str) -> dict[str, int]:
    found = {}
    for name, value in values.items():
        if np.ndim(value) > 1 or (np.ndim(value) == 1 and not len(value)):
            raise ParameterError(f"{what} '{name}' must be a number or a row of numbers, not {shown(value)}")
        if np.ndim(value) == 1:
            found[str(name)] = len(value)
    return found


def _internal_values(values: Given, factor: float, read: Callable[[Given], float]) -> np.ndarray:
    """Return values in the model's units: plain numbers times a factor, texts and quantities by ``read``."""
    if not is_quantity(values) and np.asarray(values).dtype.kind in "fiu":
        return np.asarray(values, dtype=float) * factor
    return np.array([read(value) for value in values], dtype=float)


def _pick(values: DataMapping, i: int) -> DataTable:
    return {name: value[i] if np.ndim(value) else value for name, value in values.items()}


# ---------------------------------------------------------------------------------------- one point


def _one_point(model: CompiledModel, at: object, given: Mapping[str, object]) -> OperatingPoints:
    if isinstance(at, tuple) and len(at) == 2 and isinstance(at[0], Run):
        return _of_run(model, *at, given)
    if isinstance(at, HasState):
        return _of_point(model, at, given)
    if at is None or isinstance(at, Mapping):
        return _points_from_names(model, table(at, "at="), given)
    state = vector(at, len(model.equations.program.state), "state at which to linearise")
    memory = initial_memory(model.equations, None, 0.0)
    return _point_from_state(model, 0.0, state, memory, given)


def _points_from_names(
    model: CompiledModel, values: Mapping[str, object], given: Mapping[str, object], *, rough: bool = False
) -> OperatingPoints:
    """Return a point from values by name, with loops closed.

    If all coordinates are given, they must satisfy the constraints, unless they are ``rough``, such as values
    interpolated in a run. If only some are given, they may be changed, with a note.
    """
    system = model.equations.system
    moving, stored, chosen = _split_values(model.equations, values)
    t = seconds(values.get("t", 0.0), "the time t of an operating point")
    parameters = {**chosen, **given}
    instance = Instance(model, parameters)
    check_physical(system, model.parameter_table, model.parameter_table.values(parameters))
    place = model.place_at_start(instance, moving, t, initial_memory(model.equations, stored, t))
    if place.note and not rough and moving.keys() >= set(model.equations.coordinates):
        q, _, _ = initial_values(model.equations, moving)
        follow = [c.data.name for c in model.equations.reduction.corrections]
        remedy = f"leave out those that follow from the others, such as {' and '.join(follow) or 'one'}"
        _check_gaps(instance, t, q, place.memory, _BROKEN, remedy)
    state, note = instance.pack_state(place), "" if rough else place.note
    return OperatingPoints(np.array([t]), state[None, :], place.memory[None, :], parameters, True, note)


def _split_values(
    equations: DerivedEquations, values: Mapping[str, object]
) -> tuple[DataTable, DataTable, DataTable]:
    """Return the values of the motion, of memories and of parameters."""
    system = equations.system
    moving, stored, chosen = {}, {}, {}
    names = [s.data.name for s in system.moving()]
    for name, value in values.items():
        if name == "t":
            continue
        if name in system.parameters:
            chosen[name] = value
        elif name in system.memories:
            stored[name] = value
        elif name in names:
            moving[name] = value
        else:
            known = [*names, *system.memories, *system.parameters, "t"]
            raise ParameterError(
                f"at=: '{system.name}' has no coordinate, speed, state, input, memory or parameter "
                f"'{name}'{nearest(name, known)}"
            )
    return moving, stored, chosen


def _of_point(model: CompiledModel, at: HasState, given: Mapping[str, object]) -> OperatingPoints:
    """Return the operating point of an object that has a state."""
    state = vector(at.state, len(model.equations.program.state), "state of an operating point")
    brought = dict(getattr(at, "parameters", None) or {})
    own = getattr(at, "memory", None)
    stored: DataTable = dict(own) if isinstance(own, Mapping) else {}
    inputs = getattr(at, "inputs", None)
    for name, value in inputs.items() if isinstance(inputs, Mapping) else ():
        (stored if name in model.equations.system.memories else brought)[name] = value
    t = seconds(getattr(at, "time", getattr(at, "t", 0.0)), "the time of an operating point")
    memory = initial_memory(model.equations, stored, t)
    if own is not None and not isinstance(own, Mapping):
        memory = vector(own, len(memory), "memory of an operating point")
    return _point_from_state(model, t, state, memory, {**brought, **given})


def _of_run(model: CompiledModel, run: Run, time: object, given: Mapping[str, object]) -> OperatingPoints:
    """Return the operating point at a time of a run."""
    t = seconds(time, "the time of a run at which to linearise")
    equations = model.equations
    system, places = equations.system, [*equations.coordinates, *equations.speeds, *equations.states]
    missing = [name for name in places if name not in run]
    if missing:
        raise ArmillaryError(
            f"the run of '{run.system}' has no '{missing[0]}', so its state is not known; linearise "
            f"'{system.name}' along one of its own runs"
        )
    values = {name: float(run.interpolate(t, name)) for name in places}
    stored = {name: float(run.interpolate(t, name)) for name in system.memories if name in run}
    brought = {name: v for name, v in run.parameters.items() if name in system.parameters}
    return _points_from_names(model, {**values, **stored, "t": t}, {**brought, **given}, rough=True)


def _point_from_state(
    model: CompiledModel, t: float, state: np.ndarray, memory: np.ndarray, given: Mapping[str, object]
) -> OperatingPoints:
    """Return the point of a whole state, which must satisfy the constraints."""
    instance = Instance(model, given)
    check_physical(model.equations.system, model.parameter_table, model.parameter_table.values(given))
    _check_closed(instance, t, state, memory)
    return OperatingPoints(np.array([t]), state[None, :], memory[None, :], dict(given), True)


def _check_closed(instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> None:
    """Raise an error for a whole state with Euler parameters of another length than 1, or with open loops."""
    equations = instance.equations
    remedy = "give values by name, at={…}, or make the state with model.state(…)"
    for start in equations.program.quaternions:
        length = float(np.linalg.norm(state[start : start + 4]))
        if not abs(length - 1.0) <= _OPEN:
            raise ParameterError(
                f"the Euler parameters from '{equations.coordinates[start]}' on have length {length:.6g}, "
                f"not 1; {remedy}"
            )
    if not equations.reduction.rows:
        return
    _check_gaps(instance, t, state[: len(equations.coordinates)], memory, _OPEN, remedy)
    instance.check(instance.place(t, state, memory))


def _check_gaps(
    instance: Instance, t: float, q: np.ndarray, memory: np.ndarray, most: float, remedy: str
) -> None:
    """Raise an error if coordinates leave a loop open by more than ``most`` times its size."""
    geometry = instance.geometry(memory)
    here, sized = geometry.at(t, q), geometry.in_sizes().at(t, q)
    for i, gap, off in zip(geometry.layout.gaps, here.gap, sized.gap, strict=True):
        if not abs(off) <= most:
            constraint = instance.equations.reduction.rows[i].constraint
            raise ParameterError(
                f"the state at which to linearise breaks constraint '{constraint.name}' "
                f"({constraint.about}) by {gap:.3g}; {remedy}"
            )


# ---------------------------------------------------------------------------------------- many points


def _stack_points(model: CompiledModel, points: Sequence[OperatingPoints]) -> OperatingPoints:
    names = dict.fromkeys(name for p in points for name in p.parameters)
    defaults = model.parameters
    parameters = {
        name: np.array([float(p.parameters.get(name, defaults[name])) for p in points]) for name in names
    }
    return OperatingPoints(
        np.concatenate([p.t for p in points]),
        np.concatenate([p.states for p in points]),
        np.concatenate([p.memory for p in points]),
        parameters,
        False,
    )


def _states(model: CompiledModel, states: np.ndarray, given: Mapping[str, object]) -> OperatingPoints:
    """Return the points of whole states, of which ``states`` has one in each row."""
    length = len(model.equations.program.state)
    if states.shape[1] != length:
        raise ArmillaryError(
            f"states at which to linearise have {length} numbers each, not {states.shape[1]}"
        )
    y = np.array(states, dtype=float)
    if model.equations.reduction.rows:
        return _stack_points(model, [_one_point(model, y[i], _pick(given, i)) for i in range(len(y))])
    memory = np.tile(initial_memory(model.equations, None, 0.0), (len(y), 1))
    return OperatingPoints(np.zeros(len(y)), y, memory, dict(given), False)


def _arrays(model: CompiledModel, at: object, given: Mapping[str, object], count: int) -> OperatingPoints:
    """Return points from values by name, some of which are arrays of length ``count``."""
    if isinstance(at, HasState) or not (at is None or isinstance(at, Mapping)):
        base = _one_point(model, at, _pick(given, 0))
        return replace(_repeat_point(base, count), parameters={**base.parameters, **given})
    values = table(at, "at=")
    equations = model.equations
    plain = not (
        equations.reduction.rows
        or equations.program.quaternions
        or not equations.described_states
        or any(m.start is not None for m in equations.system.memories.values())
    )
    if not plain:
        return _stack_points(
            model, [_points_from_names(model, _pick(values, i), _pick(given, i)) for i in range(count)]
        )
    moving, stored, chosen = _split_values(equations, values)
    points = _repeat_point(_points_from_names(model, _pick(values, 0), _pick(given, 0)), count)
    described = {s.data.name: s for s in equations.system.moving()}
    places = [s.data.name for s in equations.targets.integrated]
    for name, value in moving.items():
        if np.ndim(value):
            of = partial(state_number, described[name], where=f"at= '{name}'")
            points.states[:, places.index(name)] = _internal_values(value, state_factor(described[name]), of)
    for name, value in stored.items():
        if np.ndim(value):
            memory = equations.system.memories[name]
            place = list(equations.system.memories).index(name)
            points.memory[:, place] = _internal_values(
                value, memory.factor, partial(memory_number, equations.system, memory)
            )
    times = values.get("t", 0.0)
    when = "the time t of an operating point"
    t = _internal_values(times, 1.0, partial(seconds, what=when)) if np.ndim(times) else points.t
    return replace(points, t=t, parameters={**chosen, **given})


def _repeat_point(point: OperatingPoints, count: int) -> OperatingPoints:
    return OperatingPoints(
        np.repeat(point.t, count),
        np.repeat(point.states, count, axis=0),
        np.repeat(point.memory, count, axis=0),
        point.parameters,
        False,
    )
