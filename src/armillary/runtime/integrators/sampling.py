"""The times of the rows of a run."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, log10

import numpy as np

from armillary.algebra.arguments import reals
from armillary.errors import ArmillaryError
from armillary.runtime.loop.layout import SNAP

# More than this is a mistake rather than a wish: it takes the machine down before it is of use to anybody.
MOST_BYTES = 4 * 2**30
_GOOD_ROWS = 1e6


def most_rows(outputs: int) -> int:
    """Return the largest number of rows that a run keeps, given its number of outputs."""
    return MOST_BYTES // (8 * max(outputs, 1))


def check_rows(samples: SampleTimes, step: float | None, outputs: int) -> None:
    """Raise an error if the rows that are certain to come are too many; `step`: the fixed step, if any."""
    length = samples.t_end - samples.t0
    rows = float(samples.count)
    if samples.every_step:
        rows = length / step if step else 0.0
    if rows <= most_rows(outputs):
        return
    size, wiser = _size(8.0 * rows * max(outputs, 1)), _round_up(length / _GOOD_ROWS)
    give = "give" if samples.every_step else "give a larger"
    raise ArmillaryError(
        f"this would record {rows:.3g} rows of {outputs} outputs ({size}); "
        f"{give} sample=, e.g. sample={wiser:g}"
    )


def _size(count: float) -> str:
    """Return a number of bytes in words."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 1e6:.3g} MB"


def _round_up(seconds: float) -> float:
    """Return the next larger number of 1, 2, 5, 10, …, up to rounding."""
    decade = 10.0 ** floor(log10(seconds))
    return next(m * decade for m in (1, 2, 5, 10, 20) if m * decade >= seconds * (1 - 1e-9))


class SampleTimes:
    """Times t₀ + i·sample up to the end, or given ones, or None: the end of every step.

    Each is computed from i, never added up. The last one is the end exactly if it differs from the end by
    rounding alone.
    """

    def __init__(self, sample: float | Sequence[float] | np.ndarray | None, t0: float, t_end: float) -> None:
        self.t0 = t0
        self.t_end = t_end
        self.every_step = sample is None
        self.interval = 0.0
        self.given: np.ndarray | None = None
        self.count = 0
        if sample is None:
            return
        times = reals(sample, "sample")
        if times.ndim:
            self.given = _check_times(times, t0, t_end)
            self.count = len(self.given)
        else:
            self.interval = float(times)
            if not 0.0 < self.interval < np.inf:
                raise ArmillaryError(f"the time between samples must be positive, not {sample}")
            intervals = (t_end - t0) / self.interval
            if intervals == inf:
                raise ArmillaryError(f"the time between samples, {sample} s, is too short for any run")
            near = abs(intervals - round(intervals)) <= 1e-9 + 4 * np.spacing(intervals)
            self.ends_on_sample = near and (round(intervals) > 0 or t_end == t0)
            self.count = 1 + (round(intervals) if self.ends_on_sample else floor(intervals))

    def times(self, start: int, stop: int) -> np.ndarray:
        """Return the times of rows `start` … `stop` − 1, infinity beyond the last."""
        result = np.full(stop - start, np.inf)
        known = min(stop, self.count) - start
        if known > 0:
            if self.given is not None:
                result[:known] = self.given[start : start + known]
            else:
                result[:known] = self.t0 + np.arange(start, start + known) * self.interval
                if self.ends_on_sample and start + known == self.count:
                    result[known - 1] = self.t_end
        return result

    def on_grid(self, step: float) -> bool:
        """Return whether every time is a grid point t₀ + i·step or the end, so that none lies inside
        a step.
        """
        if self.every_step:
            return True
        if self.given is None:
            stride = round(min(self.interval / step, 2.0**53))
            strays = abs(self.interval - stride * step) * (self.count - 1)
            last = self.times(self.count - 1, self.count)[0]
            return bool(stride and strays <= 0.5 * SNAP * step and self._meets_end(last, step))
        nearest = self.t0 + np.rint((self.given - self.t0) / step) * step
        near = np.abs(nearest - self.given) <= 0.5 * SNAP * step
        return bool(np.all((near | (self.given == self.t_end)) & self._meets_end(self.given, step)))

    def _meets_end(self, times: np.ndarray, step: float) -> np.ndarray:
        """Return which times are the end or clearly before it: a grid point near the end is moved there."""
        found: np.ndarray = (times == self.t_end) | (times < self.t_end - 2 * SNAP * step)
        return found


def _check_times(given: np.ndarray, t0: float, t_end: float) -> np.ndarray:
    times = given + 0.0  # a copy, in which a zero has no sign
    if times.ndim != 1 or not np.all(np.diff(times) > 0):
        raise ArmillaryError("sample times must be a one-dimensional array of increasing numbers")
    if len(times) and not (times[0] >= t0 and times[-1] <= t_end):
        raise ArmillaryError(
            f"sample times must lie between {t0} and {t_end}; they reach from {times[0]} to {times[-1]}"
        )
    return times
