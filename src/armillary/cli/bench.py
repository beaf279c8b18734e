"""Commands that measure and verify: `armillary bench` and `armillary verify`.

`bench` measures the times of a model and, with ``--with c``, of its exported C code, built with the system's
compiler; `verify` compares computed with published numbers.
"""

from __future__ import annotations

import ctypes
import platform
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from armillary.cli import app, options
from armillary.cli.options import argument, option
from armillary.export import export
from armillary.export.fmi import compile_library
from armillary.program.equations import DerivedEquations
from armillary.runtime.progress import on_terminal
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


_OWN_PROGRAMS = ("main.c", "test.c")
# Makefile text for machine-dependent options: $(if $(filter MACHINES,$(shell uname -m)),THERE,ELSEWHERE).
_BY_MACHINE = re.compile(r"\$\(if \$\(filter ([^,]*),\$\(shell uname -m\)\),([^,]*),([^)]*)\)")


def makefile_flags(text: str) -> list[str]:
    """Return the compiler's options in an exported Makefile, for this machine."""
    chosen = _BY_MACHINE.sub(lambda part: part[2 if platform.machine() in part[1].split() else 3], text)
    values = dict(re.findall(r"^(\w+) \?= (.*)$", chosen, re.MULTILINE))
    return re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], values["CFLAGS"]).split()


@contextmanager
def exported_function(equations: DerivedEquations, name: str) -> Iterator[int]:
    """Yield the address of a function of the exported C code; its arguments are those of the model's own."""
    with tempfile.TemporaryDirectory() as folder:
        sources = export(equations, "c", Path(folder) / "code")
        files = [path for path in sources.glob("*.[ch]") if path.name not in _OWN_PROGRAMS]
        texts = {path.name: path.read_text(encoding="utf-8") for path in files}
        flags = makefile_flags((sources / "Makefile").read_text(encoding="utf-8"))
        library = Path(folder) / "model.so"
        library.write_bytes(compile_library(texts, ".so", flags))
        loaded = ctypes.CDLL(str(library))
        (header,) = [path for path in sources.glob("*.h") if not path.stem.endswith("_solver")]
        function = getattr(loaded, f"{header.stem}_{name}")
        yield ctypes.cast(function, ctypes.c_void_p).value or 0


# LLVM code that calls a generated function many times: a call from Python takes longer than most functions.
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
_SLICE = 0.05  # seconds of one measurement; the smallest of several is printed
_ROUNDS = 5


@options.command(
    """
    armillary bench car
    armillary bench arm.toml --formalism recursive --json
    armillary bench car --with c
    """
)
def bench(
    *,
    source: str = options.model_argument,
    loading: DataTable = options.loading_options,
    formalism: str | None = options.formalism_option,
    also: str | None = option(
        "Measure exported code too, built with the system's compiler.", "--with", type=click.Choice(["c"])
    ),
    json_wanted: bool,
) -> int:
    """Time derivation, compilation, evaluations and steps of a model.

    An evaluation computes all derivatives once; a step is a step of rk4 with its outputs. The smallest of
    several measurements is printed, since other work on the machine only makes them longer. Of a run file,
    only the values and the formalism are used.
    """
    simulation = options.simulation(source, loading, {"run.formalism": formalism})
    from armillary.runtime.models.compiled import compiled_model

    model, given = compiled_model(simulation.model), simulation.given_values()
    equations = model.equations
    found: dict[str, float] = dict(simulation.seconds)
    outputs = len(model.output_names)
    start = _initial_values(model, given)
    found["evaluation"] = in_process = _per_call(model.address("derivatives"), *start, outputs)
    found["outputs"] = _per_call(model.address("outputs"), *start, outputs)
    found["step"] = _per_step(model, given)
    if also is not None:
        from armillary.export.text.source import exported_equations
        from armillary.runtime.models.compilation import compile_equations

        written = exported_equations(equations)
        if written is not equations:
            start = _initial_values(same := compile_equations(written), given)
            in_process = _per_call(same.address("derivatives"), *start, outputs)
            found["evaluation, speeds as named"] = in_process
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
    rows = [[name, app.seconds(value)] for name, value in found.items()]
    if also is not None:
        rows.append(["C / in process", f"{found['evaluation in C'] / in_process:.2f}"])
    app.emit(json_wanted, data, f"{title}\n{app.align_columns(rows, header=False)}")
    return 0


def _initial_values(model: CompiledModel, given: DataMapping) -> tuple[Given, Given, Given]:
    """Return state, constants and memory at the start of a run with the given values."""
    import numpy as np

    from armillary.runtime.start.initial import initial_memory

    parameters = given.get("parameters")
    memory = initial_memory(model.equations, given.get("memory"), 0.0)
    state = model.state(given.get("initial"), parameters)
    return state, model.constants(parameters), memory if memory.size else np.zeros(1)


def _per_call(function: int, state: Given, constants: object, memory: object, outputs: int) -> float:
    """Return the seconds of one call of a generated function."""
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
    """Return the seconds of a fourth-order step in the compiled loop, by the difference of two runs."""
    from armillary.settings import RunSettings
    from armillary.solver.methods.registry import family_methods

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


@options.command(
    """
    armillary verify
    armillary verify car four_bar --json
    """
)
def verify(
    *,
    cases: tuple[str, ...] = argument(nargs=-1),
    only_list: bool = option("Name the cases, and run none.", "--list"),
    json_wanted: bool,
) -> int:
    """Run the published cases: expected and computed numbers.

    Each row is a number from the literature, or a closed form, with its source. The exit code is 1 if a
    number is off by more than its tolerance.
    """
    from armillary import verification

    if only_list:
        names = {name: case.title for name, case in verification.CASES.items()}
        listed = app.align_columns([[name, title] for name, title in names.items()], header=False)
        app.emit(json_wanted, {"command": "verify", "cases": names}, listed)
        return 0

    def progress(name: str) -> None:
        if on_terminal() and not json_wanted:
            click.echo(f"\r\033[K{app.faint(name)}", nl=False, err=True)

    rows = verification.run(list(cases) or None, progress=progress)
    progress("")
    failed = [row for row in rows if not row.passed]
    if json_wanted:
        data = {"ok": not failed, "command": "verify", "failed": len(failed)}
        click.echo(app.as_json(data | {"rows": [row.as_dict() for row in rows]}))
        return 1 if failed else 0
    click.echo(verification.table(rows))
    verdict = f"{len(rows)} numbers, {len(failed) or 'none'} off by more than the tolerance"
    click.echo((app.bad if failed else app.good)(verdict))
    return 1 if failed else 0
