"""The machine code of a program: functions by name, functions for runs, and constants for parameter values.

Analyses need more than rates and outputs of runs: Jacobians, mass matrices, efforts, gaps of loops. They
state these as expressions of time, state, memory and parameters, which `ModelFunctions` compiles and
evaluates at one point or at many.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from armillary.algebra.arguments import unsigned_zeros
from armillary.algebra.expression import Expr
from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError
from armillary.llvm.building.routines import (
    MatrixPlacement,
    function_rows,
    gather_and_scatter,
    lane_rows,
    precompute_rows,
)
from armillary.llvm.jit import Compiled, holds_addresses, register_doubles, vector_doubles
from armillary.llvm.sections import lane_functions_text, process_text
from armillary.model.description import ENDS_STATUS, FINDS_LOWEST, EventRecord
from armillary.model.units import state_factor
from armillary.program.equations import NOT_PICKLED, DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.passes.graph import Operations
from armillary.program.pieces import with_functions
from armillary.program.program import Program
from armillary.program.rate_columns import with_sparse_rates
from armillary.program.targets.targets import CONSTRAINT_RANK, DEPENDENT_SPEEDS, INTERNAL_EVENTS, POOR_PIVOT
from armillary.runtime.integrators.settings import Functions
from armillary.runtime.models.configurations import NEARLY, changes_configuration
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import initial_memory
from armillary.solver.thresholds import LANDING
from armillary.untyped import DataMapping

_REALS = ctypes.POINTER(ctypes.c_double)
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)


class CompiledProgram:
    """One program as machine code, which is freed with this object."""

    def __init__(self, equations: DerivedEquations, code: Compiled, seconds: float) -> None:
        self.equations = equations
        self.compile_seconds = seconds
        self._code = code
        self.parameter_table = parameter_table(equations)
        self.coordinate_names = equations.coordinates
        self.speed_names = equations.speeds
        self.state_names = equations.states
        self.output_names = tuple(c.name for c in equations.targets.columns)
        self._default_constants: np.ndarray | None = None
        self._vectors: Compiled | None = None  # code for several points at once
        self._addresses: dict[str, int] = {}
        self._functions: dict[str, Callable[..., None]] = {}

    @property
    def parameters(self) -> dict[str, float | None]:
        """Defaults of the parameters by name, in stated units; None without a default."""
        return self.equations.parameters

    @property
    def tier(self) -> str:
        """ "final", or "quick": code that compiles faster and runs slower; see ``Equations.compile``."""
        return self._code.tier

    @property
    def formalism(self) -> str:
        """Name of the formalism of the equations."""
        return self.equations.formalism

    def address(self, name: str) -> int:
        """Return the address of a generated function ("derivatives", "outputs", …); 0 if there is none."""
        if name not in self._addresses:
            program = self.equations.program
            absent = {
                "events": not program.events.results,
                "update": not program.update.results,
                "fire": not program.fire,
                "normalise": not program.normalises,
                "geometry": not program.geometry.results,
                "solve": all(s.name != "solve" for s in program.stepping),
                "residuals": all(s.name != "residuals" for s in program.stepping),
                "partial_rates": not program.partial_rates,
            }
            self._addresses[name] = 0 if absent.get(name) else self._code.address(name)
        return self._addresses[name]

    def function(self, name: str) -> Callable[..., None]:
        """Return a generated function of time and the addresses of state, constants, memory and results."""
        if name not in self._functions:
            self._functions[name] = _FUNCTION(self.address(name))
        return self._functions[name]

    def constants(self, parameters: DataMapping | None = None) -> np.ndarray:
        """Return the precomputed constants of a parameter set, an argument of the generated functions."""
        if parameters is None and self._default_constants is not None:
            return self._default_constants
        constants = self.constants_inside(self.parameters_inside(parameters))
        if not parameters:
            constants.setflags(write=False)
            self._default_constants = constants
        return constants

    def parameters_inside(self, parameters: DataMapping | None) -> np.ndarray:
        """Return values of all parameters in the model's own units, in their order."""
        return self.parameter_table.inside(self.parameter_table.values(parameters))

    def constants_inside(self, inside: np.ndarray) -> np.ndarray:
        """Return precomputed constants from all parameters in the model's own units, in their order."""
        constants = np.zeros(max(len(self.equations.program.constants), 1))
        inside = np.ascontiguousarray(inside)
        precompute = ctypes.CFUNCTYPE(None, _REALS, _REALS)(self.address("precompute"))
        precompute(inside.ctypes.data_as(_REALS), constants.ctypes.data_as(_REALS))
        return constants

    def inside(self, parameters: DataMapping | None = None) -> dict[str, float]:
        """Return values of all parameters by name, in the model's own units."""
        return dict(zip(self.parameter_table.names, self.parameters_inside(parameters).tolist(), strict=True))

    # ------------------------------------------------------------ for runs

    @cached_property
    def speeds(self) -> SpeedPlaces:
        """Indices of all speeds of the system among the outputs."""
        return speed_places(self.equations, self.output_names)

    @cached_property
    def independent_speeds(self) -> np.ndarray:
        """Indices of the independent speeds among the system's speeds, in the order of the state."""
        number = {u.data.name: j for j, u in enumerate(self.equations.system.speeds)}
        return np.array([number[name] for name in self.speed_names], dtype=int)

    @cached_property
    def watched_index(self) -> dict[str, int]:
        """Numbers of the watched events, by name."""
        return {e.name: k for k, e in enumerate(self.equations.targets.watched)}

    @cached_property
    def weakening(self) -> list[tuple[int, float]]:
        """The indices of the events of poor dependent speeds and of lost rank, each with a limit.

        While the function of such an event is above its limit, the event is not near.
        """
        near = {DEPENDENT_SPEEDS: (NEARLY - 1.0) * POOR_PIVOT, CONSTRAINT_RANK: 0.0}
        numbers = self.watched_index
        return [(numbers[name], least) for name, least in near.items() if name in numbers]

    @cached_property
    def sparse_program(self) -> Program:
        """The program with sparse equations of linearly implicit steps."""
        with derivation():
            return with_sparse_rates(self.equations)

    @cached_property
    def changes_configuration(self) -> bool:
        """Whether a run may need another program of the same system."""
        return any(self.may_change_configuration)

    @cached_property
    def may_change_configuration(self) -> list[bool]:
        """For each watched event, whether a run may need another program after it."""
        watched = self.equations.targets.watched
        return [e.name in INTERNAL_EVENTS or changes_configuration(e, self.equations) for e in watched]

    def _ends(self, event: EventRecord) -> bool:
        """Return whether the compiled loop returns at an event."""
        return event.stop or changes_configuration(event, self.equations)

    def ends_a_leg(self, k: int) -> bool:
        """Return whether the compiled loop returns at an event, by its number."""
        return self._ends(self.equations.targets.watched[k])

    @property
    def own_states(self) -> int:
        """The number of states of the motion; derivatives of the motion are further states after them."""
        return len(self.equations.program.state)

    @cached_property
    def may_rest(self) -> bool:
        """Whether bodies with contacts may rest: rates, gaps and the user's events depend on states alone."""
        t, program = self.equations.targets, self.equations.program
        if not t.contacts or t.updates or program.driven or self.own_states != len(program.state):
            return False
        parts = [x for c in t.contacts for x in (c.gap, c.closing, *c.sliding) if x is not None]
        of_contacts = (ENDS_STATUS, FINDS_LOWEST)
        own = [x for e, x in zip(t.watched, t.events, strict=True) if e.direction not in of_contacts]
        return t.time not in symbols(*t.rates, *parts, *own)

    @cached_property
    def run_functions(self) -> Functions:
        """Addresses and sizes of the generated functions, for an integrator."""
        program, events = self.equations.program, self.equations.targets.watched
        return Functions(
            derivatives=self.address("derivatives"),
            outputs=self.address("outputs"),
            events=self.address("events"),
            update=self.address("update"),
            fire=self.address("fire"),
            normalise=self.address("normalise"),
            solve=self.address("solve"),
            residuals=self.address("residuals"),
            partial_rates=self.address("partial_rates"),
            evaluate_end=self.address("evaluate_end"),
            structure=program.structure,
            driven=bool(program.driven),
            may_rest=self.may_rest,
            n_states=len(program.state),
            n_own=self.own_states,
            n_outputs=len(self.output_names),
            n_memory=len(program.memory),
            n_events=len(program.fire),
            event_directions=tuple(e.direction for e in events),
            event_terminal=tuple(
                LANDING if e.name in INTERNAL_EVENTS else float(self._ends(e)) for e in events
            ),
            speed_kinds=self.speeds.table,
            owner=self._code,
        )

    def __reduce__(self) -> tuple[object, ...]:
        raise ArmillaryError(NOT_PICKLED.format(what="compiled equations", name=self.equations.system.name))

    def __repr__(self) -> str:
        system, operations = self.equations.system.name, self.equations.operations
        return f"{type(self).__name__}({system!r}, {self.formalism}, {operations})"


