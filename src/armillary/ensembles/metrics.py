"""Metrics: numbers that a batch keeps of an output instead of its history.

A metric is defined once, by formulas for the rows (t, y) of one output:

    slots    numbers kept from row to row; each is the last, the first, the smallest, the largest or the sum
             of a value over the rows at which a condition holds
    result   the metric from its slots

All engines use the same formulas: with symbols they give expressions, which engines print as LLVM or CUDA
code; with arrays of all rows of a history they give numbers (``of``). A new metric is a class here and an
entry of ``KINDS``.

Metrics have a text form: ``"maximum(tip height)"``, ``"crossing(tip height, 0.2, falling)"``,
``"histogram(tip height, 0, 1, 20)"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf, isfinite, nan
from typing import ClassVar, NamedTuple

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.arguments import text
from armillary.algebra.functions import Operand
from armillary.algebra.node import plain_float, positive_whole
from armillary.errors import ArmillaryError, nearest

DIRECTIONS = {"rising": 1, "falling": -1, "either": 0}


class MetricRow(NamedTuple):
    """Time and value of a row and of the previous row: symbols, or arrays with a number per row."""

    t: Operand
    y: Operand
    t_before: Operand = nan  # NaN at the first row
    y_before: Operand = nan

    @property
    def has_predecessor(self) -> Operand:
        """Whether there is a previous row; NaN does not equal itself."""
        return fn.equal(self.t_before, self.t_before)


class MetricReduction(NamedTuple):
    """A reduction of values to one number: row by row from a start value, or of all values at once."""

    start: float
    step: Callable[[Operand, Operand], Operand]  # the new number from the number so far and the next value
    whole: Callable[[np.ndarray], Operand]


# The smallest and the largest value are NaN if any value is NaN.
LAST = MetricReduction(nan, lambda old, new: new, lambda values: values[-1])
FIRST = MetricReduction(
    nan, lambda old, new: fn.select(fn.equal(old, old), old, new), lambda values: values[0]
)
SMALLEST = MetricReduction(
    inf, lambda old, new: fn.select(fn.or_(new < old, fn.not_equal(new, new)), new, old), np.min
)
LARGEST = MetricReduction(
    -inf, lambda old, new: fn.select(fn.or_(new > old, fn.not_equal(new, new)), new, old), np.max
)
SUM = MetricReduction(0.0, lambda old, new: old + new, np.sum)


class Slot(NamedTuple):
    """A number kept from row to row: the reduction of a value over the rows at which a condition holds."""

    reduction: MetricReduction
    value: Operand
    where: Operand = None  # None: at every row

    def value_after_row(self, old: object) -> Operand:
        """Return the number after a row at which the condition holds."""
        return self.reduction.step(old, self.value)


@dataclass(frozen=True)
class Metric:
    """A metric of one output."""

    output: str
    kind: ClassVar[str] = ""
    keeps_row: ClassVar[bool] = False  # whether formulas use the previous row, which needs two more slots
    several: ClassVar[bool] = False  # whether the metric is an array of numbers

    def __post_init__(self) -> None:
        text(self.output, "the output of a metric")

    # ------------------------------------------------------------ formulas

    def observed_value(self, y: Operand) -> Operand:
        """Return the value of a row, from the output."""
        return y

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        """Return the slots, by formulas for a row."""
        raise NotImplementedError

    def result(self, slots: Operand, t_first: float) -> Operand:
        """Return the metric from its slots after the last row; ``t_first`` is the time of the first row."""
        return slots[0]

    def units(self, of_output: str) -> str:
        """Return the units of the metric from the units of its output."""
        return of_output

    # ------------------------------------------------------------ derived methods

    def slots(self, row: MetricRow) -> tuple[Slot, ...]:
        """Return all slots; if the metric keeps rows, the last two are time and value of this row."""
        kept = (Slot(LAST, row.t), Slot(LAST, row.y)) if self.keeps_row else ()
        return (*self.own_slots(row), *kept)

    def row(self, t: object, y: object, slots: Sequence[object]) -> MetricRow:
        """Return a row, with the previous row from the slots."""
        return MetricRow(t, self.observed_value(y), *(slots[-2:] if self.keeps_row else ()))

    @property
    def start(self) -> tuple[float, ...]:
        """The values of the slots before the first row."""
        return tuple(slot.reduction.start for slot in self.slots(MetricRow(nan, nan)))

    @property
    def size(self) -> int:
        """The number of numbers in the metric."""
        return 1

    def value(self, slots: np.ndarray, t_first: float) -> np.ndarray:
        """Return the metric of many runs from their slots, one column per run."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.result(slots, t_first))

    def slots_of(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        """Return the slots after all rows of a history."""
        seen = self.observed_value(values)
        before = (np.concatenate([[nan], a[:-1]]) for a in (time, seen))
        found = []
        with np.errstate(divide="ignore", invalid="ignore"):
            slots = self.slots(MetricRow(time, seen, *before))
        for reduction, value, where in slots:
            every = np.broadcast_to(value, time.shape)
            kept = every if where is None else every[where]
            found.append(reduction.whole(kept) if kept.size else reduction.start)
        return found

    def of(self, time: object, values: object) -> Operand:
        """Return the metric of a history: a number, or an array for a histogram."""
        t, y = np.asarray(time, dtype=float), np.asarray(values, dtype=float)
        if not len(t):
            return np.full(self.size, nan) if self.several else nan
        found = self.value(np.array(self.slots_of(t, y))[:, None], float(t[0]))[0]
        return found if self.several else float(found)

    # ------------------------------------------------------------ text

    def __str__(self) -> str:
        others = [getattr(self, f.name) for f in fields(self)[1:]]
        return f"{self.kind}({', '.join(map(str, [self.output, *others]))})"

    @classmethod
    def read(cls, arguments: str, text: str) -> Metric:
        """Return the metric from the arguments in its text; outputs' names may have commas and brackets."""
        return cls(_metric_name(arguments, text))


class Final(Metric):
    """The last value."""

    kind = "final"

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        return (Slot(LAST, row.y),)


class Minimum(Metric):
    """The smallest value."""

    kind = "minimum"

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        return (Slot(SMALLEST, row.y),)


class Maximum(Metric):
    """The largest value."""

    kind = "maximum"

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        return (Slot(LARGEST, row.y),)


class Mean(Metric):
    """The mean over time, by the trapezoidal rule between rows."""

    kind = "mean"
    keeps_row = True

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        area = 0.5 * (row.t - row.t_before) * (row.y + row.y_before)
        return (Slot(SUM, area, row.has_predecessor),)

    def result(self, slots: Operand, t_first: float) -> Operand:
        total, t, y = slots
        return fn.select(t - t_first > 0.0, total / (t - t_first), y)


class Rms(Mean):
    """The root of the mean square over time."""

    kind = "rms"

    def observed_value(self, y: Operand) -> Operand:
        return y * y

    def result(self, slots: Operand, t_first: float) -> Operand:
        return fn.sqrt(super().result(slots, t_first))


@dataclass(frozen=True)
class Crossing(Metric):
    """The time at which a value first crosses a level, interpolated linearly; NaN if it never does.

    A value that starts on the level has not crossed it.
    """

    level: float = 0.0
    direction: str = "either"
    kind: ClassVar[str] = "crossing"
    keeps_row: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.direction, str) or self.direction not in DIRECTIONS:
            raise ArmillaryError(
                f"a crossing is {', '.join(DIRECTIONS)}, not '{self.direction}'"
                f"{nearest(self.direction, DIRECTIONS)}"
            )
        if plain_float(self.level) is None or not isfinite(self.level):
            raise ArmillaryError(f"the level of a crossing must be a finite number, not {self.level!r}")

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        # Named values are computed as written; otherwise simplification would merge these sums and quotients.
        above = fn.named(row.y - self.level, "above")
        before = fn.named(row.y_before - self.level, "above_before")
        part = fn.named(before / (before - above), "part")
        rising, falling = fn.and_(before < 0.0, above >= 0.0), fn.and_(before > 0.0, above <= 0.0)
        crossed = {1: rising, -1: falling, 0: fn.or_(rising, falling)}[DIRECTIONS[self.direction]]
        return (Slot(FIRST, row.t_before + (row.t - row.t_before) * part, crossed),)

    def units(self, of_output: str) -> str:
        return "s"

    @classmethod
    def read(cls, arguments: str, text: str) -> Metric:
        parts, direction = arguments.rsplit(",", 2), "either"
        if len(parts) == 3 and _is_number(parts[1]) and not _is_number(parts[2]):
            direction = parts.pop().strip()  # the constructor checks it
        elif parts[-1].strip() in DIRECTIONS:
            direction = parts.pop().strip()
        else:
            parts = arguments.rsplit(",", 1)
        if len(parts) != 2:
            raise ArmillaryError(
                f"'{text}': write crossing(output, level) or crossing(output, level, rising)"
            )
        return cls(_metric_name(parts[0], text), _metric_number(parts[1], text), direction)


