"""Instances of an imported FMU in compiled code: their table, their functions and their values.

A model has doubles, an FMU has numbers of many types. A double is rounded to the nearest whole number, and as
a Boolean it is true if it differs from zero. An array is set and read as a whole; elements that nothing
drives keep their start values.

Each thread that runs the model has its own instance, in a table that compiled code reads. A thread that
starts a run frees the instance of its previous run.

Functions over instances are built by `InstanceCode`:

    f["time"]                       a field of the instance's record, read or written
    f.answer("DoStep", …)           the status that a function of the FMU's library returns
    f.find(handle, table)           the record of a handle; the function gives NaN if there is none

Other code is written with `llvm/building/builder.py`.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armillary.algebra.block_functions import ForeignFunction
from armillary.errors import SimulationError
from armillary.files.fmu.description import FmuVariable
from armillary.files.fmu.library import DISCARD, ERROR, OK, Library
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

SLOTS = 1024  # most runs at the same time
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
        """Begin a function that others call; its first argument is the address of a record or an instance."""
        made = InstanceCode(self, Function(self, FunctionType(result, (ADDRESS, *arguments)), name))
        made.function.linkage = "internal"
        return made

    def entry(self, name: str, arguments: int) -> InstanceCode:
        """Begin a function that is called from outside: it takes this number of reals and returns a real."""
        return InstanceCode(self, Function(self, FunctionType(REAL, (REAL,) * arguments), name))


class InstanceCode(Code):
    """One function under construction."""

    def __init__(self, module: InstanceModule, function: Function) -> None:
        super().__init__(function)
        self.module = module
        self.record = function.args[0]
        self.arguments = [Value(self, raw) for raw in function.args[1:]]

    def find(self, handle: Value, table: int) -> None:
        """Emit the search for the record of a handle in a table of addresses."""
        with self.when(~((handle >= 0.0) & (handle < float(SLOTS)))):
            self.fail()
        place = self.builder.place(_outside(table), handle.to_whole().raw, ADDRESS)
        self.record = self.builder.load(place, ADDRESS)
        with self.when(Value(self, self.builder.compare("==", self.record, _NULL, reals=False))):
            self.fail()

    def fail(self) -> None:
        """Emit the end of the function with NaN as its result."""
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
        """Return the reals whose address is in a field of the record."""
        return Span(self, self[field].raw)

    def room(self, count: int, kind: str = REAL) -> Span:
        """Reserve room for this number of values, but for at least one, so that it has an address."""
        return Span(self, self.builder.local(f"[{max(1, count)} x {kind}]"))

    # Calls

    def run(self, other: InstanceCode, *arguments: Value) -> Value:
        """Return the result of another function over the same record."""
        raw = [self.record, *(a.raw for a in arguments)]
        return Value(self, self.builder.call(other.function.callee, raw))

    def transfer(self, other: InstanceCode, values: Span) -> Value:
        """Set or read variables of the instance by a function that ``transfer`` below made; return the
        status.
        """
        return Value(self, self.builder.call(other.function.callee, [self["instance"].raw, values.address]))

    def answer(self, name: str, instance: Raw, *operands: Raw) -> Value:
        """Return the status of a call of the library, as a whole number that is not negative."""
        called = _outside(self.module.library.address(name)).name
        raw = self.builder.call(_callee(_STATUS, called, (instance, *operands)), (instance, *operands))
        return Value(self, self.builder.convert("zext", raw, WHOLE))

    def call_back(self, function: int) -> Value:
        """Return the result of a function of this process, called with the record."""
        called = _callee(WHOLE, _outside(function).name, (self.record,))
        return Value(self, self.builder.call(called, (self.record,)))

    def worst(self, statuses: Sequence[Value]) -> Value:
        """Return the greatest of several statuses; 0 if there is none."""
        found = self.whole(0)
        for status in statuses:
            found = Value(self, self.builder.select((status > found).raw, status.raw, found.raw))
        return found


def _outside(address: int) -> Raw:
    """Return an address of the process as a constant of the code."""
    return Raw(ADDRESS, f"inttoptr (i64 {address} to ptr)")


def _callee(result: str, name: str, operands: Sequence[Raw]) -> Callee:
    return Callee(FunctionType(result, tuple([a.type for a in operands])), name)


@dataclass(frozen=True)
class ValueKind:
    """A type of FMI: the type in LLVM, and the suffix of the names of its functions."""

    llvm: str
    function: str
    sign: str = ""  # "s" or "u" for signed or unsigned whole numbers


def kind_of(variable: FmuVariable, version: str) -> ValueKind:
    """Return the kind of a variable in a version of FMI."""
    second = version == "2.0"
    match variable.type:
        case "Float64":
            return ValueKind("double", "Real" if second else "Float64")
        case "Float32":
            return ValueKind("float", "Float32")
        case "Boolean":
            return ValueKind("i32" if second else "i8", "Boolean")
        case "Enumeration":
            return ValueKind("i32", "Integer", "s") if second else ValueKind("i64", "Int64", "s")
        case "Int32" if second:
            return ValueKind("i32", "Integer", "s")
    whole = variable.type.removeprefix("U").removeprefix("Int")
    return ValueKind(f"i{whole}", variable.type, "u" if variable.type[0] == "U" else "s")


def transfer(module: InstanceModule, verb: str, name: str, variables: Sequence[FmuVariable]) -> InstanceCode:
    """Return a function of (instance, values) that sets variables to doubles ("Set"), or reads them as
    doubles ("Get"), and returns the worst status.
    """
    version = module.library.fmu.version
    f = module.function(name, WHOLE, (ADDRESS,))
    instance, values = f.function.args[0], Span(f, f.function.args[1])
    groups: dict[ValueKind, list[tuple[int, FmuVariable]]] = {}
    for i, v in enumerate(variables):
        groups.setdefault(kind_of(v, version), []).append((i, v))
    statuses = []
    for g, (kind, members) in enumerate(groups.items()):
        wholes = list({v.reference: v for _, v in members}.values())
        starts, total = {}, 0
        for v in wholes:
            starts[v.reference] = total
            total += v.size
        items = ", ".join(f"i32 {v.reference}" for v in wholes)
        references = Raw(ADDRESS, f"@{name}_references{g}")
        module.constants.append(f"{references.name} = private constant [{len(wholes)} x i32] [{items}]")
        places = {starts[v.reference] + v.index: i for i, v in members}
        buffer = f.room(total, kind.llvm).address
        if verb == "Set":
            resting = {starts[v.reference] + k: f.real(x) for v in wholes for k, x in enumerate(v.starts)}
            given = {place: values[i] for place, i in places.items()}
            for place, value in {**resting, **given}.items():
                at = f.builder.place(buffer, constant(WHOLE, place), kind.llvm)
                f.builder.store(_of_kind(f, kind, value), at)
        size = (constant(WHOLE, total),) if version == "3.0" else ()
        count = constant(WHOLE, len(wholes))
        statuses.append(f.answer(f"{verb}{kind.function}", instance, references, count, buffer, *size))
        if verb == "Get":
            for place, i in places.items():
                at = f.builder.place(buffer, constant(WHOLE, place), kind.llvm)
                values[i] = _as_real(f, kind, Value(f, f.builder.load(at, kind.llvm)))
    f.give(f.worst(statuses))
    return f


def _of_kind(f: InstanceCode, kind: ValueKind, value: Value) -> Raw:
    """Return a double as a number of another type."""
    if kind.function == "Boolean":
        return f.builder.convert("zext", value.differs(0.0).raw, kind.llvm)
    if kind.sign:
        near = value + f.choose(value < 0.0, -0.5, 0.5)
        return f.builder.convert(f"fpto{kind.sign}i", near.raw, kind.llvm)
    return f.builder.convert("fptrunc", value.raw, kind.llvm)


def _as_real(f: InstanceCode, kind: ValueKind, value: Value) -> Value:
    """Return a number of another type as a double."""
    if kind.function == "Boolean":
        return Value(f, f.builder.convert("uitofp", value.differs(0).raw, REAL))
    operation = f"{kind.sign}itofp" if kind.sign else "fpext"
    return Value(f, f.builder.convert(operation, value.raw, REAL))


Setting = float | str  # of a parameter


class InstanceRecord(ctypes.Structure):
    """The data of an instance that compiled code reads."""

    _fields_ = (
        ("instance", ctypes.c_void_p),
        ("time", ctypes.c_double),
        ("status", ctypes.c_int64),
        ("before", ctypes.POINTER(ctypes.c_double)),  # inputs at the last communication point
    )


class Instances:
    """The instances of one FMU in a system: one per thread, in a table that compiled code reads."""

    def __init__(
        self,
        library: Library,
        name: str,
        settings: Mapping[FmuVariable, Setting],
        inputs: Sequence[FmuVariable],
    ) -> None:
        self.library, self.name, self.settings, self.inputs = library, name, dict(settings), list(inputs)
        self.table = (ctypes.c_void_p * SLOTS)()
        self.records: dict[int, ctypes.Structure] = {}
        self.fresh: dict[int, tuple[float, ...]] = {}  # by slot: the values of the initialisation
        self.owners: dict[int, threading.Thread] = {}
        self.lock = threading.Lock()

    def start(self, t: float, *signals: float) -> float:
        """Return the handle of an instance initialised with these values; reuse this thread's own if it has
        the same values and was not stepped.
        """
        own, given = self._own(), (t, *signals)
        if own is not None and own in self.records:
            record = self.records[own]
            if self.fresh[own] == given and record.time == t and record.status == OK:
                return float(own)
        slot = self._slot(threading.current_thread()) if own is None else own
        self._free(slot)
        instance = self.library.instance(self.name)
        # Until the instance is initialised, its status is ERROR: it can be freed then, but not terminated.
        record = self.record(instance, t, signals)
        self.records[slot], self.fresh[slot] = record, given
        self.library.initialize(instance, t, self.settings, dict(zip(self.inputs, signals, strict=True)))
        self.begin_instance(record)
        record.status = OK
        self.table[slot] = ctypes.addressof(record)
        return float(slot)

    def record(self, instance: int, t: float, signals: Sequence[float]) -> ctypes.Structure:
        """Return the data that compiled code reads of an instance that is not initialised yet."""
        return InstanceRecord(instance, t, ERROR, (ctypes.c_double * max(1, len(signals)))(*signals))

    def begin_instance(self, record: ctypes.Structure) -> None:
        """Make the calls that follow the initialization of an instance; none in co-simulation."""

    def complaint(self) -> str:
        """Return a sentence on the failure of this thread's instance, if it failed."""
        own = self._own()
        if own is None or own not in self.records or self.records[own].status < DISCARD:
            return ""
        said = self.library.messages[-1] if self.library.messages else "it gives no reason"
        return f"FMU '{self.name}' failed at t = {self.records[own].time:.6g} s: {said}"

    def _own(self) -> int | None:
        thread = threading.current_thread()
        with self.lock:
            return next((slot for slot, owner in self.owners.items() if owner is thread), None)

    def _slot(self, thread: threading.Thread) -> int:
        """Return a slot for a thread's instance; reuse the slot of a finished thread, if there is one."""
        with self.lock:
            free = next(
                (slot for slot, owner in self.owners.items() if not owner.is_alive()), len(self.owners)
            )
            if free >= SLOTS:
                raise SimulationError(f"FMU '{self.name}' takes part in {SLOTS} runs already")
            self.owners[free] = thread
        return free

    def _free(self, slot: int) -> None:
        record = self.records.pop(slot, None)
        self.table[slot] = None
        if record is not None and record.instance:
            self.library.free(record.instance, record.status)

    def release(self) -> None:
        """Free all instances."""
        for slot in list(self.records):
            self._free(slot)

    def __del__(self) -> None:
        self.release()


class InstanceStart(ForeignFunction):
    """`start` as a function of expressions: evaluated in Python when a run begins, never compiled."""

    def __init__(self, name: str, entry: InstanceEntry, arity: int, instances: Instances) -> None:
        super().__init__(name, entry, arity)
        self.instances = instances

    def value(self, *args: Any) -> Any:  # takes numbers; the base class takes expressions
        return self.instances.start(*(float(a) for a in args))

    def complaint(self) -> str:
        """Return the FMU's message if it failed in this thread's last run; else ""."""
        return self.instances.complaint()


@dataclass(frozen=True, eq=False)
class InstanceEntry:
    """An address, and the objects that must live as long as it may be called."""

    address: int
    kept: tuple[object, ...]
