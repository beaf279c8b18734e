"""Compiled routines shared by many callers: numerical methods; functions over records, rows and matrices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from armillary.cache import digest
from armillary.llvm.building.builder import Code, Local, Operand, Span, Value
from armillary.llvm.building.emitter import (
    ADDRESS,
    NOTHING,
    REAL,
    TRUTH,
    WHOLE,
    Callee,
    Function,
    FunctionType,
    IRModule,
    Raw,
    constant,
)
from armillary.llvm.jit import LlvmObject, Passes, engine
from armillary.untyped import Given

# Functions over a record of scalars and a workspace of reals, both allocated by the caller.
#
# The first two arguments of every function are the addresses of the record and of the workspace. In the code
#
#     f["t"]              is a scalar of the record, read or written
#     f.vector("state")   a vector in the workspace
#     f.outside("rows")   a vector elsewhere, by its address in the record


class RecordModule:
    """The module of functions over one record, whose fields take eight bytes each, in order.

    ``offsets`` are the numbers of reals before each vector in the workspace; if it is `None`, fields with the
    vectors' names hold these numbers. Functions read a ``constant`` record once, at their entry.
    """

    def __init__(
        self,
        fields: Mapping[str, int],
        reals: Collection[str],
        addresses: Collection[str],
        offsets: Mapping[str, int] | None = None,
        *,
        constant: bool = False,
    ) -> None:
        self.fields, self.reals, self.addresses, self.offsets = fields, reals, addresses, offsets
        self.constant = constant
        self.module = IRModule()

    def write_function(self, name: str, result: str, arguments: tuple[str, ...], rare: bool) -> Function:
        """Return a new internal function of (record, workspace, *arguments); a ``rare`` one is optimised for
        size.
        """
        assert f"armillary_{name}" not in self.module.functions, name
        kind = FunctionType(result, (ADDRESS, ADDRESS, *arguments))
        function = Function(self.module, kind, f"armillary_{name}")
        function.linkage = "internal"
        function.attributes = ["nounwind", *(("cold", "noinline", "optsize") if rare else ())]
        function.argument_attributes = {0: "noalias", 1: "noalias"}
        return function

    def function(
        self, name: str, result: str = NOTHING, arguments: tuple[str, ...] = (), *, rare: bool = False
    ) -> RecordFunction:
        """Return a new internal function, under construction."""
        return RecordFunction(self, self.write_function(name, result, arguments, rare))


class RecordFunction(Code):
    """One function under construction."""

    def __init__(self, program: RecordModule, function: Function) -> None:
        super().__init__(function)
        self.program: Any = program  # subclasses read attributes of their own program classes
        self.control, self.workspace = function.args[:2]
        self.read: dict[str, Value] = {}  # fields of a constant record
        self.vectors: dict[str, Span] = {}

    def __getitem__(self, field: str) -> Value:
        if not self.program.constant:
            return self._load(field)
        if field not in self.read:
            with self.builder.on_entry():
                self.read[field] = self._load(field)
        return self.read[field]

    def _load(self, field: str) -> Value:
        program = self.program
        kind = REAL if field in program.reals else ADDRESS if field in program.addresses else WHOLE
        return Value(self, self.builder.load(self._place(field), kind))

    def __setitem__(self, field: str, value: Operand) -> None:
        kind = REAL if field in self.program.reals else WHOLE
        raw = value.raw if isinstance(value, Value) else constant(kind, value)
        self.builder.store(raw, self._place(field))

    def _place(self, field: str) -> Raw:
        return self.builder.place(self.control, constant(WHOLE, self.program.fields[field]), WHOLE)

    def size(self, name: str) -> Value:
        """Return a whole number that is the same throughout a run."""
        return self[name]

    def vector(self, name: str) -> Span:
        if not self.program.constant:
            return self._vector(name)
        if name not in self.vectors:
            with self.builder.on_entry():
                self.vectors[name] = self._vector(name)
        return self.vectors[name]

    def _vector(self, name: str) -> Span:
        offsets = self.program.offsets
        offset = self[name].raw if offsets is None else constant(WHOLE, offsets[name])
        return Span(self, self.builder.place(self.workspace, offset, REAL))

    def outside(self, field: str) -> Span:
        """Return a vector outside the workspace, by its address in the record."""
        return Span(self, self[field].raw)

    def internal(self, frame: RecordFunction, *arguments: Value) -> Value:
        """Emit a call of another function over this record."""
        raw = [self.control, self.workspace, *(argument.raw for argument in arguments)]
        return Value(self, self.builder.call(frame.function.callee, raw))


# A function that puts the results of another one, and constant numbers, into matrices.

_SECTION = FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS))
_INDEX = "i32"


@dataclass(frozen=True)
class MatrixPlacement:
    """Elements of matrices, one matrix after the other and row by row.

    ``places`` has the index of each element among the results of the function ``source``, or −1 − j for the
    j-th of ``numbers``.
    """

    source: str
    places: Sequence[int]
    numbers: Sequence[float]

    def text(self, name: str, length: int) -> str:
        """Return the text of function ``name``; ``length`` is the number of results of ``source``."""
        f = _function_of(name, _SECTION)
        found = Span(f, f.builder.local(f"[{length + len(self.numbers)} x double]", ", align 64"))
        _call(f, f"@{self.source}", [*f.function.args[:4], found.address])
        for j, number in enumerate(self.numbers):
            found[length + j] = number
        table, out = Raw(ADDRESS, f"@{name}_places"), Span(f, f.argument(4).raw)
        with f.each(len(self.places)) as i:
            place = f.builder.load(f.builder.place(table, i.raw, _INDEX), _INDEX)
            out[i] = found[Value(f, place)] + 0.0  # zeros that users see have no sign
        f.give()
        places = [f"i32 {place if place >= 0 else length - 1 - place}" for place in self.places]
        return f"{table.name} = internal constant [{len(places)} x i32] [{', '.join(places)}]\n{f.function}\n"


def _function_of(name: str, kind: FunctionType, lanes: int = 1) -> Code:
    """Return a function under construction, in a separate text."""
    function = Function(IRModule(), kind, name)
    function.attributes.append("nounwind")
    return Code(function, lanes)


# Loops over rows (times with their states, or sets of parameters), which call a generated function for each.

_TIMED = ("times", "states", "constants", "memories", "outs")
_CONSTANTS = ("parameters", "constants")


def function_rows(name: str) -> str:
    """Return the text of a loop over rows, NAME_rows.

    Its arguments are the number of rows, the strides of time, state, constants, memory and out, and then
    these arrays. A stride is the number of reals from one row to the next, 0 for arrays that all rows share.
    """
    return _loop(name, _TIMED)


def precompute_rows() -> str:
    """Return the text of precompute_rows(n, strides of parameters and constants, then these arrays)."""
    return _loop("precompute", _CONSTANTS)


def rows_by_address() -> str:
    """Return loops for functions of any model, whose address is the first argument.

    They are armillary_function_rows and armillary_precompute_rows.
    """
    return _loop("armillary_function", _TIMED, True) + _loop("armillary_precompute", _CONSTANTS, True)


def _row_loop(name: str, arrays: Sequence[str], lanes: int = 1, first: int = 0) -> tuple[Code, _Rows]:
    """Return NAME_rows under construction, with ``first`` further arguments before its own, and its rows."""
    kinds = [*[ADDRESS] * first, *[WHOLE] * (1 + len(arrays)), *[ADDRESS] * len(arrays)]
    f = _function_of(f"{name}_rows", FunctionType(NOTHING, tuple(kinds)), lanes)
    strides = [f.argument(first + 1 + k) for k in range(len(arrays))]
    starts = [Span(f, f.argument(first + 1 + len(arrays) + k).raw, single=True) for k in range(len(arrays))]
    return f, _Rows(f.argument(first), strides, starts)


class _Rows(NamedTuple):
    """The arguments of a loop over rows: their number, strides of arrays, and the arrays."""

    total: Value
    strides: list[Value]
    starts: list[Span]

    def row(self, i: Value) -> list[Raw]:
        """Return the addresses of row i in all arrays."""
        return [start.at(i * stride) for start, stride in zip(self.starts, self.strides, strict=True)]


def _loop(name: str, arrays: tuple[str, ...], by_address: bool = False) -> str:
    f, rows = _row_loop(name, arrays, first=int(by_address))
    function = f.argument(0).raw.name if by_address else f"@{name}"
    with f.each(rows.total) as i:
        given = rows.row(i)
        if arrays is _TIMED:
            given[0] = f.builder.load(given[0], REAL)
        _call(f, function, given)
    f.give()
    return f"{f.function}\n"


def _call(f: Code, function: str, given: Sequence[Raw]) -> None:
    f.builder.call(Callee(FunctionType(NOTHING, tuple(a.type for a in given)), function), given)


# The loop for a function on vectors, `<lanes x double>` for each real, which evaluates several rows at once.
# Rows are gathered into arrays of vectors and results are scattered to rows; the last row is repeated in the
# lanes that have no row.


def lane_rows(name: str, lanes: int, sizes: Mapping[str, int]) -> str:
    """Return the text of NAME_rows, with the arguments of `function_rows`, for a function on vectors;
    ``sizes`` are the lengths of arrays.
    """
    f, rows = _row_loop(name, _TIMED, lanes)
    rooms = [f.builder.local(f"[{max(1, sizes[a])} x {f.kind}]", ", align 64") for a in _TIMED[1:]]
    last = rows.total - 1
    with f.each((last + lanes).whole_quotient(f.whole(lanes))) as block:
        numbers = [block * lanes + lane for lane in range(lanes)]
        numbers = [Value(f, f.builder.select((i < last).raw, i.raw, last.raw)) for i in numbers]
        times, *arrays = zip(*map(rows.row, numbers), strict=True)
        time = _gather_vector(f, times)
        for k, (array, room, own) in enumerate(zip(_TIMED[1:-1], rooms, arrays, strict=False), 1):
            given = [block.equals(0).raw, rows.strides[k].raw, f.whole(sizes[array]).raw, *own, room]
            _call(f, "@armillary_gather", given)
        _call(f, f"@{name}", [time, *rooms])
        _call(f, "@armillary_scatter", [f.whole(sizes["outs"]).raw, rooms[-1], *arrays[-1]])
    f.give()
    return f"{f.function}\n"


def _gather_vector(f: Code, places: Sequence[Raw]) -> Raw:
    """Return a vector of the reals at some addresses."""
    found = Raw(f.kind, "poison")
    for lane, place in enumerate(places):
        found = f.builder.insert(found, f.builder.load(place, REAL), lane)
    return found


def gather_and_scatter(lanes: int) -> str:
    """Return the functions that `lane_rows` calls."""
    rows = (ADDRESS,) * lanes
    f = _function_of("armillary_gather", FunctionType(NOTHING, (TRUTH, WHOLE, WHOLE, *rows, ADDRESS)), lanes)
    given, to = f.function.args[3 : 3 + lanes], Span(f, f.function.args[-1])
    with f.when(f.argument(0) | f.argument(1).differs(0)), f.each(f.argument(2)) as k:
        places = [Span(f, row, single=True).at(k) for row in given]
        to[k] = Value(f, _gather_vector(f, places))
    f.give()
    g = _function_of("armillary_scatter", FunctionType(NOTHING, (WHOLE, ADDRESS, *rows)), lanes)
    count, source, targets = g.argument(0), Span(g, g.function.args[1]), g.function.args[2:]
    blocks = count.whole_quotient(g.whole(lanes))
    with g.each(blocks) as block:
        k = block * lanes
        vectors = [(source[k + j] + 0.0).raw for j in range(lanes)]  # zeros get no sign
        for row, vector in zip(targets, _transpose(g, vectors), strict=True):
            g.builder.store(vector, Span(g, row, single=True).at(k), ", align 8")
    with g.each(count - blocks * lanes) as left:
        k = blocks * lanes + left
        whole = (source[k] + 0.0).raw
        for lane, row in enumerate(targets):
            g.builder.store(g.builder.lane(whole, lane), Span(g, row, single=True).at(k))
    g.give()
    for function in (f.function, g.function):
        function.linkage = "internal"
    return f"{f.function}\n{g.function}\n"


def _transpose(f: Code, vectors: list[Raw]) -> list[Raw]:
    """Return the columns of a square of vectors as vectors."""
    lanes, apart = len(vectors), 1
    found = [*vectors]
    while apart < lanes:
        for i in (i for i in range(lanes) if not i & apart):
            a, b = found[i], found[i + apart]
            for side in (0, apart):
                order = [(j & ~apart | side) + (lanes if j & apart else 0) for j in range(lanes)]
                found[i + side] = f.builder.shuffle(a, b, order)
        apart *= 2
    return found


# Compiled methods that are the same for all systems: routines over one list of numbers and addresses.
#
# A method such as Newton's has a `RoutineLayout` of named fields, whole numbers and addresses of arrays; its
# routines are written with `Code` and read the fields by name. Python fills the fields and calls an entry of
# the method with their address.

_STANDARD = Passes(2)


@dataclass(frozen=True)
class RoutineLayout:
    """The fields of a method: whole numbers, then addresses."""

    numbers: tuple[str, ...]
    addresses: tuple[str, ...]

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate((*self.numbers, *self.addresses))}

    def fields(self, values: Mapping[str, int | np.ndarray]) -> np.ndarray:
        """Return the fields as one array. It holds addresses of arrays, so the caller must keep these."""
        found, places = [0] * len(self.places), self.places
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value = _address(value)
            found[places[name]] = value
        return np.array(found, dtype=np.int64)


_Byte = ctypes.c_char


def _address(values: np.ndarray) -> int:
    """Return the address of an array, from its buffer: that takes a fifth of the time of ``ctypes.data``."""
    try:
        return ctypes.addressof(_Byte.from_buffer(values.data))
    except (TypeError, ValueError, BufferError):  # read-only, in parts, or empty
        return values.ctypes.data


class Routine(Code):
    """A function of a method under construction: its first argument is the address of the fields."""

    def __init__(self, function: Function, layout: RoutineLayout, lanes: int = 1) -> None:
        super().__init__(function, lanes)
        self.layout = layout

    def __getitem__(self, field: str) -> Value:
        place = self.builder.place(self.function.args[0], constant(WHOLE, self.layout.places[field]), WHOLE)
        return Value(self, self.builder.load(place, ADDRESS if field in self.layout.addresses else WHOLE))

    def vector(self, field: str, first: Value | None = None) -> Span:
        found = Span(self, self[field].raw)
        return found if first is None else Span(self, found.at(first))

    def index(self, field: str, i: Value) -> Value:
        """Return an element of an array of whole numbers."""
        place = self.builder.place(self[field].raw, i.raw, WHOLE)
        return Value(self, self.builder.load(place, WHOLE))

    def put_index(self, field: str, i: Value, value: Value) -> None:
        self.builder.store(value.raw, self.builder.place(self[field].raw, i.raw, WHOLE))

    def sum(self, count: Value, term: Callable[[Value], Value]) -> Value:
        found = Local(self, self.real(0.0))
        with self.each(count) as i:
            found.set(found.get() + term(i))
        return found.get()

    def dot(self, count: Value, a: Span, b: Span) -> Value:
        """Return Σ aᵢ bᵢ, from four independent sums."""
        sums = [Local(self, self.real(0.0)) for _ in range(4)]
        fours = count.whole_quotient(self.whole(4))
        with self.each(fours) as i:
            for k, found in enumerate(sums):
                found.set(found.get() + a[i * 4 + k] * b[i * 4 + k])
        with self.span(fours * 4, count) as i:
            sums[0].set(sums[0].get() + a[i] * b[i])
        return (sums[0].get() + sums[1].get()) + (sums[2].get() + sums[3].get())

    @contextmanager
    def span(self, first: Value, end: Value) -> Iterator[Value]:
        """Loop over first … end − 1."""
        with self.each(end - first) as i:
            yield i + first

    def run(self, other: Routine, *arguments: Value) -> Value:
        """Emit a call of another routine of the method."""
        raw = [self.function.args[0], *(a.raw for a in arguments)]
        return Value(self, self.builder.call(other.function.callee, raw))

    def evaluate(self, function: str, t: Value, place: Span, out: Span) -> None:
        """Emit a call of a model's function, whose address is a field."""
        arguments = [t.raw, place.address, self["constants"].raw, self["memory"].raw, out.address]
        self.builder.call(Callee(_SECTION, self[function].raw.name), arguments)


