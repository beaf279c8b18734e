"""The slots of all metrics of a plan at one row, as LLVM code on single numbers or vectors."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, symbol
from armillary.ensembles.plan import BatchMetric
from armillary.llvm.instructions import Places
from armillary.llvm.module import Module
from armillary.llvm.node_writer import Writer
from armillary.program.program import section

_TIME = symbol("t")


def metrics_function(module: Module, metrics: Sequence[BatchMetric]) -> None:
    """void update_metrics(t, ptr outputs, ptr slots): the slots of all metrics after one more row."""
    places: Places = {_TIME: "%t"}
    renewed: list[Expr] = []
    for entry in metrics:
        y = symbol(f"output {entry.column}")
        old = [symbol(f"slot {len(renewed) + i}") for i in range(len(entry.metric.start))]
        places |= {y: ("outputs", entry.column)}
        places |= {slot: ("slots", len(renewed) + i) for i, slot in enumerate(old)}
        for slot, before in zip(entry.metric.slots(entry.metric.row(_TIME, y, old)), old, strict=True):
            after = slot.value_after_row(before)
            renewed.append(after if slot.where is None else fn.select(slot.where, after, before))
    found = section("update_metrics", [f"slot {i}" for i in range(len(renewed))], renewed)
    writer = _UnfusedWriter(module, places, {}, found.arrival)
    for node in found.nodes:
        writer.node(node)
    writer.results(found, [("slots", i) for i in range(len(renewed))])
    module.define(
        f"void @update_metrics({module.real} %t, ptr noalias %outputs, ptr noalias %slots)",
        writer.body("update_metrics"),
    )


class _UnfusedWriter(Writer):
    """No operations are fused: a metric has the same bits on all processors, and for single runs."""

    def multiply_add(self, a: str, b: str, c: str) -> str:
        return self.add(self.mul(a, b), c)
