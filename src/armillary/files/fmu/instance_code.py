"""Functions over the instances of an imported FMU, under construction.

    f["time"]                       a field of the instance's record, read or written
    f.answer("DoStep", …)           the status that a function of the FMU's library gives
    f.find(handle, table)           the record of a handle; the function gives NaN where there is none

All else is written in the words of `llvm/building/builder.py`.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

from armillary.files.fmu.library import Library
from armillary.llvm.building.builder import Code, Operand, Span, Value
from armillary.llvm.building.emitter import (
    ADDRESS,
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

SLOTS = 1024  # runs at the same time
_STATUS = "i32"  # of FMI
_KINDS = {ctypes.c_double: REAL, ctypes.c_int64: WHOLE}
_NULL = Raw(ADDRESS, "null")


class InstanceModule(IRModule):
    """Functions over records of one FMU, whose fields take eight bytes each."""

    def __init__(self, library: Library, record: type[ctypes.Structure]) -> None:
        super().__init__()
        self.library = library
        kinds = {name: _KINDS.get(kind, ADDRESS) for name, kind, *_ in record._fields_}
        self.fields = {name: (place, kind) for place, (name, kind) in enumerate(kinds.items())}

    def function(self, name: str, result: str, arguments: Sequence[str]) -> InstanceCode:
        """A function that others call, whose first argument is the address of a record or of an instance."""
        made = InstanceCode(self, Function(self, FunctionType(result, (ADDRESS, *arguments)), name))
        made.function.linkage = "internal"
        return made

    def entry(self, name: str, arguments: int) -> InstanceCode:
        """A function of so many reals that gives one, called from outside."""
        return InstanceCode(self, Function(self, FunctionType(REAL, (REAL,) * arguments), name))


class InstanceCode(Code):
    """One function under construction."""

    def __init__(self, module: InstanceModule, function: Function) -> None:
        super().__init__(function)
        self.module = module
        self.record = function.args[0]
        self.arguments = [Value(self, raw) for raw in function.args[1:]]

    def find(self, handle: Value, table: int) -> None:
        """The record of a handle in a table of addresses."""
        with self.when(~((handle >= 0.0) & (handle < float(SLOTS)))):
            self.fail()
        place = self.builder.place(_outside(table), handle.to_whole().raw, ADDRESS)
        self.record = self.builder.load(place, ADDRESS)
        with self.when(Value(self, self.builder.compare("==", self.record, _NULL, reals=False))):
            self.fail()

    def fail(self) -> None:
        """The end of the function with a result that is not a number."""
        self.give(self.real(math.nan))

    def truth(self, value: bool) -> Value:
        return Value(self, Raw(TRUTH, "true" if value else "false"))

    # Fields of the record

    def _place(self, field: str) -> Raw:
        return self.builder.place(self.record, constant(WHOLE, self.module.fields[field][0]), WHOLE)

    def __getitem__(self, field: str) -> Value:
        return Value(self, self.builder.load(self._place(field), self.module.fields[field][1]))

    def __setitem__(self, field: str, value: Operand) -> None:
        self.builder.store(self.of_kind(self.module.fields[field][1], value).raw, self._place(field))

    def vector(self, field: str) -> Span:
        """Reals whose address is in the record."""
        return Span(self, self[field].raw)

    def room(self, count: int, kind: str = REAL) -> Span:
        """Room for so many numbers; one at least, for it has an address."""
        return Span(self, self.builder.local(f"[{max(1, count)} x {kind}]"))

    # Calls

    def run(self, other: InstanceCode, *arguments: Value) -> Value:
        """A call of a function over the same record."""
        raw = [self.record, *(a.raw for a in arguments)]
        return Value(self, self.builder.call(other.function.callee, raw))

    def transfer(self, other: InstanceCode, values: Span) -> Value:
        """Variables of the instance set or read, by a function of `values.py`; the status."""
        return Value(self, self.builder.call(other.function.callee, [self["instance"].raw, values.address]))

    def answer(self, name: str, instance: Raw, *operands: Raw) -> Value:
        """The status of a call of the library; as a whole number, of which no value is negative."""
        called = _outside(self.module.library.address(name)).name
        raw = self.builder.call(_callee(_STATUS, called, (instance, *operands)), (instance, *operands))
        return Value(self, self.builder.convert("zext", raw, WHOLE))

    def call_back(self, function: int) -> Value:
        """The result of a function of the process for the record."""
        called = _callee(WHOLE, _outside(function).name, (self.record,))
        return Value(self, self.builder.call(called, (self.record,)))

    def worst(self, statuses: Sequence[Value]) -> Value:
        """The greatest of several statuses, 0 of none."""
        found = self.whole(0)
        for status in statuses:
            found = Value(self, self.builder.select((status > found).raw, status.raw, found.raw))
        return found


def _outside(address: int) -> Raw:
    """An address of the process as a constant of the code."""
    return Raw(ADDRESS, f"inttoptr (i64 {address} to ptr)")


def _callee(result: str, name: str, operands: Sequence[Raw]) -> Callee:
    return Callee(FunctionType(result, tuple([a.type for a in operands])), name)
