"""Settings shared by all tests: no screen, property tests that repeat themselves exactly, one cache of
machine code for all workers of a run, Ctrl-C that is heard, no garbage collection while tests are collected,
a limit to the time of every test, and which tests run optimised code.
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
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Before NumPy is imported: the tests share the cores already, and threads that wait for each other cost most.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"
# Workers of a Dask cluster are forked from one process that has imported what they need, in seconds each.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")

# After the variables that NumPy reads.
from armillary.program.formalisms import tree_formalisms
from armillary.program.passes import sequence
from armillary.results.plots import figure

NODES, TRIED, POINTS, LAYOUT = (
    sequence.SEARCHED,
    tree_formalisms.TRIED,
    figure.STYLE["savefig.dpi"],
    figure.LAYOUT,
)

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

# Where machine code itself is the subject (back ends, integrators, batches) and in published cases of every
# kind, LLVM optimises as it does for users. Elsewhere it only translates, in a tenth of the time; a third of
# the suite's time would go into optimising models that run for milliseconds. The numbers of all cases are the
# same to their tolerances; `ARMILLARY_COMPILE=full make test` optimises everywhere.
CASES = (
    *("stanford_arm", "four_bar", "rolling_disc", "flexible_slider_crank", "jpl_mbdyfn", "hub_and_panels"),
    *("impact", "momentum_tree"),
)
LANES = ("fixed_steps", "all_functions", "adaptive_steps_on", "without_fused", "vectors_of")
WASM = (
    *(f"a_module_gives_the_numbers_of_the_process[{name}" for name in ("car", "tables", "bouncing")),
    "the_car_takes",
)
OPTIMISED = tuple(
    f"tests/{place}"
    for place in (
        *("llvm/test_backend", "llvm/test_jit", "llvm/test_vector", "llvm/test_wide", "program/test_packs"),
        *(f"ensembles/test_batch.py::test_{name}" for name in LANES),
        *("ensembles/test_batch_inputs", "ensembles/test_gpu.py::test_runs_are", "ensembles/test_metrics"),
        *(f"verification/test_cases.py::test_every_case_meets_its_source[{name}]" for name in CASES),
        *(f"runtime/test_compiled_{part}" for part in ("events", "memory", "values")),
        "runtime/test_compiled_runs.py::test_every_method",
        "runtime/test_compiled_changes.py::test_a_run_does_not_depend_on_what_runs_before_it_have_met[array",
        *("runtime/test_integrators.py", "runtime/test_integrators_runs"),
        "runtime/test_integrators_accumulation.py::test_crossings_of_a_chirp",
        "runtime/test_integrators_accumulation.py::test_relays",
        *(f"export/test_export_wasm.py::test_{name}" for name in WASM),
        *("export/fmi/test_fmu_files", "test_readme.py"),
        "verification/test_examples.py::test_example_runs[car_study]",
    )
)
# Among them, tests of large models that are about the derivation, and the second of two methods.
TRANSLATED = (
    "tests/runtime/test_compiled_values.py::test_two_formalisms_give_the_same_trajectory[1]",
    "tests/ensembles/test_batch.py::test_adaptive_steps_on_lanes_are_the_single_runs[dop853]",
)
CHOSEN = os.environ.get("ARMILLARY_COMPILE")

# Passes over a program change operation counts, not numbers, and "auto" derives by two formalisms to take the
# cheaper one; together they take a third of a derivation's time. Where neither counts nor the program's text
# are the subject, only the two passes run that all others build on, and one formalism is tried; what is
# exported, studied or shown is improved except for the search. Improved programs are run and compared in
# tests/program, llvm and ensembles, by the published cases, pages and the demonstration, and in the tests
# named here. A test with one of the words COUNTED in its name improves, too; what it shares with others
# (verification.reference.equations derives each example once) must then be improved there as well.
MOTIONS = (
    *("array_deployment", "basilisk", "basilisk_contributions", "bowling_ball", "chain", "double_wishbone"),
    *("elastica", "examples", "flexible_slider_crank", "hub_and_panels", "jpl_spinning_rotor"),
    *("jpl_translation", "jpl_tree", "jpl_two_bodies", "msd", "parallelogram", "redundant_models"),
    *("rotating_beam", "slider_crank", "slosh", "spinning_boom", "stewart_platform"),
)
# Published cases whose numbers are motions of many speeds; others of their kind are improved.
LARGE = ("momentum_sliders", "momentum_flexible", "moving_base", "bicycle")
PLAIN = tuple(
    f"tests/{place}"
    for place in (
        *("files", "mechanics", "model", "run_files", "runtime"),
        *(f"analysis/{part}" for part in ("identification", "inverse", "kinematics", "linear", "operating")),
        *("analysis/test_", "fuzz"),
        *(f"verification/test_{case}.py" for case in MOTIONS),
        *(f"verification/test_cases.py::test_every_case_meets_its_source[{name}]" for name in LARGE),
        "verification/test_cases.py::test_reference_states",
    )
)
UNSEARCHED = (*PLAIN, *(f"tests/{place}" for place in ("export", "studies", "viewer")))
SEARCHED = tuple(
    f"tests/{place}"
    for place in (
        *("mechanics/test_chain_growth", "mechanics/test_closed_chains"),
        "mechanics/test_back_substitution.py::test_contributions_stand_in_the_program",
        *("model/test_judgement", "runtime/test_compiled", "runtime/test_checked_runs"),
    )
)
COUNTED = ("cost", "operations", "products")

# Figures are drawn once and of a sixteenth of their points, but where their look is the subject.
FIGURES = "tests/results"


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
# the tests that ran before, and every worker would parse all sources, in 6 s.
with suppress(ImportError):
    from hypothesis.internal.conjecture import providers

    providers._get_local_constants = lambda: providers._local_constants


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(2)  # before output is captured
    for plugin in config.pluginmanager.get_plugins():
        if WORKER and hasattr(plugin, "workerid") and hasattr(plugin, "sendevent"):
            plugin.sendevent = partial(_send, plugin.sendevent)


def _send(send: Callable[..., None], name: str, **event: Any) -> None:
    """Of a worker, without what nobody reads: that tests begin and end, reports of set-ups and ends that
    passed, the words that a passed test could be chosen by.
    """
    data = event.get("data", {}) if name == "testreport" else {}
    passed = data.get("outcome") == "passed"
    if name in ("logstart", "logfinish") or (passed and data["when"] != "call"):
        return
    if passed:
        data["keywords"] = {}
    send(name, **event)


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE is not None:
        shutil.rmtree(CACHE, ignore_errors=True)


_STDERR = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if CHOSEN is None:
        optimised = item.nodeid.startswith(OPTIMISED) and not item.nodeid.startswith(TRANSLATED)
        os.environ["ARMILLARY_COMPILE"] = "full" if optimised else "quick"
    collect_once(item.path)
    counted = item.nodeid.startswith(SEARCHED) or any(word in item.name for word in COUNTED)
    searched = counted or not item.nodeid.startswith(UNSEARCHED)
    plain = not counted and item.nodeid.startswith(PLAIN)
    sequence.SEARCHED = NODES if searched else 0 if plain else 1
    tree_formalisms.TRIED = 1 if plain else TRIED
    shown = item.nodeid.startswith(FIGURES)
    figure.STYLE["savefig.dpi"], figure.LAYOUT = (POINTS, LAYOUT) if shown else (40, "none")
    faulthandler.dump_traceback_later(limit(), exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
