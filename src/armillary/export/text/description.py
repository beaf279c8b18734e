"""A system as plain data, and the numbers that its exported code must reproduce.

The data appear in the heads of generated files and in the description of an FMU. Values of parameters and
outputs are in the user's units, states and memory in the model's own.

The numbers come from the in-process model: constants with the default parameters; derivatives, outputs,
events and updated memory at a few states near the initial one; the last row of a short run by rk4. A
parameter without a default is 1 here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.units import parse_unit
from armillary.algebra.walk import symbols
from armillary.errors import ParameterError, SimulationError
from armillary.export.text.printer import column_name, one_line
from armillary.model.parameter_meanings import parameter_descriptions
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.passes.graph import Operations
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.models.compilation import compile_equations
from armillary.settings import RunSettings
from armillary.untyped import Given
from armillary.version import VERSION

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


@dataclass(frozen=True)
class Parameter:
    """A parameter; ``factor`` converts a value in its units to the model's units."""

    name: str
    default: float | None
    units: str
    about: str
    factor: float
    needed: bool  # whether the equations depend on it


@dataclass(frozen=True)
class StateDescription:
    """A coordinate, speed, momentum or user's state, and its default value at the start of a run."""

    name: str
    kind: str  # "coordinate", "speed" or "state"
    units: str
    about: str
    initial: float  # in the model's own units
    factor: float  # from its units to the model's units: not 1 for angles in degrees


@dataclass(frozen=True)
class StartValues:
    """The start of a run: its state, the values from which the state is computed (``given``), its memory."""

    state: tuple[float, ...]
    symbols: tuple[Expr, ...]  # of the values in ``given``
    given: tuple[float, ...]
    memory: tuple[float, ...]


@dataclass(frozen=True)
class OutputDescription:
    """A column of results."""

    name: str
    units: str
    about: str


@dataclass(frozen=True)
class Stored:
    """A memory; the value of an ``input`` is set from outside.

    A memory with a ``period`` is the clock of a periodic update, first due one period after the start of a
    run; ``hidden`` memory is not for users to set, such as the count of a clock.
    """

    name: str
    units: str
    about: str
    initial: float  # in the model's own units
    input: bool
    period: float | None
    factor: float  # from its units to the model's
    hidden: bool

    @property
    def plain(self) -> bool:
        """Whether users set or read it."""
        return self.period is None and not self.hidden


@dataclass(frozen=True)
class EventDescription:
    """An event: the direction of its sign change (0: both), and whether the run ends there.

    A ``guard`` checks the choice of dependent speeds; at a guard, exported code with one choice ends the run.
    """

    name: str
    direction: int
    stop: bool
    about: str
    hidden: bool
    guard: bool


@dataclass(frozen=True)
class LinkDescription:
    """A body, its parent, its joint and its coordinates in words."""

    name: str
    parent: str
    joint: str
    coordinates: tuple[str, ...]


@dataclass(frozen=True)
class ExportDescription:
    """One system, its parts in the order in which the program reads or writes them."""

    name: str
    formalism: str
    freedom: str
    operations: Operations
    constants: int
    judged: tuple[str, ...]  # lines on neglected terms
    remarks: tuple[str, ...]  # lines on the states
    bodies: tuple[LinkDescription, ...]
    parameters: tuple[Parameter, ...]
    states: tuple[StateDescription, ...]
    starts: tuple[StateDescription, ...]  # start values, one per state; for momenta, values of speeds
    memory: tuple[Stored, ...]
    outputs: tuple[OutputDescription, ...]
    events: tuple[EventDescription, ...]
    units: str  # name of the unit system
    version: str

    @property
    def inputs(self) -> tuple[Stored, ...]:
        """Memory that is set from outside."""
        return tuple(m for m in self.memory if m.input)


