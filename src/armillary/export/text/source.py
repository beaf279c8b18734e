"""Equations ready for a text language: checked, described, and with numbers for the program's self-test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from armillary.algebra.block_functions import BlockFunction, is_block
from armillary.algebra.expression import Expr
from armillary.algebra.tables import Piecewise
from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError
from armillary.export.text.body import Namer, Place, SectionText, plain_identifier, section_text
from armillary.export.text.description import (
    ExportDescription,
    Reference,
    StartValues,
    description,
    example_parameters,
    reference,
    start_values,
    with_one_line_texts,
)
from armillary.export.text.printer import Printer, block_names
from armillary.export.text.start import (
    AssemblySource,
    Physical,
    StartSource,
    WeakMasses,
    assembly,
    physical,
    start_source,
    weak_masses,
    with_tables,
)
from armillary.model.description import Description, EventRecord
from armillary.program.configurations import ADJUST, configurations_of, sets_dependent_speeds, speed_settings
from armillary.program.derive import derive
from armillary.program.equations import DerivedEquations
from armillary.program.program import Program, ProgramSection, section
from armillary.program.rate_columns import with_partial_rates
from armillary.program.targets.targets import CONSTRAINT_RANK, DEPENDENT_SPEEDS
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.configurations import adjusts

# Names of arguments and locals in generated functions, which symbols of the model must not have.
ARGUMENTS = (
    "t", "state", "constants", "memory", "parameters", "out", "new_state", "new_memory", "work", "rates", "k",
)  # fmt: skip


_CONFIGURATIONS = 100  # most configurations of a program; each may have block functions of its own sizes
_TAKEN = ("main", "test", "self_test", "makefile", "readme", "simulate", "solver")  # names of other files


class SectionFunction(NamedTuple):
    """A section that every language writes as a function of time, state, constants and memory."""

    section: ProgramSection
    name: str
    about: str
    labels: Sequence[str]
    out: str  # the array of its results
    size: str  # their number, as a name or literal

    def targets(self) -> list[str]:
        """Return the elements that results are assigned to, in languages of the C family."""
        return [f"out[{i}]" for i in range(len(self.section.results))]


@dataclass(frozen=True, eq=False)
class Source:
    """One system, prepared for a language."""

    equations: DerivedEquations
    description: ExportDescription
    values: tuple[float, ...]  # values of parameters in the self-test: defaults, or 1 without a default
    others: tuple[Source, ...] = ()  # further configurations
    prefix: str = ""  # "_1", "_2", … for further configurations, part of the names of their functions
    passing: bool = False  # whether runs pass singular configurations
    stiff: bool = False  # whether its solver has linearly implicit methods

    @property
    def changing(self) -> bool:
        """Whether its program has tables of configurations.

        With a single configuration it has them if runs pass singular configurations, or if speeds are
        adjusted.
        """
        return bool(self.others) or self.passing or any(s.name == ADJUST for s in self.program.changes)

    @property
    def program(self) -> Program:
        return self.equations.program

    @property
    def guard(self) -> int | None:
        """The index of the event that checks the only choice of dependent speeds, or `None`."""
        watched = [event.name for event in self.equations.targets.watched]
        if self.changing or DEPENDENT_SPEEDS not in watched:
            return None
        return watched.index(DEPENDENT_SPEEDS)

    @property
    def stem(self) -> str:
        """The system's name as an identifier, for files and as a prefix of functions."""
        stem = plain_identifier(self.description.name, "system").lower()[:40]
        return (f"{stem}_system" if stem in _TAKEN else stem) + self.prefix

    @property
    def functions(self) -> list[SectionFunction]:
        """Derivatives and outputs, events and update if there are any, and partial derivatives."""
        program, d = self.program, self.description
        labels, outputs = program.derivatives.labels, [o.name for o in d.outputs]
        signs, events = "The functions whose sign changes are events", [e.name for e in d.events]
        renewed, memory = "The memory for the next step", [m.name for m in d.memory]
        found = [
            SectionFunction(
                program.derivatives, "derivatives", "Rates of the states", labels, "rates", "n_states"
            ),
            SectionFunction(
                program.outputs, "outputs", "The outputs, in their units", outputs, "out", "n_outputs"
            ),
        ]
        if program.events.results:
            found.append(SectionFunction(program.events, "events", signs, events, "out", "n_events"))
        if program.update.results:
            found.append(SectionFunction(program.update, "update", renewed, memory, "new_memory", "n_memory"))
        about = "Partial derivatives of the rates by each state, then by the time"
        for made in program.partial_rates:
            found.append(SectionFunction(made, made.name, about, made.labels, "out", "n_partials"))
        return found

    @property
    def renewed(self) -> list[str]:
        """Elements of the arrays of new memory and state, in languages with indices from 0."""
        memory, state = len(self.program.memory), len(self.program.state)
        return [f"new_memory[{i}]" for i in range(memory)] + [f"new_state[{i}]" for i in range(state)]

    @property
    def corrections(self) -> list[SectionFunction]:
        """The sections that ``normalise`` calls.

        One renews Euler parameters and states with drift of closed contacts, the other corrects coordinates
        of closed loops.
        """
        program, found = self.program, []
        if program.renewed:
            about, labels = renewal_text(program), program.normalise.labels
            size = str(len(program.renewed))
            found.append(SectionFunction(program.normalise, "renew_states", about, labels, "out", size))
        if program.corrected:
            about = "Coordinates with the gaps of closed loops made smaller, by one step of Newton's method"
            names = [self.description.states[i].name for i in program.corrected]
            found.append(SectionFunction(program.correct, "correct", about, names, "out", str(len(names))))
        return found

    def correction_sizes(self, constant: str, first: int, number: Callable[[float], str]) -> list[str]:
        """Return texts of the sizes of corrected coordinates: numbers, or ``constant`` with an index."""
        program = self.program
        return [
            number(float(size.data))
            if size.kind == "number"
            else constant.format(first + program.constants.index(size))
            for size in program.correction_sizes
        ]

    @cached_property
    def assembly(self) -> AssemblySource | None:
        """Kinematic loops to close before a run; `None` if there are none."""
        every = [self.equations, *(other.equations for other in self.others)]
        closes_anew = self.changing and bool(self.set_places) and not self.prefix
        return assembly(self.equations, every if closes_anew else None)

    @property
    def set_places(self) -> list[int]:
        """For each event and each coordinate, 1 if the event sets it and loops are then closed again, else 0.
        The list is empty if no event does so.
        """
        system, own = self.equations.system, self.equations.coordinates
        events = [{s.data.name for s in event.changes} for event in self.equations.targets.watched]
        room = max(len(one.equations.targets.watched) for one in (self, *self.others))
        events += [set()] * (room - len(events))
        found = [int(q in names) for names in events for q in own]
        layout = self.equations.reduction.layout
        closes = bool(system.constraints) and layout is not None and bool(layout.gaps)
        return found if closes and any(found) else []

    @cached_property
    def constraint_geometry(self) -> ProgramSection:
        """The elements of the matrix of the constraints."""
        layout, results = self.equations.reduction.layout, self.program.geometry.results
        elements = layout.jacobian if layout is not None else ()
        first = len(layout.gaps) + layout.rows if layout is not None else 0
        labels = [f"J {i + 1}, {j + 1}" for i, j in elements]
        return section("geometry", labels, results[first : first + len(elements)])

    @cached_property
    def start(self) -> StartSource | None:
        """The values that a run computes from the given ones; `None` if it begins with the given values."""
        return start_source(self.equations)

    @cached_property
    def masses(self) -> WeakMasses | None:
        """Pivots of the mass matrices of all configurations; `None` if no run can reach a singular one."""
        every = [self.equations, *(other.equations for other in self.others)]
        return None if self.prefix else weak_masses(every)

    @cached_property
    def physical(self) -> Physical | None:
        """Quantities that must not be negative; `None` if no parameter can make them negative."""
        return physical(self.equations)

    @cached_property
    def reference(self) -> Reference:
        """Numbers of the in-process model, for self-tests; computed on first use."""
        return reference(self.equations, self.changing)


