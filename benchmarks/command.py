"""The run, stage by stage, and its command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.batches import batch_tables, measure_batches
from benchmarks.batches import wrong as wrong_batches
from benchmarks.branches import BRANCHES, branches_table
from benchmarks.branches import measure as measure_branches
from benchmarks.build import HERE, NotAvailable
from benchmarks.candidate import timer
from benchmarks.environment import VARIABLE, Environment, describe, find_environment
from benchmarks.exported import EXAMPLES as EXPORTED
from benchmarks.exported import QUICK as QUICK_EXPORTED
from benchmarks.exported import measure_exported
from benchmarks.flexible import measure_flexible
from benchmarks.formalisms import EXAMPLES as COMPARED
from benchmarks.formalisms import compare_examples
from benchmarks.fresh import ROBOT_FILES, import_seconds, in_fresh_process
from benchmarks.linkages import LINKAGES
from benchmarks.measure import measure
from benchmarks.models import MODELS, TIMED
from benchmarks.panels import measure_panels
from benchmarks.peers import PEERS
from benchmarks.peers.sympy_kane import derivation as sympy_derivation
from benchmarks.published import count_examples, searched_counts
from benchmarks.robots import measure_robots, robots_table
from benchmarks.robots import wrong as wrong_robots
from benchmarks.targets import Target, all_targets
from benchmarks.timing import Effort
from benchmarks.trim import measure_trims, trim_table

EVERY = {**MODELS, **LINKAGES}
BATCHES, ROBOTS = "batches", "robots"
QUICK = ("arm", "spacecraft2", "chain8", "chain64", "tree31")
EXAMPLES = ("bicycle", "cart", "four_bar", "stewart_platform")
QUICK_EXAMPLES = ("stanford_arm", "four_bar", "basilisk_panels", "jpl_two_bodies", "momentum_tree")
GROWTH = ("spacecraft2", "chain8", "chain10", "chain16", "chain32", "chain64")
RESULTS = HERE / "results.json"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        timer()
        environment = find_environment(options.peers_python)
    except NotAvailable as reason:
        print(f"The benchmarks cannot run: {reason}", file=sys.stderr)
        return 2
    effort = Effort(rounds=options.rounds or (60 if options.quick else 150))
    only = [key for key in options.only or () if key not in (BATCHES, ROBOTS)]
    keys = only if options.only else (*(QUICK if options.quick else TIMED), *LINKAGES)
    peers = [name for name in PEERS if name in (options.peers if options.peers is not None else PEERS)]
    if options.quick and options.peers is None:
        peers.remove("sympy")

    results: dict[str, Any] = {**describe(environment), "models": [], "linkages": []}
    for key in keys:
        print(f"{EVERY[key].title} ...", flush=True)
        kind = "linkages" if key in LINKAGES else "models"
        results[kind].append(record := measure(EVERY[key], environment, peers, effort))
        print(report.model_table(record) + "\n", flush=True)
    derived = only if options.only else (*GROWTH, *EXAMPLES, *ROBOT_FILES)
    results["derivation"] = derivations(derived, repeats=1 if options.quick else 3)
    results["import_seconds"] = import_seconds(repeats=3 if options.quick else 9)
    results["sympy_chain8"] = (
        sympy_chain8(environment) if "sympy" in peers else {"missing": "SymPy was left out"}
    )
    results |= {
        "panels": [],
        "flexible": [],
        "formalisms": [],
        "exported": [],
        "batches": {},
        "branches": {},
        "search": {},
        "trims": [],
    }
    if not options.only:
        with_basilisk = "basilisk" in peers
        results["panels"] = measure_panels(
            environment, with_peer=with_basilisk, repeats=3 if options.quick else 7
        )
        results["flexible"] = flexible(repeats=1 if options.quick else 3, rounds=effort.rounds)
        results["exported"] = measure_exported(QUICK_EXPORTED if options.quick else EXPORTED, effort)
        few = Effort(rounds=max(20, effort.rounds // 3))  # of thirty examples, four candidates each
        results["formalisms"] = compare_examples(QUICK_EXAMPLES if options.quick else (*COMPARED,), few)
        results["branches"] = {key: measure_branches(key, few) for key in BRANCHES}
        results["search"] = {} if options.quick else searched_counts()
        results["trims"] = measure_trims(QUICK_EXAMPLES if options.quick else ())
    if not options.only or BATCHES in options.only:
        results["batches"] = measure_batches(environment, with_peer="mujoco" in peers, quick=options.quick)
    results["robots"] = []
    if not options.only or ROBOTS in options.only:
        few = Effort(rounds=max(20, effort.rounds // 5))
        results["robots"] = measure_robots(environment, few, quick=options.quick)
    results["published"] = count_examples()
    conclude(results)

    whole = not (options.quick or options.only or options.peers is not None)
    if path := options.results or (RESULTS if whole else None):
        write(path, results, options.only)
        print(f"\nwritten: {path}")
    return 0 if ours_is_right(results) else 1


def write(path: Path, results: dict[str, Any], only: Sequence[str] | None) -> None:
    """The results as a file. Those of a partial run take their place in one that is there, with the
    circumstances of their run beside those of the whole.
    """
    if only and path.exists():
        whole = json.loads(path.read_text())
        about = {key: results[key] for key in ("date", "machine", "versions") if key in results}
        runs = {**whole.get("runs", {}), **dict.fromkeys(only, about)}
        parts = {key: results[key] for key in (BATCHES, ROBOTS) if key in only}
        for kind in ("models", "linkages"):
            fresh = {record["key"]: record for record in results[kind]}
            kept = {record["key"]: record for record in whole[kind]}
            parts[kind] = [*(kept | fresh).values()]
        results = {**whole, **parts, "runs": runs}
        results["targets"] = [target.record() for target in verdicts(results)]
    path.write_text(json.dumps(results, indent=1) + "\n")


def ours_is_right(results: dict[str, Any]) -> bool:
    """Whether nothing of ours failed or was wrong."""
    own = (*results["flexible"], *results["formalisms"])
    if wrong_batches(results["batches"]) or wrong_robots(results["robots"]):
        return False
    return all(map(model_is_right, (*results["models"], *results["linkages"]))) and not any(
        record.get("wrong") or record.get("missing") for record in own
    )


def model_is_right(record: dict[str, Any]) -> bool:
    return not any(name.startswith("Armillary") for name in (*record["missing"], *record["wrong"]))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py",
        description="Derive, check and time Armillary's models beside Pinocchio, CasADi, MuJoCo, SymPy, "
        "Exudyn and Basilisk, all interleaved in one run; print tables and, after a whole run, write "
        "results.json.",
        epilog="The peers come with pip install 'armillary[peers]' and need a C++ compiler; they may live in "
        f"another environment, named by --peers-python or ${VARIABLE}. The first run compiles them (about "
        "ten minutes) and keeps the result in benchmarks/build/. A missing peer is reported, and the run "
        "goes on. The exit status is 1 if Armillary failed or was wrong somewhere.",
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer repeats and models, no SymPy; a minute once all is built")
    choices = (*EVERY, BATCHES, ROBOTS)
    add("--only", nargs="+", metavar="MODEL", choices=choices, help=f"models: {', '.join(choices)}")
    add("--peers", nargs="*", metavar="PEER", choices=PEERS, help=f"{', '.join(PEERS)}; without a name none")
    add("--peers-python", metavar="PATH", help="interpreter of the environment that has the peers")
    add("--rounds", type=int, metavar="N", help="rounds of 3 ms per candidate (150; quick: 60)")
    joins = "where to write the results; those of a partial run join what is there"
    add("--results", type=Path, metavar="FILE", help=joins)
    return parser.parse_args(arguments)


def derivations(keys: Sequence[str], repeats: int) -> list[dict[str, Any]]:
    """Derivation and compilation of each model in fresh processes; failures are reported and left out."""
    records = []
    for key in keys:
        try:
            records.append(in_fresh_process(key, repeats))
        except NotAvailable as reason:
            print(f"derivation of {key}: not available: {reason}")
    return records


def flexible(repeats: int, rounds: int) -> list[dict[str, Any]]:
    """Bodies with many modes; a failure is reported and left out."""
    try:
        return measure_flexible(repeats=repeats, rounds=rounds)
    except NotAvailable as reason:
        print(f"flexible bodies: not available: {reason}")
        return []


def sympy_chain8(environment: Environment) -> dict[str, Any]:
    """What SymPy spent on the chain of 8."""
    try:
        return sympy_derivation(MODELS["chain8"], environment)[1]
    except NotAvailable as reason:
        return {"missing": str(reason)}


def verdicts(results: dict[str, Any]) -> list[Target]:
    """All targets, with those of the last run on a card."""
    stored = HERE / "gpu_results.json"
    gpu = json.loads(stored.read_text()) if stored.exists() else {}
    return all_targets({**results, "gpu": gpu})


def conclude(results: dict[str, Any]) -> None:
    """The tables of the whole run and the verdict on each target, which joins the results."""
    targets = verdicts(results)
    results["targets"] = [target.record() for target in targets]
    texts = (
        report.ratio_table(results["models"]),
        report.linkage_table(results["linkages"]),
        report.run_table(results["linkages"]),
        report.panels_table(results["panels"]),
        report.flexible_table(results["flexible"]),
        report.exported_table(results["exported"]),
        batch_tables(results["batches"]),
        robots_table(results["robots"]),
        branches_table([*results["branches"].values()]),
        trim_table(results.get("trims", [])),
        report.derivation_table(results["derivation"]),
        report.count_table(results["formalisms"]),
        report.formalism_table(results["formalisms"]),
        report.published_table(results["published"]),
        report.simulation_text(results["models"]),
        report.target_table(targets),
    )
    print("\n\n".join(texts))
