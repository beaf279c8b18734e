"""`armillary bench`: what a model costs, in seconds and nanoseconds."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import click

from armillary.cli import options, show

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
_SLICE = 0.05  # seconds of one measurement; the least of several is told
_ROUNDS = 5


@options.command(
    """
    armillary bench car
    armillary bench arm.toml --formalism recursive --json
    armillary bench car --against c
    """
)
@options.model_argument
@options.formalism_option
@click.option("--against", type=click.Choice(["c"]), help="Exported code, built with the system's compiler.")
def bench(source: str, formalism: str, against: str | None, json_wanted: bool) -> int:
    """Time derivation, compilation, evaluations and steps of a model.

    An evaluation computes all derivatives once; a step is one of rk4 with its outputs. The least of several
    measurements counts, since other work on the machine only makes them longer.
    """
    from armillary.simulation.models import open_model

    file = options.run_file(source)
    found: dict[str, float] = {}
    system = _timed(found, "load", lambda: open_model(file.model, file.folder))
    equations = _timed(found, "derive", lambda: system.derive(formalism))
    model = _timed(found, "compile", equations.compile)
    state, memory, constants = _start(model)
    outputs = len(model.output_names)

    def measured(address: int) -> float:
        return _per_call(address, state, constants, memory, outputs)

    found["evaluation"] = measured(model.address("derivatives"))
    found["outputs"] = measured(model.address("outputs"))
    found["step"] = _per_step(model)
    if against is not None:
        from armillary.cli.exported import exported_function

        with exported_function(equations, "derivatives") as address:
            found["evaluation in C"] = measured(address)
    data = {
        "command": "bench",
        "system": system.name,
        "formalism": equations.formalism,
        "operations": str(equations.operations),
        "seconds": found,
    }
    title = f"{system.name}, {equations.formalism}: {equations.operations}"
    rows = [[name, show.seconds(value)] for name, value in found.items()]
    if against is not None:
        rows.append(["C / in process", f"{found['evaluation in C'] / found['evaluation']:.2f}"])
    show.emit(json_wanted, data, f"{title}\n{show.columns(rows, header=False)}")
    return 0


def _timed(found: dict[str, float], name: str, work: Callable[[], Any]) -> Any:
    started = time.perf_counter()
    made = work()
    found[name] = time.perf_counter() - started
    return made


def _start(model: Any) -> tuple[Any, Any, Any]:
    """State, memory and constants at the start of a run with the defaults."""
    import numpy as np

    from armillary.runtime.initial import initial_memory

    memory = initial_memory(model.equations, None, 0.0)
    return model.state(), memory if memory.size else np.zeros(1), model.constants()


def _per_call(function: int, state: Any, constants: Any, memory: Any, outputs: int) -> float:
    """Seconds of one call of a generated function."""
    import numpy as np

    from armillary.backends.jit import Compiled

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


def _per_step(model: Any) -> float:
    """Seconds of one rk4 step in the compiled loop: the difference of a long and a short run."""
    method = {"method": "projected"} if model.formalism == "redundant" else {"method": "rk4"}
    step = 1e-5

    def run(steps: int) -> float:
        started = time.perf_counter()
        model.simulate(steps * step, step=step, sample=steps * step, progress=False, **method)
        return time.perf_counter() - started

    run(10)
    n = 100
    while run(n) < _SLICE and n < 1_000_000:
        n *= 4
    short, long = (min(run(count) for _ in range(_ROUNDS)) for count in (n, 3 * n))
    return (long - short) / (2 * n)
