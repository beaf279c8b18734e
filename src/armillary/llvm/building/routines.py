"""Compiled routines shared by many callers: methods, and functions over records, rows and matrices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armillary.cache import digest
from armillary.llvm.building.builder import Code, Local, Operand, Span, Value
from armillary.llvm.building.emitter import (
    ADDRESS,
    NOTHING,
    REAL,
    WHOLE,
    Callee,
    Function,
    FunctionType,
    IRModule,
    Raw,
    constant,
)
from armillary.llvm.instructions import real
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

    ``offsets`` are the numbers of reals before each vector in the workspace; if None, fields of the vectors'
    names hold them. Functions read a ``constant`` record once, at their entry.
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
        """Return a new internal function of (record, workspace, *arguments); `rare`: optimised for size."""
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

# −0.0 + 0.0 is 0.0: zeros that users see have no sign.
_FUNCTION = """
@{name}_places = internal constant [{count} x i32] [{places}]
define void @{name}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out) nounwind {{
entry:
  %found = alloca [{room} x double], align 64
  call void @{source}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %found)
{numbers}
  %any = icmp ne i64 {count}, 0
  br i1 %any, label %next, label %end
next:
  %i = phi i64 [ 0, %entry ], [ %more, %next ]
  %p = getelementptr inbounds i32, ptr @{name}_places, i64 %i
  %place = load i32, ptr %p
  %f = getelementptr inbounds double, ptr %found, i32 %place
  %value = load double, ptr %f
  %plain = fadd double %value, 0.0
  %o = getelementptr inbounds double, ptr %out, i64 %i
  store double %plain, ptr %o
  %more = add nuw nsw i64 %i, 1
  %left = icmp ult i64 %more, {count}
  br i1 %left, label %next, label %end
end:
  ret void
}}
"""


@dataclass(frozen=True)
class MatrixPlacement:
    """Elements of matrices, one matrix after the other and row by row.

    ``places`` has the index of each among the results of the function ``source``, or −1 − j for the j-th of
    ``numbers``.
    """

    source: str
    places: Sequence[int]
    numbers: Sequence[float]

    def text(self, name: str, length: int) -> str:
        """Return the text of function ``name``; ``length`` is the number of results of ``source``."""
        numbers = []
        for j, number in enumerate(self.numbers):
            numbers += [
                f"  %c{j} = getelementptr inbounds double, ptr %found, i64 {length + j}",
                f"  store double {real(number)}, ptr %c{j}",
            ]
        places = [f"i32 {place if place >= 0 else length - 1 - place}" for place in self.places]
        return _FUNCTION.format(
            name=name,
            source=self.source,
            count=len(places),
            places=", ".join(places),
            room=length + len(self.numbers),
            numbers="\n".join(numbers),
        )


# Loops over rows as LLVM text: a generated function for many rows in one call.

_LOOP = """
define void @{name}_rows({given}i64 %n, {strides}, {arrays}) nounwind {{
start:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %row, label %end
row:
  %i = phi i64 [ 0, %start ], [ %next, %row ]
{body}
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %row, label %end
end:
  ret void
}}
"""

_TIMED = ("times", "states", "constants", "memories", "outs")
_CONSTANTS = ("parameters", "constants")


def function_rows(name: str) -> str:
    """Return the text of a loop over rows.

    Its arguments: NAME_rows(n, strides of time, state, constants, memory and out, then these arrays). A
    stride is the number of reals from one row to the next, 0 for arrays that all rows share.
    """
    return _loop(name, _TIMED, timed=True)


def precompute_rows() -> str:
    """Return the text of precompute_rows(n, strides of parameters and constants, then these arrays)."""
    return _loop("precompute", _CONSTANTS, timed=False)


def rows_by_address() -> str:
    """Return loops for functions of any model, whose address is the first argument.

    They are armillary_function_rows and armillary_precompute_rows.
    """
    given = "ptr %function, "
    return _loop("armillary_function", _TIMED, timed=True, given=given) + _loop(
        "armillary_precompute", _CONSTANTS, timed=False, given=given
    )


def _loop(name: str, arrays: tuple[str, ...], *, timed: bool, given: str = "") -> str:
    body, passed = [], []
    for k, array in enumerate(arrays):
        body += [
            f"  %o{k} = mul nsw i64 %i, %s{k}",
            f"  %p{k} = getelementptr inbounds double, ptr %{array}, i64 %o{k}",
        ]
        passed.append(f"ptr %p{k}")
    if timed:
        body.append("  %t = load double, ptr %p0")
        passed[0] = "double %t"
    body.append(f"  call void {'%function' if given else f'@{name}'}({', '.join(passed)})")
    return _LOOP.format(
        name=name,
        given=given,
        strides=", ".join(f"i64 %s{k}" for k in range(len(arrays))),
        arrays=", ".join(f"ptr %{array}" for array in arrays),
        body="\n".join(body),
    )


# The loop for a function on vectors, `<lanes x double>` for each real, which evaluates several rows at once.
# Rows are gathered into arrays of vectors and results are scattered to rows; the last row fills the lanes
# without a row.

_LANE_ROWS = """
define void @{name}_rows(i64 %n, {strides}, {arrays}) nounwind {{
start:
  %any = icmp sgt i64 %n, 0
  %last = sub i64 %n, 1
{rooms}
  br i1 %any, label %rows, label %end
rows:
  %i = phi i64 [ 0, %start ], [ %next, %rows ]
  %first = icmp eq i64 %i, 0
{body}
  %next = add nuw nsw i64 %i, {lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %rows, label %end
end:
  ret void
}}
"""
_GATHER = """
define internal void @armillary_gather(i1 %first, i64 %stride, i64 %count, {rows}, ptr %to) nounwind {{
start:
  %moves = icmp ne i64 %stride, 0
  %needed = or i1 %first, %moves
  %some = icmp sgt i64 %count, 0
  %begin = and i1 %needed, %some
  br i1 %begin, label %step, label %end
step:
  %k = phi i64 [ 0, %start ], [ %next, %step ]
{body}
  %next = add nuw nsw i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %step, label %end
end:
  ret void
}}
"""
_SCATTER = """
define internal void @armillary_scatter(i64 %count, ptr %from, {rows}) nounwind {{
start:
  %blocks = and i64 %count, {mask}
  %some = icmp sgt i64 %blocks, 0
  br i1 %some, label %block, label %rest
block:
  %k = phi i64 [ 0, %start ], [ %next, %block ]
{blocks}
  %next = add nuw nsw i64 %k, {lanes}
  %more = icmp slt i64 %next, %blocks
  br i1 %more, label %block, label %rest
rest:
  %left = icmp slt i64 %blocks, %count
  br i1 %left, label %single, label %end
single:
  %j = phi i64 [ %blocks, %rest ], [ %after, %single ]
{singles}
  %after = add nuw nsw i64 %j, 1
  %further = icmp slt i64 %after, %count
  br i1 %further, label %single, label %end
end:
  ret void
}}
"""


def lane_rows(name: str, lanes: int, sizes: Mapping[str, int]) -> str:
    """Return the text of NAME_rows, as by `function_rows`, for a function on vectors; ``sizes`` by array."""
    vector = f"<{lanes} x double>"
    rooms = [
        f"  %{array}_room = alloca [{max(1, sizes[array])} x {vector}], align 64" for array in _TIMED[1:]
    ]
    body = []
    for lane in range(lanes):
        body += [f"  %w{lane} = add i64 %i, {lane}", f"  %late{lane} = icmp sgt i64 %w{lane}, %last"]
        body.append(f"  %r{lane} = select i1 %late{lane}, i64 %last, i64 %w{lane}")
        for k, array in enumerate(_TIMED):
            body.append(f"  %o{k}_{lane} = mul nsw i64 %r{lane}, %s{k}")
            body.append(f"  %p{k}_{lane} = getelementptr inbounds double, ptr %{array}, i64 %o{k}_{lane}")
    time = "poison"
    for lane in range(lanes):
        body.append(f"  %t{lane} = load double, ptr %p0_{lane}")
        body.append(f"  %time{lane} = insertelement {vector} {time}, double %t{lane}, i32 {lane}")
        time = f"%time{lane}"
    for k, array in enumerate(_TIMED[1:-1], 1):
        rows = ", ".join(f"ptr %p{k}_{lane}" for lane in range(lanes))
        given = f"i1 %first, i64 %s{k}, i64 {sizes[array]}"
        body.append(f"  call void @armillary_gather({given}, {rows}, ptr %{array}_room)")
    passed = ", ".join(f"ptr %{array}_room" for array in _TIMED[1:])
    body.append(f"  call void @{name}({vector} {time}, {passed})")
    rows = ", ".join(f"ptr %p4_{lane}" for lane in range(lanes))
    body.append(f"  call void @armillary_scatter(i64 {sizes['outs']}, ptr %outs_room, {rows})")
    return _LANE_ROWS.format(
        name=name, lanes=lanes, rooms="\n".join(rooms), body="\n".join(body),
        strides=", ".join(f"i64 %s{k}" for k in range(len(_TIMED))),
        arrays=", ".join(f"ptr %{array}" for array in _TIMED),
    )  # fmt: skip


def gather_and_scatter(lanes: int) -> str:
    """Return the functions that `lane_rows` calls."""
    vector, rows = f"<{lanes} x double>", ", ".join(f"ptr %r{lane}" for lane in range(lanes))
    body, value = [], "poison"
    for lane in range(lanes):
        body.append(f"  %a{lane} = getelementptr inbounds double, ptr %r{lane}, i64 %k")
        body.append(f"  %x{lane} = load double, ptr %a{lane}")
        body.append(f"  %v{lane} = insertelement {vector} {value}, double %x{lane}, i32 {lane}")
        value = f"%v{lane}"
    body.append(f"  %to_k = getelementptr inbounds {vector}, ptr %to, i64 %k")
    body.append(f"  store {vector} {value}, ptr %to_k, align 16")
    blocks, names = [], []
    for j in range(lanes):
        blocks.append(f"  %k{j} = add i64 %k, {j}")
        blocks.append(f"  %from{j} = getelementptr inbounds {vector}, ptr %from, i64 %k{j}")
        blocks.append(f"  %l{j} = load {vector}, ptr %from{j}, align 16")
        blocks.append(f"  %b{j} = fadd {vector} %l{j}, zeroinitializer")  # zeros get no sign
        names.append(f"%b{j}")
    blocks += _transpose(names, lanes, "")
    for lane in range(lanes):
        blocks.append(f"  %to{lane} = getelementptr inbounds double, ptr %r{lane}, i64 %k")
        blocks.append(f"  store {vector} {names[lane]}, ptr %to{lane}, align 8")
    singles = [
        f"  %from_j = getelementptr inbounds {vector}, ptr %from, i64 %j",
        f"  %loaded = load {vector}, ptr %from_j, align 16",
        f"  %whole = fadd {vector} %loaded, zeroinitializer",
    ]
    for lane in range(lanes):
        singles.append(f"  %e{lane} = extractelement {vector} %whole, i32 {lane}")
        singles.append(f"  %to_j{lane} = getelementptr inbounds double, ptr %r{lane}, i64 %j")
        singles.append(f"  store double %e{lane}, ptr %to_j{lane}")
    return _GATHER.format(rows=rows, body="\n".join(body)) + _SCATTER.format(
        rows=rows, mask=-lanes, lanes=lanes, blocks="\n".join(blocks), singles="\n".join(singles)
    )


def _transpose(names: list[str], lanes: int, label: str) -> list[str]:
    """Return lines that transpose a square of vectors; replace their names by the results' names."""
    lines = []
    apart = 1
    while apart < lanes:
        for i in (i for i in range(lanes) if not i & apart):
            a, b, made = names[i], names[i + apart], []
            for side in (0, apart):
                picked = [(j & ~apart | side) + (lanes if j & apart else 0) for j in range(lanes)]
                made.append(f"%t{label}_{apart}_{i}_{side}")
                order = ", ".join(f"i32 {j}" for j in picked)
                vector = f"<{lanes} x double>"
                lines.append(
                    f"  {made[-1]} = shufflevector {vector} {a}, {vector} {b}, <{lanes} x i32> <{order}>"
                )
            names[i], names[i + apart] = made
        apart *= 2
    return lines


# Compiled methods that are the same for all systems: routines over one list of numbers and addresses.
#
# A method such as Newton's has a `RoutineLayout` of named fields, whole numbers and addresses of arrays; its
# routines are written with `Code` and read the fields by name. Python fills the fields and calls an entry of
# the method with their address.

_STANDARD = Passes(2)
_SECTION = FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS))


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
                value = value.__array_interface__["data"][0]
            found[places[name]] = value
        return np.array(found, dtype=np.int64)


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

    def move(self, count: Value, source: Span, target: Span) -> None:
        with self.each(count) as i:
            target[i] = source[i]

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
class RoutineMethod:
    """The compiled entries of a method, and the engine that owns their code."""

    entries: dict[str, Callable[[int], None]]
    engine: LlvmObject

    def __call__(self, entry: str, fields: np.ndarray) -> None:
        self.entries[entry](fields.ctypes.data)

    def bind(self, entry: str, fields: np.ndarray) -> Callable[[], None]:
        """Return a function that calls an entry with the same fields each time.

        It keeps their address: asking NumPy for it takes as long as the code of a small problem.
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
