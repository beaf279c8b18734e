"""Numbers that sum up a run: what a batch keeps of a motion instead of its history.

A metric looks at one output, at rows (t, y) one after another, and keeps a few numbers ("slots") from row to
row: every engine, on lanes of a processor or threads of a GPU, keeps the same ones. ``of`` computes the
metric from a whole history instead, with NumPy.

A text says a metric too: ``"maximum(tip height)"``, ``"crossing(tip height, 0.2, falling)"``,
``"histogram(tip height, 0, 1, 20)"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf, isfinite, nan
from typing import Any, ClassVar

import numpy as np

from armillary.algebra.arguments import text
from armillary.algebra.arithmetic import plain_float, positive_whole
from armillary.errors import ArmillaryError, nearest

DIRECTIONS = {"rising": 1, "falling": -1, "either": 0}


@dataclass(frozen=True)
class Metric:
    """What is kept of one output of a run."""

    output: str
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        text(self.output, "the output of a metric")

    @property
    def start(self) -> tuple[float, ...]:
        """The slots before the first row."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many numbers the metric is; 1 for all but histograms."""
        return 1

    def value(self, slots: np.ndarray, t_first: float) -> np.ndarray:
        """The metric of many runs from their slots, one column per run; ``t_first``: of the first row."""
        return slots[0]

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        """The slots after all rows of a history."""
        raise NotImplementedError

    def of(self, time: Any, values: Any) -> Any:
        """The metric of a history: a number, or an array for a histogram."""
        t, y = np.asarray(time, dtype=float), np.asarray(values, dtype=float)
        if not len(t):
            return np.full(self.size, nan) if isinstance(self, Histogram) else nan
        found = self.value(np.array(self.seen(t, y))[:, None], float(t[0]))[0]
        return found if isinstance(self, Histogram) else float(found)

    def __str__(self) -> str:
        others = [getattr(self, f.name) for f in fields(self)[1:]]
        return f"{self.kind}({', '.join(map(str, [self.output, *others]))})"


class Final(Metric):
    """The last value."""

    kind = "final"

    @property
    def start(self) -> tuple[float, ...]:
        return (nan,)

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        return [values[-1]]


class Minimum(Metric):
    """The smallest value."""

    kind = "minimum"

    @property
    def start(self) -> tuple[float, ...]:
        return (inf,)

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        return [np.min(values)]


class Maximum(Metric):
    """The largest value."""

    kind = "maximum"

    @property
    def start(self) -> tuple[float, ...]:
        return (-inf,)

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        return [np.max(values)]


class Mean(Metric):
    """The mean over time, by the trapezoidal rule between rows.

    Slots: ∫ y dt so far, and t and y of the row before.
    """

    kind = "mean"

    @property
    def start(self) -> tuple[float, ...]:
        return (0.0, nan, nan)

    def value(self, slots: np.ndarray, t_first: float) -> np.ndarray:
        total, t, y = slots
        elapsed = t - t_first
        return np.where(elapsed > 0.0, total / np.where(elapsed > 0.0, elapsed, 1.0), y)

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        total = 0.5 * np.sum(np.diff(time) * (values[1:] + values[:-1]))
        return [total, time[-1], values[-1]]


class Rms(Mean):
    """The root of the mean square over time; slots as of the mean, with y² for y."""

    kind = "rms"

    def value(self, slots: np.ndarray, t_first: float) -> np.ndarray:
        return np.sqrt(super().value(slots, t_first))

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        return super().seen(time, np.square(values))


@dataclass(frozen=True)
class Crossing(Metric):
    """The time at which a value first crosses a level, linear between rows; NaN where it never does.

    Slots: that time, and t and y of the row before. A value that starts on the level has not crossed it.
    """

    level: float = 0.0
    direction: str = "either"
    kind: ClassVar[str] = "crossing"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.direction, str) or self.direction not in DIRECTIONS:
            raise ArmillaryError(
                f"a crossing is {', '.join(DIRECTIONS)}, not '{self.direction}'"
                f"{nearest(self.direction, DIRECTIONS)}"
            )
        if plain_float(self.level) is None or not isfinite(self.level):
            raise ArmillaryError(f"the level of a crossing must be a finite number, not {self.level!r}")

    @property
    def start(self) -> tuple[float, ...]:
        return (nan, nan, nan)

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        z, sign = values - self.level, DIRECTIONS[self.direction]
        rising, falling = (z[:-1] < 0) & (z[1:] >= 0), (z[:-1] > 0) & (z[1:] <= 0)
        hits = np.flatnonzero((rising & (sign >= 0)) | (falling & (sign <= 0)))[:1]
        when = time[hits] + (time[hits + 1] - time[hits]) * (z[hits] / (z[hits] - z[hits + 1]))
        return [*when, *[nan] * (1 - len(when)), time[-1], values[-1]]


