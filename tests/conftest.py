"""Settings shared by all tests: no screen, property tests that repeat themselves exactly, one cache of
machine code for all workers of a run, Ctrl-C that is heard, no garbage collection while tests are collected,
a limit to the time of every test, and optimised code in tests that are marked so.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hypothesis import settings

# Before NumPy is imported: the tests share the cores already, and threads that wait for each other cost most.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"
# Workers of a Dask cluster are forked from one process that has imported what they need, in seconds each.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")

# Programs that JAX compiles here run for milliseconds. Fusions are written in an older way, in two thirds of
# the time; other versions may not have it, and a process ends where it meets an unknown flag. Without passes
# that simplify loops, tests of programs with events take 0.8 to 0.95 of their time, others the same.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
SIMPLIFYING = (
    *("constant_folding", "reshape-mover", "simplify-conditional", "simplify-while-loops"),
    *("while-loop-constant-sinking", "while-loop-invariant-code-motion"),
)
with suppress(PackageNotFoundError):
    if version("jaxlib").startswith("0.10."):
        QUICK += f" --xla_cpu_use_fusion_emitters=false --xla_disable_hlo_passes={','.join(SIMPLIFYING)}"
os.environ.setdefault("XLA_FLAGS", QUICK)

# Eight thousand tests are millions of objects that stay: looking through them for garbage takes a fifth of
# the time of their collection, and is repeated later.
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.set_threshold(500_000, 20, NEVER)  # the default, 700, takes 8 % of the time; graphs are freed without
    gc.enable()


NEVER = 1_000_000
_file: Path | None = None


def collect_once(file: Path) -> None:
    """Between two files of tests: what is left of the last one is collected, and what it still holds is never
    looked through again. All objects together take a second after some thousand tests.
    """
    global _file
    if file != _file:
        _file = file
        gc.collect()
        gc.freeze()


# Machine code is kept by content, so what one test has compiled another takes: a fresh folder per run, which
# the workers inherit. Tests of the cache itself name folders of their own.
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
CACHE = None if WORKER else tempfile.mkdtemp(prefix="armillary-tests-")
if CACHE is not None:
    os.environ["ARMILLARY_CACHE"] = CACHE
COLLECTED = Path(os.environ["ARMILLARY_CACHE"]) / "collected"
WRITTEN = any(Path(__file__).parent.glob("__pycache__/test_*.pyc"))
if CACHE is not None and (WRITTEN or sys.dont_write_bytecode):
    COLLECTED.touch()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """In a fresh checkout one worker collects first: it compiles the libraries and the tests to byte code, in
    20 s, which the others read; at the same time each would do it for itself. mypy has the other processor.
    """
    until = time.monotonic() + 300.0
    while WORKER not in (None, "gw0") and not COLLECTED.exists() and time.monotonic() < until:
        time.sleep(0.1)
    try:
        return (yield)
    finally:
        if WORKER == "gw0":  # this hook runs in the process that waits for the workers, too
            COLLECTED.touch()


# In the background of a shell, under nohup and some CI runners SIGINT is ignored, and every child inherits
# that: tests that interrupt a run would wait for its end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machine code is the subject of some tests: back ends, integrators, batches, published cases of every kind.
# They have the mark "optimised" and LLVM optimises there as it does for users. Others compile as with
# compile(tier="quick"): a third of the suite's time would go into optimising models that run for
# milliseconds. `ARMILLARY_COMPILE=full make test` optimises everywhere.
CHOSEN = os.environ.get("ARMILLARY_COMPILE")


def limit() -> float:
    """Seconds after which a test is ended with a traceback of all threads, and with it the process, since
    compiled code cannot be interrupted; pytest-xdist then names the test and starts another worker.

    The slowest test takes about 10 s on a quiet machine; more is allowed where others use the processors too.
    """
    given = os.environ.get("ARMILLARY_TEST_SECONDS")
    busy = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return float(given) if given else 60.0 * (1.0 + busy)


# No deadline: the first call of a compiled model pays for its compilation, and test machines are shared.
# Derandomised: a red run must be red again when someone looks at it.
settings.register_profile("armillary", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("armillary")
# Hypothesis would also try the numbers that stand in the modules imported so far: examples would depend on
# the tests that ran before, and every worker would parse all sources, in 6 s. It has no setting for this.
with suppress(ImportError):
    from hypothesis.internal.conjecture import providers

    providers._get_local_constants = lambda: providers._local_constants


def pytest_configure(config: pytest.Config) -> None:
    """The clock below dumps and ends the process. faulthandler's own is a thread for every test, which takes
    ten times as long and then waits for a processor; Windows has no other, and no limit here.
    """
    if hasattr(signal, "SIGALRM"):
        stderr = os.dup(2)  # before output is captured
        faulthandler.register(signal.SIGALRM, file=stderr, all_threads=True, chain=True)


def set_clock(seconds: float) -> None:
    """Let SIGALRM come in so many seconds, or never, if 0."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE is not None:
        shutil.rmtree(CACHE, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if CHOSEN is None:
        optimised = item.get_closest_marker("optimised") is not None
        os.environ["ARMILLARY_COMPILE"] = "full" if optimised else "quick"
    collect_once(item.path)
    set_clock(limit())
    try:
        return (yield)
    finally:
        set_clock(0.0)