_WHOLE, _ADDRESSES = ctypes.c_int64, ctypes.c_void_p
_PLACE = ctypes.CFUNCTYPE(None, ctypes.c_double, *[_ADDRESSES] * 4)
_ROWS = ctypes.CFUNCTYPE(None, _WHOLE, *[_WHOLE] * 5, *[_ADDRESSES] * 5)
# Least number of operations per thread. They take half a millisecond; the start of a thread takes 0.1 ms.
_THREAD = 2_000_000
# LLVM optimises functions of several points up to this number of operations, and only translates longer ones.
# Without optimisation the Jacobian of a car (10,400 operations) compiles in 0.7 of the time and the Jacobian
# of a quadruped (14,000) in 0.6 of it; an evaluation takes 1.12 and 1.23 times as long. The Jacobian of an
# arm (3,000) would compile 0.15 s sooner, and an evaluation would take 1.3 times as long.
OPTIMISED = 5000
_LONGEST = 4000  # most inputs and results of a function compiled for vectors, which has them on the stack
_CONSTANTS = ctypes.CFUNCTYPE(None, _WHOLE, *[_WHOLE] * 2, *[_ADDRESSES] * 2)
_WHOLE_FUNCTION = """
define void @{name}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out) nounwind {{
  call void @{name}_start(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out)
  call void @{name}_rest(ptr %out)
  ret void
}}
"""