def routine(
    module: IRModule, layout: RoutineLayout, name: str, result: str, *arguments: str, public: bool = False
) -> Routine:
    """Return a new routine of a method; a ``public`` one can be called from outside the module."""
    return Routine(routine_function(module, name, *arguments, result=result, public=public), layout)


def routine_function(
    module: IRModule, name: str, *arguments: str, result: str = NOTHING, public: bool = False
) -> Function:
    """Return the function of a new routine."""
    function = Function(module, FunctionType(result, (ADDRESS, *arguments)), f"armillary_{name}")
    function.attributes.append("nounwind")
    if not public:
        function.linkage = "internal"
    return function


@dataclass(frozen=True, eq=False)
class PreparedRoutine:
    """An entry of a method with its arrays: a call copies values into some of them and runs the entry.

    The addresses of the arrays are found once, since that takes longer than the code of a small problem.
    """

    arrays: dict[str, np.ndarray]
    run: Callable[[], None]

    def __call__(self, **values: object) -> None:
        for name, value in values.items():
            self.arrays[name][...] = value
        self.run()

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an array, which the next call overwrites."""
        return self.arrays[name]


@dataclass(frozen=True, eq=False)
class RoutineMethod:
    """The compiled entries of a method, and the engine that owns their code."""

    entries: dict[str, Callable[[int], None]]
    engine: LlvmObject

    def __call__(self, entry: str, fields: np.ndarray) -> None:
        self.entries[entry](fields.ctypes.data)

    def prepare(
        self, entry: str, layout: RoutineLayout, values: Mapping[str, int | np.ndarray]
    ) -> PreparedRoutine:
        """Return an entry with its own arrays, for repeated calls."""
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        return PreparedRoutine(arrays, self.bind(entry, layout.fields(values)))

    def bind(self, entry: str, fields: np.ndarray) -> Callable[[], None]:
        """Return a function that calls an entry with the same fields each time.

        It keeps the address of the fields: to get it from NumPy takes as long as the code of a small problem.
        """
        call, address = self.entries[entry], fields.ctypes.data

        def run(kept: np.ndarray = fields) -> None:
            call(address)

        return run


def compiled_method(
    name: str,
    text: Callable[[], str],
    written: Sequence[Path],
    entries: Sequence[str],
    level: int = 2,
    passes: Passes = _STANDARD,
    *,
    of_all_models: bool = False,
) -> RoutineMethod:
    """Return a compiled method, perhaps from the cache; ``written`` are the source files of its text.

    ``of_all_models`` is as for ``engine``.
    """
    here = Path(__file__)
    files = [*written, here, here.with_name("builder.py"), here.with_name("emitter.py")]
    label = digest(*(file.read_text(encoding="utf-8") for file in files))
    made = engine(f"{name} {label}", lambda: [text()], level, passes, of_all_models=of_all_models)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return RoutineMethod(
        {entry: kind(made.get_function_address(f"armillary_{entry}")) for entry in entries}, made
    )


def real_array(values: Given) -> np.ndarray:
    """Return an array of reals for a routine, with one element at least, so that it has an address."""
    found = np.ascontiguousarray(values, dtype=float)
    return found if found.size else np.zeros(1)


def whole_array(values: Given) -> np.ndarray:
    """Return an array of whole numbers for a routine, with one element at least."""
    found = np.ascontiguousarray(values, dtype=np.int64)
    return found if found.size else np.zeros(1, dtype=np.int64)
