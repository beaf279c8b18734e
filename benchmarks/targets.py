"""What Armillary asks of itself, and whether this run met it.

Ratios are between candidates of the same interleaved run, so they hold on whatever machine it ran.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.formalisms import CHOSEN_FROM
from benchmarks.published import ARM_GOAL
from benchmarks.text import threads

LINEAR = 1.05
"""Largest exponent still called linear: a few per cent of noise make 0.05 over two doublings."""


@dataclass(frozen=True)
class Target:
    """A bound and the value measured; `value` is None where the run has no measurement."""

    text: str
    bound: float
    value: float | None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        met = self.value >= self.bound if self.at_least else self.value <= self.bound
        return "met" if met else "MISSED"

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


def nanoseconds(model: dict[str, Any], *prefixes: str) -> float | None:
    """Time of the fastest candidate whose name starts with one of the prefixes."""
    times = [c["nanoseconds"] for c in model["candidates"] if c["name"].startswith(prefixes)]
    return min(times, default=None)


def ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def evaluation_targets(models: dict[str, dict[str, Any]]) -> list[Target]:
    targets = []
    for key in ("arm", "spacecraft2", "chain8", "chain64", "tree31"):
        if model := models.get(key):
            value = ratio(nanoseconds(model, "Armillary"), nanoseconds(model, "CasADi C"))
            targets.append(Target(f"{model['title']}: time / better CasADi C", 0.4, value))
    if model := models.get("arm"):
        value = ratio(nanoseconds(model, "Armillary"), nanoseconds(model, "Pinocchio C++"))
        targets.append(Target(f"{model['title']}: time / Pinocchio C++", 0.1, value))
    return targets


COUNTS = {
    "arm": (151, 236),
    "chain8": (396, 546),
    "chain64": (4783, 6187),
    "tree31": (2143, 2658),
}
"""Additions and multiplications of models whose origins were slid along their joints, at most."""


def operation_targets(models: dict[str, dict[str, Any]]) -> list[Target]:
    """Operations of what "auto" derives."""
    targets = []
    for key, bounds in COUNTS.items():
        if model := models.get(key):
            ours = [c.get("operations") for c in model["candidates"] if c["name"].startswith("Armillary")]
            for kind, bound in zip(("additions", "multiplications"), bounds, strict=True):
                value = min((float(o[kind]) for o in ours if o), default=None)
                targets.append(Target(f"{model['title']}: {kind}", bound, value))
    return targets


SEARCHED = {"arm": (145, 228), "stanford_arm": (160, 245)}
"""Additions and multiplications of the arm without and with its shoulder offset, after a search."""


def search_targets(found: dict[str, tuple[int, int]]) -> list[Target]:
    """Counts that derive(effort="high") reaches."""
    return [
        Target(f'{key}, effort="high": {kind}', bound, found[key][i])
        for key, bounds in SEARCHED.items()
        if key in found
        for i, (kind, bound) in enumerate(zip(("additions", "multiplications"), bounds, strict=True))
    ]


LANES = {"quadruped": 0.77, "hexapod": 0.77, "tree31": 0.77, "stewart": 0.77}
"""Time in vector lanes over time without; of other models with branches that are alike, at most 1."""


def branch_targets(records: dict[str, dict[str, Any]]) -> list[Target]:
    """What lanes inside one evaluation must gain; on a machine without vectors they cannot."""
    return [
        Target(
            f"{r['model']}: time with lanes / without",
            LANES.get(key, 1.0),
            ratio(r["lanes_ns"], r["single_ns"]),
        )
        for key, r in records.items()
    ]


def trim_targets(records: list[dict[str, Any]]) -> list[Target]:
    """Five milliseconds for the operating point of every example, from a rough start."""
    return [Target(f"{r['example']}: operating point, CPU ms", 5.0, r["milliseconds"]) for r in records]


def gpu_targets(gpu: dict[str, Any]) -> list[Target]:
    """Evaluations of the arm per second on the card, and a million cars with transfers."""
    if not gpu:
        return []
    targets = []
    for precision, bound in (("double", 4e10), ("single", 1e11)):
        names = ("single", "fast") if precision == "single" else ("double",)
        rates = [
            m["evaluations_per_second"] for m in gpu["models"]
            if m["model"].startswith("Stanford arm") and m["precision"] in names
        ]  # fmt: skip
        text = f"GPU: evaluations of the arm per second, {precision}"
        targets.append(Target(text, bound, max(rates, default=None), at_least=True))
    seconds = gpu.get("user", {}).get("double", {}).get("seconds")
    return [*targets, Target("GPU: 1,000,000 cars with transfers, s", 0.05, seconds)]


def run_seconds(linkage: dict[str, Any], prefix: str) -> float | None:
    """Time of the quickest accurate run of a program."""
    runs = [r for r in linkage["runs"] if r["name"].startswith(prefix) and r["seconds"] is not None]
    return min((run["seconds"] for run in runs), default=None)


def linkage_targets(linkages: list[dict[str, Any]]) -> list[Target]:
    """Ten times the speed of each peer on every closed loop, of evaluations and of whole runs."""
    pairs = [(linkage, peer) for linkage in linkages for peer in ("MuJoCo", "Exudyn")]
    evaluations = [
        Target(
            f"{linkage['title']}: {peer}'s time / ours", 10.0,
            ratio(nanoseconds(linkage, peer), nanoseconds(linkage, "Armillary")), at_least=True,
        )
        for linkage, peer in pairs
    ]  # fmt: skip
    runs = [
        Target(
            f"{linkage['title']}, 1 s of motion: {peer}'s time / ours", 10.0,
            ratio(run_seconds(linkage, peer), run_seconds(linkage, "Armillary")), at_least=True,
        )
        for linkage, peer in pairs
    ]  # fmt: skip
    return [*evaluations, *runs]


def panel_targets(panels: list[dict[str, Any]]) -> list[Target]:
    """Twenty-five times the speed of Basilisk, with the same integrator and step."""
    return [
        Target(
            f"hub with 4 + 3 panels {r['title']}: Basilisk's time per step / ours", 25.0,
            ratio(r.get("basilisk_microseconds"), r["microseconds"]), at_least=True,
        )
        for r in panels
    ]  # fmt: skip


def flexible_targets(records: list[dict[str, Any]]) -> list[Target]:
    """Ten seconds to derive and compile, and less than four Cholesky solutions to evaluate."""
    targets = []
    for r in records:
        right = "wrong" not in r
        value = ratio(r["nanoseconds"], r["cholesky_nanoseconds"]) if right else None
        targets += [
            Target(f"{r['title']} each: derive and compile, CPU s", 10.0, r["together_seconds"]),
            Target(f"{r['title']} each: time / LAPACK's Cholesky solution", 4.0, value),
        ]
    return targets


def exported_targets(records: list[dict[str, Any]]) -> list[Target]:
    """Exported C within a tenth of the code in the process."""
    return [
        Target(f"{r['title']}: exported C / in the process, {what}", 1.1, r[key])
        for r in records
        for what, key in (("derivatives", "ratio"), ("a step of rk4", "step_ratio"))
    ]


def batch_targets(results: dict[str, Any]) -> list[Target]:
    """Gains of vectors and threads, a million cars within a minute, and what a study may add."""
    if not results:
        return []
    arm = next((r for r in results["lanes"] if r["title"] == "Stanford arm" and "wrong" not in r), None)
    scaling, million, studies = results["threads"], results["million"], results["studies"]
    bound = scaling.get("arithmetic", [{"efficiency": 1.0}])[-1]["efficiency"]
    targets = [
        Target(f"{n} arms at once: scalar time / ours", least, arm and arm["gain"][str(n)], at_least=True)
        for n, least in ((2, 1.6), (4, 3.0))
    ]
    if len(scaling["batch"]) > 1:
        share, count = scaling["batch"][-1]["efficiency"], threads(scaling["processors"])
        targets += [
            Target(f"efficiency of {count}", 0.9, share, at_least=True),
            Target(f"efficiency of {count} / arithmetic alone", 0.9, share / bound, at_least=True),
        ]
    for r in million:
        whole = r["runs"] >= 1_000_000 and "wrong" not in r
        text = f"1,000,000 cars, {r['method']} at {r['step']:g} s, on {r['processors']} processors: seconds"
        targets.append(Target(text, 60.0, r["seconds"] if whole else None))
    return [
        *targets,
        *(
            Target(
                f"batch of arms, {threads(r['threads'])}: our steps per second / mujoco.rollout's", 50.0,
                ratio(r["steps_per_second"], r.get("mujoco_steps_per_second")), at_least=True,
            )
            for r in results["rollouts"]
        ),
        Target("study: ms per block besides its runs", 5.0, studies.get("overhead_milliseconds")),
        Target("study on Dask: ms per block of one-step runs", 5.0, studies.get("cluster_milliseconds")),
        Target("study killed and resumed: seconds", 10.0, studies.get("resume_seconds")),
    ]  # fmt: skip


def auto_ratio(record: dict[str, Any]) -> float | None:
    """Time of what "auto" picks over the shortest time of those it picks from.

    Of medians: where only a few rounds were undisturbed, minima of functions of 10 ns differed by half, of
    equal ones.
    """
    times = record.get("median_nanoseconds", {})
    best = min((times[name] for name in CHOSEN_FROM if name in times), default=None)
    return ratio(times.get(record.get("auto", "")), best)


def formalism_targets(records: list[dict[str, Any]]) -> list[Target]:
    """The choice among formalisms within a tenth of the best one, on every example."""
    ratios = {r["title"]: value for r in records if (value := auto_ratio(r)) is not None}
    if not ratios:
        return []
    worst = max(ratios, key=ratios.__getitem__)
    text = f"auto's choice: time / quickest of what it tries, worst example ({worst})"
    return [Target(text, 1.1, ratios[worst])]


def count_targets(published: list[dict[str, Any]]) -> list[Target]:
    targets = []
    for row in published:
        ours = row.get("ours", (None, None))
        bounds = [(row["published"], "AUTOSIM's")]
        if row["title"] == "Stanford arm":
            bounds.append((ARM_GOAL, "our own goal of"))
        for pair, whose in bounds:
            for kind, bound, value in zip(("additions", "multiplications"), pair, ours, strict=True):
                targets.append(Target(f"{row['title']} example: {kind}, {whose}", bound, value))
    return targets


def growth_exponent(fresh: dict[str, dict[str, Any]], small: str, large: str) -> float | None:
    """p in seconds ∝ linksᵖ between two chains."""
    if small not in fresh or large not in fresh:
        return None
    few, many = fresh[small], fresh[large]
    return math.log(many["together_seconds"] / few["together_seconds"]) / math.log(
        many["links"] / few["links"]
    )


def derivation_targets(fresh: dict[str, dict[str, Any]], sympy: dict[str, Any]) -> list[Target]:
    def together(key: str) -> float | None:
        return fresh[key]["together_seconds"] if key in fresh else None

    def first(key: str) -> float | None:
        return fresh.get(key, {}).get("first_seconds")

    chain8 = fresh.get("chain8", {})
    return [
        Target("Whipple bicycle: derive and compile, CPU s", 1.0, together("bicycle")),
        Target("Whipple bicycle: operations", 2000, fresh.get("bicycle", {}).get("operations")),
        Target("Spacecraft 2 (10 speeds): derive and compile, CPU s", 0.3, together("spacecraft2")),
        Target("chain of 10: derive and compile, CPU s", 0.3, together("chain10")),
        *(
            Target(f"{title}: derived, compiled and run once, CPU s", bound, first(key))
            for title, key, bound in (
                ("chain of 64", "chain64", 0.6),
                ("ANYmal", "anymal", 0.5),
                ("Talos", "talos", 1.0),
                ("TIAGo", "tiago", 1.0),
            )
        ),
        Target("growth from 16 to 64 links, exponent", LINEAR, growth_exponent(fresh, "chain16", "chain64")),
        Target("chain of 64: peak memory, MB", 500.0, fresh.get("chain64", {}).get("peak_megabytes")),
        Target(
            "chain of 8: SymPy's derivation / ours", 100.0,
            ratio(sympy.get("derive_seconds"), chain8.get("derive_seconds")), at_least=True,
        ),
        Target(
            "chain of 8: SymPy's derivation / our derivation and compilation", 100.0,
            ratio(sympy.get("derive_seconds"), chain8.get("together_seconds")), at_least=True,
        ),
    ]  # fmt: skip


def all_targets(results: dict[str, Any]) -> list[Target]:
    models = {model["key"]: model for model in results["models"]}
    fresh = {record["model"]: record for record in results["derivation"]}
    simulated = models.get("arm", {}).get("simulation", {})
    return [
        *count_targets(results["published"]),
        *evaluation_targets(models),
        *operation_targets(models),
        *search_targets(results.get("search", {})),
        *branch_targets(results.get("branches", {})),
        *trim_targets(results.get("trims", [])),
        *linkage_targets(results["linkages"]),
        *panel_targets(results["panels"]),
        *flexible_targets(results["flexible"]),
        *exported_targets(results.get("exported", [])),
        *batch_targets(results.get("batches", {})),
        *formalism_targets(results["formalisms"]),
        Target("import armillary, beyond NumPy, CPU s", 0.15, results.get("import_seconds")),
        *derivation_targets(fresh, results["sympy_chain8"]),
        Target("arm, 10 s of RK4 at 1 ms: simulation / chained evaluations", 1.1, simulated.get("ratio")),
        Target("arm: ms of a call of simulate beside its steps", 0.1, simulated.get("start_milliseconds")),
        Target("arm: ns per stored sample", 40.0, simulated.get("sample_nanoseconds")),
        Target(
            "arm, 10 s of RK4 at 1 ms: simulation / independent evaluations",
            1.3,
            simulated.get("ratio_to_independent"),
        ),
        *gpu_targets(results.get("gpu", {})),
    ]