def make_source(
    equations: DerivedEquations,
    configurations: bool | None = False,
    *,
    exchanges: bool = False,
    passes: bool = False,
    stiff: bool = False,
    sparse: bool = False,
) -> Source:
    """Return the source of equations; raise an error that names a part that cannot be exported.

    ``configurations`` states whether the program contains all configurations, if the language supports this.
    With `None` it does if events lock, unlock or set dependent speeds; with ``exchanges`` it also does if the
    loops have few enough configurations to contain them all. ``passes`` states whether programs of the
    language pass singular configurations, ``stiff`` whether they have linearly implicit methods, and
    ``sparse`` whether the equations of these methods may be sparse.
    """
    locks = any(e.lock or e.unlock for e in equations.system.events.values())
    adjusting = sets_dependent_speeds(equations)
    if configurations is None and not exchanges:
        configurations = locks or adjusting
    _check_exportable(equations, configurations)
    written = exported_equations(equations)
    if configurations is None:
        configurations = locks or adjusting or not configurations_of(written).left_out
    if configurations:
        passing = passes and loses_rank(written)
        if passing or adjusting or len(configurations_of(written)) > 1:
            return _with_configurations(written, passing, stiff)
    written = with_partial_rates(written, sparse=sparse) if stiff else written
    model = compile_equations(written, tier="quick")
    given = example_parameters(written)
    described = description(
        written, start_values(model, given), (*equations.export_remarks, *_mass_centre_remarks(written))
    )
    return Source(written, with_one_line_texts(described), tuple(given.values()), stiff=stiff)


