"""An imported FMU as functions of expressions that compiled loops call by address.

    start(t, u₁ …)           a handle: the instance of this run, initialised at t (in Python, once per run)
    step(handle, t, u₁ …)    one output, after the step to t with these inputs (compiled)

Steps to the same time are taken once, whichever output is computed first. When a call of the FMU
fails, its outputs are NaN from then on, which ends the run with the FMU's message.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra.block_functions import ForeignFunction
from armillary.files.fmu.description import Fmu, FmuVariable
from armillary.files.fmu.instance_code import InstanceCode, InstanceModule
from armillary.files.fmu.instances import InstanceEntry, InstanceRecord, Instances, InstanceStart, Setting
from armillary.files.fmu.library import DISCARD, Library, load
from armillary.files.fmu.values import transfer
from armillary.llvm.building.emitter import REAL, WHOLE, Raw, constant
from armillary.llvm.jit import Compiled


@dataclass(frozen=True, eq=False)
class Stepped:
    """The functions of one FMU in a system."""

    start: ForeignFunction
    steps: tuple[ForeignFunction, ...]
    library: Library


class _Coupled(Instances):
    """Instances whose first step has the inputs of its end alone."""

    def record(self, instance: int, t: float, signals: Sequence[float]) -> ctypes.Structure:
        return super().record(instance, t, [math.nan] * len(signals))


def stepped(
    fmu: Fmu,
    name: str,
    period: float,
    settings: Mapping[FmuVariable, Setting],
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
    coupled: bool = False,
) -> Stepped:
    """An FMU's library loaded, and the functions that step it every ``period`` seconds. Inputs of ``coupled``
    ones come from other FMUs, and are not known when a run starts.
    """
    library = load(fmu)
    instances = (
        _Coupled(library, name, settings, inputs) if coupled else Instances(library, name, settings, inputs)
    )
    code = Compiled(str(_code(library, instances, period, inputs, outputs)))
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


def _code(
    library: Library,
    instances: Instances,
    period: float,
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> InstanceModule:
    """`outputK(handle, t, u…)` for each output, `advance` for all, and `nothing`, which is not called."""
    module = InstanceModule(library, InstanceRecord)
    module.entry("nothing", 1 + len(inputs)).fail()
    advance = _advance(module, period, inputs)
    table = ctypes.addressof(instances.table)
    for k, v in enumerate(outputs):
        _output(module, k, advance, transfer(module, "Get", f"get{k}", [v]), table)
    return module


def _advance(module: InstanceModule, period: float, inputs: Sequence[FmuVariable]) -> InstanceCode:
    """The step taken where the time is more than half a period on, then inputs set to those of now.

    In a step continuous inputs have the mean of their values at both ends, which is right to second order;
    one that jumps, or whose value before is not known, has that of the step's end. The FMU sees equal steps
    of exactly one period, whatever rounding does to the times of the loop.
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
        values[i], old = u, before[i]  # one that is not known stays so until a step was taken
        before[i] = f.choose(due | old.equals(old), u, old)
    f["status"] = f.transfer(put, values)
    f.give(f["status"])
    return f


def _flags(f: InstanceCode) -> list[Raw]:
    """The arguments after the times in a call of DoStep."""
    if f.module.library.fmu.version == "2.0":
        return [constant("i32", 1)]
    return [constant("i8", 1), *(f.room(1, kind).address for kind in ("i8", "i8", "i8", REAL))]


def _output(module: InstanceModule, k: int, advance: InstanceCode, get: InstanceCode, table: int) -> None:
    """One output by handle; NaN for a handle that is none, and after a failure."""
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
