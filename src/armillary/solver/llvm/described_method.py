"""Numerical methods that are written in the small language, as machine code for all systems.

A `DescribedMethod` compiles functions of a description over a record with eight bytes per field. Scalars are
in the record, and vectors are parts of one workspace. The record also has the addresses of tables of whole
numbers and of the functions of a model. Python fills a `MethodWork` with all of these, and reads its vectors
afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate

import numpy as np

from armillary.cache import digest
from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import ADDRESS, NOTHING, REAL, WHOLE, Callee, FunctionType
from armillary.llvm.building.routines import RecordFunction, RecordModule
from armillary.llvm.jit import Passes, engine
from armillary.solver.language.translator import (
    VECTORS,
    Description,
    read_described,
    read_fields,
    read_source,
)
from armillary.solver.llvm.compiled_loop import loop_sources
from armillary.solver.llvm.machine_code import SolverCode
from armillary.untyped import Given

_LEVEL, _PASSES = 2, Passes(2)
_LAYOUTS = 64  # number of layouts that are kept
_SECTION = FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS))


class DescribedMethod:
    """The compiled functions of a description; their code is freed with this object.

    ``entries`` are the functions that Python calls; other functions that they need are compiled too.
    ``tables`` are the names of tables of whole numbers, ``functions`` the names of a model's functions.
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
        # Reading takes 30 ms, so the functions are read only if the cache does not have their code.
        self._read = partial(read_described, description, features, entries)
        self.tables, self.functions = tuple(tables), tuple(functions)
        kinds = {f.name: f.type for f in read_fields(",".join(description.record)) if f.is_there(features)}
        self.vectors = [name for name, kind in kinds.items() if kind in VECTORS]
        self.kinds = list(dict.fromkeys(kinds[name] for name in self.vectors))
        self.reals = [name for name, kind in kinds.items() if kind == "real"]
        self.wholes = [name for name in kinds if name not in {*self.vectors, *self.reals}]
        lengths = [f"{kind} length" for kind in self.kinds]
        self.addresses = [*self.tables, *self.functions, "constants", "memory"]
        names = [*self.reals, *self.wholes, *lengths, *self.vectors, *self.addresses]
        self.places = {name: i for i, name in enumerate(names)}
        self.vector_kinds = [kinds[name] for name in self.vectors]
        text = "".join(read_source(name) for name in (*description.record, *description.functions))
        self._entries = tuple(entries)
        self._layouts: dict[tuple[int, ...], tuple[np.ndarray, dict[str, slice], int]] = {}
        made = engine(f"{name} {digest(loop_sources(), text)}", self._texts, _LEVEL, _PASSES)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._engine = made
        self._calls = {e: kind(made.get_function_address(f"armillary_{e}")) for e in self._entries}

    def _texts(self) -> list[str]:
        program = RecordModule(self.places, self.reals, self.addresses)
        code = SolverCode(
            program,
            self._read(),
            sizes={kind: f"{kind} length" for kind in self.kinds},
            known={},
            tables={name: _table(name) for name in self.tables},
            model={name: partial(_evaluate, name) for name in self.functions},
            given={},
        )
        for entry in self._entries:
            code.function(entry).function.linkage = ""
        return [str(program.module)]

    def layout(self, lengths: tuple[int, ...]) -> tuple[np.ndarray, dict[str, slice], int]:
        """Return a record with the lengths of vectors by kind and the offset of each vector; the span of each
        vector in the workspace; and the total length.
        """
        if lengths not in self._layouts:
            of_kind = dict(zip(self.kinds, lengths, strict=True))
            ends = [*accumulate(of_kind[kind] for kind in self.vector_kinds)]
            starts = [0, *ends[:-1]]
            record = np.zeros(len(self.places), dtype=np.int64)
            first = len(self.reals) + len(self.wholes)
            record[first : first + len(lengths) + len(starts)] = [*lengths, *starts]
            spans = {name: slice(*ends) for name, *ends in zip(self.vectors, starts, ends, strict=True)}
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            self._layouts[lengths] = record, spans, ends[-1]
        return self._layouts[lengths]

    def __call__(self, entry: str, work: MethodWork) -> None:
        """Run an entry."""
        record, workspace = (a.__array_interface__["data"][0] for a in (work.record, work.workspace))
        self._calls[entry](record, workspace)


class MethodWork:
    """The record and the workspace of one call; ``lengths`` gives the lengths of vectors by kind.

    ``arrays`` are tables, and the constants and memory of the model, which are read in place; ``given`` are
    the first elements of vectors. All other numbers are zero.
    """

    def __init__(
        self,
        method: DescribedMethod,
        lengths: Mapping[str, int],
        scalars: Mapping[str, float],
        arrays: Mapping[str, np.ndarray],
        functions: Mapping[str, int],
        given: Mapping[str, Given],
    ) -> None:
        self._method, self._arrays = method, arrays
        template, self._spans, total = method.layout(tuple([lengths[kind] for kind in method.kinds]))
        addresses = {name: array.__array_interface__["data"][0] for name, array in arrays.items()}
        addresses |= functions
        self.record = template.copy()
        reals, wholes = len(method.reals), len(method.reals) + len(method.wholes)
        self.record.view(float)[:reals] = [scalars.get(name, 0.0) for name in method.reals]
        self.record[reals:wholes] = [scalars.get(name, 0) for name in method.wholes]
        self.record[-len(method.addresses) :] = [addresses.get(name, 0) for name in method.addresses]
        self.workspace = np.zeros(total + 1)
        for name, values in given.items():
            first = self._spans[name].start
            self.workspace[first : first + len(values)] = values

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a vector, as a view of the workspace."""
        return self.workspace[self._spans[name]]

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
