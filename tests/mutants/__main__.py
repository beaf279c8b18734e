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
must follow the code. The tests are first run without any fault, for a test that always fails notices nothing.
Exit code 1: a fault is stale, the clean tests fail, or fewer than 95 % were killed.
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


def faults_of(tree: Path, tests: Sequence[str], limit: float) -> str:
    """What tests that fail in a tree, or take too long, say at their end; nothing where all pass."""
    paths = os.pathsep.join([str(tree / "src"), str(tree)])
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


def killed(fault: Fault, trees: Queue[Path], limit: float) -> bool:
    """Whether the tests notice the fault."""
    tree = trees.get()
    path = tree / fault.file
    sound = path.read_text(encoding="utf-8")
    try:
        path.write_text(sound.replace(fault.original, fault.faulty), encoding="utf-8")
        return bool(faults_of(tree, fault.tests, limit))
    finally:
        path.write_text(sound, encoding="utf-8")
        trees.put(tree)


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
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="armillary-mutants-") as folder:
        trees: Queue[Path] = Queue()
        for i in range(options.jobs):
            trees.put(copy_tree(Path(folder) / f"tree-{i}"))
        tests = sorted({test for f in faults for test in f.tests})
        first = trees.get()
        if wrong := faults_of(first, tests, 20 * options.limit):
            print(f"{wrong}\nThe tests fail without any fault, so they tell nothing: make test first.")
            return 1
        trees.put(first)
        with ThreadPoolExecutor(options.jobs) as workers:
            verdicts = workers.map(lambda f: killed(f, trees, options.limit), faults)
            count = 0
            for fault, verdict in zip(faults, verdicts, strict=True):
                count += verdict
                print(f"{'killed   ' if verdict else 'SURVIVED '} {fault}", flush=True)
    share = count / len(faults)
    minutes = (time.monotonic() - begun) / 60
    print(f"{count} of {len(faults)} killed, {share:.0%}; {len(gone)} stale; {minutes:.1f} min")
    return 1 if gone or share < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
