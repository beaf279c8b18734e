"""Positions of note along a path: limits of reach, singular positions, and turning points of outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from armillary.analysis.kinematics.follower import Followed
from armillary.analysis.kinematics.mechanism.motion import SINGULAR, PathMotion
from armillary.columns import counted

_TURNS = 60
_STIFF = 1e5  # weight of loops over targets where a target cannot be reached


@dataclass(frozen=True)
class Landmark:
    """A position of note.

    ``kind`` is "limit of reach", "singular" or "turning point", ``row`` the row at or after which it is met,
    ``at`` holds the driven quantities there. ``constraints`` and ``speeds`` take part in the motion that the
    driven quantities do not decide; ``output`` and ``value`` are those of a turning point.
    """

    kind: str
    row: int
    at: Mapping[str, float]
    constraints: tuple[str, ...] = ()
    speeds: tuple[str, ...] = ()
    output: str = ""
    value: float | None = None

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value:.9g}" for name, value in self.at.items())
        if self.kind == "turning point":
            return f"turning point of {self.output} = {self.value:.9g} at {where}"
        by = f": with that held, {', '.join(self.speeds)} can still move" if self.speeds else ""
        rows = f"; it repeats {', '.join(self.constraints)}" if self.constraints else ""
        return f"{self.kind} at {where}{by}{rows}"


class Path:
    """Rows that were followed, and the means to look between them."""

    def __init__(
        self, motion: PathMotion, found: np.ndarray, origins: np.ndarray, names: tuple[str, ...]
    ) -> None:
        self.motion, self.found, self.origins, self.names = motion, found, origins, names
        m = motion.numbers.mechanism
        self.targets = slice(m.state, m.state + len(m.targets))
        rows = np.flatnonzero(origins >= 0)
        both = found[rows] & found[origins[rows]]
        self.last, self.first = rows[both], origins[rows][both]  # ends of all segments

    def at(self, position: np.ndarray, time: float) -> dict[str, float]:
        m = self.motion.numbers.mechanism
        values = zip(m.driven, position[m.state :], strict=False)
        shown = {d.name: float(v) for d, v in values} | {"time": float(time)}
        return {name: shown[name] for name in self.names}

    def between(
        self, first: np.ndarray, last: np.ndarray, share: np.ndarray
    ) -> tuple[PathMotion, np.ndarray]:
        """Positions at shares of the way between rows, and whether each was reached."""
        motion, numbers = self.motion, self.motion.numbers
        a, b = motion.positions[first], motion.positions[last]
        s = share[:, None]
        targets = (1 - s) * a[:, self.targets] + s * b[:, self.targets]
        times = (1 - share) * motion.times[first] + share * motion.times[last]
        found = numbers.follow(a, motion.times[first], np.arange(len(first)), times, targets)
        return PathMotion(numbers, found.times, found.positions), found.found

    def zeros(
        self, first: np.ndarray, last: np.ndarray, value: Callable[[PathMotion], np.ndarray]
    ) -> tuple[PathMotion, np.ndarray]:
        """Where a value of other sign at both ends of segments is zero: the Illinois method on all at once.

        Source: Dowell & Jarratt (1971), A modified regula falsi method, BIT 11, 168–174.
        """
        low, high = np.zeros(len(first)), np.ones(len(first))
        f_low = value(self.between(first, last, low)[0])
        f_high = value(self.between(first, last, high)[0])
        side = np.zeros(len(first))
        share, reached = low, np.ones(len(first), dtype=bool)
        for _ in range(_TURNS):
            gap = f_high - f_low
            share = np.where(gap != 0.0, low - f_low * (high - low) / np.where(gap != 0.0, gap, 1.0), low)
            share = np.clip(share, np.minimum(low, high), np.maximum(low, high))
            motion, reached = self.between(first, last, share)
            f = value(motion)
            right = np.sign(f) == np.sign(f_high)
            f_low = np.where(right & (side == 1), 0.5 * f_low, f_low)
            f_high = np.where(~right & (side == -1), 0.5 * f_high, f_high)
            high, f_high = np.where(right, share, high), np.where(right, f, f_high)
            low, f_low = np.where(right, low, share), np.where(right, f_low, f)
            side = np.where(right, 1, -1)
            if np.all((np.abs(high - low) < 1e-13) | (f == 0.0) | ~reached):
                break
        return self.between(first, last, share)


def turning_points(
    path: Path, slopes: np.ndarray, derivative: Callable[[PathMotion], np.ndarray]
) -> list[Landmark]:
    """Where outputs of positions turn back along the path.

    ``slopes[i, o, d]`` are derivatives of output o by driven quantity d at row i, and ``derivative`` computes
    them at other positions.
    """
    found: list[Landmark] = []
    targets = path.motion.positions[:, path.targets]
    step = targets[path.last] - targets[path.first]
    for o, output in enumerate(path.motion.numbers.mechanism.outputs):
        before = _along(slopes[path.first, o], step)
        after = _along(slopes[path.last, o], step)
        noise = 1e-10 * np.max(np.abs(np.concatenate([before, after])), initial=0.0)
        sign_before = np.where(np.abs(before) > noise, np.sign(before), 0.0)
        sign_after = np.where(np.abs(after) > noise, np.sign(after), 0.0)
        for i in np.flatnonzero((sign_after == 0.0) & (sign_before != 0.0)):  # a row on a turning point
            following = np.flatnonzero(path.first == path.last[i])
            if np.any(sign_after[following] * sign_before[i] < 0):
                found.append(
                    _turning(path, path.motion, int(path.last[i]), int(path.last[i]), o, output.name)
                )
        turned = sign_before * sign_after < 0
        if np.any(turned):
            last = path.last[turned]
            slope = _OutputSlope(derivative, o, step[turned])
            motion, _ = path.zeros(path.first[turned], last, slope)
            found += [_turning(path, motion, i, int(last[i]), o, output.name) for i in range(len(last))]
    return found


@dataclass(frozen=True, eq=False)
class _OutputSlope:
    """The derivative of one output along segments of the path."""

    derivative: Callable[[PathMotion], np.ndarray]
    output: int
    step: np.ndarray

    def __call__(self, motion: PathMotion) -> np.ndarray:
        return _along(self.derivative(motion)[:, self.output], self.step)


def _along(slopes: np.ndarray, step: np.ndarray) -> np.ndarray:
    count = slopes.shape[1]
    return np.asarray(np.einsum("rd,rd->r", slopes, step[:, :count]))


def _turning(path: Path, motion: PathMotion, i: int, row: int, o: int, name: str) -> Landmark:
    at = path.at(motion.positions[i], motion.times[i])
    return Landmark("turning point", row, at, output=name, value=float(motion.shown()[i, o]))


def singular_positions(path: Path) -> list[Landmark]:
    """Rows at which the driven quantities do not decide the motion, and places between rows where A changes
    its orientation.
    """
    motion = path.motion
    found = []
    weak = path.found & (motion.strength <= SINGULAR)
    for row in np.flatnonzero(weak):
        constraints, speeds = motion.weakest(int(row))
        at = path.at(motion.positions[row], motion.times[row])
        found.append(Landmark("singular", int(row), at, tuple(constraints), tuple(speeds)))
    changed = motion.orientation[path.first] * motion.orientation[path.last] < 0
    changed &= ~weak[path.first] & ~weak[path.last]
    first, last = path.first[changed], path.last[changed]
    if len(first):
        there, _ = path.zeros(first, last, lambda there: there.determinant)
        for i in range(len(first)):
            constraints, speeds = there.weakest(i)
            at = path.at(there.positions[i], there.times[i])
            found.append(Landmark("singular", int(last[i]), at, tuple(constraints), tuple(speeds)))
    return found


def limits_of_reach(path: Path, followed: Followed, targets: np.ndarray, times: np.ndarray) -> list[Landmark]:
    """For rows that were not reached from one that was: the nearest position to them.

    Damped least squares with the loops weighing more than the targets, from the last position that was
    reached; what is driven changes with the square of the distance to the true limit.
    """
    lost = np.flatnonzero(~path.found & ((path.origins < 0) | path.found[path.origins]))
    if not len(lost):
        return []
    numbers = path.motion.numbers
    begin = followed.positions[lost]
    near = numbers.follow(
        begin,
        followed.times[lost],
        np.arange(len(lost)),
        times[lost],
        targets[lost],
        descend=True,
        weight=_STIFF,
    )
    motion = PathMotion(numbers, near.times, near.positions)
    m = numbers.mechanism
    reached = numbers.values(near.positions, near.times)
    found = []
    for i, row in enumerate(lost):
        position = near.positions[i].copy()
        position[m.state : m.state + m.followed] = reached[i]
        constraints, speeds = motion.weakest(i)
        at = path.at(position, near.times[i])
        found.append(Landmark("limit of reach", int(row), at, tuple(constraints), tuple(speeds)))
    return found


def summary(marks: tuple[Landmark, ...]) -> str:
    """The number of landmarks of each kind."""
    kinds = list(dict.fromkeys(m.kind for m in marks))
    names = {
        "limit of reach": "limit of reach",
        "singular": "singular position",
        "turning point": "turning point",
    }
    words = [counted(sum(m.kind == k for m in marks), names[k]) for k in kinds]
    return ", ".join(w.replace("limit of reachs", "limits of reach") for w in words)
