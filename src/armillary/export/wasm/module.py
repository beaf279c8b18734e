"""One system as a WebAssembly module: its program, its integration loops, its poses, and a description.

All code comes from the LLVM text that Armillary compiles for its own process, so a module computes the same
numbers. It exports its memory and these functions:

    precompute(parameters, constants)                      parameters in the model's own units
    pose_precompute(parameters, constants)                 constants of the poses, after the other constants
    derivatives(t, state, constants, memory, out)
    outputs(t, state, constants, memory, out)              a row: outputs, state, poses relative to parents
    events, update(t, state, constants, memory, out)       if there are events, or periodic updates
    normalise(t, state, constants, memory)                 if there are Euler parameters or loops
    geometry(t, state, constants, memory, out)             if there are loops: gaps, J, N and sizes
    close_loops(record, workspace)                         if there are loops
    start(t, given, parameters, memory, out)               if a run's start is computed: memory, then state
    physical(t, given, parameters, memory, out)            if parameters could make a mass negative
    drive_<method>(control, workspace) -> reason of return    ``solver/llvm/loop.py``
    choose_start_<method>(control, workspace)              if a run can change its configuration

All arrays are at fixed addresses, which the description lists; nothing is allocated.

A run changes its configuration as in Armillary: the loop reads a table with addresses of the configurations'
functions, and tables of numbers (solver/llvm/functions.py). Functions of the first configuration have
the names above; names of functions of configuration 3 end in ``_in_3``. Each configuration has its own
constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.block_functions import is_block
from armillary.errors import ArmillaryError
from armillary.export.text.files import example_timing
from armillary.export.text.source import Source, features
from armillary.export.text.start import AssemblySource
from armillary.llvm.building.builder import Span, Value, power_text
from armillary.llvm.building.emitter import ADDRESS, NOTHING, REAL, FunctionType
from armillary.llvm.building.routines import RecordFunction, RecordModule
from armillary.llvm.jit import holds_addresses
from armillary.llvm.module import workspace_length
from armillary.llvm.sections import for_lanes, llvm_text, section_text, start_text
from armillary.llvm.web_assembly import Linked, web_assembly
from armillary.mechanics.contact.blocks import ENTRIES
from armillary.program.configurations import IMPULSE
from armillary.program.pieces import LENGTH, moving_bodies, pose_expressions, with_functions
from armillary.program.program import Program, ProgramSection
from armillary.runtime.integrators.compiled_run import sparse_sizes
from armillary.runtime.integrators.settings import Functions
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.run_changes import ChangeFigures, change_figures, groups_of
from armillary.solver.llvm.contact_code import contact_module, contact_symbol
from armillary.solver.llvm.layout import FIELDS, PASSED, REALS, SECTIONS, LoopShape, Phase
from armillary.solver.llvm.loop import emit_loop
from armillary.solver.llvm.machine_code import SolverCode
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.methods.registry import METHODS, usual_method
from armillary.untyped import DataTable

GEOMETRY = "constraint_geometry"
_CONSTANTS = ("constants", "change_constants", "rating_constants")


def function_names(text: str) -> list[str]:
    """Return the names of the exported functions that LLVM text defines."""
    return re.findall(r"^define void @(\w+)\(", text, re.M)


class ModuleConfigurations:
    """All configurations of a system, in the order of their numbers."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.every = [source, *source.others]

    @property
    def count(self) -> int:
        return len(self.every)

    @staticmethod
    def suffix(c: int) -> str:
        """Return the suffix of the names of a configuration's functions and arrays."""
        return f"_in_{c}" if c else ""

    @cached_property
    def figures(self) -> ChangeFigures:
        """Sizes and tables of numbers."""
        strikes = [any(s.name == IMPULSE for s in one.program.changes) for one in self.every]
        every = [one.equations for one in self.every]
        return change_figures(every, strikes, groups_of(every), listed=True, passing=self.source.passing)

    def lengths(self, more: int) -> dict[str, int]:
        """Return the lengths of the arrays of all configurations, each with ``more`` constants for poses."""
        return {
            **{
                f"constants{self.suffix(c)}": len(s.program.constants) + more
                for c, s in enumerate(self.every)
            },
            "sections": self.count * len(SECTIONS),
            "figures": len(self.figures.numbers),
        }

    def geometry_text(self) -> str:
        """LLVM text of the geometry of the first configuration, under the name that loop closure calls."""
        program = self.source.program
        return section_text(program, replace(program.geometry, name=GEOMETRY))

    @cached_property
    def texts(self) -> list[str]:
        """LLVM texts of all configurations but the first; the function of outputs is named ``columns``."""
        found = []
        for c, one in enumerate(self.every[1:], 1):
            text = llvm_text(for_lanes(one.program, 2)).replace("@outputs(", "@columns(")
            for name in function_names(text):
                text = text.replace(f"@{name}(", f"@{name}{self.suffix(c)}(")
            found.append(text)
        return found

    def functions(self, first: Sequence[str]) -> list[dict[str, str]]:
        """Return, for each configuration, the names of its functions by their names in `SECTIONS`.

        ``first`` has the names of the first configuration's functions.
        """
        known = {*first, "outputs", GEOMETRY, *(name for text in self.texts for name in function_names(text))}
        found = []
        for c in range(self.count):
            names = {s: f"{s}{self.suffix(c)}" for s in SECTIONS if s not in _CONSTANTS}
            if not c and self.source.passing:
                names["geometry"] = GEOMETRY
            found.append({s: name for s, name in names.items() if name in known or s == "outputs"})
        return found

    def addresses(self, functions: Sequence[Mapping[str, str]], places: Mapping[str, int]) -> list[int]:
        """Return the table `SECTIONS` of all configurations: function numbers, and addresses of constants.

        A number is the index in the table of functions, from 1 on; 0: no function.
        """
        number = {name: k for k, name in enumerate(self.called_functions(functions), 1)}
        found = []
        for c, own in enumerate(functions):
            at = places[f"constants{self.suffix(c)}"]
            found += [at if s in _CONSTANTS else number[own[s]] if s in own else 0 for s in SECTIONS]
        return found

    @staticmethod
    def called_functions(functions: Sequence[Mapping[str, str]]) -> list[str]:
        """Return all functions that the loop calls by their addresses."""
        return [name for own in functions for name in own.values()]

    def description(self, functions: Sequence[Mapping[str, str]], places: Mapping[str, int]) -> DataTable:
        """Return the data for a host, ready for JSON; only nonzero figures are listed."""
        numbers = self.figures.numbers
        there = np.flatnonzero(numbers)
        return {
            "sections": self.addresses(functions, places),
            "figures": {"length": len(numbers), "places": there.tolist(), "values": numbers[there].tolist()},
            "own_events": self.figures.shape.own_events,
            "each": [
                {
                    "suffix": self.suffix(c),
                    "locked": sorted(one.equations.configuration.locked),
                    "dependent": list(one.equations.dependents),
                    "states": len(one.program.state),
                    "constants": len(one.program.constants),
                }
                for c, one in enumerate(self.every)
            ],
        }