def with_one_line_texts(value: object) -> Any:  # of the type of ``value``
    """Return a description with all its texts in one line.

    Names and descriptions are written to comments and strings of programs, where a line break could begin a
    statement.
    """
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, tuple):
        return tuple(with_one_line_texts(v) for v in value)
    if isinstance(
        value,
        (
            Parameter,
            StateDescription,
            OutputDescription,
            Stored,
            EventDescription,
            LinkDescription,
            ExportDescription,
        ),
    ):
        lines = {f.name: with_one_line_texts(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, OutputDescription):  # columns of results are looked up by their names
            lines["name"] = column_name(value.name)
        return replace(value, **lines)
    return value


def description(
    equations: DerivedEquations, start: StartValues, remarks: tuple[str, ...]
) -> ExportDescription:
    """Return the description of a system; ``start`` has the default start values."""
    system, program, targets = equations.system, equations.program, equations.targets
    kinds = ["coordinate"] * len(targets.coordinates) + ["speed"] * len(targets.speeds)
    kinds += ["state"] * len(targets.states)
    kinds += ["speed"] * len(targets.carried)  # derivatives of the motion
    memory = start.memory
    tabled = {symbol.data.name for symbol, _ in program.tabled}
    return ExportDescription(
        name=system.name,
        formalism=equations.formalism,
        freedom=equations.freedom,
        operations=equations.operations,
        constants=len(program.constants),
        judged=tuple(equations.judged.lines()),
        remarks=remarks,
        bodies=tuple(
            LinkDescription(
                b.name,
                b.parent.name if b.parent else "",
                b.joint.describe(),
                tuple(q.data.name for q in b.coordinates),
            )
            for b in system.bodies.values()
        ),
        parameters=_described_parameters(equations),
        states=tuple(
            state_description(s, kind, value)
            for s, kind, value in zip(program.state, kinds, start.state, strict=True)
        ),
        starts=tuple(
            state_description(s, kind, value)
            for s, kind, value in zip(start.symbols, kinds, start.given, strict=True)
        ),
        memory=tuple(
            Stored(
                name,
                *_labels(m.symbol, m.about),
                memory[i],
                m.input and name not in tabled,
                m.period,
                m.factor,
                m.hidden or name in tabled,
            )
            for i, (name, m) in enumerate(system.memories.items())
        )
        + tuple(
            Stored(s.data.name, *_labels(s), memory[i], False, None, 1.0, True)
            for i, s in enumerate(program.memory)
            if i >= len(system.memories)
        ),
        outputs=tuple(OutputDescription(c.name, c.units, c.about) for c in targets.columns),
        events=tuple(
            EventDescription(e.name, e.direction, e.stop, e.about, e.hidden, e.name in INTERNAL_EVENTS)
            for e in targets.watched
        ),
        units=system.units.name,
        version=VERSION,
    )


def state_description(symbol: Expr, kind: str, value: float) -> StateDescription:
    """Return a state and its value at the start."""
    return StateDescription(symbol.data.name, kind, *_labels(symbol), value, state_factor(symbol))


def initial_text(item: StateDescription | Stored, literal: Callable[[float], str]) -> str:
    """Return an initial value in the units of the equations: the value in its stated units times a factor."""
    if item.factor == 1.0:
        return literal(item.initial)
    return f"{literal(item.initial / item.factor)}*{literal(item.factor)}"


def _labels(symbol: Expr, about: str = "") -> tuple[str, str]:
    return symbol.data.units or "", about or symbol.data.about


def _described_parameters(equations: DerivedEquations) -> tuple[Parameter, ...]:
    system = equations.system
    used = {s.data.name for s in symbols(*equations.program.precompute.results)}
    found = []
    about = parameter_descriptions(system)
    for name, node in system.parameters.items():
        stated = node.data.units
        factor = system.units.factor(parse_unit(stated)) if stated else 1.0
        units = equations.parameter_units[name]
        found.append(Parameter(name, node.data.default, units, about.get(name, ""), factor, name in used))
    return tuple(found)


_REALS = ctypes.POINTER(ctypes.c_double)

POINTS = 3
STEPS = 20
_LONGEST, _SHORTEST = 1e-2, 1e-9
_AGREE = 1e-4  # bound on the difference of runs with a step and with half of it

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
    initial: tuple[float, ...]  # given start values
    memory: tuple[float, ...]
    points: tuple[ReferencePoint, ...]
    trajectory: Trajectory | None  # `None` if no short run from the initial state succeeds


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
            spread *= 0.5  # perhaps a root or logarithm is undefined there
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
    """Return the results of a compiled function, by name."""
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
    """Return the start of a run at t = 0, from described initial values unless others are given.

    Clocks of periodic updates are due one period later.
    """
    from armillary.runtime.models.instance import Instance
    from armillary.runtime.start.initial import initial_memory

    equations, instance = model.equations, Instance(model, parameters)
    stored = initial_memory(equations, None, 0.0)
    begins = stored.copy()
    # An exported program decides the statuses of contacts at the state where its run starts, which may be
    # another state. So contacts are open here.
    if initial is None:
        names = list(equations.system.memories)
        begins[[names.index(c.status.data.name) for c in equations.system.contacts.values()]] = 0
    place = model.place_at_start(instance, initial, 0.0, begins)
    state, symbols = instance.pack_state(place), list(equations.program.state)
    given = state.copy()
    if equations.conversion is not None:
        first = len(equations.targets.coordinates)
        own = slice(first, first + len(equations.targets.speeds))
        speeds = {u.data.name: value for u, value in zip(equations.system.speeds, place.u, strict=True)}
        symbols[own] = equations.targets.inputs
        given[own] = [speeds[name] for name in equations.speeds]
    # Memories that begin with an expression, and the status of contacts, stay as described: the start of a
    # run computes them.
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
    except (ParameterError, SimulationError):  # contacts may overlap at the described start
        return None
    if not several and "configurations" in run.info:
        return None
    row: np.ndarray = run.values[-1]
    return row if np.all(np.isfinite(row)) else None


# Reference numbers as a file that every language reads easily: a line with a name and a count, then the
# values in the next line, unless there are none.


def reference_text(reference: Reference) -> str:
    """Return the file ``reference.txt``: bound, inputs, constants, points, and end of a short run."""
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
