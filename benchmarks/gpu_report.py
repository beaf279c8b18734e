"""The results of benchmarks/gpu.py as Markdown."""

from __future__ import annotations

from typing import Any


def markdown(found: dict[str, Any]) -> str:
    """Tables for people."""
    parts = [_ceilings(found["ceilings"]), _models(found["models"]), _user(found), _solver(found)]
    return "\n\n".join([*parts, _mujoco(found)])


def _ceilings(ceiling: dict[str, Any]) -> str:
    return (
        f"{ceiling['card']}: fused multiply-adds at {ceiling['double'] / 1e12:.1f} TFLOP/s in double and "
        f"{ceiling['float'] / 1e12:.1f} in single precision, copies at {ceiling['copy'] / 1e12:.2f} TB/s."
    )


def _models(rows: list[dict[str, Any]]) -> str:
    head = [
        "model", "precision", "evaluations/s", "TFLOP/s", "of peak", "pipe busy", "operations of peak",
        "threads", "registers", "local bytes", "occupancy", "flop/byte (ridge)", "error",
    ]  # fmt: skip
    lines = [_row(head), _row(["---", "---", *["---:"] * (len(head) - 2)])]
    for r in rows:
        counted = "flops" in r
        lines.append(
            _row(
                [
                    r["model"],
                    r["precision"],
                    _rate(r["evaluations_per_second"]),
                    f"{r['flops_per_second'] / 1e12:.1f}" if counted else "",
                    f"{r['peak_share']:.0%}" if counted else "",
                    f"{r['pipe_share']:.0%}" if counted else "",
                    f"{r['operations_share']:.0%}",
                    str(r.get("threads_per_run", 1)),
                    str(r["registers"]),
                    str(r["local_bytes"]),
                    f"{r['occupancy']:.0%}",
                    f"{r['flops_per_byte']:.0f} ({r['ridge']:.0f})" if counted else "",
                    f"{r['error']:.0e}",
                ]
            )
        )
    return "\n".join(lines)


def _user(found: dict[str, Any]) -> str:
    return "\n".join(
        f"A million runs of the car (2 s, 400 steps, two metrics at every step) in {precision} precision: "
        f"{user['seconds']:.3f} s with transfers, {user['on_card'] * 1e3:.0f} ms of it on the card; the "
        f"whole call takes {user['whole_call']:.3f} s."
        for precision, user in found["user"].items()
    )


def _solver(found: dict[str, Any]) -> str:
    """The kernel of the described solver: its rates, and deployments with latches."""
    rates = ", ".join(f"{_rate(rate)} by {name}" for name, rate in found["solver"].items())
    d = found["deployments"]
    return (
        "The kernel with events and adaptive steps (its record of a run is in local memory) makes these "
        f"evaluations of the arm per second: {rates}.\n\n"
        f"{d['runs']:,} deployments of a wing of three panels with latches (12 s, dop853, a metric at a "
        f"thousand times): {d['seconds']:.1f} s on the card, after {d['prepare_seconds']:.1f} s of "
        f"compilation at the first call; {d['two_threads_runs']:,} on two threads of that machine: "
        f"{d['two_threads_seconds']:.1f} s. They differ by {d['error']:.0e}."
    )


def _mujoco(found: dict[str, Any]) -> str:
    """Batches of the arm without controller; each of MuJoCo's beside ours in the same precision."""
    rows = found["mujoco"]
    lines = [_row(["batch of the arm without controller", "evaluations/s", "ours is so many times", "error"])]
    lines.append(_row(["---", "---:", "---:", "---:"]))
    for name, r in rows.items():
        if "reason" in r:
            lines.append(_row([name, r["reason"], "", ""]))
            continue
        same = "single" if "single" in name else "double"
        times = rows[f"Armillary {same}"]["evaluations_per_second"] / r["evaluations_per_second"]
        shown = f"{times:.0f}" if name.startswith("MuJoCo") else ""
        lines.append(_row([name, _rate(r["evaluations_per_second"]), shown, f"{r['error']:.0e}"]))
    return "\n".join(lines)


def _rate(number: float) -> str:
    return f"{number:.2e}".replace("e+", "e")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