def loses_rank(equations: DerivedEquations) -> bool:
    """Return whether the equations have the event for lost rank of the constraints."""
    return any(event.name == CONSTRAINT_RANK for event in equations.targets.watched)


def _with_configurations(equations: DerivedEquations, passing: bool, stiff: bool) -> Source:
    """Return the source of the derived configuration, with the sources of others that a run can enter."""
    table = configurations_of(equations)
    table.require_all("an export")
    inputs = equations.program.tabled, equations.program.stops

    def configuration(k: int) -> DerivedEquations:
        found = with_partial_rates(table.equations(k), sparse=False) if stiff else table.equations(k)
        return with_tables(found, *inputs) if inputs[0] else found

    first = configuration(0)
    model = compile_equations(first, tier="quick")
    given = example_parameters(first)
    start = start_values(model, given)
    described = with_one_line_texts(
        description(first, start, (*equations.export_remarks, *_mass_centre_remarks(first)))
    )
    values = tuple(given.values())
    others = []
    for k in range(1, len(table)):
        other = configuration(k)
        # No run begins in this configuration, and its loops may be open at the description's values.
        none = (0.0,) * len(other.program.state)
        own = StartValues(none, tuple(other.program.state), none, start.memory)
        others.append(
            Source(
                other,
                with_one_line_texts(description(other, own, ())),
                values,
                prefix=f"_{k}",
                passing=passing,
                stiff=stiff,
            )
        )
    return Source(first, described, values, tuple(others), passing=passing, stiff=stiff)


def exported_equations(equations: DerivedEquations) -> DerivedEquations:
    """Return equations for export: by the same formalism, with the description's speeds as states.

    Exported programs start from the values of their states. Velocities that the derivation chooses as states
    depend on mass centre and attitude, so their values would hold only for one set of parameters and
    coordinates.
    """
    if not equations.hidden_states:
        return equations
    options = {**equations.options, "named": True}
    return derive(equations.system, equations.formalism, configuration=equations.configuration, **options)


def _mass_centre_remarks(equations: DerivedEquations) -> tuple[str, ...]:
    """Return remarks on initial values that follow from a mass centre."""
    start = start_source(equations)
    if start is None:
        return ()
    names = {place: s.data.name for s, (array, place) in start.places.items() if array == "state"}
    found: dict[str, list[str]] = {}
    for i, owner in start.placed.items():
        found.setdefault(owner, []).append(names[i])
    return tuple(
        f"{', '.join(own)} follow from start_mass_centre of '{owner}': a run does not give them."
        for owner, own in found.items()
    )


