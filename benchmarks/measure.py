"""One model: all candidates built and checked against the reference, those that are right timed in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks import closed
from benchmarks.build import NotAvailable
from benchmarks.candidate import Candidate, Native, error_of
from benchmarks.environment import Environment
from benchmarks.linkage_runs import simulate
from benchmarks.linkages import Linkage
from benchmarks.models import Model, Pool, pool
from benchmarks.peers import LOOP_PEERS, TREE_PEERS
from benchmarks.reference import accelerations_of
from benchmarks.simulation import simulate_arm
from benchmarks.timing import Effort, Timing, time_interleaved


def measure(model: Model, environment: Environment, peers: Sequence[str], effort: Effort) -> dict[str, Any]:
    if isinstance(model, Linkage):
        states = closed.closed_pool(model)
        reference = closed.accelerations_of(model, states)
    else:
        states = pool(model)
        reference = accelerations_of(model, states)
    missing: dict[str, str] = {}
    ours, compiled = own_candidate(model, states, missing)
    candidates = [*ours, *peer_candidates(model, states, environment, peers, missing)]
    errors = {c.name: error_of(c, reference) for c in candidates}
    right = [c for c in candidates if errors[c.name] <= c.tolerance]
    timings = time_interleaved(right, effort)
    record: dict[str, Any] = {
        "key": model.key,
        "title": model.title,
        "speeds": model.nv,
        "candidates": [describe(c, errors[c.name], t) for c, t in zip(right, timings, strict=True)],
        "missing": missing,
        "wrong": {c.name: errors[c.name] for c in candidates if errors[c.name] > c.tolerance},
    }
    if isinstance(model, Linkage):
        record["freedoms"] = model.freedoms
        record["runs"] = simulate(model, states, right, compiled)
    if model.key == "arm" and ours and ours[0] in right:
        record["simulation"] = simulate_arm(ours[0], compiled, effort)
    return record


def describe(candidate: Candidate, error: float, timing: Timing) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "nanoseconds": timing.minimum,
        "median_nanoseconds": timing.median,
        "error": error,
        "operations": asdict(candidate.operations) if candidate.operations else None,
        "derive_seconds": candidate.derive_seconds,
        "compile_seconds": candidate.compile_seconds,
    }


def own_candidate(model: Model, states: Pool, missing: dict[str, str]) -> tuple[list[Native], Any]:
    """Armillary's candidate and compiled model; a failure is reported, and the peers are timed alone."""
    try:
        from benchmarks.ours import candidate  # here, because Armillary itself may fail to import

        own, compiled = candidate(model, states)
        return [own], compiled
    except Exception as error:
        missing["Armillary"] = f"{type(error).__name__}: {error}"
        return [], None


def peer_candidates(
    model: Model, states: Pool, environment: Environment, chosen: Sequence[str], missing: dict[str, str]
) -> list[Candidate]:
    """Candidates of the chosen peers; the reason for each that has none goes into `missing`."""
    found: list[Candidate] = []
    builders = LOOP_PEERS if isinstance(model, Linkage) else TREE_PEERS
    for name in (name for name in builders if name in chosen):
        try:
            found += builders[name](model, states, environment)
        except NotAvailable as reason:
            missing[name] = str(reason)
    return found
