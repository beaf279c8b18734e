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
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Timer

ROOT = Path(__file__).resolve().parents[2]
KILLED, SURVIVED, UNDECIDED, BROKEN = "killed", "SURVIVED", "UNDECIDED", "broken"
TEST_SECONDS = 90.0  # for one test, with a fault
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

    def run_tests(self, tests: Sequence[str], limit: float) -> Outcome:
        """Run tests until the first fails, for at most so many seconds.

        A test that does not end is ended after a while and with it the process (``tests/conftest.py``); all
        of them together may take the limit.
        """
        code = self._run_pytest(tests, limit)
        if code is None:
            return Outcome(words=f"not done after {limit:.0f} s", in_time=False)
        if code == 0:
            return Outcome()
        words = self._output.read_text(encoding="utf-8", errors="replace")
        gone = set(re.findall(r"^ERROR: not found: (.*)$", words, re.MULTILINE))
        kept = [test for test in tests if not any(one.endswith(test) for one in gone)]
        if gone and len(kept) < len(tests):  # tests of the map that have another name now
            return self.run_tests(kept, limit) if kept else Outcome()
        shown = re.findall(r"^(tests/\S+?::.*) (?:FAILED|ERROR) +\[", words, re.MULTILINE)
        failed = shown or re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", words, re.MULTILINE)
        begun = re.findall(r"^(tests/\S+::.*?)(?: (?:[A-Z]{5,7})\b.*)?$", words, re.MULTILINE)
        unended = begun[-1].strip() if begun and not failed else ""
        return Outcome(tuple(failed), words[-2000:] or f"exit code {code}", unended=unended)

    def _run_pytest(self, tests: Sequence[str], limit: float) -> int | None:
        """The exit code; None where the time was over."""
        assert self._process.stdin is not None and self._process.stdout is not None
        options = ("-v", "-x", "--assert=plain", "--tb=short", "-p", "no:xdist", "-p", "no:cacheprovider")
        arguments = [*options, "--disable-warnings", *tests]
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

        A process that ends without a failed test has met an endless loop, a crash or a busy machine: the test
        is run again at once without the fault, and where this takes a quarter of the limit nothing is known.
        """
        tree = self._free.get()
        try:
            path = tree.folder / file
            sound, times = path.read_bytes(), path.stat()
            try:
                path.write_bytes(plant(sound))
                outcome, until = Outcome(), time.monotonic() + self.limit
                for group in filter(None, tests):
                    outcome = tree.run_tests(group, max(until - time.monotonic(), 1.0))
                    if outcome.words:
                        break
            finally:
                path.write_bytes(sound)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if not outcome.in_time:
                return UNDECIDED, outcome.words
            if not outcome.words:
                return SURVIVED, ""
            if outcome.failed:
                return KILLED, outcome.failed[0]
            test = outcome.unended or tests[0][0]
            again = tree.run_tests([test], TEST_SECONDS / 4)
            if not again.in_time:
                return UNDECIDED, f"{test} takes {TEST_SECONDS / 4:g} s without the fault"
            return KILLED, test
        finally:
            self._free.put(tree)

    def failing(self, tests: Sequence[str]) -> dict[str, str]:
        """Those of the tests that fail without any fault, and what they say; each tree runs a share."""
        names = sorted(set(tests))
        each = -(-len(names) // len(self._all)) or 1
        shares = [names[i : i + each] for i in range(0, len(names), each)]
        with ThreadPoolExecutor(len(self._all)) as workers:
            return {test: words for found in workers.map(self._failing, shares) for test, words in found}

    def _failing(self, left: Sequence[str]) -> list[tuple[str, str]]:
        tree, found = self._free.get(), []
        try:
            while left:
                outcome = tree.run_tests(left, 60.0 + 20.0 * len(left))
                bad = set(outcome.failed) | ({outcome.unended} if outcome.unended else set())
                found += [(test, outcome.words) for test in bad]
                if not outcome.words or not bad:
                    break
                left = [test for test in left if test not in bad]
        finally:
            self._free.put(tree)
        return found
