"""The results as text: one table per question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.formalisms import EQUIVALENT
from benchmarks.linkage_runs import ACCURACY, DURATION
from benchmarks.targets import Target, auto_ratio, nanoseconds, run_seconds
from benchmarks.text import number, table

COUNTS = ("additions", "multiplications", "divisions", "functions")
DERIVATION = {
    "derive s": ("derive_seconds", 3),
    "compile s": ("compile_seconds", 3),
    "together s": ("together_seconds", 3),
    "wall s": ("wall_seconds", 3),
    "start s": ("start_seconds", 3),
    "peak MB": ("peak_megabytes", 0),
}
"""Columns of the table of derivations: heading, then key and digits."""


def model_table(model: dict[str, Any]) -> str:
    ours = nanoseconds(model, "Armillary")
    rows = []
    for c in sorted(model["candidates"], key=lambda c: c["nanoseconds"]):
        counts = c["operations"] or {}
        rows.append([
            c["name"],
            number(c["nanoseconds"], 0),
            number(c["nanoseconds"] / ours if ours else None),
            *(str(counts.get(kind, "-")) for kind in COUNTS),
            number(c["derive_seconds"], 3),
            number(c["compile_seconds"], 3),
            f"{c['error']:.0e}",
        ])  # fmt: skip
    head = ["candidate", "ns", "x ours", "+ -", "*", "/", "func", "derive s", "compile s", "error"]
    free = f", {model['freedoms']} of them free" if "freedoms" in model else ""
    lines = [f"{model['title']}: {model['speeds']} speeds{free}", table(head, rows)]
    lines += [f"{name}: not available: {reason}" for name, reason in model["missing"].items()]
    lines += [f"{name}: WRONG, error {error:.0e}; not timed" for name, error in model["wrong"].items()]
    return "\n".join(lines)


def ratio_table(models: Sequence[dict[str, Any]]) -> str:
    """Each peer's nanoseconds, and in brackets their ratio to ours: the whole run in one view."""
    peers = ("Pinocchio C++", "MuJoCo", "SymPy", "CasADi C ABA", "CasADi C CRBA")
    rows = []
    for model in models:
        ours = nanoseconds(model, "Armillary")
        times = [nanoseconds(model, peer) for peer in peers]
        cells = [number(t, 0) + (f" ({t / ours:.2f})" if t and ours else "") for t in times]
        rows.append([model["title"], number(ours, 0), *cells])
    return "Time per evaluation, ns (and over Armillary's)\n" + table(["model", "Armillary", *peers], rows)


def linkage_table(linkages: Sequence[dict[str, Any]]) -> str:
    """As above, for closed loops; of a program's several candidates, the quickest."""
    peers = ("MuJoCo", "Exudyn")
    rows = []
    for linkage in linkages:
        ours = nanoseconds(linkage, "Armillary")
        times = [nanoseconds(linkage, peer) for peer in peers]
        cells = [number(t, 0) + (f" ({t / ours:.1f})" if t and ours else "") for t in times]
        rows.append([linkage["title"], number(ours, 0), *cells])
    return "Closed loops: time per evaluation, ns (and over Armillary's)\n" + table(
        ["linkage", "Armillary", *peers], rows
    )


def run_table(linkages: Sequence[dict[str, Any]]) -> str:
    """One second of motion by each program: steps, time and error, or the error that no step went below."""
    rows = []
    for linkage in linkages:
        ours = run_seconds(linkage, "Armillary")
        for run in linkage["runs"]:
            seconds, start = run["seconds"], run["start_seconds"]
            rows.append([
                f"{linkage['title']}, {run['name']}",
                f"{run['steps']:,}" if seconds else "-",
                number(1e3 * seconds, 2) if seconds else "not reached",
                number(1e3 * start, 2) if seconds else "-",
                number(seconds / ours, 1) if seconds and ours else "-",
                f"{run['error']:.0e}",
            ])  # fmt: skip
    title = f"Closed loops: {DURATION:g} s of motion, coordinates at the end within {ACCURACY:g}"
    return f"{title}\n" + table(["", "steps", "CPU ms", "its start", "x ours", "error"], rows)


def panels_table(records: Sequence[dict[str, Any]]) -> str:
    """Basilisk's scenario: time per step."""
    if not records:
        return "Hub with 4 + 3 panels: not measured"
    rows = []
    for r in records:
        theirs = r.get("basilisk_microseconds")
        rows.append([
            r["title"],
            number(r["microseconds"], 3),
            number(theirs, 1),
            number(theirs / r["microseconds"] if theirs else None, 1),
            f"{r['difference']:.0e}" if "difference" in r else "-",
            r["formalism"],
            f"{r['operations']:,}",
        ])  # fmt: skip
    head = ["", "Armillary", "Basilisk", "x ours", "difference", "formalism", "operations"]
    lines = ["Hub with 4 + 3 panels: microseconds per step of RK4", table(head, rows)]
    lines += [f"Basilisk {r['title']}: not available: {r['missing']}" for r in records if "missing" in r]
    return "\n".join(lines)


