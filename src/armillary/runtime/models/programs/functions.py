"""Further functions of a model as machine code: any expressions of its time, state, memory and parameters.

Analyses need numbers beside the rates and outputs of runs: Jacobians, mass matrices, efforts, gaps of loops.
They state these as expressions, and this module compiles them, to be evaluated at one place or at many.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from armillary.algebra.arguments import unsigned_zeros
from armillary.algebra.expression import Expr
from armillary.errors import ArmillaryError
from armillary.llvm.building.routines import (
    MatrixPlacement,
    function_rows,
    gather_and_scatter,
    lane_rows,
    precompute_rows,
)
from armillary.llvm.jit import Compiled, holds_addresses, vector_doubles
from armillary.llvm.sections import lane_functions_text, process_text
from armillary.program.cost import Operations
from armillary.program.equations import DerivedEquations
from armillary.program.functions import with_functions
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import initial_memory
from armillary.untyped import DataMapping

_WHOLE, _REALS = ctypes.c_int64, ctypes.c_void_p
_PLACE = ctypes.CFUNCTYPE(None, ctypes.c_double, *[_REALS] * 4)
_ROWS = ctypes.CFUNCTYPE(None, _WHOLE, *[_WHOLE] * 5, *[_REALS] * 5)
_THREAD = 2_000_000  # operations that are worth a thread: half a millisecond, and starting one takes a tenth
_LONGEST = 4000  # numbers of a place and its results that are held on the stack, as vectors
_CONSTANTS = ctypes.CFUNCTYPE(None, _WHOLE, *[_WHOLE] * 2, *[_REALS] * 2)
_WHOLE_FUNCTION = """
define void @{name}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out) nounwind {{
  call void @{name}_start(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out)
  call void @{name}_rest(ptr %out)
  ret void
}}
"""


class Continuation(Protocol):
    """Code that goes on from the results of a function, with its own after them in the same array."""

    length: int  # of the array

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation."""

    def text(self, name: str) -> str:
        """A function ``name`` of the array."""


