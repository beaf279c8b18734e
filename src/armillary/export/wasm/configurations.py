"""The configurations of a system in a module: their functions, the table of addresses and the tables of
numbers that the loop reads (runtime/loop/configurations.py).

A run changes between them as in the process. Functions of the first have the names of any module, functions
of configuration 3 end in ``_in_3``; each has its own constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property

import numpy as np

from armillary.export.text.source import Source
from armillary.export.text.start import AssemblySource
from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import ADDRESS, NOTHING, REAL, FunctionType
from armillary.llvm.building.routines import RecordFunction, RecordModule
from armillary.llvm.sections import for_lanes, llvm_text, section_text
from armillary.program.configurations import IMPULSE
from armillary.runtime.language.machine_code import SolverCode
from armillary.runtime.loop.layout import SECTIONS
from armillary.runtime.models.run_changes import ChangeFigures, change_figures, groups_of
from armillary.untyped import DataTable

GEOMETRY = "constraint_geometry"
_CONSTANTS = ("constants", "change_constants", "rating_constants")


def function_names(text: str) -> list[str]:
    """Functions that LLVM text defines for others."""
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
        """At the end of the names of a configuration's functions and arrays."""
        return f"_in_{c}" if c else ""

    @cached_property
    def figures(self) -> ChangeFigures:
        """Sizes and tables of numbers."""
        strikes = [any(s.name == IMPULSE for s in one.program.changes) for one in self.every]
        every = [one.equations for one in self.every]
        return change_figures(every, strikes, groups_of(every), listed=True, passing=self.source.passing)

    def lengths(self, more: int) -> dict[str, int]:
        """Numbers in the arrays of all configurations, with ``more`` constants of each."""
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
        """LLVM text of all but the functions that every module has; outputs are called columns."""
        found = []
        for c, one in enumerate(self.every[1:], 1):
            text = llvm_text(for_lanes(one.program, 2)).replace("@outputs(", "@columns(")
            for name in function_names(text):
                text = text.replace(f"@{name}(", f"@{name}{self.suffix(c)}(")
            found.append(text)
        return found

    def functions(self, first: Sequence[str]) -> list[dict[str, str]]:
        """Return, for each configuration, the names of its functions by `SECTIONS`.

        ``first`` names the functions of every module.
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
        """Return the table `SECTIONS` of all configurations: places in the table of functions, from 1 on, and
        addresses of constants.
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
        """Return the data for a host, as JSON; of the figures, only nonzero ones."""
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


# Loops closed in a module, by the description that the process compiles (runtime/solver/assembly).

_GEOMETRY = FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS))
_ADDRESSES = ("loop_tables", "constants", "memory")


class ModuleAssembly:
    """The loops of a system in its module: code, arrays and what a host reads and writes."""

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
        """Numbers in each array."""
        return {
            "loop_record": len(self.fields), "loop_workspace": self.room, "loop_tables": len(self.tables)
        }  # fmt: skip

    def text(self) -> str:
        """LLVM text of close_loops(record, workspace), which calls the geometry of the module."""
        program = RecordModule(self.fields, self.reals, _ADDRESSES, self.offsets)
        solver = self._solver
        code = SolverCode(
            program, solver, sizes=self.loops.sizes | self.loops.lengths, known={},
            tables={name: self._table(name) for name in self._begin}, model={"loop_figures": _figures},
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


def _figures(f: RecordFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    t, place = given
    assert isinstance(t, Value) and isinstance(place, Span)
    arguments = (t.raw, place.address, f["constants"].raw, f["memory"].raw, targets[0].address)
    f.builder.call(f.program.module.declare_function("geometry", _GEOMETRY).callee, arguments)
