"""Numbers of the in-process model that exported code must reproduce.

Constants at the default parameters; derivatives, outputs, events and updated memory at a few states scattered
about the initial one; the last row of a short run by rk4. A parameter without a default is 1 here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armillary.errors import SimulationError
from armillary.export.text.description import StartValues
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.compilation import compile_equations
from armillary.settings import RunSettings
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


_REALS = ctypes.POINTER(ctypes.c_double)

POINTS = 3
STEPS = 20
_LONGEST, _SHORTEST = 1e-2, 1e-9
_AGREE = 1e-4  # between a run and the one with half its step, for the step to be a sensible one

# The self-test's bound on |found − expected|: RELATIVE·|expected| + ABSOLUTE·max(1, largest of the vector).
# Fused operations and other libraries change last digits, which differences of large numbers magnify.
RELATIVE, ABSOLUTE = 1e-9, 1e-10


@dataclass(frozen=True)
class ReferencePoint:
    """Results at one state."""

    t: float
    state: tuple[float, ...]
    memory: tuple[float, ...]
    derivatives: tuple[float, ...]
    outputs: tuple[float, ...]
    events: tuple[float, ...]
    update: tuple[float, ...]


@dataclass(frozen=True)
class Trajectory:
    """A short run by rk4 from the initial state: the outputs at its end."""

    step: float
    steps: int
    outputs: tuple[float, ...]

    @property
    def duration(self) -> float:
        return self.step * self.steps


@dataclass(frozen=True)
class Reference:
    """Numbers to compare with; parameters in the user's units."""

    parameters: tuple[float, ...]
    constants: tuple[float, ...]
    initial: tuple[float, ...]  # values that a run gives
    memory: tuple[float, ...]
    points: tuple[ReferencePoint, ...]
    trajectory: Trajectory | None  # none where no short run from the initial state succeeds


def example_parameters(equations: DerivedEquations) -> dict[str, float]:
    """Return all parameters in the user's units: defaults, or 1 for a parameter without a default."""
    return {name: 1.0 if value is None else float(value) for name, value in equations.parameters.items()}


def reference(equations: DerivedEquations, several: bool) -> Reference:
    """Return the reference numbers of a system; ``several``: its program holds several configurations."""
    model = compile_equations(equations, tier="quick")
    parameters = example_parameters(equations)
    begin = start_values(model, parameters)
    start, memory = np.array(begin.state), np.array(begin.memory)
    count = len(equations.program.constants)
    return Reference(
        tuple(parameters.values()),
        _plain_numbers(model.constants(parameters)[:count]),
        begin.given,
        begin.memory,
        tuple(_reference_points(model, parameters, start, memory)),
        _trajectory(model, parameters, several),
    )


def _plain_numbers(values: Given) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def _reference_points(
    model: CompiledModel, parameters: dict[str, float], start: np.ndarray, memory: np.ndarray
) -> list[ReferencePoint]:
    random = np.random.default_rng(1990)
    points = []
    for i in range(POINTS):
        spread = 0.1
        while True:
            state = start + spread * (1.0 + np.abs(start)) * random.standard_normal(len(start))
            stored = memory + spread * random.standard_normal(len(memory))
            point = at(model, 0.1 * i, state, parameters, stored)
            if np.all(np.isfinite([*point.derivatives, *point.outputs])) or spread < 1e-3:
                break
            spread *= 0.5  # outside of where roots and logarithms are defined
        points.append(point)
    return points


def at(
    model: CompiledModel, t: float, state: np.ndarray, parameters: dict[str, float], memory: np.ndarray
) -> ReferencePoint:
    """Return the results of the in-process model at one state."""
    program = model.equations.program
    constants = model.constants(parameters)
    sections = (program.derivatives, program.outputs, program.events, program.update)
    found = [_call_function(model, s.name, len(s.results), t, state, constants, memory) for s in sections]
    return ReferencePoint(t, _plain_numbers(state), _plain_numbers(memory), *map(_plain_numbers, found))


