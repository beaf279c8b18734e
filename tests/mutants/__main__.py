"""Plants the faults of ``faults/*.toml`` one at a time and runs the tests that should notice each.

    python -m tests.mutants [--only TEXT] [--jobs 2] [--limit 180]

A fault is a snippet of a file and what takes its place:

    [[fault]]
    file = "src/armillary/…"
    original = "a <= b"           # occurs exactly once in the file
    faulty = "a < b"
    tests = ["tests/….py::test_…"]

Each is planted in a copy of the tree. A run of the tests that fails, or exceeds the time limit, has *killed*
the fault; one that passes has let it *survive*. A snippet that is not there any more is *stale*: the list
must follow the code. The tests are first run without any fault, for a test that always fails notices nothing:
then the fault is *broken*. Exit code 1: a fault is stale or broken, or fewer than 95 % were killed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]
KILLED, SURVIVED, BROKEN = "killed", "SURVIVED", "broken"
LEAST = 0.95  # share of the faults that must be killed
COPIED = (
    "src",
    "tests",
    "examples",
    "benchmarks",
    "docs",
    "pyproject.toml",
    "README.md",
    "CONTRIBUTING.md",
    "Makefile",
)


@dataclass(frozen=True)
class Fault:
    """One planted fault, and the tests that should notice it."""

    file: str
    original: str
    faulty: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        words = " ".join(self.original.split())
        return f"{self.file}: {words if len(words) <= 60 else words[:57] + '...'}"


def read_faults() -> list[Fault]:
    """All faults of the list, file after file."""
    found = []
    for path in sorted((Path(__file__).parent / "faults").glob("*.toml")):
        for item in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]:
            fault = Fault(item["file"], item["original"], item["faulty"], tuple(item["tests"]))
            if fault.original == fault.faulty or not fault.tests:
                raise SystemExit(f"{path.name}: '{fault}' changes nothing, or names no tests")
            found.append(fault)
    return found


def stale(fault: Fault) -> bool:
    """Whether the snippet does not occur exactly once any more."""
    path = ROOT / fault.file
    return not path.exists() or path.read_text(encoding="utf-8").count(fault.original) != 1


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


def complaint(tree: Path, tests: Sequence[str], limit: float) -> str:
    """What tests that fail in a tree, or take too long, say at their end; nothing where all pass."""
    given = os.environ.get("PYTHONPATH")  # where packages lie, perhaps
    paths = os.pathsep.join([str(tree / "src"), str(tree), *([given] if given else [])])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, timeout=limit, capture_output=True, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        return f"not done after {limit:g} s"
    if done.returncode not in (0, 1, 2):  # usage errors: a test that is not there notices nothing
        raise SystemExit(f"pytest {' '.join(tests)}:\n{done.stdout}{done.stderr}")
    return done.stdout[-2000:] if done.returncode else ""


class Planter:
    """Trees of their own for several workers, and the tests that pass in them without any fault."""

    def __init__(self, folder: Path, jobs: int, limit: float) -> None:
        self.limit = limit
        self._trees: Queue[Path] = Queue()
        for i in range(jobs):
            self._trees.put(copy_tree(folder / f"tree-{i}"))
        self._sound: dict[tuple[str, ...], str] = {}

    def verdict(self, fault: Fault) -> str:
        """Whether the tests notice the fault; where they fail without it, what they say."""
        tree = self._trees.get()
        path = tree / fault.file
        sound = path.read_text(encoding="utf-8")
        try:
            if fault.tests not in self._sound:
                self._sound[fault.tests] = complaint(tree, fault.tests, self.limit)
            if self._sound[fault.tests]:
                return self._sound[fault.tests]
            path.write_text(sound.replace(fault.original, fault.faulty), encoding="utf-8")
            return KILLED if complaint(tree, fault.tests, self.limit) else SURVIVED
        finally:
            path.write_text(sound, encoding="utf-8")
            self._trees.put(tree)


def main() -> int:
    reader = argparse.ArgumentParser(description="Faults planted in the code: do the tests notice?")
    reader.add_argument("--only", default="", help="faults whose file or snippet holds this text")
    reader.add_argument("--jobs", type=int, default=2, help="trees, each with one run of pytest at a time")
    reader.add_argument("--limit", type=float, default=180.0, help="seconds for the tests of one fault")
    options = reader.parse_args()
    faults = [f for f in read_faults() if options.only in f.file or options.only in f.original]
    gone = [f for f in faults if stale(f)]
    for fault in gone:
        print(f"stale     {fault}")
    faults = [f for f in faults if f not in gone]
    if not faults:
        return 1
    begun, verdicts = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="armillary-mutants-") as folder:
        planter = Planter(Path(folder), options.jobs, options.limit)
        with ThreadPoolExecutor(options.jobs) as workers:
            for fault, verdict in zip(faults, workers.map(planter.verdict, faults), strict=True):
                known = verdict in (KILLED, SURVIVED)
                verdicts.append(verdict if known else BROKEN)
                print(f"{verdicts[-1]:<9} {fault}", *([] if known else [verdict]), flush=True)
    count, broken = verdicts.count(KILLED), verdicts.count(BROKEN)
    share = count / max(len(faults) - broken, 1)
    minutes = (time.monotonic() - begun) / 60
    print(
        f"{count} of {len(faults)} killed, {share:.0%} of those whose tests pass without them; "
        f"{broken} with tests that fail anyway, {len(gone)} stale; {minutes:.1f} min"
    )
    return 1 if gone or broken or share < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
