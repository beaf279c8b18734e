"""The slots of all metrics of a plan at one row, as CUDA text.

A thread holds the slots in registers, in double precision whatever the runs are in. Those of a histogram stay
in memory: a row changes one of them at most.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra.expression import symbol
from armillary.ensembles.plan import BatchMetric
from armillary.export.c.printer import CPrinter
from armillary.export.cuda.ensemble import MetricsCode
from armillary.export.text.body import body
from armillary.export.text.names import Namer
from armillary.export.text.printing.printer import LOGIC, Operand
from armillary.program.program import section

_TIME, _OUTPUT = symbol("t"), symbol("y")

_INDENT = " " * 16
_NAMES = ("t", "y", "slot", "slots", "out", "count", "run", "n", "wanted", "first", "end", "last")


def metric_text(metrics: Sequence[BatchMetric]) -> MetricsCode:
    """All metrics of a plan."""
    lines: list[str] = []
    held: list[int] = []
    place = 0
    for entry in metrics:
        count = len(entry.metric.start)
        if entry.metric.several:
            names = [f"slots[{place + i} * count + run]" for i in range(count)]
        else:
            names = [f"slot[{len(held) + i}]" for i in range(count)]
            held += range(place, place + count)
        lines += [f"{{ /* {entry.metric.kind} */", *_statements(entry, names), "}"]
        place += count
    return MetricsCode("\n".join(_INDENT + line for line in lines), tuple(held))


def _statements(entry: BatchMetric, names: Sequence[str]) -> list[str]:
    """The slots of one metric, each renewed at its place; no slot is read after it was renewed."""
    old = [symbol(f"slot {i}") for i in range(len(names))]
    slots = entry.metric.slots(entry.metric.row(_TIME, _OUTPUT, old))
    results = [slot.value_after_row(before) for slot, before in zip(slots, old, strict=True)]
    conditions = [slot.where for slot in slots if slot.where is not None]
    labels = [*names, *(f"condition {i}" for i in range(len(conditions)))]
    found = section(entry.metric.kind, labels, [*results, *conditions])
    identifiers = {_TIME: "t", _OUTPUT: "y", **dict(zip(old, names, strict=True))}
    places = {node: ("", 0) for node in identifiers}
    printer = _SlotPrinter()
    text = body(found, printer, places, identifiers, Namer({*printer.keywords, *_NAMES}))
    lines = [f"const double y = (double)out[{entry.column}];"]
    lines += [f"const double {step.name} = {step.text};" for step in text.steps]
    where = iter(text.results[len(results) :])
    for slot, name, result in zip(slots, names, text.results[: len(results)], strict=True):
        lines += (
            [f"{name} = {result};"]
            if slot.where is None
            else [f"if ({next(where)})", f"    {name} = {result};"]
        )
    return lines


class _SlotPrinter(CPrinter):
    """C, in which a condition is a number already."""

    def as_number(self, truth: str) -> Operand:
        return Operand(truth, LOGIC)