def _call_function(
    model: CompiledModel,
    name: str,
    length: int,
    t: float,
    state: np.ndarray,
    constants: np.ndarray,
    memory: np.ndarray,
) -> np.ndarray:
    """Results of a compiled function, by name."""
    if not length:
        return np.zeros(0)
    padded = [np.append(np.asarray(values, dtype=float), 0.0) for values in (state, constants, memory)]
    out = np.zeros(length)
    pointers = [array.ctypes.data_as(_REALS) for array in (*padded, out)]
    ctypes.CFUNCTYPE(None, ctypes.c_double, *[_REALS] * 4)(model.address(name))(t, *pointers)
    return out


def start_values(
    model: CompiledModel, parameters: dict[str, float], initial: Mapping[str, float] | None = None
) -> StartValues:
    """Return the start of a run from t = 0: clocks one period later, the rest as described."""
    from armillary.runtime.models.instance import Instance
    from armillary.runtime.start.initial import initial_memory

    equations, instance = model.equations, Instance(model, parameters)
    stored = initial_memory(equations, None, 0.0)
    place = model.place_at_start(instance, initial, 0.0, stored)
    state, symbols = instance.pack_state(place), list(equations.program.state)
    given = state.copy()
    if equations.conversion is not None:
        first = len(equations.targets.coordinates)
        own = slice(first, first + len(equations.targets.speeds))
        speeds = {u.data.name: value for u, value in zip(equations.system.speeds, place.u, strict=True)}
        symbols[own] = equations.targets.inputs
        given[own] = [speeds[name] for name in equations.speeds]
    # Memories that begin at an expression, and the status of contacts, are given as described: the start of
    # a run computes them.
    memory = place.memory.copy()
    decided = {
        s.data.name for c in equations.system.contacts.values() for s in (c.status, c.last) if s is not None
    }
    for i, (name, described) in enumerate(equations.system.memories.items()):
        memory[i] = stored[i] if described.start is not None or name in decided else memory[i]
    return StartValues(_plain_numbers(state), tuple(symbols), _plain_numbers(given), _plain_numbers(memory))


def _trajectory(model: CompiledModel, parameters: dict[str, float], several: bool) -> Trajectory | None:
    """Return a run whose step is short enough for the system's motion."""
    step = _LONGEST
    while step > _SHORTEST:
        rows = [last_row(model, parameters, step / n, n * STEPS, several) for n in (1, 2)]
        if rows[0] is not None and rows[1] is not None:
            scale = np.maximum(1.0, np.abs(rows[1]))
            if np.all(np.abs(rows[0] - rows[1]) <= _AGREE * scale):
                return Trajectory(step, STEPS, _plain_numbers(rows[0]))
        step /= 10
    return None


def last_row(
    model: CompiledModel, parameters: dict[str, float], step: float, steps: int, several: bool = True
) -> np.ndarray | None:
    """Return the outputs at the end of a run.

    `None` if the run fails, or changes its configuration in a program that does not hold ``several``.
    """
    try:
        run = model.run_with(RunSettings(step * steps, step=step, method="rk4"), parameters=parameters)
    except SimulationError:
        return None
    if not several and "configurations" in run.info:
        return None
    row: np.ndarray = run.values[-1]
    return row if np.all(np.isfinite(row)) else None


# Reference numbers as a file that every language reads easily: a line with a name and a count, then the
# values in the next line, unless there are none.


def reference_text(reference: Reference) -> str:
    """Return the file ``reference.txt``: the bound, the inputs and constants, the points, the end of a short
    run.
    """
    r = reference
    parts: list[tuple[str, Sequence[float]]] = [
        ("bound", (RELATIVE, ABSOLUTE)),
        ("parameters", r.parameters),
        ("constants", r.constants),
        ("initial", r.initial),
        ("memory", r.memory),
        ("points", (float(len(r.points)),)),
    ]
    for point in r.points:
        parts += [
            ("t", (point.t,)),
            ("state", point.state),
            ("stored", point.memory),
            ("derivatives", point.derivatives),
            ("outputs", point.outputs),
            ("events", point.events),
            ("update", point.update),
        ]
    run = r.trajectory
    parts.append(("run", (run.step, float(run.steps)) if run else ()))
    parts.append(("row", run.outputs if run else ()))
    lines = []
    for name, values in parts:
        lines.append(f"{name} {len(values)}")
        if values:
            lines.append(" ".join(repr(float(v)) for v in values))
    return "\n".join(lines) + "\n"
