"""The slots of metrics at one row, as LLVM code on single numbers or vectors: ``look(t, outputs, slots)``."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.ensembles.metrics import DIRECTIONS, Crossing, Histogram, Mean, Rms
from armillary.ensembles.plan import Look
from armillary.llvm.node_writer import Module, Writer


def look_function(module: Module, looks: Sequence[Look]) -> None:
    """void look(t, ptr outputs, ptr slots): every metric shown the outputs at one time."""
    writer = _Slots(module, {}, {}, {})
    place = 0
    for one in looks:
        writer.look(one, place)
        place += len(one.metric.start)
    module.define(f"void @look({module.real} %t, ptr noalias %outputs, ptr noalias %slots)", writer.body())


class _Slots(Writer):
    """Lines of the function."""

    def look(self, one: Look, place: int) -> None:
        metric, y = one.metric, self.load("outputs", one.column)
        if isinstance(metric, Mean):
            self.mean(self.times(y, y) if isinstance(metric, Rms) else y, place)
        elif isinstance(metric, Crossing):
            self.crossed(metric, y, place)
        elif isinstance(metric, Histogram):
            self.histogram(metric, y, place)
        elif metric.kind == "final":
            self.store(y, "slots", place)
        else:
            self.store(self.intrinsic(metric.kind, self.load("slots", place), y), "slots", place)

    def mean(self, y: str, place: int) -> None:
        """∫ += (t − t') (y + y')/2, but not at the first row, where t' is NaN."""
        total, t_before, y_before = (self.load("slots", place + i) for i in range(3))
        dt = self.emit(f"fsub {self.real} %t, {t_before}")
        both = self.emit(f"fadd {self.real} {y}, {y_before}")
        part = self.times(self.times(dt, both), self.number(0.5))
        more = self.emit(f"fadd {self.real} {total}, {part}")
        first = self.emit(f"fcmp uno {self.real} {t_before}, {t_before}")
        self.store(self.choose(first, total, more), "slots", place)
        self.store("%t", "slots", place + 1)
        self.store(y, "slots", place + 2)

    def crossed(self, metric: Crossing, y: str, place: int) -> None:
        known, t_before, y_before = (self.load("slots", place + i) for i in range(3))
        level = self.number(metric.level)
        z, z_before = (self.emit(f"fsub {self.real} {x}, {level}") for x in (y, y_before))
        hits = [
            self.emit(f"and {self.module.truth} {self.compared(before, z_before)}, {self.compared(after, z)}")
            for sign, before, after in ((1, "olt", "oge"), (-1, "ogt", "ole"))
            if DIRECTIONS[metric.direction] * sign >= 0
        ]
        hit = hits[0] if len(hits) == 1 else self.emit(f"or {self.module.truth} {hits[0]}, {hits[1]}")
        open_ = self.emit(f"fcmp uno {self.real} {known}, {known}")
        now = self.emit(f"and {self.module.truth} {hit}, {open_}")
        dt = self.emit(f"fsub {self.real} %t, {t_before}")
        fall = self.emit(f"fsub {self.real} {z_before}, {z}")
        share = self.emit(f"fdiv {self.real} {z_before}, {fall}")
        when = self.emit(f"fadd {self.real} {t_before}, {self.emit(f'fmul {self.real} {dt}, {share}')}")
        self.store(self.choose(now, when, known), "slots", place)
        self.store("%t", "slots", place + 1)
        self.store(y, "slots", place + 2)

    def compared(self, how: str, value: str) -> str:
        return self.emit(f"fcmp {how} {self.real} {value}, {self.number(0.0)}")

    def histogram(self, metric: Histogram, y: str, place: int) -> None:
        edges = [float(e) for e in metric.edges]
        for i in range(metric.bins):
            last = i == metric.bins - 1
            above = self.emit(f"fcmp oge {self.real} {y}, {self.number(edges[i])}")
            below = self.emit(f"fcmp {'ole' if last else 'olt'} {self.real} {y}, {self.number(edges[i + 1])}")
            inside = self.emit(f"and {self.module.truth} {above}, {below}")
            one = self.choose(inside, self.number(1.0), self.number(0.0))
            count = self.load("slots", place + i)
            self.store(self.emit(f"fadd {self.real} {count}, {one}"), "slots", place + i)
