"""Two runs side by side: the largest difference of every output they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armillary.errors import ArmillaryError, nearest

# Two samples belong to the same instant when their times differ by no more than this part of the interval:
# above what rounding does to a sum of 100,000 steps (3e-12, measured), far below any sampling step.
_SAME_INSTANT = 1e-10


class Difference(NamedTuple):
    """The largest difference of one output: `absolute` at `time`, and `relative` to its largest magnitude."""

    name: str
    units: str
    absolute: float
    relative: float
    time: float


@dataclass(frozen=True)
class Comparison:
    """Differences of the common outputs at the instants both runs have; print it for a table."""

    differences: tuple[Difference, ...]
    instants: int

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def __getitem__(self, name: str) -> Difference:
        for difference in self.differences:
            if difference.name == name:
                return difference
        known = [difference.name for difference in self.differences]
        raise ArmillaryError(f"no output '{name}' was compared{nearest(name, known)}")

    def __str__(self) -> str:
        rows = [("output", "units", "absolute", "relative", "at time")]
        rows += [(d.name, d.units, f"{d.absolute:.3e}", f"{d.relative:.3e}", f"{d.time:.6g}") for d in self]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = [
            f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  "
            + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True))
            for row in rows
        ]
        return "\n".join([f"largest differences at {self.instants} common instants", *lines])


def shared_instants(here: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the samples that two increasing time axes have in common, up to rounding.

    Values between samples are not interpolated: the error of that would pass for a difference of the runs.
    """
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


def largest_differences(
    time: np.ndarray,
    here: Mapping[str, np.ndarray],
    there: Mapping[str, np.ndarray],
    units: Mapping[str, str],
) -> Comparison:
    """The comparison of two sets of equally long columns with equal names, sampled at `time`.

        absolute = max |a − b|,    relative = max |a − b| / max(|a|, |b|)

    Each maximum runs over all instants, so a signal's zero crossings do not blow up its relative difference.
    Equal infinities, and NaN against NaN, count as no difference; NaN against a number gives NaN.
    """
    differences = []
    for name, a in here.items():
        b = there[name]
        agree = (a == b) | (np.isnan(a) & np.isnan(b))
        # Infinities are subtracted where they agree too, and overflow is a legitimate (infinite) difference.
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.where(agree, 0.0, np.abs(a - b))
        magnitudes = np.abs(np.concatenate([a, b]))
        scale = np.max(magnitudes, where=np.isfinite(magnitudes), initial=0.0)
        worst = int(np.argmax(gap))  # a NaN, if there is one
        absolute = float(gap[worst])
        with np.errstate(divide="ignore", over="ignore"):
            relative = float(np.divide(absolute, scale)) if absolute else 0.0
        differences.append(Difference(name, units[name], absolute, relative, float(time[worst])))
    return Comparison(tuple(differences), time.size)
