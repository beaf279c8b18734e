"""Copies of the tree in which faults are planted, and runs of tests there; the checkout is only read."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Lock

ROOT = Path(__file__).resolve().parents[2]
KILLED, SURVIVED, UNDECIDED, BROKEN = "killed", "SURVIVED", "UNDECIDED", "broken"
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
    in_time: bool = True


def run_tests(tree: Path, tests: Sequence[str], limit: float) -> Outcome:
    """Run tests in a tree until the first fails, for at most so many seconds.

    A test that does not end is ended after a minute (``tests/conftest.py``), which is a failure; all of them
    together may take the limit.
    """
    given = os.environ.get("PYTHONPATH")  # where packages lie, perhaps
    paths = os.pathsep.join([str(tree / "src"), str(tree), *([given] if given else [])])
    environment = os.environ | {"PYTHONPATH": paths, "ARMILLARY_TEST_SECONDS": "60"}
    options = ("-q", "-x", "--assert=plain", "--tb=short", "-p", "no:xdist", "-p", "no:cacheprovider")
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # what the tests have started ends with them
    ) as process:
        try:
            words, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Outcome(words=f"not done after {limit:g} s", in_time=False)
    if process.returncode == 0:
        return Outcome()
    failed = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", words, re.MULTILINE)
    return Outcome(tuple(failed), words[-2000:] or f"exit code {process.returncode}")


class Trees:
    """Copies for several workers, and which tests pass in them without any fault."""

    def __init__(self, folder: Path, jobs: int, limit: float) -> None:
        self.limit = limit
        self._free: Queue[Path] = Queue()
        for i in range(jobs):
            self._free.put(copy_tree(folder / f"tree-{i}"))
        self._sound: dict[tuple[str, ...], str] = {}
        self._lock = Lock()

    def verdict(self, file: str, plant: Callable[[bytes], bytes], tests: Sequence[str]) -> tuple[str, str]:
        """Whether the tests notice a fault, and what the tests say.

        A test that fails is run again without the fault: where it fails as well, it has noticed nothing, and
        the verdict is BROKEN.
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
            complaint = self._complaint(tree, outcome.failed or tuple(tests))
            return (
                (BROKEN, complaint)
                if complaint
                else (KILLED, " ".join(outcome.failed) or "a test did not end")
            )
        finally:
            self._free.put(tree)

    def _complaint(self, tree: Path, tests: tuple[str, ...]) -> str:
        """What tests say without any fault; nothing where they pass."""
        with self._lock:
            known = self._sound.get(tests)
        if known is None:
            outcome = run_tests(tree, tests, self.limit)
            known = outcome.words if outcome.in_time else ""
            with self._lock:
                self._sound[tests] = known
        return known
