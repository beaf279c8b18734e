"""Copies of the tree in which faults are planted, and runs of tests there; the checkout is only read."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]
KILLED, SURVIVED, UNDECIDED, BROKEN = "killed", "SURVIVED", "UNDECIDED", "broken"
TEST_SECONDS = 90.0  # for one test, with a fault
MEMORY = 8 << 30  # bytes for one run of tests
COPIED = (
    "src",
    "tests",
    "examples",
    "benchmarks",
    "docs",
    "tools",
    "pyproject.toml",
    "README.md",
    "CONTRIBUTING.md",
    "Makefile",
)


def copy_tree(folder: Path) -> Path:
    """A copy of what the tests need."""
    ignored = shutil.ignore_patterns("__pycache__", "_build", "build", "node_modules")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        elif source.exists():
            shutil.copy2(source, folder / name)
    return folder


@dataclass(frozen=True)
class Outcome:
    """What a run of tests says: the tests that failed, and the end of its output where not all passed."""

    failed: tuple[str, ...] = ()
    words: str = ""
    in_time: bool = True  # of all tests together
    unended: str = ""  # the test in which the process ended: it took too long, or the process broke


def run_tests(tree: Path, tests: Sequence[str], limit: float) -> Outcome:
    """Run tests in a tree until the first fails, for at most so many seconds.

    A test that does not end is ended after a minute and with it the process (``tests/conftest.py``); all of
    them together may take the limit. A fault that takes all memory must not take that of others.
    """
    given = os.environ.get("PYTHONPATH")  # where packages lie, perhaps
    paths = os.pathsep.join([str(tree / "src"), str(tree), *([given] if given else [])])
    environment = os.environ | {"PYTHONPATH": paths, "ARMILLARY_TEST_SECONDS": f"{TEST_SECONDS:g}"}
    options = ("-v", "-x", "--assert=plain", "--tb=short", "-p", "no:xdist", "-p", "no:cacheprovider")
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, "--disable-warnings", *tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # what the tests have started ends with them
        preexec_fn=_limit_memory,
    ) as process:
        try:
            words, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Outcome(words=f"not done after {limit:g} s", in_time=False)
    if process.returncode == 0:
        return Outcome()
    gone = set(re.findall(r"^ERROR: not found: (.*)$", words, re.MULTILINE))
    kept = [test for test in tests if not any(one.endswith(test) for one in gone)]
    if gone and kept:  # tests of the map that have another name now
        return run_tests(tree, kept, limit)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", words, re.MULTILINE)
    begun = re.findall(
        r"^(tests/\S+::.*?)(?: (PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS).*)?$", words, re.MULTILINE
    )
    unended = begun[-1][0].strip() if begun and not failed else ""
    return Outcome(tuple(failed), words[-2000:] or f"exit code {process.returncode}", unended=unended)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


class Trees:
    """Copies for several workers, and which tests pass in them without any fault."""

    def __init__(self, folder: Path, jobs: int, limit: float) -> None:
        self.limit = limit
        self._free: Queue[Path] = Queue()
        for i in range(jobs):
            self._free.put(copy_tree(folder / f"tree-{i}"))

    def verdict(self, file: str, plant: Callable[[bytes], bytes], tests: Sequence[str]) -> tuple[str, str]:
        """Whether the tests notice a fault, and the test that does or why none could.

        A process that ends without a failed test has met an endless loop, a crash or a busy machine: the test
        is run again at once without the fault, and where this takes a quarter of the limit nothing is known.
        """
        tree = self._free.get()
        try:
            path = tree / file
            sound, times = path.read_bytes(), path.stat()
            try:
                path.write_bytes(plant(sound))
                outcome = run_tests(tree, tests, self.limit)
            finally:
                path.write_bytes(sound)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if not outcome.in_time:
                return UNDECIDED, outcome.words
            if not outcome.words:
                return SURVIVED, ""
            if outcome.failed:
                return KILLED, outcome.failed[0]
            test = outcome.unended or tests[0]
            again = run_tests(tree, [test], TEST_SECONDS / 4)
            if not again.in_time:
                return UNDECIDED, f"{test} takes {TEST_SECONDS / 4:g} s without the fault"
            return KILLED, test
        finally:
            self._free.put(tree)

    def failing(self, tests: Sequence[str]) -> dict[str, str]:
        """Those of the tests that fail without any fault, and what they say."""
        tree, found = self._free.get(), {}
        try:
            left = sorted(set(tests))
            while left:
                outcome = run_tests(tree, left, 60.0 + 20.0 * len(left))
                bad = set(outcome.failed) | ({outcome.unended} if outcome.unended else set())
                found |= dict.fromkeys(bad, outcome.words)
                if not outcome.words or not bad:
                    break
                left = [test for test in left if test not in bad]
        finally:
            self._free.put(tree)
        return found
