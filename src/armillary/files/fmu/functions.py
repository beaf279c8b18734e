"""Imported FMUs as functions of expressions that compiled loops call by address.

Co-simulation:

    start(t, u₁ …)           handle of this run's instance, initialised at t (in Python, once per run)
    step(handle, t, u₁ …)    one output, after the step to t with these inputs (compiled)

The step to a time is taken once, whichever output is computed first. If a call of the FMU fails, its outputs
are NaN from then on, which ends the run with the FMU's message.

Model exchange:

    rate(handle, t, x…, u…)      the rates of its states, its outputs and event functions
    after(handle, t, x…, u…)     states and the time of the next event after an event at t
    completed(handle, t, x…, u…) announces the end of a step

Values at one time, state and input are computed once, whichever function is called first. Event iterations,
which are rare, are called from Python (library.py). A state that is NaN, as in a step that is tried and
rejected, gives NaN; an error of the FMU ends the run with the FMU's message.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra.block_functions import ForeignFunction
from armillary.errors import ArmillaryError
from armillary.files.fmu.description import Exchange, Fmu, FmuVariable
from armillary.files.fmu.instances import (
    InstanceCode,
    InstanceEntry,
    InstanceModule,
    InstanceRecord,
    Instances,
    InstanceStart,
    Setting,
    transfer,
)
from armillary.files.fmu.library import DISCARD, ERROR, Library, load
from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import REAL, TRUTH, WHOLE, Raw, constant
from armillary.llvm.jit import Compiled


@dataclass(frozen=True, eq=False)
class Stepped:
    """The functions of one FMU for co-simulation."""

    start: ForeignFunction
    steps: tuple[ForeignFunction, ...]
    library: Library


class _Coupled(Instances):
    """Instances of coupled FMUs, whose first step uses only the inputs at its end."""

    def record(self, instance: int, t: float, signals: Sequence[float]) -> ctypes.Structure:
        return super().record(instance, t, [math.nan] * len(signals))


def make_step_functions(
    fmu: Fmu,
    name: str,
    period: float,
    settings: Mapping[FmuVariable, Setting],
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
    coupled: bool = False,
) -> Stepped:
    """Load an FMU's library; return the functions that step it every ``period`` seconds. Inputs of a
    ``coupled`` FMU come from other FMUs, and are not known when a run starts.
    """
    library = load(fmu)
    instances = (
        _Coupled(library, name, settings, inputs) if coupled else Instances(library, name, settings, inputs)
    )
    code = Compiled(str(_step_code(library, instances, period, inputs, outputs)))
    kept = (code, instances)
    start = InstanceStart(
        f"{name} start", InstanceEntry(code.address("nothing"), kept), 1 + len(inputs), instances
    )
    steps = tuple(
        ForeignFunction(f"{name} {v.name}", InstanceEntry(code.address(f"output{k}"), kept), 2 + len(inputs))
        for k, v in enumerate(outputs)
    )
    return Stepped(start, steps, library)


# ---------------------------------------------------------------- compiled code


def _step_code(
    library: Library,
    instances: Instances,
    period: float,
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> InstanceModule:
    """Emit `outputK(handle, t, u…)` for each output, their common `advance`, and `nothing`, never called."""
    module = InstanceModule(library, InstanceRecord)
    module.entry("nothing", 1 + len(inputs)).fail()
    advance = _advance(module, period, inputs)
    table = ctypes.addressof(instances.table)
    for k, v in enumerate(outputs):
        _output(module, k, advance, transfer(module, "Get", f"get{k}", [v]), table)
    return module


def _advance(module: InstanceModule, period: float, inputs: Sequence[FmuVariable]) -> InstanceCode:
    """Emit the function that takes a step if the time is due, and then sets the present inputs.

    A step is due more than half a period after the last one. In a step, continuous inputs have the mean of
    their values at both ends, which is accurate to second order. A discrete input, or an input whose earlier
    value is unknown, has its value at the step's end. All steps of the FMU are exactly one period long, also
    if the times of the integration loop are rounded.
    """
    put = transfer(module, "Set", "put", inputs)
    f = module.function("advance", WHOLE, (REAL,) * (1 + len(inputs)))
    t, *signals = f.arguments
    with f.when(f["status"] >= DISCARD):
        f.give(f["status"])
    values, before, last = f.room(len(inputs)), f.vector("before"), f["time"]
    due = t - last > 0.5 * period
    with f.when(due):
        for i, (v, u) in enumerate(zip(inputs, signals, strict=True)):
            old = before[i]
            values[i] = (f.choose(old.equals(old), old, u) + u) * 0.5 if v.variability == "continuous" else u
        f["status"] = f.transfer(put, values)
        with f.when(f["status"] >= DISCARD):
            f.give(f["status"])
        f["status"] = f.answer("DoStep", f["instance"].raw, last.raw, constant(REAL, period), *_flags(f))
        f["time"] = last + period
        with f.when(f["status"] >= DISCARD):
            f.give(f["status"])
    for i, u in enumerate(signals):
        values[i], old = u, before[i]  # an unknown input stays unknown until a step is taken
        before[i] = f.choose(due | old.equals(old), u, old)
    f["status"] = f.transfer(put, values)
    f.give(f["status"])
    return f


def _flags(f: InstanceCode) -> list[Raw]:
    """Return the arguments after the times in a call of DoStep."""
    if f.module.library.fmu.version == "2.0":
        return [constant("i32", 1)]
    return [constant("i8", 1), *(f.room(1, kind).address for kind in ("i8", "i8", "i8", REAL))]


def _output(module: InstanceModule, k: int, advance: InstanceCode, get: InstanceCode, table: int) -> None:
    """Emit the function that returns an output; it returns NaN for an invalid handle and after a failure."""
    f = module.entry(f"output{k}", 1 + len(advance.arguments))
    f.find(f.argument(0), table)
    with f.when(f.run(advance, *f.arguments) >= DISCARD):
        f.fail()
    value = f.room(1)
    status = f.transfer(get, value)
    with f.when(status >= DISCARD):
        f["status"] = status
        f.fail()
    f.give(value[0])


NEVER = 1e300  # the time of the next event, if there is none
_DOUBLES = ctypes.POINTER(ctypes.c_double)
_OCCUR = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class _Record(ctypes.Structure):
    """The data of an instance that compiled code reads; `InstanceRecord` has the same first three fields."""

    _fields_ = (
        ("instance", ctypes.c_void_p),
        ("time", ctypes.c_double),
        ("status", ctypes.c_int64),
        ("key", _DOUBLES),  # time, states and inputs of the last evaluation
        ("results", _DOUBLES),
        ("known", ctypes.c_int64),
        ("event_key", _DOUBLES),  # time, states and inputs of the last event
        ("event_results", _DOUBLES),
        ("event_known", ctypes.c_int64),
    )


@dataclass(frozen=True, eq=False)
class Exchanged:
    """The functions of one FMU for model exchange."""

    start: ForeignFunction
    rates: tuple[ForeignFunction, ...]
    outputs: tuple[ForeignFunction, ...]
    indicators: tuple[ForeignFunction, ...]
    after: tuple[ForeignFunction, ...]  # states after an event
    next: ForeignFunction  # the time of the next event, after an event
    first: ForeignFunction  # the time of the first event, at the start
    completed: ForeignFunction
    initial: tuple[float, ...]  # states of a first instance at the start
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

    def begin_instance(self, record: ctypes.Structure) -> None:
        """Iterate the event at the start."""
        self._iterate(record, entered=True)

    def _iterate(self, record: ctypes.Structure, entered: bool = False) -> None:
        following = self.library.iterate(record.instance, entered)
        states = self.library.continuous_states(record.instance, self.states)
        for i, x in enumerate((*states, following)):
            record.event_results[i] = x
        record.known = 0

    def _occur(self, address: int) -> int:
        """Make an event of the instance with the record at an address; return 1, or 0 if the FMU fails."""
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


def make_exchange_functions(
    fmu: Fmu,
    name: str,
    settings: Mapping[FmuVariable, Setting],
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> Exchanged:
    """Load an FMU's library; return its functions. A first instance gives the states at the start."""
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
    code = Compiled(str(_exchange_code(library, instances, exchange, inputs, outputs)))
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


