"""An imported FMU for model exchange as functions of expressions that compiled loops call by address.

    rate(handle, t, x…, u…)      the rates of its states, its outputs and event functions
    after(handle, t, x…, u…)     states and the time of the next event after an event at t
    completed(handle, t, x…, u…) the end of a step announced

Values at one time, state and input are computed once, whichever function is called first. Event iterations,
which are rare, are called from Python (library.py). A state that is no number, as a step that is tried and
rejected may give, leads to results that are none; an error of the FMU ends the run with the FMU's message.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra.user_functions.foreign import ForeignFunction
from armillary.errors import ArmillaryError
from armillary.files.fmu.description import Exchange, Fmu, FmuVariable
from armillary.files.fmu.instances import NOTHING, InstanceEntry, Instances, InstanceStart, Setting, slot_text
from armillary.files.fmu.library import ERROR, Library, load
from armillary.files.fmu.values import call_text
from armillary.llvm.jit import Compiled

NEVER = 1e300  # the time of a next event that there is not
_DOUBLES = ctypes.POINTER(ctypes.c_double)
_OCCUR = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class _Record(ctypes.Structure):
    """What compiled code holds of an instance; the first three as in instances.py."""

    _fields_ = (
        ("instance", ctypes.c_void_p),
        ("time", ctypes.c_double),
        ("status", ctypes.c_int64),
        ("key", _DOUBLES),  # time, states and inputs of the last evaluation
        ("results", _DOUBLES),
        ("known", ctypes.c_int64),
        ("event_key", _DOUBLES),  # and of the last event
        ("event_results", _DOUBLES),
        ("event_known", ctypes.c_int64),
    )


@dataclass(frozen=True, eq=False)
class Exchanged:
    """The functions of one FMU in a system."""

    start: ForeignFunction
    rates: tuple[ForeignFunction, ...]
    outputs: tuple[ForeignFunction, ...]
    indicators: tuple[ForeignFunction, ...]
    after: tuple[ForeignFunction, ...]  # states
    next: ForeignFunction  # the time of the next event, after an event
    first: ForeignFunction  # and at the start
    completed: ForeignFunction
    initial: tuple[float, ...]  # states at the start, of a first instance
    scheduled: bool  # there may be time events: the first instance had one


class _Exchange(Instances):
    """Instances for model exchange."""

    def __init__(
        self,
        library: Library,
        name: str,
        settings: Mapping[FmuVariable, Setting],
        inputs: Sequence[FmuVariable],
        exchange: Exchange,
        outputs: int,
    ) -> None:
        super().__init__(library, name, settings, inputs)
        self.states = len(exchange.states)
        self.lengths = {
            "key": 1 + self.states + len(inputs),
            "results": self.states + outputs + exchange.indicators,
            "event_key": 1 + self.states + len(inputs),
            "event_results": self.states + 1,
        }
        self.callback = _OCCUR(self._occur)

    def record(self, instance: int, t: float, signals: Sequence[float]) -> _Record:
        found = _Record(instance, t, ERROR)
        for part, length in self.lengths.items():
            setattr(found, part, (ctypes.c_double * max(1, length))())
        return found

    def begun(self, record: _Record) -> None:
        """The event iteration at the start."""
        self._iterate(record, entered=True)

    def _iterate(self, record: _Record, entered: bool = False) -> None:
        following = self.library.iterate(record.instance, entered)
        states = self.library.continuous_states(record.instance, self.states)
        for i, x in enumerate((*states, following)):
            record.event_results[i] = x
        record.known = 0

    def _occur(self, address: int) -> int:
        """An event of the instance with this record, at the time and state that it has; 0 where it failed."""
        record = _Record.from_address(address)
        try:
            self._iterate(record)
        except ArmillaryError as error:
            self.library.messages.append(str(error))
            record.status = ERROR
            return 0
        for i in range(self.lengths["key"]):
            record.event_key[i] = record.key[i]
        record.event_known = 1
        return 1


def exchanged(
    fmu: Fmu,
    name: str,
    settings: Mapping[FmuVariable, Setting],
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> Exchanged:
    """An FMU's library loaded, and its functions; a first instance gives the states at the start."""
    library = load(fmu, exchange=True)
    exchange = fmu.exchange
    assert exchange is not None
    instances = _Exchange(library, name, settings, inputs, exchange, len(outputs))
    record = instances.records[int(instances.start(0.0, *(v.start or 0.0 for v in inputs)))]
    assert isinstance(record, _Record)
    states = len(exchange.states)
    initial = tuple(record.event_results[i] for i in range(states))
    scheduled = record.event_results[states] < NEVER
    instances.release()
    code = Compiled(_text(library, instances, exchange, inputs, outputs))
    kept = (code, instances)
    arity = 2 + states + len(inputs)

    def function(label: str, entry: str) -> ForeignFunction:
        return ForeignFunction(f"{name} {label}", InstanceEntry(code.address(entry), kept), arity)

    values = [function(f"value {k}", f"value{k}") for k in range(instances.lengths["results"])]
    first = states + len(outputs)
    return Exchanged(
        InstanceStart(
            f"{name} start", InstanceEntry(code.address("nothing"), kept), 1 + len(inputs), instances
        ),
        tuple(values[:states]),
        tuple(values[states:first]),
        tuple(values[first:]),
        tuple(function(f"after {k}", f"after{k}") for k in range(states)),
        function("next", f"after{states}"),
        function("first", "first"),
        function("completed", "completed"),
        initial,
        scheduled,
    )


