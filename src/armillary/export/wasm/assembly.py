"""Loops closed in a module, by the description that the process compiles (runtime/solver/assembly)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from armillary.export.text.start.assembly import AssemblySource
from armillary.llvm.building.assembly import ADDRESS, NOTHING, REAL, FunctionType
from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.records import RecordFunction, RecordModule
from armillary.runtime.solver.language.machine_code import SolverCode
from armillary.untyped import DataTable

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
        """The data for a host, as JSON."""
        kept = ("gaps", "coordinates", "first", "redundant")
        own = {name: value for name, value in asdict(self.loops).items() if name in kept}
        arrays = {"record": self.fields, "offsets": self.offsets, "room": self.room, "tables": self.tables}
        return own | arrays


def _figures(f: RecordFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    t, place = given
    assert isinstance(t, Value) and isinstance(place, Span)
    arguments = (t.raw, place.address, f["constants"].raw, f["memory"].raw, targets[0].address)
    f.builder.call(f.program.module.declared("geometry", _GEOMETRY).callee, arguments)
