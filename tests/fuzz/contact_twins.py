"""Runs of a random mechanism beside twins of it, which must have the same motion.

order    contacts are described in reversed order
mirror   the mirrored mechanism has the mirrored motion
units    lengths, masses and times have other sizes, from 1e-9 to 1e9
lanes    all runs in one batch
python   the exported Python program, with fixed steps
c        the exported C program, with fixed steps
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.contact_checks import compare, simulate
from tests.fuzz.contact_mechanisms import PLAIN, Mechanism

ROWS = 1000
STEPS = 200  # of exported programs: in Python one of many contacts takes a tenth of a second
Scale = tuple[float, float, float]
# A mechanism with its scale, the run and its twin; or the error that ended one of them.
Pair = tuple[Any, Any, Scale, dict[str, float] | None]


class Rows(dict[str, np.ndarray]):
    """A run from elsewhere, as `compare` reads it."""

    def __init__(self, time: np.ndarray, values: dict[str, np.ndarray]) -> None:
        super().__init__(values)
        self.time = time


def reordered(original: Mechanism, model: Any, made: list[tuple[Mechanism, Scale]]) -> Iterator[Pair]:
    other = original.describe(reverse=True).derive().compile(tier="quick")
    for mechanism, _ in made:
        yield simulate(mechanism, model), simulate(mechanism, other), PLAIN, None


def mirrored(original: Mechanism, model: Any, made: list[tuple[Mechanism, Scale]]) -> Iterator[Pair]:
    other = original.describe(mirror=True).derive().compile(tier="quick")
    signs = {name: -1.0 if q.odd else 1.0 for name, q in original.initial.items()}
    for mechanism, _ in made:
        yield simulate(mechanism, model), simulate(mechanism, other, mirror=True), PLAIN, signs


def rescaled(original: Mechanism, model: Any, made: list[tuple[Mechanism, Scale]]) -> Iterator[Pair]:
    for mechanism, scale in made:
        yield simulate(mechanism, model), simulate(mechanism, model, scale), scale, None


def batched(original: Mechanism, model: Any, made: list[tuple[Mechanism, Scale]]) -> Iterator[Pair]:
    """Yield single runs beside runs of one batch, all of the first one's duration."""
    mechanisms = [mechanism for mechanism, _ in made]
    given = original.settings()
    for table in ("parameters", "initial"):
        all_of = [mechanism.settings()[table] for mechanism in mechanisms]
        given[table] = {name: np.array([one[name] for one in all_of]) for name in given[table]}
    duration, names = original.duration, list(original.initial)
    batch = model.simulate_batch(
        duration, sample=duration / ROWS, outputs=names, threads=1, progress=False, **given
    )
    for k, mechanism in enumerate(mechanisms):
        run = simulate(mechanism, model, sample=duration / ROWS, share=duration / mechanism.duration)
        lane: Any = Rows(np.asarray(batch.time), {name: np.asarray(batch[name])[k] for name in names})
        if batch.status[k] != "finished":
            lane = RuntimeError(batch.status[k])
        yield run, lane, PLAIN, None


def exported(language: str) -> Callable[[Mechanism, Any, list[tuple[Mechanism, Scale]]], Iterator[Pair]]:
    """Return the pairs with runs of exported programs."""

    def pairs(original: Mechanism, model: Any, made: list[tuple[Mechanism, Scale]]) -> Iterator[Pair]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            original.describe().derive().export(language, folder)
            command = program_of(folder, language)
            for mechanism, _ in made:
                step = mechanism.duration / STEPS
                write_run_file(folder / "now.toml", mechanism, step)
                run = simulate(mechanism, model, step=step, sample=step)
                done = subprocess.run([*command, "now.toml", "now.csv"], cwd=folder, capture_output=True)
                twin: Any = RuntimeError(done.stderr.decode()[-300:].replace("\n", " "))
                if done.returncode == 0:
                    twin = read_rows(folder / "now.csv")
                yield run, twin, PLAIN, None

    return pairs


def program_of(folder: Path, language: str) -> list[str]:
    """Return the command of an exported program; C is compiled."""
    if language == "python":
        [module] = [p for p in folder.glob("*.py") if not p.name.startswith("test_")]
        return [sys.executable, "-I", "-S", module.name]
    names = sorted(p.name for p in folder.glob("*.c") if p.name != "test.c")
    flags = ["-std=c99", "-O0", "-ffp-contract=off"]
    subprocess.run(
        [shutil.which("cc") or "cc", *flags, *names, "-o", "program", "-lm"], cwd=folder, check=True
    )
    return ["./program"]


def write_run_file(path: Path, mechanism: Mechanism, step: float) -> None:
    given = mechanism.settings()
    lines = [
        "[run]",
        'method = "rk4"',
        f"duration = {STEPS * step!r}",
        f"step = {step!r}",
        f"sample = {step!r}",
    ]
    for table in ("parameters", "initial"):
        lines += ["", f"[{table}]", *(f'"{name}" = {float(value)!r}' for name, value in given[table].items())]
    path.write_text("\n".join(lines) + "\n")


def read_rows(path: Path) -> Rows:
    with path.open(encoding="utf-8") as file:
        table = list(csv.reader(file))
    values = np.array(table[1:], dtype=float).T
    columns = {name.split(" [")[0]: column for name, column in zip(table[0], values, strict=True)}
    return Rows(values[0], columns)


TWINS = {
    "order": reordered,
    "mirror": mirrored,
    "units": rescaled,
    "lanes": batched,
    "python": exported("python"),
    "c": exported("c"),
}


def difference_from_twin(mechanism: Mechanism, pair: Pair) -> tuple[float, str]:
    """Return how far a run is from its twin, and what the run and errors say of it."""
    run, twin, scale, signs = pair
    failed = [type(x).__name__ + " " + str(x)[:200] for x in (run, twin) if isinstance(x, Exception)]
    if failed:
        return (np.nan if len(failed) == 2 else np.inf), "; ".join(failed).replace("\n", " ")
    return compare(mechanism, run, twin, scale, signs), str(run.info.get("contacts", ""))