def flexible_table(records: Sequence[dict[str, Any]]) -> str:
    """Bodies with many modes: what deriving them takes, and an evaluation beside LAPACK's solution."""
    if not records:
        return "Two bodies of 50 modes: not measured"
    rows = [
        [
            r["title"],
            r["formalism"],
            f"{r['operations']:,}",
            *(number(r[f"{stage}_seconds"], 2) for stage in ("derive", "compile", "together")),
            number(r["peak_megabytes"], 0),
            number(1e-3 * r["nanoseconds"], 1),
            number(1e-3 * r["cholesky_nanoseconds"], 1),
            number(r["nanoseconds"] / r["cholesky_nanoseconds"], 2),
            f"{r['error']:.0e}" + (" WRONG" if "wrong" in r else ""),
        ]
        for r in records
    ]  # fmt: skip
    head = [
        "",
        "formalism",
        "operations",
        "derive s",
        "compile s",
        "together s",
        "peak MB",
        "us",
        "Cholesky us",
    ]
    title = f"Hub with two flexible bodies, {records[0]['speeds']} speeds, beside a Cholesky solution"
    return f"{title}\n" + table([*head, "ratio", "error"], rows)


def exported_table(records: Sequence[dict[str, Any]]) -> str:
    """Exported C beside the code in the process."""
    if not records:
        return "Exported C: not measured"
    rows = [
        [
            r["title"],
            number(r["cc_seconds"], 1),
            *(number(r[key], 0) for key in ("nanoseconds", "exported_nanoseconds")),
            number(r["ratio"], 2),
            *(number(r[key], 0) for key in ("step_nanoseconds", "exported_step_nanoseconds")),
            number(r["step_ratio"], 2),
            f"{r['error']:.0e}",
        ]
        for r in records
    ]
    head = ["", "cc s", "ns", "in C", "ratio", "ns a step", "in C", "ratio", "difference"]
    return "Exported C beside the code in the process: derivatives, and a step of rk4\n" + table(head, rows)


def count_table(records: Sequence[dict[str, Any]]) -> str:
    """Operations of each example by every formalism that takes it, and what "auto" picks."""
    names = list(
        dict.fromkeys(name for r in records for name in (*r.get("operations", ()), *r.get("refused", ())))
    )
    rows = []
    for r in records:
        counts = {name: sum(kinds.values()) for name, kinds in r.get("operations", {}).items()}
        cells = [f"{counts[name]:,}" if name in counts else "-" for name in names]
        rows.append([r["title"], str(r.get("speeds", "-")), *cells, r.get("auto", "-")])
    lines = [
        "Operations of one evaluation by each formalism; - where it does not take the system",
        table(["example", "speeds", *names, "auto"], rows),
    ]
    lines += [f"{r['title']}: not available: {r['missing']}" for r in records if "missing" in r]
    return "\n".join(lines)


def formalism_table(records: Sequence[dict[str, Any]]) -> str:
    """Time of each example by the formalisms that describe the same motion, and auto's over the quicker's."""
    rows = []
    for r in records:
        times = r.get("nanoseconds", {})
        slower = auto_ratio(r)
        rows.append([r["title"], *(number(times.get(name), 1) for name in EQUIVALENT), number(slower, 3)])
    lines = ["Time per evaluation by formalism, ns", table(["example", *EQUIVALENT, "auto / quicker"], rows)]
    lines += [
        f"{r['title']}, {name}: WRONG, {worst:.0e} from the first; not timed"
        for r in records for name, worst in r.get("wrong", {}).items()
    ]  # fmt: skip
    return "\n".join(lines)


def derivation_table(records: Sequence[dict[str, Any]]) -> str:
    rows = [
        [
            r["model"],
            r["formalism"],
            f"{r['operations']:,}",
            *(number(r[key], n) for key, n in DERIVATION.values()),
        ]
        for r in records
    ]
    head = ["model", "formalism", "operations", *DERIVATION]
    return "Derivation and compilation in a fresh process, CPU seconds\n" + table(head, rows)


def published_table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        [
            r["title"],
            *map(str, r["published"]),
            *(map(str, r["ours"]) if "ours" in r else ("-", "-")),
            r.get("missing", ""),
        ]
        for r in rows
    ]
    head = ["example", "AUTOSIM +", "AUTOSIM *", "ours +", "ours *", ""]
    return "Operations per derivative evaluation\n" + table(head, lines)


def simulation_text(models: Sequence[dict[str, Any]]) -> str:
    record = next((model["simulation"] for model in models if "simulation" in model), None)
    if record is None:
        return "Simulation of the arm: not measured"
    return (
        f"Simulation of the arm, {record['steps']:,} steps of RK4: {1e3 * record['seconds']:.2f} ms, "
        f"evaluations in sequence {1e3 * record['chained_evaluations_seconds']:.2f} ms "
        f"(ratio {record['ratio']:.2f}), "
        f"independent {1e3 * record['evaluations_seconds']:.2f} ms ({record['ratio_to_independent']:.2f})"
    )


def target_table(targets: Sequence[Target]) -> str:
    rows = [
        [
            t.text,
            (">= " if t.at_least else "<= ") + f"{t.bound:g}",
            "-" if t.value is None else f"{t.value:.3g}",
            t.verdict,
        ]
        for t in targets
    ]
    return "Targets\n" + table(["", "bound", "measured", "verdict"], rows)
