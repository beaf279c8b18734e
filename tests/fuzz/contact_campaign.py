"""A campaign of random mechanisms with contacts: many seeds, on several processes, within a time limit.

    python -m tests.fuzz.contact_campaign --first 300000 --count 2000 --jobs 16 --seconds 420 --report FILE

Seed k is a structure, compiled once, and ``--turns`` runs of it: turn 0 as it was made, turns 1 to 3 with
other masses, coefficients and speeds, further ones with all numbers drawn again, so that each is a mechanism
of its own; all but turn 0 in sizes from 1e-9 to 1e9 (`variation`). Each run is counted in one class: *right*,
or the first fault that `find_faults` has. The report has a JSON object per fault, with seed and turn, as soon
as it is found, and counts at the end. ``--only 5026.3,231.1`` repeats single runs.

``--twins order,mirror,units,lanes,python,c`` compares each run with its twins (`contact_twins`) in place of
that.
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

from tests.fuzz.contact_checks import find_faults, simulate
from tests.fuzz.contact_mechanisms import PLAIN, Mechanism, make_mechanism, random_scale, redraw, vary
from tests.fuzz.contact_twins import TWINS, difference_from_twin

# Words of the errors that end a run.
REFUSALS = ("accumulates", "no forces", "no impulses", "step size", "diverged", "overlap", "steps")
Result = tuple[int, int, str, str]  # seed, turn, class and what was found


SAME = 1e-9  # of lengths and speeds, between a run and its twin
SAME_PLACES = 4  # turns with the places of the structure's first mechanism


def variation(original: Mechanism, turn: int) -> tuple[Mechanism, tuple[float, float, float]]:
    """Return the mechanism and the scale of a turn."""
    if turn == 0:
        return original, PLAIN
    seed = original.seed
    if turn < SAME_PLACES:
        return vary(original, 1000 * seed + turn), random_scale(random.Random(10 * seed + turn))
    drawn = redraw(original, 1000 * seed + turn)
    if drawn is None or turn % 2:
        drawn = vary(drawn or original, 1000 * seed + turn)
    return drawn, random_scale(random.Random(1000 * seed + turn))


def classify(faults: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the class of a run and what was found."""
    if not faults:
        return "right", ""
    kind, text = faults[0]
    if kind == "error":
        named = next((words for words in REFUSALS if words in text), "other")
        return f"error: {named}", text
    return kind, "; ".join(f"{k} {t}" for k, t in faults)


def classify_twin(difference: float, text: str) -> tuple[str, str]:
    """Return the class of a run beside its twin, by powers of ten; impacts magnify differences."""
    if math.isnan(difference):
        return "not compared", text
    if difference <= SAME:
        return "right", ""
    if math.isinf(difference):
        return "one refused", text
    return f"differs by 1e{math.ceil(math.log10(difference))}", f"{difference:.3g} {text}"


def run_seed(seed: int, turns: tuple[int, ...], tier: str, twins: tuple[str, ...] = ()) -> list[Result]:
    """Return the results of a mechanism's runs."""
    try:
        original = make_mechanism(seed)
        model: Any = original.describe().derive().compile(tier=tier)
    except Exception as error:  # any refusal of a mechanism is a fault of its own
        return [(seed, turn, "not compiled", f"{type(error).__name__}: {error}"[:300]) for turn in turns]
    found = []
    made = [variation(original, turn) for turn in turns]
    for kind in twins:
        try:
            pairs = TWINS[kind](original, model, made)
            for turn, (mechanism, _), pair in zip(turns, made, pairs, strict=True):
                what, text = classify_twin(*difference_from_twin(mechanism, pair))
                found.append((seed, turn, what if what == "right" else f"{kind}: {what}", text))
        except Exception as error:
            found.append((seed, -1, f"{kind}: exception", f"{type(error).__name__}: {error}"[:300]))
    for turn, (mechanism, scale) in zip(turns, () if twins else made, strict=not twins):
        try:
            faults = find_faults(mechanism, simulate(mechanism, model, scale), scale)
        except Exception as error:
            faults = [("exception", f"{type(error).__name__}: {error}"[:300])]
        found.append((seed, turn, *classify(faults)))
    return found


def work(tasks: Any, results: Any, tier: str, twins: tuple[str, ...]) -> None:
    """Take seeds until there are no more."""
    for seed, turns in iter(tasks.get, None):
        results.put(run_seed(seed, turns, tier, twins))
    results.put(None)


def results_of(
    jobs: int,
    tasks: list[tuple[int, tuple[int, ...]]],
    seconds: float,
    tier: str,
    twins: tuple[str, ...] = (),
) -> Iterator[list[Result]]:
    """Yield results of seeds as they come, until all are done or the time is over."""
    context = multiprocessing.get_context("spawn")
    waiting, found = context.Queue(), context.Queue()
    for task in tasks:
        waiting.put(task)
    for _ in range(jobs):
        waiting.put(None)
    workers = [
        context.Process(target=work, args=(waiting, found, tier, twins), daemon=True) for _ in range(jobs)
    ]
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
    parser.add_argument("--twins", default="", help="order,mirror,units,lanes,python,c")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    tasks = tasks_of(given.first, given.count, given.turns, given.only)
    counts: Counter[str] = Counter()
    structures = mechanisms = 0
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        report = stack.enter_context(given.report.open("w")) if given.report else None
        twins = tuple(given.twins.split(",")) if given.twins else ()
        for results in results_of(given.jobs, tasks, given.seconds, given.tier, twins):
            counts.update(kind for _, _, kind, _ in results)
            structures += 1
            mechanisms += sum(turn == 0 or turn >= SAME_PLACES for turn in {turn for _, turn, *_ in results})
            write_faults(results, report)
        total = sum(counts.values())
        lines = [f"{number:7}  {kind}" for kind, number in counts.most_common()]
        share = counts["right"] / max(total, 1)
        of = f"{mechanisms} mechanisms of {structures} structures"
        lines.append(f"{total:7}  runs of {of} in {time.monotonic() - start:.0f} s, {share:.3%} right")
        print("\n".join(lines))
        if report is not None:
            report.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
