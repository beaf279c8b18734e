"""The section on batches: its measurements, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.cores import measure_threads
from benchmarks.environment import Environment
from benchmarks.lanes import DURATION, EXAMPLES, WIDTHS, measure_adaptive, measure_lanes
from benchmarks.million import RUNS, measure_million
from benchmarks.rollouts import measure_rollouts
from benchmarks.studies import measure_studies
from benchmarks.text import number, table, threads

QUICK = ("stanford_arm", "car")
BLOCKS = 10_000


def measure_batches(environment: Environment, *, with_peer: bool, quick: bool = False) -> dict[str, Any]:
    """Everything about many runs, part by part."""
    from armillary.errors import ArmillaryError
    from armillary.llvm.jit import register_doubles

    names = QUICK if quick else EXAMPLES
    results: dict[str, Any] = {"width": register_doubles()}
    print("batches: vectors of runs ...", flush=True)
    results["lanes"] = measure_lanes(names, rounds=10 if quick else 30)
    results["adaptive"] = measure_adaptive(names, rounds=3 if quick else 10)
    print("batches: threads ...", flush=True)
    results["threads"] = measure_threads(rounds=4 if quick else 10)
    print("batches: many cars ...", flush=True)
    results["million"] = measure_million(RUNS // 10 if quick else RUNS, repeats=1 if quick else 2)
    print("batches: MuJoCo's rollout ...", flush=True)
    results["rollouts"] = measure_rollouts(environment, with_peer=with_peer, rounds=2 if quick else 5)
    print("batches: studies ...", flush=True)
    try:
        results["studies"] = measure_studies(BLOCKS // 20 if quick else BLOCKS)
    except ArmillaryError as reason:  # what studies need is an extra
        results["studies"] = {"missing": str(reason)}
    return results


def wrong(results: dict[str, Any]) -> list[str]:
    """What of ours was wrong."""
    parts = [*results.get("lanes", ()), *results.get("adaptive", ()), *results.get("million", ())]
    return [record["wrong"] for record in parts if "wrong" in record]


def batch_tables(results: dict[str, Any]) -> str:
    """All tables of the section."""
    if not results:
        return "Batches: not measured"
    return "\n\n".join((
        lanes_table(results["lanes"], results["width"]),
        adaptive_table(results["adaptive"]),
        threads_table(results["threads"]),
        million_table(results["million"]),
        rollout_table(results["rollouts"]),
        studies_text(results["studies"]),
    ))  # fmt: skip


def lanes_table(records: Sequence[dict[str, Any]], width: int) -> str:
    """Time of an evaluation within rk4, and the gain of vectors over the best scalar."""
    rows = [
        [
            r["title"],
            str(r["speeds"]),
            *(number(r["nanoseconds"][label], 1) for label in ("single", "scalar", *map(str, WIDTHS))),
            *(number(r["gain"][str(w)], 2) for w in WIDTHS),
            f"{r['error']:.0e}" + (" WRONG" if "wrong" in r else ""),
        ]
        for r in records
    ]
    head = ["", "speeds", "single run", "run by run", *(f"{w} at once" for w in WIDTHS)]
    title = f"Batches on one core: ns per evaluation within rk4, and the gain; a register holds {width}"
    return f"{title}\n" + table([*head, *(f"x {w}" for w in WIDTHS), "difference"], rows)


def adaptive_table(records: Sequence[dict[str, Any]]) -> str:
    """Time of a run with steps of its own, and the gain of vectors."""
    rows = [
        [
            r["title"],
            *(number(r["microseconds"][label], 0) for label in ("scalar", *map(str, WIDTHS))),
            *(number(r["gain"][str(w)], 2) for w in WIDTHS),
            f"{r['error']:.0e}" + (" WRONG" if "wrong" in r else ""),
        ]
        for r in records
    ]
    head = ["", "run by run", *(f"{w} at once" for w in WIDTHS), *(f"x {w}" for w in WIDTHS), "difference"]
    title = f"Batches on one core: us per run of {DURATION:g} s with dop853, and the gain"
    return f"{title}\n" + table(head, rows)


def threads_table(record: dict[str, Any]) -> str:
    """Efficiency of threads, and what arithmetic alone reaches."""
    bound = record.get("arithmetic", [None] * len(record["batch"]))
    rows = [
        [
            str(ours["threads"]),
            number(ours["seconds"], 3),
            number(100 * ours["efficiency"], 1),
            number(100 * pure["efficiency"] if pure else None, 1),
        ]
        for ours, pure in zip(record["batch"], bound, strict=True)
    ]
    cores = record["cores"]
    told = "unknown" if cores is None else str(cores)
    title = f"Threads: {record['processors']} processors; cores according to the system: {told}"
    return f"{title}\n" + table(["threads", "batch s", "efficiency %", "arithmetic alone %"], rows)


def million_table(records: Sequence[dict[str, Any]]) -> str:
    rows = [
        [
            f"{r['method']}, steps of {r['step']:g} s",
            f"{r['runs']:,}",
            str(r["processors"]),
            number(r["seconds"], 2),
            number(r["prepare_seconds"], 2),
            r.get("wrong", ""),
        ]
        for r in records
    ]
    head = ["", "runs", "processors", "seconds", "of them to prepare", ""]
    return "The car with small variables, 2 s, 4 parameters varied, 4 metrics\n" + table(head, rows)


def rollout_table(records: Sequence[dict[str, Any]]) -> str:
    """Steps per second beside MuJoCo's."""
    rows = []
    for r in records:
        ours, theirs = r["steps_per_second"], r.get("mujoco_steps_per_second")
        rows.append([
            f"{r['title']}, {threads(r['threads'])}",
            number(ours, 0),
            number(theirs, 0),
            number(ours / theirs if theirs else None, 0),
            f"{r['difference']:.0e}" if "difference" in r else "-",
        ])  # fmt: skip
    head = ["", "Armillary", "mujoco.rollout", "ratio", "difference"]
    lines = ["Batches of rk4 steps: steps per second", table(head, rows)]
    lines += [f"mujoco.rollout: not available: {r['missing']}" for r in records if "missing" in r]
    return "\n".join(lines)


def studies_text(record: dict[str, Any]) -> str:
    if "missing" in record:
        return f"Studies: not available: {record['missing']}"
    return (
        f"Studies, {record['blocks']:,} blocks of {record['runs']} runs: "
        f"{record['overhead_milliseconds']:.2f} ms per block besides its runs; blocks of one-step runs take "
        f"{record['one_step_milliseconds']:.2f} ms, {record['cluster_milliseconds']:.2f} ms with "
        f"{record['cluster_workers']} Dask workers; "
        f"killed at the last one and resumed in {record['resume_seconds']:.2f} s; "
        f"{record['megabytes']:.0f} MB"
    )