def _exchange_code(
    library: Library,
    instances: _Exchange,
    exchange: Exchange,
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> InstanceModule:
    module = InstanceModule(library, _Record)
    table = ctypes.addressof(instances.table)
    callback = ctypes.cast(instances.callback, ctypes.c_void_p).value or 0
    module.entry("nothing", 1 + len(inputs)).fail()
    evaluate = _evaluation_code(module, exchange, inputs, outputs)
    occur = _occur(module, evaluate, callback)
    _complete_step(module, evaluate, callback, table)
    for k in range(instances.lengths["results"]):
        _pick(module, f"value{k}", evaluate, "results", k, table)
    for k in range(instances.lengths["event_results"]):
        _pick(module, f"after{k}", occur, "event_results", k, table)
    first = module.entry("first", 1 + len(evaluate.arguments))
    first.find(first.argument(0), table)
    first.give(first.vector("event_results")[instances.states])
    return module


def _evaluation_code(
    module: InstanceModule,
    exchange: Exchange,
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> InstanceCode:
    """Emit a function that sets time, states and inputs and reads all results, unless they are unchanged."""
    put, get = transfer(module, "Set", "put", inputs), transfer(module, "Get", "get", outputs)
    n, third = len(exchange.states), module.library.fmu.version == "3.0"
    f = module.function("evaluate", TRUTH, (REAL,) * (1 + n + len(inputs)))
    t, *others = f.arguments
    nought = t * 0.0
    for x in others:
        nought = nought + x * 0.0
    with f.when(~((f["status"] < ERROR) & nought.equals(0.0))):
        f.give(f.truth(False))
    key, results = f.vector("key"), f.vector("results")
    with f.when(_same(f, f["known"], key)):
        f.give(f.truth(True))
    for i, x in enumerate(f.arguments):
        key[i] = x
    f["known"], f["time"] = 0, t
    instance, count = f["instance"].raw, constant(WHOLE, n)
    statuses = [f.answer("SetTime", instance, t.raw)]
    if n:
        statuses.append(f.answer("SetContinuousStates", instance, key.at(1), count))
    statuses.append(f.transfer(put, Span(f, key.at(1 + n)) if inputs else key))
    if n:
        rates = "GetContinuousStateDerivatives" if third else "GetDerivatives"
        statuses.append(f.answer(rates, instance, results.address, count))
    statuses.append(f.transfer(get, Span(f, results.at(n))))
    if exchange.indicators:
        place, size = results.at(n + len(outputs)), constant(WHOLE, exchange.indicators)
        statuses.append(f.answer("GetEventIndicators", instance, place, size))
    worst = f.worst(statuses)
    with f.when(worst < DISCARD):
        f["known"] = 1
        f.give(f.truth(True))
    with f.when(worst >= ERROR):
        f["status"] = worst
    f.give(f.truth(False))
    return f


def _same(f: InstanceCode, known: Value, key: Span) -> Value:
    """Return whether a key is known and has the values of the function's arguments."""
    same = known.equals(1)
    for i, x in enumerate(f.arguments):
        same = same & key[i].equals(x)
    return same


def _occur(module: InstanceModule, evaluate: InstanceCode, callback: int) -> InstanceCode:
    """Emit a function that makes the event at a time, state and input, but only once for the same values."""
    f = module.function("occur", TRUTH, (REAL,) * len(evaluate.arguments))
    with f.when(~f.run(evaluate, *f.arguments)):
        f.give(f.truth(False))
    with f.when(_same(f, f["event_known"], f.vector("event_key"))):
        f.give(f.truth(True))
    f.give(f.call_back(callback).differs(0))
    return f


def _complete_step(module: InstanceModule, evaluate: InstanceCode, callback: int, table: int) -> None:
    """Emit the function that announces the end of a step, and iterates an event if the FMU requests one."""
    kind = "i8" if module.library.fmu.version == "3.0" else "i32"
    f = _make_evaluator(module, "completed", evaluate, table)
    event, ended = (f.room(1, kind).address for _ in range(2))
    f.builder.store(constant(kind, 0), event)
    f.answer("CompletedIntegratorStep", f["instance"].raw, constant(kind, 1), event, ended)
    with f.when(Value(f, f.builder.load(event, kind)).differs(0)):
        f.call_back(callback)
    f.give(f.real(0.0))


def _pick(module: InstanceModule, name: str, worker: InstanceCode, field: str, k: int, table: int) -> None:
    """Emit a function that runs a worker and returns element ``k`` of a field of the record."""
    f = _make_evaluator(module, name, worker, table)
    f.give(f.vector(field)[k])


def _make_evaluator(module: InstanceModule, name: str, worker: InstanceCode, table: int) -> InstanceCode:
    """Begin a function of handle, time, states and inputs that runs a worker on the handle's record.

    The function returns NaN if the worker fails.
    """
    f = module.entry(name, 1 + len(worker.arguments))
    f.find(f.argument(0), table)
    with f.when(~f.run(worker, *f.arguments)):
        f.fail()
    return f
