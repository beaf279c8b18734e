"""An imported FMU as functions of expressions that compiled loops call by address.

    start(t, u₁ …)           a handle: the instance of this run, initialised at t (in Python, once per run)
    step(handle, t, u₁ …)    one output, after the step to t with these inputs (compiled)

A run has an instance of its own: the thread that starts a run frees the instance of its last one, so that
runs in several threads do not meet. Steps to the same time are taken once, whichever output asks first. When
a call of the FMU fails, its outputs are NaN from then on, which ends the run with what the FMU said.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armillary.algebra.user_functions.foreign import ForeignFunction
from armillary.errors import SimulationError
from armillary.files.fmu.description import Fmu, FmuVariable
from armillary.files.fmu.library import DISCARD, ERROR, OK, Library, load
from armillary.llvm.instructions import real
from armillary.llvm.jit import Compiled

SLOTS = 1024  # runs at the same time


class _Record(ctypes.Structure):
    """What compiled code knows of an instance."""

    _fields_ = (
        ("instance", ctypes.c_void_p),
        ("time", ctypes.c_double),
        ("status", ctypes.c_int64),
        ("before", ctypes.POINTER(ctypes.c_double)),  # inputs at the last communication point
    )


@dataclass(frozen=True, eq=False)
class Stepped:
    """The functions of one FMU in a system."""

    start: ForeignFunction
    steps: tuple[ForeignFunction, ...]
    library: Library


class _Instances:
    """The instances of one FMU in a system: one per thread, in a table that compiled code reads."""

    def __init__(
        self,
        library: Library,
        name: str,
        settings: Mapping[FmuVariable, float],
        inputs: Sequence[FmuVariable],
    ) -> None:
        self.library, self.name, self.settings, self.inputs = library, name, dict(settings), list(inputs)
        self.table = (ctypes.c_void_p * SLOTS)()
        self.records: dict[int, _Record] = {}
        self.fresh: dict[int, tuple[float, ...]] = {}  # what an instance was initialised with
        self.owners: dict[int, threading.Thread] = {}
        self.lock = threading.Lock()

    def start(self, t: float, *signals: float) -> float:
        """The handle of an instance initialised with these values; one that has not moved is as good."""
        own, given = self._own(), (t, *signals)
        if own is not None and own in self.records:
            record = self.records[own]
            if self.fresh[own] == given and record.time == t and record.status == OK:
                return float(own)
        slot = self._slot(threading.current_thread()) if own is None else own
        self._free(slot)
        instance = self.library.instance(self.name)
        # Until it is initialised, it may be freed but not terminated, as after an error.
        record = _Record(instance, t, ERROR, (ctypes.c_double * max(1, len(signals)))(*signals))
        self.records[slot], self.fresh[slot] = record, given
        self.library.initialize(instance, t, self.settings, dict(zip(self.inputs, signals, strict=True)))
        record.status = OK
        self.table[slot] = ctypes.addressof(record)
        return float(slot)

    def complaint(self) -> str:
        """A sentence on the failure of this thread's instance, if it failed."""
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
        """A place for a thread's instance; that of a thread that is over, if there is one."""
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
        """All instances given back."""
        for slot in list(self.records):
            self._free(slot)

    def __del__(self) -> None:
        self.release()


class _Start(ForeignFunction):
    """`start` as a function of expressions: evaluated in Python when a run begins, never compiled."""

    def __init__(self, name: str, entry: _Entry, arity: int, instances: _Instances) -> None:
        super().__init__(name, entry, arity)
        self.instances = instances

    def value(self, *args: Any) -> Any:
        return self.instances.start(*(float(a) for a in args))

    def complaint(self) -> str:
        """What the FMU said when it failed in this thread's last run; nothing where it did not."""
        return self.instances.complaint()


@dataclass(frozen=True, eq=False)
class _Entry:
    """An address, and all that has to live as long as it may be called."""

    address: int
    kept: tuple[Any, ...]