def _check_exportable(equations: DerivedEquations, configurations: bool | None) -> None:
    system = equations.system
    equations.check_use("export")
    positions = [c.position for c in system.constraints.values() if c.position is not None]
    closing = {s.data.name for s in symbols(*positions)}
    for event in system.events.values():
        locks = bool(event.lock or event.unlock)
        if configurations is not False and locks:
            if moved := _speeds_set_on_release(event, system):
                where = " of systems with constraints" if system.constraints else ""
                raise ArmillaryError(
                    f"event '{event.name}' releases {', '.join(moved)} and sets it at once, which exported "
                    f"code{where} cannot do: set it in a later event, or run in the process"
                )
        elif locks:
            raise ArmillaryError(
                f"event '{event.name}' locks or unlocks joints, which needs other equations during a "
                "run; exports contain all of them unless configurations=False: leave out this option or "
                "the event"
            )
        for changed in event.changes if system.constraints else ():
            name, place = changed.data.name, changed.data.role == "coordinate"
            if place and not locks:
                continue
            if name in equations.dependents and adjusts(event, equations, equations.coordinates):
                if configurations is not False:
                    continue
                raise ArmillaryError(
                    f"event '{event.name}' sets '{name}', which depends on other speeds; exported programs "
                    "do that only with a table of configurations: leave out configurations=False"
                )
            if place or name in closing or name in equations.dependents:
                raise ArmillaryError(
                    f"event '{event.name}' sets '{name}' in a system with constraints, whose loops must then "
                    "be closed again; exported code does that only for speeds that a motion determines and, "
                    "with speeds as states, for coordinates that an event sets without a lock: leave out "
                    "that event, or run in the process"
                )


def _speeds_set_on_release(event: EventRecord, system: Description) -> list[str]:
    """Return the speeds that an event both sets and releases, but that a program cannot set then.

    A program can set the speeds that `speed_settings` lists, if the system has no constraints.
    """
    released = [u for e, u, _ in speed_settings(system) if not system.constraints and e is event]
    return [s.data.name for s in event.changes if s in event.unlock and s not in released]


class Identifiers:
    """The names of a program's symbols in a language: the same in all functions."""

    def __init__(self, source: Source, printer: Printer, reserved: tuple[str, ...] = ()) -> None:
        program = source.program
        words = {*printer.keywords, *ARGUMENTS, *reserved, *(printer.functions.values())}
        words |= reserved_names(program)
        self.namer = Namer(words, folded=printer.folded, longest=printer.longest_name)
        self.of: dict[Expr, str] = {program.time: "t"}
        constants = [c for c in program.constants if c not in program.parameters]
        given = [] if source.start is None else [s for s in source.start.places if s not in program.state]
        for s in (*program.parameters, *program.state, *program.memory, *constants, *given):
            if s not in self.of:
                self.of[s] = self.namer.fresh(s.data.name)
        description = source.description
        labels = Namer(printer.keywords, folded=printer.folded, longest=printer.longest_name)
        self.outputs = tuple(labels.fresh(o.name) for o in description.outputs)
        labels = Namer(printer.keywords, folded=printer.folded, longest=printer.longest_name)
        self.events = tuple(labels.fresh(e.name) for e in description.events)


def renewal_text(program: Program) -> str:
    """Return the quantities that are renewed after a step, in words."""
    units = ["Euler parameters divided by their length"] if program.quaternions else []
    drift = ["coordinates and speeds without the drift of closed contacts"]
    text = ", ".join([*units, *(drift if len(program.renewed) > 4 * len(program.quaternions) else [])])
    return text[0].upper() + text[1:]


def reserved_names(program: Program) -> set[str]:
    """Return the names of functions that the printer of a program creates."""
    blocks = {name for b in blocks_of(program) for name in block_names(b, _CONFIGURATIONS)}
    return blocks | {f"table_{k + 1}" for k in range(table_count(program))}


def table_count(program: Program) -> int:
    """Return the number of lookup tables that a program calls."""
    calls = (node.data for section in program.sections() for node in section.nodes if node.kind == "call")
    return len({table for table in calls if isinstance(table, Piecewise)})