# Closing of kinematic loops in a module, from the functions of solver/assembly.py.

_GEOMETRY = FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS))
_ADDRESSES = ("loop_tables", "constants", "memory")


class ModuleAssembly:
    """The closing of a system's loops in its module: code, arrays, and the data for a host."""

    def __init__(self, loops: AssemblySource) -> None:
        self.loops, self._solver = loops, loops.solver
        scalars = {f.name: f.type for f in self._solver.fields if f.type in ("real", "whole")}
        self.fields = {name: k for k, name in enumerate((*scalars, *_ADDRESSES))}
        self.reals = [name for name, kind in scalars.items() if kind == "real"]
        self.offsets, self.room = {}, 0
        for f in self._solver.fields:
            if f.type in loops.lengths:
                self.offsets[f.name] = self.room
                self.room += loops.lengths[f.type]
        tables = {**loops.whole_tables(0), **loops.truth_tables}
        self._wholes, self._begin, self.tables = set(loops.whole_tables(0)), {}, list[int]()
        for name, numbers in tables.items():
            self._begin[name] = len(self.tables)
            self.tables += numbers

    @property
    def lengths(self) -> dict[str, int]:
        """Number of doubles in each array."""
        return {
            "loop_record": len(self.fields), "loop_workspace": self.room, "loop_tables": len(self.tables)
        }  # fmt: skip

    def text(self) -> str:
        """LLVM text of close_loops(record, workspace), which calls the geometry of the module."""
        program = RecordModule(self.fields, self.reals, _ADDRESSES, self.offsets)
        solver = self._solver
        code = SolverCode(
            program, solver, sizes=self.loops.sizes | self.loops.lengths, known={},
            tables={name: self._table(name) for name in self._begin}, model={"loop_figures": _call_geometry},
            given={}, rare=solver.functions.keys(),
        )  # fmt: skip
        code.function("close_loops").function.linkage = ""
        return str(program.module).replace("@armillary_close_loops(", "@close_loops(")

    def _table(self, name: str) -> Callable[[RecordFunction, Value], Value]:
        def entry(f: RecordFunction, k: Value) -> Value:
            found = f.outside("loop_tables")[k + self._begin[name]]
            return found.to_whole() if name in self._wholes else found.differs(0.0)

        return entry

    def description(self) -> DataTable:
        """Return the data for a host, as JSON."""
        kept = ("gaps", "coordinates", "first", "redundant")
        own = {name: value for name, value in asdict(self.loops).items() if name in kept}
        arrays = {"record": self.fields, "offsets": self.offsets, "room": self.room, "tables": self.tables}
        return own | arrays