def stepped(
    fmu: Fmu,
    name: str,
    period: float,
    settings: Mapping[FmuVariable, float],
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> Stepped:
    """An FMU's library loaded, and the functions that step it every ``period`` seconds."""
    library = load(fmu)
    instances = _Instances(library, name, settings, inputs)
    code = Compiled(_text(library, instances, period, inputs, outputs))
    kept = (code, instances)
    start = _Start(f"{name} start", _Entry(code.address("nothing"), kept), 1 + len(inputs), instances)
    steps = tuple(
        ForeignFunction(f"{name} {v.name}", _Entry(code.address(f"output{k}"), kept), 2 + len(inputs))
        for k, v in enumerate(outputs)
    )
    return Stepped(start, steps, library)


# ---------------------------------------------------------------- compiled code


def _text(
    library: Library,
    instances: _Instances,
    period: float,
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> str:
    """`outputK(handle, t, u…)` for each output, `advance` for all, and `nothing`, which is not called."""
    signals = "".join(f", double %u{i}" for i in range(len(inputs)))
    blank = ", ".join(["double"] * (1 + len(inputs)))
    parts = [
        f"define double @nothing({blank}) {{\n  ret double 0x7FF8000000000000\n}}",
        _references("inputs", inputs),
        _references("outputs", outputs),
        _put(library, inputs),
        _advance(library, period, inputs, signals),
    ]
    parts += [_output(library, instances, k, signals) for k in range(len(outputs))]
    return "\n".join(parts)


def _references(name: str, variables: Sequence[FmuVariable]) -> str:
    items = ", ".join(f"i32 {v.reference}" for v in variables) or "i32 0"
    return f"@{name} = private constant [{max(1, len(variables))} x i32] [{items}]"


def _advance(library: Library, period: float, inputs: Sequence[FmuVariable], signals: str) -> str:
    """The step taken where the time is more than half a period on, then inputs set to those of now.

    In a step continuous inputs have the mean of their values at both ends, which is right to second order.
    The FMU sees equal steps of exactly one period, whatever rounding does to the times of the loop.
    """
    third = library.fmu.version == "3.0"
    tail = ", i8 1, ptr %answers, ptr %terminate, ptr %early, ptr %reached" if third else ", i32 1"
    means = [line for i, v in enumerate(inputs) for line in _mean(i, v.variability == "continuous")]
    kept = [f"  store double %u{i}, ptr %before{i}" for i in range(len(inputs))]
    lines = [
        f"define internal i64 @advance(ptr %record, double %t{signals}) {{", "entry:",
        f"  %values = alloca [{max(1, len(inputs))} x double]",
        "  %answers = alloca [3 x i8]", "  %reached = alloca double",
        "  %time_at = getelementptr i8, ptr %record, i64 8",
        "  %status_at = getelementptr i8, ptr %record, i64 16",
        "  %before_at = getelementptr i8, ptr %record, i64 24",
        "  %before = load ptr, ptr %before_at",
        *(line for i in range(len(inputs)) for line in _places(i)),
        "  %instance = load ptr, ptr %record",
        "  %known = load i64, ptr %status_at",
        "  %alive = icmp ult i64 %known, 2",
        "  %last = load double, ptr %time_at",
        "  %ahead = fsub double %t, %last",
        f"  %due = fcmp ogt double %ahead, {real(0.5 * period)}",
        "  br i1 %alive, label %look, label %over", "over:", "  ret i64 %known", "look:",
        "  br i1 %due, label %mean, label %now", "mean:", *means,
        "  %mean_status = call i32 @put(ptr %instance, ptr %values)",
        "  %mean_set = icmp ult i32 %mean_status, 2",
        "  br i1 %mean_set, label %step, label %end", "step:",
        "  %terminate = getelementptr i8, ptr %answers, i64 1",
        "  %early = getelementptr i8, ptr %answers, i64 2",
        f"  %step_status = call i32 {_pointer(library, 'DoStep')}(ptr %instance, double %last, "
        f"double {real(period)}{tail})",
        f"  %next = fadd double %last, {real(period)}",
        "  store double %next, ptr %time_at",
        "  %stepped = icmp ult i32 %step_status, 2",
        "  br i1 %stepped, label %now, label %end", "now:",
        *(f"  store double %u{i}, ptr %value{i}" for i in range(len(inputs))), *kept,
        "  %now_status = call i32 @put(ptr %instance, ptr %values)",
        "  br label %end", "end:",
        "  %status = phi i32 [ %mean_status, %mean ], [ %step_status, %step ], [ %now_status, %now ]",
        "  %wide = zext i32 %status to i64",
        "  store i64 %wide, ptr %status_at",
        "  ret i64 %wide", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _places(i: int) -> list[str]:
    """Where an input's values stand: the one to be set, and the one at the last communication point."""
    return [
        f"  %value{i} = getelementptr double, ptr %values, i64 {i}",
        f"  %before{i} = getelementptr double, ptr %before, i64 {i}",
    ]


def _mean(i: int, continuous: bool) -> list[str]:
    """An input's value in a step; one that jumps has that of the step's end."""
    if not continuous:
        return [f"  store double %u{i}, ptr %value{i}"]
    return [
        f"  %old{i} = load double, ptr %before{i}",
        f"  %sum{i} = fadd double %old{i}, %u{i}",
        f"  %mean{i} = fmul double %sum{i}, 0.5",
        f"  store double %mean{i}, ptr %value{i}",
    ]


def _put(library: Library, inputs: Sequence[FmuVariable]) -> str:
    """All inputs set to an array of values; a status."""
    third, count = library.fmu.version == "3.0", len(inputs)
    call = "  ret i32 0"
    if count:
        more = f", i64 {count}" if third else ""
        setter = _pointer(library, "SetFloat64" if third else "SetReal")
        given = f"ptr %instance, ptr @inputs, i64 {count}, ptr %values{more}"
        call = f"  %status = call i32 {setter}({given})\n  ret i32 %status"
    return f"define internal i32 @put(ptr %instance, ptr %values) {{\n{call}\n}}"


def _output(library: Library, instances: _Instances, k: int, signals: str) -> str:
    """One output by handle; NaN for a handle that is none, and after a failure."""
    third = library.fmu.version == "3.0"
    table = ctypes.addressof(instances.table)
    getter = _pointer(library, "GetFloat64" if third else "GetReal")
    more = ", i64 1" if third else ""
    lines = [
        f"define double @output{k}(double %handle, double %t{signals}) {{", "entry:",
        "  %value = alloca double",
        "  %least = fcmp oge double %handle, 0.0",
        f"  %most = fcmp olt double %handle, {real(float(SLOTS))}",
        "  %inside = and i1 %least, %most",
        "  br i1 %inside, label %look, label %nothing", "look:",
        "  %slot = fptoui double %handle to i64",
        f"  %table = inttoptr i64 {table} to ptr",
        "  %place = getelementptr ptr, ptr %table, i64 %slot",
        "  %record = load ptr, ptr %place",
        "  %there = icmp ne ptr %record, null",
        "  br i1 %there, label %advance, label %nothing", "advance:",
        f"  %moved = call i64 @advance(ptr %record, double %t{signals})",
        "  %fine = icmp ult i64 %moved, 2",
        "  br i1 %fine, label %read, label %nothing", "read:",
        f"  %reference = getelementptr i32, ptr @outputs, i64 {k}",
        "  %instance = load ptr, ptr %record",
        f"  %got = call i32 {getter}(ptr %instance, ptr %reference, i64 1, ptr %value{more})",
        "  %good = icmp ult i32 %got, 2",
        "  br i1 %good, label %give, label %failed", "failed:",
        "  %wide = zext i32 %got to i64",
        "  %status_at = getelementptr i8, ptr %record, i64 16",
        "  store i64 %wide, ptr %status_at",
        "  br label %nothing", "give:",
        "  %found = load double, ptr %value",
        "  ret double %found", "nothing:", "  ret double 0x7FF8000000000000", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _pointer(library: Library, name: str) -> str:
    """A function of the library as a constant of the code."""
    return f"inttoptr (i64 {library.address(name)} to ptr)"