@dataclass(frozen=True)
class Histogram(Metric):
    """How many rows fall into each of ``bins`` equal bins between ``low`` and ``high``, ends included."""

    low: float = 0.0
    high: float = 1.0
    bins: int = 10
    kind: ClassVar[str] = "histogram"

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
    def start(self) -> tuple[float, ...]:
        return (0.0,) * self.bins

    @property
    def size(self) -> int:
        return self.bins

    def value(self, slots: np.ndarray, t_first: float) -> np.ndarray:
        return slots.T

    def seen(self, time: np.ndarray, values: np.ndarray) -> list[float]:
        return np.histogram(values, self.edges)[0].astype(float).tolist()


KINDS: dict[str, type[Metric]] = {
    m.kind: m for m in (Final, Minimum, Maximum, Mean, Rms, Crossing, Histogram)
}
_SHORT = {"min": "minimum", "max": "maximum", "last": "final", "average": "mean"}


def read_metric(text: str) -> Metric:
    """A metric from its text: kind(output) or kind(output, number, …).

    Names of outputs may hold commas and brackets themselves: further arguments are read from the end.
    """
    kind, bracket, rest = text.strip().partition("(")
    kind = _SHORT.get(kind.strip(), kind.strip())
    if kind not in KINDS:
        first = _SHORT.get(kind.split()[0], kind.split()[0]) if kind.split() else ""
        known = ", ".join(f"{name}(output)" for name in KINDS)
        hint = f"; write {first}(output)" if first in KINDS else nearest(kind, KINDS)
        raise ArmillaryError(f"'{text}' is no metric{hint or f'; write one of {known}'}")
    if not bracket or not rest.endswith(")"):
        raise ArmillaryError(f"'{text}' is no metric; write {kind}(output), with nothing behind the bracket")
    chosen, inside = KINDS[kind], rest[:-1]
    if chosen is Crossing:
        return _crossing(text, inside)
    if chosen is Histogram:
        parts = inside.rsplit(",", 3)
        if len(parts) != 4:
            raise ArmillaryError(f"'{text}': write histogram(output, low, high, bins)")
        low, high, bins = (_number(part, text) for part in parts[1:])
        return Histogram(_name(parts[0], text), low, high, bins)  # type: ignore[arg-type]
    return chosen(_name(inside, text))


def _crossing(text: str, inside: str) -> Crossing:
    parts, direction = inside.rsplit(",", 2), "either"
    if len(parts) == 3 and _is_number(parts[1]) and not _is_number(parts[2]):
        direction = parts.pop().strip()  # whose own check tells what it may be
    elif parts[-1].strip() in DIRECTIONS:
        direction = parts.pop().strip()
    else:
        parts = inside.rsplit(",", 1)
    if len(parts) != 2:
        raise ArmillaryError(f"'{text}': write crossing(output, level) or crossing(output, level, rising)")
    return Crossing(_name(parts[0], text), _number(parts[1], text), direction)


def _name(part: str, text: str) -> str:
    if not part.strip():
        raise ArmillaryError(f"'{text}' names no output")
    return part.strip()


def _is_number(part: str) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _number(part: str, text: str) -> float:
    if not _is_number(part):
        raise ArmillaryError(
            f"'{text}': '{part.strip()}' is no number; give a plain one, in the units of the output"
        )
    return float(part)


Metrics = Mapping[str, Metric | str] | Sequence[Metric | str]


def read_metrics(metrics: Metrics | None) -> dict[str, Metric]:
    """Metrics by name; those of a list are called by their texts."""
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
