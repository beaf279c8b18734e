"""Two runs side by side: the largest difference of every output they share, and whether it is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

import numpy as np

from armillary.algebra.arguments import from_zero, index_of_name, table
from armillary.text_tables import aligned
from armillary.untyped import DataTable, Given

# Two samples belong to the same instant if their times differ by no more than this part of the interval:
# more than the rounding error of a sum of 100,000 steps (3e-12, measured), far less than any sampling step.
_SAME_INSTANT = 1e-10

Tolerance: TypeAlias = float | tuple[float, float]


class Difference(NamedTuple):
    """The largest difference of one output: `absolute` at `time`, and `relative` to its largest magnitude.

    `allowed` is the largest difference within the tolerance; `agrees` means that it is not exceeded.
    """

    name: str
    units: str
    absolute: float
    relative: float
    time: float
    allowed: float = 0.0
    agrees: bool = False


@dataclass(frozen=True)
class Comparison:
    """Differences of the common outputs, the worst first; print it for a table and a verdict.

    `agree` is the verdict on the common outputs, `complete` means that there are no others: `only_here` and
    `only_there` are outputs of one run. `parameters` maps the names of parameters that differ to their values
    in both runs; `notes` state how the runs were compared.
    """

    differences: tuple[Difference, ...]
    instants: int
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()
    parameters: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        return all(difference.agrees for difference in self.differences)

    @property
    def complete(self) -> bool:
        return not self.only_here and not self.only_there

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def __getitem__(self, name: str) -> Difference:
        known = [difference.name for difference in self.differences]
        return self.differences[index_of_name(name, known, "the comparison has no output")]

    def __str__(self) -> str:
        rows = [("output", "units", "absolute", "relative", "allowed", "at time", "")]
        rows += [
            (
                d.name,
                d.units,
                f"{d.absolute:.3e}",
                f"{d.relative:.3e}",
                f"{d.allowed:.1e}",
                f"{d.time:.6g}",
                _mark(d),
            )
            for d in self
        ]
        lines = [f"largest differences at {self.instants} instants", *aligned(rows, "<<>>>><")]
        for where, names in (("here", self.only_here), ("there", self.only_there)):
            if names:
                lines.append(f"only {where}: {', '.join(names)}")
        for name, values in self.parameters.items():
            here, there = ("none" if value is None else f"{value:.9g}" for value in values)
            lines.append(f"parameter {name}: {here} here, {there} there")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, self.verdict])

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        off = [d.name for d in self if not d.agrees]
        if off:
            return (
                f"the runs differ: {len(off)} of {len(self)} outputs exceed their tolerance, worst {off[0]}"
            )
        same = all(d.absolute == 0 for d in self)
        found = f"the runs {'are equal' if same else 'agree'} in all {len(self)} common outputs"
        single = len(self.only_here) + len(self.only_there)
        return found if self.complete else f"{found}, and {single} {_are(single)} in one of them only"

    def as_dict(self) -> DataTable:
        """Return the comparison as plain values for JSON; a difference that is not finite is the text "nan"
        or "inf".
        """
        return {
            "agree": self.agree,
            "complete": self.complete,
            "verdict": self.verdict,
            "instants": self.instants,
            "differences": [
                {key: _replace_nonfinite(value) for key, value in difference._asdict().items()}
                for difference in self
            ],
            "only_here": list(self.only_here),
            "only_there": list(self.only_there),
            "parameters": {
                name: list(map(_replace_nonfinite, values)) for name, values in self.parameters.items()
            },
            "notes": list(self.notes),
        }


class Pair(NamedTuple):
    """Columns of two runs at the same instants, with notes on how these were found."""

    time: np.ndarray
    here: dict[str, np.ndarray]
    there: dict[str, np.ndarray]
    notes: tuple[str, ...]


class ComparedColumns(NamedTuple):
    """Samples by name over increasing times."""

    time: np.ndarray
    values: dict[str, np.ndarray]

    def between(self, first: float, last: float) -> np.ndarray:
        """Return the indices of the samples in an interval, up to rounding."""
        slack = _SAME_INSTANT * (last - first)
        return np.flatnonzero((self.time >= first - slack) & (self.time <= last + slack))

    def take(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {name: column[rows] for name, column in self.values.items()}


def pair_columns(here: ComparedColumns, there: ComparedColumns, *, interpolate: bool) -> Pair | None:
    """Return columns at common instants; `None` if there are none.

    If one run has every instant of the other, in the time that both cover, samples are taken directly.
    Otherwise, if `interpolate` is true, the run with more samples is interpolated linearly at the instants of
    the other; a note states the possible error, h²|y″|/8 from second differences.
    """
    if not here.time.size or not there.time.size:
        return None
    first, last = max(here.time[0], there.time[0]), min(here.time[-1], there.time[-1])
    ends = [(columns.time[0], columns.time[-1]) for columns in (here, there)]
    notes = (
        () if ends[0] == ends[1] else (f"compared from {first:.9g} to {last:.9g} s, which both runs cover",)
    )
    own, its = here.between(first, last), there.between(first, last)
    mine, others = shared_instants(here.time, there.time)
    if mine.size == min(own.size, its.size) or not interpolate:
        return Pair(here.time[mine], here.take(mine), there.take(others), notes) if mine.size else None
    if not own.size or not its.size:
        return None
    swap = own.size > its.size
    coarse, rows, fine = (there, its, here) if swap else (here, own, there)
    at = coarse.time[rows]
    between = {name: np.interp(at, fine.time, column) for name, column in fine.values.items()}
    error = max((_bend(column) for column in fine.values.values()), default=0.0)
    where = "here" if swap else "there"
    note = (
        f"sampled at other times: the run {where} is interpolated, to about {error:.0e} of an output's size"
    )
    mine_at, its_at = (between, coarse.take(rows)) if swap else (coarse.take(rows), between)
    return Pair(at, mine_at, its_at, (*notes, note))


def _bend(column: np.ndarray) -> float:
    """Return the estimated error of linear interpolation between the samples of a column, relative to the
    column's largest magnitude.
    """
    size = np.max(np.abs(column), where=np.isfinite(column), initial=0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        second = np.abs(np.diff(column, 2))
    return float(np.max(second, where=np.isfinite(second), initial=0.0) / (8 * size)) if size else 0.0


def shared_instants(here: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the samples that two increasing time axes have in common, up to rounding."""
    if np.array_equal(here, there):
        same = np.arange(here.size)
        return same, same
    if not here.size or not there.size:
        return np.arange(0), np.arange(0)
    right = np.clip(np.searchsorted(there, here), 0, there.size - 1)
    left = np.maximum(right - 1, 0)
    closest = np.where(np.abs(there[left] - here) < np.abs(there[right] - here), left, right)
    tolerance = _SAME_INSTANT * max(np.ptp(here), np.ptp(there))
    matched = np.flatnonzero(np.abs(there[closest] - here) <= tolerance)
    return matched, closest[matched]


