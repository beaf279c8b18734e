"""What metrics do at a row, as CUDA text: the same slots as in every engine, see metrics.py.

A thread holds a metric's slots in registers, in double precision whatever the runs are in. A histogram's
counts stay in memory, where an index can reach them.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.ensembles.metrics import DIRECTIONS, Crossing, Histogram, Mean, Rms
from armillary.ensembles.plan import Look
from armillary.export.cuda.ensemble import Looking

_INDENT = " " * 16


def looking(looks: Sequence[Look]) -> Looking:
    """All metrics of a plan."""
    lines: list[str] = []
    held: list[int] = []
    place = 0
    for look in looks:
        metric = look.metric
        value = f"(double)out[{look.column}]"
        lines.append(f"{{ /* {metric.kind} */")
        if isinstance(metric, Histogram):
            lines += _histogram(metric, value, place)
        else:
            first = len(held)
            held += range(place, place + len(metric.start))
            if isinstance(metric, Mean):
                lines += _mean(isinstance(metric, Rms), value, first)
            elif isinstance(metric, Crossing):
                lines += _crossing(metric, value, first)
            else:
                lines += _extreme(metric.kind, value, first)
        lines.append("}")
        place += len(metric.start)
    return Looking("\n".join(_INDENT + line for line in lines), tuple(held))


def _extreme(kind: str, value: str, k: int) -> list[str]:
    """The last, smallest or largest value; NaN once there was one."""
    test = {
        "final": "",
        "minimum": f"now < slot[{k}] || now != now",
        "maximum": f"now > slot[{k}] || now != now",
    }
    lines = [f"const double now = {value};"]
    return [*lines, *([f"if ({test[kind]})"] if test[kind] else []), f"slot[{k}] = now;"]


def _mean(squared: bool, value: str, k: int) -> list[str]:
    return [
        f"const double y = {value}, now = {'y * y' if squared else 'y'};",
        f"if (slot[{k + 1}] == slot[{k + 1}]) /* not at the first row */",
        f"    slot[{k}] += 0.5 * (t - slot[{k + 1}]) * (now + slot[{k + 2}]);",
        f"slot[{k + 1}] = t;",
        f"slot[{k + 2}] = now;",
    ]


def _crossing(metric: Crossing, value: str, k: int) -> list[str]:
    sign = DIRECTIONS[metric.direction]
    hits = ["before < 0.0 && after >= 0.0", "before > 0.0 && after <= 0.0"]
    test = " || ".join(f"({hit})" for hit, side in zip(hits, (1, -1), strict=True) if sign * side >= 0)
    level = repr(float(metric.level))
    return [
        f"const double now = {value}, before = slot[{k + 2}] - {level}, after = now - {level};",
        f"if (slot[{k}] != slot[{k}] && ({test}))",
        f"    slot[{k}] = slot[{k + 1}] + (t - slot[{k + 1}]) * (before / (before - after));",
        f"slot[{k + 1}] = t;",
        f"slot[{k + 2}] = now;",
    ]


def _histogram(metric: Histogram, value: str, place: int) -> list[str]:
    """The bin is guessed, and mended by comparison with its edges: the last one belongs to its bin."""
    edges = ", ".join(repr(float(e)) for e in metric.edges)
    bins, low, high = metric.bins, repr(float(metric.low)), repr(float(metric.high))
    return [
        f"static const double edges[{bins + 1}] = {{{edges}}};",
        f"const double now = {value};",
        f"if (now >= {low} && now <= {high}) {{",
        f"    int bin = (int)((now - {low}) * {bins / (metric.high - metric.low)!r});",
        f"    bin = bin < {bins - 1} ? bin : {bins - 1};",
        "    while (now < edges[bin])",
        "        bin--;",
        f"    while (bin < {bins - 1} && now >= edges[bin + 1])",
        "        bin++;",
        f"    slots[({place} + bin) * count + run] += 1.0;",
        "}",
    ]
