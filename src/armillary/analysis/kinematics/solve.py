"""Inverse kinematics: positions at which outputs have given values.

From each of several starts, damped least squares on all conditions at once, gaps of loops included, is
followed by Newton's method. If there are more freedoms than outputs, steps of least length select one of the
solutions. If no start reaches the outputs, the nearest position is found for the error message; loops and
limits then have more weight than the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from armillary.algebra.arguments import count as whole_number
from armillary.algebra.arguments import several, table
from armillary.algebra.units import ONE
from armillary.analysis.kinematics.drives import Drive, PathStart, freedom, read_drive, start_of
from armillary.analysis.kinematics.follower import FollowedRows
from armillary.analysis.kinematics.mechanism import (
    KinematicQuantity,
    Kinematics,
    MechanismNumbers,
    joint_model,
    kinematics_of,
    mechanism_of,
    shown_quantities,
)
from armillary.analysis.kinematics.motion import PathMotion
from armillary.analysis.kinematics.result import Solutions, SweepColumns
from armillary.errors import ArmillaryError, shown
from armillary.numerics.scatter import ScatterNumbers
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import Initial
from armillary.text_tables import counted

_STIFF = 1e5  # weight of loops and limits relative to outputs, if the outputs cannot be reached
_SAME = 1e-6  # distance, in radians or model units, below which two solutions are the same
_FREE = 1e30  # stands for a missing limit
_KEPT = 1e-4  # largest residual of loops and limits if outputs cannot be reached
_HELD_BACK = 1e-7  # distance to a limit, as a share of the range, below which errors name the limit


class ReachError(ArmillaryError):
    """The error for values of outputs that no position has; ``nearest`` has the nearest values found."""

    def __init__(self, message: str, nearest: Mapping[str, float] | None = None) -> None:
        super().__init__(message)
        self.nearest = dict(nearest or {})


def solve(
    model: CompiledModel,
    outputs: Mapping[str, object],
    *,
    limits: Mapping[str, object] | None = None,
    held: Sequence[str] | None = None,
    start: Initial = None,
    starts: int = 20,
    shown: Sequence[str] | None = None,
    parameters: Mapping[str, object] | None = None,
    time: float | str = 0.0,
) -> Solutions:
    """Return positions at which ``outputs`` of positions, or coordinates, have given values.

    If the values are numbers, ``starts`` is the number of positions from which solutions are searched: the
    position with the initial values ``start``, as for ``simulate``, and random positions around it. All
    different solutions that are found are returned; only one, if there are more freedoms than outputs. If the
    values are arrays of one length, they are a path, and the solution of each row is found from that of the
    row before. ``limits`` has pairs (low, high) by coordinate or output, ``held`` names coordinates that keep
    their start values, ``shown`` names further outputs as columns. An error names the outputs that cannot be
    reached and the nearest values.
    """
    base = joint_model(model)
    kinematics = kinematics_of(base)
    drive = read_drive(kinematics, outputs, "solve", time)
    asked = [kinematics.position(name, "solve") for name in drive.names]
    names = [] if held is None else several(held, "held=")
    fixed = [kinematics.position(name, "held=") for name in names]
    bounds = _read_limits(kinematics, limits)
    if not asked:
        raise ArmillaryError("solve: give outputs with the values that they shall have, {'x': 0.3}")
    if (given := len(asked) + len(fixed)) > (free := freedom(kinematics)):
        raise ArmillaryError(
            f"solve: {given} outputs are given, but '{kinematics.system.name}' has "
            f"{counted(free, 'degree')} of freedom; give fewer"
        )
    columns = shown_quantities(kinematics, drive.names, shown)
    mechanism = mechanism_of(kinematics, [*asked, *fixed], columns, list(bounds))
    begin = start_of(base, start, parameters, float(drive.times[0]))
    numbers = MechanismNumbers(mechanism, parameters, begin.place.memory)
    search = _Search(numbers, drive, begin, list(bounds.values()), whole_number(starts, "starts="))
    if len(drive) > 1:
        found = search.path()
    else:
        found = search.solutions(given < free)
        each = len(found.times)
        drive = replace(drive, values=np.tile(drive.values, (each, 1)), times=found.times, shape=(each,))
    table_of = SweepColumns(mechanism, drive, PathMotion(numbers, found.times, found.positions), found.found)
    table_of.add_outputs()
    return table_of.result(base, parameters, (), kind=Solutions)


def _read_limits(
    kinematics: Kinematics, limits: Mapping[str, object] | None
) -> dict[KinematicQuantity, tuple[float, float]]:
    """Return the limits (low, high) of coordinates and outputs, in their stated units."""
    found: dict[KinematicQuantity, tuple[float, float]] = {}
    for name, pair in table(limits, "limits=").items():
        x = kinematics.position(name, "limits=")
        try:
            ends = zip(pair, (-_FREE, _FREE), strict=True)
            low, high = (end if side is None else float(side) for side, end in ends)
        except (TypeError, ValueError, OverflowError):
            raise ArmillaryError(
                f"limits= '{name}': give (low, high), either of which may be None, not {shown(pair)}"
            ) from None
        if not low < high:
            raise ArmillaryError(f"limits= '{name}': {low:.6g} is not below {high:.6g}")
        found[x] = (max(low, -_FREE), min(high, _FREE))
    return found


class _Search:
    """The search for solutions from several starts."""

    def __init__(
        self,
        numbers: MechanismNumbers,
        drive: Drive,
        begin: PathStart,
        bounds: list[tuple[float, float]],
        starts: int,
    ) -> None:
        self.numbers, self.drive, self.starts = numbers, drive, starts
        m = numbers.mechanism
        self.begin, self.t = numbers.position(begin.place), begin.place.t
        held = self.begin[m.state + len(drive.names) : m.state + len(m.driven)]
        self.low, self.high = np.array(bounds).reshape(-1, 2).T
        span = self.high - self.low
        near = np.maximum(np.minimum(np.abs(self.low), np.abs(self.high)), 1.0)
        self.scale = 1.0 / np.where(span < _FREE, span, near)
        self.bounds = (self.low, self.high, self.scale)
        limits = np.column_stack(self.bounds).reshape(-1)
        rest = np.tile(np.concatenate([held, limits]), (len(drive), 1))
        self.targets = np.column_stack([drive.values, rest])

    def path(self) -> FollowedRows:
        """Return one position per row, each found from the one before."""
        first = self._from_all(self.targets[:1])
        places = np.flatnonzero(first.found)
        start = first.positions[places[0]] if len(places) else self.begin
        origins = np.arange(len(self.drive))
        return self.numbers.follow(
            start[None], np.array([self.t]), origins, self.drive.times, self.targets, descend=True
        )

    def solutions(self, many: bool) -> FollowedRows:
        """Return all different solutions, the one from the given start first.

        If ``many``, there are infinitely many, and only the first that is found is returned.
        """
        found = self._from_all(self.targets)
        if not np.any(found.found):
            raise self._reach_error(found)
        kept: list[int] = []
        for i in np.flatnonzero(found.found):
            if not any(self._same(found.positions[i], found.positions[j]) for j in kept):
                kept.append(int(i))
            if many:
                break
        return FollowedRows(found.positions[kept], found.times[kept], found.reached[kept], found.off[kept])

    def _from_all(self, target: np.ndarray) -> FollowedRows:
        starts = self._scatter_starts()
        each = len(starts)
        return self.numbers.follow(
            starts, np.full(each, self.t), np.arange(each), np.full(each, self.drive.times[0]),
            np.tile(target, (each, 1)), descend=True,
        )  # fmt: skip

    def _scatter_starts(self) -> np.ndarray:
        """Return the start itself, then random positions around it.

        They differ from the start by up to half a turn, or π sizes, along every direction; coordinates with
        two limits lie anywhere between these.
        """
        m, chance = self.numbers.mechanism, ScatterNumbers()
        k, n = m.kinematics, len(m.kinematics.u)
        found = np.tile(self.begin, (self.starts, 1))
        motions = self.numbers("closing", self.t, self.begin[None])[0][len(m.conditions.stiff) :]
        motions = motions[len(m.conditions.places) :]
        reach = np.pi * self.numbers.motion_sizes
        for row in found[1:]:
            delta = chance.spread(1.0, n) * reach
            for place, along, rate in zip(m.conditions.moved, m.conditions.along, motions, strict=True):
                row[place] += rate * delta[along]
            for start in k.quaternions:
                row[start : start + 4] = chance.spread(1.0, 4)
                row[start : start + 4] /= np.linalg.norm(row[start : start + 4])
            share = 0.5 + 0.5 * chance.spread(1.0, len(m.limited))
            for x, low, high, s in zip(m.limited, self.low, self.high, share, strict=True):
                if x.name in k.coordinates and high - low < _FREE:
                    row[k.coordinates.index(x.name)] = (low + s * (high - low)) / x.scale
        return found

    def _same(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Return whether two positions are the same up to whole turns and signs of Euler parameters."""
        k = self.numbers.mechanism.kinematics
        difference = a[: len(k.q)] - b[: len(k.q)]
        angles = np.array([k.quantities[q].dimension is ONE for q in k.coordinates])
        for start in k.quaternions:
            four = slice(start, start + 4)
            angles[four] = False
            if a[four] @ b[four] < 0.0:
                difference[four] = a[four] + b[four]
        difference = np.where(angles, np.remainder(difference + np.pi, 2 * np.pi) - np.pi, difference)
        return bool(np.max(np.abs(difference), initial=0.0) < _SAME)

    def _reach_error(self, found: FollowedRows) -> ReachError:
        """Return the error for unreachable outputs, with the nearest position that keeps loops and limits."""
        m, numbers = self.numbers.mechanism, self.numbers
        each = len(found.times)
        near = numbers.follow(
            found.positions, found.times, np.arange(each), found.times, np.tile(self.targets, (each, 1)),
            descend=True, weight=_STIFF,
        )  # fmt: skip
        outputs = slice(m.gaps, m.gaps + len(m.driven))
        F = numbers("closing", near.times, near.positions)[:, : len(m.conditions.stiff)]
        sound = np.max(np.abs(np.delete(F, outputs, axis=1)), axis=1, initial=0.0) < _KEPT
        left = np.linalg.norm(F[:, outputs], axis=1)
        best = [int(np.argmin(np.where(sound & np.isfinite(left), left, np.inf)))]
        values = numbers.values(near.positions[best], near.times[best])[0]
        limited = numbers("limited", near.times[best], near.positions[best])[0]
        count, wanted = len(self.drive.names), self.targets[0]
        nearest = {d.name: float(v) for d, v in zip(m.driven[:count], values, strict=False)}
        size = max(1e-12, 1e-7 * float(np.max(np.abs(wanted[:count]), initial=0.0)))
        missed = [
            f"{d.name} = {w:.6g} (nearest {v:.6g}) {label_units(d.units)}".rstrip()
            for d, v, w in zip(m.driven[:count], values, wanted, strict=False)
            if abs(v - w) > size
        ]
        at = [
            f"{q.name} at {low if value - low < high - value else high:.6g}"
            for q, value, low, high, s in zip(
                m.limited, limited, self.low, self.high, self.scale, strict=True
            )
            if min(value - low, high - value) * s < _HELD_BACK
        ]
        by = f"; limits hold back {', '.join(at)}" if at else ""
        return ReachError(
            f"no position of '{m.kinematics.system.name}' was found from {self.starts} starts with "
            f"{', '.join(missed)}{by}; change these, or begin near a solution (start=, or "
            "--set initial.NAME=VALUE on the command line)",
            nearest,
        )