@dataclass(frozen=True)
class Histogram(Metric):
    """The number of rows in each of ``bins`` equal bins between ``low`` and ``high``, ends included."""

    low: float = 0.0
    high: float = 1.0
    bins: int = 10
    kind: ClassVar[str] = "histogram"
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds = (plain_float(self.low), plain_float(self.high))
        if any(x is None or not isfinite(x) for x in bounds) or not self.low < self.high:
            raise ArmillaryError(
                f"the histogram of '{self.output}' needs bounds low < high, not {self.low} and {self.high}"
            )
        bins = positive_whole(self.bins)
        if bins is None or bins > 200:
            raise ArmillaryError(
                f"the histogram of '{self.output}' needs a whole number of bins from 1 to 200, "
                f"not {self.bins}"
            )
        object.__setattr__(self, "bins", bins)

    @property
    def edges(self) -> np.ndarray:
        return np.linspace(self.low, self.high, self.bins + 1)

    @property
    def size(self) -> int:
        return self.bins

    def own_slots(self, row: MetricRow) -> tuple[Slot, ...]:
        y, edges, last = row.y, self.edges.tolist(), self.bins - 1
        below = [y <= edge if i == last else y < edge for i, edge in enumerate(edges[1:])]
        return tuple(Slot(SUM, 1.0, fn.and_(y >= edges[i], below[i])) for i in range(self.bins))

    def result(self, slots: Operand, t_first: float) -> Operand:
        return slots.T

    def units(self, of_output: str) -> str:
        return ""

    @classmethod
    def read(cls, arguments: str, text: str) -> Metric:
        parts = arguments.rsplit(",", 3)
        if len(parts) != 4:
            raise ArmillaryError(f"'{text}': write histogram(output, low, high, bins)")
        low, high, bins = (_metric_number(part, text) for part in parts[1:])
        # mypy: the constructor checks its arguments.
        return cls(_metric_name(parts[0], text), low, high, bins)  # type: ignore[arg-type]


