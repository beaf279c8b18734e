"""A system as plain data: what stands in the heads of generated files and in the description of an FMU.

Values of parameters and outputs are in the user's units, states and memory in the model's own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from armillary.algebra.expression import Expr
from armillary.algebra.units import parse_unit
from armillary.algebra.walk import symbols
from armillary.export.text.printer import column_name, one_line
from armillary.model.parameter_meanings import parameter_descriptions
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.passes.graph import Operations
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.version import VERSION


@dataclass(frozen=True)
class Parameter:
    """A parameter; ``factor`` turns a value in its units into one in the model's."""

    name: str
    default: float | None
    units: str
    about: str
    factor: float
    needed: bool  # whether the equations hold it


@dataclass(frozen=True)
class StateDescription:
    """A coordinate, a speed, a momentum or a state of the user's own, and its value at the start of a run
    that gives no other.
    """

    name: str
    kind: str  # "coordinate", "speed" or "state"
    units: str
    about: str
    initial: float  # in the model's own units
    factor: float  # from its units to the model's: other than 1 for angles in degrees


@dataclass(frozen=True)
class StartValues:
    """The start of a run that gives nothing: the state, the values from which it follows, and the memory."""

    state: tuple[float, ...]
    symbols: tuple[Expr, ...]  # of the values given
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
    """A memory; ``input`` ones come from outside.

    A ``period`` marks the clock of a periodic update, which starts so long after the run; ``hidden`` memory
    is nothing that a user would set, such as the count of a clock.
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
        """Whether it is useful to users as a setting or a result."""
        return self.period is None and not self.hidden


@dataclass(frozen=True)
class EventDescription:
    """An event: the sign change that matters (0: both), and whether the run ends there.

    A ``guard`` watches the choice of dependent speeds; exported code, which has one choice, ends there.
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
    judged: tuple[str, ...]  # lines on what was neglected
    remarks: tuple[str, ...]  # lines on the states
    bodies: tuple[LinkDescription, ...]
    parameters: tuple[Parameter, ...]
    states: tuple[StateDescription, ...]
    starts: tuple[
        StateDescription, ...
    ]  # values that a run gives, in their places: speeds where states are momenta
    memory: tuple[Stored, ...]
    outputs: tuple[OutputDescription, ...]
    events: tuple[EventDescription, ...]
    units: str  # name of the unit system
    version: str

    @property
    def inputs(self) -> tuple[Stored, ...]:
        """Memory that is set from outside."""
        return tuple(m for m in self.memory if m.input)


def with_one_line_texts(value: object) -> Any:  # of the type of the value
    """Return a description whose texts are lines: names and descriptions end up in comments and strings of
    programs, where a line break could begin a statement.
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
    """Return a system described; ``start`` holds the values of a run that gives no others."""
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