def _call_geometry(f: RecordFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    t, place = given
    assert isinstance(t, Value) and isinstance(place, Span)
    arguments = (t.raw, place.address, f["constants"].raw, f["memory"].raw, targets[0].address)
    f.builder.call(f.program.module.declare_function("geometry", _GEOMETRY).callee, arguments)


# The contact solver of a module: the code that Armillary compiles, linked with the sections that call it.

_REAL = 8


def with_contacts(texts: Sequence[str]) -> list[str]:
    """Return LLVM texts, followed by the text of the contact solver if any of them calls it."""
    found = list(texts)
    for name, (entry, *_) in ENTRIES.items():
        if any(f"@{name}_" in text for text in texts):
            symbol = contact_symbol(name)
            found = [text.replace(f"@{symbol}(", f"@armillary_{entry}(") for text in found]
    return found if found == list(texts) else [*found, str(contact_module().module)]


def contact_stack(sections: Iterable[ProgramSection]) -> int:
    """Return the bytes of stack for block functions in the section that needs most."""
    return _REAL * max(
        (sum(workspace_length(n.data) for n in s.nodes if is_block(n)) for s in sections), default=0
    )


ROWS = 256  # most rows that one call of a loop fills
METHODS_OF_MODULES = (usual_method(True), "dopri5")  # one with a fixed step, one without, for animations


def checked_methods(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of methods, checked against the methods that a module can have."""
    known = [m.name for m in exported_methods(adaptive=True, stiff=True)]
    return tuple(checked_names(names, known, "a module has no method", listed=True))


@dataclass(frozen=True)
class ModuleLayout:
    """Byte addresses of the arrays of a module, and the end of the last array."""

    places: dict[str, int]
    end: int


class WasmModule:
    """A system's module and its description."""

    def __init__(self, source: Source, methods: Sequence[str] = METHODS_OF_MODULES) -> None:
        self.source, self.equations, self.program = source, source.equations, source.program
        self.methods = checked_methods(methods)
        self.bodies = moving_bodies(self.equations)
        self._poses = with_functions(
            self.equations, {"poses": pose_expressions(self.equations)}, search=False
        )
        assert self._poses.program.parameters == self.program.parameters
        self.columns = len(source.description.outputs)
        self.configurations = ModuleConfigurations(source) if source.changing else None
        self.assembly = None if source.assembly is None else ModuleAssembly(source.assembly)
        made = self.configurations and self.configurations.figures
        self.states = made.states if made else len(self.program.state)  # states that arrays have room for
        self.row = self.columns + self.states + LENGTH * len(self.bodies)

    # ------------------------------------------------------------ code

    @cached_property
    def _text(self) -> str:
        """LLVM text of the program."""
        loops = self.source.assembly
        geometry = self.program.geometry if loops is None else loops.section
        text = llvm_text(for_lanes(replace(self.program, geometry=geometry), 2))
        return text.replace("@outputs(", "@columns(")

    @cached_property
    def _defined(self) -> list[str]:
        """Names of the functions that the program's text defines."""
        return function_names(self._text)

    @cached_property
    def linked(self) -> Linked:
        """The compiled and linked module."""
        program = self.program
        text, defined = self._text, self._defined
        if holds_addresses(text):
            raise ArmillaryError(
                f"'{self.equations.system.name}' calls a function by its address in this process, which a "
                "module for browsers cannot; write the function in Python, with s.function, or as a table"
            )
        poses = llvm_text(self._poses.program)
        for name in ("precompute", "derivatives", "outputs"):
            poses = poses.replace(f"@{name}(", f"@pose_{name}(")
        texts = [text, poses, self._row_text(program), power_text(1)[1]]
        if more := self.configurations:
            texts += more.texts
            texts += [more.geometry_text()] if self.source.passing else []
            texts += [self._row_text(one.program, more.suffix(c)) for c, one in enumerate(more.every) if c]
        if (start := self.source.start) is not None:
            texts.append(start_text(start.section, start.places, program.time))
        if (physical := self.source.physical) is not None:
            given = {s: ("parameters", i) for i, s in enumerate(program.parameters)}
            texts.append(start_text(physical.section, given, program.time))
        if self.assembly is not None:
            texts.append(self.assembly.text())
        for name, shape in self.shapes.items():
            loop = str(emit_loop(shape, linked=more is None).module)
            for function in re.findall(r"^define  \w+ @armillary_(\w+)\(", loop, re.M):
                loop = loop.replace(f"@armillary_{function}(", f"@{function}_{name}(")
            texts.append(loop)
        exports = ["precompute", "pose_precompute", "derivatives", "outputs"]
        exports += [name for name in ("events", "update", "normalise", "geometry") if name in defined]
        exports += ["close_loops"] if self.assembly is not None else []
        exports += ["start"] if start is not None else []
        exports += ["physical"] if physical is not None else []
        exports += [f"drive_{name}" for name in self.methods]
        table: list[str] = []
        if more:
            functions = more.functions(defined)
            table = more.called_functions(functions)
            for c, own in enumerate(functions[1:], 1):
                wanted = ("derivatives", "outputs", "normalise")
                exports += [f"precompute{more.suffix(c)}", *(own[name] for name in wanted if name in own)]
            exports += [f"choose_start_{name}" for name in self.methods]
        every = [program, *(one.program for one in self.source.others)]
        sections = [section for one in every for section in one.sections()]
        sections += [] if start is None else [start.section]
        apart = ("derivatives", "columns", "poses", "events", "update", "fire", "normalise", "outputs")
        stack = contact_stack(sections)
        return web_assembly(
            with_contacts(texts), exports, room=self._room, apart=apart, table=table, stack=stack
        )

    def _row_text(self, program: Program, suffix: str = "") -> str:
        """Return the LLVM text of the function that computes a row of a configuration.

        All configurations use the same function of poses, since these depend only on coordinates, the first
        entries of every state.
        """
        states, n = self.states, len(program.constants)
        return f"""
declare void @columns{suffix}(double, ptr, ptr, ptr, ptr)
declare void @poses(double, ptr, ptr, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @outputs{suffix}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out) nounwind {{
  call void @columns{suffix}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out)
  %own = getelementptr inbounds double, ptr %out, i64 {self.columns}
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %own, ptr align 8 %state, i64 {_REAL * states}, i1 false)
  %poses = getelementptr inbounds double, ptr %own, i64 {states}
  %known = getelementptr inbounds double, ptr %constants, i64 {n}
  call void @poses(double %t, ptr %state, ptr %known, ptr %memory, ptr %poses)
  ret void
}}
"""

    @cached_property
    def functions(self) -> Functions:
        """The generated functions of a run: sizes, and directions and ends of events."""
        return compile_equations(self.equations, tier="quick").run_functions

    @cached_property
    def shapes(self) -> dict[str, LoopShape]:
        """The loop of each method."""
        program = self.program
        made = self.configurations and self.configurations.figures
        found = {}
        for name in self.methods:
            method = METHODS[name]
            found[name] = LoopShape(
                method.coefficients,
                states=self.states,
                memory=len(program.memory),
                outputs=self.row,
                events=self.events,
                update=bool(program.update.results and program.memory),
                fire=bool(program.fire),
                normalise=program.normalises,
                dense=True,
                stops=bool(program.stops),
                changes=made.shape if made else None,
                differentiated="differentiated" in self.has,
                sparse=sparse_sizes(self.functions) if method.rosenbrock else None,
                driven=self.functions.driven and method.rosenbrock is not None,
            )
        return found

    @cached_property
    def has(self) -> frozenset[str]:
        """The features of the system."""
        return features(self.source)

    @property
    def structure(self) -> list[int]:
        """The tables of sparse equations of implicit steps, as one array of 32-bit numbers."""
        found = self.functions
        return [] if found.structure is None else [int(x) for x in found.structure_tables]

    # ------------------------------------------------------------ places

    @property
    def _lengths(self) -> dict[str, int]:
        """Number of doubles in each array that a host reads or writes."""
        program = self.program
        poses, more = len(self._poses.program.constants), self.configurations
        return {
            **(more.lengths(poses) if more else {}),
            **(self.assembly.lengths if self.assembly else {}),
            "control": len(FIELDS),
            "workspace": max(shape.layout()[1] for shape in self.shapes.values()),
            "parameters": len(program.parameters),
            "constants": len(program.constants) + poses,
            "state": self.states,
            "memory_in": len(program.memory),
            "out": max(
                self.row,
                len(program.memory) + self.states,
                len(self.source.physical.texts) if self.source.physical else 0,
            ),
            "times": ROWS + 1,
            "rows": (ROWS + 1) * self.row,
            "log": 2 * self._log,
            "stops": len(program.stops) + 1,
            "structure": (len(self.structure) + 1) // 2,  # a double holds two 32-bit numbers
        }

    @property
    def _log(self) -> int:
        """Most events that one call of a loop can log."""
        return 64 + 2 * self.events

    @property
    def events(self) -> int:
        """Number of events that a loop has room for."""
        more = self.configurations
        return more.figures.events if more else self.functions.n_events

    @property
    def _room(self) -> int:
        return _REAL * (sum(self._lengths.values()) + 2)

    def layout(self) -> ModuleLayout:
        """Addresses of all arrays."""
        places, at = {}, self.linked.data_end
        for name, length in self._lengths.items():
            places[name], at = at, at + _REAL * max(length, 1)
        return ModuleLayout(places, at)

    # ------------------------------------------------------------ description

    def description(self) -> DataTable:
        """Return the description for hosts of the module, ready for JSON."""
        d, program, f = self.source.description, self.program, self.functions
        watched = self.equations.targets.watched
        index = {body.name: i for i, body in enumerate(self.bodies)}
        layout = self.layout()
        more = self.configurations
        values = self.source.values
        bound = {*program.corrected, *(q + i for q in program.quaternions for i in range(4))}
        return {
            "name": d.name,
            "version": d.version,
            "formalism": d.formalism,
            "parameters": [
                {
                    "name": p.name,
                    "value": v,
                    "units": p.units,
                    "about": p.about,
                    "factor": p.factor,
                    "needed": p.needed,
                }
                for p, v in zip(d.parameters, values, strict=True)
            ],
            "states": [asdict(s) for s in d.states],
            "starts": [{**asdict(s), "free": i not in bound} for i, s in enumerate(d.starts)],
            "memory": [asdict(m) for m in d.memory],
            "outputs": [asdict(o) for o in d.outputs],
            "events": [
                {
                    **asdict(e),
                    "terminal": end,
                    "direction": way,
                    "sets": [s.data.name for s in w.changes],
                    "locks": bool(w.lock or w.unlock),
                }
                for e, w, end, way in zip(
                    d.events, watched, f.event_terminal, f.event_directions, strict=True
                )
            ],
            "bodies": [
                {"name": b.name, "parent": index.get(b.parent.name, -1) if b.parent else -1}
                for b in self.bodies
            ],
            "physical": list(self.source.physical.texts) if self.source.physical else [],
            "quaternions": list(program.quaternions),
            "constants": len(program.constants),
            "row": self.row,
            "room": {"states": self.states, "events": self.events},
            "step": example_timing(self.source)[1],
            "rows": ROWS,
            "log": self._log,
            "stops": [list(stop) for stop in program.stops if stop[0] < inf],
            "places": layout.places,
            "fields": dict(FIELDS),
            "reals": list(REALS),
            "arrived": int(Phase.ARRIVED),
            "passed": PASSED,
            "structure": self.structure,
            "methods": {name: self._method(shape) for name, shape in self.shapes.items()},
            "configurations": more and more.description(more.functions(self._defined), layout.places),
            "assembly": self.assembly and self.assembly.description(),
        }

    def _method(self, shape: LoopShape) -> DataTable:
        offsets, length = shape.layout()
        kept = ("state", "memory", "atol", "direction", "terminal", "last", "gap", "g", "shown")
        return {
            "adaptive": shape.adaptive,
            "length": length,
            "offsets": {name: offsets[name] for name in kept if name in offsets},
        }