KINDS: dict[str, type[Metric]] = {
    m.kind: m for m in (Final, Minimum, Maximum, Mean, Rms, Crossing, Histogram)
}
_SHORT = {"min": "minimum", "max": "maximum", "last": "final", "average": "mean"}


def read_metric(text: str) -> Metric:
    """Return a metric from its text: kind(output) or kind(output, number, …)."""
    kind, bracket, rest = text.strip().partition("(")
    kind = _SHORT.get(kind.strip(), kind.strip())
    if kind not in KINDS:
        first = _SHORT.get(kind.split()[0], kind.split()[0]) if kind.split() else ""
        known = ", ".join(f"{name}(output)" for name in KINDS)
        hint = f"; write {first}(output)" if first in KINDS else nearest(kind, KINDS)
        raise ArmillaryError(f"'{text}' is not a metric{hint or f'; write one of {known}'}")
    if not bracket or not rest.endswith(")"):
        raise ArmillaryError(f"'{text}' is not a metric; write {kind}(output) without further text")
    return KINDS[kind].read(rest[:-1], text)


def _metric_name(part: str, text: str) -> str:
    if not part.strip():
        raise ArmillaryError(f"'{text}' names no output")
    return part.strip()


def _is_number(part: str) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _metric_number(part: str, text: str) -> float:
    if not _is_number(part):
        raise ArmillaryError(
            f"'{text}': '{part.strip()}' is not a number; give a number without units, in the output's units"
        )
    return float(part)


Metrics = Mapping[str, Metric | str] | Sequence[Metric | str]


def read_metrics(metrics: Metrics | None) -> dict[str, Metric]:
    """Return metrics by name; metrics in a list are named by their texts."""
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    if metrics is not None and not isinstance(metrics, Iterable):
        raise ArmillaryError(f"metrics= must be texts by name, or a list of them, not {metrics!r}")
    listed = [] if metrics is None else metrics
    entries = metrics.items() if isinstance(metrics, Mapping) else [(str(m).strip(), m) for m in listed]
    found: dict[str, Metric] = {}
    for name, entry in entries:
        if not isinstance(entry, str | Metric):
            raise ArmillaryError(f"metric '{name}' must be a text or a metric, not {entry!r}")
        if name in found:
            raise ArmillaryError(f"there are two metrics '{name}'")
        found[name] = read_metric(entry) if isinstance(entry, str) else entry
    return found
