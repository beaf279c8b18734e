"""Speeds and accelerations of a mechanism along its path, singular positions, and other landmarks.

    A u = ċ* − b        A u̇ = c̈* − γ

are solved for all positions at once, with rows and columns of A divided by their sizes. At a singular
position the driven quantities do not determine the motion. The smallest singular value of A measures how far
a position is from a singular one. Landmarks are limits of reach, singular positions, and turning points of
outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.analysis.kinematics.follower import FollowedRows
from armillary.analysis.kinematics.mechanism import MechanismNumbers
from armillary.errors import ArmillaryError
from armillary.text_tables import counted

SINGULAR = 1e-6  # a position is singular if the smallest singular value of A, scaled, is at most this
_WEAK = 1e-11  # singular values below this share of the largest count as zero
_CONTRADICTED = 1e-8  # largest relative residual of constraints on speeds


@dataclass(frozen=True, eq=False)
class PathMotion:
    """A mechanism at all rows of a path: its matrices, speeds, accelerations and outputs."""

    numbers: MechanismNumbers
    times: np.ndarray
    positions: np.ndarray

    @cached_property
    def _matrices(self) -> tuple[np.ndarray, np.ndarray]:
        return self.numbers.matrices(self.times, self.positions)

    @cached_property
    def _scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """A with rows and columns divided by their sizes, and the weights of its rows."""
        A = self._matrices[0] * self.numbers.sizes
        size = np.max(np.abs(A), axis=2, initial=0.0)
        gaps = self.numbers.mechanism.gaps
        size[:, :gaps] = np.maximum(
            size[:, :gaps], 1e-4 * np.max(size[:, :gaps], axis=1, initial=0, keepdims=True)
        )
        weights = 1.0 / np.where(size > 0.0, size, 1.0)
        return A * weights[:, :, None], weights

    @cached_property
    def _inverses(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Results of `_inverse` that are kept, by the number of rows of A."""
        return {}

    def _inverse(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return A⁻¹ and the strength 1/|A⁻¹| of each position, for the first ``count`` rows of A.

        If A is singular or not square, return the pseudoinverse and the smallest singular value instead.
        """
        if count not in self._inverses:
            self._inverses[count] = _inverses(self._scaled[0][:, :count])
        return self._inverses[count]

    @cached_property
    def strength(self) -> np.ndarray:
        """Approximate smallest singular value 1/|A⁻¹| of the rows of A that determine positions; 0 at a
        singular position.
        """
        m = self.numbers.mechanism
        if m.static and m.redundant:  # no position determines the forces of redundant constraints
            A = self._scaled[0][:, : m.closing]
            return np.asarray(np.linalg.svd(A, compute_uv=False)[:, -1 - m.redundant])
        return self._inverse(m.closing)[1]

    @cached_property
    def orientation(self) -> np.ndarray:
        """The sign of det A, which changes across a singular position; 0 if A is not square."""
        A = self._scaled[0][:, : self.numbers.mechanism.closing]
        return np.linalg.slogdet(A)[0] if A.shape[1] == A.shape[2] and A.shape[1] else np.zeros(len(A))

    @cached_property
    def determinant(self) -> np.ndarray:
        found: np.ndarray = np.linalg.det(self._scaled[0][:, : self.numbers.mechanism.closing])
        return found

    def weakest(self, row: int) -> tuple[list[str], list[str]]:
        """Return the names of the constraints and of the speeds that take part in the motion with the
        smallest singular value.
        """
        m = self.numbers.mechanism
        U, _, V = np.linalg.svd(self._scaled[0][row, : m.closing])
        last = min(U.shape[0], V.shape[0]) - 1
        left, right = np.abs(U[: m.gaps + len(m.driven), last]), np.abs(V[last, : len(m.kinematics.u)])
        rows = [m.rows[i] for i in _largest_places(left)]
        constraints = [r.constraint.name for r in rows if r.constraint is not None]
        names = [m.kinematics.speeds[j].data.name for j in _largest_places(right)]
        return constraints, names

    def _solve(self, right: np.ndarray, clock: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the least-norm solution of A y = right, and the residual of each row relative to its size.

        Rows of constraints on speeds apply only to motions in time (``clock`` is not 0), not to derivatives
        by driven quantities.
        """
        count = right.shape[1] if clock else self.numbers.mechanism.closing
        A, scaled = self._scaled[0][:, :count], (self._scaled[1] * right)[:, :count]
        y = np.einsum("rij,rj->ri", self._inverse(count)[0], scaled)
        left = np.einsum("rij,rj->ri", A, y) - scaled
        return y * self.numbers.sizes, left

    def speeds(self, driven: np.ndarray, clock: float) -> np.ndarray:
        """Return u of all rows; ``driven`` has the rates of the targets, one row per position."""
        m = self.numbers.mechanism
        right = -clock * self._matrices[1]
        right[:, m.gaps : m.closing] += driven
        u, left = self._solve(right, clock)
        self._check(left, right)
        return u

    def accelerations(self, u: np.ndarray, driven: np.ndarray, clock: float) -> np.ndarray:
        """Return u̇ of all rows at speeds u; ``driven`` has the second rates of the targets."""
        m = self.numbers.mechanism
        moving = self.numbers.with_motion(self.positions, clock, u)
        right = -self.numbers("bias", self.times, moving)
        right[:, m.gaps : m.closing] += driven
        return self._solve(right, clock)[0]

    def _check(self, left: np.ndarray, right: np.ndarray) -> None:
        """Raise an error if constraints of speeds contradict the driven rates."""
        m = self.numbers.mechanism
        sound = self.strength > SINGULAR
        scale = 1.0 + np.max(np.abs(self._scaled[1] * right), axis=1, initial=0.0)
        off = np.abs(left[:, m.closing :]) / scale[:, None]
        if off.size and np.max(off[sound], initial=0.0) > _CONTRADICTED:
            row = m.rows[m.closing + int(np.argmax(np.max(off[sound], axis=0)))]
            raise ArmillaryError(
                f"constraint '{row.name}' ({row.about}) contradicts the speeds of driven quantities; drive "
                "quantities whose speeds agree with it, or leave out speeds="
            )

    def outputs_at_rest(self) -> np.ndarray:
        """Return the outputs at rest."""
        return self.numbers("shown", self.times, self.numbers.with_motion(self.positions, 0.0))

    def moving(self, u: np.ndarray, a: np.ndarray, clock: float) -> tuple[np.ndarray, np.ndarray]:
        """Return outputs at speeds u, and rates: first rates of all outputs, then second rates of position
        outputs.
        """
        moving = self.numbers.with_motion(self.positions, clock, u, a)
        return self.numbers("shown", self.times, moving), self.numbers("rates", self.times, moving)


def _inverses(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverses of many matrices and 1/norm of each inverse.

    A matrix that is singular or not square has its pseudoinverse and its smallest singular value instead.
    """
    count, height, width = A.shape
    if not height or not width:
        return np.zeros((count, width, height)), np.ones(count)
    weak = np.ones(count, dtype=bool)
    found, strength = np.zeros((count, width, height)), np.zeros(count)
    if height == width:
        try:
            found = np.linalg.inv(A)
            strength = 1.0 / np.linalg.norm(found, axis=(1, 2))
            weak = ~(strength > _WEAK)
        except np.linalg.LinAlgError:  # one of the matrices is exactly singular
            pass
    if np.any(weak):
        U, lengths, V = np.linalg.svd(A[weak], full_matrices=False)
        kept = lengths > _WEAK * np.max(lengths, axis=1, keepdims=True)
        inverse = np.where(kept, 1.0 / np.where(kept, lengths, 1.0), 0.0)
        found[weak] = np.einsum("rji,rj,rkj->rik", V, inverse, U)
        strength[weak] = lengths[:, -1]
    return found, strength


def _largest_places(values: np.ndarray) -> list[int]:
    """Return the indices of values above a tenth of the largest, in descending order of value."""
    least = 0.1 * np.max(values, initial=0.0)
    return [int(i) for i in np.argsort(-values, kind="stable") if values[i] > least]


# Landmarks along a path: limits of reach, singular positions, and turning points of outputs.

_TURNS = 60  # most iterations of the search for a zero
_STIFF = 1e5  # weight of loops relative to targets, if a target cannot be reached


@dataclass(frozen=True)
class Landmark:
    """A limit of reach, a singular position or a turning point of an output.

    ``kind`` is "limit of reach", "singular" or "turning point"; ``row`` is the row at the position, or the
    end of the segment that contains it; ``at`` holds the driven quantities there. ``constraints`` and
    ``speeds`` take part in the motion that the driven quantities do not determine; ``output`` and ``value``
    describe a turning point.
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
        by = f": with this held, {', '.join(self.speeds)} can still move" if self.speeds else ""
        rows = f"; dependent constraints: {', '.join(self.constraints)}" if self.constraints else ""
        return f"{self.kind} at {where}{by}{rows}"


class Path:
    """The followed rows of a mechanism, the segments between them, and positions inside segments."""

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
        """Return positions at given fractions of segments between rows, and whether each was reached."""
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
        """Find where a value that changes its sign along segments is zero, by the Illinois method.

        All segments are searched at once.

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
    """Find where outputs of positions have an extremum along the path.

    ``slopes[i, o, d]`` are derivatives of output o by driven quantity d at row i, and ``derivative`` computes
    them at other positions.
    """
    found: list[Landmark] = []
    targets = path.motion.positions[:, path.targets]
    step = targets[path.last] - targets[path.first]
    for o, output in enumerate(path.motion.numbers.mechanism.outputs):
        before = _slope_along(slopes[path.first, o], step)
        after = _slope_along(slopes[path.last, o], step)
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
        return _slope_along(self.derivative(motion)[:, self.output], self.step)


def _slope_along(slopes: np.ndarray, step: np.ndarray) -> np.ndarray:
    count = slopes.shape[1]
    return np.asarray(np.einsum("rd,rd->r", slopes, step[:, :count]))


def _turning(path: Path, motion: PathMotion, i: int, row: int, o: int, name: str) -> Landmark:
    at = path.at(motion.positions[i], motion.times[i])
    return Landmark("turning point", row, at, output=name, value=float(motion.outputs_at_rest()[i, o]))


def singular_positions(path: Path) -> list[Landmark]:
    """Find rows at which the driven quantities do not determine the motion, and positions between rows at
    which the sign of det A changes.
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


def limits_of_reach(
    path: Path, followed: FollowedRows, targets: np.ndarray, times: np.ndarray
) -> list[Landmark]:
    """Find the position nearest to the targets of each row that was not reached, if the row's origin was
    reached.

    The method is damped least squares from the last position reached, with more weight on loops than on
    targets. The error of the driven quantities is of second order in the distance to the true limit.
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


def landmark_summary(marks: tuple[Landmark, ...]) -> str:
    """Return the number of landmarks of each kind as text."""
    kinds = list(dict.fromkeys(m.kind for m in marks))
    names = {
        "limit of reach": "limit of reach",
        "singular": "singular position",
        "turning point": "turning point",
    }
    words = [counted(sum(m.kind == k for m in marks), names[k]) for k in kinds]
    return ", ".join(w.replace("limit of reachs", "limits of reach") for w in words)
