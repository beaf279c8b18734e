"""Thread scaling: the same batch with one thread, two, and so on, beside what the hardware gives threads.

Two processors of one core share its arithmetic units, clocks fall when all cores work, and a virtual machine
may hide both. So a loop of arithmetic alone, which shares nothing and touches no memory, is run by as many
threads in the same rounds: its efficiency is the bound for ours. Wall time, the shortest of several rounds.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armillary.algebra.arguments import core_of
from benchmarks.build import NATIVE, NotAvailable, compile_cached
from benchmarks.candidate import OPTIMISED
from benchmarks.lanes import STEP, STEPS, compiled_example, spread

SECONDS = 0.5
"""About what the batch takes with one thread."""
_TOPOLOGY = Path("/sys/devices/system/cpu")


def processors() -> list[int]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def physical_cores() -> int | None:
    """How many cores these processors are, as far as the system tells: siblings share one."""
    try:
        siblings = [_TOPOLOGY / f"cpu{i}" / "topology" / "thread_siblings_list" for i in processors()]
        return len({path.read_text().strip() for path in siblings})
    except OSError:
        return None


def measure_threads(rounds: int = 10, seconds: float = SECONDS, name: str = "stanford_arm") -> dict[str, Any]:
    """Seconds and efficiency by number of threads, of a batch and of arithmetic alone."""
    counts = tuple(range(1, len(processors()) + 1))
    batch, runs = _batch(name, seconds)
    works: dict[str, Callable[[int], object]] = {"batch": batch}
    record: dict[str, Any] = {"processors": counts[-1], "cores": physical_cores(), "runs": runs}
    try:
        works["arithmetic"] = _arithmetic(seconds)
    except NotAvailable as reason:
        record["missing"] = str(reason)
    best = {(label, n): float("inf") for label in works for n in counts}
    for _ in range(rounds):
        for label, n in best:
            start = time.perf_counter()
            works[label](n)
            best[label, n] = min(best[label, n], time.perf_counter() - start)
    for label in works:
        alone = best[label, 1]
        record[label] = [
            # All threads share the batch; of arithmetic each has as much as one alone.
            {
                "threads": n,
                "seconds": best[label, n],
                "efficiency": alone / best[label, n] / (n if label == "batch" else 1),
            }
            for n in counts
        ]
    return record


def _batch(name: str, seconds: float) -> tuple[Callable[[int], object], int]:
    """A batch that takes about so long with one thread, and its number of runs."""
    from armillary.ensembles.batch import Prepared
    from armillary.settings import RunSettings

    compiled = compiled_example(name)
    metrics = {"last": f"final({compiled.output_names[0]})"}
    settings = RunSettings(STEPS * STEP, step=STEP)
    prepared = Prepared(core_of(compiled), settings, metrics=metrics, **spread(compiled, 1024))
    few = spread(compiled, 1024)
    took = min(_seconds(lambda: prepared(**few, threads=1)) for _ in range(3))
    runs = max(1024, 64 * round(16 * seconds / took))
    many = spread(compiled, runs)
    return lambda threads: prepared(**many, threads=threads), runs


def _arithmetic(seconds: float) -> Callable[[int], object]:
    """The same work for each thread, of about so many seconds."""
    built = compile_cached("arithmetic.so", NATIVE / "arithmetic.c", OPTIMISED)
    library = ctypes.CDLL(str(built.path))
    library.arithmetic.restype, library.arithmetic.argtypes = ctypes.c_double, [ctypes.c_long]
    probe = 1_000_000
    took = min(_seconds(lambda: library.arithmetic(probe)) for _ in range(3))
    rounds = round(probe * seconds / took)

    def work(threads: int) -> None:
        crew = [threading.Thread(target=library.arithmetic, args=(rounds,)) for _ in range(threads)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()

    return work


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
