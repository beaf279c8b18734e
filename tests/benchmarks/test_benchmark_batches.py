"""Batches are measured part by part, checked against each other, shown and judged; no time is asserted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import batches, cores, lanes
from benchmarks.environment import Environment
from benchmarks.million import measure_million
from benchmarks.rollouts import measure_rollouts
from benchmarks.targets import batch_targets

EXAMPLE = "spinning_boom"
ROOT = Path(__file__).resolve().parents[2]


def test_vectors_end_where_runs_one_by_one_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "DURATION", 1.0)
    (fixed,) = lanes.measure_lanes((EXAMPLE,), rounds=1)
    (adaptive,) = lanes.measure_adaptive((EXAMPLE,), rounds=1)
    for record, unit in ((fixed, "nanoseconds"), (adaptive, "microseconds")):
        assert "wrong" not in record
        assert record["gain"].keys() == {"2", "4", "8"}
        assert min(record[unit].values()) > 0
    scalar = min(fixed["nanoseconds"]["single"], fixed["nanoseconds"]["scalar"])
    assert fixed["gain"]["4"] == scalar / fixed["nanoseconds"]["4"]
    assert "spinning boom" in batches.lanes_table([fixed], 8)
    assert "WRONG" in batches.adaptive_table([adaptive | {"wrong": "engines differ by 1e-03"}])


def test_starts_differ_from_run_to_run() -> None:
    compiled = lanes.compiled_example(EXAMPLE)
    given = lanes.spread(compiled, 3)
    assert given["initial"].shape == (3, len(compiled.state()))
    assert 0 < len(given["parameters"]) <= 4
    assert all(len(np.unique(column)) == 3 for column in given["parameters"].values())


def test_threads_are_counted_up_to_all_processors() -> None:
    record = cores.measure_threads(rounds=1, seconds=0.02, name=EXAMPLE)
    assert [r["threads"] for r in record["batch"]] == list(range(1, len(cores.processors()) + 1))
    assert record["batch"][0]["efficiency"] == 1.0
    assert record["cores"] is None or 1 <= record["cores"] <= record["processors"]
    assert f"{record['processors']} processors" in batches.threads_table(record)


def test_cars_have_the_metrics_of_single_runs() -> None:
    records = measure_million(runs=40, repeats=1)
    assert [(r["method"], r["runs"]) for r in records] == [("rk4", 40), ("midpoint", 40)]
    assert not any("wrong" in r for r in records)
    assert "steps of 0.025 s" in batches.million_table(records)


def test_a_missing_mujoco_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.rollouts.RUNS_OF_OURS", 64)
    nothing = Environment("python", Path(), {})
    for with_peer, reason in ((True, "mujoco not installed"), (False, "left out")):
        first, *_ = measure_rollouts(nothing, with_peer=with_peer, rounds=1)
        assert first["threads"] == 1 and first["steps_per_second"] > 0
        assert "mujoco_steps_per_second" not in first
        assert reason in batches.rollout_table([first])


def test_a_mujoco_that_ends_elsewhere_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.rollouts.RUNS_OF_OURS", 64)
    monkeypatch.setattr("benchmarks.rollouts._mujoco", lambda *_: {"seconds": 1.0, "ends": [[0.0] * 12] * 8})
    first, *_ = measure_rollouts(Environment("python", Path(), {}), with_peer=True, rounds=1)
    assert first["missing"].startswith("ends elsewhere") and "mujoco_steps_per_second" not in first


def test_verdicts_on_batches() -> None:
    """A tenth of a million cars is no million, and a wrong result meets no target."""
    results = {
        "lanes": [{"title": "Stanford arm", "gain": {"2": 1.5, "4": 3.5, "8": 5.0}}],
        "adaptive": [],
        "threads": {
            "processors": 2,
            "batch": [{"efficiency": 1.0}, {"efficiency": 0.5}],
            "arithmetic": [{"efficiency": 1.0}, {"efficiency": 0.5}],
        },
        "million": [
            {"method": "rk4", "step": 0.005, "runs": 1_000_000, "processors": 2, "seconds": 70.0},
            {"method": "midpoint", "step": 0.025, "runs": 100_000, "processors": 2, "seconds": 1.0},
        ],
        "rollouts": [{"threads": 1, "steps_per_second": 1e7, "mujoco_steps_per_second": 1e5}],
        "studies": {"missing": "zarr is not installed"},
    }
    verdicts = {target.text: target.verdict for target in batch_targets(results)}
    assert verdicts["2 arms at once: scalar time / ours"] == "MISSED"
    assert verdicts["4 arms at once: scalar time / ours"] == "met"
    assert verdicts["efficiency of 2 threads"] == "MISSED"
    assert verdicts["efficiency of 2 threads / arithmetic alone"] == "met"
    assert verdicts["1,000,000 cars, rk4 at 0.005 s, on 2 processors: seconds"] == "MISSED"
    assert verdicts["1,000,000 cars, midpoint at 0.025 s, on 2 processors: seconds"] == "not measured"
    assert verdicts["batch of arms, 1 thread: our steps per second / mujoco.rollout's"] == "met"
    assert verdicts["study: ms per block besides its runs"] == "not measured"
    assert batches.wrong(results) == [] and batch_targets({}) == []
    results["lanes"][0]["wrong"] = "engines differ by 1e-03"  # type: ignore[index]
    assert batches.wrong(results) == ["engines differ by 1e-03"]
    assert batch_targets(results)[1].verdict == "not measured"
    assert "not available: zarr is not installed" in batches.studies_text(results["studies"])  # type: ignore[arg-type]
    assert batches.batch_tables({}) == "Batches: not measured"


def test_figures_of_batches_in_the_readme_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))["batches"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([^|]+?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", readme, flags=re.MULTILINE)
    gains = [
        (r["title"], *(f"{r['gain'][width]:.1f}" for width in ("2", "4", "8"))) for r in results["lanes"]
    ]
    assert [row for row in shown if row[0] in {gain[0] for gain in gains}] == gains
    text = " ".join(readme.split())
    fine, coarse = (f"{r['seconds']:.1f} s" for r in results["million"])
    assert f"take {fine} with 400 steps of RK4 each, and {coarse} with the 80 midpoint steps" in text
    threads = results["threads"]
    gain = threads["batch"][-1]["efficiency"] * threads["processors"]
    assert f"Two threads make {gain:.2f} times the runs of one." in text
    ratios = [r["steps_per_second"] / r["mujoco_steps_per_second"] for r in results["rollouts"]]
    assert f"ours makes {ratios[0]:.0f} times the steps per second of MuJoCo's own batch" in text
    assert f"on one thread and {ratios[-1]:.0f} times on two" in text
    assert f"{results['studies']['overhead_milliseconds']:.1f} ms per block besides its runs" in text
