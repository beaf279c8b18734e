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

from armillary.algebra.user_functions.foreign import ForeignFunction
from armillary.files.fmu.description import Fmu, FmuVariable
from armillary.files.fmu.instances import (
    NOTHING,
    InstanceEntry,
    InstanceRecord,
    Instances,
    InstanceStart,
    Setting,
    slot_text,
)
from armillary.files.fmu.library import Library, load
from armillary.files.fmu.values import call_text
from armillary.llvm.instructions import real
from armillary.llvm.jit import Compiled


@dataclass(frozen=True, eq=False)
class Stepped:
    """The functions of one FMU in a system."""

    start: ForeignFunction
    steps: tuple[ForeignFunction, ...]
    library: Library


class _Coupled(Instances):
    """Instances whose first step has the inputs of its end alone."""

    def record(self, instance: int, t: float, signals: Sequence[float]) -> InstanceRecord:
        found: InstanceRecord = super().record(instance, t, [math.nan] * len(signals))
        return found


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
    code = Compiled(_text(library, instances, period, inputs, outputs))
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


def _text(
    library: Library,
    instances: Instances,
    period: float,
    inputs: Sequence[FmuVariable],
    outputs: Sequence[FmuVariable],
) -> str:
    """`outputK(handle, t, u…)` for each output, `advance` for all, and `nothing`, which is not called."""
    signals = "".join(f", double %u{i}" for i in range(len(inputs)))
    blank = ", ".join(["double"] * (1 + len(inputs)))
    parts = [
        f"define double @nothing({blank}) {{\n  ret double {NOTHING}\n}}",
        call_text(library, "Set", "put", inputs),
        _advance(library, period, inputs, signals),
    ]
    parts += [call_text(library, "Get", f"get{k}", [v]) for k, v in enumerate(outputs)]
    parts += [_output(instances, k, signals) for k in range(len(outputs))]
    return "\n".join(parts)


def _advance(library: Library, period: float, inputs: Sequence[FmuVariable], signals: str) -> str:
    """The step taken where the time is more than half a period on, then inputs set to those of now.

    In a step continuous inputs have the mean of their values at both ends, which is right to second order.
    The FMU sees equal steps of exactly one period, whatever rounding does to the times of the loop.
    """
    third = library.fmu.version == "3.0"
    tail = ", i8 1, ptr %answers, ptr %terminate, ptr %early, ptr %reached" if third else ", i32 1"
    means = [line for i, v in enumerate(inputs) for line in _mean(i, v.variability == "continuous")]
    kept = [line for i in range(len(inputs)) for line in _kept(i)]
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


def _kept(i: int) -> list[str]:
    """An input's value for the mean of the next step; an unknown one stays so until a step was taken."""
    return [
        f"  %prior{i} = load double, ptr %before{i}",
        f"  %was{i} = fcmp ord double %prior{i}, 0.0",
        f"  %counts{i} = or i1 %due, %was{i}",
        f"  %kept{i} = select i1 %counts{i}, double %u{i}, double %prior{i}",
        f"  store double %kept{i}, ptr %before{i}",
    ]


def _mean(i: int, continuous: bool) -> list[str]:
    """An input's value in a step; one that jumps, or is new, has that of the step's end."""
    if not continuous:
        return [f"  store double %u{i}, ptr %value{i}"]
    return [
        f"  %old{i} = load double, ptr %before{i}",
        f"  %seen{i} = fcmp ord double %old{i}, 0.0",
        f"  %first{i} = select i1 %seen{i}, double %old{i}, double %u{i}",
        f"  %sum{i} = fadd double %first{i}, %u{i}",
        f"  %mean{i} = fmul double %sum{i}, 0.5",
        f"  store double %mean{i}, ptr %value{i}",
    ]


def _output(instances: Instances, k: int, signals: str) -> str:
    """One output by handle; NaN for a handle that is none, and after a failure."""
    lines = [
        f"define double @output{k}(double %handle, double %t{signals}) {{", "entry:",
        "  %value = alloca double",
        *slot_text(ctypes.addressof(instances.table)), "work:",
        f"  %moved = call i64 @advance(ptr %record, double %t{signals})",
        "  %fine = icmp ult i64 %moved, 2",
        "  br i1 %fine, label %read, label %nothing", "read:",
        "  %instance = load ptr, ptr %record",
        f"  %got = call i32 @get{k}(ptr %instance, ptr %value)",
        "  %good = icmp ult i32 %got, 2",
        "  br i1 %good, label %give, label %failed", "failed:",
        "  %wide = zext i32 %got to i64",
        "  %status_at = getelementptr i8, ptr %record, i64 16",
        "  store i64 %wide, ptr %status_at",
        "  br label %nothing", "give:",
        "  %found = load double, ptr %value",
        "  ret double %found", "nothing:", f"  ret double {NOTHING}", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _pointer(library: Library, name: str) -> str:
    """A function of the library as a constant of the code."""
    return f"inttoptr (i64 {library.address(name)} to ptr)"
