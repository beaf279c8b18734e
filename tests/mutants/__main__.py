"""Faults planted in copies of the code, one at a time: do the tests notice them?

    python -m tests.mutants [--seed 7] [--count 200] [--only TEXT]     drawn from all of src
    python -m tests.mutants --again REPORT --seed 7                    its faults that were not killed
    python -m tests.mutants --listed [--only TEXT]                     those of faults/*.toml
    python -m tests.mutants --map                                      which test executes what, for the above

Faults are made by rule (``generated.py``) and drawn by seed, a fresh one where none is given; the tests that
execute each are run, by a map that is made once (``executed.py``, ``selection.py``), or without a map those
of the files that are most likely to notice it, the likeliest first (``relevant.py``), until a test fails. A
fault at which one fails has been *killed*; where all pass it has *survived*; where none has failed when the
time is over it is *undecided*, and counts as not killed: a busy machine needs a higher limit. Those that
change nothing are named in ``equivalent.toml``. A test that fails without any fault, say for want of a
package, notices nothing: the others decide, and where there is no other the fault is *broken*.

A fault of the list is a snippet of a file and what takes its place:

    [[fault]]
    file = "src/armillary/…"
    original = "a <= b"           # occurs exactly once in the file
    faulty = "a < b"
    tests = ["tests/….py::test_…"]

A snippet that is not there any more is *stale*: the list must follow the code. Exit code 1: a fault is stale
or broken, or fewer than 85 % (of the list 95 %) were killed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.executed import merge_parts
from tests.mutants.generated import GeneratedFault, draw_faults, is_equivalent
from tests.mutants.planting import BROKEN, KILLED, ROOT, SURVIVED, UNDECIDED, Trees
from tests.mutants.relevant import LEFT_OUT, relevant_groups
from tests.mutants.selection import BUDGET, Map, first_few

LEFT = "left"  # out of the draw: the time was over
LEAST, LEAST_LISTED = 0.85, 0.95  # shares of the faults that must be killed
EXECUTED = ROOT / "build" / "executed.sqlite"


@dataclass(frozen=True)
class Fault:
    """A fault of the list, and the tests that should notice it."""

    file: str
    original: str
    faulty: str
    tests: tuple[str, ...]

    def plant(self, sound: bytes) -> bytes:
        return sound.decode().replace(self.original, self.faulty).encode()

    @property
    def package(self) -> str:
        return Path(self.file).parts[2]

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


def plant_all(
    faults: Sequence[Fault | GeneratedFault],
    executed: Map | None,
    jobs: int,
    limit: float,
    budget: float,
    until: float,
) -> list[str]:
    """The verdict of each fault, printed as it comes: what is printed is known even if the rest is cut off.
    Faults are begun in their order, none after a time.
    """
    with (
        tempfile.TemporaryDirectory(prefix="armillary-mutants-") as folder,
        Trees(Path(folder), jobs, limit) as trees,
    ):

        def judge(fault: Fault | GeneratedFault) -> str:
            if time.monotonic() > until:
                return LEFT
            if isinstance(fault, Fault):
                groups: list[Sequence[str]] = [fault.tests]
            elif executed is None:
                groups = relevant_groups(fault.file, fault.line)
            else:
                groups = first_few(executed.select(fault, budget))
            verdict, words = trees.verdict(fault.file, fault.plant, *groups)
            lines = [f"{verdict:<9} {fault}", *([f"    {words}"] if words else []), ""]
            print("\n".join(lines), end="", flush=True)  # at once, between those of others
            return verdict

        with ThreadPoolExecutor(jobs) as workers:
            return list(workers.map(judge, faults))


def unkilled(report: Path) -> set[str]:
    """The faults of an earlier report that were not killed, as it prints them."""
    found = re.findall(
        rf"^(?:{SURVIVED}|{UNDECIDED}|{BROKEN}) +(\S+:\d+\n    - .*\n    \+ .*)$",
        report.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {re.sub(r":\d+\n", "\n", one) for one in found}


def make_map(path: Path, jobs: int) -> int:
    """Run all tests that can notice a fault, in some forty minutes of a processor; those that fail are left
    out of the map. What is noted stays if the run is cut off.
    """
    ignored = [f"--ignore-glob=*/{name}.py" for name in LEFT_OUT]
    options = ("-q", "-n", str(jobs), "-p", "no:cacheprovider", "--disable-warnings", "--tb=line", "-rfE")
    missing = "--continue-on-collection-errors"  # for want of a package
    command = [sys.executable, "-m", "pytest", *options, missing, "--executed", str(path), *ignored, "tests"]
    plugin = {"PYTEST_PLUGINS": "tests.mutants.executed"}  # which workers read as well, unlike -p
    return subprocess.call(command, cwd=ROOT, env=os.environ | plugin)


def main() -> int:
    reader = argparse.ArgumentParser(description="Faults planted in the code: do the tests notice?")
    reader.add_argument("--listed", action="store_true", help="those of faults/*.toml, not drawn ones")
    reader.add_argument("--seed", type=int, help="of the draw; a fresh one where none is given")
    reader.add_argument("--count", type=int, default=200, help="number of faults drawn")
    reader.add_argument("--only", default="", help="faults whose file or listed snippet holds this text")
    reader.add_argument("--jobs", type=int, default=2, help="trees, each with one run of pytest at a time")
    reader.add_argument("--limit", type=float, default=400.0, help="seconds for the tests of one fault")
    reader.add_argument("--budget", type=float, default=BUDGET, help="as a map says they take without it")
    reader.add_argument("--minutes", type=float, default=1e3, help="no fault is begun after; a smaller draw")
    reader.add_argument("--executed", type=Path, default=EXECUTED, help="map of executed code (executed.py)")
    reader.add_argument("--again", type=Path, help="a report: its faults that were not killed")
    reader.add_argument("--map", action="store_true", help="make the map of executed code, or add to it")
    options = reader.parse_args()
    if options.map:
        return make_map(options.executed, options.jobs)
    begun, gone = time.monotonic(), []
    faults: list[Fault | GeneratedFault] = []
    if options.listed:
        listed = [f for f in read_faults() if options.only in f.file or options.only in f.original]
        gone = [f for f in listed if stale(f)]
        faults += [f for f in listed if f not in gone]
    else:
        seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
        drawn = draw_faults(seed, options.count, options.only)
        if options.again:
            wanted = unkilled(options.again)
            drawn = [f for f in drawn if re.sub(r":\d+\n", "\n", str(f)) in wanted]
        faults += [f for f in drawn if not is_equivalent(f)]
        known = len(drawn) - len(faults)
        print(
            f"{len(drawn)} faults drawn with --seed {seed}, {known} of them known to be equivalent",
            flush=True,
        )
    for fault in gone:
        print(f"stale     {fault}")
    if any(options.executed.parent.glob(f"{options.executed.name}.gw*")):
        merge_parts(options.executed)  # of a run that was cut off
    executed = Map(options.executed) if options.executed.exists() else None
    until = begun + 60.0 * options.minutes
    verdicts = plant_all(faults, executed, options.jobs, options.limit, options.budget, until)
    if LEFT in verdicts:
        print(f"{verdicts.count(LEFT)} of the draw left out: the time was over")
        faults = [fault for fault, verdict in zip(faults, verdicts, strict=True) if verdict != LEFT]
        verdicts = [verdict for verdict in verdicts if verdict != LEFT]
    packages = Counter(f.package for f in faults)
    killed = Counter(f.package for f, verdict in zip(faults, verdicts, strict=True) if verdict == KILLED)
    for package, count in sorted(packages.items()):
        print(f"{package:<14} {killed[package]:>3} of {count:>3} killed")
    broken, count = verdicts.count(BROKEN), verdicts.count(KILLED)
    share = count / max(len(faults) - broken, 1)
    print(
        f"{count} of {len(faults)} killed, {share:.0%} of those whose tests pass without them; "
        f"{verdicts.count(SURVIVED)} survived, {verdicts.count(UNDECIDED)} undecided in time, "
        f"{broken} with tests that fail anyway, {len(gone)} stale; "
        f"{(time.monotonic() - begun) / 60:.1f} min"
    )
    return 1 if gone or broken or share < (LEAST_LISTED if options.listed else LEAST) else 0


if __name__ == "__main__":
    sys.exit(main())