class Tolerances(NamedTuple):
    """The tolerance of each output: atol + rtol times its largest magnitude.

    `special` has names or patterns (`A.*`) with a relative tolerance, or with (relative, absolute); the first
    one that matches counts.
    """

    rtol: float
    atol: float
    special: Mapping[str, Tolerance]

    def of(self, name: str) -> tuple[float, float]:
        for pattern, tolerance in table(self.special, "tolerances=").items():
            if name == pattern or fnmatchcase(name, pattern):
                relative, absolute = tolerance if isinstance(tolerance, tuple) else (tolerance, self.atol)
                what = f"tolerance of '{name}'"
                return from_zero(relative, what), from_zero(absolute, what)
        return from_zero(self.rtol, "rtol"), from_zero(self.atol, "atol")


def largest_differences(
    pair: Pair, units: Mapping[str, str], tolerances: Tolerances
) -> tuple[Difference, ...]:
    """Return the differences of a pair's columns, the largest relative one first.

        absolute = max |a − b|,    relative = max |a − b| / max(|a|, |b|)

    Each maximum is over all instants, so zero crossings of a signal do not increase its relative difference.
    Equal infinities, and NaN against NaN, count as no difference; NaN against a number gives NaN.
    """
    differences = []
    for name, a in pair.here.items():
        b = pair.there[name]
        agree = (a == b) | (np.isnan(a) & np.isnan(b))
        # a − b is invalid where equal infinities agree, and is not used there; an overflow is a difference.
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.where(agree, 0.0, np.abs(a - b))
        magnitudes = np.abs(np.concatenate([a, b]))
        scale = float(np.max(magnitudes, where=np.isfinite(magnitudes), initial=0.0))
        worst = int(np.argmax(gap))  # the place of a NaN, if there is one
        absolute = float(gap[worst])
        with np.errstate(divide="ignore", over="ignore"):
            relative = float(np.divide(absolute, scale)) if absolute else 0.0
        rtol, atol = tolerances.of(name)
        allowed = atol + rtol * scale
        agrees = absolute <= allowed
        time = float(pair.time[worst])
        differences.append(Difference(name, units[name], absolute, relative, time, allowed, agrees))
    return tuple(
        sorted(differences, key=lambda d: (d.agrees, -d.relative if d.relative == d.relative else -np.inf))
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _mark(difference: Difference) -> str:
    return "" if difference.agrees else "differs"


def _replace_nonfinite(value: object) -> Given:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