# ---------------------------------------------------------------- compiled code


def _text(
    library: Library,
    instances: _Exchange,
    exchange: Exchange,
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> str:
    n, m = len(exchange.states), len(inputs)
    names = ["%t", *(f"%x{i}" for i in range(n)), *(f"%u{i}" for i in range(m))]
    blank = ", ".join(["double"] * (1 + m))
    table = ctypes.addressof(instances.table)
    parts = [
        f"define double @nothing({blank}) {{\n  ret double {NOTHING}\n}}",
        call_text(library, "Set", "put", inputs),
        call_text(library, "Get", "get", outputs),
        _evaluate(library, exchange, names, n, m, len(outputs)),
        _occur(instances, names),
        _completed(library, instances, names, table),
    ]
    parts += [
        _pick(f"value{k}", "evaluate", 32, k, names, table) for k in range(instances.lengths["results"])
    ]
    parts += [
        f"define internal i1 @there(ptr %record, {_doubles(names)}) {{\n  ret i1 true\n}}",
        _pick("first", "there", 56, n, names, table),
    ]
    parts += [_pick(f"after{k}", "occur", 56, k, names, table) for k in range(n + 1)]
    return "\n".join(parts)


def _doubles(names: Sequence[str]) -> str:
    return ", ".join(f"double {name}" for name in names)


def _evaluate(
    library: Library, exchange: Exchange, names: Sequence[str], n: int, m: int, outputs: int
) -> str:
    """Time, states and inputs set and everything read, unless they are those of the last evaluation."""
    third = library.fmu.version == "3.0"
    rates = "GetContinuousStateDerivatives" if third else "GetDerivatives"
    lines = [
        f"define internal i1 @evaluate(ptr %record, {_doubles(names)}) {{", "entry:",
        "  %time_at = getelementptr i8, ptr %record, i64 8",
        "  %status_at = getelementptr i8, ptr %record, i64 16",
        "  %key_at = getelementptr i8, ptr %record, i64 24",
        "  %results_at = getelementptr i8, ptr %record, i64 32",
        "  %known_at = getelementptr i8, ptr %record, i64 40",
        "  %key = load ptr, ptr %key_at",
        "  %results = load ptr, ptr %results_at",
        "  %instance = load ptr, ptr %record",
        "  %status = load i64, ptr %status_at",
        "  %alive = icmp ult i64 %status, 3",
        "  %nought0 = fmul double %t, 0.0",
    ]  # fmt: skip
    for i, name in enumerate(names[1:], 1):
        lines += [
            f"  %part{i} = fmul double {name}, 0.0",
            f"  %nought{i} = fadd double %nought{i - 1}, %part{i}",
        ]
    last = len(names) - 1
    lines += [
        f"  %finite = fcmp oeq double %nought{last}, 0.0",
        "  %sensible = and i1 %alive, %finite",
        "  br i1 %sensible, label %compare, label %over",
        "over:", "  ret i1 false", "compare:",
        "  %known = load i64, ptr %known_at",
        "  %same = icmp eq i64 %known, 1",
    ]  # fmt: skip
    compared, same = _same_key(names)
    lines += compared
    lines += [f"  br i1 {same}, label %fine, label %change", "fine:", "  ret i1 true", "change:"]
    lines += [f"  store double {name}, ptr %key{i}" for i, name in enumerate(names)]
    lines += ["  store i64 0, ptr %known_at", "  store double %t, ptr %time_at"]

    def pointer(name: str) -> str:
        return f"inttoptr (i64 {library.address(name)} to ptr)"

    given = f"%key{1 + n}" if m else "%key"
    calls = [f"call i32 {pointer('SetTime')}(ptr %instance, double %t)"]
    if n:
        calls.append(f"call i32 {pointer('SetContinuousStates')}(ptr %instance, ptr %key1, i64 {n})")
    calls.append(f"call i32 @put(ptr %instance, ptr {given})")
    if n:
        calls.append(f"call i32 {pointer(rates)}(ptr %instance, ptr %results, i64 {n})")
    lines += [
        f"  %outputs = getelementptr double, ptr %results, i64 {n}",
        f"  %indicators = getelementptr double, ptr %results, i64 {n + outputs}",
    ]
    calls.append("call i32 @get(ptr %instance, ptr %outputs)")
    if exchange.indicators:
        count = exchange.indicators
        calls.append(f"call i32 {pointer('GetEventIndicators')}(ptr %instance, ptr %indicators, i64 {count})")
    worst = "0"
    for i, call in enumerate(calls):
        lines += [
            f"  %answer{i} = {call}",
            f"  %worse{i} = icmp ugt i32 %answer{i}, {worst}",
            f"  %worst{i} = select i1 %worse{i}, i32 %answer{i}, i32 {worst}",
        ]
        worst = f"%worst{i}"
    return "\n".join([
        *lines,
        f"  %good = icmp ult i32 {worst}, 2",
        "  br i1 %good, label %keep, label %bad",
        "keep:", "  store i64 1, ptr %known_at", "  ret i1 true", "bad:",
        f"  %failed = icmp ugt i32 {worst}, 2",
        "  br i1 %failed, label %end, label %refused", "end:",
        f"  %wide = zext i32 {worst} to i64",
        "  store i64 %wide, ptr %status_at",
        "  br label %refused", "refused:", "  ret i1 false", "}",
    ])  # fmt: skip


def _same_key(names: Sequence[str]) -> tuple[list[str], str]:
    """Lines that compare numbers with those at %key, after %same, and the name of what they find."""
    lines, same = [], "%same"
    for i, name in enumerate(names):
        lines += [
            f"  %key{i} = getelementptr double, ptr %key, i64 {i}",
            f"  %old{i} = load double, ptr %key{i}",
            f"  %equal{i} = fcmp oeq double %old{i}, {name}",
            f"  %same{i} = and i1 {same}, %equal{i}",
        ]
        same = f"%same{i}"
    return lines, same


def _occur(instances: _Exchange, names: Sequence[str]) -> str:
    """An event at a time, state and input, once."""
    callback = ctypes.cast(instances.callback, ctypes.c_void_p).value
    lines = [
        f"define internal i1 @occur(ptr %record, {_doubles(names)}) {{", "entry:",
        f"  %ready = call i1 @evaluate(ptr %record, {_doubles(names)})",
        "  br i1 %ready, label %compare, label %over",
        "over:", "  ret i1 false", "compare:",
        "  %key_at = getelementptr i8, ptr %record, i64 48",
        "  %known_at = getelementptr i8, ptr %record, i64 64",
        "  %key = load ptr, ptr %key_at",
        "  %known = load i64, ptr %known_at",
        "  %same = icmp eq i64 %known, 1",
    ]  # fmt: skip
    compared, same = _same_key(names)
    lines += compared
    return "\n".join([
        *lines,
        f"  br i1 {same}, label %fine, label %happen", "fine:", "  ret i1 true", "happen:",
        f"  %done = call i64 inttoptr (i64 {callback} to ptr)(ptr %record)",
        "  %good = icmp ne i64 %done, 0",
        "  ret i1 %good", "}",
    ])  # fmt: skip


def _completed(library: Library, instances: _Exchange, names: Sequence[str], table: int) -> str:
    """The end of a step; where the FMU requests an event, its iteration."""
    third = library.fmu.version == "3.0"
    flag = "i8" if third else "i32"
    call = f"inttoptr (i64 {library.address('CompletedIntegratorStep')} to ptr)"
    callback = ctypes.cast(instances.callback, ctypes.c_void_p).value
    return "\n".join([
        f"define double @completed(double %handle, {_doubles(names)}) {{", "entry:",
        f"  %event = alloca {flag}", f"  %ended = alloca {flag}",
        *slot_text(table), "work:",
        f"  %ready = call i1 @evaluate(ptr %record, {_doubles(names)})",
        "  br i1 %ready, label %report, label %nothing", "report:",
        "  %instance = load ptr, ptr %record",
        f"  store {flag} 0, ptr %event",
        f"  %answer = call i32 {call}(ptr %instance, {flag} 1, ptr %event, ptr %ended)",
        f"  %wish = load {flag}, ptr %event",
        f"  %wished = icmp ne {flag} %wish, 0",
        "  br i1 %wished, label %happen, label %done", "happen:",
        f"  %happened = call i64 inttoptr (i64 {callback} to ptr)(ptr %record)",
        "  br label %done", "done:", "  ret double 0.0",
        "nothing:", f"  ret double {NOTHING}", "}",
    ])  # fmt: skip


def _pick(name: str, worker: str, offset: int, k: int, names: Sequence[str], table: int) -> str:
    """One of the values that a worker finds, by handle."""
    return "\n".join([
        f"define double @{name}(double %handle, {_doubles(names)}) {{", "entry:",
        *slot_text(table), "work:",
        f"  %ready = call i1 @{worker}(ptr %record, {_doubles(names)})",
        "  br i1 %ready, label %give, label %nothing", "give:",
        f"  %values_at = getelementptr i8, ptr %record, i64 {offset}",
        "  %values = load ptr, ptr %values_at",
        f"  %at = getelementptr double, ptr %values, i64 {k}",
        "  %found = load double, ptr %at",
        "  ret double %found",
        "nothing:", f"  ret double {NOTHING}", "}",
    ])  # fmt: skip
