"""`armillary bench`: what a model costs, in seconds and nanoseconds."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING

import click

from armillary.cli import options, show
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel

# Calls a generated function many times; Python's own calls would take longer than most models do.
_REPEAT = """
define void @repeat(i64 %n, ptr %f, double %t, ptr %y, ptr %c, ptr %m, ptr %out) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  call void %f(double %t, ptr %y, ptr %c, ptr %m, ptr %out)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""
_SLICE = 0.05  # seconds of one measurement; the least of several is printed
_ROUNDS = 5


@options.command(
    """
    armillary bench car
    armillary bench arm.toml --formalism recursive --json
    armillary bench car --with c
    """
)
@options.model_argument
@options.formalism_option
@click.option(
    "--with", "also", type=click.Choice(["c"]), help="Exported code too, built with the system's compiler."
)
def bench(source: str, loading: DataTable, formalism: str | None, also: str | None, json_wanted: bool) -> int:
    """Time derivation, compilation, evaluations and steps of a model.

    An evaluation computes all derivatives once; a step is one of rk4 with its outputs. The least of several
    measurements counts, since other work on the machine only makes them longer. Of a run file the values and
    the formalism count.
    """
    simulation = options.simulation(source, loading, {"run.formalism": formalism})
    model, equations, given = simulation.model, simulation.equations, simulation.given()
    found: dict[str, float] = dict(simulation.seconds)
    outputs = len(model.output_names)
    start = _start(model, given)
    found["evaluation"] = beside = _per_call(model.address("derivatives"), *start, outputs)
    found["outputs"] = _per_call(model.address("outputs"), *start, outputs)
    found["step"] = _per_step(model, given)
    if also is not None:
        from armillary.cli.tools.exported_c import exported_function
        from armillary.export.text.source import exported_equations
        from armillary.runtime.models.compilation import compile_equations

        written = exported_equations(equations)
        if written is not equations:
            start = _start(same := compile_equations(written), given)
            beside = _per_call(same.address("derivatives"), *start, outputs)
            found["evaluation, speeds as named"] = beside
        with exported_function(written, "derivatives") as address:
            found["evaluation in C"] = _per_call(address, *start, outputs)
    data = {
        "command": "bench",
        "system": equations.system.name,
        "formalism": equations.formalism,
        "operations": str(equations.operations),
        "seconds": found,
    }
    title = f"{equations.system.name}, {equations.formalism}: {equations.operations}"
    rows = [[name, show.seconds(value)] for name, value in found.items()]
    if also is not None:
        rows.append(["C / in process", f"{found['evaluation in C'] / beside:.2f}"])
    show.emit(json_wanted, data, f"{title}\n{show.columns(rows, header=False)}")
    return 0


def _start(model: CompiledModel, given: DataMapping) -> tuple[Given, Given, Given]:
    """State, constants and memory at the start of a run with the given values."""
    import numpy as np

    from armillary.runtime.start.initial import initial_memory

    parameters = given.get("parameters")
    memory = initial_memory(model.equations, given.get("memory"), 0.0)
    state = model.state(given.get("initial"), parameters)
    return state, model.constants(parameters), memory if memory.size else np.zeros(1)


def _per_call(function: int, state: Given, constants: object, memory: object, outputs: int) -> float:
    """Seconds of one call of a generated function."""
    import numpy as np

    from armillary.llvm.jit import Compiled

    code = Compiled(_REPEAT)
    pointer = ctypes.c_void_p
    repeat = ctypes.CFUNCTYPE(None, ctypes.c_int64, pointer, ctypes.c_double, *[pointer] * 4)(
        code.address("repeat")
    )
    arrays = [np.array(a, dtype=float) for a in (state, constants, memory)] + [
        np.zeros(max(outputs, len(state)))
    ]
    places = [a.ctypes.data for a in arrays]

    def calls(n: int) -> float:
        started = time.perf_counter()
        repeat(n, function, 0.0, *places)
        return time.perf_counter() - started

    n = 1
    while (taken := calls(n)) < _SLICE / 4:
        n *= 4
    n = max(int(n * _SLICE / taken), 1)
    return min(calls(n) / n for _ in range(_ROUNDS))


def _per_step(model: CompiledModel, given: DataMapping) -> float:
    """Seconds of one step of order 4 in the compiled loop: the difference of a long and a short run."""
    from armillary.runtime.integrators import family_methods
    from armillary.settings import RunSettings

    method = next(m.name for m in family_methods(model.equations.method_family) if m.order == 4)
    step = 1e-5

    def run(steps: int) -> float:
        settings = RunSettings(steps * step, step=step, method=method, sample=steps * step)
        started = time.perf_counter()
        model.run_with(settings, **given)
        return time.perf_counter() - started

    run(10)
    n = 100
    while run(n) < _SLICE and n < 1_000_000:
        n *= 4
    short, long = (min(run(count) for _ in range(_ROUNDS)) for count in (n, 3 * n))
    return (long - short) / (2 * n)
