"""A campaign of random mechanisms with contacts: many seeds, on several processes, within a time limit.

    python -m tests.fuzz.contact_campaign --first 300000 --count 2000 --jobs 16 --seconds 420 --report FILE

Seed k is a mechanism, and ``--turns`` runs of it: turn 0 as it was made, the others with other masses,
coefficients, speeds and sizes from 1e-9 to 1e9 (`variation`). Each run is counted in one class: *right*, or
the first fault that `find_faults` has. The report has a JSON object per fault, with seed and turn, as soon as
it is found, and counts at the end. ``--only 5026.3,231.1`` repeats single runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import multiprocessing
import queue
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from tests.fuzz.contact_mechanisms import (
    PLAIN,
    Mechanism,
    find_faults,
    make_mechanism,
    random_scale,
    simulate,
    vary,
)

# Words of the errors that end a run.
REFUSALS = ("accumulates", "no forces", "no impulses", "step size", "diverged", "overlap", "steps")
Result = tuple[int, int, str, str]  # seed, turn, class and what was found


def variation(original: Mechanism, turn: int) -> tuple[Mechanism, tuple[float, float, float]]:
    """Return the mechanism and the scale of a turn."""
    if turn == 0:
        return original, PLAIN
    seed = original.seed
    return vary(original, 1000 * seed + turn), random_scale(random.Random(10 * seed + turn))


def classify(faults: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the class of a run and what was found."""
    if not faults:
        return "right", ""
    kind, text = faults[0]
    if kind == "error":
        named = next((words for words in REFUSALS if words in text), "other")
        return f"error: {named}", text
    return kind, "; ".join(f"{k} {t}" for k, t in faults)


def run_seed(seed: int, turns: tuple[int, ...], tier: str) -> list[Result]:
    """Return the results of a mechanism's runs."""
    try:
        original = make_mechanism(seed)
        model: Any = original.describe().derive().compile(tier=tier)
    except Exception as error:  # any refusal of a mechanism is a fault of its own
        return [(seed, turn, "not compiled", f"{type(error).__name__}: {error}"[:300]) for turn in turns]
    found = []
    for turn in turns:
        mechanism, scale = variation(original, turn)
        try:
            faults = find_faults(mechanism, simulate(mechanism, model, scale), scale)
        except Exception as error:
            faults = [("exception", f"{type(error).__name__}: {error}"[:300])]
        found.append((seed, turn, *classify(faults)))
    return found


def work(tasks: Any, results: Any, tier: str) -> None:
    """Take seeds until there are no more."""
    for seed, turns in iter(tasks.get, None):
        results.put(run_seed(seed, turns, tier))
    results.put(None)


def results_of(
    jobs: int, tasks: list[tuple[int, tuple[int, ...]]], seconds: float, tier: str
) -> Iterator[list[Result]]:
    """Yield results of seeds as they come, until all are done or the time is over."""
    context = multiprocessing.get_context("spawn")
    waiting, found = context.Queue(), context.Queue()
    for task in tasks:
        waiting.put(task)
    for _ in range(jobs):
        waiting.put(None)
    workers = [context.Process(target=work, args=(waiting, found, tier), daemon=True) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    end, left = time.monotonic() + seconds, jobs
    try:
        while left:
            result = found.get(timeout=min(max(0.0, end - time.monotonic()), 1e6))
            if result is None:
                left -= 1
            else:
                yield result
    except queue.Empty:
        pass
    finally:
        waiting.cancel_join_thread()
        for worker in workers:
            worker.terminate()


def tasks_of(first: int, count: int, turns: int, only: str) -> list[tuple[int, tuple[int, ...]]]:
    """Return seeds with their turns."""
    if not only:
        return [(seed, tuple(range(turns))) for seed in range(first, first + count)]
    chosen: dict[int, list[int]] = {}
    for one in only.split(","):
        seed, _, turn = one.partition(".")
        chosen.setdefault(int(seed), []).append(int(turn or 0))
    return [(seed, tuple(given)) for seed, given in chosen.items()]


def write_faults(results: list[Result], report: TextIO | None) -> None:
    """Print the faults among the results of a seed, and write them to the report."""
    for seed, turn, kind, text in results:
        if kind != "right":
            print(f"{seed}.{turn}  {kind}: {text}", flush=True)
            if report is not None:
                report.write(json.dumps({"seed": seed, "turn": turn, "class": kind, "text": text}) + "\n")
                report.flush()


def main() -> None:
    """Run the campaign and print how many runs each class has."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=300000)
    parser.add_argument("--count", type=int, default=2000, help="seeds")
    parser.add_argument("--turns", type=int, default=4, help="runs of a seed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--only", default="", help="seed.turn,seed.turn…")
    parser.add_argument("--tier", default="quick")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    tasks = tasks_of(given.first, given.count, given.turns, given.only)
    counts: Counter[str] = Counter()
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        report = stack.enter_context(given.report.open("w")) if given.report else None
        for results in results_of(given.jobs, tasks, given.seconds, given.tier):
            counts.update(kind for _, _, kind, _ in results)
            write_faults(results, report)
        total = sum(counts.values())
        lines = [f"{number:7}  {kind}" for kind, number in counts.most_common()]
        share = counts["right"] / max(total, 1)
        lines.append(f"{total:7}  runs in {time.monotonic() - start:.0f} s, {share:.3%} right")
        print("\n".join(lines))
        if report is not None:
            report.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
