"""Functions of a loop under construction, with access to a run: fields, vectors, and the generated code.

Every function here takes the addresses of a run's `Control` and workspace first. In their code

    f["t"]              is a field of Control, read or written
    f.vector("state")   a vector in the workspace
    f.size("events")    a size
    f.derivatives(…)    a call of the generated function

A `Stepper` is such a function that makes steps of one run, or of several on lanes. The package solver
describes a step; its machine code is written through any `Stepper`. Sums over states are defined here, with
the same order of their terms for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from armillary.llvm.building.builder import Code, Operand, Span, Value
from armillary.llvm.building.emitter import (
    ADDRESS,
    NOTHING,
    REAL,
    WHOLE,
    Callee,
    Function,
    FunctionType,
    Raw,
    constant,
)
from armillary.llvm.building.routines import RecordFunction, RecordModule
from armillary.program.sparse_rates import TABLES
from armillary.solver import tables
from armillary.solver.llvm.layout import (
    ADDRESSES,
    FIELDS,
    FUNCTIONS,
    HEAD,
    INSTALLED,
    REALS,
    SECTIONS,
    LoopShape,
)

SHORT = "i32"  # integers of tables that every step reads: half the memory of other whole numbers


class Stepper(Code):
    """A function under construction with access to a run: its sizes, its numbers, and its derivatives."""

    shared: Collection[str] = ()  # on lanes: numbers that are equal in all runs that go on

    def structure_address(self) -> Raw:
        """Return the address of the tables of sparse equations."""
        raise NotImplementedError

    def structure(self, table: str, index: Value) -> Value:
        """Return an entry of a table of sparse equations. The array of tables begins with their offsets."""
        if table not in self.structure_tables:
            with self.builder.on_entry():
                head = self.structure_address()
                first = self._structure_entry(head, constant(WHOLE, TABLES.index(table)))
                self.structure_tables[table] = self.builder.place(head, first, SHORT)
        return Value(self, self._structure_entry(self.structure_tables[table], index.raw))

    def _structure_entry(self, table: Raw, index: Raw) -> Raw:
        found = self.builder.load(self.builder.place(table, index, SHORT), SHORT)
        return self.builder.convert("sext", found, WHOLE)

    @cached_property
    def structure_tables(self) -> dict[str, Raw]:
        """Addresses of tables of sparse equations that the code has read."""
        return {}

    @property
    def states(self) -> int:
        raise NotImplementedError

    def each_state(self) -> Iterator[Value]:
        """Yield the indices of all states, one or several at a time, in a loop."""
        with self.each(self.states) as m:
            yield m

    def total_of_states(self, term: Callable[[Value], Value]) -> Value:
        """Return a sum over all states."""
        return self.total(self.states, term)

    def __getitem__(self, name: str) -> Value:
        raise NotImplementedError

    def __setitem__(self, name: str, value: Operand) -> None:
        raise NotImplementedError

    def keeps(self, name: str) -> bool:
        """Return whether the loop stores a number of the run."""
        raise NotImplementedError

    def vector(self, name: str) -> Span:
        raise NotImplementedError

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        raise NotImplementedError

    def normalise_where(self, where: Value | None, t: Value, state: str) -> None:
        """Normalise a vector, on lanes only where a condition holds."""
        raise NotImplementedError

    def rates(self, name: str, m: Value) -> Value:
        """Return element m of a vector of derivatives computed just before."""
        return self.vector(name)[m]


def not_finite(f: Stepper, *vectors: Span) -> Value:
    """Return whether any number in these vectors of states is not finite."""
    found = f.total_of_states(lambda m: 0.0 * sum((v[m] for v in vectors[1:]), vectors[0][m]))
    return found.differs(0.0)


def squares(f: Stepper, values: Span) -> Value:
    """Return the sum of (value / tolerated error)² over the states."""
    tolerated = f.vector("tolerated")

    def square(m: Value) -> Value:
        ratio = values[m] / tolerated[m]
        return ratio * ratio

    return f.total_of_states(square)


_ORDINARY = (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS)  # t, state, constants, memory, result
SIGNATURES = {name: FunctionType(NOTHING, _ORDINARY) for name in FUNCTIONS} | {
    "fire": FunctionType(NOTHING, (WHOLE, *_ORDINARY, ADDRESS)),
    "normalise": FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS)),
    "evaluate_end": FunctionType(NOTHING, (*_ORDINARY, ADDRESS)),
}


class LoopModule(RecordModule):
    """The module of one loop: its shape, its workspace and its functions.

    If `linked`, it calls the generated functions by name, to be linked in, instead of by address from
    Control.
    """

    def __init__(self, shape: LoopShape, linked: bool = False) -> None:
        super().__init__(FIELDS, REALS, ADDRESSES)
        self.shape = shape
        self.linked = linked
        self.offsets = {} if shape.general else shape.layout()[0]
        self.sizes = {} if shape.general else shape.sizes()
        # In a general loop, for each vector: the number of vectors of each size before it.
        self.before: dict[str, list[tuple[str, int]]] = {}
        passed: Counter[str] = Counter()
        for name, size in shape.lengths().items():
            self.before[name] = list(passed.items())
            passed[size] += 1

    def function(
        self, name: str, result: str = NOTHING, arguments: tuple[str, ...] = (), *, rare: bool = False
    ) -> LoopFunction:
        return LoopFunction(self, self.write_function(name, result, arguments, rare))


class LoopFunction(RecordFunction, Stepper):
    """One function of a loop under construction."""

    def __init__(self, program: LoopModule, function: Function) -> None:
        super().__init__(program, function)
        self.shape = program.shape
        self._sizes: dict[str, Value] = {}
        self._vectors: dict[str, Span] = {}
        self._tables: dict[str, Raw] = {}

    def size(self, name: str) -> Value:
        """Return the length of vectors of one kind, or another whole number that depends on the model."""
        if not self.shape.general:
            return self.whole(self.program.sizes[name])
        if name == "used":  # changes with the configuration
            return self["used"]
        if name not in self._sizes:
            with self.builder.on_entry():
                if name == "states":
                    self._sizes[name] = self.size("fours") * 4
                elif name == "partials":
                    states = self.size("states")
                    self._sizes[name] = states * (states + 1)
                elif name == "entry_values":
                    self._sizes[name] = self.size("entries") + self.size("states")
                elif name in HEAD:
                    figures = Span(self, self["figures"].raw, single=True)
                    self._sizes[name] = figures[HEAD.index(name)].to_whole()
                else:
                    self._sizes[name] = self["fours" if name == "fours" else f"n_{name}"]
        return self._sizes[name]

    @property
    def states(self) -> int:
        return self.shape.states

    def each_state(self) -> Iterator[Value]:
        return self.each_pair(self.size("fours")) if self.shape.general else super().each_state()

    def total_of_states(self, term: Callable[[Value], Value]) -> Value:
        return (
            self.total_of_fours(self.size("fours"), term)
            if self.shape.general
            else super().total_of_states(term)
        )

    def vector(self, name: str) -> Span:
        if name == "row":  # the next free row of the output
            return Span(self, self.outside("samples").at(self["filled"] * self.size("outputs")))
        if not self.shape.general:
            offset = self.whole(self.program.offsets[name])
            return Span(self, self.builder.place(self.workspace, offset.raw, REAL))
        if name not in self._vectors:
            with self.builder.on_entry():
                before = [self.size(size) * n for size, n in self.program.before[name]]
                offset = sum(before, self.whole(0))
                self._vectors[name] = Span(self, self.builder.place(self.workspace, offset.raw, REAL))
        return self._vectors[name]

    def table(self, name: str) -> Span:
        """Return a table of configurations. One array holds the offsets of all tables, then the tables. The
        address is found on entry to the function, since loops over states or events read many entries.
        """
        if name not in self._tables:
            with self.builder.on_entry():
                figures = Span(self, self["figures"].raw)
                first = figures[HEAD.index(f"first {name}")].to_whole()
                self._tables[name] = figures.at(first)
        return Span(self, self._tables[name])

    def structure_address(self) -> Raw:
        return self["structure"].raw

    def rates(self, name: str, m: Value) -> Value:
        found = self.vector(name)
        return found.one_by_one(m) if self.shape.general else found[m]

    # The generated code

    def _call_generated(self, name: str, *arguments: Raw) -> None:
        kind = SIGNATURES[name]
        if self.program.linked:
            callee = self.program.module.declare_function(name, kind).callee
        else:
            callee = Callee(kind, self[name].raw.name)
        self.builder.call(callee, arguments)

    def _ordinary(self, name: str, t: Value, state: Span, memory: str, result: Raw) -> None:
        memory_address = self.vector(memory).address
        self._call_generated(name, t.raw, state.address, self["constants"].raw, memory_address, result)

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        self._ordinary("derivatives", t, state, "memory", result.address)
        self["evaluations"] = self["evaluations"] + 1

    def evaluate_end(self, t: Value, state: Span, result: Span) -> None:
        """Normalise a state; evaluate its rates, and the event functions into the vector g."""
        given = self["constants"].raw, self.vector("memory").address
        results = result.address, self.vector("g").address
        self._call_generated("evaluate_end", t.raw, state.address, *given, *results)
        self["evaluations"] = self["evaluations"] + 1

    def partial_rates(self, t: Value, state: Span, result: Span) -> None:
        """Evaluate ∂f/∂y, column after column, then ∂f/∂t."""
        self._ordinary("partial_rates", t, state, "memory", result.address)

    def outputs(self, t: Value, state: Span, memory: Span, result: Span) -> None:
        if not self.shape.outputs:
            return
        constants, place = self["constants"].raw, result.address
        self._call_generated("outputs", t.raw, state.address, constants, memory.address, place)
        if self.shape.general:
            self.expect_stores(result, self.size("outputs"))

    def events(self, t: Value, state: Span) -> None:
        """Evaluate the event functions at a state, into the vector g."""
        self._ordinary("events", t, state, "memory", self.vector("g").address)

    def update(self, t: Value, state: Span) -> None:
        self._ordinary("update", t, state, "memory", self.vector("new_memory").address)

    def fire(self, event: Value, t: Value, state: Span, new_state: Span) -> None:
        memory, new_memory = self.vector("memory").address, self.vector("new_memory").address
        constants = self["constants"].raw
        self._call_generated(
            "fire", event.raw, t.raw, state.address, constants, memory, new_memory, new_state.address
        )

    def solve(self, t: Value, work: Span, answer: Span) -> None:
        """Compute accelerations and multipliers of redundant coordinates."""
        self._ordinary("solve", t, work, "memory", answer.address)
        self["evaluations"] = self["evaluations"] + 1

    def residuals(self, t: Value, work: Span, gaps: Span) -> None:
        """Evaluate the gaps of all constraints on redundant coordinates, then the gaps of their speeds."""
        self._ordinary("residuals", t, work, "memory", gaps.address)

    def normalise(self, t: Value, state: Span) -> None:
        """Correct the state so that its constraints hold: unit Euler parameters, closed loops."""
        if self.shape.normalise:
            memory = self.vector("memory").address
            self._call_generated("normalise", t.raw, state.address, self["constants"].raw, memory)

    def of_configuration(self, name: str, c: Value, t: Value, given: Span, result: Span) -> None:
        """Call a section of the changes of a configuration."""
        table, first = self.outside("sections"), c * len(SECTIONS)
        own = {"ratings": "rating_constants", "geometry": "constants"}.get(name, "change_constants")
        function, constants = (
            self.builder.load(table.at(first + SECTIONS.index(part)), ADDRESS) for part in (name, own)
        )
        memory = self.vector("memory").address
        arguments = (t.raw, given.address, constants, memory, result.address)
        self.builder.call(Callee(FunctionType(NOTHING, _ORDINARY), function.name), arguments)


# Changes of configuration. A run holds, for each configuration, addresses of its sections (`SECTIONS` of
# layout.py) and figures (`ChangeShape.figures`). Vectors also have elements for states and events that the
# present configuration lacks: these states and their rates are zero, and the event functions are one.

Table = Callable[[LoopFunction, Value], Value]


def figure(f: LoopFunction, name: str, index: Value) -> Value:
    """Return an entry of a table."""
    return f.table(name)[index]


def _entry_reader(table: tables.Table) -> Table:
    """Return a function that reads an entry, as a real, a whole number or a truth value."""

    def entry(f: LoopFunction, i: Value) -> Value:
        place = f["configuration"] * f.size(table.sizes[0]) + i if table.present else i
        found = figure(f, table.name, place)
        if table.kind == "real":
            return found
        return found.differs(0.0) if table.kind == "truth" else found.to_whole()

    return entry


def _figure_reader(name: str) -> Table:
    return lambda f, i: figure(f, name, i)


# Readers of the tables, by their names in the small language.
CONFIGURATION_TABLES: dict[str, Table] = {
    **{table.word: _entry_reader(table) for table in tables.TABLES},
    "LOCKED": _entry_reader(tables.Table("locked_in", "truth", ("lockable",), present=True)),
    **{name.upper(): _figure_reader(name) for name in tables.ACROSS},
    "AT_END": lambda f, i: i.equals(tables.AT_END),
}


def emit_install(program: LoopModule) -> LoopFunction:
    """Emit `install(c)`, which gives the run the sections of configuration c. The state stays: if no
    configuration fits, the run ends in the previous one at this state; otherwise `stage` replaces it.
    """
    shape = program.shape
    f = program.function("install", arguments=(WHOLE,), rare=True)
    c, table = f.argument(2), f.outside("sections")
    f["configuration"] = c
    for name in INSTALLED:
        address = f.builder.load(table.at(c * len(SECTIONS) + SECTIONS.index(name)), ADDRESS)
        f[name] = Value(f, address)
    used = figure(f, "used_states", c).to_whole()
    f["used"] = used
    common = ("trial", "stage", "base", "finish", "point", "k0", "k_end", "fast", "image", "right_side")
    there, own = shape.lengths(), [name for name in shape.method_vectors if not name.startswith("nest")]
    vectors = [name for name in dict.fromkeys((*common, "time_rate", "k_before", *own)) if name in there]
    with f.each(f.size("states")) as m, f.when(m >= used):
        for name in vectors:
            f.vector(name)[m] = 0.0
    if shape.partitioned and shape.adaptive:
        with f.when(f["by_state"].equals(1)), f.each(f.size("states")) as m:
            f.vector("atol")[m] = f.outside("tolerances")[c * f.size("states") + m]
    watched = figure(f, "watched_events", c).to_whole()
    with f.each(f.size("events")) as k, f.when(k >= watched):
        f.vector("g")[k] = 1.0
    f.give()
    return f