def blocks_of(program: Program) -> set[BlockFunction]:
    """Return the block functions that a program calls."""
    return {node.data for section in program.sections() for node in section.nodes if is_block(node)}


class Sections:
    """All sections of a program as text, under one set of identifiers."""

    def __init__(self, source: Source, printer: Printer, reserved: tuple[str, ...] = ()) -> None:
        self.source, self.printer = source, printer
        self.identifiers = Identifiers(source, printer, reserved)
        program = source.program
        self._given = {s: ("parameters", i) for i, s in enumerate(program.parameters)}
        self.places: dict[Expr, Place] = {program.time: ("", 0)}
        self.places |= {s: ("state", i) for i, s in enumerate(program.state)}
        self.places |= {s: ("memory", i) for i, s in enumerate(program.memory)}
        self.places |= {s: ("constants", i) for i, s in enumerate(program.constants)}

    @cached_property
    def _moving(self) -> dict[Expr, Place]:
        """Array elements of the symbols in sections of changes, whose state is a motion.

        The symbols of the motion also get names.
        """
        program, names = self.source.program, self.identifiers
        for s in program.motion:
            if s not in names.of:
                names.of[s] = names.namer.fresh(s.data.name)
        return {**self.places, **{s: ("state", i) for i, s in enumerate(program.motion)}}

    def body(self, section: ProgramSection) -> SectionText:
        """Return a section of this program as text."""
        places: Mapping[Expr, Place] = self.places
        start, physical = self.source.start, self.source.physical
        if any(section is change for change in self.source.program.changes):
            places = self.places if self._moving and section.name == "leave" else self._moving
        elif section is self.source.program.precompute or (physical and section is physical.section):
            places = self._given
        elif start is not None and section is start.section:
            places = start.places
        elif self.source.masses is not None and section is self.source.masses.section:
            places = {**self.places, **self._given}
        return section_text(section, self.printer, places, self.identifiers.of, self.identifiers.namer)


# Features of systems, which select parts of templates.


def features(source: Source) -> frozenset[str]:
    """Return the features of a system, for `fill` of files.py."""
    program, d, every = source.program, source.description, (source, *source.others)
    found = {
        "quaternions": bool(program.quaternions),
        "renewed": bool(program.renewed),
        "drift": len(program.renewed) > 4 * len(program.quaternions),
        "corrected": bool(program.corrected),
        "loops": source.assembly is not None,
        "jumps": bool(program.stops),
        "physical": source.physical is not None,
        "masses": source.masses is not None,
        "start": source.start is not None,
        "placed": source.start is not None and bool(source.start.placed),
        "memory": bool(program.memory),
        "clocks": any(m.period is not None for m in d.memory),
        "guarded": source.guard is not None,
        "guard": any(e.guard for e in d.events),
        "parameters": bool(d.parameters),
        "configurations": source.changing,
        "passing": source.passing,
        "settings": bool(source.changing and speed_settings(source.equations.system)),
        "reclosing": bool(source.set_places) and not source.prefix,
        "landing_events": source.changing,
        "implicit": source.stiff,
        "differentiated": all(one.program.partial_rates for one in every),
        "sparse": program.structure is not None,
        "driven": source.stiff and bool(program.tabled),
    }
    return solver_features([one.equations for one in every]).union(
        name for name, there in found.items() if there
    )


def solver_features(configurations: Sequence[DerivedEquations]) -> frozenset[str]:
    """Return the features of the solver that the configurations of a system need, in every language."""
    programs = [equations.program for equations in configurations]
    changes = {change.name for program in programs for change in program.changes}
    found = {
        "events": any(program.events.results for program in programs),
        "update": any(program.update.results for program in programs),
        "normalise": any(program.normalises for program in programs),
        "contacts": bool(configurations[0].system.contacts),
        "locking_events": any(equations.configuration.locked for equations in configurations),
        "adjusting": ADJUST in changes,
        "choices": any(w.name == DEPENDENT_SPEEDS for one in configurations for w in one.targets.watched),
        "rated": "ratings" in changes,
    }
    return frozenset(name for name, there in found.items() if there)