class Continuation(Protocol):
    """Code that reads the results of a function and appends further results to the same array."""

    length: int  # of the array

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation."""

    def text(self, name: str) -> str:
        """Return a function ``name`` of the array."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    # Windows and macOS lack sched_getaffinity.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ModelFunctions:
    """Named functions of time, state, memory, parameters and further inputs, as machine code.

    ``functions`` has the expressions of each function, without dimensions and without dependent speeds or
    accelerations. ``inputs`` are further symbols of these expressions, in the order in which calls give their
    values; ``per_state`` gives, for each state, an input that belongs to it, such as a weight of its rate.
    ``continued`` has, for some functions, code that appends further results. ``placed`` are further functions
    that put results of another function into matrices.
    ``many`` compiles only for evaluation at many points: ``rows`` then computes as many points together as
    fit into a vector. On a Neoverse N1 two points in a vector take 0.6 of the time of two single points.
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
        self._vectors: Compiled | None = None  # code for several points at once
        if many and not parts and self._compile_lanes(list(functions)):
            return
        text = "\n".join([process_text(program), *parts, precompute_rows(), *map(function_rows, names)])
        self._code = Compiled(text)
        # Code that holds addresses may call objects with a state of their own, so it runs in one thread.
        self._foreign = holds_addresses(text)
        self._places = {name: _PLACE(self._code.address(name)) for name in names}
        self._rows = {name: _ROWS(self._code.address(f"{name}_rows")) for name in names}

    def _compile_lanes(self, names: list[str]) -> bool:
        """Compile the functions for several rows at once; return whether that was possible."""
        program, lanes = self.equations.program, register_doubles()
        sizes = {
            "states": len(program.state) + self._inputs, "constants": self._count,
            "memories": len(program.memory),
        }  # fmt: skip
        if vector_doubles() == 1 or sum(sizes.values()) + max(self._lengths.values(), default=0) > _LONGEST:
            return False
        text = lane_functions_text(program, lanes)
        if holds_addresses(text):
            return False
        loops = [lane_rows(name, lanes, {**sizes, "outs": self._lengths[name]}) for name in names]
        plain = sum([self.operations[name].total for name in names]) > OPTIMISED
        vectors = Compiled("\n".join([text, gather_and_scatter(lanes), *loops]), plain=plain)
        constants = process_text(replace(program, stepping=()))
        self._code, self._vectors = Compiled(f"{constants}\n{precompute_rows()}"), vectors
        self._foreign = False
        self._places = {}
        self._rows = {name: _ROWS(vectors.address(f"{name}_rows")) for name in names}
        return True

    @cached_property
    def _totals(self) -> dict[str, int]:
        return {name: operations.total for name, operations in self.operations.items()}

    def address(self, name: str) -> int:
        """Return the address of a function of (t, state and inputs, constants, memory, results)."""
        return (self._code if self._places else self._of_one_place).address(name)

    @cached_property
    def _of_one_place(self) -> Compiled:
        """The functions of one point, compiled if only functions of several rows exist."""
        return Compiled(process_text(self.equations.program))

    def length(self, name: str) -> int:
        """Return the number of results of a function."""
        return self._lengths[name]

    def loop(self, name: str) -> Callable[..., None]:
        """Return the compiled loop of a function over rows.

        Its arguments are the number of rows; the strides of times, states with inputs, constants, memories
        and results; and the addresses of these arrays.
        """
        return self._rows[name]

    def loop_address(self, name: str) -> int:
        """Return the address of ``loop``, for compiled code that calls it."""
        return (self._vectors if self._vectors is not None else self._code).address(f"{name}_rows")

    def constants(self, parameters: DataMapping | None = None) -> np.ndarray:
        """Return precomputed constants for parameters in stated units.

        If some parameters are arrays, the result has a row for each of their values.
        """
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
        """Return the results of a function at one point; ``constants``, if given, replace ``parameters``."""
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
        """Return the results of a function at many points, a row each, by one compiled loop.

        Time, state, memory, inputs and parameters are common to all rows, or have a leading axis of rows.
        Several threads share the work if it takes long.
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
            raise ArmillaryError(
                f"arrays of {sorted(counts)} rows were given together; give arrays of equally many rows"
            )
        n = counts.pop() if counts else 1
        if given.size:
            parts = [np.broadcast_to(a, (n, a.shape[-1])) for a in (states, given)]
            states = np.concatenate(parts, axis=1)
        arrays = [np.ascontiguousarray(a) for a in (times, states, numbers, _pad(stored))]
        strides = [1 if times.ndim else 0, *(a.shape[1] if a.ndim == 2 else 0 for a in arrays[1:])]
        out = np.empty((n, self._lengths[name]))
        places = [a.ctypes.data for a in (*arrays, out)]
        strides.append(out.shape[1])
        self.fill_rows(name, n, strides, places)
        return out if self._without_signed_zeros(name) else unsigned_zeros(out)

    def fill_rows(self, name: str, n: int, strides: Sequence[int], places: Sequence[int]) -> None:
        """Run the compiled loop of a function over n rows of arrays at known addresses.

        The arguments are the arguments of ``loop``. The number of threads depends on the amount of work.
        """
        threads = 1 if self._foreign else n * self._totals[name] // _THREAD
        threads = min(processors(), threads) if threads > 1 else 1
        if threads < 2:
            self._rows[name](n, *strides, *places)
            return
        from concurrent.futures import ThreadPoolExecutor

        def share(first: int, count: int) -> None:
            starts = [place + 8 * first * stride for place, stride in zip(places, strides, strict=True)]
            self._rows[name](count, *strides, *starts)

        cuts = [n * i // threads for i in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:  # compiled code runs without Python's lock
            list(pool.map(share, cuts, (b - a for a, b in pairwise(cuts))))

    def _without_signed_zeros(self, name: str) -> bool:
        """Return whether the compiled loop replaces −0.0 by 0.0."""
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
        """Return the matrices of a function that is linear in its inputs, one per point.

        A matrix has a column per input. ``shared`` is the name of a function whose results are the last
        inputs; it is computed once for all columns of a point. Time, state, memory and constants are common
        to all points, or have a leading axis of points.
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
    """Return values as an array that is not empty, so that it has an address."""
    return np.ascontiguousarray(values, dtype=float) if values.size else np.zeros(1)


@dataclass(frozen=True)
class SpeedPlaces:
    """Where all speeds of a system are among the outputs, in the system's order."""

    columns: np.ndarray  # indices among the outputs
    factors: np.ndarray  # from stated units to the model's units
    kinds: tuple[np.ndarray, ...]  # columns of the speeds with the same dimension and units

    @property
    def table(self) -> np.ndarray:
        """The number of kinds; then, for each kind, the number of its columns and the columns."""
        return np.array([len(self.kinds), *(x for own in self.kinds for x in (len(own), *own))], dtype=float)


def speed_places(equations: DerivedEquations, outputs: Sequence[str]) -> SpeedPlaces:
    """Return the indices of a system's speeds among given outputs."""
    speeds = equations.system.speeds
    column = {name: i for i, name in enumerate(outputs)}
    kinds: dict[tuple[object, float], list[int]] = {}
    for u in speeds:
        kinds.setdefault((u.dimension, state_factor(u)), []).append(column[u.data.name])
    return SpeedPlaces(
        columns=np.array([column[u.data.name] for u in speeds], dtype=int),
        factors=np.array([state_factor(u) for u in speeds], dtype=float),
        kinds=tuple(np.array(own, dtype=int) for own in kinds.values()),
    )
