"""Positions that closed loops can take, reached from where runs start.

The loops are moved along each direction that is free at the start, there and back, and along prescribed
motions. With two or three freedoms these ways leave most of the positions out, so walks in directions by
chance start from places that were reached; with more, no number of walks would reach them all. A step is a
tangent, q += N δ with J δ = −b dt, and the loops are closed after it by Newton's method. All walks go on
together, so that expressions are evaluated for all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.mechanics.constraints.closing.assembly import GeometryValues
from armillary.mechanics.constraints.reduction import SampledRows
from armillary.mechanics.constraints.sizes import speed_kind
from armillary.model.description import Description

_STEP = 0.16  # of the size of the quickest speed, which is a radian for a turn
_STEPS = 42  # of a walk, a little more than a turn
_WIDE = 42  # steps of all walks of one sense: with many freedoms each goes less far
_WALKS = 24
_FEW = (2, 3)  # freedoms with which the positions are searched by chance, too
_BY_CHANCE = (16, 4, 20)  # starts of these walks, directions from each, steps
_CLOSING = 6  # turns of Newton's method
_SHUT = 1e-6  # a gap that is closed, of the size of its row
_RANK = 1e-5  # singular values of J, of the largest, that count


@dataclass(frozen=True)
class ReachedPlaces:
    """Places of a motion: times and coordinates, a row each, and J with all its rows and speeds."""

    times: np.ndarray
    coordinates: np.ndarray
    jacobians: np.ndarray


def reached_places(
    system: Description, sampled: SampledRows, starts: np.ndarray | None = None
) -> ReachedPlaces:
    """Places that the loops reach from one or several starts: a row each, or where runs start."""
    walks = _Walks(system, sampled)
    starts = sampled.sample.start[None] if starts is None else starts
    found: list[tuple[float, np.ndarray]] = []
    for start in starts:
        here = walks.figures(np.zeros(1), start[None])
        free = _free(here.jacobian)[0].T
        free = free[np.max(np.abs(free), axis=1) > 0.0]
        ways = np.concatenate([free, -free])[:_WALKS]
        steps = min(_STEPS, max(_WIDE // max(len(free) * len(starts), 1), 4))
        found.append((0.0, start))
        if len(ways):
            found += walks.follow_ways(np.repeat(start[None], len(ways), axis=0), ways, steps)
        if np.any(np.abs(here.known) > 1e-12):
            found += walks.follow_ways(start[None], np.zeros((1, free.shape[1])), steps, through_time=True)
    if len(free) in _FEW:
        found += walks.by_chance(np.array([q for _, q in found]))
    times, places = np.array([t for t, _ in found]), np.array([q for _, q in found])
    return ReachedPlaces(
        times, places, walks.figures(times, places).jacobian / walks.sizes * walks.rows[:, None]
    )


class _Walks:
    """The geometry of the loops at several places at once, rows and speeds in terms of their sizes."""

    def __init__(self, system: Description, sampled: SampledRows) -> None:
        self._sample, self._layout = sampled.sample, sampled.sample.layout
        sizes = [sampled.sizes[speed_kind(u)] for u in system.speeds]
        self.sizes, self.rows = (
            np.array([float(v[0]) for v in sampled.sample(list(values))])
            for values in (sizes, sampled.row_sizes)
        )

    def figures(self, times: np.ndarray, places: np.ndarray) -> GeometryValues:
        """Φ, b, J and N at several places, in sizes."""
        with np.errstate(all="ignore"):
            numbers = self._sample.geometry(self._sample.at(times, places))
        values = np.array([np.broadcast_to(v, len(times)) for v in numbers], dtype=float).T
        found, rows = self._layout.figures(values), self.rows
        return GeometryValues(
            found.gap / rows[list(self._layout.gaps)],
            found.known / rows,
            found.jacobian * self.sizes / rows[:, None],
            found.rates * self.sizes,
        )

    def by_chance(self, reached: np.ndarray) -> list[tuple[float, np.ndarray]]:
        """Places on walks in directions by chance, from places that are spread over those reached."""
        starts, directions, steps = _BY_CHANCE
        chosen = np.linspace(0, len(reached) - 1, min(starts, len(reached))).astype(int)
        places = np.repeat(reached[chosen], directions, axis=0)
        ways = np.random.default_rng(1).uniform(-1.0, 1.0, (len(places), self._layout.speeds))
        return self.follow_ways(places, ways, steps)

    def follow_ways(
        self, places: np.ndarray, ways: np.ndarray, steps: int, through_time: bool = False
    ) -> list[tuple[float, np.ndarray]]:
        """Places on the ways from here, each followed as far as the loops allow it."""
        start, times = places, np.zeros(len(places))
        found: list[tuple[float, np.ndarray]] = []
        here = self.figures(times, places)
        for step in range(steps):
            if through_time:
                moved = _solved(here.jacobian, here.known)
                dt = np.minimum(_STEP / np.maximum(np.max(np.abs(moved), axis=1), 1e-9), 1.0)
                moved, times = moved * dt[:, None], times + dt
            else:
                free = _free(here.jacobian)
                ways = np.einsum("wij,wkj,wk->wi", free, free, ways)
                reach = np.max(np.abs(ways), axis=1, keepdims=True)
                ways = ways / np.where(reach > 0.0, reach, 1.0)
                moved = _STEP * ways
            places, here, shut = self._closed(times, places + np.einsum("wij,wj->wi", here.rates, moved))
            back = (
                np.max(np.abs(places - start), axis=1) < 0.5 * _STEP
                if step > 2
                else np.zeros(len(shut), bool)
            )
            on = shut & ~back & (np.max(np.abs(moved), axis=1) > 0.0)
            places, ways, times, start, here = places[on], ways[on], times[on], start[on], here.of(on)
            if not len(places):
                break
            found += zip(times.tolist(), places, strict=True)
        return found

    def _closed(self, times: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, GeometryValues, np.ndarray]:
        """Places with their loops closed, the geometry there, and whether that succeeded."""
        gaps = list(self._layout.gaps)
        for turn in range(_CLOSING):
            places = self._normalised(places)
            here = self.figures(times, places)
            off = np.max(np.abs(here.gap), axis=1, initial=0.0)
            off = np.where(np.all(np.isfinite(places), axis=1), off, np.inf)
            if turn == _CLOSING - 1 or np.all((off <= _SHUT) | ~np.isfinite(off)):
                break
            step = _solved(here.jacobian[:, gaps], here.gap)
            places = places + np.einsum("wij,wj->wi", here.rates, step)
        return places, here, off <= _SHUT

    def _normalised(self, places: np.ndarray) -> np.ndarray:
        places = places.copy()
        for first in self._layout.quaternions:
            part = places[:, first : first + 4]
            places[:, first : first + 4] = part / np.linalg.norm(part, axis=1, keepdims=True)
        return places


def _solved(jacobians: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest δ with J δ = −right at each place; zero where J is not a number."""
    if not right.shape[1]:
        return np.zeros((len(right), jacobians.shape[2]))
    usable = np.where(np.isfinite(jacobians), jacobians, 0.0)
    found: np.ndarray = -np.einsum(
        "wij,wj->wi", np.linalg.pinv(usable, rcond=_RANK), np.where(np.isfinite(right), right, 0.0)
    )
    return found


def _free(jacobians: np.ndarray) -> np.ndarray:
    """Speeds that keep the constraints, columns at each place; zero columns where more constraints count."""
    usable = np.where(np.isfinite(jacobians), jacobians, 0.0)
    if not jacobians.shape[1]:
        return np.repeat(np.eye(jacobians.shape[2])[None], len(jacobians), axis=0)
    _, lengths, V = np.linalg.svd(usable)
    count = np.zeros(V.shape[:2], dtype=bool)
    count[:, : lengths.shape[1]] = lengths > _RANK * np.max(lengths, axis=1, initial=1e-300)[:, None]
    return np.transpose(np.where(count[:, :, None], 0.0, V), (0, 2, 1))
