"""Numerical methods of the small language as machine code, one code of each for all systems.

A `DescribedMethod` compiles some functions of a description over a record of eight bytes per field. Scalars
are in the record; vectors are parts of one workspace; tables of whole numbers and the functions of a model
are found by their addresses. Python sets all of them in a `MethodWork`, and reads its vectors afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from armillary.cache import digest
from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import ADDRESS, NOTHING, REAL, WHOLE, Callee, FunctionType
from armillary.llvm.building.routines import RecordFunction, RecordModule, whole_array
from armillary.llvm.jit import Passes, engine
from armillary.runtime.loop.machine_code import loop_sources
from armillary.runtime.solver.language.fields import read_source
from armillary.runtime.solver.language.machine_code import SolverCode
from armillary.runtime.solver.language.translator import VECTORS, Description, read_described
from armillary.untyped import Given

_LEVEL, _PASSES = 2, Passes(2)
_SECTION = FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS))


class DescribedMethod:
    """Compiled entries of a description; their code is freed with it.

    ``tables`` are the names of tables of whole numbers, ``functions`` those of a model's functions.
    """

    def __init__(
        self,
        name: str,
        description: Description,
        features: Sequence[str],
        entries: Sequence[str],
        tables: Sequence[str],
        functions: Sequence[str],
    ) -> None:
        self.solver = read_described(description, features, entries)
        self.tables, self.functions = tuple(tables), tuple(functions)
        kinds = {f.name: f.type for f in self.solver.fields}
        self.vectors = [name for name, kind in kinds.items() if kind in VECTORS]
        self.kinds = list(dict.fromkeys(kinds[name] for name in self.vectors))
        self.scalars = [name for name in kinds if name not in self.vectors]
        self.reals = [name for name in self.scalars if kinds[name] == "real"]
        lengths = [f"{kind} length" for kind in self.kinds]
        self.addresses = [*self.tables, *self.functions, "constants", "memory"]
        names = [*self.scalars, *lengths, *self.vectors, *self.addresses]
        self.places = {name: i for i, name in enumerate(names)}
        self.kind_of_vector = np.array([self.kinds.index(kinds[name]) for name in self.vectors])
        self.index_of_vector = {name: i for i, name in enumerate(self.vectors)}
        text = "".join(read_source(name) for name in (*description.record, *description.functions))
        self._entries = tuple(entries)
        made = engine(f"{name} {digest(loop_sources(), text)}", self._texts, _LEVEL, _PASSES)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._engine = made
        self._calls = {e: kind(made.get_function_address(f"armillary_{e}")) for e in self._entries}

    def _texts(self) -> list[str]:
        program = RecordModule(self.places, self.reals, self.addresses)
        code = SolverCode(
            program,
            self.solver,
            sizes={kind: f"{kind} length" for kind in self.kinds},
            known={},
            tables={name: _table(name) for name in self.tables},
            model={name: partial(_evaluate, name) for name in self.functions},
            given={},
        )
        for entry in self._entries:
            code.function(entry).function.linkage = ""
        return [str(program.module)]

    def __call__(self, entry: str, work: MethodWork) -> None:
        """Run an entry."""
        self._calls[entry](work.record.ctypes.data, work.workspace.ctypes.data)


class MethodWork:
    """The record and the workspace of one call; ``lengths`` are those of vectors by kind."""

    def __init__(
        self,
        method: DescribedMethod,
        lengths: Mapping[str, int],
        scalars: Mapping[str, float],
        tables: Mapping[str, Given],
        addresses: Mapping[str, int],
        given: Mapping[str, Given],
    ) -> None:
        self._method, places = method, method.places
        of_kinds = np.array([lengths[kind] for kind in method.kinds])
        self._lengths = of_kinds[method.kind_of_vector]
        self._ends = np.cumsum(self._lengths)
        self.record = np.zeros(len(places), dtype=np.int64)
        self.workspace = np.zeros(int(self._ends[-1]) + 1)
        first = len(method.scalars)
        self.record[first : first + len(of_kinds)] = of_kinds
        first += len(of_kinds)
        self.record[first : first + len(method.vectors)] = self._ends - self._lengths
        reals = self.record.view(float)
        for name, value in scalars.items():
            (reals if name in method.reals else self.record)[places[name]] = value
        self._kept: dict[str, np.ndarray] = {}
        self.attach(**{name: whole_array(table) for name, table in tables.items()})
        for name, place in addresses.items():
            self.record[places[name]] = place
        for name, values in given.items():
            self[name] = values

    def attach(self, **arrays: np.ndarray) -> None:
        """Set arrays that the method reads where they are, which are kept as long as this."""
        self._kept |= arrays
        for name, array in arrays.items():
            self.record[self._method.places[name]] = array.ctypes.data

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a vector, as a view of the workspace."""
        i = self._method.index_of_vector[name]
        return self.workspace[self._ends[i] - self._lengths[i] : self._ends[i]]

    def __setitem__(self, name: str, values: Given) -> None:
        """Set the first elements of a vector."""
        if isinstance(values, int | float):
            self[name][:] = values
        else:
            self[name][: len(values)] = values

    def number(self, name: str) -> float:
        """Return a scalar of the record."""
        record = self.record.view(float) if name in self._method.reals else self.record
        return float(record[self._method.places[name]])


def _table(name: str) -> Callable[[RecordFunction, Value], Value]:
    def entry(f: RecordFunction, k: Value) -> Value:
        return Value(f, f.builder.load(f.builder.place(f[name].raw, k.raw, WHOLE), WHOLE))

    return entry


def _evaluate(name: str, f: RecordFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """Call a function of the model."""
    t, place = given
    assert isinstance(t, Value) and isinstance(place, Span)
    arguments = (t.raw, place.address, f["constants"].raw, f["memory"].raw, targets[0].address)
    f.builder.call(Callee(_SECTION, f[name].raw.name), arguments)
