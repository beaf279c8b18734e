"""Compiled methods that are the same for all systems: routines over one list of numbers and addresses.

A method such as Newton's has a `RoutineLayout` of named fields, whole numbers and addresses of arrays; its
routines are written with the words of `Code` and read their fields by name. Python fills the fields and calls
the method's entry with their address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from armillary.cache import digest
from armillary.llvm.building.assembly import (
    ADDRESS,
    NOTHING,
    REAL,
    WHOLE,
    Callee,
    Function,
    FunctionType,
    IRModule,
    constant,
)
from armillary.llvm.building.builder import Code, Local, Span, Value
from armillary.llvm.jit import LlvmObject, Passes, engine
from armillary.untyped import Given

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
        """The fields as one array; it holds addresses only, so the arrays must be kept as well."""
        found, places = [0] * len(self.places), self.places
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value = value.__array_interface__["data"][0]
            found[places[name]] = value
        return np.array(found, dtype=np.int64)


class Routine(Code):
    """A function of a method under construction: its first argument is the address of the fields."""

    def __init__(self, function: Function, layout: RoutineLayout) -> None:
        super().__init__(function)
        self.layout = layout

    def __getitem__(self, field: str) -> Value:
        place = self.builder.place(self.function.args[0], constant(WHOLE, self.layout.places[field]), WHOLE)
        return Value(self, self.builder.load(place, ADDRESS if field in self.layout.addresses else WHOLE))

    def vector(self, field: str, first: Value | None = None) -> Span:
        found = Span(self, self[field].raw)
        return found if first is None else Span(self, found.at(first))

    def index(self, field: str, i: Value) -> Value:
        """An entry of a list of whole numbers."""
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
        """Σ aᵢ bᵢ as four sums that do not wait for one another."""
        sums = [Local(self, self.real(0.0)) for _ in range(4)]
        fours = count.whole_quotient(self.whole(4))
        with self.each(fours) as i:
            for k, found in enumerate(sums):
                found.set(found.get() + a[i * 4 + k] * b[i * 4 + k])
        with self.span(fours * 4, count) as i:
            sums[0].set(sums[0].get() + a[i] * b[i])
        return (sums[0].get() + sums[1].get()) + (sums[2].get() + sums[3].get())

    def largest(self, count: Value, term: Callable[[Value], Value]) -> Value:
        """The largest magnitude; NaN where one is not a number."""
        found = Local(self, self.real(0.0))
        with self.each(count) as i:
            found.set(self.intrinsic("maximum", found.get(), self.magnitude(term(i))))
        return found.get()

    @contextmanager
    def span(self, first: Value, end: Value) -> Iterator[Value]:
        """A loop over first … end − 1."""
        with self.each(end - first) as i:
            yield i + first

    def move(self, count: Value, source: Span, target: Span) -> None:
        with self.each(count) as i:
            target[i] = source[i]

    def run(self, other: Routine, *arguments: Value) -> Value:
        """A call of another routine of the method."""
        raw = [self.function.args[0], *(a.raw for a in arguments)]
        return Value(self, self.builder.call(other.function.callee, raw))

    def evaluate(self, function: str, t: Value, place: Span, out: Span) -> None:
        """A call of a model's function, whose address is a field."""
        arguments = [t.raw, place.address, self["constants"].raw, self["memory"].raw, out.address]
        self.builder.call(Callee(_SECTION, self[function].raw.name), arguments)


def routine(
    module: IRModule, layout: RoutineLayout, name: str, result: str, *arguments: str, public: bool = False
) -> Routine:
    """A routine of a method, for calls from outside where it is ``public``."""
    function = Function(module, FunctionType(result, (ADDRESS, *arguments)), f"armillary_{name}")
    function.attributes.append("nounwind")
    if not public:
        function.linkage = "internal"
    return Routine(function, layout)


@dataclass(frozen=True, eq=False)
class RoutineMethod:
    """The compiled entries of a method, together with the engine that their code belongs to."""

    entries: dict[str, Callable[[int], None]]
    engine: LlvmObject

    def __call__(self, entry: str, fields: np.ndarray) -> None:
        self.entries[entry](fields.ctypes.data)


def compiled_method(
    name: str,
    text: Callable[[], str],
    written: Sequence[Path],
    entries: Sequence[str],
    level: int = 2,
    passes: Passes = _STANDARD,
) -> RoutineMethod:
    """A method compiled, or taken from the cache; ``written`` are the files that its text comes from."""
    here = Path(__file__)
    files = [*written, here, here.with_name("builder.py"), here.with_name("assembly.py")]
    label = digest(*(file.read_text(encoding="utf-8") for file in files))
    made = engine(f"{name} {label}", lambda: [text()], level, passes)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return RoutineMethod(
        {entry: kind(made.get_function_address(f"armillary_{entry}")) for entry in entries}, made
    )


def real_array(values: Given) -> np.ndarray:
    """Numbers that a routine reads; an address needs at least one."""
    found = np.ascontiguousarray(values, dtype=float)
    return found if found.size else np.zeros(1)


def whole_array(values: Given) -> np.ndarray:
    """Whole numbers that a routine reads; an address needs at least one."""
    found = np.ascontiguousarray(values, dtype=np.int64)
    return found if found.size else np.zeros(1, dtype=np.int64)
