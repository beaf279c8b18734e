"""Exported C beside the code in the process: derivatives, and the whole rk4 loop, interleaved.

The C is compiled by its own Makefile. Where the process has wider vectors for branches that are alike, C with
these (``lanes``) is a record of its own. Rows are written at the start and the
end only, and the time of a run of two steps, which holds what a call costs, is taken from that of the long
one.
"""

from __future__ import annotations

import ctypes
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from armillary.export.c.model import USUAL, in_vectors
from armillary.llvm.jit import vector_doubles
from benchmarks.build import HERE, run
from benchmarks.candidate import DerivativesRecord, Native, Operations, generated, pointer
from benchmarks.timing import Effort, one_core, time_interleaved

EXAMPLES = ("car", "stanford_arm", "spacecraft_2", "chain", "stewart_platform")
QUICK = ("car", "stanford_arm", "spacecraft_2")
STEP, STEPS = 1e-4, 2000
_ROW = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p)


def measure_exported(names: tuple[str, ...], effort: Effort) -> list[dict[str, Any]]:
    """Both codes of each example, evaluation by evaluation and step by step."""
    with tempfile.TemporaryDirectory() as folder:
        return [record for name in names for record in _records(name, Path(folder), effort)]


def _records(name: str, folder: Path, effort: Effort) -> Iterator[dict[str, Any]]:
    """C as it is exported, and with vectors as wide as those of the process where these are wider."""
    equations = _example(name).derive()
    compiled = equations.compile()
    for lanes in sorted({USUAL, max(USUAL, vector_doubles())}):
        if lanes == USUAL or in_vectors(equations.program, lanes).packs:
            made = equations.export("c", folder / f"{name}_{lanes}", lanes=lanes)
            suffix = f", lanes={lanes}" if lanes > USUAL else ""
            yield {"key": name, "title": f"{equations.system.name}{suffix}", "lanes": lanes} | _measure(
                compiled, made, effort
            )


def _measure(compiled: Any, folder: Path, effort: Effort) -> dict[str, Any]:
    start = time.perf_counter()
    run(["make", "-C", str(folder), "shared"])
    seconds = time.perf_counter() - start
    path = next(folder.glob("*.so"))
    library, stem = ctypes.CDLL(str(path)), path.stem
    ours, theirs = (
        _candidate(label, address, compiled)
        for label, address in (
            ("in the process", compiled.address("derivatives")),
            ("exported C", address_in(library, f"{stem}_derivatives")),
        )
    )
    times = [t.minimum for t in time_interleaved((ours, theirs), effort)]
    found, wanted = theirs.at(0, len(compiled.speed_names)), ours.at(0, len(compiled.speed_names))
    loops = _loops(compiled, library, stem, max(5, effort.rounds // 5))
    return {
        "cc_seconds": seconds,
        "nanoseconds": times[0],
        "exported_nanoseconds": times[1],
        "ratio": times[1] / times[0],
        "step_nanoseconds": 1e9 * loops[0] / STEPS,
        "exported_step_nanoseconds": 1e9 * loops[1] / STEPS,
        "step_ratio": loops[1] / loops[0],
        "error": float(np.max(np.abs(found - wanted)) / max(1.0, float(np.max(np.abs(wanted))))),
    }


def _example(name: str) -> Any:
    specification = importlib.util.spec_from_file_location(name, HERE.parent / "examples" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.system()


def address_in(library: ctypes.CDLL, name: str) -> int:
    """Where a function of a library lies."""
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def _candidate(label: str, function: int, compiled: Any) -> Native:
    """A derivatives function over states about the initial one."""
    random, start = np.random.default_rng(3), compiled.state()
    states = np.ascontiguousarray(start + 0.1 * random.standard_normal((64, len(start))))
    constants = np.tile(compiled.constants(), (len(states), 1))
    arrays = (states, constants, np.zeros(1), np.zeros(states.shape[1]))
    record = DerivativesRecord(
        function, len(states), len(compiled.coordinate_names), len(compiled.speed_names), constants.shape[1],
        *map(pointer, arrays),
    )  # fmt: skip
    return generated(
        "derivatives", label, record, (compiled, *arrays), operations=Operations.of(compiled.equations),
        derive_seconds=0.0, compile_seconds=0.0,
    )  # fmt: skip


def _loops(compiled: Any, library: ctypes.CDLL, stem: str, rounds: int) -> tuple[float, float]:
    """Seconds of STEPS steps of rk4, in the process and in C."""
    equations = compiled.equations
    program = equations.program
    counts = (program.state, program.constants, program.memory, program.outputs.results, program.fire)
    room = ctypes.create_string_buffer(8 * (4096 + 64 * sum(len(c) for c in counts)))
    parameters = np.array([value or 0.0 for value in equations.parameters.values()] + [0.0])
    setup, simulate = getattr(library, f"{stem}_setup"), getattr(library, f"{stem}_simulate")
    real = ctypes.c_double
    setup.argtypes = [ctypes.c_void_p, ctypes.c_void_p, real, real, ctypes.c_int, real]
    simulate.argtypes = [ctypes.c_void_p, real, _ROW, ctypes.c_void_p, ctypes.c_void_p]
    ignored = _ROW(lambda user, t, outputs: None)

    def inside(steps: int) -> None:
        duration = steps * STEP
        compiled.simulate(duration, step=STEP, method="rk4", sample=duration, progress=False)

    def outside(steps: int) -> None:
        setup(room, pointer(parameters), 0.0, steps * STEP, 0, STEP)
        simulate(room, steps * STEP, ignored, None, None)

    best = {(f, n): float("inf") for f in (inside, outside) for n in (2, STEPS)}
    with one_core():
        for _ in range(rounds):
            for key in best:
                best[key] = min(best[key], _seconds(*key))
    return tuple(best[f, STEPS] - best[f, 2] for f in (inside, outside))  # type: ignore[return-value]


def _seconds(function: Callable[[int], None], steps: int) -> float:
    start = time.thread_time()
    function(steps)
    return time.thread_time() - start
