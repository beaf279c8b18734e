"""Copies of the tree in which faults are planted, and runs of tests there; the checkout is only read."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Timer

ROOT = Path(__file__).resolve().parents[2]
KILLED, SURVIVED, UNDECIDED, BROKEN = "killed", "SURVIVED", "UNDECIDED", "broken"
TEST_SECONDS = 90.0  # for one test, with a fault
ALL_LEFT_OUT = 5  # exit code of pytest
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
    """A copy of what the tests need, with byte code, which stays valid: times are kept."""
    ignored = shutil.ignore_patterns("_build", "build", "node_modules")
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
    any_run: bool = True  # not where all tests were left out or have another name now


class Tree:
    """A copy of the checkout, and the process that runs tests there (``prepared.py``)."""

    def __init__(self, folder: Path) -> None:
        self.folder = copy_tree(folder)
        self._output = folder / "output.txt"
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("prepared.py"))],
            env=os.environ | {"ARMILLARY_TEST_SECONDS": f"{TEST_SECONDS:g}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        self._process.communicate()

    def run_tests(self, tests: Sequence[str], limit: float, *options: str) -> Outcome:
        """Run tests until the first fails, for at most so many seconds.

        A test that does not end is ended after a while and with it the process (``tests/conftest.py``); all
        of them together may take the limit.
        """
        code = self._run_pytest([*options, *tests], limit)
        if code is None:
            return Outcome(words=f"not done after {limit:.0f} s", in_time=False)
        if code in (0, ALL_LEFT_OUT):
            return Outcome(any_run=code == 0)
        words = self._output.read_text(encoding="utf-8", errors="replace")
        gone = set(re.findall(r"^ERROR: not found: (.*)$", words, re.MULTILINE))
        kept = [test for test in tests if not any(one.endswith(test) for one in gone)]
        if gone and len(kept) < len(tests):  # tests of the map that have another name now
            return self.run_tests(kept, limit, *options) if kept else Outcome(any_run=False)
        shown = re.findall(r"^(tests/\S+?::.*) (?:FAILED|ERROR) +\[", words, re.MULTILINE)
        failed = shown or re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", words, re.MULTILINE)
        begun = re.findall(r"^(tests/\S+::.*?)(?: (?:[A-Z]{5,7})\b.*)?$", words, re.MULTILINE)
        unended = begun[-1].strip() if begun and not failed else ""
        return Outcome(tuple(failed), words[-2000:] or f"exit code {code}", unended=unended)

    def _run_pytest(self, given: Sequence[str], limit: float) -> int | None:
        """The exit code; None where the time was over."""
        assert self._process.stdin is not None and self._process.stdout is not None
        options = ("-v", "-x", "--assert=plain", "--tb=short", "-p", "no:xdist", "-p", "no:cacheprovider")
        arguments = [*options, "--disable-warnings", *given]
        wanted = {"tree": str(self.folder), "arguments": arguments, "output": str(self._output)}
        print(json.dumps(wanted), file=self._process.stdin, flush=True)
        child = int(self._process.stdout.readline())
        timer = Timer(limit, _end, (child,))
        timer.start()
        code = int(self._process.stdout.readline())
        in_time = timer.is_alive()
        timer.cancel()
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the tests have started
        return code if in_time else None


def _end(child: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


class Trees:
    """Copies for several workers, and which tests pass in them without any fault."""

    def __init__(self, folder: Path, jobs: int, limit: float) -> None:
        self.limit = limit
        self._failing: set[str] = set()  # tests that fail without any fault
        self._free: Queue[Tree] = Queue()
        for i in range(jobs):
            self._free.put(Tree(folder / f"tree-{i}"))
        self._all = list(self._free.queue)

    def __enter__(self) -> Trees:
        return self

    def __exit__(self, *_: object) -> None:
        for tree in self._all:
            tree.close()

    def verdict(self, file: str, plant: Callable[[bytes], bytes], *tests: Sequence[str]) -> tuple[str, str]:
        """Whether the tests, group after group, notice a fault, and the test that does or why none could.

        A test that fails is run again at once without the fault: one that fails then too notices nothing, and
        the others decide. A process that ends without a failed test has met an endless loop, a crash or a
        busy machine; where its test takes a quarter of the limit without the fault nothing is known.
        """
        tree, passing = self._free.get(), not any(tests)
        try:
            until = time.monotonic() + self.limit
            for group in tests:
                while left := [test for test in group if test.partition("::")[0] not in self._failing]:
                    failing = frozenset(self._failing)
                    outcome = self._run_with_fault(tree, file, plant, left, failing, until)
                    if not outcome.words:
                        passing |= outcome.any_run
                        break
                    if not outcome.in_time:
                        return UNDECIDED, outcome.words
                    test = outcome.failed[0] if outcome.failed else outcome.unended or left[0]
                    again = self._run_without_fault(tree, test, bool(outcome.failed))
                    if not again.in_time:
                        return UNDECIDED, f"{test} takes long without the fault, too"
                    if not again.words:
                        return KILLED, test
                    if test in failing:  # and cannot be left out
                        return BROKEN, f"{test}: {again.words}"
                    self._failing.add(test)
            return (SURVIVED, "") if passing else (BROKEN, "no test passes without it")
        finally:
            self._free.put(tree)

    def _run_with_fault(
        self,
        tree: Tree,
        file: str,
        plant: Callable[[bytes], bytes],
        tests: Sequence[str],
        failing: frozenset[str],
        until: float,
    ) -> Outcome:
        path = tree.folder / file
        sound, times = path.read_bytes(), path.stat()
        left_out = (f"--deselect={test}" for test in sorted(failing))
        try:
            path.write_bytes(plant(sound))
            return tree.run_tests(tests, max(until - time.monotonic(), 1.0), *left_out)
        finally:
            path.write_bytes(sound)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run_without_fault(self, tree: Tree, test: str, ended: bool) -> Outcome:
        """A file of tests stands for an error while it is read."""
        options = () if "::" in test else ("--collect-only",)
        return tree.run_tests([test], TEST_SECONDS if ended else TEST_SECONDS / 4, *options)