def processors() -> int:
    """Processors that this process may use."""
    # Windows and macOS do not have the first of these functions.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ModelFunctions:
    """Named functions of time, state, memory, parameters and further inputs, as machine code.

    ``functions`` holds the expressions of each, without dimensions and without dependent speeds or
    accelerations; ``inputs`` are the symbols that they contain besides the state, in the order in which
    numbers are given for them; ``per_state`` are those of them that belong to a state each. Code of
    ``continued`` goes on from the results of a function; ``placed`` are further functions that put results of
    another into matrices. ``many`` compiles for evaluation at many places only: ``rows`` then takes as many
    at once as a vector holds, and there is no ``address``. Two places in a vector take 0.6 of the time on a
    Neoverse N1.
    """

    def __init__(
        self,
        equations: DerivedEquations,
        functions: Mapping[str, Sequence[Expr]],
        inputs: Sequence[Expr] = (),
        *,
        search: bool = True,
        per_state: Mapping[Expr, Expr] | None = None,
        continued: Mapping[str, Continuation] | None = None,
        placed: Mapping[str, MatrixPlacement] | None = None,
        many: bool = False,
    ) -> None:
        continued, self._placed = continued or {}, placed or {}
        sections = {f"{name}_start" if name in continued else name: f for name, f in functions.items()}
        self.equations = with_functions(equations, sections, inputs, search=search, per_state=per_state)
        program = self.equations.program
        self._table = parameter_table(self.equations)
        parts = [c.text(f"{name}_rest") + _WHOLE_FUNCTION.format(name=name) for name, c in continued.items()]
        self._lengths = {name: len(s.results) for name, s in zip(functions, program.stepping, strict=True)}
        self.operations: dict[str, Operations] = {
            name: s.operations for name, s in zip(functions, program.stepping, strict=True)
        }
        for name, c in continued.items():
            self._lengths[name] = c.length
            self.operations[name] += c.operations
        for name, p in self._placed.items():
            parts.append(p.text(name, self._lengths[p.source]))
            self._lengths[name], self.operations[name] = len(p.places), self.operations[p.source]
        names = [*functions, *self._placed]
        self._count, self._inputs = len(program.constants), len(inputs)
        self._default_constants: np.ndarray | None = None
        if many and not parts and self._compile_lanes(list(functions)):
            return
        text = "\n".join([process_text(program), *parts, precompute_rows(), *map(function_rows, names)])
        self._code = Compiled(text)
        self._foreign = holds_addresses(text)  # such code may hold states of its own
        self._places = {name: _PLACE(self._code.address(name)) for name in names}
        self._rows = {name: _ROWS(self._code.address(f"{name}_rows")) for name in names}

    def _compile_lanes(self, names: list[str]) -> bool:
        """Compile the functions for several rows at once; return whether that was possible."""
        program, lanes = self.equations.program, vector_doubles()
        sizes = {
            "states": len(program.state) + self._inputs, "constants": self._count,
            "memories": len(program.memory),
        }  # fmt: skip
        if lanes == 1 or sum(sizes.values()) + max(self._lengths.values(), default=0) > _LONGEST:
            return False
        text = lane_functions_text(program, lanes)
        if holds_addresses(text):
            return False
        loops = [lane_rows(name, lanes, {**sizes, "outs": self._lengths[name]}) for name in names]
        vectors = Compiled("\n".join([text, gather_and_scatter(lanes), *loops]))
        constants = process_text(replace(program, stepping=()))
        self._code, self._vectors = Compiled(f"{constants}\n{precompute_rows()}"), vectors
        self._foreign = False
        self._places = {}
        self._rows = {name: _ROWS(vectors.address(f"{name}_rows")) for name in names}
        return True

    def address(self, name: str) -> int:
        """Address of a function (t, state and inputs, constants, memory, results), for compiled loops."""
        return self._code.address(name)

    def length(self, name: str) -> int:
        """Number of results of a function."""
        return self._lengths[name]

    def loop(self, name: str) -> Callable[..., None]:
        """The compiled loop of a function over rows: (rows, strides of times, states with inputs, constants,
        memories and results, then the addresses of these arrays).
        """
        return self._rows[name]

    def constants(self, parameters: DataMapping | None = None) -> np.ndarray:
        """Precomputed constants for parameters in stated units; a row per run where any is an array."""
        if not parameters and self._default_constants is not None:
            return self._default_constants
        columns = self._table.inside_columns(parameters)
        many = [len(column) for column in columns.values() if isinstance(column, np.ndarray)]
        runs = many[0] if many else 1
        inside = np.empty((runs, len(columns)))
        for i, column in enumerate(columns.values()):
            inside[:, i] = column
        out = np.zeros((runs, max(self._count, 1)))
        precompute = _CONSTANTS(self._code.address("precompute_rows"))
        precompute(runs, inside.shape[1], out.shape[1], inside.ctypes.data, out.ctypes.data)
        constants = out if many else out[0]
        if not parameters:
            constants.setflags(write=False)
            self._default_constants = constants
        return constants

    def __call__(
        self,
        name: str,
        t: float,
        state: np.ndarray,
        parameters: DataMapping | None = None,
        memory: np.ndarray | None = None,
        inputs: Sequence[float] | np.ndarray = (),
        constants: np.ndarray | None = None,
    ) -> np.ndarray:
        """The results of a function at one place. ``constants``, where known, replace ``parameters``."""
        if name not in self._places:
            given = None if not len(inputs) else np.asarray(inputs, dtype=float)
            found: np.ndarray = self.rows(name, t, state, parameters, memory, given, constants)[0]
            return found
        numbers = self.constants(parameters) if constants is None else constants
        y = np.concatenate([state, inputs]) if len(inputs) else np.ascontiguousarray(state, dtype=float)
        out = np.empty(self._lengths[name])
        stored = _pad(initial_memory(self.equations, None, t) if memory is None else memory)
        self._places[name](t, y.ctypes.data, numbers.ctypes.data, stored.ctypes.data, out.ctypes.data)
        return unsigned_zeros(out)

    def rows(
        self,
        name: str,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: DataMapping | None = None,
        memory: np.ndarray | None = None,
        inputs: np.ndarray | None = None,
        constants: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the results of a function at many places, a row each. One compiled loop finds them, which
        several threads share if it takes long.

        Time, state, memory, inputs and parameters are common to all rows, or have a leading axis of rows.
        """
        numbers = self.constants(parameters) if constants is None else constants
        if memory is None:
            memory = initial_memory(self.equations, None, float(np.min(t, initial=0.0)))
        stored = np.asarray(memory, dtype=float)
        times, states = np.asarray(t, dtype=float), np.asarray(states, dtype=float)
        given = np.empty(0) if inputs is None else np.asarray(inputs, dtype=float)
        counts = {len(a) for a, ndim in ((times, 1), *((a, 2) for a in (states, given, stored, numbers)))
                  if a.ndim == ndim}  # fmt: skip
        if len(counts) > 1:
            raise ArmillaryError(f"arrays of {sorted(counts)} rows were given together; give each as many")
        n = counts.pop() if counts else 1
        if given.size:
            parts = [np.broadcast_to(a, (n, a.shape[-1])) for a in (states, given)]
            states = np.concatenate(parts, axis=1)
        arrays = [np.ascontiguousarray(a) for a in (times, states, numbers, _pad(stored))]
        strides = [1 if times.ndim else 0, *(a.shape[1] if a.ndim == 2 else 0 for a in arrays[1:])]
        out = np.empty((n, self._lengths[name]))
        places = [a.ctypes.data for a in (*arrays, out)]
        strides.append(out.shape[1])

        def share(first: int, count: int) -> None:
            starts = [place + 8 * first * stride for place, stride in zip(places, strides, strict=True)]
            self._rows[name](count, *strides, *starts)

        threads = 1 if self._foreign else min(processors(), n * self.operations[name].total // _THREAD)
        if threads < 2:
            share(0, n)
            return out if self._without_signed_zeros(name) else unsigned_zeros(out)
        from concurrent.futures import ThreadPoolExecutor

        cuts = [n * i // threads for i in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:  # compiled code runs without Python's lock
            list(pool.map(share, cuts, (b - a for a, b in pairwise(cuts))))
        return out if self._without_signed_zeros(name) else unsigned_zeros(out)

    def _without_signed_zeros(self, name: str) -> bool:
        """Whether the compiled loop makes plain zeros of negative ones."""
        return name in self._placed or name not in self._places

    def columns(
        self,
        name: str,
        t: float | np.ndarray,
        states: np.ndarray,
        memory: np.ndarray | None,
        constants: np.ndarray,
        shared: str = "",
    ) -> np.ndarray:
        """Return the matrices of a function that is linear in its inputs, with a leading axis of points: a
        column for each unit vector of inputs. The last inputs are the results of the function ``shared``,
        computed once for all columns of a point.

        Time, state, memory and constants are common to all points, or have a leading axis.
        """
        n = self._inputs - (self._lengths[shared] if shared else 0)
        given = np.eye(n, self._inputs)
        stored = np.zeros((1, 0)) if memory is None else memory
        arrays = [np.atleast_2d(a) for a in (np.reshape(t, (-1, 1)), states, stored, constants)]
        count = max(len(a) for a in arrays)
        rows = [np.broadcast_to(a, (count, a.shape[-1])) for a in arrays]
        found = np.empty((count, self._lengths[name], n))
        for i in range(count):
            time, (state, kept, own) = float(rows[0][i, 0]), (np.ascontiguousarray(a[i]) for a in rows[1:])
            held = None if memory is None else kept
            if shared:
                given[:, n:] = self(shared, time, state, memory=held, constants=own)
            found[i] = self.rows(name, time, state, None, held, given, own).T
        return found


def _pad(values: np.ndarray) -> np.ndarray:
    """Never empty, so that it has an address."""
    return np.ascontiguousarray(values, dtype=float) if values.size else np.zeros(1)
